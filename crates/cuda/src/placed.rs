//! What fits of one shape have on the device: samples, coefficients, schedules, and room for their state.

use crate::device::{Arena, Device, Fault, piece};
use crate::layout::{Address, ENDED, Fit, Launch, RUNNING};
use crate::plan::{Plan, scores};
use crate::shape::LANES;
use loopfit_data::Samples;
use loopfit_engine::{FitSpec, Optimiser, Stage, WeightDecay};
use loopfit_likelihood::Likelihood;
use loopfit_numerics::libm;
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers from one sample's inputs to the next one's on the device: whole vectors of four.
fn row_len(d: usize) -> usize {
    d.next_multiple_of(4)
}

/// Inputs of samples, row by row, filled up with zeros.
fn rows(x: &[f32], d: usize) -> Vec<f32> {
    let mut rows = vec![0.0; x.len() / d * row_len(d)];
    for (to, from) in rows.chunks_mut(row_len(d)).zip(x.chunks(d)) {
        to[..d].copy_from_slice(from);
    }
    rows
}

/// Bytes of samples on the device, each set once.
fn sample_bytes(specs: &[&FitSpec]) -> usize {
    let mut sets: Vec<&Arc<Samples>> = specs.iter().flat_map(|s| [&s.train, &s.valid]).collect();
    sets.sort_by_key(|set| Arc::as_ptr(set));
    sets.dedup_by_key(|set| Arc::as_ptr(set));
    let of = |set: &&Arc<Samples>| {
        piece::<f32>(set.n() * row_len(set.d()))
            + piece::<f32>(set.y().len())
            + piece::<f64>(set.n())
    };
    sets.iter().map(of).sum()
}

/// What a schedule depends on, bit by bit.
fn schedule_key(number: usize, stage: &Stage) -> [u64; 6] {
    let (kind, decay) = match stage.weight_decay {
        WeightDecay::Coupled(w) => (0, w),
        WeightDecay::Decoupled(w) => (1, w),
    };
    [
        number as u64,
        stage.learning_rate.to_bits(),
        stage.final_rate.to_bits(),
        stage.updates as u64,
        kind,
        decay.to_bits(),
    ]
}

fn decays(stage: &Stage) -> (f64, f64) {
    match stage.weight_decay {
        WeightDecay::Coupled(w) => (w, 0.0),
        WeightDecay::Decoupled(w) => (0.0, w),
    }
}

/// Adam's three numbers of each update: step, keep, correction of the second moment.
fn adam_schedule(stage: &Stage) -> Vec<f32> {
    let (_, decoupled) = decays(stage);
    let (mut power1, mut power2) = (1.0, 1.0);
    let numbers = (0..stage.updates).flat_map(|step| {
        let rate = stage.rate_at(step);
        power1 *= 0.9;
        power2 *= 0.999;
        [
            (-rate / (1.0 - power1)) as f32,
            (-rate * decoupled) as f32,
            (1.0 / (1.0 - power2)) as f32,
        ]
    });
    numbers.collect()
}

/// Fits on the device.
pub(crate) struct Placed<'a> {
    arena: Arena<'a>,
    /// What the next launch is told.
    pub(crate) launch: Launch,
    /// What is known of each; where their number is odd, of one more, which has ended.
    pub(crate) fits: Vec<Fit>,
    /// Where the schedules are that some stage had.
    schedules: HashMap<[u64; 6], Address>,
}

impl<'a> Placed<'a> {
    /// Bytes that fits of a plan take on the device.
    pub(crate) fn bytes(specs: &[&FitSpec], plan: &Plan) -> usize {
        // Alike fits may have more or fewer samples; one more makes their number even.
        let own = || specs.iter().map(|spec| plan.bytes(spec));
        let mut bytes = sample_bytes(specs) + own().sum::<usize>() + own().max().unwrap_or(0);
        bytes += piece::<Fit>(specs.len() + 1)
            + 3 * piece::<f32>(plan.shape.padded() + plan.shape.packed);
        bytes += 2 * piece::<f32>(
            row_len(plan.shape.d) * (plan.shape.nodes() + plan.shape.valid_nodes()),
        ) + (1 << 12);
        let mut schedules: Vec<([u64; 6], usize)> = Vec::new();
        for spec in specs {
            for (i, stage) in spec.stages.iter().enumerate() {
                schedules.push((schedule_key(i, stage), stage.updates));
            }
        }
        schedules.sort_unstable();
        schedules.dedup();
        bytes
            + schedules
                .iter()
                .map(|(_, updates)| piece::<f32>(3 * updates))
                .sum::<usize>()
    }

