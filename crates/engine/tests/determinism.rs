//! A fit is a pure function of its specification: same bits on any number of threads and
//! at any instruction level; failures stay contained.

use loopfit_data::Samples;
use loopfit_engine::{
    Adam, Backend, Control, Engine, FitOutcome, FitSpec, Optimiser, Scoring, Stage, Start, Stop,
    WeightDecay,
};
use loopfit_likelihood::{Bernoulli, Energy, Gaussian, Laplace, Likelihood, Multiclass};
use loopfit_model::{Activation, Architecture, Bounds, Form, Network, Tying, growth};
use loopfit_numerics::lanes::Level;
use loopfit_numerics::stream::Stream;
use sha2::{Digest, Sha256};
use std::sync::Arc;

fn samples(likelihood: Likelihood, n: usize, stream: Stream) -> Arc<Samples> {
    // Squares of uniform numbers, so that there is a density to learn; arithmetic only,
    // since the platform's functions are not the same everywhere.
    let x: Vec<f32> = (0..2 * n)
        .map(|i| stream.uniform(i as u64).powi(2) as f32)
        .collect();
    let y = x.chunks(2).enumerate().map(|(i, x)| {
        let f = 4.0 * x[0] * (1.0 - x[0]) * (2.0 * x[1] - 0.5);
        match likelihood {
            Likelihood::Bernoulli(_) => f32::from(f > 0.2),
            Likelihood::Multiclass(m) => (((f + 1.0) * 1.5) as usize).min(m.classes() - 1) as f32,
            _ => f + 0.1 * stream.child("noise").normal(i as u64) as f32,
        }
    });
    let y = y.collect();
    Arc::new(Samples::new(2, x, y).unwrap())
}

fn spec(likelihood: Likelihood, tying: Tying, seed: u64) -> FitSpec {
    let stream = Stream::new(seed);
    FitSpec {
        network: Network::ffn(2, likelihood.outputs(), 3, 7, tying).unwrap(),
        likelihood,
        bounds: Bounds::default(),
        train: samples(likelihood, 300, stream.child("train")),
        valid: samples(likelihood, 100, stream.child("valid")),
        start: Start::Fresh {
            outgoing_multiplier: 0.3,
        },
        stages: vec![
            Stage {
                updates: 60,
                validate_every: 20,
                batch: 50,
                ..Stage::default()
            },
            Stage {
                updates: 90,
                validate_every: 25,
                learning_rate: 0.01,
                weight_decay: WeightDecay::Coupled(1e-3),
                optimiser: Optimiser::Adam(Adam {
                    outgoing_rate: 0.5,
                    ..Adam::default()
                }),
                ..Stage::default()
            },
            Stage {
                optimiser: Optimiser::Scoring(Scoring {
                    refresh: 4,
                    ..Scoring::default()
                }),
                updates: 30,
                validate_every: 10,
                learning_rate: 0.05,
                weight_decay: WeightDecay::Decoupled(1e-3),
                ..Stage::default()
            },
        ],
        stream,
    }
}

fn all_specs() -> Vec<FitSpec> {
    let likelihoods = [
        Likelihood::Gaussian(Gaussian::squared_error()),
        Likelihood::Laplace(Laplace::new(0.5).unwrap()),
        Likelihood::Bernoulli(Bernoulli),
        Likelihood::Multiclass(Multiclass::new(3).unwrap()),
        Likelihood::Energy(Energy::training(2).unwrap()),
    ];
    let tyings = [Tying::Single, Tying::Loop { t: 5 }, Tying::Untied { t: 2 }];
    likelihoods
        .iter()
        .flat_map(|l| {
            tyings
                .iter()
                .enumerate()
                .map(|(i, t)| spec(*l, *t, i as u64))
        })
        .collect()
}

/// The same fits with Transformers, some with both inputs in one token.
fn transformer_specs() -> Vec<FitSpec> {
    let mut specs = all_specs();
    for (i, spec) in specs.iter_mut().enumerate() {
        let partition = match i % 2 {
            0 => vec![vec![0], vec![1]],
            _ => vec![vec![1, 0]],
        };
        let (outputs, tying) = (spec.likelihood.outputs(), spec.network.tying());
        let architecture = Architecture::Transformer { partition };
        spec.network = Network::new(architecture, 2, outputs, 3, 5, tying).unwrap();
    }
    specs
}

/// The same fits with smooth units and in other forms: each activation meets each form, and each
/// likelihood some of both.
fn smooth_specs() -> Vec<FitSpec> {
    let forms = [
        Form::Paper,
        Form::Canonical,
        Form::Carried { extra: 1 },
        Form::Carried { extra: 2 },
    ];
    let all = all_specs();
    let mut specs = Vec::new();
    for (i, (activation, form)) in Activation::ALL
        .into_iter()
        .flat_map(|activation| forms.map(|form| (activation, form)))
        .enumerate()
    {
        let mut spec = all[i % all.len()].clone();
        let network = spec.network.with_activation(activation).unwrap();
        spec.network = network.with_form(form).unwrap();
        specs.push(spec);
    }
    for (i, rank) in [(0, 2), (3, 1), (9, 2)] {
        let mut spec = all[i].clone();
        spec.network = Network::affine(2, spec.likelihood.outputs(), rank).unwrap();
        specs.push(spec);
    }
    specs
}

