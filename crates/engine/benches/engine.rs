//! Speed of training and prediction on one core, beside the core's measured peak.
//!
//! `cargo xtask bench engine [--level NAME] [--json]` prints our figures at every instruction level
//! that the machine has, or at one (`fastest` is one too); `--cases DIR` writes the same
//! shapes with coefficients, a batch and our gradient, for the peers to check against;
//! `--smooth` measures smooth units and other forms, which the peers do not have; `--only A` measures
//! one shape.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use cpu_time::ProcessTime;
use loopfit_data::Samples;
use loopfit_engine::{
    Backend, Control, Engine, FitSpec, Optimiser, Predictor, RowPredictor, Scoring, Stage, Start,
    bytes_in_flight, flops_per_gradient, gradient,
};
use loopfit_likelihood::{Gaussian, Likelihood, Multiclass};
use loopfit_model::{Activation, Architecture, Bounds, Form, Network, Parameters, Tying, init};
use loopfit_numerics::lanes::{Across, Kernel, Level};
use loopfit_numerics::stream::Stream;
use serde_json::{Map, Value, json};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// One line of the tables in `docs/benchmarks.md`.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    /// Of the number of inputs.
    architecture: fn(usize) -> Architecture,
    d: usize,
    q: usize,
    r: usize,
    tying: Tying,
    outputs: usize,
    batch: usize,
    activation: Activation,
    form: Form,
}

/// A residual FFN with one output and batches of 128.
const fn ffn(name: &'static str, d: usize, q: usize, r: usize, tying: Tying) -> Shape {
    Shape {
        name,
        architecture: |_| Architecture::Ffn,
        d,
        q,
        r,
        tying,
        outputs: 1,
        batch: 128,
        activation: Activation::Relu,
        form: Form::Paper,
    }
}

/// A Loop Transformer of 16 iterations, one data token per input.
const fn transformer(name: &'static str, d: usize, q: usize, r: usize) -> Shape {
    Shape {
        architecture: Architecture::transformer,
        ..ffn(name, d, q, r, Tying::Loop { t: 16 })
    }
}

const SHAPES: [Shape; 11] = [
    ffn("A", 2, 4, 11, Tying::Loop { t: 16 }),
    ffn("B", 3, 2, 23, Tying::Loop { t: 16 }),
    ffn("C", 5, 5, 7, Tying::Loop { t: 16 }),
    ffn("D", 2, 4, 111, Tying::Loop { t: 16 }),
    ffn("E", 2, 3, 16, Tying::Loop { t: 64 }),
    ffn("F", 2, 4, 11, Tying::Single),
    ffn("G", 2, 6, 2, Tying::Untied { t: 3 }),
    Shape {
        outputs: 12,
        batch: 256,
        ..ffn("H", 93, 12, 110, Tying::Loop { t: 8 })
    },
    transformer("I", 2, 3, 4),
    transformer("J", 5, 4, 7),
    transformer("K", 2, 8, 5),
];
/// Shapes A, D and F with every activation in the paper's and in canonical form.
fn smooth_shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for shape in [SHAPES[0], SHAPES[3], SHAPES[5]] {
        for form in [Form::Paper, Form::Canonical] {
            shapes.extend(Activation::ALL.map(|activation| Shape {
                activation,
                form,
                ..shape
            }));
        }
    }
    shapes
}

const TRAINING_ROWS: usize = 4096;
const VALIDATION_ROWS: usize = 1024;
const PREDICTED_ROWS: usize = 100_000;
/// Everything is repeated at least so often, and for so many seconds: many short repetitions find moments in which neighbours leave
/// the core alone, with which it may share its units and caches.
const REPETITIONS: usize = 5;
const SECONDS: f64 = 2.5;
/// A fit by Adam at half the peak, and one beside scoring, whose first updates take longer than the others.
const SECONDS_OF_FIT: f64 = 0.05;
const SECONDS_OF_SCORING: f64 = 0.125;
/// Shapes with more parameters are not fitted by scoring.
const MOST_SCORED: usize = 1024;

