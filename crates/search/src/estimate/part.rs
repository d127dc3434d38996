//! Rows with folds.

use crate::SearchError;
use crate::replication::TableSource;
use loopfit_data::{Encoding, Preprocessing, Samples, Scaling, Table, Task};
use loopfit_estimate::Choice;
use loopfit_fitted::{FittedModel, most_likely};
use loopfit_likelihood::{Likelihood, Poisson};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::{mean, sum};
use std::sync::Arc;

/// Rows below which the folds that judge are dealt twice.
const REPEATED_BELOW: usize = 250;
/// Folds of so many rows; one of them where one split replaces them.
const FOLDS: usize = 5;
/// Folds of more: two thirds of many rows say as much of a choice as four fifths, for half of the work.
const FOLDS_OF_MANY: usize = 3;
/// Rows above which there are many.
pub(super) const MANY: usize = 2000;

/// Linear models of few rows are selected by so many ways to deal them to folds at most, and by as many as hold out so many rows in all. Which
/// penalty is best depends on how few rows are dealt.
const DEALS: usize = 7;
const HELD_OUT: usize = 1750;
/// Coefficients of a linear model that is cheap enough for that.
const CHEAP: usize = 40;

/// Rows with folds.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) samples: Arc<Samples>,
    pub(super) preprocessing: Preprocessing,
    /// The held-out rows of each fold; none where nothing is selected.
    pub(super) folds: Vec<Vec<usize>>,
    /// Those of other folds, which judge what these select; none where one split does.
    pub(super) fresh: Vec<Vec<usize>>,
    /// Those of further folds, by which linear models are selected.
    pub(super) further: Vec<Vec<usize>>,
    pub(super) selected_by: String,
}

impl Part {
    /// Rows of a table, with folds if it is said up to how many rows there are several.
    pub(super) fn new(
        source: &TableSource,
        rows: &[usize],
        folds_up_to: Option<usize>,
        stream: Stream,
    ) -> Result<Self, SearchError> {
        let (table, task) = (&source.table, source.decision.task);
        let preprocessing = Preprocessing::fit_encoded(
            table,
            &source.roles,
            task,
            rows,
            Scaling::Fitted,
            Encoding::Compact,
        )?;
        let few = rows.len() < REPEATED_BELOW;
        let again = if few { ", twice" } else { "" };
        let (folds, selected_by) = match folds_up_to {
            Some(most) => folds_of(source, rows, most, 1, stream)?,
            None => (Vec::new(), String::new()),
        };
        let several = folds_up_to.filter(|_| folds.len() > 1);
        let dealt = |times: u64, name: &str| match several {
            Some(most) => folds_of(source, rows, most, times, stream.child(name)).map(|f| f.0),
            None => Ok(Vec::new()),
        };
        let times = if few { 2 } else { 1 };
        let scores = match task {
            Task::Multiclass { classes } => classes - 1,
            _ => 1,
        };
        let deals = match preprocessing.d() * scores <= CHEAP {
            true => (HELD_OUT / rows.len().max(1)).min(DEALS) as u64,
            false => 0,
        };
        let fresh = dealt(times, "fresh")?;
        let further = dealt(deals.saturating_sub(1 + times), "further")?;
        Ok(Self {
            samples: Arc::new(preprocessing.samples(table, rows)?),
            preprocessing,
            folds,
            selected_by: match fresh.is_empty() {
                true => selected_by,
                false => format!("{selected_by}{again}"),
            },
            fresh,
            further,
        })
    }

    /// Other rows, prepared as these were; nothing is selected by them.
    pub(super) fn of_rows(&self, table: &Table, rows: &[usize]) -> Result<Self, SearchError> {
        Ok(Self {
            samples: Arc::new(self.preprocessing.samples(table, rows)?),
            preprocessing: self.preprocessing.clone(),
            folds: Vec::new(),
            selected_by: String::new(),
            fresh: Vec::new(),
            further: Vec::new(),
        })
    }

