//! Symmetric positive definite systems in a fixed order of operations, for matrices that are
//! solved so often that the bits must not depend on the machine.
//!
//! No lanes by hand: operations are elementwise over columns, in rows that are padded to whole
//! registers, so that the compiler's vectors of any width give the same bits. Multiply-adds are fused.
// Loops have constant bounds and plain indices, so that tiles stay in registers.
#![allow(clippy::needless_range_loop)]

mod factor;
mod solve;

use crate::lanes::{Kernel, Level, Simd};
use crate::libm;
use factor::Factor;
use solve::Solve;

/// Rows that are factored one by one, and then taken off the rest of their block in one go.
const PANEL: usize = 8;
/// Columns of a register tile; rows are padded to a multiple. A panel begins where a tile does.
const WIDTH: usize = 8;
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
            first: line_begins(&rows),
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
        let panels = self.n.div_ceil(PANEL);
        let mut room = vec![0.0; panels * PANEL + WIDTH - 1];
        let first = line_begins(&room);
        let x = &mut room[first..][..panels * PANEL];
        x[..self.n].copy_from_slice(b);
        self.level.run(Solve {
            factor: self,
            x: x.as_chunks_mut().0,
        });
        b.copy_from_slice(&x[..self.n]);
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

/// Where a cache line begins, at most `WIDTH - 1` numbers on.
fn line_begins(numbers: &[f64]) -> usize {
    numbers.as_ptr().align_offset(LINE).min(WIDTH - 1)
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

/// `to -= factor * from`.
#[inline(always)]
fn subtract(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = (-factor).mul_add(*from, *to);
    }
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
