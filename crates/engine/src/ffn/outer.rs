//! Weight gradients: sums of outer products over (iteration, strip), lane by lane,
//! in register tiles. Loops as in [`super::forward`].
#![allow(clippy::needless_range_loop)]

use super::Activations;
use super::pack::Packing;
use loopfit_numerics::lanes::{Kernel, Lane, Level, Simd};
use std::ops::Range;

/// Adds the gradients of all coefficients to `acc`.
///
/// # Formula
/// `dW1 += a_t z_t^T`, `db1 += a_t`, `dW2 += g_{t+1} h_t^T`, `db2 += g_{t+1}`, and the
/// two affine maps likewise, over iterations in ascending order.
pub(super) fn accumulate(
    level: Level,
    p: &Packing,
    strips: usize,
    x: &[Lane],
    g_out: &[Lane],
    kept: &Activations,
    acc: &mut [Lane],
) {
    let (d, q, r) = (p.d, p.q, p.r);
    let state = strips * q;
    let hidden = strips * r;
    let affine = |acc: &mut [Lane], grad: &[Lane], rows: usize, input: &[Lane], cols: usize| {
        let out = Target {
            stride: cols + 1,
            first: 0,
            bias: cols,
            has_bias: true,
        };
        outer_product(
            level,
            acc,
            out,
            Factor::new(grad, rows),
            Factor::new(input, cols),
        );
    };
    affine(&mut acc[p.input()], &kept.g[..state], q, x, d);
    for block in 0..p.blocks {
        let t = if p.blocks == 1 {
            0..p.iterations
        } else {
            block..block + 1
        };
        let (z, h) = (&kept.z[scale(&t, state)], &kept.h[scale(&t, hidden)]);
        let a = &kept.a[scale(&t, hidden)];
        let g = &kept.g[scale(&(t.start + 1..t.end + 1), state)];
        let w1 = Target {
            stride: 2 * q + 1,
            first: 0,
            bias: q,
            has_bias: true,
        };
        let w2 = Target {
            stride: 2 * q + 1,
            first: q + 1,
            bias: q,
            has_bias: false,
        };
        let units = &mut acc[p.units(block)];
        outer_product(level, units, w1, Factor::new(a, r), Factor::new(z, q));
        outer_product(level, units, w2, Factor::new(h, r), Factor::new(g, q));
        level.run(SumRows {
            acc: &mut acc[p.b2(block)],
            rows: g,
        });
    }
    affine(
        &mut acc[p.output()],
        g_out,
        p.outputs,
        &kept.z[p.iterations * state..],
        q,
    );
}

fn scale(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start * by..range.end * by
}

/// Vectors of a width, one per (iteration, strip).
#[derive(Clone, Copy)]
struct Factor<'a> {
    lines: &'a [Lane],
    width: usize,
}

impl<'a> Factor<'a> {
    fn new(lines: &'a [Lane], width: usize) -> Self {
        Self { lines, width }
    }
}

/// Entry (j, k) of the product goes to line `j * stride + first + k`; with a bias, the
/// sum of the left factor's entry `j` goes to line `j * stride + bias`.
#[derive(Clone, Copy)]
struct Target {
    stride: usize,
    first: usize,
    bias: usize,
    has_bias: bool,
}

/// Splits `0..n` into the fewest parts of at most `most`, sizes differing by at most one.
fn even_parts(n: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = n.div_ceil(most);
    (0..parts).map(move |i| {
        let start = i * n / parts;
        (start, (i + 1) * n / parts - start)
    })
}

/// Largest register tile: 6 columns, and so many rows that sums, biases and factors
/// together stay within 32 registers.
const MAX_COLUMNS: usize = 6;
const fn max_rows(columns: usize, bias: bool) -> usize {
    match (columns, bias) {
        (1, _) => 12,
        (2, false) => 12,
        (2, true) | (3, false) => 8,
        (3, true) | (4, false) => 6,
        (4, true) | (5, false) => 5,
        (5, true) | (6, false) => 4,
        _ => 3,
    }
}

