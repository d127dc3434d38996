//! `loopfit witness`: the networks that the proofs construct, compiled and run exactly.

mod build;
mod check;
mod error;
mod plan;
mod precision;
mod run;
mod trace;

use crate::architecture::ArchitectureArgument;
use crate::data::seeded_simulation;
use crate::effort::about;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::named::named;
use crate::{Global, output};
use anyhow::Result;
use loopfit_fitted::{FittedModel, Predictions};
use loopfit_model::ArchitectureKind;
use loopfit_numerics::named::Named;
use loopfit_report::number;
use loopfit_witness::construction::{AnyTarget, table_seconds};
use loopfit_witness::target::Floating;
use loopfit_witness::{Construction, Error, Expression, Network, Rational, Reader, Resolution};
use serde_json::{Map, Value};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Build the network for a target: resources beside the paper's formulas, a model file, exact coefficients.
    Build(build::Arguments),
    /// Run the network on inputs: the value, the target, the error and its bound.
    Run(run::Arguments),
    /// Watch the program run: phases and the registers that change.
    Trace(trace::Arguments),
    /// Run random and adversarial inputs and check every invariant, or compare with golden files.
    Check(check::Arguments),
    /// Choose the resolution for an iteration count and a hidden width.
    Plan(plan::Arguments),
    /// How many bits of mantissa a network needs, resolution by resolution.
    Precision(precision::Arguments),
    /// How the error of a network over the cube falls with the resolution.
    Error(error::Arguments),
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    match &a.command {
        Command::Build(a) => build::run(a, global),
        Command::Check(a) => check::run(a, global),
        Command::Run(a) => run::run(a, global),
        Command::Trace(a) => trace::run(a, global),
        Command::Plan(a) => plan::run(a, global),
        Command::Precision(a) => precision::run(a, global),
        Command::Error(a) => error::run(a, global),
    }
}

/// Which network of the proofs.
#[derive(clap::Args, Clone, Debug)]
struct ConstructionArguments {
    /// The target on the unit cube: a formula in x1, x2, ... such as "x1*(1-x2)/2" (polynomials are exact), or the
    /// function of a simulation such as sim:bumps (of a seed, sim:bumps@3).
    #[arg(long, value_name = "F", allow_hyphen_values = true)]
    target: Option<String>,
    /// Number of inputs d; by default as many as the formula names.
    #[arg(long, value_name = "d", value_parser = crate::data::natural)]
    dim: Option<usize>,
    /// Smoothness s > 0, exactly: 2, 3/2 or 0.5.
    #[arg(long, value_name = "s", allow_hyphen_values = true)]
    smoothness: Option<Rational>,
    /// Bound H of the target and of its derivatives.
    #[arg(
        long,
        value_name = "H",
        allow_hyphen_values = true,
        default_value = "1"
    )]
    bound: Rational,
    /// Resolution m: the grid has K = 2^m cells along each axis.
    #[arg(long, short = 'm', value_name = "m", value_parser = crate::data::natural)]
    resolution: Option<usize>,
    /// Group exponent u: 2^u groups along each axis, one code each; 0 is one group for all cells.
    #[arg(long, short = 'u', value_name = "u", default_value_t = 0, value_parser = crate::data::natural)]
    groups: usize,
    /// How a bit of the code is read: as in the paper, with the threshold 1/6, or with the dyadic threshold 1/4,
    /// which binary floats hold.
    #[arg(long, default_value = "paper", value_parser = named::<Reader>())]
    reader: Reader,
    #[command(flatten)]
    architecture: ArchitectureArgument,
    /// Stabiliser of the Transformer's layer normalisation; 1/100000 by default.
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon_ln: Option<Rational>,
}

impl ConstructionArguments {
    /// The network that is meant, checked as far as no building is needed.
    fn get(&self) -> Result<Construction> {
        let (Some(text), Some(s), Some(m)) = (&self.target, &self.smoothness, self.resolution)
        else {
            return Err(usage(
                "which network? give a target, its smoothness and a resolution: --target \"x1*(1-x2)/2\" --smoothness 2 -m 3".to_string(),
            ));
        };
        let target = target(text, self.dim)?;
        let resolution =
            Resolution::new(target.d(), s.clone(), self.bound.clone(), m).map_err(as_usage)?;
        if self.epsilon_ln.is_some() && self.architecture.kind() == ArchitectureKind::Ffn {
            return Err(usage(
                "--epsilon-ln is for the Transformer: add --arch transformer or leave it out"
                    .to_string(),
            ));
        }
        let architecture = self.architecture.at(target.d())?;
        let stabiliser = self.epsilon_ln.clone();
        Ok(Construction {
            name: text.clone(),
            target,
            resolution,
            groups: self.groups,
            reader: self.reader,
            architecture,
            stabiliser: stabiliser.unwrap_or(Rational::new(1, 100_000u32)),
            padding: (None, None),
        })
    }
}

