//! Penalised maximum likelihood to convergence: Levenberg-Marquardt on the whole of the rows, with
//! strengths of the penalty by evidence.
// Plain indices: several arrays are walked together, and the loops must stay simple enough for vectors.
#![allow(clippy::needless_range_loop)]

mod zeros;

use crate::curvature::{Curvature, Objective};
use crate::prior::Prior;
use crate::rows::Kind;
use loopfit_model::{Bounds, Network, Role};
use loopfit_numerics::cholesky::Cholesky;
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;

/// Largest prior precision.
const LARGEST_PRECISION: f64 = 1e5;
/// Damping at the start, relative to the matrix's diagonal.
const FIRST_DAMPING: f64 = 1e-2;
/// Damping beyond which no step helps.
const LARGEST_DAMPING: f64 = 1e12;
/// Relative decrease of the objective that counts as none.
const NO_DECREASE: f64 = 1e-7;
/// Part of the mean diagonal that each coefficient's own scale has at least.
const LEAST_SCALE: f64 = 1e-3;

/// A point on the way up, with all that the next step needs.
#[derive(Clone, Debug)]
pub(crate) struct Climb<'a> {
    objective: &'a Objective<'a>,
    pub(crate) theta: Vec<f64>,
    pub(crate) prior: Prior,
    pub(crate) multiplier: f64,
    curvature: Curvature,
    damping: f64,
    growth: f64,
    /// Negative log evidence at the last look, up to a constant of the rows.
    pub(crate) surprise: f64,
}

impl<'a> Climb<'a> {
    pub(crate) fn new(objective: &'a Objective<'a>, theta: Vec<f64>, mut prior: Prior) -> Self {
        prior.centre = objective.rows.centre();
        let curvature = objective.curvature(&theta, prior.kept());
        Self {
            objective,
            theta,
            prior,
            multiplier: 1.0,
            curvature,
            damping: FIRST_DAMPING,
            growth: 2.0,
            surprise: f64::INFINITY,
        }
    }

    /// The sum of losses.
    pub(crate) fn loss(&self) -> f64 {
        self.curvature.loss
    }

    /// Loss and penalty.
    pub(crate) fn value(&self) -> f64 {
        let penalty = self.prior.penalty(self.multiplier / self.prior.beta);
        self.curvature.loss + penalty.of(&self.theta)
    }

    /// Up to `steps` steps, with a look at the evidence after every `every`th; fewer if the objective
    /// stops falling. Whether it did.
    pub(crate) fn run(
        &mut self,
        steps: usize,
        every: Option<usize>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let mut still = 0;
        for step in 0..steps {
            if stop() {
                return false;
            }
            let before = self.value();
            let moved = self.step();
            let fell = before - self.value();
            let settled = match every {
                Some(every) if (step + 1) % every == 0 => self.weigh() < 0.05,
                None => true,
                _ => false,
            };
            if !moved || fell <= NO_DECREASE * before.abs() {
                still += 1;
                if settled && (!moved || still >= 3) {
                    return true;
                }
            } else {
                still = 0;
            }
        }
        false
    }

    /// One step downhill, with as much damping as it takes; whether there was one.
    fn step(&mut self) -> bool {
        let penalty = self.prior.penalty(self.multiplier / self.prior.beta);
        let Curvature {
            loss,
            gradient,
            matrix,
        } = &self.curvature;
        let value = loss + penalty.of(&self.theta);
        let mut gradient = gradient.clone();
        penalty.add_gradient(&self.theta, &mut gradient);
        let mut damped = matrix.clone();
        penalty.add_matrix(&mut damped);
        let kept = self.prior.kept();
        let p = kept.len();
        let bound = largest_parameter();
        // Coefficients at their bound that would leave it stay.
        let held = |i: &usize| {
            let theta = self.theta[kept[*i]];
            theta.abs() >= bound && theta * gradient[*i] < 0.0
        };
        let held: Vec<usize> = (0..p).filter(held).collect();
        for i in held {
            gradient[i] = 0.0;
            (0..i).for_each(|j| damped[j * p + i] = 0.0);
            damped[i * p + i + 1..(i + 1) * p].fill(0.0);
        }
        let mean = (0..p).map(|i| damped[i * p + i]).sum::<f64>() / p as f64;
        if !mean.is_finite() {
            return false;
        }
        let scale: Vec<f64> = (0..p)
            .map(|i| damped[i * p + i] + LEAST_SCALE * mean)
            .collect();
        let plain: Vec<f64> = (0..p).map(|i| damped[i * p + i]).collect();
        let mut cholesky = Cholesky::new(p, self.objective.level());
        while self.damping <= LARGEST_DAMPING && !self.objective.is_stopped() {
            for i in 0..p {
                damped[i * p + i] = self.damping.mul_add(scale[i], plain[i]);
            }
            if cholesky.factor(&damped, 0.0) {
                let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
                cholesky.solve(&mut step);
                let mut theta = self.theta.clone();
                (0..p).for_each(|i| {
                    theta[kept[i]] = (theta[kept[i]] + step[i]).clamp(-bound, bound);
                });
                let new = self.objective.loss(&theta) + penalty.of(&theta);
                let expected = 0.5
                    * (0..p)
                        .map(|i| step[i] * (self.damping * scale[i]).mul_add(step[i], -gradient[i]))
                        .sum::<f64>();
                if new < value {
                    let gain = (value - new) / expected;
                    let cube = (2.0 * gain - 1.0) * (2.0 * gain - 1.0) * (2.0 * gain - 1.0);
                    self.damping = (self.damping * (1.0 - cube).max(1.0 / 3.0)).max(1e-10);
                    self.growth = 2.0;
                    self.theta = theta;
                    self.curvature = self.objective.curvature(&self.theta, self.prior.kept());
                    return true;
                }
                if expected <= 1e-14 * value.abs() {
                    return false;
                }
            }
            self.damping *= self.growth;
            self.growth *= 2.0;
        }
        self.damping = FIRST_DAMPING;
        self.growth = 2.0;
        false
    }

