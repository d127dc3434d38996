//! How well a model explains rows whose targets are known.

use super::{ApplyError, most_likely};
use crate::fitted::FittedModel;
use crate::metric::Measure;
use loopfit_data::Table;
use loopfit_likelihood::{Likelihood, Poisson};
use loopfit_numerics::libm;
use loopfit_numerics::sum::{mean, sum, weighted_mean};
use serde::Serialize;

/// How well a model explains rows with known targets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Rows scored.
    pub rows: usize,
    /// Name of the main metric; lower is better.
    pub metric: &'static str,
    /// Its value.
    pub value: f64,
    /// Further metrics by name.
    pub also: Vec<(&'static str, f64)>,
    /// What was done to cells that the training rows did not prepare for.
    pub notes: Vec<String>,
}

impl Score {
    /// The score if it is a number: targets far from those of the training rows can make it infinite, and a density has none where no
    /// row lies in its support.
    pub fn checked(self) -> Result<Self, ApplyError> {
        match self.value.is_finite() {
            true => Ok(self),
            false => Err(ApplyError::NoScore(self.metric)),
        }
    }
}

impl FittedModel {
    /// The model's score on the rows of a table whose targets are known. A density is scored on
    /// the rows inside its support; how many lie outside, where it is zero, is said beside.
    pub fn score(&self, table: &Table, rows: &[usize]) -> Result<Score, ApplyError> {
        self.score_by(table, rows, |x| self.predictor().predict(x))
    }

    /// The score with outputs of another network in place of the model's own, from inputs in model units, row-major.
    pub fn score_by(
        &self,
        table: &Table,
        rows: &[usize],
        network: impl FnOnce(&[f32]) -> Vec<f64>,
    ) -> Result<Score, ApplyError> {
        let features = self.preprocessing.features(table, rows)?;
        let y: Vec<f64> = self
            .preprocessing
            .targets(table, rows)?
            .iter()
            .map(|v| f64::from(*v))
            .collect();
        let outputs = network(&features.x);
        self.check_outputs(&outputs, 1)?;
        let mut notes = features.notes();
        notes.extend(self.held_note(self.held(&outputs), outputs.len()));
        // A table without the weights of the training rows is judged row by row.
        let weights = match self.preprocessing.weight_column() {
            Some(name) if table.column(name).is_none() => {
                notes.push(format!(
                    "the weights of the training rows, column `{name}`, are not there: all rows count alike"
                ));
                Vec::new()
            }
            _ => self.preprocessing.weights(table, rows)?,
        };
        let score = |rows, (metric, value), also| Score {
            rows,
            metric,
            value,
            also,
            notes,
        };
        let mean = |values: &[f64]| weighted_mean(values, &weights);
        let rows = rows.len();
        let mut score = match self.likelihood {
            Likelihood::Poisson(poisson) => {
                let (deviance, also) = of_counts(poisson, &outputs, &y, &features.expected);
                score(rows, (Measure::Deviance.name(), deviance), also)
            }
            Likelihood::Gaussian(_) | Likelihood::Laplace(_) => {
                let original = |f: &f64| self.preprocessing.to_original(*f);
                let y: Vec<f64> = y.iter().map(original).collect();
                let residuals: Vec<f64> = outputs
                    .iter()
                    .zip(&y)
                    .map(|(f, y)| self.response(*f) - y)
                    .collect();
                let squares: Vec<f64> = residuals.iter().map(|r| r * r).collect();
                let absolute: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
                let centre = mean(&y);
                let spread: Vec<f64> = y.iter().map(|y| (y - centre) * (y - centre)).collect();
                let left = match weights.is_empty() {
                    true => sum(&squares) / sum(&spread),
                    false => mean(&squares) / mean(&spread),
                };
                let r2 = ("R2", 1.0 - left);
                let mse = (Measure::Mse.name(), mean(&squares));
                let mae = (Measure::Mae.name(), mean(&absolute));
                let largest = largest(&absolute);
                // What was fitted leads.
                if let Likelihood::Laplace(noise) = self.likelihood {
                    let scale = noise.tau() * (original(&1.0) - original(&0.0));
                    let nll = mae.1 / scale + libm::log(2.0 * scale);
                    score(
                        rows,
                        mae,
                        vec![(Measure::Nll.name(), nll), mse, largest, r2],
                    )
                } else {
                    score(rows, mse, vec![mae, largest, r2])
                }
            }
            Likelihood::Energy(energy) => return self.density_score(energy, &outputs, &features),
            Likelihood::Bernoulli(_) | Likelihood::Multiclass(_) => {
                let found = outputs.chunks(self.likelihood.outputs()).zip(&y);
                let floor = self.floor();
                let nll = found
                    .clone()
                    .map(|(f, y)| Ok(floor.nll(self.likelihood.nll(*y, f)?)));
                let nll: Vec<f64> = nll.collect::<Result<_, ApplyError>>()?;
                let value = mean(&nll);
                let right = found.map(|(f, y)| f64::from(most_likely(f) == *y as usize));
                let right: Vec<f64> = right.collect();
                score(
                    rows,
                    (Measure::LogLoss.name(), value),
                    vec![("accuracy", mean(&right))],
                )
            }
        };
        // Rows that share one response have no R2.
        score.also.retain(|(_, value)| value.is_finite());
        Ok(score)
    }
}

/// The mean deviance of counts, and further metrics. `y` are counts divided by those `expected` of the exposures alone.
fn of_counts(
    poisson: Poisson,
    outputs: &[f64],
    y: &[f64],
    expected: &[f64],
) -> (f64, Vec<(&'static str, f64)>) {
    let of = |each: &dyn Fn(f64, f64, f64) -> f64| -> Vec<f64> {
        let rows = outputs.iter().zip(y).zip(expected);
        rows.map(|((f, y), e)| each(*f, *y, *e)).collect()
    };
    let deviance = |f: f64, y: f64, e: f64| 2.0 * e * poisson.half_deviance(y, f);
    let residual = |f: f64, y: f64, e: f64| e * (libm::exp(f) - y);
    let constant = libm::log(sum(&of(&|_, y, e| e * y)) / sum(expected));
    let (own, other) = (of(&deviance), of(&|_, y, e| deviance(constant, y, e)));
    let squares = of(&|f, y, e| residual(f, y, e) * residual(f, y, e));
    let absolute = of(&|f, y, e| residual(f, y, e).abs());
    let also = vec![
        ("D2", 1.0 - sum(&own) / sum(&other)),
        (Measure::Mse.name(), mean(&squares)),
        (Measure::Mae.name(), mean(&absolute)),
        largest(&absolute),
    ];
    (mean(&own), also)
}

/// The metric of the worst row.
fn largest(absolute: &[f64]) -> (&'static str, f64) {
    (
        "largest error",
        absolute.iter().copied().fold(0.0, f64::max),
    )
}
