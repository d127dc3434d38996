//! A fit as a row of the database.

use super::StoredFit;
use loopfit_engine::{FitOutcome, Stop};
use loopfit_model::{Network, Parameters};

/// A row of the table `fit`.
pub(super) struct FitRow {
    pub(super) method: String,
    pub(super) spec: String,
    pub(super) stop: String,
    pub(super) validation: Option<f64>,
    pub(super) best_update: i64,
    pub(super) updates: i64,
    pub(super) curve: String,
    pub(super) parameters: Vec<u8>,
    pub(super) seconds: f64,
    pub(super) backend: String,
    pub(super) bits: String,
}

impl FitRow {
    /// The fit that the row holds.
    pub(super) fn read(self) -> Result<StoredFit, String> {
        let spec: serde_json::Value =
            serde_json::from_str(&self.spec).map_err(|e| e.to_string())?;
        let network: Network =
            serde_json::from_value(spec["network"].clone()).map_err(|e| e.to_string())?;
        let (floats, rest) = self.parameters.as_chunks::<4>();
        if !rest.is_empty() {
            return Err("its parameters are cut short".to_string());
        }
        let values = floats.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let curve: Vec<(usize, Option<f64>)> =
            serde_json::from_str(&self.curve).map_err(|e| e.to_string())?;
        Ok(StoredFit {
            outcome: FitOutcome {
                parameters: Parameters::new(network, values).map_err(|e| e.to_string())?,
                validation: self.validation.unwrap_or(f64::INFINITY),
                best_update: self.best_update as usize,
                updates: self.updates as usize,
                stop: match self.stop.as_str() {
                    "completed" => Stop::Completed,
                    _ => Stop::Diverged,
                },
                curve: curve
                    .into_iter()
                    .map(|(u, l)| (u, l.unwrap_or(f64::INFINITY)))
                    .collect(),
                seconds: self.seconds,
            },
            method: self.method,
            spec: self.spec,
            backend: self.backend,
            bits: self.bits,
        })
    }
}

/// Why a fit ended, as the store writes it.
pub(super) fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Completed => "completed",
        Stop::Diverged => "diverged",
        Stop::Interrupted => unreachable!("fits that were interrupted are not kept"),
    }
}
