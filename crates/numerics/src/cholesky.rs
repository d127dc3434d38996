//! Symmetric positive definite systems in a fixed order of operations, for matrices that are
//! solved so often that the bits must not depend on the machine.
//!
//! No lanes by hand: operations are elementwise over columns, in rows that are padded to whole
//! registers, so that the compiler's vectors of any width give the same bits. Multiply-adds are fused.
// Loops have constant bounds and plain indices, so that tiles stay in registers.
#![allow(clippy::needless_range_loop)]

use crate::lanes::{Kernel, Level, Simd};
use crate::libm;
use std::hint::black_box;
use std::ops::Range;

/// Rows that are factored one by one, and then taken off the rest of their block in one go.
const PANEL: usize = 8;
/// Rows that are taken off all rows below in one go: few enough to stay in the second-level cache.
const BLOCK: usize = 8 * PANEL;
/// Columns of a register tile; rows are padded to a multiple. A panel begins where a tile does.
const WIDTH: usize = 8;
/// Rows of a register tile.
const HEIGHT: usize = 6;
/// Bytes of a cache line: what lies across two takes twice as long to read.
const LINE: usize = 64;

/// The factor `U` of `A = U^T U`, by rows, of a positive definite matrix.
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    /// Numbers from one row to the next.
    stride: usize,
    /// Row `i` at `first + i * stride`, where a cache line begins; entries left of the diagonal are not used, those behind the
    /// last column are zero.
    rows: Vec<f64>,
    first: usize,
    /// One over the diagonal; zeros behind the last row, as in `blocks`.
    inverse: Vec<f64>,
    /// The factor for solving: the rows of a panel in its own columns, then in those of each panel behind it; panel by
    /// panel, so that a solve reads memory in its order.
    blocks: Vec<Block>,
    level: Level,
}

/// Rows of a panel in the columns of one, each a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Block([[f64; PANEL]; PANEL]);

impl Cholesky {
    /// Room for a matrix of `n` rows.
    pub fn new(n: usize, level: Level) -> Self {
        // An odd number of cache lines: a column's entries spread over all sets of the cache.
        let stride = (n.div_ceil(WIDTH) | 1) * WIDTH;
        let rows = vec![0.0; n * stride + WIDTH - 1];
        Self {
            n,
            stride,
            first: rows.as_ptr().align_offset(LINE).min(WIDTH - 1),
            rows,
            inverse: vec![0.0; n.next_multiple_of(PANEL)],
            blocks: Vec::new(),
            level,
        }
    }

    /// Factors `a + damping I`; only the diagonal of `a` and what is right of it count,
    /// row `i` at `i * n`. False if the matrix is not positive definite; then there is no
    /// factor to solve with.
    #[must_use]
    pub fn factor(&mut self, a: &[f64], damping: f64) -> bool {
        let (n, stride) = (self.n, self.stride);
        assert_eq!(a.len(), n * n, "a square matrix");
        let panels = n.div_ceil(PANEL);
        self.blocks
            .resize(panels * (panels + 1) / 2, Block([[0.0; PANEL]; PANEL]));
        self.level.run(Factor {
            n,
            stride,
            a,
            damping,
            rows: &mut self.rows[self.first..][..n * stride],
            inverse: &mut self.inverse,
            blocks: &mut self.blocks,
        })
    }

    /// Replaces `b` by the solution `x` of `A x = b`.
    pub fn solve(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.n, "a vector of the matrix's size");
        let mut x = vec![[0.0; PANEL]; self.n.div_ceil(PANEL)];
        x.as_flattened_mut()[..self.n].copy_from_slice(b);
        self.level.run(Solve {
            factor: self,
            x: &mut x,
        });
        b.copy_from_slice(&x.as_flattened()[..self.n]);
    }

    /// The diagonal of `A^-1`, and `log det A`.
    ///
    /// # Formula
    /// `(A^-1)_ii = |U^-T e_i|^2`; `log det A = 2 sum_i log U_ii`.
    pub fn inverse_diagonal(&self) -> (Vec<f64>, f64) {
        let diagonal = self.level.run(InverseDiagonal(self));
        let logs: f64 = (0..self.n)
            .map(|i| libm::log(self.rows[self.first + i * self.stride + i]))
            .sum();
        (diagonal, 2.0 * logs)
    }
}

