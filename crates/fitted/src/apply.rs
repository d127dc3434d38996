//! A fitted model applied to data: predictions, scores, samples.

mod application;
mod score;

pub use application::Application;
pub use score::Score;

use crate::fitted::FittedModel;
use loopfit_data::preprocess::{Features, Input, OutsideRange, PreprocessError, Unprepared};
use loopfit_data::table::Column;
use loopfit_data::{Table, Task};
use loopfit_engine::Predictor;
use loopfit_likelihood::{Floor, Likelihood};
use loopfit_model::Architecture;
use loopfit_numerics::lanes::LANES;
use loopfit_numerics::libm;
use loopfit_numerics::special::{log_sum_exp, sigmoid};
use loopfit_numerics::stream::Stream;
use std::ops::Range;

/// Rows whose inputs in model units are in memory at once.
const ROWS_AT_ONCE: usize = 1 << 16;
/// Numbers that the steps of rows which are in memory at once may have, where they can be few enough.
const NUMBERS_AT_ONCE: usize = 1 << 22;

/// Why a model cannot be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The table does not suit the preprocessing.
    #[error(transparent)]
    Preprocess(#[from] PreprocessError),
    /// Sampling from the density.
    #[error(transparent)]
    Likelihood(#[from] loopfit_likelihood::Error),
    /// An output that is not a number.
    #[error(
        "the model overflows at row {row}: its inputs are too extreme, or its coefficients are not those of a fit, as where a constructed network runs in 32 bits"
    )]
    Overflow {
        /// Row, from one.
        row: usize,
    },
    /// A score that is not a number.
    #[error(
        "these rows have no finite {0}: a target is too far from those of the training rows, or no row lies where the model is defined"
    )]
    NoScore(&'static str),
    /// An index that is not a function of numbers.
    #[error(
        "the input `{column}` is a category and not a number: only models whose inputs are all numbers are functions on the unit cube"
    )]
    Categorical {
        /// The column.
        column: String,
    },
    /// A normaliser that is hardly known.
    #[error(
        "log Z of this density {}, so that its log densities say nothing: fit it with a smaller bound of its index or fewer columns",
        match .0.is_nan() {
            true => "is not a number".to_string(),
            false => format!("is known up to an error of about {:.1} only", .0),
        }
    )]
    Normaliser(f64),
    /// Iterations that the network does not have.
    #[error(transparent)]
    Iterations(#[from] loopfit_model::parameters::IterationsError),
    /// Not a density.
    #[error("only density models can be sampled, and this model is for {0}; fit a density")]
    NotADensity(&'static str),
    /// Intervals around what is not a response.
    #[error("intervals are for the responses of a regression, and this model is for {0}")]
    NoResponses(&'static str),
    /// Intervals of a model without residuals.
    #[error(
        "the model keeps no residuals of held-out rows, which intervals are made of: fit a residual FFN that cross-validation selects"
    )]
    NoResiduals,
    /// Intervals that would have to be wider than the residuals say.
    #[error(
        "{residuals} residuals of held-out rows support intervals up to a level of {}, not {level}: ask for a lower one",
        highest_level(*residuals)
    )]
    Level {
        /// The level.
        level: f64,
        /// Residuals that there are.
        residuals: usize,
    },
}

/// The highest level that so many residuals support, rounded down to three digits.
fn highest_level(residuals: usize) -> f64 {
    (1000 * residuals / (residuals + 1)) as f64 / 1000.0
}

/// What a model says about rows of a table; entry `i` belongs to row `i`.
#[derive(Clone, Debug, PartialEq)]
pub enum Predictions {
    /// Responses on the scale of the target column.
    Responses(Vec<f64>),
    /// Class probabilities, row-major, one column for each name.
    Probabilities {
        /// The classes.
        classes: Vec<String>,
        /// `rows x classes`.
        values: Vec<f64>,
        /// The most likely class of each row.
        labels: Vec<usize>,
    },
    /// Log densities in the units of the columns; minus infinity outside the support.
    LogDensities(Vec<f64>),
}

impl Predictions {
    /// The responses of a regression.
    pub fn responses(&self) -> Option<&[f64]> {
        match self {
            Self::Responses(values) => Some(values),
            Self::Probabilities { .. } | Self::LogDensities(_) => None,
        }
    }

    /// The log densities of a density.
    pub fn log_densities(&self) -> Option<&[f64]> {
        match self {
            Self::LogDensities(values) => Some(values),
            Self::Probabilities { .. } | Self::Responses(_) => None,
        }
    }

