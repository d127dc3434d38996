//! `loopfit study run`.

use super::{Which, beside, fits, write_index, write_reports};
use crate::cache::{self, CacheArgument};
use crate::data::FolderArgument;
use crate::exit::Exit;
use crate::json::object;
use crate::named::named;
use crate::{Global, interrupt, output, progress};
use anyhow::Result;
use loopfit::{Device, Runner};
use loopfit_engine::{Backend, Control};
use loopfit_report::number;
use loopfit_study::cache::Cache;
use loopfit_study::progress::Progress;
use loopfit_study::run::{Entered, Prepared};
use loopfit_study::{Named, Shard, Store, StudyError, status};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study run cap-path --quick --out /tmp/quick\n  loopfit study run paper --data-dir data --out runs/paper\n  loopfit study run paper --data-dir data --out runs/shards --shard 2/3\n  loopfit study run paper --data-dir data --out runs/paper --cache ~/.cache/loopfit\n  loopfit study run mine.toml --out runs/mine"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The run directory; by default studies/NAME. What it holds is not run again.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run the share of one of several machines, into a file of its own. Shares have about the same predicted cost.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    cache: CacheArgument,
    #[command(flatten)]
    folder: FolderArgument,
    /// What runs the fits: cpu, cuda (an NVIDIA GPU) or auto. Never changes a result.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = named::<Device>())]
    device: Device,
}

/// A part of the run of a study.
#[derive(Clone, Copy)]
enum Step {
    All,
    Develop,
    Confirm,
}

impl Step {
    fn run(
        self,
        entered: &Entered<'_>,
        control: &Control,
        counts: &Progress,
    ) -> Result<(), StudyError> {
        match self {
            Self::All => entered.run(control, counts),
            Self::Develop => entered.develop(control, counts),
            Self::Confirm => entered.confirm(control, counts),
        }
    }
}

pub(super) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let studies = a.which.studies()?;
    let shard = a.shard.unwrap_or(Shard::WHOLE);
    let out = a.out.clone().unwrap_or_else(|| {
        let stem = Path::new(&a.which.name).file_stem().unwrap_or_default();
        let quick = if a.which.quick { "-quick" } else { "" };
        Path::new("studies").join(format!("{}{quick}", stem.to_string_lossy()))
    });
    let prepared = Prepared::all(&studies, shard, a.folder.named())?;
    let engine = Runner::new(a.device, global.threads)?;
    let cache = a.cache.open()?;
    let store = Store::create_for(&out, shard, &*engine)?;
    if let Some(notice) = store.notice() {
        output::say(notice);
    }
    if let Some(cache) = &cache {
        cache.learn(&store)?;
    }
    let entered = prepared
        .iter()
        .map(|prepared| enter(prepared, &store, &*engine, cache.as_ref()))
        .collect::<Result<Vec<_>, _>>()?;
    let counts = Progress::default();
    prepared.iter().for_each(|p| p.announce(&counts));
    if !global.quiet {
        output::say(&format!(
            "{} on {} into {}",
            a.which.name,
            number::count(engine.threads().count(), "thread"),
            store.path().display()
        ));
    }
    let beside = a.device != Device::Cpu && shard == Shard::WHOLE;
    for steps in steps(&entered, shard, beside) {
        let name = match steps[..] {
            [(number, _)] => &studies[number].name,
            _ => &a.which.name,
        };
        let result = interrupt::searching(|control| {
            progress::with_counts(name, &counts, &store, global.quiet, || {
                run_beside(&steps, &entered, control, &counts)
            })
        });
        match result {
            Err(StudyError::Interrupted) => {
                let fits = fits(counts.counts().fits);
                output::say(&format!(
                    "interrupted with {fits} in {}; run the same command to resume",
                    store.path().display()
                ));
                return Ok(Exit::Interrupted);
            }
            other => other?,
        }
        if shard == Shard::WHOLE {
            let done: Vec<&Named> = steps.iter().map(|(number, _)| &studies[*number]).collect();
            write_own_reports(&store, &done, &studies, &a.folder, global)?;
        }
    }
    if let Some(cache) = &cache {
        cache::tell(cache, global.quiet);
    }
    if global.json {
        let states = status::status(&store)?;
        let all: Vec<_> = states.iter().map(status::Status::to_json).collect();
        output::print_json(&object!({
            "studies": all,
            "cached_fits": cache.as_ref().map(Cache::found),
        }))?;
    }
    Ok(Exit::Done)
}

fn enter<'a>(
    prepared: &'a Prepared<'a>,
    store: &'a Store,
    engine: &'a dyn Backend,
    cache: Option<&'a Cache>,
) -> Result<Entered<'a>, StudyError> {
    let entered = prepared.enter(store, engine)?;
    Ok(match cache {
        Some(cache) => entered.with_cache(cache),
        None => entered,
    })
}

/// Runs steps beside one another; where one fails, the others stop.
fn run_beside(
    steps: &[(usize, Step)],
    entered: &[Entered<'_>],
    control: &Control,
    counts: &Progress,
) -> Result<(), StudyError> {
    let run = |(number, step): &(usize, Step)| {
        let result = step.run(&entered[*number], control, counts);
        if matches!(&result, Err(e) if !matches!(e, StudyError::Interrupted)) {
            control.interrupt();
        }
        result
    };
    let results: Vec<Result<(), StudyError>> = std::thread::scope(|scope| {
        let others: Vec<_> = steps[1..]
            .iter()
            .map(|step| scope.spawn(|| run(step)))
            .collect();
        let first = run(&steps[0]);
        let others = others.into_iter().map(|other| {
            other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        std::iter::once(first).chain(others).collect()
    });
    let is_stop = |result: &Result<(), StudyError>| matches!(result, Err(StudyError::Interrupted));
    let (stops, rest): (Vec<_>, Vec<_>) = results.into_iter().partition(is_stop);
    rest.into_iter().chain(stops).collect()
}

/// One study after the other, or all beside one another where fits of all of them together keep a GPU busy. Shares do all
/// development first and what waits for it last, so that hardly anybody waits.
fn steps(entered: &[Entered<'_>], shard: Shard, beside: bool) -> Vec<Vec<(usize, Step)>> {
    let all = 0..entered.len();
    if beside {
        return vec![all.map(|i| (i, Step::All)).collect()];
    }
    if shard == Shard::WHOLE {
        return all.map(|i| vec![(i, Step::All)]).collect();
    }
    let mut steps: Vec<_> = all
        .clone()
        .filter(|i| entered[*i].waits())
        .map(|i| (i, Step::Develop))
        .collect();
    for waits in [false, true] {
        let own = all.clone().filter(|i| entered[*i].waits() == waits);
        steps.extend(own.map(|i| (i, Step::Confirm)));
    }
    steps.into_iter().map(|step| vec![step]).collect()
}

/// The reports of studies that are done, beside one another, and the page that leads to them.
fn write_own_reports(
    store: &Store,
    done: &[&Named],
    studies: &[Named],
    folder: &FolderArgument,
    global: &Global,
) -> Result<()> {
    let out = beside(store.path());
    let written: Vec<Result<_>> = std::thread::scope(|scope| {
        let write = |named| write_reports(store, std::slice::from_ref(named), &out, folder, global);
        let threads = done.iter().map(|named| scope.spawn(move || write(*named)));
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    written.into_iter().collect::<Result<Vec<_>>>()?;
    let index = write_index(store, &out)?;
    let last = |named: &&Named| Some(&named.name) == studies.last().map(|last| &last.name);
    if done.iter().any(last) {
        output::wrote(&index[0], global);
    }
    Ok(())
}
