//! What is refused, in sentences.

use loopfit_numerics::text::count;

/// Why something cannot be built or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A text that is not a rational number.
    #[error("\"{0}\" is not a rational number: write 3/4, -2, 0.125 or 1e-5")]
    Number(String),
    /// A program without phases.
    #[error("the program has no phase: it needs an absorbing halt at least")]
    EmptyProgram,
    /// A phase that breaks a rule of the language.
    #[error("phase \"{phase}\" is not an instruction: {problem}")]
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
    /// There is no function without inputs.
    #[error("the dimension d is 0: a target needs at least one input")]
    Dimension,
    /// So many inputs that the coarsest grid has too many cells.
    #[error(
        "d = {d} inputs are too many: even the coarsest grid has 2^{d} cells; at most {largest} are possible"
    )]
    Inputs {
        /// What was asked for.
        d: usize,
        /// The most.
        largest: usize,
    },
    /// A number that must be positive and is not.
    #[error("{name} is {value}: it must be above 0")]
    NotPositive {
        /// Which number.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// A resolution that is none, or too fine to be written down.
    #[error("the resolution m is {m}: for d = {d} it must be between 1 and {largest}")]
    Level {
        /// What was asked for.
        m: usize,
        /// The number of inputs.
        d: usize,
        /// The largest that is built.
        largest: usize,
    },
    /// Too many Taylor terms.
    #[error("d = {d} and s = {s} need too many Taylor terms to build a network: take a smaller s")]
    Terms {
        /// The number of inputs.
        d: usize,
        /// The smoothness.
        s: String,
    },
    /// More groups than cells.
    #[error("the group exponent u is {u}: it must be at most m = {m}, where every cell is a group")]
    Groups {
        /// What was asked for.
        u: usize,
        /// The resolution.
        m: usize,
    },
    /// A grid, codes or groups that would take minutes and gigabytes.
    #[error(
        "the network is too large to build: {count} {what}, and at most {most} are possible; take a smaller m{}",
        if *groups { " or u" } else { " or fewer inputs" }
    )]
    Size {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: u128,
        /// The most.
        most: u128,
        /// Whether fewer groups would help.
        groups: bool,
    },
    /// A monomial over other inputs than the polynomial's.
    #[error(
        "a monomial has {found} exponents, but the polynomial has d = {d} inputs: give one for each"
    )]
    Exponents {
        /// The exponents given.
        found: usize,
        /// The number of inputs.
        d: usize,
    },
    /// A derivative that is infinite or NaN.
    #[error("the derivative {derivative} of the target at {point} is not a number")]
    NoNumber {
        /// The orders.
        derivative: String,
        /// Where.
        point: String,
    },
    /// A target with other inputs than the class.
    #[error("the target has {found} inputs, but d = {d} was asked for: take d = {found}")]
    TargetDimension {
        /// The target's.
        found: usize,
        /// What was asked for.
        d: usize,
    },
    /// A target outside the class.
    #[error(
        "the target is outside its class: {what} reaches {least} at {point}, beyond H = {h}; take H of at least {least}"
    )]
    OutsideClass {
        /// The value or a derivative.
        what: String,
        /// Where.
        point: String,
        /// Its magnitude there, the largest at corners and centres of cells.
        least: String,
        /// The bound.
        h: String,
    },
    /// A count or bound that does not come out as stated.
    #[error("{name} should be {stated} by {formula}, but {built} was built")]
    Resource {
        /// What it is.
        name: &'static str,
        /// Its formula.
        formula: &'static str,
        /// What the formula gives.
        stated: String,
        /// What was counted.
        built: String,
    },
    /// An input with too few or too many entries.
    #[error(
        "the input has {}, but the network has d = {d}: give one number for each",
        count(*found, "number")
    )]
    InputCount {
        /// The entries given.
        found: usize,
        /// The number of inputs.
        d: usize,
    },
    /// An input outside the cube.
    #[error("the input {0} is outside [0, 1], where the target lives")]
    OutsideCube(String),
    /// A run that left the range of its floats.
    #[error("the run has left the range of its floats: take an arithmetic with more bits")]
    Overflow,
    /// A run whose floats are too short.
    #[error("{0}")]
    TooFine(Box<crate::construction::run::TooFine>),
    /// A network that is right even where it does nothing.
    #[error(
        "the network returns zero at every input tried at m = {m}, as one that does nothing would: take a target with larger values, a smaller H or a larger m"
    )]
    NoTrialInput {
        /// The resolution.
        m: usize,
    },
    /// A state dimension below the threshold.
    #[error("the state dimension q is {q}: the construction needs at least {least}")]
    StateDimension {
        /// What was asked for.
        q: usize,
        /// The threshold.
        least: usize,
    },
    /// A hidden width below the threshold.
    #[error("the hidden width r is {r}: the construction needs at least {least}")]
    HiddenWidth {
        /// What was asked for.
        r: usize,
        /// The threshold.
        least: usize,
    },
    /// A network that cannot be written as a model.
    #[error("the network is not a model: {0}")]
    Shape(String),
    /// A golden file that cannot be understood.
    #[error("the golden file cannot be compared: {0}")]
    Golden(String),
    /// A formula that cannot be read.
    #[error("cannot read `{text}` at character {place}: expected {expected}")]
    Expression {
        /// The formula.
        text: String,
        /// Where, counted from one in bytes.
        place: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// A function that formulas do not have.
    #[error("there is no function `{name}`: inputs are x1, x2, ... and the functions {known}")]
    ExpressionName {
        /// The name as given.
        name: String,
        /// The functions that there are.
        known: String,
    },
    /// A formula with more inputs than asked for.
    #[error("the formula has the input x{needed} and d is {d}: give a larger d or leave it out")]
    ExpressionInputs {
        /// The inputs asked for.
        d: usize,
        /// The last one named.
        needed: usize,
    },
    /// Fewer iterations than the coarsest grid needs.
    #[error("{iterations} iterations are too few: the coarsest grid needs {least} at this width")]
    Iterations {
        /// What was asked for.
        iterations: usize,
        /// What would do.
        least: usize,
    },
    /// A point at which the program does not end in time.
    #[error(
        "the program has not finished after {iterations} iterations: take an input further than {width} from every cell's face and bit"
    )]
    Unfinished {
        /// When it should have.
        iterations: usize,
        /// The half-width of the strips around faces.
        width: String,
    },
    /// More mantissa bits were of no help.
    #[error(
        "{bits} mantissa bits do not settle the output: take an input further from the cells' faces"
    )]
    Precision {
        /// The most that was tried.
        bits: usize,
    },
}
