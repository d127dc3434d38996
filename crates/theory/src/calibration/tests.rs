use super::*;
use loopfit_likelihood::{Bernoulli, Distance, distance};
use loopfit_numerics::quadrature::integrate;
use proptest::prelude::*;

fn all() -> [LikelihoodModel; 5] {
    [
        LikelihoodModel::gaussian(0.4).unwrap(),
        LikelihoodModel::laplace(0.3).unwrap(),
        LikelihoodModel::Bernoulli,
        LikelihoodModel::multiclass(4).unwrap(),
        LikelihoodModel::Energy,
    ]
}

fn at(model: LikelihoodModel, h: f64) -> Calibration {
    Calibration::new(model, h).unwrap()
}

fn close(got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() < tolerance, "{got} {expected}");
}

#[test]
fn bounds_are_checked() {
    for bad in [0.0, -1.0, 1e16, f64::NAN, f64::INFINITY] {
        assert!(Calibration::new(LikelihoodModel::Energy, bad).is_err());
    }
}

/// With constant functions the Gaussian and Laplace constants are attained: `c` and the bridge at `(H, -H)`,
/// `C` as the functions approach each other.
#[test]
fn regression_constants_are_attained() {
    fn check(l: impl Divergence, calibration: Calibration) {
        let h = calibration.bound();
        let far = l.hellinger_squared(h, -h);
        close(calibration.c().value(), far / (4.0 * h * h), 1e-12);
        close(
            calibration.bridge().value(),
            l.rho(Gamma::HALF, h, -h) / far,
            1e-11,
        );
        let near = l.hellinger_squared(1e-7, 0.0) / 1e-14;
        close(calibration.upper().value(), near, 1e-6);
    }
    for h in [1e-3, 0.2, 1.0, 3.0] {
        let [g, la, ..] = all();
        check(Gaussian::new(0.4).unwrap(), at(g, h));
        check(Laplace::new(0.3).unwrap(), at(la, h));
    }
}

#[test]
fn bernoulli_constants_are_attained() {
    for h in [0.1, 1.0, 6.0] {
        let calibration = at(LikelihoodModel::Bernoulli, h);
        let ratio = |f: f64| Bernoulli.hellinger_squared(f, f - 1e-6) / 1e-12;
        close(calibration.c().value(), ratio(h), 1e-5);
        close(calibration.upper().value(), ratio(5e-7), 1e-6);
    }
}

/// Two densities that differ on a set of mass 1e-9 alone: the smallest density there is `e^(-2H)`, the largest `e^(2H)`.
#[test]
fn energy_constants_are_attained() {
    let (h, mass, step) = (0.8, 1e-9f64, 1e-4);
    let calibration = at(LikelihoodModel::Energy, h);
    let centred = mass * (1.0 - mass) * step * step;
    let of = |there: f64, inward: f64, distance: Distance| {
        let log_weights = [(1.0 - mass).ln(), mass.ln()];
        let f = [log_weights[0] - there, log_weights[1] + there];
        let g = [f[0], f[1] + inward];
        distance.of_log_masses(&distance::log_masses(&f), &distance::log_masses(&g)) / centred
    };
    let low = of(-h, step, Distance::HellingerSquared);
    close(calibration.c().value(), low, 1e-3);
    let high = of(h, -step, Distance::Kl);
    close(calibration.upper().value(), high, 1e-3);
}

/// Two classes are the Bernoulli model with logit `f_1 - f_0`, whose square is twice the centred square.
#[test]
fn two_classes_bound_the_bernoulli_model() {
    let two = LikelihoodModel::multiclass(2).unwrap();
    for h in [0.1, 1.0, 4.0] {
        let (classes, bernoulli) = (at(two, h), at(LikelihoodModel::Bernoulli, 2.0 * h));
        assert!(classes.c().value() <= 2.0 * bernoulli.c().value());
        // KL <= (logit difference)^2 / 8 is sharp.
        close(classes.upper().value(), 0.25, 1e-14);
    }
}

