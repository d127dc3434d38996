//! Runs the fits of a task, each once: what the store or a cache has is not run again.

use crate::StudyError;
use crate::cache::Cache;
use crate::described::Describer;
use crate::progress::Progress;
use crate::store::{Store, StoredFit};
use loopfit_engine::{Backend, Control, FitOutcome, FitSpec, Stop, Threads};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What runs fits and where they are kept.
#[derive(Clone, Copy)]
pub(crate) struct Workshop<'a> {
    pub(crate) backend: &'a dyn Backend,
    pub(crate) control: &'a Control,
    pub(crate) store: &'a Store,
    pub(crate) progress: &'a Progress,
    /// Name of the study.
    pub(crate) study: &'a str,
    /// Why the store could not be written to, if it could not: it ends the whole run.
    pub(crate) failure: &'a Mutex<Option<StudyError>>,
    /// Fits of all studies.
    pub(crate) cache: Option<&'a Cache>,
}

/// The fits of one task.
pub(crate) struct Recorder<'a> {
    workshop: Workshop<'a>,
    task: &'a str,
    describer: Describer,
    /// The names of the task's fits that are in the store, asked for once.
    stored: Mutex<Option<HashSet<String>>>,
}

/// A fit and its name in the task.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) spec: FitSpec,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(workshop: Workshop<'a>, task: &'a str) -> Self {
        Self {
            workshop,
            task,
            describer: Describer::default(),
            stored: Mutex::default(),
        }
    }

    /// The threads that work beside the fits.
    pub(crate) fn threads(&self) -> &'a Threads {
        self.workshop.backend.threads()
    }

    /// Outcomes in the order of the jobs.
    pub(crate) fn run(&self, jobs: &[Job]) -> Result<Vec<FitOutcome>, StudyError> {
        let w = self.workshop;
        let mut outcomes: Vec<Option<FitOutcome>> = Vec::with_capacity(jobs.len());
        let mut missing: Vec<(usize, String)> = Vec::new();
        for (i, job) in jobs.iter().enumerate() {
            let spec = self.describer.describe(&job.spec);
            let mut stored = match self.is_stored(&job.name)? {
                true => w.store.fit(w.study, self.task, &job.name)?,
                false => None,
            };
            if stored.is_none() {
                stored = self.remembered(job, &spec)?;
            }
            if let Some(stored) = &stored {
                if stored.spec != spec {
                    return Err(StudyError::Changed {
                        path: w.store.path().display().to_string(),
                        fit: format!("{} {}", self.task, job.name),
                    });
                }
                w.progress.found(stored.outcome.updates);
            } else {
                missing.push((i, spec));
            }
            outcomes.push(stored.map(|s| s.outcome));
        }
        let specs: Vec<FitSpec> = missing.iter().map(|(i, _)| jobs[*i].spec.clone()).collect();
        let handed_in = Mutex::new(Vec::new());
        let finished = |at: usize, outcome: &FitOutcome| {
            if outcome.stop == Stop::Interrupted {
                return;
            }
            let (i, spec) = &missing[at];
            let job = &jobs[*i];
            let stored = StoredFit {
                method: job.spec.network.tying().method().key().to_string(),
                spec: spec.clone(),
                backend: w.backend.name().to_string(),
                bits: w.backend.bits().to_string(),
                outcome: outcome.clone(),
            };
            let number = w.store.hand_in(w.study, self.task, &job.name, &stored);
            handed_in
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(number);
            if w.store.is_failing() {
                w.control.interrupt();
            }
            self.now_stored(&job.name);
            w.progress.ran(outcome.updates);
            if let Some(cache) = w.cache {
                cache.keep(&stored);
            }
        };
        let ran = w.backend.run(&specs, w.control, &finished);
        let handed_in = handed_in
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = w.store.await_kept(&handed_in) {
            let mut failure = w.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
            w.control.interrupt();
        }
        let ran = ran.map_err(|e| StudyError::Search {
            of: self.task.to_string(),
            why: Box::new(e.into()),
        })?;
        if w.control.is_stopped() {
            return Err(StudyError::Interrupted);
        }
        for ((i, _), outcome) in missing.iter().zip(ran) {
            outcomes[*i] = Some(outcome);
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    fn names(&self) -> MutexGuard<'_, Option<HashSet<String>>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_stored(&self, name: &str) {
        if let Some(names) = self.names().as_mut() {
            names.insert(name.to_string());
        }
    }

    /// Whether the store has a fit of the task.
    fn is_stored(&self, name: &str) -> Result<bool, StudyError> {
        let w = self.workshop;
        let mut names = self.names();
        if names.is_none() {
            let query = "SELECT fit FROM fit WHERE study = ? AND task = ?";
            let found = w.store.rows(query, [w.study, self.task], |r| r.get(0))?;
            *names = Some(found.into_iter().collect());
        }
        Ok(names.as_ref().is_some_and(|names| names.contains(name)))
    }

    /// A fit that was made elsewhere, from now on in the store.
    fn remembered(&self, job: &Job, spec: &str) -> Result<Option<StoredFit>, StudyError> {
        let w = self.workshop;
        let Some(fit) = w.cache.and_then(|c| c.find(spec, w.backend.bits())) else {
            return Ok(None);
        };
        w.store.put_fit(w.study, self.task, &job.name, &fit)?;
        self.now_stored(&job.name);
        Ok(Some(fit))
    }
}