/// Ends with a sentence that says what an option can be.
fn refuse(why: &str) -> ! {
    eprintln!("error: {why}");
    std::process::exit(2);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(i) = arguments.iter().position(|a| a == "--cases") {
        let directory = arguments.get(i + 1).map_or(".", String::as_str);
        for shape in &SHAPES {
            let case = Case::new(shape);
            let path = Path::new(directory).join(format!("{}.json", case.name));
            std::fs::write(path, case.to_json().to_string())
                .expect("the directory of --cases can be written");
        }
        return;
    }
    let shapes = match arguments.iter().any(|a| a == "--smooth") {
        true => smooth_shapes(),
        false => SHAPES.to_vec(),
    };
    let value_of = |name: &str| {
        let mut after = arguments.iter().skip_while(|a| *a != name);
        after.next()?;
        Some(after.next().map_or("", String::as_str))
    };
    let (only, level) = (value_of("--only"), value_of("--level"));
    let mut levels = Level::available();
    let names: Vec<&str> = levels.iter().map(|l| l.name()).collect();
    levels.retain(|l| {
        let fastest = *l == Level::fastest();
        level.is_none_or(|name| name == l.name() || fastest && name == "fastest")
    });
    if levels.is_empty() {
        refuse(&format!(
            "--level is one of {} or fastest here",
            names.join(", ")
        ));
    }
    if only.is_some_and(|name| shapes.iter().all(|shape| shape.name != name)) {
        let names: Vec<&str> = shapes.iter().map(|shape| shape.name).collect();
        refuse(&format!("--only is one of {}", names.join(", ")));
    }
    let json = arguments.iter().any(|a| a == "--json");
    let mut objects = Vec::new();
    for level in levels {
        let peak = fma_peak(level);
        if !json {
            println!(
                "FMA peak of one core at {}: {:.1} GFLOP/s",
                level.name(),
                peak / 1e9
            );
            println!(
                "shape  unit  form       parameters  updates/s  of peak  scoring/Adam  two threads   row, us   rows/s     memory"
            );
        }
        let wanted = |shape: &&Shape| only.is_none_or(|name| name == shape.name);
        for shape in shapes.iter().filter(wanted) {
            let measured = Measured::new(&Case::new(shape), level, peak);
            match json {
                true => objects.push(measured.to_json()),
                false => println!("{measured}"),
            }
        }
    }
    if json {
        println!("{}", Value::Array(objects));
    }
}

/// A shape with data: a smooth function of the first two inputs, or classes cut from it.
struct Case {
    name: &'static str,
    spec: FitSpec,
    start: Parameters,
    batch: Samples,
}

impl Case {
    fn new(shape: &Shape) -> Self {
        let &Shape {
            name,
            architecture,
            d,
            q,
            r,
            tying,
            outputs,
            batch,
            activation,
            form,
        } = shape;
        let likelihood = if outputs == 1 {
            Likelihood::Gaussian(Gaussian::squared_error())
        } else {
            Likelihood::Multiclass(Multiclass::new(outputs).expect("more than one class"))
        };
        let stream = Stream::new(1).child(name);
        let samples = |role: &str, n: usize| {
            let s = stream.child(role);
            let x: Vec<f32> = (0..n * d).map(|i| s.uniform(i as u64) as f32).collect();
            let y = x.chunks(d).enumerate().map(|(i, x)| {
                let f = 3.0 * x[0] * x[1] - x[1] + 0.1 * s.child("noise").normal(i as u64) as f32;
                if outputs == 1 {
                    f
                } else {
                    ((f + 1.0) * 4.0).clamp(0.0, outputs as f32 - 1.0).floor()
                }
            });
            let y = y.collect();
            Samples::new(d, x, y).expect("finite samples")
        };
        let network = Network::new(architecture(d), d, outputs, q, r, tying)
            .and_then(|network| network.with_activation(activation))
            .and_then(|network| network.with_form(form))
            .expect("a valid shape");
        let multiplier = 1.0 / tying.iterations() as f64;
        Self {
            name,
            start: init::fresh(&network, multiplier, stream.child("start")),
            batch: samples("batch", batch),
            spec: FitSpec {
                network,
                likelihood,
                bounds: Bounds::default(),
                train: Arc::new(samples("train", TRAINING_ROWS)),
                valid: Arc::new(samples("valid", VALIDATION_ROWS)),
                start: Start::Fresh {
                    outgoing_multiplier: multiplier,
                },
                stages: vec![Stage {
                    batch,
                    learning_rate: 0.003,
                    ..Stage::default()
                }],
                stream,
            },
        }
    }

