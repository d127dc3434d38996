//! What a cap must beat: a linear model and a constant, written as networks whose block does
//! nothing, so that they are judged like every other model.

use loopfit_data::Samples;
use loopfit_likelihood::Likelihood;
use loopfit_model::{Network, Parameters, Tying};
use loopfit_numerics::cholesky::Cholesky;
use loopfit_numerics::lanes::Level;
use loopfit_numerics::libm;
use loopfit_search::replication::Problem;

/// Added to the diagonal of the inputs' second moments, which are of size one.
const RIDGE: f64 = 1e-6;
/// Most steps of logistic regression, and steps without a better validation loss that end it.
const STEPS: usize = 300;
const PATIENCE: usize = 25;

/// The best affine function of the inputs: least squares for responses, otherwise logistic
/// regression, whose steps validation ends.
pub(crate) fn linear(problem: &Problem) -> Parameters {
    let (train, outputs) = (&problem.train, problem.likelihood.outputs());
    let coefficients = match problem.likelihood {
        Likelihood::Gaussian(_) | Likelihood::Laplace(_) => least_squares(train),
        // Counts are not searched for, and a study that has them is refused before.
        Likelihood::Bernoulli(_)
        | Likelihood::Multiclass(_)
        | Likelihood::Poisson(_)
        | Likelihood::Energy(_) => logistic(problem),
    };
    affine(train.d(), outputs, &coefficients)
}

/// The best constant: the mean response or the class frequencies of the training samples.
pub(crate) fn constant(problem: &Problem) -> Parameters {
    let (train, outputs) = (&problem.train, problem.likelihood.outputs());
    let d = train.d();
    let mut coefficients = vec![0.0; outputs * (d + 1)];
    let n = train.n() as f64;
    match problem.likelihood {
        Likelihood::Gaussian(_) | Likelihood::Laplace(_) => {
            let sum: f64 = train.y().iter().map(|y| f64::from(*y)).sum();
            coefficients[d] = sum / n;
        }
        Likelihood::Bernoulli(_) => {
            let ones: f64 = train.y().iter().map(|y| f64::from(*y)).sum();
            coefficients[d] = libm::log((ones + 0.5) / (n - ones + 0.5));
        }
        Likelihood::Multiclass(_) => {
            let mut counts = vec![0.5; outputs];
            for y in train.y() {
                counts[*y as usize] += 1.0;
            }
            for (class, count) in counts.iter().enumerate() {
                coefficients[class * (d + 1) + d] = libm::log(count / n);
            }
        }
        Likelihood::Poisson(_) | Likelihood::Energy(_) => {}
    }
    affine(d, outputs, &coefficients)
}

/// `f(x) = W x + b` as Single with q = number of outputs: the input function is the affine map,
/// the block adds nothing and the output function is the identity. `coefficients` has a row
/// `(w, b)` for each output.
fn affine(d: usize, outputs: usize, coefficients: &[f64]) -> Parameters {
    let network = Network::ffn(d, outputs, outputs, 1, Tying::Single)
        .unwrap_or_else(|e| unreachable!("a network of width one exists: {e}"));
    let mut values = vec![0.0f32; network.count()];
    for view in &network.layout() {
        let target = &mut values[view.range()];
        match view.name.as_str() {
            "input.weight" => {
                for (row, own) in target.chunks_mut(d).zip(coefficients.chunks(d + 1)) {
                    row.iter_mut()
                        .zip(own)
                        .for_each(|(to, from)| *to = *from as f32);
                }
            }
            "input.bias" => {
                for (to, own) in target.iter_mut().zip(coefficients.chunks(d + 1)) {
                    *to = own[d] as f32;
                }
            }
            "output.weight" => {
                for i in 0..outputs {
                    target[i * outputs + i] = 1.0;
                }
            }
            _ => {}
        }
    }
    Parameters::new(network, values)
        .unwrap_or_else(|e| unreachable!("coefficients of a solved system are finite: {e}"))
}

