//! `loopfit budget`.

use crate::architecture::ArchitectureArgument;
use crate::data::{cap, count};
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, output};
use anyhow::Result;
use loopfit_model::Budget;
use loopfit_model::architecture::CONSTANT_TOKENS;
use loopfit_numerics::named::Named;
use loopfit_report::{Align, Table};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit budget --dim 5 --budget 128\n  loopfit budget --dim 24 --outputs 4 --budget 1024 --json\n  loopfit budget --dim 3 --budget 400 --arch transformer\n  loopfit budget --dim 20 --budget 400 --arch transformer --tokens 4"
)]
pub(crate) struct Arguments {
    /// Number of inputs d.
    #[arg(long, value_name = "d", value_parser = count)]
    dim: usize,
    /// The cap B on distinct trainable numbers.
    #[arg(long, value_name = "B", value_parser = cap)]
    budget: usize,
    /// Number of outputs: 1, or the number of classes.
    #[arg(long, value_name = "C", default_value_t = 1, value_parser = count)]
    outputs: usize,
    #[command(flatten)]
    architecture: ArchitectureArgument,
}

/// What the numbers of an FFN are, and what `fit` counts.
const CANONICAL: &str = "All numbers of the paper's form are counted. By default `loopfit fit` counts canonical forms, which leave out those that a change of basis makes redundant: larger shapes fit the same cap there; `--form paper` counts as here.";

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let architecture = a.architecture.choice()?.at(a.dim)?;
    let tokens = architecture.tokens();
    let budget = Budget::new(a.budget, architecture, a.dim, a.outputs)?;
    budget.useful()?;
    let least = budget.architecture().least_state();
    let looped: Vec<_> = budget.loop_shapes().filter(|s| s.q >= least).collect();
    let untied: Vec<_> = budget.untied_shapes().filter(|s| s.q >= least).collect();
    if global.json {
        output::print_json(&object!({
            "budget": a.budget, "dim": a.dim, "outputs": a.outputs, "arch": a.architecture.kind().name(), "tokens": tokens,
            "loop": looped, "untied": untied,
        }))?;
        return Ok(Exit::Done);
    }
    let count = |n: usize| n.to_string();
    let mut table = Table::new([
        ("q", Align::Right),
        ("r", Align::Right),
        ("numbers", Align::Right),
    ]);
    for s in &looped {
        table.push([count(s.q), count(s.r), count(s.count)]);
    }
    let mut text = tokens.map_or(String::new(), |n| {
        format!(
            "Post-LN Transformer with N = {n} tokens: {} of data, one controller, two references; rows of q = 2 keep a sign, and q = 1 would be a constant\n",
            n - CONSTANT_TOKENS
        )
    });
    text += &format!(
        "Single and Loop (any T), largest r for each q under B = {}\n{}",
        a.budget,
        table.to_terminal(output::color())
    );
    let mut table = Table::new([
        ("q", Align::Right),
        ("T", Align::Right),
        ("r", Align::Right),
        ("numbers", Align::Right),
    ]);
    for s in &untied {
        table.push([count(s.q), count(s.t), count(s.r), count(s.count)]);
    }
    text += &format!(
        "\nUntied, largest r for each q and T\n{}",
        table.to_terminal(output::color())
    );
    if tokens.is_none() {
        text += &format!("\n{CANONICAL}\n");
    }
    output::print(&text)?;
    Ok(Exit::Done)
}
