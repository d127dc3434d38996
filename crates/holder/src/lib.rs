//! The target family of the paper: Hölder classes, membership in them, and packings.
//!
//! - [`class`]: the class itself (Definition 3.1).

pub mod class;
mod error;

pub use class::{HolderClass, Smoothness};
pub use error::Error;
