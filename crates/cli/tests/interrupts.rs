//! Ctrl-C in the middle of a search: what is there is kept, and what is not there is said.
#![cfg(unix)]

mod common;
use common::{Place, regression_csv};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// A command that runs.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

/// How it ended.
struct Ended {
    code: Option<i32>,
    printed: String,
    said: String,
}

impl Running {
    /// Starts a command and waits until it has said so, and a moment longer.
    fn until(place: &Place, command: &str, words: &str) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("loopfit"))
            .args(command.split(' '))
            .current_dir(place.path(""))
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut running = Self {
            stderr: BufReader::new(child.stderr.take().unwrap()),
            child,
            said: String::new(),
        };
        while !running.said.contains(words) {
            let read = running.stderr.read_line(&mut running.said).unwrap();
            assert!(read > 0, "{}", running.said);
        }
        std::thread::sleep(Duration::from_millis(500));
        running
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let killed = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(killed.success());
    }

    fn end(mut self) -> Ended {
        let mut printed = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut printed).unwrap();
        self.stderr.read_to_string(&mut self.said).unwrap();
        Ended {
            code: self.child.wait().unwrap().code(),
            printed,
            said: self.said,
        }
    }
}

fn prepared() -> Place {
    let place = Place::new();
    place.write("data.csv", regression_csv(300));
    place
}

const LONG: &str = "--updates 1e11";

/// The best model so far is written whole. Two signals at once are one: the second does not discard it.
#[test]
fn an_interrupted_fit_keeps_the_best_so_far() {
    let mut signals = vec![("-INT", 130, "press again"), ("-TERM", 143, "signal again")];
    // A terminal that is closed; elsewhere nobody can tell whether `nohup` has it ignored.
    if cfg!(target_os = "linux") {
        signals.push(("-HUP", 129, "signal again"));
    }
    for (signal, code, again) in signals {
        let place = prepared();
        let fit = format!("fit data.csv --target y --budget 100 {LONG} -o m.safetensors");
        let running = Running::until(&place, &fit, "search:");
        running.signal(signal);
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(code), "{}", ended.said);
        let stopping = format!("stopping; {again} to quit now");
        assert_eq!(ended.said.matches(&stopping).count(), 1, "{}", ended.said);
        assert_eq!(place.files(), ["data.csv", "m.safetensors"]);
        place.ok("score m.safetensors data.csv");
    }
}

