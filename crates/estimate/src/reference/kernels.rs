//! Which kernel: shapes, bandwidths, penalties and metrics, judged by the held-out rows of all
//! folds.

use super::basis::{Basis, Learnt, Metric, Radial};
use super::kernel::{Aim, Design, STEPS, Setting, Step, outputs};
use super::{Fold, Table};
use loopfit_numerics::stream::Stream;
use rayon::prelude::*;

/// Bandwidths that are tried first, as multiples of the root mean square distance of two rows.
const FACTORS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
/// Bandwidths that are tried under a learnt metric, relative to the best one before.
const CHANGES: [f64; 3] = [0.5, 1.0, 2.0];
/// Penalties for squared losses, in units of the variance of the target.
const RIDGES: [f64; 6] = [3.0, 0.5, 0.1, 0.02, 1e-3, 1e-5];
/// Penalties for losses of classes.
const CLASS_RIDGES: [f64; 7] = [3.0, 0.8, 0.2, 0.05, 0.01, 3e-3, 1e-3];
/// Steps towards the solution for each penalty, from the one before.
const PATH_STEPS: usize = 10;
/// Metrics that are learnt one from the other, at most.
const METRICS: usize = 3;
/// What a metric must take off the loss to be kept.
const WORTHWHILE: f64 = 0.998;
/// More inputs than this have weights but no directions.
const MOST_DIRECTIONS: usize = 100;

/// Bandwidths that are tried with more centres, relative to the best one with few: the more
/// centres, the less far each has to reach.
const SHORTER: [f64; 2] = [1.0, 0.6];
/// Penalties that are tried with more centres, relative to the best one with few: few centres
/// are a penalty of their own.
const HIGHER: [f64; 4] = [100.0, 10.0, 3.0, 1.0];

/// Centres while many kernels compete.
pub(super) const FEW: usize = 256;
/// Centres while few kernels compete by squares.
const MORE: usize = 600;
/// Values of functions of a basis, for all outputs, that a step towards other losses reads at
/// most while kernels compete.
const STEP_WORK: usize = 500_000;

/// What kernels compete on.
struct Contest<'a> {
    table: &'a Table<'a>,
    folds: &'a [Fold],
    stream: Stream,
    stop: &'a (dyn Fn() -> bool + Sync),
}

/// A kernel: how its metric is learnt, its shape and its bandwidth.
type Candidate = (Learnt, Radial, f64);

