//! Fits of one shape and timetable, in step on the device.

use crate::device::{Arena, Device, Fault, Grid, Part, piece};
use crate::layout::{Address, ENDED, Fit, Launch, RUNNING};
use crate::plan::{PERMUTE_THREADS, Plan, scores};
use crate::shape::{LANES, Shape, Way};
use loopfit_data::Samples;
use loopfit_engine::{Control, FitOutcome, FitSpec, Optimiser, Scoring, Stage, Stop, WeightDecay};
use loopfit_likelihood::Likelihood;
use loopfit_numerics::libm;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// What the host knows of a fit on the device.
struct Book {
    best_loss: f64,
    best_update: usize,
    updates: usize,
    curve: Vec<(usize, f64)>,
    stop: Option<Stop>,
}

/// Fits on the device.
pub(crate) struct Group<'a> {
    specs: Vec<&'a FitSpec>,
    plan: Plan,
    arena: Arena<'a>,
    device: &'a dyn Device,
    launch: Launch,
    fits: Vec<Fit>,
    books: Vec<Book>,
    control: &'a Control,
}

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

impl<'a> Group<'a> {
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

    /// Puts fits on the device.
    pub(crate) fn new(
        device: &'a dyn Device,
        specs: Vec<&'a FitSpec>,
        plan: Plan,
        control: &'a Control,
    ) -> Result<Self, Fault> {
        let mut arena = Arena::new(device, Self::bytes(&specs, &plan), plan.urgent)?;
        let shape = plan.shape.clone();
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
            let mut fit = place_fit(&mut arena, &plan, spec, &mut samples)?;
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
        let books = specs
            .iter()
            .map(|_| Book {
                best_loss: f64::INFINITY,
                best_update: 0,
                updates: 0,
                curve: Vec::new(),
                stop: None,
            })
            .collect();
        Ok(Self {
            specs,
            plan,
            arena,
            device,
            launch,
            fits,
            books,
            control,
        })
    }

    /// Runs all stages.
    pub(crate) fn run(mut self) -> Result<Vec<FitOutcome>, Fault> {
        let begin = Instant::now();
        self.device.prepare(self.plan.validate)?;
        self.device.prepare(self.plan.permute)?;
        self.launch.stage_start = 1;
        self.validate(0)?;
        let mut schedules = HashMap::new();
        for number in 0..self.specs[0].stages.len() {
            if self.books.iter().all(|book| book.stop.is_some()) {
                break;
            }
            if self.control.is_stopped() {
                self.stop_all();
                break;
            }
            self.stage(number, &mut schedules)?;
        }
        let seconds = begin.elapsed().as_secs_f64() / self.specs.len() as f64;
        let p = self.plan.shape.packed;
        let mut best = vec![0.0f32; p * self.specs.len()];
        self.arena.get(self.fits[0].best, &mut best)?;
        let mut outcomes = Vec::with_capacity(self.specs.len());
        for ((spec, best), book) in self.specs.iter().zip(best.chunks(p)).zip(self.books) {
            outcomes.push(FitOutcome {
                parameters: self.plan.packed.parameters(spec, best),
                validation: book.best_loss,
                best_update: book.best_update,
                updates: book.updates,
                stop: book.stop.unwrap_or(Stop::Completed),
                curve: book.curve,
                seconds,
            });
        }
        Ok(outcomes)
    }

    fn stop_all(&mut self) {
        for book in &mut self.books {
            book.stop.get_or_insert(Stop::Interrupted);
        }
    }

