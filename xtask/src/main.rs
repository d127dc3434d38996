//! Everything a contributor runs: `cargo xtask test`, `cargo xtask test --unsafe`,
//! `cargo xtask fuzz`, `cargo xtask docs`, `cargo xtask dist`, `cargo xtask bench engine`, `cargo xtask bench scale`,
//! `cargo xtask bench peers`, `cargo xtask bench peers-quality`.

#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool: tables on stdout, progress on stderr"
)]

mod bench;
mod deny;
mod memory;
mod packages;
mod peers;
mod prose;
mod python;
mod quality;
mod scale;
mod test;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

/// Everything a contributor runs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check: format, dependencies, packages, lints, tests, documentation
    Test {
        /// Instead, run the tests of the crates with unsafe code under a checker of memory accesses
        #[arg(long = "unsafe")]
        memory: bool,
    },
    /// Give mutated input to every reader: `cargo xtask fuzz [--seconds N] [TARGET]`
    #[command(disable_help_flag = true)]
    Fuzz {
        /// What the fuzzer takes; `--help` says more
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build the documentation of all crates
    Docs,
    /// Build the binary to hand out, as small as it gets: `target/dist/loopfit`
    Dist,
    /// Measure speed or quality
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Task::Test { memory: false } => test::run(),
        Task::Test { memory: true } => memory::run(),
        Task::Fuzz { arguments } => {
            let mut fuzz = command("cargo");
            fuzz.args(["run", "--quiet", "-p", "loopfit-fuzz", "--"]);
            succeed(fuzz.args(arguments), "fuzzing")
        }
        Task::Docs => test::docs(),
        Task::Dist => dist(),
        Task::Bench(bench) => bench.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The profile `dist`, without the tables that only unwinding needs; no profile can say that.
fn dist() -> Result<()> {
    let mut cargo = command("cargo");
    cargo.args(["build", "--profile", "dist", "--package", "loopfit-cli"]);
    cargo.env("RUSTFLAGS", "-C force-unwind-tables=no");
    succeed(&mut cargo, "the build")?;
    let binary = workspace().join("target/dist/loopfit");
    let bytes = std::fs::metadata(&binary).context("the binary is not in target/dist")?;
    println!("target/dist/loopfit: {} bytes", bytes.len());
    Ok(())
}

/// The root of the workspace, whatever the current directory.
fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// `program`, to be run at the root of the workspace.
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace());
    command
}

/// Runs `command` to its end; a failure names `what`.
fn succeed(command: &mut Command, what: &str) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{what}: cannot start {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{what} failed ({status})");
    }
    Ok(())
}
