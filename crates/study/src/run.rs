//! From a protocol to records: tasks, phases, shares.

use crate::StudyError;
use crate::contender::Contender;
use crate::progress::{Progress, Work};
use crate::protocol::{Case, Named, Study};
use crate::recorder::{Recorder, Workshop};
use crate::shortlist::{self, Kept, Screened};
use crate::store::Store;
use crate::task::{Phase, Shard, Task};
use crate::trial::{Sources, Trial};
use loopfit_engine::{Backend, Control};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A study that is ready to run: its data were looked for and found.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(crate) named: &'a Named,
    pub(crate) shard: Shard,
    pub(crate) sources: Sources,
}

/// What development settled for a case and split.
type Shortlists = BTreeMap<(String, Option<u64>), Kept>;

impl<'a> Prepared<'a> {
    /// Checks that everything the study needs is there, before anything runs.
    pub fn new(
        named: &'a Named,
        shard: Shard,
        data_dir: Option<PathBuf>,
    ) -> Result<Self, StudyError> {
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
            shard,
        })
    }

    /// Tells the progress how much there is to do.
    pub fn announce(&self, progress: &Progress) {
        progress.expect(total(&self.named.study, self.shard));
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
        })
    }
}

/// A study that was entered in a store.
pub struct Entered<'a> {
    prepared: &'a Prepared<'a>,
    store: &'a Store,
    backend: &'a dyn Backend,
}

impl Entered<'_> {
    /// Runs what the store does not have yet. On a stop everything that had ended is in the
    /// store, and the next run goes on from there.
    pub fn run(&self, control: &Control, progress: &Progress) -> Result<(), StudyError> {
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
            },
        };
        let result = self.backend.threads().install(|| runner.run());
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

/// Everything that a share of a study does, before the shapes that fit are known.
pub fn total(study: &Study, shard: Shard) -> Work {
    let tasks = [development(study), confirmation(study, &foreseen(study))];
    let own = tasks.iter().flat_map(|tasks| share(tasks, shard));
    own.map(|task| expected(study, &task)).sum()
}

