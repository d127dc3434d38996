//! What can be wrong with a formula.

use thiserror::Error;

/// Why a call of `tex!` has no formula.
#[derive(Debug, Error, PartialEq)]
pub(crate) enum Error {
    /// The argument is something else than a raw string.
    #[error(r#"tex! takes one raw string, but got `{0}`: write the formula as tex!(r"...")"#)]
    NoRawString(String),
    /// The converter does not understand the TeX.
    #[error(
        "tex! cannot read the formula `{tex}` at {place}: {reason}; correct it, or use other commands"
    )]
    Unreadable {
        /// The formula.
        tex: String,
        /// Where in the formula, in words.
        place: String,
        /// What the converter says.
        reason: String,
    },
}
