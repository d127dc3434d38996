//! Unmasked softmax attention of one head, every sample its own tokens.
//!
//! All products are between numbers of the same sample, so that both factors are rows of
//! lanes; tiles of them share what they load: whole rows of short ones, up to four by four of others.
#![allow(clippy::needless_range_loop)]

/// `$part::<S, Q, R>($s, i, ...)` for rows `i..i + R`, all `$n` of them. Constant conditions: parts that a level does not have
/// are not compiled.
macro_rules! by_rows {
    ($n:expr, $part:ident::<$S:ident, $Q:ident>($s:expr, $($more:expr),*)) => {
        let mut i = 0;
        while i < $n {
            let now = first_part::<$S>($n - i, const { most_rows::<$S>($Q) });
            match now {
                1 => $part::<$S, $Q, 1>($s, i, $($more),*),
                2 if const { most_rows::<$S>($Q) >= 2 } => $part::<$S, $Q, 2>($s, i, $($more),*),
                3 if const { most_rows::<$S>($Q) >= 3 } => $part::<$S, $Q, 3>($s, i, $($more),*),
                4 if const { most_rows::<$S>($Q) >= 4 } => $part::<$S, $Q, 4>($s, i, $($more),*),
                5 if const { most_rows::<$S>($Q) >= 5 } => $part::<$S, $Q, 5>($s, i, $($more),*),
                _ => unreachable!("parts are not larger"),
            }
            i += now;
        }
    };
}

mod short;

use crate::products::{TILE, first_part};
use loopfit_numerics::lanes::{Lane, Lanewise, Level, Simd};
use short::{averages_of, combine_of, gradients_of, logits_of, most_rows};

/// Attention of all strips: weights `p` (`[strip][N][N]`) and averages `o` (`[strip][N][q]`) from
/// the rows `qkv` (`[strip][N][3q]`: query, key, value).
///
/// # Formula
/// `p_ij = softmax_j(<query_i, key_j> / sqrt(q))`, `o_i = sum_j p_ij value_j`.
pub(super) struct Attention<'a> {
    pub(super) n: usize,
    pub(super) q: usize,
    pub(super) qkv: &'a [Lane],
    pub(super) p: &'a mut [Lane],
    pub(super) o: &'a mut [Lane],
}

impl Attention<'_> {
    /// Runs at a level; short rows stay in registers.
    pub(super) fn run(self, level: Level) {
        with_row_length!(level, self.q, |Q| OfLength::<_, Q>(self), {
            level.lanewise(OfLength::<_, 0>(self));
        });
    }
}

/// Query, key and value of `Q` numbers; of any number if it is zero.
struct OfLength<T, const Q: usize>(T);

impl<const Q: usize> Lanewise for OfLength<Attention<'_>, Q> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        self.0.p.len() / (self.0.n * self.0.n)
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, strip: usize) {
        let Attention { n, q, .. } = self.0;
        let scale = s.splat(1.0 / (q as f32).sqrt());
        let qkv = &self.0.qkv[strip * n * 3 * q..][..n * 3 * q];
        let p = &mut self.0.p[strip * n * n..][..n * n];
        let o = &mut self.0.o[strip * n * q..][..n * q];
        let [query, key, value] = projections(qkv, q);
        if Q == 0 {
            products(s, [n, n, q], query, key, p, n);
            softmax(s, p, n, scale);
            combine::<S, Q>(s, [n, q], Factor::rows(p, n), value, o, q);
            return;
        }
        by_rows!(n, logits_of::<S, Q>(s, n, query, key, p, scale));
        for logit in &mut *p {
            let e = s.exp_up_to_88(s.load(logit));
            s.store(logit, e);
        }
        by_rows!(n, averages_of::<S, Q>(s, n, p, value, o));
    }
}

/// From the gradient of the averages `o` to that of the rows `qkv`.
///
/// # Formula
/// `g_value_j = sum_i p_ij g_o_i`; with `g_p_ij = <g_o_i, value_j>` the logits have
/// `g_ij = p_ij (g_p_ij - sum_k p_ik g_p_ik) / sqrt(q)`; `g_query_i = sum_j g_ij key_j`,
/// `g_key_j = sum_i g_ij query_i`.
pub(super) struct AttentionBackward<'a> {
    pub(super) n: usize,
    pub(super) q: usize,
    pub(super) qkv: &'a [Lane],
    pub(super) p: &'a [Lane],
    pub(super) g_o: &'a [Lane],
    pub(super) g_qkv: &'a mut [Lane],
    /// Room for `N x N` lines.
    pub(super) g_logits: &'a mut [Lane],
}

