//! Penalised regression in the space of a kernel.

use super::basis::{Basis, Learnt, Metric, Radial};
use super::kernels::FEW;
use super::loss::Loss;
use super::panels::Panels;
use super::{Table, thinned};
use loopfit_numerics::cholesky::Cholesky;
use loopfit_numerics::lanes::Level;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;

/// Added to the diagonal of a system, relative to its mean: what rounding takes away.
const JITTER: f64 = 1e-13;
/// Steps of a descent at most.
pub(super) const STEPS: usize = 100;
/// Rows whose outputs are computed at a time.
const CHUNK: usize = 2048;
/// Rows that a metric is learnt from, at most.
const METRIC_ROWS: usize = 3000;
/// Descents end when a step gains less than this for each row.
const SMALLEST_STEP: f64 = 1e-5;

/// One fit after the other, each in a metric that the one before has learnt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    /// Fits of squares, for their metrics.
    pub(super) before: Vec<Step>,
    /// The fit of the loss.
    pub(super) last: Step,
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
        let chunks = x.chunks(CHUNK * self.basis.inputs());
        chunks
            .flat_map(|x| outputs(&self.basis.values(x), &self.constants, &self.weights))
            .collect()
    }
}

/// Row-major outputs from the values of a basis.
pub(super) fn outputs(values: &Panels, constants: &[f64], weights: &[Vec<f64>]) -> Vec<f64> {
    let columns: Vec<Vec<f64>> = weights.iter().map(|w| values.times(w)).collect();
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows)
        .flat_map(|i| columns.iter().zip(constants).map(move |(f, c)| c + f[i]))
        .collect()
}

/// What is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// Squares of the distances to the targets, or to the indicators of the classes: one linear
    /// system for all outputs.
    Squares,
    /// The loss; squares stand in for the absolute one.
    Loss,
}

impl Aim {
    /// What outputs at a row cost.
    pub(super) fn cost(self, table: &Table<'_>, row: u32, f: &[f64]) -> f64 {
        match self {
            Self::Loss => table.loss.value(table.y(row), f),
            Self::Squares => {
                let pairs = table.targets(row).zip(f);
                pairs.map(|(y, f)| 0.5 * (f - y) * (f - y)).sum()
            }
        }
    }
}

/// A kernel at rows with targets: all that fits with any penalty need.
pub(super) struct Design {
    pub(super) basis: Basis,
    pub(super) constants: Vec<f64>,
    loss: Loss,
    /// Targets as the table has them.
    y: Vec<f64>,
    /// What squares are of: targets less constants, for each output; none for other losses.
    centred: Option<Vec<Vec<f64>>>,
    values: Panels,
    at_centres: Vec<f64>,
    /// `K^T K`; none for squares if every row is a centre.
    gram: Option<Vec<f64>>,
}

impl Design {
    pub(super) fn new(table: &Table<'_>, rows: &[u32], basis: Basis, aim: Aim) -> Self {
        let y: Vec<f64> = rows.iter().map(|row| table.y(*row)).collect();
        let squares = aim == Aim::Squares || table.loss.by_squares();
        let (constants, centred) = if squares {
            let mut columns = vec![Vec::with_capacity(rows.len()); table.loss.outputs()];
            for row in rows {
                for (column, y) in columns.iter_mut().zip(table.targets(*row)) {
                    column.push(y);
                }
            }
            let means: Vec<f64> = columns.iter().map(|column| mean(column)).collect();
            for (column, mean) in columns.iter_mut().zip(&means) {
                column.iter_mut().for_each(|y| *y -= mean);
            }
            (means, Some(columns))
        } else {
            (table.loss.constants(&y), None)
        };
        let values = basis.values(&table.rows(rows));
        let exact = squares && basis.len() == rows.len();
        Self {
            gram: (!exact).then(|| values.gram()),
            at_centres: basis.at_centres(),
            loss: table.loss,
            basis,
            constants,
            y,
            centred,
            values,
        }
    }

