//! Shards into one store: the same bytes whatever their order.

use super::{APPLICATION, SCHEMA, Store, VERSION, find, lock, short, stores_in};
use crate::StudyError;
use crate::task::WHOLE_FILE;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// What identifies a row of each table, in the order in which rows may be inserted.
const TABLES: [(&str, &[&str]); 6] = [
    ("study", &["name"]),
    ("task", &["study", "task"]),
    ("fit", &["study", "task", "fit"]),
    ("choice", &["study", "task", "name"]),
    ("score", &["study", "task", "name", "metric"]),
    ("decision", &["study", "name"]),
];

/// Merges stores (files, or run directories with all their shards) into a new one in `directory`.
///
/// Studies of the same name must have the same protocol, and rows with the same key the same
/// content; of two times of one fit the shorter is kept.
pub fn merge(stores: &[PathBuf], directory: &Path) -> Result<PathBuf, StudyError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in stores {
        let found = stores_in(path);
        if path.is_dir() && found.len() > 1 {
            files.extend(found);
        } else {
            files.push(find(path)?);
        }
    }
    let target = directory.join(WHOLE_FILE);
    same_protocols(&files)?;
    std::fs::create_dir_all(directory).map_err(|e| StudyError::File {
        path: directory.display().to_string(),
        why: e.to_string(),
    })?;
    // As for a run: one process writes, and what is there stays.
    let _lock = lock(&target)?;
    if target.exists() {
        return Err(StudyError::Exists {
            path: target.display().to_string(),
        });
    }
    let (collected, written) = (
        directory.join("merge-collected.tmp"),
        directory.join("merge-written.tmp"),
    );
    let remove = || {
        for path in [&collected, &written] {
            let _ = std::fs::remove_file(path);
        }
    };
    remove();
    let result = collect(&files, &collected).and_then(|()| write(&collected, &written));
    let result = result.and_then(|()| {
        std::fs::rename(&written, &target).map_err(|e| StudyError::File {
            path: target.display().to_string(),
            why: e.to_string(),
        })
    });
    remove();
    result.map(|()| target)
}

fn same_protocols(files: &[PathBuf]) -> Result<(), StudyError> {
    let mut known: Vec<(String, String, PathBuf)> = Vec::new();
    for file in files {
        for named in Store::open(file)?.studies()? {
            let hash = named.study.hash();
            match known.iter().find(|(name, _, _)| *name == named.name) {
                Some((name, other, first)) if *other != hash => {
                    return Err(StudyError::MixedProtocols {
                        name: name.clone(),
                        first: first.display().to_string(),
                        second: file.display().to_string(),
                        hashes: (short(other), short(&hash)),
                    });
                }
                Some(_) => {}
                None => known.push((named.name, hash, file.clone())),
            }
        }
    }
    Ok(())
}

