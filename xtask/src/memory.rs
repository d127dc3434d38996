//! `cargo xtask test --unsafe`: the unit tests of the crates with unsafe code under a checker of
//! memory accesses, the strictest that this machine has.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::{command, succeed};

/// The crates that may contain unsafe code; all others forbid it.
const CRATES: [&str; 5] = ["-p", "loopfit-numerics", "-p", "loopfit-engine", "--lib"];

/// Runs the checker.
pub(crate) fn run() -> Result<()> {
    let found = Checker::find()?;
    eprintln!("memory: {}", found.sentence());
    succeed(&mut found.tests(), "the tests under a checker of memory")
}

enum Checker {
    /// Interprets every instruction, on the portable path: it has no vector instructions.
    Miri,
    /// Instruments the crates of this workspace, on every path of this machine.
    AddressSanitizer { host: String },
    /// Watches the compiled tests, on the paths that it knows.
    Valgrind { host: String },
    /// None of these: the tests as they are.
    Nothing,
}

impl Checker {
    fn find() -> Result<Self> {
        let rustc = |arguments: &[&str]| -> Result<String> {
            let output = command("rustc").args(arguments).output();
            let output = output.context("cannot start rustc")?;
            Ok(String::from_utf8(output.stdout)?.trim().to_string())
        };
        let host = rustc(&["--print", "host-tuple"])?;
        let sysroot = PathBuf::from(rustc(&["--print", "sysroot"])?);
        let libraries = sysroot.join("lib/rustlib").join(&host).join("lib");
        let is_runtime = |name: &str| name.ends_with("rt.asan.a");
        let mut names = libraries.read_dir().into_iter().flatten().flatten();
        let sanitizer = names.any(|entry| is_runtime(&entry.file_name().to_string_lossy()));
        Ok(
            if works(command("rustup").args(["run", "nightly", "cargo", "miri", "--version"])) {
                Self::Miri
            } else if sanitizer {
                Self::AddressSanitizer { host }
            } else if works(command("valgrind").arg("--version")) {
                Self::Valgrind { host }
            } else {
                Self::Nothing
            },
        )
    }

    fn sentence(&self) -> &'static str {
        match self {
            Self::Miri => "Miri, on the portable path",
            Self::AddressSanitizer { .. } => {
                "AddressSanitizer, on every path of this machine; Miri is not installed (`rustup +nightly component add miri`)"
            }
            Self::Valgrind { .. } => {
                "valgrind, on the paths that it knows; neither Miri nor AddressSanitizer is installed"
            }
            Self::Nothing => {
                "neither Miri, AddressSanitizer nor valgrind is installed: the tests run with the checks of a debug build alone, which see unchecked accesses out of bounds but nothing else"
            }
        }
    }

    /// The tests under the checker.
    fn tests(&self) -> Command {
        let mut cargo = match self {
            Self::Miri => command("rustup"),
            _ => command("cargo"),
        };
        match self {
            Self::Miri => {
                cargo.args(["run", "nightly", "cargo", "miri", "test"]);
                // Property tests remember failures in files, and an interpreter is slow.
                cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation");
                cargo.env("PROPTEST_CASES", "1");
            }
            Self::AddressSanitizer { host } => {
                // The runtime comes with every toolchain, the option with nightly ones: this makes
                // the pinned one take it. With a target, build scripts are left alone.
                cargo.env("RUSTC_BOOTSTRAP", "1");
                cargo.env("RUSTFLAGS", "-Zsanitizer=address");
                cargo.args(["test", "--target", host, "--target-dir", "target/asan"]);
            }
            Self::Valgrind { host } => {
                let host = host.to_uppercase().replace('-', "_");
                let runner = "valgrind --quiet --error-exitcode=1";
                cargo.env(format!("CARGO_TARGET_{host}_RUNNER"), runner);
                cargo.env("PROPTEST_CASES", "1");
                cargo.arg("test");
            }
            Self::Nothing => {
                cargo.arg("test");
            }
        }
        cargo.args(CRATES);
        cargo
    }
}

/// Whether a program is there and says so.
fn works(program: &mut Command) -> bool {
    let silent = program.stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}
