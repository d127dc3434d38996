//! Blocks of two hidden units, for some strips at once: all sums of both units together, so that none waits for another, and
//! states from memory, where they are kept anyway. The order of every sum is that of [`super::forward`] and [`super::backward`].
#![allow(clippy::needless_range_loop)]

use loopfit_numerics::lanes::{Lane, Simd};

/// `to = z + W2 ReLU(W1 z + b1) + b2` for `M` strips, hidden values to `h`.
#[inline(always)]
pub(super) fn block_forward<S: Simd, const Q: usize, const M: usize>(
    s: S,
    units: &[f32],
    b2: &[f32],
    z: &[Lane],
    h: &mut [Lane],
    to: &mut [Lane],
) {
    let zero = s.splat(0.0);
    let (units, b2) = (&units[..2 * (2 * Q + 1)], &b2[..Q]);
    let (z, h, to) = (&z[..M * Q], &mut h[..M * 2], &mut to[..M * Q]);
    let mut v = [[s.splat(units[Q]); M], [s.splat(units[3 * Q + 1]); M]];
    for k in 0..Q {
        let w = [s.splat(units[k]), s.splat(units[2 * Q + 1 + k])];
        for m in 0..M {
            let z = s.load(&z[m * Q + k]);
            for u in 0..2 {
                v[u][m] = s.fma(w[u], z, v[u][m]);
            }
        }
    }
    for u in 0..2 {
        for m in 0..M {
            v[u][m] = s.max(zero, v[u][m]);
            s.store(&mut h[m * 2 + u], v[u][m]);
        }
    }
    for k in 0..Q {
        let b = s.splat(b2[k]);
        let w = [s.splat(units[Q + 1 + k]), s.splat(units[3 * Q + 2 + k])];
        for m in 0..M {
            let mut sum = s.add(s.load(&z[m * Q + k]), b);
            for u in 0..2 {
                sum = s.fma(w[u], v[u][m], sum);
            }
            s.store(&mut to[m * Q + k], sum);
        }
    }
}

/// `a = 1{h > 0} W2^T g` and `to = g + W1^T a` for `M` strips.
#[inline(always)]
pub(super) fn block_backward<S: Simd, const Q: usize, const M: usize>(
    s: S,
    units: &[f32],
    g: &[Lane],
    h: &[Lane],
    a: &mut [Lane],
    to: &mut [Lane],
) {
    let zero = s.splat(0.0);
    let units = &units[..2 * (2 * Q + 1)];
    let (g, to) = (&g[..M * Q], &mut to[..M * Q]);
    let (h, a) = (&h[..M * 2], &mut a[..M * 2]);
    let mut v = [[zero; M]; 2];
    for k in 0..Q {
        let w = [s.splat(units[Q + 1 + k]), s.splat(units[3 * Q + 2 + k])];
        for m in 0..M {
            let g = s.load(&g[m * Q + k]);
            for u in 0..2 {
                v[u][m] = match k {
                    0 => s.mul(w[u], g),
                    _ => s.fma(w[u], g, v[u][m]),
                };
            }
        }
    }
    for u in 0..2 {
        for m in 0..M {
            v[u][m] = s.select_greater(s.load(&h[m * 2 + u]), zero, v[u][m], zero);
            s.store(&mut a[m * 2 + u], v[u][m]);
        }
    }
    for k in 0..Q {
        let w = [s.splat(units[k]), s.splat(units[2 * Q + 1 + k])];
        for m in 0..M {
            let mut sum = s.load(&g[m * Q + k]);
            for u in 0..2 {
                sum = s.fma(w[u], v[u][m], sum);
            }
            s.store(&mut to[m * Q + k], sum);
        }
    }
}
