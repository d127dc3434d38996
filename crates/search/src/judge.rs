//! What test samples say of a model: the only place where they are read.

use crate::SearchError;
use loopfit_data::{Simulation, Table};
use loopfit_fitted::FittedModel;
use loopfit_likelihood::{Energy, Nodes};
use std::sync::Arc;

/// Side of the grid on which densities are compared with the target (F.4.5).
const HELLINGER_SIDE: usize = 256;

/// Where a model is tested.
#[derive(Clone, Debug)]
pub(crate) enum Judge {
    /// Score on these rows.
    Rows { table: Arc<Table>, rows: Vec<usize> },
    /// Squared Hellinger distance from a known density.
    Density { simulation: Simulation, seed: u64 },
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
            Self::Rows { table, rows } => {
                let score = model.score(table, rows)?;
                Ok(Judgement {
                    error: score.value,
                    also: score.also,
                })
            }
            Self::Density { simulation, seed } => {
                let grid = Energy::new(
                    simulation.dim(),
                    Nodes::Grid {
                        side: HELLINGER_SIDE,
                    },
                )?;
                let points = grid.node_points();
                let target = simulation.target(*seed);
                let truth: Vec<f64> = points.chunks(grid.d()).map(|x| target.eval(x)).collect();
                let predictor = model.predictor();
                let fitted =
                    predictor.predict(&points.iter().map(|v| *v as f32).collect::<Vec<_>>());
                Ok(Judgement {
                    error: grid.hellinger_squared(&truth, &fitted),
                    also: Vec::new(),
                })
            }
        }
    }
}
