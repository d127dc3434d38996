//! The average negative log-likelihood of a sample set.

use crate::batches::Strips;
use crate::gradient::node_strips;
use crate::predict::clipped_rows;
use crate::program::Program;
use loopfit_data::Samples;
use loopfit_likelihood::{Energy, Likelihood};
use loopfit_model::Bounds;
use loopfit_numerics::lanes::Lane;

/// Samples laid out once, to be evaluated again and again.
#[derive(Debug)]
pub(crate) struct Loss {
    likelihood: Likelihood,
    bounds: Bounds,
    n: usize,
    strips: Strips,
    y: Vec<f64>,
    /// The energy model's rule and its nodes.
    nodes: Option<(Energy, Vec<Lane>)>,
    out: Vec<Lane>,
    /// Room for fixed coefficients.
    full: Vec<f32>,
}

impl Loss {
    /// With the likelihood's own rule for the normaliser of an energy model: what gradients
    /// are taken of.
    pub(crate) fn training(likelihood: Likelihood, bounds: Bounds, samples: &Samples) -> Self {
        let nodes = match likelihood {
            Likelihood::Energy(energy) => Some((energy, node_strips(energy))),
            _ => None,
        };
        Self {
            likelihood,
            bounds,
            n: samples.n(),
            strips: Strips::all(samples),
            y: samples.y().iter().map(|v| f64::from(*v)).collect(),
            nodes,
            out: Vec::new(),
            full: Vec::new(),
        }
    }

    /// With a finer rule for the normaliser of an energy model.
    pub(crate) fn validation(likelihood: Likelihood, bounds: Bounds, samples: &Samples) -> Self {
        let finer = match likelihood {
            // The finer rule exists for every dimension that has a training rule.
            Likelihood::Energy(energy) => {
                Likelihood::Energy(Energy::evaluation(energy.d()).unwrap_or(energy))
            }
            other => other,
        };
        Self::training(finer, bounds, samples)
    }

    /// The loss at packed coefficients; NaN if an output is not a number.
    pub(crate) fn at(&mut self, program: &Program, params: &[f32]) -> f64 {
        let bounds = self.bounds;
        let params = program.full(params, &mut self.full);
        let mut outputs = |x: &[Lane], n: usize| {
            self.out
                .resize(x.len() / program.d() * program.outputs(), Lane::ZERO);
            program.predict(params, x, &mut self.out);
            clipped_rows(&self.out, n, program.outputs(), bounds)
        };
        let at_samples = outputs(&self.strips.x, self.n);
        let loss = match &self.nodes {
            None => self.likelihood.average_nll(&at_samples, &self.y),
            Some((energy, nodes)) => {
                energy.average_nll(&at_samples, &outputs(nodes, energy.node_count()))
            }
        };
        loss.unwrap_or(f64::NAN)
    }
}
