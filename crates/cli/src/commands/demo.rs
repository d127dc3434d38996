//! `loopfit demo`.

use super::compare::compare;
use crate::exit::Exit;
use crate::{Global, output};
use anyhow::Result;
use loopfit::{Effort, Fit, Simulation};
use std::path::PathBuf;

const BUDGET: usize = 128;
const SEEDS: std::ops::Range<u64> = 0..4;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  loopfit demo --output-dir /tmp/demo")]
pub(crate) struct Arguments {
    /// Where the report goes, with a page of the best model of each method.
    #[arg(long, value_name = "DIR", default_value = "loopfit-demo")]
    output_dir: PathBuf,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    if !global.quiet {
        output::say(&format!(
            "Three ways to spend {BUDGET} numbers on one function: a smooth recurrence of three inputs, 4096 noisy observations."
        ));
    }
    let search = Effort::Updates(Effort::Standard.updates());
    let fit = Fit::simulation(Simulation::Recurrence, 4096, 1024)
        .budget(BUDGET)
        .effort(search);
    compare(fit, SEEDS, "", Some(&a.output_dir), global)
}
