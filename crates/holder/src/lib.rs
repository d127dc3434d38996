//! The target family of the paper: Hölder classes, membership in them, and packings.
//!
//! - [`class`]: the class itself (Definition 3.1);
//! - [`differentiable`]: functions with derivatives, exact or by finite differences;
//! - [`taylor`]: how many ordered Taylor terms there are;
//! - [`membership`]: whether a function is in a class, as far as sampling can tell;
//! - [`bump`]: the smooth bump with integral zero, and the scale that puts it into a class;
//! - [`code`]: binary codes whose words differ in an eighth of their places;
//! - [`packing`]: the packing of Lemma C.3, with functions that can be evaluated;
//! - [`verification`]: the lemma's assertions, verified for a packing.

#![forbid(unsafe_code)]

pub mod bump;
pub mod class;
pub mod code;
pub mod differentiable;
mod error;
pub mod membership;
pub mod packing;
pub mod taylor;
pub mod verification;

pub use bump::Bump;
pub use class::{HolderClass, Smoothness};
pub use code::Code;
pub use differentiable::{Differentiable, FiniteDifferences};
pub use error::Error;
pub use membership::{Membership, Sampling};
pub use packing::{Member, Packing};
pub use taylor::TaylorWords;
pub use verification::Verification;
