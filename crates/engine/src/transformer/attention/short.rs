//! Parts of attention for rows of up to eight numbers, which stay in registers.
#![allow(clippy::needless_range_loop)]

use super::Factor;
use loopfit_numerics::lanes::{Lane, Simd};

/// Rows that are taken at a time: with `q` numbers each, two more each and one of all, they stay in registers.
pub(super) const fn most_rows<S: Simd>(q: usize) -> usize {
    match (S::REGISTERS >= 32, q) {
        (true, 0..=4) => 5,
        (true, 5) => 4,
        (true, _) | (false, 0..=3) => 3,
        (false, 4 | 5) => 2,
        (false, _) => 1,
    }
}

/// Rows `i..i + R`.
#[inline(always)]
fn rows_of<S: Simd, const Q: usize, const R: usize>(
    s: S,
    i: usize,
    rows: Factor<'_>,
) -> [[S::V; Q]; R] {
    let mut own = [[s.splat(0.0); Q]; R];
    for r in 0..R {
        let row = &rows.lines[(i + r) * rows.down..][..Q];
        for k in 0..Q {
            own[r][k] = s.load(&row[k]);
        }
    }
    own
}

/// Products of some rows with row `j` of others.
#[inline(always)]
fn dots<S: Simd, const Q: usize, const R: usize>(
    s: S,
    left: &[[S::V; Q]; R],
    right: Factor<'_>,
    j: usize,
) -> [S::V; R] {
    let right = &right.lines[j * right.down..][..Q];
    let mut sums = [s.splat(0.0); R];
    for k in 0..Q {
        let right = s.load(&right[k]);
        for r in 0..R {
            sums[r] = s.fma(left[r][k], right, sums[r]);
        }
    }
    sums
}

/// Rows `i..i + R` of the logits, scaled, without the largest of the row.
#[inline(always)]
pub(super) fn logits_of<S: Simd, const Q: usize, const R: usize>(
    s: S,
    i: usize,
    n: usize,
    query: Factor<'_>,
    key: Factor<'_>,
    p: &mut [Lane],
    scale: S::V,
) {
    let left = rows_of::<S, Q, R>(s, i, query);
    let p = &mut p[i * n..][..R * n];
    let mut largest = [s.splat(0.0); R];
    for j in 0..n {
        let sums = dots(s, &left, key, j);
        for r in 0..R {
            largest[r] = match j {
                0 => sums[r],
                _ => s.max(sums[r], largest[r]),
            };
            // SAFETY: r < R, j < n, and `p` has R times n lines.
            s.store(unsafe { p.get_unchecked_mut(r * n + j) }, sums[r]);
        }
    }
    for r in 0..R {
        for logit in &mut p[r * n..][..n] {
            let below = s.mul(scale, s.sub(s.load(logit), largest[r]));
            s.store(logit, below);
        }
    }
}

/// Rows `i..i + R` of the weights, from exponentials, and of the averages.
#[inline(always)]
pub(super) fn averages_of<S: Simd, const Q: usize, const R: usize>(
    s: S,
    i: usize,
    n: usize,
    p: &mut [Lane],
    value: Factor<'_>,
    o: &mut [Lane],
) {
    let p = &mut p[i * n..][..R * n];
    let o = &mut o[i * Q..][..R * Q];
    let (mut sums, mut shares) = ([[s.splat(0.0); Q]; R], [s.splat(0.0); R]);
    for r in 0..R {
        let mut sum = s.splat(0.0);
        for e in &p[r * n..][..n] {
            sum = s.add(sum, s.load(e));
        }
        shares[r] = s.div(s.splat(1.0), sum);
    }
    for j in 0..n {
        let value = &value.lines[j * value.down..][..Q];
        let mut weights = shares;
        for r in 0..R {
            // SAFETY: r < R, j < n, and `p` has R times n lines.
            let weight = unsafe { p.get_unchecked_mut(r * n + j) };
            weights[r] = s.mul(shares[r], s.load(weight));
            s.store(weight, weights[r]);
        }
        for k in 0..Q {
            let value = s.load(&value[k]);
            for r in 0..R {
                sums[r][k] = s.fma(weights[r], value, sums[r][k]);
            }
        }
    }
    for r in 0..R {
        for k in 0..Q {
            s.store(&mut o[r * Q + k], sums[r][k]);
        }
    }
}

/// Rows `i..i + R` of the gradients of the logits.
#[inline(always)]
pub(super) fn gradients_of<S: Simd, const Q: usize, const R: usize>(
    s: S,
    i: usize,
    n: usize,
    [g_o, value]: [Factor<'_>; 2],
    p: &[Lane],
    g: &mut [Lane],
    scale: S::V,
) {
    let left = rows_of::<S, Q, R>(s, i, g_o);
    let p = &p[i * n..][..R * n];
    let g = &mut g[i * n..][..R * n];
    let mut means = [s.splat(0.0); R];
    for j in 0..n {
        let sums = dots(s, &left, value, j);
        for r in 0..R {
            // SAFETY: r < R, j < n, and both have R times n lines.
            let (p, g) = unsafe { (p.get_unchecked(r * n + j), g.get_unchecked_mut(r * n + j)) };
            means[r] = s.fma(s.load(p), sums[r], means[r]);
            s.store(g, sums[r]);
        }
    }
    for r in 0..R {
        let rows = g[r * n..][..n].iter_mut().zip(&p[r * n..][..n]);
        for (g, p) in rows {
            let deviation = s.sub(s.load(g), means[r]);
            s.store(g, s.mul(s.mul(scale, s.load(p)), deviation));
        }
    }
}

/// Rows `i..i + R` of [`super::combine`].
#[inline(always)]
pub(super) fn combine_of<S: Simd, const Q: usize, const R: usize>(
    s: S,
    i: usize,
    n: usize,
    weights: Factor<'_>,
    rows: Factor<'_>,
    to: &mut [Lane],
    stride: usize,
) {
    let mut sums = [[s.splat(0.0); Q]; R];
    for j in 0..n {
        let mut left = [s.splat(0.0); R];
        for r in 0..R {
            let at = (i + r) * weights.down + j * weights.along;
            // SAFETY: i + r < n, j < n; `combine` looked at the last entry.
            left[r] = s.load(unsafe { weights.lines.get_unchecked(at) });
        }
        for k in 0..Q {
            // SAFETY: j < n, k < Q; `combine` looked at the last entry.
            let right = s.load(unsafe { rows.lines.get_unchecked(j * rows.down + k) });
            for r in 0..R {
                sums[r][k] = s.fma(left[r], right, sums[r][k]);
            }
        }
    }
    for r in 0..R {
        let to = &mut to[(i + r) * stride..][..Q];
        for k in 0..Q {
            s.store(&mut to[k], sums[r][k]);
        }
    }
}
