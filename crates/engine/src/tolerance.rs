//! How far coefficients are from a stationary point of their training loss: what the theory
//! calls the tolerance of a sieve estimator, as far as it can be measured.

use crate::batches::{Strips, Table};
use crate::gradient::{Gradient, node_strips};
use crate::information::{Blend, Information, Probe};
use crate::loss::Loss;
use crate::program::Program;
use crate::spec::{MAX_SCORING_PARAMETERS, SpecError};
use loopfit_data::Samples;
use loopfit_likelihood::Likelihood;
use loopfit_model::{Bounds, Parameters};
use loopfit_numerics::cholesky::Cholesky;
use loopfit_numerics::lanes::{Lane, Level};
use loopfit_numerics::sum::sum;
use serde::Serialize;

/// Samples that pass through the kernels at once.
const ROWS_AT_ONCE: usize = 128;
/// Samples times outputs times squared coefficients that are worth the wait (some seconds).
const MOST_WORK: f64 = 1e11;
/// Dampings that a step is tried with, in units of the likelihood's information.
const DAMPINGS: [f64; 7] = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

/// What the training loss says about a model's coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// Training samples that were used: the first so many.
    pub rows: usize,
    /// Average negative log-likelihood on them.
    pub loss: f64,
    /// Euclidean norm of its gradient.
    pub gradient_norm: f64,
    /// The step's damping, in units of the likelihood's information: of seven, the one with the
    /// lowest loss after the step.
    pub damping: f64,
    /// How much the loss would fall by one damped Fisher-scoring step if it were quadratic.
    pub predicted_decrease: f64,
    /// How much it falls; negative if every step that was tried makes it worse.
    pub achieved_decrease: f64,
}

/// Measures the tolerance of coefficients on their training samples.
///
/// # Formula
/// With `g` the gradient, `F` the Fisher information of the coefficients and
/// `(F + damping I) v = g`, the step is `theta - v`, and the quadratic model predicts a decrease
/// by `g^T v - v^T F v / 2`. For the Gaussian likelihood this is a Levenberg-Marquardt step, for
/// the others a generalised Gauss-Newton step, for the energy model its own Fisher scoring.
pub fn tolerance(
    parameters: &Parameters,
    likelihood: Likelihood,
    bounds: Bounds,
    train: &Samples,
) -> Result<Tolerance, SpecError> {
    let p = parameters.network().count();
    if p > MAX_SCORING_PARAMETERS {
        return Err(SpecError::ScoringSize(p));
    }
    let work = (p * p * likelihood.outputs()) as f64;
    let rows = train.n().min((MOST_WORK / work) as usize).max(1);
    let train = train.first(rows);
    let program = Program::new(parameters.network(), Level::fastest());
    let theta = program.pack(parameters);
    let curvature = Curvature::new(&program, &theta, likelihood, bounds, &train);
    let mut loss = Loss::training(likelihood, bounds, &train);
    let before = loss.at(&program, &theta);
    let gradient_norm = curvature.gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let mut best: Option<Tolerance> = None;
    for damping in DAMPINGS {
        let damped = curvature.step(damping * likelihood.information_scale());
        let Some((step, predicted_decrease)) = damped else {
            continue;
        };
        let moved: Vec<f32> = theta
            .iter()
            .zip(&step)
            .map(|(theta, step)| bounds.clamp((f64::from(*theta) - step) as f32))
            .collect();
        let tried = Tolerance {
            rows,
            loss: before,
            gradient_norm,
            damping,
            predicted_decrease,
            achieved_decrease: before - loss.at(&program, &moved),
        };
        let better = |b: Tolerance| tried.achieved_decrease > b.achieved_decrease;
        if tried.achieved_decrease.is_finite() && best.is_none_or(better) {
            best = Some(tried);
        }
    }
    best.ok_or(SpecError::NoCurvature)
}

/// Gradient and information of all training samples, in packed order.
struct Curvature {
    gradient: Vec<f64>,
    /// Row-major; what is left of the diagonal is not used.
    information: Vec<f64>,
    level: Level,
}

impl Curvature {
    fn new(
        program: &Program,
        params: &[f32],
        likelihood: Likelihood,
        bounds: Bounds,
        train: &Samples,
    ) -> Self {
        let (p, level) = (params.len(), program.level());
        let mut information = Information::new(program.clone(), likelihood, bounds);
        let (mut total, mut upper) = (vec![0.0; p], vec![0.0; p * p]);
        let all: Vec<u32> = (0..train.n() as u32).collect();
        let table = Table::new(train);
        for rows in all.chunks(ROWS_AT_ONCE) {
            let share = rows.len() as f64 / train.n() as f64;
            let mut gradient =
                Gradient::new(program.clone(), likelihood, bounds.output, rows.len());
            gradient.gather(&table, rows);
            gradient.compute(params);
            for (sum, g) in total.iter_mut().zip(Lane::flatten(gradient.total())) {
                *sum += share * f64::from(*g);
            }
            if !matches!(likelihood, Likelihood::Energy(_)) {
                for unit in 0..likelihood.outputs() {
                    let blend = Blend { keep: 1.0, share };
                    information.blend(
                        params,
                        gradient.batch(),
                        Probe::Unit(unit),
                        blend,
                        &mut upper,
                    );
                }
            }
        }
        if let Likelihood::Energy(energy) = likelihood {
            // The nodes carry all of it.
            let nodes = Strips {
                x: node_strips(energy),
                ..Strips::default()
            };
            let blend = Blend {
                keep: 0.0,
                share: 1.0,
            };
            information.blend(params, &nodes, Probe::Unit(0), blend, &mut upper);
        }
        Self {
            gradient: total,
            information: upper,
            level,
        }
    }

