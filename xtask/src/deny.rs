//! `deny.toml` held against `cargo metadata`: licences, banned crates and sources.
//!
//! The same rules as `cargo deny check bans licenses sources`, without the minutes that building it takes. An entry of
//! `deny.toml` that is not understood here is an error, so that no rule is silently left out; advisories, which need a
//! database from elsewhere, are for `cargo deny check` alone.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::{command, workspace};

mod licence;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rules {
    graph: Graph,
    #[serde(rename = "advisories")]
    _advisories: IgnoredAny,
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Graph {
    all_features: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Licences {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

/// Licences that are allowed for one crate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: Level,
    wildcards: Level,
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: Level,
    unknown_git: Level,
}

/// What happens where a rule is broken.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Allow,
    Warn,
    Deny,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// Nothing for the crates of this workspace.
    source: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: String,
}

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Every dependency, on every platform, obeys `deny.toml`.
pub(crate) fn check() -> Result<()> {
    let rules = rules(&std::fs::read_to_string(workspace().join("deny.toml"))?)?;
    let mut cargo = command("cargo");
    cargo.args(["metadata", "--locked", "--format-version", "1"]);
    if rules.graph.all_features {
        cargo.arg("--all-features");
    }
    let output = cargo.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("cargo metadata failed ({})", output.status);
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let mut refused = 0;
    for (level, sentence) in findings(&rules, &metadata.packages)? {
        match level {
            Level::Allow => {}
            Level::Warn => eprintln!("warning: {sentence}"),
            Level::Deny => {
                refused += 1;
                eprintln!("error: {sentence}");
            }
        }
    }
    match refused {
        0 => Ok(()),
        1 => bail!("one finding against deny.toml"),
        more => bail!("{more} findings against deny.toml"),
    }
}

fn rules(text: &str) -> Result<Rules> {
    let rules: Rules = toml::from_str(text).context("deny.toml")?;
    if let Some(banned) = rules.bans.deny.iter().find(|b| b.name.contains([':', '@'])) {
        bail!(
            "deny.toml: {} bans some versions; this check knows names alone",
            banned.name
        );
    }
    Ok(rules)
}

/// What breaks a rule, and how bad that is.
fn findings(rules: &Rules, packages: &[Package]) -> Result<Vec<(Level, String)>> {
    let mut found = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let (name, version) = (package.name.as_str(), package.version.as_str());
        versions.entry(name).or_default().push(version);
        if let Some(sentence) = licence_finding(&rules.licenses, package)? {
            found.push((Level::Deny, sentence));
        }
        for banned in rules.bans.deny.iter().filter(|b| b.name == name) {
            let sentence = format!("{name} {version} is banned: {}", banned.reason);
            found.push((Level::Deny, sentence));
        }
        for any in package.dependencies.iter().filter(|d| d.req == "*") {
            let sentence = format!("{name} takes any version of {}; name one", any.name);
            found.push((rules.bans.wildcards, sentence));
        }
        if let Some(source) = package.source.as_deref().filter(|s| *s != CRATES_IO) {
            let level = match source.starts_with("git+") {
                true => rules.sources.unknown_git,
                false => rules.sources.unknown_registry,
            };
            let sentence = format!("{name} {version} comes from {source}, not from crates.io");
            found.push((level, sentence));
        }
    }
    for (name, versions) in versions.iter().filter(|(_, v)| v.len() > 1) {
        let sentence = format!("{name} is there more than once: {}", versions.join(", "));
        found.push((rules.bans.multiple_versions, sentence));
    }
    Ok(found)
}

