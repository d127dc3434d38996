//! Simulations: known functions, and samples of them at any size.
//!
//! To add one, write its file below `simulation/`, give it a variant, and fill in its
//! line of [`Simulation::ALL`], `Simulation::spec` and [`Simulation::target`].

mod bumps;
mod double_well;
mod four_modes;
mod friedman1;
pub mod packing;
mod recurrence;
pub mod series;

use loopfit_holder::Differentiable;
use loopfit_numerics::jet::{Jet, Scalar};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;

use crate::table::{Column, Table};
use packing::{PackingTarget, PackingTargetError};
use series::{Series, SeriesError};

/// A built-in source of samples: the paper's (F.4.1 and F.4.5), and ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Simulation {
    /// Nine compact smooth bumps with random signs on the unit square.
    Bumps,
    /// Twelve steps of a smooth scalar recurrence driven by two inputs.
    Recurrence,
    /// Friedman's first function, divided by 20.
    Friedman1,
    /// A density with four modes on the unit square.
    FourModes,
    /// Where a particle in a double well is after some time: a flow that a loop can follow.
    DoubleWell,
    /// A function of a packing of a Hölder class.
    Packing(PackingTarget),
    /// A sum of tents over all resolutions, with equal signs or with drawn ones.
    Series(Series),
}

/// Why a text names no simulation.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum SimulationError {
    /// A name that is not a simulation's.
    #[error(
        "there is no simulation `{name}`; the known ones are {}, packing:dim=d,smoothness=s,bound=H,delta=D and series:smoothness=s,signs=equal",
        Simulation::ALL.map(Simulation::name).join(", ")
    )]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// A packing with wrong parameters.
    #[error(transparent)]
    Packing(#[from] PackingTargetError),
    /// A series with wrong parameters.
    #[error(transparent)]
    Series(#[from] SeriesError),
}

/// What is observed of the target.
#[derive(Clone, Copy)]
enum Observed {
    /// `Y = f0(X) + N(0, noise_sd^2)` at uniform `X`.
    Response { noise_sd: f64 },
    /// `Y` one with probability `1 / (1 + e^-f0(X))` at uniform `X`, otherwise zero.
    Classes,
    /// `X` itself, with density proportional to `exp f0` and `f0 <= bound`.
    Draws { bound: f64 },
}

/// Everything that distinguishes one simulation from another.
struct Spec {
    name: &'static str,
    dim: usize,
    observed: Observed,
}

/// A function written once, for values and for derivatives.
trait Formula: Send + Sync {
    fn at<S: Scalar>(&self, x: &[S]) -> S;
}

/// A function with its derivatives.
trait Function: Send + Sync {
    fn value(&self, x: &[f64]) -> f64;
    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64;
}

impl<F: Formula> Function for F {
    fn value(&self, x: &[f64]) -> f64 {
        self.at(x)
    }

    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64 {
        let order = nu.iter().sum();
        self.at(&Jet::variables(x, order)).derivative(nu)
    }
}

/// The function behind a simulation: `f0`, or the log-density index of a density.
pub struct Target {
    d: usize,
    function: Box<dyn Function>,
}

impl Target {
    /// The value at a point of `[0,1]^d`.
    pub fn eval(&self, x: &[f64]) -> f64 {
        self.function.value(x)
    }
}

/// Derivatives by automatic differentiation of the formula; where it has kinks, those of the piece
/// that holds the point.
impl Differentiable for Target {
    fn d(&self) -> usize {
        self.d
    }

    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64 {
        self.function.derivative(nu, x)
    }
}

/// Observations on their original scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    /// Inputs in a row.
    pub d: usize,
    /// Inputs, row-major.
    pub x: Vec<f64>,
    /// Responses; empty for a density.
    pub y: Vec<f64>,
}

impl Observations {
    /// The same numbers as a table with columns `x1`, ..., `xd` and, if there are
    /// responses, `y`.
    pub fn to_table(&self, source: &str) -> Table {
        let mut columns: Vec<(String, Column)> = (0..self.d)
            .map(|k| {
                let values = self.x.iter().skip(k).step_by(self.d).copied().collect();
                (format!("x{}", k + 1), Column::Numeric(values))
            })
            .collect();
        if !self.y.is_empty() {
            columns.push(("y".to_string(), Column::Numeric(self.y.clone())));
        }
        Table::from_columns(source, columns)
    }
}

/// One seed's samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// What parameters are fitted on.
    pub train: Observations,
    /// What settings and checkpoints are selected on.
    pub valid: Observations,
    /// What is reported: responses without noise.
    pub test: Observations,
}

impl Simulation {
    /// Every simulation without parameters, the paper's first and in its order.
    pub const ALL: [Self; 5] = [
        Self::Bumps,
        Self::Recurrence,
        Self::Friedman1,
        Self::FourModes,
        Self::DoubleWell,
    ];

    fn spec(self) -> Spec {
        match self {
            Self::Bumps => Spec {
                name: "bumps",
                dim: 2,
                observed: Observed::Response { noise_sd: 0.02 },
            },
            Self::Recurrence => Spec {
                name: "recurrence",
                dim: 3,
                observed: Observed::Response { noise_sd: 0.02 },
            },
            Self::Friedman1 => Spec {
                name: "friedman1",
                dim: 5,
                observed: Observed::Response { noise_sd: 0.05 },
            },
            Self::FourModes => Spec {
                name: "four-modes",
                dim: 2,
                observed: Observed::Draws {
                    bound: four_modes::BOUND,
                },
            },
            Self::DoubleWell => Spec {
                name: "double-well",
                dim: 2,
                observed: Observed::Response { noise_sd: 0.3 },
            },
            Self::Packing(target) => Spec {
                name: "packing",
                dim: target.dim(),
                observed: target.observed(),
            },
            Self::Series(series) => Spec {
                name: "series",
                dim: 1,
                observed: Observed::Response {
                    noise_sd: series.noise_sd(),
                },
            },
        }
    }