    /// The damped step and the decrease that the quadratic model predicts for it.
    fn step(&self, damping: f64) -> Option<(Vec<f64>, f64)> {
        let p = self.gradient.len();
        let mut cholesky = Cholesky::new(p, self.level);
        if !cholesky.factor(&self.information, damping) {
            return None;
        }
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let mut v = self.gradient.clone();
        cholesky.solve(&mut v);
        // v^T F v, each product of two coefficients once.
        let products = (0..p).map(|i| {
            let row = &self.information[i * p..][..p];
            v[i] * (row[i] * v[i] + 2.0 * dot(&row[i + 1..], &v[i + 1..]))
        });
        let products: Vec<f64> = products.collect();
        let predicted = dot(&self.gradient, &v) - 0.5 * sum(&products);
        Some((v, predicted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_likelihood::Gaussian;
    use loopfit_model::{Network, Tying, init};
    use loopfit_numerics::stream::Stream;

    /// A network whose only active part is its last affine map is a linear model, so that one
    /// step with little damping goes to the least squares solution.
    #[test]
    fn one_step_solves_a_linear_model() {
        let network = Network::ffn(1, 1, 1, 1, Tying::Single).unwrap();
        let mut values = init::fresh(&network, 0.0, Stream::new(1)).into_values();
        let layout = network.layout();
        let at = |name: &str| layout.get(name).unwrap().offset;
        // State x, a dead hidden unit, output 0.3 x + 0.1.
        for (name, value) in [
            ("input.weight", 1.0),
            ("input.bias", 0.0),
            ("block.0.w1", 0.0),
            ("block.0.b1", -1.0),
            ("block.0.w2", 0.0),
            ("block.0.b2", 0.0),
            ("output.weight", 0.3),
            ("output.bias", 0.1),
        ] {
            values[at(name)] = value;
        }
        let parameters = Parameters::new(network, values).unwrap();
        let x: Vec<f32> = (0..200).map(|i| i as f32 / 100.0 - 1.0).collect();
        let y = x.iter().map(|x| 0.5 * x - 0.25).collect();
        let train = Samples::new(1, x, y).unwrap();
        let likelihood = Likelihood::Gaussian(Gaussian::squared_error());
        let got = tolerance(&parameters, likelihood, Bounds::default(), &train).unwrap();
        let constant = 0.5 * (2.0 * std::f64::consts::PI * 0.5).ln();
        let loss = got.loss - constant;
        assert!(loss > 0.1, "{got:?}");
        assert!(
            (got.predicted_decrease - loss).abs() < 0.02 * loss,
            "{got:?}"
        );
        assert!(got.achieved_decrease > 0.98 * loss, "{got:?}");
        assert_eq!(got.rows, 200);
    }

    /// The same with the network that is one.
    #[test]
    fn one_step_solves_an_affine_network() {
        let parameters = Parameters::new(Network::affine(1, 1, 1).unwrap(), vec![0.3, 0.1]);
        let x: Vec<f32> = (0..200).map(|i| i as f32 / 100.0 - 1.0).collect();
        let y = x.iter().map(|x| 0.5 * x - 0.25).collect();
        let train = Samples::new(1, x, y).unwrap();
        let likelihood = Likelihood::Gaussian(Gaussian::squared_error());
        let got = tolerance(&parameters.unwrap(), likelihood, Bounds::default(), &train).unwrap();
        let loss = got.loss - 0.5 * (2.0 * std::f64::consts::PI * 0.5).ln();
        assert!(
            (got.predicted_decrease / loss - 1.0).abs() < 1e-4,
            "{got:?}"
        );
        assert!((got.achieved_decrease / loss - 1.0).abs() < 1e-4, "{got:?}");
    }

    #[test]
    fn large_networks_are_refused() {
        let network = Network::ffn(1, 1, 60, 40, Tying::Single).unwrap();
        assert!(network.count() > MAX_SCORING_PARAMETERS);
        let parameters = init::fresh(&network, 1.0, Stream::new(1));
        let train = Samples::new(1, vec![0.0], vec![0.0]).unwrap();
        let likelihood = Likelihood::Gaussian(Gaussian::squared_error());
        let got = tolerance(&parameters, likelihood, Bounds::default(), &train);
        assert_eq!(
            got,
            Err(SpecError::ScoringSize(parameters.network().count()))
        );
    }
}
