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

fn filled(directory: &Path, shard: Shard, tasks: &[u64]) -> Store {
    let store = Store::create(directory, shard).unwrap();
    store.begin(&named()).unwrap();
    for seed in tasks {
        let task = Task::new(Phase::Confirmation, "bumps", None, *seed);
        store.begin_task("small", &task).unwrap();
        let value = 1.0 + *seed as f32;
        store
            .put_fit(
                "small",
                &task.name,
                "f",
                Method::Single,
                &spec(),
                &outcome(value),
            )
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

#[test]
fn fits_come_back_as_they_went_in() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path(), Shard::WHOLE, &[7]);
    let stored = store
        .fit("small", "confirmation/bumps/7", "f")
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
    let late = store.put_fit("small", task, "g", Method::Single, &spec(), &outcome(0.5));
    assert!(late.unwrap_err().to_string().contains("frozen"));
    let second = store.freeze("small", task, vec![choice("loop", "f")]);
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

/// Changes records behind the back of the triggers.
fn tamper(c: &Connection, sql: &str) {
    let triggers: Vec<(String, String)> = c
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    c.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
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
        let query = format!("SELECT rowid, {} FROM {}", table.list(), table.name);
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

/// The checksum of a record is part of the format: a program that computes another one would throw
/// away every fit of every store.
#[test]
fn checksums_are_frozen() {
    let row = [
        Value::Text("small".to_string()),
        Value::Null,
        Value::Integer(-7),
        Value::Real(0.5),
        Value::Blob(vec![1, 2]),
    ];
    let sum = |row: &[Value]| FIT.checksum(row.iter().map(Into::into));
    // Python: hashlib.sha256 over b"t" + length + bytes and so on, as `Table::checksum` says.
    assert_eq!(
        sum(&row),
        "2395c0faedcec6a3d023aa40164a7029580eb4c26d86764d62cf18629158ba34"
    );
    assert_ne!(sum(&row), SCORE.checksum(row.iter().map(Into::into)));
    // SQLite gives a zero back without its sign.
    assert_eq!(sum(&[Value::Real(-0.0)]), sum(&[Value::Real(0.0)]));
}

/// Whatever is changed, deleted or put in by hand is noticed, and a run that is mended knows what
/// to do again.
#[test]
fn records_that_were_changed_or_deleted_are_noticed() {
    for (sql, says) in [
        (
            "UPDATE fit SET validation = 0 WHERE task LIKE '%/2'",
            "fit f of task confirmation/bumps/2 of study small: its content",
        ),
        (
            "UPDATE fit SET seconds = 0 WHERE task LIKE '%/2'",
            "its content",
        ),
        (
            "UPDATE fit SET checksum = '' WHERE task LIKE '%/2'",
            "its content",
        ),
        ("UPDATE score SET value = 0", "score single MSE of task"),
        ("UPDATE choice SET fit = NULL", "choice single of task"),
        (
            "UPDATE task SET seed = 5 WHERE seed = 1",
            "task confirmation/bumps/1 of study small: its content",
        ),
        (
            "UPDATE study SET protocol = replace(protocol, '8', '9')",
            "protocol of study small",
        ),
        ("UPDATE tally SET count = 0", "tally"),
        (
            "DELETE FROM score WHERE task LIKE '%/2'",
            "score records of task confirmation/bumps/2 of study small: 0 of 1 are there",
        ),
        ("DELETE FROM choice WHERE task LIKE '%/2'", "choice records"),
        ("DELETE FROM fit WHERE task LIKE '%/2'", "fit records"),
        ("DELETE FROM tally WHERE records = 'score'", "tally of task"),
        ("DELETE FROM tally WHERE records = 'fit'", "tally of task"),
        ("DELETE FROM task WHERE seed = 2", "it is missing"),
        (
            "DELETE FROM study",
            "protocol of study small: it is missing",
        ),
        ("DROP TABLE decision", "decision"),
        (
            "DROP TRIGGER IF EXISTS x; CREATE TRIGGER x AFTER INSERT ON fit BEGIN SELECT 1; END",
            "not those of this version",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(filled(folder.path(), Shard::WHOLE, &[1, 2]));
        let path = folder.path().join(WHOLE_FILE);
        let c = Connection::open(&path).unwrap();
        tamper(&c, sql);
        drop(c);
        let said = match verify(folder.path()) {
            Ok(stores) => stores[0]
                .damage
                .faults
                .iter()
                .map(|f| format!("{f}\n"))
                .collect(),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(says), "{sql}: {said}");
        assert!(!said.contains("task of task"), "{sql}: {said}");
        let error = Store::open(&path).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{sql}: {error}");
        assert!(
            merge(&[path], &folder.path().join("merged")).is_err(),
            "{sql}"
        );
    }
}

/// A run keeps what is sound. Fits of a task that something is wrong with stay, its choices and scores
/// do not: they are made again from the fits.
#[test]
fn what_is_sound_outlives_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), Shard::WHOLE, &[1, 2, 3]));
    let path = folder.path().join(WHOLE_FILE);
    let c = Connection::open(&path).unwrap();
    tamper(
        &c,
        "UPDATE fit SET updates = 6 WHERE task LIKE '%/2'; DELETE FROM score WHERE task LIKE '%/3'",
    );
    drop(c);
    let store = Store::create(folder.path(), Shard::WHOLE).unwrap();
    let notice = store.notice().unwrap();
    assert!(
        notice.contains("fit f of task confirmation/bumps/2"),
        "{notice}"
    );
    let has = |seed: u64| {
        let task = format!("confirmation/bumps/{seed}");
        (
            store.fit("small", &task, "f").unwrap().is_some(),
            store.frozen("small", &task).unwrap().is_some(),
            store.is_scored("small", &task).unwrap(),
        )
    };
    assert_eq!(has(1), (true, true, true));
    assert_eq!(has(2), (false, false, false));
    assert_eq!(has(3), (true, false, false));
    assert!(path.with_extension("sqlite.old").exists());
    drop(store);
    // Nothing is wrong with what is left, and nothing is left to mend.
    assert!(Store::open(&path).is_ok());
    let store = Store::create(folder.path(), Shard::WHOLE).unwrap();
    assert_eq!(store.notice(), None);
}

