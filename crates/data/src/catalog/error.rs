//! Every way in which a data set cannot be used.

use std::io;

use super::mat::MatError;
use crate::table::TableError;

/// Why a data set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A name that no data set has.
    #[error("there is no data set `{name}`; the known ones are {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// A raw file that is not there.
    #[error(
        "there is no `{file}` in the data folder `{folder}`: fetch data:{set} into it, or name the folder that has it"
    )]
    Missing {
        /// The data set.
        set: &'static str,
        /// The file, below the folder.
        file: &'static str,
        /// The folder.
        folder: String,
    },
    /// A raw file that cannot be read or unpacked.
    #[error("`{file}` cannot be read: {cause}; copy or download it again")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system or the decoder says.
        cause: io::Error,
    },
    /// A raw file that is not a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A raw file that is not a MATLAB matrix.
    #[error("`{file}` is not the MATLAB file of data:{set}: {why}; download it again")]
    Mat {
        /// The data set.
        set: &'static str,
        /// The file.
        file: String,
        /// What is wrong with it.
        why: MatError,
    },
    /// A raw file with other columns or cells.
    #[error("`{file}` is not the file of data:{set}: {why}; download it again")]
    Content {
        /// The data set.
        set: &'static str,
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
}
