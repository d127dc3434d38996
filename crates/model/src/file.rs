//! Model files: safetensors with one metadata key of canonical JSON.
//!
//! Tensors are named as in the [`Layout`](crate::Layout), 32-bit floats, row by row. The metadata key
//! `loopfit` holds `{"bounds": .., "format": 1, "network": .., ...}` with sorted keys;
//! further sections (likelihood, preprocessing, provenance) belong to the caller. Equal
//! models give equal bytes.

mod atomic;
mod error;
mod text;

pub use atomic::{behind_links, write_atomic, write_atomic_with};
pub use error::{FileError, FormatError};
pub use text::read_text;

use crate::bounds::Bounds;
use crate::layout;
use crate::network::{LARGEST, Network};
use crate::parameters::Parameters;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The version of the metadata that this crate writes and reads.
const FORMAT: u64 = 1;
/// The metadata key that holds everything but the tensors.
const KEY: &str = "loopfit";
/// The sections of the metadata that are not the caller's.
const OWN_SECTIONS: [&str; 3] = ["bounds", "format", "network"];
/// The longest header that safetensors allows.
const LONGEST_HEADER: u64 = 100_000_000;
/// The longest file that can be a model: length, header and coefficients.
const LONGEST_FILE: u64 = 8 + LONGEST_HEADER + 4 * LARGEST as u64;

/// A fitted network, its bounds, and what the caller stores beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The network and its coefficients.
    pub parameters: Parameters,
    /// The parameter box, in which the coefficients lie, and the output clipping.
    pub bounds: Bounds,
    /// Further sections of the metadata, by name.
    pub extra: Map<String, Value>,
}

impl ModelFile {
    /// Reads and checks a model file.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let mut bytes = Vec::new();
        // One byte more than allowed tells a file that is too long from one that is not.
        File::open(path)
            .and_then(|file| file.take(LONGEST_FILE + 1).read_to_end(&mut bytes))
            .map_err(|reason| FileError::Read {
                path: path.into(),
                reason,
            })?;
        Self::from_bytes(&bytes).map_err(|reason| FileError::Format {
            path: path.into(),
            reason,
        })
    }

    /// Writes the model beside `path`, syncs it and renames it: a reader finds the old
    /// file or the new one, never half of one.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        let bytes = self.to_bytes().map_err(|reason| FileError::Format {
            path: path.into(),
            reason,
        })?;
        write_atomic(path, &bytes).map_err(|reason| FileError::Write {
            path: path.into(),
            reason,
        })
    }

    /// The file's contents.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        let network = self.parameters.network();
        let mut tensors = Vec::new();
        let mut data = Vec::with_capacity(4 * network.count());
        for view in layout::views(network) {
            let values = &self.parameters.values()[view.range()];
            check_box(&view.name, values, self.bounds)?;
            let start = data.len();
            data.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            let info = TensorInfo {
                dtype: Dtype::F32,
                shape: view.shape(),
                data_offsets: (start, data.len()),
            };
            tensors.push((view.name, info));
        }
        let metadata = HashMap::from([(KEY.to_owned(), self.sections()?)]);
        let header = Metadata::new(Some(metadata), tensors).map_err(bad_header)?;
        let mut header = serde_json::to_vec(&header).map_err(bad_header)?;
        // The format wants the data aligned to eight bytes.
        header.resize(header.len().next_multiple_of(8), b' ');
        let length = header.len() as u64;
        if length > LONGEST_HEADER {
            return Err(FormatError::HeaderTooLarge { length });
        }
        Ok([&length.to_le_bytes()[..], &header, &data].concat())
    }

    /// The model that a file's contents describe, if they are right in every respect.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let (header, data) = split(bytes)?;
        let text = header
            .metadata()
            .as_ref()
            .and_then(|metadata| metadata.get(KEY))
            .ok_or(FormatError::NoMetadata)?;
        let mut extra: Map<String, Value> =
            serde_json::from_str(text).map_err(|e| FormatError::BadMetadata {
                reason: e.to_string(),
            })?;
        let format: u64 = section(&mut extra, "format")?;
        if format != FORMAT {
            return Err(FormatError::UnknownFormat { found: format });
        }
        let network: Network = section(&mut extra, "network")?;
        let bounds: Bounds = section(&mut extra, "bounds")?;
        let values = read_tensors(&header, data, &network, bounds)?;
        Ok(Self {
            parameters: Parameters::new(network, values)?,
            bounds,
            extra,
        })
    }

    /// The metadata as canonical JSON.
    fn sections(&self) -> Result<String, FormatError> {
        let mut sections = self.extra.clone();
        for name in OWN_SECTIONS {
            if sections.contains_key(name) {
                return Err(FormatError::ReservedSection { name });
            }
        }
        let mut put = |name: &str, value: Result<Value, serde_json::Error>| {
            value
                .map(|value| sections.insert(name.to_owned(), value))
                .map_err(bad_header)
        };
        put("format", Ok(FORMAT.into()))?;
        put("network", serde_json::to_value(self.parameters.network()))?;
        put("bounds", serde_json::to_value(self.bounds))?;
        let mut sections = Value::Object(sections);
        // Already sorted, unless some crate of the build asks serde_json to keep insertion order.
        sections.sort_all_objects();
        Ok(sections.to_string())
    }
}

