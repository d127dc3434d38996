//! A study at work: development, shortlists, confirmation, and what shares take over from each other.

use crate::StudyError;
use crate::contender::Contender;
use crate::progress::Work;
use crate::protocol::{Case, Shortlist, Study};
use crate::recorder::{Recorder, Workshop};
use crate::run::{Prepared, confirmation, development, expected, foreseen, shortlist_name};
use crate::shortlist::{self, Kept, Screened};
use crate::store::{Sibling, Watch, pause};
use crate::task::{Phase, Shard, Task};
use crate::trial::Trial;
use std::collections::{BTreeMap, BTreeSet};

/// A case and test split, whose development is one.
type Group = (String, Option<u64>);

/// What development settled for a case and split.
type Shortlists = BTreeMap<Group, Kept>;

fn group(task: &Task) -> Group {
    (task.case.clone(), task.split)
}

/// A study at work.
pub(crate) struct Runner<'a> {
    pub(crate) prepared: &'a Prepared<'a>,
    pub(crate) study: &'a Study,
    pub(crate) workshop: Workshop<'a>,
}

impl Runner<'_> {
    /// The share's own development.
    pub(crate) fn develop(&self) -> Result<(), StudyError> {
        let tasks = development(self.study);
        let own = self.prepared.own_tasks(Phase::Development, &tasks);
        self.run_own(&own, &Shortlists::new())
    }

    /// The share's own confirmation, and what it needs of others' development.
    pub(crate) fn confirm(&self) -> Result<(), StudyError> {
        let own = |cases: &[&Case]| {
            let tasks = confirmation(self.study, cases);
            self.prepared.own_tasks(Phase::Confirmation, &tasks)
        };
        let foreseen = own(&foreseen(self.study));
        if foreseen.is_empty() {
            return Ok(());
        }
        let development = development(self.study);
        let (cases, screened) = self.confirmed_cases(&development)?;
        let own = own(&cases);
        let work = |tasks: &[Task]| tasks.iter().map(|task| expected(self.study, task)).sum();
        self.workshop.progress.correct(work(&foreseen), work(&own));
        let Some(list) = self.study.way.shortlist() else {
            return self.run_own(&own, &Shortlists::new());
        };
        let mut waiting = own;
        let mut watch = Watch::default();
        let mut screened = screened;
        while !waiting.is_empty() {
            let siblings = self.siblings();
            let (mut lists, mut missing) = (Shortlists::new(), Vec::new());
            let wanted: BTreeSet<Group> = waiting.iter().map(group).collect();
            for (case, split) in wanted {
                let of = |t: &&Task| t.case == case && t.split == split;
                let tasks: Vec<Task> = development.iter().filter(of).cloned().collect();
                let lacks = self.take_over(&tasks, &siblings)?;
                if !lacks.is_empty() {
                    missing.extend(lacks);
                    continue;
                }
                let kept = self.keep(list, &case, split, &tasks)?;
                lists.insert((case, split), kept);
            }
            if lists.is_empty() {
                self.advance(&missing, &siblings, &mut watch)?;
                continue;
            }
            if let Some(content) = screened.take() {
                let w = &self.workshop;
                w.store.decide(w.study, "screen", &content)?;
            }
            let (ready, rest) = waiting
                .into_iter()
                .partition::<Vec<_>, _>(|task| lists.contains_key(&group(task)));
            self.run_own(&ready, &lists)?;
            waiting = rest;
        }
        Ok(())
    }

    /// The shapes that development kept for a case and split, from here on for good.
    fn keep(
        &self,
        list: &Shortlist,
        case: &str,
        split: Option<u64>,
        tasks: &[Task],
    ) -> Result<Kept, StudyError> {
        let w = &self.workshop;
        let kept = shortlist::keep(list, &self.study.methods, w.store, w.study, tasks)?;
        let content = serde_json::to_string(&kept).unwrap_or_default();
        w.store
            .decide(w.study, &shortlist_name(case, split), &content)?;
        Ok(kept)
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
        self.gather(development)?;
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

    /// What other shares have, as far as it can be read now; whoever has everything looks at nobody.
    fn siblings(&self) -> Vec<Sibling> {
        match self.prepared.shard {
            Shard::WHOLE => Vec::new(),
            _ => self.workshop.store.siblings(),
        }
    }

    /// Makes sure that tasks of other shares are here: from their stores, or run again.
    fn gather(&self, tasks: &[Task]) -> Result<(), StudyError> {
        let mut watch = Watch::default();
        loop {
            let siblings = self.siblings();
            let missing = self.take_over(tasks, &siblings)?;
            if missing.is_empty() {
                return Ok(());
            }
            self.advance(&missing, &siblings, &mut watch)?;
        }
    }

    /// Takes tasks over that others have finished; those that are still missing.
    fn take_over(&self, tasks: &[Task], siblings: &[Sibling]) -> Result<Vec<Task>, StudyError> {
        let mut missing = Vec::new();
        for task in tasks {
            if !self.adopt(task, siblings)? {
                missing.push(task.clone());
            }
        }
        Ok(missing)
    }

    /// Whether a task is finished here, or is now because another share has it.
    fn adopt(&self, task: &Task, siblings: &[Sibling]) -> Result<bool, StudyError> {
        let w = &self.workshop;
        let judged = self.is_judged(task);
        if w.store.is_done(w.study, &task.name, judged)? {
            return Ok(true);
        }
        let bits = w.backend.bits();
        w.store
            .adopt(siblings, self.prepared.named, task, judged, bits)
    }

    /// Runs one of the tasks that no share has finished, each share another one; if others are at all of them, waits a moment.
    fn advance(
        &self,
        missing: &[Task],
        siblings: &[Sibling],
        watch: &mut Watch,
    ) -> Result<(), StudyError> {
        let w = &self.workshop;
        let busy = watch.busy(siblings, w.study);
        let free: Vec<&Task> = missing
            .iter()
            .filter(|task| !busy.contains(&task.name))
            .collect();
        if free.is_empty() {
            return pause(w.control);
        }
        let next = free[(self.prepared.shard.index - 1) % free.len()];
        w.progress.expect(expected(self.study, next));
        self.run_all(std::slice::from_ref(next), &Shortlists::new())
    }

    /// Runs tasks of the share, but for those that another share has finished: shares were other ones before, or somebody
    /// needed them earlier.
    fn run_own(&self, tasks: &[Task], shortlists: &Shortlists) -> Result<(), StudyError> {
        self.take_over(tasks, &self.siblings())?;
        self.run_all(tasks, shortlists)
    }

    fn run_all(&self, tasks: &[Task], shortlists: &Shortlists) -> Result<(), StudyError> {
        // In their order, so that one case after the other is finished.
        let threads = self.workshop.backend.threads();
        threads.each(tasks, |task| self.run_task(task, shortlists))?;
        Ok(())
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
            let threads = w.backend.threads();
            let scores = threads.install(|| trial.judge(&frozen, w.store, w.study, &task.name))?;
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