fn run(specs: &[FitSpec], threads: usize, level: Level) -> Vec<FitOutcome> {
    Engine::at_level(threads, level)
        .unwrap()
        .run(specs, &Control::default(), &|_, _| {})
        .unwrap()
}

/// All bits of all outcomes.
fn hash(outcomes: &[FitOutcome]) -> String {
    let mut hasher = Sha256::new();
    for o in outcomes {
        for v in o.parameters.values() {
            hasher.update(v.to_bits().to_le_bytes());
        }
        for (update, loss) in &o.curve {
            hasher.update((*update as u64).to_le_bytes());
            hasher.update(loss.to_bits().to_le_bytes());
        }
        hasher.update((o.best_update as u64).to_le_bytes());
    }
    hasher
        .finalize()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[test]
fn same_bits_on_any_threads_and_level() {
    let specs = [all_specs(), transformer_specs(), smooth_specs()].concat();
    let first = run(&specs, 1, Level::fastest());
    assert!(
        first
            .iter()
            .all(|o| o.stop == Stop::Completed && o.updates == 180)
    );
    // Every fit learns something: the best checkpoint is not the start.
    assert!(first.iter().all(|o| o.validation < o.curve[0].1));
    let expected = hash(&first);
    for threads in [2, 8] {
        assert_eq!(
            hash(&run(&specs, threads, Level::fastest())),
            expected,
            "{threads} threads"
        );
    }
    for level in Level::available() {
        assert_eq!(hash(&run(&specs, 2, level)), expected, "{}", level.name());
    }
    // The order of the specifications does not matter either.
    let reversed: Vec<FitSpec> = specs.iter().rev().cloned().collect();
    let mut back = run(&reversed, 2, Level::fastest());
    back.reverse();
    assert_eq!(hash(&back), expected);
}

/// These bits were computed on AVX-512; every other machine must find the same.
#[test]
fn same_bits_on_any_machine() {
    let mut specs = all_specs();
    // A state too large for registers: the general kernels.
    let mut wide = specs[1].clone();
    wide.network = Network::ffn(2, 1, 18, 5, Tying::Loop { t: 3 }).unwrap();
    specs.push(wide);
    assert_eq!(
        hash(&run(&specs, 2, Level::fastest())),
        "45b4e8fba6b3b6dee90197e30e518095ed4af3e8c9591bfcc71c6fb4431d2a20"
    );
}

/// As above for the second architecture.
#[test]
fn same_bits_of_transformers_on_any_machine() {
    assert_eq!(
        hash(&run(&transformer_specs(), 2, Level::fastest())),
        "ba79093f0f4fe00ef529f2e698eb9897ca85c7bbdd9da97b8538fe8bdea1ded0"
    );
}

/// As above for smooth units and other forms than the paper's, and a state too large for registers.
#[test]
fn same_bits_of_smooth_units_and_forms_on_any_machine() {
    let mut specs = smooth_specs();
    for (activation, form) in [
        (Activation::Tanh, Form::Paper),
        (Activation::Silu, Form::Canonical),
    ] {
        let mut wide = all_specs()[1].clone();
        let network = Network::ffn(2, 1, 18, 5, Tying::Loop { t: 3 }).unwrap();
        let network = network.with_activation(activation).unwrap();
        wide.network = network.with_form(form).unwrap();
        specs.push(wide);
    }
    assert_eq!(
        hash(&run(&specs, 2, Level::fastest())),
        "da13f538e28ee52eb44c50023395cdf15dd2306d7384658df2e1ffe9275f3bc1"
    );
}

/// Every activation learns in every form, by either optimiser alone.
#[test]
fn every_network_learns() {
    let adam = Stage {
        updates: 300,
        validate_every: 100,
        learning_rate: 0.01,
        ..Stage::default()
    };
    let scoring = Stage {
        optimiser: Optimiser::Scoring(Scoring::default()),
        updates: 60,
        validate_every: 20,
        learning_rate: 0.3,
        ..Stage::default()
    };
    let likelihood = Likelihood::Gaussian(Gaussian::squared_error());
    let mut specs = Vec::new();
    for tying in [Tying::Single, Tying::Loop { t: 5 }, Tying::Untied { t: 2 }] {
        for activation in Activation::ALL {
            for form in [
                Form::Paper,
                Form::Canonical,
                Form::Carried { extra: 1 },
                Form::Carried { extra: 2 },
            ] {
                for stage in [&adam, &scoring] {
                    let mut spec = spec(likelihood, tying, 1);
                    let network = spec.network.with_activation(activation).unwrap();
                    spec.network = network.with_form(form).unwrap();
                    spec.stages = vec![stage.clone()];
                    specs.push(spec);
                }
            }
        }
    }
    for stage in [adam, scoring] {
        let mut spec = spec(likelihood, Tying::Single, 1);
        spec.network = Network::affine(2, 1, 2).unwrap();
        spec.stages = vec![stage];
        specs.push(spec);
    }
    for (spec, outcome) in specs.iter().zip(run(&specs, 2, Level::fastest())) {
        // The squared error is what exceeds the density's constant.
        let constant = 0.5 * (2.0 * std::f64::consts::PI * 0.5).ln();
        let (network, form) = (&spec.network, spec.network.form());
        let (start, end) = (outcome.curve[0].1 - constant, outcome.validation - constant);
        assert!(
            end < 0.75 * start,
            "{network} of {form} form: {start} to {end}"
        );
        assert_eq!(outcome.stop, Stop::Completed);
        assert_eq!(outcome.parameters.network(), network);
    }
}

#[test]
fn a_diverging_fit_ends_with_its_best_checkpoint_and_harms_no_other() {
    let good = spec(
        Likelihood::Gaussian(Gaussian::squared_error()),
        Tying::Loop { t: 5 },
        1,
    );
    let mut wild = good.clone();
    wild.network = Network::ffn(2, 1, 3, 7, Tying::Loop { t: 64 }).unwrap();
    wild.stages[0].learning_rate = 1e3;
    let outcomes = run(&[wild, good.clone()], 2, Level::fastest());
    assert_eq!(outcomes[0].stop, Stop::Diverged);
    assert!(outcomes[0].validation.is_finite());
    assert!(
        outcomes[0]
            .parameters
            .values()
            .iter()
            .all(|v| v.is_finite())
    );
    assert_eq!(
        hash(&outcomes[1..]),
        hash(&run(&[good], 1, Level::fastest()))
    );
}

#[test]
fn the_start_is_a_checkpoint_and_can_be_given() {
    let likelihood = Likelihood::Gaussian(Gaussian::squared_error());
    let trained = run(
        &[spec(likelihood, Tying::Loop { t: 5 }, 1)],
        1,
        Level::fastest(),
    )
    .remove(0);
    let mut next = spec(likelihood, Tying::Loop { t: 5 }, 1);
    let wider = growth::widen(&trained.parameters, 9, Stream::new(9)).unwrap();
    next.network = wider.network().clone();
    next.start = Start::Given(wider.clone());
    // Steps this large only harm, so the widened start stays the best, with the same loss.
    next.stages = vec![Stage {
        learning_rate: 50.0,
        updates: 20,
        validate_every: 5,
        ..Stage::default()
    }];
    let outcome = run(&[next], 1, Level::fastest()).remove(0);
    assert_eq!(outcome.best_update, 0);
    assert_eq!(outcome.parameters, wider);
    assert!((outcome.validation - trained.validation).abs() < 1e-9);
}

#[test]
fn an_interrupted_run_stops_early() {
    let mut long = spec(
        Likelihood::Gaussian(Gaussian::squared_error()),
        Tying::Loop { t: 5 },
        1,
    );
    long.stages = vec![Stage {
        updates: usize::MAX / 2,
        ..Stage::default()
    }];
    let control = Control::default();
    control.interrupt();
    let outcomes = Engine::new(1)
        .unwrap()
        .run(&[long], &control, &|_, _| {})
        .unwrap();
    assert_eq!(outcomes[0].stop, Stop::Interrupted);
    assert_eq!(control.updates(), 0);
}

#[test]
fn wrong_specifications_are_named() {
    let first = spec(
        Likelihood::Gaussian(Gaussian::squared_error()),
        Tying::Single,
        1,
    );
    let good = || first.clone();
    // Alone and behind one that shares its samples.
    let message = |spec: FitSpec| {
        let alone = spec.check().unwrap_err().to_string();
        let behind = FitSpec::check_all(&[good(), spec]).unwrap_err();
        assert_eq!(behind.to_string(), alone);
        alone
    };
    FitSpec::check_all(&[good(), good()]).unwrap();
    let mut s = good();
    s.network = Network::ffn(3, 1, 2, 2, Tying::Single).unwrap();
    assert_eq!(
        message(s),
        "the training samples have 2 inputs but the network takes 3; use a network with d = 2"
    );
    let mut s = good();
    s.likelihood = Likelihood::Bernoulli(Bernoulli);
    assert!(message(s).contains("is neither 0 nor 1"));
    let mut s = good();
    s.bounds.output = f32::NAN;
    assert!(message(s).contains("NaN"));
    let mut s = good();
    s.likelihood = Likelihood::Multiclass(Multiclass::new(3).unwrap());
    assert_eq!(
        message(s),
        "the multiclass likelihood needs 3 outputs but the network has 1"
    );
    let mut s = good();
    s.stages[1].learning_rate = f64::NAN;
    assert_eq!(
        message(s),
        "stage 2: learning_rate must be a positive number, not NaN"
    );
    let mut s = good();
    s.stages.clear();
    assert_eq!(message(s), "a fit needs at least one stage");
    let mut s = good();
    s.start = Start::Fresh {
        outgoing_multiplier: f64::INFINITY,
    };
    assert_eq!(
        message(s),
        "the outgoing multiplier of a fresh start must be finite, not inf"
    );
}