    /// The held-out rows of the folds that what is reported comes from.
    pub(super) fn judging(&self) -> &[Vec<usize>] {
        match &self.fresh[..] {
            [] => &self.folds,
            fresh => fresh,
        }
    }

    /// What a mean loss is to be multiplied with to be the error in the units of the data.
    pub(super) fn scale(&self, likelihood: Likelihood) -> f64 {
        match likelihood {
            Likelihood::Gaussian(_) => 2.0 * self.unit() * self.unit(),
            Likelihood::Laplace(_) => self.unit(),
            Likelihood::Poisson(_) => 2.0,
            Likelihood::Bernoulli(_) | Likelihood::Multiclass(_) | Likelihood::Energy(_) => 1.0,
        }
    }

    /// How much a row counts.
    pub(super) fn weight(&self, row: usize) -> f64 {
        let weights = self.samples.weights();
        weights.get(row).map_or(1.0, |weight| f64::from(*weight))
    }

    /// How much the loss of each held-out row counts in their mean, by row. That of counts is a mean over rows, whatever their exposure.
    pub(super) fn weights_of_losses(&self, task: Task, held: &[usize]) -> Vec<f64> {
        let mut rows = held.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let weight = |row: usize| match task {
            Task::Count => 1.0,
            _ => self.weight(row),
        };
        rows.into_iter().map(weight).collect()
    }

    /// The R2 of held-out rows, of counts the part of the deviance that is explained, of classes the share that is right.
    pub(super) fn held_score(&self, task: Task, choice: &Choice) -> (&'static str, f64) {
        let weights: Vec<f64> = choice.held.iter().map(|row| self.weight(*row)).collect();
        if task == Task::Count {
            let y = |row: usize| f64::from(self.samples.y()[row]);
            let counts: Vec<f64> = choice
                .held
                .iter()
                .map(|row| self.weight(*row) * y(*row))
                .collect();
            let constant = libm::log(sum(&counts) / sum(&weights));
            let of_constant = choice.held.iter().zip(&weights);
            let of_constant: Vec<f64> = of_constant
                .map(|(row, w)| w * Poisson.half_deviance(y(*row), constant))
                .collect();
            return ("D2", 1.0 - mean(&choice.losses) / mean(&of_constant));
        }
        let response = |row: &usize| f64::from(self.samples.y()[*row]);
        let y: Vec<f64> = choice.held.iter().map(response).collect();
        let outputs = choice
            .outputs
            .chunks((choice.outputs.len() / y.len().max(1)).max(1));
        let pairs = || outputs.clone().zip(&y);
        if task == Task::Regression {
            let sum_of = |values: Vec<f64>| {
                let weighed = values.iter().zip(&weights).map(|(v, w)| v * w);
                sum(&weighed.collect::<Vec<_>>())
            };
            let centre = sum_of(y.clone()) / sum(&weights);
            let squares: Vec<f64> = pairs().map(|(f, y)| (f[0] - y) * (f[0] - y)).collect();
            let spread: Vec<f64> = y.iter().map(|y| (y - centre) * (y - centre)).collect();
            let (squares, spread) = ([sum_of(squares)], [sum_of(spread)]);
            return ("R2", 1.0 - sum(&squares) / sum(&spread));
        }
        let right = pairs().zip(&weights);
        let right = right.filter(|((f, y), _)| most_likely(f) == **y as usize);
        let right: f64 = right.map(|(_, weight)| weight).sum();
        ("accuracy", right / sum(&weights))
    }

    /// One standard deviation of the target column, of a regression.
    pub(super) fn unit(&self) -> f64 {
        self.preprocessing.to_original(1.0) - self.preprocessing.to_original(0.0)
    }