struct InverseDiagonal<'a>(&'a Cholesky);

impl Kernel for InverseDiagonal<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Vec<f64> {
        let Cholesky {
            n,
            stride,
            rows,
            first,
            inverse,
            ..
        } = self.0;
        let rows = &rows[*first..];
        let mut diagonal = vec![0.0; *n];
        let mut y = vec![0.0; *stride];
        for i in 0..*n {
            y[i..].fill(0.0);
            y[i] = 1.0;
            for k in i..*n {
                let x = y[k] * inverse[k];
                diagonal[i] = x.mul_add(x, diagonal[i]);
                subtract(&mut y[k + 1..], x, &rows[k * stride + k + 1..]);
            }
        }
        diagonal
    }
}

struct Factor<'a> {
    n: usize,
    stride: usize,
    a: &'a [f64],
    damping: f64,
    rows: &'a mut [f64],
    inverse: &'a mut [f64],
    blocks: &'a mut [Block],
}

impl Kernel for Factor<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(mut self, _: S) -> bool {
        self.fill();
        let factored = self.eliminate::<S>();
        self.lay_out();
        factored
    }
}

impl Factor<'_> {
    /// The matrix to be factored, in whole registers: what is left of the diagonal is not used.
    #[inline(always)]
    fn fill(&mut self) {
        let (n, stride) = (self.n, self.stride);
        let rows = self.rows.chunks_exact_mut(stride);
        for (i, (row, a)) in rows.zip(self.a.chunks_exact(n)).enumerate() {
            let first = i / WIDTH * WIDTH;
            let (whole, rest) = a[first..].as_chunks::<WIDTH>();
            let (to, behind) = row[first..]
                .as_chunks_mut::<WIDTH>()
                .0
                .split_at_mut(whole.len());
            for (to, from) in to.iter_mut().zip(whole) {
                *to = *from;
            }
            for (k, to) in behind.as_flattened_mut().iter_mut().enumerate() {
                *to = rest.get(k).copied().unwrap_or(0.0);
            }
            row[i] += self.damping;
        }
    }

    /// The factor as a solve reads it.
    #[inline(always)]
    fn lay_out(&mut self) {
        let mut blocks = self.blocks.iter_mut();
        for (i, panel) in self.rows.chunks(PANEL * self.stride).enumerate() {
            for (at, block) in (i..self.n.div_ceil(PANEL)).zip(&mut blocks) {
                for (to, row) in block.0.iter_mut().zip(panel.chunks_exact(self.stride)) {
                    *to = row.as_chunks::<PANEL>().0[at];
                }
            }
        }
    }

    /// Whether the matrix is positive definite, with its factor in `rows`.
    #[inline(always)]
    fn eliminate<S: Simd>(&mut self) -> bool {
        let (n, stride) = (self.n, self.stride);
        for first in (0..n).step_by(PANEL) {
            let end = n.min(first + PANEL);
            let (done, below) = self.rows.split_at_mut(end * stride);
            let panel = &mut done[first * stride..];
            let inverse = &mut self.inverse[first..][..PANEL];
            if !factor_panel(panel, stride, first / WIDTH..n.div_ceil(WIDTH), inverse) {
                return false;
            }
            // Below the last panel, which may be shorter, there is nothing.
            let block = first / BLOCK * BLOCK;
            let block_end = n.min(block + BLOCK);
            if end < block_end {
                subtract_rows::<S>(&done[first * stride..], below, stride, end..block_end);
            } else {
                subtract_rows::<S>(&done[block * stride..], below, stride, end..n);
            }
        }
        true
    }
}

