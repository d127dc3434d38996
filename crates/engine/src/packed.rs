//! What an engine on another device needs to know of a fit to have the bits of this one.

use crate::program::Program;
use crate::spec::{FitSpec, Start};
use loopfit_model::{Parameters, init};
use loopfit_numerics::lanes::Level;

/// The coefficients of a fit in the order of the kernels, which is that of their sums.
///
/// For the residual FFN the kernels take input rows (`d` weights and a bias each), blocks (`r` units of a row of `W1`, a
/// bias and a column of `W2`, then `b2`) and output rows (`q` weights and a bias each). Packed are those that the
/// network's form leaves free.
#[derive(Clone, Debug)]
pub struct Packed {
    program: Program,
}

impl Packed {
    /// The order for the network of a checked specification.
    pub fn new(spec: &FitSpec) -> Self {
        Self {
            program: Program::new(&spec.network, Level::fastest()),
        }
    }

    /// Where the fit starts, packed.
    pub fn start(&self, spec: &FitSpec) -> Vec<f32> {
        match &spec.start {
            Start::Fresh {
                outgoing_multiplier,
            } => self.program.pack(&init::fresh(
                &spec.network,
                *outgoing_multiplier,
                spec.stream.child("start"),
            )),
            Start::Given(parameters) => self.program.pack(parameters),
        }
    }

    /// Packed coefficients as parameters of the specification's network.
    ///
    /// # Panics
    /// If they are not as many, or not finite: no optimiser leaves such a checkpoint.
    pub fn parameters(&self, spec: &FitSpec, packed: &[f32]) -> Parameters {
        Parameters::new(spec.network.clone(), self.program.unpack(packed))
            .unwrap_or_else(|e| unreachable!("a clamped checkpoint is a valid model: {e}"))
    }

    /// The kernels' coefficients, zero where they are not fixed, and the places of the packed ones among them.
    pub fn places(&self) -> (Vec<f32>, Vec<usize>) {
        let len = self.program.len();
        let mut room = Vec::new();
        // Numbers that tell which is which.
        let numbered: Vec<f32> = vec![f32::NAN; len];
        let full = self.program.full(&numbered, &mut room);
        let free = full.iter().enumerate().filter(|(_, v)| v.is_nan());
        let places: Vec<usize> = free.map(|(place, _)| place).collect();
        let fixed = full.iter().map(|v| if v.is_nan() { 0.0 } else { *v });
        (fixed.collect(), places)
    }

    /// Which packed coefficients decide how far an update is from the identity: their rate differs.
    pub fn outgoing(&self) -> Vec<bool> {
        self.program.outgoing()
    }

    /// Strips of sixteen samples whose sums are taken together; a function of the shape alone.
    pub fn strips_at_once(&self, strips: usize) -> usize {
        self.program.strips_at_once(strips)
    }
}
