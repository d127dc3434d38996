//! Stores of earlier versions.

use super::*;

/// What the first version wrote, without checksums.
const FIRST: &str = include_str!("../../../tests/assets/store-1.sql");
/// What the second version wrote of the same study: it did not say who made a fit.
pub(super) const SECOND: &str = include_str!("../../../tests/assets/store-2.sql");

/// A store of an earlier version in a folder of its own.
fn placed(folder: &Path, name: &str, sql: &str) -> PathBuf {
    let place = folder.join(name);
    std::fs::create_dir_all(&place).unwrap();
    let c = Connection::open(place.join(WHOLE_FILE)).unwrap();
    c.execute_batch(sql).unwrap();
    place
}

/// The studies of both, whose fits were made by the only backend that there was.
fn expected() -> serde_json::Value {
    let json = include_bytes!("../../../tests/assets/store-1.json");
    let mut value: serde_json::Value = serde_json::from_slice(json).unwrap();
    let mut studies = value["studies"].take();
    let tasks = studies[0]["tasks"].as_array_mut().unwrap().iter_mut();
    let fits = tasks.flat_map(|task| task["fits"].as_array_mut().unwrap());
    for fit in fits {
        fit["bits"] = CPU.1.into();
    }
    studies
}

fn exported(place: &Path) -> serde_json::Value {
    let mut out = Vec::new();
    export(&Store::open(place).unwrap(), &mut out).unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    value["studies"].take()
}

/// The first version of the tables had no checksums: it is said, and it is written anew.
#[test]
fn stores_without_checksums_are_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let place = placed(folder.path(), "a", FIRST);
    let refused = Store::open(&place).unwrap_err().to_string();
    assert!(refused.contains("merging it into a new store"), "{refused}");
    let refused = verify(&place).unwrap_err().to_string();
    assert!(refused.contains("no checksums"), "{refused}");
    merge(std::slice::from_ref(&place), &folder.path().join("merged")).unwrap();
    assert_eq!(exported(&folder.path().join("merged")), expected());
    let store = Store::create(&place, Shard::WHOLE).unwrap();
    assert!(store.notice().unwrap().contains("had no checksums"));
    drop(store);
    assert_eq!(exported(&place), expected());
}

/// The second version is read as it is, and written anew where it is to be written to.
#[test]
fn stores_that_do_not_say_who_made_a_fit_open() {
    let folder = tempfile::tempdir().unwrap();
    let place = placed(folder.path(), "a", SECOND);
    let path = place.join(WHOLE_FILE);
    let before = std::fs::read(&path).unwrap();
    assert!(verify(&place).unwrap()[0].damage.is_empty());
    assert!(crate::status::status(&Store::open(&place).unwrap()).unwrap()[0].complete);
    assert_eq!(exported(&place), expected());
    let merged = folder.path().join("merged");
    merge(std::slice::from_ref(&place), &merged).unwrap();
    assert_eq!(exported(&merged), expected());
    assert_eq!(Store::open(&merged).unwrap().version, VERSION);
    // Another shard takes a task over.
    let named = Store::open(&place).unwrap().studies().unwrap().remove(0);
    let shard = Store::create(&place, Shard { index: 1, count: 2 }).unwrap();
    shard.begin(&named).unwrap();
    let task = Task::new(Phase::Confirmation, "bumps", None, 1);
    assert!(
        !shard
            .adopt(&shard.siblings(), &named, &task, true, "gpu-1")
            .unwrap()
    );
    assert!(
        shard
            .adopt(&shard.siblings(), &named, &task, true, CPU.1)
            .unwrap()
    );
    shard.check_sound().unwrap();
    drop(shard);
    assert!(
        std::fs::read(&path).unwrap() == before,
        "reading changes nothing"
    );
    let store = Store::create(&place, Shard::WHOLE).unwrap();
    let notice = store.notice().unwrap();
    assert!(notice.contains("made by cpu"), "{notice}");
    drop(store);
    assert!(std::fs::read(path.with_extension("sqlite.old")).unwrap() == before);
    assert_eq!(exported(&path), expected());
    let store = Store::create(&place, Shard::WHOLE).unwrap();
    assert_eq!((store.notice(), store.version), (None, VERSION));
}

/// Its checksums are checked, and what is sound is kept.
#[test]
fn a_damaged_store_of_the_second_version_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let place = placed(folder.path(), "a", SECOND);
    let c = Connection::open(place.join(WHOLE_FILE)).unwrap();
    tamper(
        &c,
        "UPDATE fit SET updates = 6 WHERE task LIKE '%/1' AND method = 'loop'",
    );
    drop(c);
    let refused = Store::open(&place).unwrap_err().to_string();
    assert!(refused.contains("is damaged"), "{refused}");
    assert_eq!(verify(&place).unwrap()[0].damage.faults.len(), 1);
    assert!(merge(std::slice::from_ref(&place), &folder.path().join("merged")).is_err());
    let store = Store::create(&place, Shard::WHOLE).unwrap();
    assert!(store.notice().unwrap().contains("was damaged"));
    let count = |query: &str| store.rows(query, [], |r| r.get::<_, i64>(0)).unwrap()[0];
    assert_eq!(count("SELECT count(*) FROM fit WHERE bits = 'cpu-1'"), 3);
    assert_eq!(count("SELECT count(*) FROM choice"), 2);
    drop(store);
    assert!(Store::open(&place).is_ok());
}

/// The first version has no checksums, but what cannot be read is not taken for what was never there.
#[test]
fn an_unreadable_page_of_a_store_without_checksums_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(WHOLE_FILE);
    let c = Connection::open(&path).unwrap();
    c.execute_batch("PRAGMA page_size = 512").unwrap();
    c.execute_batch(FIRST).unwrap();
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
    // The sentence points to verifying, which lists what cannot be read.
    let found = verify(&path).unwrap();
    assert!(!found[0].damage.is_empty());
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

/// A backend of other bits neither mends nor rewrites what it could not go on with.
#[test]
fn stores_of_other_bits_are_left_alone() {
    let engine = loopfit_engine::Engine::new(1).unwrap();
    for (name, assets, damage) in [
        ("first", FIRST, false),
        ("second", SECOND, false),
        ("damaged", SECOND, true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let place = placed(folder.path(), name, assets);
        let path = place.join(WHOLE_FILE);
        if damage {
            let c = Connection::open(&path).unwrap();
            tamper(&c, "UPDATE fit SET updates = 6 WHERE method = 'loop'");
        }
        let before = std::fs::read(&path).unwrap();
        let refused = Store::create_for(&place, Shard::WHOLE, &engine).unwrap_err();
        assert!(
            matches!(refused, StudyError::OtherBits { .. }),
            "{name}: {refused}"
        );
        assert!(
            std::fs::read(&path).unwrap() == before,
            "{name}: the file is as it was"
        );
    }
}