/// Every byte of a store, flipped in turn: either the store is refused or nothing that it says changes.
#[test]
fn no_flipped_byte_changes_what_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), Shard::WHOLE, &[1]));
    let path = folder.path().join(WHOLE_FILE);
    let c = Connection::open(&path).unwrap();
    // Small pages leave little unused.
    c.execute_batch("PRAGMA page_size = 512; VACUUM").unwrap();
    drop(c);
    let says = |path: &Path| -> Result<(String, String), StudyError> {
        let store = Store::open(path)?;
        let mut out = Vec::new();
        export(&store, &mut out)?;
        let states = crate::status::status(&store)?;
        let text = String::from_utf8(out).unwrap();
        Ok((text, format!("{states:?}")))
    };
    let expected = says(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let flip = |from: usize| {
        use std::io::{Seek, SeekFrom, Write};
        let own = folder.path().join(format!("flipped-{from}"));
        std::fs::write(&own, &bytes).unwrap();
        let mut file = std::fs::OpenOptions::new().write(true).open(&own).unwrap();
        let mut set = |at: usize, byte: u8| {
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(&[byte]).unwrap();
        };
        let mut refused = 0;
        for at in (from..bytes.len()).step_by(2) {
            set(at, bytes[at] ^ (1 << (at / 2 % 8)));
            match says(&own) {
                Err(_) => refused += 1,
                Ok(said) => assert!(said == expected, "byte {at} of {}", bytes.len()),
            }
            set(at, bytes[at]);
        }
        refused
    };
    let refused: usize = std::thread::scope(|scope| {
        let halves = [0, 1].map(|from| scope.spawn(move || flip(from)));
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    // The rest is unused space and the counters of SQLite.
    assert!(3 * refused > bytes.len(), "{refused} of {}", bytes.len());
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

/// The first version of the tables had no checksums: it is said, and it is written anew.
#[test]
fn stores_without_checksums_are_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let old = |name: &str| {
        let place = folder.path().join(name);
        std::fs::create_dir_all(&place).unwrap();
        let c = Connection::open(place.join(WHOLE_FILE)).unwrap();
        c.execute_batch(include_str!("../../tests/assets/store-1.sql"))
            .unwrap();
        place
    };
    let place = old("a");
    let refused = Store::open(&place).unwrap_err().to_string();
    assert!(refused.contains("study merge"), "{refused}");
    let studies = |json: &[u8]| -> serde_json::Value {
        let mut value: serde_json::Value = serde_json::from_slice(json).unwrap();
        value["studies"].take()
    };
    let exported = |place: &Path| {
        let mut out = Vec::new();
        export(&Store::open(place).unwrap(), &mut out).unwrap();
        studies(&out)
    };
    let expected = studies(include_bytes!("../../tests/assets/store-1.json"));
    assert!(expected.is_array());
    merge(std::slice::from_ref(&place), &folder.path().join("merged")).unwrap();
    assert_eq!(exported(&folder.path().join("merged")), expected);
    let store = Store::create(&place, Shard::WHOLE).unwrap();
    assert!(store.notice().unwrap().contains("had no checksums"));
    drop(store);
    assert_eq!(exported(&place), expected);
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
    // A run keeps what can be read, or refuses.
    if let Ok(store) = Store::create(folder.path(), Shard::WHOLE) {
        assert!(store.notice().is_some());
        drop(store);
        assert!(Store::open(&path).is_ok());
    }
}

/// The first version has no checksums, but what cannot be read is not taken for what was never there.
#[test]
fn an_unreadable_page_of_a_store_without_checksums_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(WHOLE_FILE);
    let c = Connection::open(&path).unwrap();
    c.execute_batch("PRAGMA page_size = 512").unwrap();
    c.execute_batch(include_str!("../../tests/assets/store-1.sql"))
        .unwrap();
    for i in 0..120 {
        let task = "'old', 'confirmation/bumps/1', 'single'";
        c.execute_batch(&format!(
            "INSERT INTO score VALUES({task}, 'metric-{i:03}', 0.5)"
        ))
        .unwrap();
    }
    drop(c);
    let mut bytes = std::fs::read(&path).unwrap();
    // A leaf of the table begins with 13.
    let leaf = |page: &&mut [u8]| page[0] == 13 && page.windows(10).any(|w| w == b"metric-060");
    let page = bytes.chunks_mut(512).find(leaf).unwrap();
    page[..16].fill(0xA5);
    std::fs::write(&path, &bytes).unwrap();
    let merged = folder.path().join("merged");
    let error = merge(std::slice::from_ref(&path), &merged).unwrap_err();
    assert!(matches!(error, StudyError::Damaged { .. }), "{error}");
    assert!(!merged.exists());
    let store = Store::create(folder.path(), Shard::WHOLE).unwrap();
    let notice = store.notice().unwrap();
    assert!(notice.contains("scores are made again"), "{notice}");
    assert!(!notice.contains("as it was, and"), "{notice}");
    let task = "confirmation/bumps/1";
    let fit = store.fit("old", task, "single/round-1/start-000").unwrap();
    assert!(fit.is_some());
    assert!(!store.is_done("old", task, true).unwrap());
    drop(store);
    assert!(Store::open(&path).is_ok());
}

/// What a mended store keeps is sound whatever is run next, and no copy of a damaged store is lost.
#[test]
fn a_task_that_is_damaged_is_entered_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(WHOLE_FILE);
    drop(filled(folder.path(), Shard::WHOLE, &[1, 2]));
    for (number, sql) in [
        "UPDATE task SET seed = 5 WHERE seed = 1",
        "UPDATE task SET task = 'nowhere' WHERE seed = 1",
        "DELETE FROM task",
    ]
    .into_iter()
    .enumerate()
    {
        let c = Connection::open(&path).unwrap();
        tamper(&c, sql);
        drop(c);
        let damaged = std::fs::read(&path).unwrap();
        let store = Store::create(folder.path(), Shard::WHOLE).unwrap();
        assert!(store.notice().is_some(), "{sql}");
        let fit = store.fit("small", "confirmation/bumps/1", "f").unwrap();
        assert!(fit.is_some(), "{sql}");
        drop(store);
        let store = Store::create(folder.path(), Shard::WHOLE).unwrap();
        assert_eq!(store.notice(), None, "{sql}");
        let kept = ["sqlite.old", "sqlite.old.2", "sqlite.old.3"][number];
        let kept = std::fs::read(path.with_extension(kept)).unwrap();
        assert!(kept == damaged, "{sql}");
    }
    // A task that its study does not have goes with all that belonged to it.
    let c = Connection::open(&path).unwrap();
    tamper(&c, "UPDATE fit SET task = 'nowhere' WHERE task LIKE '%/2'");
    seal(&c);
    drop(c);
    assert!(
        Store::create(folder.path(), Shard::WHOLE)
            .unwrap()
            .notice()
            .is_some()
    );
    assert!(Store::open(&path).is_ok());
}

#[test]
fn tables_that_cannot_be_made_out_come_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(WHOLE_FILE);
    drop(filled(folder.path(), Shard::WHOLE, &[1]));
    let mut bytes = std::fs::read(&path).unwrap();
    let word = b"CREATE TABLE fit";
    // Also what is left of it in unused space.
    for at in 0..bytes.len() - word.len() {
        if bytes[at..].starts_with(word) {
            bytes[at + 7] = b'?';
        }
    }
    std::fs::write(&path, &bytes).unwrap();
    for error in [
        Store::create(folder.path(), Shard::WHOLE).unwrap_err(),
        Store::open(&path).unwrap_err(),
    ] {
        let said = error.to_string();
        assert!(said.contains("move it away and run again"), "{said}");
    }
    assert!(std::fs::read(&path).unwrap() == bytes);
}
