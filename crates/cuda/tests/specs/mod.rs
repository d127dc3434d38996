//! Random specifications, and whether two outcomes are the same.

use loopfit_data::Samples;
use loopfit_engine::{Adam, FitOutcome, FitSpec, Optimiser, Scoring, Stage, Start, WeightDecay};
use loopfit_likelihood::{
    Bernoulli, Energy, Gaussian, Laplace, Likelihood, Multiclass, Nodes, Poisson,
};
use loopfit_model::{Activation, Bounds, Form, Network, Tying};
use loopfit_numerics::stream::Stream;
use std::sync::Arc;

/// Numbers drawn one after the other.
pub(crate) struct Draws(pub(crate) Stream, pub(crate) u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.1 += 1;
        self.0.uniform(self.1)
    }
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.uniform() * (high - low + 1) as f64) as usize
    }
    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() - 1)]
    }
}

/// Samples that a likelihood can explain.
pub(crate) fn samples(
    draws: &mut Draws,
    n: usize,
    d: usize,
    likelihood: Likelihood,
) -> Arc<Samples> {
    let x: Vec<f32> = (0..n * d).map(|_| draws.uniform() as f32).collect();
    let y = (0..n).map(|_| {
        let u = draws.uniform();
        match likelihood {
            Likelihood::Gaussian(_) | Likelihood::Laplace(_) => (u * 3.0 - 1.0) as f32,
            Likelihood::Poisson(_) => (u * 6.0) as u8 as f32,
            Likelihood::Bernoulli(_) => (u * 2.0) as u8 as f32,
            Likelihood::Multiclass(l) => (u * l.classes() as f64) as u8 as f32,
            Likelihood::Energy(_) => 0.0,
        }
    });
    let y: Vec<f32> = match likelihood {
        Likelihood::Energy(_) => Vec::new(),
        _ => y.collect(),
    };
    Arc::new(Samples::new(d, x, y).unwrap())
}

/// A fit of a number: every likelihood, tying, activation and form, and both optimisers, come up.
pub(crate) fn spec(number: u64, scoring: bool) -> FitSpec {
    let mut draws = Draws(Stream::new(2024).nth(number), 0);
    // The rule that validates an energy model has ever more nodes.
    let d = if number % 6 == 5 {
        1
    } else {
        draws.between(1, 3)
    };
    let energy = Energy::new(d, Nodes::LowDiscrepancy { n: 37 }).unwrap();
    let likelihood = [
        Likelihood::Gaussian(Gaussian::new(0.8).unwrap()),
        Likelihood::Bernoulli(Bernoulli),
        Likelihood::Laplace(Laplace::new(0.7).unwrap()),
        Likelihood::Multiclass(Multiclass::new(3).unwrap()),
        Likelihood::Poisson(Poisson),
        Likelihood::Energy(energy),
    ][number as usize % 6];
    let t = draws.between(2, 5);
    let tying = [Tying::Loop { t }, Tying::Untied { t }, Tying::Single][(number / 2) as usize % 3];
    // Few combinations, since each is compiled.
    let (q, activation) = draws.of(&[
        (1, Activation::Tanh),
        (2, Activation::Sine),
        (3, Activation::Relu),
        (4, Activation::Silu),
        (5, Activation::Relu),
    ]);
    let r = draws.of(&[1, 4, 9]);
    let form = draws.of(&[Form::Paper, Form::Paper, Form::Canonical]);
    let network = Network::ffn(d, likelihood.outputs(), q, r, tying).unwrap();
    let network = network.with_activation(activation).unwrap();
    let network = network.clone().with_form(form).unwrap_or(network);
    let train = {
        let n = draws.between(20, 150);
        samples(&mut draws, n, d, likelihood)
    };
    let valid = {
        let n = draws.between(3, 100);
        samples(&mut draws, n, d, likelihood)
    };
    let stage = |draws: &mut Draws, scoring: bool| Stage {
        optimiser: match scoring {
            true => Optimiser::Scoring(Scoring {
                refresh: draws.between(1, 4),
                outgoing_rate: draws.of(&[1.0, 0.5]),
                ..Scoring::default()
            }),
            false => Optimiser::Adam(Adam {
                outgoing_rate: draws.of(&[1.0, 0.25]),
                gradient_cap: draws.of(&[5.0, 0.1]),
            }),
        },
        learning_rate: draws.of(&[0.003, 0.05]),
        final_rate: draws.uniform(),
        weight_decay: draws.of(&[
            WeightDecay::Coupled(0.0),
            WeightDecay::Coupled(0.01),
            WeightDecay::Decoupled(0.1),
        ]),
        batch: draws.between(5, 140),
        updates: draws.between(1, 12),
        validate_every: draws.between(1, 7),
    };
    let stages = vec![
        stage(&mut draws, scoring),
        stage(&mut draws, scoring && draws_even(number)),
    ];
    FitSpec {
        network,
        likelihood,
        bounds: Bounds::new(2.0, 3.0).unwrap(),
        train,
        valid,
        start: Start::Fresh {
            outgoing_multiplier: 0.3,
        },
        stages,
        stream: Stream::new(number),
    }
}

fn draws_even(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// Whether two outcomes are the same but for the time that they took.
pub(crate) fn same(a: &FitOutcome, b: &FitOutcome) -> bool {
    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let loss = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    bits(a.parameters.values()) == bits(b.parameters.values())
        && loss(a.validation, b.validation)
        && (a.best_update, a.updates, a.stop) == (b.best_update, b.updates, b.stop)
        && a.curve.len() == b.curve.len()
        && a.curve
            .iter()
            .zip(&b.curve)
            .all(|(a, b)| a.0 == b.0 && loss(a.1, b.1))
}
