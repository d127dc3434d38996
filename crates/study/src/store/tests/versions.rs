//! Stores of the first version, without checksums.

use super::*;

/// What the first version wrote.
const OLD: &str = include_str!("../../../tests/assets/store-1.sql");

/// The first version of the tables had no checksums: it is said, and it is written anew.
#[test]
fn stores_without_checksums_are_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let old = |name: &str| {
        let place = folder.path().join(name);
        std::fs::create_dir_all(&place).unwrap();
        let c = Connection::open(place.join(WHOLE_FILE)).unwrap();
        c.execute_batch(OLD).unwrap();
        place
    };
    let place = old("a");
    let refused = Store::open(&place).unwrap_err().to_string();
    assert!(refused.contains("merging it into a new store"), "{refused}");
    let refused = verify(&place).unwrap_err().to_string();
    assert!(refused.contains("no checksums"), "{refused}");
    let studies = |json: &[u8]| -> serde_json::Value {
        let mut value: serde_json::Value = serde_json::from_slice(json).unwrap();
        value["studies"].take()
    };
    let exported = |place: &Path| {
        let mut out = Vec::new();
        export(&Store::open(place).unwrap(), &mut out).unwrap();
        studies(&out)
    };
    let expected = studies(include_bytes!("../../../tests/assets/store-1.json"));
    assert!(expected.is_array());
    merge(std::slice::from_ref(&place), &folder.path().join("merged")).unwrap();
    assert_eq!(exported(&folder.path().join("merged")), expected);
    let store = Store::create(&place, Shard::WHOLE).unwrap();
    assert!(store.notice().unwrap().contains("had no checksums"));
    drop(store);
    assert_eq!(exported(&place), expected);
}

/// The first version has no checksums, but what cannot be read is not taken for what was never there.
#[test]
fn an_unreadable_page_of_a_store_without_checksums_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(WHOLE_FILE);
    let c = Connection::open(&path).unwrap();
    c.execute_batch("PRAGMA page_size = 512").unwrap();
    c.execute_batch(OLD).unwrap();
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
