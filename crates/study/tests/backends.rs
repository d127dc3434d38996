//! Studies by an engine of another crate.

mod other;

use loopfit_engine::{Backend, Control, Engine};
use loopfit_study::elsewhere::{Desk, make};
use loopfit_study::progress::Progress;
use loopfit_study::protocol::{Named, Study};
use loopfit_study::run::Prepared;
use loopfit_study::store::{self, Store, merge};
use loopfit_study::{Shard, StudyError};
use other::{Limit, Other};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Two replications of one case ...
const STUDY: &str = r#"
title = "Small"
seeds = { first = 5, count = 2 }
[[cases]]
name = "bumps"
data = "sim:bumps"
"#;

/// ... in each way of fitting.
const WAYS: [(&str, &str); 3] = [
    (
        "path",
        r#"
shapes = { single = 2, loop = [2, 4], untied = [2, 2] }
[continuation]
stages = [
    { train = 48, valid = 32, budget = 40, updates = 20, at = 40 },
    { train = 64, valid = 32, budget = 64, updates = 20, at = 64 },
]
"#,
    ),
    (
        "list",
        r#"
budget = 40
train = 64
valid = 32
[shortlist]
single.q = [1, 2]
loop = { q = [2], t = [2, 4] }
untied = { q = [2], t = [2] }
grid = { starts = 1, learning_rates = [0.01] }
development = { seeds = { first = 1, count = 2 }, warm = 10, refine = 20, keep = 1 }
confirmation = { warm = 10, refine = 40 }
"#,
    ),
    (
        "search",
        r#"
budget = 40
train = 64
valid = 32
[search]
updates = 64
"#,
    ),
];

fn study(number: usize) -> Named {
    let (name, way) = WAYS[number];
    Named::new(name, Study::parse(name, &format!("{STUDY}{way}")).unwrap())
}

fn run(named: &Named, out: &Path, shard: Shard, backend: &dyn Backend) -> Result<(), StudyError> {
    let prepared = Prepared::new(named, shard, None)?;
    let store = Store::create(out, shard)?;
    let entered = prepared.enter(&store, backend)?;
    entered.run(&Control::default(), &Progress::default())
}

/// What a store holds, and how many fits of each backend.
fn content(path: &Path) -> (serde_json::Value, [usize; 2]) {
    let (store, mut out) = (Store::open(path).unwrap(), Vec::new());
    store::export(&store, &mut out).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    let study = &value["studies"][0];
    let mut counts = [0, 0];
    for task in study["tasks"].as_array().unwrap() {
        for fit in task["fits"].as_array().unwrap() {
            let of = [&study["name"], &task["task"], &fit["fit"]].map(text);
            let stored = store.fit(&of[0], &of[1], &of[2]).unwrap().unwrap();
            counts[usize::from(stored.backend == "other")] += 1;
        }
    }
    (value, counts)
}

/// Each way of fitting: begun by one backend, ended by another of the same bits, and in shares of both. All fits go through them.
#[test]
fn backends_of_the_same_bits_share_a_study() {
    let cpu = Engine::new(2).unwrap();
    for named in [study(0), study(1), study(2)] {
        let name = &named.name;
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        run(&named, &place("cpu"), Shard::WHOLE, &cpu).unwrap();
        let (expected, [all, none]) = content(&place("cpu"));
        assert!(none == 0 && all > 8, "{name}: {all}");
        let stopped = run(
            &named,
            &place("both"),
            Shard::WHOLE,
            &Other::new(Limit::Interrupt(5)),
        );
        assert!(matches!(stopped, Err(StudyError::Interrupted)), "{name}");
        run(&named, &place("both"), Shard::WHOLE, &cpu).unwrap();
        let (found, [by_cpu, by_other]) = content(&place("both"));
        assert!(found == expected, "{name}");
        assert!(
            by_other >= 5 && by_cpu + by_other == all,
            "{name}: {by_other} of {all}"
        );
        let other = Other::new(Limit::None);
        let half = |index| Shard { index, count: 2 };
        run(&named, &place("s1"), half(1), &cpu).unwrap();
        run(&named, &place("s2"), half(2), &other).unwrap();
        merge(&[place("s1"), place("s2")], &place("merged")).unwrap();
        let (found, [by_cpu, by_other]) = content(&place("merged"));
        assert!(found == expected, "{name}: shares");
        assert!(
            by_cpu > 0 && by_other > 0 && by_cpu + by_other == all,
            "{name}"
        );
        assert!(other.fits() >= by_other, "{name}");
    }
}

/// A backend that does not promise the same bits may not go on with a study, and its shares are not merged.
#[test]
fn backends_of_other_bits_are_refused() {
    let cpu = Engine::new(2).unwrap();
    let other = Other::new(Limit::None).with_bits("other-1");
    let named = study(0);
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let half = |index| Shard { index, count: 2 };
    run(&named, &place("s1"), half(1), &cpu).unwrap();
    let before = content(&place("s1"));
    let refused = run(&named, &place("s1"), half(1), &other)
        .unwrap_err()
        .to_string();
    let says = format!(
        "were made by cpu ({}), and other (other-1) does not promise the same bits; use another directory",
        cpu.bits()
    );
    assert!(refused.ends_with(&says), "{refused}");
    assert!(content(&place("s1")) == before);
    run(&named, &place("s2"), half(2), &other).unwrap();
    let mixed = merge(&[place("s1"), place("s2")], &place("m")).unwrap_err();
    assert!(matches!(mixed, StudyError::MixedBits { .. }), "{mixed}");
}