/// Factors the rows of a panel in some groups of [`WIDTH`] columns, the first of which holds the diagonal: that by rows, then the
/// others group by group, in registers. Only what is right of the diagonal counts. False where a pivot is not positive.
#[inline(always)]
fn factor_panel(
    panel: &mut [f64],
    stride: usize,
    groups: Range<usize>,
    inverse: &mut [f64],
) -> bool {
    let mut triangle = [[0.0; WIDTH]; PANEL];
    for (to, row) in triangle.iter_mut().zip(panel.chunks_exact(stride)) {
        *to = row.as_chunks::<WIDTH>().0[groups.start];
    }
    for k in 0..panel.len() / stride {
        let pivot = triangle[k][k].sqrt();
        inverse[k] = 1.0 / pivot;
        // Also false for NaN.
        if !(inverse[k] > 0.0 && inverse[k].is_finite()) {
            return false;
        }
        for c in 0..WIDTH {
            triangle[k][c] *= inverse[k];
        }
        triangle[k][k] = pivot;
        for i in k + 1..PANEL {
            let factor = -triangle[k][i];
            for c in 0..WIDTH {
                triangle[i][c] = factor.mul_add(triangle[k][c], triangle[i][c]);
            }
        }
    }
    for (row, from) in panel.chunks_exact_mut(stride).zip(&triangle) {
        row.as_chunks_mut::<WIDTH>().0[groups.start] = *from;
    }
    // Behind the last panel, which may be shorter, there are no columns.
    for group in groups.start + 1..groups.end {
        let mut tile = [[0.0; WIDTH]; PANEL];
        for k in 0..PANEL {
            tile[k] = panel[k * stride..][..stride].as_chunks::<WIDTH>().0[group];
        }
        for c in 0..WIDTH {
            tile[0][c] *= inverse[0];
        }
        // Written out: compilers keep the tile of a loop in memory.
        macro_rules! rows {
            ($($i:literal)*) => {$(
                for k in 0..$i {
                    let factor = -triangle[k][$i];
                    for c in 0..WIDTH {
                        tile[$i][c] = factor.mul_add(tile[k][c], tile[$i][c]);
                    }
                }
                for c in 0..WIDTH {
                    tile[$i][c] *= inverse[$i];
                }
            )*};
        }
        rows!(1 2 3 4 5 6 7);
        for k in 0..PANEL {
            panel[k * stride..][..stride].as_chunks_mut::<WIDTH>().0[group] = tile[k];
        }
    }
    true
}

/// `to -= factor * from`.
#[inline(always)]
fn subtract(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = (-factor).mul_add(*from, *to);
    }
}

/// Takes `from` off the rows `range`, which are the first of `below`, one row after the other.
#[inline(always)]
fn subtract_rows<S: Simd>(from: &[f64], below: &mut [f64], stride: usize, range: Range<usize>) {
    if !S::TILES {
        for (i, row) in range.zip(below.chunks_mut(stride)) {
            subtract_tiles::<S, 1>(row, from, stride, i);
        }
        return;
    }
    let tiles = range.clone().step_by(HEIGHT);
    for (i, rows) in tiles.zip(below.chunks_mut(HEIGHT * stride)) {
        match range.end - i {
            1 => subtract_tiles::<S, 1>(rows, from, stride, i),
            2 => subtract_tiles::<S, 2>(rows, from, stride, i),
            3 => subtract_tiles::<S, 3>(rows, from, stride, i),
            4 => subtract_tiles::<S, 4>(rows, from, stride, i),
            5 => subtract_tiles::<S, 5>(rows, from, stride, i),
            _ => subtract_tiles::<S, HEIGHT>(rows, from, stride, i),
        }
    }
}

/// As [`subtract_rows`] for the `H` rows from row `i` on.
#[inline(always)]
fn subtract_tiles<S: Simd, const H: usize>(
    rows: &mut [f64],
    from: &[f64],
    stride: usize,
    i: usize,
) {
    // What is left of the diagonal in the first tile is not used.
    let mut j = i / WIDTH * WIDTH;
    if S::REGISTERS >= 32 {
        while j + 2 * WIDTH <= stride {
            subtract_tile::<H, { 2 * WIDTH }>(rows, from, stride, (i, j));
            j += 2 * WIDTH;
        }
    }
    while j < stride {
        subtract_tile::<H, WIDTH>(rows, from, stride, (i, j));
        j += WIDTH;
    }
}

