//! The extension `loopfit._loopfit`: tables from memory, fits, models and figures of the library, for the package in `python/loopfit`.
//!
//! It holds no mathematics. Work is done without the interpreter's lock, on a thread of its own where it takes long, so that Ctrl-C
//! is heard.

#![forbid(unsafe_code)]

mod data;
mod distributed;
mod errors;
mod figure;
mod fit;
mod model;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _loopfit {
    #[pymodule_export]
    use crate::data::Table;
    #[pymodule_export]
    use crate::distributed::{Desk, make_fits, run_study};
    #[pymodule_export]
    use crate::figure::{curves, pairs};
    #[pymodule_export]
    use crate::fit::{compare, curve, fit, summary};
    #[pymodule_export]
    use crate::model::Model;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