impl AttentionBackward<'_> {
    /// Runs at a level; short rows stay in registers.
    pub(super) fn run(self, level: Level) {
        with_row_length!(level, self.q, |Q| OfLength::<_, Q>(self), {
            level.lanewise(OfLength::<_, 0>(self));
        });
    }
}

impl<const Q: usize> Lanewise for OfLength<AttentionBackward<'_>, Q> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        self.0.p.len() / (self.0.n * self.0.n)
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, strip: usize) {
        let AttentionBackward { n, q, .. } = self.0;
        let scale = s.splat(1.0 / (q as f32).sqrt());
        let g_logits = &mut self.0.g_logits[..n * n];
        let qkv = &self.0.qkv[strip * n * 3 * q..][..n * 3 * q];
        let p = &self.0.p[strip * n * n..][..n * n];
        let g_o = &self.0.g_o[strip * n * q..][..n * q];
        let g_qkv = &mut self.0.g_qkv[strip * n * 3 * q..][..n * 3 * q];
        let [query, key, value] = projections(qkv, q);
        let (weights, g_o) = (Factor::rows(p, n), Factor::rows(g_o, q));
        let to = &mut g_qkv[2 * q..];
        combine::<S, Q>(s, [n, q], weights.transposed(), g_o, to, 3 * q);
        if Q == 0 {
            products(s, [n, n, q], g_o, value, g_logits, n);
            for (g, p) in g_logits.chunks_exact_mut(n).zip(p.chunks_exact(n)) {
                softmax_backward(s, g, p, scale);
            }
        } else {
            by_rows!(
                n,
                gradients_of::<S, Q>(s, n, [g_o, value], p, g_logits, scale)
            );
        }
        let g = Factor::rows(g_logits, n);
        combine::<S, Q>(s, [n, q], g, key, g_qkv, 3 * q);
        let to = &mut g_qkv[q..];
        combine::<S, Q>(s, [n, q], g.transposed(), query, to, 3 * q);
    }
}

/// `row = softmax(scale row)` for every row of `n` numbers, safe from overflow. Step by step over all of them: within a row each
/// step waits for the one before.
#[inline(always)]
pub(super) fn softmax<S: Simd>(s: S, rows: &mut [Lane], n: usize, scale: S::V) {
    for row in rows.chunks_exact_mut(n) {
        let mut largest = s.load(&row[0]);
        for logit in &row[1..] {
            largest = s.max(s.load(logit), largest);
        }
        for logit in row {
            let below = s.mul(scale, s.sub(s.load(logit), largest));
            s.store(logit, below);
        }
    }
    for logit in &mut *rows {
        let e = s.exp_up_to_88(s.load(logit));
        s.store(logit, e);
    }
    for row in rows.chunks_exact_mut(n) {
        let mut sum = s.splat(0.0);
        for e in &*row {
            sum = s.add(sum, s.load(e));
        }
        let share = s.div(s.splat(1.0), sum);
        for e in row {
            let weight = s.mul(share, s.load(e));
            s.store(e, weight);
        }
    }
}

/// From the gradient `g` of the weights `p` of a row to that of its unscaled logits, in place.
#[inline(always)]
fn softmax_backward<S: Simd>(s: S, g: &mut [Lane], p: &[Lane], scale: S::V) {
    let mut mean = s.splat(0.0);
    for (g, p) in g.iter().zip(p) {
        mean = s.fma(s.load(p), s.load(g), mean);
    }
    for (g, p) in g.iter_mut().zip(p) {
        let deviation = s.sub(s.load(g), mean);
        s.store(g, s.mul(s.mul(scale, s.load(p)), deviation));
    }
}

/// Query, key and value of a strip's tokens.
#[inline(always)]
fn projections(qkv: &[Lane], q: usize) -> [Factor<'_>; 3] {
    [0, 1, 2].map(|part| Factor {
        lines: &qkv[part * q..],
        down: 3 * q,
        along: 1,
    })
}

/// A matrix of lanes: entry (i, k) is line `i down + k along`.
#[derive(Clone, Copy)]
struct Factor<'a> {
    lines: &'a [Lane],
    down: usize,
    along: usize,
}

impl<'a> Factor<'a> {
    #[inline(always)]
    fn rows(lines: &'a [Lane], width: usize) -> Self {
        Self {
            lines,
            down: width,
            along: 1,
        }
    }

    #[inline(always)]
    fn transposed(self) -> Self {
        Self {
            down: self.along,
            along: self.down,
            ..self
        }
    }
}

