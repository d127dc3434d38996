//! Schedules, sieves and witnesses.

use super::{content, quick, run};
use loopfit_study::models::Models;
use loopfit_study::protocol::{Named, Study};
use loopfit_study::run::Prepared;
use loopfit_study::store::{Store, merge};
use loopfit_study::{Contender, Rule, Shard, builtin, report, results};

const SCHEDULE: &str = r#"
title = "Small schedule"
axis = "observations n"
seeds = { first = 1, count = 1 }
[[cases]]
name = "density"
curve = "Densities"
data = "sim:packing:dim=1,smoothness=1,bound=40,law=energy"
budget = 24
follow = { smoothness = 1, constant = 0.1, q = 2, cells = 1.5, vertex = 0.6 }
[[cases]]
name = "classes"
data = "sim:packing:dim=1,smoothness=1,bound=80,law=bernoulli"
budget = 24
follow = { smoothness = 1, constant = 0.1, q = 2, cells = 1.5, vertex = 0.6 }
[[cases]]
name = "responses"
data = "sim:series:smoothness=0.5,signs=equal"
follow = { smoothness = 0.5, constant = 0.1, growth = { gamma = 0.1, cap = 16, state = 0.3 } }
[schedule]
sizes = [64, 128, 256]
ladder = [1, 2]
updates = 96
folds = 2
lepski = 0.01
[schedule.protocol]
rungs = [{ fits = 2, share = 0.5, shorten = 2 }, { fits = 1, share = 0.5 }]
"#;

/// On one thread, on three and in shares; every rule chooses among the same fits, which are judged by their distance from the truth,
/// and so is a smoother.
#[test]
fn a_schedule_runs_and_is_reported() {
    let study = Study::parse("schedule", SCHEDULE).unwrap();
    let named = Named::new("small-schedule", study);
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    run(&named, &place("one"), Shard::WHOLE, 1).unwrap();
    let expected = content(&place("one"));
    run(&named, &place("three"), Shard::WHOLE, 3).unwrap();
    assert!(content(&place("three")) == expected);
    for index in [2, 1] {
        run(&named, &place("shards"), Shard { index, count: 2 }, 1).unwrap();
    }
    merge(&[place("shards")], &place("merged")).unwrap();
    assert!(content(&place("merged")) == expected);
    let store = Store::open(&place("one")).unwrap();
    let found = results::read(&store, &named).unwrap();
    assert_eq!((found.points.len(), found.tasks), (9, (9, 9)));
    for point in &found.points {
        assert_eq!(point.metric, "squared Hellinger distance");
        let cuts: Vec<f64> = point
            .entries
            .iter()
            .filter(|e| matches!(e.of, Contender::Cut { .. }))
            .flat_map(|e| e.numbers())
            .collect();
        for rule in Rule::ALL.map(Contender::Chosen) {
            let chosen = point.entry(rule).unwrap().numbers();
            assert!(chosen.iter().all(|v| cuts.contains(v)), "{rule}");
        }
        let values = point.entries.iter().flat_map(|e| e.numbers());
        assert!(
            values.into_iter().all(|v| (0.0..=2.0).contains(&v)),
            "{point:?}"
        );
        let mean = |of: Contender| point.entry(of).unwrap().mean();
        // An oracle is better than a constant, of which it could be one.
        assert!(mean(Contender::Smoother) <= mean(Contender::Constant) + 0.02);
    }
    let document = report::report(&store, &named, &Models::default()).unwrap();
    let text = document.to_markdown("figures/");
    for part in [
        "Slopes beside",
        "Loop over Untied",
        "What each rule",
        "Densities",
        "T penalised",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("NaN"));
}

/// A sieve with a witness: every route has its choice and its risk, what is built stays as it is, and the report says what the
/// construction certifies.
#[test]
fn a_witness_is_a_member_of_the_class() {
    let named = quick("sieve-witness");
    let directory = tempfile::tempdir().unwrap();
    run(&named, directory.path(), Shard::WHOLE, 2).unwrap();
    let store = Store::open(directory.path()).unwrap();
    let found = results::read(&store, &named).unwrap();
    let [point] = &found.points[..] else {
        panic!("one case and metric");
    };
    let keys: Vec<String> = point.entries.iter().map(|e| e.of.key()).collect();
    for key in [
        "untied",
        "loop-built",
        "loop-from-random",
        "loop-from-witness",
        "loop-from-growing",
        "loop-from-distilled",
        "loop-from-curriculum",
    ] {
        assert!(keys.iter().any(|k| k == key), "{key} in {keys:?}");
    }
    for entry in &point.entries {
        assert!(
            entry.values.iter().all(|v| v.value.is_finite()),
            "{}",
            entry.label
        );
    }
    let document = report::report(&store, &named, &Models::default()).unwrap();
    let text = format!("{document:?}");
    assert!(text.contains("by the construction alone"));
    // The witness of the seed's function has the same value wherever it is judged: K = 2 cells of a function of
    // amplitude 4 leave an error of order one.
    let built = point.entries.iter().find(|e| e.of.key() == "loop-built");
    assert!(built.unwrap().values.iter().all(|v| v.value > 0.1));
}

