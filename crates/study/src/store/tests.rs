use super::*;
use crate::builtin;
use crate::task::Phase;
use loopfit_engine::Stop;
use loopfit_model::{Network, Parameters, Tying};

fn named() -> Named {
    builtin::find("cap-path").unwrap().remove(0)
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

fn filled(directory: &Path, shard: Shard, tasks: &[u64]) -> Store {
    let store = Store::create(directory, shard).unwrap();
    store.begin(&named()).unwrap();
    for seed in tasks {
        let task = Task::new(Phase::Confirmation, "bumps", None, *seed);
        store.begin_task("cap-path", &task).unwrap();
        let value = 1.0 + *seed as f32;
        store
            .put_fit(
                "cap-path",
                &task.name,
                "f",
                Method::Single,
                &spec(),
                &outcome(value),
            )
            .unwrap();
        store
            .freeze("cap-path", &task.name, vec![choice("single", "f")])
            .unwrap();
        let scores = [("single".to_string(), "MSE".to_string(), f64::from(value))];
        store.put_scores("cap-path", &task.name, &scores).unwrap();
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

#[test]
fn fits_come_back_as_they_went_in() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path(), Shard::WHOLE, &[7]);
    let stored = store
        .fit("cap-path", "confirmation/bumps/7", "f")
        .unwrap()
        .unwrap();
    let (back, put) = (stored.outcome, outcome(8.0));
    assert_eq!(back.parameters, put.parameters);
    assert_eq!(
        (back.validation, back.best_update, back.updates, back.stop),
        (put.validation, put.best_update, put.updates, put.stop)
    );
    assert_eq!(back.curve, put.curve);
    assert!(
        store
            .fit("cap-path", "confirmation/bumps/7", "g")
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
    let late = store.put_fit(
        "cap-path",
        task,
        "g",
        Method::Single,
        &spec(),
        &outcome(0.5),
    );
    assert!(late.unwrap_err().to_string().contains("frozen"));
    let second = store.freeze("cap-path", task, vec![choice("loop", "f")]);
    assert!(second.unwrap_err().to_string().contains("frozen"));
    for change in [
        "UPDATE choice SET fit = NULL",
        "DELETE FROM choice",
        "UPDATE score SET value = 0",
        "DELETE FROM score",
        "UPDATE fit SET validation = 0",
    ] {
        let refused = store.with(|c| c.execute(change, []).map(|_| ()));
        assert!(
            refused.unwrap_err().to_string().contains("cannot be"),
            "{change}"
        );
    }
    let scores = [("other".to_string(), "MSE".to_string(), 1.0)];
    assert!(store.put_scores("cap-path", task, &scores).is_err());
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

fn shard(index: usize) -> Shard {
    Shard { index, count: 3 }
}

/// Whatever the order of the shards, and with tasks that two of them have: the same bytes.
#[test]
fn merging_is_independent_of_the_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    drop(filled(&path.join("s"), shard(1), &[3, 1]));
    drop(filled(&path.join("s"), shard(2), &[2, 3]));
    drop(filled(&path.join("s"), shard(3), &[5]));
    let files = stores_in(&path.join("s"));
    let merged = |name: &str, order: &[usize]| {
        let stores: Vec<PathBuf> = order.iter().map(|i| files[*i].clone()).collect();
        std::fs::read(merge(&stores, &path.join(name)).unwrap()).unwrap()
    };
    let first = merged("a", &[0, 1, 2]);
    for (name, order) in [("b", [2, 1, 0]), ("c", [1, 2, 0])] {
        assert!(first == merged(name, &order), "order {order:?}");
    }
    // A directory stands for all its shards.
    let whole = merge(&[path.join("s")], &path.join("d")).unwrap();
    assert!(first == std::fs::read(whole).unwrap());
    assert!(
        merge(&[path.join("s")], &path.join("d"))
            .unwrap_err()
            .to_string()
            .contains("exists")
    );
    // The content is that of one store that has it all.
    let all = filled(&path.join("all"), Shard::WHOLE, &[1, 2, 3, 5]);
    let text = |store: &Store| {
        let mut out = Vec::new();
        export(store, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let merged = Store::open(&path.join("a")).unwrap();
    assert_eq!(text(&merged), text(&all));
    assert!(!text(&all).contains("seconds"));
}

#[test]
fn mixed_protocols_and_contradictions_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    drop(filled(&path.join("a"), Shard::WHOLE, &[1]));
    let other = Store::create(&path.join("b"), Shard::WHOLE).unwrap();
    let mut quick = named();
    quick.study = quick.study.quick();
    other.begin(&quick).unwrap();
    drop(other);
    let mixed = merge(&[path.join("a"), path.join("b")], &path.join("m")).unwrap_err();
    assert!(mixed.to_string().contains("different protocols"), "{mixed}");
    drop(filled(&path.join("c"), Shard::WHOLE, &[1]));
    let c = Connection::open(path.join("c/study.sqlite")).unwrap();
    c.execute_batch("DROP TRIGGER fits_stay; UPDATE fit SET updates = 6")
        .unwrap();
    drop(c);
    let contradiction = merge(&[path.join("a"), path.join("c")], &path.join("m")).unwrap_err();
    assert!(
        contradiction.to_string().contains("other content"),
        "{contradiction}"
    );
    let left = std::fs::read_dir(path.join("m")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["study.lock"]);
}

#[test]
fn shares_are_disjoint_and_complete() {
    for n in 1..5 {
        for task in 0..20 {
            let owners = (1..=n).filter(|i| {
                Shard {
                    index: *i,
                    count: n,
                }
                .has(task)
            });
            assert_eq!(owners.count(), 1);
        }
    }
    for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/3"] {
        assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
    }
    assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
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
        Connection::open(&path).unwrap().execute(sql, []).unwrap();
        let error = Store::open(&path).unwrap().studies().unwrap_err();
        assert!(
            matches!(error, StudyError::Broken { .. }),
            "{what}: {error}"
        );
        let out = folder.path().join("merged");
        assert!(merge(&[path], &out).is_err(), "{what}");
        assert!(!out.exists(), "{what}");
    }
}

#[test]
fn one_process_merges_into_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    drop(filled(&place("a"), Shard::WHOLE, &[1]));
    let busy = filled(&place("out"), Shard::WHOLE, &[]);
    let error = merge(&[place("a")], &place("out")).unwrap_err();
    assert!(matches!(error, StudyError::Busy { .. }), "{error}");
    drop(busy);
    let error = merge(&[place("a")], &place("out")).unwrap_err();
    assert!(matches!(error, StudyError::Exists { .. }), "{error}");
    // Four at once: one store, whole.
    let results: Vec<bool> = std::thread::scope(|scope| {
        let merging = || scope.spawn(|| merge(&[place("a")], &place("new")).is_ok());
        let four: Vec<_> = (0..4).map(|_| merging()).collect();
        four.into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(results.iter().filter(|ok| **ok).count(), 1);
    assert_eq!(
        Store::open(&place("new")).unwrap().studies().unwrap().len(),
        1
    );
}

#[test]
fn a_damaged_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), Shard::WHOLE, &[1, 2, 3]));
    let path = folder.path().join(WHOLE_FILE);
    let mut bytes = std::fs::read(&path).unwrap();
    // The cells of a page in the middle.
    let page = bytes.len() / 2 / 4096 * 4096;
    bytes[page..page + 64].fill(0xA5);
    std::fs::write(&path, &bytes).unwrap();
    assert!(Store::open(&path).is_err());
    assert!(Store::create(folder.path(), Shard::WHOLE).is_err());
}
