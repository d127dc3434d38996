use super::*;
use loopfit_engine::{FitOutcome, Stop};
use loopfit_model::{Network, Parameters, Tying};

/// A fit whose numbers are not round.
fn a_fit(seed: u64) -> StoredFit {
    let network = Network::ffn(2, 1, 3, 2, Tying::Loop { t: 4 }).unwrap();
    let values = (0..network.count()).map(|i| (seed as f32 + i as f32).sqrt() / 3.0);
    StoredFit {
        method: "loop".to_string(),
        spec: serde_json::json!({ "network": network, "stream": seed }).to_string(),
        backend: "cpu".to_string(),
        bits: "cpu-2".to_string(),
        outcome: FitOutcome {
            parameters: Parameters::new(network.clone(), values.collect()).unwrap(),
            validation: (seed as f64 + 0.1).ln(),
            best_update: 3,
            updates: 5,
            stop: Stop::Completed,
            curve: vec![(0, 1.0 / 3.0), (5, f64::INFINITY)],
            seconds: 0.1 + 0.2,
        },
    }
}

/// How a cache is opened.
type Open = fn(&Path) -> Result<Cache, StudyError>;

/// Both kinds, each in a folder of its own.
fn both(folder: &Path) -> [Cache; 2] {
    [
        Cache::database(&folder.join("database")).unwrap(),
        Cache::files(&folder.join("files")).unwrap(),
    ]
}

#[test]
fn a_fit_comes_back_with_its_bits() {
    let folder = tempfile::tempdir().unwrap();
    for cache in both(folder.path()) {
        let fit = a_fit(3);
        assert!(cache.find(&fit.spec, &fit.bits).is_none());
        cache.keep(&fit);
        let found = cache.find(&fit.spec, &fit.bits).unwrap();
        assert_eq!(record::write(&found), record::write(&fit));
        assert_eq!(
            found.outcome.validation.to_bits(),
            fit.outcome.validation.to_bits()
        );
        // Another specification and other bits are other fits.
        assert!(cache.find(&a_fit(4).spec, &fit.bits).is_none());
        assert!(cache.find(&fit.spec, "cpu-9").is_none());
        assert_eq!((cache.found(), cache.kept(), cache.damaged()), (1, 1, 0));
        assert_eq!(cache.trouble(), None);
    }
}

/// Each byte of a record, changed: none is believed.
#[test]
fn no_damaged_record_is_believed() {
    let fit = a_fit(1);
    let sound = record::write(&fit);
    assert!(record::read(&sound, &fit.spec, &fit.bits).is_some());
    for at in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 4;
        assert!(
            record::read(&bytes, &fit.spec, &fit.bits).is_none(),
            "byte {at}"
        );
    }
    for length in 0..sound.len() {
        let cut = &sound[..length];
        assert!(record::read(cut, &fit.spec, &fit.bits).is_none());
    }
    // A sound record in the place of another one is not what was asked for.
    assert!(record::read(&sound, &a_fit(2).spec, &fit.bits).is_none());
}

#[test]
fn what_is_made_again_takes_the_place_of_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    for cache in both(folder.path()) {
        let fit = a_fit(1);
        let key = key(&fit.spec, &fit.bits);
        cache.shelf.write(&key, b"not a record").unwrap();
        assert!(cache.find(&fit.spec, &fit.bits).is_none());
        assert_eq!(cache.damaged(), 1);
        cache.keep(&fit);
        assert!(cache.find(&fit.spec, &fit.bits).is_some());
    }
}

/// Eight writers of the same and of different fits at once, each with a connection of its own, as processes have.
#[test]
fn many_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let open: [Open; 2] = [Cache::database, Cache::files];
    for (number, open) in open.iter().enumerate() {
        let place = folder.path().join(number.to_string());
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let place = &place;
                scope.spawn(move || {
                    let cache = open(place).unwrap();
                    for seed in 0..40 {
                        cache.keep(&a_fit(if seed % 2 == 0 {
                            seed
                        } else {
                            100 * writer + seed
                        }));
                    }
                    assert_eq!(cache.trouble(), None);
                    assert_eq!(cache.kept(), 40);
                });
            }
        });
        let cache = open(&place).unwrap();
        let fits = (0..40).step_by(2).map(a_fit);
        let own = (0..8u64).flat_map(|w| (1..40).step_by(2).map(move |s| a_fit(100 * w + s)));
        for fit in fits.chain(own) {
            assert!(cache.find(&fit.spec, &fit.bits).is_some());
        }
        assert_eq!(cache.damaged(), 0);
    }
}

/// A cache that is gone or is not one: a run is told, and finds nothing.
#[test]
fn trouble_is_told_and_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::files(folder.path()).unwrap();
    std::fs::remove_dir_all(folder.path().join("fits")).unwrap();
    std::fs::write(folder.path().join("fits"), "in the way").unwrap();
    let fit = a_fit(1);
    assert!(cache.find(&fit.spec, &fit.bits).is_none());
    cache.keep(&fit);
    assert_eq!(cache.kept(), 0);
    assert!(cache.trouble().unwrap().contains("fits"));
    // No database: the same. One of something else is refused, and so is a folder without a name.
    std::fs::write(folder.path().join("fits.sqlite"), "text, not a database").unwrap();
    let cache = Cache::database(folder.path()).unwrap();
    assert!(cache.find(&fit.spec, &fit.bits).is_none());
    cache.keep(&fit);
    assert_eq!(cache.kept(), 0);
    assert!(cache.trouble().unwrap().contains("not a database"));
    let other = tempfile::tempdir().unwrap();
    let c = rusqlite::Connection::open(other.path().join("fits.sqlite")).unwrap();
    c.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(c);
    let refused = Cache::database(other.path()).unwrap_err().to_string();
    assert!(refused.contains("not a cache of fits"), "{refused}");
    let open: [Open; 2] = [Cache::database, Cache::files];
    for open in open {
        let refused = open(Path::new("")).unwrap_err().to_string();
        assert!(refused.contains("no folder is named"), "{refused}");
    }
}
