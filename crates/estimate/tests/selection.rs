//! Selections on small samples whose answer is known.

use loopfit_data::Samples;
use loopfit_estimate::{Folds, Problem, Request, Selection, Watch, finish};
use loopfit_likelihood::{Bernoulli, Gaussian, Likelihood};
use loopfit_model::reference::forward;
use loopfit_model::{Activation, Form, Method};
use loopfit_numerics::stream::Stream;

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

fn draws(n: usize, d: usize, target: impl Fn(&[f64], u64) -> f64) -> Samples {
    let x: Vec<f64> = (0..n * d)
        .map(|i| Stream::new(1).child("x").normal(i as u64))
        .collect();
    let y = x
        .chunks(d)
        .enumerate()
        .map(|(i, x)| target(x, i as u64) as f32)
        .collect();
    Samples::new(d, x.iter().map(|v| *v as f32).collect(), y).unwrap()
}

fn noise(i: u64) -> f64 {
    Stream::new(1).child("noise").normal(i)
}

fn folds(n: usize) -> Vec<Vec<usize>> {
    (0..4)
        .map(|fold| (0..n).filter(|row| row % 4 == fold).collect())
        .collect()
}

fn request(budget: usize, methods: &[Method]) -> Request {
    Request {
        caps: vec![budget],
        paper: false,
        methods: methods.to_vec(),
        activations: vec![Activation::Relu, Activation::Tanh],
        iterations: vec![2, 4],
        work: 3e8,
        stream: Stream::new(4),
    }
}

/// Other folds than those of [`folds`]: neighbours are together.
fn fresh(n: usize) -> Vec<Vec<usize>> {
    (0..4)
        .map(|fold| (fold * n / 4..(fold + 1) * n / 4).collect())
        .collect()
}

fn select(samples: &Samples, likelihood: Likelihood, request: &Request) -> Selection {
    judged_by(&fresh(samples.n()), samples, likelihood, request)
}

fn judged_by(
    fresh: &[Vec<usize>],
    samples: &Samples,
    likelihood: Likelihood,
    request: &Request,
) -> Selection {
    let watch = Watch {
        stop: NEVER,
        advance: &|_| (),
    };
    let folds = folds(samples.n());
    let folds = Folds {
        selecting: &folds,
        fresh,
        further: &[],
    };
    let problem = Problem::new(samples, likelihood, 8.0, folds, watch).unwrap();
    let mut selections = problem.select(request);
    selections.pop().unwrap()
}

fn gaussian() -> Likelihood {
    Likelihood::Gaussian(Gaussian::squared_error())
}

/// Twelve numbers for forty rows of a noisy line: no network is clearly better, and the answer says linear.
#[test]
fn a_noisy_line_is_answered_by_a_line() {
    let samples = draws(40, 3, |x, i| 0.7 * x[0] - 0.3 * x[1] + 0.8 * noise(i));
    let selection = select(
        &samples,
        gaussian(),
        &request(32, &[Method::Single, Method::Loop]),
    );
    assert_eq!(selection.best(), Some(0));
    let linear = &selection.linear.as_ref().unwrap().best;
    assert_eq!(linear.network.form(), Form::Affine);
}

/// Where there is only noise, the best of many networks is better than the rest on the folds that selected it, and on fresh ones no better
/// than nothing: half the variance.
#[test]
fn fresh_folds_see_through_luck() {
    let samples = draws(80, 4, |_, i| noise(i));
    let ask = request(40, &[Method::Single, Method::Loop, Method::Untied]);
    let judged = |fresh: &[Vec<usize>]| -> Vec<f64> {
        let selection = judged_by(fresh, &samples, gaussian(), &ask);
        let methods = selection.methods.iter().flatten();
        methods.map(|c| c.best.cross_validation()).collect()
    };
    let (by_same, by_fresh) = (judged(&[]), judged(&fresh(80)));
    let variance = (0..80).map(|i| noise(i) * noise(i)).sum::<f64>() / 80.0;
    for (same, fresh) in by_same.iter().zip(&by_fresh) {
        assert!(same < fresh, "{same} {fresh}");
        assert!(*fresh > 0.48 * variance, "{fresh} {variance}");
    }
}

