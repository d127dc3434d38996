//! Forward pass with the state in registers.
//!
//! Loops over strips and coordinates have constant bounds and plain indices: through an
//! iterator the state would live in memory (a quarter of the speed at q = 5).
#![allow(clippy::needless_range_loop)]

use super::pack::Packing;
use super::{MOST_STRIPS, Strips, most_state, pairs, run_strips};
use crate::smooth::Activate;
use loopfit_numerics::lanes::{Lane, Lanewise, Simd};

/// Outputs of all strips; with `KEEP` also states and hidden values of every iteration and, of
/// smooth units, derivatives. Without, `h` is room for the hidden values of a tile's strips if they
/// are smooth.
pub(super) struct Forward<'a, const Q: usize, const KEEP: bool, const SMOOTH: bool> {
    pub(super) p: &'a Packing,
    pub(super) params: &'a [f32],
    pub(super) x: &'a [Lane],
    pub(super) out: &'a mut [Lane],
    pub(super) z: &'a mut [Lane],
    pub(super) h: &'a mut [Lane],
    pub(super) slopes: &'a mut [Lane],
}

impl<const Q: usize, const KEEP: bool, const SMOOTH: bool> Lanewise
    for Forward<'_, Q, KEEP, SMOOTH>
{
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        Strips::<S, Q, false, KEEP, SMOOTH>::tiles(self.strips(), self.p.r)
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, tile: usize) {
        run_strips!(self, s, Strips<S, Q, false, KEEP, SMOOTH>, S, self.strips(), tile);
    }
}

impl<const Q: usize, const KEEP: bool, const SMOOTH: bool> Forward<'_, Q, KEEP, SMOOTH> {
    #[inline(always)]
    fn strips(&self) -> usize {
        self.x.len() / self.p.d
    }

    /// `M` strips from `strip` on, through all iterations.
    #[inline(always)]
    fn tile<S: Simd, const M: usize>(&mut self, s: S, strip: usize) {
        if const { M == MOST_STRIPS && Strips::<S, Q, false, KEEP, SMOOTH>::PAIRED } {
            return self.tile_of_pairs::<S, M>(s, strip);
        }
        let (p, d, strips) = (self.p, self.p.d, self.strips());
        let input = &self.params[p.input()];
        let x = &self.x[strip * d..][..M * d];
        let mut z = [[s.splat(0.0); Q]; M];
        for k in 0..Q {
            for m in 0..M {
                z[m][k] = s.splat(input[k * (d + 1) + d]);
            }
        }
        // All sums at once: one would wait for itself.
        for i in 0..d {
            for k in 0..Q {
                let w = s.splat(input[k * (d + 1) + i]);
                for m in 0..M {
                    z[m][k] = s.fma(w, s.load(&x[m * d + i]), z[m][k]);
                }
            }
        }
        for t in 0..p.iterations {
            let block = p.block_at(t);
            let (units, b2) = (&self.params[p.units(block)], &self.params[p.b2(block)]);
            if SMOOTH {
                let (mut range, mut slopes) = (0..M * p.r, 0..0);
                if KEEP {
                    keep(
                        s,
                        &mut self.z[(p.state_at(t) * strips + strip) * Q..][..M * Q],
                        &z,
                    );
                    let first = p.step_at(t) * strips + strip;
                    range = first * p.r..(first + M) * p.r;
                    slopes = range.clone();
                }
                let activate = Activate {
                    activation: p.activation,
                    values: &mut self.h[range],
                    slopes: &mut self.slopes[slopes],
                };
                z = block_smooth::<S, Q, M>(s, units, b2, z, activate);
            } else if KEEP {
                keep(
                    s,
                    &mut self.z[(p.state_at(t) * strips + strip) * Q..][..M * Q],
                    &z,
                );
                let h = &mut self.h[(p.step_at(t) * strips + strip) * p.r..][..M * p.r];
                z = block_forward::<S, Q, M, KEEP>(s, units, b2, z, h);
            } else {
                z = block_forward::<S, Q, M, KEEP>(s, units, b2, z, &mut []);
            }
        }
        if KEEP {
            keep(s, &mut self.z[strip * Q..][..M * Q], &z);
        }
        let output = &self.params[p.output()];
        let out = &mut self.out[strip * p.outputs..][..M * p.outputs];
        for (c, row) in output.chunks_exact(Q + 1).enumerate() {
            for m in 0..M {
                let mut sum = s.splat(row[Q]);
                for k in 0..Q {
                    sum = s.fma(s.splat(row[k]), z[m][k], sum);
                }
                s.store(&mut out[m * p.outputs + c], sum);
            }
        }
    }
}

