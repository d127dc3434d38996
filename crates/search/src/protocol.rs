//! Every choice of a search, as data: defaults for `fit` and `compare`, or a TOML file.

use crate::SearchError;
use crate::replication::Problem;
use loopfit_engine::{Adam, MAX_SCORING_PARAMETERS, Optimiser, Scoring, Stage, Start, WeightDecay};
use loopfit_model::file::read_text;
use loopfit_model::{Architecture, Budget, Method, Network, Tying};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a search tries and how. The default is the one that `docs/optimisation.md` measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Protocol {
    /// Rounds of successive halving; by default they follow from the number of updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rungs: Option<Vec<RungShare>>,
    /// Which shapes are tried.
    pub shapes: Shapes,
    /// How a fresh start is drawn.
    pub start: FreshStart,
    /// Weight decay.
    pub decay: Decay,
    /// Batches and validation.
    pub batches: BatchRule,
    /// Second-order settings.
    pub scoring: ScoringRanges,
    /// First-order settings, for networks that are too large for the second order.
    pub adam: AdamRanges,
    /// After the selection, go on with training and validation samples together.
    pub refit: bool,
}

/// Most fits of a round and most shapes of a method.
const MOST: usize = 100_000;

/// One round: `fits` fits share a part of all updates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RungShare {
    /// Number of fits.
    pub fits: usize,
    /// Part of the search's updates that they share.
    pub share: f64,
    /// A loop of T iterations runs with `T / shorten` of them; the last round has 1.
    #[serde(default = "one")]
    pub shorten: usize,
}

fn one() -> usize {
    1
}

/// Which shapes are tried: a thinned list of all admissible ones, or those given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Shapes {
    /// Length of the thinned list of each method.
    pub count: usize,
    /// `[q, r]` of Single.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub single: Vec<[usize; 2]>,
    /// `[q, r, T]` of Loop.
    #[serde(rename = "loop", skip_serializing_if = "Vec::is_empty")]
    pub looped: Vec<[usize; 3]>,
    /// `[q, r, T]` of Untied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untied: Vec<[usize; 3]>,
}

impl Default for Shapes {
    fn default() -> Self {
        Self {
            count: 8,
            single: Vec::new(),
            looped: Vec::new(),
            untied: Vec::new(),
        }
    }
}

impl Shapes {
    /// Adds a shape that the method must have.
    pub fn fix(&mut self, q: usize, r: usize, tying: Tying) {
        match tying {
            Tying::Single => self.single.push([q, r]),
            Tying::Loop { t } => self.looped.push([q, r, t]),
            Tying::Untied { t } => self.untied.push([q, r, t]),
        }
    }

    /// Whether a method's shapes are given.
    pub fn are_given(&self, method: Method) -> bool {
        match method {
            Method::Single => !self.single.is_empty(),
            Method::Loop => !self.looped.is_empty(),
            Method::Untied => !self.untied.is_empty(),
        }
    }

    /// The networks of a method under a cap.
    pub fn networks(&self, budget: &Budget, method: Method) -> Result<Vec<Network>, SearchError> {
        let given: Vec<(usize, usize, Tying)> = match method {
            Method::Single => {
                let shapes = self.single.iter();
                shapes.map(|[q, r]| (*q, *r, Tying::Single)).collect()
            }
            Method::Loop => {
                let shapes = self.looped.iter();
                shapes
                    .map(|[q, r, t]| (*q, *r, Tying::Loop { t: *t }))
                    .collect()
            }
            Method::Untied => {
                let shapes = self.untied.iter();
                shapes
                    .map(|[q, r, t]| (*q, *r, Tying::Untied { t: *t }))
                    .collect()
            }
        };
        if given.is_empty() {
            return crate::shapes::shortlist(budget, method, self.count);
        }
        let networks = given
            .into_iter()
            .map(|(q, r, tying)| budget.network(q, r, tying));
        Ok(networks.collect::<Result<_, _>>()?)
    }
}

