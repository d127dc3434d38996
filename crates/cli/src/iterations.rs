//! Fewer or more iterations than a model was fitted with, on the command line.

use crate::data::between;
use crate::{Global, output};
use anyhow::{Result, anyhow};
use loopfit_fitted::{ApplyError, FittedModel};
use std::path::Path;

/// How many iterations a model makes.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct IterationsArgument {
    /// Run this many iterations instead of the model's T; a Loop may also run more than T.
    #[arg(long, value_name = "t", value_parser = iterations)]
    iterations: Option<usize>,
}

/// More iterations than a fit makes for good reasons.
const MANY: usize = 1000;

/// Parses an iteration count.
fn iterations(text: &str) -> Result<usize, String> {
    between(text, 1, MANY)
}

/// Says that a model will take long.
pub(crate) fn warn_of_many(model: &FittedModel, global: &Global) {
    let t = model.parameters.network().tying().iterations();
    if t > MANY && !global.quiet {
        let t = loopfit_report::number::integer(t as u64);
        output::say(&format!(
            "the model makes T = {t} iterations for each row, more than a fit needs: this may take long"
        ));
    }
}

impl IterationsArgument {
    /// The model of a file with these iterations.
    pub(crate) fn load(self, path: &Path, global: &Global) -> Result<FittedModel> {
        let mut model = FittedModel::load(path)?;
        if let Some(t) = self.iterations {
            model.parameters = model.parameters.after(t)?;
        }
        warn_of_many(&model, global);
        Ok(model)
    }

    /// What an overflow is due to, and what to do about it.
    pub(crate) fn explain(self, model: &FittedModel, error: ApplyError) -> anyhow::Error {
        let ApplyError::Overflow { row } = error else {
            return error.into();
        };
        match self.iterations {
            _ if model.construction().is_some() => anyhow!(
                "the state of row {row} overflows: 32 bits do not hold this constructed network near the faces of its cells; leave such rows out, or run them exactly with `loopfit witness run`"
            ),
            Some(t) => anyhow!(
                "the state of row {row} overflows within {t} iterations: use as many as the model was fitted with, or fewer"
            ),
            None => error.into(),
        }
    }
}
