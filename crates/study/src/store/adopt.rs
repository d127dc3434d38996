//! Finished tasks of other shards, taken over.
//!
//! Two shards may take over from each other at the same instant. So the other's records are read
//! first and its file is closed before anything is written here: who holds a lock on one file never
//! waits for another.

use super::record::FIT;
use super::record::{TABLES, Table};
use super::{Store, stores_in, verify};
use crate::StudyError;
use crate::protocol::Named;
use crate::task::Task;
use loopfit_engine::Control;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Whose file has not changed for so long is not at work, or at a single fit that takes longer.
const QUIET: Duration = Duration::from_secs(30);
/// How long to wait before others are looked at again, and how soon a stop is noticed.
const PAUSE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(50);

/// The records of one task, table by table.
type Records = Vec<(&'static Table, Vec<Vec<Value>>)>;

/// How far another shard's file in the same directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sibling {
    path: PathBuf,
    /// Studies and tasks whose choices are made.
    chosen: BTreeSet<(String, String)>,
    /// Studies and tasks that were begun, those without a choice.
    begun: BTreeSet<(String, String)>,
    /// When it was last written to, and its length.
    stamp: (Option<SystemTime>, u64),
}

impl Sibling {
    fn look(path: PathBuf) -> Result<Self, StudyError> {
        let stamp = std::fs::metadata(&path).map_or((None, 0), |m| (m.modified().ok(), m.len()));
        let store = Store::open_unchecked(&path)?;
        let query = "SELECT study, task, EXISTS (SELECT 1 FROM choice c \
             WHERE c.study = t.study AND c.task = t.task) FROM task t";
        let rows: Vec<((String, String), bool)> =
            store.rows(query, [], |r| Ok(((r.get(0)?, r.get(1)?), r.get(2)?)))?;
        let (chosen, begun): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, chosen)| *chosen);
        Ok(Self {
            path,
            chosen: chosen.into_iter().map(|(key, _)| key).collect(),
            begun: begun.into_iter().map(|(key, _)| key).collect(),
            stamp,
        })
    }
}

/// Who is at work, seen by files that change; no clock of another machine is believed.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    changed: BTreeMap<PathBuf, (Sibling, Instant)>,
}

impl Watch {
    /// The tasks of a study that others are at.
    pub(crate) fn busy(&mut self, siblings: &[Sibling], study: &str) -> BTreeSet<String> {
        let mut busy = BTreeSet::new();
        for sibling in siblings {
            if self.is_at_work(sibling) {
                let own = sibling.begun.iter().filter(|(of, _)| of == study);
                busy.extend(own.map(|(_, task)| task.clone()));
            }
        }
        busy
    }

    fn is_at_work(&mut self, sibling: &Sibling) -> bool {
        let now = Instant::now();
        match self.changed.get(&sibling.path) {
            Some((was, since)) if was == sibling => now.duration_since(*since) < QUIET,
            known => {
                // A file that was old when it was first seen has no one behind it.
                let old = known.is_none() && is_old(sibling);
                let since = now.checked_sub(QUIET).filter(|_| old).unwrap_or(now);
                self.changed
                    .insert(sibling.path.clone(), (sibling.clone(), since));
                !old
            }
        }
    }
}

/// Whether a file was last written to so long ago that clocks cannot differ by as much.
fn is_old(sibling: &Sibling) -> bool {
    let age = sibling.stamp.0.and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > 20 * QUIET)
}

/// Waits a moment, or until a stop.
pub(crate) fn pause(control: &Control) -> Result<(), StudyError> {
    let begin = Instant::now();
    while begin.elapsed() < PAUSE {
        if control.is_stopped() {
            return Err(StudyError::Interrupted);
        }
        std::thread::sleep(TICK);
    }
    Ok(())
}

impl Store {
    /// The other shards' files in the same directory. Those that cannot be read now are as good as not there.
    pub(crate) fn siblings(&self) -> Vec<Sibling> {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        let others = stores_in(directory).into_iter();
        let others = others.filter(|path| *path != self.path);
        others.filter_map(|path| Sibling::look(path).ok()).collect()
    }

    /// Takes a finished task over from another shard's file, if its fits have these bits.
    pub(crate) fn adopt(
        &self,
        siblings: &[Sibling],
        named: &Named,
        task: &Task,
        judged: bool,
        bits: &str,
    ) -> Result<bool, StudyError> {
        let key = (named.name.clone(), task.name.clone());
        for sibling in siblings.iter().filter(|s| s.chosen.contains(&key)) {
            let found = Self::open_unchecked(&sibling.path)
                .and_then(|other| other.finished(named, task, judged));
            if let Ok(Some(records)) = found
                && have_bits(&records, bits)
            {
                return self.take(&records).map(|()| true);
            }
        }
        Ok(false)
    }

    /// All records of a task, if nothing is left to do for it and nothing is wrong with it.
    fn finished(
        &self,
        named: &Named,
        task: &Task,
        judged: bool,
    ) -> Result<Option<Records>, StudyError> {
        self.check_version()?;
        let same = |known: &Named| known.name == named.name && known.study == named.study;
        if !self.studies()?.iter().any(same) || !self.is_done(&named.name, &task.name, judged)? {
            return Ok(None);
        }
        let of = (named.name.as_str(), task.name.as_str());
        self.with(|c| {
            if !verify::examine(c, self.version, Some(of))?.is_empty() {
                return Ok(None);
            }
            let tables = TABLES.into_iter().filter(|table| table.is_of_tasks());
            let read = |table| Ok((table, read(c, table, self.version, of)?));
            tables.map(read).collect::<rusqlite::Result<_>>().map(Some)
        })
    }

    /// Writes the records that are not here yet, in one transaction.
    fn take(&self, records: &Records) -> Result<(), StudyError> {
        self.with(|c| {
            let transaction = c.unchecked_transaction()?;
            for (table, rows) in records {
                for row in rows {
                    // A row that is there would meet the triggers before the conflict.
                    if !is_there(c, table, row)? {
                        table.insert(c, row)?;
                    }
                }
            }
            transaction.commit()
        })
    }
}

/// Whether all fits were made by backends of these bits.
fn have_bits(records: &Records, bits: &str) -> bool {
    let fits = records.iter().filter(|(table, _)| **table == FIT);
    let at = FIT.columns.iter().position(|column| *column == "bits");
    let own = Value::Text(bits.to_string());
    let has = |row: &Vec<Value>| at.is_some_and(|at| row[at] == own);
    fits.flat_map(|(_, rows)| rows).all(has)
}

fn read(
    c: &Connection,
    table: &Table,
    version: i64,
    (study, task): (&str, &str),
) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut statement = c.prepare(&format!(
        "SELECT {} FROM {} WHERE study = ? AND task = ? ORDER BY {}",
        table.list(version),
        table.name,
        table.keys.join(", ")
    ))?;
    let columns = table.columns.len();
    let rows = statement.query_map([study, task], |row| {
        (0..columns).map(|at| row.get(at)).collect()
    })?;
    rows.collect()
}

/// Whether a record with this row's key is in the store; keys are a table's first columns.
fn is_there(c: &Connection, table: &Table, row: &[Value]) -> rusqlite::Result<bool> {
    let keys: Vec<String> = table.keys.iter().map(|key| format!("{key} = ?")).collect();
    let query = format!(
        "SELECT EXISTS (SELECT 1 FROM {} WHERE {})",
        table.name,
        keys.join(" AND ")
    );
    let key = row.iter().take(table.keys.len());
    c.prepare_cached(&query)?
        .query_row(params_from_iter(key), |found| found.get(0))
}