/// `factor * T^-power`: how a setting depends on the iteration count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerIteration {
    /// The value at T = 1.
    pub factor: f64,
    /// How fast it falls.
    pub power: f64,
}

impl PerIteration {
    /// The value at an iteration count.
    pub fn at(self, t: usize) -> f64 {
        self.factor * libm::pow(t as f64, -self.power)
    }
}

/// How a fresh start is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FreshStart {
    /// Factor on the outgoing weights.
    pub outgoing_multiplier: PerIteration,
}

impl Default for FreshStart {
    fn default() -> Self {
        Self {
            outgoing_multiplier: PerIteration {
                factor: 1.0,
                power: 1.0,
            },
        }
    }
}

/// Two ends of a range from which a setting is drawn, uniformly on the log scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct LogRange {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl LogRange {
    /// From `low` to `high`.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// The value at a fraction of the way.
    pub fn at(self, u: f64) -> f64 {
        self.low * libm::pow(self.high / self.low, u)
    }

    fn is_good(self) -> bool {
        // Beyond these no setting makes sense, and ratios overflow.
        let sane = 1e-30..=1e30;
        sane.contains(&self.low) && sane.contains(&self.high) && self.low <= self.high
    }
}

impl From<[f64; 2]> for LogRange {
    fn from([low, high]: [f64; 2]) -> Self {
        Self { low, high }
    }
}

impl From<LogRange> for [f64; 2] {
    fn from(range: LogRange) -> Self {
        [range.low, range.high]
    }
}

/// Weight decay: the logarithm of a Gaussian prior, whose variance is one over a strength. Against
/// the average negative log-likelihood of n samples it counts `strength / n` times the noise's
/// variance in units of the likelihood's. The first round, which finds the noise, has no decay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Decay {
    /// Probability that a start has none.
    pub none: f64,
    /// Strength of the others.
    pub strength: LogRange,
    /// Subtracted from the coefficients instead of added to the gradient.
    pub decoupled: bool,
}

impl Default for Decay {
    fn default() -> Self {
        Self {
            none: 0.0,
            strength: LogRange::new(3.0, 60.0),
            decoupled: false,
        }
    }
}

/// Batches and validation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BatchRule {
    /// Samples in a batch.
    pub size: usize,
    /// Updates between evaluations on the validation samples; by default a tenth of a round,
    /// from 50 to 200, and more where the validation set is so large that it would cost too much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate_every: Option<usize>,
}

impl Default for BatchRule {
    fn default() -> Self {
        Self {
            size: 128,
            validate_every: None,
        }
    }
}

impl BatchRule {
    fn validate_every(self, updates: usize, validation_samples: usize) -> usize {
        // Validation costs a third of an update per sample: keep it below a tenth in all.
        let usual = (updates / 10).clamp(50, 200).max(validation_samples / 40);
        self.validate_every.unwrap_or(usual)
    }
}

/// Settings of stochastic Fisher scoring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScoringRanges {
    /// FFNs of at most so many numbers, and Transformers of twice as many, are trained with it;
    /// 0 turns it off.
    pub up_to: usize,
    /// Initial learning rate.
    pub learning_rate: LogRange,
    /// Final learning rate as a fraction of the initial one.
    pub final_rate: f64,
    /// Damping, in units of the likelihood's information.
    pub damping: LogRange,
    /// Cap on the norm of a step.
    pub step_cap: f64,
    /// Weight of the past at each refresh of the information.
    pub memory: f64,
    /// Updates between refreshes.
    pub refresh: usize,
}

impl Default for ScoringRanges {
    fn default() -> Self {
        let scoring = Scoring::default();
        Self {
            up_to: 256,
            learning_rate: LogRange::new(0.07, 0.15),
            final_rate: 0.001,
            damping: LogRange::new(0.03, 0.15),
            step_cap: scoring.step_cap,
            memory: scoring.memory,
            refresh: scoring.refresh,
        }
    }
}