    /// Puts fits there.
    pub(crate) fn new(
        device: &'a dyn Device,
        specs: &[&FitSpec],
        plan: &Plan,
    ) -> Result<Self, Fault> {
        let mut arena = Arena::new(device, Self::bytes(specs, plan), plan.urgent)?;
        let shape = &plan.shape;
        let (fixed, places) = plan.packed.places();
        let mut padded = vec![0.0f32; shape.padded()];
        for (place, value) in fixed.iter().enumerate() {
            padded[shape.padded_place(place)] = *value;
        }
        let place: Vec<i32> = places
            .iter()
            .map(|p| shape.padded_place(*p) as i32)
            .collect();
        let outgoing: Vec<i32> = plan
            .packed
            .outgoing()
            .iter()
            .map(|o| i32::from(*o))
            .collect();
        let nodes = |energy: loopfit_likelihood::Energy| -> Vec<f32> {
            let points: Vec<f32> = energy.node_points().iter().map(|v| *v as f32).collect();
            rows(&points, shape.d)
        };
        let mut launch = Launch {
            place: arena.put(&place)?,
            outgoing: arena.put(&outgoing)?,
            fixed: arena.put(&padded)?,
            d: shape.d as i32,
            r: shape.r as i32,
            outputs: shape.outputs as i32,
            iterations: shape.iterations as i32,
            blocks: shape.blocks as i32,
            kind: shape.kind,
            nodes: shape.nodes() as i32,
            node_strips: shape.nodes().div_ceil(LANES) as i32,
            valid_nodes: shape.valid_nodes() as i32,
            packed: shape.packed as i32,
            padded: shape.padded() as i32,
            input_len: shape.input_len() as i32,
            block_len: shape.block_len() as i32,
            ..Launch::default()
        };
        if let Some((training, finer)) = shape.energy {
            launch.node_x = arena.put(&nodes(training))?;
            launch.valid_node_x = arena.put(&nodes(finer))?;
        }
        let mut samples = HashMap::new();
        let mut fits = Vec::with_capacity(specs.len());
        // One vector after the other, so that one copy brings all of them.
        let starts: Vec<f32> = specs
            .iter()
            .flat_map(|spec| plan.packed.start(spec))
            .collect();
        let coefficients = [
            arena.put(&starts)?,
            arena.room::<f32>(starts.len()),
            arena.room::<f32>(starts.len()),
            arena.room::<f32>(starts.len()),
        ];
        for (i, spec) in specs.iter().enumerate() {
            let own = (4 * i * shape.packed) as u64;
            let mut fit = place_fit(&mut arena, plan, spec, &mut samples)?;
            [fit.best, fit.theta, fit.m, fit.v] = coefficients.map(|all| all + own);
            fits.push(fit);
        }
        // The last of an odd number needs a neighbour, which has ended before it begins.
        if let Some(last) = fits.last().filter(|_| fits.len() % 2 == 1) {
            let mut neighbour = *last;
            neighbour.status = ENDED;
            if plan.needs_scratch(specs[0]) {
                neighbour.scratch = arena.room::<f32>(shape.scratch());
            }
            fits.push(neighbour);
        }
        launch.fits = arena.put(&fits)?;
        Ok(Self {
            arena,
            launch,
            fits,
            schedules: HashMap::new(),
        })
    }

    /// Settings of fit `i` for a stage.
    pub(crate) fn settings(
        &mut self,
        i: usize,
        spec: &FitSpec,
        number: usize,
    ) -> Result<(), Fault> {
        let fit = &mut self.fits[i];
        let stage = &spec.stages[number];
        let n = spec.train.n();
        let (coupled, decoupled) = decays(stage);
        fit.weight = 1.0 / stage.batch.min(n) as f32;
        fit.batches = spec.stream.child("batches").nth(number as u64).key();
        fit.signs = spec.stream.child("signs").nth(number as u64).key();
        fit.coupled_double = coupled;
        fit.decoupled_double = decoupled;
        let key = schedule_key(number, stage);
        let known = self.schedules.get(&key).copied();
        match &stage.optimiser {
            Optimiser::Adam(adam) => {
                fit.outgoing_rate = adam.outgoing_rate as f32;
                fit.gradient_cap = adam.gradient_cap as f32;
                fit.schedule = match known {
                    Some(at) => at,
                    None => self.arena.put(&adam_schedule(stage))?,
                };
                self.schedules.insert(key, fit.schedule);
            }
            Optimiser::Scoring(scoring) => {
                fit.damping = scoring.damping * spec.likelihood.information_scale();
                fit.step_cap = scoring.step_cap;
                fit.memory = scoring.memory;
                fit.outgoing_unit = scoring.outgoing_rate;
                fit.rates = match known {
                    Some(at) => at,
                    None => {
                        let rates: Vec<f64> =
                            (0..stage.updates).map(|s| stage.rate_at(s)).collect();
                        self.arena.put(&rates)?
                    }
                };
                self.schedules.insert(key, fit.rates);
            }
        }
        Ok(())
    }

