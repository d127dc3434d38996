//! Threads, shares, stops and damage change nothing, and plans say beforehand what is run.

use super::{content, quick, run};
use loopfit_engine::{Control, Engine};
use loopfit_study::progress::Progress;
use loopfit_study::protocol::Way;
use loopfit_study::run::Prepared;
use loopfit_study::store::{self, Store, merge};
use loopfit_study::{Shard, StudyError, builtin, results};

/// A continuation, a screen with development and a search: on one thread, on eight, and in three
/// shares that are merged.
#[test]
fn threads_and_shares_do_not_change_the_content() {
    for name in [
        "cap-path",
        "ebm",
        "beyond-simulations",
        "separation",
        "sieve-effort",
    ] {
        let named = quick(name);
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        run(&named, &place("one"), Shard::WHOLE, 1).unwrap();
        let expected = content(&place("one"));
        run(&named, &place("eight"), Shard::WHOLE, 8).unwrap();
        assert!(content(&place("eight")) == expected, "{name}: threads");
        for index in [3, 1, 2] {
            run(&named, &place("shards"), Shard { index, count: 3 }, 2).unwrap();
        }
        merge(&[place("shards")], &place("merged")).unwrap();
        assert!(content(&place("merged")) == expected, "{name}: shares");
        // Shares that do not see each other's files come to the same.
        for index in 1..=3 {
            let apart = place(&format!("apart-{index}"));
            run(&named, &apart, Shard { index, count: 3 }, 2).unwrap();
        }
        let apart: Vec<_> = (1..=3).map(|i| place(&format!("apart-{i}"))).collect();
        merge(&apart, &place("together")).unwrap();
        assert!(
            content(&place("together")) == expected,
            "{name}: shares apart"
        );
        // A finished study has nothing left to do.
        run(&named, &place("one"), Shard::WHOLE, 2).unwrap();
        assert!(content(&place("one")) == expected, "{name}: again");
    }
}

/// Four machines at once in one directory: whatever each takes over from the others, the merged
/// content is that of one run.
#[test]
fn shares_at_the_same_time() {
    let named = quick("ebm");
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    run(&named, &place("one"), Shard::WHOLE, 2).unwrap();
    std::thread::scope(|scope| {
        for index in 1..=4 {
            let (named, out) = (&named, place("shards"));
            scope.spawn(move || run(named, &out, Shard { index, count: 4 }, 1).unwrap());
        }
    });
    merge(&[place("shards")], &place("merged")).unwrap();
    assert!(content(&place("merged")) == content(&place("one")));
}

/// Stopped again and again, a study ends with the same content.
#[test]
fn a_study_goes_on_after_every_stop() {
    let named = quick("ebm");
    let directory = tempfile::tempdir().unwrap();
    run(&named, &directory.path().join("whole"), Shard::WHOLE, 2).unwrap();
    let out = directory.path().join("stopped");
    let engine = Engine::new(2).unwrap();
    let mut stops = 0;
    loop {
        let store = Store::create(&out, Shard::WHOLE).unwrap();
        let prepared = Prepared::new(&named, Shard::WHOLE, None).unwrap();
        let (control, progress) = (Control::default(), Progress::default());
        let begun = std::time::Instant::now();
        control.stop_at(begun + std::time::Duration::from_millis(30 + 10 * stops));
        let entered = prepared.enter(&store, &engine).unwrap();
        match entered.run(&control, &progress) {
            Ok(()) => break,
            Err(StudyError::Interrupted) => stops += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(stops > 0, "the study was never stopped");
    assert!(content(&out) == content(&directory.path().join("whole")));
}

/// A damaged fit, a deleted score and a decision that is gone: nothing is reported, and the next run
/// makes exactly that fit again and comes to the same content.
#[test]
fn a_run_repeats_what_is_damaged_and_nothing_else() {
    let named = quick("ebm");
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    run(&named, out, Shard::WHOLE, 2).unwrap();
    let expected = content(out);
    let file = out.join("study.sqlite");
    let c = rusqlite::Connection::open(&file).unwrap();
    let triggers: Vec<(String, String)> = c
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, _) in &triggers {
        c.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    let damaged: i64 = c
        .query_row("SELECT min(rowid) FROM fit", [], |r| r.get(0))
        .unwrap();
    let updates: i64 = c
        .query_row("SELECT updates FROM fit WHERE rowid = ?", [damaged], |r| {
            r.get(0)
        })
        .unwrap();
    c.execute(
        "UPDATE fit SET validation = validation / 2 WHERE rowid = ?",
        [damaged],
    )
    .unwrap();
    c.execute_batch(
        "DELETE FROM score WHERE rowid = (SELECT max(rowid) FROM score); \
         DELETE FROM decision WHERE name = 'screen'",
    )
    .unwrap();
    for (_, sql) in &triggers {
        c.execute_batch(sql).unwrap();
    }
    drop(c);
    let refused = Store::open(out).unwrap_err().to_string();
    assert!(refused.contains("is damaged"), "{refused}");
    let faults = &store::verify(out).unwrap()[0].damage.faults;
    assert_eq!(faults.len(), 3, "{faults:?}");
    let store = Store::create(out, Shard::WHOLE).unwrap();
    let prepared = Prepared::new(&named, Shard::WHOLE, None).unwrap();
    let (control, progress) = (Control::default(), Progress::default());
    let engine = Engine::new(2).unwrap();
    prepared.announce(&progress);
    let entered = prepared.enter(&store, &engine).unwrap();
    entered.run(&control, &progress).unwrap();
    assert_eq!(progress.counts().updates, updates as u64, "one fit was run");
    drop(store);
    assert!(content(out) == expected);
}

/// No study makes more fits or updates than its plan says, and refits are part of it.
#[test]
fn plans_are_upper_bounds() {
    let directory = tempfile::tempdir().unwrap();
    for (name, refit) in [
        ("sieve-effort", false),
        ("beyond-simulations", true),
        ("separation", false),
        ("ebm", false),
    ] {
        let mut named = quick(name);
        if let Way::Search(search) = &mut named.study.way {
            search.protocol.refit = refit;
        }
        let planned = loopfit_study::run::total(&named.study);
        let out = directory.path().join(name);
        run(&named, &out, Shard::WHOLE, 2).unwrap();
        let found = results::read(&Store::open(&out).unwrap(), &named).unwrap();
        let fits: u64 = found.costs.iter().map(|c| c.fits).sum();
        let updates: u64 = found.costs.iter().map(|c| c.updates).sum();
        assert!(fits <= planned.fits, "{name}: {fits} fits");
        assert!(updates <= planned.updates, "{name}: {updates} updates");
        assert!(
            2 * updates > planned.updates || ["ebm", "sieve-effort"].contains(&name),
            "{name}: {updates}"
        );
    }
    // As it was run and is reported in docs/studies.md.
    let real = builtin::find("beyond-real").unwrap().remove(0);
    let planned = loopfit_study::run::total(&real.study);
    assert!(planned.updates >= 111_472_463, "{}", planned.updates);
}

/// A time is foreseen for every way of fitting.
#[test]
fn a_time_is_foreseen() {
    let engine = Engine::new(1).unwrap();
    for name in ["cap-path", "ebm", "separation", "sieve-effort"] {
        let named = quick(name);
        let seconds = |shard| {
            let prepared = Prepared::new(&named, shard, None).unwrap();
            prepared.seconds(&engine).unwrap()
        };
        assert!(seconds(Shard::WHOLE) > 0.0, "{name}");
    }
}
