//! `cargo xtask test --export` and `cargo xtask bench export`: exported models where they are to run, in environments that are made
//! for them.

use std::process::Command;

use anyhow::Result;

use crate::{command, python, release, succeed, workspace};

/// What the tests were written for; newer versions of both change digits at most.
const PACKAGES: [&str; 4] = [
    "onnx==1.23.2",
    "onnxruntime==1.31.1",
    "numpy==2.4.6",
    "pandas==3.1.1",
];
/// By this the tests know the Python that has them; without it they compare nothing.
const PYTHON: &str = "LOOPFIT_ONNX_PYTHON";
// Features as in `cargo xtask test`, so that nothing is built twice.
const TESTS: &str = "test --workspace --all-features --test onnx";

pub(crate) fn run() -> Result<()> {
    let python = python::with_packages("onnx-venv", &PACKAGES)?;
    let mut tests = command("cargo");
    tests.args(TESTS.split(' ')).env(PYTHON, python);
    // No compiled files outside target/.
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    succeed(&mut tests, "the tests of exported models")
}

/// Sizes and times of every format, beside a network of scikit-learn.
pub(crate) fn bench() -> Result<()> {
    let loopfit = release()?;
    let packages = ["numpy", "onnxruntime", "scikit-learn", "emlearn"];
    let mut program = Command::new(python::with_packages("export-venv", &packages)?);
    let target = workspace().join("target");
    program.arg(workspace().join("xtask/peers/export/speed.py"));
    program.arg("--loopfit").arg(loopfit);
    program.arg("--folder").arg(target.join("export-speed"));
    program.env("OMP_NUM_THREADS", "1");
    program.env("PYTHONDONTWRITEBYTECODE", "1");
    // emlearn leaves files where it is.
    program.current_dir(target);
    succeed(&mut program, "the benchmark of exports")
}
