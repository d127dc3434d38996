//! Studies: frozen protocols, run fit by fit into a store that survives anything.
//!
//! - [`protocol`]: what a study does, as a checked and hashed TOML file;
//! - [`builtin`]: the studies that come with the program, the paper's among them;
//! - [`cache`]: fits by what they are, for all studies and machines;
//! - [`elsewhere`]: fits that other processes and machines make, handed out in batches;
//! - [`run`]: from a protocol to records, on any number of threads, in shares, resumed at will;
//! - [`shares`]: who runs what, where several machines do, by predicted cost;
//! - [`store`]: the SQLite file, its export and the merging of shares;
//! - [`progress`]: how far a run is;
//! - [`status`]: how far a store is;
//! - [`results`]: means, standard errors and paired differences from a store;
//! - [`models`]: the best models of a store, built again from their records;
//! - [`published`]: the numbers that the paper prints;
//! - [`report`]: tables and figures of a study beside the published numbers.
//!
//! `forecast` says how long a run will take. Inside, `continuation`, `shortlist`, `searched`, `sieve` (with the networks of `witnessed`) and `schedule` are the ways of fitting, behind the calls of `way`; they see a
//! `trial`'s training and validation samples and write their fits through a `recorder`. Test
//! samples are behind a door that opens for frozen choices alone.

#![forbid(unsafe_code)]

pub mod builtin;
pub mod cache;
pub mod elsewhere;
pub mod models;
pub mod progress;
pub mod protocol;
pub mod published;
pub mod report;
pub mod results;
pub mod run;
pub mod shares;
pub mod status;
pub mod store;

mod baseline;
mod contender;
mod continuation;
mod cost;
mod described;
mod efforts;
mod error;
mod forecast;
mod grid;
mod recorder;
mod runner;
mod schedule;
mod searched;
mod shortlist;
mod sieve;
mod task;
mod trial;
mod way;
mod witnessed;

pub use contender::{Contender, Rule};
pub use error::StudyError;
pub use protocol::{Named, Study};
pub use shortlist::Screened;
pub use store::Store;
pub use task::{Phase, Shard, Task};
