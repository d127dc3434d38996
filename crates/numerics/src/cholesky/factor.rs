//! The factorisation: panels of rows, taken off what is below them in register tiles.
#![allow(clippy::needless_range_loop)]

use super::{Block, PANEL, WIDTH};
use crate::lanes::{Kernel, Simd};
use std::ops::Range;

/// Rows that are taken off all rows below in one go: few enough to stay in the second-level cache.
const BLOCK: usize = 8 * PANEL;
/// Rows of a register tile.
const HEIGHT: usize = 6;

/// Factors `a + damping I` to `rows` and `blocks`, as [`super::Cholesky`] has them; false if it is not positive definite.
pub(super) struct Factor<'a> {
    pub(super) n: usize,
    pub(super) stride: usize,
    pub(super) a: &'a [f64],
    pub(super) damping: f64,
    pub(super) rows: &'a mut [f64],
    pub(super) inverse: &'a mut [f64],
    pub(super) blocks: &'a mut [Block],
}

impl Kernel for Factor<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(mut self, _: S) -> bool {
        self.fill();
        self.eliminate::<S>()
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

    /// Whether the matrix is positive definite, with its factor in `rows` and `blocks`.
    #[inline(always)]
    fn eliminate<S: Simd>(&mut self) -> bool {
        let (n, stride) = (self.n, self.stride);
        let mut blocks = &mut self.blocks[..];
        for first in (0..n).step_by(PANEL) {
            let end = n.min(first + PANEL);
            let (done, below) = self.rows.split_at_mut(end * stride);
            let panel = &mut done[first * stride..];
            let inverse = &mut self.inverse[first..][..PANEL];
            let groups = first / WIDTH..n.div_ceil(WIDTH);
            let (own, rest) = std::mem::take(&mut blocks).split_at_mut(groups.len());
            blocks = rest;
            if !factor_panel(panel, stride, groups, inverse, own) {
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
/// others group by group, in registers. The factor goes to `panel` and to `blocks`, one for each group. Only what is right of the
/// diagonal counts. False where a pivot is not positive.
#[inline(always)]
fn factor_panel(
    panel: &mut [f64],
    stride: usize,
    groups: Range<usize>,
    inverse: &mut [f64],
    blocks: &mut [Block],
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
    let (own, behind) = blocks.split_at_mut(1);
    own[0].0 = triangle;
    // Behind the last panel, which may be shorter, there are no columns.
    for (group, block) in (groups.start + 1..groups.end).zip(behind) {
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
        block.0 = tile;
    }
    true
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
