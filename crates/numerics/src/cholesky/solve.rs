//! Solutions from the factor, panel by panel: what unknowns wait for decides how long they take.
#![allow(clippy::needless_range_loop)]

use super::{Block, Cholesky, PANEL};
use crate::lanes::{Kernel, Simd};
use std::hint::black_box;

/// Replaces `x` by the solution.
pub(super) struct Solve<'a> {
    pub(super) factor: &'a Cholesky,
    /// Panel by panel, zeros behind the last row.
    pub(super) x: &'a mut [[f64; PANEL]],
}

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
        // The panel to be solved for next stays in registers.
        let mut y = x.first().copied().unwrap_or_default();
        for (i, scale) in inverse.iter().enumerate() {
            let (own, rest) = blocks.split_at(panels - i);
            blocks = rest;
            let (done, behind) = x[i..].split_at_mut(1);
            let (triangle, right) = (&own[0].0, &own[1..]);
            for k in 0..PANEL {
                y[k] *= scale[k];
                for j in k + 1..PANEL {
                    y[j] = (-y[k]).mul_add(triangle[k][j], y[j]);
                }
            }
            done[0] = y;
            let solved = y;
            let (Some((to, behind)), Some((block, right))) =
                (behind.split_first_mut(), right.split_first())
            else {
                break;
            };
            y = subtract_block(*to, &solved, block);
            for (to, block) in behind.iter_mut().zip(right) {
                // One panel after the other: compilers would gather the same entry of many.
                *to = subtract_block(*to, &solved, black_box(block));
            }
        }
        let mut blocks = &self.factor.blocks[..];
        // The panel solved for last comes from registers: what was just written in parts is slow to read as a whole.
        let mut last = [0.0; PANEL];
        for (i, scale) in inverse.iter().enumerate().rev() {
            let (rest, own) = blocks.split_at(blocks.len() - (panels - i));
            blocks = rest;
            let (open, known) = x[i..].split_at_mut(1);
            let (triangle, right) = (&own[0].0, &own[1..]);
            let mut y = open[0];
            if let Some((next, right)) = right.split_first() {
                let mut sums = [[0.0; PANEL]; PANEL];
                if S::REGISTERS < 32 {
                    for (first, sums) in sums.as_chunks_mut().0.iter_mut().enumerate() {
                        *sums = row_sums::<4>(4 * first, (&last, next), &known[1..], right);
                    }
                } else {
                    sums = row_sums::<PANEL>(0, (&last, next), &known[1..], right);
                }
                // Through memory: else the compiler turns registers over to please the tree, in each step.
                let sums = trees(&black_box(sums));
                for k in 0..PANEL {
                    y[k] -= sums[k];
                }
            }
            for k in (0..PANEL).rev() {
                y[k] *= scale[k];
                for j in 0..k {
                    y[j] = (-y[k]).mul_add(triangle[j][k], y[j]);
                }
            }
            open[0] = y;
            last = y;
        }
    }
}

/// `to - block^T y`, the terms in ascending order.
#[inline(always)]
fn subtract_block(mut to: [f64; PANEL], y: &[f64; PANEL], block: &Block) -> [f64; PANEL] {
    for k in 0..PANEL {
        for c in 0..PANEL {
            to[c] = (-y[k]).mul_add(block.0[k][c], to[c]);
        }
    }
    to
}

/// Partial sums of the products of `N` rows of a panel, from `first` on, with known panels: the `next` one, then all others. As
/// many rows as there are registers for.
#[inline(always)]
fn row_sums<const N: usize>(
    first: usize,
    next: (&[f64; PANEL], &Block),
    known: &[[f64; PANEL]],
    blocks: &[Block],
) -> [[f64; PANEL]; N] {
    let mut sums = [[0.0; PANEL]; N];
    for k in 0..N {
        for c in 0..PANEL {
            sums[k][c] = next.1.0[first + k][c].mul_add(next.0[c], 0.0);
        }
    }
    for (known, block) in known.iter().zip(blocks) {
        let block = &black_box(block).0;
        for k in 0..N {
            for c in 0..PANEL {
                sums[k][c] = block[first + k][c].mul_add(known[c], sums[k][c]);
            }
        }
    }
    sums
}

/// Sums of partial sums, row by row: `i` with `i + 4`, then `+ 2`, `+ 1`. Two rows share a register from the first step on, four
/// from the second, eight from the third.
#[inline(always)]
fn trees(rows: &[[f64; PANEL]; PANEL]) -> [f64; PANEL] {
    let halves = |a: usize, b: usize| -> [f64; PANEL] {
        std::array::from_fn(|i| {
            let row = if i < 4 { &rows[a] } else { &rows[b] };
            row[i % 4] + row[i % 4 + 4]
        })
    };
    let quarters = |a: [f64; PANEL], b: [f64; PANEL]| -> [f64; PANEL] {
        std::array::from_fn(|i| {
            let (from, i) = (if i < 4 { &a } else { &b }, i % 4);
            from[i / 2 * 4 + i % 2] + from[i / 2 * 4 + i % 2 + 2]
        })
    };
    let even = quarters(halves(0, 2), halves(4, 6));
    let odd = quarters(halves(1, 3), halves(5, 7));
    std::array::from_fn(|i| {
        let from = if i % 2 == 0 { &even } else { &odd };
        from[i / 2 * 2] + from[i / 2 * 2 + 1]
    })
}
