//! `loopfit witness`: the networks that the proofs construct, compiled and run exactly.

mod build;
mod check;
mod error;
mod plan;
mod precision;
mod run;
mod trace;
mod transformer;

use crate::architecture::ArchitectureArgument;
use crate::data::seeded_simulation;
use crate::effort::about;
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use clap::ValueEnum;
use loopfit_engine::{FittedModel, Predictions};
use loopfit_model::{Architecture, ArchitectureKind};
use loopfit_report::number;
use loopfit_witness::target::Floating;
use loopfit_witness::transformer::Setting;
use loopfit_witness::{Error, Expression, Rational, Reader, Resolution, Target, ffn};
use serde_json::{Map, Value, json};
use std::path::Path;

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
    #[arg(long, default_value = "paper")]
    reader: ReaderName,
    #[command(flatten)]
    architecture: ArchitectureArgument,
    /// Stabiliser of the Transformer's layer normalisation; 1/100000 by default.
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon_ln: Option<Rational>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReaderName {
    Paper,
    Dyadic,
}

/// A target that can be evaluated from several threads.
type AnyTarget = Box<dyn Target + Send + Sync>;

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
        Ok(Construction {
            text: text.clone(),
            target,
            resolution,
            groups: self.groups,
            reader: match self.reader {
                ReaderName::Paper => Reader::Paper,
                ReaderName::Dyadic => Reader::Dyadic,
            },
            architecture,
            stabiliser: match &self.epsilon_ln {
                Some(stabiliser) => stabiliser.clone(),
                None => Rational::new(1, 100_000u32),
            },
            padding: (None, None),
        })
    }
}

/// A network of the proofs, not yet built.
struct Construction {
    text: String,
    target: AnyTarget,
    resolution: Resolution,
    groups: usize,
    reader: Reader,
    architecture: Architecture,
    stabiliser: Rational,
    /// State dimension and hidden width of a Transformer, if more than it needs.
    padding: (Option<usize>, Option<usize>),
}

/// Digits that exact runs work on in a second, measured on one core.
const DIGITS_PER_SECOND: f64 = 4e9;
/// A time that is worth a word.
const LONG_SECONDS: f64 = 5.0;
/// A time that nobody waits for.
const MOST_SECONDS: f64 = 600.0;

/// Seconds of one exact run of an FFN.
fn exact_seconds(resolution: &Resolution, u: usize) -> f64 {
    ffn::run_work(resolution, u) / DIGITS_PER_SECOND
}

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

/// The same for a table with a network for each of these times, which threads share.
fn expect_table(networks: &[f64], global: &Global, fewer: &str) -> Result<()> {
    let threads = match global.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let (all, longest) = (
        networks.iter().sum::<f64>(),
        networks.iter().copied().fold(0.0, f64::max),
    );
    let seconds = longest.max(all / threads as f64);
    expect(seconds, global, || {
        format!(
            "this table would take {}: take a smaller --to or fewer {fewer}",
            about(seconds)
        )
    })
}

/// A network of the proofs.
enum Built {
    Ffn(Box<ffn::Witness>),
    Transformer(Box<loopfit_witness::transformer::Witness>),
}

impl Construction {
    /// The network.
    fn build(&self) -> Result<Built> {
        let resolution = self.resolution.clone();
        let Architecture::Transformer { partition } = &self.architecture else {
            return Ok(Built::Ffn(Box::new(self.ffn()?)));
        };
        let setting = Setting {
            partition: partition.clone(),
            stabiliser: self.stabiliser.clone(),
            reader: self.reader,
            q: self.padding.0,
            r: self.padding.1,
        };
        let witness = loopfit_witness::transformer::Witness::new(
            resolution,
            self.groups,
            setting,
            &*self.target,
        );
        Ok(Built::Transformer(Box::new(witness.map_err(as_usage)?)))
    }

    /// The FFN witness.
    fn ffn(&self) -> Result<ffn::Witness> {
        let resolution = self.resolution.clone();
        ffn::Witness::new(resolution, self.groups, self.reader, &*self.target).map_err(as_usage)
    }

