//! How a function explains data: likelihoods, their derivatives and distances.
//!
//! A model computes an index `f(x)`; a likelihood says which law of the data that
//! index stands for (paper, Sections 2.2 and 3.1):
//!
//! | file | data | index | target `y` |
//! |---|---|---|---|
//! | [`gaussian`] | `Y = f(X) + N(0, sigma^2)` | mean | a number |
//! | [`laplace`] | `Y = f(X) + Laplace(tau)` | median | a number |
//! | [`poisson`] | `Y` in {0, 1, 2, ...} | logarithm of the mean | the count |
//! | [`bernoulli`] | `Y` in {0, 1} | logit | 0 or 1 |
//! | [`multiclass`] | `Y` in 0..C | C logits | the class number |
//! | [`energy`] | `X` on `[0,1]^d` | log density up to a constant | none |
//!
//! Each file has the same items in the same order: the checked parameters, the check
//! of a target, the negative log-likelihood `nll`, its derivative in the index, the
//! same derivative in 32 bits over sixteen lanes, the Fisher weight, and the three
//! distances of the paper: squared Hellinger, Kullback-Leibler and `rho_gamma`
//! ([`distance`]). The families with one output share what fitting needs as the trait
//! [`ScalarLikelihood`] and the distances as [`Divergence`]; [`Likelihood`] is any of them.

#![forbid(unsafe_code)]

pub mod bernoulli;
pub mod distance;
pub mod energy;
mod error;
mod floor;
pub mod gaussian;
pub mod laplace;
mod likelihood;
pub mod multiclass;
mod normaliser;
pub mod poisson;
mod rejection;
mod scalar;

pub use bernoulli::Bernoulli;
pub use distance::{Distance, Gamma};
pub use energy::{Energy, Nodes};
pub use error::Error;
pub use floor::Floor;
pub use gaussian::Gaussian;
pub use laplace::Laplace;
pub use likelihood::{Likelihood, WithScalar};
pub use multiclass::Multiclass;
pub use normaliser::LogNormaliser;
pub use poisson::Poisson;
pub use scalar::{Divergence, ScalarLikelihood};
