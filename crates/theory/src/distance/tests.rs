use super::pair::Pair;
use super::*;
use crate::Cubature;
use loopfit_likelihood::{Bernoulli, ScalarLikelihood};
use loopfit_numerics::quadrature::integrate;
use loopfit_numerics::stream::Stream;
use proptest::prelude::*;

const CLASSES: usize = 3;

fn all() -> [LikelihoodModel; 5] {
    [
        LikelihoodModel::gaussian(0.5).unwrap(),
        LikelihoodModel::laplace(0.4).unwrap(),
        LikelihoodModel::Bernoulli,
        LikelihoodModel::multiclass(CLASSES).unwrap(),
        LikelihoodModel::Energy,
    ]
}

fn outputs(model: LikelihoodModel) -> usize {
    match model {
        LikelihoodModel::Multiclass(l) => l.classes(),
        _ => 1,
    }
}

/// The distances of functions of one point; output `c` of a function is `f(x, c)`.
fn between(
    model: LikelihoodModel,
    integration: Integration,
    f: impl Fn(&[f64], usize) -> f64,
    g: impl Fn(&[f64], usize) -> f64,
) -> Result<Distances, Error> {
    between_at(Gamma::HALF, model, integration, f, g)
}

/// The same with `rho` of an order.
fn between_at(
    gamma: Gamma,
    model: LikelihoodModel,
    integration: Integration,
    f: impl Fn(&[f64], usize) -> f64,
    g: impl Fn(&[f64], usize) -> f64,
) -> Result<Distances, Error> {
    let rows = |f: &dyn Fn(&[f64], usize) -> f64, points: &[f64]| {
        let values = |x: &[f64]| (0..outputs(model)).map(|c| f(x, c)).collect::<Vec<_>>();
        Ok(points.chunks(integration.d()).flat_map(values).collect())
    };
    Distances::between(model, gamma, integration, |p| rows(&f, p), |p| rows(&g, p))
}

fn quadrature(d: usize, points: usize) -> Integration {
    Integration::new(d, Cubature::Quadrature, points).unwrap()
}

fn monte_carlo(d: usize, points: usize, seed: u64) -> Integration {
    Integration::new(d, Cubature::MonteCarlo { seed }, points).unwrap()
}

fn close(got: f64, expected: f64, what: &str) {
    assert!(
        (got - expected).abs() < 1e-10 * (1.0 + expected.abs()),
        "{what}: {got} {expected}"
    );
}

