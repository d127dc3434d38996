//! The store: one SQLite file, one transaction for the fits that end together.
//!
//! Killed at any instant, it holds every fit that had ended, but for those that its last transaction was to write, and
//! nothing half-written. Every record has a checksum: a store that is damaged is refused, and a run mends it. The tables
//! are in `store/schema.sql` and in `docs/store.md`.

mod adopt;
mod backends;
mod export;
mod files;
mod mend;
mod merge;
mod open;
mod record;
mod row;
mod verify;
mod waiting;

pub(crate) use adopt::{Sibling, Watch, pause};
pub use export::export;
pub use files::stores_in;
pub(crate) use files::{check_regular, check_store, plain};
pub use merge::{Part, merge, together};
pub use verify::{Damage, Fault, Verified, verify};

use crate::StudyError;
use crate::protocol::{Named, Study, check_name};
use crate::task::Task;
use loopfit_engine::FitOutcome;
use record::{CHOICE, DECISION, FIT, SCORE, STUDY, TALLY, TASK, Table};
pub(crate) use row::FitRow;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use waiting::Waiting;

/// Marks the file as a loopfit store ("lfst").
const APPLICATION: i64 = 0x6C66_7374;
/// Version of the tables. The first had no checksums; the second did not say who made a fit.
const VERSION: i64 = 3;
/// The first version with checksums and tallies.
const CHECKSUMS: i64 = 2;

/// The tables of a version with checksums.
fn schema(version: i64) -> &'static str {
    match version {
        2 => include_str!("store/schema-2.sql"),
        _ => include_str!("store/schema.sql"),
    }
}

/// What selection kept: a fit, or a baseline that needs none.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Different for every choice of a task: `loop`, `loop@128`, `linear`.
    pub name: String,
    /// `single`, `loop`, `untied`, `linear` or `constant`.
    pub method: String,
    /// Place on the study's axis.
    pub at: Option<f64>,
    /// The selected fit.
    pub fit: Option<String>,
}

/// A fit as it is kept.
#[derive(Clone, Debug)]
pub struct StoredFit {
    /// The method.
    pub method: String,
    /// Canonical JSON of the specification.
    pub spec: String,
    /// Who made it: `cpu`.
    pub backend: String,
    /// What other backends must have in common with that one to make the same fit.
    pub bits: String,
    /// What it gave.
    pub outcome: FitOutcome,
}

/// Proof that the choices of a task are in the store: what judging needs.
#[derive(Debug)]
pub struct Frozen {
    choices: Vec<Choice>,
}

impl Frozen {
    /// The choices that may be judged.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }
}

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    /// Records of fits that wait for the connection.
    waiting: Mutex<Waiting>,
    /// Held by the thread that writes them.
    writing: Mutex<()>,
    path: PathBuf,
    /// Version of its tables.
    version: i64,
    /// What a person should know about how it was opened.
    notice: Option<String>,
    /// Held by the one process that writes.
    _lock: Option<File>,
}

impl Store {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StudyError> {
        work(&self.lock()).map_err(|e| StudyError::store(&self.path, e))
    }

    /// Whether a study is here; with another protocol it is refused.
    pub(crate) fn has(&self, named: &Named) -> Result<bool, StudyError> {
        let (name, hash) = (&named.name, named.study.hash());
        let known: Option<String> = self.with(|c| {
            let query = "SELECT hash FROM study WHERE name = ?";
            c.query_row(query, [name], |r| r.get(0)).optional()
        })?;
        match known {
            Some(known) if known != hash => Err(StudyError::OtherProtocol {
                path: self.path.display().to_string(),
                name: name.clone(),
                found: short(&known),
                expected: short(&hash),
            }),
            other => Ok(other.is_some()),
        }
    }

    /// Enters a study. One that is there must have the same protocol.
    pub fn begin(&self, named: &Named) -> Result<(), StudyError> {
        if self.has(named)? {
            return Ok(());
        }
        let study = &named.study;
        let row = [named.name.clone(), study.hash(), study.to_json()];
        self.with(|c| STUDY.insert(c, &row.map(Value::from)))
    }

    /// The studies of the store, in the order of their names.
    pub fn studies(&self) -> Result<Vec<Named>, StudyError> {
        let rows: Vec<(String, String, String)> = self.with(|c| {
            let mut statement =
                c.prepare("SELECT name, protocol, hash FROM study ORDER BY name")?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
            rows.collect()
        })?;
        let read = |(name, json, hash): (String, String, String)| {
            let broken = |why| self.broken(format!("study {name:?}"), why);
            let study = read_study(&name, &json, &hash).map_err(broken)?;
            Ok(Named::new(name, study))
        };
        rows.into_iter().map(read).collect()
    }

