//! From a protocol to records: what there is to do, and for whom.

use crate::StudyError;
use crate::cache::Cache;
use crate::progress::{Progress, Work};
use crate::protocol::{Case, Named, Study};
use crate::recorder::Workshop;
use crate::runner::Runner;
use crate::shares::{Own, Shares, own_of, pieces};
use crate::store::Store;
use crate::task::{Phase, Shard, Task};
use crate::trial::{Sources, Trial};
use loopfit_engine::{Backend, Control};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A study that is ready to run: its data were looked for and found.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(crate) named: &'a Named,
    pub(crate) shard: Shard,
    /// The tasks of the share; none is everything.
    own: Option<Own>,
    pub(crate) sources: Sources,
}

impl<'a> Prepared<'a> {
    /// Checks that everything the study needs is there, before anything runs.
    pub fn new(
        named: &'a Named,
        shard: Shard,
        data_dir: Option<PathBuf>,
    ) -> Result<Self, StudyError> {
        let mut prepared = Self::whole(named, data_dir)?;
        share_out(std::slice::from_mut(&mut prepared), shard)?;
        Ok(prepared)
    }

    /// The same for studies that run together, whose tasks are shared out together.
    pub fn all(
        studies: &'a [Named],
        shard: Shard,
        data_dir: Option<PathBuf>,
    ) -> Result<Vec<Self>, StudyError> {
        // Reading data takes seconds.
        let prepared: Vec<Result<Self, StudyError>> = std::thread::scope(|scope| {
            let threads = studies
                .iter()
                .map(|named| scope.spawn(|| Self::whole(named, data_dir.clone())));
            let threads: Vec<_> = threads.collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let mut prepared = prepared.into_iter().collect::<Result<Vec<_>, _>>()?;
        share_out(&mut prepared, shard)?;
        Ok(prepared)
    }

    fn whole(named: &'a Named, data_dir: Option<PathBuf>) -> Result<Self, StudyError> {
        let study = &named.study;
        study.check().map_err(|why| StudyError::ProtocolFile {
            name: named.name.clone(),
            why,
        })?;
        let sources = Sources::new(named, data_dir)?;
        for case in &study.cases {
            check_caps(study, case, &sources)?;
        }
        Ok(Self {
            sources,
            named,
            shard: Shard::WHOLE,
            own: None,
        })
    }

    /// The tasks of a list of one phase that are the share's own.
    pub(crate) fn own_tasks(&self, phase: Phase, tasks: &[Task]) -> Vec<Task> {
        own_of(self.own.as_ref(), phase, tasks)
    }

    /// Everything that the share does, before the shapes that fit are known.
    pub fn total(&self) -> Work {
        let study = &self.named.study;
        let phases = [
            (Phase::Development, development(study)),
            (Phase::Confirmation, confirmation(study, &foreseen(study))),
        ];
        let own = phases.iter().flat_map(|(p, t)| self.own_tasks(*p, t));
        own.map(|task| expected(study, &task)).sum()
    }

    /// Tells the progress how much there is to do.
    pub fn announce(&self, progress: &Progress) {
        progress.expect(self.total());
    }

    /// Enters the study in a store. What is there of it must be of the same protocol and data, and fits there of a backend with the
    /// same bits.
    pub fn enter<'r>(
        &'r self,
        store: &'r Store,
        backend: &'r dyn Backend,
    ) -> Result<Entered<'r>, StudyError> {
        store.check_backend(backend)?;
        store.begin(self.named)?;
        let study = &self.named.study;
        for case in &study.cases {
            if let Some(content) = self.sources.describe(study, case)? {
                store.fix_data(&self.named.name, &case.name, &content)?;
            }
        }
        Ok(Entered {
            prepared: self,
            store,
            backend,
            cache: None,
        })
    }
}

/// Gives every study its part of a share.
fn share_out(prepared: &mut [Prepared<'_>], shard: Shard) -> Result<(), StudyError> {
    if shard == Shard::WHOLE {
        return Ok(());
    }
    let shares = Shares::new(pieces(prepared)?, shard.count);
    for (number, one) in prepared.iter_mut().enumerate() {
        one.shard = shard;
        one.own = Some(shares.own(shard, number));
    }
    Ok(())
}

/// A study that was entered in a store.
pub struct Entered<'a> {
    prepared: &'a Prepared<'a>,
    store: &'a Store,
    backend: &'a dyn Backend,
    cache: Option<&'a Cache>,
}

