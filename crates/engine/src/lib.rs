//! Running many fits at once, each a pure function of its specification.
//!
//! - [`FitSpec`]: all that a fit depends on; [`FitOutcome`]: what it gives;
//! - [`Backend`]: what runs fits, many at once, and the only way to train; [`Engine`]: the backend of the processor;
//! - [`gradient()`], [`flops_per_gradient`], [`flops_per_update`], [`flops_per_update_of`] and [`bytes_in_flight`]: what an
//!   update computes and costs;
//! - [`Packed`]: the order of coefficients, for an engine on another device;
//! - [`tolerance()`]: how far a fit is from a stationary point of its training loss;
//! - [`Predictor`] and [`RowPredictor`]: a fitted network applied to rows, in batches or
//!   one at a time.
//!
//! Inside, the way of an update: `batches` gathers sixteen samples to a strip, `program`
//! runs the network (`ffn` or `transformer`, hidden units of the FFN ReLU or `smooth`) in its paper form forward and back over strips, `objective` turns
//! outputs into their gradient in between, `gradient` strings the three together, `adam` or `scoring` (with the
//! curvature of `information`) makes the step and `fit` keeps the best checkpoint by its `loss`.

#![deny(unsafe_op_in_unsafe_fn)]

mod adam;
mod backend;
mod batches;
mod feedforward;
mod ffn;
mod fit;
mod flops;
mod gradient;
mod information;
mod loss;
mod objective;
mod order;
mod outer;
mod packed;
mod predict;
mod products;
mod program;
mod row;
mod run;
mod scoring;
mod smooth;
mod spec;
mod tolerance;
mod transformer;

pub use backend::{Backend, Threads};
pub use fit::{FitOutcome, Stop};
pub use flops::{flops_per_gradient, flops_per_update, flops_per_update_of};
pub use gradient::{bytes_in_flight, gradient};
pub use packed::Packed;
pub use predict::{Predictor, Step};
pub use row::RowPredictor;
pub use run::{Control, Engine};
pub use spec::{
    Adam, FitSpec, MAX_SCORING_PARAMETERS, Optimiser, Scoring, SpecError, Stage, Start, WeightDecay,
};
pub use tolerance::{Tolerance, tolerance};
