//! What a search keeps, and what it never sees.

use loopfit_data::table::Column;
use loopfit_data::{Simulation, Table};
use loopfit_engine::{Control, Engine, FitOutcome};
use loopfit_model::{Method, Network, Tying};
use loopfit_numerics::stream::Stream;
use loopfit_search::SearchError;
use loopfit_search::fit::{FixedShape, Request, fit};
use loopfit_search::halving::{Search, search};
use loopfit_search::plan::{Plan, Rung, Setting};
use loopfit_search::replication::{Source, TableOptions, TableSource};

fn simulated() -> Source {
    Source::Simulation {
        simulation: Simulation::Friedman1,
        train: 256,
        valid: 128,
    }
}

fn request(updates: usize) -> Request {
    Request {
        budget: 64,
        methods: Method::ALL.to_vec(),
        updates,
        shapes: Vec::new(),
    }
}

#[test]
fn halving_keeps_the_setting_with_the_lowest_loss() {
    let problem = simulated().replication(1, None).unwrap().problem;
    let shapes = [Network::ffn(5, 1, 2, 3, Tying::Loop { t: 4 }).unwrap()];
    let settings = Setting::draw(&shapes, 5, Stream::new(2));
    let engine = Engine::new(2).unwrap();
    let run = |settings: &[Setting], rungs: &[(usize, usize)]| -> FitOutcome {
        let rungs = rungs
            .iter()
            .map(|(fits, updates)| Rung {
                fits: *fits,
                updates: *updates,
                shorten: 1,
            })
            .collect();
        let search_ = Search {
            problem: problem.clone(),
            settings: settings.to_vec(),
            plan: Plan { rungs },
        };
        search(&engine, &[search_], &Control::default())
            .unwrap()
            .remove(0)
            .outcome
    };
    let alone: Vec<FitOutcome> = settings
        .iter()
        .map(|s| run(std::slice::from_ref(s), &[(1, 100)]))
        .collect();
    let best = alone
        .iter()
        .min_by(|a, b| a.validation.total_cmp(&b.validation))
        .unwrap();
    let together = run(&settings, &[(5, 100)]);
    assert_eq!(together.parameters, best.parameters);
    // The next rung continues the best of the first and cannot be worse.
    let longer = run(&settings, &[(5, 100), (1, 300)]);
    assert!(longer.validation <= together.validation);
    assert_eq!(longer.updates, 400);
}

#[test]
fn an_empty_search_is_an_error() {
    let problem = simulated().replication(1, None).unwrap().problem;
    let empty = Search {
        problem,
        settings: Vec::new(),
        plan: Plan { rungs: Vec::new() },
    };
    let engine = Engine::new(1).unwrap();
    let result = search(&engine, &[empty], &Control::default());
    assert!(matches!(result, Err(SearchError::NothingToTry)));
}

/// A table whose rows of one part of the split can be altered.
fn source(alter: impl Fn(usize) -> Option<f64>) -> Source {
    let s = Stream::new(7);
    let x: Vec<f64> = (0..200).map(|i| s.uniform(i)).collect();
    let y = x
        .iter()
        .enumerate()
        .map(|(i, x)| alter(i).unwrap_or(x * x + 0.01 * s.child("noise").normal(i as u64)));
    let columns = vec![
        ("x".to_string(), Column::Numeric(x.clone())),
        ("y".to_string(), Column::Numeric(y.collect())),
    ];
    let options = TableOptions {
        target: Some("y".to_string()),
        ..TableOptions::default()
    };
    Source::Table(Box::new(
        TableSource::new(Table::from_columns("t", columns), &options).unwrap(),
    ))
}

/// Test targets change the test score and nothing else: they cannot reach the selection.
#[test]
fn selection_never_sees_the_test_rows() {
    let engine = Engine::new(2).unwrap();
    let run = |source: &Source| {
        let replication = source.replication(3, None).unwrap();
        fit(&engine, &replication, 3, &request(640), &Control::default()).unwrap()
    };
    let plain = run(&source(|_| None));
    // The rows whose change leaves the training samples and all losses as they were.
    let hash = |s: &Source| s.replication(3, None).unwrap().problem;
    let before = hash(&source(|_| None));
    let is_test = |row: usize| {
        let after = hash(&source(|i| (i == row).then_some(50.0)));
        after.train == before.train && after.valid == before.valid
    };
    let test: Vec<usize> = (0..200).filter(|row| is_test(*row)).collect();
    assert_eq!(test.len(), 40, "a fifth of the rows");
    let altered = run(&source(|i| test.contains(&i).then_some(50.0)));
    for (a, b) in plain.iter().zip(&altered) {
        assert_eq!(a.method, b.method);
        assert_eq!(a.model.parameters, b.model.parameters);
        assert_ne!(a.test, b.test);
    }
}

#[test]
fn a_fixed_shape_is_the_only_one_tried_and_must_fit() {
    let replication = simulated().replication(1, None).unwrap();
    let engine = Engine::new(2).unwrap();
    let mut request = request(160);
    request.shapes = vec![FixedShape {
        q: 2,
        r: 3,
        tying: Tying::Loop { t: 5 },
    }];
    let fits = fit(&engine, &replication, 1, &request, &Control::default()).unwrap();
    let looped = fits.iter().find(|f| f.method == Method::Loop).unwrap();
    assert_eq!(
        looped.model.parameters.network(),
        &Network::ffn(5, 1, 2, 3, Tying::Loop { t: 5 }).unwrap()
    );
    request.shapes[0].r = 40;
    let error = fit(&engine, &replication, 1, &request, &Control::default()).unwrap_err();
    assert!(matches!(error, SearchError::Budget(_)), "{error}");
}
