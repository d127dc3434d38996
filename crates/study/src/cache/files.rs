//! Records as files that appear whole or not at all and are never changed: what any file system of several machines can do.

use super::Shelf;
use crate::StudyError;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The folder of the records in that of the cache.
const FOLDER: &str = "fits";
/// Names to try for a file that is being written, before another machine's are said to be in the way.
const TRIES: usize = 100;

pub(super) struct Files {
    folder: PathBuf,
    /// Files that were begun, so that no two have one name.
    begun: AtomicU64,
}

impl Files {
    pub(super) fn open(folder: &Path) -> Result<Self, StudyError> {
        let folder = folder.join(FOLDER);
        super::make(&folder)?;
        Ok(Self {
            folder,
            begun: AtomicU64::default(),
        })
    }

    /// The first two digits of a key are a folder, so that none holds too many files.
    fn place(&self, key: &str) -> (PathBuf, PathBuf) {
        let (first, rest) = key.split_at(2);
        let folder = self.folder.join(first);
        let file = folder.join(rest);
        (folder, file)
    }

    /// A new file in a folder, which nobody else writes to.
    fn begin(&self, folder: &Path) -> std::io::Result<(PathBuf, File)> {
        let mut taken = None;
        for _ in 0..TRIES {
            let number = self.begun.fetch_add(1, Relaxed);
            let name = format!(".{}-{number}.tmp", std::process::id());
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => taken = Some(e),
                other => return other.map(|file| (path, file)),
            }
        }
        Err(taken.unwrap_or_else(|| ErrorKind::AlreadyExists.into()))
    }
}

impl Shelf for Files {
    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let (_, file) = self.place(key);
        match std::fs::read(&file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!("{}: {e}", file.display())),
        }
    }

    fn write(&self, key: &str, record: &[u8]) -> Result<(), String> {
        let (folder, file) = self.place(key);
        let wrong = |e: std::io::Error| format!("{}: {e}", file.display());
        std::fs::create_dir_all(&folder).map_err(wrong)?;
        let (path, mut begun) = self.begin(&folder).map_err(wrong)?;
        let written = begun
            .write_all(record)
            .and_then(|()| begun.sync_all())
            .and_then(|()| std::fs::rename(&path, &file));
        if let Err(e) = written {
            let _ = std::fs::remove_file(&path);
            return Err(wrong(e));
        }
        // The name as well, where a folder can be made durable; without it a crash loses the record, which is made again.
        if let Ok(folder) = File::open(&folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}
