//! What a search keeps, and what it never sees.

use loopfit_data::table::Column;
use loopfit_data::{Simulation, Table};
use loopfit_engine::{Control, Engine};
use loopfit_model::{ArchitectureChoice, Method, Network, Tying};
use loopfit_numerics::stream::Stream;
use loopfit_search::cost::{self, Equal};
use loopfit_search::fit::{MethodFit, Prepared, Request};
use loopfit_search::halving::{Found, Search, search};
use loopfit_search::plan::{Plan, Rung, Setting};
use loopfit_search::protocol::{Protocol, RungShare};
use loopfit_search::replication::{Replication, Source, TableOptions, TableSource};
use loopfit_search::{Family, SearchError};
use std::sync::Arc;

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
        families: Family::each(&[ArchitectureChoice::Ffn], &Method::ALL),
        updates,
        protocol: Arc::default(),
    }
}

fn fit(
    engine: &Engine,
    replication: &Replication,
    seed: u64,
    request: &Request,
) -> Result<Vec<MethodFit>, SearchError> {
    Prepared::new(request.clone(), replication.clone(), seed)?.run(engine, &Control::default())
}

fn a_search(protocol: &Protocol, settings: &[Setting], rungs: &[(usize, usize)]) -> Search {
    let rungs = rungs.iter().map(|(fits, updates)| Rung {
        fits: *fits,
        updates: *updates,
        shorten: 1,
    });
    Search {
        problem: simulated().replication(1, None).unwrap().problem,
        protocol: Arc::new(protocol.clone()),
        settings: settings.to_vec(),
        plan: Plan {
            rungs: rungs.collect(),
        },
        whole: false,
    }
}

fn some_settings(protocol: &Protocol) -> Vec<Setting> {
    let shapes = [Network::ffn(5, 1, 2, 3, Tying::Loop { t: 4 }).unwrap()];
    Setting::draw(protocol, &shapes, 5, Stream::new(2))
}

fn run_one(search_: Search, control: &Control) -> Found {
    let engine = Engine::new(2).unwrap();
    search(&engine, control, &[search_]).unwrap().remove(0)
}

#[test]
fn halving_keeps_the_setting_with_the_lowest_loss() {
    let protocol = Protocol::default();
    let settings = some_settings(&protocol);
    let run = |settings: &[Setting], rungs: &[(usize, usize)]| {
        run_one(a_search(&protocol, settings, rungs), &Control::default())
    };
    let alone: Vec<Found> = settings
        .iter()
        .map(|s| run(std::slice::from_ref(s), &[(1, 100)]))
        .collect();
    let best = alone
        .iter()
        .min_by(|a, b| a.outcome.validation.total_cmp(&b.outcome.validation))
        .unwrap();
    let together = run(&settings, &[(5, 100)]);
    assert_eq!(together.outcome.parameters, best.outcome.parameters);
    // All five reached the last rung: their losses in order, and the gap of the first two.
    let mut losses: Vec<f64> = alone.iter().map(|f| f.outcome.validation).collect();
    losses.sort_by(f64::total_cmp);
    assert_eq!(together.optima, losses);
    assert_eq!(together.gap(), Some(losses[1] - losses[0]));
    // The next rung continues the best of the first and cannot be worse.
    let longer = run(&settings, &[(5, 100), (1, 300)]);
    assert!(longer.outcome.validation <= together.outcome.validation);
    assert_eq!(longer.updates, 800);
}

#[test]
fn a_stopped_search_gives_the_best_so_far() {
    let protocol = Protocol::default();
    let settings = some_settings(&protocol);
    let rungs = [(5, 2000), (1, 1_000_000)];
    let control = Control::default();
    control.stop_at(std::time::Instant::now() + std::time::Duration::from_millis(500));
    let found = run_one(a_search(&protocol, &settings, &rungs), &control);
    assert!(found.outcome.validation.is_finite());
    assert!(found.updates < 1_010_000, "stopped early");
    // Stopped before it began: a start is all there is.
    let control = Control::default();
    control.interrupt();
    let found = run_one(a_search(&protocol, &settings, &rungs), &control);
    assert_eq!(found.updates, 0);
    assert!(found.outcome.validation.is_finite());
}

#[test]
fn an_empty_search_is_an_error() {
    let empty = a_search(&Protocol::default(), &[], &[]);
    let engine = Engine::new(1).unwrap();
    let result = search(&engine, &Control::default(), &[empty]);
    assert!(matches!(result, Err(SearchError::NothingToTry)));
}

/// The same search on any number of threads.
#[test]
fn threads_do_not_change_what_is_found() {
    let replication = simulated().replication(4, None).unwrap();
    let run = |threads: usize| {
        let engine = Engine::new(threads).unwrap();
        fit(&engine, &replication, 4, &request(1200)).unwrap()
    };
    for (a, b) in run(1).iter().zip(run(4)) {
        assert_eq!(a.family, b.family);
        assert_eq!(a.model.parameters, b.model.parameters);
    }
}

#[test]
fn the_kept_fit_comes_with_its_tolerance() {
    let replication = simulated().replication(5, None).unwrap();
    let engine = Engine::new(2).unwrap();
    let fits = fit(&engine, &replication, 5, &request(4000)).unwrap();
    let t = fits[0].tolerance.unwrap();
    assert_eq!(t.rows, 256);
    assert!(t.loss.is_finite() && t.gradient_norm > 0.0 && t.predicted_decrease > 0.0);
    assert!(fits[1..].iter().all(|f| f.tolerance.is_none()));
}

