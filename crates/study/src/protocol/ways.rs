//! The ways of fitting, as a protocol has them.

use super::sieve::Sieve;
use super::{Schedule, Seeds};
use loopfit_model::Method;
use loopfit_search::protocol::{PerIteration, Protocol};
use serde::{Deserialize, Serialize};

/// The one way in which a study fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// A path of stages.
    Continuation(Continuation),
    /// Development, freeze, confirmation.
    Shortlist(Shortlist),
    /// Successive halving.
    Search(SearchPlan),
    /// Routes to the maximum of the likelihood.
    Sieve(Sieve),
    /// Iteration counts that follow the sample size.
    Schedule(Schedule),
}

/// Learning rates and weight decays that are all tried, and the rest of Adam's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grid {
    /// Random starts of a fresh fit.
    pub starts: usize,
    /// Initial learning rates.
    pub learning_rates: Vec<f64>,
    /// Weight decays.
    pub weight_decays: Vec<f64>,
    /// Whether decay is subtracted from the coefficients instead of added to the gradient.
    pub decoupled: bool,
    /// Final learning rate as a fraction of the initial one.
    pub final_rate: f64,
    /// Samples in a batch.
    pub batch: usize,
    /// Updates between validations.
    pub validate_every: usize,
    /// Cap on the norm of the gradient.
    pub gradient_cap: f64,
    /// Factor on the learning rate of the outgoing weights.
    pub outgoing_rate: PerIteration,
    /// Factor on the outgoing weights of a fresh start.
    pub outgoing_multiplier: PerIteration,
}

impl Default for Grid {
    /// The paper's B and T studies (F.4.3).
    fn default() -> Self {
        Self {
            starts: 2,
            learning_rates: vec![0.001, 0.003],
            weight_decays: vec![0.0, 0.001],
            decoupled: false,
            final_rate: 0.05,
            batch: 128,
            validate_every: 200,
            gradient_cap: 5.0,
            outgoing_rate: PerIteration {
                factor: 1.0,
                power: 1.0,
            },
            outgoing_multiplier: PerIteration {
                factor: 0.05,
                power: 1.0,
            },
        }
    }
}

/// A path of stages (F.4.4). The first has every start and setting, each later one every setting
/// from the best checkpoint of the stage before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continuation {
    /// Settings that are tried at every stage.
    #[serde(default)]
    pub grid: Grid,
    /// The stages, in order.
    pub stages: Vec<PathStage>,
}

/// One stage of a path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathStage {
    /// Training observations.
    pub train: usize,
    /// Validation observations.
    pub valid: usize,
    /// The cap B.
    pub budget: usize,
    /// Iteration count of Loop, if not the case's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
    /// Updates of each fit.
    pub updates: usize,
    /// Where on the axis the stage lies; a stage without a place is not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
}

/// Development on some seeds, confirmation on others (F.4.5, F.4.6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortlist {
    /// Settings that are tried with every shape.
    #[serde(default)]
    pub grid: Grid,
    /// Shapes of Single.
    #[serde(default)]
    pub single: Candidates,
    /// Shapes of Loop.
    #[serde(default, rename = "loop")]
    pub looped: Candidates,
    /// Shapes of Untied.
    #[serde(default)]
    pub untied: Candidates,
    /// How shapes are screened.
    pub development: Development,
    /// How the kept ones are fitted.
    pub confirmation: Rounds,
    /// Chooses one case among many before confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<Screen>,
}

/// State dimensions and iteration counts; every pair is tried with the largest width that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidates {
    /// State dimensions.
    pub q: Vec<usize>,
    /// Iteration counts; Single has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub t: Vec<usize>,
}

/// How shapes are screened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Development {
    /// Seeds, none of them a confirmation seed.
    pub seeds: Seeds,
    /// Updates of the first round of each fit.
    pub warm: usize,
    /// Updates of the second.
    pub refine: usize,
    /// Random starts, if not those of the grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<usize>,
    /// Shapes of each method that go on to confirmation.
    pub keep: usize,
}

impl Development {
    /// Updates of each fit.
    pub fn rounds(&self) -> Rounds {
        Rounds {
            warm: self.warm,
            refine: self.refine,
        }
    }
}

/// A fit of two rounds, the second from the best checkpoint of the first with Adam reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounds {
    /// Updates of the first.
    pub warm: usize,
    /// Updates of the second.
    pub refine: usize,
}

/// The eligibility rule of F.4.5: a case goes on if Loop has the smallest mean development error
/// and wins on enough seeds; of those the one with the largest relative advantage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screen {
    /// Caps to cross ...
    pub budgets: Vec<usize>,
    /// ... with training sizes.
    pub trains: Vec<usize>,
    /// Seeds that Loop must win.
    pub wins: usize,
    /// `[B, n]` that is confirmed as well, for comparison with published numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<[usize; 2]>,
}

/// The search of `fit` and `compare` for every case and method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchPlan {
    /// Updates of each method's search, the same for all.
    #[serde(default = "standard")]
    pub updates: usize,
    /// Also report the best model at every iteration count that Loop grew through.
    #[serde(default)]
    pub fan: bool,
    /// Shapes, ranges and rules.
    #[serde(default)]
    pub protocol: Protocol,
    /// Loop's own, where it differs.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<Protocol>,
}

fn standard() -> usize {
    loopfit_search::fit::STANDARD
}

impl SearchPlan {
    /// The rules of a method.
    pub(crate) fn of(&self, method: Method) -> &Protocol {
        match (&self.looped, method) {
            (Some(own), Method::Loop) => own,
            _ => &self.protocol,
        }
    }
}
