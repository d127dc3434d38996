//! Floating-point operations of gradients and updates, known before they run.

use crate::spec::{FitSpec, Optimiser};
use loopfit_likelihood::Likelihood;
use loopfit_model::architecture::tokens;
use loopfit_model::{Architecture, Network};

/// Floating-point operations of one gradient of `batch` samples: every multiply-add of the
/// dense products, forward, backward and weight gradients, counted as two. Activations are not
/// counted, products with coefficients that a form fixes are.
///
/// # Formula
/// FFN: `2 batch (2 d q + 6 q r T + 3 q C)`; Transformer of `N` tokens:
/// `2 batch (2 d q + {N (12 q^2 + 6 q r) + 6 N^2 q} T + 3 N q C)`.
pub fn flops_per_gradient(network: &Network, batch: usize) -> f64 {
    let [d, q, r, c] = [network.d(), network.q(), network.r(), network.outputs()].map(|v| v as f64);
    let t = network.tying().iterations() as f64;
    let (n, block) = match network.architecture() {
        Architecture::Ffn => (1.0, 6.0 * q * r),
        Architecture::Transformer { partition } => {
            let n = tokens(partition) as f64;
            (n, n * (12.0 * q * q + 6.0 * q * r) + 6.0 * n * n * q)
        }
    };
    2.0 * batch as f64 * (2.0 * d * q + block * t + 3.0 * n * q * c)
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
