//! Records that come back, and who may write them.

mod damage;
mod merging;
mod versions;

use super::files::lock;
use super::record::TABLES;
use super::*;
use crate::task::{Phase, Shard, WHOLE_FILE};
use loopfit_engine::Stop;
use loopfit_model::{Network, Parameters, Tying};

/// A study of eight tasks.
const SMALL: &str = r#"
title = "Small"
seeds = { first = 1, count = 8 }
[[cases]]
name = "bumps"
data = "sim:bumps"
budget = 64
train = 64
valid = 32
[search]
"#;

fn named() -> Named {
    Named::new("small", Study::parse("small", SMALL).unwrap())
}

fn outcome(value: f32) -> FitOutcome {
    let network = Network::ffn(1, 1, 1, 1, Tying::Single).unwrap();
    let parameters = Parameters::new(network.clone(), vec![value; network.count()]).unwrap();
    FitOutcome {
        parameters,
        validation: f64::from(value),
        best_update: 3,
        updates: 5,
        stop: Stop::Completed,
        curve: vec![(0, 2.0), (5, f64::INFINITY)],
        seconds: f64::from(value),
    }
}

fn spec() -> String {
    let network = Network::ffn(1, 1, 1, 1, Tying::Single).unwrap();
    serde_json::json!({ "network": network }).to_string()
}

/// A fit of a backend, named with its bits.
fn made(value: f32, (backend, bits): (&str, &str)) -> StoredFit {
    StoredFit {
        method: "single".to_string(),
        spec: spec(),
        backend: backend.to_string(),
        bits: bits.to_string(),
        outcome: outcome(value),
    }
}

const CPU: (&str, &str) = ("cpu", "cpu-1");

fn filled(directory: &Path, shard: Shard, tasks: &[u64]) -> Store {
    filled_by(CPU, directory, shard, tasks)
}

fn filled_by(maker: (&str, &str), directory: &Path, shard: Shard, tasks: &[u64]) -> Store {
    let store = Store::create(directory, shard).unwrap();
    store.begin(&named()).unwrap();
    for seed in tasks {
        let task = Task::new(Phase::Confirmation, "bumps", None, *seed);
        store.begin_task("small", &task).unwrap();
        let value = 1.0 + *seed as f32;
        store
            .put_fit("small", &task.name, "f", &made(value, maker))
            .unwrap();
        store
            .freeze("small", &task.name, vec![choice("single", "f")])
            .unwrap();
        let scores = [("single".to_string(), "MSE".to_string(), f64::from(value))];
        store.put_scores("small", &task.name, &scores).unwrap();
    }
    store
}

fn choice(name: &str, fit: &str) -> Choice {
    Choice {
        name: name.to_string(),
        method: "single".to_string(),
        at: None,
        fit: Some(fit.to_string()),
    }
}

/// Changes records behind the back of the triggers.
fn tamper(c: &Connection, sql: &str) {
    let triggers: Vec<(String, String)> = c
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    c.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF")
        .unwrap();
    for (name, _) in &triggers {
        c.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    c.execute_batch(sql).unwrap();
    for (_, sql) in &triggers {
        c.execute_batch(sql).unwrap();
    }
}

/// Gives every record the checksum of what it holds, as someone would who wants to mislead.
fn seal(c: &Connection) {
    for table in TABLES {
        let query = format!("SELECT rowid, {} FROM {}", table.list(VERSION), table.name);
        let mut sums = Vec::new();
        let mut statement = c.prepare(&query).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = (1..=table.columns.len()).map(|at| row.get_ref(at).unwrap());
            sums.push((row.get::<_, i64>(0).unwrap(), table.checksum(values)));
        }
        for (row, sum) in sums {
            tamper(
                c,
                &format!(
                    "UPDATE {} SET checksum = '{sum}' WHERE rowid = {row}",
                    table.name
                ),
            );
        }
    }
}

#[test]
fn fits_come_back_as_they_went_in() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path(), Shard::WHOLE, &[7]);
    let stored = store
        .fit("small", "confirmation/bumps/7", "f")
        .unwrap()
        .unwrap();
    assert_eq!((&*stored.backend, &*stored.bits), CPU);
    let (back, put) = (stored.outcome, outcome(8.0));
    assert_eq!(back.parameters, put.parameters);
    assert_eq!(
        (back.validation, back.best_update, back.updates, back.stop),
        (put.validation, put.best_update, put.updates, put.stop)
    );
    assert_eq!(back.curve, put.curve);
    assert!(
        store
            .fit("small", "confirmation/bumps/7", "g")
            .unwrap()
            .is_none()
    );
}

/// Once choices are written nothing can be selected any more: neither another fit nor another
/// choice, and a score needs a choice.
#[test]
fn the_store_refuses_selection_after_the_freeze() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path(), Shard::WHOLE, &[1]);
    let task = "confirmation/bumps/1";
    let late = store.put_fit("small", task, "g", &made(0.5, CPU));
    assert!(late.unwrap_err().to_string().contains("frozen"));
    let second = store.freeze("small", task, vec![choice("loop", "f")]);
    assert!(second.unwrap_err().to_string().contains("frozen"));
    for change in [
        "UPDATE choice SET fit = NULL",
        "DELETE FROM choice",
        "UPDATE score SET value = 0",
        "DELETE FROM score",
        "UPDATE fit SET validation = 0",
        "UPDATE fit SET bits = 'others'",
    ] {
        let refused = store.with(|c| c.execute(change, []).map(|_| ()));
        assert!(
            refused.unwrap_err().to_string().contains("cannot be"),
            "{change}"
        );
    }
    let scores = [("other".to_string(), "MSE".to_string(), 1.0)];
    assert!(store.put_scores("small", task, &scores).is_err());
}

