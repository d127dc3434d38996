//! Whole studies at small sizes: the same content however they are run, and nothing learned from
//! test data.

mod reports;
mod runs;
mod tables;
mod theorems;

use loopfit_engine::{Control, Engine};
use loopfit_study::progress::Progress;
use loopfit_study::protocol::Named;
use loopfit_study::run::Prepared;
use loopfit_study::store::{self, Store};
use loopfit_study::{Shard, StudyError, builtin};
use std::path::Path;

/// The quick size of a built-in study.
fn quick(name: &str) -> Named {
    let mut named = builtin::find(name).unwrap().remove(0);
    named.study = named.study.quick();
    named
}

fn run(named: &Named, out: &Path, shard: Shard, threads: usize) -> Result<(), StudyError> {
    let prepared = Prepared::new(named, shard, None)?;
    let store = Store::create(out, shard)?;
    let engine = Engine::new(threads).unwrap();
    let (control, progress) = (Control::default(), Progress::default());
    prepared.announce(&progress);
    prepared.enter(&store, &engine)?.run(&control, &progress)?;
    let counts = progress.counts();
    assert_eq!(counts.fits, counts.total, "every fit was counted");
    Ok(())
}

fn content(path: &Path) -> String {
    let mut out = Vec::new();
    store::export(&Store::open(path).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
