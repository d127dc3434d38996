//! Everything a contributor runs: `cargo xtask test`, `cargo xtask test --unsafe`, `cargo xtask test --export`,
//! `cargo xtask test --slurm`, `cargo xtask test --python`, `cargo xtask test --ray`, `cargo xtask wheel`,
//! `cargo xtask fuzz`, `cargo xtask docs`, `cargo xtask dist`, `cargo xtask bench engine`, `cargo xtask bench scale`,
//! `cargo xtask bench peers`, `cargo xtask bench peers-quality`, `cargo xtask bench integers`, `cargo xtask gallery`.

#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool: tables on stdout, progress on stderr"
)]

mod bench;
mod deny;
mod export;
mod extension;
mod gallery;
mod integers;
mod memory;
mod packages;
mod peers;
mod prose;
mod python;
mod quality;
mod scale;
mod slurm;
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
        /// Instead, compare exported models in ONNX Runtime, in a virtual environment of Python below target/
        #[arg(long, conflicts_with = "memory")]
        export: bool,
        /// Instead, run a study on a real Slurm of one node, set up below target/, with processes killed and jobs requeued
        #[arg(long, conflicts_with_all = ["memory", "export"])]
        slurm: bool,
        /// Instead, run all tests of the Python package, also those that take long, and its tutorial
        #[arg(long, conflicts_with_all = ["memory", "export", "slurm"])]
        python: bool,
        /// Instead, run the tests of fits by workers with Ray and Dask on this machine, with workers and a node killed
        #[arg(long, conflicts_with_all = ["memory", "export", "slurm", "python"])]
        ray: bool,
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
    /// Build a wheel of the Python package for this platform, in target/wheels, and check it
    Wheel,
    /// Fit the models of docs/gallery.md, measure what stands beside them, and write the page with all that it links to
    #[command(disable_help_flag = true)]
    Gallery(gallery::Gallery),
    /// Measure speed or quality
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Task::Test { memory: true, .. } => memory::run(),
        Task::Test { export: true, .. } => export::run(),
        Task::Test { slurm: true, .. } => slurm::run(),
        Task::Test { python: true, .. } => extension::test(true),
        Task::Test { ray: true, .. } => extension::ray(),
        Task::Test { .. } => test::run(),
        Task::Fuzz { arguments } => {
            let mut fuzz = command("cargo");
            fuzz.args(["run", "--quiet", "-p", "loopfit-fuzz", "--"]);
            succeed(fuzz.args(arguments), "fuzzing")
        }
        Task::Docs => test::docs(),
        Task::Dist => dist(),
        Task::Wheel => extension::wheel(),
        Task::Gallery(gallery) => gallery.run(),
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

/// The profile `dist`, linked as no profile can say: link-time optimisation for speed, though the command line itself is for size;
/// no tables that only unwinding needs; and identical functions once, by the linker that comes with Rust.
fn dist() -> Result<()> {
    let mut cargo = command("cargo");
    let binary = ["--package", "loopfit-cli", "--bin", "loopfit"];
    cargo.args(["rustc", "--profile", "dist"]).args(binary);
    cargo.args(["--", "-C", "opt-level=3", "-C", "strip=symbols"]);
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let script = workspace().join("xtask/src/no-unwinding.ld");
        let script = format!("-Wl,-T,{}", script.display());
        for argument in ["-Wl,--icf=all", "-Wl,--no-eh-frame-hdr", &script] {
            cargo.args(["-C", &format!("link-arg={argument}")]);
        }
    }
    cargo.env("RUSTFLAGS", "-C force-unwind-tables=no");
    succeed(&mut cargo, "the build")?;
    let binary = workspace().join("target/dist/loopfit");
    let bytes = std::fs::metadata(&binary).context("the binary is not in target/dist")?;
    println!("target/dist/loopfit: {} bytes", bytes.len());
    Ok(())
}

/// The command line as users have it, built now.
fn release() -> Result<std::path::PathBuf> {
    let mut cargo = command("cargo");
    cargo.args(["build", "--release", "--package", "loopfit-cli"]);
    succeed(&mut cargo, "the build")?;
    Ok(workspace().join("target/release/loopfit"))
}

/// The command line as tests have it, built now.
fn development() -> Result<std::path::PathBuf> {
    let mut cargo = command("cargo");
    // Features as in `cargo xtask test`, so that nothing is built twice.
    cargo.args(["build", "--workspace", "--all-features", "--bins"]);
    succeed(&mut cargo, "the build")?;
    Ok(workspace().join("target/debug/loopfit"))
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
