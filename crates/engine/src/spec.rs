//! What a fit is: everything that its result depends on, and nothing else.

use loopfit_data::Samples;
use loopfit_likelihood::Likelihood;
use loopfit_model::{Bounds, Network, Parameters};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One fit. The outcome is a pure function of these fields: the same bits on any
/// number of threads and at any instruction level.
#[derive(Clone, Debug)]
pub struct FitSpec {
    /// Architecture, tying and shape.
    pub network: Network,
    /// How the network's output explains the samples.
    pub likelihood: Likelihood,
    /// Parameter box and output clipping, on the model's scale.
    pub bounds: Bounds,
    /// Samples that gradients come from.
    pub train: Arc<Samples>,
    /// Samples that choose the checkpoint.
    pub valid: Arc<Samples>,
    /// Where the coefficients start.
    pub start: Start,
    /// One or more stages; each starts at the best checkpoint so far with a fresh optimiser.
    pub stages: Vec<Stage>,
    /// The source of the start (`start`), of the batch order (`batches`) and of random signs
    /// (`signs`).
    pub stream: Stream,
}

/// Where the coefficients start.
#[derive(Clone, Debug)]
pub enum Start {
    /// A random start; outgoing weights are drawn and then multiplied.
    Fresh {
        /// Factor on the outgoing weights, 0.05 / T in the paper's B and T studies.
        outgoing_multiplier: f64,
    },
    /// Given coefficients, of the same network.
    Given(Parameters),
}

/// A run of an optimiser with one learning-rate schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stage {
    /// What turns gradients into steps.
    pub optimiser: Optimiser,
    /// Initial learning rate.
    pub learning_rate: f64,
    /// Final learning rate as a fraction of the initial one; cosine in between.
    pub final_rate: f64,
    /// Weight decay and how it enters.
    pub weight_decay: WeightDecay,
    /// Samples in a batch.
    pub batch: usize,
    /// Number of updates.
    pub updates: usize,
    /// Updates between evaluations on the validation samples.
    pub validate_every: usize,
}

/// What turns gradients into steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// First order: each coefficient has its own scale.
    Adam(Adam),
    /// Second order: all coefficients share the model's Fisher information.
    Scoring(Scoring),
}

/// Adam, as in the paper (F.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Adam {
    /// Factor on the learning rate of the coefficients that decide how far an update is from the
    /// identity (of the FFN `W2` and `b2`), 1 / T in the paper's B and T studies.
    pub outgoing_rate: f64,
    /// Cap on the norm of the gradient.
    pub gradient_cap: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self {
            outgoing_rate: 1.0,
            gradient_cap: 5.0,
        }
    }
}

/// Stochastic Fisher scoring. Memory and time of a step grow with the square of the number of
/// coefficients, those of a refresh with its cube.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scoring {
    /// Added to the diagonal of the information, in units of the likelihood's own
    /// ([`Likelihood::information_scale`]).
    pub damping: f64,
    /// Cap on the norm of a step.
    pub step_cap: f64,
    /// Weight of the past at each refresh of the average information.
    pub memory: f64,
    /// Updates between refreshes; in the first twenty updates every one refreshes.
    pub refresh: usize,
    /// Unit in which damping and step cap count the coefficients that decide how far an update is
    /// from the identity: with less than 1 they move less.
    #[serde(skip_serializing_if = "is_one")]
    pub outgoing_rate: f64,
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

impl Default for Scoring {
    fn default() -> Self {
        Self {
            damping: 0.1,
            step_cap: 0.1,
            memory: 0.9,
            refresh: 10,
            outgoing_rate: 1.0,
        }
    }
}

/// Updates of a stage that refresh the information whatever the interval: while coefficients move fast, the average is
/// young and must not lag behind.
const YOUNG: usize = 20;

impl Scoring {
    /// Whether an update of a stage, counted from 0, refreshes the information.
    pub fn refreshes_at(&self, update: usize) -> bool {
        update < YOUNG || update.is_multiple_of(self.refresh)
    }
}

/// Most coefficients that [`Scoring`] takes: their information fills 128 MiB.
pub const MAX_SCORING_PARAMETERS: usize = 4096;

impl Default for Stage {
    /// The paper's simulation settings (F.4.3).
    fn default() -> Self {
        Self {
            optimiser: Optimiser::Adam(Adam::default()),
            learning_rate: 0.003,
            final_rate: 0.05,
            weight_decay: WeightDecay::Coupled(0.0),
            batch: 128,
            updates: 6000,
            validate_every: 200,
        }
    }
}

/// How weight decay enters a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightDecay {
    /// Added to the gradient (L2 penalty): the literal reading of the paper.
    Coupled(f64),
    /// Subtracted from the coefficients, times the learning rate.
    Decoupled(f64),
}

