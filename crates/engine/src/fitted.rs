//! A fitted model with all it takes to use it: coefficients, likelihood, preprocessing
//! and where it came from; one safetensors file.

use crate::predict::Predictor;
use crate::spec::SpecError;
use loopfit_data::preprocess::PreprocessError;
use loopfit_data::{Preprocessing, Table, Task};
use loopfit_likelihood::{Energy, Likelihood};
use loopfit_model::file::FileError;
use loopfit_model::{Bounds, ModelFile, Parameters};
use loopfit_numerics::libm;
use loopfit_numerics::special::{log_sum_exp, sigmoid};
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::{mean, sum};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// A network, its likelihood and the preprocessing of its inputs and targets.
#[derive(Clone, Debug)]
pub struct FittedModel {
    /// The coefficients and the network they belong to.
    pub parameters: Parameters,
    /// Parameter box and output clipping.
    pub bounds: Bounds,
    /// How outputs explain data, in model units.
    pub likelihood: Likelihood,
    /// From table rows to model units and back.
    pub preprocessing: Preprocessing,
    /// Where the model came from.
    pub provenance: Provenance,
}

/// Where a model came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of loopfit that fitted it.
    pub version: String,
    /// The data.
    pub source: String,
    /// SHA-256 of the training samples.
    pub training_samples: String,
    /// The cap B.
    pub budget: usize,
    /// The seed of the search.
    pub seed: u64,
    /// Average negative log-likelihood on the validation samples, in model units.
    pub validation: f64,
    /// Updates of the selected fit.
    pub updates: usize,
}

/// Why a model file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file itself.
    #[error(transparent)]
    File(#[from] FileError),
    /// A section of the metadata is not there.
    #[error(
        "{file} has no section `{section}` in its metadata: it holds a bare network; fit one with `loopfit fit`"
    )]
    NoSection {
        /// The file.
        file: String,
        /// The section.
        section: &'static str,
    },
    /// A section of the metadata is malformed.
    #[error("{file} has a malformed section `{section}` in its metadata: {why}")]
    BadSection {
        /// The file.
        file: String,
        /// The section.
        section: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Sections that contradict each other.
    #[error("{file} contradicts itself: {why}")]
    Contradiction {
        /// The file.
        file: String,
        /// How.
        why: String,
    },
}

/// Why a model cannot be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The table does not suit the preprocessing.
    #[error(transparent)]
    Preprocess(#[from] PreprocessError),
    /// The network cannot run.
    #[error(transparent)]
    Network(#[from] SpecError),
    /// Sampling from the density.
    #[error(transparent)]
    Likelihood(#[from] loopfit_likelihood::Error),
    /// Not a density.
    #[error(
        "only density models can be sampled, and this model is for {0}; fit one with --task density"
    )]
    NotADensity(&'static str),
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
    },
    /// Log densities in the units of the columns.
    LogDensities(Vec<f64>),
}

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
}

