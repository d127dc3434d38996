//! Fits of one shape and timetable, in step on the device.

use crate::device::{Device, Fault, Grid, Part};
use crate::layout::{ENDED, RUNNING};
use crate::placed::Placed;
use crate::plan::{PERMUTE_THREADS, Plan};
use crate::shape::{LANES, Shape, Way};
use loopfit_engine::{Control, FitOutcome, FitSpec, Optimiser, Scoring, Stop};
use std::ops::Range;
use std::time::Instant;

/// Most samples of an epoch whose order one thread makes beside others.
const SHORT_EPOCH: usize = 1024;
/// Words of shared memory in which the threads that make one order say what they swap with.
const CLAIMS: usize = 1024;

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
    placed: Placed<'a>,
    device: &'a dyn Device,
    books: Vec<Book>,
    control: &'a Control,
}

impl<'a> Group<'a> {
    /// Puts fits on the device.
    pub(crate) fn new(
        device: &'a dyn Device,
        specs: Vec<&'a FitSpec>,
        plan: Plan,
        control: &'a Control,
    ) -> Result<Self, Fault> {
        let placed = Placed::new(device, &specs, &plan)?;
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
            placed,
            device,
            books,
            control,
        })
    }

    /// Runs all stages.
    pub(crate) fn run(mut self) -> Result<Vec<FitOutcome>, Fault> {
        let begin = Instant::now();
        self.device.prepare(self.plan.validate)?;
        self.device.prepare(self.plan.permute)?;
        self.placed.launch.stage_start = 1;
        self.validate(0)?;
        for number in 0..self.specs[0].stages.len() {
            if self.books.iter().all(|book| book.stop.is_some()) {
                break;
            }
            if self.control.is_stopped() {
                self.stop_all();
                break;
            }
            self.stage(number)?;
        }
        let seconds = begin.elapsed().as_secs_f64() / self.specs.len() as f64;
        let p = self.plan.shape.packed;
        let mut best = vec![0.0f32; p * self.specs.len()];
        self.placed.best(&mut best)?;
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

    fn stage(&mut self, number: usize) -> Result<(), Fault> {
        let stage = &self.specs[0].stages[number];
        let (updates, every) = (stage.updates, stage.validate_every);
        let batch = stage.batch.min(self.specs[0].train.n());
        let way = self.plan.way(&stage.optimiser);
        self.device.prepare(way.variant)?;
        if matches!(stage.optimiser, Optimiser::Scoring(_)) {
            self.device.prepare(self.plan.refresh)?;
        }
        for i in 0..self.specs.len() {
            self.placed.settings(i, self.specs[i], number)?;
            if self.books[i].stop.is_some() {
                self.placed.fits[i].status = ENDED;
            }
        }
        self.placed.send()?;
        let strips = batch.div_ceil(LANES);
        let most = self
            .specs
            .iter()
            .map(|s| self.plan.most_updates(s.train.n(), batch))
            .min();
        let most = most.unwrap_or(1).min(updates);
        let launch = &mut self.placed.launch;
        let all = strips + launch.node_strips as usize;
        launch.resumed = 0;
        launch.lined = 0;
        launch.batch = batch as i32;
        launch.strips = strips as i32;
        launch.all_strips = all as i32;
        launch.half = self.plan.shape.half(way.variant, strips);
        launch.units = way.units as i32;
        launch.near = i32::from(way.near);
        launch.at_once = self.plan.packed.strips_at_once(all) as i32;
        launch.most = most as i32;
        let mut done = 0;
        while done < updates {
            let now = most.min(every - done % every).min(updates - done);
            self.placed.launch.ordered = done as i32;
            self.placed.launch.updates = now as i32;
            self.permute(batch)?;
            match &self.specs[0].stages[number].optimiser {
                Optimiser::Adam(_) => self.update(way, done..done + now)?,
                Optimiser::Scoring(scoring) => {
                    self.score(way, done..done + now, scoring)?;
                }
            }
            done += now;
            let stopped = self.control.is_stopped();
            self.placed.launch.stage_start = 0;
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

    /// The batch order of the epochs of a launch that are not there.
    fn permute(&mut self, batch: usize) -> Result<(), Fault> {
        let (update, updates) = (
            self.placed.launch.ordered as usize,
            self.placed.launch.updates as usize,
        );
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
        let all = epochs * self.specs.len();
        // A thread an epoch, an odd number of words from one to the next; or sixteen bits an entry, and more than one block on a
        // processor.
        let words = n.div_ceil(2) | 1;
        let (kernel, blocks, shared) = match n {
            ..=SHORT_EPOCH => ("permute_short", all.div_ceil(32), 4 * 32 * words),
            n if n <= 1 << 16 && 4 * n <= self.device.shared_limit() => {
                ("permute_shared", all, 4 * CLAIMS + 2 * n)
            }
            _ => ("permute_global", all, 4 * CLAIMS),
        };
        self.placed.launch.parts = epochs as i32;
        self.placed.launch.epochs = all as i32;
        self.placed.launch.order_step = 2 * words as i32;
        let grid = Grid {
            kernel,
            blocks,
            threads: PERMUTE_THREADS,
            shared,
        };
        self.device.launch(
            self.placed.queue(),
            self.plan.permute,
            grid,
            &self.placed.launch,
        )
    }

    /// Updates of scoring: launches end where the information is refreshed, with the gradient of the next update.
    fn score(&mut self, way: Way, range: Range<usize>, scoring: &Scoring) -> Result<(), Fault> {
        let near = self.plan.refresh.shared_states;
        let refreshes = |update: &usize| scoring.refreshes_at(*update);
        let mut at = range.start;
        self.placed.launch.resumed = 0;
        loop {
            let mut next = at + self.placed.launch.resumed as usize..range.end;
            let next = next.find(refreshes).unwrap_or(range.end);
            self.placed.launch.lined = i32::from(next < range.end);
            self.update(way, at..next)?;
            if next == range.end {
                return Ok(());
            }
            self.placed.launch.update = next as i32;
            self.placed.launch.stage_start = i32::from(next == 0);
            let grid = Grid {
                kernel: "refresh",
                blocks: self.specs.len(),
                threads: self.plan.refresh_threads,
                shared: 4 * self
                    .plan
                    .shape
                    .refresh_words(near, self.placed.launch.strips as usize),
            };
            let queue = self.placed.queue();
            self.device
                .launch(queue, self.plan.refresh, grid, &self.placed.launch)?;
            at = next;
            self.placed.launch.resumed = 1;
        }
    }

    /// The updates of a launch.
    fn update(&mut self, way: Way, range: Range<usize>) -> Result<(), Fault> {
        self.placed.launch.update = range.start as i32;
        self.placed.launch.updates = range.len() as i32;
        self.placed.launch.stage_start =
            i32::from(range.start == 0 && self.placed.launch.resumed == 0);
        let (kernel, blocks, words) = match way.variant.part {
            Part::Fused | Part::FusedScoring => (
                "fused",
                self.placed.fits.len() / 2,
                Shape::fused_words(&self.placed.launch.half),
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
            .launch(self.placed.queue(), way.variant, grid, &self.placed.launch)
    }

    /// Validates all fits after `now` more updates.
    fn validate(&mut self, now: usize) -> Result<(), Fault> {
        let grid = Grid {
            kernel: "validate",
            blocks: self.specs.len(),
            threads: self.plan.validate_threads,
            shared: 4 * self.plan.shape.padded(),
        };
        self.device.launch(
            self.placed.queue(),
            self.plan.validate,
            grid,
            &self.placed.launch,
        )?;
        self.write_down(now, true)
    }

    /// What became of `now` more updates.
    fn write_down(&mut self, now: usize, validated: bool) -> Result<(), Fault> {
        // The copy waits, so that no more than a launch is under way when a stop comes.
        self.placed.receive()?;
        for (fit, book) in self.placed.fits.iter().zip(&mut self.books) {
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