    /// Weights of the functions of the basis, for each output, that minimise the penalised loss;
    /// a descent goes so many steps from a start.
    ///
    /// # Formula
    /// `sum_i loss(y_i, c + (K a)_i) + lambda / 2 a^T Q a`, where `K` has the values of the
    /// functions at the rows and `Q` those at the centres. Squares: `a = (K^T K + lambda Q)^-1
    /// K^T (y - c)`, or `a = (Q + lambda I)^-1 (y - c)` if every row is a centre. Other losses
    /// descend.
    ///
    /// # Reference
    /// C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press
    /// 2006, equations (2.25) and (8.14).
    pub(super) fn solve(
        &self,
        ridge: f64,
        start: Option<&[Vec<f64>]>,
        steps: usize,
    ) -> Vec<Vec<f64>> {
        let bound = self.loss.curvature_bound();
        let mixed = |gram: &[f64], bound: f64| -> Vec<f64> {
            let terms = gram.iter().zip(&self.at_centres);
            terms.map(|(g, q)| bound * g + ridge * q).collect()
        };
        match (&self.centred, &self.gram) {
            (Some(columns), None) => {
                let system = self.factored(&self.at_centres, ridge);
                let mut weights = columns.clone();
                weights.iter_mut().for_each(|column| system.solve(column));
                weights
            }
            (Some(columns), Some(gram)) => {
                let system = self.factored(&mixed(gram, 1.0), 0.0);
                let solved = |column: &Vec<f64>| {
                    let mut weights = self.values.transposed_times(column);
                    system.solve(&mut weights);
                    weights
                };
                columns.iter().map(solved).collect()
            }
            (None, gram) => {
                let gram = gram.as_deref().expect("made where there are no squares");
                let system = self.factored(&mixed(gram, bound), 0.0);
                let zero = || vec![vec![0.0; self.basis.len()]; self.constants.len()];
                let start = start.map_or_else(zero, <[_]>::to_vec);
                self.descend(&system, ridge, start, steps)
            }
        }
    }

