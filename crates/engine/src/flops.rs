//! Floating-point operations of gradients and updates, known before they run.

use crate::spec::{FitSpec, Optimiser, Stage};
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
    let of =
        |stage: &Stage| flops_per_update_of(stage, &spec.network, spec.likelihood, spec.train.n());
    spec.stages.first().map_or(0.0, of)
}

/// The same of a stage with so many training samples.
pub fn flops_per_update_of(
    stage: &Stage,
    network: &Network,
    likelihood: Likelihood,
    n: usize,
) -> f64 {
    let batch = stage.batch.min(n);
    let (samples, informative) = match likelihood {
        Likelihood::Energy(energy) => (batch + energy.node_count(), energy.node_count()),
        _ => (batch, batch),
    };
    let gradient = flops_per_gradient(network, samples);
    match stage.optimiser {
        Optimiser::Adam(_) => gradient,
        Optimiser::Scoring(scoring) => {
            let p = network.count() as f64;
            let refresh = flops_per_gradient(network, informative)
                + informative as f64 * p * (p + 1.0)
                + p * p * p / 3.0;
            gradient + 2.0 * p * p + refresh / scoring.refresh as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_likelihood::Gaussian;
    use loopfit_model::Tying;

    /// Of an untied network every weight is used once forward, once for its own gradient and, but for the first layer's, once
    /// backward: the multiply-adds of a sample follow from the model's count without its biases.
    #[test]
    fn multiply_adds_follow_from_the_count() {
        for (d, q, r, t) in [(2, 2, 10, 4), (3, 1, 7, 1), (5, 4, 3, 3)] {
            let network = Network::ffn(d, 1, q, r, Tying::Untied { t }).unwrap();
            let biases = q + t * (r + q) + 1;
            let weights = network.count() - biases;
            let expected = (3 * weights - d * q) as f64;
            assert_eq!(flops_per_gradient(&network, 1) / 2.0, expected);
            // A loop of the same shape does the same work with fewer numbers.
            let looped = Network::ffn(d, 1, q, r, Tying::Loop { t }).unwrap();
            assert_eq!(flops_per_gradient(&looped, 128) / 2.0, 128.0 * expected);
        }
    }

    /// d = 2, q = 2, r = 10, T = 4 and 61 numbers by hand: 2 * 4 + 6 * 80 + 3 * 2 = 494 multiply-adds a sample; scoring
    /// adds 61^2 for the solve and a tenth of 64 * 494 + 64 * 61 * 62 / 2 + 61^3 / 6.
    #[test]
    fn an_update_by_hand() {
        let network = Network::ffn(2, 1, 2, 10, Tying::Loop { t: 4 }).unwrap();
        assert_eq!(network.count(), 61);
        let likelihood = Likelihood::Gaussian(Gaussian::squared_error());
        let stage = |optimiser| Stage {
            optimiser,
            batch: 128,
            ..Stage::default()
        };
        let adam = stage(Optimiser::Adam(crate::Adam::default()));
        // There are no more than 64 samples.
        let made = flops_per_update_of(&adam, &network, likelihood, 64) / 2.0;
        assert_eq!(made, 64.0 * 494.0);
        let scoring = stage(Optimiser::Scoring(crate::Scoring::default()));
        let made = flops_per_update_of(&scoring, &network, likelihood, 64) / 2.0;
        let refresh = 64.0 * 494.0 + 64.0 * 61.0 * 31.0 + 61f64.powi(3) / 6.0;
        assert!((made - (64.0 * 494.0 + 61.0 * 61.0 + refresh / 10.0)).abs() < 1e-6);
    }
}
