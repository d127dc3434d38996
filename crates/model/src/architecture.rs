//! The two architectures: what they count, and what the tokens of a Transformer read.

use crate::network::{ShapeError, check_dimension};
use loopfit_numerics::named::Named;
use serde::{Deserialize, Serialize};

/// The input-independent tokens of the Transformer: one controller, two references.
pub const CONSTANT_TOKENS: usize = 3;

/// Up to this many inputs, [`default_partition`] gives each its own data token.
const DEFAULT_TOKENS: usize = 8;

/// The two neural realisations of Section 3.2.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Architecture {
    /// The residual ReLU feedforward network.
    Ffn,
    /// The post-LN Transformer.
    Transformer {
        /// The sets `I_1, ..., I_M` of inputs (counted from zero) that the data tokens read.
        partition: Vec<Vec<usize>>,
    },
}

impl Architecture {
    /// A Transformer over the [`default_partition`] of `d` inputs.
    pub fn transformer(d: usize) -> Self {
        Self::Transformer {
            partition: default_partition(d),
        }
    }

    /// Which of the two it is.
    pub fn kind(&self) -> ArchitectureKind {
        match self {
            Self::Ffn => ArchitectureKind::Ffn,
            Self::Transformer { .. } => ArchitectureKind::Transformer,
        }
    }

    /// The number `N` of all tokens of a Transformer: the data tokens and the constant ones.
    ///
    /// # Formula
    /// `N = M + 3`.
    ///
    /// # Reference
    /// Section 3.2.
    pub fn tokens(&self) -> Option<usize> {
        match self {
            Self::Ffn => None,
            Self::Transformer { partition } => Some(tokens(partition)),
        }
    }

    /// The least state dimension with which a network depends on its inputs: layer normalisation leaves nothing of a token's
    /// row of one number, so that a Transformer with such rows is a constant.
    pub fn least_state(&self) -> usize {
        match self {
            Self::Ffn => 1,
            Self::Transformer { .. } => 2,
        }
    }

    /// The parameters outside the blocks: input and output function.
    ///
    /// # Formula
    /// FFN `q(d + 1) + C(q + 1)`; Transformer `q(d + N) + C(Nq + 1)` with
    /// `N = M + 3` tokens. With `C = 1` these are the paper's `q(d + 2) + 1` and
    /// `q(d + 2N) + 1`: only the output function depends on C, and it is affine on
    /// `R^{Nq}`, so C of them cost `C(Nq + 1)`.
    ///
    /// # Reference
    /// Table 1 (Section 3.2), Section F.4.2, `P_end` in Section E.2.1.
    pub(crate) fn endpoint_count(&self, d: usize, outputs: usize, q: usize) -> u128 {
        let (d, c, q) = (d as u128, outputs as u128, q as u128);
        match self {
            Self::Ffn => q * (d + 1) + c * (q + 1),
            Self::Transformer { partition } => {
                let n = tokens(partition) as u128;
                q * (d + n) + c * (n * q + 1)
            }
        }
    }

    /// The parameters of one block as `(fixed, slope)`, to be read as
    /// `fixed + slope r`.
    ///
    /// # Formula
    /// FFN `q + (2q + 1) r`; Transformer `4q^2 + 9q + (2q + 1) r`.
    ///
    /// # Reference
    /// Table 1 (Section 3.2), Section F.4.2, `P_block` in Section E.2.1.
    pub(crate) fn block_count(&self, q: usize) -> (u128, u128) {
        let q = q as u128;
        let fixed = match self {
            Self::Ffn => q,
            Self::Transformer { .. } => 4 * q * q + 9 * q,
        };
        (fixed, 2 * q + 1)
    }

    /// The parameters of a whole network with this many separate blocks: one for Single and
    /// Loop, T for Untied. Shapes beyond [`LARGEST`](crate::network::LARGEST) are counted too.
    ///
    /// # Formula
    /// `P_end + blocks (f + (2q + 1) r)`; see Table 1 (Section 3.2).
    pub fn count(&self, d: usize, outputs: usize, q: usize, r: usize, blocks: usize) -> u128 {
        let (fixed, slope) = self.block_count(q);
        self.endpoint_count(d, outputs, q) + blocks as u128 * (fixed + slope * r as u128)
    }

    /// Checks what does not depend on the shape: dimensions and partition.
    pub(crate) fn check(&self, d: usize, outputs: usize) -> Result<(), ShapeError> {
        for (name, value) in [("d", d), ("the number of outputs", outputs)] {
            check_dimension(name, value)?;
        }
        let Self::Transformer { partition } = self else {
            return Ok(());
        };
        check_partition(partition, d)
    }
}

/// The number of all tokens of a Transformer whose data tokens read these inputs, see [`Architecture::tokens`].
pub fn tokens(partition: &[Vec<usize>]) -> usize {
    partition.len() + CONSTANT_TOKENS
}

/// An architecture by its name, without tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArchitectureKind {
    /// [`Architecture::Ffn`].
    Ffn,
    /// [`Architecture::Transformer`].
    Transformer,
}

impl Named for ArchitectureKind {
    const ALL: &'static [Self] = &[Self::Ffn, Self::Transformer];

    /// The lower-case name that files, options and JSON output use.
    fn name(self) -> &'static str {
        match self {
            Self::Ffn => "ffn",
            Self::Transformer => "transformer",
        }
    }
}

/// Checks that every input belongs to one token and every token reads an input.
pub(crate) fn check_partition(partition: &[Vec<usize>], d: usize) -> Result<(), ShapeError> {
    let mut seen = vec![false; d];
    for (token, inputs) in partition.iter().enumerate() {
        if inputs.is_empty() {
            return Err(ShapeError::EmptyToken { token });
        }
        for &input in inputs {
            match seen.get_mut(input) {
                None => return Err(ShapeError::InputOutOfRange { token, input, d }),
                Some(true) => return Err(ShapeError::InputTwice { input }),
                Some(seen) => *seen = true,
            }
        }
    }
    match seen.iter().position(|&s| !s) {
        Some(input) => Err(ShapeError::InputUnused { input }),
        None => Ok(()),
    }
}

/// One data token for each input up to eight inputs, above that eight groups of
/// neighbouring inputs whose sizes differ by at most one.
pub fn default_partition(d: usize) -> Vec<Vec<usize>> {
    groups(d, d.min(DEFAULT_TOKENS))
}

/// `count` groups of neighbours among `d` inputs, whose sizes differ by at most one.
pub(crate) fn groups(d: usize, count: usize) -> Vec<Vec<usize>> {
    (0..count)
        .map(|j| (j * d / count..(j + 1) * d / count).collect())
        .collect()
}
