//! A function on the unit cube as the command line names it.

use crate::data::seeded_simulation;
use anyhow::{Context, Result};
use loopfit_data::Simulation;
use loopfit_data::preprocess::Input;
use loopfit_fitted::FittedModel;
use loopfit_theory::{Function, Interval, Origin};
use std::path::PathBuf;
use std::str::FromStr;

/// A model file, or a simulation with or without a seed.
#[derive(Clone, Debug)]
pub(super) enum FunctionArgument {
    File(PathBuf),
    Simulation(Simulation, Option<u64>),
}

impl FromStr for FunctionArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("data:") {
            return Err("the function behind a data set is unknown: name a model fitted to it, or a simulation".to_string());
        }
        let Some(simulation) = seeded_simulation(text) else {
            return Ok(Self::File(PathBuf::from(text)));
        };
        let (simulation, seed) = simulation?;
        Ok(Self::Simulation(simulation, seed))
    }
}

impl FunctionArgument {
    /// As users write it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Simulation(simulation, None) => format!("sim:{simulation}"),
            Self::Simulation(simulation, Some(seed)) => format!("sim:{simulation}@{seed}"),
        }
    }

    /// The function; `seed` is for a simulation without one.
    pub(super) fn load(&self, seed: u64) -> Result<Function<'static, anyhow::Error>> {
        let name = self.text();
        match self {
            Self::File(path) => Ok(of_model(name, FittedModel::load(path)?)),
            Self::Simulation(simulation, own) => {
                let (d, target) = (simulation.dim(), simulation.target(own.unwrap_or(seed)));
                Ok(Function {
                    name,
                    inputs: (1..=d).map(|k| Interval::unit(format!("x{k}"))).collect(),
                    classes: Vec::new(),
                    origin: Origin::Simulation {
                        density: simulation.is_density(),
                    },
                    noise_sd: simulation.noise_sd(),
                    values: Box::new(move |rows| {
                        Ok(rows.chunks(d).map(|x| target.eval(x)).collect())
                    }),
                })
            }
        }
    }
}

/// The function of a model, which is called by a name.
pub(super) fn of_model(name: String, model: FittedModel) -> Function<'static, anyhow::Error> {
    let interval = |input: &Input| {
        let (low, width) = input.interval();
        let name = input.name().to_string();
        Interval { name, low, width }
    };
    let preprocessing = &model.preprocessing;
    Function {
        name: name.clone(),
        inputs: preprocessing.inputs().iter().map(interval).collect(),
        classes: preprocessing.class_names().to_vec(),
        origin: Origin::Model(model.likelihood),
        noise_sd: None,
        values: Box::new(move |rows| model.index(rows).with_context(|| name.clone())),
    }
}
