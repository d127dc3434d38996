//! Work that is shared: fits of a cache, and tasks of shares that were other ones before.

use loopfit_engine::{Control, Engine};
use loopfit_study::cache::Cache;
use loopfit_study::progress::{Counts, Progress};
use loopfit_study::run::Prepared;
use loopfit_study::shares::{Shares, left, measured, pieces};
use loopfit_study::store::{self, Store, merge, together};
use loopfit_study::{Named, Shard, StudyError, builtin};
use std::path::{Path, PathBuf};

/// The quick size of some built-in studies, of paths the first case alone: every fit is written to the disk.
fn quick(names: &[&str]) -> Vec<Named> {
    let find = |name: &&str| {
        let mut named = builtin::find(name).unwrap().remove(0);
        named.study = named.study.quick();
        if name.ends_with("-path") {
            named.study.cases.truncate(1);
        }
        named
    };
    names.iter().map(find).collect()
}

fn run(studies: &[Named], out: &Path, shard: Shard, cache: Option<&Cache>) -> Counts {
    let prepared = Prepared::all(studies, shard, None).unwrap();
    let store = Store::create(out, shard).unwrap();
    let engine = Engine::new(2).unwrap();
    let (control, progress) = (Control::default(), Progress::default());
    for one in &prepared {
        one.announce(&progress);
    }
    for one in &prepared {
        let mut entered = one.enter(&store, &engine).unwrap();
        if let Some(cache) = cache {
            entered = entered.with_cache(cache);
        }
        entered.run(&control, &progress).unwrap();
    }
    let counts = progress.counts();
    assert_eq!(counts.fits, counts.total, "every fit was counted");
    counts
}

fn content(path: &Path) -> String {
    let mut out = Vec::new();
    store::export(&Store::open(path).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn shard(index: usize, count: usize) -> Shard {
    Shard { index, count }
}

/// How a cache is opened.
type Open = fn(&Path) -> Result<Cache, StudyError>;

/// The files of a folder, at any depth.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found.sort();
    found
}

/// A second study finds what the first has made, makes the rest, and holds what it would hold alone.
#[test]
fn fits_of_a_cache_are_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let (first, both) = (
        quick(&["cap-path"]),
        quick(&["cap-path", "sample-size-path"]),
    );
    let alone = run(&both, &place("alone"), Shard::WHOLE, None);
    let open: [Open; 2] = [Cache::database, Cache::files];
    for (number, open) in open.iter().enumerate() {
        let place = |name: &str| folder.path().join(format!("{number}-{name}"));
        let cache = open(&place("cache")).unwrap();
        let made = run(&first, &place("first"), Shard::WHOLE, Some(&cache));
        assert_eq!((cache.found(), cache.kept()), (0, made.fits));
        let cache = open(&place("cache")).unwrap();
        let more = run(&both, &place("both"), Shard::WHOLE, Some(&cache));
        assert!(cache.found() >= made.fits, "{} found", cache.found());
        assert_eq!(cache.found() + cache.kept(), more.fits);
        assert_eq!(
            more.updates + more.found_updates,
            alone.updates,
            "found and made are all"
        );
        assert!(content(&place("both")) == content(&folder.path().join("alone")));
        assert_eq!(cache.trouble(), None);
    }
}

/// One byte of one record has changed: that fit is made again, and nothing else.
#[test]
fn a_damaged_record_is_repeated_and_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let studies = quick(&["cap-path"]);
    let cache = Cache::files(&place("cache")).unwrap();
    run(&studies, &place("first"), Shard::WHOLE, Some(&cache));
    let record = files(&place("cache")).remove(3);
    let mut bytes = std::fs::read(&record).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&record, &bytes).unwrap();
    let cache = Cache::files(&place("cache")).unwrap();
    run(&studies, &place("second"), Shard::WHOLE, Some(&cache));
    assert_eq!((cache.damaged(), cache.kept()), (1, 1));
    assert!(content(&place("second")) == content(&place("first")));
    // The record is whole again.
    let cache = Cache::files(&place("cache")).unwrap();
    let counts = run(&studies, &place("third"), Shard::WHOLE, Some(&cache));
    assert_eq!((cache.damaged(), counts.updates), (0, 0));
}

/// A run that was made without a cache fills one when it is run again.
#[test]
fn a_cache_learns_from_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let studies = quick(&["cap-path"]);
    let made = run(&studies, &place("first"), Shard::WHOLE, None);
    let cache = Cache::database(&place("cache")).unwrap();
    let store = Store::open(&place("first")).unwrap();
    cache.learn(&store).unwrap();
    cache.learn(&store).unwrap();
    assert_eq!(cache.kept(), made.fits, "each once");
    let counts = run(&studies, &place("second"), Shard::WHOLE, Some(&cache));
    assert_eq!((counts.updates, cache.found()), (0, made.fits));
}

/// Who owns a task may change between runs: with the number of shares, or with the rule. Finished tasks are taken over from the
/// stores in the same directory, and no fit is made twice.
#[test]
fn shares_of_another_number_go_on() {
    let studies = quick(&["cap-path", "ebm"]);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let whole = run(&studies, &place("whole"), Shard::WHOLE, None);
    let mut updates = 0;
    for index in 1..=3 {
        updates += run(&studies, &place("shards"), shard(index, 3), None).updates;
    }
    assert_eq!(
        updates, whole.updates,
        "one after the other, none is run twice"
    );
    for index in 1..=2 {
        let counts = run(&studies, &place("shards"), shard(index, 2), None);
        assert_eq!(counts.updates, 0, "share {index} of 2");
    }
    merge(&[place("shards")], &place("merged")).unwrap();
    assert!(content(&place("merged")) == content(&place("whole")));
    // Each new share has only its own, and what its own needs.
    let two: Vec<PathBuf> = (1..=2)
        .map(|i| place("shards").join(format!("shard-{i}-of-2.sqlite")))
        .collect();
    merge(&two, &place("two")).unwrap();
    assert!(content(&place("two")) == content(&place("whole")));
}

/// Every task has one owner, whatever the number of shares; shares know what is left of them, and costs that were measured
/// are those of the store.
#[test]
fn shares_know_what_is_left() {
    let studies = quick(&["cap-path", "ebm"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let prepared = Prepared::all(&studies, Shard::WHOLE, None).unwrap();
    let pieces = pieces(&prepared).unwrap();
    assert!(pieces.iter().all(|piece| piece.cost > 0.0));
    let shares = Shares::new(pieces.clone(), 3);
    let work = |index| -> u64 {
        let own = Prepared::all(&studies, shard(index, 3), None).unwrap();
        own.iter().map(|one| one.total().fits).sum()
    };
    let all: u64 = prepared.iter().map(|one| one.total().fits).sum();
    assert_eq!((1..=3).map(work).sum::<u64>(), all);
    let known = |out: &Path| left(&prepared, &shares, &together(out).unwrap().1).unwrap();
    run(&studies, out, shard(2, 3), None);
    assert_eq!(known(out).into_iter().collect::<Vec<_>>(), [1, 3]);
    run(&studies, out, shard(1, 3), None);
    run(&studies, out, shard(3, 3), None);
    let (parts, union) = together(out).unwrap();
    assert!(known(out).is_empty() && parts.iter().all(|part| part.store.is_ok()));
    let seconds: f64 = measured(&prepared, &pieces, &union).unwrap().iter().sum();
    let states = loopfit_study::status::status(&union).unwrap();
    let expected: f64 = states.iter().map(|state| state.seconds).sum();
    assert!((seconds - expected).abs() < 1e-9 * expected);
    assert!(states.iter().all(|state| state.complete));
}