/// All rows of all stores, once.
fn collect(files: &[PathBuf], to: &Path) -> Result<(), StudyError> {
    let connection = fresh(to)?;
    for file in files {
        attached(&connection, to, file, |c| {
            for (table, keys) in TABLES {
                check_same(c, table, keys, file)?;
                copy(c, table, keys, "").map_err(|e| StudyError::store(file, e))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The rows in the order of their keys, in a file that nothing else was ever in.
fn write(from: &Path, to: &Path) -> Result<(), StudyError> {
    let connection = fresh(to)?;
    attached(&connection, to, from, |c| {
        for (table, keys) in TABLES {
            copy(c, table, keys, "").map_err(|e| StudyError::store(to, e))?;
        }
        Ok(())
    })
}

/// One task with all that belongs to it, from another store with the same study.
pub(super) fn copy_task(
    store: &Store,
    from: &Path,
    study: &str,
    task: &str,
) -> Result<(), StudyError> {
    let connection = store.lock();
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let filter = format!(
        "WHERE study = {} AND task = {}",
        literal(study),
        literal(task)
    );
    attached(&connection, store.path(), from, |c| {
        for (table, keys) in TABLES {
            if keys.contains(&"task") {
                copy(c, table, keys, &filter).map_err(|e| StudyError::store(from, e))?;
            }
        }
        Ok(())
    })
}

fn fresh(path: &Path) -> Result<Connection, StudyError> {
    let wrong = |e| StudyError::store(path, e);
    let connection = Connection::open(path).map_err(wrong)?;
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = DELETE; BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION}; \
             PRAGMA user_version = {VERSION}; COMMIT;"
        ))
        .map_err(wrong)?;
    Ok(connection)
}

/// Runs work in one transaction with another store as `other`.
fn attached(
    connection: &Connection,
    own: &Path,
    other: &Path,
    work: impl FnOnce(&Connection) -> Result<(), StudyError>,
) -> Result<(), StudyError> {
    let wrong = |e| StudyError::store(own, e);
    let name = other.display().to_string();
    connection
        .execute("ATTACH DATABASE ? AS other", [name])
        .map_err(wrong)?;
    let result = connection
        .execute_batch("BEGIN")
        .map_err(wrong)
        .and_then(|()| work(connection))
        .and_then(|()| connection.execute_batch("COMMIT").map_err(wrong));
    if result.is_err() && !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    connection
        .execute_batch("DETACH DATABASE other")
        .map_err(wrong)?;
    result
}

fn copy(
    connection: &Connection,
    table: &str,
    keys: &[&str],
    filter: &str,
) -> rusqlite::Result<usize> {
    // A row that is there would meet the triggers before the conflict.
    let matches: Vec<String> = keys.iter().map(|k| format!("m.{k} = o.{k}")).collect();
    let matches = matches.join(" AND ");
    let order = keys.join(", ");
    let inserted = connection.execute(
        &format!(
            "INSERT INTO main.{table} SELECT o.* FROM (SELECT * FROM other.{table} {filter}) o \
             WHERE NOT EXISTS (SELECT 1 FROM main.{table} m WHERE {matches}) ORDER BY {order}"
        ),
        [],
    )?;
    if table == "fit" && filter.is_empty() {
        connection.execute(
            "UPDATE main.fit AS m SET seconds = o.seconds FROM other.fit AS o WHERE m.study = o.study \
             AND m.task = o.task AND m.fit = o.fit AND o.seconds < m.seconds",
            [],
        )?;
    }
    Ok(inserted)
}

/// Rows with the same key have the same content, but for times.
fn check_same(
    connection: &Connection,
    table: &str,
    keys: &[&str],
    file: &Path,
) -> Result<(), StudyError> {
    let wrong = |e| StudyError::store(file, e);
    let mut statement = connection
        .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
        .map_err(wrong)?;
    let columns: Vec<String> = statement
        .query_map([], |r| r.get(0))
        .and_then(Iterator::collect)
        .map_err(wrong)?;
    let quoted = |c: &str| format!("\"{c}\"");
    let matches: Vec<String> = keys
        .iter()
        .map(|k| format!("m.{0} = o.{0}", quoted(k)))
        .collect();
    let differs: Vec<String> = columns
        .iter()
        .filter(|c| *c != "seconds" && !keys.contains(&c.as_str()))
        .map(|c| format!("m.{0} IS NOT o.{0}", quoted(c)))
        .collect();
    if differs.is_empty() {
        return Ok(());
    }
    let first_key = keys.iter().map(|k| format!("m.{}", quoted(k)));
    let key = first_key.collect::<Vec<_>>().join(" || ' ' || ");
    let query = format!(
        "SELECT {key} FROM main.{table} m JOIN other.{table} o ON {} WHERE {} LIMIT 1",
        matches.join(" AND "),
        differs.join(" OR ")
    );
    let row: Option<String> =
        rusqlite::OptionalExtension::optional(connection.query_row(&query, [], |r| r.get(0)))
            .map_err(wrong)?;
    match row {
        None => Ok(()),
        Some(row) => Err(StudyError::Broken {
            path: file.display().to_string(),
            what: format!("{table} {row}"),
            why: "another store has it with other content".to_string(),
        }),
    }
}
