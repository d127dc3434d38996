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
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// The records of one task, table by table.
type Records = Vec<(&'static Table, Vec<Vec<Value>>)>;

impl Store {
    /// Takes a finished task over from another shard's file in the same directory, if its fits have these bits. Files that
    /// cannot be read now are as good as not there.
    pub(crate) fn adopt(
        &self,
        named: &Named,
        task: &Task,
        judged: bool,
        bits: &str,
    ) -> Result<bool, StudyError> {
        let Some(directory) = self.path.parent() else {
            return Ok(false);
        };
        for sibling in stores_in(directory) {
            if sibling == self.path {
                continue;
            }
            let found = Self::open_unchecked(&sibling)
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
