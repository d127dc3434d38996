//! Shards into one store: the same bytes whatever their order.

use super::backends::Maker;
use super::files::{find_all, lock, plain};
use super::mend::{fresh, rewrite};
use super::record::{FIT, TABLES, Table};
use super::{Damage, Store, VERSION, short};
use crate::StudyError;
use crate::task::{Shard, WHOLE_FILE};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// Merges stores (files, or run directories with all their shards) into a new one in `directory`.
///
/// Studies of the same name must have the same protocol, all fits the same bits, and rows with the same key the same
/// content; of two makings of one fit the faster is kept. Stores of version 1, which have no checksums,
/// are taken as they are if all of them can be read.
pub fn merge(stores: &[PathBuf], directory: &Path) -> Result<PathBuf, StudyError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in stores {
        files.extend(find_all(path)?);
    }
    let target = directory.join(WHOLE_FILE);
    check_alike(&files)?;
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
    let [collected, written, upgraded] = ["collected", "written", "upgraded"]
        .map(|name| directory.join(format!("merge-{name}.tmp")));
    let remove = || {
        for path in [&collected, &written, &upgraded] {
            let _ = std::fs::remove_file(path);
        }
    };
    remove();
    let result = collect(&files, &collected, &upgraded).and_then(|()| write(&collected, &written));
    let result = result.and_then(|()| {
        std::fs::rename(&written, &target).map_err(|e| StudyError::File {
            path: target.display().to_string(),
            why: e.to_string(),
        })
    });
    remove();
    result.map(|()| target)
}

/// One shard of a run directory.
#[derive(Debug)]
pub struct Part {
    /// Its file.
    pub path: PathBuf,
    /// Its own content, or why it cannot be read.
    pub store: Result<Store, StudyError>,
    /// Seconds since it was last written to, by this machine's clock.
    pub quiet_for: Option<f64>,
}

/// All shards of a run directory, and what those of them that can be read hold together, in memory; none is written to.
pub fn together(directory: &Path) -> Result<(Vec<Part>, Store), StudyError> {
    let mut parts = Vec::new();
    for path in find_all(directory)? {
        let written = std::fs::metadata(&path).and_then(|data| data.modified());
        let age = written.ok().and_then(|at| at.elapsed().ok());
        parts.push(Part {
            store: Store::open(&path),
            quiet_for: age.map(|age| age.as_secs_f64()),
            path,
        });
    }
    let sound = parts.iter().filter(|part| part.store.is_ok());
    let files: Vec<PathBuf> = sound.map(|part| part.path.clone()).collect();
    check_alike(&files)?;
    let connection = fresh(Path::new(":memory:"))?;
    let upgraded = std::env::temp_dir().join(format!("loopfit-{}.tmp", std::process::id()));
    let result = collect_into(&connection, &files, directory, &upgraded);
    let _ = std::fs::remove_file(&upgraded);
    result?;
    Ok((
        parts,
        Store::new(connection, directory.join(Shard::WHOLE.file()))?,
    ))
}

/// One protocol for each study, and one kind of bits for all fits.
fn check_alike(files: &[PathBuf]) -> Result<(), StudyError> {
    let mut known: Vec<(String, String, PathBuf)> = Vec::new();
    let mut made: Option<(Maker, &PathBuf)> = None;
    for file in files {
        let store = match Store::open(file) {
            Err(StudyError::NoChecksums { .. }) => {
                let store = Store::open_unchecked(file)?;
                store.check_sound()?;
                store
            }
            other => other?,
        };
        for named in store.studies()? {
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
        for maker in store.makers()? {
            match &made {
                Some((other, first)) if other.bits != maker.bits => {
                    return Err(StudyError::MixedBits {
                        first: first.display().to_string(),
                        second: file.display().to_string(),
                        makers: (other.to_string(), maker.to_string()),
                    });
                }
                Some(_) => {}
                None => made = Some((maker, file)),
            }
        }
    }
    Ok(())
}

/// All rows of all stores, once, in a new store.
fn collect(files: &[PathBuf], to: &Path, upgraded: &Path) -> Result<(), StudyError> {
    collect_into(&fresh(to)?, files, to, upgraded)
}

fn collect_into(
    connection: &Connection,
    files: &[PathBuf],
    to: &Path,
    upgraded: &Path,
) -> Result<(), StudyError> {
    for file in files {
        let store = Store::open_unchecked(file)?;
        let source = if store.version == VERSION {
            file
        } else {
            rewrite(&store.lock(), store.version, &Damage::default(), upgraded)?;
            upgraded
        };
        attached(connection, to, source, |c| {
            for table in TABLES {
                check_same(c, table, file)?;
                copy(c, table).map_err(|e| StudyError::store(file, e))?;
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
        for table in TABLES {
            copy(c, table).map_err(|e| StudyError::store(to, e))?;
        }
        Ok(())
    })
}

/// Runs work in one transaction with another store as `other`.
fn attached(
    connection: &Connection,
    own: &Path,
    other: &Path,
    work: impl FnOnce(&Connection) -> Result<(), StudyError>,
) -> Result<(), StudyError> {
    let wrong = |e| StudyError::store(own, e);
    let name = plain(other).display().to_string();
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

fn copy(connection: &Connection, table: &Table) -> rusqlite::Result<()> {
    // A row that is there would meet the triggers before the conflict.
    let (name, matches, order) = (table.name, same_key(table), table.keys.join(", "));
    connection.execute(
        &format!(
            "INSERT INTO main.{name} SELECT o.* FROM other.{name} o \
             WHERE NOT EXISTS (SELECT 1 FROM main.{name} m WHERE {matches}) ORDER BY {order}"
        ),
        [],
    )?;
    if *table == FIT {
        connection.execute(
            &format!(
                "UPDATE main.fit AS m \
                 SET seconds = o.seconds, backend = o.backend, checksum = o.checksum \
                 FROM other.fit AS o WHERE {matches} \
                 AND (o.seconds, o.backend) < (m.seconds, m.backend)"
            ),
            [],
        )?;
    }
    Ok(())
}

/// That a row of `m` and one of `o` have the same key.
fn same_key(table: &Table) -> String {
    let keys = table.keys.iter().map(|k| format!("m.{k} = o.{k}"));
    keys.collect::<Vec<_>>().join(" AND ")
}

/// What may differ between two makings of one fit.
const OF_THE_MAKING: [&str; 2] = ["seconds", "backend"];

/// Rows with the same key have the same content, but for times and who made them.
fn check_same(connection: &Connection, table: &Table, file: &Path) -> Result<(), StudyError> {
    let content = table.columns.iter();
    let content = content.filter(|c| !OF_THE_MAKING.contains(c) && !table.keys.contains(c));
    let differs: Vec<String> = content
        .map(|c| format!("m.\"{c}\" IS NOT o.\"{c}\""))
        .collect();
    let keys: Vec<String> = table.keys.iter().map(|k| format!("m.{k}")).collect();
    let query = format!(
        "SELECT {} FROM main.{name} m JOIN other.{name} o ON {} WHERE {} LIMIT 1",
        keys.join(" || ' ' || "),
        same_key(table),
        differs.join(" OR "),
        name = table.name
    );
    let row: Option<String> =
        rusqlite::OptionalExtension::optional(connection.query_row(&query, [], |r| r.get(0)))
            .map_err(|e| StudyError::store(file, e))?;
    match row {
        None => Ok(()),
        Some(row) => Err(StudyError::Broken {
            path: file.display().to_string(),
            what: format!("{} {row}", table.name),
            why: "another store has it with other content".to_string(),
        }),
    }
}
