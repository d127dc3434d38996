//! Weight gradients: sums of outer products over (iteration, strip), lane by lane.
#![allow(clippy::needless_range_loop)]

use super::pack::Packing;
use super::{Activations, is_crowded};
use crate::outer::{Factor, SumRows, Target, outer_product, vectors_at_once};
use crate::products::first_part;
use loopfit_numerics::lanes::{Lane, Lanewise, Level, Simd};
use std::ops::Range;

/// What the gradients of a block's coefficients are made of: some of its iterations, counted from the last.
///
/// # Formula
/// `dW1 += a_t z_t^T`, `db1 += a_t`, `dW2 += g_{t+1} h_t^T`, `db2 += g_{t+1}`, over iterations in
/// descending order.
pub(super) struct Products<'a> {
    p: &'a Packing,
    block: usize,
    /// Gradients of preactivations, states before, hidden values and gradients of states after.
    a: &'a [Lane],
    z: &'a [Lane],
    h: &'a [Lane],
    g: &'a [Lane],
}

impl<'a> Products<'a> {
    /// The gradients of the preactivations of these steps come first in `a`.
    pub(super) fn new(
        p: &'a Packing,
        strips: usize,
        steps: Range<usize>,
        a: &'a [Lane],
        kept: &'a Activations,
    ) -> Self {
        let (q, r) = (p.q * strips, p.r * strips);
        Self {
            p,
            block: p.block_at(p.step_at(steps.start)),
            a: &a[..steps.len() * r],
            // The states after the iterations come first.
            z: &kept.z[(steps.start + 1) * q..(steps.end + 1) * q],
            h: &kept.h[steps.start * r..steps.end * r],
            g: &kept.g[steps.start * q..steps.end * q],
        }
    }

    /// Adds them to `acc` or writes them there, tile by tile, each over many vectors.
    pub(super) fn by_tiles(self, level: Level, (acc, mut add): (&mut [Lane], bool)) {
        let Self { p, block, .. } = self;
        let (q, r) = (p.q, p.r);
        let at_once = vectors_at_once(level, q + r).min(self.z.len() / q);
        let of = |lines: &'a [Lane], width: usize| {
            lines
                .chunks(at_once * width)
                .map(move |lines| Factor::new(lines, width))
        };
        let vectors = of(self.a, r).zip(of(self.z, q));
        for ((a, z), (h, g)) in vectors.zip(of(self.h, r).zip(of(self.g, q))) {
            let units = &mut acc[p.units(block)];
            outer_product(level, units, Target::incoming(q, add), a, z);
            outer_product(level, units, Target::outgoing(q, add), h, g);
            level.lanewise(SumRows {
                add,
                acc: &mut acc[p.b2(block)],
                rows: g.lines,
            });
            add = true;
        }
    }

    /// The same by one kernel, for few vectors; where [`in_one_go`] says that there is one.
    pub(super) fn in_one_go(self, level: Level, (acc, add): (&mut [Lane], bool)) {
        let Self { p, a, z, h, g, .. } = self;
        let acc = &mut acc[p.units(self.block).start..p.b2(self.block).end];
        macro_rules! run {
            ($($Q:literal)*) => {
                match (level.registers(), p.q) {
                    $((Some(level), $Q) => level.lanewise(Sums::<$Q> { acc, add, a, z, h, g }),)*
                    _ => unreachable!("a kernel for this state"),
                }
            };
        }
        run!(1 2 3 4 5 6);
    }
}

/// Whether a level has a kernel for all gradients of a block with a state of `q` numbers that is worth it. With few registers, tiles
/// are too small for the smallest states where the second-level cache keeps up with larger ones.
pub(super) fn in_one_go(level: Level, q: usize) -> bool {
    let least = |registers| {
        if registers < 32 && !is_crowded() {
            4
        } else {
            1
        }
    };
    level
        .registers()
        .is_some_and(|level| (least(level.count())..=6).contains(&q))
}

