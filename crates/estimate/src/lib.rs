//! The best function that the rows of a table support, under a cap on its numbers.
//!
//! - [`Problem::select`]: affine functions and the networks of each method compete by cross-validation from fresh
//!   starts, with penalties by evidence;
//! - [`finish`]: the choice fitted to all rows;
//!
//! Inside: `candidates` enumerates networks under the cap, `ranking` says which inputs they read, `rounds` spreads the work, `climb` fits one network to
//! convergence (Levenberg-Marquardt, strengths of the penalty by evidence) on the `curvature` of its loss, which
//! `tape` computes eight `rows` at a time, and `honest` says how good the winner is.

#![forbid(unsafe_code)]

mod candidates;
mod choice;
mod climb;
mod curvature;
mod fit;
mod honest;
mod octet;
mod prior;
mod ranking;
pub mod reference;
mod rounds;
mod rows;
mod select;
mod stepwise;
mod tape;

pub use candidates::LOOP_ITERATIONS;
pub use choice::{Choice, Chosen, PREFERRED, Selection, by_row, paired};
pub use fit::finish;
pub use select::{Folds, Problem, Request, Watch};
