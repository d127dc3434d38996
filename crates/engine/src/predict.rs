//! Outputs of a fitted network for many rows.

use crate::batches::to_strips;
use crate::program::Program;
use loopfit_model::{Bounds, Parameters};
use loopfit_numerics::lanes::{LANES, Lane, Level};
use rayon::prelude::*;

/// Rows that one task predicts: small enough for the cache, large enough to be worth a task.
const ROWS_AT_ONCE: usize = 2048;

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
        let program = Program::new(parameters.network(), Level::fastest());
        Self {
            params: program.pack(parameters),
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
            .for_each(|(rows, to)| {
                let mut x = Vec::new();
                to_strips(rows, d, &mut x);
                let mut out = vec![Lane::ZERO; x.len() / d * c];
                self.program.predict(&self.params, &x, &mut out);
                to.copy_from_slice(&clipped_rows(&out, rows.len() / d, c, self.bounds));
            });
        outputs
    }
}

/// The first `n` samples of strips of outputs as rows, clipped.
pub(crate) fn clipped_rows(out: &[Lane], n: usize, outputs: usize, bounds: Bounds) -> Vec<f64> {
    let mut rows = Vec::with_capacity(n * outputs);
    for i in 0..n {
        for c in 0..outputs {
            rows.push(f64::from(
                bounds.clip(out[i / LANES * outputs + c].0[i % LANES]),
            ));
        }
    }
    rows
}
