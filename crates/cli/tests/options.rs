//! What values of options may look like.

mod common;
use common::Place;

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
