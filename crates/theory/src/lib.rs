//! What the paper proves, as calculators.
//!
//! - [`rate`]: exponents and powers of the logarithm (Theorems 4.2, 4.4, 4.5, Proposition 4.3);
//! - [`calibration`]: the constants of the metric equivalence, explicit (Proposition 3.2);
//! - [`distance`]: distances between laws, with the inequalities of the calibration checked on them;
//! - [`function`]: what is compared, and on which box;
//! - [`integral`]: integrals over the unit cube, with their errors;
//! - [`constants`]: the constants that the theorems leave open, set to one unless given;
//! - [`problem`]: a smoothness, an architecture and constants, with exact counts;
//! - [`thresholds`]: from which widths on the constructions of the proofs exist;
//! - [`schedule`]: iterations and widths at a sample size (Theorems 4.4 and 4.5);
//! - [`bound`]: the loop's risk bound term by term (Theorem 4.1), and where it meets the untied floor;
//! - [`sensitivity`]: how much an output can change with the coefficients, all constants explicit (Lemma C.4);
//! - [`entropy`]: covers, brackets, the critical radius, the union of untied shapes (Proposition 3.4);
//! - [`fano`]: the minimax lower bound with every constant explicit (Theorem 4.2);
//! - [`floor`]: the untied floor with every constant explicit (Theorem 2.6);
//! - [`oracle`]: the terms of the oracle inequality at one estimate (Corollary 2.4);
//! - [`packing`]: what was verified of a packing of the Hölder class (Lemma C.3);
//! - [`check`]: a hypothesis, whether it holds, and a sentence that says so.
//!
//! Numbering is that of the paper: equations (1) to (23) in the text, (S1) and up in the
//! appendices.

#![forbid(unsafe_code)]

pub mod bound;
pub mod calibration;
pub mod check;
pub mod constants;
pub mod distance;
pub mod entropy;
mod error;
pub mod fano;
pub mod floor;
pub mod function;
pub mod integral;
pub mod oracle;
pub mod packing;
pub mod problem;
pub mod rate;
pub mod schedule;
pub mod sensitivity;
pub mod thresholds;

pub use calibration::{Calibration, LikelihoodKind, LikelihoodModel};
pub use check::Check;
pub use constants::{Constant, Constants};
pub use distance::{Distances, LogMeasured, Measured};
pub use error::Error;
pub use function::{Domain, Function, FunctionError, Interval, Origin};
pub use integral::{Cubature, CubatureKind, Integration};
pub use oracle::Oracle;
pub use problem::{LoopClass, Problem, Widths};
pub use rate::Rates;
pub use schedule::{FirstWidths, FixedBudget, GrowingBudget, fixed_order};
pub use sensitivity::Sensitivity;
pub use thresholds::Thresholds;