/// `to[i] = sum_j weights[i][j] rows[j]` for `n` rows of `q` numbers, `stride` lines from one to the next of `to`; `q` is `Q` unless
/// that is zero.
#[inline(always)]
fn combine<S: Simd, const Q: usize>(
    s: S,
    [n, q]: [usize; 2],
    weights: Factor<'_>,
    rows: Factor<'_>,
    to: &mut [Lane],
    stride: usize,
) {
    if Q == 0 {
        return products(s, [n, q, n], weights, rows.transposed(), to, stride);
    }
    // What makes the unchecked reads of `combine_of` sound.
    assert!(n > 0 && rows.along == 1);
    assert!((n - 1) * (weights.down + weights.along) < weights.lines.len());
    assert!((n - 1) * rows.down + Q <= rows.lines.len());
    by_rows!(n, combine_of::<S, Q>(s, n, weights, rows, to, stride));
}

/// Most rows and columns of a tile.
const fn most<S: Simd>() -> usize {
    if S::REGISTERS < 32 { 3 } else { TILE }
}

/// `to[i][j] = sum_k a[i][k] b[j][k]` for `i < rows`, `j < columns`, `k < depth`; entry (i, j)
/// goes to line `i stride + j`.
#[inline(always)]
fn products<S: Simd>(
    s: S,
    [rows, columns, depth]: [usize; 3],
    a: Factor<'_>,
    b: Factor<'_>,
    to: &mut [Lane],
    stride: usize,
) {
    // What makes the unchecked reads of `tile` sound.
    let last = |f: Factor<'_>, i: usize| (i - 1) * f.down + (depth - 1) * f.along;
    assert!(rows > 0 && columns > 0 && depth > 0);
    assert!(last(a, rows) < a.lines.len() && last(b, columns) < b.lines.len());
    let mut i = 0;
    while i < rows {
        let height = first_part::<S>(rows - i, const { most::<S>() });
        let mut j = 0;
        while j < columns {
            let at = (i, j);
            let width = first_part::<S>(columns - j, const { most::<S>() });
            match (height, width) {
                (1, 1) => tile::<S, 1, 1>(s, at, depth, a, b, to, stride),
                (1, 2) => tile::<S, 1, 2>(s, at, depth, a, b, to, stride),
                (1, 3) => tile::<S, 1, 3>(s, at, depth, a, b, to, stride),
                (1, _) => tile::<S, 1, TILE>(s, at, depth, a, b, to, stride),
                (2, 1) => tile::<S, 2, 1>(s, at, depth, a, b, to, stride),
                (2, 2) => tile::<S, 2, 2>(s, at, depth, a, b, to, stride),
                (2, 3) => tile::<S, 2, 3>(s, at, depth, a, b, to, stride),
                (2, _) => tile::<S, 2, TILE>(s, at, depth, a, b, to, stride),
                (3, 1) => tile::<S, 3, 1>(s, at, depth, a, b, to, stride),
                (3, 2) => tile::<S, 3, 2>(s, at, depth, a, b, to, stride),
                (3, 3) => tile::<S, 3, 3>(s, at, depth, a, b, to, stride),
                (3, _) => tile::<S, 3, TILE>(s, at, depth, a, b, to, stride),
                (_, 1) => tile::<S, TILE, 1>(s, at, depth, a, b, to, stride),
                (_, 2) => tile::<S, TILE, 2>(s, at, depth, a, b, to, stride),
                (_, 3) => tile::<S, TILE, 3>(s, at, depth, a, b, to, stride),
                _ => tile::<S, TILE, TILE>(s, at, depth, a, b, to, stride),
            }
            j += width;
        }
        i += height;
    }
}

/// Entries `(i..i + R, j..j + C)` of the product, `(i, j) = at`.
#[inline(always)]
fn tile<S: Simd, const R: usize, const C: usize>(
    s: S,
    (i, j): (usize, usize),
    depth: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    to: &mut [Lane],
    stride: usize,
) {
    let mut sums = [[s.splat(0.0); C]; R];
    for k in 0..depth {
        let mut right = [s.splat(0.0); C];
        for c in 0..C {
            let at = (j + c) * b.down + k * b.along;
            // SAFETY: j + c < columns, k < depth; `products` looked at the last entry.
            right[c] = s.load(unsafe { b.lines.get_unchecked(at) });
        }
        for r in 0..R {
            let at = (i + r) * a.down + k * a.along;
            // SAFETY: as above, with i + r < rows.
            let left = s.load(unsafe { a.lines.get_unchecked(at) });
            for c in 0..C {
                sums[r][c] = s.fma(left, right[c], sums[r][c]);
            }
        }
    }
    for r in 0..R {
        let to = &mut to[(i + r) * stride + j..][..C];
        for c in 0..C {
            s.store(&mut to[c], sums[r][c]);
        }
    }
}
