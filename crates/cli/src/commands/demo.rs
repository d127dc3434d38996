//! `loopfit demo`.

use super::compare::{Setup, finish};
use crate::exit::Exit;
use crate::{Global, output};
use anyhow::Result;
use loopfit_data::Simulation;
use loopfit_model::{ArchitectureChoice, Method};
use loopfit_search::Family;
use loopfit_search::cost::Equal;
use loopfit_search::fit::STANDARD;
use loopfit_search::replication::Source;
use std::path::PathBuf;
use std::sync::Arc;

const BUDGET: usize = 128;
const SEEDS: std::ops::Range<u64> = 0..4;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  loopfit demo --output-dir /tmp/demo")]
pub(crate) struct Arguments {
    /// Where the report goes.
    #[arg(long, value_name = "DIR", default_value = "loopfit-demo")]
    output_dir: PathBuf,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let setup = Setup {
        source: Source::Simulation {
            simulation: Simulation::Recurrence,
            train: 4096,
            valid: 1024,
        },
        noise: None,
        budget: BUDGET,
        families: Family::each(&[ArchitectureChoice::Ffn], &Method::ALL),
        seeds: SEEDS.collect(),
        updates: STANDARD,
        protocol: Arc::default(),
        equal: Equal::Updates,
    };
    if !global.quiet {
        output::say(&format!(
            "Three ways to spend {BUDGET} numbers on one function: a smooth recurrence of three inputs, 4096 noisy observations."
        ));
    }
    let _directory = output::create_directory(&a.output_dir)?;
    let (compared, exit) = setup.run(global)?;
    finish(&compared, Some(&a.output_dir), exit, global)
}