/// A product of two inputs among four: a network is better than a line and finds it.
#[test]
fn a_product_is_answered_by_a_network() {
    let samples = draws(160, 4, |x, i| (x[0] * x[1]).tanh() + 0.05 * noise(i));
    let selection = select(&samples, gaussian(), &request(40, &[Method::Single]));
    assert_eq!(selection.best(), Some(1));
    let chosen = selection.methods[0].as_ref().unwrap();
    let linear = selection.linear.as_ref().unwrap();
    assert!(
        chosen.error < 0.5 * linear.error,
        "{} {}",
        chosen.error,
        linear.error
    );
    assert!(chosen.best.fitted().count() <= 40);
    // The honest estimate is not below the smallest mean by more than chance.
    assert!(chosen.error > 0.8 * chosen.best.cross_validation());
    let model = finish(
        &samples,
        gaussian(),
        &chosen.best,
        Stream::new(2),
        NEVER,
        NEVER,
    )
    .unwrap();
    assert_eq!(model.network().d(), 4);
    // Asked to stop there is still a model; asked to give up there is none.
    let asked = |give_up| {
        let of = &chosen.best;
        finish(&samples, gaussian(), of, Stream::new(2), &|| true, give_up)
    };
    assert!(asked(NEVER).is_some());
    assert!(asked(&|| true).is_none());
    let x = [0.5, -1.0, 0.3, 0.2];
    let f = forward(&model, &x)[0];
    assert!((f + 0.46).abs() < 0.25, "{f}");
}

/// With many rows the affine function is that of least squares, whatever the penalty: the normal equations hold.
#[test]
fn the_affine_function_is_that_of_least_squares() {
    let samples = draws(4000, 2, |x, i| 0.5 * x[0] - x[1] + 0.25 + 0.1 * noise(i));
    let selection = select(&samples, gaussian(), &request(3, &[]));
    let choice = &selection.linear.as_ref().unwrap().best;
    let model = finish(&samples, gaussian(), choice, Stream::new(2), NEVER, NEVER).unwrap();
    let mut moments = [0.0; 3];
    for (x, y) in samples.x().chunks(2).zip(samples.y()) {
        let x = [f64::from(x[0]), f64::from(x[1])];
        let r = forward(&model, &x)[0] - f64::from(*y);
        [x[0], x[1], 1.0]
            .iter()
            .zip(&mut moments)
            .for_each(|(x, m)| *m += r * x / 4000.0);
    }
    assert!(moments.iter().all(|m| m.abs() < 2e-4), "{moments:?}");
}

/// Separable classes: coefficients and losses stay finite.
#[test]
fn separable_classes_stay_finite() {
    let samples = draws(40, 2, |x, _| f64::from(u8::from(x[0] + x[1] > 0.0)));
    let likelihood = Likelihood::Bernoulli(Bernoulli);
    let selection = select(&samples, likelihood, &request(24, &[Method::Single]));
    for chosen in selection.all() {
        assert!(chosen.error.is_finite() && chosen.error < 0.5);
        let model = finish(
            &samples,
            likelihood,
            &chosen.best,
            Stream::new(2),
            NEVER,
            NEVER,
        )
        .unwrap();
        assert!(model.values().iter().all(|v| v.abs() <= 128.0));
    }
}

/// The same choice and the same bits on one, two and eight threads.
#[test]
fn threads_change_nothing() {
    let samples = draws(60, 3, |x, i| x[0].sin() + 0.3 * noise(i));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let selection = select(&samples, gaussian(), &request(20, &[Method::Loop]));
            let choice = &selection.methods[0].as_ref().unwrap().best;
            let model = finish(&samples, gaussian(), choice, Stream::new(2), NEVER, NEVER).unwrap();
            let bits: Vec<u32> = model.values().iter().map(|v| v.to_bits()).collect();
            (selection.best(), model.network().clone(), bits)
        })
    };
    let alone = on(1);
    assert_eq!(on(2), alone);
    assert_eq!(on(8), alone);
}

/// Under a larger cap the networks of a smaller one are still candidates, and the affine function is one of every cap that
/// holds it.
#[test]
fn caps_that_hold_little() {
    let samples = draws(60, 3, |x, i| x[0] + 0.1 * noise(i));
    let tiny = select(&samples, gaussian(), &request(2, &Method::ALL));
    assert!(tiny.methods.iter().all(Option::is_none));
    assert_eq!(tiny.linear.unwrap().best.fitted().count(), 2);
    assert!(
        select(&samples, gaussian(), &request(1, &Method::ALL))
            .best()
            .is_none()
    );
    assert_eq!(
        select(&samples, gaussian(), &request(4, &[]))
            .linear
            .unwrap()
            .best
            .network
            .count(),
        4
    );
}