/// All gradients of a block in one go, for a state of `Q` numbers: `acc` has the lines of its units, then those of `b2`.
struct Sums<'a, const Q: usize> {
    acc: &'a mut [Lane],
    /// Whether what stands there is added to, or written anew.
    add: bool,
    a: &'a [Lane],
    z: &'a [Lane],
    h: &'a [Lane],
    g: &'a [Lane],
}

/// Most units of a tile: with `2 Q + 1` sums each, they stay in registers beside some factors. With few registers, a tile is of one
/// of the two products, with `Q + 1` sums at most.
const fn most_units<S: Simd>(q: usize) -> usize {
    match (S::REGISTERS >= 32, q) {
        (true, 1) => 8,
        (true, 2) => 5,
        (true, 3) => 3,
        (true, _) => 2,
        (false, 1) => 6,
        (false, 2) => 4,
        (false, 3) => 3,
        (false, _) => 2,
    }
}

impl<const Q: usize> Lanewise for Sums<'_, Q> {
    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, _: usize) {
        let vectors = self.z.len() / Q;
        let r = self.acc.len() / (2 * Q + 1);
        // What makes the unchecked reads of `units` sound.
        assert!(self.z.len() == vectors * Q && self.g.len() == vectors * Q);
        assert!(self.a.len() == vectors * r && self.h.len() == vectors * r);
        assert!(self.acc.len() == r * (2 * Q + 1) + Q);
        let mut j = 0;
        while j < r {
            let now = first_part::<S>(r - j, const { most_units::<S>(Q) });
            // Constant conditions: tiles that the level does not have are not compiled.
            match now {
                1 => self.units::<S, 1>(s, r, j),
                2 if const { most_units::<S>(Q) >= 2 } => self.units::<S, 2>(s, r, j),
                3 if const { most_units::<S>(Q) >= 3 } => self.units::<S, 3>(s, r, j),
                4 if const { most_units::<S>(Q) >= 4 } => self.units::<S, 4>(s, r, j),
                5 if const { most_units::<S>(Q) >= 5 } => self.units::<S, 5>(s, r, j),
                6 if const { most_units::<S>(Q) >= 6 } => self.units::<S, 6>(s, r, j),
                7 if const { most_units::<S>(Q) >= 7 } => self.units::<S, 7>(s, r, j),
                8 if const { most_units::<S>(Q) >= 8 } => self.units::<S, 8>(s, r, j),
                _ => unreachable!("parts are not larger"),
            }
            j += now;
        }
        let acc = &mut self.acc[r * (2 * Q + 1)..];
        let mut sums = [s.splat(0.0); Q];
        if self.add {
            for k in 0..Q {
                sums[k] = s.load(&acc[k]);
            }
        }
        for g in self.g.chunks_exact(Q) {
            for k in 0..Q {
                sums[k] = s.add(sums[k], s.load(&g[k]));
            }
        }
        for k in 0..Q {
            s.store(&mut acc[k], sums[k]);
        }
    }
}

