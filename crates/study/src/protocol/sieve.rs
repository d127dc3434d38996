//! How near fits come to the maximum of the likelihood over their classes, as a protocol asks it.

use super::ways::Candidates;
use crate::sieve::{BUILT, POLISH};
use loopfit_engine::{Adam, Optimiser, Scoring, Stage, WeightDecay};
use loopfit_search::protocol::PerIteration;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Classes of networks, and routes into each: fits whose training samples choose the checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sieve {
    /// Random starts of every route that has some.
    pub starts: usize,
    /// Updates of the climbs from the most likely fit of each class, which look for a higher maximum; none if zero.
    #[serde(default)]
    pub polish: usize,
    /// Shapes of Single.
    #[serde(default)]
    pub single: Candidates,
    /// Shapes of Loop, where a case has no witness, whose shape is then the only one.
    #[serde(default, rename = "loop")]
    pub looped: Candidates,
    /// Shapes of Untied.
    #[serde(default)]
    pub untied: Candidates,
    /// The routes.
    pub routes: Vec<Route>,
}

/// One way into a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Different for every route, in names of fits.
    pub name: String,
    /// Where it begins.
    #[serde(default)]
    pub from: Origin,
    /// First or second order.
    pub optimiser: Order,
    /// Initial learning rate.
    pub learning_rate: f64,
    /// Final learning rate as a fraction of the initial one.
    #[serde(default = "final_rate")]
    pub final_rate: f64,
    /// Samples in a batch.
    #[serde(default = "batch")]
    pub batch: usize,
    /// Updates, of all rounds together.
    pub updates: usize,
    /// Updates between evaluations of the likelihood.
    pub validate_every: usize,
    /// Factor on the learning rate of the outgoing weights, of scoring the unit that they count in.
    #[serde(default = "one")]
    pub outgoing_rate: PerIteration,
    /// Factor on the outgoing weights of a random start.
    #[serde(default = "inverse")]
    pub outgoing_multiplier: PerIteration,
    /// Of scoring: what is added to the diagonal of the information.
    #[serde(default = "damping")]
    pub damping: f64,
}

fn final_rate() -> f64 {
    0.01
}

fn batch() -> usize {
    128
}

fn damping() -> f64 {
    Scoring::default().damping
}

fn one() -> PerIteration {
    PerIteration {
        factor: 1.0,
        power: 0.0,
    }
}

fn inverse() -> PerIteration {
    PerIteration {
        factor: 1.0,
        power: 1.0,
    }
}

/// First or second order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Adam.
    Adam,
    /// Stochastic Fisher scoring.
    Scoring,
}

/// Where a route begins, and by which rounds it goes on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Random coefficients.
    #[default]
    Random,
    /// The witness of the case's function as it was built.
    Witness,
    /// Random coefficients at an eighth of the iterations, which then double.
    Growing,
    /// Random coefficients, first fitted to the witness's values.
    Distilled,
    /// Random coefficients, first fitted to the values of witnesses of ever finer resolutions.
    Curriculum,
}

impl Origin {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 5] = [
        Self::Random,
        Self::Witness,
        Self::Growing,
        Self::Distilled,
        Self::Curriculum,
    ];

    /// As protocols and stores write it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Witness => "witness",
            Self::Growing => "growing",
            Self::Distilled => "distilled",
            Self::Curriculum => "curriculum",
        }
    }

    /// Whether it needs a witness.
    pub(crate) fn is_of_witness(self) -> bool {
        !matches!(self, Self::Random | Self::Growing)
    }

    /// Whether it has random starts.
    pub(crate) fn is_random(self) -> bool {
        self != Self::Witness
    }
}

/// `Loop, random starts`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "Loop, random starts",
            Self::Witness => "Loop from the witness",
            Self::Growing => "Loop, growing T",
            Self::Distilled => "Loop, witness distilled",
            Self::Curriculum => "Loop, curriculum of witnesses",
        })
    }
}

impl Route {
    /// The stage of a network with so many iterations.
    pub(crate) fn stage(&self, t: usize, updates: usize) -> Stage {
        let outgoing_rate = self.outgoing_rate.at(t);
        Stage {
            optimiser: match self.optimiser {
                Order::Adam => Optimiser::Adam(Adam {
                    outgoing_rate,
                    ..Adam::default()
                }),
                Order::Scoring => Optimiser::Scoring(Scoring {
                    damping: self.damping,
                    outgoing_rate,
                    ..Scoring::default()
                }),
            },
            learning_rate: self.learning_rate,
            final_rate: self.final_rate,
            weight_decay: WeightDecay::Coupled(0.0),
            batch: self.batch,
            updates,
            validate_every: self.validate_every,
        }
    }
}

/// The network that the proof of Theorem 3.3 builds for a case's function: a group for every cell, the dyadic reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessOf {
    /// The smoothness `s`, exactly: `"1"`, `"1/2"`.
    pub smoothness: String,
    /// The bound `H`, exactly.
    pub bound: String,
    /// The resolution `m`: the grid has `2^m` cells along each axis.
    pub resolution: usize,
}

impl Sieve {
    /// What is wrong with the entries, if anything, in one sentence; the cap on updates is the caller's.
    pub(super) fn wrong(&self, most_updates: usize) -> Option<String> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        if self.starts == 0 || self.routes.is_empty() {
            return Some("sieve needs starts and at least one of [[sieve.routes]]".to_string());
        }
        if self.polish > most_updates {
            return Some(format!("sieve.polish must be at most {most_updates}"));
        }
        for (i, route) in self.routes.iter().enumerate() {
            let of = |what: &str| Some(format!("route {} of the sieve: {what}", i + 1));
            if let Err(why) = super::check_name(&route.name) {
                return of(why);
            }
            if [POLISH, BUILT].contains(&route.name.as_str()) {
                return of("`polish` and `built` are not names of routes");
            }
            if self.routes[..i]
                .iter()
                .any(|other| other.name == route.name)
            {
                return of("every route needs its own name");
            }
            if !(positive(route.learning_rate) && positive(route.damping)) {
                return of("learning_rate and damping must be positive numbers");
            }
            if !(0.0..=1.0).contains(&route.final_rate) {
                return of("final_rate must be between 0 and 1");
            }
            if route.batch == 0 || route.validate_every == 0 {
                return of("batch and validate_every must be at least 1");
            }
            if !(ROUNDS..=most_updates).contains(&route.updates) {
                return of("updates must be at least 4 and at most 1000000000");
            }
            for per in [route.outgoing_rate, route.outgoing_multiplier] {
                if !(positive(per.factor) && per.power.is_finite()) {
                    return of(
                        "outgoing_rate and outgoing_multiplier need a positive factor and a finite power",
                    );
                }
            }
        }
        None
    }
}

/// Rounds of a route that grows.
pub(crate) const ROUNDS: usize = 4;