    fn broken(&self, what: String, why: String) -> StudyError {
        StudyError::Broken {
            path: self.path.display().to_string(),
            what,
            why,
        }
    }

    pub(crate) fn begin_task(&self, study: &str, task: &Task) -> Result<(), StudyError> {
        self.with(|c| {
            let query = "SELECT EXISTS (SELECT 1 FROM task WHERE study = ? AND task = ?)";
            if c.query_row(query, [study, &task.name], |r| r.get(0))? {
                return Ok(());
            }
            insert_task(c, study, task)
        })
    }

    /// A fit that was run before.
    pub fn fit(&self, study: &str, task: &str, fit: &str) -> Result<Option<StoredFit>, StudyError> {
        let row = self.with(|c| {
            c.prepare_cached(&format!(
                "SELECT {} FROM fit WHERE study = ? AND task = ? AND fit = ?",
                FIT.list(self.version)
            ))?
            .query_row([study, task, fit], |r| {
                Ok(FitRow {
                    method: r.get("method")?,
                    spec: r.get("spec")?,
                    stop: r.get("stop")?,
                    validation: r.get("validation")?,
                    best_update: r.get("best_update")?,
                    updates: r.get("updates")?,
                    curve: r.get("curve")?,
                    parameters: r.get("parameters")?,
                    seconds: r.get("seconds")?,
                    backend: r.get("backend")?,
                    bits: r.get("bits")?,
                })
            })
            .optional()
        })?;
        let broken = |why| self.broken(format!("fit {fit} of task {task}"), why);
        row.map(|row| row.read().map_err(broken)).transpose()
    }

    /// Writes the choices of a task, all at once and for good.
    pub(crate) fn freeze(
        &self,
        study: &str,
        task: &str,
        choices: Vec<Choice>,
    ) -> Result<Frozen, StudyError> {
        let rows: Vec<Vec<Value>> = choices
            .iter()
            .map(|choice| {
                vec![
                    study.to_string().into(),
                    task.to_string().into(),
                    choice.name.clone().into(),
                    choice.method.clone().into(),
                    choice.at.into(),
                    choice.fit.clone().into(),
                ]
            })
            .collect();
        self.settle_task(study, task, &CHOICE, &rows, &[&FIT, &CHOICE])?;
        Ok(Frozen { choices })
    }

    /// Writes records of a task all at once, and how many there are of those that are final now.
    fn settle_task(
        &self,
        study: &str,
        task: &str,
        table: &Table,
        rows: &[Vec<Value>],
        finals: &[&Table],
    ) -> Result<(), StudyError> {
        self.with(|c| {
            let transaction = c.unchecked_transaction()?;
            for row in rows {
                table.insert(c, row)?;
            }
            for table in finals {
                let query = format!(
                    "SELECT count(*) FROM {} WHERE study = ? AND task = ?",
                    table.name
                );
                let count: i64 = c.query_row(&query, [study, task], |r| r.get(0))?;
                let row = [
                    Value::from(study.to_string()),
                    task.to_string().into(),
                    table.name.to_string().into(),
                    count.into(),
                ];
                TALLY.insert(c, &row)?;
            }
            transaction.commit()
        })
    }

    /// The choices of a task, if they were made.
    pub(crate) fn frozen(&self, study: &str, task: &str) -> Result<Option<Frozen>, StudyError> {
        let choices: Vec<Choice> = self.with(|c| {
            let mut statement = c.prepare_cached(
                "SELECT name, method, at, fit FROM choice WHERE study = ? AND task = ? ORDER BY name",
            )?;
            let rows = statement.query_map([study, task], |r| {
                Ok(Choice {
                    name: r.get(0)?,
                    method: r.get(1)?,
                    at: r.get(2)?,
                    fit: r.get(3)?,
                })
            })?;
            rows.collect()
        })?;
        Ok((!choices.is_empty()).then_some(Frozen { choices }))
    }

    /// Writes the scores of a task's choices, all at once.
    pub(crate) fn put_scores(
        &self,
        study: &str,
        task: &str,
        scores: &[(String, String, f64)],
    ) -> Result<(), StudyError> {
        let rows: Vec<Vec<Value>> = scores
            .iter()
            .map(|(name, metric, value)| {
                vec![
                    study.to_string().into(),
                    task.to_string().into(),
                    name.clone().into(),
                    metric.clone().into(),
                    value.is_finite().then_some(*value).into(),
                ]
            })
            .collect();
        self.settle_task(study, task, &SCORE, &rows, &[&SCORE])
    }