    /// The most likely class of each row of a classification.
    pub fn classes(&self) -> Option<Vec<&str>> {
        match self {
            Self::Probabilities {
                classes, labels, ..
            } => Some(labels.iter().map(|k| classes[*k].as_str()).collect()),
            Self::Responses(_) | Self::LogDensities(_) => None,
        }
    }

    /// Those of further rows of the same model.
    ///
    /// # Panics
    /// If they are of another kind.
    pub fn extend(&mut self, more: Self) {
        match (self, more) {
            (Self::Responses(all), Self::Responses(more))
            | (Self::LogDensities(all), Self::LogDensities(more)) => all.extend(more),
            (
                Self::Probabilities { values, labels, .. },
                Self::Probabilities {
                    values: more,
                    labels: more_labels,
                    ..
                },
            ) => {
                values.extend(more);
                labels.extend(more_labels);
            }
            _ => unreachable!("a model says one kind of thing"),
        }
    }
}

/// What a model says about rows after one of its iterations.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationPredictions {
    /// The output function at the state after the iteration.
    pub predictions: Predictions,
    /// Relative change of each row's state, see [`Step::change`](loopfit_engine::Step::change).
    pub change: Vec<f64>,
}

impl FittedModel {
    /// Predictions for all rows of a table, and notes on cells that needed treatment and on predictions that were held back.
    pub fn predict(&self, table: &Table) -> Result<(Predictions, Vec<String>), ApplyError> {
        let mut application = Application::new(self)?;
        let predictions = application.predict(table)?;
        Ok((predictions, application.notes()))
    }

    /// Predictions from outputs of another network in place of the model's own, which takes inputs in model units, row-major.
    pub fn predict_by(
        &self,
        table: &Table,
        network: impl Fn(&[f32]) -> Vec<f64>,
    ) -> Result<Predictions, ApplyError> {
        let constant = self.log_density_constant()?.unwrap_or(0.0);
        let (mut outputs, mut outside) = (Vec::new(), Vec::new());
        let mut expected = Vec::new();
        self.in_parts(table, ROWS_AT_ONCE, |first, features| {
            let part = network(&features.x);
            self.check_outputs(&part, table.number_of(first))?;
            outputs.extend(part);
            outside.extend(features.outside.iter().map(|row| first + row));
            expected.extend(&features.expected);
            Ok::<_, ApplyError>(())
        })?;
        Ok(self.predictions(&outputs, constant, &outside, &expected))
    }

    /// As [`FittedModel::predict`] after each of some of the model's iterations, counted from zero: calls `each` with the first row
    /// and the steps of some rows after another, so that what is in memory does not grow with the table. Gives notes on cells that
    /// needed treatment.
    pub fn predict_every_iteration<E: From<ApplyError>>(
        &self,
        table: &Table,
        iterations: Range<usize>,
        mut each: impl FnMut(usize, Vec<IterationPredictions>) -> Result<(), E>,
    ) -> Result<Vec<String>, E> {
        let predictor = self.predictor();
        let constants = match self.likelihood {
            Likelihood::Energy(energy) => self.log_constants(energy, iterations.clone())?,
            _ => vec![0.0; iterations.len()],
        };
        let numbers = iterations.len().max(1) * (self.likelihood.outputs() + 1);
        let at_once = (NUMBERS_AT_ONCE / numbers).clamp(LANES, ROWS_AT_ONCE);
        let unprepared = self.in_parts(table, at_once, |first, features| {
            let steps = predictor.every_iteration(&features.x, iterations.clone());
            let of_each = steps.into_iter().zip(&constants).map(|(step, constant)| {
                self.check_outputs(&step.outputs, table.number_of(first))?;
                Ok(IterationPredictions {
                    predictions: self.predictions(
                        &step.outputs,
                        *constant,
                        &features.outside,
                        &features.expected,
                    ),
                    change: step.change,
                })
            });
            each(first, of_each.collect::<Result<_, ApplyError>>()?)
        })?;
        Ok(unprepared.notes())
    }

    /// Calls `each` with the first row and the inputs of some rows after another, and counts cells of all rows that needed
    /// treatment.
    fn in_parts<E: From<ApplyError>>(
        &self,
        table: &Table,
        at_once: usize,
        mut each: impl FnMut(usize, Features) -> Result<(), E>,
    ) -> Result<Unprepared, E> {
        let mut all = Unprepared::default();
        for first in (0..table.rows()).step_by(at_once) {
            let rows: Vec<usize> = (first..table.rows().min(first + at_once)).collect();
            let part = self.preprocessing.features(table, &rows);
            let part = part.map_err(ApplyError::from)?;
            all += part.unprepared();
            each(first, part)?;
        }
        Ok(all)
    }

