//! Which coefficients of a residual FFN are numbers of its own, and which are fixed.
//!
//! A change of basis of the state, `z -> M z`, leaves the function of a residual FFN as it is:
//! `(A, a)`, `W1`, `(W2, b2)` and `C` become `(M A, M a)`, `W1 M^-1`, `(M W2, M b2)` and `C M^-1`. A
//! shift of the state does the same with `b1` and the output's bias. So `q min(q, d)` coefficients of
//! the lift and its whole bias can be chosen once and for all: an identity block and zeros, which need
//! not be stored. [`Form::Canonical`] does that; the functions are the same (all of them whose lift has
//! full rank, which is all but a null set, and every other one as a limit). [`Parameters::to_paper`] and
//! [`Parameters::to_canonical`] go from one form to the other.
//!
//! Of several outputs, the scores of classes, the softmax sees differences alone: the last one can be zero, and its row of the output
//! function need not be stored either.
//!
//! A network in one of these forms may also read some of its inputs only ([`Network::reading`]): which ones is a choice, like a shape,
//! and costs no number. In the same way some of its numbers may be zeros ([`Network::with_zeros`]).
//!
//! [`Form::Carried`] is a subset of them: the inputs stay as they are and the block writes into extra channels alone, the
//! first of which are the outputs' own. [`Form::Affine`] has no block at all.

mod basis;

pub use basis::CanonicalError;

use crate::layout::View;
use crate::network::{Network, ShapeError};
use crate::parameters::Parameters;
use crate::tying::Tying;
use loopfit_numerics::named::Named;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which coefficients are fixed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// None: the paper's networks and counts.
    #[default]
    Paper,
    /// The lift begins with an identity block, has zeros below it and no bias; the last of several outputs is zero.
    Canonical,
    /// As canonical, with `q - extra` channels that the block reads and never writes; outputs read the
    /// first extra channels as they are.
    Carried {
        /// Channels that the block writes, zero at first.
        extra: usize,
    },
    /// No block: the output function on `q` combinations of the inputs, `q = d` for all of them.
    Affine,
}

/// A form that people can ask for, whatever network it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormKind {
    /// One without redundant parameters: [`Form::Canonical`], [`Form::Carried`] or [`Form::Affine`].
    Canonical,
    /// [`Form::Paper`].
    Paper,
}

impl Named for FormKind {
    const ALL: &'static [Self] = &[Self::Canonical, Self::Paper];

    fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Paper => "paper",
        }
    }
}

/// What stands at a place of the paper's layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slot {
    /// The coefficient with this index in the network's own layout.
    Free(usize),
    /// A number that is not stored.
    Fixed(f32),
}

impl Form {
    pub(crate) fn is_paper(&self) -> bool {
        *self == Self::Paper
    }

    /// Checks that networks of this shape have the form.
    pub(crate) fn check(self, network: &Network) -> Result<(), ShapeError> {
        let (d, q) = (network.inputs_read(), network.q());
        let fits = match self {
            Self::Paper | Self::Canonical => true,
            Self::Carried { extra } => (1..q).contains(&extra) && q - extra <= d,
            Self::Affine => q <= d && network.tying() == Tying::Single,
        };
        if fits {
            Ok(())
        } else {
            Err(ShapeError::Form { form: self, q, d })
        }
    }
}

/// `canonical`, `carried`, ...
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Paper => "paper",
            Self::Canonical => "canonical",
            Self::Carried { .. } => "carried",
            Self::Affine => "affine",
        })
    }
}

/// Sizes of the tensors of a network that is not in the paper's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// Inputs that are read.
    pub d: usize,
    /// Outputs that are not zero: one alone, or all but the last.
    pub outputs: usize,
    /// State.
    pub q: usize,
    /// Hidden units of a block; none of an affine function.
    pub r: usize,
    /// Channels of the state that begin as combinations of the inputs; the others begin at zero.
    pub carried: usize,
    /// Channels, the last ones, that blocks write.
    pub written: usize,
    /// Channels, the first ones, whose output weights are free.
    pub read: usize,
}

impl Reduced {
    /// The sizes of a network; none in the paper's form.
    pub fn of(network: &Network) -> Option<Self> {
        let (d, q) = (network.inputs_read(), network.q());
        let (carried, written, read) = match network.form() {
            Form::Paper => return None,
            Form::Canonical => (q.min(d), q, q),
            Form::Carried { extra } => (q - extra, extra, q - extra),
            Form::Affine => (q, 0, q),
        };
        Some(Self {
            d,
            outputs: Self::outputs_told(network.outputs()),
            q,
            r: network.r(),
            carried,
            written,
            read,
        })
    }

    /// How many of a network's outputs are not fixed at zero: classes are told apart by differences.
    pub fn outputs_told(outputs: usize) -> usize {
        outputs.saturating_sub(1).max(1)
    }