/// Without held-out rows nobody chooses by them, and a case may have updates of its own.
#[test]
fn a_schedule_on_all_rows_with_more_effort() {
    let text = SCHEDULE.replace("folds = 2", "folds = 0").replacen(
        "budget = 24",
        "budget = 24\nupdates = 192",
        1,
    );
    let named = Named::new("effort", Study::parse("schedule", &text).unwrap());
    let directory = tempfile::tempdir().unwrap();
    run(&named, directory.path(), Shard::WHOLE, 2).unwrap();
    let store = Store::open(directory.path()).unwrap();
    let found = results::read(&store, &named).unwrap();
    assert_eq!(found.tasks, (9, 9));
    for point in &found.points {
        let has = |rule: Rule| point.entry(rule).is_some();
        let rules = Rule::ALL.map(has);
        assert_eq!(
            rules,
            [true, true, false, false, true],
            "{}",
            point.case.name
        );
    }
    // Single, Untied and the two or three iteration counts of the ladder and the theorem.
    let updates = loopfit_study::run::total(&named.study).updates;
    let searches = |case: &str| -> u64 {
        let own = found
            .points
            .iter()
            .filter(|p| p.case.name.starts_with(case));
        let cuts = |e: &&results::Entry| matches!(e.of, Contender::Cut { .. });
        own.map(|p| 2 + p.entries.iter().filter(cuts).count() as u64)
            .sum()
    };
    let expected = 192 * searches("density") + 96 * (searches("classes") + searches("responses"));
    assert_eq!(updates, expected);
    let document = report::report(&store, &named, &Models::default()).unwrap();
    let text = document.to_markdown("figures/");
    assert!(text.contains("T penalised") && !text.contains("T by validation"));
    assert!(!text.contains("NaN"));
}

/// The network of the proof with eight cells, in 32 bits, overflows between two of them: it has a likelihood and no risk.
#[test]
fn a_network_that_overflows_at_a_test_row_has_no_score() {
    let text = builtin::text("sieve-witness").unwrap();
    let first = text.find("[[cases]]\nname = \"m1\"").unwrap();
    let last = text.find("[[cases]]\nname = \"m3\"").unwrap();
    let routes = text.find("[[sieve.routes]]").unwrap();
    let route = text
        .find("[[sieve.routes]]\nname = \"from-witness\"")
        .unwrap();
    let next = text
        .find("[[sieve.routes]]\nname = \"from-witness-slower\"")
        .unwrap();
    let text = format!(
        "{}{}{}",
        &text[..first],
        &text[last..routes],
        &text[route..next]
    );
    let text = text.replace("[\"loop\", \"untied\"]", "[\"loop\"]");
    let mut named = Named::new("overflow", Study::parse("overflow", &text).unwrap());
    named.study = named.study.quick();
    let directory = tempfile::tempdir().unwrap();
    run(&named, directory.path(), Shard::WHOLE, 2).unwrap();
    let store = Store::open(directory.path()).unwrap();
    let found = results::read(&store, &named).unwrap();
    let built = found.points[0].entry(Contender::Built).unwrap();
    assert!(built.values.iter().any(|v| v.value.is_nan()), "{built:?}");
    let document = report::report(&store, &named, &Models::default()).unwrap();
    assert!(!document.to_markdown("").contains("NaN"));
}

/// A protocol whose rule cannot choose, and a sieve without what its routes begin with.
#[test]
fn rules_and_sieves_are_checked() {
    let text = |name: &str| builtin::text(name).unwrap().to_string();
    let error = |text: String| Study::parse("p", &text).unwrap_err().to_string();
    let alone = text("iteration-controls").replace("seeds =", "rule = \"lowest-mean\"\nseeds =");
    assert!(error(alone).contains("rule chooses among cases on the same data"));
    let without = text("cap-choice").replace(
        "seeds = { first = 8200",
        "methods = [\"loop\"]\nseeds = { first = 8200",
    );
    assert!(error(without).contains("compares Loop with Single and Untied"));
    let twice = text("sieve-effort").replace("name = \"scoring\"", "name = \"Adam\"");
    assert!(error(twice).contains("every route needs its own name"));
    let none = text("sieve-effort").replace("starts = 32", "starts = 0");
    assert!(error(none).contains("sieve needs starts"));
    let rate = text("sieve-effort").replace("learning_rate = 0.5", "learning_rate = -1.0");
    assert!(error(rate).contains("learning_rate and damping must be positive"));
    let two = text("sieve-effort") + "\n[search]\n";
    assert!(error(two).contains("exactly one of"));
    // A witness that does not fit its cap, and a density, are found before anything runs.
    let prepare = |text: String| {
        let study = Study::parse("p", &text).unwrap();
        let named = Named::new("p", study);
        Prepared::new(&named, Shard::WHOLE, None)
            .unwrap_err()
            .to_string()
    };
    let small = text("sieve-witness").replace("budget = 14237", "budget = 14236");
    assert!(prepare(small).contains("its witness has 14237 numbers"));
    let density = text("sieve-effort").replace("sim:recurrence", "sim:four-modes");
    assert!(prepare(density).contains("a sieve needs a response with noise"));
    let fine = text("sieve-witness").replace("resolution = 3", "resolution = 5");
    assert!(prepare(fine).contains("32 bits do not hold"));
}