/// Second moments of the inputs and a constant one: `(1/n) sum (x,1)(x,1)^T`, row-major.
fn moments(samples: &Samples) -> Vec<f64> {
    let m = samples.d() + 1;
    let mut moments = vec![0.0; m * m];
    let mut row = vec![1.0; m];
    for x in samples.x().chunks(samples.d()) {
        row.iter_mut()
            .zip(x)
            .for_each(|(to, from)| *to = f64::from(*from));
        for (i, a) in row.iter().enumerate() {
            for (to, b) in moments[i * m..].iter_mut().zip(&row) {
                *to += a * b;
            }
        }
    }
    let n = samples.n() as f64;
    moments.iter_mut().for_each(|v| *v /= n);
    moments
}

fn factor(samples: &Samples) -> Option<Cholesky> {
    let moments = moments(samples);
    let mut cholesky = Cholesky::new(samples.d() + 1, Level::fastest());
    cholesky.factor(&moments, RIDGE).then_some(cholesky)
}

fn least_squares(samples: &Samples) -> Vec<f64> {
    let d = samples.d();
    let mut right = vec![0.0; d + 1];
    for (x, y) in samples.x().chunks(d).zip(samples.y()) {
        let y = f64::from(*y);
        right
            .iter_mut()
            .zip(x)
            .for_each(|(to, x)| *to += y * f64::from(*x));
        right[d] += y;
    }
    right.iter_mut().for_each(|v| *v /= samples.n() as f64);
    match factor(samples) {
        Some(cholesky) => solved(&cholesky, right),
        None => vec![0.0; d + 1],
    }
}

/// Multinomial logistic regression by Boehning's bound: the curvature of the average loss is at
/// most half the inputs' second moments, for every class.
///
/// # Formula
/// `B <- B - 2 M^-1 G` with `M` the damped second moments and `G` the gradient.
///
/// # Reference
/// Boehning, "Multinomial logistic regression algorithm", 1992.
fn logistic(problem: &Problem) -> Vec<f64> {
    let (train, outputs) = (&problem.train, problem.likelihood.outputs());
    let m = train.d() + 1;
    let mut current = vec![0.0; outputs * m];
    let Some(cholesky) = factor(train) else {
        return current;
    };
    let loss = |coefficients: &[f64]| {
        let f = predicted(coefficients, &problem.valid, outputs);
        let y: Vec<f64> = problem.valid.y().iter().map(|y| f64::from(*y)).collect();
        problem
            .likelihood
            .average_nll(&f, &y)
            .unwrap_or(f64::INFINITY)
    };
    let (mut best, mut best_loss, mut since) = (current.clone(), loss(&current), 0);
    for _ in 0..STEPS {
        let gradient = logistic_gradient(&current, train, outputs);
        for (own, g) in current.chunks_mut(m).zip(gradient.chunks(m)) {
            let step = solved(&cholesky, g.to_vec());
            own.iter_mut().zip(step).for_each(|(b, s)| *b -= 2.0 * s);
        }
        let now = loss(&current);
        since += 1;
        if now < best_loss {
            (best, best_loss, since) = (current.clone(), now, 0);
        }
        if since >= PATIENCE {
            break;
        }
    }
    best
}

fn predicted(coefficients: &[f64], samples: &Samples, outputs: usize) -> Vec<f64> {
    let d = samples.d();
    let mut f = Vec::with_capacity(samples.n() * outputs);
    for x in samples.x().chunks(d) {
        for own in coefficients.chunks(d + 1) {
            let terms = own.iter().zip(x).map(|(b, x)| b * f64::from(*x));
            f.push(terms.sum::<f64>() + own[d]);
        }
    }
    f
}

