//! Every `loopfit` command in the README and in docs/*.md does what a reader expects: it runs, in the order of the page, beside
//! tables that are made here, and prints what the page shows.
#![cfg(unix)]

mod common;
use common::Place;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Left out by a rule: what needs the network or the paper's data sets, and what is not a command of `loopfit`.
const LEFT_OUT: [&str; 4] = ["loopfit data fetch", "--data-dir", "data:", "cargo "];

/// What makes a command small without making it another one. The paper's studies stand for all of them by their smallest.
const SMALLER: [(&str, &str); 10] = [
    (
        "study run paper --quick --data-dir data",
        "study run cap-path --quick",
    ),
    (
        "study run paper --data-dir data",
        "study run cap-path --quick",
    ),
    ("study run mine.toml", "study run mine.toml --quick"),
    ("study run theorems", "study run theorems --quick"),
    ("--seeds 8", "--seeds 2"),
    ("--seeds 4", "--seeds 2"),
    ("--effort strong", "--effort quick"),
    ("--effort standard", "--effort quick"),
    ("--time 60s", "--time 1s"),
    ("--updates 96000", "--updates 640"),
];

/// Words of commands that are a stochastic search, made small by its updates; others are made small by their effort.
const SEARCHED: [&str; 5] = [
    "--shape",
    "--equal",
    "--arch",
    "sim:four-modes",
    "--protocol",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of the blocks in a language, those that a backslash continues joined.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut inside, mut continued) = (false, false);
    for line in page.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            inside = !inside && fence == language;
            continue;
        }
        if !inside {
            continue;
        }
        let (text, goes_on) = match line.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some(last) if continued => last.push_str(text),
            _ => lines.push(text.to_string()),
        }
        continued = goes_on;
    }
    lines
}

/// A line of a page as it is run, or nothing where a rule leaves it out.
fn as_run(line: &str) -> Option<String> {
    let line = line.split(" #").next().unwrap_or("").trim();
    let mut command = line.to_string();
    for (words, smaller) in SMALLER {
        command = command.replace(words, smaller);
    }
    let known = command.starts_with("loopfit ") || command.starts_with("mkdir ");
    if !known || LEFT_OUT.iter().any(|words| command.contains(words)) {
        return None;
    }
    let has = |words: &str| command.contains(words);
    let fits = ["fit ", "compare ", "curve "];
    if fits
        .iter()
        .any(|name| command.starts_with(&format!("loopfit {name}")))
    {
        let told = ["--effort", "--updates", "--time"].iter().any(|o| has(o));
        let searched = SEARCHED.iter().any(|words| has(words));
        let mut more = match (told, searched) {
            (true, _) => String::new(),
            (false, true) => " --updates 640".to_string(),
            (false, false) => " --effort quick".to_string(),
        };
        if has("sim:") && !has("--train") {
            more += " --train 48 --valid 24";
        }
        command += &more;
    }
    Some(command)
}

/// `y` from four inputs, without noise.
fn table(rows: usize, first: usize) -> String {
    let mut csv = "a,b,c,d,y\n".to_string();
    for i in first..first + rows {
        let x = [37, 53, 29, 61].map(|k| (i * k % 101) as f64 / 101.0);
        let y = 3.0 * x[0] - 2.0 * x[1] + x[2] * x[3];
        csv += &format!("{},{},{},{},{y}\n", x[0], x[1], x[2], x[3]);
    }
    csv
}

/// Claims out of different numbers of days, and their cost.
fn claims(rows: usize) -> String {
    let mut csv = "age,power,days,policies,claims,cost\n".to_string();
    for i in 0..rows {
        let [age, power] = [37, 53].map(|k| (i * k % 101) as f64 / 101.0);
        let (days, policies) = (1 + i % 4, 1 + i % 3);
        let claims = (days as f64 * (age + power)).round();
        csv += &format!("{age},{power},{days},{policies},{claims},{}\n", age - power);
    }
    csv
}

/// What the pages speak of.
fn prepare(place: &Place, page: &str) {
    for name in ["data.csv", "sensor.csv", "airfoil.csv"] {
        place.write(name, table(40, 0));
    }
    place.write("claims.csv", claims(60));
    place
        .write("new.csv", table(8, 300))
        .write("test.csv", table(40, 500));
    let protocol = std::fs::read(repository().join("protocols/search.toml")).unwrap();
    place.write("my-search.toml", protocol);
    place.write("mine.toml", blocks(page, "toml").join("\n"));
    std::fs::create_dir(place.path("cases")).unwrap();
    let golden = repository().join("crates/witness/tests/golden/ffn_d1s1_m2_u1.json");
    std::fs::copy(golden, place.path("cases/one.json")).unwrap();
}

