//! Running the binary in a directory of its own.
#![allow(dead_code)] // each test file uses a part

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

/// A directory that goes away with its test.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs `loopfit` here, arguments separated by spaces.
    pub(crate) fn run(&self, arguments: &str) -> Output {
        command(self.0.path(), arguments).output().unwrap()
    }

    /// Runs and expects success; standard output.
    pub(crate) fn ok(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(
            output.status.success(),
            "{arguments}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs each of the commands and expects its exit code, nothing on standard output, and one sentence with these words.
    pub(crate) fn all_refused(&self, cases: &[(&str, i32, &[&str])]) {
        for (arguments, code, words) in cases {
            let output = self.run(arguments);
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(*code), "{arguments}: {error}");
            let sentences = error.lines().filter(|l| l.starts_with("error: ")).count();
            assert_eq!(sentences, 1, "{error}");
            let all = words.iter().all(|w| error.contains(w));
            assert!(all, "{arguments}: {error}");
            assert!(output.stdout.is_empty(), "{arguments}");
        }
    }

    /// Runs and expects a refusal of the command line alone that says so, and nothing on standard output.
    pub(crate) fn refused(&self, arguments: &str, sentence: &str) {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains(sentence), "{arguments}: {error}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }

    /// Runs and expects success; standard output as JSON.
    pub(crate) fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.ok(&format!("{arguments} --json"))).unwrap()
    }
}

/// The method of a comparison with a key.
pub(crate) fn compared<'a>(comparison: &'a Value, key: &str) -> &'a Value {
    let methods = comparison["methods"].as_array().unwrap();
    let found = methods.iter().find(|m| m["key"] == key);
    found.unwrap_or_else(|| panic!("{key} is not compared"))
}

/// The difference of two methods of a comparison, by their keys.
pub(crate) fn paired<'a>(comparison: &'a Value, first: &str, second: &str) -> Option<&'a Value> {
    let pairs = comparison["paired"].as_array().unwrap();
    pairs
        .iter()
        .find(|p| p["first"] == first && p["second"] == second)
}

/// Every command that does something, such as `theory rate`.
pub(crate) fn commands(place: &Place) -> Vec<String> {
    let mut waiting = vec![String::new()];
    let mut found = Vec::new();
    while let Some(command) = waiting.pop() {
        let help = place.ok(format!("{command} -h").trim());
        let lines = help.lines().skip_while(|l| *l != "Commands:").skip(1);
        let lines = lines.take_while(|l| !l.is_empty());
        let named = lines.filter(|l| l.starts_with("  ") && !l.starts_with("   "));
        let names: Vec<&str> = named.filter_map(|l| l.split_whitespace().next()).collect();
        if names.is_empty() {
            found.push(command.clone());
        }
        let inner = names.into_iter().filter(|name| *name != "help");
        waiting.extend(inner.map(|name| format!("{command} {name}").trim().to_string()));
    }
    found.sort();
    found
}

pub(crate) fn command(directory: &Path, arguments: &str) -> Command {
    let mut command = Command::cargo_bin("loopfit").unwrap();
    command
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .env_remove("LOOPFIT_DATA")
        .args(arguments.split_whitespace());
    command
}

/// `y = 3 a - 2 b + 1`, with a category that shifts it.
pub(crate) fn regression_csv(rows: usize) -> String {
    let mut csv = "a,b,kind,y\n".to_string();
    for i in 0..rows {
        let (a, b) = ((i * 37 % 101) as f64 / 101.0, (i * 53 % 97) as f64 / 97.0);
        let kind = ["red", "green", "blue"][i % 3];
        csv += &format!(
            "{a},{b},{kind},{}\n",
            3.0 * a - 2.0 * b + 1.0 + (i % 3) as f64
        );
    }
    csv
}

/// Three classes along `a`.
pub(crate) fn classes_csv(rows: usize) -> String {
    let mut csv = "a;b;label\n".to_string();
    for i in 0..rows {
        let (a, b) = ((i * 37 % 101) as f64 / 101.0, (i * 53 % 97) as f64 / 97.0);
        let label = ["low", "middle", "high"][(a * 2.999) as usize];
        csv += &format!("{a};{b};{label}\n");
    }
    csv
}
