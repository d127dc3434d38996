//! Intervals hold as many new responses as they say.

use loopfit_data::Table;
use loopfit_data::table::Column;
use loopfit_engine::{Control, Threads};
use loopfit_fitted::Predictions;
use loopfit_model::{Activation, Method};
use loopfit_numerics::stream::Stream;
use loopfit_search::estimate::{Ask, LOOP_ITERATIONS, Prepared};
use loopfit_search::replication::{Source, TableOptions, TableSource};

/// `y = sin(3 u) + v^2` plus a standard normal half as large.
fn table(n: usize, stream: Stream) -> Table {
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
        .map(|(i, (u, v))| (3.0 * u).sin() + v * v + 0.5 * noise.normal(i as u64));
    let y = y.collect();
    let columns = [("u", u.clone()), ("v", v.clone()), ("y", y)];
    let named = columns.map(|(name, values)| (name.to_string(), Column::Numeric(values)));
    Table::from_columns("t", named.into())
}

/// Four fits to 200 rows each, judged on 2000 new rows each: the shares of responses inside their intervals deviate from the
/// levels by less than three standard deviations of what 800 residuals and 8000 rows say.
#[test]
fn intervals_cover_what_they_say() {
    const FITS: u64 = 4;
    const ROWS: usize = 200;
    const NEW: usize = 2000;
    let levels = [0.5, 0.8, 0.9];
    let threads = Threads::new(2).unwrap();
    let mut inside = [0usize; 3];
    for seed in 0..FITS {
        let stream = Stream::new(seed).child("coverage");
        let options = TableOptions {
            target: Some("y".to_string()),
            ..TableOptions::default()
        };
        let rows = table(ROWS, stream.child("rows"));
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
        let new = table(NEW, stream.child("new"));
        let (Predictions::Responses(predictions), _) = model.predict(&new).unwrap() else {
            panic!("responses")
        };
        let Some(Column::Numeric(y)) = new.column("y") else {
            panic!("numbers")
        };
        for (level, inside) in levels.iter().zip(&mut inside) {
            let width = model.half_width(*level).unwrap();
            let pairs = predictions.iter().zip(y);
            *inside += pairs.filter(|(f, y)| (*f - *y).abs() <= width).count();
        }
    }
    let (residuals, new) = ((FITS as usize * ROWS) as f64, (FITS as usize * NEW) as f64);
    for (level, inside) in levels.iter().zip(inside) {
        let share = inside as f64 / new;
        let sd = (level * (1.0 - level) * (1.0 / residuals + 1.0 / new)).sqrt();
        assert!((share - level).abs() < 3.0 * sd, "{level}: {share}, {sd}");
    }
}
