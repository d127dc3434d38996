//! The shapes that fit under a cap.

use crate::architecture::Architecture;
use crate::network::{LARGEST, Network, ShapeError};
use crate::tying::Tying;
use serde::Serialize;

/// A cap B on the number of distinct trainable scalars, for one architecture and
/// given numbers of inputs and outputs. At least one shape fits under it.
///
/// # Reference
/// Sections 2.1 and 3.2: `B_L(q, r) <= B` leaves the iteration count of a loop free, and
/// `I_U(B) = {(q, r, T): B_U(q, r, T) <= B}` is finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    b: usize,
    architecture: Architecture,
    d: usize,
    outputs: usize,
}

/// A shape of Single and of Loop with any iteration count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LoopShape {
    /// The state dimension.
    pub q: usize,
    /// The hidden width.
    pub r: usize,
    /// The parameter count, whatever the iteration count.
    pub count: usize,
}

/// A shape of Untied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UntiedShape {
    /// The state dimension.
    pub q: usize,
    /// The hidden width.
    pub r: usize,
    /// The iteration count, which is the number of blocks.
    pub t: usize,
    /// The parameter count.
    pub count: usize,
}

/// Why a budget or a shape under it is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// The numbers of inputs and outputs, the partition or the shape make no network.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// No shape fits.
    #[error(
        "budget {b} cannot hold any {architecture} for d = {d}{}: \
         the smallest{} needs {smallest} (q = {q}, r = 1); raise the budget",
        if *outputs == 1 { String::new() } else { format!(" and {outputs} outputs") },
        if *q == 1 { "" } else { " that depends on its inputs" }
    )]
    TooSmall {
        /// The cap.
        b: usize,
        /// The architecture's name.
        architecture: &'static str,
        /// The input dimension.
        d: usize,
        /// The number of outputs.
        outputs: usize,
        /// The smallest cap under which a shape fits.
        smallest: u128,
        /// The state dimension of that shape.
        q: usize,
    },
    /// The cap is beyond what is supported.
    #[error("budget {b} is too large: at most {LARGEST} is supported")]
    TooLarge {
        /// The cap.
        b: usize,
    },
    /// The shape does not fit.
    #[error("{network}, exceeds the budget {b}: choose a smaller shape or raise the budget")]
    Exceeded {
        /// The network, with its count.
        network: Box<Network>,
        /// The cap.
        b: usize,
    },
}

impl Budget {
    /// A cap that holds at least the smallest network.
    pub fn new(
        b: usize,
        architecture: Architecture,
        d: usize,
        outputs: usize,
    ) -> Result<Self, BudgetError> {
        architecture.check(d, outputs)?;
        if b > LARGEST {
            return Err(BudgetError::TooLarge { b });
        }
        let budget = Self {
            b,
            architecture,
            d,
            outputs,
        };
        match budget.holds(1) {
            Ok(()) => Ok(budget),
            // What a network needs that is worth having.
            Err(error) => Err(budget.useful().err().unwrap_or(error)),
        }
    }

    /// Whether a network fits that depends on its inputs, see [`Architecture::least_state`], or the error that says what it
    /// needs.
    pub fn useful(&self) -> Result<(), BudgetError> {
        self.holds(self.architecture.least_state())
    }

    /// Whether a network with state dimension `q` fits, or the error that says what it needs.
    pub fn holds(&self, q: usize) -> Result<(), BudgetError> {
        let smallest = self.architecture.count(self.d, self.outputs, q, 1, 1);
        if smallest <= self.b as u128 {
            return Ok(());
        }
        Err(BudgetError::TooSmall {
            b: self.b,
            architecture: match self.architecture {
                Architecture::Ffn => "residual FFN",
                Architecture::Transformer { .. } => "post-LN Transformer",
            },
            d: self.d,
            outputs: self.outputs,
            smallest,
            q,
        })
    }

    /// A cap for residual FFNs.
    pub fn ffn(b: usize, d: usize, outputs: usize) -> Result<Self, BudgetError> {
        Self::new(b, Architecture::Ffn, d, outputs)
    }

    /// The cap B itself.
    pub fn b(&self) -> usize {
        self.b
    }

    /// The architecture whose shapes are meant.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The input dimension.
    pub fn d(&self) -> usize {
        self.d
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The largest hidden width for state dimension `q` and `blocks` separate blocks
    /// (one for Single and Loop, T for Untied), if a width of one fits.
    ///
    /// # Formula
    /// `r = floor({(B - P_end) / k - f} / (2q + 1))`, where the network counts
    /// `P_end + k {f + (2q + 1) r}` (see [`Network::count`]).
    ///
    /// # Reference
    /// Section F.4.4: "the largest positive integer satisfying the cap".
    pub fn largest_r(&self, q: usize, blocks: usize) -> Option<usize> {
        if q == 0 || blocks == 0 || q > self.b || blocks > self.b {
            return None;
        }
        let endpoints = self.architecture.endpoint_count(self.d, self.outputs, q);
        let (fixed, slope) = self.architecture.block_count(q);
        let per_block = (self.b as u128).checked_sub(endpoints)? / blocks as u128;
        let r = per_block.checked_sub(fixed)? / slope;
        (r >= 1).then_some(r as usize)
    }

    /// For each state dimension that fits, the widest shape of Single and Loop.
    pub fn loop_shapes(&self) -> impl Iterator<Item = LoopShape> + '_ {
        (1..).map_while(|q| {
            let r = self.largest_r(q, 1)?;
            let count = self.count(q, r, 1);
            Some(LoopShape { q, r, count })
        })
    }

    /// For each state dimension and each `t >= 1` that fit, the widest shape of Untied.
    pub fn untied_shapes(&self) -> impl Iterator<Item = UntiedShape> + '_ {
        // A larger q or t never leaves more room, so the first misfit ends each range.
        (1..)
            .take_while(|&q| self.largest_r(q, 1).is_some())
            .flat_map(move |q| {
                (1..).map_while(move |t| {
                    let r = self.largest_r(q, t)?;
                    let count = self.count(q, r, t);
                    Some(UntiedShape { q, r, t, count })
                })
            })
    }

    /// Every admissible `(q, r, T)` of Untied, narrow ones included; those with `t = 1`
    /// are the admissible `(q, r)` of Single and Loop.
    ///
    /// # Reference
    /// `I_U(B)` in Section 3.2.
    pub fn admissible(&self) -> impl Iterator<Item = UntiedShape> + '_ {
        self.untied_shapes().flat_map(move |widest| {
            (1..=widest.r).map(move |r| UntiedShape {
                r,
                count: self.count(widest.q, r, widest.t),
                ..widest
            })
        })
    }

    /// The network of this shape, if it fits.
    pub fn network(&self, q: usize, r: usize, tying: Tying) -> Result<Network, BudgetError> {
        let architecture = self.architecture.clone();
        let network = Network::new(architecture, self.d, self.outputs, q, r, tying)?;
        if network.count() > self.b {
            let network = Box::new(network);
            return Err(BudgetError::Exceeded { network, b: self.b });
        }
        Ok(network)
    }

    fn count(&self, q: usize, r: usize, blocks: usize) -> usize {
        self.architecture.count(self.d, self.outputs, q, r, blocks) as usize
    }
}

#[cfg(test)]
mod tests;
