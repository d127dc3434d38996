//! Why something cannot be done, each way in one sentence.

use loopfit_data::TableError;
use loopfit_engine::SpecError;
use loopfit_export::ExportError;
use loopfit_fitted::{ApplyError, ModelError};
use loopfit_model::file::FileError;
use loopfit_model::{Method, ShapeError};
use loopfit_search::SearchError;

/// Something that a [`Fit`](crate::Fit) was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Given {
    /// The column to predict.
    Target,
    /// A column or task.
    Column,
    /// That the target is a count.
    Counts,
    /// A column of exposures.
    Exposure,
    /// A column of weights.
    Weights,
    /// A choice of hidden units.
    Activations,
    /// A choice of iteration counts.
    Iterations,
    /// An iteration count that is chosen by penalised likelihood.
    Automatic,
    /// A choice of what is counted.
    Form,
    /// A share of test rows.
    TestFraction,
    /// That there is to be no last fit to all rows.
    NoRefit,
    /// A bound of the index.
    Bound,
    /// A limit on the time.
    Time,
    /// What the methods have in common.
    Equal,
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Target => "a target",
            Self::Column => "a column or task",
            Self::Counts => "a Poisson likelihood",
            Self::Exposure => "an exposure",
            Self::Weights => "a column of weights",
            Self::Activations => "a choice of activations",
            Self::Iterations => "a choice of iteration counts",
            Self::Automatic => "an iteration count by penalised likelihood",
            Self::Form => "a choice of the form",
            Self::TestFraction => "a share of test rows",
            Self::NoRefit => "leaving out the last fit to all rows",
            Self::Bound => "a bound of the index",
            Self::Time => "a limit on the time",
            Self::Equal => "what methods have in common",
        })
    }
}

/// Why a stochastic search is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Another architecture.
    Transformer,
    /// Rows without targets.
    Density,
    /// Rules of a search.
    Protocol,
    /// A shape that is fixed.
    Shape,
    /// A number of updates.
    Updates,
    /// What the methods of a comparison have in common.
    Equal,
    /// An iteration count that is chosen by penalised likelihood.
    Automatic,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Transformer => "a Transformer",
            Self::Density => "a density",
            Self::Protocol => "a protocol",
            Self::Shape => "a shape that is fixed",
            Self::Updates => "a number of updates",
            Self::Equal => "methods that have time or operations in common",
            Self::Automatic => "an iteration count by penalised likelihood",
        })
    }
}

/// Why something cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or memory that is not a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A fit that cannot run.
    #[error(transparent)]
    Search(SearchError),
    /// A file that is not a model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A file that cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A model that does not suit the rows.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A model that a format cannot express.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// Threads that cannot be started.
    #[error(transparent)]
    Threads(#[from] SpecError),
    /// Neither a target nor a density.
    #[error("no target column is named, and the density of all columns is not asked for")]
    NoTarget,
    /// No cap.
    #[error("no cap on the number of trainable numbers is given")]
    NoBudget,
    /// Nothing competes.
    #[error("no {0} takes part")]
    Nothing(&'static str),
    /// What only the selection by cross-validation knows.
    #[error(
        "{given} does not go with {reason}, which is searched for with ReLU units in the paper's form"
    )]
    OnlyEstimated {
        /// What was given.
        given: Given,
        /// What rules it out.
        reason: Reason,
    },
    /// What only some data have.
    #[error("{given} is only for {of}")]
    Only {
        /// What was given.
        given: Given,
        /// What it is for.
        of: &'static str,
    },
    /// No loop is so long, or so short.
    #[error("T = {t} is not a number of iterations: it is at least 1 and at most {most}")]
    Iterations {
        /// What was asked for.
        t: usize,
        /// The longest.
        most: usize,
    },
    /// A shape of a method that does not take part.
    #[error("a shape is fixed for {0}, which does not take part")]
    ShapeOf(Method),
    /// A shape, and several architectures.
    #[error("a shape means one architecture, and several compete")]
    ShapeOfAny,
    /// Tokens that do not suit the inputs.
    #[error("{wrong}; the inputs are {inputs}")]
    Tokens {
        /// What is wrong.
        wrong: ShapeError,
        /// The inputs with their numbers.
        inputs: String,
    },
    /// Rows whose selection is not by cross-validation.
    #[error(
        "the error against the cap is drawn for residual networks that predict a target, without a protocol, shapes or updates"
    )]
    NoCurve,
    /// No fit of a method has a finite error.
    #[error("no fit has a finite validation loss: look for extreme values in the data")]
    Failed,
    /// Stopped before anything was finished.
    #[error(
        "stopped, by the callback or because the time was over, before the first model was there"
    )]
    Cancelled,
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Interrupted => Self::Cancelled,
            other => Self::Search(other),
        }
    }
}