/// Why a specification cannot run.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// Samples and network disagree on d.
    #[error(
        "the {samples} samples have {found} inputs but the network takes {expected}; use a network with d = {found}"
    )]
    Inputs {
        /// `training` or `validation`.
        samples: &'static str,
        /// Inputs per sample.
        found: usize,
        /// The network's d.
        expected: usize,
    },
    /// Likelihood and network disagree on the number of outputs.
    #[error("the {likelihood} likelihood needs {expected} outputs but the network has {found}")]
    Outputs {
        /// Name of the likelihood.
        likelihood: &'static str,
        /// Outputs that it needs.
        expected: usize,
        /// Outputs of the network.
        found: usize,
    },
    /// A target that the likelihood cannot explain.
    #[error("{samples} samples: {why}")]
    Target {
        /// `training` or `validation`.
        samples: &'static str,
        /// Which target, and why.
        why: String,
    },
    /// A bound that bounds nothing.
    #[error(transparent)]
    Bounds(#[from] loopfit_model::bounds::BoundsError),
    /// No samples to learn or to select from.
    #[error("there are no {0} samples")]
    NoSamples(&'static str),
    /// A likelihood with targets, samples without.
    #[error("the {samples} samples have no targets but the {likelihood} likelihood needs them")]
    NoTargets {
        /// `training` or `validation`.
        samples: &'static str,
        /// Name of the likelihood.
        likelihood: &'static str,
    },
    /// Given coefficients of another network.
    #[error("the given starting coefficients belong to {given}, not to {expected}")]
    Start {
        /// Network of the coefficients.
        given: String,
        /// Network of the specification.
        expected: String,
    },
    /// A stage setting out of range.
    #[error("stage {stage}: {setting} must be {must}, not {value}")]
    Stage {
        /// Position, from 1.
        stage: usize,
        /// Name of the setting.
        setting: &'static str,
        /// What it must be.
        must: &'static str,
        /// What it is.
        value: f64,
    },
    /// A multiplier that no coefficient can be drawn with.
    #[error("the outgoing multiplier of a fresh start must be finite, not {0}")]
    Multiplier(f64),
    /// No stage at all.
    #[error("a fit needs at least one stage")]
    NoStage,
    /// More coefficients than a second-order method can hold.
    #[error(
        "Fisher scoring takes networks of at most {MAX_SCORING_PARAMETERS} numbers, not {0}; use Adam"
    )]
    ScoringSize(usize),
    /// No damped step could be computed.
    #[error("the Fisher information of these coefficients is not finite")]
    NoCurvature,
    /// A backend that cannot go on.
    #[error("the backend {backend} failed: {why}")]
    Backend {
        /// Its name.
        backend: String,
        /// What went wrong, and what to do.
        why: String,
    },
    /// The number of fits at once.
    #[error("{} ({why}): use fewer", no_threads(*threads))]
    Threads {
        /// How many were asked for; 0 is one for each core.
        threads: usize,
        /// What the operating system says.
        why: String,
    },
}

/// What could not be had: 0 threads are one for each core.
fn no_threads(threads: usize) -> String {
    match threads {
        0 => "one thread for each core cannot be started".to_string(),
        1 => "not even one thread can be started".to_string(),
        _ => format!("{threads} threads cannot be started"),
    }
}

impl FitSpec {
    /// Checks that the parts belong together; backends call it first.
    pub fn check(&self) -> Result<(), SpecError> {
        self.check_but_targets()?;
        self.check_targets()
    }

    /// Checks many: targets that one specification shares with the one before it are looked at once.
    pub fn check_all(specs: &[Self]) -> Result<(), SpecError> {
        for (i, spec) in specs.iter().enumerate() {
            let known = i.checked_sub(1).is_some_and(|before| {
                let before = &specs[before];
                Arc::ptr_eq(&before.train, &spec.train)
                    && Arc::ptr_eq(&before.valid, &spec.valid)
                    && before.likelihood == spec.likelihood
            });
            spec.check_but_targets()?;
            if !known {
                spec.check_targets()?;
            }
        }
        Ok(())
    }

