//! How long a study takes, from the measured speed of a few updates of each case and method.

use crate::StudyError;
use crate::protocol::Case;
use crate::recorder::Job;
use crate::run::{self, Prepared};
use crate::task::{Phase, Task};
use crate::trial::Trial;
use crate::{continuation, searched, shortlist};
use loopfit_engine::{Control, Engine, FitSpec, flops_per_update};

/// Updates of a fit that is timed, if fewer were fast.
const TIMED: usize = 200;
/// Fewer updates, which are enough if they took so many seconds.
const FEW: usize = 10;
const LONG: f64 = 0.02;

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

    /// Processor time of one update.
    fn seconds_per_update(&self, engine: &Engine, trial: &Trial<'_>) -> Result<f64, StudyError> {
        let time = |updates: usize| -> Result<f64, StudyError> {
            let mut spec = self.spec.clone();
            spec.stages.iter_mut().for_each(|s| s.updates = updates);
            let ran = engine.run(&[spec], &Control::default(), |_, _| {});
            let ran = ran.map_err(|e| trial.wrong(e.into()))?;
            Ok(ran.iter().map(|outcome| outcome.seconds).sum())
        };
        let few = time(FEW)?;
        if few > LONG {
            return Ok(few / FEW as f64);
        }
        Ok(time(TIMED)? / TIMED as f64)
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
            let timed = first.seconds_per_update(engine, &trial)?;
            let work = samples
                .iter()
                .map(|s| flops_per_update(&s.spec) * s.updates);
            sum += timed * work.sum::<f64>() / flops_per_update(&first.spec);
        }
        Ok(sum)
    }
}
