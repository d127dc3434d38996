//! The catalogue: the thirteen real data sets of the paper, from their raw files to tables.
//!
//! A [`DataSet`] knows its raw files, where they are published and how they become the
//! paper's inputs and target. The files themselves are the user's: [`DataSet::load`] reads
//! them from a folder with one sub-folder for each set, `airfoil/airfoil_self_noise.dat` and
//! so on, plain or gzip-compressed under the same name with `.gz` added.
//!
//! # Reference
//! F.4.6: Table "Dimensions and parameter caps for the real-data experiments" and the
//! measured-source links.

mod check;
mod error;
#[cfg(feature = "fetch")]
mod fetch;
mod files;
mod mat;
mod prepare;
mod sample;
mod sets;

pub use check::{Check, Dimensions, FileState};
pub use error::CatalogError;
#[cfg(feature = "fetch")]
pub use fetch::{FetchError, Fetcher};
pub use files::{Checksum, Origin, RawFile};
pub use mat::MatError;

use std::path::Path;

use crate::table::Table;
use crate::task::TaskKind;
use prepare::Folder;

/// One data set of the paper.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// How a user names it: `data:NAME`.
    pub name: &'static str,
    /// What the paper calls it.
    pub title: &'static str,
    /// What is learned.
    pub task: TaskKind,
    /// The column to predict.
    pub target: &'static str,
    /// Consecutive rows that stay together in a split.
    pub block: Option<usize>,
    /// Observations, by the paper's table.
    pub rows: usize,
    /// Inputs d, by the paper's table.
    pub features: usize,
    /// Classes, by the paper's table; none for regression.
    pub classes: Option<usize>,
    /// The parameter cap B of the paper.
    pub cap: usize,
    /// The raw files.
    pub files: &'static [RawFile],
    /// The page that describes it.
    pub page: &'static str,
    /// Under which terms it is published.
    pub licence: &'static str,
    /// Who made it.
    pub citation: &'static str,
    prepare: prepare::Prepare,
}

/// A data set ready for [`crate::roles::Roles`]: the paper's inputs and the target.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The inputs, then the target, under the source `data:NAME`.
    pub table: Table,
    /// The rows that are the test set by convention, where there is such a convention.
    pub official_test: Option<Vec<usize>>,
    /// What a person should know before using it.
    pub notes: Vec<String>,
}

/// All data sets, in the order of the paper's table.
pub fn all() -> &'static [DataSet] {
    sets::ALL
}

impl DataSet {
    /// The data set of that name.
    pub fn find(name: &str) -> Result<&'static Self, CatalogError> {
        all()
            .iter()
            .find(|set| set.name == name)
            .ok_or_else(|| CatalogError::Unknown {
                name: name.to_string(),
                known: all().iter().map(|set| set.name).collect::<Vec<_>>(),
            })
    }

    /// Reads the raw files below `folder` and prepares the table. A file whose content is not
    /// the catalogue's is used as it is, with a note.
    pub fn load(&self, folder: &Path) -> Result<Loaded, CatalogError> {
        let mut folder = Folder::new(self, folder);
        let prepared = (self.prepare)(&mut folder)?;
        Ok(Loaded {
            table: Table::from_columns(&format!("data:{}", self.name), prepared.columns),
            official_test: prepared.official_test,
            notes: folder.into_notes(),
        })
    }
}
