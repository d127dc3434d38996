//! Why a study cannot run.

use std::path::Path;

/// Why a study cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// No built-in study and no file of that name.
    #[error(
        "there is no study `{name}`; the built-in ones are {known}; a protocol of your own is a file that ends in .toml"
    )]
    Unknown {
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// A protocol that cannot be read or makes no sense.
    #[error("{name} is not a study protocol: {why}")]
    ProtocolFile {
        /// The file or name.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// The path.
        path: String,
        /// Why.
        why: String,
    },
    /// A pipe, a device or a directory where a file is needed.
    #[error("{path} is not a regular file, and a file is needed there: name another")]
    NotAFile {
        /// The path.
        path: String,
    },
    /// Data of a case that are not there or not as they should be.
    #[error("case `{case}`: {why}")]
    Data {
        /// The case.
        case: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// A data set of the catalogue, and no folder for its files.
    #[error(
        "case `{case}`: no folder is named for the files of data:{set}: fetch them, then name the folder"
    )]
    NoFolder {
        /// The case.
        case: String,
        /// The data set.
        set: &'static str,
    },
    /// A data set of the catalogue that cannot be used.
    #[error("case `{case}`: {why}")]
    DataSet {
        /// The case.
        case: String,
        /// What is wrong and what to do.
        why: loopfit_data::catalog::CatalogError,
    },
    /// A fit that cannot run.
    #[error("{of}: {why}")]
    Search {
        /// The case or task.
        of: String,
        /// Why.
        why: Box<loopfit_search::SearchError>,
    },
    /// A cap under which a shape does not fit.
    #[error("case `{case}`: no shape of {method} fits the cap of {budget}; raise the cap")]
    NothingFits {
        /// The case.
        case: String,
        /// The method.
        method: String,
        /// The cap.
        budget: usize,
    },
    /// A file or directory that cannot be written.
    #[error("cannot write {path}: {why}")]
    File {
        /// The path.
        path: String,
        /// Why.
        why: String,
    },
    /// The database refused.
    #[error("the store {path} cannot be used: {why}")]
    Store {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// A database of something else where a cache of fits should be.
    #[error("{path} is not a cache of fits that this program knows: name another folder")]
    Cache {
        /// The file.
        path: String,
    },
    /// A database of fits on a network file system.
    #[error(
        "{path} is on a network file system ({kind}), where a database of several writers is not safe: keep fits as files there, or on a local disk"
    )]
    NetworkCache {
        /// The folder.
        path: String,
        /// The kind of file system.
        kind: String,
    },
    /// A file whose tables cannot be made out.
    #[error(
        "{path} cannot be read as a store, and nothing in it can be mended: {why}; move it away and run again, or merge from another copy of it"
    )]
    Ruined {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// No store where one was expected.
    #[error("{path} holds no study; run one there first")]
    NoStore {
        /// The path.
        path: String,
    },
    /// A store of another version.
    #[error(
        "the store {path} has version {found}, and this program reads versions up to {known}: use the program that wrote it"
    )]
    StoreVersion {
        /// The file.
        path: String,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// A store without checksums.
    #[error(
        "the store {path} has version 1, which has no checksums: merging it into a new store writes it anew with them"
    )]
    NoChecksums {
        /// The file.
        path: String,
    },
    /// A store that is not as it was written.
    #[error(
        "{path} is damaged, so nothing is reported from it: {what}; verify it to see all faults, and run the study to repeat what is damaged"
    )]
    Damaged {
        /// The file.
        path: String,
        /// The first fault.
        what: String,
    },
    /// Several shards where one store was expected.
    #[error("{path} holds {count} shards; merge them first")]
    Shards {
        /// The directory.
        path: String,
        /// How many.
        count: usize,
    },
    /// Another process writes.
    #[error("another run is writing to {path}; wait for it, or use another directory")]
    Busy {
        /// The store.
        path: String,
    },
    /// A target that exists.
    #[error("{path} exists; merging writes a new store only: use another directory")]
    Exists {
        /// The file.
        path: String,
    },
    /// The same name, another protocol.
    #[error(
        "{path} holds the study {name} with another protocol ({found}, this one is {expected}); use another directory"
    )]
    OtherProtocol {
        /// The store.
        path: String,
        /// The study.
        name: String,
        /// Hash in the store.
        found: String,
        /// Hash at hand.
        expected: String,
    },
    /// Shards of different protocols.
    #[error("{first} and {second} hold the study {name} with different protocols ({} and {}); merge shards of one protocol only", hashes.0, hashes.1)]
    MixedProtocols {
        /// The study.
        name: String,
        /// One store.
        first: String,
        /// Another.
        second: String,
        /// Their hashes.
        hashes: (String, String),
    },
    /// Fits of a backend with other bits.
    #[error(
        "the fits in {path} were made by {found}, and {own} does not promise the same bits; use another directory"
    )]
    OtherBits {
        /// The store.
        path: String,
        /// Who made them.
        found: String,
        /// Who was to make more.
        own: String,
    },
    /// Shards of backends with different bits.
    #[error("{first} has fits made by {} and {second} has fits made by {}, which do not promise the same bits; merge fits of the same bits only", makers.0, makers.1)]
    MixedBits {
        /// One store.
        first: String,
        /// Another.
        second: String,
        /// Who made their fits.
        makers: (String, String),
    },
    /// A fit in the store that this program, protocol and data would not make.
    #[error(
        "{fit} in {path} was made from other data or by another version of the program; use another directory"
    )]
    Changed {
        /// The store.
        path: String,
        /// Task and fit.
        fit: String,
    },
    /// Data that are not those with which a study was begun.
    #[error(
        "the data of case `{case}` are not those with which the study in {path} was begun; use another directory"
    )]
    OtherData {
        /// The store.
        path: String,
        /// The case.
        case: String,
    },
    /// A store whose content contradicts itself.
    #[error("{what} in {path} cannot be used: {why}")]
    Broken {
        /// The store.
        path: String,
        /// Which part.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// Published numbers that cannot be read.
    #[error("the published numbers `{name}` cannot be used: {why}")]
    Published {
        /// The file's name.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// Standard output or a file ended early.
    #[error(transparent)]
    Output(std::io::Error),
    /// Stopped by the caller; everything that had finished is in the store.
    #[error("interrupted")]
    Interrupted,
}

impl StudyError {
    pub(crate) fn store(path: &Path, error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
        let (path, why) = (path.display().to_string(), error.to_string());
        match error.sqlite_error_code() {
            // The last one: the tables do not have what every store has.
            Some(DatabaseCorrupt | NotADatabase | Unknown) => Self::Ruined { path, why },
            _ => Self::Store { path, why },
        }
    }
}
