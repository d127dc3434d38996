//! A network ready to run: the kernels of its architecture behind one set of calls, and the
//! order in which they want the coefficients.
//!
//! A *strip* is sixteen samples, one per lane. All arrays are strip-major: line
//! `strip * width + i` holds coordinate `i` of the strip's sixteen samples.

use crate::feedforward::affine;
use crate::ffn::{self, Ffn};
use crate::transformer::{self, Transformer};
use loopfit_model::{Architecture, Form, Network, Parameters, Slot};
use loopfit_numerics::lanes::{Lane, Level};

#[cfg(test)]
mod tests;

/// What the forward pass leaves for the backward pass, for one group of strips.
#[derive(Debug, Default)]
pub(crate) struct Activations {
    ffn: ffn::Activations,
    transformer: transformer::Activations,
}

impl Activations {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.ffn.bytes() + self.transformer.bytes()
    }
}

/// A network of a fixed shape, ready to run at a level.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    network: Network,
    level: Level,
    kernels: Kernels,
    /// `order[i]` is the place in the model's layout of packed coefficient `i`.
    order: Vec<usize>,
    /// For a network that is not in the paper's form.
    reduction: Option<Reduction>,
}

/// How the packed coefficients of a network lie among those of its paper form, which the kernels
/// run.
#[derive(Clone, Debug)]
struct Reduction {
    /// All coefficients in the kernels' order; zero where they are not fixed.
    fixed: Vec<f32>,
    /// Those places, in ascending order.
    free: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Kernels {
    Ffn(Ffn),
    Transformer(Transformer),
}

impl Program {
    pub(crate) fn new(network: &Network, level: Level) -> Self {
        let paper = network.to_paper();
        let (kernels, mut order) = match network.architecture() {
            Architecture::Ffn => {
                let packing = ffn::pack::Packing::new(&paper);
                let order = packing.order(&paper);
                (Kernels::Ffn(Ffn::new(packing, level)), order)
            }
            Architecture::Transformer { partition } => {
                let packing = transformer::pack::Packing::new(network, partition);
                let order = packing.order(network);
                (
                    Kernels::Transformer(Transformer::new(packing, level)),
                    order,
                )
            }
        };
        let mut reduction = None;
        if network.form() != Form::Paper {
            let slots = network.slots();
            let mut of_form = Reduction {
                fixed: Vec::with_capacity(order.len()),
                free: Vec::with_capacity(network.count()),
            };
            let mut own = Vec::with_capacity(network.count());
            for (i, place) in order.iter().enumerate() {
                of_form.fixed.push(match slots[*place] {
                    Slot::Fixed(value) => value,
                    Slot::Free(place) => {
                        of_form.free.push(i);
                        own.push(place);
                        0.0
                    }
                });
            }
            order = own;
            reduction = Some(of_form);
        }
        Self {
            network: network.clone(),
            level,
            kernels,
            order,
            reduction,
        }
    }

    /// The instruction level that it runs at.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Number of coefficients, without those that the network's form fixes.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Number of inputs.
    pub(crate) fn d(&self) -> usize {
        self.network.d()
    }

    /// The iteration count T.
    pub(crate) fn iterations(&self) -> usize {
        self.network.tying().iterations()
    }

    /// Number of outputs.
    pub(crate) fn outputs(&self) -> usize {
        self.network.outputs()
    }

    /// Number of coefficients that the kernels take.
    pub(crate) fn full_len(&self) -> usize {
        match &self.reduction {
            Some(reduction) => reduction.fixed.len(),
            None => self.len(),
        }
    }

    /// Packed coefficients with the fixed ones in between, as the kernels take them; `room` is
    /// used where there are any.
    pub(crate) fn full<'a>(&self, packed: &'a [f32], room: &'a mut Vec<f32>) -> &'a [f32] {
        let Some(Reduction { fixed, free }) = &self.reduction else {
            return packed;
        };
        room.clone_from(fixed);
        for (place, value) in free.iter().zip(packed) {
            room[*place] = *value;
        }
        room
    }

    /// From one line for each of the kernels' coefficients to one for each packed coefficient and
    /// zeros.
    pub(crate) fn compact(&self, lines: &mut [Lane]) {
        if let Some(Reduction { free, .. }) = &self.reduction {
            for (i, place) in free.iter().enumerate() {
                lines[i] = lines[*place];
            }
            lines[free.len()..].fill(Lane::ZERO);
        }
    }

