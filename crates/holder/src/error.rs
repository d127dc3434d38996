//! What is refused, in sentences.

use crate::bump::MAX_SMOOTHNESS;
use crate::code::MAX_LENGTH;
use loopfit_numerics::text::{integer, plain};

/// Why a Hölder class or something built from it cannot exist.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There is no function without inputs.
    #[error("the dimension d is 0: a function needs at least one input")]
    Dimension,
    /// The smoothness is not a positive number.
    #[error("the smoothness s is {}: it must be a positive number", plain(*.0))]
    Smoothness(f64),
    /// The bound is not a positive number.
    #[error("the bound H is {}: it must be a positive number", plain(*.0))]
    Bound(f64),
    /// More derivatives than anyone waits for.
    #[error(
        "derivatives up to order {k} with d = {d} at {} points would take minutes or more: take a smaller s, fewer inputs or fewer points",
        integer(*points as u64)
    )]
    Work {
        /// The highest order.
        k: usize,
        /// The number of inputs.
        d: usize,
        /// The points.
        points: usize,
    },
    /// Derivatives of the bump are too large to build with.
    #[error(
        "the smoothness s is {}: packings are built for s <= {MAX_SMOOTHNESS}; take a smaller one",
        plain(*.0)
    )]
    SmoothnessLimit(f64),
    /// A code that is empty or too long.
    #[error("a code of {0} places cannot be built: there must be 1 to {MAX_LENGTH}")]
    CodeLength(usize),
    /// A number that is not a message of a code.
    #[error(
        "there is no member {index}: the packing has 2^{bits} members, counted from 0, of which those below 2^64 can be named"
    )]
    Member {
        /// The number as given.
        index: u64,
        /// Bits of a message.
        bits: usize,
    },
    /// The radius is not a positive number.
    #[error("delta is {}: it must be a positive number", plain(*.0))]
    Delta(f64),
    /// The lemma is about smaller radii.
    #[error(
        "delta = {} is above delta_0 = {}, up to which Lemma C.3 holds here (m >= 1): take a smaller delta or a larger H",
        plain(*delta), plain(*delta_0)
    )]
    DeltaTooLarge {
        /// The radius as given.
        delta: f64,
        /// The largest one.
        delta_0: f64,
    },
    /// The grid of cells has more than any code has places.
    #[error(
        "delta = {} needs more than {MAX_LENGTH} cells, the longest code that is built: take delta above {}",
        plain(*delta), plain(*least)
    )]
    DeltaTooSmall {
        /// The radius as given.
        delta: f64,
        /// The infimum of those that work.
        least: f64,
    },
    /// Norms are too small or too large for their squares to be numbers of 64 bits.
    #[error(
        "delta_0 = {} is too far from one for squared norms to be computed: it must be between 1e-90 and 1e90; take {}",
        plain(*delta_0),
        if *delta_0 < 1.0 { "fewer inputs or a larger H" } else { "a smaller H" }
    )]
    Range {
        /// The largest radius.
        delta_0: f64,
    },
}
