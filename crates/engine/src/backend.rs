//! Who runs fits: what searches and studies know of an engine.

use crate::fit::FitOutcome;
use crate::run::Control;
use crate::spec::{FitSpec, SpecError};
use std::sync::Arc;

/// Runs fits. Searches and studies ask for outcomes of specifications and know nothing else of an engine, so that another one, on
/// another machine or device, is another implementation of this trait.
///
/// An outcome is a pure function of its specification: the same bits whatever else is run beside it, and in which order.
pub trait Backend: Sync {
    /// A short name for records: `cpu`.
    fn name(&self) -> &str;

    /// Which bits the outcomes have. Two backends that say the same promise the same bits for every specification, so that
    /// their fits may stand side by side in one study; a backend whose arithmetic changes says something else from then on.
    fn bits(&self) -> &str;

    /// The threads of this machine, which work beside the fits is done on: samples that are prepared, models that are judged.
    fn threads(&self) -> &Threads;

    /// Checks all specifications, then runs them. `finished(i, outcome)` is called as fits end, in any order and from any
    /// thread; the result is in the order of the specifications. After a stop running fits end soon and the others at their start,
    /// both as [`Stop::Interrupted`](crate::Stop::Interrupted). [`Control::count`] is told of updates on the way.
    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError>;
}

/// A backend that several hold.
impl<B: Backend + Send + ?Sized> Backend for Arc<B> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn bits(&self) -> &str {
        (**self).bits()
    }

    fn threads(&self) -> &Threads {
        (**self).threads()
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        (**self).run(specs, control, finished)
    }
}

/// Most threads that are started: tens of thousands would bring a machine down, and no result depends on their number.
const MOST_THREADS: usize = 1024;

/// A number of threads to work on.
#[derive(Debug)]
pub struct Threads {
    pool: rayon::ThreadPool,
}

impl Threads {
    /// So many threads, but no more than a thousand; 0 is one for each core.
    pub fn new(threads: usize) -> Result<Self, SpecError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.min(MOST_THREADS))
            .build()
            .map_err(|e| SpecError::Threads {
                threads,
                why: e.to_string(),
            })?;
        Ok(Self { pool })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Does parallel work, such as predictions, on these threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }
}
