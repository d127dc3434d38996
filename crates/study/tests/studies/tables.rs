//! Studies on a table: its test rows select nothing, and another table is refused.

use super::{content, run};
use loopfit_model::Method;
use loopfit_study::models::Models;
use loopfit_study::protocol::{Named, Study};
use loopfit_study::store::{Store, merge};
use loopfit_study::{Shard, StudyError, results};
use std::path::Path;

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
