//! The kernels on the processor: the same text, compiled by the C++ compiler with the grid of threads emulated, must give the
//! bits of the engine.

#![allow(clippy::print_stderr)]

mod emulated;
mod outcomes;
mod pool;
#[path = "../tests/specs/mod.rs"]
mod specs;
