//! A fit as bytes: a line that says what follows, the SHA-256 of all after it, a line of JSON, and the coefficients.

use super::VERSION;
use crate::store::{FitRow, StoredFit};
use loopfit_numerics::text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Everything but the coefficients. Numbers are written so that they are read with the same bits.
#[derive(Serialize, Deserialize)]
struct Header {
    spec: String,
    bits: String,
    backend: String,
    method: String,
    stop: String,
    validation: Option<f64>,
    best_update: i64,
    updates: i64,
    curve: String,
    seconds: f64,
}

pub(crate) fn write(fit: &StoredFit) -> Vec<u8> {
    let row = FitRow::of(fit);
    let header = Header {
        spec: row.spec,
        bits: row.bits,
        backend: row.backend,
        method: row.method,
        stop: row.stop,
        validation: row.validation,
        best_update: row.best_update,
        updates: row.updates,
        curve: row.curve,
        seconds: row.seconds,
    };
    let mut content = serde_json::to_vec(&header).unwrap_or_default();
    content.push(b'\n');
    content.extend(row.parameters);
    let mut bytes = format!("{VERSION}{}\n", hex(Sha256::digest(&content))).into_bytes();
    bytes.extend(content);
    bytes
}

/// The fit of bytes that are as they were written and hold what was asked for.
pub(crate) fn read(bytes: &[u8], spec: &str, bits: &str) -> Option<StoredFit> {
    let rest = bytes.strip_prefix(VERSION.as_bytes())?;
    let (sum, content) = split_line(rest)?;
    if hex(Sha256::digest(content)).as_bytes() != sum {
        return None;
    }
    let (header, parameters) = split_line(content)?;
    let header: Header = serde_json::from_slice(header).ok()?;
    if header.spec != spec || header.bits != bits {
        return None;
    }
    let row = FitRow {
        method: header.method,
        spec: header.spec,
        stop: header.stop,
        validation: header.validation,
        best_update: header.best_update,
        updates: header.updates,
        curve: header.curve,
        parameters: parameters.to_vec(),
        seconds: header.seconds,
        backend: header.backend,
        bits: header.bits,
    };
    row.read().ok()
}

/// What is before and after the first end of a line.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|b| *b == b'\n')?;
    Some((&bytes[..at], &bytes[at + 1..]))
}
