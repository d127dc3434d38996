//! Studies by an engine of another crate.

use loopfit_engine::{Backend, Control, Engine, FitOutcome, FitSpec, SpecError, Threads};
use loopfit_study::progress::Progress;
use loopfit_study::protocol::{Named, Study};
use loopfit_study::run::Prepared;
use loopfit_study::store::{self, Store, merge};
use loopfit_study::{Shard, StudyError};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The processor under another name; interrupts the run after so many fits.
struct Other {
    engine: Engine,
    bits: String,
    most: usize,
    fits: AtomicUsize,
}

impl Other {
    fn new(bits: &str, most: usize) -> Self {
        Self {
            engine: Engine::new(2).unwrap(),
            bits: bits.to_string(),
            most,
            fits: AtomicUsize::new(0),
        }
    }
}

impl Backend for Other {
    fn name(&self) -> &str {
        "other"
    }

    fn bits(&self) -> &str {
        &self.bits
    }

    fn threads(&self) -> &Threads {
        self.engine.threads()
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        self.engine.run(specs, control, &|i, outcome| {
            finished(i, outcome);
            if self.fits.fetch_add(1, Ordering::Relaxed) + 1 == self.most {
                control.interrupt();
            }
        })
    }
}

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
            &Other::new(cpu.bits(), 5),
        );
        assert!(matches!(stopped, Err(StudyError::Interrupted)), "{name}");
        run(&named, &place("both"), Shard::WHOLE, &cpu).unwrap();
        let (found, [by_cpu, by_other]) = content(&place("both"));
        assert!(found == expected, "{name}");
        assert!(
            by_other >= 5 && by_cpu + by_other == all,
            "{name}: {by_other} of {all}"
        );
        let other = Other::new(cpu.bits(), usize::MAX);
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
        assert!(other.fits.load(Ordering::Relaxed) >= by_other, "{name}");
    }
}

/// A backend that does not promise the same bits may not go on with a study, and its shares are not merged.
#[test]
fn backends_of_other_bits_are_refused() {
    let cpu = Engine::new(2).unwrap();
    let other = Other::new("other-1", usize::MAX);
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
