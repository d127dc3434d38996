//! Functions on boxes, as far as two of them can be compared.
//!
//! A [`Function`] is a fitted model's or a simulation's. It has inputs by name, each on an interval of its own; the unit cube that laws
//! are compared on stands for a [`Domain`] of such intervals.

use crate::{LikelihoodKind, LikelihoodModel};
use loopfit_likelihood::Likelihood;
use loopfit_numerics::named::Named;

/// What a coordinate of the unit cube stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The input.
    pub name: String,
    /// What zero stands for.
    pub low: f64,
    /// One stands for `low + width`.
    pub width: f64,
}

impl Interval {
    /// An input on the unit interval.
    pub fn unit(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            low: 0.0,
            width: 1.0,
        }
    }

    /// What one stands for.
    pub fn high(&self) -> f64 {
        self.low + self.width
    }
}

/// The box that the unit cube stands for: where inputs are uniform.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// One interval for each coordinate of the cube.
    pub inputs: Vec<Interval>,
}

/// Where a function comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// A simulation: a log density, or a mean.
    Simulation {
        /// Which of the two.
        density: bool,
    },
    /// A model that was fitted with this likelihood. Points of a density are of the unit cube.
    Model(Likelihood),
}

/// From points, row-major, to the values there.
pub type Values<'a, E> = dyn Fn(&[f64]) -> Result<Vec<f64>, E> + Send + Sync + 'a;

/// A function that can be evaluated at rows of inputs.
pub struct Function<'a, E> {
    /// As its user calls it.
    pub name: String,
    /// Its inputs, with the box that it is at home on.
    pub inputs: Vec<Interval>,
    /// The names of the classes; none where the function has one value at a point.
    pub classes: Vec<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// The standard deviation of the noise, where that is known.
    pub noise_sd: Option<f64>,
    /// The values at points, row-major, in the units of the inputs.
    pub values: Box<Values<'a, E>>,
}

/// Why functions cannot be compared under a likelihood.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FunctionError {
    /// A function without logits.
    #[error(
        "{0} has one value at a point and classes have a logit each: give two classification models"
    )]
    NoClasses(String),
    /// A likelihood that the paper does not have.
    #[error(
        "{name} was fitted with the {own} likelihood, which is not one of the paper's: give another model"
    )]
    NotOfThePaper {
        /// The function.
        name: String,
        /// Its likelihood.
        own: &'static str,
    },
    /// A model of another likelihood.
    #[error(
        "{name} was fitted with the {own} likelihood and is not a function of the {asked} one: compare it under its own"
    )]
    OtherLikelihood {
        /// The function.
        name: String,
        /// Its likelihood.
        own: &'static str,
        /// That of the comparison.
        asked: &'static str,
    },
    /// Different numbers of inputs.
    #[error(
        "{one} is a function of {inputs} inputs and {other} of {others}: give two with the same inputs"
    )]
    InputCounts {
        /// The first function.
        one: String,
        /// Its number of inputs.
        inputs: usize,
        /// The second function.
        other: String,
        /// Its number of inputs.
        others: usize,
    },
    /// Different classes.
    #[error(
        "{one} has the classes {classes} and {other} {others}: give two models of the same classes"
    )]
    Classes {
        /// The first function.
        one: String,
        /// Its classes.
        classes: String,
        /// The second function.
        other: String,
        /// Its classes.
        others: String,
    },
    /// Different inputs.
    #[error(
        "{one} has the inputs {inputs} and {other} {others}: give two functions of the same inputs"
    )]
    Inputs {
        /// The first function.
        one: String,
        /// Its inputs.
        inputs: String,
        /// The second function.
        other: String,
        /// Its inputs.
        others: String,
    },
    /// Densities on different boxes.
    #[error(
        "{one} and {other} are densities on different boxes: give two that were fitted to the same training rows, or to a simulation"
    )]
    Boxes {
        /// The first function.
        one: String,
        /// The second function.
        other: String,
    },
    /// Two simulations with different noise.
    #[error(
        "the noise of {one} has standard deviation {sd}, that of {other} {other_sd}: choose one"
    )]
    TwoNoises {
        /// The first function.
        one: String,
        /// Its noise.
        sd: f64,
        /// The second function.
        other: String,
        /// Its noise.
        other_sd: f64,
    },
    /// No noise is known.
    #[error("a model file does not know the noise of its data: give its standard deviation")]
    NoNoise,
    /// The Laplace model without a scale.
    #[error("the Laplace model has a noise scale: give it")]
    NoScale,
}

