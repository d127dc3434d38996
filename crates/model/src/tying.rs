//! Single, Loop or Untied: how often the update is applied, and with which block.

use loopfit_numerics::named::Named;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the updates share their coefficients.
///
/// # Reference
/// Definition 2.1 (looped and untied representations) and Section F.4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase", deny_unknown_fields)]
pub enum Tying {
    /// One block, applied once.
    Single,
    /// One block, applied `t` times.
    Loop {
        /// The iteration count T.
        t: usize,
    },
    /// `t` separate blocks, each applied once.
    Untied {
        /// The iteration count T.
        t: usize,
    },
}

impl Tying {
    /// The iteration count T: how many updates are applied.
    pub fn iterations(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Loop { t } | Self::Untied { t } => t,
        }
    }

    /// How many separate blocks are fitted.
    pub fn blocks(self) -> usize {
        match self {
            Self::Single | Self::Loop { .. } => 1,
            Self::Untied { t } => t,
        }
    }

    /// The block that update number `iteration` (counted from zero) applies.
    pub fn block_at(self, iteration: usize) -> usize {
        match self {
            Self::Single | Self::Loop { .. } => 0,
            Self::Untied { .. } => iteration,
        }
    }

    /// The method, without its iteration count.
    pub fn method(self) -> Method {
        match self {
            Self::Single => Method::Single,
            Self::Loop { .. } => Method::Loop,
            Self::Untied { .. } => Method::Untied,
        }
    }
}

/// The three methods that the paper compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// One block, applied once.
    Single,
    /// One block, applied T times.
    Loop,
    /// T separate blocks.
    Untied,
}

impl Named for Method {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        self.key()
    }
}

impl Method {
    /// All methods, in the order in which the paper's tables list them.
    pub const ALL: [Self; 3] = [Self::Single, Self::Loop, Self::Untied];

    /// The lower-case name that files and JSON output use.
    pub fn key(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Loop => "loop",
            Self::Untied => "untied",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Single => "Single",
            Self::Loop => "Loop",
            Self::Untied => "Untied",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_iteration_has_a_block() {
        for (tying, blocks) in [
            (Tying::Single, vec![0]),
            (Tying::Loop { t: 3 }, vec![0, 0, 0]),
            (Tying::Untied { t: 3 }, vec![0, 1, 2]),
        ] {
            let applied: Vec<_> = (0..tying.iterations()).map(|i| tying.block_at(i)).collect();
            assert_eq!(applied, blocks);
            assert_eq!(tying.blocks(), blocks.iter().max().unwrap() + 1);
        }
    }

    #[test]
    fn json_uses_the_keys() {
        for method in Method::ALL {
            assert_eq!(serde_json::to_value(method).unwrap(), method.key());
        }
        assert_eq!(
            serde_json::to_string(&Tying::Loop { t: 16 }).unwrap(),
            r#"{"method":"loop","t":16}"#
        );
        assert_eq!(
            serde_json::from_str::<Tying>(r#"{"method":"single"}"#).unwrap(),
            Tying::Single
        );
    }
}