impl<const Q: usize, const KEEP: bool, const SMOOTH: bool> Forward<'_, Q, KEEP, SMOOTH> {
    /// As [`Forward::tile`], for blocks of two units.
    #[inline(always)]
    fn tile_of_pairs<S: Simd, const M: usize>(&mut self, s: S, strip: usize) {
        let (p, d, strips) = (self.p, self.p.d, self.strips());
        let x = &self.x[strip * d..][..M * d];
        let first = (p.state_at(0) * strips + strip) * Q;
        let z = &mut self.z[first..][..M * Q];
        let input = self.params[p.input()].chunks_exact(d + 1);
        for (k, row) in input.enumerate().take(Q) {
            let mut sums = [s.splat(row[d]); M];
            for i in 0..d {
                let w = s.splat(row[i]);
                for m in 0..M {
                    sums[m] = s.fma(w, s.load(&x[m * d + i]), sums[m]);
                }
            }
            for m in 0..M {
                s.store(&mut z[m * Q + k], sums[m]);
            }
        }
        for t in 0..p.iterations {
            let block = p.block_at(t);
            let (units, b2) = (&self.params[p.units(block)], &self.params[p.b2(block)]);
            let (after, z) = self.z.split_at_mut(p.state_at(t) * strips * Q);
            let after = &mut after[p.state_at(t + 1) * strips * Q..];
            let h = &mut self.h[(p.step_at(t) * strips + strip) * 2..];
            let at = strip * Q;
            pairs::block_forward::<S, Q, M>(s, units, b2, &z[at..], h, &mut after[at..]);
        }
        let z = &self.z[strip * Q..][..M * Q];
        let out = &mut self.out[strip * p.outputs..][..M * p.outputs];
        for (c, row) in self.params[p.output()].chunks_exact(Q + 1).enumerate() {
            let mut sums = [s.splat(row[Q]); M];
            for k in 0..Q {
                let w = s.splat(row[k]);
                for m in 0..M {
                    sums[m] = s.fma(w, s.load(&z[m * Q + k]), sums[m]);
                }
            }
            for m in 0..M {
                s.store(&mut out[m * p.outputs + c], sums[m]);
            }
        }
    }
}

/// `z + W2 ReLU(W1 z + b1) + b2` for `M` strips, hidden values to `h` if kept.
#[inline(always)]
fn block_forward<S: Simd, const Q: usize, const M: usize, const KEEP: bool>(
    s: S,
    units: &[f32],
    b2: &[f32],
    z: [[S::V; Q]; M],
    h: &mut [Lane],
) -> [[S::V; Q]; M] {
    let r = units.len() / (2 * Q + 1);
    assert!(!KEEP || h.len() == M * r);
    let mut next = plus_bias(s, z, b2);
    let (pairs, rest) = units.split_at(paired::<S, M>(r) * (2 * Q + 1));
    for (i, pair) in pairs.chunks_exact(2 * (2 * Q + 1)).enumerate() {
        // SAFETY: pair i has the units 2 i and 2 i + 1 of r; the lines of h are asserted above.
        unsafe { units_forward::<S, Q, M, 2, KEEP>(s, pair, &z, &mut next, h, (r, 2 * i)) };
    }
    let first = r - rest.len() / (2 * Q + 1);
    for (i, unit) in rest.chunks_exact(2 * Q + 1).enumerate() {
        // SAFETY: the last r - first units of r; the lines of h are asserted above.
        unsafe { units_forward::<S, Q, M, 1, KEEP>(s, unit, &z, &mut next, h, (r, first + i)) };
    }
    next
}

/// How many of `r` units are taken two at a time: all pairs where there is one strip, whose sums would wait for each other, and room
/// in the registers.
#[inline(always)]
pub(super) fn paired<S: Simd, const M: usize>(r: usize) -> usize {
    match M == 1 && S::REGISTERS >= 32 {
        true => r / 2 * 2,
        false => 0,
    }
}

