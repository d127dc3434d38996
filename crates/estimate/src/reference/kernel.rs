//! Penalised regression in the space of a kernel.

use super::basis::{Basis, Learnt, Metric, Radial};
use super::loss::Loss;
use super::panels::Panels;
use super::{Fold, Table};
use loopfit_numerics::cholesky::Cholesky;
use loopfit_numerics::lanes::Level;
use loopfit_numerics::stream::Stream;
use rayon::prelude::*;

/// Added to the diagonal of a system, relative to its mean: what rounding takes away.
const JITTER: f64 = 1e-13;
/// Steps of a descent at most.
const STEPS: usize = 40;
/// Descents end when a step gains less than this for each row.
const SMALLEST_STEP: f64 = 1e-6;

/// One fit after the other, each in a metric that the one before has learnt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) steps: Vec<Step>,
}

/// A fit in the space of one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// How the metric is learnt from the step before; the first step has a plain one.
    pub(super) learnt: Learnt,
    pub(super) radial: Radial,
    /// The bandwidth, as a multiple of the root mean square distance of two rows.
    pub(super) factor: f64,
    /// The penalty on the square of the norm.
    pub(super) ridge: f64,
}

/// A function in the space of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    basis: Basis,
    constants: Vec<f64>,
    /// Weights of the functions of the basis, for each output.
    weights: Vec<Vec<f64>>,
}

impl Expansion {
    /// Row-major outputs at row-major inputs.
    pub(super) fn outputs(&self, x: &[f32]) -> Vec<f64> {
        interleaved(&self.basis.values(x), &self.constants, &self.weights)
    }
}

fn interleaved(values: &Panels, constants: &[f64], weights: &[Vec<f64>]) -> Vec<f64> {
    let columns: Vec<Vec<f64>> = weights.iter().map(|w| values.times(w)).collect();
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows)
        .flat_map(|i| columns.iter().zip(constants).map(move |(f, c)| c + f[i]))
        .collect()
}

/// A kernel at rows with targets: all that fits with any penalty need.
pub(super) struct Design {
    pub(super) basis: Basis,
    /// What is fitted; squares stand in for the absolute loss.
    loss: Loss,
    y: Vec<f64>,
    constants: Vec<f64>,
    values: Panels,
    at_centres: Vec<f64>,
    /// `K^T K`; none if every row is a centre and the loss is squared.
    gram: Option<Vec<f64>>,
}

impl Design {
    pub(super) fn new(table: &Table<'_>, rows: &[u32], basis: Basis) -> Self {
        let loss = match table.loss {
            Loss::Absolute => Loss::Squared,
            loss => loss,
        };
        let y: Vec<f64> = rows.iter().map(|row| table.y(*row)).collect();
        let values = basis.values(&table.rows(rows));
        let exact = loss == Loss::Squared && basis.len() == rows.len();
        Self {
            gram: (!exact).then(|| values.gram()),
            at_centres: basis.at_centres(),
            constants: loss.constants(&y),
            values,
            loss,
            y,
            basis,
        }
    }