    /// Goes down the penalised loss from a start.
    ///
    /// # Formula
    /// Steps `-(b K^T K + lambda Q)^-1` times the gradient with `b` the bound on the curvature,
    /// so that each lowers the loss, with momentum that starts afresh where it points uphill.
    ///
    /// # Reference
    /// B. O'Donoghue, E. Candès, Adaptive restart for accelerated gradient schemes, Found.
    /// Comput. Math. 15 (2015) 715-732.
    fn descend(
        &self,
        system: &Cholesky,
        ridge: f64,
        start: Vec<Vec<f64>>,
        steps: usize,
    ) -> Vec<Vec<f64>> {
        let (m, width) = (self.basis.len(), self.constants.len());
        let mut weights = start;
        let mut ahead = weights.clone();
        let mut momentum = 1.0f64;
        let (mut slope, mut curvature) = (vec![0.0; width], vec![0.0; width]);
        let mut slopes = vec![vec![0.0; self.y.len()]; width];
        for _ in 0..steps {
            let f = outputs(&self.values, &self.constants, &ahead);
            for (i, f) in f.chunks(width).enumerate() {
                self.loss.slopes(self.y[i], f, &mut slope, &mut curvature);
                for (slopes, slope) in slopes.iter_mut().zip(&slope) {
                    slopes[i] = *slope;
                }
            }
            let (mut gains, mut uphill) = (0.0, 0.0);
            let mut moves = Vec::with_capacity(width);
            for k in 0..width {
                let mut gradient = self.values.transposed_times(&slopes[k]);
                for (g, q) in gradient.iter_mut().zip(self.at_centres.chunks(m)) {
                    *g += ridge * dot(q, &ahead[k]);
                }
                let mut step = gradient.clone();
                system.solve(&mut step);
                gains += dot(&step, &gradient);
                let moved = |j: usize| ahead[k][j] - step[j] - weights[k][j];
                let moved: Vec<f64> = (0..m).map(moved).collect();
                uphill += dot(&gradient, &moved);
                moves.push(moved);
            }
            let next = if uphill > 0.0 {
                1.0
            } else {
                0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt())
            };
            let carry = if uphill > 0.0 {
                0.0
            } else {
                (momentum - 1.0) / next
            };
            momentum = next;
            for ((weights, ahead), moved) in weights.iter_mut().zip(&mut ahead).zip(&moves) {
                for j in 0..m {
                    weights[j] += moved[j];
                    ahead[j] = weights[j] + carry * moved[j];
                }
            }
            if gains < SMALLEST_STEP * self.y.len() as f64 {
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

/// Fits all steps of a setting to rows, the last one with at most so many centres.
pub(super) fn fit(
    table: &Table<'_>,
    rows: &[u32],
    setting: &Setting,
    centres: usize,
    stream: Stream,
) -> Expansion {
    let Setting { before, last } = setting;
    let mut metric = Metric::plain(table.d);
    let some = thinned(rows, METRIC_ROWS, stream.child("metric"));
    for (step, next) in before.iter().zip(before.iter().skip(1).chain([last])) {
        let basis = Basis::new(table, &some, FEW, metric, step.radial, step.factor, stream);
        let design = Design::new(table, &some, basis, Aim::Squares);
        let weights = design.solve(step.ridge, None, STEPS);
        metric = design.basis.learn(table, &some, &weights, next.learnt);
    }
    let basis = Basis::new(
        table,
        rows,
        centres,
        metric,
        last.radial,
        last.factor,
        stream,
    );
    let design = Design::new(table, rows, basis, Aim::Loss);
    let weights = design.solve(last.ridge, None, STEPS);
    design.expansion(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(table: &Table<'_>, rows: &[u32], m: usize, aim: Aim) -> Design {
        let metric = Metric::plain(table.d);
        let basis = Basis::new(
            table,
            rows,
            m,
            metric,
            Radial::Gaussian,
            0.5,
            Stream::new(2),
        );
        Design::new(table, rows, basis, aim)
    }

    /// Two rows a distance `r` apart: their root mean square distance is `r / sqrt(2)`, so that the
    /// kernel of half of that is `e^{-4}` between them; the system is solved by hand.
    #[test]
    fn two_rows_are_solved_by_hand() {
        let table = Table {
            x: &[1.0, 3.0],
            d: 1,
            targets: &[1.0, -1.0],
            loss: Loss::Squared,
        };
        let found = design(&table, &[0, 1], 2, Aim::Loss).solve(0.5, None, 1);
        // Diagonal 2, the rest 1 + e^{-4}: the difference of the weights has eigenvalue 1 - e^{-4}.
        let weight = 1.0 / (1.0 - (-4.0f64).exp() + 0.5);
        assert!((found[0][0] - weight).abs() < 1e-11 && (found[0][1] + weight).abs() < 1e-11);
    }

    fn wave(n: usize) -> (Vec<f32>, Vec<f32>) {
        let x: Vec<f32> = (0..n).map(|i| i as f32 / n as f32 * 6.0).collect();
        let y = x.iter().map(|x| x.sin()).collect();
        (x, y)
    }

    #[test]
    fn almost_no_penalty_interpolates() {
        let (x, y) = wave(40);
        let table = Table {
            x: &x,
            d: 1,
            targets: &y,
            loss: Loss::Squared,
        };
        let rows: Vec<u32> = (0..40).collect();
        let design = design(&table, &rows, 40, Aim::Loss);
        let weights = design.solve(1e-10, None, 1);
        let f = design.expansion(weights).outputs(&x);
        for (f, y) in f.iter().zip(&y) {
            assert!((f - f64::from(*y)).abs() < 1e-6);
        }
    }

    /// Where every row is a centre, both systems have the same function as their answer.
    #[test]
    fn the_system_of_the_centres_agrees_with_that_of_the_rows() {
        let (x, y) = wave(30);
        let table = Table {
            x: &x,
            d: 1,
            targets: &y,
            loss: Loss::Squared,
        };
        let rows: Vec<u32> = (0..30).collect();
        let exact = design(&table, &rows, 30, Aim::Loss);
        let mut centres = design(&table, &rows, 30, Aim::Loss);
        centres.gram = Some(centres.values.gram());
        let (a, b) = (exact.solve(0.1, None, 1), centres.solve(0.1, None, 1));
        let (a, b) = (
            exact.expansion(a).outputs(&x),
            centres.expansion(b).outputs(&x),
        );
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }

    /// At the minimum the gradient `K^T slope + lambda Q a` is zero, with one class or with three.
    #[test]
    fn descents_end_where_the_gradient_vanishes() {
        let (x, y) = wave(60);
        for loss in [Loss::Logistic, Loss::Softmax(3)] {
            let class =
                |y: &f32| ((y * 1.4 + 1.5).floor()).clamp(0.0, loss.outputs().max(2) as f32 - 1.0);
            let y: Vec<f32> = y.iter().map(class).collect();
            let table = Table {
                x: &x,
                d: 1,
                targets: &y,
                loss,
            };
            let rows: Vec<u32> = (0..60).collect();
            let design = design(&table, &rows, 20, Aim::Loss);
            let mut weights: Option<Vec<Vec<f64>>> = None;
            for _ in 0..30 {
                weights = Some(design.solve(0.1, weights.as_deref(), STEPS));
            }
            let weights = weights.unwrap();
            let width = loss.outputs();
            let f = outputs(&design.values, &design.constants, &weights);
            let mut slopes = vec![vec![0.0; 60]; width];
            let (mut slope, mut curvature) = (vec![0.0; width], vec![0.0; width]);
            for (i, f) in f.chunks(width).enumerate() {
                loss.slopes(table.y(i as u32), f, &mut slope, &mut curvature);
                (0..width).for_each(|k| slopes[k][i] = slope[k]);
            }
            for (slopes, weights) in slopes.iter().zip(&weights) {
                let gradient = design.values.transposed_times(slopes);
                for (g, q) in gradient.iter().zip(design.at_centres.chunks(20)) {
                    assert!((g + 0.1 * dot(q, weights)).abs() < 0.02);
                }
            }
        }
    }
}
