//! The ways of fitting behind one set of calls.

use crate::StudyError;
use crate::progress::Work;
use crate::protocol::{Case, PathStage, Screen, Shortlist, Way};
use crate::recorder::Recorder;
use crate::shortlist::{self, Kept};
use crate::store::Choice;
use crate::task::Phase;
use crate::trial::Trial;
use crate::{continuation, schedule, searched, sieve};
use loopfit_engine::Threads;
use loopfit_model::Method;

impl Way {
    /// What has a development before its confirmation.
    pub(crate) fn shortlist(&self) -> Option<&Shortlist> {
        match self {
            Self::Shortlist(list) => Some(list),
            Self::Continuation(_) | Self::Search(_) | Self::Sieve(_) | Self::Schedule(_) => None,
        }
    }

    /// The rule by which development chooses among cases.
    pub(crate) fn screen(&self) -> Option<&Screen> {
        self.shortlist()?.screen.as_ref()
    }

    /// The stages of a path; the other ways have none.
    pub(crate) fn stages(&self) -> &[PathStage] {
        match self {
            Self::Continuation(path) => &path.stages,
            Self::Shortlist(_) | Self::Search(_) | Self::Sieve(_) | Self::Schedule(_) => &[],
        }
    }

    /// Whether every method has something to fit under the caps.
    pub(crate) fn check(&self, methods: &[Method], trial: &Trial<'_>) -> Result<(), StudyError> {
        match self {
            Self::Continuation(path) => continuation::check(path, methods, trial),
            Self::Shortlist(list) => shortlist::check(list, methods, trial),
            Self::Search(plan) => searched::check(plan, methods, trial),
            Self::Sieve(own) => sieve::check(own, methods, trial),
            Self::Schedule(own) => schedule::check(own, trial),
        }
    }

    /// Fits of one replication in a phase, as far as they are known beforehand.
    pub(crate) fn work(&self, phase: Phase, case: &Case, methods: &[Method]) -> Work {
        match (self, phase) {
            (Self::Continuation(path), _) => continuation::work(path, methods.len()),
            (Self::Shortlist(list), Phase::Development) => list.development_work(methods),
            (Self::Shortlist(list), Phase::Confirmation) => list.confirmation_work(methods),
            (Self::Search(plan), _) => searched::work(plan, case, methods).unwrap_or_default(),
            (Self::Sieve(own), _) => sieve::work(own, case, methods),
            (Self::Schedule(own), _) => schedule::work(own, case),
        }
    }

    /// Selection: sees training and validation samples only. What development kept is for confirmation.
    pub(crate) fn choose(
        &self,
        phase: Phase,
        methods: &[Method],
        kept: &Kept,
        trial: &Trial<'_>,
        recorder: &Recorder<'_>,
    ) -> Result<Vec<Choice>, StudyError> {
        match (self, phase) {
            (Self::Continuation(path), _) => of_each(recorder.threads(), methods, |method| {
                continuation::choose(path, method, trial, recorder)
            }),
            (Self::Shortlist(list), Phase::Development) => {
                shortlist::develop(list, methods, trial, recorder)
            }
            (Self::Shortlist(list), Phase::Confirmation) => {
                shortlist::confirm(list, methods, kept, trial, recorder)
            }
            (Self::Search(plan), _) => of_each(recorder.threads(), methods, |method| {
                searched::choose(plan, method, trial, recorder)
            }),
            (Self::Sieve(own), _) => of_each(recorder.threads(), methods, |method| {
                sieve::choose(own, method, trial, recorder)
            }),
            (Self::Schedule(own), _) => schedule::choose(own, trial, recorder),
        }
    }
}

/// The choices of all methods, which are made side by side.
fn of_each(
    threads: &Threads,
    methods: &[Method],
    choose: impl Fn(Method) -> Result<Vec<Choice>, StudyError> + Sync,
) -> Result<Vec<Choice>, StudyError> {
    Ok(threads.each(methods, |method| choose(*method))?.concat())
}
