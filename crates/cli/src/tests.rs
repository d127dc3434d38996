//! Every option of every command: values that are wrong meet the sentence of their option.

use super::*;
use clap::error::ErrorKind;

/// Every command that does something with its options that take a value: `["theory", "rate"]` and `--dim`.
fn options() -> Vec<(Vec<String>, String)> {
    let mut waiting = vec![(Vec::new(), with_negative_values(Cli::command()))];
    let mut found = Vec::new();
    while let Some((path, mut command)) = waiting.pop() {
        command.build();
        for inner in command.get_subcommands() {
            let path = [&path[..], &[inner.get_name().to_string()]].concat();
            waiting.push((path, inner.clone()));
        }
        if command.has_subcommands() {
            continue;
        }
        let options = command.get_opts();
        let options = options.filter_map(|option| Some(format!("--{}", option.get_long()?)));
        found.extend(options.map(|option| (path.clone(), option)));
    }
    found
}

/// What the parser says of an option with a value.
fn error(path: &[String], option: &str, value: &str) -> Option<clap::Error> {
    let start = ["loopfit".to_string()];
    let words = [option.to_string(), value.to_string()];
    let line = start.iter().chain(path).chain(&words);
    with_negative_values(Cli::command())
        .try_get_matches_from(line)
        .err()
}

/// A negative number is a wrong value and no unknown option; a whole number may be written as 1e1.
#[test]
fn values_reach_their_options() {
    let all = options();
    assert!(all.len() > 100, "{}", all.len());
    let mut wrong = Vec::new();
    for (path, option) in &all {
        for value in ["-1", "-0.5"] {
            let error = error(path, option, value);
            if error.is_some_and(|e| e.kind() == ErrorKind::UnknownArgument) {
                wrong.push(format!("{} {option} {value}", path.join(" ")));
            }
        }
        let error = error(path, option, "1e1").map_or(String::new(), |e| e.to_string());
        if error.contains("invalid digit") {
            wrong.push(format!("{} {option} 1e1", path.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// So do lists and times.
#[test]
fn lists_and_times_reach_their_options() {
    for (command, option, value) in [
        ("curve", "--caps", "-8,16"),
        ("fit", "--iterations", "-2,4"),
        ("fit", "--time", "-5s"),
        ("fit", "--effort", "-100"),
        ("compare", "--shape", "-3"),
        ("fit", "--test-fraction", "-0.2"),
    ] {
        let error = error(&[command.to_string()], option, value).unwrap();
        assert_eq!(error.kind(), ErrorKind::ValueValidation, "{error}");
    }
}