    /// Absolute residuals of held-out rows in the target's units, ascending, each row once whatever its weight; none of counts and classes.
    /// Those of the model that is delivered on its own rows are smaller but for the rounding of its numbers, which without noise is all there
    /// is: at every rank the larger ones count.
    pub(super) fn residuals(
        &self,
        task: Task,
        choice: &Choice,
        delivered: &Self,
        model: &FittedModel,
    ) -> Vec<f64> {
        if task != Task::Regression {
            return Vec::new();
        }
        let y = self.samples.y();
        // One for each row: where folds are dealt twice, the second residual of a row says little new.
        let mut seen = vec![false; y.len()];
        let pairs = choice.held.iter().copied().zip(&choice.outputs);
        let first = pairs.filter(|(row, _)| !std::mem::replace(&mut seen[*row], true));
        let mut held: Vec<f64> = first
            .map(|(row, f)| self.unit() * (f - f64::from(y[row])).abs())
            .collect();
        held.sort_by(f64::total_cmp);
        let own = delivered.residuals_of(model);
        let (m, n) = (held.len(), own.len());
        let ranked = held.iter().enumerate();
        ranked
            .map(|(k, held)| held.max(own[((k + 1) * n).div_ceil(m) - 1]))
            .collect()
    }

    /// Absolute residuals of a model on these rows, ascending, with the rounding of their targets.
    fn residuals_of(&self, model: &FittedModel) -> Vec<f64> {
        let outputs = model.predictor().predict(self.samples.x());
        let rounding = 0.5 * f64::from(f32::EPSILON);
        let pairs = outputs.iter().zip(self.samples.y());
        let gaps = pairs.map(|(f, y)| (f, f64::from(*y)));
        let gaps = gaps.map(|(f, y)| (f - y).abs() + rounding * y.abs());
        let mut residuals: Vec<f64> = gaps.map(|gap| self.unit() * gap).collect();
        residuals.sort_by(f64::total_cmp);
        residuals
    }

    /// Whether held-out rows are predicted no worse when outputs are held to the range of the targets of all other rows: to that of
    /// all rows it could not be otherwise.
    pub(super) fn clip_pays(&self, task: Task, choice: &Choice) -> bool {
        if task != Task::Regression || self.preprocessing.target_range().is_none() {
            return false;
        }
        let y = self.samples.y();
        let mut sorted: Vec<f64> = y.iter().map(|y| f64::from(*y)).collect();
        sorted.sort_by(f64::total_cmp);
        let [low, next_low, .., next_high, high] = sorted[..] else {
            return true;
        };
        let change = choice.held.iter().zip(&choice.outputs).map(|(row, f)| {
            let y = f64::from(y[*row]);
            let low = if y == low { next_low } else { low };
            let high = if y == high { next_high } else { high };
            self.weight(*row) * ((f.clamp(low, high) - y).abs() - (f - y).abs())
        });
        change.sum::<f64>() <= 0.0
    }
}

/// The held-out rows of each fold, by the number of rows, and what that is called.
fn folds_of(
    source: &TableSource,
    rows: &[usize],
    folds_up_to: usize,
    times: u64,
    stream: Stream,
) -> Result<(Vec<Vec<usize>>, String), SearchError> {
    let splitter = &source.splitter;
    if rows.len() > folds_up_to {
        let mut folds = splitter.folds(rows, FOLDS, stream)?;
        folds.truncate(1);
        return Ok((folds, "one split".to_string()));
    }
    let count = if rows.len() > MANY {
        FOLDS_OF_MANY
    } else {
        FOLDS
    };
    let mut folds = Vec::new();
    for repeat in 0..times {
        folds.extend(splitter.folds(rows, count, stream.nth(repeat))?);
    }
    let count = folds.len() as u64 / times.max(1);
    Ok((folds, format!("{count}-fold cross-validation")))
}

/// At most `count` of the rows, at random, in their order.
pub(super) fn thinned(rows: &[usize], count: usize, stream: Stream) -> Vec<usize> {
    if rows.len() <= count {
        return rows.to_vec();
    }
    let mut order = vec![0u32; rows.len()];
    stream.permute(&mut order);
    let mut kept: Vec<usize> = order[..count].iter().map(|i| rows[*i as usize]).collect();
    kept.sort_unstable();
    kept
}