impl ScoringRanges {
    /// Whether a network is trained with it. First-order steps train a Transformer so much worse
    /// that the second order pays for one of twice the size.
    fn takes(&self, network: &Network) -> bool {
        let up_to = match network.architecture() {
            Architecture::Ffn => self.up_to,
            Architecture::Transformer { .. } => {
                self.up_to.saturating_mul(2).min(MAX_SCORING_PARAMETERS)
            }
        };
        network.count() <= up_to
    }
}

/// Settings of Adam.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdamRanges {
    /// Initial learning rate: several times the paper's, and several times better.
    pub learning_rate: LogRange,
    /// Final learning rate as a fraction of the initial one.
    pub final_rate: f64,
    /// Factor on the learning rate of the coefficients that decide how far a loop's update is from
    /// the identity: one gradient sums over T uses. Of a Transformer it is also their unit in
    /// scoring.
    pub outgoing_rate: PerIteration,
    /// Cap on the norm of the gradient.
    pub gradient_cap: f64,
}

impl Default for AdamRanges {
    fn default() -> Self {
        Self {
            learning_rate: LogRange::new(0.004, 0.015),
            final_rate: 0.05,
            outgoing_rate: PerIteration {
                factor: 1.0,
                power: 0.5,
            },
            gradient_cap: Adam::default().gradient_cap,
        }
    }
}

/// A parser's message with the line it is about.
pub fn one_sentence(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    match error.span() {
        Some(span) => {
            let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
            format!("line {line}: {message}")
        }
        None => message,
    }
}

/// The numbers that a start draws from the protocol's ranges, as fractions of the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Draw {
    pub(crate) learning_rate: f64,
    pub(crate) damping: f64,
    /// None: no weight decay.
    pub(crate) decay: Option<f64>,
}

impl Protocol {
    /// What is searched where no protocol is given: the default, but for densities half of the starts have no weight decay. By the mean over the
    /// three methods of the error relative to the method's best that is better; studies keep what they were frozen with.
    pub fn of(density: bool) -> Self {
        let mut protocol = Self::default();
        if density {
            protocol.decay.none = 0.5;
        }
        protocol
    }

    /// Reads a protocol file.
    pub fn read(path: &Path) -> Result<Self, SearchError> {
        let wrong = |why: String| SearchError::ProtocolFile {
            path: path.display().to_string(),
            why,
        };
        let text = read_text(path).map_err(|e| wrong(e.to_string()))?;
        let protocol: Self = toml::from_str(&text).map_err(|e| wrong(one_sentence(&text, &e)))?;
        protocol.check()?;
        Ok(protocol)
    }