/// Runs the commands of a page in its order.
fn run_page(name: &str) {
    let page = std::fs::read_to_string(repository().join(name)).unwrap();
    let place = Place::new();
    prepare(&place, &page);
    let binary = Path::new(env!("CARGO_BIN_EXE_loopfit"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let commands: Vec<String> = blocks(&page, "sh")
        .iter()
        .filter_map(|l| as_run(l))
        .collect();
    for command in &commands {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(place.path(""))
            .env("PATH", &path)
            .env("HOME", place.path(""))
            .env_remove("LOOPFIT_DATA")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{name}: {command}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let shown = transcript(&page);
    for (command, expected) in &shown {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(place.path(""))
            .env("PATH", &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {command}");
        assert_eq!(said.trim_end(), expected.trim_end(), "{name}: {command}");
    }
    let some = commands.len() + shown.len();
    assert!(some > 0, "{name} has no command that is run");
}

/// The commands that a page shows with what they print: those behind `$`, which lines that begin with blanks continue.
fn transcript(page: &str) -> Vec<(String, String)> {
    let mut shown: Vec<(String, String)> = Vec::new();
    for line in blocks(page, "console") {
        match (line.strip_prefix("$ "), shown.last_mut()) {
            (Some(command), _) => shown.push((command.to_string(), String::new())),
            (None, Some((command, printed))) if printed.is_empty() && line.starts_with("    ") => {
                *command += &format!("\n{line}");
            }
            (None, Some((_, printed))) => *printed += &format!("{line}\n"),
            (None, None) => panic!("{line} is printed by nothing"),
        }
    }
    shown
}

/// One test for each page, so that they run beside each other.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(#[test] fn $test() { run_page($page); })*
        const PAGES: &[&str] = &[$($page),*];
    };
}

pages! {
    readme: "README.md",
    cluster: "docs/cluster.md",
    tour: "docs/tour.md",
    export: "docs/export.md",
    gpu: "docs/gpu.md",
    optimisation: "docs/optimisation.md",
    selection: "docs/selection.md",
    store: "docs/store.md",
    studies: "docs/studies.md",
    theorems: "docs/theorems.md",
    theorems_effort: "docs/theorems-effort.md",
    theory: "docs/theory.md",
    transformer: "docs/transformer.md",
    witness: "docs/witness.md",
}

/// The help's examples, in their order.
#[test]
fn examples_of_the_oracle_inequality_run() {
    let place = Place::new();
    let help = place.ok("theory oracle --help");
    let (_, examples) = help.split_once("Examples:").unwrap();
    let commands: Vec<&str> = examples
        .lines()
        .filter_map(|line| line.trim().strip_prefix("loopfit "))
        .collect();
    assert_eq!(commands.len(), 4, "{help}");
    for command in commands {
        place.ok(&command.replace("--updates 20000", "--updates 640"));
    }
}

/// The example of the library on the pages is that of its documentation, which is compiled there.
#[test]
fn pages_show_the_library_as_it_compiles() {
    let read = |name: &str| std::fs::read_to_string(repository().join(name)).unwrap();
    let library = read("crates/loopfit/src/lib.rs");
    let lines = library.lines().map(|line| line.strip_prefix("//! "));
    let example = lines.skip_while(|line| *line != Some("```no_run")).skip(1);
    let example = example.map_while(|line| line.filter(|line| !line.starts_with("```")));
    let shown: Vec<&str> = example.filter(|line| !line.starts_with("# ")).collect();
    assert!(shown.len() > 3, "{shown:?}");
    for page in ["README.md", "crates/loopfit/README.md"] {
        assert_eq!(blocks(&read(page), "rust"), shown, "{page}");
    }
}

/// No page with commands is forgotten.
#[test]
fn every_page_is_run() {
    for entry in std::fs::read_dir(repository().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let page = std::fs::read_to_string(&path).unwrap();
        let name = format!("docs/{}", path.file_name().unwrap().to_str().unwrap());
        let has_some = blocks(&page, "sh")
            .iter()
            .any(|line| as_run(line).is_some());
        assert!(!has_some || PAGES.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn commands_are_read_as_a_reader_would() {
    let page =
        "```sh\nloopfit a \\\n  --b   # c\n```\n```text\nloopfit no\n```\n```sh\ncargo x\n```\n";
    assert_eq!(blocks(page, "sh"), ["loopfit a   --b   # c", "cargo x"]);
    assert_eq!(as_run("loopfit a --b   # c").unwrap(), "loopfit a --b");
    let shown = "```console\n$ a\n    b\nprinted\n\n$ c\n```\n";
    let expected = [("a\n    b", "printed\n\n"), ("c", "")];
    let expected = expected.map(|(command, printed)| (command.to_string(), printed.to_string()));
    assert_eq!(transcript(shown), expected);
    assert_eq!(as_run("cargo x"), None);
    assert_eq!(as_run("loopfit compare data:airfoil --data-dir data"), None);
    let quick = as_run("loopfit compare data.csv --target y --budget 64 --seeds 8");
    let expected = "loopfit compare data.csv --target y --budget 64 --seeds 2 --effort quick";
    assert_eq!(quick.unwrap(), expected);
}
