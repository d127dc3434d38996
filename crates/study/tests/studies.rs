//! Whole studies at small sizes: the same content however they are run, and nothing learned from
//! test data.

use loopfit_data::Simulation;
use loopfit_engine::{Control, Engine};
use loopfit_model::{Architecture, Method};
use loopfit_study::models::{Best, Models};
use loopfit_study::progress::Progress;
use loopfit_study::protocol::{Named, Study, Way};
use loopfit_study::run::Prepared;
use loopfit_study::store::{self, Store, merge};
use loopfit_study::{Contender, Rule, Shard, StudyError, builtin, report, results};
use std::path::Path;

/// The quick size of a built-in study.
fn quick(name: &str) -> Named {
    let mut named = builtin::find(name).unwrap().remove(0);
    named.study = named.study.quick();
    named
}

fn run(named: &Named, out: &Path, shard: Shard, threads: usize) -> Result<(), StudyError> {
    let prepared = Prepared::new(named, shard, None)?;
    let store = Store::create(out, shard)?;
    let engine = Engine::new(threads).unwrap();
    let (control, progress) = (Control::default(), Progress::default());
    prepared.announce(&progress);
    prepared.enter(&store, &engine)?.run(&control, &progress)?;
    let counts = progress.counts();
    assert_eq!(counts.fits, counts.total, "every fit was counted");
    Ok(())
}

