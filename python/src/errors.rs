//! The library's sentences as exceptions.

use loopfit::Error;
use loopfit::details::{ModelError, SearchError, SpecError};
use loopfit_model::file::FileError;
use loopfit_study::StudyError;
use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyOSError, PyPermissionError, PyRuntimeError,
    PyValueError,
};
use pyo3::prelude::*;
use std::io;

/// What a person did is a `ValueError`, what a file system did an `OSError` of its kind, with the library's sentence.
pub(crate) fn of_library(error: Error) -> PyErr {
    // Nothing stands above the rows of arrays and data frames.
    let sentence = error.to_string().replace(" below the header", "");
    match error {
        Error::File(file) | Error::Model(ModelError::File(file)) => of_file(file, sentence),
        Error::Failed | Error::Threads(_) => PyRuntimeError::new_err(sentence),
        Error::Search(SearchError::Spec(SpecError::Backend { .. })) => {
            PyRuntimeError::new_err(sentence)
        }
        _ => PyValueError::new_err(sentence),
    }
}

/// The same for a study: what workers did is a `RuntimeError`, what a directory or a file did an `OSError`.
pub(crate) fn of_study(error: StudyError) -> PyErr {
    let sentence = error.to_string();
    match error {
        StudyError::Search { why, .. }
            if matches!(*why, SearchError::Spec(SpecError::Backend { .. })) =>
        {
            PyRuntimeError::new_err(sentence)
        }
        StudyError::Interrupted => PyRuntimeError::new_err(sentence),
        StudyError::File { .. }
        | StudyError::Unreadable { .. }
        | StudyError::NotAFile { .. }
        | StudyError::Store { .. }
        | StudyError::Cache { .. }
        | StudyError::Busy { .. } => PyOSError::new_err(sentence),
        _ => PyValueError::new_err(sentence),
    }
}

fn of_file(error: FileError, sentence: String) -> PyErr {
    match error {
        FileError::Read { reason, .. } | FileError::Write { reason, .. } => {
            of_system(&reason, sentence)
        }
        _ => PyValueError::new_err(sentence),
    }
}

/// `FileNotFoundError`, `PermissionError` and their like.
pub(crate) fn of_system(reason: &io::Error, sentence: String) -> PyErr {
    match (reason.raw_os_error(), reason.kind()) {
        (Some(code), _) => PyOSError::new_err((code, sentence)),
        (None, io::ErrorKind::NotFound) => PyFileNotFoundError::new_err(sentence),
        (None, io::ErrorKind::PermissionDenied) => PyPermissionError::new_err(sentence),
        (None, io::ErrorKind::IsADirectory) => PyIsADirectoryError::new_err(sentence),
        (None, _) => PyOSError::new_err(sentence),
    }
}
