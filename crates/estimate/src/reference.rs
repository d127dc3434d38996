//! What the rows support without any cap: a reference that shows what a cap costs.
//!
//! Two methods that store as many numbers as they like compete by the same folds as the capped
//! models, and the one with the lower mean loss over the held-out rows is the reference:
//!
//! - boosted trees (`boost`, `tree`, `bins`, `race`): regression trees on binned inputs, added
//!   one after the other as Newton steps of the loss. Strong where functions jump, level out or
//!   depend on few inputs at a time.
//! - a kernel (`kernel`, `basis`, `panels`, `kernels`): penalised regression on radial functions
//!   around the rows themselves, in a metric learnt from the gradients of fits before. Strong
//!   where functions are smooth.
//!
//! What a fit learns from targets, a metric included, it learns from the rows that its fold
//! keeps. Settings, the number of trees among them, are those with the lowest mean loss over the
//! held-out rows of folds; what is chosen is then fitted once more to each fold and to all rows.
//! So the loss of the best is a little lower than it would be on rows that took no part in the
//! choice, as it is for every choice by cross-validation.
//!
//! The same bits come out on any number of threads: folds and settings run in parallel, and sums
//! are taken in their order.
//!
//! # References
//! J. H. Friedman, Greedy function approximation: a gradient boosting machine, Ann. Statist. 29
//! (2001) 1189-1232. T. Chen, C. Guestrin, XGBoost: A Scalable Tree Boosting System, KDD 2016.
//! C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press 2006.

mod basis;
mod bins;
mod boost;
mod kernel;
mod kernels;
mod loss;
mod panels;
mod race;
mod tree;

use boost::{Binned, Ensemble};
use kernel::Expansion;
use loopfit_data::Samples;
use loopfit_likelihood::Likelihood;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;
use loss::Loss;
use rayon::prelude::*;

/// The number of rows at which fewer folds are enough to choose by.
const MANY_ROWS: usize = 1000;
/// Folds that are enough to choose by where rows are many.
const FEW_FOLDS: usize = 3;
/// Rows of all folds together that trees are chosen on, at most.
const TREE_ROWS: usize = 20_000;
/// Additions of the fits of chosen trees at most, about.
const TREE_WORK: f64 = 1e9;
/// Rows of all folds together that kernels are chosen on, at most.
const KERNEL_ROWS: usize = 4800;
/// Rows of a fit of a chosen kernel at most.
const KERNEL_FIT_ROWS: usize = 20_000;
/// Multiply-adds of a fit of a chosen kernel at most, about.
const KERNEL_WORK: f64 = 1e9;
/// Values of functions of a basis, for all outputs, that a step of a descent reads at most for
/// [`MANY_ROWS`] rows.
const STEP_WORK: f64 = 1e6;
/// Centres of a kernel at most, and rows of a fit at least.
const MOST_CENTRES: usize = 1000;

/// The stronger of two methods without a cap.
#[derive(Clone, Debug)]
pub struct Reference {
    /// `boosted trees` or `kernel`.
    pub name: &'static str,
    /// Mean loss over the held-out rows of all folds.
    pub cross_validation: f64,
    /// Loss of each held-out row, in the order of the folds.
    pub losses: Vec<f64>,
    model: Model,
}

#[derive(Clone, Debug)]
enum Model {
    Trees(Ensemble),
    Kernel(Expansion),
}

impl Model {
    fn outputs(&self, x: &[f32]) -> Vec<f64> {
        match self {
            Self::Trees(ensemble) => ensemble.outputs(x),
            Self::Kernel(expansion) => expansion.outputs(x),
        }
    }
}

impl Reference {
    /// Row-major outputs, at row-major inputs, of the model fitted to all rows.
    pub fn outputs(&self, x: &[f32]) -> Vec<f64> {
        self.model.outputs(x)
    }
}

/// Rows to explain.
#[derive(Clone, Copy, Debug)]
struct Table<'a> {
    x: &'a [f32],
    d: usize,
    targets: &'a [f32],
    loss: Loss,
}

impl<'a> Table<'a> {
    fn n(&self) -> usize {
        self.targets.len()
    }

    fn y(&self, row: u32) -> f64 {
        f64::from(self.targets[row as usize])
    }

