//! A fit as a row of the database.

use super::StoredFit;
use loopfit_engine::{FitOutcome, Stop};
use loopfit_model::{Network, Parameters};

/// A row of the table `fit`.
pub(crate) struct FitRow {
    pub(crate) method: String,
    pub(crate) spec: String,
    pub(crate) stop: String,
    pub(crate) validation: Option<f64>,
    pub(crate) best_update: i64,
    pub(crate) updates: i64,
    pub(crate) curve: String,
    pub(crate) parameters: Vec<u8>,
    pub(crate) seconds: f64,
    pub(crate) backend: String,
    pub(crate) bits: String,
}

impl FitRow {
    /// The row of a fit.
    pub(crate) fn of(fit: &StoredFit) -> Self {
        let outcome = &fit.outcome;
        let finite = |v: f64| v.is_finite().then_some(v);
        let curve: Vec<(usize, Option<f64>)> = outcome
            .curve
            .iter()
            .map(|(u, l)| (*u, finite(*l)))
            .collect();
        let values = outcome.parameters.values().iter();
        Self {
            method: fit.method.clone(),
            spec: fit.spec.clone(),
            stop: stop_name(outcome.stop).to_string(),
            validation: finite(outcome.validation),
            best_update: outcome.best_update as i64,
            updates: outcome.updates as i64,
            curve: serde_json::to_string(&curve).unwrap_or_default(),
            parameters: values.flat_map(|v| v.to_le_bytes()).collect(),
            seconds: outcome.seconds,
            backend: fit.backend.clone(),
            bits: fit.bits.clone(),
        }
    }

    /// The fit that the row holds.
    pub(crate) fn read(self) -> Result<StoredFit, String> {
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
                best_update: count(self.best_update)?,
                updates: count(self.updates)?,
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

fn count(updates: i64) -> Result<usize, String> {
    usize::try_from(updates).map_err(|_| format!("it has {updates} updates"))
}

/// Why a fit ended, as the store writes it.
fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Completed => "completed",
        Stop::Diverged => "diverged",
        Stop::Interrupted => unreachable!("fits that were interrupted are not kept"),
    }
}
