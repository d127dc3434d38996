//! A store written anew: what is sound is taken over, the rest is left for the run to make again.
//! So are stores of earlier versions.

use super::record::{CHOICE, FIT, SCORE, STUDY, TABLES, TALLY};
use super::verify::{Damage, key, scan, text};
use super::{APPLICATION, CHECKSUMS, VERSION, insert_task, plain, read_study, schema};
use crate::{StudyError, run};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::path::{Path, PathBuf};

/// An empty store in a new file.
pub(super) fn fresh(path: &Path) -> Result<Connection, StudyError> {
    let wrong = |e| StudyError::store(path, e);
    let connection = Connection::open(plain(path)).map_err(wrong)?;
    let schema = schema(VERSION);
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = DELETE; BEGIN; {schema} PRAGMA application_id = {APPLICATION}; \
             PRAGMA user_version = {VERSION}; COMMIT;"
        ))
        .map_err(wrong)?;
    Ok(connection)
}

/// Writes the sound records of a store to a new file: all fits that have their checksums, and the
/// choices and scores of the tasks that nothing is wrong with. Tasks that are gone are entered again
/// from the protocol. A store of version 1 is taken as it is if all of it can be read; otherwise nobody
/// knows which choices and scores are whole, and all are left out.
pub(super) fn rewrite(
    from: &Connection,
    version: i64,
    damage: &Damage,
    to: &Path,
) -> Result<(), StudyError> {
    let _ = std::fs::remove_file(to);
    let target = fresh(to)?;
    let write = || -> rusqlite::Result<()> {
        // Records may outlive the study that they belong to: the run enters it again.
        target.execute_batch("PRAGMA foreign_keys = OFF; BEGIN")?;
        for table in TABLES {
            if version < CHECKSUMS && *table == TALLY {
                continue;
            }
            let derived = [CHOICE, SCORE, TALLY].contains(table);
            if version < CHECKSUMS && derived && !damage.is_empty() {
                continue;
            }
            // What cannot be read is not there: the damage says so.
            scan(from, table, version, None, |sound, row| {
                let unsettled = table.is_of_tasks() && {
                    let key = key(row);
                    damage.foreign.contains(&key) || (derived && damage.again.contains(&key))
                };
                let wrong = *table == STUDY
                    && read_study(&text(row, 0), &text(row, 2), &text(row, 1)).is_err();
                if !sound || unsettled || wrong {
                    return Ok(());
                }
                let values = (0..table.columns.len()).map(|at| row.get(at));
                let values: Vec<Value> = values.collect::<rusqlite::Result<_>>()?;
                table.insert(&target, &values)
            })?;
        }
        enter_tasks(&target)?;
        if version < CHECKSUMS {
            tally_all(&target)?;
        }
        target.execute_batch("COMMIT")
    };
    write().map_err(|e| StudyError::store(to, e))
}

/// Enters the tasks that fits belong to and that are not there, as their protocols have them.
fn enter_tasks(c: &Connection) -> rusqlite::Result<()> {
    let orphans: Vec<[String; 5]> = c
        .prepare(
            "SELECT f.study, f.task, s.name, s.protocol, s.hash FROM \
             (SELECT study, task FROM fit EXCEPT SELECT study, task FROM task) f \
             JOIN study s ON s.name = f.study",
        )?
        .query_map([], |r| {
            Ok([r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?])
        })?
        .collect::<rusqlite::Result<_>>()?;
    for [study, task, name, json, hash] in orphans {
        let tasks = read_study(&name, &json, &hash).map(|study| run::tasks(&study));
        let tasks = tasks.unwrap_or_default();
        if let Some(known) = tasks.iter().find(|known| known.name == task) {
            insert_task(c, &study, known)?;
        }
    }
    Ok(())
}

/// Counts the records of all tasks whose choices and scores are made.
fn tally_all(c: &Connection) -> rusqlite::Result<()> {
    for (table, settled) in [(FIT, CHOICE), (CHOICE, CHOICE), (SCORE, SCORE)] {
        let rows: Vec<[Value; 4]> = c
            .prepare(&format!(
                "SELECT study, task, '{0}', count(*) FROM {0} t WHERE EXISTS (SELECT 1 FROM {1} s \
                 WHERE s.study = t.study AND s.task = t.task) GROUP BY study, task ORDER BY study, task",
                table.name, settled.name
            ))?
            .query_map([], |r| Ok([r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?]))?
            .collect::<rusqlite::Result<_>>()?;
        for row in rows {
            TALLY.insert(c, &row)?;
        }
    }
    Ok(())
}

/// Puts a store that was written anew in the place of the old one, of which a copy is kept
/// beside those that were kept before.
pub(super) fn replace(store: &Path, with: &Path) -> Result<PathBuf, StudyError> {
    let mut kept = store.with_extension("sqlite.old");
    for number in 2.. {
        if std::fs::symlink_metadata(&kept).is_err() {
            break;
        }
        kept = store.with_extension(format!("sqlite.old.{number}"));
    }
    let wrong = |e: std::io::Error| StudyError::File {
        path: store.display().to_string(),
        why: e.to_string(),
    };
    std::fs::copy(store, &kept).map_err(wrong)?;
    std::fs::rename(with, store).map_err(wrong)?;
    Ok(kept)
}
