//! `loopfit study` from outside: crashes, signals, shares, reports and protocols of one's own.

mod common;
use common::{Place, regression_csv};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A protocol on a table of one's own.
const OWN: &str = r#"
title = "My sensor"
seeds = { first = 1, count = 2 }
test_splits = [1, 2, 3]
baselines = true
[[cases]]
name = "sensor"
data = "sensor.csv"
target = "y"
budget = 48
[search]
updates = 400
"#;

fn start(place: &Place, arguments: &str) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("loopfit"))
        .args(arguments.split(' '))
        .current_dir(place.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn content(place: &Place, out: &str) -> String {
    place.ok(&format!("study export {out} --json"))
}

/// Killed fifty times at random moments and started again each time, a study ends with the same
/// content as one that was left alone; so it does on another number of threads and in three
/// shares.
#[test]
fn fifty_kills_lose_nothing_and_repeat_nothing() {
    let place = Place::new();
    let run = "study run cap-path --quick --quiet --out";
    place.ok(&format!("{run} whole --threads 2"));
    let expected = content(&place, "whole");
    let mut state = 7u64;
    let mut unfinished = 0;
    for _ in 0..50 {
        let mut child = start(&place, &format!("{run} killed --threads 1"));
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        std::thread::sleep(Duration::from_millis(15 + (state >> 33) % 60));
        child.kill().unwrap();
        unfinished += usize::from(!child.wait().unwrap().success());
        // What a kill leaves can be read at once.
        let output = place.run("study status killed --json");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() || said.contains("holds no study"),
            "{said}"
        );
    }
    assert!(
        unfinished > 20,
        "only {unfinished} of 50 kills came in time"
    );
    place.ok(&format!("{run} killed --threads 2"));
    assert!(content(&place, "killed") == expected, "after kills");
    place.ok(&format!("{run} one --threads 1"));
    assert!(content(&place, "one") == expected, "on one thread");
    for shard in ["3/3", "1/3", "2/3"] {
        place.ok(&format!("{run} shards --shard {shard}"));
    }
    place.ok("study merge shards --out merged --quiet");
    assert!(content(&place, "merged") == expected, "three shares");
}

/// SIGINT ends a run with 130 and SIGTERM with 143; both leave a store that goes on.
#[cfg(unix)]
#[test]
fn signals_finish_the_transaction() {
    use std::io::{BufRead, BufReader, Read};
    let place = Place::new();
    place.ok("study run sample-size-path --quick --out whole --quiet");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        // A run that has ended cannot be stopped: then the next one is tried.
        let stopped = (0..20).find(|attempt| {
            let run = format!(
                "study run sample-size-path --quick --out stopped{signal}{attempt} --threads 1"
            );
            let mut child = start(&place, &run);
            let mut reader = BufReader::new(child.stderr.take().unwrap());
            let mut said = String::new();
            // The run says where it writes right before it begins.
            while !said.contains("into") {
                assert!(reader.read_line(&mut said).unwrap() > 0, "{said}");
            }
            std::thread::sleep(Duration::from_millis(10));
            let _ = Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status();
            reader.read_to_string(&mut said).unwrap();
            match child.wait().unwrap().code() {
                Some(0) => false,
                found => {
                    assert_eq!(found, Some(code), "{signal}: {said}");
                    assert!(said.contains("run the same command to resume"), "{said}");
                    true
                }
            }
        });
        let attempt = stopped.expect("one signal in twenty comes in time");
        let out = format!("stopped{signal}{attempt}");
        place.ok(&format!(
            "study run sample-size-path --quick --out {out} --quiet"
        ));
        assert!(
            content(&place, &out) == content(&place, "whole"),
            "{signal}"
        );
    }
}

