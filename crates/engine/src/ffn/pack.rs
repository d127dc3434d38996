//! Where each coefficient lies while a fit runs.
//!
//! The model's layout keeps one tensor after the other; the kernels want what is used
//! together to lie together: a row of an affine map beside its bias, and a hidden
//! unit's row of `W1`, its bias and its column of `W2` as `2q + 1` neighbours.

use loopfit_model::{Network, Parameters};
use std::ops::Range;

/// The packed order of a residual FFN's coefficients: input rows (`d + 1` each),
/// blocks (`r` units of `2q + 1`, then `b2`), output rows (`q + 1` each).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packing {
    pub(crate) d: usize,
    pub(crate) q: usize,
    pub(crate) r: usize,
    pub(crate) outputs: usize,
    pub(crate) iterations: usize,
    pub(crate) blocks: usize,
}

impl Packing {
    pub(crate) fn new(network: &Network) -> Self {
        Self {
            d: network.d(),
            q: network.q(),
            r: network.r(),
            outputs: network.outputs(),
            iterations: network.tying().iterations(),
            blocks: network.tying().blocks(),
        }
    }

    /// Number of coefficients.
    pub(crate) fn len(&self) -> usize {
        self.output().end
    }

    /// Input rows.
    pub(crate) fn input(&self) -> Range<usize> {
        0..self.q * (self.d + 1)
    }

    /// Hidden units of a block.
    pub(crate) fn units(&self, block: usize) -> Range<usize> {
        let start = self.input().end + block * self.block_len();
        start..start + self.r * (2 * self.q + 1)
    }

    /// `b2` of a block.
    pub(crate) fn b2(&self, block: usize) -> Range<usize> {
        let start = self.units(block).end;
        start..start + self.q
    }

    /// Output rows.
    pub(crate) fn output(&self) -> Range<usize> {
        let start = self.input().end + self.blocks * self.block_len();
        start..start + self.outputs * (self.q + 1)
    }

    /// Which block iteration `t` applies.
    pub(crate) fn block_at(&self, t: usize) -> usize {
        if self.blocks == 1 { 0 } else { t }
    }

    fn block_len(&self) -> usize {
        self.r * (2 * self.q + 1) + self.q
    }

    /// `order[i]` is the place in the model's layout of packed coefficient `i`.
    fn order(&self, network: &Network) -> Vec<usize> {
        let layout = network.layout();
        let at = |name: &str| {
            layout
                .get(name)
                .map_or_else(|| unreachable!("FFN layout has {name}"), |v| v.offset)
        };
        let mut order = Vec::with_capacity(self.len());
        let rows =
            |order: &mut Vec<usize>, weight: usize, bias: usize, rows: usize, cols: usize| {
                for row in 0..rows {
                    order.extend((0..cols).map(|col| weight + row * cols + col));
                    order.push(bias + row);
                }
            };
        rows(
            &mut order,
            at("input.weight"),
            at("input.bias"),
            self.q,
            self.d,
        );
        for block in 0..self.blocks {
            let [w1, b1, w2, b2] =
                ["w1", "b1", "w2", "b2"].map(|n| at(&format!("block.{block}.{n}")));
            for j in 0..self.r {
                order.extend((0..self.q).map(|k| w1 + j * self.q + k));
                order.push(b1 + j);
                order.extend((0..self.q).map(|k| w2 + k * self.r + j));
            }
            order.extend((0..self.q).map(|k| b2 + k));
        }
        rows(
            &mut order,
            at("output.weight"),
            at("output.bias"),
            self.outputs,
            self.q,
        );
        order
    }

    /// From the model's order to the packed one.
    pub(crate) fn pack(&self, network: &Network, values: &[f32]) -> Vec<f32> {
        self.order(network).into_iter().map(|i| values[i]).collect()
    }

    /// From the packed order to the model's.
    pub(crate) fn unpack(&self, network: &Network, packed: &[f32]) -> Vec<f32> {
        let mut values = vec![0.0; packed.len()];
        for (from, to) in self.order(network).into_iter().enumerate() {
            values[to] = packed[from];
        }
        values
    }

    /// The parameters of a checked model, packed.
    pub(crate) fn pack_parameters(&self, parameters: &Parameters) -> Vec<f32> {
        self.pack(parameters.network(), parameters.values())
    }

    /// Marks the outgoing weights and biases (`W2`, `b2`), whose learning rate differs.
    pub(crate) fn outgoing(&self) -> Vec<bool> {
        let mut outgoing = vec![false; self.len()];
        for block in 0..self.blocks {
            for unit in outgoing[self.units(block)].chunks_exact_mut(2 * self.q + 1) {
                unit[self.q + 1..].fill(true);
            }
            outgoing[self.b2(block)].fill(true);
        }
        outgoing
    }
}
