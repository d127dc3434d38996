//! What is refused, in sentences.

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
}
