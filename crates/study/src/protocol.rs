//! What a study does, as data: a TOML file, checked and hashed before anything runs.
//!
//! A protocol names its cases (data and cap), its seeds and exactly one way of fitting:
//!
//! - `[continuation]`: a path of stages, each from where the last ended (F.4.4);
//! - `[shortlist]`: candidate shapes are screened on development seeds, a few of them are
//!   fitted again on confirmation seeds (F.4.5 and F.4.6);
//! - `[search]`: the search of `fit` and `compare`;
//! - `[sieve]`: routes to the maximum of the likelihood over classes of networks;
//! - `[schedule]`: loops whose iterations follow the sample size (Theorems 4.4 and 4.5).

mod check;
mod quick;
mod schedule;
mod sieve;
mod ways;
mod written;

pub(crate) use check::check_name;
pub use schedule::{Follow, Growth, Schedule};
pub(crate) use sieve::ROUNDS;
pub use sieve::{Order, Origin, Route, Sieve, WitnessOf};
pub use ways::{
    Candidates, Continuation, Development, Grid, PathStage, Rounds, Screen, SearchPlan, Shortlist,
    Way,
};

use crate::StudyError;
use loopfit_model::tokens::ChoiceError;
use loopfit_model::{ArchitectureChoice, Method, Tokens};
use loopfit_numerics::text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use written::Written;

/// A study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// What reports call it.
    pub title: String,
    /// What it asks, in a sentence or two.
    pub question: String,
    /// What a reader must know before drawing conclusions, one sentence or so each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// The file of published numbers to show beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// The methods that are compared.
    pub methods: Vec<Method>,
    /// Seeds of the replications whose test results are reported.
    pub seeds: Seeds,
    /// Test splits of tables: every seed is run once on each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test_splits: Vec<u64>,
    /// Whether tables are also given to a linear model and a constant.
    pub baselines: bool,
    /// What the horizontal axis of the curves is called, where cases or stages have a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<String>,
    /// Data and caps.
    pub cases: Vec<Case>,
    /// How it fits.
    #[serde(flatten)]
    pub way: Way,
    /// How one of the cases on the same data is chosen by validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<CaseRule>,
    /// What `--quick` makes of it.
    #[serde(skip_serializing_if = "Quick::is_default")]
    pub quick: Quick,
}

/// Consecutive seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Seeds {
    /// The seeds themselves.
    pub fn each(self) -> impl Iterator<Item = u64> {
        self.first..self.first.saturating_add(self.count)
    }

    fn last(self) -> u64 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }

    fn meets(self, other: Self) -> bool {
        self.first <= other.last() && other.first <= self.last()
    }
}

/// One data set under one cap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A short name, different for every case.
    pub name: String,
    /// What reports call it; by default its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `sim:NAME`, `data:NAME` or a file, relative to the protocol.
    pub data: String,
    /// The cap B; stages of a continuation have their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<usize>,
    /// `ffn` or `transformer`; by default `ffn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// What the tokens of a Transformer read, if not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Training observations of a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<usize>,
    /// Validation observations of a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<usize>,
    /// Seeds of the case, if not those of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
    /// Updates of each method's search, if not those of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<usize>,
    /// Cases with the same curve are points of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<String>,
    /// Where on the axis the case lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// State dimension and iteration count of each method in a continuation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shapes: Option<PathShapes>,
    /// The target column of a file; none for a density.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// `regression`, `binary`, `multiclass` or `density`, if not inferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Consecutive rows of a file that stay in one part of a split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// A column whose equal values stay in one part of a split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Columns that are no inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// The output bound H on the model's scale, if not the default of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The network of the proofs that a sieve compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessOf>,
    /// What Loop's iterations follow in a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<Follow>,
}

impl Case {
    /// What reports call it.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// The architecture of its networks.
    pub fn architecture(&self) -> Result<ArchitectureChoice, ChoiceError> {
        let key = self.architecture.as_deref().unwrap_or("ffn");
        ArchitectureChoice::new(key, self.tokens.clone())
    }

    /// State dimension and iteration count of a method in a continuation.
    pub(crate) fn path_shape(&self, method: Method) -> Option<(usize, usize)> {
        let shapes = self.shapes?;
        let (q, t) = match method {
            Method::Single => (shapes.single?, 1),
            Method::Loop => shapes.looped?.into(),
            Method::Untied => shapes.untied?.into(),
        };
        (q > 0 && t > 0).then_some((q, t))
    }

    /// The cap, which [`Study::check`] makes sure of where it is needed.
    pub(crate) fn cap(&self) -> usize {
        self.budget.unwrap_or(0)
    }
}

/// State dimension q, and iteration count T where a method has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathShapes {
    /// q of Single.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<usize>,
    /// `[q, T]` of Loop; a stage may have another T.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<[usize; 2]>,
    /// `[q, T]` of Untied; fewer blocks where T do not fit the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untied: Option<[usize; 2]>,
}

