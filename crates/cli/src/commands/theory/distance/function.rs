//! A function on the unit cube as the command line names it.

use super::LikelihoodName;
use crate::data::seeded_simulation;
use crate::exit::usage;
use anyhow::{Context, Result};
use loopfit_data::Simulation;
use loopfit_data::Task;
use loopfit_data::preprocess::Input;
use loopfit_data::simulation::Target;
use loopfit_engine::FittedModel;
use loopfit_likelihood::Likelihood;
use loopfit_numerics::libm::sqrt;
use std::path::PathBuf;
use std::str::FromStr;

/// A model file, or a simulation with or without a seed.
#[derive(Clone, Debug)]
pub(in crate::commands::theory) enum FunctionName {
    File(PathBuf),
    Simulation(Simulation, Option<u64>),
}

impl FunctionName {
    /// As users write it.
    pub(in crate::commands::theory) fn text(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Simulation(simulation, None) => format!("sim:{simulation}"),
            Self::Simulation(simulation, Some(seed)) => format!("sim:{simulation}@{seed}"),
        }
    }
}

impl FromStr for FunctionName {
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

/// A function that can be evaluated.
pub(in crate::commands::theory) struct Function {
    name: String,
    kind: Kind,
}

enum Kind {
    Model(Box<FittedModel>),
    Simulation(Simulation, Target),
}

impl Function {
    /// `seed` is for a simulation without one.
    pub(in crate::commands::theory) fn load(name: &FunctionName, seed: u64) -> Result<Self> {
        let kind = match name {
            FunctionName::File(path) => Kind::Model(Box::new(FittedModel::load(path)?)),
            FunctionName::Simulation(simulation, own) => {
                Kind::Simulation(*simulation, simulation.target(own.unwrap_or(seed)))
            }
        };
        Ok(Self {
            name: name.text(),
            kind,
        })
    }

    /// As users write it.
    pub(in crate::commands::theory) fn name(&self) -> &str {
        &self.name
    }

    /// Number of coordinates.
    pub(in crate::commands::theory) fn d(&self) -> usize {
        match &self.kind {
            Kind::Model(model) => model.preprocessing.inputs().len(),
            Kind::Simulation(simulation, _) => simulation.dim(),
        }
    }

    /// Standard deviation of the noise, where that is known.
    pub(in crate::commands::theory) fn noise_sd(&self) -> Option<f64> {
        match &self.kind {
            Kind::Model(_) => None,
            Kind::Simulation(simulation, _) => simulation.noise_sd(),
        }
    }

    /// Names of the classes; none where the function has one value.
    pub(in crate::commands::theory) fn classes(&self) -> &[String] {
        match &self.kind {
            Kind::Model(model) => model.preprocessing.class_names(),
            Kind::Simulation(..) => &[],
        }
    }

    /// The names of the inputs.
    fn inputs(&self) -> Vec<String> {
        match &self.kind {
            Kind::Model(model) => {
                let names = model.preprocessing.inputs().iter().map(Input::name);
                names.map(str::to_string).collect()
            }
            Kind::Simulation(simulation, _) => {
                (1..=simulation.dim()).map(|k| format!("x{k}")).collect()
            }
        }
    }

    /// Values at points of the unit cube, row-major, whose coordinates stand for inputs of the domain.
    pub(in crate::commands::theory) fn index(
        &self,
        points: &[f64],
        domain: &Domain,
    ) -> Result<Vec<f64>> {
        let own = self.inputs();
        let place = |name: &String| domain.inputs.iter().position(|input| input.name == *name);
        let places: Vec<usize> = own.iter().filter_map(place).collect();
        // The cube itself is what a density knows.
        let density =
            matches!(&self.kind, Kind::Model(model) if model.preprocessing.task() == Task::Density);
        let rows = points.chunks(domain.inputs.len()).flat_map(|u| {
            places.iter().map(move |&k| {
                let Interval { low, width, .. } = domain.inputs[k];
                if density { u[k] } else { low + width * u[k] }
            })
        });
        let rows: Vec<f64> = rows.collect();
        match &self.kind {
            Kind::Model(model) => model.index(&rows).with_context(|| self.name.clone()),
            Kind::Simulation(simulation, target) => Ok(rows
                .chunks(simulation.dim())
                .map(|x| target.eval(x))
                .collect()),
        }
    }

    /// What a simulation's function is taken for, where that is not what it was made for.
    pub(super) fn note(&self, likelihood: LikelihoodName) -> Option<String> {
        let Kind::Simulation(simulation, _) = &self.kind else {
            return None;
        };
        let (made_for, taken_for) = match (simulation.is_density(), likelihood) {
            (true, LikelihoodName::Gaussian | LikelihoodName::Laplace) => ("log density", "mean"),
            (true, LikelihoodName::Bernoulli) => ("log density", "logit"),
            (false, LikelihoodName::Bernoulli) => ("mean", "logit"),
            (false, LikelihoodName::Energy) => ("mean", "log density"),
            _ => return None,
        };
        Some(format!(
            "the function of {} is a {made_for} in its simulation and a {taken_for} here",
            self.name
        ))
    }

