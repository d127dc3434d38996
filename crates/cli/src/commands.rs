//! One file for each command: its arguments, and a `run` that makes one library call.

pub(crate) mod budget;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod curve;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod predict;
pub(crate) mod sample;
pub(crate) mod score;
pub(crate) mod show;
pub(crate) mod study;
pub(crate) mod theory;
pub(crate) mod witness;

use crate::Global;
use anyhow::Result;
use loopfit_engine::Threads;

/// Runs work on the number of threads that the user asked for.
fn on_threads<T: Send>(global: &Global, work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(Threads::new(global.threads)?.install(work))
}