    fn stage(
        &mut self,
        number: usize,
        schedules: &mut HashMap<[u64; 6], Address>,
    ) -> Result<(), Fault> {
        let stage = &self.specs[0].stages[number];
        let (updates, every) = (stage.updates, stage.validate_every);
        let batch = stage.batch.min(self.specs[0].train.n());
        let way = self.plan.way(&stage.optimiser);
        self.device.prepare(way.variant)?;
        if matches!(stage.optimiser, Optimiser::Scoring(_)) {
            self.device.prepare(self.plan.refresh)?;
        }
        self.launch.resumed = 0;
        self.launch.lined = 0;
        for i in 0..self.specs.len() {
            self.settings(i, number, schedules)?;
        }
        self.arena.replace(self.launch.fits, &self.fits)?;
        let strips = batch.div_ceil(LANES);
        self.launch.batch = batch as i32;
        self.launch.strips = strips as i32;
        let all = strips + self.launch.node_strips as usize;
        self.launch.all_strips = all as i32;
        self.launch.half = self.plan.shape.half(way.variant, strips);
        self.launch.units = way.units as i32;
        self.launch.near = i32::from(way.near);
        self.launch.at_once = self.plan.packed.strips_at_once(all) as i32;
        let most = self
            .specs
            .iter()
            .map(|s| self.plan.most_updates(s.train.n(), batch))
            .min();
        let most = most.unwrap_or(1).min(updates);
        self.launch.most = most as i32;
        let mut done = 0;
        while done < updates {
            let now = most.min(every - done % every).min(updates - done);
            self.launch.ordered = done as i32;
            self.launch.updates = now as i32;
            self.permute(batch)?;
            match &self.specs[0].stages[number].optimiser {
                Optimiser::Adam(_) => self.update(way, done..done + now)?,
                Optimiser::Scoring(scoring) => {
                    self.score(way, done..done + now, scoring)?;
                }
            }
            done += now;
            let stopped = self.control.is_stopped();
            self.launch.stage_start = 0;
            if stopped || done % every == 0 || done == updates {
                self.validate(now)?;
            } else {
                self.write_down(now, false)?;
            }
            if self.books.iter().all(|book| book.stop.is_some()) {
                return Ok(());
            }
            if stopped || self.control.is_stopped() {
                self.stop_all();
                return Ok(());
            }
        }
        Ok(())
    }

    /// A fit's settings for a stage.
    fn settings(
        &mut self,
        i: usize,
        number: usize,
        schedules: &mut HashMap<[u64; 6], Address>,
    ) -> Result<(), Fault> {
        let (spec, fit) = (self.specs[i], &mut self.fits[i]);
        let stage = &spec.stages[number];
        let n = spec.train.n();
        let (coupled, decoupled) = decays(stage);
        fit.weight = 1.0 / stage.batch.min(n) as f32;
        fit.batches = spec.stream.child("batches").nth(number as u64).key();
        fit.signs = spec.stream.child("signs").nth(number as u64).key();
        fit.coupled_double = coupled;
        fit.decoupled_double = decoupled;
        let key = schedule_key(number, stage);
        let known = schedules.get(&key).copied();
        match &stage.optimiser {
            Optimiser::Adam(adam) => {
                fit.outgoing_rate = adam.outgoing_rate as f32;
                fit.gradient_cap = adam.gradient_cap as f32;
                fit.schedule = match known {
                    Some(at) => at,
                    None => self.arena.put(&adam_schedule(stage))?,
                };
                schedules.insert(key, fit.schedule);
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
                schedules.insert(key, fit.rates);
            }
        }
        if self.books[i].stop.is_some() {
            fit.status = ENDED;
        }
        Ok(())
    }

    /// The batch order of the epochs of a launch that are not there.
    fn permute(&mut self, batch: usize) -> Result<(), Fault> {
        let (update, updates) = (self.launch.ordered as usize, self.launch.updates as usize);
        let epochs = self.specs.iter().map(|spec| {
            let in_epoch = spec.train.n() / batch;
            let known = update.checked_sub(1).map_or(0, |last| last / in_epoch + 1);
            (update + updates - 1) / in_epoch + 1 - known
        });
        let epochs = epochs.max().unwrap_or(0);
        if epochs == 0 {
            return Ok(());
        }
        let n = self
            .specs
            .iter()
            .map(|spec| spec.train.n())
            .max()
            .unwrap_or(1);
        // Sixteen bits an entry, and more than one block on a processor.
        let (kernel, shared) = match n <= 1 << 16 && 4 * n <= self.device.shared_limit() {
            true => ("permute_shared", 2 * n),
            false => ("permute_global", 0),
        };
        self.launch.parts = epochs as i32;
        let grid = Grid {
            kernel,
            blocks: epochs * self.specs.len(),
            threads: PERMUTE_THREADS,
            shared,
        };
        self.device
            .launch(self.arena.queue(), self.plan.permute, grid, &self.launch)
    }

