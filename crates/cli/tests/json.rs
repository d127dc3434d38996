//! Every key that `--json` prints is documented in docs/json.md, command by command.

mod common;
use common::{Place, classes_csv, commands, regression_csv};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const DOCUMENT: &str = include_str!("../../../docs/json.md");

/// Commands that print no JSON, and the demonstration, which takes too long for a test and prints what `compare` prints.
const NOT_RUN: [&str; 2] = ["completions", "demo"];

/// The commands at their smallest, those that make the files of others first.
#[rustfmt::skip]
const RUNS: &[&str] = &[
    "fit data.csv --target y --budget 30 --effort quick --method single,untied -o m.safetensors",
    "fit data.csv --target y --budget 30 --updates 320 --refit -o s.safetensors",
    "fit sim:four-modes --train 128 --valid 64 --budget 40 --updates 320 -o d.safetensors",
    "fit classes.csv --target label --budget 8 --effort quick --method untied -o c.safetensors",
    "curve data.csv --target y --caps 4,8 --activation relu --plot c.svg --models made",
    "fit data.csv --target y --budget 40 --iterations auto --updates 448",
    "predict m.safetensors data.csv",
    "predict m.safetensors data.csv --interval 0.8 --flag",
    "predict m.safetensors data.csv --id y",
    "predict m.safetensors data.csv --every-iteration",
    "predict c.safetensors classes.csv",
    "predict d.safetensors sim:four-modes",
    "predict d.safetensors sim:four-modes --every-iteration",
    "score m.safetensors data.csv",
    "score d.safetensors sim:four-modes",
    "score c.safetensors classes.csv",
    "show m.safetensors",
    "show d.safetensors",
    "show c.safetensors",
    "convert m.safetensors --form paper -o p.safetensors",
    "export m.safetensors --to c",
    "export m.safetensors --to c -o model.c --size",
    "export m.safetensors --to rust -o model.rs",
    "export m.safetensors --to onnx -o model.onnx",
    "export m.safetensors --to c --int 8 --calibrate data.csv -o model.c",
    "compare data.csv --target y --budget 30 --seeds 2 --effort quick --method single",
    "compare sim:bumps --budget 64 --seeds 2 --train 64 --valid 32 --updates 320",
    "sample d.safetensors -n 3",
    "budget --dim 3 --budget 40",
    "budget --dim 3 --budget 200 --arch transformer",
    "data list",
    "data check airfoil --data-dir .",
    "data fetch airfoil --data-dir . --from mirror",
    "theory rate --dim 2 --smoothness 1",
    "theory schedule --n 1e6 --dim 2 --smoothness 1 --budget 128",
    "theory schedule --n 1e6 --dim 2 --smoothness 1 --gamma 0.1",
    "theory bound --n 1e4 --dim 2 --smoothness 1 --budget 128",
    "theory bound --over n --points 3 --dim 2 --smoothness 1 --budget 128",
    "theory bound --over n --points 3 --from 1e6 --dim 2 --smoothness 1 --gamma 0.5 --below-thresholds",
    "theory entropy --dim 2 --budget 128 --iterations 4",
    "theory entropy --dim 2 --budget 128 --iterations 4 --smoothness 1 --n 1e6",
    "theory distance --likelihood gaussian sim:bumps sim:bumps@1",
    "theory distance --likelihood gaussian sim:bumps sim:bumps@1 --gamma 0.3",
    "fit sim:double-well --train 64 --valid 32 --budget 30 --updates 320 -o w.safetensors",
    "theory oracle w.safetensors sim:double-well --train 64 --valid 32 --updates 5",
    "theory holder x1*x2/2 --smoothness 2 --bound 3",
    "theory packing --dim 2 --smoothness 1 --bound 100 --delta 0.01",
    "witness build --target x1/2 --smoothness 1 -m 1",
    "witness build --target x1/2 --smoothness 1 -m 1 --arch transformer",
    "witness run --target x1/2 --smoothness 1 -m 1 --x 0.3",
    "witness run --target x1/2 --smoothness 1 -m 1 --x 0.3 --arch transformer",
    "witness trace --target x1/2 --smoothness 1 -m 1 --x 0.3",
    "witness trace --target x1/2 --smoothness 1 -m 1 --program",
    "witness check --target x1/2 --smoothness 1 -m 1 --points 2",
    "witness plan --dim 1 --smoothness 1 --iterations 1e5 --width 1e4",
    "witness precision --from 1 --to 1 --cells 2",
    "witness error --from 1 --to 2 --points 4",
    "study list",
    "study show mine.toml",
    "study plan mine.toml",
    "study plan mine.toml --shards 2,4",
    "study run mine.toml --out runs",
    "study run mine.toml --out shards --shard 1/2",
    "study run mine.toml --out shards --shard 2/2 --cache cache",
    "study submit mine.toml --shards 2 --out shards",
    "study status runs",
    "study status shards",
    "study verify runs",
    "study report runs --out report",
    "study merge runs --out merged",
    "study export runs",
];

