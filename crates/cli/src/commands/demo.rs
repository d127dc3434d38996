//! `loopfit demo`.

use super::compare::{Setup, print, write_report};
use crate::exit::Exit;
use crate::{Global, output};
use anyhow::Result;
use loopfit_data::Simulation;
use loopfit_model::Tying;
use loopfit_search::fit::FixedShape;
use loopfit_search::replication::Source;
use std::path::PathBuf;

/// The paper's shapes for the smooth recurrence at B = 128 (F.4.2).
const SHAPES: [FixedShape; 3] = [
    FixedShape {
        q: 3,
        r: 15,
        tying: Tying::Single,
    },
    FixedShape {
        q: 2,
        r: 23,
        tying: Tying::Loop { t: 16 },
    },
    FixedShape {
        q: 2,
        r: 5,
        tying: Tying::Untied { t: 4 },
    },
];
const BUDGET: usize = 128;
const SEEDS: std::ops::Range<u64> = 0..4;
const UPDATES: usize = 96_000;

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
        seeds: SEEDS.collect(),
        updates: UPDATES,
        shapes: SHAPES.to_vec(),
    };
    if !global.quiet {
        output::say(&format!(
            "Three ways to spend {BUDGET} numbers on one function: a smooth recurrence of three inputs, 4096 noisy observations."
        ));
    }
    output::create_directory(&a.output_dir)?;
    let (comparison, exit) = setup.run(global)?;
    print(&comparison, global)?;
    write_report(&comparison, &a.output_dir, global.quiet)?;
    Ok(exit)
}