    fn to_json(&self) -> Value {
        let FitSpec {
            network,
            likelihood,
            bounds,
            stages,
            ..
        } = &self.spec;
        let gradient = gradient(
            &self.start,
            *likelihood,
            *bounds,
            &self.batch,
            Level::fastest(),
        );
        let tensors = |values: &[f32]| {
            let views = network
                .layout()
                .iter()
                .map(|v| (v.name.clone(), json!(values[v.range()])))
                .collect::<Vec<_>>();
            Value::Object(views.into_iter().collect::<Map<_, _>>())
        };
        let (architecture, tokens) = match network.architecture() {
            Architecture::Ffn => ("ffn", None),
            Architecture::Transformer { partition } => ("transformer", Some(partition)),
        };
        json!({
            "shape": self.name, "architecture": architecture, "tokens": tokens,
            "d": network.d(), "q": network.q(), "r": network.r(),
            "t": network.tying().iterations(), "tying": network.tying().method().key(),
            "outputs": network.outputs(), "batch": self.batch.n(), "likelihood": likelihood.name(),
            "learning_rate": stages[0].learning_rate, "weight_decay": 0.0, "updates_hint": stages[0].updates,
            "params": tensors(self.start.values()), "x": self.batch.x(), "y": self.batch.y(),
            "gradient": tensors(&gradient),
        })
    }
}

struct Measured {
    name: &'static str,
    level: Level,
    activation: Activation,
    form: Form,
    parameters: usize,
    updates_per_s: f64,
    peak_fraction: f64,
    /// Time of an update by Fisher scoring over that of one by Adam.
    scoring_cost: Option<f64>,
    /// Speed-up of two threads over one.
    two_threads: f64,
    predict_row_us: f64,
    predict_rows_per_s: f64,
    memory_bytes: usize,
}