    fn check_but_targets(&self) -> Result<(), SpecError> {
        if self.likelihood.outputs() != self.network.outputs() {
            return Err(SpecError::Outputs {
                likelihood: self.likelihood.name(),
                expected: self.likelihood.outputs(),
                found: self.network.outputs(),
            });
        }
        Bounds::new(self.bounds.parameter, self.bounds.output)?;
        self.check_samples("training", &self.train)?;
        self.check_samples("validation", &self.valid)?;
        match &self.start {
            Start::Fresh {
                outgoing_multiplier,
            } if !(*outgoing_multiplier as f32).is_finite() => {
                return Err(SpecError::Multiplier(*outgoing_multiplier));
            }
            Start::Given(p) if *p.network() != self.network => {
                return Err(SpecError::Start {
                    given: p.network().to_string(),
                    expected: self.network.to_string(),
                });
            }
            _ => {}
        }
        if self.stages.is_empty() {
            return Err(SpecError::NoStage);
        }
        let count = self.network.count();
        for (i, stage) in self.stages.iter().enumerate() {
            stage.check(i + 1)?;
            if matches!(stage.optimiser, Optimiser::Scoring(_)) && count > MAX_SCORING_PARAMETERS {
                return Err(SpecError::ScoringSize(count));
            }
        }
        Ok(())
    }

    fn check_samples(&self, name: &'static str, samples: &Samples) -> Result<(), SpecError> {
        if samples.n() == 0 {
            return Err(SpecError::NoSamples(name));
        }
        if samples.d() != self.network.d() {
            return Err(SpecError::Inputs {
                samples: name,
                found: samples.d(),
                expected: self.network.d(),
            });
        }
        if samples.y().is_empty() && !matches!(self.likelihood, Likelihood::Energy(_)) {
            return Err(SpecError::NoTargets {
                samples: name,
                likelihood: self.likelihood.name(),
            });
        }
        Ok(())
    }

    fn check_targets(&self) -> Result<(), SpecError> {
        if matches!(self.likelihood, Likelihood::Energy(_)) {
            return Ok(());
        }
        self.check_targets_of("training", &self.train)?;
        self.check_targets_of("validation", &self.valid)
    }

    fn check_targets_of(&self, name: &'static str, samples: &Samples) -> Result<(), SpecError> {
        let y: Vec<f64> = samples.y().iter().map(|y| f64::from(*y)).collect();
        let why = |e: loopfit_likelihood::Error| e.to_string();
        self.likelihood
            .check_targets(&y)
            .map_err(|e| SpecError::Target {
                samples: name,
                why: why(e),
            })
    }
}

impl Stage {
    /// The learning rate of a step, counted from zero: cosine decay from `learning_rate` to
    /// `final_rate` times that.
    pub fn rate_at(&self, step: usize) -> f64 {
        let progress = step as f64 / self.updates as f64;
        let cosine = 0.5 * (1.0 + libm::cos(std::f64::consts::PI * progress));
        self.learning_rate * (self.final_rate + (1.0 - self.final_rate) * cosine)
    }

    fn check(&self, stage: usize) -> Result<(), SpecError> {
        let decay = match self.weight_decay {
            WeightDecay::Coupled(w) | WeightDecay::Decoupled(w) => w,
        };
        let positive = |setting, value: f64| {
            let good = value.is_finite() && value > 0.0;
            (setting, value, good, "a positive number")
        };
        let counted = |setting, value: usize| (setting, value as f64, value > 0, "at least 1");
        let final_rate = self.final_rate;
        let mut settings = vec![
            positive("learning_rate", self.learning_rate),
            (
                "final_rate",
                final_rate,
                (0.0..=1.0).contains(&final_rate),
                "between 0 and 1",
            ),
            (
                "weight_decay",
                decay,
                decay.is_finite() && decay >= 0.0,
                "zero or positive",
            ),
            counted("batch", self.batch),
            counted("updates", self.updates),
            counted("validate_every", self.validate_every),
        ];
        match self.optimiser {
            Optimiser::Adam(adam) => settings.extend([
                positive("outgoing_rate", adam.outgoing_rate),
                positive("gradient_cap", adam.gradient_cap),
            ]),
            Optimiser::Scoring(scoring) => settings.extend([
                positive("damping", scoring.damping),
                positive("step_cap", scoring.step_cap),
                (
                    "memory",
                    scoring.memory,
                    (0.0..1.0).contains(&scoring.memory),
                    "at least 0 and below 1",
                ),
                counted("refresh", scoring.refresh),
                positive("outgoing_rate", scoring.outgoing_rate),
            ]),
        }
        for (setting, value, good, must) in settings {
            if !good {
                return Err(SpecError::Stage {
                    stage,
                    setting,
                    must,
                    value,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_cannot_be_had_say_what_to_do() {
        let error = |threads: usize| {
            let why = "no memory".to_string();
            SpecError::Threads { threads, why }.to_string()
        };
        let remedy = "(no memory): use fewer";
        assert_eq!(
            error(0),
            format!("one thread for each core cannot be started {remedy}")
        );
        assert_eq!(error(8), format!("8 threads cannot be started {remedy}"));
    }
}