    /// Updates of scoring: launches end where the information is refreshed, with the gradient of the next update.
    fn score(&mut self, way: Way, range: Range<usize>, scoring: &Scoring) -> Result<(), Fault> {
        let near = self.plan.refresh.shared_states;
        let refreshes = |update: &usize| scoring.refreshes_at(*update);
        let mut at = range.start;
        self.launch.resumed = 0;
        loop {
            let mut next = at + self.launch.resumed as usize..range.end;
            let next = next.find(refreshes).unwrap_or(range.end);
            self.launch.lined = i32::from(next < range.end);
            self.update(way, at..next)?;
            if next == range.end {
                return Ok(());
            }
            self.launch.update = next as i32;
            self.launch.stage_start = i32::from(next == 0);
            let grid = Grid {
                kernel: "refresh",
                blocks: self.specs.len(),
                threads: self.plan.refresh_threads,
                shared: 4 * self
                    .plan
                    .shape
                    .refresh_words(near, self.launch.strips as usize),
            };
            let queue = self.arena.queue();
            self.device
                .launch(queue, self.plan.refresh, grid, &self.launch)?;
            at = next;
            self.launch.resumed = 1;
        }
    }

    /// The updates of a launch.
    fn update(&mut self, way: Way, range: Range<usize>) -> Result<(), Fault> {
        self.launch.update = range.start as i32;
        self.launch.updates = range.len() as i32;
        self.launch.stage_start = i32::from(range.start == 0 && self.launch.resumed == 0);
        let (kernel, blocks, words) = match way.variant.part {
            Part::Fused | Part::FusedScoring => (
                "fused",
                self.fits.len() / 2,
                Shape::fused_words(&self.launch.half),
            ),
            Part::Scoring => ("scoring", self.specs.len(), way.words),
            _ => ("adam", self.specs.len(), way.words),
        };
        let grid = Grid {
            kernel,
            blocks,
            threads: way.threads,
            shared: 4 * words,
        };
        self.device
            .launch(self.arena.queue(), way.variant, grid, &self.launch)
    }

    /// Validates all fits after `now` more updates.
    fn validate(&mut self, now: usize) -> Result<(), Fault> {
        let grid = Grid {
            kernel: "validate",
            blocks: self.specs.len(),
            threads: self.plan.validate_threads,
            shared: 4 * self.plan.shape.padded(),
        };
        self.device
            .launch(self.arena.queue(), self.plan.validate, grid, &self.launch)?;
        self.write_down(now, true)
    }

    /// What became of `now` more updates.
    fn write_down(&mut self, now: usize, validated: bool) -> Result<(), Fault> {
        // The copy waits, so that no more than a launch is under way when a stop comes.
        self.arena.get(self.launch.fits, &mut self.fits)?;
        for (fit, book) in self.fits.iter().zip(&mut self.books) {
            if book.stop.is_some() {
                continue;
            }
            let made = if now == 0 { 0 } else { fit.made as usize };
            book.updates += made;
            if validated && made == now {
                let before = book.curve.last().map_or(0, |(updates, _)| *updates);
                self.control.count(book.updates - before);
                book.curve.push((book.updates, fit.loss));
                if fit.loss.is_finite() && fit.loss < book.best_loss {
                    book.best_loss = fit.loss;
                    book.best_update = book.updates;
                }
            }
            if fit.status != RUNNING {
                book.stop = Some(Stop::Diverged);
            }
        }
        Ok(())
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
