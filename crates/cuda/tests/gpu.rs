//! Outcomes on a GPU, byte by byte, where there is one.

#![allow(clippy::print_stderr)]

mod specs;

use loopfit_cuda::{Cuda, CudaError, Kernels, Settings};
use loopfit_engine::{Backend, Control, Engine, FitSpec};
use specs::{same, spec};

fn compare(kernels: Kernels, scoring: bool) {
    let cache = tempfile::tempdir().unwrap();
    let cuda = match Cuda::new(Settings {
        cache: Some(cache.path().to_path_buf()),
        kernels,
        ..Settings::default()
    }) {
        Ok(cuda) => cuda,
        Err(CudaError::Missing(why)) => {
            eprintln!("skipped: {why}");
            return;
        }
        Err(e) => panic!("{e}"),
    };
    let specs: Vec<FitSpec> = (0..12).map(|i| spec(i, scoring)).collect();
    let run = |backend: &dyn Backend| {
        backend
            .run(&specs, &Control::default(), &|_, _| {})
            .unwrap()
    };
    let (expected, found) = (run(&Engine::new(0).unwrap()), run(&cuda));
    for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
        assert!(same(a, b), "{i}: {:?}\n{a:?}\n{b:?}", specs[i].network);
    }
}

#[test]
fn adam_has_the_bits_of_the_processor() {
    compare(Kernels::Block, false);
    compare(Kernels::Blocks, false);
    compare(Kernels::Light, false);
    compare(Kernels::HalfWarp, false);
}

#[test]
fn scoring_has_the_bits_of_the_processor() {
    compare(Kernels::Block, true);
    compare(Kernels::Blocks, true);
    compare(Kernels::Light, true);
    compare(Kernels::HalfWarp, true);
}
