//! The store: one SQLite file, one transaction for each finished fit.
//!
//! Killed at any instant, it holds every fit that had ended and nothing half-written. The tables
//! are in `store/schema.sql` and in `docs/store.md`.

mod export;
mod merge;
mod row;

pub use export::export;
pub use merge::merge;

use crate::StudyError;
use crate::protocol::{Named, Study, check_name};
use crate::task::{Shard, Task, WHOLE_FILE};
use loopfit_engine::FitOutcome;
use loopfit_model::Method;
use row::{FitRow, stop_name};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Marks the file as a loopfit store ("lfst").
const APPLICATION: i64 = 0x6C66_7374;
/// Version of the tables.
const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("store/schema.sql");
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(3600);

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
    path: PathBuf,
    /// Held by the one process that writes.
    _lock: Option<File>,
}

impl Store {
    /// Opens the store of a run directory for writing, creating both if need be.
    pub fn create(directory: &Path, shard: Shard) -> Result<Self, StudyError> {
        std::fs::create_dir_all(directory).map_err(|e| StudyError::File {
            path: directory.display().to_string(),
            why: e.to_string(),
        })?;
        let path = directory.join(shard.file());
        let lock = lock(&path)?;
        let connection = Connection::open(&path).map_err(|e| StudyError::store(&path, e))?;
        let store = Self {
            connection: Mutex::new(connection),
            path,
            _lock: Some(lock),
        };
        store.prepare()?;
        store.check_integrity()?;
        Ok(store)
    }

    /// Opens a store for reading: a file, or a run directory with one store in it. What a kill
    /// left half-written is rolled back; a damaged file is an error.
    pub fn open(path: &Path) -> Result<Self, StudyError> {
        let store = Self::open_unchecked(path)?;
        store.check_integrity()?;
        Ok(store)
    }

    fn open_unchecked(path: &Path) -> Result<Self, StudyError> {
        let path = find(path)?;
        // What a killed writer left is rolled back by the next reader, who must be able to write;
        // where nothing can be written, nothing was left half-done.
        let open = |access| {
            let connection = Connection::open_with_flags(&path, access)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_query_value(None, "user_version", |r| r.get::<_, i64>(0))?;
            Ok(connection)
        };
        let connection = open(OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_| open(OpenFlags::SQLITE_OPEN_READ_ONLY))
            .map_err(|e| StudyError::store(&path, e))?;
        let store = Self {
            connection: Mutex::new(connection),
            path,
            _lock: None,
        };
        store.check_version()?;
        Ok(store)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn prepare(&self) -> Result<(), StudyError> {
        self.with(|c| {
            c.busy_timeout(PATIENCE)?;
            // A rollback journal: safe against a kill at any instant, and readable meanwhile.
            c.pragma_update(None, "journal_mode", "DELETE")?;
            c.pragma_update(None, "synchronous", "NORMAL")?;
            c.pragma_update(None, "foreign_keys", true)?;
            let tables: i64 =
                c.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
            if tables == 0 {
                c.execute_batch(&format!(
                    "BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION}; \
                     PRAGMA user_version = {VERSION}; COMMIT;"
                ))?;
            }
            Ok(())
        })?;
        self.check_version()
    }

    fn check_version(&self) -> Result<(), StudyError> {
        let pragma =
            |name: &str| self.with(|c| c.pragma_query_value(None, name, |r| r.get::<_, i64>(0)));
        let (application, version) = (pragma("application_id")?, pragma("user_version")?);
        if application != APPLICATION {
            return Err(StudyError::NoStore {
                path: self.path.display().to_string(),
            });
        }
        if version != VERSION {
            return Err(StudyError::StoreVersion {
                path: self.path.display().to_string(),
                found: version,
                known: VERSION,
            });
        }
        Ok(())
    }

    /// Whether the pages and indices of the file belong together.
    fn check_integrity(&self) -> Result<(), StudyError> {
        let found: String =
            self.with(|c| c.query_row("PRAGMA integrity_check(1)", [], |r| r.get(0)))?;
        match found.as_str() {
            "ok" => Ok(()),
            _ => Err(self.broken("the file".to_string(), found)),
        }
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

    /// Enters a study. One that is there must have the same protocol.
    pub fn begin(&self, named: &Named) -> Result<(), StudyError> {
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
            Some(_) => Ok(()),
            None => self.with(|c| {
                let json = named.study.to_json();
                c.execute("INSERT INTO study VALUES (?, ?, ?)", [name, &hash, &json])?;
                Ok(())
            }),
        }
    }

    /// The studies of the store, in the order of their names.
    pub fn studies(&self) -> Result<Vec<Named>, StudyError> {
        let rows: Vec<(String, String, String)> = self.with(|c| {
            let mut statement =
                c.prepare("SELECT name, protocol, hash FROM study ORDER BY name")?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
            rows.collect()
        })?;
        // Others may have written this file: names become file names, and protocols say what the numbers mean.
        let read = |(name, json, hash): (String, String, String)| {
            let study = check_name(&name)
                .map_err(str::to_string)
                .and_then(|()| Study::from_json(&json, &hash));
            let broken = |why| self.broken(format!("study {name:?}"), why);
            let study = study.map_err(broken)?;
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
            let (phase, split, seed) = (
                task.phase.name(),
                task.split.map(|s| s as i64),
                task.seed as i64,
            );
            c.execute(
                "INSERT INTO task VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                params![study, task.name, phase, task.case, split, seed],
            )?;
            Ok(())
        })
    }

