//! What is not as it was written: found, said, mended.

use super::*;

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
            "UPDATE fit SET backend = 'other' WHERE task LIKE '%/2'",
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

#[test]
fn no_flipped_byte_changes_what_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), Shard::WHOLE, &[1]));
    flip(folder.path(), 1);
}

#[test]
fn no_flipped_byte_changes_what_an_older_store_says() {
    let folder = tempfile::tempdir().unwrap();
    let c = Connection::open(folder.path().join(WHOLE_FILE)).unwrap();
    c.execute_batch(versions::SECOND).unwrap();
    drop(c);
    flip(folder.path(), 16);
}

/// Every byte of a store, or one of so many, flipped in turn: either the store is refused or nothing that it says changes.
fn flip(folder: &Path, step: usize) {
    let path = folder.join(WHOLE_FILE);
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
        let own = folder.join(format!("flipped-{from}"));
        std::fs::write(&own, &bytes).unwrap();
        let mut file = std::fs::OpenOptions::new().write(true).open(&own).unwrap();
        let mut set = |at: usize, byte: u8| {
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(&[byte]).unwrap();
        };
        let mut refused = 0;
        for at in (from * step..bytes.len()).step_by(2 * step) {
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
    assert!(
        3 * refused * step > bytes.len(),
        "{refused} of {}",
        bytes.len()
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
    // A run keeps what can be read, or refuses.
    if let Ok(store) = Store::create(folder.path(), Shard::WHOLE) {
        assert!(store.notice().is_some());
        drop(store);
        assert!(Store::open(&path).is_ok());
    }
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
