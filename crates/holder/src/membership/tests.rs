use super::*;
use crate::{FiniteDifferences, Smoothness};
use proptest::prelude::*;

const SAMPLING: Sampling = Sampling {
    seed: 1,
    points: 2000,
    pairs: 6300,
};

fn class(d: usize, s: f64, h: f64) -> HolderClass {
    HolderClass::new(Smoothness::new(d, s).unwrap(), h).unwrap()
}

fn check(d: usize, s: f64, h: f64, f: impl Fn(&[f64]) -> f64) -> Membership {
    class(d, s, h).check(&FiniteDifferences::new(d, f, 1e-15), &SAMPLING)
}

/// `|x - a|^alpha` has the Hölder constant one exactly, attained at every distance from `a`.
#[test]
fn powers_are_in_their_class_and_in_no_smaller_one() {
    for alpha in [0.3, 0.5, 1.0] {
        let f = |x: &[f64]| (x[0] - 0.3).abs().powf(alpha);
        assert!(check(1, alpha, 1.0, f).holds(), "{alpha}");
        let refuted = check(1, alpha, 0.95, f);
        assert!(!refuted.holds(), "{alpha}: {refuted:?}");
        assert!(refuted.quotient.value <= 1.0 + 1e-6, "{alpha}");
    }
}

/// `|x - a|` has a derivative that jumps by two: in no class above `s = 1`, at any bound
/// (as near as finite differences come).
#[test]
fn kinks_are_found() {
    for s in [1.1, 1.5, 2.0] {
        let membership = check(2, s, 8.0, |x| (x[1] - 0.4567).abs());
        assert!(!membership.holds(), "{s}");
        let Quotient { nu, x, y, .. } = membership.quotient;
        assert_eq!(nu, [0, 1]);
        assert!((x[1] - 0.4567) * (y[1] - 0.4567) < 0.0, "{x:?} {y:?}");
    }
}

/// `sin(w x_1) sin(w x_2)`: derivatives of order `v` reach `w^v` and no more.
#[test]
fn orders_are_reported_with_their_largest_derivative() {
    let w = 3.0f64;
    let f = move |x: &[f64]| (w * x[0]).sin() * (w * x[1]).sin();
    let membership = check(2, 2.5, 40.0, f);
    assert!(membership.holds());
    for largest in &membership.orders {
        let most = w.powi(largest.order as i32);
        assert!(largest.all_indices);
        assert!(largest.value <= most * (1.0 + 1e-4), "{largest:?}");
        assert!(largest.value >= 0.9 * most, "{largest:?}");
    }
    assert!(!check(2, 2.5, 8.0, f).holds());
}

/// A function of two inputs with its derivatives, which claims no error.
struct Exact(fn(&[usize], &[f64]) -> f64);

impl Differentiable for Exact {
    fn d(&self) -> usize {
        2
    }

    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64 {
        (self.0)(nu, x)
    }
}

/// The smallest bounds of smooth functions are attained; rounding is not taken for steepness.
#[test]
fn rounding_refutes_nothing() {
    let bilinear = |nu: &[usize], x: &[f64]| match nu {
        [0, 0] => x[0] * (1.0 - x[1]) * 20.0,
        [1, 0] => (1.0 - x[1]) * 20.0,
        _ => -x[0] * 20.0,
    };
    let cases = [
        (Exact(|_, x| 3.0 * x[0]), 1.0, 3.0),
        (Exact(bilinear), 2.0, 20.0),
        (Exact(|_, x| 100.0 * x[0] + 7.0 * x[1]), 1.0, 107.0),
        (Exact(|_, x| (x[0] + 10.0) - 10.0), 1.0, 1.0),
    ];
    for (f, s, h) in cases {
        for seed in 0..5 {
            let found = class(2, s, h).check(&f, &Sampling { seed, ..SAMPLING });
            assert!(found.holds(), "{found:?}");
            assert!((found.largest() / h - 1.0).abs() < 1e-6, "{found:?}");
        }
        assert!(!class(2, s, 0.999 * h).check(&f, &SAMPLING).holds());
    }
}

/// What is predicted is at least what is done, and no more than what may be done.
#[test]
fn derivatives_are_counted() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNTS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
    let f = Exact(|nu, x| {
        COUNTS[nu.iter().sum::<usize>()].fetch_add(1, Ordering::Relaxed);
        x[0]
    });
    let class = class(2, 2.5, 1.0);
    class.check(&f, &SAMPLING);
    let most = class.derivatives(&SAMPLING);
    let done: Vec<f64> = COUNTS
        .iter()
        .map(|n| n.load(Ordering::Relaxed) as f64)
        .collect();
    assert_eq!((most[0], most[1]), (done[0], done[1]));
    assert!(
        done[2] <= most[2] && most[2] <= done[2] + 32_000.0,
        "{done:?} {most:?}"
    );
}

#[test]
fn a_value_that_is_no_number_refutes() {
    let f = |x: &[f64]| if x[0] < 0.01 { f64::NAN } else { 0.0 };
    assert!(!check(1, 0.5, 1.0, f).holds());
}

#[test]
fn there_are_as_many_multi_indices_as_multisets() {
    // (d, order, C(d + order - 1, order)).
    for (d, order, count) in [(1, 5, 1), (2, 5, 6), (3, 2, 6), (4, 3, 20), (6, 0, 1)] {
        let (mut all, complete) = multi_indices(d, order, Stream::new(0));
        assert!(complete);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(
            all.iter()
                .all(|nu| nu.len() == d && nu.iter().sum::<usize>() == order)
        );
    }
    for d in [20, 1_000_000] {
        let (drawn, complete) = multi_indices(d, 3, Stream::new(0));
        assert!(!complete);
        assert!(
            drawn
                .iter()
                .all(|nu| nu.len() == d && nu.iter().sum::<usize>() == 3)
        );
    }
}

proptest! {
    #[test]
    fn pairs_lie_in_the_open_cube_at_their_distance(seed: u64, d in 1usize..6, i in 0u64..200) {
        let (x, y) = pair(d, i, Stream::new(seed));
        prop_assert!(x.iter().chain(&y).all(|v| *v > 0.0 && *v < 1.0));
        let apart = x.iter().zip(&y).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let scale = i / 3 % 21;
        prop_assert!(scale == 0 || (apart * 2f64.powi(scale as i32) - 1.0).abs() < 1e-9);
    }
}

/// What happens on the boundary does not matter: no condition is imposed there.
#[test]
fn boundary_values_are_free() {
    let f = |x: &[f64]| if x[0] > 0.0 && x[0] < 1.0 { 0.0 } else { 1.0 };
    assert!(check(1, 2.5, 1.0, f).holds());
}

/// Many derivatives are refused before they are begun: of high orders always, of low ones where points are many.
#[test]
fn long_checks_are_refused() {
    let f = |d| FiniteDifferences::of_network(d, |x: &[f64]| x[0], &[0.5]);
    let refused = |d: usize, s: f64, points: usize| {
        let sampling = Sampling {
            seed: 0,
            points,
            pairs: points,
        };
        class(d, s, 1.0).check_work(&f(d), &sampling).is_err()
    };
    assert!(!refused(2, 1.5, 2000) && refused(2, 1.5, 100_000_000));
    assert!(refused(1, 25.0, 2000) && refused(1, 1e9, 1));
    // Values of 32 bits are off by some of their last places, at a scale of one at least.
    let error = |value: f64| FiniteDifferences::of_network(1, |x: &[f64]| x[0], &[value]).error(0);
    assert_eq!(error(-8.0), 8.0 * error(0.25));
}