    /// Channels that block `i` reads: those that are zero before the first update need no weights
    /// there, unless later updates share them.
    pub fn reads(&self, tying: Tying, i: usize) -> usize {
        match tying {
            Tying::Loop { .. } => self.q,
            _ if i == 0 => self.carried,
            _ => self.q,
        }
    }

    /// Whether block `i` has an outgoing bias: the output's bias does the same for a last block of
    /// its own.
    pub fn has_bias(&self, tying: Tying, i: usize) -> bool {
        matches!(tying, Tying::Loop { .. }) || i + 1 < tying.blocks()
    }

    /// Rows of output weights of the extra channels: outputs beyond as many as there are channels.
    pub fn extra_rows(&self) -> usize {
        if self.read < self.q {
            self.outputs.saturating_sub(self.written)
        } else {
            0
        }
    }
}

impl Network {
    /// The same shape in the paper's form; an affine function gets a unit that does nothing.
    pub fn to_paper(&self) -> Self {
        let (d, outputs, q, r) = (self.d(), self.outputs(), self.q(), self.r().max(1));
        let architecture = self.architecture().clone();
        Self::new(architecture, d, outputs, q, r, self.tying())
            .and_then(|network| network.with_activation(self.activation()))
            .expect("a form is a part of the paper's network")
    }

    /// For each place of the layout of [`Network::to_paper`], what stands there.
    pub fn slots(&self) -> Vec<Slot> {
        let paper = self.to_paper();
        let layout = paper.layout();
        let Some(sizes) = Reduced::of(self) else {
            return (0..layout.len()).map(Slot::Free).collect();
        };
        let own = self.dense().layout();
        let zeros = self.zeros();
        let free = |name: &str, row: usize, col: usize| {
            let view = own.get(name).expect("a tensor of the form");
            let place = view.offset + row * view.cols + col;
            match zeros.binary_search(&place) {
                Ok(_) => Slot::Fixed(0.0),
                Err(before) => Slot::Free(place - before),
            }
        };
        // An input's place among those that are read.
        let place_of = |input: usize| match self.inputs() {
            Some(inputs) => inputs.iter().position(|i| *i == input),
            None => Some(input),
        };
        let one = |yes: bool| Slot::Fixed(f32::from(u8::from(yes)));
        let first_written = sizes.q - sizes.written;
        let at = |view: &View, row: usize, col: usize| -> Slot {
            let block = block_of(&view.name);
            match (view.name.rsplit('.').next(), block) {
                (Some("weight"), None) if view.name.starts_with("input") => match place_of(col) {
                    Some(col) if row < sizes.carried => match col.checked_sub(sizes.carried) {
                        Some(free_col) => free("input.weight", row, free_col),
                        None => one(row == col),
                    },
                    _ => Slot::Fixed(0.0),
                },
                (Some("weight" | "bias"), None)
                    if view.name.starts_with("output") && row >= sizes.outputs =>
                {
                    Slot::Fixed(0.0)
                }
                (Some("weight"), None) => {
                    if col < sizes.read {
                        return free("output.weight", row, col);
                    }
                    match row.checked_sub(sizes.written) {
                        Some(beyond) => free("output.extra", beyond, col - sizes.read),
                        None => one(row == col - sizes.read),
                    }
                }
                (Some("bias"), None) if view.name.starts_with("output") => {
                    free("output.bias", row, 0)
                }
                (Some("w1"), Some(i)) if sizes.r > 0 && col < sizes.reads(self.tying(), i) => {
                    free(&view.name, row, col)
                }
                (Some("b1"), Some(_)) if sizes.r > 0 => free(&view.name, row, 0),
                (Some("w2"), Some(_)) if sizes.r > 0 && row >= first_written => {
                    free(&view.name, row - first_written, col)
                }
                (Some("b2"), Some(i))
                    if sizes.r > 0 && row >= first_written && sizes.has_bias(self.tying(), i) =>
                {
                    free(&view.name, row - first_written, 0)
                }
                _ => Slot::Fixed(0.0),
            }
        };
        let mut slots = Vec::with_capacity(layout.len());
        for view in &layout {
            for row in 0..view.rows {
                slots.extend((0..view.cols).map(|col| at(view, row, col)));
            }
        }
        slots
    }
}

impl Parameters {
    /// The same function in the paper's form: fixed coefficients are written out. Exact.
    pub fn to_paper(&self) -> Self {
        if self.network().form().is_paper() {
            return self.clone();
        }
        let values = self.network().slots().into_iter().map(|slot| match slot {
            Slot::Free(i) => self.values()[i],
            Slot::Fixed(value) => value,
        });
        Self::new(self.network().to_paper(), values.collect()).expect("as many values as places")
    }
}

/// The number of the block that a tensor belongs to.
fn block_of(name: &str) -> Option<usize> {
    name.strip_prefix("block.")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