/// `U` units from unit `j` of `r` on.
///
/// # Safety
/// `j + U <= r`, and with `KEEP` there are `M r` lines in `h`.
#[inline(always)]
unsafe fn units_forward<
    S: Simd,
    const Q: usize,
    const M: usize,
    const U: usize,
    const KEEP: bool,
>(
    s: S,
    units: &[f32],
    z: &[[S::V; Q]; M],
    next: &mut [[S::V; Q]; M],
    h: &mut [Lane],
    (r, j): (usize, usize),
) {
    let zero = s.splat(0.0);
    let units = &units[..U * (2 * Q + 1)];
    let mut v = [[zero; M]; U];
    for u in 0..U {
        v[u] = [s.splat(units[u * (2 * Q + 1) + Q]); M];
    }
    for k in 0..Q {
        for u in 0..U {
            let w = s.splat(units[u * (2 * Q + 1) + k]);
            for m in 0..M {
                v[u][m] = s.fma(w, z[m][k], v[u][m]);
            }
        }
    }
    for u in 0..U {
        for m in 0..M {
            v[u][m] = s.max(zero, v[u][m]);
            if KEEP {
                // SAFETY: m < M, j + u < r and h.len() == M * r, as the caller vouches.
                s.store(unsafe { h.get_unchecked_mut(m * r + j + u) }, v[u][m]);
            }
        }
    }
    for u in 0..U {
        for k in 0..Q {
            let w = s.splat(units[u * (2 * Q + 1) + Q + 1 + k]);
            for m in 0..M {
                next[m][k] = s.fma(w, v[u][m], next[m][k]);
            }
        }
    }
}

/// `z + W2 s(W1 z + b1) + b2` for `M` strips: all preactivations go to memory, where `activate`
/// finds them, and hidden values are read from there. So one loop for all state dimensions
/// evaluates the activation, and its divisions overlap.
#[inline(always)]
fn block_smooth<S: Simd, const Q: usize, const M: usize>(
    s: S,
    units: &[f32],
    b2: &[f32],
    z: [[S::V; Q]; M],
    activate: Activate<'_>,
) -> [[S::V; Q]; M] {
    let r = units.len() / (2 * Q + 1);
    let Activate {
        activation,
        values: h,
        slopes,
    } = activate;
    assert!(h.len() == M * r);
    for (j, unit) in units.chunks_exact(2 * Q + 1).enumerate() {
        let mut v = [s.splat(unit[Q]); M];
        for k in 0..Q {
            let w = s.splat(unit[k]);
            for m in 0..M {
                v[m] = s.fma(w, z[m][k], v[m]);
            }
        }
        for m in 0..M {
            // SAFETY: m < M, j < r and h.len() == M * r, asserted above.
            s.store(unsafe { h.get_unchecked_mut(m * r + j) }, v[m]);
        }
    }
    s.apart(Activate {
        activation,
        values: &mut *h,
        slopes,
    });
    let mut next = plus_bias(s, z, b2);
    for (j, unit) in units.chunks_exact(2 * Q + 1).enumerate() {
        let mut v = [s.splat(0.0); M];
        for m in 0..M {
            // SAFETY: as above.
            v[m] = s.load(unsafe { h.get_unchecked(m * r + j) });
        }
        for k in 0..Q {
            let w = s.splat(unit[Q + 1 + k]);
            for m in 0..M {
                next[m][k] = s.fma(w, v[m], next[m][k]);
            }
        }
    }
    next
}

#[inline(always)]
fn plus_bias<S: Simd, const Q: usize, const M: usize>(
    s: S,
    mut z: [[S::V; Q]; M],
    b2: &[f32],
) -> [[S::V; Q]; M] {
    for k in 0..Q {
        let b = s.splat(b2[k]);
        for m in 0..M {
            z[m][k] = s.add(z[m][k], b);
        }
    }
    z
}

/// Writes the states of `M` strips.
#[inline(always)]
pub(super) fn keep<S: Simd, const Q: usize, const M: usize>(
    s: S,
    to: &mut [Lane],
    z: &[[S::V; Q]; M],
) {
    assert!(to.len() == M * Q);
    for m in 0..M {
        for k in 0..Q {
            s.store(&mut to[m * Q + k], z[m][k]);
        }
    }
}