/// The envelope by definition: the largest slope over a grid of `t`, squared and integrated over `y`.
#[test]
fn envelopes_are_the_largest_slopes() {
    fn norm(l: impl Divergence, h: f64, integral: impl Fn(&dyn Fn(f64) -> f64) -> f64) -> f64 {
        integral(&|y| {
            let slope = |t: f64| (-0.5 * l.nll(y, t)).exp() * 0.5 * l.derivative(y, t).abs();
            let n = 2000;
            let largest = (0..=n)
                .map(|i| slope(h * (2 * i - n) as f64 / n as f64))
                .fold(0.0, f64::max);
            largest * largest
        })
        .sqrt()
    }
    for h in [0.1, 0.5, 0.69, 0.7, 2.0] {
        let [g, la, be, ..] = all();
        let width = |model| 1.0 / at(model, h).index_radius(2.0);
        let line = |f: &dyn Fn(f64) -> f64| integrate(-h - 9.0, h + 9.0, 60, f);
        close(width(g), norm(Gaussian::new(0.4).unwrap(), h, line), 1e-4);
        close(width(la), norm(Laplace::new(0.3).unwrap(), h, line), 1e-2);
        close(width(be), norm(Bernoulli, h, |f| f(0.0) + f(1.0)), 1e-5);
    }
    for model in &all()[3..] {
        assert!((2.0 * at(*model, 1.0).index_radius(0.3).sinh() - 0.3).abs() < 1e-15);
    }
}

#[test]
fn nothing_overflows() {
    for model in all() {
        for h in [1e-15, 1e15] {
            let calibration = at(model, h);
            for number in [calibration.c(), calibration.upper(), calibration.bridge()] {
                assert!(number.ln().is_finite(), "{model:?} {h}");
            }
            let (bracket, cover) = (calibration.index_radius(0.5), calibration.cover_radius(0.5));
            assert!(bracket > 0.0 && bracket.is_finite() && cover > 0.0 && cover.is_finite());
        }
    }
    // 3X with X = H^2 / (2 sigma^2).
    let [gaussian, ..] = all();
    close(at(gaussian, 100.0).bridge().ln(), 1.5 * 1e4 / 0.16, 1e-12);
}

proptest! {
    /// As `H` falls to zero the three constants become 1/4, 1/4 and 3 times the information: no room is lost.
    #[test]
    fn small_bounds_are_the_local_theory(h in 1e-9f64..1e-7) {
        let [g, la, be, _, e] = all();
        for (model, information) in [(g, 1.0 / 0.16), (la, 1.0 / 0.09), (be, 0.25)] {
            let calibration = at(model, h);
            close(calibration.c().value(), 0.25 * information, 1e-6);
            close(calibration.upper().value(), 0.25 * information, 1e-12);
            close(calibration.bridge().value(), 3.0, 1e-5);
            close(1.0 / calibration.index_radius(1.0), information.sqrt(), 1e-6);
        }
        close(at(e, h).c().value(), 0.25, 1e-6);
        close(at(e, h).bridge().value(), 3.0, 1e-6);
    }

    /// The cover radius turns uniform into Hellinger distance.
    #[test]
    fn covers_are_covers(f in -2.0f64..2.0, g in -2.0f64..2.0) {
        let [gaussian, laplace, bernoulli, ..] = all();
        let check = |h2: f64, model| {
            prop_assert!(at(model, 2.0).cover_radius(h2.sqrt()) <= (f - g).abs() * (1.0 + 1e-12));
            Ok(())
        };
        check(Gaussian::new(0.4).unwrap().hellinger_squared(f, g), gaussian)?;
        check(Laplace::new(0.3).unwrap().hellinger_squared(f, g), laplace)?;
        check(Bernoulli.hellinger_squared(f, g), bernoulli)?;
    }
}
