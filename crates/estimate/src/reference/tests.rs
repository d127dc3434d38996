use super::*;
use loopfit_likelihood::{Bernoulli, Energy, Gaussian, Laplace, Multiclass, Nodes};

fn gaussian() -> Likelihood {
    Likelihood::Gaussian(Gaussian::new(1.0).unwrap())
}

fn laplace() -> Likelihood {
    Likelihood::Laplace(Laplace::new(1.0).unwrap())
}

fn never() -> bool {
    false
}

/// Rows with uniform inputs in `(-2, 2)` and a target that is told the inputs and a normal number.
fn samples(n: usize, d: usize, seed: u64, target: impl Fn(&[f64], f64) -> f64) -> Samples {
    let stream = Stream::new(seed);
    let mut y = Vec::new();
    let mut x = Vec::new();
    for i in 0..n {
        let row: Vec<f32> = (0..d)
            .map(|j| (4.0 * stream.uniform((i * d + j) as u64) - 2.0) as f32)
            .collect();
        let inputs: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
        y.push(target(&inputs, stream.child("noise").normal(i as u64)) as f32);
        x.extend(row);
    }
    Samples::new(d, x, y).unwrap()
}

fn folds(n: usize, count: usize) -> Vec<Vec<usize>> {
    let fold = |f: usize| (f..n).step_by(5).collect();
    (0..count).map(fold).collect()
}

/// The better one, chosen and judged by the same folds.
fn judged_by(folds: &[Vec<usize>], samples: &Samples, likelihood: Likelihood) -> Reference {
    reference(samples, likelihood, [folds; 2], Stream::new(1), &never).unwrap()
}

/// Boosted trees and the kernel, each judged.
fn both(samples: &Samples, likelihood: Likelihood, count: usize) -> [Reference; 2] {
    let table = Table {
        x: samples.x(),
        d: samples.d(),
        targets: samples.y(),
        loss: Loss::of(likelihood).unwrap(),
    };
    let folds: Vec<Fold> = folds(samples.n(), count)
        .iter()
        .map(|held| fold(held, samples.n()))
        .collect();
    let folds = [folds.clone(), folds];
    let stream = Stream::new(1);
    [
        trees(&table, &folds, stream, &never).unwrap(),
        kernel(&table, &folds, stream, &never).unwrap(),
    ]
}

#[test]
fn trees_find_a_step_function_exactly() {
    let step = |x: f64| if x <= 0.5 { -1.0 } else { 2.0 };
    let x: Vec<f32> = (0..200).map(|i| (i * 7 % 41) as f32 / 10.0 - 2.0).collect();
    let y: Vec<f32> = x.iter().map(|x| step(f64::from(*x)) as f32).collect();
    let samples = Samples::new(1, x, y).unwrap();
    let [found, _] = both(&samples, gaussian(), 5);
    assert_eq!(found.name, "boosted trees");
    assert!(found.cross_validation < 1e-6, "{}", found.cross_validation);
    let new = [-9.0, -0.3, 0.5, 0.6, 9.0];
    for (f, x) in found.outputs(&new).iter().zip(new) {
        assert!((f - step(f64::from(x))).abs() < 1e-2, "{f} at {x}");
    }
}

/// An additive function with noise of standard deviation 0.3: no method can have a lower mean
/// loss than 0.045, and the function is known better than a row says it.
#[test]
fn an_additive_function_is_known_better_than_its_noise() {
    let truth = |x: &[f64]| (2.0 * x[0]).sin() + x[1].abs() - 0.5 * x[2];
    let samples = samples(400, 4, 5, |x, e| truth(x) + 0.3 * e);
    let new = self::samples(300, 4, 6, |x, _| truth(x));
    for (found, most) in both(&samples, gaussian(), 5).iter().zip([0.6, 0.5]) {
        assert!(found.cross_validation > 0.03 && found.cross_validation < 0.1);
        assert_eq!(found.losses.len(), 400);
        assert!((mean(&found.losses) - found.cross_validation).abs() < 1e-15);
        let squares: Vec<f64> = found
            .outputs(new.x())
            .iter()
            .zip(new.y())
            .map(|(f, y)| (f - f64::from(*y)).powi(2))
            .collect();
        let error = mean(&squares).sqrt() / 0.3;
        assert!(error < most, "{} {error}", found.name);
    }
}

/// The losses are those of the held-out rows in the order of the folds, whatever the order
/// within a fold: a row whose target nobody can guess stands out.
#[test]
fn losses_are_in_the_order_of_the_folds_that_judge() {
    let mut y: Vec<f32> = (0..60).map(|i| (i % 2) as f32).collect();
    y[17] = 100.0;
    let x: Vec<f32> = (0..60).map(|i| (i % 2) as f32).collect();
    let samples = Samples::new(1, x, y).unwrap();
    let folds: Vec<Vec<usize>> = vec![(0..20).rev().collect(), (40..60).collect()];
    let folds = [&self::folds(60, 5)[..], &folds];
    let found = reference(&samples, gaussian(), folds, Stream::new(1), &never).unwrap();
    let largest = |a: &usize, b: &usize| found.losses[*a].total_cmp(&found.losses[*b]);
    assert_eq!(found.losses.len(), 40);
    assert_eq!((0..40).max_by(largest), Some(2));
}