/// Waves, a polynomial or steps with random coefficients, clipped to `[-h, h]`.
fn random_function(seed: u64, h: f64, size: f64) -> impl Fn(&[f64], usize) -> f64 {
    let kind = Stream::new(seed).child("kind").below(0, 3);
    move |x, c| {
        let stream = Stream::new(seed).nth(c as u64);
        let term = |k: u64, x: f64| match kind {
            0 => (std::f64::consts::TAU * stream.uniform(20 + k) * 3.0 * x).sin(),
            1 => x.powi(k as i32 % 4) - 0.3,
            _ => f64::from(u8::from(x > stream.uniform(20 + k))) - 0.5,
        };
        let terms = x
            .iter()
            .enumerate()
            .flat_map(|(axis, &x)| (0..4).map(move |j| (axis as u64 * 4 + j, x)));
        let value: f64 = terms.map(|(k, x)| stream.normal(k) * term(k, x)).sum();
        (size * value).clamp(-h, h)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Metric equivalence, bridge and covers on random pairs, far and near, for every model.
    #[test]
    fn calibration_holds(
        seed: u64, d in 1usize..4, h in 0.01f64..4.0, size in 0.1f64..8.0, near in proptest::bool::ANY,
        random in proptest::bool::ANY,
    ) {
        let integration = if random { monte_carlo(d, 128, seed) } else { quadrature(d, 512) };
        let f = random_function(seed, h, size);
        let other = random_function(!seed, h, size);
        let g = |x: &[f64], c: usize| {
            if near { (f(x, c) + 1e-4 * other(x, c)).clamp(-h, h) } else { other(x, c) }
        };
        for model in all() {
            let distances = between(model, integration, &f, g).unwrap();
            let calibration = distances.calibration(Some(h)).unwrap();
            for check in distances.checks(&calibration) {
                prop_assert!(check.holds, "{model:?} {}: {}", check.name, check.sentence);
            }
            let (rule, coarser) = integration.rules();
            prop_assert_eq!(coarser.is_some(), !random);
            let gaps = rule.points.chunks(d).flat_map(|x| (0..outputs(model)).map(|c| (f(x, c) - g(x, c)).abs()).collect::<Vec<_>>());
            let sup = gaps.fold(0.0, f64::max);
            prop_assert!(calibration.cover_radius(distances.h2.value.sqrt()) <= sup * (1.0 + 1e-9) + 1e-12);
            prop_assert!(distances.l2_centred.value <= distances.l2.value * (1.0 + 1e-12));
        }
    }
}

/// Both functions constant at the ends of `[-H, H]`: Gaussian and Laplace have equality, so that a constant which is wrong by
/// 1e-6 fails a check here.
#[test]
fn checks_can_fail() {
    let h = 0.7;
    for model in &all()[..2] {
        let distances = between(*model, quadrature(1, 8), |_, _| h, |_, _| -h).unwrap();
        let failing = |bound: f64| -> Vec<&str> {
            let calibration = Calibration::new(*model, bound).unwrap();
            let checks = distances.checks(&calibration).into_iter();
            checks.filter(|c| !c.holds).map(|c| c.name).collect()
        };
        assert_eq!(failing(h), Vec::<&str>::new());
        assert_eq!(failing(h * (1.0 - 1e-6)), ["bound", "lower", "bridge"]);
        let loose = Calibration::new(*model, 1.1 * h).unwrap();
        assert!(distances.checks(&loose).iter().all(|c| c.holds));
    }
}

/// Every integral by definition: over `y` and over `x`, from log densities.
#[test]
fn closed_forms_are_the_double_integrals() {
    let f = |x: f64, c: usize| (3.0 * x + c as f64).sin() - 0.2 * c as f64;
    // Below f, so that the Laplace distance, which depends on |f - g|, is smooth in x.
    let g = |x: f64, c: usize| 0.5 * x * x - 0.3 * (1.0 + c as f64) * x - 0.8;
    let over_x = |h: &dyn Fn(f64) -> f64| integrate(0.0, 1.0, 4, h);
    for model in &all()[..4] {
        let got = between(
            *model,
            quadrature(1, 4096),
            |x, c| f(x[0], c),
            |x, c| g(x[0], c),
        )
        .unwrap();
        let log_density = |values: &dyn Fn(usize) -> f64, y: f64| match model {
            LikelihoodModel::Gaussian(l) => -l.nll(y, values(0)),
            LikelihoodModel::Laplace(l) => -l.nll(y, values(0)),
            LikelihoodModel::Bernoulli => -Bernoulli.nll(y, values(0)),
            LikelihoodModel::Multiclass(l) => {
                -l.nll(y as usize, &(0..CLASSES).map(values).collect::<Vec<_>>())
            }
            LikelihoodModel::Energy => f64::NAN,
        };
        let integral = |term: &dyn Fn(f64, f64) -> f64| {
            over_x(&|x| {
                let at = |y| term(log_density(&|c| f(x, c), y), log_density(&|c| g(x, c), y));
                match model {
                    LikelihoodModel::Bernoulli => at(0.0) + at(1.0),
                    LikelihoodModel::Multiclass(_) => (0..CLASSES).map(|y| at(y as f64)).sum(),
                    _ => {
                        let (low, high) = (f(x, 0).min(g(x, 0)), f(x, 0).max(g(x, 0)));
                        integrate(low - 18.0, low, 30, at)
                            + integrate(low, high, 4, at)
                            + integrate(high, high + 18.0, 30, at)
                    }
                }
            })
        };
        let hellinger = |p: f64, q: f64| ((0.5 * p).exp() - (0.5 * q).exp()).powi(2);
        close(got.h2.value, integral(&hellinger), "h2");
        close(got.kl.value, integral(&|p, q| p.exp() * (p - q)), "KL");
        let power = integral(&|p, q| (1.5 * p - 0.5 * q).exp());
        close(got.rho.value.value(), 2.0 * (power - 1.0), "rho");
        let quarter = Gamma::new(0.25).unwrap();
        let rule = quadrature(1, 4096);
        let other = between_at(quarter, *model, rule, |x, c| f(x[0], c), |x, c| g(x[0], c));
        let power = integral(&|p, q| (1.25 * p - 0.25 * q).exp());
        close(
            other.unwrap().rho.value.value(),
            4.0 * (power - 1.0),
            "rho of order 1/4",
        );
        let square = over_x(&|x| {
            (0..outputs(*model))
                .map(|c| (f(x, c) - g(x, c)).powi(2))
                .sum()
        });
        close(got.l2.value, square.sqrt(), "L2");
        assert!(got.h2.error < 1e-12 && got.l2_centred.error < 1e-12);
    }
}

/// `f = a.x`, `g = b.x`: with `L(a) = sum_k log{(e^{a_k} - 1)/a_k}` the log normaliser, `log` of the
/// affinity is `L((a+b)/2) - {L(a)+L(b)}/2`, `KL = L(b) - L(a) - (b-a).L'(a)`, and so on.
#[test]
fn linear_energies_have_closed_forms() {
    let (a, b) = ([1.5, -0.4, 0.8], [-0.7, 0.9, 0.3]);
    let log_z = |t: &dyn Fn(usize) -> f64, d: usize| -> f64 {
        (0..d).map(|k| (t(k).exp_m1() / t(k)).ln()).sum()
    };
    for d in 1..=3 {
        let dot = |a: [f64; 3]| move |x: &[f64], _| x.iter().zip(a).map(|(x, a)| x * a).sum();
        let got = between(
            LikelihoodModel::Energy,
            quadrature(d, 1 << 15),
            dot(a),
            dot(b),
        )
        .unwrap();
        let (la, lb) = (log_z(&|k| a[k], d), log_z(&|k| b[k], d));
        let affinity = (log_z(&|k| 0.5 * (a[k] + b[k]), d) - 0.5 * (la + lb)).exp();
        close(got.h2.value, 2.0 - 2.0 * affinity, "h2");
        // L'(a) = e^a/(e^a - 1) - 1/a.
        let slope = |t: f64| t.exp() / t.exp_m1() - 1.0 / t;
        let inner: f64 = (0..d).map(|k| (b[k] - a[k]) * slope(a[k])).sum();
        close(got.kl.value, lb - la - inner, "KL");
        let power = log_z(&|k| 1.5 * a[k] - 0.5 * b[k], d) - 1.5 * la + 0.5 * lb;
        close(got.rho.value.value(), 2.0 * power.exp_m1(), "rho");
        for order in [0.2, 1.0] {
            let gamma = Gamma::new(order).unwrap();
            let rule = quadrature(d, 1 << 15);
            let got = between_at(gamma, LikelihoodModel::Energy, rule, dot(a), dot(b)).unwrap();
            let power = log_z(&|k| (1.0 + order) * a[k] - order * b[k], d);
            let power = power - (1.0 + order) * la + order * lb;
            close(
                got.rho.value.value(),
                power.exp_m1() / order,
                "rho of another order",
            );
            assert!(
                got.checks(&got.calibration(None).unwrap())
                    .iter()
                    .all(|c| c.name != "bridge")
            );
        }
        // Var of sum_k (a_k - b_k) x_k, and its mean.
        let variance: f64 = (0..d).map(|k| (a[k] - b[k]).powi(2) / 12.0).sum();
        let mean: f64 = (0..d).map(|k| (a[k] - b[k]) / 2.0).sum();
        close(got.l2_centred.value, variance.sqrt(), "centred");
        close(got.l2.value, (variance + mean * mean).sqrt(), "L2");
    }
}

/// Adding a constant to one function, or a function to every logit, changes nothing that the law sees.
#[test]
fn what_the_law_does_not_see_does_not_count() {
    let [.., multiclass, energy] = all();
    let (f, g) = (random_function(1, 9.0, 1.0), random_function(2, 9.0, 1.0));
    for (model, added) in [(energy, 0.0), (multiclass, 2.0)] {
        let moved = |x: &[f64], c: usize| g(x, c) + 1.3 + added * x[0];
        let plain = between(model, quadrature(2, 1024), &f, &g).unwrap();
        let moved = between(model, quadrature(2, 1024), &f, moved).unwrap();
        let parts: [fn(&Distances) -> Measured; 3] = [|d| d.h2, |d| d.kl, |d| d.l2_centred];
        for of in parts {
            close(of(&moved).value, of(&plain).value, "shifted");
        }
        assert!((moved.l2.value - plain.l2.value).abs() > 0.1);
    }
}

/// The intervals of 100 seeds cover the value by quadrature about 95 times: outside 88 to 100 lies a probability of about 0.002.
#[test]
fn intervals_cover_the_quadrature() {
    let f = |x: &[f64], c: usize| (4.0 * x[0] + c as f64).sin() * x[1];
    let g = |x: &[f64], c: usize| (x[0] - x[1]).powi(2) + 0.2 * c as f64;
    for model in all() {
        let exact = between(model, quadrature(2, 1 << 14), f, g).unwrap();
        let draws = (0..100).map(|seed| between(model, monte_carlo(2, 1024, seed), f, g).unwrap());
        let draws: Vec<Distances> = draws.collect();
        let rho = |d: &Distances| Measured {
            value: d.rho.value.value(),
            error: d.rho.error.value(),
        };
        let parts: [fn(&Distances) -> Measured; 5] =
            [|d| d.h2, |d| d.kl, |d| d.l2, |d| d.l2_centred, rho];
        for of in parts {
            let covers = |d: &&Distances| (of(d).value - of(&exact).value).abs() <= of(d).error;
            let covered = draws.iter().filter(covers).count();
            assert!((88..=100).contains(&covered), "{model:?}: {covered}");
        }
    }
}

/// The sums over a part of the points give the distances of the laws on that part.
#[test]
fn parts_are_laws_of_their_own() {
    let values = |seed: u64| -> Vec<f64> {
        (0..640)
            .map(|i| 2.0 * Stream::new(seed).normal(i))
            .collect()
    };
    let (f, g) = (values(1), values(2));
    for gamma in [0.5, 0.3, 1.0].map(|gamma| Gamma::new(gamma).unwrap()) {
        let pair = |n: usize| {
            let (rule, _) = monte_carlo(1, n, 0).rules();
            let (f, g) = (f[..n].to_vec(), g[..n].to_vec());
            Pair::new(LikelihoodModel::Energy, gamma, rule, 1, f, g).unwrap()
        };
        let (part, whole) = (
            pair(640).sums(0..320).values(gamma),
            pair(320).sums(0..320).values(gamma),
        );
        close(part.h2, whole.h2, "h2");
        close(part.kl, whole.kl, "KL");
        close(part.rho.value(), whole.rho.value(), "rho");
        close(part.l2, whole.l2, "L2");
        close(part.l2_centred, whole.l2_centred, "centred");
    }
}

#[test]
fn nothing_overflows() {
    let sharp = LikelihoodModel::gaussian(1e-3).unwrap();
    for (model, h) in [
        (sharp, 1.0),
        (LikelihoodModel::Bernoulli, 1e4),
        (LikelihoodModel::Energy, 1e4),
    ] {
        let f = |x: &[f64], _: usize| h * (1.0 - 2.0 * x[0]);
        let got = between(model, quadrature(1, 256), f, |x, c| -f(x, c)).unwrap();
        assert!(got.rho.value.value().is_infinite() && got.rho.value.ln().is_finite());
        assert!(got.rho.error.ln().is_finite() && got.kl.value.is_finite());
        let checks = got.checks(&got.calibration(None).unwrap());
        assert!(checks.iter().all(|c| c.holds), "{checks:?}");
        assert!(
            checks
                .iter()
                .all(|c| !c.sentence.contains("NaN") && !c.sentence.contains("inf"))
        );
    }
    // 2 e^{3 D^2 / (8 sigma^2)} with D = 2 everywhere.
    let got = between(sharp, monte_carlo(5, 64, 0), |_, _| 1.0, |_, _| -1.0).unwrap();
    assert!((got.rho.value.ln() / (1.5e6 + 2f64.ln()) - 1.0).abs() < 1e-14);
    assert_eq!(
        got.h2,
        Measured {
            value: 2.0,
            error: 0.0
        }
    );
    let same = between(sharp, monte_carlo(5, 64, 0), |_, _| 0.0, |_, _| 0.0).unwrap();
    assert_eq!(same.rho.value, LogNumber::ZERO);
    assert_eq!(same.rho.error, LogNumber::ZERO);
}

#[test]
fn wrong_functions_are_refused() {
    let of = |f: fn(&[f64], usize) -> f64| {
        between(LikelihoodModel::Energy, quadrature(1, 8), f, |_, _| 0.5)
    };
    let error = of(|x, _| if x[0] > 0.9 { f64::NAN } else { 0.0 }).unwrap_err();
    assert!(
        matches!(error, Error::NotFinite { which: "first", .. }),
        "{error}"
    );
    assert_eq!(of(|_, _| 1e16).unwrap_err(), Error::TooLarge(1e16));
    let distances = of(|_, _| 0.25).unwrap();
    assert_eq!(distances.calibration(None).unwrap().bound(), 0.5);
    let low = distances.calibration(Some(0.4));
    assert_eq!(
        low,
        Err(Error::AboveBound {
            largest: 0.5,
            bound: 0.4
        })
    );
    // All the mass is near one point.
    let peak = |x: &[f64], _: usize| -1e6 * x[0];
    let error = between(
        LikelihoodModel::Energy,
        monte_carlo(1, 64, 0),
        peak,
        |_, _| 0.0,
    )
    .unwrap_err();
    assert_eq!(error, Error::Concentrated(64));
}
