//! Where each tensor lies in the one flat vector of coefficients.

use crate::architecture::{Architecture, tokens};
use crate::form::Reduced;
use crate::network::Network;
use std::ops::Range;

/// The tensor that holds the numbers of a network of which some are zeros.
const VALUES: &str = "values";

/// What a tensor is, as far as its start and its learning rate are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The matrix of an affine map.
    Weight,
    /// The bias of an affine map.
    Bias,
    /// `W2`, or the output projection of attention: what carries an increment into the state.
    OutgoingWeight,
    /// The bias of such an increment.
    OutgoingBias,
    /// A constant token of the Transformer.
    Token,
    /// The gain of a layer normalisation.
    Gain,
    /// The bias of a layer normalisation.
    Shift,
}

impl Role {
    /// For a coefficient that decides how far an update is from the identity: its value in the
    /// update that leaves the state (of a Transformer: normalised rows) as it is.
    pub fn at_identity(self) -> Option<f32> {
        match self {
            Self::OutgoingWeight | Self::OutgoingBias | Self::Shift => Some(0.0),
            Self::Gain => Some(1.0),
            Self::Weight | Self::Bias | Self::Token => None,
        }
    }
}

/// One tensor: its name, its shape and its place. Matrices are row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The name, as in model files: `input.weight`, `block.0.w1`, ...
    pub name: String,
    /// The number of rows of a matrix, or the length of a vector.
    pub rows: usize,
    /// The number of columns of a matrix, 1 for a vector.
    pub cols: usize,
    /// One for a vector, two for a matrix.
    pub rank: usize,
    /// Where the tensor starts in the flat vector.
    pub offset: usize,
    /// How many numbers the affine map that the tensor belongs to reads.
    pub fan_in: usize,
    /// What the tensor is.
    pub role: Role,
}

impl View {
    /// The number of coefficients.
    pub fn size(&self) -> usize {
        self.rows * self.cols
    }

    /// The places of the coefficients in the flat vector.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.size()
    }

    /// The shape: one number for a vector, two for a matrix.
    pub fn shape(&self) -> Vec<usize> {
        match self.rank {
            1 => vec![self.rows],
            _ => vec![self.rows, self.cols],
        }
    }
}

/// The tensors of a network, in the order of the flat vector and without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    views: Vec<View>,
}

impl Layout {
    /// The layout of a network: input function, blocks, output function; one vector if some of its numbers are zeros.
    pub fn new(network: &Network) -> Self {
        Self {
            views: views(network).collect(),
        }
    }

    /// The length of the flat vector; equal to [`Network::count`].
    #[allow(clippy::len_without_is_empty, reason = "no network has no parameters")]
    pub fn len(&self) -> usize {
        self.views.last().map_or(0, |view| view.range().end)
    }

    /// The tensor with this name.
    pub fn get(&self, name: &str) -> Option<&View> {
        self.views.iter().find(|view| view.name == name)
    }

    /// The tensors in order.
    pub fn iter(&self) -> std::slice::Iter<'_, View> {
        self.views.iter()
    }
}

impl<'a> IntoIterator for &'a Layout {
    type Item = &'a View;
    type IntoIter = std::slice::Iter<'a, View>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The tensors of a network one after the other. Lazy, so that a file that claims
/// a huge network is found out at its first missing tensor.
pub(crate) fn views(network: &Network) -> impl Iterator<Item = View> + '_ {
    let blocks = network.tying().blocks();
    let (q, outputs) = (network.q(), network.outputs());
    let state = match network.architecture() {
        Architecture::Ffn => q,
        Architecture::Transformer { partition } => tokens(partition) * q,
    };
    let sparse = !network.zeros().is_empty();
    let reduced = Reduced::of(network);
    let mut offset = 0;
    let (first, last) = match reduced {
        _ if sparse => {
            let count = network.dense().count() - network.zeros().len();
            (vec![vector(VALUES, count, count, Role::Weight)], Vec::new())
        }
        Some(sizes) => (reduced_input(sizes), reduced_output(sizes)),
        None => (
            input(network),
            affine("output.weight", "output.bias", outputs, state).into(),
        ),
    };
    let block = move |i| match reduced {
        Some(sizes) => reduced_block(network, sizes, i),
        None => block(network, i),
    };
    let blocks = if sparse { 0 } else { blocks };
    first
        .into_iter()
        .chain((0..blocks).flat_map(block))
        .chain(last)
        .filter(|view| view.size() > 0)
        .map(move |view| {
            let placed = View { offset, ..view };
            offset += placed.size();
            placed
        })
}

