//! Everything a contributor runs: `cargo xtask test`, `cargo xtask docs`,
//! `cargo xtask bench engine`, `cargo xtask bench peers`,
//! `cargo xtask bench peers-quality`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool: tables on stdout, progress on stderr"
)]

mod bench;
mod peers;
mod python;
mod quality;
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
    /// Run every check: format, lints, tests, documentation
    Test,
    /// Build the documentation of all crates
    Docs,
    /// Measure speed or quality
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Task::Test => test::run(),
        Task::Docs => test::docs(),
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
