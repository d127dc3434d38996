//! Whether a data folder holds what the paper used.

use std::path::Path;

use super::files::read_unpacked;
use super::{CatalogError, DataSet, Origin, RawFile};
use crate::preprocess::{Preprocessing, Scaling};
use crate::roles::Roles;
use crate::task::Task;

/// What a folder has of a data set.
#[derive(Debug)]
pub struct Check {
    /// The raw files and their states.
    pub files: Vec<(&'static RawFile, FileState)>,
    /// The table that they make.
    pub table: Result<Dimensions, CatalogError>,
    /// Whether files, rows and inputs are those of the paper.
    pub complete: bool,
}

/// What a folder has of a raw file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The published content.
    Good,
    /// Another content.
    Differs,
    /// A file that cannot be read or unpacked.
    Unreadable,
    /// Nothing.
    Missing,
}

/// The size of a loaded data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimensions {
    /// Observations.
    pub rows: usize,
    /// Inputs d, with one for each category.
    pub features: usize,
    /// What a person should know.
    pub notes: Vec<String>,
}

impl FileState {
    /// One word for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Differs => "differs",
            Self::Unreadable => "unreadable",
            Self::Missing => "missing",
        }
    }
}

impl RawFile {
    /// What a data folder has of this file.
    pub fn state(&self, folder: &Path) -> FileState {
        match self.locate(folder).map(|path| read_unpacked(&path)) {
            None => FileState::Missing,
            Some(Err(_)) => FileState::Unreadable,
            Some(Ok(content)) if self.is_content(&content) => FileState::Good,
            Some(Ok(_)) => FileState::Differs,
        }
    }
}

impl DataSet {
    /// Compares a data folder with the published files and the paper's table.
    pub fn check(&self, folder: &Path) -> Check {
        let files = self.files.iter();
        let files: Vec<_> = files.map(|file| (file, file.state(folder))).collect();
        let table = self.dimensions(folder);
        let published = files
            .iter()
            .filter(|(file, _)| file.origin != Origin::Substitute)
            .all(|(_, state)| *state == FileState::Good);
        let sized = table
            .as_ref()
            .is_ok_and(|found| (found.rows, found.features) == (self.rows, self.features));
        Check {
            files,
            table,
            complete: published && sized,
        }
    }

    fn dimensions(&self, folder: &Path) -> Result<Dimensions, CatalogError> {
        let loaded = self.load(folder)?;
        let table = &loaded.table;
        let unusable = |why: String| CatalogError::Content {
            set: self.name,
            file: self.files[0].path.to_string(),
            why,
        };
        let roles = Roles::new(table, Some(self.target), None, &[]);
        let roles = roles.map_err(|e| unusable(e.to_string()))?;
        let decision = Task::decide(table, Some(self.target), Some(self.task));
        let task = decision.map_err(|e| unusable(e.to_string()))?.task;
        let rows: Vec<usize> = (0..table.rows()).collect();
        let fitted = Preprocessing::fit(table, &roles, task, &rows, Scaling::Fitted);
        Ok(Dimensions {
            rows: rows.len(),
            features: fitted.map_err(|e| unusable(e.to_string()))?.d(),
            notes: loaded.notes,
        })
    }
}