/// `acc += sum over all vectors of left right^T` in tiles.
fn outer_product(level: Level, acc: &mut [Lane], out: Target, left: Factor, right: Factor) {
    macro_rules! run_tile {
        ($at:expr, $bias:expr, $rows_now:expr, $columns_now:expr, $($rows:literal x [$($columns:literal)*])*) => {
            match ($rows_now, $columns_now, $bias) {
                $($(
                    ($rows, $columns, true) =>
                        level.run(Tile::<$rows, $columns, true> { acc, out, left, right, at: $at }),
                    ($rows, $columns, false) =>
                        level.run(Tile::<$rows, $columns, false> { acc, out, left, right, at: $at }),
                )*)*
                _ => unreachable!("tile sizes come from even_parts"),
            }
        };
    }
    for (k, columns) in even_parts(right.width, MAX_COLUMNS) {
        let bias = k == 0 && out.has_bias;
        for (j, rows) in even_parts(left.width, max_rows(columns, bias)) {
            run_tile!((j, k), bias, rows, columns,
                1 x [1 2 3 4 5 6] 2 x [1 2 3 4 5 6] 3 x [1 2 3 4 5 6] 4 x [1 2 3 4 5 6]
                5 x [1 2 3 4 5] 6 x [1 2 3 4] 7 x [1 2 3] 8 x [1 2 3]
                9 x [1 2] 10 x [1 2] 11 x [1 2] 12 x [1 2]);
        }
    }
}

/// Rows `j..j + J` and columns `k..k + K` of the product, `(j, k) = at`.
struct Tile<'a, const J: usize, const K: usize, const BIAS: bool> {
    acc: &'a mut [Lane],
    out: Target,
    left: Factor<'a>,
    right: Factor<'a>,
    at: (usize, usize),
}

impl<const J: usize, const K: usize, const BIAS: bool> Kernel for Tile<'_, J, K, BIAS> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            acc,
            out,
            left,
            right,
            at: (j, k),
        } = self;
        let zero = s.splat(0.0);
        let (mut sums, mut biases) = ([[zero; K]; J], [zero; J]);
        for row in 0..J {
            let line = (j + row) * out.stride;
            for column in 0..K {
                sums[row][column] = s.load(&acc[line + out.first + k + column]);
            }
            if BIAS {
                biases[row] = s.load(&acc[line + out.bias]);
            }
        }
        let vectors = left
            .lines
            .chunks_exact(left.width)
            .zip(right.lines.chunks_exact(right.width));
        for (left, right) in vectors {
            let (left, right) = (&left[j..][..J], &right[k..][..K]);
            let mut columns = [zero; K];
            for column in 0..K {
                columns[column] = s.load(&right[column]);
            }
            for row in 0..J {
                let left = s.load(&left[row]);
                for column in 0..K {
                    sums[row][column] = s.fma(left, columns[column], sums[row][column]);
                }
                if BIAS {
                    biases[row] = s.add(biases[row], left);
                }
            }
        }
        for row in 0..J {
            let line = (j + row) * out.stride;
            for column in 0..K {
                s.store(&mut acc[line + out.first + k + column], sums[row][column]);
            }
            if BIAS {
                s.store(&mut acc[line + out.bias], biases[row]);
            }
        }
    }
}

/// `acc += sum of rows`.
struct SumRows<'a> {
    acc: &'a mut [Lane],
    rows: &'a [Lane],
}

impl Kernel for SumRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let width = self.acc.len();
        for (i, acc) in self.acc.iter_mut().enumerate() {
            let mut sum = s.load(acc);
            for row in self.rows.chunks_exact(width) {
                sum = s.add(sum, s.load(&row[i]));
            }
            s.store(acc, sum);
        }
    }
}
