//! What is refused, in sentences.

/// Why a Hölder class or something built from it cannot exist.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There is no function without inputs.
    #[error("the dimension d is 0: a function needs at least one input")]
    Dimension,
    /// The smoothness is not a positive number.
    #[error("the smoothness s is {0}: it must be a positive number")]
    Smoothness(f64),
    /// The bound is not a positive number.
    #[error("the bound H is {0}: it must be a positive number")]
    Bound(f64),
}