fn content(path: &Path) -> String {
    let mut out = Vec::new();
    store::export(&Store::open(path).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A continuation, a screen with development and a search: on one thread, on eight, and in three
/// shares that are merged.
#[test]
fn threads_and_shares_do_not_change_the_content() {
    for name in [
        "cap-path",
        "ebm",
        "beyond-simulations",
        "separation",
        "sieve-effort",
    ] {
        let named = quick(name);
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        run(&named, &place("one"), Shard::WHOLE, 1).unwrap();
        let expected = content(&place("one"));
        run(&named, &place("eight"), Shard::WHOLE, 8).unwrap();
        assert!(content(&place("eight")) == expected, "{name}: threads");
        for index in [3, 1, 2] {
            run(&named, &place("shards"), Shard { index, count: 3 }, 2).unwrap();
        }
        merge(&[place("shards")], &place("merged")).unwrap();
        assert!(content(&place("merged")) == expected, "{name}: shares");
        // Shares that do not see each other's files come to the same.
        for index in 1..=3 {
            let apart = place(&format!("apart-{index}"));
            run(&named, &apart, Shard { index, count: 3 }, 2).unwrap();
        }
        let apart: Vec<_> = (1..=3).map(|i| place(&format!("apart-{i}"))).collect();
        merge(&apart, &place("together")).unwrap();
        assert!(
            content(&place("together")) == expected,
            "{name}: shares apart"
        );
        // A finished study has nothing left to do.
        run(&named, &place("one"), Shard::WHOLE, 2).unwrap();
        assert!(content(&place("one")) == expected, "{name}: again");
    }
}

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

/// Four machines at once in one directory: whatever each takes over from the others, the merged
/// content is that of one run.
#[test]
fn shares_at_the_same_time() {
    let named = quick("ebm");
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    run(&named, &place("one"), Shard::WHOLE, 2).unwrap();
    std::thread::scope(|scope| {
        for index in 1..=4 {
            let (named, out) = (&named, place("shards"));
            scope.spawn(move || run(named, &out, Shard { index, count: 4 }, 1).unwrap());
        }
    });
    merge(&[place("shards")], &place("merged")).unwrap();
    assert!(content(&place("merged")) == content(&place("one")));
}

/// Stopped again and again, a study ends with the same content.
#[test]
fn a_study_goes_on_after_every_stop() {
    let named = quick("ebm");
    let directory = tempfile::tempdir().unwrap();
    run(&named, &directory.path().join("whole"), Shard::WHOLE, 2).unwrap();
    let out = directory.path().join("stopped");
    let engine = Engine::new(2).unwrap();
    let mut stops = 0;
    loop {
        let store = Store::create(&out, Shard::WHOLE).unwrap();
        let prepared = Prepared::new(&named, Shard::WHOLE, None).unwrap();
        let (control, progress) = (Control::default(), Progress::default());
        let begun = std::time::Instant::now();
        control.stop_at(begun + std::time::Duration::from_millis(30 + 10 * stops));
        let entered = prepared.enter(&store, &engine).unwrap();
        match entered.run(&control, &progress) {
            Ok(()) => break,
            Err(StudyError::Interrupted) => stops += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(stops > 0, "the study was never stopped");
    assert!(content(&out) == content(&directory.path().join("whole")));
}

/// A damaged fit, a deleted score and a decision that is gone: nothing is reported, and the next run
/// makes exactly that fit again and comes to the same content.
#[test]
fn a_run_repeats_what_is_damaged_and_nothing_else() {
    let named = quick("ebm");
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    run(&named, out, Shard::WHOLE, 2).unwrap();
    let expected = content(out);
    let file = out.join("study.sqlite");
    let c = rusqlite::Connection::open(&file).unwrap();
    let triggers: Vec<(String, String)> = c
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, _) in &triggers {
        c.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    let damaged: i64 = c
        .query_row("SELECT min(rowid) FROM fit", [], |r| r.get(0))
        .unwrap();
    let updates: i64 = c
        .query_row("SELECT updates FROM fit WHERE rowid = ?", [damaged], |r| {
            r.get(0)
        })
        .unwrap();
    c.execute(
        "UPDATE fit SET validation = validation / 2 WHERE rowid = ?",
        [damaged],
    )
    .unwrap();
    c.execute_batch(
        "DELETE FROM score WHERE rowid = (SELECT max(rowid) FROM score); \
         DELETE FROM decision WHERE name = 'screen'",
    )
    .unwrap();
    for (_, sql) in &triggers {
        c.execute_batch(sql).unwrap();
    }
    drop(c);
    let refused = Store::open(out).unwrap_err().to_string();
    assert!(refused.contains("is damaged"), "{refused}");
    let faults = &store::verify(out).unwrap()[0].damage.faults;
    assert_eq!(faults.len(), 3, "{faults:?}");
    let store = Store::create(out, Shard::WHOLE).unwrap();
    let prepared = Prepared::new(&named, Shard::WHOLE, None).unwrap();
    let (control, progress) = (Control::default(), Progress::default());
    let engine = Engine::new(2).unwrap();
    prepared.announce(&progress);
    let entered = prepared.enter(&store, &engine).unwrap();
    entered.run(&control, &progress).unwrap();
    assert_eq!(progress.counts().updates, updates as u64, "one fit was run");
    drop(store);
    assert!(content(out) == expected);
}

/// No study makes more fits or updates than its plan says, and refits are part of it.
#[test]
fn plans_are_upper_bounds() {
    let directory = tempfile::tempdir().unwrap();
    for (name, refit) in [
        ("sieve-effort", false),
        ("beyond-simulations", true),
        ("separation", false),
        ("ebm", false),
    ] {
        let mut named = quick(name);
        if let Way::Search(search) = &mut named.study.way {
            search.protocol.refit = refit;
        }
        let planned = loopfit_study::run::total(&named.study);
        let out = directory.path().join(name);
        run(&named, &out, Shard::WHOLE, 2).unwrap();
        let found = results::read(&Store::open(&out).unwrap(), &named).unwrap();
        let fits: u64 = found.costs.iter().map(|c| c.fits).sum();
        let updates: u64 = found.costs.iter().map(|c| c.updates).sum();
        assert!(fits <= planned.fits, "{name}: {fits} fits");
        assert!(updates <= planned.updates, "{name}: {updates} updates");
        assert!(
            2 * updates > planned.updates || ["ebm", "sieve-effort"].contains(&name),
            "{name}: {updates}"
        );
    }
    // As it was run and is reported in docs/studies.md.
    let real = builtin::find("beyond-real").unwrap().remove(0);
    let planned = loopfit_study::run::total(&real.study);
    assert!(planned.updates >= 111_472_463, "{}", planned.updates);
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

/// A time is foreseen for every way of fitting.
#[test]
fn a_time_is_foreseen() {
    let engine = Engine::new(1).unwrap();
    for name in ["cap-path", "ebm", "separation", "sieve-effort"] {
        let named = quick(name);
        let seconds = |shard| {
            let prepared = Prepared::new(&named, shard, None).unwrap();
            prepared.seconds(&engine).unwrap()
        };
        assert!(seconds(Shard::WHOLE) > 0.0, "{name}");
    }
}

/// A protocol on a table of one's own.
fn on_table(folder: &Path, rows: &[String]) -> Named {
    std::fs::create_dir_all(folder).unwrap();
    let table = format!("a,b,y\n{}\n", rows.join("\n"));
    std::fs::write(folder.join("own.csv"), table).unwrap();
    let protocol = r#"
        title = "Own"
        baselines = true
        seeds = { first = 5, count = 2 }
        [[cases]]
        name = "own"
        data = "own.csv"
        target = "y"
        budget = 40
        [shortlist.grid]
        starts = 1
        learning_rates = [0.01]
        [shortlist.single]
        q = [1, 2]
        [shortlist.loop]
        q = [2]
        t = [2, 4]
        [shortlist.untied]
        q = [2]
        t = [2]
        [shortlist.development]
        seeds = { first = 1, count = 2 }
        warm = 10
        refine = 20
        keep = 1
        [shortlist.confirmation]
        warm = 10
        refine = 40
    "#;
    std::fs::write(folder.join("own.toml"), protocol).unwrap();
    Study::read(&folder.join("own.toml")).unwrap()
}

/// Other targets in the test rows change scores and nothing else: no fit, no shortlist, no
/// choice.
#[test]
fn test_rows_select_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let row = |i: usize, y: f64| {
        let (a, b) = ((i * 37 % 101) as f64 / 101.0, (i * 53 % 97) as f64 / 97.0);
        format!("{a},{b},{y}")
    };
    let truth =
        |i: usize| ((i * 37 % 101) as f64 / 101.0 - 0.5) * 2.0 + (i * 53 % 97) as f64 / 97.0;
    let rows: Vec<String> = (0..150).map(|i| row(i, truth(i))).collect();
    let named = on_table(&directory.path().join("a"), &rows);
    run(&named, &directory.path().join("run-a"), Shard::WHOLE, 2).unwrap();

    // The rows that the study holds out, found from outside: a row is a test row if no change of
    // its target changes the hash of any training or validation sample.
    let samples = |content: &str| -> Vec<String> {
        let value: serde_json::Value = serde_json::from_str(content).unwrap();
        let tasks = value["studies"][0]["tasks"].as_array().unwrap().iter();
        let fits = tasks.flat_map(|task| task["fits"].as_array().unwrap());
        fits.map(|fit| format!("{}{}", fit["spec"]["train"], fit["spec"]["valid"]))
            .collect()
    };
    let without_scores = |content: &str| {
        let mut value: serde_json::Value = serde_json::from_str(content).unwrap();
        for task in value["studies"][0]["tasks"].as_array_mut().unwrap() {
            task["scores"].take();
        }
        // The table as a whole is another one, of course.
        for decision in value["studies"][0]["decisions"].as_array_mut().unwrap() {
            if decision["name"] == "data/own" {
                decision["content"]["sha256"].take();
            }
        }
        value
    };
    let before = content(&directory.path().join("run-a"));
    let split = loopfit_data::Splitter::new({
        let table = loopfit_data::Table::read(directory.path().join("a/own.csv")).unwrap();
        let roles = loopfit_data::Roles::new(&table, Some("y"), None, &[]).unwrap();
        loopfit_data::Groups::new(&table, &roles, None).unwrap()
    });
    let stream = loopfit_numerics::stream::Stream::new(1).child("test split");
    let (_, held) = split.holdout(loopfit_data::split::TEST, stream).unwrap();
    assert!(held.len() > 20);
    let scrambled: Vec<String> = (0..150)
        .map(|i| {
            row(
                i,
                if held.contains(&i) {
                    1e3 - truth(i)
                } else {
                    truth(i)
                },
            )
        })
        .collect();
    let named = on_table(&directory.path().join("b"), &scrambled);
    run(&named, &directory.path().join("run-b"), Shard::WHOLE, 2).unwrap();
    let after = content(&directory.path().join("run-b"));
    assert_eq!(samples(&before), samples(&after));
    assert_eq!(without_scores(&before), without_scores(&after));
    assert_ne!(before, after);

    // A change of one training or validation target is seen.
    let kept = (0..150).find(|i| !held.contains(i)).unwrap();
    let disturbed: Vec<String> = (0..150)
        .map(|i| row(i, if i == kept { 9.0 } else { truth(i) }))
        .collect();
    let named = on_table(&directory.path().join("c"), &disturbed);
    run(&named, &directory.path().join("run-c"), Shard::WHOLE, 2).unwrap();
    assert_ne!(
        samples(&before),
        samples(&content(&directory.path().join("run-c")))
    );
}

/// A store and its shares belong to the data they were begun with.
#[test]
fn other_data_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let row = |i: usize| format!("{},{},{}", i % 13, i % 7, (i % 13) * (i % 7));
    let rows: Vec<String> = (0..120).map(row).collect();
    let mut others = rows.clone();
    others[7].push('1');
    let (named, changed) = (on_table(&place("a"), &rows), on_table(&place("b"), &others));
    let half = |index| Shard { index, count: 2 };
    run(&named, &place("run"), Shard::WHOLE, 1).unwrap();
    let before = content(&place("run"));
    let refused = run(&changed, &place("run"), Shard::WHOLE, 1).unwrap_err();
    assert!(refused.to_string().contains("not those"), "{refused}");
    assert_eq!(content(&place("run")), before);
    run(&named, &place("s1"), half(1), 1).unwrap();
    run(&changed, &place("s2"), half(2), 1).unwrap();
    let mixed = merge(&[place("s1"), place("s2")], &place("m")).unwrap_err();
    assert!(mixed.to_string().contains("data/own"), "{mixed}");
}

/// The same Transformer in a continuation, whose blocks grow, and in a shortlist.
#[test]
fn a_case_is_a_transformer_in_every_way_of_fitting() {
    let head = "
title = \"Transformers\"
seeds = { first = 1, count = 1 }
[[cases]]
name = \"bumps\"
data = \"sim:bumps\"
architecture = \"transformer\"
tokens = \"all\"
";
    // Table 1 by hand: d = 2, N = 4, q = 3 gives 94 + 7r, and 31 + 2(63 + 7r) with two blocks.
    let path = "
shapes = { single = 3, loop = [3, 4], untied = [3, 2] }
[continuation]
stages = [
    { train = 96, valid = 64, budget = 120, updates = 20, at = 120 },
    { train = 128, valid = 64, budget = 200, updates = 20, at = 200 },
]
";
    let shortlist = "
budget = 200
train = 96
valid = 64
[shortlist.single]
q = [3]
[shortlist.loop]
q = [3]
t = [4]
[shortlist.untied]
q = [3]
t = [2]
[shortlist.development]
seeds = { first = 9, count = 1 }
warm = 10
refine = 10
keep = 1
[shortlist.confirmation]
warm = 10
refine = 10
";
    let directory = tempfile::tempdir().unwrap();
    for (name, tail, expected) in [
        (
            "path",
            path,
            vec![
                (Method::Single, [3, 3, 1]),
                (Method::Loop, [3, 3, 4]),
                (Method::Untied, [3, 3, 1]),
                (Method::Single, [3, 15, 1]),
                (Method::Loop, [3, 15, 4]),
                (Method::Untied, [3, 3, 2]),
            ],
        ),
        (
            "shortlist",
            shortlist,
            vec![
                (Method::Single, [3, 15, 1]),
                (Method::Loop, [3, 15, 4]),
                (Method::Untied, [3, 3, 2]),
            ],
        ),
    ] {
        let study = Study::parse(name, &format!("{head}{tail}")).unwrap();
        let named = Named::new(name, study);
        let out = directory.path().join(name);
        run(&named, &out, Shard::WHOLE, 2).unwrap();
        let found = results::read(&Store::open(&out).unwrap(), &named).unwrap();
        let shapes: Vec<(Method, [usize; 3])> = found
            .points
            .iter()
            .flat_map(|point| point.methods())
            .map(|(method, entry)| {
                let network = entry.values[0].network.as_ref().unwrap();
                let all = Architecture::Transformer {
                    partition: vec![vec![0, 1]],
                };
                assert_eq!(*network.architecture(), all, "{name}");
                assert!(entry.values[0].value.is_finite());
                let t = network.tying().iterations();
                (method, [network.q(), network.r(), t])
            })
            .collect();
        assert_eq!(shapes, expected, "{name}");
    }
}

/// A model that was built again has the test error that the store says: on the same inputs of a simulation, the function itself is
/// the target.
fn has_its_error(best: &Best) {
    assert_eq!(best.model.contradiction(), None, "{}", best.title);
    let provenance = &best.model.provenance;
    let simulation = provenance.source.strip_prefix("sim:").unwrap();
    let simulation: Simulation = simulation.parse().unwrap();
    if simulation.is_density() {
        assert!(best.model.log_density_constant().unwrap().is_some());
        return;
    }
    let test = simulation.draw(provenance.seed, 0, 0, 32_768).test;
    let rows: Vec<usize> = (0..32_768).collect();
    let score = best.model.score(&test.to_table("test"), &rows).unwrap();
    assert_eq!(
        score.value.to_bits(),
        best.error.to_bits(),
        "{}",
        best.title
    );
}

/// Models on a table need the table of the run.
#[test]
fn models_are_built_again_from_their_own_table_alone() {
    let directory = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..80)
        .map(|i| format!("{},{},{}", i % 7, i % 11, (i % 7) * (i % 11)))
        .collect();
    let named = on_table(directory.path(), &rows);
    let out = directory.path().join("runs");
    run(&named, &out, Shard::WHOLE, 2).unwrap();
    let store = Store::open(&out).unwrap();
    let models = Models::read(&store, &named, None).unwrap();
    let pages: Vec<&str> = models.best.iter().map(|best| &*best.page).collect();
    assert_eq!(
        pages,
        ["single", "loop", "untied"].map(|method| format!("models/own/own-{method}"))
    );
    let seen = results::read(&store, &named).unwrap();
    for (best, method) in models.best.iter().zip(Method::ALL) {
        let numbers = seen.points[0].entry(method).unwrap().numbers();
        let least = numbers.into_iter().fold(f64::INFINITY, f64::min);
        assert_eq!(best.error, least, "{}", best.title);
    }
    // Another table of the same name, and none.
    let table = directory.path().join("own.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, text.replace("\n1,1,1\n", "\n1,1,2\n")).unwrap();
    let models = Models::read(&store, &named, None).unwrap();
    assert!(models.best.is_empty());
    assert!(matches!(
        &models.missing[..],
        [(_, StudyError::OtherData { .. })]
    ));
    std::fs::remove_file(&table).unwrap();
    let models = Models::read(&store, &named, None).unwrap();
    assert_eq!((models.best.len(), models.missing.len()), (0, 1));
}

/// Every kind of study has a report with its tables and figures, complete or not.
#[test]
fn reports_are_written_from_any_state() {
    let directory = tempfile::tempdir().unwrap();
    for name in [
        "cap-path",
        "iteration-path",
        "sample-size-path",
        "ebm",
        "beyond-simulations",
        "separation",
        "transformer-simulations",
    ] {
        let named = quick(name);
        let out = directory.path().join(name);
        {
            let store = Store::create(&out, Shard::WHOLE).unwrap();
            store.begin(&named).unwrap();
            let empty = report::report(&store, &named, &Models::default()).unwrap();
            assert!(empty.to_markdown("").contains("No replication"), "{name}");
        }
        run(&named, &out, Shard::WHOLE, 2).unwrap();
        let store = Store::open(&out).unwrap();
        let models = Models::read(&store, &named, None).unwrap();
        assert!(
            models.missing.is_empty() && !models.best.is_empty(),
            "{name}"
        );
        models.best.iter().for_each(has_its_error);
        let document = report::report(&store, &named, &models).unwrap();
        let text = document.to_markdown("");
        for best in &models.best {
            let link = format!("]({}.html): ", best.page);
            assert!(text.contains(&link), "{name}: {text}");
        }
        assert!(
            text.contains("CPU seconds") && text.contains("mean (SE)"),
            "{name}: {text}"
        );
        assert!(text.contains("SE is the standard error"), "{name}");
        // Loop is alone there, and the wins of one method mean nothing.
        assert_eq!(
            text.contains("| lowest"),
            name != "iteration-path",
            "{name}"
        );
        assert_eq!(
            text.contains("hollow diamonds"),
            text.contains("filled diamonds") && text.contains("Beside the paper"),
            "{name}"
        );
        assert_eq!(text.contains("presets T = 64"), name == "sample-size-path");
        assert!(
            !text.contains("NOT COMPLETE") && !text.contains("NaN"),
            "{name}: {text}"
        );
        assert!(!document.figures().is_empty(), "{name}");
        assert!(document.to_html().contains("</html>"));
        let found = results::read(&store, &named).unwrap();
        assert_eq!(found.tasks.0, found.tasks.1, "{name}");
        if ["cap-path", "beyond-simulations"].contains(&name) {
            assert!(text.contains("difference in SE"), "{name}");
        }
    }
}