/// A time that is worth a word.
const LONG_SECONDS: f64 = 5.0;
/// A time that nobody waits for.
const MOST_SECONDS: f64 = 600.0;

/// Says how long runs take where that is long, and refuses with a sentence those that would not end.
fn expect(seconds: f64, global: &Global, refusal: impl FnOnce() -> String) -> Result<()> {
    if seconds > MOST_SECONDS {
        return Err(usage(refusal()));
    }
    if seconds > LONG_SECONDS {
        say(global, &format!("this takes {}", about(seconds)));
    }
    Ok(())
}

/// The same for exact runs of one network.
fn expect_runs(construction: &Construction, runs: usize, global: &Global) -> Result<()> {
    let (iterations, seconds) = construction.expected(runs);
    expect(seconds, global, || {
        format!(
            "an exact run would make {} iterations, {} in all: take a smaller m, or other groups with -u",
            number::value(iterations as f64, 2, number::Exponent::Own),
            about(seconds)
        )
    })
}

/// The same for a table with a network for each of these times, which threads share.
fn expect_table(networks: &[f64], global: &Global, fewer: &str) -> Result<()> {
    let threads = match global.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let seconds = table_seconds(networks, threads);
    expect(seconds, global, || {
        format!(
            "this table would take {}: take a smaller --to or fewer {fewer}",
            about(seconds)
        )
    })
}

/// `FFN witness: x1/2, d = 1, ...`.
fn title(construction: &Construction, network: &Network) -> String {
    format!("{} witness: {}", network.name(), construction.words())
}

/// What every answer has in its object.
fn to_json(construction: &Construction) -> Map<String, Value> {
    let resolution = &construction.resolution;
    object!({
        "target": construction.name, "d": resolution.d, "s": resolution.s.to_string(),
        "H": resolution.h.to_string(), "m": resolution.m, "K": resolution.cells_per_axis(),
        "u_grp": construction.groups, "arch": construction.architecture.kind().name(),
    })
}

/// A target by its name.
fn target(text: &str, dim: Option<usize>) -> Result<AnyTarget> {
    let Some(simulation) = seeded_simulation(text) else {
        let formula = Expression::parse(text, dim).map_err(as_usage)?;
        return Ok(formula.into_target());
    };
    let (simulation, seed) = simulation.map_err(usage)?;
    match dim {
        Some(dim) if dim != simulation.dim() => Err(usage(format!(
            "sim:{simulation} has {} inputs, not {dim}: leave --dim out",
            simulation.dim()
        ))),
        _ => Ok(Box::new(Floating(simulation.target(seed.unwrap_or(0))))),
    }
}

/// What a construction refuses comes from the command line alone.
fn as_usage(error: Error) -> anyhow::Error {
    usage(error.to_string())
}

/// The resolutions of a table.
fn resolutions(from: usize, to: usize) -> Result<Vec<usize>> {
    match from <= to {
        true => Ok((from..=to).collect()),
        false => Err(usage(format!(
            "--from {from} is above --to {to}: give a smaller --from or a larger --to"
        ))),
    }
}

/// A point of the cube, coordinates separated by commas: 1/3,0.25.
#[derive(Clone, Debug, PartialEq)]
struct PointArgument(Vec<Rational>);

impl std::str::FromStr for PointArgument {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let coordinates = text.split(',').map(|part| part.trim().parse());
        coordinates.collect::<Result<_, _>>().map(Self)
    }
}

/// A point as users write it.
fn point_text(x: &[Rational]) -> String {
    let parts: Vec<String> = x.iter().map(Rational::to_string).collect();
    parts.join(",")
}

/// A rational as p/q while that is short, otherwise its value to some digits.
fn short(value: &Rational) -> String {
    let text = value.to_string();
    if text.len() <= 24 {
        text
    } else {
        let digits = number::value(value.to_f64(), 8, number::Exponent::Own);
        format!("~{digits}")
    }
}

/// Four digits of an error.
fn digits(value: f64) -> String {
    number::value(value, 4, number::Exponent::Own)
}

/// Says that a network is zero at inputs where its target is not.
fn say_if_silent(silent: bool, construction: &Construction, global: &Global) {
    if silent {
        say(
            global,
            &format!(
                "the network is zero here: coefficients are rounded down to multiples of H 2^(1-b) = {}; take a larger m to see more of the target",
                construction.resolution.quantum()
            ),
        );
    }
}

/// What a person should know of a constructed network that predicts nothing but zeros.
pub(crate) fn silent(model: &FittedModel, predictions: &Predictions) -> Option<String> {
    match predictions {
        Predictions::Responses(values) if model.construction().is_some() && values.iter().all(|v| *v == 0.0) => Some(
            "every prediction is zero: in 32 bits this constructed network never leaves zero, or its target is below the resolution; `witness run` runs it exactly".to_string(),
        ),
        _ => None,
    }
}

/// Says something unless asked not to.
fn say(global: &Global, sentence: &str) {
    if !global.quiet {
        output::say(sentence);
    }
}