    /// A factor of `A`, among the coefficients that are not zero for good.
    fn factor(&self) -> Option<Cholesky> {
        if !self.curvature.is_known() {
            return None;
        }
        let mut a = self.curvature.matrix.clone();
        a.iter_mut().for_each(|v| *v *= self.prior.beta);
        self.prior.penalty(1.0).add_matrix(&mut a);
        let mut cholesky = Cholesky::new(self.prior.kept().len(), self.objective.level());
        cholesky.factor(&a, 0.0).then_some(cholesky)
    }

    /// Only these coefficients, in ascending places, are not zero for good from now on.
    pub(crate) fn keep(&mut self, kept: Vec<usize>) {
        self.prior.keep(kept);
        self.curvature = self.objective.curvature(&self.theta, self.prior.kept());
    }

    /// The posterior variance of each coefficient that is not zero for good, by Laplace's approximation.
    pub(crate) fn variances(&self) -> Option<Vec<f64>> {
        Some(self.factor()?.inverse_diagonal().0)
    }

    /// Sets the strengths of the prior by the evidence; the largest relative change.
    pub(crate) fn weigh(&mut self) -> f64 {
        let Some(factor) = self.factor() else {
            return 0.0;
        };
        let (inverse, log_det) = factor.inverse_diagonal();
        let prior = &self.prior;
        let least = self.objective.rows.kind.least_precision();
        let groups = prior.alpha.len();
        let size = prior.sizes();
        let square = prior.squares(&self.theta);
        let trace = prior.traces(&factor, &inverse);
        let mut alpha = prior.alpha.clone();
        let mut gamma = prior.free();
        for g in 0..groups {
            let own = (size[g] - prior.alpha[g] * trace[g]).clamp(0.0, size[g]);
            gamma += own;
            // A group that the rows say nothing about: keep its prior proper.
            alpha[g] = ((own + 1e-3) / (square[g] + 1e-9)).clamp(least, LARGEST_PRECISION);
        }
        let n = self.objective.rows.n as f64;
        let loss = self.curvature.loss.max(1e-12 * n);
        let freedom = (n - gamma).max(0.1 * n);
        let beta = match self.objective.rows.kind {
            Kind::Gaussian => freedom / (2.0 * loss),
            Kind::Laplace => freedom / loss,
            Kind::Poisson | Kind::Bernoulli | Kind::Multiclass => 1.0,
        };
        let changes = alpha
            .iter()
            .zip(&prior.alpha)
            .map(|(new, old)| (new / old - 1.0).abs());
        let change = changes.fold((beta / prior.beta - 1.0).abs(), f64::max);
        let n_log_beta = match self.objective.rows.kind {
            Kind::Gaussian => 0.5 * n * libm::log(prior.beta),
            Kind::Laplace => n * libm::log(prior.beta),
            Kind::Poisson | Kind::Bernoulli | Kind::Multiclass => 0.0,
        };
        self.surprise = prior.beta * self.curvature.loss - n_log_beta
            + 0.5 * log_det
            + (0..groups)
                .map(|g| 0.5 * (prior.alpha[g] * square[g] - size[g] * libm::log(prior.alpha[g])))
                .sum::<f64>();
        self.prior.alpha = alpha;
        self.prior.beta = beta;
        change
    }
}

/// The bound of a model's coefficients.
pub(crate) fn largest_parameter() -> f64 {
    f64::from(Bounds::default().parameter)
}

/// A random start: incoming weights of the given size, small outgoing ones.
pub(crate) fn start(network: &Network, size: f64, stream: Stream) -> Vec<f64> {
    let t = network.tying().iterations() as f64;
    let mut theta = Vec::with_capacity(network.count());
    for view in &network.layout() {
        let draws = stream.child(&view.name);
        let root = 1.0 / (view.fan_in.max(1) as f64).sqrt();
        let normal = |i: usize| draws.normal(i as u64);
        theta.extend((0..view.size()).map(|i| match view.role {
            Role::OutgoingWeight => 0.3 * root / t * normal(i),
            Role::OutgoingBias => 0.0,
            _ if view.name == "output.bias" => 0.0,
            _ if view.name.starts_with("output") => 0.3 * root * normal(i),
            _ if view.name == "input.weight" => root * normal(i),
            Role::Bias => size * (2.0 * draws.uniform(i as u64) - 1.0),
            _ => size * root * normal(i),
        }));
    }
    theta
}
