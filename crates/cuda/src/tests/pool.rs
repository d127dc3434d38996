//! Fits of several callers on a device and the processor, and devices that fail.

use super::emulated::Emulated;
use super::specs::{Draws, same, samples, spec};
use crate::device::{Device, Fault, Grid, Variant};
use crate::layout::{Address, Launch};
use crate::plan::Kernels;
use crate::run::Cuda;
use loopfit_data::Samples;
use loopfit_engine::{Backend, Control, Engine, FitOutcome, FitSpec, SpecError, Stop};
use loopfit_numerics::stream::Stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A device with little memory, or one that is lost after a number of launches.
struct Weak {
    device: Arc<Emulated>,
    most_bytes: usize,
    launches: AtomicUsize,
    refused: AtomicUsize,
}

impl Device for Arc<Weak> {
    fn processors(&self) -> usize {
        self.device.processors()
    }
    fn shared_limit(&self) -> usize {
        self.device.shared_limit()
    }
    fn free_memory(&self) -> Result<usize, Fault> {
        self.device.free_memory()
    }
    fn allocate(&self, queue: u64, bytes: usize) -> Result<Address, Fault> {
        if bytes > self.most_bytes {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Fault::Memory(bytes >> 20));
        }
        self.device.allocate(queue, bytes)
    }
    fn release(&self, queue: u64, address: Address) {
        self.device.release(queue, address);
    }
    fn queue(&self, _: bool) -> Result<u64, Fault> {
        self.device.queue(false)
    }
    fn close(&self, queue: u64) {
        self.device.close(queue);
    }
    fn write(&self, queue: u64, to: Address, bytes: &[u8]) -> Result<(), Fault> {
        self.device.write(queue, to, bytes)
    }
    fn read(&self, queue: u64, from: Address, bytes: &mut [u8]) -> Result<(), Fault> {
        self.device.read(queue, from, bytes)
    }
    fn is_prepared(&self, variant: Variant) -> bool {
        self.device.is_prepared(variant)
    }
    fn prepare(&self, variant: Variant) -> Result<(), Fault> {
        self.device.prepare(variant)
    }
    fn launch(&self, queue: u64, variant: Variant, grid: Grid, with: &Launch) -> Result<(), Fault> {
        let left = self
            .launches
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        match left {
            Ok(_) => self.device.launch(queue, variant, grid, with),
            Err(_) => Err(Fault::Other("the GPU was lost".to_string())),
        }
    }
}

/// A weak device, unless there is no compiler for its kernels.
fn weak(most_bytes: usize, launches: usize) -> Option<Arc<Weak>> {
    let Some(emulated) = Emulated::new() else {
        eprintln!("skipped: there is no C++ compiler");
        return None;
    };
    Some(Arc::new(Weak {
        device: Arc::new(emulated),
        most_bytes,
        launches: AtomicUsize::new(launches),
        refused: AtomicUsize::new(0),
    }))
}

/// Fits of two shapes, alike but for their random numbers and how many samples they have.
fn specs(count: u64) -> Vec<FitSpec> {
    (0..count)
        .map(|i| {
            let alike = spec(i % 2, false);
            let more = |set: &Samples, stream: u64| {
                let n = set.n() + 700 * i as usize;
                let draws = &mut Draws(Stream::new(stream), 0);
                samples(draws, n, set.d(), alike.likelihood)
            };
            FitSpec {
                train: more(&alike.train, 1),
                valid: more(&alike.valid, 2),
                stream: Stream::new(i),
                ..alike.clone()
            }
        })
        .collect()
}

fn run(backend: &dyn Backend, specs: &[FitSpec]) -> Result<Vec<FitOutcome>, SpecError> {
    backend.run(specs, &Control::default(), &|_, _| {})
}

fn assert_same(found: &[FitOutcome], expected: &[FitOutcome]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!(same(a, b), "{a:?}\n{b:?}");
    }
}

