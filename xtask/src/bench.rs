//! `cargo xtask bench`: the speed of our engine and the quality
//! of our fits, alone or beside their peers.

use anyhow::Result;
use clap::Subcommand;

use crate::{command, export, integers, peers, quality, scale, succeed};

/// `cargo bench` of the engine; the benchmark's own arguments follow.
pub(crate) const ENGINE: &[&str] = &["bench", "-q", "-p", "loopfit-engine", "--bench", "engine"];

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Our engine alone, on the reference shapes
    Engine {
        /// Print an array of objects instead of a table
        #[arg(long)]
        json: bool,
        /// Instruction level instead of all that the machine has: avx512, avx2, neon, portable or fastest
        #[arg(long, value_name = "NAME")]
        level: Option<String>,
        /// One of the shapes, A to K, instead of all
        #[arg(long, value_name = "SHAPE")]
        only: Option<String>,
    },
    /// How our engine's time and memory grow with T, B, n and the number of fits
    Scale(scale::Growth),
    /// Our engine beside JAX (and PyTorch), one core each, same gradients
    Peers(peers::Peers),
    /// Our fits beside simple peers that store as many numbers, errors on test rows
    PeersQuality(quality::Quality),
    /// What C in integers costs in accuracy, on the paper's data sets and by iterations
    Integers(integers::Integers),
    /// Size and speed of every exported format, beside a network of scikit-learn
    Export,
}

impl Bench {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Self::Engine { json, level, only } => {
                let mut bench = command("cargo");
                bench.args(ENGINE).arg("--").args(json.then_some("--json"));
                for (option, value) in [("--level", level), ("--only", only)] {
                    if let Some(value) = value {
                        bench.args([option, value]);
                    }
                }
                succeed(&mut bench, "the engine's benchmark")
            }
            Self::Scale(growth) => growth.run(),
            Self::Peers(peers) => peers.run(),
            Self::PeersQuality(quality) => quality.run(),
            Self::Integers(integers) => integers.run(),
            Self::Export => export::bench(),
        }
    }
}
