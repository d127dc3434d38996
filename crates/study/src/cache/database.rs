//! Records in one SQLite file that many processes write to: each write is a transaction of its own, readers wait for nobody.

use super::Shelf;
use crate::StudyError;
use crate::store::{check_store, plain};
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Its name in the folder.
pub(crate) const FILE: &str = "fits.sqlite";
/// Marks the file as a cache of fits ("lfca").
const APPLICATION: i64 = 0x6C66_6361;
const VERSION: i64 = 1;
/// How long to wait for others, whose transactions take milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
const SCHEMA: &str =
    "CREATE TABLE IF NOT EXISTS fit (key TEXT PRIMARY KEY, record BLOB NOT NULL) STRICT;";

pub(super) struct Database {
    connection: Mutex<Connection>,
    path: PathBuf,
}

impl Database {
    /// Or why it cannot be read or written; a database of something else is an error.
    pub(super) fn open(folder: &Path) -> Result<Result<Self, String>, StudyError> {
        let path = folder.join(FILE);
        check_store(&path)?;
        let begin = Instant::now();
        let connection = loop {
            match prepared(&path) {
                // Two that make the file at the same instant may not wait for each other.
                Err(e) if is_busy(&e) && begin.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                other => break other,
            }
        };
        match connection {
            Ok(Some(connection)) => Ok(Ok(Self {
                connection: Mutex::new(connection),
                path,
            })),
            Ok(None) => Err(StudyError::Cache {
                path: path.display().to_string(),
            }),
            Err(e) => {
                let code = e.sqlite_error_code();
                let damaged = [ErrorCode::NotADatabase, ErrorCode::DatabaseCorrupt];
                let remedy = match code.is_some_and(|code| damaged.contains(&code)) {
                    true => "; without it, or in another folder, a new one is made",
                    false => "",
                };
                Ok(Err(format!("{}: {e}{remedy}", path.display())))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn wrong(&self, e: &rusqlite::Error) -> String {
        format!("{}: {e}", self.path.display())
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// None if the file is something else, which then stays as it is.
fn prepared(path: &Path) -> rusqlite::Result<Option<Connection>> {
    let c = Connection::open(plain(path))?;
    c.busy_timeout(PATIENCE)?;
    let pragma = |name: &str| c.pragma_query_value(None, name, |r| r.get::<_, i64>(0));
    let ours = || -> rusqlite::Result<bool> {
        let found = (pragma("application_id")?, pragma("user_version")?);
        Ok(found == (APPLICATION, VERSION))
    };
    let is_new = !ours()? && {
        let tables: i64 = c.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
        // Another process may have made it in between.
        if tables > 0 && !ours()? {
            return Ok(None);
        }
        tables == 0
    };
    c.pragma_update(None, "journal_mode", "WAL")?;
    c.pragma_update(None, "synchronous", "NORMAL")?;
    if is_new {
        c.execute_batch(&format!(
            "BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
        ))?;
    }
    Ok(Some(c))
}

impl Shelf for Database {
    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let c = self.lock();
        let found = c
            .prepare_cached("SELECT record FROM fit WHERE key = ?")
            .and_then(|mut query| query.query_row([key], |r| r.get(0)).optional());
        found.map_err(|e| self.wrong(&e))
    }

    fn write(&self, key: &str, record: &[u8]) -> Result<(), String> {
        let c = self.lock();
        let query = "INSERT OR REPLACE INTO fit (key, record) VALUES (?, ?)";
        let written = c
            .prepare_cached(query)
            .and_then(|mut insert| insert.execute((key, record)));
        written.map(|_| ()).map_err(|e| self.wrong(&e))
    }
}