impl FittedModel {
    /// Writes the model: beside, synced, then renamed.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        let mut extra = serde_json::Map::new();
        extra.insert("likelihood".into(), json!(self.likelihood));
        extra.insert("preprocessing".into(), json!(self.preprocessing));
        extra.insert("provenance".into(), json!(self.provenance));
        ModelFile {
            parameters: self.parameters.clone(),
            bounds: self.bounds,
            extra,
        }
        .save(path)
    }

    /// Reads a model and checks that its parts belong together.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let ModelFile {
            parameters,
            bounds,
            mut extra,
        } = ModelFile::load(path)?;
        let file = path.display().to_string();
        let model = Self {
            likelihood: section(&file, &mut extra, "likelihood")?,
            preprocessing: section(&file, &mut extra, "preprocessing")?,
            provenance: section(&file, &mut extra, "provenance")?,
            parameters,
            bounds,
        };
        let network = model.parameters.network();
        let why = if model.preprocessing.d() != network.d() {
            format!(
                "its preprocessing gives {} inputs, its network takes {}",
                model.preprocessing.d(),
                network.d()
            )
        } else if model.likelihood.outputs() != network.outputs() {
            format!(
                "its likelihood needs {} outputs, its network has {}",
                model.likelihood.outputs(),
                network.outputs()
            )
        } else if !suits(model.preprocessing.task(), model.likelihood) {
            format!(
                "the {} likelihood does not suit its task",
                model.likelihood.name()
            )
        } else {
            return Ok(model);
        };
        Err(ModelError::Contradiction { file, why })
    }

    /// Predictions for all rows of a table, and notes on cells that needed treatment.
    pub fn predict(&self, table: &Table) -> Result<(Predictions, Vec<String>), ApplyError> {
        let rows: Vec<usize> = (0..table.rows()).collect();
        let features = self.preprocessing.features(table, &rows)?;
        let outputs = self.predictor()?.predict(&features.x);
        let predictions = match self.likelihood {
            Likelihood::Gaussian(_) | Likelihood::Laplace(_) => Predictions::Responses(
                outputs
                    .iter()
                    .map(|f| self.preprocessing.to_original(*f))
                    .collect(),
            ),
            Likelihood::Bernoulli(_) => Predictions::Probabilities {
                classes: self.preprocessing.class_names().to_vec(),
                values: outputs
                    .iter()
                    .flat_map(|f| [sigmoid(-f), sigmoid(*f)])
                    .collect(),
            },
            Likelihood::Multiclass(m) => Predictions::Probabilities {
                classes: self.preprocessing.class_names().to_vec(),
                values: outputs
                    .chunks(m.classes())
                    .flat_map(|f| {
                        let total = log_sum_exp(f);
                        f.iter()
                            .map(move |v| libm::exp(v - total))
                            .collect::<Vec<_>>()
                    })
                    .collect(),
            },
            Likelihood::Energy(energy) => {
                let constant = self.log_normaliser(energy)? + self.preprocessing.log_volume();
                Predictions::LogDensities(outputs.iter().map(|f| f - constant).collect())
            }
        };
        Ok((predictions, features.notes()))
    }

    /// The model's score on the rows of a table whose targets are known.
    pub fn score(&self, table: &Table, rows: &[usize]) -> Result<Score, ApplyError> {
        let x = self.preprocessing.features(table, rows)?.x;
        let y: Vec<f64> = self
            .preprocessing
            .targets(table, rows)?
            .iter()
            .map(|v| f64::from(*v))
            .collect();
        let outputs = self.predictor()?.predict(&x);
        let rows = rows.len();
        match self.likelihood {
            Likelihood::Gaussian(_) | Likelihood::Laplace(_) => {
                let original = |f: &f64| self.preprocessing.to_original(*f);
                let y: Vec<f64> = y.iter().map(original).collect();
                let residuals: Vec<f64> = outputs
                    .iter()
                    .zip(&y)
                    .map(|(f, y)| original(f) - y)
                    .collect();
                let squares: Vec<f64> = residuals.iter().map(|r| r * r).collect();
                let absolute: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
                let centre = mean(&y);
                let spread: Vec<f64> = y.iter().map(|y| (y - centre) * (y - centre)).collect();
                let r2 = 1.0 - sum(&squares) / sum(&spread);
                let also = vec![("MAE", mean(&absolute)), ("R2", r2)];
                Ok(Score {
                    rows,
                    metric: "MSE",
                    value: mean(&squares),
                    also,
                })
            }
            Likelihood::Energy(energy) => {
                let constant = self.log_normaliser(energy)? + self.preprocessing.log_volume();
                Ok(Score {
                    rows,
                    metric: "NLL",
                    value: constant - mean(&outputs),
                    also: Vec::new(),
                })
            }
            Likelihood::Bernoulli(_) | Likelihood::Multiclass(_) => {
                let value = self.likelihood.average_nll(&outputs, &y)?;
                let classes = self.likelihood.outputs();
                let right = outputs
                    .chunks(classes)
                    .zip(&y)
                    .filter(|(f, y)| most_likely(f) == **y as usize);
                let accuracy = right.count() as f64 / rows as f64;
                Ok(Score {
                    rows,
                    metric: "log loss",
                    value,
                    also: vec![("accuracy", accuracy)],
                })
            }
        }
    }

    /// Exact draws from a density model by rejection, in the units of the columns, row-major.
    pub fn sample(&self, n: usize, stream: Stream) -> Result<Vec<Vec<f64>>, ApplyError> {
        let Likelihood::Energy(energy) = self.likelihood else {
            return Err(ApplyError::NotADensity(match self.preprocessing.task() {
                Task::Regression => "regression",
                _ => "classification",
            }));
        };
        let predictor = self.predictor()?;
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

    /// `log Z` of an energy model on the finer rule.
    fn log_normaliser(&self, energy: Energy) -> Result<f64, ApplyError> {
        let finer = Energy::evaluation(energy.d())?;
        let points: Vec<f32> = finer.node_points().iter().map(|v| *v as f32).collect();
        Ok(finer.log_normaliser(&self.predictor()?.predict(&points)))
    }

    /// The network ready to run on inputs in model units.
    pub fn predictor(&self) -> Result<Predictor, SpecError> {
        Predictor::new(&self.parameters, self.bounds)
    }
}

/// Index of the largest logit; one logit decides between class 1 and class 0.
fn most_likely(f: &[f64]) -> usize {
    match f {
        [logit] => usize::from(*logit > 0.0),
        _ => (0..f.len()).fold(0, |best, i| if f[i] > f[best] { i } else { best }),
    }
}

fn suits(task: Task, likelihood: Likelihood) -> bool {
    match likelihood {
        Likelihood::Gaussian(_) | Likelihood::Laplace(_) => task == Task::Regression,
        Likelihood::Bernoulli(_) => task == Task::Binary,
        Likelihood::Multiclass(m) => {
            task == Task::Multiclass {
                classes: m.classes(),
            }
        }
        Likelihood::Energy(_) => task == Task::Density,
    }
}

fn section<T: for<'de> Deserialize<'de>>(
    file: &str,
    extra: &mut serde_json::Map<String, Value>,
    section: &'static str,
) -> Result<T, ModelError> {
    let file = file.to_string();
    match extra.remove(section) {
        None => Err(ModelError::NoSection { file, section }),
        Some(value) => serde_json::from_value(value).map_err(|e| ModelError::BadSection {
            file,
            section,
            why: e.to_string(),
        }),
    }
}
