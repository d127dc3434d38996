//! `cargo xtask test`: every check in order, up to the first that fails.

use std::process::Stdio;
use std::time::Instant;

use anyhow::Result;

use crate::{command, deny, extension, packages, prose, succeed};

const FORMAT: &str = "fmt --all --check";
const LINTS: &str = "clippy --workspace --all-targets --all-features -- -D warnings";
const TESTS: &str = "test --workspace --all-features";
const NEXTEST: &str = "nextest run --workspace --all-features";
// nextest does not run the examples in the documentation.
const DOC_TESTS: &str = "test --doc --workspace --all-features";
const DENY: &str = "deny check bans licenses sources";
// Property tests draw the same cases each time here, so that a check of one commit always ends alike; `cargo nextest run` on
// its own draws others.
const CASES: (&str, &str) = ("PROPTEST_RNG_SEED", "4");
const DOCS: &str = "doc --workspace --no-deps --all-features";

/// Format, dependencies, packages, prose, lints, tests, documentation, the Python package.
pub(crate) fn run() -> Result<()> {
    cargo("format", FORMAT)?;
    step("dependencies", "deny.toml", deny::check)?;
    if installed("deny") {
        cargo("dependencies", DENY)?;
    }
    step("packages", "what they include", packages::check)?;
    step("prose", "lines of Markdown", prose::check)?;
    cargo("lints", LINTS)?;
    // Tests of the data sets of the paper are ignored where there are none.
    let data = std::env::var_os("LOOPFIT_DATA").is_some();
    if installed("nextest") {
        let all = if data { " --run-ignored all" } else { "" };
        cargo("tests", &format!("{NEXTEST}{all}"))?;
        cargo("documentation tests", DOC_TESTS)?;
    } else {
        let all = if data { " -- --include-ignored" } else { "" };
        cargo("tests", &format!("{TESTS}{all}"))?;
    }
    docs()?;
    step("python", "python/tests", || extension::test(false))?;
    eprintln!("all checks passed");
    Ok(())
}

/// The documentation of all crates, without a warning.
pub(crate) fn docs() -> Result<()> {
    cargo("documentation", DOCS)
}

fn cargo(name: &str, arguments: &str) -> Result<()> {
    let mut cargo = command("cargo");
    cargo
        .args(arguments.split(' '))
        .env("RUSTDOCFLAGS", "-D warnings");
    if std::env::var_os(CASES.0).is_none() {
        cargo.env(CASES.0, CASES.1);
    }
    let what = format!("cargo {arguments}");
    step(name, &what, || succeed(&mut cargo, name))
}

/// Says what is checked, and how long it took.
fn step(name: &str, what: &str, check: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("{name}: {what}");
    let begin = Instant::now();
    check()?;
    eprintln!("{name}: done in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Whether `cargo` has a subcommand.
fn installed(subcommand: &str) -> bool {
    command("cargo")
        .args([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