/// Callers beside one another get their own outcomes, whoever's fits run in step with theirs and wherever.
#[test]
fn callers_share_the_device_and_the_processor() {
    let specs = specs(12);
    let expected = run(&Engine::new(2).unwrap(), &specs).unwrap();
    for mixed in [false, true] {
        let Some(device) = weak(usize::MAX, usize::MAX) else {
            return;
        };
        let cuda = Cuda::with_device(Box::new(device), Kernels::HalfWarp, mixed);
        let name = if mixed { "cuda+cpu" } else { "cuda" };
        assert_eq!(
            (cuda.name(), cuda.bits()),
            (name, Engine::new(1).unwrap().bits())
        );
        let control = Control::default();
        std::thread::scope(|scope| {
            for (specs, expected) in specs.chunks(5).zip(expected.chunks(5)) {
                let (cuda, control) = (&cuda, &control);
                scope.spawn(move || {
                    let told = AtomicUsize::new(0);
                    let finished = |_: usize, _: &FitOutcome| {
                        told.fetch_add(1, Ordering::Relaxed);
                    };
                    let found = cuda.run(specs, control, &finished).unwrap();
                    assert_eq!(told.into_inner(), specs.len());
                    assert_same(&found, expected);
                });
            }
        });
        let made: usize = expected.iter().map(|o| o.updates).sum();
        assert_eq!(control.updates(), made as u64);
    }
}

/// Half as many fits, again and again, until the memory has room; one that has none is refused in a sentence.
#[test]
fn little_memory_is_shared_in_turn() {
    let specs = specs(8);
    let expected = run(&Engine::new(2).unwrap(), &specs).unwrap();
    let mut refused = 0;
    // From room for all of them to room for one.
    for most_bytes in (15..22).rev().map(|bits| 1 << bits) {
        let Some(device) = weak(most_bytes, usize::MAX) else {
            return;
        };
        let cuda = Cuda::with_device(Box::new(device.clone()), Kernels::Block, false);
        assert_same(&run(&cuda, &specs).unwrap(), &expected);
        refused = device.refused.load(Ordering::Relaxed);
        if refused > 0 {
            break;
        }
    }
    assert!(refused > 0);
    let none = weak(1000, usize::MAX).unwrap();
    let cuda = Cuda::with_device(Box::new(none), Kernels::Block, false);
    let error = run(&cuda, &specs).unwrap_err().to_string();
    assert!(
        error.starts_with("the backend cuda failed: its memory has no room"),
        "{error}"
    );
}

/// A device that is lost midway ends the run in a sentence, or the processor begins these fits anew.
#[test]
fn a_lost_device_is_said_or_made_up_for() {
    let specs = specs(4);
    let Some(device) = weak(usize::MAX, 5) else {
        return;
    };
    let cuda = Cuda::with_device(Box::new(device), Kernels::Block, false);
    let error = run(&cuda, &specs).unwrap_err().to_string();
    assert_eq!(error, "the backend cuda failed: the GPU was lost");
    let device = weak(usize::MAX, 5).unwrap();
    let cuda = Cuda::with_device(Box::new(device), Kernels::Block, true);
    let expected = run(&Engine::new(2).unwrap(), &specs).unwrap();
    assert_same(&run(&cuda, &specs).unwrap(), &expected);
}

/// A stop before the start: nothing but the first validation, as on the processor.
#[test]
fn a_stop_ends_fits_at_once() {
    let specs = specs(4);
    let Some(device) = weak(usize::MAX, usize::MAX) else {
        return;
    };
    let cuda = Cuda::with_device(Box::new(device), Kernels::Block, false);
    let control = Control::default();
    control.interrupt();
    let outcomes = cuda.run(&specs, &control, &|_, _| {}).unwrap();
    for outcome in outcomes {
        assert_eq!((outcome.stop, outcome.updates), (Stop::Interrupted, 0));
    }
}