    /// A fit that was run before.
    pub fn fit(&self, study: &str, task: &str, fit: &str) -> Result<Option<StoredFit>, StudyError> {
        let row = self.with(|c| {
            c.prepare_cached(
                "SELECT method, spec, stop, validation, best_update, updates, curve, parameters, \
                 seconds FROM fit WHERE study = ? AND task = ? AND fit = ?",
            )?
            .query_row([study, task, fit], |r| {
                Ok(FitRow {
                    method: r.get(0)?,
                    spec: r.get(1)?,
                    stop: r.get(2)?,
                    validation: r.get(3)?,
                    best_update: r.get(4)?,
                    updates: r.get(5)?,
                    curve: r.get(6)?,
                    parameters: r.get(7)?,
                    seconds: r.get(8)?,
                })
            })
            .optional()
        })?;
        let broken = |why| self.broken(format!("fit {fit} of task {task}"), why);
        row.map(|row| row.read().map_err(broken)).transpose()
    }

    /// Keeps a fit, in a transaction of its own.
    pub(crate) fn put_fit(
        &self,
        study: &str,
        task: &str,
        fit: &str,
        method: Method,
        spec: &str,
        outcome: &FitOutcome,
    ) -> Result<(), StudyError> {
        let finite = |v: f64| v.is_finite().then_some(v);
        let curve: Vec<(usize, Option<f64>)> = outcome
            .curve
            .iter()
            .map(|(u, l)| (*u, finite(*l)))
            .collect();
        let curve = serde_json::to_string(&curve).unwrap_or_default();
        let values = outcome.parameters.values().iter();
        let parameters: Vec<u8> = values.flat_map(|v| v.to_le_bytes()).collect();
        self.with(|c| {
            c.prepare_cached("INSERT INTO fit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?
                .execute(params![
                    study,
                    task,
                    fit,
                    method.key(),
                    spec,
                    stop_name(outcome.stop),
                    finite(outcome.validation),
                    outcome.best_update as i64,
                    outcome.updates as i64,
                    curve,
                    parameters,
                    outcome.seconds,
                ])?;
            Ok(())
        })
    }

    /// Writes the choices of a task, all at once and for good.
    pub(crate) fn freeze(
        &self,
        study: &str,
        task: &str,
        choices: Vec<Choice>,
    ) -> Result<Frozen, StudyError> {
        let mut connection = self.lock();
        let path = &self.path;
        let wrong = |e| StudyError::store(path, e);
        let transaction = connection.transaction().map_err(wrong)?;
        for choice in &choices {
            transaction
                .execute(
                    "INSERT INTO choice VALUES (?, ?, ?, ?, ?, ?)",
                    params![
                        study,
                        task,
                        choice.name,
                        choice.method,
                        choice.at,
                        choice.fit
                    ],
                )
                .map_err(wrong)?;
        }
        transaction.commit().map_err(wrong)?;
        Ok(Frozen { choices })
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
        let mut connection = self.lock();
        let path = &self.path;
        let wrong = |e| StudyError::store(path, e);
        let transaction = connection.transaction().map_err(wrong)?;
        for (name, metric, value) in scores {
            let value = value.is_finite().then_some(*value);
            transaction
                .execute(
                    "INSERT INTO score VALUES (?, ?, ?, ?, ?)",
                    params![study, task, name, metric, value],
                )
                .map_err(wrong)?;
        }
        transaction.commit().map_err(wrong)
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
    fn is_scored(&self, study: &str, task: &str) -> Result<bool, StudyError> {
        self.with(|c| {
            c.prepare_cached("SELECT EXISTS (SELECT 1 FROM score WHERE study = ? AND task = ?)")?
                .query_row([study, task], |r| r.get(0))
        })
    }

    /// Writes what development settled, or checks that it is what was settled before.
    pub(crate) fn decide(&self, study: &str, name: &str, content: &str) -> Result<(), StudyError> {
        match self.settle(study, name, content)? {
            true => Ok(()),
            false => Err(self.broken(
                format!("decision {name}"),
                "development now leads to another one".to_string(),
            )),
        }
    }

    /// Writes what the data of a case are, or checks that they are what they were.
    pub(crate) fn fix_data(
        &self,
        study: &str,
        case: &str,
        content: &str,
    ) -> Result<(), StudyError> {
        match self.settle(study, &format!("data/{case}"), content)? {
            true => Ok(()),
            false => Err(StudyError::OtherData {
                path: self.path.display().to_string(),
                case: case.to_string(),
            }),
        }
    }

    /// Writes a decision; whether it is the one that was there before, if one was.
    fn settle(&self, study: &str, name: &str, content: &str) -> Result<bool, StudyError> {
        let known: Option<String> = self.with(|c| {
            let query = "SELECT content FROM decision WHERE study = ? AND name = ?";
            c.query_row(query, [study, name], |r| r.get(0)).optional()
        })?;
        if let Some(known) = known {
            return Ok(known == content);
        }
        self.with(|c| {
            let row = [study, name, content];
            c.execute("INSERT INTO decision VALUES (?, ?, ?)", row)?;
            Ok(true)
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

    /// Takes a finished task over from another shard's file in the same directory. Files that
    /// cannot be read now are as good as not there.
    pub(crate) fn adopt(
        &self,
        named: &Named,
        task: &Task,
        judged: bool,
    ) -> Result<bool, StudyError> {
        let Some(directory) = self.path.parent() else {
            return Ok(false);
        };
        let siblings = stores_in(directory);
        for sibling in siblings.iter().filter(|path| **path != self.path) {
            let Ok(other) = Self::open_unchecked(sibling) else {
                continue;
            };
            let same = |known: &Named| known.name == named.name && known.study == named.study;
            let same = other
                .studies()
                .is_ok_and(|studies| studies.iter().any(same));
            let done = matches!(other.is_done(&named.name, &task.name, judged), Ok(true));
            if same && done {
                drop(other);
                return merge::copy_task(self, sibling, &named.name, &task.name).map(|()| true);
            }
        }
        Ok(false)
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

/// The first digits of a hash, for people.
pub(crate) fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// Locks a store for one writing process; the lock ends with it, however it ends.
fn lock(store: &Path) -> Result<File, StudyError> {
    let path = store.with_extension("lock");
    let wrong = |e: std::io::Error| StudyError::File {
        path: path.display().to_string(),
        why: e.to_string(),
    };
    let file = File::create(&path).map_err(wrong)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StudyError::Busy {
            path: store.display().to_string(),
        }),
        Err(std::fs::TryLockError::Error(e)) => Err(wrong(e)),
    }
}

/// The store files of a run directory, in the order of their names.
pub fn stores_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "sqlite"))
        .collect();
    paths.sort();
    paths
}

/// The store that a path means: the file itself, or the one in a directory.
fn find(path: &Path) -> Result<PathBuf, StudyError> {
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    let stores = stores_in(path);
    match &stores[..] {
        _ if stores.contains(&path.join(WHOLE_FILE)) => Ok(path.join(WHOLE_FILE)),
        [one] => Ok(one.clone()),
        [] => Err(StudyError::NoStore {
            path: path.display().to_string(),
        }),
        _ => Err(StudyError::Shards {
            path: path.display().to_string(),
            count: stores.len(),
        }),
    }
}

#[cfg(test)]
mod tests;
