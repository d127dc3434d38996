//! A fitted model: a network with its preprocessing and what its outputs mean.
//!
//! - [`FittedModel`]: all of it, as one file; [`Provenance`]: what it was fitted to, [`Assessment`]: how well it did there;
//! - [`Predictions`] for a table, by [`FittedModel::predict`], for one that comes in parts by an [`Application`], after each
//!   iteration by [`FittedModel::predict_every_iteration`]; intervals, rows outside the range seen, samples of a density;
//! - [`Score`]: how well it explains rows, by a [`Measure`]; [`DensityFacts`]: how far a density can be relied on.

#![forbid(unsafe_code)]

mod apply;
mod constructed;
mod convert;
mod density;
mod fitted;
mod metric;

pub use apply::{Application, ApplyError, IterationPredictions, Predictions, Score, most_likely};
pub use density::DensityFacts;
pub use fitted::{Assessment, FittedModel, ModelError, Provenance};
pub use metric::{Measure, error_name, error_of_loss};
