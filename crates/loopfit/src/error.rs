//! Why something cannot be done, each way in one sentence.

use loopfit_data::TableError;
use loopfit_engine::{ApplyError, ModelError, SpecError};
use loopfit_model::file::FileError;
use loopfit_search::SearchError;

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
        "{option} has no meaning for {reason}, which is searched for with ReLU units in the paper's form"
    )]
    OnlyEstimated {
        /// What was asked for.
        option: &'static str,
        /// What rules it out.
        reason: &'static str,
    },
    /// What only a table, or only a density, has.
    #[error("{option} is for {of} only")]
    Only {
        /// What was asked for.
        option: &'static str,
        /// What it is for.
        of: &'static str,
    },
    /// No fit of a method has a finite error.
    #[error("no fit has a finite validation loss: look for extreme values in the data")]
    Failed,
    /// Cancelled before anything was finished.
    #[error("cancelled before the first model was there")]
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