impl<E> Function<'_, E> {
    /// The values at points of the unit cube, row-major, that stand for points of a domain of the same inputs.
    pub fn on(&self, domain: &Domain, points: &[f64]) -> Result<Vec<f64>, E> {
        let place = |own: &Interval| domain.inputs.iter().position(|i| i.name == own.name);
        let places: Vec<usize> = self.inputs.iter().filter_map(place).collect();
        // The cube itself is what a density knows.
        let cube = matches!(self.origin, Origin::Model(Likelihood::Energy(_)));
        let rows = points.chunks(domain.inputs.len()).flat_map(|u| {
            places.iter().map(move |&k| {
                let Interval { low, width, .. } = domain.inputs[k];
                if cube { u[k] } else { low + width * u[k] }
            })
        });
        (self.values)(&rows.collect::<Vec<f64>>())
    }

    /// The box that the function is at home on.
    pub fn domain(&self) -> Domain {
        Domain {
            inputs: self.inputs.clone(),
        }
    }

    /// What a simulation's function was made for and what a likelihood takes it for, where these differ.
    pub fn taken_for(&self, kind: LikelihoodKind) -> Option<(&'static str, &'static str)> {
        use LikelihoodKind as K;
        let Origin::Simulation { density } = self.origin else {
            return None;
        };
        match (density, kind) {
            (true, K::Gaussian | K::Laplace) => Some(("log density", "mean")),
            (true, K::Bernoulli) => Some(("log density", "logit")),
            (false, K::Bernoulli) => Some(("mean", "logit")),
            (false, K::Energy) => Some(("mean", "log density")),
            _ => None,
        }
    }

    /// Whether a likelihood can take this function for its index.
    fn check(&self, kind: LikelihoodKind) -> Result<(), FunctionError> {
        use {Likelihood as L, LikelihoodKind as K};
        let name = || self.name.clone();
        let Origin::Model(likelihood) = self.origin else {
            return match kind {
                K::Multiclass => Err(FunctionError::NoClasses(name())),
                _ => Ok(()),
            };
        };
        let own = likelihood.name();
        let suits = match likelihood {
            L::Gaussian(_) | L::Laplace(_) => matches!(kind, K::Gaussian | K::Laplace),
            L::Bernoulli(_) => kind == K::Bernoulli,
            L::Multiclass(_) => kind == K::Multiclass,
            L::Energy(_) => kind == K::Energy,
            L::Poisson(_) => return Err(FunctionError::NotOfThePaper { name: name(), own }),
        };
        match suits {
            true => Ok(()),
            false => Err(FunctionError::OtherLikelihood {
                name: name(),
                own,
                asked: kind.name(),
            }),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.inputs
            .iter()
            .map(|input| input.name.as_str())
            .collect()
    }
}