/// On one thread the first start of the first method takes long: the others have had no update, and are no losers.
#[test]
fn methods_without_an_update_are_not_reached() {
    let place = prepared();
    let fit = format!("fit data.csv --target y --budget 100 --threads 1 {LONG}");
    let running = Running::until(&place, &format!("{fit} --json"), "search:");
    running.signal("-INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said);
    let v: Value = serde_json::from_str(&ended.printed).unwrap();
    let methods = v["methods"].as_array().unwrap();
    let states: Vec<&Value> = methods.iter().map(|m| &m["state"]).collect();
    assert_eq!(states, ["fitted", "not reached", "not reached"]);
    assert_eq!(
        (&v["selected"], &methods[0]["method"]),
        (&"single".into(), &"single".into())
    );
    for missed in &methods[1..] {
        assert!(
            missed["validation"].is_null() && missed["test"].is_null(),
            "{missed}"
        );
        assert_eq!(missed["updates"], 0);
    }
    assert_eq!(v["search"]["complete"], false);
    let said = "Loop and Untied were not reached";
    assert!(ended.said.contains(said), "{}", ended.said);

    let running = Running::until(&place, &fit, "search:");
    running.signal("-INT");
    let ended = running.end();
    assert_eq!(
        ended.printed.matches("not reached").count(),
        2,
        "{}",
        ended.printed
    );
    assert!(
        ended.printed.starts_with("Best so far"),
        "{}",
        ended.printed
    );
}

/// An estimate that is stopped names every method, with a model or without.
#[test]
fn an_interrupted_estimate_names_every_method() {
    let place = prepared();
    let fit = "fit data.csv --target y --budget 400 --effort strong --json -o m.safetensors";
    let running = Running::until(&place, fit, "rows:");
    running.signal("-INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said);
    // Stopped before the first model was judged, there is nothing to print.
    if ended.printed.is_empty() {
        assert_eq!(place.files(), ["data.csv"]);
        return;
    }
    let v: Value = serde_json::from_str(&ended.printed).unwrap();
    for method in ["single", "loop", "untied"] {
        let methods = v["methods"].as_array().unwrap();
        let found: Vec<&Value> = methods.iter().filter(|m| m["method"] == method).collect();
        assert_eq!(found.len(), 1, "{method}: {v}");
        let fitted = found[0]["state"] == "fitted";
        assert!(fitted || found[0]["state"] == "not reached", "{v}");
        assert_eq!(found[0]["validation"].is_f64(), fitted);
    }
    place.ok("score m.safetensors data.csv");
}

/// The seeds that are complete are kept, those that were cut short are not.
#[test]
fn an_interrupted_comparison_keeps_the_complete_seeds() {
    let place = prepared();
    let compare = "compare data.csv --target y --budget 60 --seeds 1000 --updates 1e3 --json";
    let running = Running::until(&place, compare, "search:");
    std::thread::sleep(Duration::from_secs(2));
    running.signal("-INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said);
    let v: Value = serde_json::from_str(&ended.printed).unwrap();
    let seeds = v["seeds"].as_array().unwrap().len();
    assert!(0 < seeds && seeds < 1000, "{seeds}");
    assert_eq!(
        (&v["seeds_asked"], &v["complete"]),
        (&1000.into(), &false.into())
    );
    for method in v["methods"].as_array().unwrap() {
        assert_eq!(method["values"].as_array().unwrap().len(), seeds);
    }
    let said = format!("{seeds} of 1000 seeds");
    assert!(ended.said.contains(&said), "{}", ended.said);
}

/// Under `nohup` a search outlives its terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let place = prepared();
    let fit = format!("fit data.csv --target y --budget 100 {LONG}");
    let bin = assert_cmd::cargo::cargo_bin("loopfit");
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!("trap '' HUP; exec {} {fit}", bin.display()))
        .current_dir(place.path(""))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut running = Running {
        stderr: BufReader::new(child.stderr.take().unwrap()),
        child,
        said: String::new(),
    };
    while !running.said.contains("search:") {
        assert!(running.stderr.read_line(&mut running.said).unwrap() > 0);
    }
    running.signal("-HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert!(running.child.try_wait().unwrap().is_none());
    running.signal("-TERM");
    assert_eq!(running.child.wait().unwrap().code(), Some(143));
}

/// What is drawn is said, and a folder without a report is not left behind.
#[test]
fn interrupted_figures_are_said_and_empty_folders_go() {
    let place = prepared();
    let curve = "curve data.csv --target y --caps 8,400 --effort strong --plot curve.svg";
    let running = Running::until(&place, curve, "rows:");
    std::thread::sleep(Duration::from_secs(1));
    running.signal("-INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said);
    let drawn = place.files().contains(&"curve.svg".to_string());
    assert_eq!(ended.said.contains("wrote curve.svg"), drawn);
    assert_eq!(ended.printed.is_empty(), !drawn);

    let running = Running::until(&place, "demo --output-dir new/demo", "search:");
    assert!(place.path("new/demo").exists());
    running.signal("-INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said);
    // Unless a seed was complete by then.
    assert_eq!(place.path("new").exists(), !ended.printed.is_empty());
}

/// Before the first seed is complete there is nothing to keep.
#[test]
fn a_comparison_without_a_complete_seed_leaves_nothing_behind() {
    let place = prepared();
    let compare = format!("compare data.csv --target y --budget 100 --seeds 2 {LONG}");
    let running = Running::until(&place, &compare, "search:");
    running.signal("-INT");
    let ended = running.end();
    assert_eq!((ended.code, ended.printed.as_str()), (Some(130), ""));
    assert_eq!(place.files(), ["data.csv"]);
}
