//! The residual FFN over lanes of samples (paper Sections 3.2 and F.4.2).
//!
//! A *strip* is sixteen samples, one per lane. All arrays are strip-major: line
//! `strip * width + i` holds coordinate `i` of the strip's sixteen samples.
//!
//! - [`pack`]: where each coefficient lies, chosen for the kernels;
//! - [`forward`]: the state stays in registers over all iterations (`q <= 16`);
//! - [`backward`]: the same loop run back, giving the gradients of all states;
//! - [`outer`]: weight gradients, as sums of outer products over (iteration, strip);
//! - [`general`]: any `q`, state in memory, the same order of operations;
//! - [`row`]: one sample at a time, hidden units across lanes, for low latency.
//!
//! Per sample, every sum starts at its bias (or its residual) and adds terms in ascending
//! index. Over samples, lane sums take groups of strips in turn, in each of them
//! (iteration, strip) in ascending order, and the lanes last, in one tree. Nothing about
//! the machine enters, so the bits are the same everywhere.

mod backward;
mod forward;
mod general;
mod outer;
pub(crate) mod pack;
mod row;

#[cfg(test)]
mod tests;

pub use row::RowPredictor;

use crate::spec::{FitSpec, Optimiser};
use loopfit_likelihood::Likelihood;
use loopfit_model::Network;
use loopfit_numerics::lanes::{LANES, Lane, Level};
use pack::Packing;

/// Largest state dimension whose state is kept in registers.
#[cfg(test)]
const MAX_REGISTER_STATE: usize = 16;

/// Bytes of activations kept at once: most of a common second-level cache, so that the
/// weight gradients find them there (shape E of the benchmark loses 20% without).
const CACHE_BYTES: usize = 640 * 1024;

/// Runs `$body` with constants `$Q` (state dimension) and `$N` (strips per register
/// tile: old and new state take `2 Q N` of 32 registers, at most 24 while `N > 1`), or
/// `$general`.
macro_rules! with_state_dimension {
    ($q:expr, |$Q:ident, $N:ident| $body:expr, $general:expr) => {
        with_state_dimension!(@ $q, $Q, $N, $body, $general,
            1 4, 2 4, 3 4, 4 2, 5 2, 6 2, 7 1, 8 1, 9 1, 10 1, 11 1, 12 1, 13 1, 14 1, 15 1, 16 1)
    };
    (@ $q:expr, $Q:ident, $N:ident, $body:expr, $general:expr, $($value:literal $tile:literal),*) => {
        match $q {
            $($value => { const $Q: usize = $value; const $N: usize = $tile; $body })*
            _ => $general,
        }
    };
}

/// What the forward pass leaves for the backward pass, for one group of strips.
#[derive(Debug, Default)]
pub(crate) struct Activations {
    /// States `z_0..z_T`: `[t][strip][q]`.
    z: Vec<Lane>,
    /// Hidden values after the ReLU: `[t][strip][r]`.
    h: Vec<Lane>,
    /// Gradients of the hidden preactivations: `[t][strip][r]`.
    a: Vec<Lane>,
    /// Gradients of the states: `[t][strip][q]`.
    g: Vec<Lane>,
}