/// Where two functions are compared under a likelihood, if they can be: on the box of a simulation if one of them is one,
/// otherwise on that of the first.
pub fn common_domain<E>(
    kind: LikelihoodKind,
    first: &Function<'_, E>,
    second: &Function<'_, E>,
) -> Result<Domain, FunctionError> {
    first.check(kind)?;
    second.check(kind)?;
    let (one, other) = (first.name.clone(), second.name.clone());
    if first.inputs.len() != second.inputs.len() {
        return Err(FunctionError::InputCounts {
            one,
            inputs: first.inputs.len(),
            other,
            others: second.inputs.len(),
        });
    }
    let named = !first.classes.is_empty() && !second.classes.is_empty();
    if named && first.classes != second.classes {
        return Err(FunctionError::Classes {
            one,
            classes: first.classes.join(", "),
            other,
            others: second.classes.join(", "),
        });
    }
    let sorted = |function: &Function<'_, E>| {
        let mut names: Vec<String> = function.names().into_iter().map(String::from).collect();
        names.sort();
        names
    };
    if sorted(first) != sorted(second) {
        return Err(FunctionError::Inputs {
            one,
            inputs: first.names().join(", "),
            other,
            others: second.names().join(", "),
        });
    }
    let simulated =
        |function: &&&Function<'_, E>| matches!(function.origin, Origin::Simulation { .. });
    let both = [first, second];
    let domain = both.iter().find(simulated).unwrap_or(&first).domain();
    let same = |function: &&Function<'_, E>| {
        function
            .inputs
            .iter()
            .all(|input| domain.inputs.contains(input))
    };
    if kind == LikelihoodKind::Energy && !both.iter().all(same) {
        return Err(FunctionError::Boxes { one, other });
    }
    Ok(domain)
}

/// The likelihood model under which two functions are compared: its noise is the one that is given, or that of the simulation
/// among them.
pub fn common_model<E>(
    kind: LikelihoodKind,
    first: &Function<'_, E>,
    second: &Function<'_, E>,
    sigma: Option<f64>,
    tau: Option<f64>,
) -> Result<LikelihoodModel, crate::Error> {
    match kind {
        LikelihoodKind::Gaussian => {
            let sigma = match (sigma, first.noise_sd, second.noise_sd) {
                (Some(sigma), ..) => sigma,
                (None, Some(sd), Some(other_sd)) if sd != other_sd => {
                    let (one, other) = (first.name.clone(), second.name.clone());
                    let noises = FunctionError::TwoNoises {
                        one,
                        sd,
                        other,
                        other_sd,
                    };
                    return Err(noises.into());
                }
                (None, Some(sigma), _) | (None, None, Some(sigma)) => sigma,
                (None, None, None) => return Err(FunctionError::NoNoise.into()),
            };
            LikelihoodModel::gaussian(sigma)
        }
        LikelihoodKind::Laplace => LikelihoodModel::laplace(tau.ok_or(FunctionError::NoScale)?),
        LikelihoodKind::Bernoulli => Ok(LikelihoodModel::Bernoulli),
        LikelihoodKind::Multiclass => LikelihoodModel::multiclass(first.classes.len()),
        LikelihoodKind::Energy => Ok(LikelihoodModel::Energy),
    }
}

