//! How long to look.

use loopfit_numerics::named::Named;
use loopfit_search::{estimate, fit};

/// How long to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// Seconds.
    Quick,
    /// Half a minute on a few thousand rows.
    #[default]
    Standard,
    /// For the last percent.
    Strong,
    /// A stochastic search with this many updates of each method.
    Updates(usize),
}

/// Those with a name; a number of updates is written as such.
impl Named for Effort {
    const ALL: &'static [Self] = &[Self::Quick, Self::Standard, Self::Strong];

    fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Strong => "strong",
            Self::Updates(_) => "updates",
        }
    }
}

impl Effort {
    /// Updates of each method of a stochastic search.
    pub fn updates(self) -> usize {
        match self {
            Self::Quick => fit::QUICK,
            Self::Standard => fit::STANDARD,
            Self::Strong => fit::STRONG,
            Self::Updates(updates) => updates,
        }
    }

    /// Work of each method of a selection by cross-validation.
    pub fn work(self) -> f64 {
        match self {
            Self::Quick => estimate::QUICK,
            Self::Standard | Self::Updates(_) => estimate::STANDARD,
            Self::Strong => estimate::STRONG,
        }
    }
}
