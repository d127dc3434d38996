//! Where each coefficient lies while a fit runs.

use crate::order::Order;
use loopfit_model::Network;
use loopfit_model::architecture::tokens;
use std::ops::Range;

/// The packed order of a Transformer's coefficients: for each data token its rows (inputs and
/// bias), the three constant tokens, blocks, output rows. A block has the rows of query, key and
/// value (`q + 1` each), those of the output projection, gain and bias of the first layer norm, the
/// hidden units (`2q + 1` each), `b2`, gain and bias of the second.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packing {
    pub(crate) d: usize,
    pub(crate) q: usize,
    pub(crate) r: usize,
    /// Number of tokens N, constant ones included.
    pub(crate) n: usize,
    pub(crate) outputs: usize,
    pub(crate) iterations: usize,
    pub(crate) blocks: usize,
    /// The inputs that each data token reads.
    pub(crate) partition: Vec<Vec<usize>>,
}

/// The parts of one block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Rows of query, key and value.
    pub(crate) qkv: Range<usize>,
    /// Rows of the output projection.
    pub(crate) out: Range<usize>,
    pub(crate) gain1: Range<usize>,
    pub(crate) bias1: Range<usize>,
    /// Hidden units.
    pub(crate) units: Range<usize>,
    pub(crate) b2: Range<usize>,
    pub(crate) gain2: Range<usize>,
    pub(crate) bias2: Range<usize>,
}

impl Packing {
    pub(crate) fn new(network: &Network, partition: &[Vec<usize>]) -> Self {
        Self {
            d: network.d(),
            q: network.q(),
            r: network.r(),
            n: tokens(partition),
            outputs: network.outputs(),
            iterations: network.tying().iterations(),
            blocks: network.tying().blocks(),
            partition: partition.to_vec(),
        }
    }

    /// Number of coefficients.
    pub(crate) fn len(&self) -> usize {
        self.output().end
    }

    /// Numbers in a state.
    pub(crate) fn state(&self) -> usize {
        self.n * self.q
    }

    /// Rows of all data tokens.
    fn data(&self) -> Range<usize> {
        0..self.q * (self.d + self.partition.len())
    }

    /// The constant tokens.
    pub(crate) fn constants(&self) -> Range<usize> {
        let start = self.data().end;
        start..start + (self.n - self.partition.len()) * self.q
    }

    /// The parts of the block that iteration `t` applies.
    pub(crate) fn block_at(&self, t: usize) -> Block {
        let (q, r) = (self.q, self.r);
        let block = if self.blocks == 1 { 0 } else { t };
        let mut end = self.constants().end + block * self.block_len();
        let mut next = |len: usize| {
            end += len;
            end - len..end
        };
        Block {
            qkv: next(3 * q * (q + 1)),
            out: next(q * (q + 1)),
            gain1: next(q),
            bias1: next(q),
            units: next(r * (2 * q + 1)),
            b2: next(q),
            gain2: next(q),
            bias2: next(q),
        }
    }

    /// Output rows.
    pub(crate) fn output(&self) -> Range<usize> {
        let start = self.constants().end + self.blocks * self.block_len();
        start..start + self.outputs * (self.state() + 1)
    }

    fn block_len(&self) -> usize {
        let q = self.q;
        4 * q * (q + 1) + self.r * (2 * q + 1) + 5 * q
    }

    /// `order[i]` is the place in the model's layout of packed coefficient `i`.
    pub(crate) fn order(&self, network: &Network) -> Vec<usize> {
        let mut order = Order::new(network);
        for token in 0..self.partition.len() {
            order.affine(
                &format!("input.{token}.weight"),
                &format!("input.{token}.bias"),
            );
        }
        for token in ["controller", "reference.0", "reference.1"] {
            order.vector(token);
        }
        for block in 0..self.blocks {
            let name = |part: &str| format!("block.{block}.{part}");
            for projection in ["query", "key", "value", "out"] {
                order.affine(
                    &name(&format!("{projection}.weight")),
                    &name(&format!("{projection}.bias")),
                );
            }
            order.vector(&name("ln1.gain"));
            order.vector(&name("ln1.bias"));
            order.units(block);
            order.vector(&name("b2"));
            order.vector(&name("ln2.gain"));
            order.vector(&name("ln2.bias"));
        }
        order.affine("output.weight", "output.bias");
        order.places
    }
}
