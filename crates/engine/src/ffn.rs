//! The residual FFN over lanes of samples (paper Sections 3.2 and F.4.2).
//!
//! - [`pack`]: where each coefficient lies, chosen for the kernels;
//! - [`forward`]: the state stays in registers over all iterations (`q <= 16`);
//! - [`backward`]: the same loop run back, giving the gradients of all states;
//! - [`pairs`]: blocks of two units, both ways;
//! - [`outer`]: weight gradients, as sums of outer products over (iteration, strip);
//! - [`general`]: any `q` and any level, state in memory, the same order of operations;
//! - [`row`]: one sample at a time, hidden units across lanes, for low latency.
//!
//! Per sample, every sum starts at its bias (or its residual) and adds terms in ascending
//! index. Over samples, lane sums take groups of strips in turn, in each of them iterations from
//! last to first and strips in ascending order, and the lanes last, in one tree. Nothing about
//! the machine enters, so the bits are the same everywhere.

mod backward;
mod forward;
mod general;
mod outer;
pub(crate) mod pack;
mod pairs;
mod row;

#[cfg(test)]
mod tests;

pub(crate) use row::RowPredictor;

use crate::feedforward::affine_backward;
use backward::{Backward, Steps};
use forward::Forward;
use loopfit_numerics::lanes::{Lane, Level, Simd, first_level_cache, second_level_cache};
use pack::Packing;
use std::marker::PhantomData;

/// Largest state dimension whose state is kept in registers.
#[cfg(test)]
const MAX_REGISTER_STATE: usize = 16;

/// Bytes of activations kept at once: most of a common second-level cache, so that the
/// weight gradients find them there (shape E of the benchmark loses 20% without).
const CACHE_BYTES: usize = 640 * 1024;

/// Most strips of a register tile.
const MOST_STRIPS: usize = 4;

/// Largest state dimension whose kernels are worth their code: with sixteen registers, a larger state is better read from
/// memory, a few numbers of it at a time.
const fn most_state(registers: usize) -> usize {
    if registers < 32 { 6 } else { 16 }
}

/// Largest state dimension that is kept in registers. A large one leaves room for one strip, whose every multiply-add reads a
/// coefficient: too much for cores that do two on whole lines in a cycle.
fn largest_state(registers: usize) -> usize {
    match is_wide() {
        true => most_state(registers).min(8),
        false => most_state(registers),
    }
}

/// Whether a core does as many multiply-adds as loads of whole lines in a cycle. Processors do not say, but those that do have
/// first-level caches of 48 KiB, and those before them of 32.
fn is_wide() -> bool {
    first_level_cache() >= 48 * 1024
}

/// Whether activations of a usual size crowd the second-level cache of a core, so that it pays to have products follow the backward
/// pass and the gradients of preactivations never leave the first level (shape E of the benchmark takes 13% less). Where the second
/// level has 1 MiB, that was slower with AVX-512.
fn is_crowded() -> bool {
    second_level_cache() <= 512 * 1024
}