impl<const Q: usize> Sums<'_, Q> {
    /// The units `j..j + J` of `r`.
    #[inline(always)]
    fn units<S: Simd, const J: usize>(&mut self, s: S, r: usize, j: usize) {
        if S::REGISTERS < 32 {
            self.side::<S, J, true>(s, r, j);
            self.side::<S, J, false>(s, r, j);
            return;
        }
        let zero = s.splat(0.0);
        let acc = &mut self.acc[j * (2 * Q + 1)..][..J * (2 * Q + 1)];
        let (mut w1, mut b1, mut w2) = ([[zero; Q]; J], [zero; J], [[zero; Q]; J]);
        if self.add {
            for i in 0..J {
                let unit = &acc[i * (2 * Q + 1)..][..2 * Q + 1];
                for k in 0..Q {
                    w1[i][k] = s.load(&unit[k]);
                    w2[i][k] = s.load(&unit[Q + 1 + k]);
                }
                b1[i] = s.load(&unit[Q]);
            }
        }
        for v in 0..self.z.len() / Q {
            // SAFETY: k < Q, i < J, j + J <= r and v is a vector; `run` compared the lengths.
            let z = |k| s.load(unsafe { self.z.get_unchecked(v * Q + k) });
            // SAFETY: as above.
            let g = |k| s.load(unsafe { self.g.get_unchecked(v * Q + k) });
            // SAFETY: as above.
            let a = |i| s.load(unsafe { self.a.get_unchecked(v * r + j + i) });
            // SAFETY: as above.
            let h = |i| s.load(unsafe { self.h.get_unchecked(v * r + j + i) });
            if J < Q {
                let (mut left, mut right) = ([zero; J], [zero; J]);
                for i in 0..J {
                    (left[i], right[i]) = (a(i), h(i));
                    b1[i] = s.add(b1[i], left[i]);
                }
                for k in 0..Q {
                    let (z, g) = (z(k), g(k));
                    for i in 0..J {
                        w1[i][k] = s.fma(left[i], z, w1[i][k]);
                        w2[i][k] = s.fma(right[i], g, w2[i][k]);
                    }
                }
            } else {
                let (mut before, mut after) = ([zero; Q], [zero; Q]);
                for k in 0..Q {
                    (before[k], after[k]) = (z(k), g(k));
                }
                for i in 0..J {
                    let (a, h) = (a(i), h(i));
                    b1[i] = s.add(b1[i], a);
                    for k in 0..Q {
                        w1[i][k] = s.fma(a, before[k], w1[i][k]);
                        w2[i][k] = s.fma(h, after[k], w2[i][k]);
                    }
                }
            }
        }
        for i in 0..J {
            let unit = &mut acc[i * (2 * Q + 1)..][..2 * Q + 1];
            for k in 0..Q {
                s.store(&mut unit[k], w1[i][k]);
                s.store(&mut unit[Q + 1 + k], w2[i][k]);
            }
            s.store(&mut unit[Q], b1[i]);
        }
    }
}

impl<const Q: usize> Sums<'_, Q> {
    /// Of the units `j..j + J` of `r`, `W1` and `b1` or `W2`.
    #[inline(always)]
    fn side<S: Simd, const J: usize, const W1: bool>(&mut self, s: S, r: usize, j: usize) {
        let zero = s.splat(0.0);
        let acc = &mut self.acc[j * (2 * Q + 1)..][..J * (2 * Q + 1)];
        let (left, right, first) = match W1 {
            true => (self.a, self.z, 0),
            false => (self.h, self.g, Q + 1),
        };
        let (mut sums, mut biases) = ([[zero; Q]; J], [zero; J]);
        if self.add {
            for i in 0..J {
                let unit = &acc[i * (2 * Q + 1)..][..2 * Q + 1];
                for k in 0..Q {
                    sums[i][k] = s.load(&unit[first + k]);
                }
                if W1 {
                    biases[i] = s.load(&unit[Q]);
                }
            }
        }
        for v in 0..self.z.len() / Q {
            let mut lefts = [zero; J];
            for i in 0..J {
                // SAFETY: i < J, j + J <= r and v is a vector; `run` compared the lengths.
                lefts[i] = s.load(unsafe { left.get_unchecked(v * r + j + i) });
                if W1 {
                    biases[i] = s.add(biases[i], lefts[i]);
                }
            }
            for k in 0..Q {
                // SAFETY: k < Q, as above.
                let right = s.load(unsafe { right.get_unchecked(v * Q + k) });
                for i in 0..J {
                    sums[i][k] = s.fma(lefts[i], right, sums[i][k]);
                }
            }
        }
        for i in 0..J {
            let unit = &mut acc[i * (2 * Q + 1)..][..2 * Q + 1];
            for k in 0..Q {
                s.store(&mut unit[first + k], sums[i][k]);
            }
            if W1 {
                s.store(&mut unit[Q], biases[i]);
            }
        }
    }
}

/// The gradients of an affine map, added to `acc` or written there, from `input` (`width` numbers) whose outputs (`height`
/// numbers) have the gradients `grad`.
pub(super) fn affine(
    level: Level,
    (acc, add): (&mut [Lane], bool),
    (grad, height): (&[Lane], usize),
    (input, width): (&[Lane], usize),
) {
    let (grad, input) = (Factor::new(grad, height), Factor::new(input, width));
    outer_product(level, acc, Target::affine(width, add), grad, input);
}
