use super::*;
use crate::Constants;
use loopfit_holder::Smoothness;
use loopfit_model::Architecture;
use proptest::prelude::*;

fn problem(d: usize, s: f64, transformer: bool) -> Problem {
    let architecture = if transformer {
        Architecture::transformer(d)
    } else {
        Architecture::Ffn
    };
    let smoothness = Smoothness::new(d, s).unwrap();
    Problem::new(smoothness, architecture, Constants::default())
}

proptest! {
    /// Both forms in plain arithmetic, straight from the displays.
    #[test]
    fn terms_are_the_displays(
        d in 1usize..4, s in 0.3f64..3.0, q in 1u64..40, r in 1u64..400, t in 1u32..2000,
        n in 2u32..1_000_000_000, transformer: bool,
    ) {
        let problem = problem(d, s, transformer);
        let shape = problem.shape(q, r).unwrap();
        let (n, t, a) = (f64::from(n), f64::from(t), problem.smoothness().a());
        let (rf, qf, b) = (r as f64, q as f64, shape.count as f64);
        let close = |got: LogNumber, want: f64| (got.value() - want).abs() <= 1e-9 * want.abs() + 1e-300;
        let g = (t + 1.0).ln() + (t + 1.0) * (2.0 * (qf + 1.0) * (rf + 1.0)).ln();
        let approximation = ((1.0 + (rf * t).ln()) / (rf * t)).powf(a);
        let log_ert = 1.0 + (rf * t).ln();
        let (need, rate) = if transformer { (log_ert * log_ert, t.sqrt()) } else { (log_ert, t) };
        let initialisation = if t >= need { 0.0 } else { (-rate).exp() };
        let estimation = (b * (1.0 + n.ln() + g) / n).min(1.0);
        let terms = general(&problem, shape, n, t, 1.0 / n);
        prop_assert!(close(terms.approximation, approximation));
        prop_assert!(close(terms.initialisation, initialisation));
        prop_assert!(close(terms.estimation, estimation));
        prop_assert!(close(terms.total, approximation + initialisation + estimation + 1.0 / n));
        let terms = budget_iteration(&problem, b, n, t);
        prop_assert!(close(terms.approximation, ((1.0 + (b * t).ln()) / (b * t)).powf(a)));
        prop_assert!(close(terms.estimation, b * (1.0 + n.ln() + t * (1.0 + b.ln())) / n));
    }

    /// No integer up to 10 000 does better than the minimiser or the limit, nor do larger powers of two.
    #[test]
    fn the_best_iterations_are_best(
        d in 1usize..4, s in 0.3f64..3.0, q in 2u64..20, r in 2u64..60, ln_n in 1f64..14.0, transformer: bool,
        general_form: bool,
    ) {
        let problem = problem(d, s, transformer);
        let shape = problem.shape(q, r).unwrap();
        let form = if general_form { BoundForm::General } else { BoundForm::BudgetIteration };
        let (n, b) = (ln_n.exp().round(), shape.count as f64);
        let best = best(&problem, form, shape, b, n);
        let larger = (14..60).map(|power| (1u64 << power) as f64);
        for other in (1..10_000).map(f64::from).chain(larger) {
            if applies(&problem, form, shape, other) {
                let terms = at(&problem, form, shape, b, n, other);
                prop_assert!(best.total.ln() <= terms.total.ln() + 1e-12, "T = {}, T = {}", best.t, other);
            }
        }
        prop_assert!(best.t.is_infinite() || applies(&problem, form, shape, best.t));
        prop_assert!(general_form || best.t.is_finite());
    }

    /// Below the floor from the named size on, above it just before.
    #[test]
    fn crossings_cross(d in 1usize..4, s in 0.3f64..2.0, q in 2u64..20, r in 2u64..60) {
        let problem = problem(d, s, false);
        let shape = problem.shape(q, r).unwrap();
        let b = shape.count as f64;
        let floor = problem.rates().untied_floor(b, problem.constants());
        let total = |ln: f64| with(&problem, BoundForm::General, shape, b, ln.exp(), Iterations::Schedule).total;
        if let Some(n) = crossing(&problem, BoundForm::General, shape, b) {
            let just_before = (1..100).any(|step| total(n.ln() - 1e-8 * f64::from(step)) > floor);
            prop_assert!(n.ln() == 0.0 || just_before);
            for step in 0..2_000 {
                let more = 1e-9 + 1e-2 * f64::from(step);
                prop_assert!(total(n.ln() + more) <= floor, "at {} and {more}", n.ln());
            }
        }
    }
}

/// By hand, at r = 7: T = 5 is above 1 + log 35 = 4.56 and T = 4 is below 1 + log 28 = 4.33. At n = 10^6 (15) would be smaller at
/// T = 4, at n = 10^12 it is smallest far above.
#[test]
fn the_condition_holds_back_the_best_iterations() {
    let problem = problem(2, 2.0, false);
    let shape = problem.shape(6, 7).unwrap();
    let best = |form, n| best(&problem, form, shape, 128.0, n).t;
    let restricted = |form, t| best_is_restricted(&problem, form, shape, t);
    assert_eq!(best(BoundForm::BudgetIteration, 1e6), 5.0);
    assert!(restricted(BoundForm::BudgetIteration, 5.0));
    assert!(!restricted(BoundForm::General, 5.0));
    let later = best(BoundForm::BudgetIteration, 1e18);
    assert!(later > 5.0 && !restricted(BoundForm::BudgetIteration, later));
    assert!(!restricted(BoundForm::BudgetIteration, f64::INFINITY));
}

/// By hand, at d = 2, s = 1 (a = 1) and the shape q = 6, r = 7 under B = 128: at n = 3162 T = 2 gives 1.334, T = 170 gives
/// 1.007, and with larger T the bound falls towards 1 + 1/n; at n = 10^6 it is smallest at a T of its own.
#[test]
fn small_samples_have_no_best_iterations() {
    let problem = problem(2, 1.0, false);
    let shape = problem.shape(6, 7).unwrap();
    let at = |n: f64, t: f64| {
        at(&problem, BoundForm::General, shape, 128.0, n, t)
            .total
            .value()
    };
    assert!((at(3162.0, 2.0) - 1.334).abs() < 1e-3 && (at(3162.0, 170.0) - 1.007).abs() < 1e-3);
    for n in [100.0, 3162.0] {
        let best = best(&problem, BoundForm::General, shape, 128.0, n);
        assert!(best.t.is_infinite() && (best.total.value() - 1.0 - 1.0 / n).abs() < 1e-12);
    }
    let best = best(&problem, BoundForm::General, shape, 128.0, 1e6);
    let brute = (1..5000)
        .map(f64::from)
        .min_by(|s, t| at(1e6, *s).total_cmp(&at(1e6, *t)));
    assert_eq!(Some(best.t), brute);
}

#[test]
fn edges_are_finite() {
    for transformer in [false, true] {
        let problem = problem(2, 1000.0, transformer);
        let shape = problem.shape(1, 1).unwrap();
        for n in [1.0, 1e18] {
            for t in [1.0, 1e18] {
                for form in [BoundForm::General, BoundForm::BudgetIteration] {
                    let terms = at(&problem, form, shape, 1e18, n, t);
                    assert!(!terms.total.ln().is_nan() && terms.total.ln() < 1e3);
                }
            }
        }
    }
}
