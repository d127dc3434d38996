//! What is refused, in sentences.

/// Why something cannot be built or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A text that is no rational number.
    #[error("\"{0}\" is no rational number: write 3/4, -2 or 0.125")]
    Number(String),
    /// A program without phases.
    #[error("the program has no phase: it needs an absorbing halt at least")]
    EmptyProgram,
    /// A phase that breaks a rule of the language.
    #[error("phase \"{phase}\" is no instruction: {problem}")]
    Program {
        /// The phase's name.
        phase: String,
        /// Which rule.
        problem: String,
    },
    /// A branch signal that is neither zero nor one.
    #[error("the test in phase \"{phase}\" gave {signal}: it must be 0 or 1 in reachable states")]
    Test {
        /// The phase's name.
        phase: String,
        /// What the test gave.
        signal: String,
    },
    /// A preactivation that a gate would not silence.
    #[error(
        "{what} in phase \"{phase}\" reaches {size} over the register box, more than the gate {bound}: raise B to half of {size}"
    )]
    Preactivation {
        /// The phase's name.
        phase: String,
        /// Which form.
        what: String,
        /// Its largest magnitude.
        size: String,
        /// The gate's factor.
        bound: String,
    },
    /// A coefficient above the lemma's bound.
    #[error("phase \"{phase}\" has a coefficient of magnitude {size}, above B = {bound}: raise B")]
    Coefficient {
        /// The phase's name.
        phase: String,
        /// The magnitude.
        size: String,
        /// The bound.
        bound: String,
    },
    /// More units than the lemma promises.
    #[error("the program needs {units} hidden units, more than the {width} of Lemma D.4")]
    Width {
        /// The units it needs.
        units: usize,
        /// `P(4D + 2)`.
        width: usize,
    },
    /// An entry larger than the lemma promises.
    #[error("an entry of the compiled block is {size}, above the bound {bound} of Lemma D.4")]
    Entry {
        /// Its magnitude.
        size: String,
        /// The bound.
        bound: String,
    },
}