    /// Whether nothing is left to do for a task: its choices are made and, where they are
    /// judged, scored.
    pub(crate) fn is_done(
        &self,
        study: &str,
        task: &str,
        judged: bool,
    ) -> Result<bool, StudyError> {
        let chosen = self.frozen(study, task)?.is_some();
        Ok(chosen && (!judged || self.is_scored(study, task)?))
    }

    /// Whether a task has scores.
    pub(crate) fn is_scored(&self, study: &str, task: &str) -> Result<bool, StudyError> {
        self.with(|c| {
            c.prepare_cached("SELECT EXISTS (SELECT 1 FROM score WHERE study = ? AND task = ?)")?
                .query_row([study, task], |r| r.get(0))
        })
    }

    /// Writes what development settled, or checks that it is what was settled before.
    pub(crate) fn decide(&self, study: &str, name: &str, content: &str) -> Result<(), StudyError> {
        match self.settle(study, name, content)? == content {
            true => Ok(()),
            false => Err(self.broken(
                format!("decision {name}"),
                "development now leads to another one".to_string(),
            )),
        }
    }

    /// Writes what the data of a case are, or checks that they are what they were; notes on them may be worded differently.
    pub(crate) fn fix_data(
        &self,
        study: &str,
        case: &str,
        content: &str,
    ) -> Result<(), StudyError> {
        let known = self.settle(study, &format!("data/{case}"), content)?;
        self.same_data(case, Some(&known), content)
    }

    /// Checks that the data of a case are what they were when the study ran.
    pub(crate) fn check_data(
        &self,
        study: &str,
        case: &str,
        content: &str,
    ) -> Result<(), StudyError> {
        let known = self.decisions(study)?;
        let name = format!("data/{case}");
        let known = known.iter().find(|(decision, _)| *decision == name);
        let known = known.map(|(_, content)| content.as_str());
        self.same_data(case, known, content)
    }

    fn same_data(&self, case: &str, known: Option<&str>, content: &str) -> Result<(), StudyError> {
        let what = |content: &str| {
            let described: serde_json::Value = serde_json::from_str(content).unwrap_or_default();
            ["sha256", "rows"].map(|key| described[key].clone())
        };
        match known.map(what) == Some(what(content)) {
            true => Ok(()),
            false => Err(StudyError::OtherData {
                path: self.path.display().to_string(),
                case: case.to_string(),
            }),
        }
    }

    /// Writes a decision unless there is one; the one that is there then.
    fn settle(&self, study: &str, name: &str, content: &str) -> Result<String, StudyError> {
        let known: Option<String> = self.with(|c| {
            let query = "SELECT content FROM decision WHERE study = ? AND name = ?";
            c.query_row(query, [study, name], |r| r.get(0)).optional()
        })?;
        if let Some(known) = known {
            return Ok(known);
        }
        self.with(|c| {
            let row = [study, name, content].map(|text| Value::from(text.to_string()));
            DECISION.insert(c, &row)?;
            Ok(content.to_string())
        })
    }

    /// What the data are and what development settled.
    pub fn decisions(&self, study: &str) -> Result<Vec<(String, String)>, StudyError> {
        self.with(|c| {
            let mut statement =
                c.prepare("SELECT name, content FROM decision WHERE study = ? ORDER BY name")?;
            let rows = statement.query_map([study], |r| Ok((r.get(0)?, r.get(1)?)))?;
            rows.collect()
        })
    }

    /// Runs a query that gives rows of plain values, for results and reports.
    pub(crate) fn rows<T>(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StudyError> {
        self.with(|c| {
            let mut statement = c.prepare_cached(query)?;
            let rows = statement.query_map(parameters, read)?;
            rows.collect()
        })
    }
}

fn insert_task(c: &Connection, study: &str, task: &Task) -> rusqlite::Result<()> {
    let row = [
        Value::from(study.to_string()),
        task.name.clone().into(),
        task.phase.name().to_string().into(),
        task.case.clone().into(),
        task.split.map(|s| s as i64).into(),
        (task.seed as i64).into(),
    ];
    TASK.insert(c, &row)
}

/// The first digits of a hash, for people.
pub(crate) fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// The study of a record: others may have written it, and its name becomes a file's name, its protocol
/// says what the numbers mean.
fn read_study(name: &str, json: &str, hash: &str) -> Result<Study, String> {
    check_name(name)?;
    Study::from_json(json, hash)
}

#[cfg(test)]
mod tests;