/// Runs the kernel `$body` with the constant `$Q` (state dimension), or `$general`. For smooth units up to
/// `Q = 8`: beyond, more kernels would gain little.
macro_rules! with_state_dimension {
    ($level:expr, $q:expr, |$Q:ident| $body:expr, $general:expr) => {
        with_state_dimension!(@ $level, $q, $Q, $body, $general, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (smooth $level:expr, $q:expr, |$Q:ident| $body:expr, $general:expr) => {
        with_state_dimension!(@ $level, $q, $Q, $body, $general, 1 2 3 4 5 6 7 8)
    };
    (@ $level:expr, $q:expr, $Q:ident, $body:expr, $general:expr, $($value:literal)*) => {
        match ($level.registers(), $q) {
            $((Some(level), $value) if $value <= largest_state(level.count()) => { const $Q: usize = $value; level.lanewise($body) })*
            _ => $general,
        }
    };
}

/// How strips of a state of `Q` numbers go through the registers.
struct Strips<S, const Q: usize, const BACK: bool, const KEEP: bool, const SMOOTH: bool>(
    PhantomData<S>,
);

impl<S: Simd, const Q: usize, const BACK: bool, const KEEP: bool, const SMOOTH: bool>
    Strips<S, Q, BACK, KEEP, SMOOTH>
{
    /// Strips of a register tile, up to [`MOST_STRIPS`]: old and new state of each take `2 Q` registers, with weights and hidden
    /// values beside them. That may be more than there are: to wait for the sums of few strips costs more than to read some of the
    /// old state from memory.
    const AT_ONCE: usize = match (S::REGISTERS >= 32, Q) {
        (true, 1..=3) => MOST_STRIPS,
        (true, 4) if !BACK => MOST_STRIPS,
        (true, 4..=6) => 3,
        (false, 2) if BACK => 3,
        (false, 1..=2) => MOST_STRIPS,
        (false, 3..=6) => 2,
        _ => 1,
    };

    /// Whether blocks of two units have tiles of [`MOST_STRIPS`] whose states are in memory, see [`pairs`].
    const PAIRED: bool =
        S::REGISTERS < 32 && KEEP && !SMOOTH && Self::AT_ONCE < MOST_STRIPS && Q <= 6;

    /// Tiles of `n` strips of blocks of `r` units: as many as fill the registers, then smaller ones.
    #[inline(always)]
    fn tiles(n: usize, r: usize) -> usize {
        match Self::PAIRED && r == 2 {
            true => tiles(n, MOST_STRIPS),
            false => tiles(n, const { Self::AT_ONCE }),
        }
    }

    /// The first strip of a tile and how many it has.
    #[inline(always)]
    fn tile(n: usize, r: usize, i: usize) -> (usize, usize) {
        match Self::PAIRED && r == 2 {
            true => tile(n, MOST_STRIPS, i),
            false => tile(n, const { Self::AT_ONCE }, i),
        }
    }
}

/// Tiles of `n` strips, `at_once` of them in each but the last. Inlined, so that no number is divided by one that is not known.
#[inline(always)]
fn tiles(n: usize, at_once: usize) -> usize {
    let (full, rest) = (n / at_once, n % at_once);
    full + if rest == 2 { 1 } else { rest }
}

/// The first strip of tile `i` and how many it has.
#[inline(always)]
fn tile(n: usize, at_once: usize, i: usize) -> (usize, usize) {
    let full = n / at_once;
    let first = full * at_once;
    match i < full {
        true => (i * at_once, at_once),
        false if n - first == 2 => (first, 2),
        false => (first + i - full, 1),
    }
}

/// `$kernel.tile::<S, M>($s, strip, ...)` of a tile of strips. Constant conditions: sizes that the level does not
/// have are not compiled.
macro_rules! run_strips {
    ($kernel:expr, $s:expr, $Strips:ty, $S:ident, $strips:expr, $tile:expr $(, $more:expr)?) => {
        match <$Strips>::tile($strips, $kernel.p.r, $tile) {
            // Not compiled: these states are not taken by this level.
            _ if const { Q > most_state($S::REGISTERS) } => {
                unreachable!("states fit the registers")
            }
            (strip, 1) => $kernel.tile::<$S, 1>($s, strip $(, $more)?),
            (strip, 2) if const { <$Strips>::AT_ONCE > 1 } => {
                $kernel.tile::<$S, 2>($s, strip $(, $more)?)
            }
            (strip, 3) if const { <$Strips>::AT_ONCE == 3 } => {
                $kernel.tile::<$S, 3>($s, strip $(, $more)?)
            }
            (strip, MOST_STRIPS)
                if const { <$Strips>::AT_ONCE == MOST_STRIPS || <$Strips>::PAIRED } =>
            {
                $kernel.tile::<$S, MOST_STRIPS>($s, strip $(, $more)?)
            }
            _ => unreachable!("tiles are not larger"),
        }
    };
}
use run_strips;

/// What the forward pass leaves for the backward pass, for one group of strips.
#[derive(Debug, Default)]
pub(crate) struct Activations {
    /// States `z_T..z_0`: `[T - t][strip][q]`.
    z: Vec<Lane>,
    /// Hidden values, those of the last iteration first: `[T - 1 - t][strip][r]`.
    h: Vec<Lane>,
    /// Gradients of the hidden preactivations, of smooth units their derivatives until then:
    /// likewise.
    a: Vec<Lane>,
    /// Gradients of the states, as `z`.
    g: Vec<Lane>,
}

impl Activations {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        (self.z.capacity() + self.h.capacity() + self.a.capacity() + self.g.capacity())
            * size_of::<Lane>()
    }

    /// The states `z_0..z_T`, each `[strip][q]`.
    pub(crate) fn states(&self, len: usize) -> Vec<&[Lane]> {
        self.z.chunks_exact(len).rev().collect()
    }
}

/// A residual FFN of a fixed shape, ready to run at a level.
#[derive(Clone, Debug)]
pub(crate) struct Ffn {
    pub(crate) packing: Packing,
    level: Level,
}

impl Ffn {
    pub(crate) fn new(packing: Packing, level: Level) -> Self {
        Self { packing, level }
    }

    /// How many of `strips` strips to take at once so that their activations fit the
    /// cache: a function of the shape alone, since it fixes the order of sums.
    pub(crate) fn strips_at_once(&self, strips: usize) -> usize {
        let p = &self.packing;
        let per_strip = 2 * ((p.iterations + 1) * p.q + p.iterations * p.r) * size_of::<Lane>();
        let mut at_once = strips.max(1);
        while at_once > 2 && at_once * per_strip > CACHE_BYTES {
            at_once = at_once.div_ceil(2);
        }
        at_once
    }

    /// Outputs of samples, before clipping: `x` is `[strip][d]`, `out` is `[strip][C]`.
    pub(crate) fn predict(&self, params: &[f32], x: &[Lane], out: &mut [Lane]) {
        self.check(params, x, out);
        let (p, level) = (&self.packing, self.level);
        let (z, slopes) = (&mut [][..], &mut [][..]);
        if p.is_smooth() {
            with_state_dimension!(
                smooth level, p.q,
                |Q| Forward::<Q, false, true> {
                    p, params, x, out, z, h: &mut vec![Lane::ZERO; MOST_STRIPS * p.r], slopes
                },
                general::forward(level, p, params, x, out, None)
            );
        } else {
            let h = &mut [][..];
            with_state_dimension!(
                level,
                p.q,
                |Q| Forward::<Q, false, false> {
                    p,
                    params,
                    x,
                    out,
                    z,
                    h,
                    slopes
                },
                general::forward(level, p, params, x, out, None)
            );
        }
    }

    /// As [`Ffn::predict`], keeping what [`Ffn::backward`] needs.
    pub(crate) fn forward(
        &self,
        params: &[f32],
        x: &[Lane],
        out: &mut [Lane],
        kept: &mut Activations,
    ) {
        self.check(params, x, out);
        let (p, level) = (&self.packing, self.level);
        let strips = x.len() / p.d;
        kept.z.resize((p.iterations + 1) * strips * p.q, Lane::ZERO);
        kept.h.resize(p.iterations * strips * p.r, Lane::ZERO);
        let (z, h) = (&mut kept.z[..], &mut kept.h[..]);
        if p.is_smooth() {
            kept.a.resize(p.iterations * strips * p.r, Lane::ZERO);
            let slopes = &mut kept.a[..];
            with_state_dimension!(
                smooth level, p.q,
                |Q| Forward::<Q, true, true> {
                    p, params, x, out, z, h, slopes
                },
                general::forward(level, p, params, x, out, Some(general::Kept { z, h, slopes }))
            );
        } else {
            let slopes = &mut [][..];
            with_state_dimension!(
                level,
                p.q,
                |Q| Forward::<Q, true, false> {
                    p,
                    params,
                    x,
                    out,
                    z,
                    h,
                    slopes
                },
                general::forward(
                    level,
                    p,
                    params,
                    x,
                    out,
                    Some(general::Kept { z, h, slopes })
                )
            );
        }
    }

    /// The gradient of all coefficients, lane by lane, added to `acc` or written there: line `i` of
    /// `acc` belongs to coefficient `i`. `g_out` is the derivative in the outputs, `[strip][C]`;
    /// `x` and `kept` are those of the last [`Ffn::forward`].
    pub(crate) fn backward(
        &self,
        params: &[f32],
        x: &[Lane],
        g_out: &[Lane],
        kept: &mut Activations,
        (acc, add): (&mut [Lane], bool),
    ) {
        self.check(params, x, g_out);
        let (p, level) = (&self.packing, self.level);
        let strips = x.len() / p.d;
        let state = strips * p.q;
        kept.g.resize((p.iterations + 1) * state, Lane::ZERO);
        kept.a.resize(p.iterations * strips * p.r, Lane::ZERO);
        let output = &params[p.output()];
        affine_backward(level, output, g_out, p.outputs, &mut kept.g[..state], p.q);
        let last = (&kept.z[..state], p.q);
        outer::affine(level, (&mut acc[p.output()], add), (g_out, p.outputs), last);
        // Iterations of one block, counted from the last.
        let of_block = p.iterations / p.blocks;
        let few = self.steps_at_once(strips);
        let at_once = few.unwrap_or(p.iterations);
        for start in (0..p.iterations).step_by(at_once) {
            let steps = start..p.iterations.min(start + at_once);
            // Read at once by what follows, so that the next steps may take the same lines.
            let in_a = match p.is_smooth() {
                true => steps.start * strips * p.r..steps.end * strips * p.r,
                false => 0..steps.len() * strips * p.r,
            };
            let at = Steps {
                strips,
                steps: steps.clone(),
                h: &kept.h,
                a: &mut kept.a[in_a.clone()],
                g: &mut kept.g,
            };
            self.states_backward(params, at);
            for first in steps.clone().step_by(of_block) {
                let now = first..steps.end.min(first + of_block);
                let a = &kept.a[in_a.start + (first - start) * strips * p.r..];
                let products = outer::Products::new(p, strips, now, a, kept);
                let acc = (&mut *acc, add || first % of_block > 0);
                match few {
                    Some(_) => products.in_one_go(level, acc),
                    None => products.by_tiles(level, acc),
                }
            }
        }
        let first = (&kept.g[p.iterations * state..], p.q);
        outer::affine(level, (&mut acc[p.input()], add), first, (x, p.d));
    }

    /// How many steps at a time the sums of the weights' gradients follow, in one go, while all that they read lies in the
    /// first-level cache; nothing if that is too much. Sums travel to memory and back each time: a cache that holds few steps
    /// of most networks is worth it for networks of which it holds all, or where the second level is small.
    fn steps_at_once(&self, strips: usize) -> Option<usize> {
        let p = &self.packing;
        let sums = p.r * (2 * p.q + 1) + p.q;
        let step = 2 * (p.q + p.r) * strips;
        let lines = first_level_cache() / size_of::<Lane>();
        let steps = (lines.checked_sub(sums)? / step).min(p.iterations);
        let enough = steps > 0 && (is_wide() || is_crowded() || steps == p.iterations);
        (enough && outer::in_one_go(self.level, p.q)).then_some(steps)
    }

    /// The gradients of states and preactivations of some steps from that of the state after them.
    fn states_backward(&self, params: &[f32], at: Steps<'_>) {
        let (p, level) = (&self.packing, self.level);
        if p.is_smooth() {
            with_state_dimension!(
                smooth level, p.q,
                |Q| Backward::<Q, true> { p, params, at },
                general::backward(level, p, params, at)
            );
        } else {
            with_state_dimension!(
                level,
                p.q,
                |Q| Backward::<Q, false> { p, params, at },
                general::backward(level, p, params, at)
            );
        }
    }

    fn check(&self, params: &[f32], x: &[Lane], out: &[Lane]) {
        let p = &self.packing;
        assert_eq!(params.len(), p.len(), "coefficients");
        assert_eq!(x.len() % p.d, 0, "inputs");
        assert_eq!(out.len(), x.len() / p.d * p.outputs, "outputs");
    }
}
