//! Packages of the crates that are meant to be published: complete, and with nothing from outside them.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{command, succeed, workspace};

/// `crates/*`, all of which are published.
fn crates() -> Result<Vec<PathBuf>> {
    let folder = workspace().join("crates");
    let mut crates = files(&folder)?;
    crates.sort();
    Ok(crates)
}

/// Every crate can be packaged, with licences and without files from elsewhere. Nothing is built: `cargo package
/// --workspace --exclude xtask --exclude loopfit-fuzz --exclude loopfit-python` does that in minutes.
pub(crate) fn check() -> Result<()> {
    for package in crates()? {
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            if !package.join(file).exists() {
                bail!("{} has no {file}; link it", package.display());
            }
        }
        for folder in ["src", "examples", "benches"] {
            for source in sources(&package.join(folder))? {
                let text = std::fs::read_to_string(&source)?;
                if let Some(path) = outside(&package, &source, &text) {
                    let source = source.display();
                    bail!("{source} includes {path}, which is not in its package");
                }
            }
        }
    }
    let mut cargo = command("cargo");
    cargo.args(["package", "--workspace", "--exclude", "xtask", "--exclude"]);
    cargo.args(["loopfit-fuzz", "--exclude", "loopfit-python"]);
    cargo.args(["--no-verify", "--allow-dirty", "--quiet"]);
    succeed(cargo.args(["--no-metadata", "--offline"]), "packages")
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// The Rust files in a folder and those below it; none where there is no folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        for path in files(folder)? {
            if path.is_dir() {
                found.extend(sources(&path)?);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// The first path in `include_str!`, `include_bytes!` or `include!` that leaves the package. Links within it are part of it.
fn outside<'a>(package: &Path, source: &Path, text: &'a str) -> Option<&'a str> {
    let calls = ["include_str!(", "include_bytes!(", "include!("];
    let paths = calls
        .iter()
        .flat_map(|call| text.split(call).skip(1))
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    let folder = source.parent()?;
    paths
        .into_iter()
        .find(|path| !plain(&folder.join(path)).starts_with(package))
}

/// A path without `..`, by its words alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inclusion_from_outside_is_found() {
        let (package, source) = (Path::new("crates/a"), Path::new("crates/a/src/b.rs"));
        let at = |text| outside(package, source, text);
        assert_eq!(at("include_str!(\"../c.toml\"); include!(\"d.rs\")"), None);
        assert_eq!(
            at("include_bytes!(\n    \"../../c.toml\"\n)"),
            Some("../../c.toml")
        );
    }
}