    /// Checks what no fit would: ranges, shares and counts.
    pub fn check(&self) -> Result<(), SearchError> {
        let ranges = [
            ("decay.strength", self.decay.strength),
            ("scoring.learning_rate", self.scoring.learning_rate),
            ("scoring.damping", self.scoring.damping),
            ("adam.learning_rate", self.adam.learning_rate),
        ];
        for (name, range) in ranges {
            if !range.is_good() {
                return Err(SearchError::Protocol {
                    name,
                    must: "two positive numbers, the smaller first",
                });
            }
        }
        if !(0.0..=1.0).contains(&self.decay.none) {
            return Err(SearchError::Protocol {
                name: "decay.none",
                must: "a probability",
            });
        }
        if !(1..=MOST).contains(&self.shapes.count) {
            return Err(SearchError::Protocol {
                name: "shapes.count",
                must: "at least 1 and at most 100000",
            });
        }
        // The rest is what a fit of any size would refuse, said once and by its name here.
        let fractions = [
            ("scoring.final_rate", self.scoring.final_rate),
            ("scoring.memory", self.scoring.memory),
            ("adam.final_rate", self.adam.final_rate),
        ];
        for (name, value) in fractions {
            if !(0.0..=1.0).contains(&value) {
                return Err(SearchError::Protocol {
                    name,
                    must: "between 0 and 1",
                });
            }
        }
        let positive = [
            ("scoring.step_cap", self.scoring.step_cap),
            ("scoring.refresh", self.scoring.refresh as f64),
            ("adam.gradient_cap", self.adam.gradient_cap),
            ("batches.size", self.batches.size as f64),
            (
                "batches.validate_every",
                self.batches.validate_every.unwrap_or(1) as f64,
            ),
            ("adam.outgoing_rate.factor", self.adam.outgoing_rate.factor),
        ];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(SearchError::Protocol {
                    name,
                    must: "a positive number",
                });
            }
        }
        let Some(rungs) = &self.rungs else {
            return Ok(());
        };
        let shares: f64 = rungs.iter().map(|r| r.share).sum();
        let good = rungs
            .iter()
            .all(|r| (1..=MOST).contains(&r.fits) && r.share > 0.0 && r.shorten > 0);
        let falling = rungs.windows(2).all(|w| w[0].fits >= w[1].fits);
        let whole = rungs.last().is_some_and(|r| r.shorten == 1);
        if !good || !falling || !whole || (shares - 1.0).abs() > 1e-6 {
            return Err(SearchError::Protocol {
                name: "rungs",
                must: "one or more, with 1 to 100000 fits (never more than in the round before), \
                       shares that add up to 1, and shorten = 1 in the last",
            });
        }
        Ok(())
    }

    /// How the fresh start of a network is drawn.
    pub(crate) fn fresh(&self, network: &Network) -> Start {
        let t = network.tying().iterations();
        Start::Fresh {
            outgoing_multiplier: self.start.outgoing_multiplier.at(t),
        }
    }

    /// What a start draws; `stratum` is a uniform number that covers the learning rates evenly
    /// over all starts.
    pub(crate) fn draw(&self, stratum: f64, stream: Stream) -> Draw {
        let decay = stream.child("decay");
        Draw {
            learning_rate: stratum,
            damping: stream.child("damping").uniform(0),
            decay: (decay.uniform(0) >= self.decay.none).then(|| decay.uniform(1)),
        }
    }

    /// The stage of a round that begins with an average negative log-likelihood of `loss` on the
    /// validation samples, if that is known.
    pub(crate) fn stage(
        &self,
        network: &Network,
        problem: &Problem,
        draw: Draw,
        updates: usize,
        loss: Option<f64>,
    ) -> Stage {
        // A start that failed has no finite loss, and no noise to speak of.
        let noise = loss
            .filter(|loss| loss.is_finite())
            .map_or(0.0, |loss| problem.likelihood.noise_factor(loss));
        let strength = draw.decay.map_or(0.0, |u| self.decay.strength.at(u));
        let decay = noise * strength / problem.train.n() as f64;
        let weight_decay = if self.decay.decoupled {
            WeightDecay::Decoupled(decay)
        } else {
            WeightDecay::Coupled(decay)
        };
        let outgoing_rate = match network.tying() {
            Tying::Loop { t } => self.adam.outgoing_rate.at(t),
            _ => 1.0,
        };
        let (optimiser, learning_rate, final_rate) = if self.scoring.takes(network) {
            let s = &self.scoring;
            let scoring = Scoring {
                damping: s.damping.at(draw.damping),
                step_cap: s.step_cap,
                memory: s.memory,
                refresh: s.refresh,
                outgoing_rate: match network.architecture() {
                    // Its loops train well in plain units.
                    Architecture::Ffn => 1.0,
                    Architecture::Transformer { .. } => outgoing_rate,
                },
            };
            let rate = s.learning_rate.at(draw.learning_rate);
            (Optimiser::Scoring(scoring), rate, s.final_rate)
        } else {
            let a = &self.adam;
            let adam = Adam {
                outgoing_rate,
                gradient_cap: a.gradient_cap,
            };
            let rate = a.learning_rate.at(draw.learning_rate);
            (Optimiser::Adam(adam), rate, a.final_rate)
        };
        Stage {
            optimiser,
            learning_rate,
            final_rate,
            weight_decay,
            batch: self.batches.size,
            updates,
            validate_every: self.batches.validate_every(updates, problem.valid.n()),
        }
    }
}

#[cfg(test)]
mod tests;