/// The tasks of a share.
pub(crate) fn share(tasks: &[Task], shard: Shard) -> Vec<Task> {
    let own = tasks.iter().enumerate().filter(|(i, _)| shard.has(*i));
    own.map(|(_, task)| task.clone()).collect()
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
fn expected(study: &Study, task: &Task) -> Work {
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

struct Runner<'a> {
    prepared: &'a Prepared<'a>,
    study: &'a Study,
    workshop: Workshop<'a>,
}

impl Runner<'_> {
    fn run(&self) -> Result<(), StudyError> {
        let shard = self.prepared.shard;
        let development = development(self.study);
        self.run_all(&share(&development, shard), &Shortlists::new())?;
        let (cases, screened) = self.confirmed_cases(&development)?;
        let own = share(&confirmation(self.study, &cases), shard);
        let work = |tasks: &[Task]| tasks.iter().map(|task| expected(self.study, task)).sum();
        let foreseen = share(&confirmation(self.study, &foreseen(self.study)), shard);
        self.workshop.progress.correct(work(&foreseen), work(&own));
        let shortlists = self.shortlists(&development, &own)?;
        if let Some(content) = screened {
            let w = &self.workshop;
            w.store.decide(w.study, "screen", &content)?;
        }
        self.run_all(&own, &shortlists)
    }

    /// The cases that go on to confirmation, and what the screen says where there is one.
    fn confirmed_cases(
        &self,
        development: &[Task],
    ) -> Result<(Vec<&Case>, Option<String>), StudyError> {
        let study = self.study;
        let Some(rule) = study.way.screen() else {
            return Ok((study.cases.iter().collect(), None));
        };
        // The screen compares all cases: what other shares do of it is taken over or run here.
        self.borrow(development)?;
        let w = &self.workshop;
        let screened = shortlist::screen(
            study,
            rule,
            &self.prepared.sources,
            w.store,
            w.study,
            development,
        )?;
        let eligible = screened.iter().filter(|s| s.eligible);
        let advantage = |s: &Screened| s.advantage.unwrap_or(f64::NEG_INFINITY);
        let selected = eligible.max_by(|a, b| advantage(a).total_cmp(&advantage(b)));
        let mut names: BTreeSet<String> = selected.map(|s| s.case.clone()).into_iter().collect();
        names.extend(rule.also.map(|[b, n]| crate::protocol::screened(b, n)));
        let content = serde_json::json!({
            "cases": screened,
            "selected": selected.map(|s| &s.case),
            "confirmed": names,
        });
        let cases = study.cases.iter().filter(|c| names.contains(&c.name));
        Ok((cases.collect(), Some(content.to_string())))
    }

    /// The shapes that development kept for the cases and splits of some tasks.
    fn shortlists(&self, development: &[Task], own: &[Task]) -> Result<Shortlists, StudyError> {
        let Some(list) = self.study.way.shortlist() else {
            return Ok(Shortlists::new());
        };
        let w = &self.workshop;
        let wanted: BTreeSet<(String, Option<u64>)> =
            own.iter().map(|t| (t.case.clone(), t.split)).collect();
        let mut shortlists = Shortlists::new();
        for (case, split) in wanted {
            let tasks: Vec<Task> = development
                .iter()
                .filter(|t| t.case == case && t.split == split)
                .cloned()
                .collect();
            self.borrow(&tasks)?;
            let kept = shortlist::keep(list, &self.study.methods, w.store, w.study, &tasks)?;
            let content = serde_json::to_string(&kept).unwrap_or_default();
            w.store
                .decide(w.study, &shortlist_name(&case, split), &content)?;
            shortlists.insert((case, split), kept);
        }
        Ok(shortlists)
    }

    /// Makes sure that tasks of other shares are here: from their stores, or run again.
    fn borrow(&self, tasks: &[Task]) -> Result<(), StudyError> {
        let w = &self.workshop;
        let mut missing = Vec::new();
        for task in tasks {
            let judged = self.is_judged(task);
            let here = w.store.is_done(w.study, &task.name, judged)?;
            if !here
                && !w
                    .store
                    .adopt(self.prepared.named, task, judged, w.backend.bits())?
            {
                w.progress.expect(expected(self.study, task));
                missing.push(task.clone());
            }
        }
        self.run_all(&missing, &Shortlists::new())
    }

    fn run_all(&self, tasks: &[Task], shortlists: &Shortlists) -> Result<(), StudyError> {
        // In their order, so that one case after the other is finished.
        tasks
            .iter()
            .par_bridge()
            .try_for_each(|task| self.run_task(task, shortlists))
    }

    /// Fits, chooses, freezes, judges. Whatever of it is in the store is not done again.
    fn run_task(&self, task: &Task, shortlists: &Shortlists) -> Result<(), StudyError> {
        let w = self.workshop;
        if w.control.is_stopped() {
            return Err(StudyError::Interrupted);
        }
        let expected = expected(self.study, task);
        let judged = self.is_judged(task);
        let known = w.store.frozen(w.study, &task.name)?;
        if known.is_some() {
            let done = self.done(task)?;
            w.progress.correct(expected, done);
            w.progress.found_all(done);
            if !judged || w.store.is_scored(w.study, &task.name)? {
                return Ok(());
            }
        }
        let Some(case) = self.study.cases.iter().find(|c| c.name == task.case) else {
            return Ok(());
        };
        let trial = Trial::new(
            &self.prepared.sources,
            self.study,
            case,
            task.split,
            task.seed,
        );
        let frozen = match known {
            Some(frozen) => frozen,
            None => {
                w.store.begin_task(w.study, task)?;
                let kept = shortlists.get(&(task.case.clone(), task.split));
                let none = Kept::default();
                let mut choices = self.study.way.choose(
                    task.phase,
                    &self.study.methods,
                    kept.unwrap_or(&none),
                    &trial,
                    &Recorder::new(w, &task.name),
                )?;
                w.progress.correct(expected, self.done(task)?);
                if self.study.baselines && judged {
                    choices.extend(Contender::BASELINES.map(|own| own.choice(case.at, None)));
                }
                w.store.freeze(w.study, &task.name, choices)?
            }
        };
        if judged {
            let scores = trial.judge(&frozen, w.store, w.study, &task.name)?;
            w.store.put_scores(w.study, &task.name, &scores)?;
        }
        Ok(())
    }

    /// Confirmation is judged, and the development that a screen compares.
    fn is_judged(&self, task: &Task) -> bool {
        task.phase == Phase::Confirmation || self.study.way.screen().is_some()
    }

    /// Fits of a task that the store has.
    fn done(&self, task: &Task) -> Result<Work, StudyError> {
        let w = &self.workshop;
        let query =
            "SELECT count(*), coalesce(sum(updates), 0) FROM fit WHERE study = ? AND task = ?";
        let rows = w.store.rows(query, [w.study, task.name.as_str()], |r| {
            Ok(Work {
                fits: r.get::<_, i64>(0)? as u64,
                updates: r.get::<_, i64>(1)? as u64,
            })
        })?;
        Ok(rows.into_iter().sum())
    }
}
