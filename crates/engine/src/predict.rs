//! Outputs of a fitted network for many rows.

use crate::batches::to_strips;
use crate::program::{Activations, Program};
use loopfit_model::{Bounds, Parameters};
use loopfit_numerics::lanes::{Kernel, LANES, Lane, Level, Simd};
use rayon::prelude::*;
use std::ops::Range;

/// Strips that one task predicts with all their states in memory, unless those are too large.
const STRIPS_WITH_STATES: usize = 8;
/// Rows that one task predicts: small enough for the cache, large enough to be worth a task.
const ROWS_AT_ONCE: usize = 2048;

/// What a network says after one of its iterations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The output function at the state after the iteration, clipped, row-major.
    pub outputs: Vec<f64>,
    /// `|S_t - S_{t-1}| / |S_t|` of each row: zero once the state stays as it is.
    pub change: Vec<f64>,
}

/// A network ready to predict batches of rows.
#[derive(Clone, Debug)]
pub struct Predictor {
    program: Program,
    params: Vec<f32>,
    bounds: Bounds,
}

impl Predictor {
    /// Prepares a model at the machine's fastest level.
    pub fn new(parameters: &Parameters, bounds: Bounds) -> Self {
        Self::at_level(parameters, bounds, Level::fastest())
    }

    /// As [`Predictor::new`] at a given level, for tests and benchmarks.
    pub fn at_level(parameters: &Parameters, bounds: Bounds, level: Level) -> Self {
        let program = Program::new(parameters.network(), level);
        let packed = program.pack(parameters);
        Self {
            params: program.full(&packed, &mut Vec::new()).to_vec(),
            program,
            bounds,
        }
    }

    /// Clipped outputs, row-major, for row-major inputs. Row `i` of the result belongs to
    /// row `i` of the input, with the same bits whatever the number of threads and rows.
    pub fn predict(&self, rows: &[f32]) -> Vec<f64> {
        let (d, c) = (self.program.d(), self.program.outputs());
        assert_eq!(rows.len() % d, 0, "rows of d inputs");
        let mut outputs = vec![0.0; rows.len() / d * c];
        rows.par_chunks(ROWS_AT_ONCE * d)
            .zip(outputs.par_chunks_mut(ROWS_AT_ONCE * c))
            .for_each_init(Default::default, |room, (rows, to)| {
                self.part(rows, room, to);
            });
        outputs
    }

    /// As [`Predictor::predict`] for rows that are written where they are read: `write` is given the first of some rows and room for
    /// their inputs, from several threads, so that no more than these rows are ever in memory.
    pub fn predict_written<E: Send>(
        &self,
        rows: usize,
        write: impl Fn(usize, &mut [f32]) -> Result<(), E> + Sync,
    ) -> Result<Vec<f64>, E> {
        let (d, c) = (self.program.d(), self.program.outputs());
        let mut outputs = vec![0.0; rows * c];
        let parts = outputs.par_chunks_mut(ROWS_AT_ONCE * c).enumerate();
        let failed: Vec<(usize, E)> = parts
            .map_init(
                Default::default,
                |(x, room): &mut (Vec<f32>, _), (i, to)| {
                    x.resize(to.len() / c * d, 0.0);
                    write(i * ROWS_AT_ONCE, x).map_err(|e| (i, e))?;
                    self.part(x, room, to);
                    Ok(())
                },
            )
            .filter_map(Result::err)
            .collect();
        // The first, whatever the number of threads.
        match failed.into_iter().min_by_key(|(i, _)| *i) {
            Some((_, error)) => Err(error),
            None => Ok(outputs),
        }
    }

    /// The outputs of a few rows.
    fn part(&self, rows: &[f32], (x, out): &mut (Vec<Lane>, Vec<Lane>), to: &mut [f64]) {
        let (d, c) = (self.program.d(), self.program.outputs());
        to_strips(rows, d, x, self.program.level());
        out.resize(x.len() / d * c, Lane::ZERO);
        self.program.predict(&self.params, x, out);
        self.program.level().run(ClipRows {
            out,
            outputs: c,
            bounds: self.bounds,
            rows: to,
        });
    }