/// With `--device auto` studies run side by side, on the processor where there is no GPU: the same content as one after the
/// other, and every report.
#[test]
fn studies_side_by_side() {
    let place = Place::new();
    place.write("sensor.csv", regression_csv(60));
    std::fs::create_dir(place.path("protocols")).unwrap();
    for (name, budget) in [("first", "48"), ("second", "32"), ("third", "24")] {
        let text = OWN
            .replace("sensor.csv", "../sensor.csv")
            .replace("budget = 48", &format!("budget = {budget}"));
        place.write(&format!("protocols/{name}.toml"), &text);
    }
    for device in ["cpu", "auto"] {
        place.ok(&format!(
            "study run protocols --quiet --device {device} --out {device}"
        ));
        for name in ["first", "second", "third", "index"] {
            assert!(place.path(&format!("{device}/report/{name}.html")).exists());
        }
    }
    assert_eq!(content(&place, "cpu"), content(&place, "auto"));
}

/// A protocol of ten lines on a table of one's own: run, status, report, export.
#[test]
fn a_protocol_of_ones_own() {
    let place = Place::new();
    place
        .write("sensor.csv", regression_csv(200))
        .write("mine.toml", OWN);
    place.ok("study run mine.toml --out runs");
    let status = place.json("study status runs");
    let study = &status["studies"][0];
    assert_eq!(study["study"], "mine");
    assert_eq!(study["complete"], true);
    assert_eq!(
        (study["replications"].as_u64(), study["fits"].as_u64()),
        (Some(6), study["total_fits"].as_u64())
    );
    let methods = study["points"][0]["methods"].as_array().unwrap();
    let names: Vec<&str> = methods
        .iter()
        .map(|m| m["method"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["single", "loop", "untied", "linear", "constant"]);
    // The target is linear but for a category: the linear model is nearly exact, the constant is not.
    let mean = |i: usize| methods[i]["mean"].as_f64().unwrap();
    assert!(mean(3) < 1e-3 && mean(4) > 0.5, "{methods:?}");
    let page = String::from_utf8(place.read("runs/report/mine.html")).unwrap();
    assert!(
        page.contains("My sensor") && page.contains("<svg") && !page.contains("http://localhost")
    );
    let text = String::from_utf8(place.read("runs/report/mine.md")).unwrap();
    assert!(
        text.contains("SD between splits") && text.contains("linear model"),
        "{text}"
    );
    for file in ["mine.tex", "mine-pairs.svg"] {
        assert!(!place.read(&format!("runs/report/{file}")).is_empty());
    }
    place.ok("study report runs --out elsewhere");
    assert_eq!(place.read("elsewhere/mine.html"), page.as_bytes());
    // The best model of each method has a page, which both reports lead to.
    for method in ["single", "loop", "untied"] {
        let name = format!("models/mine/sensor-{method}.html");
        assert!(page.contains(&format!("href=\"{name}\"")), "{name}");
        assert!(text.contains(&format!("]({name})")), "{text}");
        let model = String::from_utf8(place.read(&format!("elsewhere/{name}"))).unwrap();
        assert!(model.contains("A model at work") && model.contains("of at most B = 48"));
    }
    // Without the table they cannot be made again.
    std::fs::rename(place.path("sensor.csv"), place.path("gone.csv")).unwrap();
    let output = place.run("study report runs --out without");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("no pages of the best models on sensor: "),
        "{said}"
    );
    assert!(!place.path("without/models").exists());
    std::fs::rename(place.path("gone.csv"), place.path("sensor.csv")).unwrap();
    // Nothing is left to do, and nothing changes.
    let before = content(&place, "runs");
    place.ok("study run mine.toml --out runs --quiet");
    assert_eq!(content(&place, "runs"), before);
}