impl Activations {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        (self.z.capacity() + self.h.capacity() + self.a.capacity() + self.g.capacity())
            * size_of::<Lane>()
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
        let p = &self.packing;
        with_state_dimension!(
            p.q,
            |Q, N| self.level.run(forward::Forward::<Q, N, false> {
                p,
                params,
                x,
                out,
                z: &mut [],
                h: &mut []
            }),
            self.level.run(general::Forward {
                p,
                params,
                x,
                out,
                z: &mut [],
                h: &mut [],
                keep: false
            })
        );
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
        let p = &self.packing;
        let strips = x.len() / p.d;
        kept.z.resize((p.iterations + 1) * strips * p.q, Lane::ZERO);
        kept.h.resize(p.iterations * strips * p.r, Lane::ZERO);
        let (z, h) = (&mut kept.z[..], &mut kept.h[..]);
        with_state_dimension!(
            p.q,
            |Q, N| self.level.run(forward::Forward::<Q, N, true> {
                p,
                params,
                x,
                out,
                z,
                h
            }),
            self.level.run(general::Forward {
                p,
                params,
                x,
                out,
                z,
                h,
                keep: true
            })
        );
    }

    /// Adds the gradient of all coefficients, lane by lane, to `acc`: line `i` of `acc`
    /// belongs to coefficient `i`. `g_out` is the derivative in the outputs, `[strip][C]`;
    /// `x` and `kept` are those of the last [`Ffn::forward`].
    pub(crate) fn backward(
        &self,
        params: &[f32],
        x: &[Lane],
        g_out: &[Lane],
        kept: &mut Activations,
        acc: &mut [Lane],
    ) {
        self.check(params, x, g_out);
        let p = &self.packing;
        let strips = x.len() / p.d;
        kept.g.resize((p.iterations + 1) * strips * p.q, Lane::ZERO);
        kept.a.resize(p.iterations * strips * p.r, Lane::ZERO);
        let (h, a, g) = (&kept.h[..], &mut kept.a[..], &mut kept.g[..]);
        with_state_dimension!(
            p.q,
            |Q, N| self.level.run(backward::Backward::<Q, N> {
                p,
                params,
                g_out,
                h,
                a,
                g
            }),
            self.level.run(general::Backward {
                p,
                params,
                g_out,
                h,
                a,
                g
            })
        );
        outer::accumulate(self.level, p, strips, x, g_out, kept, acc);
    }

    fn check(&self, params: &[f32], x: &[Lane], out: &[Lane]) {
        let p = &self.packing;
        assert_eq!(params.len(), p.len(), "coefficients");
        assert_eq!(x.len() % p.d, 0, "inputs");
        assert_eq!(out.len(), x.len() / p.d * p.outputs, "outputs");
    }
}

/// Floating-point operations of one gradient of `batch` samples: every multiply-add of the
/// dense products, forward, backward and weight gradients, counted as two.
///
/// # Formula
/// `2 batch (2 d q + 6 q r T + 3 q C)`.
pub fn flops_per_gradient(network: &Network, batch: usize) -> f64 {
    let [d, q, r, c] = [network.d(), network.q(), network.r(), network.outputs()].map(|v| v as f64);
    let t = network.tying().iterations() as f64;
    2.0 * batch as f64 * (2.0 * d * q + 6.0 * q * r * t + 3.0 * q * c)
}

/// Floating-point operations of one update in the first stage of a fit.
///
/// # Formula
/// Adam: the gradient's, at the batch and the nodes of an energy model. Scoring with `P`
/// coefficients: also `2 P^2` for the solve, and in every `refresh`-th update another gradient of `n`
/// samples (nodes for an energy model), `n P (P + 1)` for the information and `P^3 / 3` for its factor.
pub fn flops_per_update(spec: &FitSpec) -> f64 {
    let Some(stage) = spec.stages.first() else {
        return 0.0;
    };
    let batch = stage.batch.min(spec.train.n());
    let (samples, informative) = match spec.likelihood {
        Likelihood::Energy(energy) => (batch + energy.node_count(), energy.node_count()),
        _ => (batch, batch),
    };
    let gradient = flops_per_gradient(&spec.network, samples);
    match stage.optimiser {
        Optimiser::Adam(_) => gradient,
        Optimiser::Scoring(scoring) => {
            let p = spec.network.count() as f64;
            let refresh = flops_per_gradient(&spec.network, informative)
                + informative as f64 * p * (p + 1.0)
                + p * p * p / 3.0;
            gradient + 2.0 * p * p + refresh / scoring.refresh as f64
        }
    }
}

/// Lays rows of `d` numbers out as strips; the last strip is filled up with its first row.
pub(crate) fn to_strips(rows: &[f32], d: usize, strips: &mut Vec<Lane>) {
    strips.clear();
    for block in rows.chunks(LANES * d) {
        for i in 0..d {
            strips.push(Lane(std::array::from_fn(|lane| {
                *block.get(lane * d + i).unwrap_or(&block[i])
            })));
        }
    }
}
