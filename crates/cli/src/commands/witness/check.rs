//! `loopfit witness check`.

use super::{Built, Construction, ConstructionArguments, as_usage};
use crate::commands::on_threads;
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, output};
use anyhow::{Context, Result};
use loopfit_report::number;
use loopfit_witness::ffn::check::{Invariant, check, inputs};
use loopfit_witness::{Error, Rational, golden, transformer};
use rayon::prelude::*;
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
        invariants(a, &a.construction.get()?, global)
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
        let numbers = number::integer(comparison.compared as u64);
        // Texts for people are not compared.
        let text = |place: &&String| {
            ["note", "architecture", "target"]
                .iter()
                .any(|end| place.ends_with(end))
        };
        let others: Vec<&str> = comparison
            .unknown
            .iter()
            .filter(|p| !text(p))
            .map(String::as_str)
            .collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!(
                "; not compared, since nothing here answers to it: {}",
                others.join(", ")
            ),
        };
        lines += &match &comparison.difference {
            None => format!("{name}: {numbers} values agree{others}\n"),
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

fn invariants(a: &Arguments, construction: &Construction, global: &Global) -> Result<Exit> {
    construction.expect(a.points, global)?;
    let twin = construction.ffn()?;
    let inputs = inputs(&twin, a.points, a.seed);
    let on_strip = |x: &&Vec<Rational>| construction.resolution.is_on_strip(x);
    let on_strips = inputs.iter().filter(on_strip).count();
    let target = &*construction.target;
    let (name, left_out, invariants) = match construction.build()? {
        Built::Ffn(witness) => {
            let one = |x: &[Vec<Rational>]| check(&witness, target, x);
            ("FFN", 0, each(&inputs, one, global)?)
        }
        Built::Transformer(witness) => {
            let exceptional = |x: &&Vec<Rational>| {
                witness.resolution().is_on_strip(x) || witness.is_exceptional(x)
            };
            let one = |x: &[Vec<Rational>]| transformer::check::check(&witness, &twin, target, x);
            let left_out = inputs.iter().filter(exceptional).count();
            ("Transformer", left_out, each(&inputs, one, global)?)
        }
    };
    if global.json {
        let of = |i: &Invariant| json!({ "name": i.name, "checked": i.checked, "violation": i.violation });
        output::print_json(&object!({
            "inputs": inputs.len(), "on_strips": on_strips, "left_out": left_out,
            "invariants": invariants.iter().map(of).collect::<Vec<Value>>(),
        }))?;
    } else {
        let mut text = format!(
            "{name} witness: {}\n{} inputs, {on_strips} of them on strips{}\n\n",
            construction.words(),
            inputs.len(),
            match left_out {
                0 => String::new(),
                _ =>
                    format!("; {left_out} on strips or in the routing exceptional set are left out"),
            }
        );
        for invariant in &invariants {
            let (verdict, more) = match &invariant.violation {
                None => ("holds", format!("{} inputs", invariant.checked)),
                Some(violation) => ("FAILS", violation.clone()),
            };
            text += &format!("  {verdict}  {} ({more})\n", invariant.name);
        }
        output::print(&text)?;
    }
    let holds = invariants
        .iter()
        .all(|invariant| invariant.violation.is_none());
    Ok(if holds { Exit::Done } else { Exit::CheckFailed })
}

/// Checks inputs one by one, on all threads, and puts together what was found in their order.
fn each(
    inputs: &[Vec<Rational>],
    check: impl Fn(&[Vec<Rational>]) -> Result<Vec<Invariant>, Error> + Sync,
    global: &Global,
) -> Result<Vec<Invariant>> {
    let one = |x: &Vec<Rational>| check(std::slice::from_ref(x));
    let found = on_threads(global, || inputs.par_iter().map(one).collect::<Vec<_>>())?;
    let mut all: Vec<Invariant> = Vec::new();
    for invariants in found {
        let invariants = invariants.map_err(as_usage)?;
        if all.is_empty() {
            all = invariants;
            continue;
        }
        for (sum, one) in all.iter_mut().zip(invariants) {
            sum.checked += one.checked;
            sum.violation = sum.violation.take().or(one.violation);
        }
    }
    Ok(all)
}
