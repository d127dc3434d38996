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
    let left: Vec<_> = std::fs::read_dir(path.join("m"))
        .into_iter()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
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
