//! One fit: start, stages of Adam, validation, best checkpoint.

use crate::adam::Adam;
use crate::batches::{Batches, Strips};
use crate::ffn::Ffn;
use crate::ffn::pack::Packing;
use crate::gradient::{Gradient, node_strips};
use crate::predict::clipped_rows;
use crate::run::Control;
use crate::spec::{FitSpec, Stage, Start};
use loopfit_likelihood::{Energy, Likelihood};
use loopfit_model::{Parameters, init};
use loopfit_numerics::lanes::{Lane, Level};
use serde::Serialize;

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
}

/// Why a fit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// All updates were made.
    Completed,
    /// A gradient or a validation loss was not finite: lower the learning rate.
    Diverged,
    /// The caller asked to stop.
    Interrupted,
}

/// Runs one checked fit.
pub(crate) fn fit(spec: &FitSpec, level: Level, control: &Control) -> FitOutcome {
    Fit::new(spec, level).run(control)
}

struct Fit<'a> {
    spec: &'a FitSpec,
    level: Level,
    ffn: Ffn,
    validation: Validation<'a>,
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
        let ffn = Ffn::new(Packing::new(&spec.network), level);
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
        let theta = Lane::lines(ffn.packing.pack_parameters(&start));
        Self {
            validation: Validation::new(spec),
            level,
            best: theta.clone(),
            theta,
            best_loss: f64::INFINITY,
            best_update: 0,
            updates: 0,
            curve: Vec::new(),
            ffn,
            spec,
        }
    }

    fn run(mut self, control: &Control) -> FitOutcome {
        let mut stop = self.checkpoint();
        for (i, stage) in self.spec.stages.iter().enumerate() {
            if stop.is_none() {
                self.theta.clone_from(&self.best);
                stop = self.stage(i, stage, control);
            }
        }
        let packing = &self.ffn.packing;
        let best = &Lane::flatten(&self.best)[..packing.len()];
        let parameters = Parameters::new(
            self.spec.network.clone(),
            packing.unpack(&self.spec.network, best),
        )
        .unwrap_or_else(|e| unreachable!("a clamped checkpoint is a valid model: {e}"));
        FitOutcome {
            parameters,
            validation: self.best_loss,
            best_update: self.best_update,
            updates: self.updates,
            stop: stop.unwrap_or(Stop::Completed),
            curve: self.curve,
        }
    }

    /// One stage from the current coefficients; why it ended early, if it did.
    fn stage(&mut self, number: usize, stage: &Stage, control: &Control) -> Option<Stop> {
        if control.is_interrupted() {
            return Some(Stop::Interrupted);
        }
        let spec = self.spec;
        let stream = spec.stream.child("batches").nth(number as u64);
        let mut batches = Batches::new(stream, spec.train.n(), stage.batch);
        let mut gradient = Gradient::new(
            self.ffn.clone(),
            self.level,
            spec.likelihood,
            spec.bounds.output,
            batches.len(),
        );
        let mut adam = Adam::new(
            self.level,
            stage,
            &self.ffn.packing.outgoing(),
            spec.bounds.coefficient,
        );
        let len = self.ffn.packing.len();
        for update in 1..=stage.updates {
            gradient.batch().gather(&spec.train, batches.advance());
            let g = gradient.compute(&Lane::flatten(&self.theta)[..len]);
            if !adam.step(stage, g, &mut self.theta) {
                return Some(Stop::Diverged);
            }
            self.updates += 1;
            if update % stage.validate_every == 0 || update == stage.updates {
                control.count(self.updates - self.curve.last().map_or(0, |(updates, _)| *updates));
                if let Some(stop) = self.checkpoint() {
                    return Some(stop);
                }
                if control.is_interrupted() {
                    return Some(Stop::Interrupted);
                }
            }
        }
        None
    }

    /// Validates the current coefficients and keeps them if they are the best so far.
    fn checkpoint(&mut self) -> Option<Stop> {
        let theta = &Lane::flatten(&self.theta)[..self.ffn.packing.len()];
        let loss = self.validation.loss(&self.ffn, theta);
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

/// The validation samples, laid out once.
struct Validation<'a> {
    spec: &'a FitSpec,
    strips: Strips,
    y: Vec<f64>,
    /// The energy model's finer rule and its nodes.
    nodes: Option<(Energy, Vec<Lane>)>,
    out: Vec<Lane>,
}

impl<'a> Validation<'a> {
    fn new(spec: &'a FitSpec) -> Self {
        let nodes = match spec.likelihood {
            Likelihood::Energy(energy) => {
                // The finer rule exists for every dimension that has a training rule.
                let finer = Energy::evaluation(energy.d()).unwrap_or(energy);
                Some((finer, node_strips(finer)))
            }
            _ => None,
        };
        let y = spec.valid.y().iter().map(|v| f64::from(*v)).collect();
        Self {
            spec,
            strips: Strips::all(&spec.valid),
            y,
            nodes,
            out: Vec::new(),
        }
    }

    /// Average negative log-likelihood; NaN if an output is not a number.
    fn loss(&mut self, ffn: &Ffn, params: &[f32]) -> f64 {
        let bounds = self.spec.bounds;
        let mut outputs = |x: &[Lane], n: usize| {
            self.out
                .resize(x.len() / ffn.packing.d * ffn.packing.outputs, Lane::ZERO);
            ffn.predict(params, x, &mut self.out);
            clipped_rows(&self.out, n, ffn.packing.outputs, bounds)
        };
        let at_samples = outputs(&self.strips.x, self.spec.valid.n());
        let loss = match &self.nodes {
            None => self.spec.likelihood.average_nll(&at_samples, &self.y),
            Some((energy, nodes)) => {
                energy.average_nll(&at_samples, &outputs(nodes, energy.node_count()))
            }
        };
        loss.unwrap_or(f64::NAN)
    }
}
