//! Sums of outer products over vectors of lanes, in register tiles: what the gradient of
//! every affine map is. Loops have constant bounds and plain indices, as in the kernels.
#![allow(clippy::needless_range_loop)]

use crate::products::first_part;
use loopfit_numerics::lanes::{Lane, Lanewise, Level, Simd};

/// Vectors of a width, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Factor<'a> {
    pub(crate) lines: &'a [Lane],
    width: usize,
}

impl<'a> Factor<'a> {
    pub(crate) fn new(lines: &'a [Lane], width: usize) -> Self {
        Self { lines, width }
    }

    /// So many vectors after the other.
    fn parts(self, vectors: usize) -> impl Iterator<Item = Self> {
        let lines = self.lines.chunks(vectors.saturating_mul(self.width));
        lines.map(move |lines| Self { lines, ..self })
    }
}

/// Entry (j, k) of the product goes to line `j * stride + first + k`; with a bias, the
/// sum of the left factor's entry `j` goes to line `j * stride + bias`.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Whether what stands there is added to, or written anew.
    pub(crate) add: bool,
    pub(crate) stride: usize,
    pub(crate) first: usize,
    pub(crate) bias: usize,
    pub(crate) has_bias: bool,
}

impl Target {
    /// Rows of an affine map of `width` numbers, each followed by its bias.
    pub(crate) fn affine(width: usize, add: bool) -> Self {
        Self {
            add,
            stride: width + 1,
            first: 0,
            bias: width,
            has_bias: true,
        }
    }

    /// `W1` and `b1` of hidden units of a state of `q` numbers: unit `j` has its row of `W1`,
    /// its bias and its column of `W2` one after the other.
    pub(crate) fn incoming(q: usize, add: bool) -> Self {
        Self {
            add,
            stride: 2 * q + 1,
            first: 0,
            bias: q,
            has_bias: true,
        }
    }

    /// `W2` of hidden units, laid out as for [`Target::incoming`].
    pub(crate) fn outgoing(q: usize, add: bool) -> Self {
        Self {
            first: q + 1,
            has_bias: false,
            ..Self::incoming(q, add)
        }
    }
}

/// Splits `0..n` into the fewest parts of at most `most`, sizes differing by at most one.
fn even_parts(n: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = divide(n + most - 1, most);
    let least = divide(n, parts);
    let larger = n - least * parts;
    let mut start = 0;
    (0..parts).map(move |i| {
        let len = least + usize::from(i < larger);
        start += len;
        (start - len, len)
    })
}

/// `n / by`, by a multiplication for small divisors: a division takes as long as a tile of a few vectors.
#[inline(always)]
fn divide(n: usize, by: usize) -> usize {
    match by {
        1 => n,
        2 => n / 2,
        3 => n / 3,
        4 => n / 4,
        5 => n / 5,
        6 => n / 6,
        8 => n / 8,
        12 => n / 12,
        _ => n / by,
    }
}