    /// Why the likelihood cannot take this function for its index, if it cannot.
    fn unsuitable(&self, likelihood: LikelihoodName) -> Option<String> {
        let Kind::Model(model) = &self.kind else {
            let classes = likelihood == LikelihoodName::Multiclass;
            return classes.then(|| {
                format!(
                    "{} has one value at a point and classes have a logit each: give two classification models",
                    self.name
                )
            });
        };
        use Likelihood as L;
        use LikelihoodName as N;
        let own = model.likelihood.name();
        let suits = match model.likelihood {
            L::Gaussian(_) | L::Laplace(_) => matches!(likelihood, N::Gaussian | N::Laplace),
            L::Bernoulli(_) => likelihood == N::Bernoulli,
            L::Multiclass(_) => likelihood == N::Multiclass,
            L::Energy(_) => likelihood == N::Energy,
            L::Poisson(_) => {
                return Some(format!(
                    "{} was fitted with the {own} likelihood, which is not one of the paper's: give another model",
                    self.name
                ));
            }
        };
        (!suits).then(|| {
            format!(
                "{} was fitted with the {own} likelihood and is not a function of the {} one: use --likelihood {own}",
                self.name,
                likelihood.name()
            )
        })
    }

    /// The interval of each input that the unit cube stands for: of a density the one that it was fitted on; of inputs
    /// that were standardised, the one on which a uniform law has the mean and the standard deviation of the training
    /// rows; otherwise the unit interval.
    pub(in crate::commands::theory) fn intervals(&self) -> Vec<Interval> {
        let unit = |name: String| Interval {
            name,
            low: 0.0,
            width: 1.0,
        };
        let Kind::Model(model) = &self.kind else {
            return self.inputs().into_iter().map(unit).collect();
        };
        let of = |input: &Input| match input {
            Input::Unit {
                name, low, width, ..
            } => Interval {
                name: name.clone(),
                low: *low,
                width: *width,
            },
            Input::Numeric { name, mean, sd, .. } if (*mean, *sd) != (0.0, 1.0) => Interval {
                name: name.clone(),
                low: mean - sd * sqrt(3.0),
                width: sd * sqrt(12.0),
            },
            other => unit(other.name().to_string()),
        };
        model.preprocessing.inputs().iter().map(of).collect()
    }
}

/// Where inputs are uniform.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::commands::theory) struct Domain {
    /// One for each coordinate of the unit cube.
    pub(in crate::commands::theory) inputs: Vec<Interval>,
}

/// What a coordinate of the unit cube stands for.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::commands::theory) struct Interval {
    pub(in crate::commands::theory) name: String,
    pub(in crate::commands::theory) low: f64,
    pub(in crate::commands::theory) width: f64,
}

impl Domain {
    /// Whether it is the unit cube in the inputs' own units.
    pub(in crate::commands::theory) fn is_unit_cube(&self) -> bool {
        self.inputs
            .iter()
            .all(|input| (input.low, input.width) == (0.0, 1.0))
    }
}

/// Where two functions are compared under a likelihood, if they can be: on the cube of a simulation if one of them is
/// one, otherwise on the box of the first one's training rows.
pub(super) fn domain(
    likelihood: LikelihoodName,
    first: &Function,
    second: &Function,
) -> Result<Domain> {
    for function in [first, second] {
        if let Some(why) = function.unsuitable(likelihood) {
            return Err(usage(why));
        }
    }
    let (one, other) = (first.name(), second.name());
    if first.d() != second.d() {
        return Err(usage(format!(
            "{one} is a function of {} inputs and {other} of {}: give two with the same inputs",
            first.d(),
            second.d()
        )));
    }
    let named = !first.classes().is_empty() && !second.classes().is_empty();
    if named && first.classes() != second.classes() {
        return Err(usage(format!(
            "{one} has the classes {} and {other} {}: give two models of the same classes",
            first.classes().join(", "),
            second.classes().join(", ")
        )));
    }
    let sorted = |function: &Function| {
        let mut names = function.inputs();
        names.sort();
        names
    };
    if sorted(first) != sorted(second) {
        return Err(usage(format!(
            "{one} has the inputs {} and {other} {}: give two functions of the same inputs",
            first.inputs().join(", "),
            second.inputs().join(", ")
        )));
    }
    let simulated = [first, second]
        .into_iter()
        .find(|function| matches!(function.kind, Kind::Simulation(..)));
    let inputs = simulated.unwrap_or(first).intervals();
    let place = |interval: &Interval| inputs.contains(interval);
    if likelihood == LikelihoodName::Energy
        && ![first, second]
            .iter()
            .all(|f| f.intervals().iter().all(place))
    {
        return Err(usage(format!(
            "{one} and {other} are densities on different boxes: give two that were fitted to the same training rows, or to a simulation"
        )));
    }
    Ok(Domain { inputs })
}