    /// The name users write, without the parameters of a packing; with them it is what
    /// [`Simulation`] displays as and is read from.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Number of inputs.
    pub fn dim(self) -> usize {
        self.spec().dim
    }

    /// Standard deviation of the response noise; `None` for classes and densities.
    pub fn noise_sd(self) -> Option<f64> {
        match self.spec().observed {
            Observed::Response { noise_sd } => Some(noise_sd),
            Observed::Classes | Observed::Draws { .. } => None,
        }
    }

    /// Whether the inputs themselves are what is modelled.
    pub fn is_density(self) -> bool {
        matches!(self.spec().observed, Observed::Draws { .. })
    }

    /// Whether responses are one of two classes, of which the function is the logit.
    pub fn is_binary(self) -> bool {
        matches!(self.spec().observed, Observed::Classes)
    }

    /// The seed's function (only [`Simulation::Bumps`] and a packing whose member is not named
    /// have random coefficients).
    pub fn target(self, seed: u64) -> Target {
        let coefficients = self.root(seed).child("coefficients");
        let function: Box<dyn Function> = match self {
            Self::Bumps => Box::new(bumps::Bumps::new(coefficients)),
            Self::Recurrence => Box::new(recurrence::Recurrence),
            Self::Friedman1 => Box::new(friedman1::Friedman1),
            Self::FourModes => Box::new(four_modes::FourModes),
            Self::DoubleWell => Box::new(double_well::DoubleWell),
            Self::Packing(target) => Box::new(target.target(coefficients)),
            Self::Series(series) => Box::new(series),
        };
        Target {
            d: self.dim(),
            function,
        }
    }

    /// The seed's samples. A larger size begins with the smaller one's observations, and
    /// no size changes another role's sample.
    ///
    /// # Reference
    /// F.4.1: one random stream for each role, nested input prefixes, noise-free test
    /// responses. Test responses of a density do not exist: its test inputs are draws.
    pub fn draw(self, seed: u64, n_train: usize, n_valid: usize, n_test: usize) -> Draw {
        let target = self.target(seed);
        let root = self.root(seed);
        let observe = |n, inputs, noise| self.observe(&target, n, root.child(inputs), noise);
        Draw {
            train: observe(n_train, "train x", Some(root.child("train noise"))),
            valid: observe(n_valid, "valid x", Some(root.child("valid noise"))),
            test: observe(n_test, "test x", None),
        }
    }

    fn root(self, seed: u64) -> Stream {
        Stream::new(seed).child(self.name())
    }

    /// `n` observations, their responses with noise or without.
    fn observe(
        self,
        target: &Target,
        n: usize,
        inputs: Stream,
        noise: Option<Stream>,
    ) -> Observations {
        let Spec { dim, observed, .. } = self.spec();
        let (x, y) = match observed {
            Observed::Response { noise_sd } => {
                let x: Vec<f64> = (0..(n * dim) as u64).map(|i| inputs.uniform(i)).collect();
                let noise = |i| noise.map_or(0.0, |stream| noise_sd * stream.normal(i));
                let y = x
                    .chunks_exact(dim)
                    .zip(0..)
                    .map(|(point, i)| target.eval(point) + noise(i))
                    .collect();
                (x, y)
            }
            Observed::Classes => {
                let x: Vec<f64> = (0..(n * dim) as u64).map(|i| inputs.uniform(i)).collect();
                // Without noise the more probable class.
                let draw = |i| noise.map_or(0.5, |stream| stream.uniform(i));
                let y = x.chunks_exact(dim).zip(0..).map(|(point, i)| {
                    let one = 1.0 / (1.0 + libm::exp(-target.eval(point)));
                    f64::from(u8::from(draw(i) < one))
                });
                let y = y.collect();
                (x, y)
            }
            Observed::Draws { bound } => {
                let draw = |i| rejection(target, dim, bound, inputs.nth(i));
                ((0..n as u64).flat_map(draw).collect(), Vec::new())
            }
        };
        Observations { d: dim, x, y }
    }
}

/// One exact draw from the density proportional to `exp f` on `[0,1]^d`, given `f <= bound`.
///
/// # Formula
/// Propose `X` uniform; accept with probability `exp(f(X) - bound)`.
fn rejection(target: &Target, dim: usize, bound: f64, stream: Stream) -> Vec<f64> {
    let step = dim as u64 + 1;
    let mut attempt = 0;
    loop {
        let first = attempt * step;
        let x: Vec<f64> = (0..dim as u64).map(|k| stream.uniform(first + k)).collect();
        if stream.uniform(first + dim as u64) < libm::exp(target.eval(&x) - bound) {
            return x;
        }
        attempt += 1;
    }
}

impl std::str::FromStr for Simulation {
    type Err = SimulationError;

    fn from_str(text: &str) -> Result<Self, SimulationError> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("packing", parameters) => Ok(Self::Packing(parameters.parse()?)),
            ("series", parameters) => Ok(Self::Series(parameters.parse()?)),
            _ => Self::ALL
                .into_iter()
                .find(|s| s.name() == text)
                .ok_or_else(|| SimulationError::Unknown {
                    name: text.to_string(),
                }),
        }
    }
}

impl std::fmt::Display for Simulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Packing(target) => write!(f, "{}:{target}", self.name()),
            Self::Series(series) => write!(f, "{}:{series}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests;