/// One row in ten is off by fifty: means follow it, medians do not.
#[test]
fn medians_are_not_moved_by_outliers() {
    let step = |x: f64| if x <= 0.0 { -1.0 } else { 1.0 };
    let samples = samples(300, 2, 8, |x, e| {
        step(x[0]) + if e > 1.28 { 50.0 } else { 0.1 * e }
    });
    let found = judged_by(&folds(300, 5), &samples, laplace());
    assert_eq!(found.name, "boosted trees");
    let outputs = found.outputs(samples.x());
    let near = |i: &usize| (outputs[*i] - step(f64::from(samples.x()[2 * i]))).abs() < 0.5;
    assert!((0..300).filter(near).count() > 280);
}

#[test]
fn classes_that_a_line_separates_have_finite_outputs() {
    let samples = samples(120, 2, 9, |x, _| f64::from(u8::from(x[0] + x[1] > 0.0)));
    for found in both(&samples, Likelihood::Bernoulli(Bernoulli), 5) {
        assert!(found.cross_validation < 0.25, "{}", found.cross_validation);
        let outputs = found.outputs(&[-2.0, -2.0, 2.0, 2.0, 1e6, 1e6]);
        assert!(outputs.iter().all(|f| f.is_finite()));
        assert!(outputs[0] < -1.0 && outputs[1] > 1.0, "{outputs:?}");
    }
}

/// Three classes by the angle, and a fourth that no row has.
#[test]
fn the_right_class_has_the_largest_output() {
    let class = |x: &[f64]| ((x[1].atan2(x[0]) + 3.2) / 2.14).floor();
    let samples = samples(200, 2, 11, |x, _| class(x));
    let likelihood = Likelihood::Multiclass(Multiclass::new(4).unwrap());
    for found in both(&samples, likelihood, 5) {
        assert!(found.cross_validation < 0.45, "{}", found.cross_validation);
        let outputs = found.outputs(samples.x());
        let right = |i: &usize| {
            let f = &outputs[i * 4..][..4];
            let of = samples.y()[*i] as usize;
            f.iter().all(|other| *other <= f[of])
        };
        assert!((0..200).filter(right).count() > 190);
    }
}

#[test]
fn a_smooth_function_of_a_direction_is_the_kernels() {
    let truth = |x: &[f64]| (1.5 * x[0] - x[1] + 0.5 * x[2]).sin();
    let samples = samples(250, 5, 12, |x, e| truth(x) + 0.05 * e);
    let found = judged_by(&folds(250, 1), &samples, gaussian());
    assert_eq!((found.name, found.losses.len()), ("kernel", 50));
    // A plain metric gets no further than 0.1; learnt directions do.
    assert!(found.cross_validation < 0.02, "{}", found.cross_validation);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let wave = |x: &[f64], e: f64| x[0].sin() + 0.3 * e;
    let cases = [
        (gaussian(), samples(80, 2, 13, wave)),
        (laplace(), samples(80, 2, 13, wave)),
        (
            Likelihood::Bernoulli(Bernoulli),
            samples(80, 2, 13, |x, e| f64::from(u8::from(wave(x, e) > 0.0))),
        ),
        (
            Likelihood::Multiclass(Multiclass::new(3).unwrap()),
            samples(80, 2, 13, |x, e| (wave(x, e) + 1.5).clamp(0.0, 2.0).floor()),
        ),
    ];
    for (likelihood, samples) in cases {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let found = pool
                .build()
                .unwrap()
                .install(|| both(&samples, likelihood, 2));
            found.map(|f| (f.cross_validation, f.outputs(samples.x()), f.losses))
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn there_is_none_without_targets_without_rows_and_when_stopped() {
    let some = samples(40, 1, 14, |x, _| x[0]);
    let folds = folds(40, 5);
    let density = Likelihood::Energy(Energy::new(1, Nodes::LowDiscrepancy { n: 16 }).unwrap());
    let stream = Stream::new(1);
    assert!(reference(&some, density, [&folds; 2], stream, &never).is_none());
    assert!(reference(&some, gaussian(), [&[][..]; 2], stream, &never).is_none());
    assert!(reference(&some, gaussian(), [&[vec![]][..]; 2], stream, &never).is_none());
    let all = vec![(0..40).collect()];
    assert!(reference(&some, gaussian(), [&all; 2], stream, &never).is_none());
    assert!(reference(&some, gaussian(), [&folds; 2], stream, &|| true).is_none());
}

/// Inputs that say nothing, rows that repeat and a target that does not vary are no reason to
/// fail.
#[test]
fn tables_that_say_nothing_have_a_constant() {
    let samples = Samples::new(2, vec![3.0; 60], vec![0.25; 30]).unwrap();
    for found in both(&samples, gaussian(), 5) {
        assert!(found.cross_validation < 1e-12);
        assert!((found.outputs(&[0.0, 1.0])[0] - 0.25).abs() < 1e-6);
    }
}
