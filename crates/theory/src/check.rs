//! Hypotheses of theorems, checked and said in words.

/// A hypothesis of a theorem or an inequality, checked for given numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its short name, e.g. `window`.
    pub name: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// The numbers that decide, and what would help where it fails.
    pub sentence: String,
}

impl Check {
    /// A checked hypothesis.
    pub fn new(name: &'static str, holds: bool, sentence: impl Into<String>) -> Self {
        Self {
            name,
            holds,
            sentence: sentence.into(),
        }
    }
}
