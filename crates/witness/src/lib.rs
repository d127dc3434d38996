//! The networks that the proofs construct, compiled and run exactly.
//!
//! A proof becomes a program, the program a block, and the block an ordinary network:
//!
//! - [`rational`], [`arithmetic`], [`affine`]: exact numbers, the arithmetics that a block can run
//!   in, and affine forms;
//! - [`program`]: finite-state programs (registers, phases, assignments with hinges, branches), which
//!   print themselves;
//! - [`routines`]: writing them, with the counted routines of Section D.1.3;
//! - [`interpreter`]: running them directly, the oracle;
//! - [`compiler`]: Lemma D.4, from a program to units;
//! - [`block`]: a sparse residual ReLU block and running it;
//! - [`resolution`], [`target`], [`records`]: the constants of a resolution, what is approximated, and its
//!   Taylor coefficients as scalar codes;
//! - [`expression`]: targets as people write them;
//! - [`evaluator`]: the program that reads a code and evaluates the polynomial of the input's cell;
//! - [`ffn`]: the looped residual FFN of Theorem D.1;
//! - [`construction`]: a network of either architecture, from what is asked for to its runs;
//! - [`plan`]: which resolution given resources afford;
//! - [`transformer`]: the looped post-LN Transformer of Theorem E.1;
//! - [`precision`], [`l2_error`]: the studies, how many bits a network needs and how its error falls
//!   with the resolution, at [`points`] of the cube;
//! - [`golden`]: comparing with exact values from another program.

#![forbid(unsafe_code)]

pub mod affine;
pub mod arithmetic;
pub mod block;
pub mod compiler;
pub mod construction;
mod error;
pub mod evaluator;
pub mod expression;
pub mod ffn;
pub mod golden;
pub mod interpreter;
pub mod l2_error;
pub mod plan;
pub mod points;
pub mod precision;
pub mod program;
pub mod rational;
pub mod records;
pub mod resolution;
pub mod routines;
pub mod target;
pub mod transformer;

pub use affine::Affine;
pub use arithmetic::{Arithmetic, ArithmeticKind, BigFloat, Exact, F32, F64};
pub use block::{Block, Coordinate, Machine, Unit};
pub use compiler::{Compiler, Gate, Placement};
pub use construction::{Construction, Network};
pub use error::Error;
pub use evaluator::Evaluator;
pub use expression::Expression;
pub use interpreter::Interpreter;
pub use program::{Program, Register};
pub use rational::Rational;
pub use resolution::Resolution;
pub use routines::{Builder, Reader};
pub use target::{Polynomial, Target};