impl<'a> Entered<'a> {
    /// Takes fits that are in a cache from there, and puts there what is made.
    pub fn with_cache(self, cache: &'a Cache) -> Self {
        Self {
            cache: Some(cache),
            ..self
        }
    }

    /// Runs what the store does not have yet. On a stop everything that had ended is in the
    /// store, and the next run goes on from there.
    pub fn run(&self, control: &Control, progress: &Progress) -> Result<(), StudyError> {
        self.develop(control, progress)?;
        self.confirm(control, progress)
    }

    /// Whether confirmation waits for development.
    pub fn waits(&self) -> bool {
        self.prepared.named.study.way.shortlist().is_some()
    }

    /// The first part of a run: development, which shares of several studies do before anything else, so that nobody waits for it.
    pub fn develop(&self, control: &Control, progress: &Progress) -> Result<(), StudyError> {
        self.with_runner(control, progress, |runner| runner.develop())
    }

    /// The second part of a run.
    pub fn confirm(&self, control: &Control, progress: &Progress) -> Result<(), StudyError> {
        self.with_runner(control, progress, |runner| runner.confirm())
    }

    fn with_runner(
        &self,
        control: &Control,
        progress: &Progress,
        work: impl FnOnce(&Runner<'_>) -> Result<(), StudyError>,
    ) -> Result<(), StudyError> {
        let named = self.prepared.named;
        let failure = Mutex::new(None);
        let runner = Runner {
            prepared: self.prepared,
            study: &named.study,
            workshop: Workshop {
                backend: self.backend,
                control,
                store: self.store,
                progress,
                study: &named.name,
                failure: &failure,
                cache: self.cache,
            },
        };
        let result = work(&runner);
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => result,
        }
    }
}

/// Looks at the first replication of a case: something must fit its cap.
fn check_caps(study: &Study, case: &Case, sources: &Sources) -> Result<(), StudyError> {
    let split = study.splits(case).first().copied().flatten();
    let trial = Trial::new(sources, study, case, split, study.seeds_of(case).first);
    study.way.check(&study.methods, &trial)
}

/// Everything that a study does, before the shapes that fit are known.
pub fn total(study: &Study) -> Work {
    let tasks = [development(study), confirmation(study, &foreseen(study))];
    tasks.iter().flatten().map(|t| expected(study, t)).sum()
}

/// The cases that are confirmed, as many as before a screen can be known: it selects one, and
/// one may be added.
pub(crate) fn foreseen(study: &Study) -> Vec<&Case> {
    let count = study
        .way
        .screen()
        .map_or(usize::MAX, |s| 1 + usize::from(s.also.is_some()));
    study.cases.iter().take(count).collect()
}

/// Fits of a task as far as they are known beforehand.
pub(crate) fn expected(study: &Study, task: &Task) -> Work {
    let case = study.cases.iter().find(|case| case.name == task.case);
    let work = |case| study.way.work(task.phase, case, &study.methods);
    case.map(work).unwrap_or_default()
}

/// The tasks of development, all seeds of one case and split together.
pub(crate) fn development(study: &Study) -> Vec<Task> {
    let Some(list) = study.way.shortlist() else {
        return Vec::new();
    };
    let mut tasks = Vec::new();
    for case in &study.cases {
        for split in study.splits(case) {
            for seed in list.development.seeds.each() {
                tasks.push(Task::new(Phase::Development, &case.name, split, seed));
            }
        }
    }
    tasks
}

/// All tasks that a study may have.
pub(crate) fn tasks(study: &Study) -> Vec<Task> {
    let cases: Vec<_> = study.cases.iter().collect();
    let mut tasks = development(study);
    tasks.extend(confirmation(study, &cases));
    tasks
}

/// The tasks of confirmation.
pub(crate) fn confirmation(study: &Study, cases: &[&Case]) -> Vec<Task> {
    let mut tasks = Vec::new();
    for case in cases {
        for split in study.splits(case) {
            for seed in study.seeds_of(case).each() {
                tasks.push(Task::new(Phase::Confirmation, &case.name, split, seed));
            }
        }
    }
    tasks
}

/// The decision that holds the shapes of a case and split.
pub(crate) fn shortlist_name(case: &str, split: Option<u64>) -> String {
    let split = split.map(|s| format!("/split-{s}")).unwrap_or_default();
    format!("shortlist/{case}{split}")
}