    /// The queue of their work.
    pub(crate) fn queue(&self) -> u64 {
        self.arena.queue()
    }

    /// Tells the device what is known of the fits.
    pub(crate) fn send(&self) -> Result<(), Fault> {
        self.arena.replace(self.launch.fits, &self.fits)
    }

    /// Asks the device what became of the fits, after all work.
    pub(crate) fn receive(&mut self) -> Result<(), Fault> {
        self.arena.get(self.launch.fits, &mut self.fits)
    }

    /// The best coefficients of all fits, after all work.
    pub(crate) fn best(&self, best: &mut [f32]) -> Result<(), Fault> {
        self.arena.get(self.fits[0].best, best)
    }
}

/// Puts a fit on the device: its samples, unless they are there, its start, and room for its state.
fn place_fit(
    arena: &mut Arena<'_>,
    plan: &Plan,
    spec: &FitSpec,
    known: &mut HashMap<*const Samples, [Address; 3]>,
) -> Result<Fit, Fault> {
    let mut place = |samples: &Arc<Samples>| -> Result<[Address; 3], Fault> {
        if let Some(at) = known.get(&Arc::as_ptr(samples)) {
            return Ok(*at);
        }
        let logs: Vec<f64> = match spec.likelihood {
            Likelihood::Poisson(_) => {
                let targets = samples.y().iter();
                targets.map(|y| libm::lgamma(f64::from(*y) + 1.0)).collect()
            }
            _ => Vec::new(),
        };
        let at = [
            arena.put(&rows(samples.x(), samples.d()))?,
            arena.put(samples.y())?,
            arena.put(&logs)?,
        ];
        known.insert(Arc::as_ptr(samples), at);
        Ok(at)
    };
    let ([x, y, _], [valid_x, valid_y, valid_constant]) =
        (place(&spec.train)?, place(&spec.valid)?);
    let p = plan.shape.packed;
    let mut fit = Fit {
        x,
        y,
        valid_x,
        valid_y,
        valid_constant,
        order: arena.room::<u32>(plan.order_len(spec)),
        terms: arena.room::<f64>(plan.terms_len(spec)),
        best_loss: f64::INFINITY,
        parameter_bound: spec.bounds.parameter,
        output_bound: spec.bounds.output,
        n: spec.train.n() as i32,
        valid_n: spec.valid.n() as i32,
        status: RUNNING,
        ..Fit::default()
    };
    if plan.needs_scratch(spec) {
        fit.scratch = arena.room::<f32>(plan.shape.scratch());
    }
    if scores(spec) {
        fit.average = arena.room::<f64>(p * p);
        fit.factor = arena.room::<f64>(plan.factor_len());
        fit.inverse = arena.room::<f64>(p);
        fit.momentum = arena.room::<f64>(p);
        fit.gradient = arena.room::<f32>(plan.shape.padded());
        fit.rows = arena.room::<f32>(plan.rows_len());
    }
    match spec.likelihood {
        Likelihood::Gaussian(gaussian) => {
            let sigma = gaussian.sigma();
            let precision = 1.0 / (sigma * sigma);
            fit.nll = [
                0.5 * precision,
                libm::log(sigma),
                0.5 * libm::log(std::f64::consts::TAU),
            ];
            fit.likelihood = precision as f32;
            fit.fisher = precision;
        }
        Likelihood::Laplace(laplace) => {
            let rate = 1.0 / laplace.tau();
            fit.nll = [rate, libm::log(2.0 * laplace.tau()), 0.0];
            fit.likelihood = rate as f32;
            fit.fisher = rate * rate;
        }
        Likelihood::Energy(_) => {
            fit.nll[0] = libm::log(plan.shape.valid_nodes() as f64);
        }
        Likelihood::Poisson(_) | Likelihood::Bernoulli(_) | Likelihood::Multiclass(_) => {}
    }
    Ok(fit)
}