#[test]
fn one_process_writes_and_others_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path(), Shard::WHOLE, &[1]);
    let second = Store::create(directory.path(), Shard::WHOLE).unwrap_err();
    assert!(second.to_string().contains("another run"), "{second}");
    assert_eq!(
        Store::open(directory.path()).unwrap().studies().unwrap(),
        [named()]
    );
    drop(store);
    assert!(Store::create(directory.path(), Shard::WHOLE).is_ok());
}

#[test]
fn another_protocol_of_the_same_name_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path(), Shard::WHOLE, &[1]);
    let mut other = named();
    other.study = other.study.quick();
    let refused = store.begin(&other).unwrap_err().to_string();
    assert!(refused.contains("another protocol"), "{refused}");
}

#[test]
fn what_is_no_store_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    assert!(
        Store::open(path)
            .unwrap_err()
            .to_string()
            .contains("holds no study")
    );
    std::fs::write(path.join("study.sqlite"), "hello, I am no database at all").unwrap();
    assert!(Store::open(path).is_err());
    assert!(Store::create(path, Shard::WHOLE).is_err());
    std::fs::remove_file(path.join("study.sqlite")).unwrap();
    drop(filled(path, Shard::WHOLE, &[]));
    let c = Connection::open(path.join("study.sqlite")).unwrap();
    c.pragma_update(None, "user_version", 99).unwrap();
    assert!(
        Store::open(path)
            .unwrap_err()
            .to_string()
            .contains("version 99")
    );
}

/// A store that someone else wrote: what names files is checked, and so is what the numbers mean.
#[test]
fn names_and_protocols_of_others_are_checked() {
    for (what, sql) in [
        ("a way out", "UPDATE study SET name = '../../evil'"),
        ("an absolute path", "UPDATE study SET name = '/tmp/evil'"),
        ("a link", "UPDATE study SET name = 'http:evil.example'"),
        ("markup", "UPDATE study SET name = '<b>'"),
        (
            "two lines",
            "UPDATE study SET name = 'a' || char(10) || 'b'",
        ),
        ("a hidden file", "UPDATE study SET name = '.profile'"),
        ("no name", "UPDATE study SET name = ''"),
        (
            "another protocol",
            "UPDATE study SET protocol = replace(protocol, '8', '9')",
        ),
        ("another hash", "UPDATE study SET hash = 'abc'"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(filled(folder.path(), Shard::WHOLE, &[]));
        let path = folder.path().join(WHOLE_FILE);
        let c = Connection::open(&path).unwrap();
        c.execute(sql, []).unwrap();
        seal(&c);
        drop(c);
        let error = Store::open(&path).unwrap_err();
        assert!(
            matches!(error, StudyError::Damaged { .. }),
            "{what}: {error}"
        );
        let out = folder.path().join("merged");
        assert!(merge(&[path], &out).is_err(), "{what}");
        assert!(!out.exists(), "{what}");
    }
}

/// Programs may word a note differently; other rows are other data.
#[test]
fn data_are_the_same_whatever_is_noted_about_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), Shard::WHOLE, &[]);
    let data = |hash: &str, note: &str| {
        let content = serde_json::json!({ "sha256": hash, "rows": 9, "notes": [note] });
        store.fix_data("small", "bumps", &content.to_string())
    };
    data("a", "one").unwrap();
    data("a", "another").unwrap();
    let other = data("b", "one").unwrap_err();
    assert!(matches!(other, StudyError::OtherData { .. }), "{other}");
}

/// A pipe would be waited for, a device read without end.
#[cfg(unix)]
#[test]
fn what_is_not_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo")
        .args(["study.sqlite", "p.toml", "x.lock"])
        .current_dir(folder.path())
        .status();
    assert!(made.unwrap().success());
    let store = folder.path().join(WHOLE_FILE);
    let wrong =
        |error: StudyError| assert!(error.to_string().contains("not a regular file"), "{error}");
    wrong(Store::open(folder.path()).unwrap_err());
    wrong(Store::open(&store).unwrap_err());
    wrong(Store::create(folder.path(), Shard::WHOLE).unwrap_err());
    wrong(merge(&[store], &folder.path().join("merged")).unwrap_err());
    wrong(Study::read(&folder.path().join("p.toml")).unwrap_err());
    wrong(lock(&folder.path().join("x.sqlite")).unwrap_err());
    wrong(Store::open(Path::new("/dev/null")).unwrap_err());
}

/// Threads that end fits at the same time write them together, and whoever has one that cannot be written learns of it alone.
#[test]
fn fits_that_end_together_are_all_written() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path(), Shard::WHOLE, &[1]);
    let task = Task::new(Phase::Confirmation, "bumps", None, 2);
    store.begin_task("small", &task).unwrap();
    let failures: usize = std::thread::scope(|scope| {
        let put = |thread: usize| {
            let (store, task) = (&store, &task);
            // The names of the first thread are those of the second: of every two one is refused.
            move || {
                let name = |i: usize| format!("{}-{i}", thread.max(1));
                let failed = |i: &usize| {
                    let fit = made(*i as f32, CPU);
                    store.put_fit("small", &task.name, &name(*i), &fit).is_err()
                };
                (0..25).filter(failed).count()
            }
        };
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(put(thread))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(failures, 25);
    for thread in 1..8 {
        for i in 0..25 {
            let name = format!("{thread}-{i}");
            let found = store.fit("small", &task.name, &name).unwrap().unwrap();
            assert_eq!(found.outcome.validation, i as f64);
        }
    }
}
