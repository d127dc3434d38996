//! Outputs of a fitted network for one row at a time.

use crate::ffn;
use crate::program::Program;
use crate::transformer;
use loopfit_model::{Architecture, Bounds, Parameters};
use loopfit_numerics::lanes::Level;

/// A network laid out for predictions of single rows: lanes hold hidden units or tokens, so
/// that one row does not pay for fifteen idle ones.
///
/// Sums may run in another order than in batch prediction, so the last bits of an output
/// may differ from [`crate::Predictor`]'s.
#[derive(Clone, Debug)]
pub struct RowPredictor {
    d: usize,
    outputs: usize,
    bounds: Bounds,
    kernels: Kernels,
}

#[derive(Clone, Debug)]
enum Kernels {
    Ffn(ffn::RowPredictor),
    Transformer(Box<transformer::RowPredictor>),
}

impl RowPredictor {
    /// Prepares a model for single rows at the machine's fastest level.
    pub fn new(parameters: &Parameters, bounds: Bounds) -> Self {
        Self::at_level(parameters, bounds, Level::fastest())
    }

    /// As [`RowPredictor::new`] at a given level, for tests and benchmarks.
    pub fn at_level(parameters: &Parameters, bounds: Bounds, level: Level) -> Self {
        let network = parameters.network();
        let program = Program::new(network, level);
        let packed = program.pack(parameters);
        let packed = program.full(&packed, &mut Vec::new()).to_vec();
        let kernels = match network.architecture() {
            Architecture::Ffn => {
                let packing = ffn::pack::Packing::new(&network.to_paper());
                Kernels::Ffn(ffn::RowPredictor::new(packing, level, &packed))
            }
            Architecture::Transformer { partition } => {
                let packing = transformer::pack::Packing::new(network, partition);
                let predictor = transformer::RowPredictor::new(packing, level, packed);
                Kernels::Transformer(Box::new(predictor))
            }
        };
        Self {
            d: network.d(),
            outputs: network.outputs(),
            bounds,
            kernels,
        }
    }

    /// Clipped outputs for one row.
    pub fn predict(&mut self, x: &[f32], out: &mut [f32]) {
        assert_eq!(
            (x.len(), out.len()),
            (self.d, self.outputs),
            "row and output lengths"
        );
        match &mut self.kernels {
            Kernels::Ffn(ffn) => ffn.predict(x, out),
            Kernels::Transformer(transformer) => transformer.predict(x, out),
        }
        for out in out {
            *out = self.bounds.clip(*out);
        }
    }
}
