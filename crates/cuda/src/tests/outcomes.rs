//! Outcomes of random specifications, byte by byte.

use super::emulated::Emulated;
use super::specs::{Draws, same, samples, spec};
use crate::plan::Kernels;
use crate::run::Cuda;
use loopfit_engine::{Backend, Control, Engine, FitSpec, Start, Stop};
use loopfit_model::{Network, Tying};
use loopfit_numerics::stream::Stream;
use std::sync::Arc;

fn compare(specs: &[FitSpec], kernels: Kernels) {
    let Some(emulated) = Emulated::new() else {
        eprintln!("skipped: there is no C++ compiler");
        return;
    };
    let cuda = Cuda::with_device(Box::new(Arc::new(emulated)), kernels, false);
    assert!(specs.iter().all(|spec| cuda.can_run(spec)));
    let run = |backend: &dyn Backend| backend.run(specs, &Control::default(), &|_, _| {}).unwrap();
    let (expected, found) = (run(&Engine::new(2).unwrap()), run(&cuda));
    for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
        assert!(
            same(a, b),
            "{i}: {:?}\n{:?}\n{a:?}\n{b:?}",
            specs[i].network,
            specs[i].likelihood
        );
    }
}

#[test]
fn adam_in_blocks_has_the_bits_of_the_processor() {
    let specs: Vec<FitSpec> = (0..12).map(|i| spec(i, false)).collect();
    compare(&specs, Kernels::Block);
    compare(&specs, Kernels::Blocks);
}

#[test]
fn adam_in_half_warps_has_the_bits_of_the_processor() {
    let specs: Vec<FitSpec> = (0..12).map(|i| spec(i, false)).collect();
    compare(&specs, Kernels::HalfWarp);
}

/// With one strip of a group at once, and states that have no room in shared memory beside those of others.
#[test]
fn light_fits_have_the_bits_of_the_processor() {
    for scoring in [false, true] {
        let mut specs: Vec<FitSpec> = (0..6).map(|i| spec(i, scoring)).collect();
        for spec in &mut specs {
            let (network, t) = (&spec.network, 40);
            let long =
                Network::ffn(network.d(), network.outputs(), 4, 5, Tying::Loop { t }).unwrap();
            spec.network = long.with_activation(network.activation()).unwrap();
        }
        specs.extend((0..6).map(|i| spec(i, scoring)));
        compare(&specs, Kernels::Light);
    }
}

#[test]
fn scoring_has_the_bits_of_the_processor() {
    let specs: Vec<FitSpec> = (0..12).map(|i| spec(i, true)).collect();
    compare(&specs, Kernels::Block);
    compare(&specs, Kernels::Blocks);
    compare(&specs, Kernels::HalfWarp);
}

/// Orders that leave room for few epochs in shared memory, and for none.
#[test]
fn long_epochs_have_the_bits_of_the_processor() {
    let specs: Vec<FitSpec> = [6_000, 70_000]
        .into_iter()
        .map(|n| {
            let mut spec = spec(0, false);
            spec.stages.truncate(1);
            spec.stages[0].batch = n / 5;
            spec.stages[0].updates = 12;
            spec.network = Network::ffn(spec.network.d(), 1, 1, 1, Tying::Single).unwrap();
            let draws = &mut Draws(Stream::new(1), 0);
            spec.train = samples(draws, n, spec.network.d(), spec.likelihood);
            spec
        })
        .collect();
    compare(&specs, Kernels::Block);
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
        spec.train = samples(
            &mut Draws(Stream::new(1), 0),
            150,
            spec.network.d(),
            spec.likelihood,
        );
        spec.stream = Stream::new(number);
        if number == 2 {
            let n = spec.train.x().len();
            spec.start = Start::Fresh {
                outgoing_multiplier: 1e30,
            };
            assert!(n > 0);
        }
        specs.push(spec);
    }
    compare(&specs, Kernels::Block);
    compare(&specs, Kernels::Blocks);
    compare(&specs, Kernels::HalfWarp);
    let outcomes = Engine::new(2)
        .unwrap()
        .run(&specs, &Control::default(), &|_, _| {})
        .unwrap();
    assert_eq!(
        outcomes.iter().filter(|o| o.stop == Stop::Diverged).count(),
        1
    );
}
