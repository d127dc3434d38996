//! What is refused, in sentences.

use crate::calibration::BOUNDS;

/// Why a calculation cannot be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A constant that no theorem has.
    #[error("there is no constant `{name}`; those that can be set are {}", crate::Constants::names().join(", "))]
    UnknownConstant {
        /// The name as given.
        name: String,
    },
    /// A constant outside its range.
    #[error("the constant {name} is {value}: it must be a finite number {range}")]
    ConstantRange {
        /// Its name.
        name: &'static str,
        /// The value as given.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// The construction needs widths beyond counting.
    #[error(
        "the construction for d = {d}, s = {s} has more than 10^18 Taylor terms or units: choose a smaller s or d"
    )]
    Thresholds {
        /// The dimension.
        d: usize,
        /// The smoothness.
        s: f64,
    },
    /// A dimension of zero.
    #[error("the state dimension q and the hidden width r must be at least 1")]
    NoWidth,
    /// The count of a shape is beyond counting.
    #[error("q = {q}, r = {r} has more than 10^18 parameters: choose smaller widths")]
    ShapeTooLarge {
        /// The state dimension.
        q: u64,
        /// The hidden width.
        r: u64,
    },
    /// No hidden unit fits.
    #[error(
        "the budget {budget} holds no loop with q = {q}: with r = 1 it has {least} parameters; raise the budget or lower q"
    )]
    BudgetTooSmall {
        /// The cap.
        budget: u64,
        /// The state dimension.
        q: u64,
        /// What the narrowest loop needs.
        least: u128,
    },
    /// A number outside its range.
    #[error("{name} is {value}: it must be {range}")]
    Range {
        /// What it is.
        name: &'static str,
        /// The value as given.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// A bound of functions that is not a usable positive number.
    #[error("H = {0} is no bound of functions: give a number from {start} to {end}", start = BOUNDS.start(), end = BOUNDS.end())]
    Bound(f64),
}