/// The setting with the lowest mean loss over the held-out rows; none if stopped. Shapes,
/// bandwidths and metrics compete by squares, with few centres; the penalty and a shorter
/// bandwidth by the loss itself, with more.
pub(super) fn choose(
    table: &Table<'_>,
    folds: &[Fold],
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Setting> {
    let contest = Contest {
        table,
        folds,
        stream,
        stop,
    };
    let plain = vec![vec![Metric::plain(table.d); folds.len()]];
    let kernels: Vec<Candidate> = [Radial::Matern, Radial::Gaussian]
        .into_iter()
        .flat_map(|radial| FACTORS.map(|factor| (Learnt::Weights, radial, factor)))
        .collect();
    let (mut best, mut loss) = contest.best(&kernels, &RIDGES, &plain, FEW, Aim::Squares)?;
    let mut steps = vec![best];
    let mut metrics = plain[0].clone();
    let learnt: &[Learnt] = match table.d {
        1 => &[],
        2..=MOST_DIRECTIONS => &[Learnt::Weights, Learnt::Directions],
        _ => &[Learnt::Weights],
    };
    for _ in 0..METRICS {
        if learnt.is_empty() {
            break;
        }
        let next = contest.learn(&best, &metrics, learnt)?;
        let kernels: Vec<Candidate> = learnt
            .iter()
            .flat_map(|learnt| CHANGES.map(|change| (*learnt, best.radial, best.factor * change)))
            .collect();
        let (step, lower) = contest.best(&kernels, &RIDGES, &next, FEW, Aim::Squares)?;
        if lower > WORTHWHILE * loss {
            break;
        }
        let which = learnt.iter().position(|l| *l == step.learnt);
        metrics.clone_from(&next[which.unwrap_or(0)]);
        (best, loss) = (step, lower);
        steps.push(step);
    }
    let mut last = steps.pop()?;
    let kernels = SHORTER.map(|shorter| (Learnt::Weights, last.radial, last.factor * shorter));
    let rows = folds.iter().map(|fold| fold.kept.len()).max()?;
    let metrics = [metrics];
    let better = if !table.loss.by_squares() {
        let centres = (STEP_WORK / (rows * table.loss.outputs())).clamp(FEW / 4, MORE);
        Some(contest.best(&kernels, &CLASS_RIDGES, &metrics, centres, Aim::Loss)?)
    } else if rows > FEW {
        let ridges = HIGHER.map(|higher| last.ridge * higher);
        Some(contest.best(&kernels, &ridges, &metrics, MORE, Aim::Loss)?)
    } else {
        None
    };
    if let Some((better, _)) = better {
        (last.factor, last.ridge) = (better.factor, better.ridge);
    }
    Some(Setting {
        before: steps,
        last,
    })
}

impl Contest<'_> {
    /// The kernel and the penalty with the lowest mean loss. `metrics` are those of the folds,
    /// for each way to learn them in the order of [`Learnt`].
    fn best(
        &self,
        kernels: &[Candidate],
        ridges: &[f64],
        metrics: &[Vec<Metric>],
        centres: usize,
        aim: Aim,
    ) -> Option<(Step, f64)> {
        let folds = self.folds;
        let jobs: Vec<(usize, usize)> = (0..kernels.len())
            .flat_map(|kernel| (0..folds.len()).map(move |fold| (kernel, fold)))
            .collect();
        let sums: Vec<Option<Vec<f64>>> = jobs
            .par_iter()
            .map(|(kernel, fold)| {
                let (learnt, radial, factor) = kernels[*kernel];
                let fold_and_metric = (&folds[*fold], metrics[learnt as usize][*fold].clone());
                let kernel = (radial, factor);
                let costs = || self.held_costs(fold_and_metric, kernel, ridges, centres, aim);
                (!(self.stop)()).then(costs)
            })
            .collect();
        let sums: Vec<Vec<f64>> = sums.into_iter().collect::<Option<_>>()?;
        let held: usize = folds.iter().map(|fold| fold.held.len()).sum();
        let mut best: Option<(Step, f64)> = None;
        for (sums, (learnt, radial, factor)) in sums.chunks(folds.len()).zip(kernels) {
            for (r, ridge) in ridges.iter().enumerate() {
                let loss = sums.iter().map(|sums| sums[r]).sum::<f64>() / held as f64;
                if best.is_none_or(|(_, lowest)| loss < lowest) {
                    let step = Step {
                        learnt: *learnt,
                        radial: *radial,
                        factor: *factor,
                        ridge: *ridge,
                    };
                    best = Some((step, loss));
                }
            }
        }
        best
    }

    /// Sums of the costs at the held-out rows of a fold, for each penalty.
    fn held_costs(
        &self,
        (fold, metric): (&Fold, Metric),
        (radial, factor): (Radial, f64),
        ridges: &[f64],
        centres: usize,
        aim: Aim,
    ) -> Vec<f64> {
        let table = self.table;
        let basis = Basis::new(
            table,
            &fold.kept,
            centres,
            metric,
            radial,
            factor,
            self.stream,
        );
        let held = basis.values(&table.rows(&fold.held));
        let design = Design::new(table, &fold.kept, basis, aim);
        let mut weights: Option<Vec<Vec<f64>>> = None;
        let sum = |ridge: &f64| {
            let solved = design.solve(*ridge, weights.as_deref(), PATH_STEPS);
            let f = outputs(&held, &design.constants, &solved);
            weights = Some(solved);
            let rows = f.chunks(table.loss.outputs()).zip(&fold.held);
            rows.map(|(f, row)| aim.cost(table, *row, f)).sum()
        };
        ridges.iter().map(sum).collect()
    }

    /// The metrics that fits to the folds suggest, for each way to learn them.
    fn learn(
        &self,
        step: &Step,
        metrics: &[Metric],
        learnt: &[Learnt],
    ) -> Option<Vec<Vec<Metric>>> {
        let table = self.table;
        let of_folds: Vec<Vec<Metric>> = self
            .folds
            .par_iter()
            .zip(metrics)
            .map(|(fold, metric)| {
                let (radial, factor) = (step.radial, step.factor);
                let basis = Basis::new(
                    table,
                    &fold.kept,
                    FEW,
                    metric.clone(),
                    radial,
                    factor,
                    self.stream,
                );
                let design = Design::new(table, &fold.kept, basis, Aim::Squares);
                let weights = design.solve(step.ridge, None, STEPS);
                let learn =
                    |learnt: &Learnt| design.basis.learn(table, &fold.kept, &weights, *learnt);
                learnt.iter().map(learn).collect()
            })
            .collect();
        if (self.stop)() {
            return None;
        }
        let way = |w: usize| of_folds.iter().map(|ways| ways[w].clone()).collect();
        Some((0..learnt.len()).map(way).collect())
    }
}
