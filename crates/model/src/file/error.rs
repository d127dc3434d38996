//! The ways in which a model file can be wrong.

use crate::parameters::ParametersError;
use std::io;
use std::path::PathBuf;

/// Why a model file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system refused to read.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
    /// The operating system refused to write.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
    /// The contents are not those of a model file.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with them.
        reason: FormatError,
    },
}

/// What is wrong with the contents of a model file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// Longer than any model.
    #[error("the file is longer than any model file: is it another kind of file?")]
    FileTooLarge,
    /// No room even for the header's length.
    #[error("the file has only {found} bytes and no header: is it a model file?")]
    TooShort {
        /// The file's length.
        found: usize,
    },
    /// The header's length is absurd, as in a file of another kind.
    #[error("this is not a safetensors file: its first bytes announce a header of {length} bytes")]
    HeaderTooLarge {
        /// The announced length.
        length: u64,
    },
    /// The file ends within the header.
    #[error(
        "the file is truncated: its header should have {length} bytes, but only {found} follow"
    )]
    HeaderTruncated {
        /// The announced length.
        length: u64,
        /// The bytes that are there.
        found: usize,
    },
    /// The header is not JSON, or its tensors overlap, leave gaps or have impossible sizes.
    #[error("the safetensors header is invalid: {reason}")]
    BadHeader {
        /// What the parser said.
        reason: String,
    },
    /// The file ends within the tensors.
    #[error(
        "the file is truncated: its tensors should have {expected} bytes, but only {found} follow"
    )]
    DataTruncated {
        /// The bytes that the header describes.
        expected: usize,
        /// The bytes that are there.
        found: usize,
    },
    /// There are bytes after the tensors.
    #[error("the file goes on for {surplus} bytes after its last tensor: was it altered?")]
    TrailingBytes {
        /// How many bytes.
        surplus: usize,
    },
    /// A safetensors file of someone else.
    #[error("the file has no \"loopfit\" metadata: it was not written by loopfit")]
    NoMetadata,
    /// The metadata are not a JSON object.
    #[error("the \"loopfit\" metadata are not a JSON object: {reason}")]
    BadMetadata {
        /// What the parser said.
        reason: String,
    },
    /// A section of the metadata is missing.
    #[error("the \"loopfit\" metadata have no section {name:?}")]
    MissingSection {
        /// The section.
        name: &'static str,
    },
    /// A section of the metadata makes no sense.
    #[error("section {name:?} of the \"loopfit\" metadata is invalid: {reason}")]
    BadSection {
        /// The section.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The file was written by another version.
    #[error("the file has format {found}, but this version reads format 1: update loopfit")]
    UnknownFormat {
        /// The file's format.
        found: u64,
    },
    /// A section of the caller's has one of our names.
    #[error("section {name:?} is written by the model file itself: choose another name")]
    ReservedSection {
        /// The section.
        name: &'static str,
    },
    /// A tensor of the network is missing.
    #[error("tensor {name:?} is missing")]
    MissingTensor {
        /// The tensor.
        name: String,
    },
    /// A tensor does not belong to the network.
    #[error("tensor {name:?} does not belong to the network that the file describes")]
    ExtraTensor {
        /// The tensor.
        name: String,
    },
    /// A tensor is not of 32-bit floats.
    #[error("tensor {name:?} has type {dtype}, but F32 is needed")]
    WrongDtype {
        /// The tensor.
        name: String,
        /// Its type.
        dtype: String,
    },
    /// A tensor has another shape than the network says.
    #[error("tensor {name:?} has shape {found:?}, but the network needs {expected:?}")]
    WrongShape {
        /// The tensor.
        name: String,
        /// The shape that follows from the network.
        expected: Vec<usize>,
        /// The shape in the file.
        found: Vec<usize>,
    },
    /// A coefficient is infinite or NaN.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
    /// A coefficient lies outside the parameter box.
    #[error(
        "coefficient {index} of tensor {name:?} is {value}, outside the box [-{bound}, {bound}]"
    )]
    OutsideBox {
        /// The tensor.
        name: String,
        /// The place in the tensor, row by row.
        index: usize,
        /// The value there.
        value: f32,
        /// The half-width of the box.
        bound: f32,
    },
}