/// How one of the cases on the same data is chosen, by validation samples alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseRule {
    /// For each method the one with the lowest validation error, averaged over seeds and places (F.4.3).
    LowestMean,
    /// The one with the largest of the smaller relative improvements of Loop over Single and Untied (F.4.6).
    LeastGain,
}

/// A small size of the study that takes the same path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quick {
    /// The cases that are kept; all if empty.
    pub cases: Vec<String>,
    /// Places of the axis that are kept; all if empty.
    pub at: Vec<f64>,
}

impl Quick {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A protocol by its name, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The name: of a built-in study, or of the file.
    pub name: String,
    /// What it does.
    pub study: Study,
    /// Where a protocol file lies: its data files are named from there.
    pub folder: PathBuf,
}

/// SHA-256 of a text as hexadecimal digits.
fn digest(text: &str) -> String {
    hex(Sha256::digest(text.as_bytes()))
}

impl Named {
    /// A study whose data need no folder: simulations and the catalogue.
    pub fn new(name: impl Into<String>, study: Study) -> Self {
        Self {
            name: name.into(),
            study,
            folder: PathBuf::new(),
        }
    }
}

impl Study {
    /// Reads and checks a protocol file.
    pub fn read(path: &Path) -> Result<Named, StudyError> {
        let wrong = |why: String| StudyError::ProtocolFile {
            name: path.display().to_string(),
            why,
        };
        crate::store::check_regular(path)?;
        let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => wrong("it is not text in UTF-8".to_string()),
            _ => StudyError::Unreadable {
                path: path.display().to_string(),
                why: e.to_string(),
            },
        })?;
        let study = Self::parse(&path.display().to_string(), &text)?;
        let stem = path.file_stem().unwrap_or_default();
        let name = stem.to_string_lossy().into_owned();
        check_name(&name)
            .map_err(|why| wrong(format!("its file name names the study, and {why}")))?;
        Ok(Named {
            name,
            study,
            folder: path.parent().unwrap_or(Path::new("")).to_path_buf(),
        })
    }

    /// Parses and checks the text of a protocol; `name` is for messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, StudyError> {
        let wrong = |why: String| StudyError::ProtocolFile {
            name: name.to_string(),
            why,
        };
        let written: Written = toml::from_str(text)
            .map_err(|e| wrong(loopfit_search::protocol::one_sentence(text, &e)))?;
        let study = Self::try_from(written).map_err(wrong)?.expanded();
        let study = study.scheduled().map_err(wrong)?;
        study.check().map_err(wrong)?;
        Ok(study)
    }

    /// With the cases that a screen crosses written out.
    fn expanded(mut self) -> Self {
        let Some(screen) = self.way.screen() else {
            return self;
        };
        if let [case] = &self.cases[..]
            && case.budget.is_none()
        {
            let mut cases = Vec::new();
            for budget in &screen.budgets {
                for train in &screen.trains {
                    cases.push(Case {
                        name: screened(*budget, *train),
                        title: Some(format!("{}, B = {budget}, n = {train}", case.title())),
                        budget: Some(*budget),
                        train: Some(*train),
                        valid: case.valid.or(Some(*train)),
                        ..case.clone()
                    });
                }
            }
            self.cases = cases;
        }
        self
    }

    /// SHA-256 of the protocol as canonical JSON: comments and the order of entries do not
    /// count, every value does.
    pub fn hash(&self) -> String {
        digest(&self.to_json())
    }

    /// The protocol as canonical JSON.
    pub fn to_json(&self) -> String {
        // Every field has a fixed place, and no map is in a protocol.
        serde_json::to_string(self)
            .unwrap_or_else(|e| unreachable!("a protocol is plain data: {e}"))
    }

    /// The protocol as TOML, which [`Study::parse`] reads back.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self)
            .unwrap_or_else(|e| unreachable!("a protocol comes from TOML: {e}"))
    }

    /// Reads and checks what [`Study::to_json`] wrote, of which this is the hash.
    pub(crate) fn from_json(text: &str, hash: &str) -> Result<Self, String> {
        if digest(text) != hash {
            return Err("its protocol is not the one that was hashed".to_string());
        }
        let written: Written = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let study = Self::try_from(written)?;
        study.check()?;
        Ok(study)
    }

    /// Seeds whose test results are reported for a case.
    pub(crate) fn seeds_of(&self, case: &Case) -> Seeds {
        case.seeds.unwrap_or(self.seeds)
    }

    /// Test splits of a case: simulations have one.
    pub(crate) fn splits(&self, case: &Case) -> Vec<Option<u64>> {
        if case.data.starts_with("sim:") {
            vec![None]
        } else {
            self.test_splits.iter().map(|split| Some(*split)).collect()
        }
    }
}

/// Name of a case of a screen.
pub(crate) fn screened(budget: usize, train: usize) -> String {
    format!("B{budget}-n{train}")
}

#[cfg(test)]
mod tests;