    /// Half the width of intervals around predictions that cover new responses with a probability of `level`, between 0 and 1;
    /// see [`Assessment::half_width`](crate::Assessment::half_width).
    pub fn half_width(&self, level: f64) -> Result<f64, ApplyError> {
        let task = self.preprocessing.task();
        if task != Task::Regression {
            return Err(ApplyError::NoResponses(task_name(task)));
        }
        let assessment = self.assessment.as_ref();
        let assessment = assessment.filter(|a| !a.residuals.is_empty());
        let assessment = assessment.ok_or(ApplyError::NoResiduals)?;
        let residuals = assessment.residuals.len();
        let width = assessment.half_width(level);
        width.ok_or(ApplyError::Level { level, residuals })
    }

    /// The model inputs that the network reads: those that a channel begins with which an output or a unit reads.
    pub fn inputs_read(&self) -> Vec<usize> {
        let network = self.parameters.network();
        let (d, q) = (network.d(), network.q());
        if *network.architecture() != Architecture::Ffn {
            return (0..d).collect();
        }
        let paper = self.parameters.to_paper();
        let layout = paper.network().layout();
        let readers = layout
            .iter()
            .filter(|view| view.cols == q && view.rank == 2);
        let readers =
            readers.filter(|view| view.name == "output.weight" || view.name.ends_with("w1"));
        let mut used = vec![false; q];
        for view in readers {
            for (i, w) in paper.view(&view.name).iter().enumerate() {
                used[i % q] |= *w != 0.0;
            }
        }
        let lift = paper.view("input.weight");
        let read = |input: &usize| (0..q).any(|k| used[k] && lift[k * d + input] != 0.0);
        (0..d).filter(read).collect()
    }

    /// Names of the columns that the network reads.
    pub fn columns_read(&self) -> Vec<&str> {
        let columns = self.preprocessing.feature_columns();
        let inputs = self.inputs_read().into_iter();
        let mut read: Vec<usize> = inputs.map(|input| columns[input]).collect();
        read.dedup();
        let name = |column: usize| self.preprocessing.inputs()[column].name();
        read.into_iter().map(name).collect()
    }

