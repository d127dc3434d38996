//! Bits and speed of a GPU: `gpu bits N SHAPES UPDATES KERNELS OPTIMISER` compares outcomes of random fits and of shapes with the
//! processor's, `gpu speed SHAPES COUNTS KERNELS OPTIMISER SECONDS` prints updates per second of the shapes of docs/benchmarks.md
//! and what the kernels take.

#![allow(clippy::print_stderr)]

#[path = "../tests/specs/mod.rs"]
mod specs;

use loopfit_cuda::{Cuda, Kernels, Settings};
use loopfit_data::Samples;
use loopfit_engine::{
    Backend, Control, Engine, FitSpec, Optimiser, Scoring, Stage, Start, flops_per_update,
};
use loopfit_likelihood::{Gaussian, Likelihood, Multiclass};
use loopfit_model::{Bounds, Network, Tying};
use loopfit_numerics::stream::Stream;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// Shapes by letter: d, q, r, tying, classes (0: regression), batch.
const SHAPES: [(char, usize, usize, usize, Tying, usize, usize); 8] = [
    ('A', 2, 4, 11, Tying::Loop { t: 16 }, 0, 128),
    ('B', 3, 2, 23, Tying::Loop { t: 16 }, 0, 128),
    ('C', 5, 5, 7, Tying::Loop { t: 16 }, 0, 128),
    ('D', 2, 4, 111, Tying::Loop { t: 16 }, 0, 128),
    ('E', 2, 3, 16, Tying::Loop { t: 64 }, 0, 128),
    ('F', 2, 4, 11, Tying::Single, 0, 128),
    ('G', 2, 6, 2, Tying::Untied { t: 3 }, 0, 128),
    ('H', 93, 12, 110, Tying::Loop { t: 8 }, 12, 256),
];

/// Single-precision peak of an H200 at 1.98 GHz: 132 processors, 128 multiply-adds each.
const PEAK: f64 = 66.9e12;

fn samples(n: usize, d: usize, classes: usize, stream: Stream) -> Arc<Samples> {
    let draws = |name: &str, n: usize| -> Vec<f32> {
        let stream = stream.child(name);
        (0..n as u64).map(|i| stream.uniform(i) as f32).collect()
    };
    let y = match classes {
        0 => draws("y", n),
        _ => draws("y", n)
            .iter()
            .map(|u| (u * classes as f32).floor())
            .collect(),
    };
    Arc::new(Samples::new(d, draws("x", n * d), y).expect("samples"))
}

fn fits(letter: char, count: usize, updates: usize, scoring: bool) -> Vec<FitSpec> {
    let shape = SHAPES
        .iter()
        .find(|shape| shape.0 == letter)
        .expect("a shape of A to H");
    let &(_, d, q, r, tying, classes, batch) = shape;
    let likelihood = match classes {
        0 => Likelihood::Gaussian(Gaussian::squared_error()),
        _ => Likelihood::Multiclass(Multiclass::new(classes).expect("classes")),
    };
    let network = Network::ffn(d, classes.max(1), q, r, tying).expect("a network");
    let stream = Stream::new(9);
    let (train, valid) = (
        samples(512, d, classes, stream.child("train")),
        samples(1024, d, classes, stream.child("valid")),
    );
    let stage = Stage {
        optimiser: match scoring {
            true => Optimiser::Scoring(Scoring::default()),
            false => Stage::default().optimiser,
        },
        batch,
        updates,
        ..Stage::default()
    };
    (0..count)
        .map(|i| FitSpec {
            network: network.clone(),
            likelihood,
            bounds: Bounds::default(),
            train: train.clone(),
            valid: valid.clone(),
            start: Start::Fresh {
                outgoing_multiplier: 0.05 / tying.iterations() as f64,
            },
            stages: vec![stage.clone()],
            stream: Stream::new(i as u64),
        })
        .collect()
}

fn cuda(kernels: Kernels) -> Cuda {
    let cache = Some(std::env::temp_dir().join("loopfit-kernels"));
    Cuda::new(Settings {
        cache,
        kernels,
        ..Settings::default()
    })
    .unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(1)
    })
}

fn run(backend: &dyn Backend, specs: &[FitSpec]) -> Vec<loopfit_engine::FitOutcome> {
    backend
        .run(specs, &Control::default(), &|_, _| {})
        .unwrap_or_else(|e| {
            eprintln!("{e}");
            std::process::exit(1)
        })
}

