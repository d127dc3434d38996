//! Virtual environments below `target/` for what is written in Python.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Result;

use crate::{command, succeed, workspace};

/// The Python of the virtual environment `target/NAME`, which is made where it
/// is missing, with `packages` installed.
pub(crate) fn with_packages(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let environment = workspace().join("target").join(name);
    let python = environment.join("bin/python");
    if !python.exists() {
        let what = "creating a virtual environment with python3";
        succeed(
            command("python3").args(["-m", "venv"]).arg(&environment),
            what,
        )?;
    }
    let mut pip = command(&python);
    pip.args(["-m", "pip", "install", "-q"]).args(packages);
    succeed(pip.stdout(Stdio::null()), "installing packages with pip")?;
    Ok(python)
}
