//! Store files: where they are, that they are files, and who writes to them.

use crate::task::WHOLE_FILE;
use crate::{StudyError, cache};
use std::fs::File;
use std::path::{Path, PathBuf};

/// What SQLite opens beside a store.
const COMPANIONS: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// Locks a store for one writing process; the lock ends with it, however it ends.
pub(super) fn lock(store: &Path) -> Result<File, StudyError> {
    let path = store.with_extension("lock");
    check_regular(&path)?;
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

/// The store files of a run directory, in the order of their names. A cache in the same directory is none of them.
pub fn stores_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "sqlite"))
        .filter(|path| path.file_name().is_none_or(|name| name != cache::FILE))
        .collect();
    paths.sort();
    paths
}

/// The stores that a path means: the file itself, or all in a directory.
pub(super) fn find_all(path: &Path) -> Result<Vec<PathBuf>, StudyError> {
    let stores = match path.is_dir() {
        true => stores_in(path),
        false if path.exists() => vec![path.to_path_buf()],
        false => Vec::new(),
    };
    if stores.is_empty() {
        return Err(StudyError::NoStore {
            path: path.display().to_string(),
        });
    }
    stores.iter().try_for_each(|store| check_store(store))?;
    Ok(stores)
}

/// The one store that a path means: the file itself, or the one in a directory.
pub(super) fn find(path: &Path) -> Result<PathBuf, StudyError> {
    let stores = find_all(path)?;
    match &stores[..] {
        _ if stores.contains(&path.join(WHOLE_FILE)) => Ok(path.join(WHOLE_FILE)),
        [one] => Ok(one.clone()),
        _ => Err(StudyError::Shards {
            path: path.display().to_string(),
            count: stores.len(),
        }),
    }
}

/// A path for SQLite, which takes one that begins with `file:` for an address.
pub(crate) fn plain(path: &Path) -> PathBuf {
    match path.as_os_str().as_encoded_bytes().starts_with(b"file:") {
        true => Path::new(".").join(path),
        false => path.to_path_buf(),
    }
}

/// Refuses a store that SQLite would wait for or misread: a pipe, a device, a directory.
pub(crate) fn check_store(store: &Path) -> Result<(), StudyError> {
    COMPANIONS.iter().try_for_each(|ending| {
        let mut name = store.as_os_str().to_os_string();
        name.push(ending);
        check_regular(Path::new(&name))
    })
}

/// Refuses what is there and is not a regular file.
pub(crate) fn check_regular(path: &Path) -> Result<(), StudyError> {
    match std::fs::metadata(path) {
        Ok(data) if !data.is_file() => Err(StudyError::NotAFile {
            path: path.display().to_string(),
        }),
        _ => Ok(()),
    }
}
