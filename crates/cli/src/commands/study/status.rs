//! `loopfit study status`.

use super::Where;
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, effort, hints, output};
use anyhow::Result;
use loopfit_report::number::{ABSENT, fixed, integer};
use loopfit_report::{Align, Table};
use loopfit_study::status::{self, Status};
use loopfit_study::store::{self, Part};
use loopfit_study::{Store, StudyError};
use serde_json::{Value, json};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study status runs/paper --json\n  loopfit study status runs/cluster --check"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    place: Where,
    /// End with exit code 1 unless every study is complete and every shard is sound.
    #[arg(long)]
    check: bool,
}

pub(super) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let (parts, store) = match Store::open(&a.place.path) {
        Err(StudyError::Shards { .. }) => store::together(&a.place.path)?,
        other => (Vec::new(), other?),
    };
    let states = status::status(&store)?;
    if global.json {
        let studies: Vec<_> = states.iter().map(Status::to_json).collect();
        let shards = parts.iter().map(shard).collect::<Result<Vec<_>>>()?;
        output::print_json(&object!({ "studies": studies, "shards": shards }))?;
    } else {
        output::print(&status::page(&states).to_terminal(output::color()))?;
        if !parts.is_empty() {
            output::print(&table(&parts)?.to_terminal(output::color()))?;
        }
    }
    let complete = !states.is_empty() && states.iter().all(|state| state.complete);
    let sound = parts.iter().all(|part| part.store.is_ok());
    Ok(match a.check && !(complete && sound) {
        true => Exit::CheckFailed,
        false => Exit::Done,
    })
}

/// Fits, processor seconds and finished replications of a shard.
fn counts(store: &Store) -> Result<(u64, f64, usize)> {
    let states = status::status(store)?;
    Ok((
        states.iter().map(|s| s.fits).sum(),
        states.iter().map(|s| s.seconds).sum(),
        states.iter().map(|s| s.results.tasks.0).sum(),
    ))
}

fn name(part: &Part) -> String {
    let name = part.path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn shard(part: &Part) -> Result<Value> {
    let found = part.store.as_ref().ok().map(counts).transpose()?;
    let wrong = part.store.as_ref().err().map(StudyError::to_string);
    Ok(json!({
        "store": name(part),
        "fits": found.map(|f| f.0),
        "cpu_seconds": found.map(|f| f.1),
        "replications": found.map(|f| f.2),
        "seconds_since_written": part.quiet_for,
        "wrong": wrong,
    }))
}

fn table(parts: &[Part]) -> Result<Table> {
    let mut table = Table::new([
        ("shard", Align::Left),
        ("fits", Align::Right),
        ("replications", Align::Right),
        ("CPU seconds", Align::Right),
        ("last written, ago", Align::Right),
    ]);
    for part in parts {
        let ago = part.quiet_for.map_or(ABSENT.to_string(), effort::about);
        match &part.store {
            Ok(store) => {
                let (fits, seconds, replications) = counts(store)?;
                table.push([
                    name(part),
                    integer(fits),
                    replications.to_string(),
                    fixed(seconds, 0),
                    ago,
                ]);
            }
            Err(error) => {
                output::say(&hints::beside(error));
                let absent = || ABSENT.to_string();
                table.push([name(part), absent(), absent(), absent(), ago]);
            }
        }
    }
    Ok(table)
}