/// The columns `j..j + W` of these rows, `(i, j) = at`.
#[inline(always)]
fn subtract_tile<const H: usize, const W: usize>(
    rows: &mut [f64],
    from: &[f64],
    stride: usize,
    (i, j): (usize, usize),
) {
    let mut tile = [[0.0; W]; H];
    for h in 0..H {
        tile[h].copy_from_slice(&rows[h * stride + j..][..W]);
    }
    for row in from.chunks_exact(stride) {
        let columns = &row[j..][..W];
        let factors = &row[i..][..H];
        for h in 0..H {
            let factor = -factors[h];
            for c in 0..W {
                tile[h][c] = factor.mul_add(columns[c], tile[h][c]);
            }
        }
    }
    for h in 0..H {
        rows[h * stride + j..][..W].copy_from_slice(&tile[h]);
    }
}

struct Solve<'a> {
    factor: &'a Cholesky,
    /// Panel by panel, zeros behind the last row.
    x: &'a mut [[f64; PANEL]],
}

/// Rows of a panel whose sums are formed at once: with [`PANEL`] partial sums each, they stay in registers.
const SUMS: usize = 4;

impl Kernel for Solve<'_> {
    type Output = ();

    /// `U^T y = b`, rows taken off what follows in ascending order; then `U x = y`, where every
    /// row's products with the blocks behind its own have [`PANEL`] partial sums.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Cholesky {
            inverse, blocks, ..
        } = self.factor;
        let (x, inverse) = (self.x, inverse.as_chunks::<PANEL>().0);
        let panels = x.len();
        let mut blocks = &blocks[..];
        for (i, scale) in inverse.iter().enumerate() {
            let (own, rest) = blocks.split_at(panels - i);
            blocks = rest;
            let (done, behind) = x[i..].split_at_mut(1);
            let (triangle, right) = (&own[0].0, &own[1..]);
            let mut y = done[0];
            for k in 0..PANEL {
                y[k] *= scale[k];
                for j in k + 1..PANEL {
                    y[j] = (-y[k]).mul_add(triangle[k][j], y[j]);
                }
            }
            done[0] = y;
            for (to, block) in behind.iter_mut().zip(right) {
                // One panel after the other: compilers would gather the same entry of many.
                let block = &black_box(block).0;
                let mut tile = *to;
                for k in 0..PANEL {
                    for c in 0..PANEL {
                        tile[c] = (-y[k]).mul_add(block[k][c], tile[c]);
                    }
                }
                *to = tile;
            }
        }
        let mut blocks = &self.factor.blocks[..];
        for (i, scale) in inverse.iter().enumerate().rev() {
            let (rest, own) = blocks.split_at(blocks.len() - (panels - i));
            blocks = rest;
            let (open, known) = x[i..].split_at_mut(1);
            let (triangle, right) = (&own[0].0, &own[1..]);
            let mut y = open[0];
            if !right.is_empty() {
                for first in (0..PANEL).step_by(SUMS) {
                    let mut sums = [[0.0; PANEL]; SUMS];
                    for (known, block) in known.iter().zip(right) {
                        let block = &black_box(block).0;
                        for k in 0..SUMS {
                            for c in 0..PANEL {
                                sums[k][c] = block[first + k][c].mul_add(known[c], sums[k][c]);
                            }
                        }
                    }
                    // Through memory: else the compiler turns registers over to please the tree, in each step.
                    let sums = black_box(sums);
                    for k in 0..SUMS {
                        y[first + k] -= tree(sums[k]);
                    }
                }
            }
            for k in (0..PANEL).rev() {
                y[k] *= scale[k];
                for j in 0..k {
                    y[j] = (-y[k]).mul_add(triangle[j][k], y[j]);
                }
            }
            open[0] = y;
        }
    }
}

