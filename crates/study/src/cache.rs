//! Fits by what they are: one that any study has made on any machine is not made again.
//!
//! A fit is a pure function of its specification and of the bits that its backend promises, so the SHA-256 of both names its result.
//! A cache is a database for the processes of one machine, or a folder of files that are never changed, for machines that share a
//! network file system. A record that is not as it was written is never believed: the fit is made again and takes its place.

mod database;
mod files;
mod mounts;
pub(crate) mod record;

use crate::StudyError;
use crate::store::{Store, StoredFit};
use database::Database;
pub(crate) use database::FILE;
use files::Files;
use loopfit_numerics::text::hex;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Begins what is hashed and what is written; another way of writing records is another version.
const VERSION: &str = "loopfit fit 1\n";

/// Where records are, by the hash of what they are the result of.
trait Shelf: Send + Sync {
    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, String>;
    /// Writes a record, in the place of one that is there.
    fn write(&self, key: &str, record: &[u8]) -> Result<(), String>;
}

/// Fits of all studies.
pub struct Cache {
    shelf: Box<dyn Shelf>,
    name: String,
    found: AtomicU64,
    kept: AtomicU64,
    damaged: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("name", &self.name).finish()
    }
}

/// A cache that cannot be opened, and why: runs go without it.
struct Unusable(String);

impl Shelf for Unusable {
    fn read(&self, _: &str) -> Result<Option<Vec<u8>>, String> {
        Err(self.0.clone())
    }

    fn write(&self, _: &str, _: &[u8]) -> Result<(), String> {
        Err(self.0.clone())
    }
}

impl Cache {
    /// A database in a folder, for any number of processes of one machine. A network file system is refused: the processes of a
    /// machine agree on who writes by memory that they share. So is a database of something else; one that cannot be read or written
    /// gives nothing, and [`Cache::trouble`] tells.
    pub fn database(folder: &Path) -> Result<Self, StudyError> {
        make(folder)?;
        if let Some(kind) = mounts::network(folder) {
            return Err(StudyError::NetworkCache {
                path: folder.display().to_string(),
                kind,
            });
        }
        let shelf: Box<dyn Shelf> = match Database::open(folder)? {
            Ok(database) => Box::new(database),
            Err(why) => Box::new(Unusable(why)),
        };
        Ok(Self::new(folder, shelf))
    }

    /// A folder of files, for any number of machines.
    pub fn files(folder: &Path) -> Result<Self, StudyError> {
        make(folder)?;
        Ok(Self::new(folder, Box::new(Files::open(folder)?)))
    }

    fn new(folder: &Path, shelf: Box<dyn Shelf>) -> Self {
        Self {
            shelf,
            name: folder.display().to_string(),
            found: AtomicU64::default(),
            kept: AtomicU64::default(),
            damaged: AtomicU64::default(),
            trouble: Mutex::default(),
        }
    }

    /// The fit of a specification in canonical JSON by a backend of these bits, if it was made before.
    pub(crate) fn find(&self, spec: &str, bits: &str) -> Option<StoredFit> {
        let bytes = self
            .shelf
            .read(&key(spec, bits))
            .unwrap_or_else(|why| self.fail(why))?;
        match record::read(&bytes, spec, bits) {
            Some(fit) => {
                self.found.fetch_add(1, Relaxed);
                Some(fit)
            }
            None => {
                self.damaged.fetch_add(1, Relaxed);
                None
            }
        }
    }

    /// Keeps a fit. A study does not fail because a cache does: [`Cache::trouble`] tells.
    pub(crate) fn keep(&self, fit: &StoredFit) {
        let key = key(&fit.spec, &fit.bits);
        match self.shelf.write(&key, &record::write(fit)) {
            Ok(()) => {
                self.kept.fetch_add(1, Relaxed);
            }
            Err(why) => self.fail(why).unwrap_or_default(),
        }
    }

    /// Keeps all fits of a store that are not here yet.
    pub fn learn(&self, store: &Store) -> Result<(), StudyError> {
        let query = "SELECT study, task, fit, spec, bits FROM fit";
        let known: Vec<[String; 5]> = store.rows(query, [], |r| {
            Ok([r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?])
        })?;
        for [study, task, fit, spec, bits] in known {
            let here = self.shelf.read(&key(&spec, &bits));
            let here = here.unwrap_or_else(|why| self.fail(why));
            if here.is_some_and(|bytes| record::read(&bytes, &spec, &bits).is_some()) {
                continue;
            }
            if let Some(fit) = store.fit(&study, &task, &fit)? {
                self.keep(&fit);
            }
        }
        Ok(())
    }

    /// Remembers the first thing that went wrong; nothing was found then.
    fn fail<T>(&self, why: String) -> Option<T> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.get_or_insert(why);
        None
    }

    /// The folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fits that were here.
    pub fn found(&self) -> u64 {
        self.found.load(Relaxed)
    }

    /// Fits that were put here.
    pub fn kept(&self) -> u64 {
        self.kept.load(Relaxed)
    }

    /// Records that were not as they had been written, and whose fits were made again.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Relaxed)
    }

    /// The first reason why the cache could not be read or written, if there was one. What it should have given was made again.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.clone()
    }
}

/// The name of a fit's result.
pub(crate) fn key(spec: &str, bits: &str) -> String {
    let mut hasher = Sha256::new();
    for part in [VERSION, bits, "\n", spec] {
        hasher.update(part);
    }
    hex(hasher.finalize())
}

fn make(folder: &Path) -> Result<(), StudyError> {
    // An empty name would be the working directory.
    if folder.as_os_str().is_empty() {
        return Err(StudyError::File {
            path: "the cache".to_string(),
            why: "no folder is named for it".to_string(),
        });
    }
    std::fs::create_dir_all(folder).map_err(|e| StudyError::File {
        path: folder.display().to_string(),
        why: e.to_string(),
    })
}

#[cfg(test)]
mod tests;
