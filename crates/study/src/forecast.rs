//! How long a study takes, from the measured speed of a few updates of each case and method.

use crate::StudyError;
use crate::protocol::{Case, Way};
use crate::recorder::Job;
use crate::run::{self, Prepared};
use crate::task::{Phase, Task};
use crate::trial::Trial;
use crate::{continuation, cost, schedule, searched, shortlist, sieve};
use loopfit_engine::{Backend, FitSpec, flops_per_update};
use loopfit_model::Method;
use loopfit_search::cost::Timing;

/// A fit that stands for others of its network and samples, and the updates of all of them.
pub(crate) struct Sample {
    spec: FitSpec,
    fits: f64,
    updates: f64,
}

impl Sample {
    /// The first of some jobs, each of so many updates.
    pub(crate) fn of(jobs: &[Job], updates: usize) -> Option<Self> {
        let mut spec = jobs.first()?.spec.clone();
        // One round is enough to be timed.
        spec.stages.truncate(1);
        let fits = jobs.len() as f64;
        Some(Self {
            spec,
            fits,
            updates: fits * updates as f64,
        })
    }

    /// Predicted seconds of all updates, of the validations between them and of those at both ends of each fit.
    pub(crate) fn cost(&self) -> f64 {
        let every = self.spec.stages.first().map_or(1, |s| s.validate_every);
        let validations = self.updates / every as f64 + 2.0 * self.fits;
        self.updates * cost::of_update(&self.spec) + validations * cost::of_validation(&self.spec)
    }

    /// Floating-point operations of all updates.
    fn flops(&self) -> f64 {
        flops_per_update(&self.spec) * self.updates
    }

    /// With so many times the updates.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            fits: self.fits * factor,
            updates: self.updates * factor,
            ..self
        }
    }
}

impl Prepared<'_> {
    /// Seconds of one thread that the share takes on this machine, about.
    pub fn seconds(&self, backend: &dyn Backend) -> Result<f64, StudyError> {
        let study = &self.named.study;
        let of = |phase: Phase, tasks: &[Task], case: &Case| {
            let own = self.own_tasks(phase, tasks).into_iter();
            own.filter(|task| task.case == case.name).count() as f64
        };
        let development = run::development(study);
        let confirmation = run::confirmation(study, &run::foreseen(study));
        let mut sum = 0.0;
        for case in &study.cases {
            let counts = [
                (
                    Phase::Development,
                    of(Phase::Development, &development, case),
                ),
                (
                    Phase::Confirmation,
                    of(Phase::Confirmation, &confirmation, case),
                ),
            ];
            sum += self.case_seconds(case, &counts, backend)?;
        }
        Ok(sum)
    }

    /// Seconds of one thread that so many replications of a case take in each phase.
    fn case_seconds(
        &self,
        case: &Case,
        counts: &[(Phase, f64)],
        backend: &dyn Backend,
    ) -> Result<f64, StudyError> {
        let study = &self.named.study;
        let split = study.splits(case).first().copied().flatten();
        let seed = study.seeds_of(case).first;
        let trial = Trial::new(&self.sources, study, case, split, seed);
        let methods = &study.methods;
        match &study.way {
            Way::Continuation(path) => grid_seconds(methods, counts, &trial, backend, |own, _| {
                continuation::samples(path, own, &trial)
            }),
            Way::Shortlist(list) => grid_seconds(methods, counts, &trial, backend, |own, phase| {
                shortlist::samples(list, own, &trial, phase)
            }),
            Way::Sieve(own) => grid_seconds(methods, counts, &trial, backend, |methods, _| {
                sieve::samples(own, methods, &trial)
            }),
            Way::Search(plan) => {
                let count: f64 = counts.iter().map(|(_, count)| count).sum();
                Ok(count * searched::seconds(plan, methods, &trial, backend)?)
            }
            Way::Schedule(own) => {
                let count: f64 = counts.iter().map(|(_, count)| count).sum();
                Ok(count * schedule::seconds(own, &trial, backend)?)
            }
        }
    }
}

/// The same of a way whose fits are those of a grid, from samples of a method's fits in a phase.
fn grid_seconds(
    methods: &[Method],
    counts: &[(Phase, f64)],
    trial: &Trial<'_>,
    backend: &dyn Backend,
    of: impl Fn(&[Method], Phase) -> Result<Vec<Sample>, StudyError>,
) -> Result<f64, StudyError> {
    let mut sum = 0.0;
    for method in methods {
        let mut samples = Vec::new();
        for (phase, count) in counts.iter().filter(|(_, count)| *count > 0.0) {
            let own = of(std::slice::from_ref(method), *phase)?;
            samples.extend(own.into_iter().map(|sample| sample.times(*count)));
        }
        // The one with most work is timed, the others go by their operations.
        let most = samples
            .iter()
            .max_by(|a, b| a.flops().total_cmp(&b.flops()));
        let Some(most) = most else {
            continue;
        };
        let timing = Timing::new(backend, &most.spec).map_err(|e| trial.wrong(e))?;
        let timed = timing.per_update / flops_per_update(&most.spec);
        sum += timed * samples.iter().map(Sample::flops).sum::<f64>();
    }
    Ok(sum)
}
