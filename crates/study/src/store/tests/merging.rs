//! Shards and merging.

use super::*;

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
    tamper(&c, "UPDATE fit SET updates = 6");
    seal(&c);
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
fn shares_are_written_as_parts() {
    for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/3"] {
        assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
    }
    assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
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

/// Two shards that take over from each other at the same instant never wait for each other's locks.
#[test]
fn shards_take_over_from_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let tasks = |shard: u64| (0..4).map(move |i| 1 + 2 * i + shard).collect::<Vec<_>>();
    let stores = [0, 1].map(|at| filled(directory.path(), shard(1 + at as usize), &tasks(at)));
    let [first, second] = &stores;
    let start = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for (store, others) in [(first, tasks(1)), (second, tasks(0))] {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                for seed in others {
                    let task = Task::new(Phase::Confirmation, "bumps", None, seed);
                    assert!(
                        store
                            .adopt(&store.siblings(), &named(), &task, true, "cpu-1")
                            .unwrap()
                    );
                    assert!(store.is_done("small", &task.name, true).unwrap());
                }
            });
        }
    });
    let all = stores.map(|store| {
        let mut out = Vec::new();
        export(&store, &mut out).unwrap();
        store.check_sound().unwrap();
        out
    });
    assert!(all[0] == all[1]);
}

/// Fits of two backends stand side by side if they promise the same bits; of two makings of one fit the faster is kept, or else the one
/// whose backend comes first.
#[test]
fn backends_of_the_same_bits_mix() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    drop(filled(&path.join("s"), shard(1), &[1, 2]));
    drop(filled_by(
        ("gpu", "cpu-1"),
        &path.join("s"),
        shard(2),
        &[2, 3],
    ));
    drop(filled_by(("gpu", "gpu-1"), &path.join("o"), shard(3), &[5]));
    let c = Connection::open(path.join("s/shard-2-of-3.sqlite")).unwrap();
    let files = stores_in(&path.join("s"));
    let merged = |name: &str, order: [usize; 2]| {
        let place = path.join(name);
        merge(&order.map(|i| files[i].clone()), &place).unwrap();
        let store = Store::open(&place).unwrap();
        let query = "SELECT backend FROM fit ORDER BY task";
        store.rows(query, [], |r| r.get::<_, String>(0)).unwrap()
    };
    assert_eq!(merged("a", [0, 1]), ["cpu", "cpu", "gpu"]);
    assert_eq!(merged("b", [1, 0]), ["cpu", "cpu", "gpu"]);
    tamper(&c, "UPDATE fit SET seconds = 0");
    seal(&c);
    drop(c);
    assert_eq!(merged("c", [0, 1]), ["cpu", "gpu", "gpu"]);
    assert_eq!(merged("d", [1, 0]), ["cpu", "gpu", "gpu"]);
    let mixed = merge(&[path.join("s"), path.join("o")], &path.join("m")).unwrap_err();
    let said = mixed.to_string();
    assert!(matches!(mixed, StudyError::MixedBits { .. }), "{said}");
    assert!(
        said.contains("cpu (cpu-1)") && said.contains("gpu (gpu-1)"),
        "{said}"
    );
    assert!(!path.join("m").exists());
    // Nor is a task with other bits taken over.
    let own = Store::create(&path.join("o"), shard(1)).unwrap();
    own.begin(&named()).unwrap();
    let task = Task::new(Phase::Confirmation, "bumps", None, 5);
    assert!(
        !own.adopt(&own.siblings(), &named(), &task, true, "cpu-1")
            .unwrap()
    );
    assert!(
        own.adopt(&own.siblings(), &named(), &task, true, "gpu-1")
            .unwrap()
    );
}