/// The parsed header and the bytes after it, which it covers exactly.
///
/// `SafeTensors::deserialize` would do this too, but adds the header's offsets without
/// looking: offsets near 2^64 make it overflow.
fn split(bytes: &[u8]) -> Result<(Metadata, &[u8]), FormatError> {
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(FormatError::FileTooLarge);
    }
    let (length, rest) = bytes
        .split_first_chunk::<8>()
        .ok_or(FormatError::TooShort { found: bytes.len() })?;
    let length = u64::from_le_bytes(*length);
    if length > LONGEST_HEADER {
        return Err(FormatError::HeaderTooLarge { length });
    }
    let (header, data) =
        rest.split_at_checked(length as usize)
            .ok_or(FormatError::HeaderTruncated {
                length,
                found: rest.len(),
            })?;
    let header: Metadata = serde_json::from_slice(header).map_err(bad_header)?;
    let expected = header.data_len();
    if data.len() < expected {
        let found = data.len();
        return Err(FormatError::DataTruncated { expected, found });
    }
    if data.len() > expected {
        let surplus = data.len() - expected;
        return Err(FormatError::TrailingBytes { surplus });
    }
    Ok((header, data))
}

/// Takes one of our own sections out of the metadata.
fn section<T: DeserializeOwned>(
    sections: &mut Map<String, Value>,
    name: &'static str,
) -> Result<T, FormatError> {
    let value = sections
        .remove(name)
        .ok_or(FormatError::MissingSection { name })?;
    serde_json::from_value(value).map_err(|e| FormatError::BadSection {
        name,
        reason: e.to_string(),
    })
}

/// The coefficients in the order of the layout.
fn read_tensors(
    header: &Metadata,
    data: &[u8],
    network: &Network,
    bounds: Bounds,
) -> Result<Vec<f32>, FormatError> {
    let mut values = Vec::new();
    let mut known = BTreeSet::new();
    for view in layout::views(network) {
        let name = view.name.clone();
        let Some(info) = header.info(&name) else {
            return Err(FormatError::MissingTensor { name });
        };
        if info.dtype != Dtype::F32 {
            let dtype = info.dtype.to_string();
            return Err(FormatError::WrongDtype { name, dtype });
        }
        if info.shape != view.shape() {
            return Err(FormatError::WrongShape {
                name,
                expected: view.shape(),
                found: info.shape.clone(),
            });
        }
        let (start, end) = info.data_offsets;
        let (numbers, _) = data[start..end].as_chunks::<4>();
        values.extend(numbers.iter().map(|&b| f32::from_le_bytes(b)));
        check_box(&name, &values[view.range()], bounds)?;
        known.insert(name);
    }
    let mut names = header.offset_keys().into_iter();
    match names.find(|name| !known.contains(name)) {
        Some(name) => Err(FormatError::ExtraTensor { name }),
        None => Ok(values),
    }
}

/// Checks that finite coefficients lie in the parameter box.
fn check_box(name: &str, values: &[f32], bounds: Bounds) -> Result<(), FormatError> {
    let bound = bounds.parameter;
    let outside = |v: &f32| v.is_finite() && v.abs() > bound;
    match values.iter().position(outside) {
        None => Ok(()),
        Some(index) => Err(FormatError::OutsideBox {
            name: name.to_owned(),
            index,
            value: values[index],
            bound,
        }),
    }
}

fn bad_header(reason: impl ToString) -> FormatError {
    FormatError::BadHeader {
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