    /// As [`Predictor::predict`] after each of some of the iterations, counted from zero: the last of all has the same outputs, bit
    /// for bit.
    ///
    /// # Panics
    /// If there are not so many iterations.
    pub fn every_iteration(&self, rows: &[f32], iterations: Range<usize>) -> Vec<Step> {
        let d = self.program.d();
        assert_eq!(rows.len() % d, 0, "rows of d inputs");
        assert!(iterations.end <= self.program.iterations(), "iterations");
        let at_once = LANES * self.program.strips_at_once(STRIPS_WITH_STATES);
        let parts: Vec<Vec<Step>> = rows
            .par_chunks(at_once * d)
            .map(|rows| self.steps(rows, iterations.clone()))
            .collect();
        let mut steps = vec![Step::default(); iterations.len()];
        for part in parts {
            for (step, part) in steps.iter_mut().zip(part) {
                step.outputs.extend(part.outputs);
                step.change.extend(part.change);
            }
        }
        steps
    }

    /// The steps of a few rows, all of whose states are kept at once.
    fn steps(&self, rows: &[f32], iterations: Range<usize>) -> Vec<Step> {
        let (d, c) = (self.program.d(), self.program.outputs());
        let n = rows.len() / d;
        let mut x = Vec::new();
        to_strips(rows, d, &mut x, self.program.level());
        let strips = x.len() / d;
        let mut out = vec![Lane::ZERO; strips * c];
        let mut kept = Activations::default();
        self.program.forward(&self.params, &x, &mut out, &mut kept);
        let width = self.program.state_len();
        let states = self.program.states(&kept, strips);
        states[iterations.start..=iterations.end]
            .windows(2)
            .map(|pair| {
                self.program.output(&self.params, pair[1], &mut out);
                Step {
                    outputs: clipped_rows(&out, n, c, self.bounds),
                    change: (0..n)
                        .map(|row| relative_change(pair[0], pair[1], row, width))
                        .collect(),
                }
            })
            .collect()
    }
}

/// `|new - old| / |new|` of a row's state; zero where nothing changes.
fn relative_change(old: &[Lane], new: &[Lane], row: usize, width: usize) -> f64 {
    let (mut moved, mut size) = (0.0, 0.0);
    for i in row / LANES * width..(row / LANES + 1) * width {
        let [old, new] = [old, new].map(|state| f64::from(state[i].0[row % LANES]));
        moved += (new - old) * (new - old);
        size += new * new;
    }
    if moved == 0.0 {
        0.0
    } else {
        (moved / size).sqrt()
    }
}

/// The first `n` samples of strips of outputs as rows, clipped.
pub(crate) fn clipped_rows(out: &[Lane], n: usize, outputs: usize, bounds: Bounds) -> Vec<f64> {
    let mut rows = vec![0.0; n * outputs];
    Level::fastest().run(ClipRows {
        out,
        outputs,
        bounds,
        rows: &mut rows,
    });
    rows
}

/// As many samples of strips of outputs as there are rows to write, clipped.
struct ClipRows<'a> {
    out: &'a [Lane],
    outputs: usize,
    bounds: Bounds,
    rows: &'a mut [f64],
}

impl Kernel for ClipRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let (c, bounds) = (self.outputs, self.bounds);
        if c == 1 {
            for (to, f) in self.rows.iter_mut().zip(Lane::flatten(self.out)) {
                *to = f64::from(bounds.clip(*f));
            }
            return;
        }
        for (strip, rows) in self.out.chunks(c).zip(self.rows.chunks_mut(LANES * c)) {
            for (i, line) in strip.iter().enumerate() {
                for (to, f) in rows.iter_mut().skip(i).step_by(c).zip(line.0) {
                    *to = f64::from(bounds.clip(f));
                }
            }
        }
    }
}
