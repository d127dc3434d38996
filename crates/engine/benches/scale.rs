//! How time and memory grow with T, B, n and the number of fits, on one thread and on two.
//!
//! Prints an array of points in JSON; `cargo xtask bench scale` makes tables, slopes and a figure of it.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use loopfit_data::Samples;
use loopfit_engine::{Backend, Control, Engine, FitSpec, Predictor, Stage, Start, Stop};
use loopfit_likelihood::{Gaussian, Likelihood};
use loopfit_model::{Architecture, Bounds, Network, Tying};
use loopfit_numerics::stream::Stream;
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The shape that one size at a time departs from: Loop(2, 4, 11, 16), shape A of `docs/benchmarks.md`.
const D: usize = 2;
const Q: usize = 4;
const R: usize = 11;
const T: usize = 16;
const ROWS: usize = 4096;
const FITS: usize = 2;
const UPDATES: usize = 400;
const BATCH: usize = 128;
const VALIDATION_ROWS: usize = 1024;

/// A median of so many times, each of repeated work that lasts at least so long.
const REPETITIONS: usize = 7;
const SECONDS: f64 = 0.05;

fn main() {
    let mut points = Vec::new();
    let base = Work {
        r: R,
        t: T,
        rows: ROWS,
        fits: FITS,
        updates: UPDATES,
        predicts: false,
    };
    for t in powers_of_two(1, 256) {
        measure(&mut points, "T", t, Work { t, ..base });
    }
    for cap in powers_of_two(32, 4096) {
        // The widest network under the cap.
        let widths = (1..).take_while(|&r| network(r, T).count() <= cap);
        let r = widths.last().expect("a width of 1 fits under every cap");
        let numbers = network(r, T).count();
        measure(&mut points, "B", numbers, Work { r, ..base });
    }
    for rows in powers_of_two(256, 262_144) {
        // As many updates as the rows fill batches: one pass of training, then one of prediction.
        let work = Work {
            rows,
            updates: rows / BATCH,
            predicts: true,
            ..base
        };
        measure(&mut points, "n", rows, work);
    }
    for fits in powers_of_two(1, 64) {
        measure(&mut points, "fits", fits, Work { fits, ..base });
    }
    println!("{}", Value::Array(points));
}

fn powers_of_two(first: usize, last: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first), |size| Some(2 * size)).take_while(move |&size| size <= last)
}

fn network(r: usize, t: usize) -> Network {
    Network::new(Architecture::Ffn, D, 1, Q, r, Tying::Loop { t }).expect("a valid shape")
}

/// Fits of one kind, with or without predictions for all rows.
#[derive(Clone, Copy)]
struct Work {
    r: usize,
    t: usize,
    rows: usize,
    fits: usize,
    updates: usize,
    predicts: bool,
}

/// Adds the points of one size, on one thread and on two.
fn measure(points: &mut Vec<Value>, over: &str, size: usize, work: Work) {
    for threads in [1, 2] {
        let (seconds, bytes) = work.seconds_and_bytes(threads);
        eprintln!("{over} = {size}, threads: {threads}: {seconds:.2e} s");
        points.push(json!({
            "over": over, "size": size, "threads": threads, "seconds": seconds, "bytes": bytes,
        }));
    }
}

impl Work {
    /// The median time, and the most heap that the process held meanwhile, data included.
    fn seconds_and_bytes(self, threads: usize) -> (f64, usize) {
        let engine = Engine::new(threads).expect("threads can start");
        let specs: Vec<FitSpec> = {
            let spec = self.spec();
            (0..self.fits).map(|_| spec.clone()).collect()
        };
        let run = || {
            let outcomes = engine
                .run(&specs, &Control::default(), &|_, _| {})
                .expect("a valid specification");
            for (spec, outcome) in specs.iter().zip(&outcomes) {
                // A fit that ends early would look fast.
                assert_eq!(outcome.stop, Stop::Completed);
                if self.predicts {
                    let predictor = Predictor::new(&outcome.parameters, spec.bounds);
                    let predict = || predictor.predict(spec.train.x());
                    black_box(engine.threads().install(predict));
                }
            }
        };
        reset_peak();
        run();
        let bytes = PEAK.load(Ordering::Relaxed);
        let mut times: Vec<f64> = (0..REPETITIONS).map(|_| seconds(&run)).collect();
        times.sort_by(f64::total_cmp);
        (times[REPETITIONS / 2], bytes)
    }

    fn spec(self) -> FitSpec {
        let stream = Stream::new(1);
        let samples = |role: &str, n: usize| {
            let s = stream.child(role);
            let x: Vec<f32> = (0..n * D).map(|i| s.uniform(i as u64) as f32).collect();
            let y = x.chunks(D).map(|x| 3.0 * x[0] * x[1] - x[1]).collect();
            Arc::new(Samples::new(D, x, y).expect("finite samples"))
        };
        FitSpec {
            network: network(self.r, self.t),
            likelihood: Likelihood::Gaussian(Gaussian::squared_error()),
            bounds: Bounds::default(),
            train: samples("train", self.rows),
            valid: samples("valid", VALIDATION_ROWS),
            start: Start::Fresh {
                outgoing_multiplier: 0.05 / self.t as f64,
            },
            stages: vec![Stage {
                batch: BATCH,
                learning_rate: 1e-4,
                updates: self.updates,
                ..Stage::default()
            }],
            stream,
        }
    }
}

/// Seconds of one call among enough of them for the clock.
fn seconds(work: &impl Fn()) -> f64 {
    let (start, mut calls) = (Instant::now(), 0);
    loop {
        work();
        calls += 1;
        let seconds = start.elapsed().as_secs_f64();
        if seconds >= SECONDS {
            return seconds / f64::from(calls);
        }
    }
}

/// The system's allocator, counting bytes: exact, on every system, and for single points.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn reset_peak() {
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above, and `memory` is from the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}