    /// The target of a row for each output: of a class, its indicators.
    fn targets(&self, row: u32) -> impl Iterator<Item = f64> + use<> {
        let (y, loss) = (self.y(row), self.loss);
        (0..loss.outputs()).map(move |k| match loss {
            Loss::Softmax(_) => f64::from(u8::from(k == y as usize)),
            _ => y,
        })
    }

    fn row(&self, row: u32) -> &'a [f32] {
        &self.x[row as usize * self.d..][..self.d]
    }

    fn rows(&self, rows: &[u32]) -> Vec<f32> {
        rows.iter()
            .flat_map(|row| self.row(*row))
            .copied()
            .collect()
    }
}

/// Rows that a fit learns from, ascending, and rows that it is judged by.
#[derive(Clone, Debug)]
struct Fold {
    kept: Vec<u32>,
    held: Vec<u32>,
}

impl Fold {
    /// The fold with at most so many rows of each kind.
    fn thinned(&self, kept: usize, held: usize, stream: Stream) -> Self {
        Self {
            kept: thinned(&self.kept, kept, stream),
            held: thinned(&self.held, held, stream),
        }
    }
}

/// At most `count` of the rows, in their order. Whether a row stays depends little on the other
/// rows.
fn thinned(rows: &[u32], count: usize, stream: Stream) -> Vec<u32> {
    if rows.len() <= count {
        return rows.to_vec();
    }
    let mut keys: Vec<u64> = rows
        .iter()
        .map(|row| stream.bits(u64::from(*row)))
        .collect();
    let last = *keys.select_nth_unstable(count - 1).1;
    let stays = |row: &&u32| stream.bits(u64::from(**row)) <= last;
    rows.iter().filter(stays).copied().collect()
}