/// Sum of partial sums: `i` with `i + 4`, then `+ 2`, `+ 1`.
#[inline(always)]
fn tree(p: [f64; PANEL]) -> f64 {
    let [a, b, c, d] = [p[0] + p[4], p[1] + p[5], p[2] + p[6], p[3] + p[7]];
    (a + c) + (b + d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;
    use proptest::prelude::*;

    /// `B^T B` with `B` random: positive definite if `B` has enough rows.
    fn gram(n: usize, rows: usize, stream: Stream) -> Vec<f64> {
        let b: Vec<f64> = (0..rows * n).map(|i| stream.normal(i as u64)).collect();
        (0..n * n)
            .map(|ij| {
                (0..rows)
                    .map(|k| b[k * n + ij / n] * b[k * n + ij % n])
                    .sum()
            })
            .collect()
    }

    proptest! {
        #[test]
        fn the_solution_solves_with_the_same_bits_at_every_level(n in 1usize..200, seed: u64, damping in 0.01f64..2.0) {
            let a = gram(n, n / 2 + 1, Stream::new(seed));
            let b: Vec<f64> = (0..n).map(|i| Stream::new(seed).child("b").normal(i as u64)).collect();
            let solve = |level| {
                let mut cholesky = Cholesky::new(n, level);
                assert!(cholesky.factor(&a, damping));
                let mut x = b.clone();
                cholesky.solve(&mut x);
                x
            };
            let x = solve(Level::fastest());
            for level in Level::available() {
                prop_assert_eq!(&solve(level), &x);
            }
            let mut cholesky = Cholesky::new(n, Level::fastest());
            assert!(cholesky.factor(&a, damping));
            let (inverse, _) = cholesky.inverse_diagonal();
            for i in [0, n / 2, n - 1] {
                let mut column = vec![0.0; n];
                column[i] = 1.0;
                cholesky.solve(&mut column);
                prop_assert!((column[i] - inverse[i]).abs() < 1e-9 * inverse[i], "{i}: {} {}", column[i], inverse[i]);
            }
            for i in 0..n {
                let ax: f64 = (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>() + damping * x[i];
                prop_assert!((ax - b[i]).abs() < 1e-8 * n as f64, "row {i}: {ax} {}", b[i]);
            }
        }
    }

    /// These bits were computed on AVX-512; every other machine must find the same.
    #[test]
    fn same_bits_on_any_machine() {
        let n = 150;
        let mut cholesky = Cholesky::new(n, Level::fastest());
        assert!(cholesky.factor(&gram(n, 80, Stream::new(1)), 0.3));
        let mut x: Vec<f64> = (0..n).map(|i| Stream::new(2).normal(i as u64)).collect();
        cholesky.solve(&mut x);
        let (inverse, log_det) = cholesky.inverse_diagonal();
        let numbers = x.iter().chain(&inverse).chain([&log_det]);
        let hash = numbers.fold(0xcbf2_9ce4_8422_2325, |hash: u64, v| {
            (hash ^ v.to_bits()).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(hash, 0x4f96_1998_dd10_88e7, "{hash:#x}");
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        let mut cholesky = Cholesky::new(2, Level::fastest());
        assert!(!cholesky.factor(&[1.0, 2.0, 2.0, 1.0], 0.0));
        assert!(!cholesky.factor(&[0.0, 0.0, 0.0, 1.0], 0.0));
        assert!(!cholesky.factor(&[f64::NAN, 0.0, 0.0, 1.0], 1.0));
        // Nothing is left of it.
        assert!(!cholesky.factor(&[1.0, f64::INFINITY, 0.0, 1.0], 0.0));
        assert!(cholesky.factor(&[1.0, 2.0, 2.0, 1.0], 2.0));
        let mut x = [5.0, 5.0];
        cholesky.solve(&mut x);
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-12), "{x:?}");
    }
}
