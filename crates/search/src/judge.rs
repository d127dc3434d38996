//! What test samples say of a model: the only place where they are read.

use crate::SearchError;
use crate::truth::Truth;
use loopfit_data::{Simulation, Table};
use loopfit_fitted::FittedModel;
use std::sync::Arc;

/// Where a model is tested.
#[derive(Clone, Debug)]
pub(crate) enum Judge {
    /// Score on these rows.
    Rows { table: Arc<Table>, rows: Vec<usize> },
    /// Squared Hellinger distance from a known law.
    Law { simulation: Simulation, seed: u64 },
}

/// What test samples say of a model.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The test metric, lower is better.
    pub error: f64,
    /// Further metrics by name, as [`FittedModel::score`] has them.
    pub also: Vec<(&'static str, f64)>,
}

impl Judgement {
    /// Of no test samples.
    pub fn none() -> Self {
        Self {
            error: f64::NAN,
            also: Vec::new(),
        }
    }
}

impl Judge {
    /// What test samples say of a model.
    pub(crate) fn judge(&self, model: &FittedModel) -> Result<Judgement, SearchError> {
        match self {
            Self::Rows { rows, .. } if rows.is_empty() => Ok(Judgement::none()),
            Self::Rows { table, rows } => {
                let score = model.score(table, rows)?;
                Ok(Judgement {
                    error: score.value,
                    also: score.also,
                })
            }
            Self::Law { simulation, seed } => Ok(Judgement {
                error: Truth::new(*simulation, *seed)?.of_model(model)?,
                also: Vec::new(),
            }),
        }
    }
}
