use super::*;
use crate::Exact;
use crate::Expression;
use crate::ffn::Witness;
use crate::routines::Reader;

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

fn resolution(d: usize, s: i64, h: &str, m: usize) -> Resolution {
    Resolution::new(d, Rational::from(s), r(h), m).unwrap()
}

/// `f0 = x1 - x2/2` against zero: the integral of the square is 1/3 - 1/4 + 1/12 = 1/6, and off
/// the strips of a fine grid it is the same up to their measure.
#[test]
fn measures_known_integrals() {
    let target = Expression::parse("x1 - x2/2", None).unwrap().into_target();
    let resolution = resolution(2, 3, "1", 3);
    let zero = |_: &[Rational]| Ok(Rational::ZERO);
    let error = measure(&resolution, &*target, 1000, 7, zero).unwrap();
    assert_eq!(error.off.points, 32 * 32);
    assert_eq!(error.on.points, 125);
    assert!((error.off.root_mean_square * error.off.root_mean_square * 6.0 - 1.0).abs() < 0.01);
    assert!(error.off.largest <= 1.0 && error.off.largest > 0.9);
    // 125 points, each with a relative deviation of about one: 0.1, and three times that.
    assert!((error.on.root_mean_square * error.on.root_mean_square * 6.0 - 1.0).abs() < 0.3);
    let measure = 2.0 * 8.0 * 2.0 / f64::from(1 << resolution.g());
    assert!((error.strip_measure / measure - 1.0).abs() < 1e-5);
    let again = super::measure(&resolution, &*target, 1000, 7, zero).unwrap();
    assert_eq!(error, again);
}

/// A network that is right off the strips and wrong by one on them has the error `sqrt(mu)`, and
/// every point is where it should be.
#[test]
fn parts_are_the_parts() {
    for (d, m) in [(1, 1), (1, 3), (2, 1), (3, 1)] {
        let resolution = resolution(d, 1, "1", m);
        let target = Expression::parse("0*x1", Some(d)).unwrap().into_target();
        let strips = |x: &[Rational]| Ok(Rational::from(i64::from(resolution.is_on_strip(x))));
        let error = measure(&resolution, &*target, 100, 1, strips).unwrap();
        assert_eq!(error.off.largest, 0.0);
        assert_eq!(error.on.root_mean_square, 1.0);
        assert!((error.l2 - error.strip_measure.sqrt()).abs() < 1e-15);
    }
    // d = m = s = 1: 4/32 of the line.
    let resolution = resolution(1, 1, "1", 1);
    let one = |_: &[Rational]| Ok(Rational::ONE);
    let target = Expression::parse("0*x1", None).unwrap().into_target();
    let error = measure(&resolution, &*target, 10, 1, one).unwrap();
    assert_eq!(error.strip_measure, 0.125);
    assert_eq!(error.l2, 1.0);
}

/// With `v = 1/2` and two axes the first is on a strip in two of three cases.
#[test]
fn axes_have_their_weights() {
    let of = |uniform| first_on_strip(0.5, 2, uniform);
    assert_eq!((of(0.01), of(0.66), of(0.67), of(0.99)), (0, 0, 1, 1));
    let draws: Vec<f64> = (0..2000).map(|i| Stream::new(3).uniform(i)).collect();
    let first = draws.iter().filter(|u| of(**u) == 0).count();
    assert!((first as f64 / 2000.0 - 2.0 / 3.0).abs() < 0.04, "{first}");
}

/// The errors of real networks: within (S29) at every point off the strips, within 2H on them,
/// and falling as the theorem promises, once a step of quantisation, H 2^(1-b), is below the target.
#[test]
fn errors_fall_as_promised() {
    let target = Expression::parse("x1*(1-x1) - 1/5*x1^3", None).unwrap();
    let target = target.into_target();
    for (s, h, from) in [(1, "2", 4), (2, "4", 2), (3, "4", 2)] {
        let errors: Vec<_> = (from..from + 3)
            .map(|m| {
                let resolution = resolution(1, s, h, m);
                let witness = Witness::new(resolution, m, Reader::Paper, &*target).unwrap();
                let runner = witness.runner(Exact);
                let value = |x: &[Rational]| Ok(runner.evaluate(x)?.value);
                measure(witness.resolution(), &*target, 64, 5, value).unwrap()
            })
            .collect();
        for error in &errors {
            assert!(error.off.largest <= error.interior_bound, "{error:?}");
            assert!(error.on.largest <= 2.0 * r(h).to_f64());
        }
        let slope = slope(&errors).unwrap();
        assert!(
            (slope + s as f64).abs() < 0.3,
            "s = {s}: {slope}, {errors:?}"
        );
    }
}

#[test]
fn slopes_of_exact_powers() {
    let resolution = resolution(1, 1, "1", 1);
    let target = Expression::parse("x1", None).unwrap().into_target();
    let some = measure(&resolution, &*target, 2, 0, |x| Ok(x[0].clone())).unwrap();
    let of = |m: usize, l2: f64| L2Error { m, l2, ..some };
    let powers: Vec<_> = [1, 2, 4]
        .map(|m| of(m, 3.0 * 0.25f64.powi(m as i32)))
        .into();
    assert!((slope(&powers).unwrap() + 2.0).abs() < 1e-12);
    assert_eq!(slope(&powers[..1]), None);
    assert_eq!(slope(&[of(1, 1.0), of(2, 0.0)]), None);
}
