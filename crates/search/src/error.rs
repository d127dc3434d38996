//! Why a search cannot run.

use loopfit_data::preprocess::PreprocessError;
use loopfit_data::roles::RolesError;
use loopfit_data::split::SplitError;
use loopfit_data::task::TaskError;
use loopfit_engine::SpecError;
use loopfit_fitted::ApplyError;
use loopfit_model::ShapeError;
use loopfit_model::budget::BudgetError;
use loopfit_numerics::text::count;

/// Why a search cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// Which column is what.
    #[error(transparent)]
    Roles(#[from] RolesError),
    /// What is to be learned.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Training, validation and test rows.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// Cells to numbers.
    #[error(transparent)]
    Preprocess(#[from] PreprocessError),
    /// Nothing fits the cap, or a shape exceeds it.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// Counts or weights, which a stochastic search does not know.
    #[error("counts and weighted rows are fitted by cross-validation, not by a stochastic search")]
    NoSearch,
    /// A shape that does not exist.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A network that cannot grow.
    #[error(transparent)]
    Growth(#[from] loopfit_model::growth::GrowthError),
    /// A fit that cannot run.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A model that cannot be judged.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A likelihood that does not suit the task.
    #[error(transparent)]
    Likelihood(#[from] loopfit_likelihood::Error),
    /// A likelihood for responses, a task without.
    #[error(
        "the {likelihood} likelihood is for regression, and this is a {task} task; leave the likelihood out"
    )]
    LikelihoodForTask {
        /// The likelihood.
        likelihood: &'static str,
        /// The task.
        task: &'static str,
    },
    /// Rows without targets, where some are needed.
    #[error("a density has no targets to validate on: it is searched for, not estimated")]
    NoTargets,
    /// A cap that holds neither an affine function nor a network.
    #[error(
        "budget {budget} cannot hold any function of {}: the smallest needs {smallest}; raise the budget",
        count(*d, "input")
    )]
    NothingFits {
        /// The cap.
        budget: usize,
        /// The number of inputs.
        d: usize,
        /// What the smallest function counts.
        smallest: usize,
    },
    /// Too few updates to spread.
    #[error("{found} updates cannot be spread over the starts of a search; use at least {least}")]
    Updates {
        /// What was asked for.
        found: usize,
        /// What is needed.
        least: usize,
    },
    /// A rung whose fits would have no update each.
    #[error(
        "{updates} updates are too few for the search protocol's round of {fits} fits; use more updates or fewer fits"
    )]
    Rung {
        /// Updates of the search.
        updates: usize,
        /// Fits of the rung.
        fits: usize,
    },
    /// A protocol file that cannot be read.
    #[error("cannot use {path} as a search protocol: {why}")]
    ProtocolFile {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A protocol with an impossible entry.
    #[error("the search protocol's {name} must be {must}")]
    Protocol {
        /// The entry.
        name: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// Training and validation samples that cannot be joined.
    #[error(transparent)]
    Samples(#[from] loopfit_data::samples::SamplesError),
    /// A search without a setting or without a rung.
    #[error("there is nothing to try: a search needs at least one setting and one rung")]
    NothingToTry,
    /// A sample size of zero.
    #[error("a simulation needs at least one {0} observation")]
    NoSamples(&'static str),
    /// Stopped by the caller.
    #[error("interrupted")]
    Interrupted,
}