impl Domain {
    /// Whether it is the unit cube in the inputs' own units.
    pub fn is_unit_cube(&self) -> bool {
        let mut inputs = self.inputs.iter();
        inputs.all(|input| (input.low, input.width) == (0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use loopfit_likelihood::{Bernoulli, Energy, Gaussian, Poisson};

    fn function(name: &str, inputs: &[&str], origin: Origin) -> Function<'static, Error> {
        Function {
            name: name.to_string(),
            inputs: inputs.iter().map(|name| Interval::unit(*name)).collect(),
            classes: Vec::new(),
            origin,
            noise_sd: None,
            values: Box::new(|rows| Ok(rows.to_vec())),
        }
    }

    const SIMULATION: Origin = Origin::Simulation { density: false };

    fn fitted() -> Origin {
        Origin::Model(Likelihood::Gaussian(Gaussian::squared_error()))
    }

    fn energy() -> Energy {
        Energy::training(1).unwrap()
    }

    #[test]
    fn points_of_the_cube_stand_for_points_of_the_box() {
        let domain = Domain {
            inputs: vec![
                Interval {
                    name: "a".into(),
                    low: 2.0,
                    width: 4.0,
                },
                Interval::unit("b"),
            ],
        };
        // Its inputs are in another order than the domain's.
        let swapped = function("f", &["b", "a"], fitted());
        assert_eq!(swapped.on(&domain, &[0.5, 0.25]), Ok(vec![0.25, 4.0]));
        let density = Origin::Model(Likelihood::Energy(energy()));
        let density = function("p", &["a", "b"], density);
        assert_eq!(density.on(&domain, &[0.5, 0.25]), Ok(vec![0.5, 0.25]));
        assert!(!domain.is_unit_cube() && density.domain().is_unit_cube());
    }

    #[test]
    fn the_box_of_a_simulation_comes_first() {
        let mut model = function("m", &["x1"], fitted());
        model.inputs[0].width = 3.0;
        let simulation = function("sim", &["x1"], SIMULATION);
        let kind = LikelihoodKind::Gaussian;
        assert_eq!(
            common_domain(kind, &model, &simulation),
            Ok(simulation.domain())
        );
        assert_eq!(common_domain(kind, &model, &model), Ok(model.domain()));
        let kind = LikelihoodKind::Energy;
        let density = || Origin::Model(Likelihood::Energy(energy()));
        let (one, mut other) = (
            function("p", &["x1"], density()),
            function("q", &["x1"], density()),
        );
        other.inputs[0].low = 1.0;
        let boxes = common_domain(kind, &one, &other).unwrap_err();
        assert!(matches!(boxes, FunctionError::Boxes { .. }), "{boxes}");
    }

    #[test]
    fn functions_that_do_not_belong_together_are_refused() {
        let one = function("one", &["a", "b"], fitted());
        let refused = |kind, other: &Function<'_, Error>| {
            common_domain(kind, &one, other).unwrap_err().to_string()
        };
        let gaussian = LikelihoodKind::Gaussian;
        let other = |inputs: &[&str], origin| function("other", inputs, origin);
        assert!(refused(gaussian, &other(&["a"], fitted())).contains("of 2 inputs and other of 1"));
        assert!(refused(gaussian, &other(&["a", "c"], fitted())).contains("the inputs a, b and"));
        let binary = Origin::Model(Likelihood::Bernoulli(Bernoulli));
        assert!(refused(gaussian, &other(&["a", "b"], binary)).contains("bernoulli likelihood"));
        let counts = Origin::Model(Likelihood::Poisson(Poisson));
        assert!(refused(gaussian, &other(&["a", "b"], counts)).contains("not one of the paper's"));
        let multiclass = LikelihoodKind::Multiclass;
        let simulated = function("sim", &["a"], SIMULATION);
        let error = common_domain(multiclass, &simulated, &one).unwrap_err();
        assert_eq!(error, FunctionError::NoClasses("sim".into()));
    }

    #[test]
    fn noise_is_given_or_known() {
        let model = function("m", &["x1"], fitted());
        let noisy = |sd| Function {
            noise_sd: Some(sd),
            ..function("sim", &["x1"], SIMULATION)
        };
        let kind = LikelihoodKind::Gaussian;
        let of = |first: &Function<'_, Error>, second: &Function<'_, Error>, sigma| {
            common_model(kind, first, second, sigma, None)
        };
        let known = LikelihoodModel::gaussian(0.2);
        assert_eq!(of(&model, &noisy(0.2), None), known);
        assert_eq!(of(&noisy(0.1), &noisy(0.3), Some(0.2)), known);
        let two = of(&noisy(0.1), &noisy(0.3), None).unwrap_err();
        assert!(two.to_string().contains("0.1, that of sim 0.3"), "{two}");
        assert_eq!(of(&model, &model, None), Err(FunctionError::NoNoise.into()));
        let laplace = common_model(LikelihoodKind::Laplace, &model, &model, None, None);
        assert_eq!(laplace, Err(FunctionError::NoScale.into()));
    }

    #[test]
    fn what_a_function_is_taken_for() {
        let mean = function("sim", &["x1"], SIMULATION);
        assert_eq!(mean.taken_for(LikelihoodKind::Gaussian), None);
        let energy = mean.taken_for(LikelihoodKind::Energy);
        assert_eq!(energy, Some(("mean", "log density")));
        assert_eq!(
            function("m", &["x1"], fitted()).taken_for(LikelihoodKind::Energy),
            None
        );
    }
}
