//! All that a fit depends on, as canonical JSON; samples and given coefficients by hash.

use loopfit_data::Samples;
use loopfit_engine::{FitSpec, Start};
use loopfit_model::Parameters;
use loopfit_numerics::text::hex;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, PoisonError};

/// Describes specifications, and remembers the hashes of samples by their place in memory.
#[derive(Default)]
pub(crate) struct Describer {
    hashes: Mutex<Vec<(Arc<Samples>, String)>>,
}

impl Describer {
    /// The canonical text of a specification.
    pub(crate) fn describe(&self, spec: &FitSpec) -> String {
        let start = match &spec.start {
            Start::Fresh {
                outgoing_multiplier,
            } => json!({ "fresh": { "outgoing_multiplier": outgoing_multiplier } }),
            Start::Given(parameters) => json!({ "given": hex(Sha256::digest(bytes(parameters))) }),
        };
        json!({
            "network": spec.network,
            "likelihood": spec.likelihood,
            "bounds": spec.bounds,
            "train": self.hash(&spec.train),
            "valid": self.hash(&spec.valid),
            "start": start,
            "stages": spec.stages,
            "stream": format!("{:016x}", spec.stream.key()),
        })
        .to_string()
    }

    /// The hash of samples.
    pub(crate) fn hash(&self, samples: &Arc<Samples>) -> String {
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hash)) = hashes.iter().find(|(seen, _)| Arc::ptr_eq(seen, samples)) {
            return hash.clone();
        }
        let hash = samples.hash();
        hashes.push((samples.clone(), hash.clone()));
        hash
    }
}

/// Coefficients as bytes.
pub(crate) fn bytes(parameters: &Parameters) -> Vec<u8> {
    let values = parameters.values().iter();
    values.flat_map(|v| v.to_le_bytes()).collect()
}