    /// Says how long exact runs take where that is long, and refuses those that would not end.
    fn expect(&self, runs: usize, global: &Global) -> Result<()> {
        let groups = self.groups.min(self.resolution.m);
        let seconds = exact_seconds(&self.resolution, groups) * runs as f64;
        expect(seconds, global, || {
            let iterations = ffn::finishing_time(&self.resolution, groups) as f64;
            format!(
                "an exact run would make {} iterations, {} in all: take a smaller m, or other groups with -u",
                number::value(iterations, 2, number::Exponent::Own),
                about(seconds)
            )
        })
    }

    /// `x1/2, d = 1, s = 1, H = 1, K = 2^3 = 8, 1 group along each axis`.
    fn words(&self) -> String {
        let resolution = &self.resolution;
        format!(
            "{}, d = {}, s = {}, H = {}, K = 2^{} = {}, {} along each axis",
            self.text,
            resolution.d,
            resolution.s,
            resolution.h,
            resolution.m,
            resolution.cells_per_axis(),
            number::count(1 << self.groups.min(63), "group")
        )
    }

    /// What every answer has in its object.
    fn to_json(&self) -> Map<String, Value> {
        let resolution = &self.resolution;
        let mut object = Map::new();
        for (key, value) in [
            ("target", json!(self.text)),
            ("d", json!(resolution.d)),
            ("s", json!(resolution.s.to_string())),
            ("H", json!(resolution.h.to_string())),
            ("m", json!(resolution.m)),
            ("K", json!(resolution.cells_per_axis())),
            ("u_grp", json!(self.groups)),
            (
                "arch",
                json!(match self.architecture {
                    Architecture::Ffn => "ffn",
                    Architecture::Transformer { .. } => "transformer",
                }),
            ),
        ] {
            object.insert(key.into(), value);
        }
        object
    }
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

/// Checks before any work that a figure can be written.
fn check_plot(path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    if path.extension().is_none_or(|ending| ending != "svg") {
        return Err(usage(
            "--plot writes SVG: give a file whose name ends in .svg".to_string(),
        ));
    }
    output::check_writable(path, &[])
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

impl PointArgument {
    fn text(&self) -> String {
        let parts: Vec<String> = self.0.iter().map(Rational::to_string).collect();
        parts.join(",")
    }
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

/// Says that a network is zero at inputs where its target is not: values of `u` beside the target.
fn say_if_zero(construction: &Construction, values: &[(&Rational, &Rational)], global: &Global) {
    let resolution = &construction.resolution;
    if !values.is_empty()
        && values.iter().all(|(u, _)| u.is_zero())
        && values.iter().any(|(_, f0)| !f0.is_zero())
    {
        let step = resolution.h.scaled(1 - resolution.b() as i64);
        say(
            global,
            &format!(
                "the network is zero here: coefficients are rounded down to multiples of H 2^(1-b) = {step}; take a larger m to see more of the target"
            ),
        );
    }
}

/// What a person should know of a constructed network that predicts nothing but zeros.
pub(crate) fn silent(model: &FittedModel, predictions: &Predictions) -> Option<String> {
    match predictions {
        Predictions::Responses(values) if is_constructed(model) && values.iter().all(|v| *v == 0.0) => Some(
            "every prediction is zero: in 32 bits this constructed network never leaves zero, or its target is below the resolution; `witness run` runs it exactly".to_string(),
        ),
        _ => None,
    }
}

/// Whether a model is a network of the proofs.
pub(crate) fn is_constructed(model: &FittedModel) -> bool {
    model.provenance.source.starts_with(CONSTRUCTED)
}

/// How the source of a constructed model begins.
pub(super) const CONSTRUCTED: &str = "constructed, not fitted";

/// Says something unless asked not to.
fn say(global: &Global, sentence: &str) {
    if !global.quiet {
        output::say(sentence);
    }
}