    /// Weights of the functions of the basis that minimise the penalised loss, from a start.
    ///
    /// # Formula
    /// `sum_i loss(y_i, c + (K a)_i) + lambda / 2 a^T Q a`, where `K` has the values of the
    /// functions at the rows and `Q` those at the centres. Squared loss: `a = (K^T K + lambda
    /// Q)^-1 K^T (y - c)`, or `a = (Q + lambda I)^-1 (y - c)` if every row is a centre. Other
    /// losses: steps `-(b K^T K + lambda Q)^-1` times the gradient with `b` the bound on the
    /// curvature, so that each lowers the loss, with momentum that starts afresh where it
    /// points uphill.
    ///
    /// # Reference
    /// C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press
    /// 2006, equations (2.25) and (8.14); B. O'Donoghue, E. Candès, Adaptive restart for
    /// accelerated gradient schemes, Found. Comput. Math. 15 (2015) 715-732.
    pub(super) fn solve(&self, ridge: f64, start: Option<&[Vec<f64>]>) -> Vec<Vec<f64>> {
        let (m, outputs) = (self.basis.len(), self.constants.len());
        let Some(gram) = &self.gram else {
            let centred = self.y.iter().map(|y| y - self.constants[0]);
            let mut weights: Vec<f64> = centred.collect();
            self.factored(&self.at_centres, ridge).solve(&mut weights);
            return vec![weights];
        };
        let bound = self.loss.curvature_bound();
        let terms = gram.iter().zip(&self.at_centres);
        let matrix: Vec<f64> = terms.map(|(g, q)| bound * g + ridge * q).collect();
        let system = self.factored(&matrix, 0.0);
        let mut weights = start.map_or_else(|| vec![vec![0.0; m]; outputs], <[_]>::to_vec);
        let mut ahead = weights.clone();
        let mut momentum = 1.0f64;
        let (mut slope, mut curvature) = (vec![0.0; outputs], vec![0.0; outputs]);
        let mut slopes = vec![vec![0.0; self.y.len()]; outputs];
        for _ in 0..STEPS {
            let f = interleaved(&self.values, &self.constants, &ahead);
            for (i, f) in f.chunks(outputs).enumerate() {
                self.loss.slopes(self.y[i], f, &mut slope, &mut curvature);
                for (slopes, slope) in slopes.iter_mut().zip(&slope) {
                    slopes[i] = *slope;
                }
            }
            let next = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let (mut gains, mut uphill) = (0.0, 0.0);
            let mut moves = Vec::with_capacity(outputs);
            for k in 0..outputs {
                let mut gradient = self.values.transposed_times(&slopes[k]);
                let q = self.at_centres.chunks(m);
                for (g, q) in gradient.iter_mut().zip(q) {
                    *g += ridge * dot(q, &ahead[k]);
                }
                let mut step = gradient.clone();
                system.solve(&mut step);
                gains += dot(&step, &gradient);
                let moved: Vec<f64> = (0..m).map(|j| ahead[k][j] - step[j] - weights[k][j]).collect();
                uphill += dot(&gradient, &moved);
                moves.push(moved);
            }
            let carry = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / next };
            momentum = if uphill > 0.0 { 1.0 } else { next };
            for ((weights, ahead), moved) in weights.iter_mut().zip(&mut ahead).zip(&moves) {
                for j in 0..m {
                    weights[j] += moved[j];
                    ahead[j] = weights[j] + carry * moved[j];
                }
            }
            // A squared loss is its own bound: one step is all.
            if self.loss == Loss::Squared || gains < SMALLEST_STEP * self.y.len() as f64 {
                break;
            }
        }
        weights
    }

    fn factored(&self, matrix: &[f64], damping: f64) -> Cholesky {
        let m = self.basis.len();
        let mean = (0..m).map(|i| matrix[i * m + i]).sum::<f64>() / m as f64;
        let mut cholesky = Cholesky::new(m, Level::fastest());
        let mut jitter = JITTER * mean.max(f64::MIN_POSITIVE);
        while !cholesky.factor(matrix, damping + jitter) {
            jitter *= 10.0;
            assert!(jitter < 1e6 * mean, "a kernel's matrix is positive");
        }
        cholesky
    }

    /// The function with these weights.
    pub(super) fn expansion(self, weights: Vec<Vec<f64>>) -> Expansion {
        Expansion {
            basis: self.basis,
            constants: self.constants,
            weights,
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let (a_parts, b_parts) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_parts.remainder().iter().zip(b_parts.remainder());
    let rest: f64 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        for k in 0..8 {
            parts[k] += a[k] * b[k];
        }
    }
    parts.iter().sum::<f64>() + rest
}

/// Fits all steps of a setting to rows, the last one with `last` centres and those before it
/// with `before`.
pub(super) fn fit(
    table: &Table<'_>,
    rows: &[u32],
    setting: &Setting,
    before: usize,
    last: usize,
    stream: Stream,
) -> Expansion {
    let mut metric = Metric::plain(table.d);
    for (i, step) in setting.steps.iter().enumerate() {
        let m = if i + 1 == setting.steps.len() { last } else { before };
        let basis = Basis::new(table, rows, m, metric, step.radial, step.factor, stream);
        let design = Design::new(table, rows, basis);
        let weights = design.solve(step.ridge, None);
        let Some(next) = setting.steps.get(i + 1) else {
            return design.expansion(weights);
        };
        metric = design.basis.learn(table, rows, &weights, next.learnt);
    }
    unreachable!("a setting has a step")
}

/// Mean losses over the held-out rows of all folds for each kernel and each penalty, and the
/// folds' metrics going in; none if stopped.
pub(super) fn compare(
    table: &Table<'_>,
    folds: &[Fold],
    metrics: &[Metric],
    kernels: &[(Radial, f64)],
    ridges: &[f64],
    centres: usize,
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Vec<f64>>> {
    let jobs: Vec<(usize, usize)> = (0..kernels.len())
        .flat_map(|kernel| (0..folds.len()).map(move |fold| (kernel, fold)))
        .collect();
    let outputs = table.loss.outputs();
    let sums: Vec<Option<Vec<f64>>> = jobs
        .par_iter()
        .map(|(kernel, fold)| {
            if stop() {
                return None;
            }
            let (radial, factor) = kernels[*kernel];
            let Fold { kept, held } = &folds[*fold];
            let metric = metrics[*fold].clone();
            let basis = Basis::new(table, kept, centres, metric, radial, factor, stream);
            let held_values = basis.values(&table.rows(held));
            let design = Design::new(table, kept, basis);
            let mut weights: Option<Vec<Vec<f64>>> = None;
            let sums = ridges.iter().map(|ridge| {
                let solved = design.solve(*ridge, weights.as_deref());
                let f = interleaved(&held_values, &design.constants, &solved);
                weights = Some(solved);
                let losses = f.chunks(outputs).zip(held).map(|(f, row)| table.loss.value(table.y(*row), f));
                losses.sum::<f64>()
            });
            Some(sums.collect())
        })
        .collect();
    let sums: Vec<Vec<f64>> = sums.into_iter().collect::<Option<_>>()?;
    let held: usize = folds.iter().map(|fold| fold.held.len()).sum();
    let means = sums.chunks(folds.len()).map(|of_kernel| {
        let mean = |r: usize| of_kernel.iter().map(|sums| sums[r]).sum::<f64>() / held as f64;
        (0..ridges.len()).map(mean).collect()
    });
    Some(means.collect())
}
