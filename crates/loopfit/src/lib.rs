//! Fit the best function that a number of trainable numbers can buy.
//!
//! A [`Table`] goes in, a cap on trainable numbers, and what comes out is the [`Model`] that the rows support: a network that applies
//! one small block several times, one with separate blocks, one with a single block, or a linear model, whichever is best on rows that
//! it has not seen.
//!
//! ```no_run
//! let table = loopfit::Table::read("airfoil.csv")?;
//! let fits = loopfit::Fit::new(&table).target("sound_pressure").budget(64).run()?;
//! println!("{}", fits.best());                       // method, shape, count, validation and test error
//! fits.best().model().save("airfoil.safetensors")?;
//! let model = loopfit::Model::load("airfoil.safetensors")?;
//! let y = model.predict(&loopfit::Table::read("new.csv")?)?;
//! # let _ = y;
//! # Ok::<(), loopfit::Error>(())
//! ```
//!
//! - [`Table`]: named columns, from a file or from memory;
//! - [`Fit`]: everything that may be asked for, and [`Fit::run`]; [`Fit::compare`] repeats it over seeds, [`Fit::curve`] over caps;
//! - [`Fits`]: who competed and how good they are, with the best one's model;
//! - [`Model`]: predictions, intervals, scores, draws from a density, one file; source code of other languages.
//!
//! Without a time limit, results do not depend on the number of threads or the machine.

#![forbid(unsafe_code)]

/// What plans are made of and what fits are found by, for tables of one's own.
pub mod details {
    pub use loopfit_engine::SpecError;
    pub use loopfit_export::ExportError;
    pub use loopfit_fitted::{ApplyError, ModelError};
    pub use loopfit_model::ShapeError;
    pub use loopfit_model::file::FileError;
    pub use loopfit_search::SearchError;
    pub use loopfit_search::estimate::{Ask, Entry, Estimate};
    pub use loopfit_search::fit::{MethodFit, Request};
    pub use loopfit_search::replication::Replication;
}

mod comparison;
mod curve;
mod device;
mod effort;
mod error;
mod fit;
mod fits;
mod model;
mod plan;
mod progress;
mod subject;

pub use comparison::{Compared, Comparison, ComparisonPlan, lowest_on};
pub use curve::CurvePlan;
pub use device::{Device, Runner};
pub use effort::Effort;
pub use error::{Error, Given, Reason};
pub use fit::Fit;
pub use fits::{Best, Fits, Fitted, Found, Reference, Step};
pub use loopfit_data::preprocess::Numbers;
pub use loopfit_data::table::{Categorical, Decimal, Delimiter, Limits, MISSING};
pub use loopfit_data::{Column, ReadOptions, Simulation, Table, TableError, Task, TaskKind};
pub use loopfit_engine::Threads;
pub use loopfit_export::{Content, Export, Format, Options as ExportOptions, Sizes};
pub use loopfit_export::{IntegerExport, Integers, Loss as IntegerLoss, Width};
pub use loopfit_fitted::{DensityFacts, FittedModel, Predictions, Score};
pub use loopfit_model::{Activation, Method, Network, Tokens, Tying};
pub use loopfit_search::cost::Equal;
pub use loopfit_search::curve::{Curve, CurvePoint};
pub use loopfit_search::estimate::Absence;
pub use loopfit_search::protocol::Protocol;
pub use loopfit_search::replication::Noise;
pub use loopfit_search::{Family, SearchError};
pub use model::Model;
pub use plan::Plan;
pub use progress::Progress;
pub use subject::Subject;
