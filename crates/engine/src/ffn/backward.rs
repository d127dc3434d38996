//! Backward pass with the state's gradient in registers; loops as in [`super::forward`].
#![allow(clippy::needless_range_loop)]

use super::forward::{keep, paired};
use super::pack::Packing;
use super::{MOST_STRIPS, Strips, most_state, pairs, run_strips};
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

/// Some steps, counted from the last iteration: what is kept of all of them in `h` and `g`, of these alone in `a`.
pub(super) struct Steps<'a> {
    pub(super) strips: usize,
    pub(super) steps: Range<usize>,
    pub(super) h: &'a [Lane],
    pub(super) a: &'a mut [Lane],
    pub(super) g: &'a mut [Lane],
}

impl<const Q: usize, const SMOOTH: bool> Lanewise for Backward<'_, Q, SMOOTH> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        let parts = self.at.steps.len().div_ceil(steps_at_once::<S>(Q));
        Strips::<S, Q, true, true, SMOOTH>::tiles(self.at.strips, self.p.r) * parts
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, piece: usize) {
        // In 32 bits a division takes half as long.
        let (piece, tiles) = (
            piece as u32,
            Strips::<S, Q, true, true, SMOOTH>::tiles(self.at.strips, self.p.r) as u32,
        );
        let parts = self.at.steps.len().div_ceil(steps_at_once::<S>(Q)) as u32;
        let (tile, part) = match steps_at_once::<S>(Q) {
            1 => (piece % tiles, piece / tiles),
            _ => (piece / parts, piece % parts),
        };
        let Range { start, end } = self.at.steps;
        let (tile, first) = (tile as usize, start + part as usize * steps_at_once::<S>(Q));
        let end = end.min(first + steps_at_once::<S>(Q));
        run_strips!(self, s, Strips<S, Q, true, true, SMOOTH>, S, self.at.strips, tile, first..end);
    }
}

/// Steps of a piece. With one, all strips take it before the next, and memory is read and written in the order in which it
/// lies. Where a line has two registers and the state of two strips is large, a tile takes four before the other register does,
/// which finds the lines in the first-level cache.
const fn steps_at_once<S: Simd>(q: usize) -> usize {
    if S::REGISTERS < 32 && q > 3 { 4 } else { 1 }
}

impl<const Q: usize, const SMOOTH: bool> Backward<'_, Q, SMOOTH> {
    /// `M` strips from `strip` on, through some steps.
    #[inline(always)]
    fn tile<S: Simd, const M: usize>(&mut self, s: S, strip: usize, steps: Range<usize>) {
        if const { M == MOST_STRIPS && Strips::<S, Q, true, true, SMOOTH>::PAIRED } {
            return self.tile_of_pairs::<S, M>(s, strip, steps);
        }
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
            let h = &self.at.h[first * p.r..][..M * p.r];
            let a = &mut self.at.a[(first - self.at.steps.start * strips) * p.r..][..M * p.r];
            g = block_backward::<S, Q, M, SMOOTH>(s, units, g, h, a);
            keep(s, &mut self.at.g[(first + strips) * Q..][..M * Q], &g);
        }
    }
}

impl<const Q: usize, const SMOOTH: bool> Backward<'_, Q, SMOOTH> {
    /// As [`Backward::tile`], for blocks of two units.
    #[inline(always)]
    fn tile_of_pairs<S: Simd, const M: usize>(&mut self, s: S, strip: usize, steps: Range<usize>) {
        let (p, strips) = (self.p, self.at.strips);
        for step in steps {
            let units = &self.params[p.units(p.block_at(p.step_at(step)))];
            let first = step * strips + strip;
            let (g, before) = self.at.g.split_at_mut((step + 1) * strips * Q);
            let a = &mut self.at.a[(first - self.at.steps.start * strips) * 2..];
            let (g, before) = (&g[first * Q..], &mut before[strip * Q..]);
            pairs::block_backward::<S, Q, M>(s, units, g, &self.at.h[first * 2..], a, before);
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
    let mut next = g;
    let (pairs, rest) = units.split_at(paired::<S, M>(r) * (2 * Q + 1));
    for (i, pair) in pairs.chunks_exact(2 * (2 * Q + 1)).enumerate() {
        let at = (r, 2 * i);
        // SAFETY: pair i has the units 2 i and 2 i + 1 of r; the lines of h and a are asserted above.
        unsafe { units_backward::<S, Q, M, 2, SMOOTH>(s, pair, &g, &mut next, (h, a), at) };
    }
    let first = r - rest.len() / (2 * Q + 1);
    for (i, unit) in rest.chunks_exact(2 * Q + 1).enumerate() {
        let at = (r, first + i);
        // SAFETY: the last r - first units of r; the lines of h and a are asserted above.
        unsafe { units_backward::<S, Q, M, 1, SMOOTH>(s, unit, &g, &mut next, (h, a), at) };
    }
    next
}

/// `U` units from unit `j` of `r` on.
///
/// # Safety
/// `j + U <= r`, and there are `M r` lines in `h` and in `a`.
#[inline(always)]
unsafe fn units_backward<
    S: Simd,
    const Q: usize,
    const M: usize,
    const U: usize,
    const SMOOTH: bool,
>(
    s: S,
    units: &[f32],
    g: &[[S::V; Q]; M],
    next: &mut [[S::V; Q]; M],
    (h, a): (&[Lane], &mut [Lane]),
    (r, j): (usize, usize),
) {
    let zero = s.splat(0.0);
    let units = &units[..U * (2 * Q + 1)];
    let mut v = [[zero; M]; U];
    for k in 0..Q {
        for u in 0..U {
            let w = s.splat(units[u * (2 * Q + 1) + Q + 1 + k]);
            for m in 0..M {
                v[u][m] = if k == 0 {
                    s.mul(w, g[m][k])
                } else {
                    s.fma(w, g[m][k], v[u][m])
                };
            }
        }
    }
    for u in 0..U {
        for m in 0..M {
            let at = m * r + j + u;
            // SAFETY: m < M, j + u < r and both lengths are M * r, as the caller vouches.
            let (h, a) = unsafe { (h.get_unchecked(at), a.get_unchecked_mut(at)) };
            v[u][m] = if SMOOTH {
                s.mul(v[u][m], s.load(a))
            } else {
                s.select_greater(s.load(h), zero, v[u][m], zero)
            };
            s.store(a, v[u][m]);
        }
    }
    for u in 0..U {
        for k in 0..Q {
            let w = s.splat(units[u * (2 * Q + 1) + k]);
            for m in 0..M {
                next[m][k] = s.fma(w, v[u][m], next[m][k]);
            }
        }
    }
}
