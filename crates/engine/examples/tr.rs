use loopfit_data::*;
use loopfit_engine::*;
use loopfit_likelihood::*;
use loopfit_model::*;
use loopfit_numerics::stream::Stream;
use std::sync::Arc;
fn stats(v: &[f64]) -> (f64, f64) {
    let m = v.iter().sum::<f64>() / v.len() as f64;
    let s = (v.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / v.len() as f64).sqrt();
    (m, s)
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    // q r T d updates lr mult outrate opt
    let get = |i: usize, d: f64| a.get(i).and_then(|s| s.parse().ok()).unwrap_or(d);
    let (q, r, t) = (
        get(2, 4.) as usize,
        get(3, 8.) as usize,
        get(4, 16.) as usize,
    );
    let updates = get(5, 2000.) as usize;
    let lr = get(6, 0.005);
    let mult = get(7, 1.0);
    let orate = get(8, 1.0);
    let scoring = get(9, 0.) > 0.;
    let seeds = get(10, 4.) as u64;
    let sim: simulation::Simulation = a[1].parse().unwrap();
    let d = sim.dim();
    let tying = if t == 1 {
        Tying::Single
    } else {
        Tying::Loop { t }
    };
    let net = Network::new(Architecture::transformer(d), d, 1, q, r, tying).unwrap();
    let specs: Vec<FitSpec> = (0..seeds)
        .map(|seed| {
            let draw = sim.draw(500 + seed, 4096, 1024, 4096);
            let (m, sd) = stats(&draw.train.y);
            let xs: Vec<(f64, f64)> = (0..d)
                .map(|k| {
                    stats(
                        &draw
                            .train
                            .x
                            .iter()
                            .skip(k)
                            .step_by(d)
                            .copied()
                            .collect::<Vec<_>>(),
                    )
                })
                .collect();
            let conv = |o: &simulation::Observations| {
                Samples::new(
                    d,
                    o.x.iter()
                        .enumerate()
                        .map(|(i, v)| ((v - xs[i % d].0) / xs[i % d].1) as f32)
                        .collect(),
                    o.y.iter().map(|v| ((v - m) / sd) as f32).collect(),
                )
                .unwrap()
            };
            FitSpec {
                network: net.clone(),
                likelihood: Likelihood::Gaussian(Gaussian::squared_error()),
                bounds: Bounds::default(),
                train: Arc::new(conv(&draw.train)),
                valid: Arc::new(conv(&draw.valid)),
                start: Start::Fresh {
                    outgoing_multiplier: mult,
                },
                stages: vec![Stage {
                    optimiser: if scoring {
                        Optimiser::Scoring(Scoring::default())
                    } else {
                        Optimiser::Adam(Adam {
                            outgoing_rate: orate,
                            ..Default::default()
                        })
                    },
                    learning_rate: lr,
                    updates,
                    validate_every: updates / 10,
                    ..Default::default()
                }],
                stream: Stream::new(seed),
            }
        })
        .collect();
    let e = Engine::new(2).unwrap();
    let o = e.run(&specs, &Control::default(), |_, _| {}).unwrap();
    let s: f64 = o.iter().map(|o| o.seconds).sum();
    println!(
        "{net}: {:.0} updates/s/core",
        (seeds as f64 * updates as f64) / s
    );
    for o in &o {
        println!(
            "  {:?} start {:.4} best {:.5} at {} curve {:?}",
            o.stop,
            o.curve[0].1,
            o.validation,
            o.best_update,
            o.curve
                .iter()
                .map(|c| (c.1 * 1e5).round() / 1e5)
                .collect::<Vec<_>>()
        );
    }
}