/// Most columns and most rows of a tile whose sums, biases and factors stay within `registers`.
const fn most_columns(registers: usize) -> usize {
    if registers < 32 { 3 } else { 6 }
}
const fn most_rows(registers: usize, columns: usize, bias: bool) -> usize {
    if registers < 32 {
        return match (columns, bias) {
            (1, false) => 12,
            (1, true) | (2, false) => 6,
            (2, true) | (3, false) => 4,
            _ => 3,
        };
    }
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

/// Most rows whose tiles follow one another before the next rows. Where tiles are small, few enough for the rows' lines of some
/// vectors to stay in the first-level cache until all columns have taken them.
const fn most_band(registers: usize, rows: usize) -> usize {
    // Nine are three tiles of three.
    if registers < 32 && rows != 9 { 8 } else { rows }
}

/// How many vectors of so many lines, left and right, all tiles take before the next ones. Where a line has two registers, few
/// enough to stay in the first-level cache, which every tile reads once for each register of a line, and many enough for
/// sums to be worth loading and storing. Where a register is a line, tiles are larger and the second-level cache keeps up
/// with them.
pub(crate) fn vectors_at_once(level: Level, lines: usize) -> usize {
    /// Lines that a first-level cache keeps beside the sums.
    const KEPT: usize = 480;
    /// More vectors than this are not worth keeping.
    const MOST: usize = 48;
    match level.registers() {
        Some(registers) if registers.count() < 32 => match KEPT / lines {
            fit @ 24.. => fit.min(MOST),
            _ => 32,
        },
        _ => usize::MAX,
    }
}

/// `acc += sum over all vectors of left right^T` in tiles, or without what stood there. The bits do not depend on their sizes.
pub(crate) fn outer_product(
    level: Level,
    acc: &mut [Lane],
    mut out: Target,
    left: Factor,
    right: Factor,
) {
    let at_once = vectors_at_once(level, left.width + right.width);
    if left.lines.len() / left.width <= at_once {
        return tiles(level, acc, out, left, right);
    }
    for (left, right) in left.parts(at_once).zip(right.parts(at_once)) {
        tiles(level, acc, out, left, right);
        out.add = true;
    }
}

/// As [`outer_product`], tile by tile.
fn tiles(level: Level, acc: &mut [Lane], out: Target, left: Factor, right: Factor) {
    macro_rules! run_tile {
        ($level:expr, $at:expr, $bias:expr, $rows_now:expr, $columns_now:expr, $($rows:literal x [$($columns:literal)*])*) => {
            match ($rows_now, $columns_now, $bias) {
                $($(
                    ($rows, $columns, true) =>
                        $level.lanewise(Tile::<$rows, $columns, true> { acc, out, left, right, at: $at }),
                    ($rows, $columns, false) =>
                        $level.lanewise(Tile::<$rows, $columns, false> { acc, out, left, right, at: $at }),
                )*)*
                _ => unreachable!("tile sizes come from even_parts"),
            }
        };
    }
    let Some(registers) = level.registers() else {
        for k in 0..right.width {
            for j in 0..left.width {
                run_tile!(level, (j, k), k == 0 && out.has_bias, 1, 1, 1 x [1]);
            }
        }
        return;
    };
    let count = registers.count();
    for (first, band) in even_parts(left.width, most_band(count, left.width)) {
        for (k, columns) in even_parts(right.width, most_columns(count)) {
            // With the last part, which may be narrower.
            let bias = k + columns == right.width && out.has_bias;
            for (j, rows) in even_parts(band, most_rows(count, columns, bias)) {
                run_tile!(registers, (first + j, k), bias, rows, columns,
                    1 x [1 2 3 4 5 6] 2 x [1 2 3 4 5 6] 3 x [1 2 3 4 5 6] 4 x [1 2 3 4 5 6]
                    5 x [1 2 3 4 5] 6 x [1 2 3 4] 7 x [1 2 3] 8 x [1 2 3]
                    9 x [1 2] 10 x [1 2] 11 x [1 2] 12 x [1 2]);
            }
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

impl<const J: usize, const K: usize, const BIAS: bool> Lanewise for Tile<'_, J, K, BIAS> {
    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, _: usize) {
        // Known at compile time: larger tiles than a level asks for are not compiled for it.
        if const { K > most_columns(S::REGISTERS) || J > most_rows(S::REGISTERS, K, BIAS) } {
            unreachable!("tiles fit the registers");
        }
        let &mut Self {
            ref mut acc,
            out,
            left,
            right,
            at: (j, k),
        } = self;
        let zero = s.splat(0.0);
        let (mut sums, mut biases) = ([[zero; K]; J], [zero; J]);
        if out.add {
            for row in 0..J {
                let line = (j + row) * out.stride;
                for column in 0..K {
                    sums[row][column] = s.load(&acc[line + out.first + k + column]);
                }
                if BIAS {
                    biases[row] = s.load(&acc[line + out.bias]);
                }
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

/// `acc += sum of rows`, or without what stood there.
pub(crate) struct SumRows<'a> {
    pub(crate) add: bool,
    pub(crate) acc: &'a mut [Lane],
    pub(crate) rows: &'a [Lane],
}

impl Lanewise for SumRows<'_> {
    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, _: usize) {
        let width = self.acc.len();
        let mut first = 0;
        while first < width {
            // Several sums at once: one would wait for itself.
            let now = first_part::<S>(width - first, SUMS_AT_ONCE);
            match now {
                1 => self.columns::<S, 1>(s, first),
                2 => self.columns::<S, 2>(s, first),
                3 => self.columns::<S, 3>(s, first),
                4 => self.columns::<S, 4>(s, first),
                5 => self.columns::<S, 5>(s, first),
                _ => self.columns::<S, SUMS_AT_ONCE>(s, first),
            }
            first += now;
        }
    }
}

/// Most columns that [`SumRows`] sums at once.
const SUMS_AT_ONCE: usize = 6;

impl SumRows<'_> {
    #[inline(always)]
    fn columns<S: Simd, const C: usize>(&mut self, s: S, first: usize) {
        let width = self.acc.len();
        let acc = &mut self.acc[first..][..C];
        let mut sums = [s.splat(0.0); C];
        if self.add {
            for c in 0..C {
                sums[c] = s.load(&acc[c]);
            }
        }
        for row in self.rows.chunks_exact(width) {
            let row = &row[first..][..C];
            for c in 0..C {
                sums[c] = s.add(sums[c], s.load(&row[c]));
            }
        }
        for c in 0..C {
            s.store(&mut acc[c], sums[c]);
        }
    }
}