impl Measured {
    fn new(case: &Case, level: Level, peak: f64) -> Self {
        let FitSpec {
            network,
            likelihood,
            bounds,
            ..
        } = &case.spec;
        let batch = case.batch.n();
        let flops = flops_per_gradient(network, batch);
        let engines =
            [1, 2].map(|threads| Engine::at_level(threads, level).expect("threads can start"));
        let mut spec = case.spec.clone();
        let updates_in = |seconds: f64| ((seconds * 0.5 * peak / flops) as usize).max(200);
        spec.stages[0].updates = updates_in(SECONDS_OF_FIT);
        let updates = spec.stages[0].updates as f64;
        let run = |engine: &Engine, specs: &[FitSpec]| {
            black_box(
                engine
                    .run(specs, &Control::default(), &|_, _| {})
                    .expect("a valid specification"),
            );
        };
        let alone = |spec: &FitSpec| fastest(|| run(&engines[0], std::slice::from_ref(spec)));
        let one = alone(&spec);
        let pair = [spec.clone(), spec.clone()];
        let two_threads =
            fastest_clock(|| run(&engines[0], &pair)) / fastest_clock(|| run(&engines[1], &pair));
        let scoring_cost = (network.count() <= MOST_SCORED).then(|| {
            // Fits of equal length, which find equally quiet moments.
            let mut adam = spec.clone();
            adam.stages[0].updates = updates_in(SECONDS_OF_SCORING);
            let mut scoring = adam.clone();
            scoring.stages[0].optimiser = Optimiser::Scoring(Scoring::default());
            alone(&scoring) / alone(&adam)
        });

        let rows: Vec<f32> = (0..PREDICTED_ROWS * network.d())
            .map(|i| Stream::new(2).uniform(i as u64) as f32)
            .collect();
        let predictor = Predictor::at_level(&case.start, *bounds, level);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .expect("a thread can start");
        let batch_seconds =
            pool.install(|| fastest(|| drop(black_box(predictor.predict(black_box(&rows))))));

        let mut row_predictor = RowPredictor::at_level(&case.start, *bounds, level);
        let mut out = vec![0.0; network.outputs()];
        let calls = 20_000;
        let row_seconds = fastest(|| {
            for row in rows.chunks(network.d()).take(calls) {
                row_predictor.predict(black_box(row), black_box(&mut out));
            }
        });
        Self {
            name: case.name,
            level,
            scoring_cost,
            activation: network.activation(),
            form: network.form(),
            parameters: network.count(),
            updates_per_s: updates / one,
            peak_fraction: flops * updates / one / peak,
            two_threads,
            predict_row_us: row_seconds / calls as f64 * 1e6,
            predict_rows_per_s: PREDICTED_ROWS as f64 / batch_seconds,
            memory_bytes: bytes_in_flight(network, *likelihood, batch),
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "shape": self.name, "level": self.level.name(), "parameters": self.parameters, "updates_per_s": self.updates_per_s,
            "peak_fraction": self.peak_fraction, "scoring_cost": self.scoring_cost, "two_threads": self.two_threads,
            "predict_row_us": self.predict_row_us, "predict_rows_per_s": self.predict_rows_per_s,
            "memory_bytes": self.memory_bytes,
        })
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scoring = self
            .scoring_cost
            .map_or("-".to_owned(), |c| format!("{c:.2}x"));
        write!(
            f,
            "{:<5}  {:<4}  {:<9}  {:>10}  {:>9.0}  {:>6.1}%  {scoring:>12}  {:>10.2}x  {:>8.2}  {:>7.2}M  {:>6.2} MB",
            self.name,
            self.activation,
            self.form,
            self.parameters,
            self.updates_per_s,
            100.0 * self.peak_fraction,
            self.two_threads,
            self.predict_row_us,
            self.predict_rows_per_s / 1e6,
            self.memory_bytes as f64 / 1e6
        )
    }
}

/// Processor seconds of the fastest of some repetitions: what others run on the machine does not count.
fn fastest(mut work: impl FnMut()) -> f64 {
    fastest_of(|| {
        let start = ProcessTime::now();
        work();
        start.elapsed().as_secs_f64()
    })
}

/// The same by the clock.
fn fastest_clock(mut work: impl FnMut()) -> f64 {
    fastest_of(|| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    })
}

fn fastest_of(mut seconds: impl FnMut() -> f64) -> f64 {
    let (mut fastest, mut total, mut repetitions) = (f64::INFINITY, 0.0, 0);
    while repetitions < REPETITIONS || total < SECONDS {
        let now = seconds();
        (fastest, total, repetitions) = (fastest.min(now), total + now, repetitions + 1);
    }
    fastest
}

/// Multiply-adds of one core at a level, in floating-point operations per second.
fn fma_peak(level: Level) -> f64 {
    // Six lines leave room in the sixteen registers of AVX2, two to a line; a core with two units for a whole line of four
    // cycles each needs eight and more.
    [chains::<6>(level), chains::<8>(level), chains::<12>(level)]
        .into_iter()
        .fold(0.0, f64::max)
}

/// The same with `N` sums at once.
fn chains<const N: usize>(level: Level) -> f64 {
    const STEPS: usize = 8_000_000;
    struct Chains<const N: usize>;
    impl<const N: usize> Kernel for Chains<N> {
        type Output = f32;
        #[inline(always)]
        fn run<S: Across>(self, s: S) -> f32 {
            let mut v = [s.splat(0.0); N];
            for (i, v) in v.iter_mut().enumerate() {
                *v = s.splat(black_box(i as f32));
            }
            let (a, b) = (s.splat(black_box(0.999)), s.splat(black_box(0.001)));
            for _ in 0..STEPS {
                for v in &mut v {
                    *v = s.fma(*v, a, b);
                }
            }
            v.into_iter().map(|v| s.sum(v)).sum()
        }
    }
    let seconds = fastest(|| {
        black_box(level.run(Chains::<N>));
    });
    (N * STEPS * 2 * 16) as f64 / seconds
}
