//! `loopfit witness plan`.

use super::{as_usage, digits};
use crate::architecture::ArchitectureArgument;
use crate::data::count;
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, output};
use anyhow::Result;
use loopfit_model::ArchitectureKind;
use loopfit_numerics::named::Named;
use loopfit_report::number;
use loopfit_witness::Rational;
use loopfit_witness::plan::Plan;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit witness plan --dim 1 --smoothness 1 --iterations 30000 --width 2200\n  loopfit witness plan --dim 2 --smoothness 3/2 --iterations 1000000 --width 10000 --json\n  loopfit witness plan --dim 1 --smoothness 1 --iterations 5000 --width 3000 --arch transformer"
)]
pub(crate) struct Arguments {
    /// Number of inputs d.
    #[arg(long, value_name = "d", value_parser = count)]
    dim: usize,
    /// Smoothness s > 0, exactly: 2, 3/2 or 0.5.
    #[arg(long, value_name = "s", allow_hyphen_values = true)]
    smoothness: Rational,
    /// Bound H of the target.
    #[arg(
        long,
        value_name = "H",
        allow_hyphen_values = true,
        default_value = "1"
    )]
    bound: Rational,
    /// Iterations T that may be spent.
    #[arg(long, value_name = "T", value_parser = count)]
    iterations: usize,
    /// Hidden width r that may be used.
    #[arg(long, value_name = "r", value_parser = count)]
    width: usize,
    #[command(flatten)]
    architecture: ArchitectureArgument,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let architecture = a.architecture.at(a.dim)?;
    let (s, h) = (a.smoothness.clone(), a.bound.clone());
    let plan = Plan::of(&architecture, a.dim, s, h, a.iterations, a.width).map_err(as_usage)?;
    let name = match architecture.kind() {
        ArchitectureKind::Ffn => "FFN",
        ArchitectureKind::Transformer => "Transformer",
    };
    let resolution = &plan.resolution;
    let bound = resolution.interior_error_bound();
    if global.json {
        output::print_json(&object!({
            "d": resolution.d, "s": resolution.s.to_string(), "H": resolution.h.to_string(), "m": resolution.m,
            "K": resolution.cells_per_axis(), "u_grp": plan.u, "S": plan.finishing_time, "r": plan.width, "arch": a.architecture.kind().name(),
            "T": a.iterations, "width": a.width, "bound": bound,
        }))?;
        return Ok(Exit::Done);
    }
    let whole = |value: usize| number::integer(value as u64);
    let (groups, records) = plan.groups_and_records();
    output::print(&format!(
        "Finest {name} witness within T = {} iterations and hidden width r = {} (Lemma B.1, with the exact times and widths of the construction)\n\
         m = {}, K = {} cells along each axis, u = {}: {} of {}\n\
         finishes after {} iterations with {} hidden units; off the strips the error is at most {}\n",
        whole(a.iterations),
        whole(a.width),
        resolution.m,
        whole(resolution.cells_per_axis()),
        plan.u,
        number::count(groups, "group"),
        number::count(records, "record"),
        whole(plan.finishing_time),
        whole(plan.width),
        digits(bound)
    ))?;
    Ok(Exit::Done)
}
