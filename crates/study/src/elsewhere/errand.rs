//! A specification and its samples as bytes: a line of canonical JSON, then numbers.

use crate::described::{Describer, bytes};
use loopfit_data::Samples;
use loopfit_engine::{FitSpec, Stage, Start};
use loopfit_likelihood::Likelihood;
use loopfit_model::{Bounds, Network, Parameters};
use loopfit_numerics::stream::Stream;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The canonical text, read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    network: Network,
    likelihood: Likelihood,
    bounds: Bounds,
    train: String,
    valid: String,
    start: Beginning,
    stages: Vec<Stage>,
    stream: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Beginning {
    Fresh {
        outgoing_multiplier: f64,
    },
    /// A hash, which is checked with the whole text.
    Given(IgnoredAny),
}

/// The sizes of samples.
#[derive(Serialize, Deserialize)]
struct Sizes {
    rows: usize,
    inputs: usize,
    responses: usize,
    weights: usize,
}

/// A specification and its text as bytes.
pub(super) fn write(spec: &FitSpec, text: &str) -> Vec<u8> {
    let mut errand = text.as_bytes().to_vec();
    errand.push(b'\n');
    if let Start::Given(parameters) = &spec.start {
        errand.extend(bytes(parameters));
    }
    errand
}

/// The specification of bytes, and its text. A text that this version would not have written is refused: it would make other fits.
pub(super) fn read(
    errand: &[u8],
    samples: &HashMap<String, Arc<Samples>>,
    describer: &Describer,
) -> Result<(FitSpec, String), String> {
    let (text, coefficients) = split_line(errand)?;
    let wrong = |e: &dyn std::fmt::Display| format!("{FOREIGN}: {e}");
    let read: Text = serde_json::from_str(text).map_err(|e| wrong(&e))?;
    let of = |hash: &String| {
        let known = samples.get(hash).cloned();
        known.ok_or_else(|| format!("the samples {hash} of a fit did not come with it"))
    };
    let start = match read.start {
        Beginning::Fresh {
            outgoing_multiplier,
        } => Start::Fresh {
            outgoing_multiplier,
        },
        Beginning::Given(_) => {
            let values = numbers(coefficients)?;
            let given = Parameters::new(read.network.clone(), values);
            Start::Given(given.map_err(|e| wrong(&e))?)
        }
    };
    let stream = u64::from_str_radix(&read.stream, 16).map_err(|e| wrong(&e))?;
    let spec = FitSpec {
        network: read.network,
        likelihood: read.likelihood,
        bounds: read.bounds,
        train: of(&read.train)?,
        valid: of(&read.valid)?,
        start,
        stages: read.stages,
        stream: Stream::new(stream),
    };
    match describer.describe(&spec) == text {
        true => Ok((spec, text.to_string())),
        false => Err(FOREIGN.to_string()),
    }
}

const FOREIGN: &str = "a fit was asked for that this version of loopfit does not know: install the same version everywhere";

/// Samples as bytes.
pub(super) fn write_samples(samples: &Samples) -> Vec<u8> {
    let sizes = Sizes {
        rows: samples.n(),
        inputs: samples.d(),
        responses: samples.y().len(),
        weights: samples.weights().len(),
    };
    let mut bytes = serde_json::to_vec(&sizes).unwrap_or_default();
    bytes.push(b'\n');
    for part in [samples.x(), samples.y(), samples.weights()] {
        bytes.extend(part.iter().flat_map(|v| v.to_le_bytes()));
    }
    bytes
}

/// Samples by their hashes.
pub(super) fn read_samples<S: AsRef<[u8]>>(
    all: &[S],
) -> Result<HashMap<String, Arc<Samples>>, String> {
    let read = |bytes: &S| {
        let samples = samples(bytes.as_ref())?;
        Ok((samples.hash(), Arc::new(samples)))
    };
    all.iter().map(read).collect()
}

fn samples(bytes: &[u8]) -> Result<Samples, String> {
    let (sizes, rest) = split_line(bytes)?;
    let sizes: Sizes = serde_json::from_str(sizes).map_err(|e| format!("{FOREIGN}: {e}"))?;
    let mut values = numbers(rest)?;
    let expected = sizes.rows.checked_mul(sizes.inputs);
    let inputs = expected.filter(|inputs| {
        let others = sizes.responses.checked_add(sizes.weights);
        others.and_then(|others| others.checked_add(*inputs)) == Some(values.len())
    });
    let inputs = inputs.ok_or("samples came cut short")?;
    let weights = values.split_off(inputs + sizes.responses);
    let responses = values.split_off(inputs);
    let samples = Samples::new(sizes.inputs, values, responses);
    let samples = samples.and_then(|samples| samples.weighted(weights));
    samples.map_err(|e| e.to_string())
}

fn numbers(bytes: &[u8]) -> Result<Vec<f32>, String> {
    let (floats, rest) = bytes.as_chunks::<4>();
    match rest.is_empty() {
        true => Ok(floats.iter().map(|b| f32::from_le_bytes(*b)).collect()),
        false => Err("numbers came cut short".to_string()),
    }
}

/// The first line, and all after it.
fn split_line(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let at = bytes.iter().position(|b| *b == b'\n');
    let (line, rest) = bytes.split_at(at.ok_or("a fit came cut short")?);
    let line = std::str::from_utf8(line).map_err(|e| e.to_string())?;
    Ok((line, &rest[1..]))
}
