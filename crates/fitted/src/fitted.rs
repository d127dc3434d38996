//! A fitted model with all it takes to use it: coefficients, likelihood, preprocessing
//! and where it came from; one safetensors file. What it says of data is in `apply`.

use loopfit_data::preprocess::{Input, Target};
use loopfit_data::{Preprocessing, Task};
use loopfit_likelihood::{Floor, Likelihood};
use loopfit_model::file::{FileError, FormatError};
use loopfit_model::{Bounds, ModelFile, Parameters};
use serde::{Deserialize, Deserializer, Serialize};
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
    /// What is known of its error; nothing of models from a search or a construction.
    pub assessment: Option<Assessment>,
}

/// What is known of a model's error, and what follows for its predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assessment {
    /// Rows that the coefficients were fitted to.
    pub rows: usize,
    /// How the model was selected: `5-fold cross-validation`, `one split`.
    pub selected_by: String,
    /// Rows that it was selected on.
    pub selection_rows: usize,
    /// What `error` and `test_error` are.
    pub metric: String,
    /// Estimated error on new rows, from rows that each fit had not seen, allowing for the selection.
    pub error: f64,
    /// Error on test rows of the same choice, fitted without them.
    pub test_error: Option<f64>,
    /// Those test rows.
    pub test_rows: usize,
    /// Whether predictions are held to the range of the training targets.
    pub clip: bool,
    /// The least probability that a class is given, see [`Floor`]; zero where there are no classes.
    #[serde(default)]
    pub floor: f64,
    /// Absolute residuals of a regression on rows that the fits had not seen, in the target's units, ascending; thinned to
    /// at most [`Assessment::RESIDUALS`], each the largest of its share.
    pub residuals: Vec<f64>,
}

impl Assessment {
    /// Most residuals that a file keeps.
    pub const RESIDUALS: usize = 400;

    /// Thins absolute residuals.
    pub fn thinned(mut residuals: Vec<f64>) -> Vec<f64> {
        residuals.sort_by(f64::total_cmp);
        let (n, kept) = (residuals.len(), residuals.len().min(Self::RESIDUALS));
        (1..=kept).map(|i| residuals[i * n / kept - 1]).collect()
    }

    /// Half the width of an interval around a prediction that covers new targets with this probability; none if there are too few
    /// residuals for it.
    ///
    /// # Formula
    /// The `ceil((m + 1) level)`-th smallest of `m` residuals.
    ///
    /// # Reference
    /// Vovk, "Cross-conformal predictors", 2015: the residuals of all folds together.
    pub fn half_width(&self, level: f64) -> Option<f64> {
        let m = self.residuals.len();
        let rank = ((m as f64 + 1.0) * level).ceil() as usize;
        self.residuals.get(rank.checked_sub(1)?).copied()
    }

    fn wrong(&self) -> Option<&'static str> {
        let residuals = &self.residuals;
        let good = |v: &f64| v.is_finite() && *v >= 0.0;
        if !residuals.iter().all(good) || !residuals.is_sorted() {
            Some("its residuals are not ascending numbers")
        } else if residuals.len() > Self::RESIDUALS {
            Some("it has more residuals than a model keeps")
        } else if !self.error.is_finite() {
            Some("its estimated error is not a number")
        } else {
            None
        }
    }
}

/// Where a model came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// Average negative log-likelihood on the validation samples, in model units; NaN, which a file has as null, where none were
    /// held out.
    #[serde(deserialize_with = "number_or_null")]
    pub validation: f64,
    /// Updates of the selected fit.
    pub updates: usize,
}

fn number_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

impl Provenance {
    /// Of a model that only stands beside others and is not kept.
    pub fn nothing() -> Self {
        Self {
            version: String::new(),
            source: String::new(),
            training_samples: String::new(),
            budget: 0,
            seed: 0,
            validation: 0.0,
            updates: 0,
        }
    }
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
        "{file} has no section `{section}` in its metadata: it holds a bare network; fit a model to a table"
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

impl FittedModel {
    /// From now on predictions are held to the range of the training targets, if `clip` says so, and probabilities to a floor.
    pub fn hold(&mut self, clip: bool, floor: Floor) {
        let assessment = self.assessment.get_or_insert(Assessment {
            rows: 0,
            selected_by: String::new(),
            selection_rows: 0,
            metric: String::new(),
            error: 0.0,
            test_error: None,
            test_rows: 0,
            clip,
            floor: floor.least(),
            residuals: Vec::new(),
        });
        assessment.clip = clip;
        assessment.floor = floor.least();
    }

    /// The least probability of its classes; none if what the assessment says cannot be.
    pub(crate) fn known_floor(&self) -> Option<Floor> {
        let least = self.assessment.as_ref().map_or(0.0, |a| a.floor);
        Floor::new(self.likelihood, least)
    }

    /// Writes the model: beside, synced, then renamed.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        self.file().save(path)
    }