/// What is wrong with the licence of a package.
fn licence_finding(rules: &Licences, package: &Package) -> Result<Option<String>> {
    let who = format!("{} {}", package.name, package.version);
    let Some(expression) = package.license.as_deref() else {
        return Ok(Some(format!("{who} names no licence")));
    };
    let excepted = rules.exceptions.iter().filter(|e| e.name == package.name);
    let allowed: Vec<&String> = excepted
        .flat_map(|e| &e.allow)
        .chain(&rules.allow)
        .collect();
    let satisfied = licence::satisfied(expression, |one| allowed.iter().any(|a| *a == one))
        .with_context(|| format!("the licence of {who}"))?;
    Ok((!satisfied)
        .then(|| format!("{who} has the licence \"{expression}\", which deny.toml does not allow")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        graph = { all-features = true }
        advisories = { yanked = "deny" }
        sources = { unknown-registry = "deny", unknown-git = "warn" }
        [licenses]
        allow = ["MIT", "Apache-2.0"]
        exceptions = [{ crate = "roots", allow = ["CDLA-Permissive-2.0"] }]
        [bans]
        multiple-versions = "warn"
        wildcards = "deny"
        deny = [{ crate = "paste", reason = "unmaintained" }]
    "#;

    fn package(name: &str, version: &str, license: Option<&str>, source: &str) -> Package {
        Package {
            name: name.to_string(),
            version: version.to_string(),
            license: license.map(str::to_string),
            source: Some(source.to_string()),
            dependencies: Vec::new(),
        }
    }

    fn found(packages: &[Package]) -> Vec<(Level, String)> {
        findings(&rules(RULES).unwrap(), packages).unwrap()
    }

    #[test]
    fn what_obeys_is_passed_over() {
        let mut own = package("own", "0.1.0", Some("MIT OR Apache-2.0"), "");
        own.source = None;
        let packages = [
            own,
            package("fine", "1.0.0", Some("MIT OR GPL-3.0"), CRATES_IO),
            package("roots", "1.0.0", Some("CDLA-Permissive-2.0"), CRATES_IO),
        ];
        assert_eq!(found(&packages), []);
    }

    #[test]
    fn each_rule_finds_what_breaks_it() {
        let mut any = package("any", "1.0.0", Some("MIT"), CRATES_IO);
        any.dependencies.push(Dependency {
            name: "other".to_string(),
            req: "*".to_string(),
        });
        let packages = [
            package("copyleft", "1.0.0", Some("GPL-3.0"), CRATES_IO),
            package("data", "1.0.0", Some("CDLA-Permissive-2.0"), CRATES_IO),
            package("silent", "1.0.0", None, CRATES_IO),
            package("paste", "1.0.0", Some("MIT"), CRATES_IO),
            any,
            package("there", "1.0.0", Some("MIT"), "registry+https://a.example"),
            package("branch", "1.0.0", Some("MIT"), "git+https://a.example"),
            package("branch", "2.0.0", Some("MIT"), CRATES_IO),
        ];
        let expected = [
            (
                Level::Deny,
                "copyleft 1.0.0 has the licence \"GPL-3.0\", which deny.toml does not allow",
            ),
            (
                Level::Deny,
                "data 1.0.0 has the licence \"CDLA-Permissive-2.0\", which deny.toml does not allow",
            ),
            (Level::Deny, "silent 1.0.0 names no licence"),
            (Level::Deny, "paste 1.0.0 is banned: unmaintained"),
            (Level::Deny, "any takes any version of other; name one"),
            (
                Level::Deny,
                "there 1.0.0 comes from registry+https://a.example, not from crates.io",
            ),
            (
                Level::Warn,
                "branch 1.0.0 comes from git+https://a.example, not from crates.io",
            ),
            (Level::Warn, "branch is there more than once: 1.0.0, 2.0.0"),
        ];
        assert_eq!(found(&packages), expected.map(|(l, s)| (l, s.to_string())));
    }

    #[test]
    fn rules_that_are_not_known_are_refused() {
        let skipped = RULES.replace("wildcards", "skip = []\nwildcards");
        assert!(rules(&skipped).is_err());
        assert!(rules(&RULES.replace("\"paste\"", "\"paste@1\"")).is_err());
    }

    #[test]
    fn the_file_of_this_repository_is_understood() {
        let text = std::fs::read_to_string(workspace().join("deny.toml")).unwrap();
        rules(&text).unwrap();
    }
}
