//! The error against the cap.

use loopfit_data::Table;
use loopfit_data::table::Column;
use loopfit_engine::{Control, Threads};
use loopfit_model::{Activation, Method};
use loopfit_numerics::stream::Stream;
use loopfit_search::SearchError;
use loopfit_search::curve::{Caps, Curve};
use loopfit_search::estimate::{Ask, LOOP_ITERATIONS, Prepared};
use loopfit_search::replication::{Source, TableOptions, TableSource};

/// 240 rows of two inputs and a response.
fn prepared(response: impl Fn(f64, f64, f64) -> f64) -> Prepared {
    drawn(11, response)
}

fn drawn(seed: u64, response: impl Fn(f64, f64, f64) -> f64) -> Prepared {
    let column = |name: &str| -> Vec<f64> {
        let s = Stream::new(seed).child(name);
        (0..240).map(|i| 2.0 * s.uniform(i) - 1.0).collect()
    };
    let (u, v, noise) = (column("u"), column("v"), column("noise"));
    let y = (0..240).map(|i| response(u[i], v[i], noise[i])).collect();
    let columns = [("u", u.clone()), ("v", v.clone()), ("y", y)];
    let named = columns.map(|(name, values)| (name.to_string(), Column::Numeric(values)));
    let options = TableOptions {
        target: Some("y".to_string()),
        ..TableOptions::default()
    };
    let table = Table::from_columns("t", named.into());
    let source = Source::Table(Box::new(TableSource::new(table, &options).unwrap()));
    Prepared::new(&source, None, &ask()).unwrap()
}

fn ask() -> Ask {
    Ask {
        budget: 0,
        methods: vec![Method::Single, Method::Loop],
        activations: vec![Activation::Tanh],
        iterations: LOOP_ITERATIONS.to_vec(),
        paper: false,
        work: 1e8,
        test_fraction: 0.0,
        test_seed: None,
        refit: false,
        seed: 0,
    }
}

fn curve(prepared: &Prepared, caps: &Caps, control: &Control) -> Result<Curve, SearchError> {
    let threads = Threads::new(2).unwrap();
    Curve::new(prepared, &threads, &ask(), caps, control, &|_| ())
}

#[test]
fn a_larger_cap_is_never_worse() {
    let prepared = prepared(|u, v, e| (4.0 * u).sin() * (1.0 + v) + 0.1 * e);
    let caps = Caps::Given(vec![32, 4, 16, 8, 16]);
    let curve = curve(&prepared, &caps, &Control::default()).unwrap();
    assert!(curve.complete);
    let caps: Vec<usize> = curve.points.iter().map(|p| p.cap).collect();
    assert_eq!(caps, [4, 8, 16, 32]);
    let mut before = f64::INFINITY;
    for point in &curve.points {
        let best = point.best();
        assert!(best.network.count() <= point.cap);
        assert!(best.validation <= before);
        before = best.validation;
        let linear = point.linear().unwrap();
        assert!(linear.method.is_none() && best.validation <= linear.validation);
    }
    // Three numbers are a plane, which a sine is not.
    let enough = curve.enough().unwrap();
    assert!(enough.method.is_some() && enough.network.count() > 8);
    assert!(curve.constant > 4.0 * before, "{} {before}", curve.constant);
    let said = curve.conclusions();
    let count = enough.network.count();
    assert!(said[0].contains(&format!("{count} numbers would do")));
    assert_eq!(
        curve.still_falls(),
        said.last().unwrap().contains("still falls at 32")
    );
}

#[test]
fn a_plane_needs_three_numbers() {
    let plane = prepared(|u, v, e| u - 2.0 * v + 0.5 * e);
    let caps = Caps::Given(vec![3, 12]);
    let found = curve(&plane, &caps, &Control::default()).unwrap();
    let enough = found.enough().unwrap();
    assert_eq!((enough.method, enough.network.count()), (None, 3));
    assert!(found.beats_constant() && !found.still_falls());
}

#[test]
fn what_a_cap_cannot_hold_asks_for_larger_ones() {
    let wave = prepared(|u, _, e| (9.0 * u).cos() + 0.1 * e);
    let found = curve(&wave, &Caps::Given(vec![3]), &Control::default()).unwrap();
    assert!(!found.beats_constant() && found.more_without_cap());
    assert!(found.conclusions()[1].contains("try larger caps"));
}

/// One standard error is not certainty: of eight tables of noise alone, one or two may seem to need some numbers.
#[test]
fn noise_needs_none() {
    let caps = Caps::Given(vec![3, 12]);
    let needs_none = |seed: &u64| {
        let found = curve(&drawn(*seed, |_, _, e| e), &caps, &Control::default()).unwrap();
        let none = found.enough().is_none();
        assert_eq!(none, found.conclusions()[0].contains("constant"));
        assert!(!(none && (found.still_falls() || found.more_without_cap())));
        none
    };
    let right = (0..8).filter(needs_none).count();
    assert!(right >= 6, "{right}");
}

/// Rows far off say little of the others: paired over rows, a plane is still better than a constant.
#[test]
fn an_outlier_hides_no_plane() {
    let far = |u: f64, v: f64, e: f64| 2.0 * u - v + 0.1 * e + if e > 0.975 { 25.0 } else { 0.0 };
    let plane = prepared(far);
    let caps = Caps::Given(vec![3]);
    let found = curve(&plane, &caps, &Control::default()).unwrap();
    let best = found.points[0].best();
    let gain = found.constant - best.validation;
    assert!(gain < best.validation_se, "{gain} {}", best.validation_se);
    assert!(found.beats_constant());
}

/// A ridge around the origin is not a plane, and a cap of three numbers holds no more.
#[test]
fn caps_that_are_too_small_are_told_from_noise() {
    let ridge = prepared(|u, v, e| (8.0 * (u * u + v * v)).sin() + 0.1 * e);
    let found = curve(&ridge, &Caps::Given(vec![2, 3]), &Control::default()).unwrap();
    assert!(!found.beats_constant() && found.more_without_cap());
    let said = found.conclusions();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].contains("try larger caps"), "{said:?}");
}

#[test]
fn caps_that_hold_nothing_and_interruptions() {
    let prepared = prepared(|u, v, e| u * v + e);
    let never = Control::default();
    let refused = curve(&prepared, &Caps::Given(vec![1, 8]), &never);
    assert!(matches!(
        refused,
        Err(SearchError::NothingFits { budget: 1, .. })
    ));
    let stopped = Control::default();
    stopped.interrupt();
    let nothing = curve(&prepared, &Caps::Given(vec![8]), &stopped);
    assert!(matches!(nothing, Err(SearchError::Interrupted)));
}

/// What was finished before an interruption is kept.
#[test]
fn an_interrupted_curve_keeps_the_caps_before() {
    let prepared = prepared(|u, v, e| u * v + e);
    let threads = Threads::new(2).unwrap();
    let control = Control::default();
    let done = std::sync::Mutex::new(0.0);
    let advance = |part: f64| {
        let mut done = done.lock().unwrap();
        *done += part;
        // Of three caps the first is finished.
        if *done > 0.4 {
            control.interrupt();
        }
    };
    let caps = Caps::Given(vec![4, 8, 12]);
    let curve = Curve::new(&prepared, &threads, &ask(), &caps, &control, &advance).unwrap();
    let caps: Vec<usize> = curve.points.iter().map(|p| p.cap).collect();
    assert_eq!((caps, curve.complete), (vec![4], false));
}
