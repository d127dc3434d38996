//! Where samples come from: simulations, tables, splits and preprocessing.
//!
//! Data flow, one file for each step:
//!
//! ```text
//! file -> table -> roles -> task -> split -> preprocess -> samples
//!           ^
//!  simulation, catalog
//! ```
//!
//! - [`catalog`]: the real data sets of the paper, `data:NAME` on the command line, from their
//!   raw files to tables;
//! - [`simulation`]: known functions and samples of them at any size;
//! - [`table`]: csv, tsv, gzip, parquet into columns of numbers or categories;
//! - [`roles`]: which column is the target, which are inputs;
//! - [`task`]: regression, binary, multiclass or density, with the reason why;
//! - [`split`]: training, validation and test rows, group by group;
//! - [`preprocess`]: scaling, imputation, indicators and ranges fitted on training rows, kept
//!   in the model file and used again for prediction;
//! - [`levels`]: classes of a target, categories of an input;
//! - [`samples`]: what the engine fits.
//!
//! ```
//! use loopfit_data::preprocess::{Encoding, Preprocessing, Scaling};
//! use loopfit_data::roles::Roles;
//! use loopfit_data::split::{Groups, Splitter};
//! use loopfit_data::table::{ReadOptions, Table};
//! use loopfit_data::task::Task;
//! use loopfit_numerics::stream::Stream;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let csv = "dose;sex;effect\n0.5;f;1.2\n1.0;m;1.9\n1.5;f;3.1\n2.0;m;4.2\n2.5;f;5.0\n3.0;m;6.1\n";
//! let table = Table::from_reader("trial.csv", csv.as_bytes(), &ReadOptions::default())?;
//! let roles = Roles::new(&table, Some("effect"), None, &[])?;
//! let decision = Task::decide(&table, Some("effect"), None)?;
//! assert_eq!(decision.task, Task::Regression);
//!
//! let groups = Groups::new(&table, &roles, None)?;
//! let split = Splitter::new(groups).split(Stream::new(0), Stream::new(1))?;
//! let preprocessing = Preprocessing::fit_encoded(
//!     &table,
//!     &roles,
//!     decision.task,
//!     &split.train,
//!     Scaling::Fitted,
//!     Encoding::Compact,
//! )?;
//! let train = preprocessing.samples(&table, &split.train)?;
//! assert_eq!(train.d(), preprocessing.d());
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod catalog;
pub mod levels;
pub mod preprocess;
pub mod roles;
pub mod samples;
pub mod simulation;
pub mod split;
pub mod table;
pub mod task;

pub use catalog::DataSet;
pub use preprocess::{Encoding, Preprocessing, Scaling};
pub use roles::Roles;
pub use samples::Samples;
pub use simulation::Simulation;
pub use split::{Groups, Splitter};
pub use table::{Column, ReadOptions, Table, TableError};
pub use task::{Task, TaskKind};