/// Workers of a desk until the work is over: each makes what it takes, but for every third batch, with which it dies.
fn serve(desk: &Desk, over: &AtomicBool, batches: &AtomicUsize) {
    let worker = Engine::new(1).unwrap();
    while !over.load(Ordering::SeqCst) {
        let Some(batch) = desk.take(2) else {
            desk.wait(Duration::from_millis(5));
            continue;
        };
        if batches.fetch_add(1, Ordering::SeqCst) % 3 == 1 {
            desk.lost(batch.number);
            continue;
        }
        let samples = batch.samples.iter().map(|hash| desk.samples(hash).unwrap());
        let samples: Vec<Vec<u8>> = samples.collect();
        let records = make(&batch.errands, &samples, &worker).unwrap();
        desk.give(batch.number, &records).unwrap();
        // Twice, as from one who was thought to be dead.
        desk.give(batch.number, &records).unwrap();
    }
}

/// With two workers at a desk.
fn with_workers<T>(desk: &Desk, work: impl FnOnce() -> T) -> (T, usize) {
    let (over, batches) = (AtomicBool::new(false), AtomicUsize::new(0));
    let done = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| serve(desk, &over, &batches));
        }
        let done = work();
        over.store(true, Ordering::SeqCst);
        done
    });
    (done, batches.into_inner())
}

/// Each way of fitting, made elsewhere by workers that die: the export of one machine, byte for byte.
#[test]
fn fits_are_made_elsewhere() {
    let cpu = Engine::new(2).unwrap();
    for named in [study(0), study(1), study(2)] {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        let bytes = |path: &Path| {
            let mut out = Vec::new();
            store::export(&Store::open(path).unwrap(), &mut out).unwrap();
            out
        };
        run(&named, &place("here"), Shard::WHOLE, &cpu).unwrap();
        let desk = Desk::new(4).unwrap();
        let there = place("there");
        let (done, batches) = with_workers(&desk, || run(&named, &there, Shard::WHOLE, &desk));
        done.unwrap();
        assert!(batches > 3, "{}: {batches}", named.name);
        assert!(bytes(&there) == bytes(&place("here")), "{}", named.name);
        assert!(desk.needed().is_empty() && desk.take(1).is_none());
    }
}

/// What is not the fit that was handed out is not believed, and what is lost too often ends the work with a sentence.
#[test]
fn a_desk_believes_no_one() {
    let (named, directory) = (study(0), tempfile::tempdir().unwrap());
    let desk = Desk::new(2).unwrap();
    let worker = Engine::new(1).unwrap();
    let error = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&named, directory.path(), Shard::WHOLE, &desk));
        assert!(desk.wait(Duration::from_secs(60)));
        let batch = desk.take(1).unwrap();
        let samples: Vec<Vec<u8>> = batch
            .samples
            .iter()
            .map(|hash| desk.samples(hash).unwrap())
            .collect();
        let good = make(&batch.errands, &samples, &worker).unwrap();
        assert!(good.len() > 1);
        // A bit that flipped, another fit's record, a record too few.
        let mut flipped = good.clone();
        *flipped[0].last_mut().unwrap() ^= 1;
        let mut swapped = good.clone();
        swapped.swap(0, 1);
        for wrong in [&flipped, &swapped] {
            let refused = desk.give(batch.number, wrong).unwrap_err();
            assert!(
                refused.contains("not the fit that it was asked for"),
                "{refused}"
            );
        }
        let refused = desk.give(batch.number, &good[1..]).unwrap_err();
        assert!(refused.contains("fits"), "{refused}");
        // Nor does a worker make what it would describe otherwise.
        let refused =
            |errand: &[u8], samples: &[Vec<u8>]| make(&[errand], samples, &worker).unwrap_err();
        let text = String::from_utf8(batch.errands[0].clone()).unwrap();
        let other = text.replacen("\"updates\":20", "\"updates\": 20", 1);
        assert_ne!(other, text);
        assert!(refused(other.as_bytes(), &samples).contains("same version everywhere"));
        assert!(refused(b"{}\n", &samples).contains("same version everywhere"));
        assert!(refused(text.as_bytes(), &[]).contains("did not come with it"));
        assert!(refused(b"nothing", &samples).contains("cut short"));
        let short = samples[0][..samples[0].len() - 1].to_vec();
        assert!(refused(text.as_bytes(), &[short]).contains("cut short"));
        desk.lost(batch.number);
        while !running.is_finished() {
            match desk.take(1) {
                Some(batch) => desk.lost(batch.number),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        running.join().unwrap().unwrap_err().to_string()
    });
    assert!(error.contains("lost with its worker 5 times"), "{error}");
    // What is there goes on elsewhere.
    let fresh = Desk::new(2).unwrap();
    let (done, _) = with_workers(&fresh, || {
        run(&named, directory.path(), Shard::WHOLE, &fresh)
    });
    done.unwrap();
}

/// Who is told to stop does not wait for workers that never come back.
#[test]
fn who_waits_at_a_desk_can_be_stopped() {
    let (named, directory) = (study(2), tempfile::tempdir().unwrap());
    let desk = Desk::new(2).unwrap();
    let prepared = Prepared::new(&named, Shard::WHOLE, None).unwrap();
    let store = Store::create(directory.path(), Shard::WHOLE).unwrap();
    let control = Control::default();
    let stopped = std::thread::scope(|scope| {
        let entered = prepared.enter(&store, &desk).unwrap();
        let control = &control;
        let running = scope.spawn(move || entered.run(control, &Progress::default()));
        assert!(desk.wait(Duration::from_secs(60)));
        desk.take(1).unwrap();
        control.interrupt();
        running.join().unwrap()
    });
    assert!(matches!(stopped, Err(StudyError::Interrupted)));
    assert!(desk.needed().is_empty());
}