/// The best of boosted trees and a kernel for these rows, with settings chosen by folds, each given by its held-out rows, and judged by others:
/// the best of many settings on the same folds is partly luck. None for a density, for folds without rows, and if stopped.
///
/// The losses are `(f - y)^2 / 2` (Gaussian), `|f - y|` (Laplace), `log(1 + e^f) - y f`
/// (Bernoulli) and `log sum_k e^{f_k} - f_y` (multiclass).
pub fn reference(
    samples: &Samples,
    likelihood: Likelihood,
    folds: [&[Vec<usize>]; 2],
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Reference> {
    let table = Table {
        x: samples.x(),
        d: samples.d(),
        targets: samples.y(),
        loss: Loss::of(likelihood)?,
    };
    let whole = |folds: &[Vec<usize>]| -> Vec<Fold> {
        folds.iter().map(|held| fold(held, samples.n())).collect()
    };
    let folds = folds.map(whole);
    let usable = |fold: &Fold| fold.kept.len() > 1 && !fold.held.is_empty();
    let all_usable = |folds: &Vec<Fold>| !folds.is_empty() && folds.iter().all(usable);
    if table.n() < samples.n() || !folds.iter().all(all_usable) {
        return None;
    }
    let trees = trees(&table, &folds, stream.child("trees"), stop)?;
    let kernel = kernel(&table, &folds, stream.child("kernel"), stop)?;
    let better = kernel.cross_validation < trees.cross_validation;
    Some(if better { kernel } else { trees })
}

fn fold(held: &[usize], n: usize) -> Fold {
    let mut kept = vec![true; n];
    held.iter().for_each(|row| kept[*row] = false);
    Fold {
        kept: (0..n as u32).filter(|row| kept[*row as usize]).collect(),
        held: held.iter().map(|row| *row as u32).collect(),
    }
}

/// What settings are chosen by: a part of a table and of its folds.
struct Part {
    x: Vec<f32>,
    targets: Vec<f32>,
    folds: Vec<Fold>,
}

impl Part {
    /// Where rows are many, fewer folds with at most so many rows together to learn from.
    fn new(table: &Table<'_>, folds: &[Fold], most: usize, stream: Stream) -> Self {
        let many = folds.iter().any(|fold| fold.kept.len() > MANY_ROWS);
        let count = if many { FEW_FOLDS } else { folds.len() };
        let count = count.min(folds.len());
        let (kept, held) = (most / count, most / count / 2);
        let thin = |fold: &Fold| fold.thinned(kept, held, stream.child("choice"));
        let mut folds: Vec<Fold> = folds[..count].iter().map(thin).collect();
        let mut used = vec![false; table.n()];
        let rows = |fold: &Fold| [fold.kept.as_slice(), fold.held.as_slice()].concat();
        for row in folds.iter().flat_map(rows) {
            used[row as usize] = true;
        }
        let rows: Vec<u32> = (0..table.n() as u32)
            .filter(|row| used[*row as usize])
            .collect();
        let mut places = vec![0; table.n()];
        for (place, row) in rows.iter().enumerate() {
            places[*row as usize] = place as u32;
        }
        for fold in &mut folds {
            for row in fold.kept.iter_mut().chain(&mut fold.held) {
                *row = places[*row as usize];
            }
        }
        Self {
            x: table.rows(&rows),
            targets: rows
                .iter()
                .map(|row| table.targets[*row as usize])
                .collect(),
            folds,
        }
    }

    fn table(&self, whole: &Table<'_>) -> Table<'_> {
        Table {
            x: &self.x,
            targets: &self.targets,
            d: whole.d,
            loss: whole.loss,
        }
    }
}

fn trees(
    table: &Table<'_>,
    [choosing, judging]: &[Vec<Fold>; 2],
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Reference> {
    let part = Part::new(table, choosing, TREE_ROWS, stream);
    let winner = race::choose(&Binned::new(&part.table(table)), &part.folds, stream, stop)?;
    let binned = Binned::new(table);
    let of_row = table.d * table.loss.outputs() * (judging.len() + 1) * winner.rounds;
    let most = ((TREE_WORK / of_row as f64) as usize).max(TREE_ROWS);
    judged("boosted trees", table, judging, stop, |rows| {
        let rows = thinned(rows, most, stream.child("fit"));
        Model::Trees(binned.fit(&rows, winner.setting, winner.rounds, stream, stop))
    })
}

fn kernel(
    table: &Table<'_>,
    [choosing, judging]: &[Vec<Fold>; 2],
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Reference> {
    let part = Part::new(table, choosing, KERNEL_ROWS, stream);
    let setting = kernels::choose(&part.table(table), &part.folds, stream, stop)?;
    // Squares are solved for once, other losses descended on: by the root of the number of rows.
    let root = (table.n() as f64 / MANY_ROWS as f64).sqrt().max(1.0);
    let values = (STEP_WORK * root / table.loss.outputs() as f64) as usize;
    let squares = table.loss.by_squares();
    let most = if squares {
        KERNEL_FIT_ROWS
    } else {
        (values / kernels::FEW).clamp(MOST_CENTRES, KERNEL_FIT_ROWS)
    };
    judged("kernel", table, judging, stop, |rows| {
        let rows = thinned(rows, most, stream.child("fit"));
        let centres = if squares {
            (KERNEL_WORK / rows.len() as f64).sqrt() as usize
        } else {
            values / rows.len()
        };
        let centres = centres.clamp(kernels::FEW, MOST_CENTRES);
        Model::Kernel(kernel::fit(table, &rows, &setting, centres, stream))
    })
}

/// A way to fit, judged by the held-out rows of all folds, with its fit to all rows; none if
/// stopped.
fn judged(
    name: &'static str,
    table: &Table<'_>,
    folds: &[Fold],
    stop: &(dyn Fn() -> bool + Sync),
    fit: impl Fn(&[u32]) -> Model + Sync,
) -> Option<Reference> {
    let all: Vec<u32> = (0..table.n() as u32).collect();
    let kept = folds.iter().map(|fold| fold.kept.as_slice());
    let jobs: Vec<&[u32]> = kept.chain([all.as_slice()]).collect();
    let models: Vec<Option<Model>> = jobs
        .par_iter()
        .map(|rows| {
            let model = (!stop()).then(|| fit(rows));
            // What was cut short is no model.
            model.filter(|_| !stop())
        })
        .collect();
    let mut models: Vec<Model> = models.into_iter().collect::<Option<_>>()?;
    let model = models.pop()?;
    let outputs = table.loss.outputs();
    let losses = |(model, fold): (&Model, &Fold)| -> Vec<f64> {
        let f = model.outputs(&table.rows(&fold.held));
        let rows = f.chunks(outputs).zip(&fold.held);
        rows.map(|(f, row)| table.loss.value(table.y(*row), f))
            .collect()
    };
    let losses: Vec<Vec<f64>> = models.par_iter().zip(folds).map(losses).collect();
    let losses = losses.concat();
    Some(Reference {
        name,
        cross_validation: mean(&losses),
        losses,
        model,
    })
}

#[cfg(test)]
mod tests;
