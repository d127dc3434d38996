//! `loopfit study plan`.

use super::Which;
use crate::data::{FolderArgument, shares};
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, effort, hints, output};
use anyhow::Result;
use loopfit_engine::{Backend, Engine};
use loopfit_report::number::{self, ABSENT, fixed, integer};
use loopfit_report::{Align, Table};
use loopfit_study::run::{Prepared, total};
use loopfit_study::shares::{Shares, measured, pieces};
use loopfit_study::{Named, Shard, Store, StudyError};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study plan paper\n  loopfit study plan cap-path --shard 1/3 --json\n  loopfit study plan cap-path --shards 16,64\n  loopfit study plan paper --data-dir data --shards 16,100,1000,10000 --measured runs/paper"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The share of one of several machines.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Say how long the longest of N shares takes.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        conflicts_with = "shard",
        value_parser = shares
    )]
    shards: Vec<usize>,
    /// A run directory that holds all of it: shares of the predicted costs are judged by the processor seconds that its fits took.
    #[arg(long, value_name = "DIR", requires = "shards")]
    measured: Option<PathBuf>,
    /// Without the files of data:NAME there is no prediction of time.
    #[command(flatten)]
    folder: FolderArgument,
}

pub(super) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let studies = a.which.studies()?;
    if !a.shards.is_empty() {
        return many(a, &studies, global);
    }
    let shard = a.shard.unwrap_or(Shard::WHOLE);
    let data_dir = a.folder.named();
    let engine = Engine::new(global.threads)?;
    let threads = engine.threads().count();
    let time = format!(
        "time on {} of this machine",
        number::count(threads, "thread")
    );
    let mut table = Table::new([
        ("study", Align::Left),
        ("cases", Align::Right),
        ("seeds", Align::Right),
        ("fits, at most", Align::Right),
        ("updates, at most", Align::Right),
        (&time, Align::Right),
    ]);
    // Who has which part of a share depends on all studies and their data; the whole is known without.
    let mut all: Vec<Result<Prepared<'_>, StudyError>> = match shard {
        Shard::WHOLE => studies
            .iter()
            .map(|named| Prepared::new(named, shard, data_dir.clone()))
            .collect(),
        _ => Prepared::all(&studies, shard, data_dir)?
            .into_iter()
            .map(Ok)
            .collect(),
    };
    let mut rows = Vec::new();
    for (named, prepared) in studies.iter().zip(all.drain(..)) {
        let study = &named.study;
        let work = match &prepared {
            Ok(prepared) => prepared.total(),
            Err(_) => total(study),
        };
        let seconds = prepared.and_then(|prepared| prepared.seconds(&engine));
        if let (Err(error), false) = (&seconds, global.quiet) {
            let why = hints::beside(error);
            output::say(&format!("the time of {} is not known: {why}", named.name));
        }
        let why = seconds.as_ref().err().map(StudyError::to_string);
        // Fits of a study keep all threads busy but for its last ones.
        let seconds = seconds.ok().map(|s| s / threads as f64);
        rows.push(json!({
            "study": named.name, "hash": study.hash(), "cases": study.cases.len(),
            "seeds": study.seeds.count, "fits": work.fits, "updates": work.updates,
            "threads": threads, "seconds": seconds, "no_seconds_because": why,
        }));
        table.push([
            named.name.clone(),
            study.cases.len().to_string(),
            study.seeds.count.to_string(),
            integer(work.fits),
            integer(work.updates),
            seconds.map_or(ABSENT.to_string(), effort::about),
        ]);
    }
    if global.json {
        output::print_json(&object!({ "studies": rows }))?;
    } else {
        output::print(&table.to_terminal(output::color()))?;
    }
    Ok(Exit::Done)
}

/// How long numbers of shares take, each on one thread.
fn many(a: &Arguments, studies: &[Named], global: &Global) -> Result<Exit> {
    let prepared = Prepared::all(studies, Shard::WHOLE, a.folder.named())?;
    let pieces = pieces(&prepared)?;
    let predicted: Vec<f64> = pieces.iter().map(|piece| piece.cost).collect();
    let costs = match &a.measured {
        Some(path) => measured(&prepared, &pieces, &Store::open(path)?)?,
        None => predicted,
    };
    let whole: f64 = costs.iter().sum();
    let longest_task = costs.iter().copied().fold(0.0, f64::max);
    let mut table = Table::new([
        ("shares", Align::Right),
        ("mean CPU s", Align::Right),
        ("longest CPU s", Align::Right),
        ("longest / mean", Align::Right),
        ("all end after, s", Align::Right),
        ("speed-up", Align::Right),
        ("busy", Align::Right),
    ]);
    let mut rows: Vec<Value> = Vec::new();
    for count in &a.shards {
        let shares = Shares::new(pieces.clone(), *count);
        let longest = largest(&shares.sums(&costs));
        let mean = whole / *count as f64;
        let makespan = largest(&shares.ends(&costs));
        let speed_up = whole / makespan;
        rows.push(json!({
            "shares": count, "mean_seconds": mean, "longest_seconds": longest,
            "longest_over_mean": longest / mean, "makespan_seconds": makespan,
            "speed_up": speed_up,
        }));
        table.push([
            integer(*count as u64),
            fixed(mean, 1),
            fixed(longest, 1),
            fixed(longest / mean, 2),
            fixed(makespan, 1),
            fixed(speed_up, 1),
            format!("{}%", fixed(100.0 * speed_up / *count as f64, 0)),
        ]);
    }
    let (tasks, seconds) = (pieces.len(), whole);
    if global.json {
        output::print_json(&object!({
            "tasks": tasks, "cpu_seconds": seconds, "longest_task_seconds": longest_task,
            "measured": a.measured.is_some(), "shares": rows,
        }))?;
        return Ok(Exit::Done);
    }
    output::print(&table.to_terminal(output::color()))?;
    if !global.quiet {
        let kind = match a.measured.is_some() {
            true => "measured",
            false => "predicted, of one core of an AMD EPYC (Zen 4)",
        };
        output::say(&format!(
            "{} of {} CPU seconds together, the longest {} ({kind})",
            number::count(tasks, "task"),
            fixed(seconds, 0),
            fixed(longest_task, 1)
        ));
    }
    Ok(Exit::Done)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}
