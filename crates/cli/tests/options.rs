//! Every option of every command, as the help lists them: values that are wrong meet a sentence of their own.

mod common;
use common::{Place, commands};

/// What a command says of an option with a value.
fn said(place: &Place, command: &str, option: &str, value: &str) -> String {
    let output = place.run(&format!("{command} {option} {value}"));
    String::from_utf8(output.stderr).unwrap()
}

/// A negative number is a wrong value, not an unknown option; and whole numbers may be written as 1e1.
#[test]
fn values_reach_their_options() {
    let place = Place::new();
    let all = commands(&place);
    assert!(all.len() > 20, "{all:?}");
    let mut wrong = Vec::new();
    for (command, options) in &all {
        for option in options {
            for (value, complaint) in [
                ("-1", "unexpected argument"),
                ("-0.5", "unexpected argument"),
                ("1e1", "invalid digit"),
            ] {
                let said = said(&place, command, option, value);
                if said.contains(complaint) {
                    wrong.push(format!("{command} {option} {value}: {said}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lists and times begin with a hyphen too.
#[test]
fn lists_and_times_reach_their_options() {
    let place = Place::new();
    for (command, option, value) in [
        ("curve d.csv", "--caps", "-8,16"),
        ("fit d.csv", "--iterations", "-2,4"),
        ("fit d.csv", "--time", "-5s"),
        ("fit d.csv", "--effort", "-100"),
        ("compare d.csv", "--shape", "-3"),
        ("fit d.csv", "--test-fraction", "-0.2"),
    ] {
        let said = said(&place, command, option, value);
        let expected = format!(
            "invalid value '{}' for '{option}",
            value.split(',').next().unwrap()
        );
        assert!(
            said.contains(&expected),
            "{command} {option} {value}: {said}"
        );
    }
}

/// Counts in the notation of floats, up to where they are whole.
#[test]
fn counts_may_have_an_exponent() {
    let place = Place::new();
    let plain = place.json("budget --dim 5 --budget 100");
    assert_eq!(plain, place.json("budget --dim 5e0 --budget 1e2"));
    let fit = |train: &str, updates: &str| {
        let fit =
            format!("fit sim:bumps --budget 40 --valid 64 --train {train} --updates {updates}");
        place.json(&fit)["methods"].clone()
    };
    assert_eq!(fit("100", "320"), fit("1e2", "3.2e2"));
    for (value, words) in [
        ("1.5", "whole number"),
        ("1e9", "at most 100000"),
        ("many", "whole number"),
    ] {
        place.refused(&format!("budget --dim 5 --budget {value}"), words);
    }
}

/// An option that a simulation cannot follow is refused.
#[test]
fn a_simulation_has_its_own_target() {
    let place = Place::new();
    for name in ["y", "z"] {
        place.refused(
            &format!("fit sim:bumps --target {name} --budget 64"),
            "sim:bumps has its own target: leave --target out",
        );
    }
    place.refused(
        "fit sim:four-modes --target y --budget 64",
        "leave --target out",
    );
}
