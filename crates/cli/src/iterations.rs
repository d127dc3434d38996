//! Fewer or more iterations than a model was fitted with, on the command line.

use crate::data::between;
use anyhow::{Result, anyhow};
use loopfit_engine::{ApplyError, FittedModel};
use std::path::Path;

/// How many iterations a model makes.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct IterationsArgument {
    /// Stop after so many iterations instead of the model's T; a Loop may also go on beyond it.
    #[arg(long, value_name = "t", value_parser = iterations)]
    iterations: Option<usize>,
}

/// Parses an iteration count.
fn iterations(text: &str) -> Result<usize, String> {
    between(text, 1, 1000)
}

impl IterationsArgument {
    /// The model of a file with these iterations.
    pub(crate) fn load(self, path: &Path) -> Result<FittedModel> {
        let mut model = FittedModel::load(path)?;
        if let Some(t) = self.iterations {
            model.parameters = model.parameters.after(t)?;
        }
        Ok(model)
    }

    /// What an overflow is due to.
    pub(crate) fn explain(self, error: ApplyError) -> anyhow::Error {
        match (error, self.iterations) {
            (ApplyError::Overflow { row }, Some(t)) => anyhow!(
                "the state of row {row} overflows within {t} iterations: use as many as the model was fitted with, or fewer"
            ),
            (error, _) => error.into(),
        }
    }
}