fn input(network: &Network) -> Vec<View> {
    let (d, q) = (network.d(), network.q());
    match network.architecture() {
        Architecture::Ffn => affine("input.weight", "input.bias", q, d).into(),
        Architecture::Transformer { partition } => {
            let data = partition.iter().enumerate().flat_map(|(j, inputs)| {
                let (weight, bias) = (format!("input.{j}.weight"), format!("input.{j}.bias"));
                affine(&weight, &bias, q, inputs.len())
            });
            let constant = ["controller", "reference.0", "reference.1"]
                .map(|name| vector(name, q, q, Role::Token));
            data.chain(constant).collect()
        }
    }
}

fn block(network: &Network, i: usize) -> Vec<View> {
    let (q, r) = (network.q(), network.r());
    let name = |part: &str| format!("block.{i}.{part}");
    let [w1, b1] = affine(&name("w1"), &name("b1"), r, q);
    let [w2, b2] = outgoing(affine(&name("w2"), &name("b2"), q, r));
    let feedforward = [w1, b1, w2, b2];
    if *network.architecture() == Architecture::Ffn {
        return feedforward.into();
    }
    let norm = |ln: &str| {
        [("gain", Role::Gain), ("bias", Role::Shift)]
            .map(|(part, role)| vector(&name(&format!("{ln}.{part}")), q, q, role))
    };
    let projection = |p: &str| {
        let (weight, bias) = (name(&format!("{p}.weight")), name(&format!("{p}.bias")));
        affine(&weight, &bias, q, q)
    };
    let attention = ["query", "key", "value"].into_iter().flat_map(projection);
    attention
        .chain(outgoing(projection("out")))
        .chain(norm("ln1"))
        .chain(feedforward)
        .chain(norm("ln2"))
        .collect()
}

fn reduced_input(sizes: Reduced) -> Vec<View> {
    let Reduced { d, carried, .. } = sizes;
    let [weight, _] = affine("input.weight", "", carried, d - carried);
    vec![View {
        fan_in: d,
        ..weight
    }]
}

fn reduced_block(network: &Network, sizes: Reduced, i: usize) -> Vec<View> {
    let name = |part: &str| format!("block.{i}.{part}");
    let reads = sizes.reads(network.tying(), i);
    let [w1, b1] = affine(&name("w1"), &name("b1"), sizes.r, reads);
    let [w2, mut b2] = outgoing(affine(&name("w2"), &name("b2"), sizes.written, sizes.r));
    if !sizes.has_bias(network.tying(), i) || sizes.r == 0 {
        b2.rows = 0;
    }
    vec![w1, b1, w2, b2]
}

fn reduced_output(sizes: Reduced) -> Vec<View> {
    let [weight, bias] = affine("output.weight", "output.bias", sizes.outputs, sizes.read);
    let [extra, _] = affine("output.extra", "", sizes.extra_rows(), sizes.written);
    vec![weight, extra, bias]
}

/// The matrix and the bias of an affine map; the offsets come later.
fn affine(weight: &str, bias: &str, rows: usize, cols: usize) -> [View; 2] {
    [
        View {
            name: weight.to_owned(),
            rows,
            cols,
            rank: 2,
            offset: 0,
            fan_in: cols,
            role: Role::Weight,
        },
        vector(bias, rows, cols, Role::Bias),
    ]
}

/// The matrix and the bias as those of an increment.
fn outgoing([weight, bias]: [View; 2]) -> [View; 2] {
    let as_role = |view: View, role| View { role, ..view };
    [
        as_role(weight, Role::OutgoingWeight),
        as_role(bias, Role::OutgoingBias),
    ]
}

fn vector(name: &str, rows: usize, fan_in: usize, role: Role) -> View {
    View {
        name: name.to_owned(),
        rows,
        cols: 1,
        rank: 1,
        offset: 0,
        fan_in,
        role,
    }
}

#[cfg(test)]
mod tests;
