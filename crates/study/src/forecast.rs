//! How long a study takes, from the measured speed of a few updates of each case and method.

use crate::StudyError;
use crate::protocol::Case;
use crate::recorder::Job;
use crate::run::{self, Prepared};
use crate::task::{Phase, Task};
use crate::trial::Trial;
use crate::{continuation, searched, shortlist};
use loopfit_engine::{Engine, FitSpec, flops_per_update};
use loopfit_search::cost;

/// A fit that stands for others of its network and samples, and the updates of all of them.
pub(crate) struct Sample {
    spec: FitSpec,
    updates: f64,
}

impl Sample {
    /// The first of some jobs, each of so many updates.
    pub(crate) fn of(jobs: &[Job], updates: usize) -> Option<Self> {
        let mut spec = jobs.first()?.spec.clone();
        // One round is enough to be timed.
        spec.stages.truncate(1);
        let updates = (jobs.len() * updates) as f64;
        Some(Self { spec, updates })
    }

    /// With so many times the updates.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            updates: self.updates * factor,
            ..self
        }
    }
}

impl Prepared<'_> {
    /// Seconds of one thread that the share takes on this machine, about.
    pub fn seconds(&self, engine: &Engine) -> Result<f64, StudyError> {
        let study = &self.named.study;
        let of = |tasks: &[Task], case: &Case| {
            let own = run::share(tasks, self.shard).into_iter();
            own.filter(|task| task.case == case.name).count() as f64
        };
        let development = run::development(study);
        let confirmation = run::confirmation(study, &run::foreseen(study));
        let mut sum = 0.0;
        for case in &study.cases {
            for (tasks, phase) in [
                (&development, Phase::Development),
                (&confirmation, Phase::Confirmation),
            ] {
                let count = of(tasks, case);
                if count > 0.0 {
                    sum += count * self.task_seconds(case, phase, engine)?;
                }
            }
        }
        Ok(sum)
    }

    /// Seconds of one thread that a replication of a case takes.
    fn task_seconds(&self, case: &Case, phase: Phase, engine: &Engine) -> Result<f64, StudyError> {
        let study = &self.named.study;
        let split = study.splits(case).first().copied().flatten();
        let seed = study.seeds_of(case).first;
        let trial = Trial::new(&self.sources, study, case, split, seed);
        if let Some(plan) = &study.search {
            return searched::seconds(plan, &study.methods, &trial, engine);
        }
        let mut sum = 0.0;
        for method in &study.methods {
            let methods = std::slice::from_ref(method);
            let samples = match (&study.continuation, &study.shortlist) {
                (Some(path), _) => continuation::samples(path, methods, &trial)?,
                (_, Some(list)) => shortlist::samples(list, methods, &trial, phase)?,
                _ => Vec::new(),
            };
            // The first is timed, the others go by their operations.
            let Some(first) = samples.first() else {
                continue;
            };
            let timed =
                cost::seconds_per_update(engine, &first.spec).map_err(|e| trial.wrong(e))?;
            let work = samples
                .iter()
                .map(|s| flops_per_update(&s.spec) * s.updates);
            sum += timed * work.sum::<f64>() / flops_per_update(&first.spec);
        }
        Ok(sum)
    }
}
