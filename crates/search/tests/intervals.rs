//! Intervals hold as many new responses as they say.

use loopfit_data::Table;
use loopfit_data::table::Column;
use loopfit_engine::{Control, Threads};
use loopfit_fitted::Predictions;
use loopfit_model::{Activation, Method};
use loopfit_numerics::stream::Stream;
use loopfit_search::estimate::{Ask, LOOP_ITERATIONS, Prepared};
use loopfit_search::replication::{Source, TableOptions, TableSource};

/// A response of `u` and `v`, and of a standard normal beside them.
fn table(n: usize, stream: Stream, response: fn(f64, f64, f64) -> f64) -> Table {
    let column = |name: &str| -> Vec<f64> {
        let s = stream.child(name);
        (0..n as u64).map(|i| 2.0 * s.uniform(i) - 1.0).collect()
    };
    let (u, v) = (column("u"), column("v"));
    let noise = stream.child("noise");
    let y = u
        .iter()
        .zip(&v)
        .enumerate()
        .map(|(i, (u, v))| response(*u, *v, noise.normal(i as u64)));
    let y = y.collect();
    let columns = [("u", u.clone()), ("v", v.clone()), ("y", y)];
    let named = columns.map(|(name, values)| (name.to_string(), Column::Numeric(values)));
    Table::from_columns("t", named.into())
}

const FITS: u64 = 4;
const ROWS: usize = 200;
const NEW: usize = 2000;
const LEVELS: [f64; 3] = [0.5, 0.8, 0.9];

/// Four fits to 200 rows each, judged on 2000 new rows each: the shares of responses inside their intervals, and three standard deviations of
/// what 800 residuals and 8000 rows say of each.
fn shares(response: fn(f64, f64, f64) -> f64) -> [(f64, f64); 3] {
    let threads = Threads::new(2).unwrap();
    let mut inside = [0usize; 3];
    for seed in 0..FITS {
        let stream = Stream::new(seed).child("coverage");
        let options = TableOptions {
            target: Some("y".to_string()),
            ..TableOptions::default()
        };
        let rows = table(ROWS, stream.child("rows"), response);
        let source = TableSource::new(rows, &options).unwrap();
        let ask = Ask {
            budget: 24,
            methods: vec![Method::Single],
            activations: vec![Activation::Tanh],
            iterations: LOOP_ITERATIONS.to_vec(),
            paper: false,
            work: 1e8,
            test_fraction: 0.0,
            test_seed: None,
            refit: true,
            seed,
        };
        let prepared = Prepared::new(&Source::Table(Box::new(source)), None, &ask).unwrap();
        let run = prepared.run(&threads, &ask, &Control::default(), &|_| ());
        let model = run.unwrap().model;
        let new = table(NEW, stream.child("new"), response);
        let (Predictions::Responses(predictions), _) = model.predict(&new).unwrap() else {
            panic!("responses")
        };
        let Some(Column::Numeric(y)) = new.column("y") else {
            panic!("numbers")
        };
        for (level, inside) in LEVELS.iter().zip(&mut inside) {
            let width = model.half_width(*level).unwrap();
            let pairs = predictions.iter().zip(y);
            *inside += pairs.filter(|(f, y)| (*f - *y).abs() <= width).count();
        }
    }
    let (residuals, new) = ((FITS as usize * ROWS) as f64, (FITS as usize * NEW) as f64);
    std::array::from_fn(|i| {
        let variance = LEVELS[i] * (1.0 - LEVELS[i]) * (1.0 / residuals + 1.0 / new);
        (inside[i] as f64 / new, 3.0 * variance.sqrt())
    })
}

#[test]
fn intervals_cover_what_they_say() {
    let found = shares(|u, v, e| (3.0 * u).sin() + v * v + 0.5 * e);
    for (level, (share, within)) in LEVELS.iter().zip(found) {
        assert!((share - level).abs() < within, "{level}: {share}, {within}");
    }
}

/// Held-out residuals of a plane in 64 bits are smaller than the rounding of the model that is delivered.
#[test]
fn intervals_without_noise_cover_the_rounding() {
    let found = shares(|u, v, _| 30.0 + 2.0 * u - v / 3.0);
    for (level, (share, within)) in LEVELS.iter().zip(found) {
        // Rounding has few different values, so that more may be inside.
        assert!(share > level - within, "{level}: {share}, {within}");
    }
}
