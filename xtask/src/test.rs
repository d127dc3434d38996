//! `cargo xtask test`: every check in order, up to the first that fails.

use std::process::Stdio;
use std::time::Instant;

use anyhow::Result;

use crate::{command, succeed};

const FORMAT: &str = "fmt --all --check";
const LINTS: &str = "clippy --workspace --all-targets --all-features -- -D warnings";
const TESTS: &str = "test --workspace --all-features";
const NEXTEST: &str = "nextest run --workspace --all-features";
// nextest does not run the examples in the documentation.
const DOC_TESTS: &str = "test --doc --workspace --all-features";
const DOCS: &str = "doc --workspace --no-deps --all-features";

/// Format, lints, tests, documentation.
pub(crate) fn run() -> Result<()> {
    cargo("format", FORMAT)?;
    cargo("lints", LINTS)?;
    if has_nextest() {
        cargo("tests", NEXTEST)?;
        cargo("documentation tests", DOC_TESTS)?;
    } else {
        cargo("tests", TESTS)?;
    }
    docs()?;
    eprintln!("all checks passed");
    Ok(())
}

/// The documentation of all crates, without a warning.
pub(crate) fn docs() -> Result<()> {
    cargo("documentation", DOCS)
}

fn cargo(step: &str, arguments: &str) -> Result<()> {
    eprintln!("{step}: cargo {arguments}");
    let begin = Instant::now();
    let mut cargo = command("cargo");
    cargo
        .args(arguments.split(' '))
        .env("RUSTDOCFLAGS", "-D warnings");
    succeed(&mut cargo, step)?;
    eprintln!("{step}: done in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn has_nextest() -> bool {
    command("cargo")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
