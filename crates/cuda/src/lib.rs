//! Fits on an NVIDIA GPU, with the bits of the processor.
//!
//! [`Cuda`] is a [`Backend`](loopfit_engine::Backend): fits of one shape and timetable run in step, sixteen lanes of samples each, as on the processor. Every
//! operation is the processor's and every sum has its order, so that a specification has the same outcome here and there. The
//! driver and NVRTC are loaded when a GPU is asked for; kernels are compiled for what a run needs and kept on disk. What the
//! kernels cannot run, Transformers and states of more than sixteen numbers, runs on the processor beside them.
//!
//! Inside: `pool` has the fits of all callers and gives them to the GPU or the processor by what they cost (`cost`), `plan` and `shape` say
//! how a group of fits runs and what memory that takes, `placed` puts its numbers on the device, `group` runs it, `device` is
//! what it needs of a GPU, `driver` is one, and `kernels` is the text of the kernels, which the tests compile for the processor to compare bits.

#![deny(unsafe_op_in_unsafe_fn)]

mod cost;
mod device;
mod driver;
mod group;
mod layout;
mod placed;
mod plan;
mod pool;
mod run;
mod shape;
mod source;

#[cfg(test)]
mod tests;

pub use plan::Kernels;
pub use run::{Cuda, CudaError, Settings};
