//! Opening a store: for reading, if it is as it was written; for a run, mended if it is not.

use super::files::{check_store, find, lock, plain};
use super::{APPLICATION, CHECKSUMS, Damage, Store, VERSION, mend, schema, verify};
use crate::StudyError;
use crate::task::Shard;
use loopfit_engine::Backend;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// How long to wait for another process that is writing: its transactions take milliseconds, on
/// slow disks seconds.
const PATIENCE: Duration = Duration::from_secs(300);

impl Store {
    /// Opens the store of a run directory for writing, creating both if need be. A damaged store
    /// is mended: what is sound is kept, so that the run makes the rest again.
    pub fn create(directory: &Path, shard: Shard) -> Result<Self, StudyError> {
        Self::create_checked(directory, shard, None)
    }

    /// As [`Store::create`] for the fits of a backend. A store whose fits have other bits is refused and
    /// left alone, mended by none but who could go on with it.
    pub fn create_for(
        directory: &Path,
        shard: Shard,
        backend: &dyn Backend,
    ) -> Result<Self, StudyError> {
        Self::create_checked(directory, shard, Some(backend))
    }

    fn create_checked(
        directory: &Path,
        shard: Shard,
        backend: Option<&dyn Backend>,
    ) -> Result<Self, StudyError> {
        std::fs::create_dir_all(directory).map_err(|e| StudyError::File {
            path: directory.display().to_string(),
            why: e.to_string(),
        })?;
        let path = directory.join(shard.file());
        check_store(&path)?;
        let lock = lock(&path)?;
        let mut store = Self::prepared(&path)?;
        // Who made a record that cannot be read is found out by mending it.
        if let Some(Err(other @ StudyError::OtherBits { .. })) =
            backend.map(|backend| store.check_backend(backend))
        {
            return Err(other);
        }
        let damage = store.with(|c| verify::examine(c, store.version, None))?;
        if store.version != VERSION || !damage.is_empty() {
            store = store.mended(&damage)?;
        }
        store._lock = Some(lock);
        Ok(store)
    }

    /// The store written anew, in the present version and without what is damaged.
    fn mended(self, damage: &Damage) -> Result<Self, StudyError> {
        let (path, version) = (self.path.clone(), self.version);
        let anew = path.with_extension("sqlite.tmp");
        let rewritten = mend::rewrite(&self.lock(), version, damage, &anew);
        drop(self);
        let replaced = rewritten.and_then(|()| mend::replace(&path, &anew));
        let _ = std::fs::remove_file(&anew);
        let kept = replaced?;
        let mut store = Self::prepared(&path)?;
        store.notice = Some(match (version < CHECKSUMS, damage.is_empty()) {
            (true, false) => format!(
                "{} had no checksums and is damaged ({}); the fits that could be read were kept, all choices and scores are made again; the file as it was is {}",
                path.display(),
                damage.summary(),
                kept.display()
            ),
            (false, false) => format!(
                "{} was damaged ({}); what is sound was kept, the rest is run again; the file as it was is {}",
                path.display(),
                damage.summary(),
                kept.display()
            ),
            (true, true) => format!(
                "{} had no checksums; what it held was taken as it was, and now has them; the file as it was is {}",
                path.display(),
                kept.display()
            ),
            (false, true) => format!(
                "{} did not say who made its fits; they are now said to be made by cpu, and nothing else was changed; the file as it was is {}",
                path.display(),
                kept.display()
            ),
        });
        Ok(store)
    }

    /// What a person should know about how the store was opened, if anything.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Opens a store for reading: a file, or a run directory with one store in it. What a kill
    /// left half-written is rolled back; a store that is not as it was written is refused.
    pub fn open(path: &Path) -> Result<Self, StudyError> {
        let store = Self::open_unchecked(path)?;
        store.check_version()?;
        store.check_sound()?;
        Ok(store)
    }

    /// Refuses a store that something is wrong with, as far as its version tells.
    pub(super) fn check_sound(&self) -> Result<(), StudyError> {
        let damage = self.with(|c| verify::examine(c, self.version, None))?;
        if damage.is_empty() {
            return Ok(());
        }
        Err(StudyError::Damaged {
            path: self.path.display().to_string(),
            what: damage.summary(),
        })
    }

    /// Opens a store of any version, without looking at its records.
    pub(super) fn open_unchecked(path: &Path) -> Result<Self, StudyError> {
        let path = find(path)?;
        // What a killed writer left is rolled back by the next reader, who must be able to write;
        // where nothing can be written, nothing was left half-done.
        let open = |access| {
            let connection = Connection::open_with_flags(plain(&path), access)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_query_value(None, "user_version", |r| r.get::<_, i64>(0))?;
            Ok(connection)
        };
        let connection = open(OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_| open(OpenFlags::SQLITE_OPEN_READ_ONLY))
            .map_err(|e| StudyError::store(&path, e))?;
        Self::new(connection, path)
    }

    pub(super) fn new(connection: Connection, path: PathBuf) -> Result<Self, StudyError> {
        Ok(Self {
            version: version(&connection, &path)?,
            connection: Mutex::new(connection),
            waiting: Mutex::default(),
            writing: Mutex::default(),
            path,
            notice: None,
            _lock: None,
        })
    }

    /// A store ready to be written to, with its tables if it is new.
    fn prepared(path: &Path) -> Result<Self, StudyError> {
        let wrong = |e| StudyError::store(path, e);
        let connection = Connection::open(plain(path)).map_err(wrong)?;
        let prepare = |c: &Connection| {
            c.busy_timeout(PATIENCE)?;
            // A rollback journal: safe against a kill at any instant, and readable meanwhile.
            c.pragma_update(None, "journal_mode", "DELETE")?;
            c.pragma_update(None, "synchronous", "NORMAL")?;
            c.pragma_update(None, "foreign_keys", true)?;
            let tables: i64 =
                c.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
            if tables == 0 {
                let schema = schema(VERSION);
                c.execute_batch(&format!(
                    "BEGIN IMMEDIATE; {schema} PRAGMA application_id = {APPLICATION}; \
                     PRAGMA user_version = {VERSION}; COMMIT;"
                ))?;
            }
            Ok(())
        };
        prepare(&connection).map_err(wrong)?;
        Self::new(connection, path.to_path_buf())
    }

    /// Refuses a store without checksums.
    pub(super) fn check_version(&self) -> Result<(), StudyError> {
        if self.version >= CHECKSUMS {
            return Ok(());
        }
        Err(StudyError::NoChecksums {
            path: self.path.display().to_string(),
        })
    }
}

/// The version of a store's tables, if this program knows it.
fn version(c: &Connection, path: &Path) -> Result<i64, StudyError> {
    let pragma = |name: &str| {
        let value = c.pragma_query_value(None, name, |r| r.get::<_, i64>(0));
        value.map_err(|e| StudyError::store(path, e))
    };
    let (application, found) = (pragma("application_id")?, pragma("user_version")?);
    if application != APPLICATION {
        return Err(StudyError::NoStore {
            path: path.display().to_string(),
        });
    }
    if !(1..=VERSION).contains(&found) {
        return Err(StudyError::StoreVersion {
            path: path.display().to_string(),
            found,
            known: VERSION,
        });
    }
    Ok(found)
}