    /// The coefficients of this network, packed.
    pub(crate) fn pack(&self, parameters: &Parameters) -> Vec<f32> {
        let values = parameters.values();
        self.order.iter().map(|place| values[*place]).collect()
    }

    /// From the packed order to the model's.
    pub(crate) fn unpack(&self, packed: &[f32]) -> Vec<f32> {
        let mut values = vec![0.0; packed.len()];
        for (value, place) in packed.iter().zip(&self.order) {
            values[*place] = *value;
        }
        values
    }

    /// Marks the packed coefficients that decide how far an update is from the identity, whose
    /// learning rate differs.
    pub(crate) fn outgoing(&self) -> Vec<bool> {
        let mut outgoing = vec![false; self.len()];
        for view in &self.network.layout() {
            if view.role.at_identity().is_some() {
                outgoing[view.range()].fill(true);
            }
        }
        self.order.iter().map(|place| outgoing[*place]).collect()
    }

    /// How many of `strips` strips to take at once so that their activations fit the
    /// cache: a function of the shape alone, since it fixes the order of sums.
    pub(crate) fn strips_at_once(&self, strips: usize) -> usize {
        match &self.kernels {
            Kernels::Ffn(ffn) => ffn.strips_at_once(strips),
            Kernels::Transformer(transformer) => transformer.strips_at_once(strips),
        }
    }

    /// Outputs of samples, before clipping: `x` is `[strip][d]`, `out` is `[strip][C]`. Here and
    /// below, `params` are [`Program::full`].
    pub(crate) fn predict(&self, params: &[f32], x: &[Lane], out: &mut [Lane]) {
        match &self.kernels {
            Kernels::Ffn(ffn) => ffn.predict(params, x, out),
            Kernels::Transformer(transformer) => transformer.predict(params, x, out),
        }
    }

    /// As [`Program::predict`], keeping what [`Program::backward`] needs.
    pub(crate) fn forward(
        &self,
        params: &[f32],
        x: &[Lane],
        out: &mut [Lane],
        kept: &mut Activations,
    ) {
        match &self.kernels {
            Kernels::Ffn(ffn) => ffn.forward(params, x, out, &mut kept.ffn),
            Kernels::Transformer(transformer) => {
                transformer.forward(params, x, out, &mut kept.transformer);
            }
        }
    }

    /// The gradient of all coefficients, lane by lane, added to `acc` or written there: line `i` of `acc`
    /// belongs to coefficient `i` of `params`. `g_out` is the derivative in the outputs, `[strip][C]`;
    /// `x` and `kept` are those of the last [`Program::forward`].
    pub(crate) fn backward(
        &self,
        params: &[f32],
        x: &[Lane],
        g_out: &[Lane],
        kept: &mut Activations,
        (acc, add): (&mut [Lane], bool),
    ) {
        match &self.kernels {
            Kernels::Ffn(ffn) => ffn.backward(params, x, g_out, &mut kept.ffn, (acc, add)),
            Kernels::Transformer(transformer) => {
                if !add {
                    acc.fill(Lane::ZERO);
                }
                transformer.backward(params, x, g_out, &mut kept.transformer, acc);
            }
        }
    }

    /// The states of the last [`Program::forward`] of `strips` strips, from the input function's to
    /// the last, each `[strip][numbers]`.
    pub(crate) fn states<'a>(&self, kept: &'a Activations, strips: usize) -> Vec<&'a [Lane]> {
        let len = strips * self.state_len();
        match &self.kernels {
            Kernels::Ffn(_) => kept.ffn.states(len),
            Kernels::Transformer(_) => kept.transformer.states(len),
        }
    }

    /// Numbers in a state: `q`, or `Nq` of a Transformer.
    pub(crate) fn state_len(&self) -> usize {
        match &self.kernels {
            Kernels::Ffn(ffn) => ffn.packing.q,
            Kernels::Transformer(transformer) => transformer.packing.state(),
        }
    }

    /// The output function at states `[strip][numbers]`, before clipping.
    pub(crate) fn output(&self, params: &[f32], states: &[Lane], out: &mut [Lane]) {
        let width = self.state_len();
        // Both architectures pack the output function last.
        let rows = &params[params.len() - self.outputs() * (width + 1)..];
        affine(self.level, rows, states, width, out, self.outputs());
    }
}