/// `(1/n) sum (p_c - [y = c]) (x, 1)` for each class, or for the one logit of two classes.
fn logistic_gradient(coefficients: &[f64], samples: &Samples, outputs: usize) -> Vec<f64> {
    let d = samples.d();
    let f = predicted(coefficients, samples, outputs);
    let mut gradient = vec![0.0; coefficients.len()];
    let rows = samples
        .x()
        .chunks(d)
        .zip(samples.y())
        .zip(f.chunks(outputs));
    for ((x, y), f) in rows {
        let top = f.iter().copied().fold(0.0, f64::max);
        // One logit is measured against a class whose logit is zero.
        let base = if outputs == 1 { libm::exp(-top) } else { 0.0 };
        let total: f64 = base + f.iter().map(|f| libm::exp(f - top)).sum::<f64>();
        for (class, (own, f)) in gradient.chunks_mut(d + 1).zip(f).enumerate() {
            let hit = if outputs == 1 {
                *y == 1.0
            } else {
                *y as usize == class
            };
            let residual = libm::exp(f - top) / total - f64::from(u8::from(hit));
            own.iter_mut()
                .zip(x)
                .for_each(|(g, x)| *g += residual * f64::from(*x));
            own[d] += residual;
        }
    }
    gradient.iter_mut().for_each(|g| *g /= samples.n() as f64);
    gradient
}

fn solved(cholesky: &Cholesky, right: Vec<f64>) -> Vec<f64> {
    let mut solution = right;
    cholesky.solve(&mut solution);
    solution
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_engine::Predictor;
    use loopfit_likelihood::{Bernoulli, Gaussian, Multiclass};
    use loopfit_model::Bounds;
    use loopfit_numerics::stream::Stream;
    use std::sync::Arc;

    fn problem(likelihood: Likelihood, y: impl Fn(&[f32], u64) -> f32) -> Problem {
        let stream = Stream::new(3);
        let x: Vec<f32> = (0..800).map(|i| stream.normal(i) as f32).collect();
        let y = x.chunks(2).zip(0..).map(|(x, i)| y(x, i)).collect();
        let samples = Arc::new(Samples::new(2, x, y).unwrap());
        Problem {
            train: samples.clone(),
            valid: samples,
            likelihood,
            bounds: Bounds::default(),
        }
    }

    fn outputs(parameters: &Parameters, x: &[f32]) -> Vec<f64> {
        let predictor = Predictor::new(parameters, Bounds::default());
        predictor.predict(x)
    }

    fn loss(problem: &Problem, parameters: &Parameters) -> f64 {
        let y: Vec<f64> = problem.train.y().iter().map(|y| f64::from(*y)).collect();
        let f = outputs(parameters, problem.train.x());
        problem.likelihood.average_nll(&f, &y).unwrap()
    }

    #[test]
    fn least_squares_finds_an_affine_function() {
        let likelihood = Likelihood::Gaussian(Gaussian::squared_error());
        let problem = problem(likelihood, |x, _| 0.3 * x[0] - 0.7 * x[1] + 0.2);
        let f = outputs(&linear(&problem), &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        for (found, truth) in f.iter().zip([0.5, -0.5, 0.2]) {
            assert!((found - truth).abs() < 1e-4, "{f:?}");
        }
        let mean: f64 = problem.train.y().iter().map(|y| f64::from(*y)).sum::<f64>() / 400.0;
        assert!((outputs(&constant(&problem), &[5.0, 5.0])[0] - mean).abs() < 1e-6);
    }

    /// At the optimum no direction of the coefficients lowers the loss.
    #[test]
    fn logistic_regression_is_stationary() {
        let coin = Stream::new(9);
        let two = problem(Likelihood::Bernoulli(Bernoulli), |x, i| {
            let p = 1.0 / (1.0 + (-1.5 * f64::from(x[0]) - 0.5).exp());
            f32::from(coin.uniform(i) < p)
        });
        let three = problem(
            Likelihood::Multiclass(Multiclass::new(3).unwrap()),
            |x, i| {
                let u = coin.uniform(i) as f32;
                if u < 0.2 {
                    0.0
                } else if x[0] + u > 0.7 {
                    1.0
                } else {
                    2.0
                }
            },
        );
        for problem in [two, three] {
            let fitted = linear(&problem);
            let best = loss(&problem, &fitted);
            assert!(best < loss(&problem, &constant(&problem)));
            let network = fitted.network().clone();
            for i in 0..network.outputs() * 3 {
                for step in [-0.02f32, 0.02] {
                    let mut values = fitted.values().to_vec();
                    values[i] += step;
                    let other = Parameters::new(network.clone(), values).unwrap();
                    assert!(loss(&problem, &other) > best - 1e-6, "coefficient {i}");
                }
            }
        }
    }
}