fn bits(
    out: &mut dyn Write,
    count: u64,
    shapes: &str,
    updates: usize,
    ways: &[(Kernels, bool)],
) -> std::io::Result<()> {
    let engine = Engine::new(0).expect("threads");
    for &(kernels, scoring) in ways {
        let mut specs: Vec<FitSpec> = (0..count).map(|i| specs::spec(i, scoring)).collect();
        for letter in shapes.chars() {
            specs.extend(fits(
                letter,
                3,
                updates,
                scoring && letter != 'D' && letter != 'H',
            ));
        }
        let cuda = cuda(kernels);
        let begin = Instant::now();
        let found = run(&cuda, &specs);
        let seconds = begin.elapsed().as_secs_f64();
        let expected = run(&engine, &specs);
        let same = expected
            .iter()
            .zip(&found)
            .filter(|(a, b)| specs::same(a, b))
            .count();
        writeln!(
            out,
            "{kernels:?} scoring {scoring}: {same} of {} the same, {seconds:.1} s",
            specs.len()
        )?;
        for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
            if !specs::same(a, b) {
                writeln!(
                    out,
                    "  differs: {i} {} {:?}\n   {:?}\n   {:?}",
                    specs[i].network, specs[i].likelihood, a.curve, b.curve
                )?;
            }
        }
    }
    Ok(())
}

fn speed(
    out: &mut dyn Write,
    shapes: &str,
    counts: &[usize],
    kernels: Kernels,
    scoring: bool,
    seconds: f64,
) -> std::io::Result<()> {
    let cuda = cuda(kernels);
    for letter in shapes.chars() {
        let first = &fits(letter, 1, 200, scoring)[0];
        let flops = flops_per_update(first);
        for count in counts {
            let begin = Instant::now();
            cuda.prepare(first, *count).expect("kernels");
            run(&cuda, &fits(letter, *count, 1, scoring));
            let warm = begin.elapsed().as_secs_f64();
            // As many updates as take about so long, judged by two short runs, of which both set up.
            let short = |updates: usize| {
                let specs = fits(letter, *count, updates, scoring);
                let begin = Instant::now();
                run(&cuda, &specs);
                begin.elapsed().as_secs_f64()
            };
            let (once, twice) = (short(200), short(400));
            let each = ((twice - once) / 200.0).max(1e-9);
            let setting_up = once - 200.0 * each;
            let updates = ((seconds / each) as usize / 200 * 200).clamp(200, 20_000);
            let specs = fits(letter, *count, updates, scoring);
            let begin = Instant::now();
            let found = run(&cuda, &specs);
            let took = begin.elapsed().as_secs_f64();
            let rate = found.iter().map(|o| o.updates).sum::<usize>() as f64 / took;
            writeln!(
                out,
                "{letter} {count:5} fits {kernels:?} scoring {scoring}: {rate:.3e} updates/s, {:.2} us an update, {:.1}% of peak, {took:.2} s, setting up {setting_up:.3} s, first {warm:.2} s",
                1e6 * took / updates as f64,
                100.0 * rate * flops / PEAK,
            )?;
        }
        for line in cuda.resources(first, counts.last().copied().unwrap_or(1)) {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let argument =
        |i: usize, otherwise: &str| arguments.get(i).cloned().unwrap_or(otherwise.to_string());
    let out = &mut std::io::stdout();
    match argument(0, "speed").as_str() {
        "bits" => {
            let count = argument(1, "24").parse().expect("a number");
            let updates = argument(3, "60").parse().expect("updates");
            let kernels = match argument(4, "all").as_str() {
                "block" => vec![Kernels::Block],
                "blocks" => vec![Kernels::Blocks],
                "light" => vec![Kernels::Light],
                "half-warp" => vec![Kernels::HalfWarp],
                _ => vec![
                    Kernels::Block,
                    Kernels::Blocks,
                    Kernels::Light,
                    Kernels::HalfWarp,
                ],
            };
            let optimisers = match argument(5, "both").as_str() {
                "adam" => vec![false],
                "scoring" => vec![true],
                _ => vec![false, true],
            };
            let ways = optimisers
                .iter()
                .flat_map(|scoring| kernels.iter().map(|k| (*k, *scoring)));
            let ways: Vec<(Kernels, bool)> = ways.collect();
            bits(out, count, &argument(2, "ABCDEFGH"), updates, &ways)
        }
        "speed" => {
            let counts: Vec<usize> = argument(2, "1,8,64,512,4096")
                .split(',')
                .map(|n| n.parse().expect("numbers"))
                .collect();
            let kernels = match argument(3, "fastest").as_str() {
                "block" => Kernels::Block,
                "blocks" => Kernels::Blocks,
                "light" => Kernels::Light,
                "half-warp" => Kernels::HalfWarp,
                _ => Kernels::Fastest,
            };
            let scoring = argument(4, "adam") == "scoring";
            speed(
                out,
                &argument(1, "ABCDEFGH"),
                &counts,
                kernels,
                scoring,
                argument(5, "0.5").parse().expect("seconds"),
            )
        }
        other => {
            eprintln!("bits or speed, not {other}");
            std::process::exit(2)
        }
    }
}
