use super::*;
use crate::fixtures::{comparison, method};
use ComparisonError as E;

/// By hand: Loop 2, 4, 3 and Single 5, 4, 9 have means 3 and 6, standard
/// errors sqrt(1/3) and sqrt(7/3); the differences -3, 0, -6 have mean -3 and
/// standard error sqrt(9/3).
#[test]
fn statistics_by_hand() {
    let c = comparison(&[("loop", &[2.0, 4.0, 3.0]), ("single", &[5.0, 4.0, 9.0])]);
    let [looped, single] = c.methods() else {
        panic!("two methods")
    };
    assert_eq!((looped.mean(), looped.median()), (3.0, 3.0));
    assert_eq!((single.mean(), single.median()), (6.0, 5.0));
    assert!((looped.se().unwrap() - (1.0f64 / 3.0).sqrt()).abs() < 1e-15);
    assert!((single.se().unwrap() - (7.0f64 / 3.0).sqrt()).abs() < 1e-15);
    let paired = c.paired();
    assert_eq!(paired.len(), 1);
    assert_eq!(paired[0].differences, [-3.0, 0.0, -6.0]);
    assert_eq!(paired[0].mean(), -3.0);
    assert!((paired[0].se().unwrap() - 3.0f64.sqrt()).abs() < 1e-15);
    assert_eq!(paired[0].wins(), 2);
    // A tie is nobody's win.
    assert_eq!(c.wins(), [2, 0]);
    assert_eq!(c.best(), Some(0));
}

#[test]
fn one_seed_has_no_standard_error() {
    let c = comparison(&[("loop", &[2.0]), ("single", &[5.0])]);
    assert_eq!(c.methods()[0].se(), None);
    assert_eq!(c.paired()[0].se(), None);
    assert_eq!(c.paired()[0].mean(), -3.0);
}

#[test]
fn a_failed_fit_never_wins() {
    let c = comparison(&[
        ("loop", &[-f64::NAN, -f64::NAN, 3.0]),
        ("single", &[5.0, 4.0, 9.0]),
    ]);
    assert_eq!(c.wins(), [1, 2]);
    assert_eq!(c.best(), Some(1));
    assert!(c.methods()[0].mean().is_nan());
    assert!(c.methods()[0].median().is_nan());
    assert_eq!(c.paired()[0].wins(), 1);
}

#[test]
fn the_typical_shape_is_the_most_frequent() {
    let mut m = method("loop", &[1.0, 2.0, 3.0, 4.0]);
    for (result, shape) in m.results.iter_mut().zip(["a", "b", "b", "a"]) {
        result.shape = shape.into();
    }
    assert_eq!(
        m.typical().map(|r| (r.shape.as_str(), r.value)),
        Some(("a", 1.0))
    );
    m.results[3].shape = "b".into();
    assert_eq!(m.typical().map(|r| r.shape.as_str()), Some("b"));
    assert_eq!(m.seeds_with("b"), 3);
}

#[test]
fn without_a_loop_nothing_is_paired() {
    assert!(
        comparison(&[("single", &[1.0]), ("untied", &[2.0])])
            .paired()
            .is_empty()
    );
}

#[test]
fn loops_are_paired_within_their_architecture_and_with_each_other() {
    let c = comparison(&[
        ("single", &[1.0]),
        ("loop", &[2.0]),
        ("untied", &[4.0]),
        ("single-transformer", &[8.0]),
        ("loop-transformer", &[16.0]),
        ("untied-transformer", &[32.0]),
    ]);
    let paired: Vec<(&str, &str, f64)> = c
        .paired()
        .iter()
        .map(|p| (p.first.key.as_str(), p.second.key.as_str(), p.mean()))
        .collect();
    assert_eq!(
        paired,
        [
            ("loop", "single", 1.0),
            ("loop", "untied", -2.0),
            ("loop", "loop-transformer", -14.0),
            ("loop-transformer", "single-transformer", 8.0),
            ("loop-transformer", "untied-transformer", -16.0),
        ]
    );
}

#[test]
fn what_is_not_a_comparison() {
    let new = |seeds: &[u64], methods: &[MethodResult]| {
        Comparison::new("t", "p", 128, "m", seeds.to_vec(), methods.to_vec()).unwrap_err()
    };
    let (a, b) = (method("loop", &[1.0, 2.0]), method("single", &[1.0]));
    assert_eq!(new(&[], std::slice::from_ref(&a)), E::NoSeeds);
    assert_eq!(new(&[1], &[]), E::NoMethods);
    assert_eq!(
        new(&[7, 7], std::slice::from_ref(&a)),
        E::RepeatedSeed { seed: 7 }
    );
    assert_eq!(
        new(&[1, 2], &[a.clone(), a.clone()]),
        E::RepeatedKey { key: "loop".into() }
    );
    assert_eq!(
        new(&[1, 2], &[a.clone(), b]),
        E::UnequalLengths {
            method: "Single".into(),
            found: 1,
            seeds: 2
        }
    );
    let mut large = a;
    large.results[1].count = 129;
    assert_eq!(
        new(&[1, 2], &[large]),
        E::OverBudget {
            method: "Loop".into(),
            seed: 2,
            count: 129,
            budget: 128
        }
    );
}