/// One byte of a store that has flipped: every command says so, `run` mends it, and the page over the
/// reports leads to them.
#[test]
fn a_damaged_store_is_refused_and_mended() {
    let place = Place::new();
    place.ok("study run cap-path --quick --out runs --quiet");
    let expected = content(&place, "runs");
    let sound = place.json("study verify runs");
    assert_eq!(sound["sound"], true);
    assert_eq!(sound["stores"][0]["studies"][0]["complete"], true);
    let index = String::from_utf8(place.read("runs/report/index.html")).unwrap();
    assert!(index.contains("href=\"cap-path.html\""), "{index}");
    let index = String::from_utf8(place.read("runs/report/index.md")).unwrap();
    assert!(index.contains("(cap-path.md)"), "{index}");
    let report = place.run("study report runs");
    let said = String::from_utf8_lossy(&report.stderr).into_owned();
    assert!(
        said.contains("cap-path.html") && said.contains("wrote runs/report/index.html"),
        "{said}"
    );

    // The word is also in the schema and in space that is not used any more.
    let bytes = place.read("runs/study.sqlite");
    let words = bytes.windows(9).enumerate();
    let mut places = words.filter(|(_, w)| *w == b"completed");
    let damaged = places.any(|(at, _)| {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        std::fs::write(place.path("runs/study.sqlite"), &flipped).unwrap();
        let output = place.run("study verify runs");
        String::from_utf8_lossy(&output.stdout).contains(": 1 fault\n  fit ")
    });
    assert!(damaged);
    for (arguments, code, says) in [
        ("study verify runs", 1, "runs the rest again"),
        ("study status runs", 3, "does not match its checksum"),
        ("study report runs", 3, "does not match its checksum"),
        ("study export runs --json", 3, "does not match its checksum"),
        (
            "study merge runs --out merged",
            3,
            "does not match its checksum",
        ),
    ] {
        let output = place.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        assert!(said.contains(says), "{arguments}: {said}");
    }
    let output = place.run("study run cap-path --quick --out runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && said.contains("was damaged (fit "),
        "{said}"
    );
    assert!(content(&place, "runs") == expected);
    place.ok("study verify runs");
}

/// Pipes are not waited for, whatever their names.
#[cfg(unix)]
#[test]
fn pipes_are_refused() {
    let place = Place::new();
    let made = Command::new("mkfifo")
        .args(["pipe.toml", "study.sqlite"])
        .current_dir(place.path(""))
        .status();
    assert!(made.unwrap().success());
    for arguments in [
        "study run pipe.toml --out runs",
        "study show pipe.toml",
        "study status .",
        "study status study.sqlite",
        "study verify .",
        "study run cap-path --quick --out .",
    ] {
        let output = place.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{arguments}: {said}");
        assert!(
            said.contains("is not a regular file"),
            "{arguments}: {said}"
        );
    }
}

#[test]
fn lists_plans_and_protocols() {
    let place = Place::new();
    let list = place.json("study list");
    let names: Vec<&str> = list["studies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    for name in [
        "cap-path",
        "iteration-path",
        "sample-size-path",
        "ebm",
        "real-regression",
        "real-classification",
        "beyond-simulations",
        "beyond-ebm",
        "beyond-real",
        "separation",
    ] {
        assert!(names.contains(&name), "{name}");
        let shown = place.json(&format!("study show {name}"));
        assert_eq!(shown["studies"][0]["hash"].as_str().unwrap().len(), 64);
        assert!(place.ok(&format!("study show {name}")).contains("title = "));
    }
    // One language for people, one for programs.
    let quick = place.ok("study show ebm --quick");
    place.write("again.toml", quick.clone());
    assert!(quick.contains("title = ") && !quick.contains("\"title\":"));
    let again = place.json("study show again.toml");
    let shown = place.json("study show ebm --quick");
    assert_eq!(again["studies"][0]["hash"], shown["studies"][0]["hash"]);
    assert!(place.ok("study show again.toml").contains("title = "));
    let planned = place.json("study plan cap-path --quick");
    assert!(planned["studies"][0]["seconds"].as_f64().unwrap() > 0.0);
    let whole = place.json("study plan paper");
    assert_eq!(whole["studies"].as_array().unwrap().len(), 6);
    let fits = |value: &serde_json::Value, i: usize| value["studies"][i]["fits"].as_u64().unwrap();
    let alone = place.json("study plan cap-path");
    let shares: u64 = (1..=3)
        .map(|i| {
            fits(
                &place.json(&format!("study plan cap-path --shard {i}/3")),
                0,
            )
        })
        .sum();
    assert_eq!(shares, fits(&alone, 0));
    // Shares go by cost, which depends on the data.
    let refused = place.run("study plan paper --shard 1/3");
    assert_eq!(refused.status.code(), Some(3));
    assert!(fits(&place.json("study plan paper --quick"), 0) < fits(&whole, 0));
}

/// Wrong requests: one sentence, the exit code of the design, nothing left behind.
#[test]
fn wrong_requests() {
    let place = Place::new();
    place
        .write("bad.toml", OWN.replace("seeds =", "sedes ="))
        .write("mine.toml", OWN)
        .write("small.toml", OWN.replace("budget = 48", "budget = 5"))
        .write("text.sqlite", "no database")
        .write(
            "many.toml",
            OWN.replace("sensor.csv", "sim:bumps")
                .replace("target = \"y\"", "train = 64\nvalid = 64")
                + "rungs = 1",
        )
        .write(
            "sim.toml",
            OWN.replace("sensor.csv", "sim:humps")
                .replace("target = \"y\"", "train = 64\nvalid = 64"),
        );
    let before = place.files();
    for (arguments, code, says) in [
        ("study run papers", 2, "cap-path"),
        ("study run missing.toml", 3, "missing.toml"),
        ("study run bad.toml --out runs", 3, "sedes"),
        ("study run many.toml --out runs", 3, "rungs"),
        ("study run mine.toml --out runs", 3, "sensor.csv"),
        ("study run sim.toml --out runs", 3, "humps"),
        ("study run real-regression --out runs", 3, "data fetch"),
        (
            "study run real-regression --out runs --data-dir none",
            3,
            "none",
        ),
        (
            "study run small.toml --out runs --data-dir .",
            3,
            "sensor.csv",
        ),
        ("study run cap-path --shard 4/3", 2, "4/3"),
        ("study run cap-path --quick --out bad.toml", 3, "bad.toml"),
        ("study status none", 3, "holds no study"),
        ("study status text.sqlite", 3, "text.sqlite"),
        ("study report none", 3, "holds no study"),
        ("study export none", 2, "--json"),
        ("study export none --json", 3, "holds no study"),
        ("study merge none --out runs", 3, "holds no study"),
        ("study merge", 2, "required"),
        ("study", 2, "Usage"),
    ] {
        let output = place.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        assert!(said.contains(says), "{arguments}: {said}");
        assert!(!said.contains("panicked"), "{arguments}: {said}");
        assert_eq!(place.files(), before, "{arguments}");
    }
    place.write("sensor.csv", regression_csv(60));
    let output = place.run("study run small.toml --out runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("budget 5"), "{said}");
    assert!(
        !place.files().contains(&"runs".to_string()),
        "refused before anything is written"
    );
}

/// The paper's real data.
#[test]
#[ignore = "needs the data sets of the paper in LOOPFIT_DATA"]
fn quick_real_studies() {
    let data = std::env::var_os("LOOPFIT_DATA").unwrap();
    let place = Place::new();
    for name in ["real-regression", "real-classification", "beyond-real"] {
        let output = common::command(
            &place.path(""),
            &format!("study run {name} --quick --out runs --quiet"),
        )
        .env("LOOPFIT_DATA", &data)
        .output()
        .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // Both protocols on the same rows are compared.
    let text = String::from_utf8(place.read("runs/report/beyond-real.md")).unwrap();
    assert!(
        text.contains("Against Real data: regression (quick)"),
        "{text}"
    );
}
