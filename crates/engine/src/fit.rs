//! One fit: start, stages of an optimiser, validation, best checkpoint.

use crate::adam::Adam;
use crate::batches::{Batches, Table};
use crate::gradient::Gradient;
use crate::loss::Loss;
use crate::program::Program;
use crate::run::Control;
use crate::scoring::ScoringState;
use crate::spec::{FitSpec, Optimiser, Stage, Start};
use loopfit_model::{Parameters, init};
use loopfit_numerics::lanes::{Lane, Level};
use serde::{Deserialize, Serialize};

/// Updates between looks at whether to stop.
const LOOK_UP: usize = 50;

/// What a fit gives back.
#[derive(Clone, Debug)]
pub struct FitOutcome {
    /// The coefficients of the best checkpoint.
    pub parameters: Parameters,
    /// Its average negative log-likelihood on the validation samples; infinite if no
    /// checkpoint had a finite one.
    pub validation: f64,
    /// Updates made before that checkpoint, over all stages; zero is the start.
    pub best_update: usize,
    /// Updates made in all.
    pub updates: usize,
    /// Why the fit ended.
    pub stop: Stop,
    /// (updates made, validation loss) at every evaluation.
    pub curve: Vec<(usize, f64)>,
    /// Processor time of the thread that ran the fit, zero in WebAssembly: the one field that no
    /// specification determines.
    pub seconds: f64,
}

/// Why a fit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// All updates were made.
    Completed,
    /// A gradient or a validation loss was not finite: lower the learning rate.
    Diverged,
    /// The caller asked to stop.
    Interrupted,
}

/// The optimiser of a stage.
enum Steps {
    Adam(Adam),
    Scoring(Box<ScoringState>),
}

/// Runs one checked fit.
pub(crate) fn fit(spec: &FitSpec, level: Level, control: &Control) -> FitOutcome {
    let begin = thread_seconds();
    let mut outcome = Fit::new(spec, level).run(control);
    outcome.seconds = thread_seconds() - begin;
    outcome
}

/// Processor time of this thread so far.
#[cfg(any(unix, windows))]
fn thread_seconds() -> f64 {
    cpu_time::ThreadTime::now().as_duration().as_secs_f64()
}

#[cfg(not(any(unix, windows)))]
fn thread_seconds() -> f64 {
    0.0
}

struct Fit<'a> {
    spec: &'a FitSpec,
    program: Program,
    validation: Loss,
    /// Current coefficients, packed, filled up with zeros.
    theta: Vec<Lane>,
    best: Vec<Lane>,
    best_loss: f64,
    best_update: usize,
    updates: usize,
    curve: Vec<(usize, f64)>,
}

impl<'a> Fit<'a> {
    fn new(spec: &'a FitSpec, level: Level) -> Self {
        let program = Program::new(&spec.network, level);
        let start = match &spec.start {
            Start::Fresh {
                outgoing_multiplier,
            } => init::fresh(
                &spec.network,
                *outgoing_multiplier,
                spec.stream.child("start"),
            ),
            Start::Given(parameters) => parameters.clone(),
        };
        let theta = Lane::lines(program.pack(&start));
        Self {
            validation: Loss::validation(spec.likelihood, spec.bounds, &spec.valid),
            best: theta.clone(),
            theta,
            best_loss: f64::INFINITY,
            best_update: 0,
            updates: 0,
            curve: Vec::new(),
            program,
            spec,
        }
    }

    fn run(mut self, control: &Control) -> FitOutcome {
        let mut stop = match control.is_abandoned() {
            true => Some(Stop::Interrupted),
            false => self.checkpoint(),
        };
        for (i, stage) in self.spec.stages.iter().enumerate() {
            if stop.is_none() {
                self.theta.clone_from(&self.best);
                stop = self.stage(i, stage, control);
            }
        }
        let best = &Lane::flatten(&self.best)[..self.program.len()];
        let parameters = Parameters::new(self.spec.network.clone(), self.program.unpack(best))
            .unwrap_or_else(|e| unreachable!("a clamped checkpoint is a valid model: {e}"));
        FitOutcome {
            parameters,
            validation: self.best_loss,
            best_update: self.best_update,
            updates: self.updates,
            stop: stop.unwrap_or(Stop::Completed),
            curve: self.curve,
            seconds: 0.0,
        }
    }

    /// One stage from the current coefficients; why it ended early, if it did.
    fn stage(&mut self, number: usize, stage: &Stage, control: &Control) -> Option<Stop> {
        if control.is_stopped() {
            return Some(Stop::Interrupted);
        }
        let spec = self.spec;
        let stream = spec.stream.child("batches").nth(number as u64);
        let mut batches = Batches::new(stream, spec.train.n(), stage.batch);
        let table = Table::new(&spec.train);
        let mut gradient = Gradient::new(
            self.program.clone(),
            spec.likelihood,
            spec.bounds.output,
            batches.len(),
        );
        let mut optimiser = match &stage.optimiser {
            Optimiser::Adam(settings) => Steps::Adam(Adam::new(
                self.program.level(),
                *settings,
                &self.program.outgoing(),
                spec.bounds.parameter,
            )),
            Optimiser::Scoring(settings) => Steps::Scoring(Box::new(ScoringState::new(
                *settings,
                spec,
                &self.program,
                spec.stream.child("signs").nth(number as u64),
            ))),
        };
        let len = self.program.len();
        for update in 1..=stage.updates {
            gradient.gather(&table, batches.advance());
            gradient.compute(&Lane::flatten(&self.theta)[..len]);
            let stepped = match &mut optimiser {
                Steps::Adam(adam) => adam.step(stage, gradient.total(), &mut self.theta),
                Steps::Scoring(scoring) => scoring.step(stage, &gradient, &mut self.theta),
            };
            if !stepped {
                return Some(Stop::Diverged);
            }
            self.updates += 1;
            let stopped = update % LOOK_UP == 0 && control.is_stopped();
            if stopped || update % stage.validate_every == 0 || update == stage.updates {
                control.count(self.updates - self.curve.last().map_or(0, |(updates, _)| *updates));
                if let Some(stop) = self.checkpoint() {
                    return Some(stop);
                }
                if control.is_stopped() {
                    return Some(Stop::Interrupted);
                }
            }
        }
        None
    }

    /// Validates the current coefficients and keeps them if they are the best so far.
    fn checkpoint(&mut self) -> Option<Stop> {
        let theta = &Lane::flatten(&self.theta)[..self.program.len()];
        let loss = self.validation.at(&self.program, theta);
        self.curve.push((self.updates, loss));
        if !loss.is_finite() {
            return Some(Stop::Diverged);
        }
        if loss < self.best_loss {
            self.best_loss = loss;
            self.best_update = self.updates;
            self.best.clone_from(&self.theta);
        }
        None
    }
}