    /// The rows of a table that the model extrapolates to; columns that its network does not read are none of them. An error
    /// for a model that does not know the ranges of its training rows.
    pub fn outside_range(&self, table: &Table) -> Result<Vec<OutsideRange<'_>>, ApplyError> {
        let read = self.columns_read();
        let rows: Vec<usize> = (0..table.rows()).collect();
        let mut outside = self.preprocessing.outside_range(table, &rows)?;
        for row in &mut outside {
            row.columns.retain(|column| read.contains(column));
        }
        outside.retain(|row| !row.columns.is_empty());
        Ok(outside)
    }

    /// The index function at points, row-major, one coordinate for each input: responses on the scale of the target
    /// column, logits, or the log density up to a constant. Points are in the input columns' own units; for a density
    /// in the unit cube that its intervals are mapped to.
    pub fn index(&self, points: &[f64]) -> Result<Vec<f64>, ApplyError> {
        let inputs = self.preprocessing.inputs();
        let category =
            |input: &&Input| matches!(input, Input::Categorical { .. } | Input::Binary { .. });
        if let Some(input) = inputs.iter().find(category) {
            return Err(ApplyError::Categorical {
                column: input.name().to_string(),
            });
        }
        let d = inputs.len();
        let x = if self.preprocessing.task() == Task::Density {
            points.iter().map(|v| *v as f32).collect()
        } else {
            let columns = inputs.iter().enumerate().map(|(k, input)| {
                let values = points.iter().skip(k).step_by(d).copied().collect();
                (input.name().to_string(), Column::Numeric(values))
            });
            let table = Table::from_columns("points", columns.collect());
            let rows: Vec<usize> = (0..table.rows()).collect();
            self.preprocessing.features(&table, &rows)?.x
        };
        let outputs = self.outputs(&x)?;
        Ok(outputs.iter().map(|f| self.response(*f)).collect())
    }

    /// An output on the scale of the target column, held to the range seen if the model says so.
    fn response(&self, f: f64) -> f64 {
        let y = self.preprocessing.to_original(f);
        match (&self.assessment, self.preprocessing.target_range()) {
            (Some(assessment), Some(range)) if assessment.clip => range.clamp(y),
            _ => y,
        }
    }

    /// What probabilities are held to.
    fn floor(&self) -> Floor {
        self.known_floor().unwrap_or(Floor::NONE)
    }

    /// How many responses are not what the network says but the nearest that the model gives.
    fn held(&self, outputs: &[f64]) -> usize {
        if self.preprocessing.task() != Task::Regression {
            return 0;
        }
        let most = f64::from(self.bounds.output);
        let is_held =
            |f: &&f64| f.abs() >= most || self.response(**f) != self.preprocessing.to_original(**f);
        outputs.iter().filter(is_held).count()
    }

    /// A sentence on responses that are [`held`](Self::held), if there are some.
    fn held_note(&self, held: usize, rows: usize) -> Option<String> {
        let most = f64::from(self.bounds.output);
        let [low, high] = [-most, most].map(|f| self.response(f) as f32);
        (held > 0).then(|| {
            format!("predictions held to the range from {low} to {high}: {held} of {rows}")
        })
    }

    /// What outputs say; of an energy model, `constant` below the index is the log density, and
    /// rows outside its support have none. Of counts, `expected` are those of each exposure alone.
    fn predictions(
        &self,
        outputs: &[f64],
        constant: f64,
        outside: &[usize],
        expected: &[f64],
    ) -> Predictions {
        match self.likelihood {
            Likelihood::Poisson(_) => {
                let means = outputs.iter().zip(expected).map(|(f, e)| e * libm::exp(*f));
                Predictions::Responses(means.collect())
            }
            Likelihood::Gaussian(_) | Likelihood::Laplace(_) => {
                Predictions::Responses(outputs.iter().map(|f| self.response(*f)).collect())
            }
            Likelihood::Bernoulli(_) => {
                self.probabilities(outputs, |f| vec![sigmoid(-f[0]), sigmoid(f[0])])
            }
            Likelihood::Multiclass(_) => self.probabilities(outputs, |f| {
                let total = log_sum_exp(f);
                f.iter().map(|v| libm::exp(v - total)).collect()
            }),
            Likelihood::Energy(_) => {
                let mut densities: Vec<f64> = outputs.iter().map(|f| f - constant).collect();
                for row in outside {
                    densities[*row] = f64::NEG_INFINITY;
                }
                Predictions::LogDensities(densities)
            }
        }
    }

    /// Outputs of the network, all of them numbers.
    fn outputs(&self, x: &[f32]) -> Result<Vec<f64>, ApplyError> {
        let outputs = self.predictor().predict(x);
        self.check_outputs(&outputs, 1)?;
        Ok(outputs)
    }

    /// An error if an output is not a number; the first of them belong to the row of number `first`.
    fn check_outputs(&self, outputs: &[f64], first: usize) -> Result<(), ApplyError> {
        match outputs.iter().position(|f| !f.is_finite()) {
            Some(i) => Err(ApplyError::Overflow {
                row: first + i / self.likelihood.outputs(),
            }),
            None => Ok(()),
        }
    }

    fn probabilities(&self, outputs: &[f64], of_row: impl Fn(&[f64]) -> Vec<f64>) -> Predictions {
        let rows = || outputs.chunks(self.likelihood.outputs());
        let floor = self.floor();
        Predictions::Probabilities {
            classes: self.preprocessing.class_names().to_vec(),
            values: rows()
                .flat_map(of_row)
                .map(|p| floor.probability(p))
                .collect(),
            labels: rows().map(most_likely).collect(),
        }
    }

    /// Exact draws from a density model by rejection, in the units of the columns, row-major.
    pub fn sample(&self, n: usize, stream: Stream) -> Result<Vec<Vec<f64>>, ApplyError> {
        let Likelihood::Energy(energy) = self.likelihood else {
            let task = self.preprocessing.task();
            return Err(ApplyError::NotADensity(task_name(task)));
        };
        let predictor = self.predictor();
        let index = |points: &[f64]| {
            predictor.predict(&points.iter().map(|v| *v as f32).collect::<Vec<_>>())
        };
        let draws = energy.sample(index, f64::from(self.bounds.output), n, stream)?;
        let original = |row: &[f64]| {
            self.preprocessing
                .inputs_to_original(&row.iter().map(|v| *v as f32).collect::<Vec<_>>())
        };
        Ok(draws.chunks(energy.d()).map(original).collect())
    }

    /// The network ready to run on inputs in model units.
    pub fn predictor(&self) -> Predictor {
        Predictor::new(&self.parameters, self.bounds)
    }
}

fn task_name(task: Task) -> &'static str {
    match task {
        Task::Regression => "regression",
        Task::Count => "counts",
        Task::Binary | Task::Multiclass { .. } => "classification",
        Task::Density => "a density",
    }
}

/// Index of the largest logit; one logit decides between class 1 and class 0.
pub fn most_likely(f: &[f64]) -> usize {
    match f {
        [logit] => usize::from(*logit > 0.0),
        _ => (0..f.len()).fold(0, |best, i| if f[i] > f[best] { i } else { best }),
    }
}