/// A refit uses the validation samples and leaves the selection as it was.
#[test]
fn a_refit_goes_on_with_all_samples() {
    let replication = simulated().replication(6, None).unwrap();
    let engine = Engine::new(2).unwrap();
    let run = |refit: bool| {
        let mut request = request(1200);
        request.protocol = Arc::new(Protocol {
            refit,
            ..Protocol::default()
        });
        fit(&engine, &replication, 6, &request).unwrap()
    };
    for (plain, refitted) in run(false).iter().zip(run(true)) {
        assert_eq!(plain.family, refitted.family);
        assert_eq!(plain.validation, refitted.validation);
        assert_ne!(plain.model.parameters, refitted.model.parameters);
        assert_ne!(
            plain.model.provenance.training_samples,
            refitted.model.provenance.training_samples
        );
        assert!(refitted.refitted && !plain.refitted);
    }
    assert_eq!(run(true)[0].tolerance.unwrap().rows, 256 + 128);
}

#[test]
fn equal_flops_give_cheaper_methods_more_updates() {
    let replication = simulated().replication(1, None).unwrap();
    let engine = Engine::new(1).unwrap();
    let request = request(9600);
    let updates = |equal| request.equal(&engine, &replication, equal).unwrap();
    assert_eq!(updates(Equal::Updates), [9600; 3]);
    let [single, looped, untied] = updates(Equal::Flops)[..] else {
        panic!("three methods");
    };
    assert_eq!(looped, 9600);
    assert!(single > looped && untied > looped, "{single} {untied}");
    // Time is measured, so that only its being positive is certain.
    assert!(updates(Equal::Time).iter().all(|u| *u >= 32));
    let prepared = Prepared::new(request.clone(), replication.clone(), 1).unwrap();
    assert!(prepared.seconds(&engine).unwrap() > 0.0);
    let within = request.updates_within(&engine, &replication, 0.5).unwrap();
    assert!(within >= 32);
}

#[test]
fn flops_are_proportional_to_updates() {
    let protocol = Protocol::default();
    let settings = some_settings(&protocol);
    let flops = |updates| cost::flops(&a_search(&protocol, &settings, &[(5, updates)])).unwrap();
    assert_eq!(flops(200), 2.0 * flops(100));
}

#[test]
fn a_protocol_fixes_the_rungs() {
    let rung = |fits, share, shorten| RungShare {
        fits,
        share,
        shorten,
    };
    let mut protocol = Protocol {
        rungs: Some(vec![rung(6, 0.375, 2), rung(2, 0.625, 1)]),
        ..Protocol::default()
    };
    protocol.check().unwrap();
    let plan = Plan::new(&protocol, 96_000).unwrap();
    let rungs: Vec<_> = plan
        .rungs
        .iter()
        .map(|r| (r.fits, r.updates, r.shorten))
        .collect();
    assert_eq!(rungs, [(6, 6000, 2), (2, 30_000, 1)]);
    for bad in [
        vec![],
        vec![rung(6, 0.5, 1)],
        vec![rung(0, 1.0, 1)],
        vec![rung(6, 1.0, 2)],
        vec![rung(2, 0.5, 1), rung(6, 0.5, 1)],
        vec![rung(2, 2.0, 1), rung(2, -1.0, 1)],
    ] {
        protocol.rungs = Some(bad);
        assert!(protocol.check().is_err(), "{:?}", protocol.rungs);
    }
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
        fit(&engine, &replication, 3, &request(640)).unwrap()
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
        assert_eq!(a.family, b.family);
        assert_eq!(a.model.parameters, b.model.parameters);
        assert_ne!(a.judged.error, b.judged.error);
    }
}

#[test]
fn a_fixed_shape_is_the_only_one_tried_and_must_fit() {
    let replication = simulated().replication(1, None).unwrap();
    let engine = Engine::new(2).unwrap();
    let mut request = request(160);
    let with_width = |r: usize| {
        let mut protocol = Protocol::default();
        protocol.shapes.fix(2, r, Tying::Loop { t: 5 });
        Arc::new(protocol)
    };
    request.protocol = with_width(3);
    let fits = fit(&engine, &replication, 1, &request).unwrap();
    let looped = fits
        .iter()
        .find(|f| f.family.method == Method::Loop)
        .unwrap();
    let network = looped.model.parameters.network();
    let expected = Network::ffn(5, 1, 2, 3, Tying::Loop { t: 5 }).unwrap();
    assert_eq!(network, &expected);
    request.protocol = with_width(40);
    let error = fit(&engine, &replication, 1, &request).unwrap_err();
    assert!(matches!(error, SearchError::Budget(_)), "{error}");
}

/// Rows 0 to 3 repeat as rows 40 to 43, which are the test rows: the first four are in no part.
#[test]
fn given_test_rows_are_kept_and_their_duplicates_left_out() {
    let value = |i: usize| (i % 40) as f64;
    let column = |f: &dyn Fn(usize) -> f64| Column::Numeric((0..44).map(f).collect());
    let columns = vec![
        ("x".to_string(), column(&value)),
        ("y".to_string(), column(&|i| (value(i) / 9.0).sin())),
    ];
    let options = TableOptions {
        target: Some("y".to_string()),
        test_rows: Some(vec![40, 41, 42, 43]),
        ..TableOptions::default()
    };
    let source = TableSource::new(Table::from_columns("t", columns), &options).unwrap();
    for seed in 0..3 {
        let source = Source::Table(Box::new(source.clone()));
        let replication = source.replication(seed, None).unwrap();
        assert_eq!(replication.test_rows, 4);
        let problem = &replication.problem;
        assert_eq!((problem.train.n(), problem.valid.n()), (27, 9));
    }
}