    /// The contents of its file, for [`FittedModel::from_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        self.file().to_bytes()
    }

    fn file(&self) -> ModelFile {
        let mut extra = serde_json::Map::new();
        extra.insert("likelihood".into(), json!(self.likelihood));
        extra.insert("preprocessing".into(), json!(self.preprocessing));
        extra.insert("provenance".into(), json!(self.provenance));
        if let Some(assessment) = &self.assessment {
            extra.insert("assessment".into(), json!(assessment));
        }
        ModelFile {
            parameters: self.parameters.clone(),
            bounds: self.bounds,
            extra,
        }
    }

    /// Reads a model and checks that its parts belong together.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        Self::new(path, ModelFile::load(path)?)
    }

    /// As [`FittedModel::load`], from a file's contents; `source` names it in messages.
    pub fn from_bytes(source: &str, bytes: &[u8]) -> Result<Self, ModelError> {
        let path = Path::new(source);
        let file = ModelFile::from_bytes(bytes).map_err(|reason| FileError::Format {
            path: path.into(),
            reason,
        })?;
        Self::new(path, file)
    }

    fn new(path: &Path, file: ModelFile) -> Result<Self, ModelError> {
        let ModelFile {
            parameters,
            bounds,
            mut extra,
        } = file;
        let file = path.display().to_string();
        let model = Self {
            likelihood: section(&file, &mut extra, "likelihood")?,
            preprocessing: section(&file, &mut extra, "preprocessing")?,
            provenance: section(&file, &mut extra, "provenance")?,
            assessment: match extra.contains_key("assessment") {
                true => Some(section(&file, &mut extra, "assessment")?),
                false => None,
            },
            parameters,
            bounds,
        };
        match model.contradiction() {
            None => Ok(model),
            Some(why) => Err(ModelError::Contradiction { file, why }),
        }
    }
}

impl FittedModel {
    /// What parts of a model say against each other, if anything.
    pub fn contradiction(&self) -> Option<String> {
        let model = self;
        let (likelihood, preprocessing) = (model.likelihood, &model.preprocessing);
        let network = model.parameters.network();
        let (task, d, outputs) = (
            preprocessing.task(),
            preprocessing.d(),
            likelihood.outputs(),
        );
        let suits = match likelihood {
            Likelihood::Gaussian(_) | Likelihood::Laplace(_) => task == Task::Regression,
            Likelihood::Poisson(_) => task == Task::Count,
            Likelihood::Bernoulli(_) => task == Task::Binary,
            Likelihood::Multiclass(m) => {
                task == Task::Multiclass {
                    classes: m.classes(),
                }
            }
            Likelihood::Energy(_) => task == Task::Density,
        };
        let classes = match task {
            Task::Binary => 2,
            Task::Multiclass { classes } => classes,
            Task::Regression | Task::Count | Task::Density => 0,
        };
        let target_suits = match preprocessing.target() {
            Some(Target::Response { .. }) => task == Task::Regression,
            Some(Target::Count { .. }) => task == Task::Count,
            Some(Target::Classes { .. }) => task.is_classification(),
            None => task == Task::Density,
        };
        // Raw inputs of a density have mean 0 and scale 1: they live in the unit cube already.
        let in_cube = |input: &Input| match input {
            Input::Unit { .. } => true,
            Input::Numeric { mean, sd, .. } => *mean == 0.0 && *sd == 1.0,
            Input::Categorical { .. } | Input::Binary { .. } => false,
        };
        let names: Vec<&str> = preprocessing.inputs().iter().map(Input::name).collect();
        let target_name = preprocessing.target().map(Target::name);
        let twice = (0..names.len())
            .find(|i| names[..*i].contains(&names[*i]) || target_name == Some(names[*i]));
        if let Some(i) = twice {
            Some(format!("its column `{}` plays two parts", names[i]))
        } else if model.provenance.budget < network.count() {
            Some(format!(
                "its network has {} numbers, its cap is {}",
                network.count(),
                model.provenance.budget
            ))
        } else if d != network.d() {
            Some(format!(
                "its preprocessing gives {d} inputs, its network takes {}",
                network.d()
            ))
        } else if outputs != network.outputs() {
            Some(format!(
                "its likelihood needs {outputs} outputs, its network has {}",
                network.outputs()
            ))
        } else if !suits {
            Some(format!(
                "the {} likelihood does not suit its task",
                likelihood.name()
            ))
        } else if !target_suits {
            Some("its target does not suit its task".to_string())
        } else if preprocessing.class_names().len() != classes {
            Some(format!(
                "it names {} classes, its task has {classes}",
                preprocessing.class_names().len()
            ))
        } else if let Some(why) = model.assessment.as_ref().and_then(Assessment::wrong) {
            Some(why.to_string())
        } else if model.known_floor().is_none() {
            Some("its least probability leaves no room for others".to_string())
        } else if let Some(why) = overflow(model) {
            Some(why)
        } else if matches!(likelihood, Likelihood::Energy(e) if e.d() != network.d()) {
            Some("its likelihood has another dimension than its network".to_string())
        } else if task == Task::Density && !preprocessing.inputs().iter().all(in_cube) {
            Some("a density has an input that is not mapped to the unit interval".to_string())
        } else {
            None
        }
    }
}

/// Which column's scaling leaves the range of numbers for some output of the network or some cell, if any.
fn overflow(model: &FittedModel) -> Option<String> {
    let preprocessing = &model.preprocessing;
    let residuals = model.assessment.as_ref().map(|a| a.residuals.as_slice());
    let widest = residuals.and_then(<[f64]>::last).copied().unwrap_or(0.0);
    let target = preprocessing.target().filter(|target| match target {
        Target::Response { mean, sd, .. } => {
            let largest = mean.abs() + sd * f64::from(model.bounds.output) + widest;
            !largest.is_finite()
        }
        Target::Count { rate, .. } => {
            let largest = rate * loopfit_numerics::libm::exp(f64::from(model.bounds.output));
            !largest.is_finite()
        }
        Target::Classes { .. } => false,
    });
    let input = preprocessing.inputs().iter().find(|input| match input {
        Input::Unit { low, width, .. } => !(low.abs() + width).is_finite(),
        Input::Binary { sd, .. } => !((1.0 / sd) as f32).is_finite(),
        Input::Numeric { .. } | Input::Categorical { .. } => false,
    });
    let name = target.map(Target::name).or(input.map(Input::name))?;
    Some(format!(
        "the scaling of its column `{name}` overflows: such a model was not fitted"
    ))
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
