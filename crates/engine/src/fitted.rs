//! A fitted model with all it takes to use it: coefficients, likelihood, preprocessing
//! and where it came from; one safetensors file. What it says of data is in `apply`.

use loopfit_data::preprocess::{Input, Target};
use loopfit_data::{Preprocessing, Task};
use loopfit_likelihood::Likelihood;
use loopfit_model::file::FileError;
use loopfit_model::{Bounds, ModelFile, Parameters};
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
        match contradiction(&model) {
            None => Ok(model),
            Some(why) => Err(ModelError::Contradiction { file, why }),
        }
    }
}

/// What parts of a model file say against each other, if anything.
fn contradiction(model: &FittedModel) -> Option<String> {
    let (likelihood, preprocessing) = (model.likelihood, &model.preprocessing);
    let network = model.parameters.network();
    let (task, d, outputs) = (
        preprocessing.task(),
        preprocessing.d(),
        likelihood.outputs(),
    );
    let suits = match likelihood {
        Likelihood::Gaussian(_) | Likelihood::Laplace(_) => task == Task::Regression,
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
        Task::Regression | Task::Density => 0,
    };
    let target_suits = match preprocessing.target() {
        Some(Target::Response { .. }) => task == Task::Regression,
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
    let target_name = preprocessing.target().map(|target| match target {
        Target::Response { name, .. } | Target::Classes { name, .. } => name.as_str(),
    });
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
    } else if matches!(likelihood, Likelihood::Energy(e) if e.d() != network.d()) {
        Some("its likelihood has another dimension than its network".to_string())
    } else if task == Task::Density && !preprocessing.inputs().iter().all(in_cube) {
        Some("a density has an input that is not mapped to the unit interval".to_string())
    } else {
        None
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
