//! The arithmetic that every other crate stands on, chosen so that the same
//! inputs give the same bits on every machine.
//!
//! - [`stream`]: random numbers as a pure function of `(stream, index)`;
//! - [`sum`]: sums with a fixed order, means and standard errors;
//! - [`special`]: log-sum-exp, softplus, sigmoid without overflow;
//! - [`jet`]: derivatives of any order by truncated Taylor polynomials;
//! - [`log_number`]: numbers by their logarithm, for products that no float can hold;
//! - [`quadrature`]: Gauss-Legendre rules, midpoint grids, a low-discrepancy set;
//! - [`cholesky`]: positive definite systems, the same bits at every level;
//! - [`text`]: numbers in sentences;
//! - [`named`]: choices that people make by name;
//! - [`lanes`]: sixteen 32-bit lanes on AVX-512, AVX2 or plain Rust, bit for bit alike.
//!
//! Transcendental functions come from [`libm`], a pure Rust port of musl's, and
//! never from the platform: two platforms' `exp` differ in the last bit.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod cholesky;
pub mod jet;
pub mod lanes;
pub mod log_number;
pub mod named;
pub mod quadrature;
pub mod special;
pub mod stream;
pub mod sum;
pub mod text;

pub use libm;
