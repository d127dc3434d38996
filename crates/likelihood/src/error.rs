//! Every way in which a parameter, a target or an index can be wrong.

use crate::energy::{MAX_GRID_DIMENSION, MAX_NODES};
use crate::multiclass::MAX_CLASSES;
use crate::rejection::PATIENCE;
use crate::scalar::SCALES;

/// What is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A noise scale that is not a usable positive number.
    #[error("{name} = {value} is not a noise scale: give a number from {} to {}", SCALES.start(), SCALES.end())]
    Scale {
        /// The paper's name of the scale.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// Fewer than two classes, or more than a 32-bit float can number.
    #[error("a multiclass likelihood needs 2 to {MAX_CLASSES} classes, not {0}")]
    Classes(usize),
    /// An order of `rho_gamma` outside (0, 1].
    #[error("gamma = {0} is not an order of rho: give a number above 0 and at most 1")]
    Gamma(f64),
    /// A density on a space without coordinates.
    #[error("an energy model needs at least one coordinate: give d = 1 or more")]
    NoCoordinates,
    /// A grid in a dimension where grids are hopeless.
    #[error(
        "a midpoint grid serves up to {MAX_GRID_DIMENSION} coordinates, not {0}: use a low-discrepancy set"
    )]
    GridDimension(usize),
    /// No nodes, or more than memory should hold.
    #[error("a rule of {0} nodes cannot be used: choose a size with 1 to {MAX_NODES} nodes")]
    NodeCount(u128),
    /// A real target that is NaN or infinite.
    #[error("the target {0} is not a finite number: remove or impute it")]
    TargetNotFinite(f64),
    /// A binary target other than 0 and 1.
    #[error("the target {0} is neither 0 nor 1: encode the two classes as 0 and 1")]
    TargetNotBinary(f64),
    /// A target that is not a count.
    #[error("the target {0} is not a count: give a whole number, not below 0")]
    TargetNotCount(f64),
    /// A class number that does not exist.
    #[error("the target {value} is not a class: encode the {classes} classes as 0, 1, ..., {}", classes - 1)]
    TargetNotClass {
        /// What was given.
        value: f64,
        /// How many classes there are.
        classes: usize,
    },
    /// A wrong target, with its place.
    #[error("row {row}: {reason}")]
    Row {
        /// The row, counted from one.
        row: usize,
        /// What is wrong there.
        reason: Box<Error>,
    },
    /// Slices whose lengths do not belong together.
    #[error(
        "expected {expected} values of the index and got {got}: give one for each row and output, or for each node"
    )]
    Length {
        /// How many values were needed.
        expected: usize,
        /// How many there were.
        got: usize,
    },
    /// Targets given to a density model.
    #[error("an energy model has no target: use its own functions of data and node values")]
    NoTarget,
    /// A bound for rejection sampling that is NaN or infinite.
    #[error("the bound {0} of the index is not a finite number: give an upper bound of the index")]
    Bound(f64),
    /// An index above its bound: rejection would sample another law.
    #[error("the index takes the value {value}, above its bound {bound}: give a larger bound")]
    AboveBound {
        /// The value of the index.
        value: f64,
        /// The bound that was given.
        bound: f64,
    },
    /// An index that is NaN somewhere.
    #[error(
        "the index is not a number at some point of the cube: its parameters are broken, fit it again"
    )]
    IndexNotANumber,
    /// A bound so far above the index that nothing is accepted.
    #[error(
        "{PATIENCE} proposals in a row were rejected at the bound {0} of the index: a density so peaked cannot be drawn by rejection; fit it with a smaller bound"
    )]
    Hopeless(f64),
}
