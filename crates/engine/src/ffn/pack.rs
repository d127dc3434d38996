//! Where each coefficient lies while a fit runs.
//!
//! The model's layout keeps one tensor after the other; the kernels want what is used
//! together to lie together: a row of an affine map beside its bias, and a hidden
//! unit's row of `W1`, its bias and its column of `W2` as `2q + 1` neighbours.

use crate::feedforward::Hidden;
use crate::order::Order;
use loopfit_model::{Activation, Network};
use loopfit_numerics::lanes::Level;
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
    pub(crate) activation: Activation,
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
            activation: network.activation(),
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

    /// Where the hidden layer of iteration `t` is kept: the last iteration comes first, so that what
    /// the backward pass meets in turn, and the sums over iterations add up, lies in ascending order.
    pub(crate) fn step_at(&self, t: usize) -> usize {
        self.iterations - 1 - t
    }

    /// Where the state `z_t` is kept: `z_T` comes first.
    pub(crate) fn state_at(&self, t: usize) -> usize {
        self.iterations - t
    }

    /// Whether hidden units are smooth.
    pub(crate) fn is_smooth(&self) -> bool {
        self.activation != Activation::Relu
    }

    /// The hidden layer of a block.
    pub(crate) fn hidden<'a>(&self, level: Level, params: &'a [f32], block: usize) -> Hidden<'a> {
        Hidden {
            level,
            units: &params[self.units(block)],
            q: self.q,
            r: self.r,
            activation: self.activation,
        }
    }

    fn block_len(&self) -> usize {
        self.r * (2 * self.q + 1) + self.q
    }

    /// `order[i]` is the place in the model's layout of packed coefficient `i`.
    pub(crate) fn order(&self, network: &Network) -> Vec<usize> {
        let mut order = Order::new(network);
        order.affine("input.weight", "input.bias");
        for block in 0..self.blocks {
            order.units(block);
            order.vector(&format!("block.{block}.b2"));
        }
        order.affine("output.weight", "output.bias");
        order.places
    }
}
