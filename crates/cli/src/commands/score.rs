//! `loopfit score`.

use crate::architecture::ExpectedArchitecture;
use crate::data::DataName;
use crate::exit::Exit;
use crate::iterations::IterationsArgument;
use crate::json::object;
use crate::rows::{self, Rows, RowsArguments};
use crate::{Global, json, output};
use anyhow::Result;
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit score model.safetensors test.csv\n  loopfit score model.safetensors test.csv --iterations 8\n  loopfit score model.safetensors values.csv --no-header\n  loopfit score bumps.safetensors sim:bumps --seed 3 --json   (fitted with --seed 3)"
)]
pub(crate) struct Arguments {
    /// The model file.
    model: PathBuf,
    /// Rows with known targets: a file, a data set such as data:airfoil, or a simulation's
    /// noise-free test observations.
    data: DataName,
    #[command(flatten)]
    iterations: IterationsArgument,
    #[command(flatten)]
    expected: ExpectedArchitecture,
    #[command(flatten)]
    rows: RowsArguments,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let model = a.iterations.load(&a.model, global)?;
    a.expected.check(&model, &a.model)?;
    let Rows { table, notes, .. } = a.rows.table(&a.data, &model, &[])?;
    let table = match model.preprocessing.target() {
        Some(target) => table.with_values_of(target.name()),
        None => table,
    };
    let all: Vec<usize> = (0..table.rows()).collect();
    let score = super::on_threads(global, || model.score(&table, &all)?.checked())?;
    let score = score.map_err(|e| a.iterations.explain(&model, e))?;
    if !global.quiet {
        let (fitted, seed) = (&model.provenance, a.rows.seed());
        if matches!(a.data, DataName::Simulation(_))
            && (fitted.source != table.source() || fitted.seed != seed)
        {
            output::say(&format!(
                "the model was fitted from {} with seed {}: this is another function",
                fitted.source, fitted.seed
            ));
        }
        let outside = rows::outside(&model, &table, false)?.unwrap_or_default();
        notes
            .iter()
            .chain(table.notes())
            .chain(&score.notes)
            .chain(&rows::outside_note(outside.len(), table.rows()))
            .for_each(|note| output::note(note));
    }
    if global.json {
        output::print_json(&object!({
            "rows": score.rows, "metric": score.metric, "value": score.value,
            "also": json::metrics(&score.also),
        }))?;
        return Ok(Exit::Done);
    }
    let mut text = Table::new([("metric", Align::Left), ("value", Align::Right)]);
    for (name, value) in std::iter::once(&(score.metric, score.value)).chain(&score.also) {
        let value = match *name {
            "rows outside" => number::integer(*value as u64),
            _ => number::value(*value, 6, Exponent::Own),
        };
        text.push([name.to_string(), value]);
    }
    text.push(["rows".to_string(), number::integer(score.rows as u64)]);
    output::print(&text.to_terminal(output::color()))?;
    Ok(Exit::Done)
}
