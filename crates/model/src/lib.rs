//! What is fitted: architectures, tying, counts, budgets, parameters, growth, files.
//!
//! A function is an input function, updates (blocks) and an output function. A
//! [`Network`] says which one, with every dimension checked; everything else
//! follows from it, in this order:
//!
//! - [`tying`]: Single, Loop or Untied, and which block an iteration applies;
//! - [`architecture`]: residual FFN or post-LN Transformer;
//! - [`network`]: an architecture with its dimensions, and its count;
//! - [`activation`] and [`form`]: what hidden units do, and which coefficients are fixed;
//! - [`tokens`]: which token reads which inputs, before their number is known;
//! - [`budget`]: the shapes that fit under a cap on the count;
//! - [`layout`]: where each tensor lies in the one flat vector of coefficients;
//! - [`parameters`]: that vector, with named views;
//! - [`init`]: a fresh start;
//! - [`growth`]: a larger network that begins as the same function;
//! - [`bounds`]: the parameter box and the output clipping;
//! - [`mod@reference`]: the function itself in plain `f64`, as the paper writes it;
//! - [`mod@file`]: model files, written atomically and checked when read.

#![forbid(unsafe_code)]

pub mod activation;
pub mod architecture;
pub mod bounds;
pub mod budget;
pub mod file;
pub mod form;
pub mod growth;
pub mod init;
pub mod layout;
pub mod network;
pub mod parameters;
pub mod reference;
pub mod tokens;
pub mod tying;

pub use activation::Activation;
pub use architecture::{Architecture, ArchitectureKind};
pub use bounds::Bounds;
pub use budget::Budget;
pub use file::ModelFile;
pub use form::{CanonicalError, Form, FormKind, Reduced, Slot};
pub use layout::{Layout, Role, View};
pub use network::{Network, ShapeError};
pub use parameters::Parameters;
pub use tokens::{ArchitectureChoice, Tokens};
pub use tying::{Method, Tying};
