//! Many fits at once: fits across threads, samples across lanes.

use crate::backend::{Backend, Threads};
use crate::fit::{FitOutcome, fit};
use crate::spec::{FitSpec, SpecError};
use loopfit_numerics::lanes::Level;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// What passes between a run and the one who started it: progress out, a stop in. Clones are the same control.
#[derive(Clone, Debug, Default)]
pub struct Control {
    shared: Arc<Shared>,
}

/// What the clones of a [`Control`] share.
#[derive(Debug, Default)]
struct Shared {
    interrupted: AtomicBool,
    all_or_nothing: bool,
    deadline: OnceLock<Instant>,
    updates: AtomicU64,
    best: Mutex<Option<f64>>,
}

impl Control {
    /// One whose interruption asks for nothing: what is unfinished is of no use then, and work ends as soon as it can.
    pub fn all_or_nothing() -> Self {
        let shared = Shared {
            all_or_nothing: true,
            ..Shared::default()
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Whether it was interrupted and nothing is asked for any more.
    pub fn is_abandoned(&self) -> bool {
        self.shared.all_or_nothing && self.is_interrupted()
    }

    /// Whether two are the same.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Asks running fits to stop soon, after one last validation.
    pub fn interrupt(&self) {
        self.shared.interrupted.store(true, Ordering::Relaxed);
    }

    /// Whether [`Control::interrupt`] was called.
    pub fn is_interrupted(&self) -> bool {
        self.shared.interrupted.load(Ordering::Relaxed)
    }

    /// Asks fits to stop soon after an instant; the first call counts.
    pub fn stop_at(&self, deadline: Instant) {
        let _ = self.shared.deadline.set(deadline);
    }

    /// Whether fits are to stop: interrupted, or past the deadline.
    pub fn is_stopped(&self) -> bool {
        self.is_interrupted()
            || self
                .shared
                .deadline
                .get()
                .is_some_and(|d| Instant::now() >= *d)
    }

    /// Updates made so far, over all fits.
    pub fn updates(&self) -> u64 {
        self.shared.updates.load(Ordering::Relaxed)
    }

    /// The lowest validation loss that [`Control::saw`] was told of.
    pub fn best(&self) -> Option<f64> {
        *self
            .shared
            .best
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of a fit's validation loss.
    pub fn saw(&self, validation: f64) {
        let mut best = self
            .shared
            .best
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if validation.is_finite() && best.is_none_or(|best| validation < best) {
            *best = Some(validation);
        }
    }

    /// Tells of updates that a fit has made since it last told: backends do, now and then.
    pub fn count(&self, updates: usize) {
        self.shared
            .updates
            .fetch_add(updates as u64, Ordering::Relaxed);
    }
}

/// The backend of the processor: runs fits on a number of threads at an instruction level. Neither changes a result.
#[derive(Debug)]
pub struct Engine {
    threads: Threads,
    level: Level,
}

impl Engine {
    /// An engine with `threads` threads (0: one for each core) at the fastest level.
    pub fn new(threads: usize) -> Result<Self, SpecError> {
        Self::at_level(threads, Level::fastest())
    }

    /// An engine at a given level, for tests and benchmarks.
    pub fn at_level(threads: usize, level: Level) -> Result<Self, SpecError> {
        let threads = Threads::new(threads)?;
        Ok(Self { threads, level })
    }
}

impl Backend for Engine {
    fn name(&self) -> &str {
        "cpu"
    }

    fn bits(&self) -> &str {
        // Another text whenever the pinned hashes of `tests/determinism.rs` are.
        "cpu-2"
    }

    fn threads(&self) -> &Threads {
        &self.threads
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        FitSpec::check_all(specs)?;
        Ok(self.threads.install(|| {
            specs
                .par_iter()
                .with_max_len(1)
                .enumerate()
                .map(|(i, spec)| {
                    let outcome = fit(spec, self.level, control);
                    finished(i, &outcome);
                    outcome
                })
                .collect()
        }))
    }
}
