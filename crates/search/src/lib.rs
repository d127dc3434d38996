//! Which shapes, starts and settings to try under a cap, and which one to keep.
//!
//! - [`shapes`]: a shortlist of all admissible shapes for Single, Loop or Untied;
//! - [`family`]: what competes, Single, Loop or Untied of an architecture;
//! - [`protocol`]: every choice of a search as data, by default or from a TOML file;
//! - [`plan`]: how a number of updates is spread over starts and rungs;
//! - [`halving`]: many searches at once, successive halving by validation loss;
//! - [`replication`]: a seed's training, validation and test samples, from a simulation or
//!   a table, and how a model is judged on them;
//! - [`climb`]: how much of a likelihood coefficients have left, by climbing on;
//! - [`estimate`]: the model that a table supports, by cross-validation, with a last fit to all rows;
//! - [`curve`]: that model's error against the cap;
//! - [`refit`]: what was found, fitted on with the validation samples;
//! - [`fit`]: all families on one replication, the best one kept;
//! - [`compare`]: all families on many replications, paired;
//! - [`cost`]: updates, operations and seconds of searches before they run.
//!
//! Selection sees validation losses only; test samples are touched once, by
//! [`replication::Replication::judge`], after every choice is made.

#![forbid(unsafe_code)]

pub mod climb;
pub mod compare;
pub mod cost;
pub mod curve;
mod error;
pub mod estimate;
pub mod family;
pub mod fit;
pub mod halving;
pub mod iterations;
mod judge;
pub mod plan;
pub mod protocol;
pub mod refit;
pub mod replication;
pub mod shapes;
pub mod truth;

pub use error::SearchError;
pub use family::Family;
pub use judge::Judgement;
