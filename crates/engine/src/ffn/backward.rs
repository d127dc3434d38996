//! Backward pass with the state's gradient in registers; loops as in [`super::forward`].
#![allow(clippy::needless_range_loop)]

use super::forward::keep;
use super::pack::Packing;
use loopfit_numerics::lanes::{Kernel, Lane, Simd};

/// Gradients of all states and hidden preactivations from those of the outputs.
///
/// # Formula
/// With `g_t` the gradient of `z_t`: `g_T = W_out^T g_out`,
/// `a_t = s'(u_t) W2^T g_{t+1}` and `g_t = g_{t+1} + W1^T a_t`. The ReLU's derivative is
/// `1{h_t > 0}`; those of smooth units stand in `a` before.
pub(super) struct Backward<'a, const Q: usize, const N: usize, const SMOOTH: bool> {
    pub(super) p: &'a Packing,
    pub(super) params: &'a [f32],
    pub(super) g_out: &'a [Lane],
    pub(super) h: &'a [Lane],
    pub(super) a: &'a mut [Lane],
    pub(super) g: &'a mut [Lane],
}

impl<const Q: usize, const N: usize, const SMOOTH: bool> Kernel for Backward<'_, Q, N, SMOOTH> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let strips = self.g_out.len() / self.p.outputs;
        let mut strip = 0;
        while strip + N <= strips {
            self.tile::<S, N>(s, strip, strips);
            strip += N;
        }
        while strip < strips {
            self.tile::<S, 1>(s, strip, strips);
            strip += 1;
        }
    }
}

impl<const Q: usize, const N: usize, const SMOOTH: bool> Backward<'_, Q, N, SMOOTH> {
    /// `M` strips from `strip` on, back through all iterations.
    #[inline(always)]
    fn tile<S: Simd, const M: usize>(&mut self, s: S, strip: usize, strips: usize) {
        let p = self.p;
        let output = &self.params[p.output()];
        let g_out = &self.g_out[strip * p.outputs..][..M * p.outputs];
        let mut g = [[s.splat(0.0); Q]; M];
        for (c, row) in output.chunks_exact(Q + 1).enumerate() {
            for m in 0..M {
                let g_out = s.load(&g_out[m * p.outputs + c]);
                for k in 0..Q {
                    g[m][k] = s.fma(s.splat(row[k]), g_out, g[m][k]);
                }
            }
        }
        for t in (0..p.iterations).rev() {
            keep(
                s,
                &mut self.g[((t + 1) * strips + strip) * Q..][..M * Q],
                &g,
            );
            let units = &self.params[p.units(p.block_at(t))];
            let range = (t * strips + strip) * p.r..(t * strips + strip + M) * p.r;
            let (h, a) = (&self.h[range.clone()], &mut self.a[range]);
            g = block_backward::<S, Q, M, SMOOTH>(s, units, g, h, a);
        }
        keep(s, &mut self.g[strip * Q..][..M * Q], &g);
    }
}

#[inline(always)]
fn block_backward<S: Simd, const Q: usize, const M: usize, const SMOOTH: bool>(
    s: S,
    units: &[f32],
    g: [[S::V; Q]; M],
    h: &[Lane],
    a: &mut [Lane],
) -> [[S::V; Q]; M] {
    let r = units.len() / (2 * Q + 1);
    assert!(h.len() == M * r && a.len() == M * r);
    let zero = s.splat(0.0);
    let mut next = g;
    for (j, unit) in units.chunks_exact(2 * Q + 1).enumerate() {
        let mut v = [zero; M];
        for k in 0..Q {
            let w = s.splat(unit[Q + 1 + k]);
            for m in 0..M {
                v[m] = if k == 0 {
                    s.mul(w, g[m][k])
                } else {
                    s.fma(w, g[m][k], v[m])
                };
            }
        }
        for m in 0..M {
            // SAFETY: m < M, j < r and both lengths are M * r, asserted above.
            let (h, a) = unsafe { (h.get_unchecked(m * r + j), a.get_unchecked_mut(m * r + j)) };
            v[m] = if SMOOTH {
                s.mul(v[m], s.load(a))
            } else {
                s.select_greater(s.load(h), zero, v[m], zero)
            };
            s.store(a, v[m]);
        }
        for k in 0..Q {
            let w = s.splat(unit[k]);
            for m in 0..M {
                next[m][k] = s.fma(w, v[m], next[m][k]);
            }
        }
    }
    next
}
