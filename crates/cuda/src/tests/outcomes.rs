//! Outcomes of random specifications, byte by byte.

use super::emulated::Emulated;
use crate::plan::Kernels;
use crate::run::Cuda;
use loopfit_data::Samples;
use loopfit_engine::{
    Adam, Backend, Control, Engine, FitOutcome, FitSpec, Optimiser, Scoring, Stage, Start, Stop, WeightDecay,
};
use loopfit_likelihood::{Bernoulli, Energy, Gaussian, Laplace, Likelihood, Multiclass, Nodes, Poisson};
use loopfit_model::{Activation, Bounds, Form, Network, Tying};
use loopfit_numerics::stream::Stream;
use std::sync::Arc;

/// Numbers drawn one after the other.
struct Draws(Stream, u64);

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

fn samples(draws: &mut Draws, n: usize, d: usize, likelihood: Likelihood) -> Arc<Samples> {
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
    let d = draws.between(1, 3);
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
    let (q, r) = (draws.between(1, 5), draws.between(1, 9));
    let activation = draws.of(&[Activation::Relu, Activation::Relu, Activation::Tanh, Activation::Silu, Activation::Sine]);
    let form = draws.of(&[Form::Paper, Form::Paper, Form::Canonical]);
    let network = Network::ffn(d, likelihood.outputs(), q, r, tying).unwrap();
    let network = network.with_activation(activation).unwrap();
    let network = network.clone().with_form(form).unwrap_or(network);
    let train = { let n = draws.between(20, 150); samples(&mut draws, n, d, likelihood) };
    let valid = { let n = draws.between(3, 100); samples(&mut draws, n, d, likelihood) };
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
        weight_decay: draws.of(&[WeightDecay::Coupled(0.0), WeightDecay::Coupled(0.01), WeightDecay::Decoupled(0.1)]),
        batch: draws.between(5, 140),
        updates: draws.between(1, 12),
        validate_every: draws.between(1, 7),
    };
    let stages = vec![stage(&mut draws, scoring), stage(&mut draws, scoring && draws_even(number))];
    FitSpec {
        network,
        likelihood,
        bounds: Bounds::new(2.0, 3.0).unwrap(),
        train,
        valid,
        start: Start::Fresh { outgoing_multiplier: 0.3 },
        stages,
        stream: Stream::new(number),
    }
}

fn draws_even(number: u64) -> bool {
    number % 2 == 0
}

/// Whether two outcomes are the same but for the time that they took.
pub(crate) fn same(a: &FitOutcome, b: &FitOutcome) -> bool {
    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let loss = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    bits(a.parameters.values()) == bits(b.parameters.values())
        && loss(a.validation, b.validation)
        && (a.best_update, a.updates, a.stop) == (b.best_update, b.updates, b.stop)
        && a.curve.len() == b.curve.len()
        && a.curve.iter().zip(&b.curve).all(|(a, b)| a.0 == b.0 && loss(a.1, b.1))
}

fn compare(specs: &[FitSpec], kernels: Kernels) {
    let Some(emulated) = Emulated::new() else {
        eprintln!("skipped: there is no C++ compiler");
        return;
    };
    let cuda = Cuda::with_device(Box::new(Arc::new(emulated)), kernels);
    let run = |backend: &dyn Backend| backend.run(specs, &Control::default(), &|_, _| {}).unwrap();
    let (expected, found) = (run(&Engine::new(2).unwrap()), run(&cuda));
    for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
        assert!(same(a, b), "{i}: {:?}\n{:?}\n{a:?}\n{b:?}", specs[i].network, specs[i].likelihood);
    }
}

#[test]
fn adam_in_blocks_has_the_bits_of_the_processor() {
    let specs: Vec<FitSpec> = (0..18).map(|i| spec(i, false)).collect();
    compare(&specs, Kernels::Block);
}

#[test]
fn adam_in_half_warps_has_the_bits_of_the_processor() {
    let specs: Vec<FitSpec> = (0..18).map(|i| spec(i, false)).collect();
    compare(&specs, Kernels::HalfWarp);
}

#[test]
fn scoring_has_the_bits_of_the_processor() {
    let specs: Vec<FitSpec> = (0..12).map(|i| spec(i, true)).collect();
    compare(&specs, Kernels::Fastest);
}

/// Many strips in several groups, and neighbours in one group of fits, one of which diverges.
#[test]
fn neighbours_and_groups_of_strips_change_nothing() {
    let mut specs = Vec::new();
    for number in 0..5 {
        let mut spec = spec(0, false);
        spec.network = Network::ffn(spec.network.d(), 1, 3, 16, Tying::Loop { t: 64 }).unwrap();
        spec.stages.truncate(1);
        spec.stages[0].batch = 100;
        spec.stages[0].updates = 3;
        spec.train = samples(&mut Draws(Stream::new(1), 0), 150, spec.network.d(), spec.likelihood);
        spec.stream = Stream::new(number);
        if number == 2 {
            let n = spec.train.x().len();
            spec.start = Start::Fresh { outgoing_multiplier: 1e30 };
            assert!(n > 0);
        }
        specs.push(spec);
    }
    compare(&specs, Kernels::Block);
    compare(&specs, Kernels::HalfWarp);
    let outcomes = Engine::new(2).unwrap().run(&specs, &Control::default(), &|_, _| {}).unwrap();
    assert_eq!(outcomes.iter().filter(|o| o.stop == Stop::Diverged).count(), 1);
}
