//! Backward pass with the state's gradient in registers; loops as in [`super::forward`].
#![allow(clippy::needless_range_loop)]

use super::forward::keep;
use super::pack::Packing;
use super::{MOST_STRIPS, Strips, most_state, run_strips};
use loopfit_numerics::lanes::{Lane, Lanewise, Simd};
use std::ops::Range;

/// Gradients of all states and hidden preactivations from that of the last state, which stands in `g`.
///
/// # Formula
/// With `g_t` the gradient of `z_t`:
/// `a_t = s'(u_t) W2^T g_{t+1}` and `g_t = g_{t+1} + W1^T a_t`. The ReLU's derivative is
/// `1{h_t > 0}`; those of smooth units stand in `a` before.
pub(super) struct Backward<'a, const Q: usize, const SMOOTH: bool> {
    pub(super) p: &'a Packing,
    pub(super) params: &'a [f32],
    pub(super) at: Steps<'a>,
}

/// What is kept of all iterations, the last one first.
pub(super) struct Steps<'a> {
    pub(super) strips: usize,
    pub(super) h: &'a [Lane],
    pub(super) a: &'a mut [Lane],
    pub(super) g: &'a mut [Lane],
}

impl<const Q: usize, const SMOOTH: bool> Lanewise for Backward<'_, Q, SMOOTH> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        let parts = self.p.iterations.div_ceil(steps_at_once::<S>(Q));
        Strips::<S, Q, true>::tiles(self.at.strips) * parts
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, piece: usize) {
        // In 32 bits a division takes half as long.
        let (piece, tiles) = (
            piece as u32,
            Strips::<S, Q, true>::tiles(self.at.strips) as u32,
        );
        let parts = self.p.iterations.div_ceil(steps_at_once::<S>(Q)) as u32;
        let (tile, part) = match steps_at_once::<S>(Q) {
            1 => (piece % tiles, piece / tiles),
            _ => (piece / parts, piece % parts),
        };
        let (tile, first) = (tile as usize, part as usize * steps_at_once::<S>(Q));
        let end = self.p.iterations.min(first + steps_at_once::<S>(Q));
        run_strips!(self, s, Strips<S, Q, true>, S, self.at.strips, tile, first..end);
    }
}

/// Steps of a piece, which all strips take before the next ones, so that memory is read and written in the order in which
/// it lies. Where a line has two registers, few enough for the second to find it in the first-level cache.
const fn steps_at_once<S: Simd>(q: usize) -> usize {
    if S::REGISTERS < 32 && q > 3 { 4 } else { 1 }
}

impl<const Q: usize, const SMOOTH: bool> Backward<'_, Q, SMOOTH> {
    /// `M` strips from `strip` on, through some steps.
    #[inline(always)]
    fn tile<S: Simd, const M: usize>(&mut self, s: S, strip: usize, steps: Range<usize>) {
        let (p, strips) = (self.p, self.at.strips);
        let mut g = [[s.splat(0.0); Q]; M];
        let first = &self.at.g[(steps.start * strips + strip) * Q..][..M * Q];
        for m in 0..M {
            for k in 0..Q {
                g[m][k] = s.load(&first[m * Q + k]);
            }
        }
        for step in steps {
            let units = &self.params[p.units(p.block_at(p.step_at(step)))];
            let first = step * strips + strip;
            let range = first * p.r..(first + M) * p.r;
            let (h, a) = (&self.at.h[range.clone()], &mut self.at.a[range]);
            g = block_backward::<S, Q, M, SMOOTH>(s, units, g, h, a);
            keep(s, &mut self.at.g[(first + strips) * Q..][..M * Q], &g);
        }
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
