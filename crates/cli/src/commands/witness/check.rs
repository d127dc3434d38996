//! `loopfit witness check`.

use super::{ConstructionArguments, as_usage, expect_runs};
use crate::commands::on_threads;
use crate::exit::Exit;
use crate::json::object;
use crate::sheet::{Sheet, verdict};
use crate::{Global, output};
use anyhow::{Context, Result};
use loopfit_report::number;
use loopfit_witness::ffn::check::Invariant;
use loopfit_witness::golden;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit witness check --target \"x1*(1-x2)/2\" --smoothness 2 -m 2 -u 1\n  loopfit witness check --target sim:recurrence --smoothness 1 --bound 3 -m 2 -u 2 --points 50 --seed 7\n  loopfit witness check --golden cases/*.json"
)]
pub(crate) struct Arguments {
    /// Compare everything in these golden files instead; exits with 1 at the first difference.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["target", "points", "seed"])]
    golden: Vec<PathBuf>,
    #[command(flatten)]
    construction: ConstructionArguments,
    /// Random inputs, beside corners, faces and strips.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = crate::data::natural)]
    points: usize,
    /// Seed of the random inputs.
    #[arg(long, default_value_t = 0, value_parser = crate::data::seed)]
    seed: u64,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    if a.golden.is_empty() {
        invariants(a, global)
    } else {
        compare(&a.golden, global)
    }
}

fn compare(files: &[PathBuf], global: &Global) -> Result<Exit> {
    let mut exit = Exit::Done;
    let (mut lines, mut objects) = (String::new(), Vec::new());
    for file in files {
        let name = file.display().to_string();
        let text =
            loopfit_model::file::read_text(file).with_context(|| format!("cannot read {name}"))?;
        let comparison = golden::compare(&text).with_context(|| name.clone())?;
        let others: Vec<&str> = comparison.left_out().collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!(
                "; not compared, since nothing here answers to it: {}",
                others.join(", ")
            ),
        };
        lines += &match &comparison.difference {
            None => {
                let numbers = number::integer(comparison.compared as u64);
                format!("{name}: {numbers} values agree{others}\n")
            }
            Some(d) => {
                exit = Exit::CheckFailed;
                let (place, expected, found) = (&d.place, &d.expected, &d.found);
                format!("{name}: {place} is {found} here and {expected} in the file\n")
            }
        };
        objects.push(json!({
            "file": name, "compared": comparison.compared, "unknown": comparison.unknown,
            "difference": comparison.difference.as_ref().map(|d| json!({
                "place": d.place, "expected": d.expected, "found": d.found,
            })),
        }));
        if exit == Exit::CheckFailed {
            break;
        }
    }
    if global.json {
        output::print_json(&object!({ "files": objects }))?;
    } else {
        output::print(&lines)?;
    }
    Ok(exit)
}

fn invariants(a: &Arguments, global: &Global) -> Result<Exit> {
    let construction = a.construction.get()?;
    expect_runs(&construction, a.points, global)?;
    let checked = on_threads(global, || construction.check(a.points, a.seed))?;
    let checked = checked.map_err(as_usage)?;
    if global.json {
        let of = |i: &Invariant| json!({ "name": i.name, "checked": i.checked, "violation": i.violation });
        output::print_json(&object!({
            "inputs": checked.inputs, "on_strips": checked.on_strips, "left_out": checked.left_out,
            "invariants": checked.invariants.iter().map(of).collect::<Vec<Value>>(),
        }))?;
    } else {
        let left_out = match checked.left_out {
            0 => String::new(),
            n => format!("; {n} on strips or in the routing exceptional set are left out"),
        };
        let mut sheet = Sheet::new(
            &format!("{} witness: {}", checked.network, construction.words()),
            &format!(
                "{} inputs, {} of them on strips{left_out}",
                checked.inputs, checked.on_strips
            ),
        );
        let line = |invariant: &Invariant| {
            let more = match &invariant.violation {
                None => format!("{} inputs", invariant.checked),
                Some(violation) => violation.clone(),
            };
            let words = format!("{} ({more})", invariant.name);
            verdict(invariant.violation.is_none(), &words)
        };
        sheet.lines("", checked.invariants.iter().map(line));
        sheet.print()?;
    }
    Ok(match checked.holds() {
        true => Exit::Done,
        false => Exit::CheckFailed,
    })
}