const STUDY: &str = r#"
title = "Mine"
seeds = { first = 1, count = 2 }
baselines = true
[[cases]]
name = "bumps"
data = "sim:bumps"
train = 64
valid = 32
budget = 48
[search]
updates = 320
"#;

/// The documented keys of every command; `{a,b}` in a key stands for both, `**` for whatever is below.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let mut commands: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut command = String::new();
    let mut same = Vec::new();
    for line in DOCUMENT.lines() {
        if let Some(name) = line.strip_prefix("## `loopfit ") {
            command = name.trim_end_matches('`').to_string();
            commands.entry(command.clone()).or_default();
        } else if let Some(other) = line.strip_prefix("The keys of `loopfit ") {
            same.push((command.clone(), other.trim_end_matches("`.").to_string()));
        } else if let Some(rest) = line.strip_prefix("| `")
            && let Some(keys) = commands.get_mut(&command)
        {
            let cell = rest.split(" | ").next().unwrap();
            for key in cell.split(", `") {
                keys.extend(expanded(key.trim_end_matches('`')));
            }
        }
    }
    for (command, other) in same {
        let keys = commands[&other].clone();
        commands.insert(command, keys);
    }
    commands
}

/// `a.{b,c}` as `a.b` and `a.c`.
fn expanded(key: &str) -> Vec<String> {
    match key.split_once('{') {
        None => vec![key.to_string()],
        Some((before, rest)) => {
            let (inside, after) = rest.split_once('}').unwrap();
            let parts = inside
                .split(',')
                .map(|part| format!("{before}{part}{after}"));
            parts.flat_map(|key| expanded(&key)).collect()
        }
    }
}

/// The paths of all keys of a value: `methods[].shape.q`.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                paths(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(values) => {
            let path = format!("{path}[]");
            values.iter().for_each(|value| paths(value, &path, found));
        }
        _ => {}
    }
}

fn is_documented(keys: &BTreeSet<String>, path: &str) -> bool {
    let below = |key: &str| {
        let start = key.strip_suffix("**");
        start.is_some_and(|start| path.starts_with(start))
    };
    keys.contains(path) || keys.iter().any(|key| below(key))
}

#[test]
fn every_key_is_documented() {
    let place = Place::new();
    place
        .write("data.csv", regression_csv(60))
        .write("classes.csv", classes_csv(60))
        .write("mine.toml", STUDY);
    std::fs::create_dir(place.path("mirror")).unwrap();
    let documented = documented();
    let mut names = commands(&place);
    names.retain(|name| name != "completions");
    let mut missing = Vec::new();
    for name in &names {
        let run = RUNS
            .iter()
            .any(|run| run.starts_with(&format!("{name} ")) || run == name);
        if !documented.contains_key(name) {
            missing.push(format!("docs/json.md has no section `loopfit {name}`"));
        } else if !run && !NOT_RUN.contains(&name.as_str()) {
            missing.push(format!("this test does not run `loopfit {name}`"));
        }
    }
    for run in RUNS {
        let output = place.run(&format!("{run} --json --quiet"));
        let printed = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            printed.starts_with("{\"schema\":\"loopfit/1\""),
            "{run}: {printed}{said}"
        );
        let value: Value = serde_json::from_str(&printed).unwrap();
        let mut found = BTreeSet::new();
        paths(&value, "", &mut found);
        let of = |name: &&String| run.starts_with(&format!("{name} ")) || run == name;
        let name = names.iter().find(of).unwrap();
        let keys = documented.get(name).cloned().unwrap_or_default();
        let new = found.iter().filter(|path| *path != "schema");
        let new: Vec<&str> = new
            .filter(|path| !is_documented(&keys, path))
            .map(String::as_str)
            .collect();
        if !new.is_empty() {
            missing.push(format!(
                "`loopfit {name}` prints {} ({run})",
                new.join(", ")
            ));
        }
    }
    assert!(
        missing.is_empty(),
        "document these keys in docs/json.md:\n{}",
        missing.join("\n")
    );
}
