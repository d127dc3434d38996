//! `loopfit theory`: what the paper proves, as calculators.

mod bound;
mod distance;
mod entropy;
mod function;
mod holder;
mod oracle;
mod packing;
mod rate;
mod schedule;

use crate::Global;
use crate::architecture::ArchitectureArgument;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::{Sheet, verdict};
use anyhow::Result;
use loopfit_holder::HolderClass;
use loopfit_model::Architecture;
use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::named::Named;
use loopfit_report::number;
use loopfit_theory::problem::LARGEST;
use loopfit_theory::{Check, Constant, Constants, LoopClass, Problem, Thresholds, Widths};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Exponents and powers of the logarithm for a dimension and a smoothness.
    Rate(rate::Arguments),
    /// Iterations and widths that the theorems take at a sample size, with their hypotheses checked.
    Schedule(schedule::Arguments),
    /// The risk bound of a loop term by term, its best iteration count, and the untied floor beside it.
    Bound(bound::Arguments),
    /// How large the classes are: sensitivity, covers, brackets, the critical radius, untied networks.
    Entropy(entropy::Arguments),
    /// Look for the smallest Hölder class that a formula, a simulation or a model can be in.
    Holder(holder::Arguments),
    /// Build the packing of a Hölder class and verify it.
    Packing(packing::Arguments),
    /// Distances between the laws of two functions, and the constants of the metric equivalence checked on them.
    Distance(distance::Arguments),
    /// The oracle inequality at a fitted model: approximation, entropy and tolerance beside its risk, in one line.
    Oracle(oracle::Arguments),
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    match &a.command {
        Command::Rate(a) => rate::run(a, global),
        Command::Schedule(a) => schedule::run(a, global),
        Command::Bound(a) => bound::run(a, global),
        Command::Entropy(a) => entropy::run(a, global),
        Command::Holder(a) => holder::run(a, global),
        Command::Packing(a) => packing::run(a, global),
        Command::Distance(a) => distance::run(a, global),
        Command::Oracle(a) => oracle::run(a, global),
    }
}

/// Values for the constants that the theorems leave open.
#[derive(clap::Args, Clone, Debug)]
struct ConstantArguments {
    /// Give a constant that the theorems leave open a value, e.g. c_U=0.1; may be repeated. Those not
    /// given are 1 (C_6 is 2). The names are C, C_app, c, C_init, C_est, C_6, c_U, c_min, C_1, C_2, c_q and
    /// C_B; each answer says where those it depends on stand.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl ConstantArguments {
    /// The values, for an answer that depends on some of them.
    fn constants(&self, used: &[Constant]) -> Result<Constants> {
        let mut constants = Constants::default();
        for text in &self.set {
            let parsed = text
                .split_once('=')
                .and_then(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)));
            let Some((name, value)) = parsed else {
                return Err(usage(format!(
                    "--set {text} is not of the form NAME=VALUE: write e.g. --set c_U=0.1"
                )));
            };
            let constant = constants.set(name, value).map_err(as_usage)?;
            if !used.contains(&constant) {
                let names: Vec<&str> = used.iter().map(|c| c.name()).collect();
                return Err(usage(format!(
                    "this answer does not depend on {name}: leave it out, or set one of {}",
                    names.join(", ")
                )));
            }
        }
        Ok(constants)
    }
}

/// The problem: a smoothness, an architecture, open constants.
#[derive(clap::Args, Clone, Debug)]
struct ProblemArguments {
    #[command(flatten)]
    smoothness: rate::SmoothnessArguments,
    #[command(flatten)]
    architecture: ArchitectureArgument,
    /// Bound H of the target and of the output, which decides how large coefficients must be allowed to be.
    #[arg(
        long,
        value_name = "H",
        allow_negative_numbers = true,
        default_value_t = 1.0
    )]
    bound: f64,
    #[command(flatten)]
    constants: ConstantArguments,
}

impl ProblemArguments {
    /// The problem, and the thresholds of the construction for it; the answer depends on `used`.
    fn get(&self, used: &[Constant]) -> Result<(Problem, Thresholds)> {
        let smoothness = self.smoothness.get()?;
        HolderClass::new(smoothness, self.bound).map_err(|error| usage(error.to_string()))?;
        let architecture = self.architecture.at(smoothness.d())?;
        let thresholds =
            Thresholds::new(smoothness, &architecture, self.bound, LAYER_NORM_STABILISER)
                .map_err(as_usage)?;
        let constants = self.constants.constants(used)?;
        let problem = Problem::new(smoothness, architecture, constants);
        Ok((problem, thresholds))
    }
}

/// `residual FFN, d = 2, s = 1`.
fn problem_words(problem: &Problem) -> String {
    let smoothness = problem.smoothness();
    format!(
        "{}, d = {}, s = {}",
        architecture_words(problem.architecture()),
        smoothness.d(),
        number::shortest(smoothness.s())
    )
}

fn architecture_words(architecture: &Architecture) -> String {
    match architecture.tokens() {
        None => "residual FFN".to_string(),
        Some(n) => format!("post-LN Transformer with N = {n} tokens"),
    }
}

/// What every answer about a problem has in its object.
fn problem_json(problem: &Problem) -> Map<String, Value> {
    let smoothness = problem.smoothness();
    let mut object = object!({ "d": smoothness.d(), "s": smoothness.s(), "a": smoothness.a() });
    object.extend(architecture_json(problem.architecture()));
    object
}

/// The name of an architecture and, of a Transformer, the number of its tokens.
fn architecture_json(architecture: &Architecture) -> Map<String, Value> {
    let mut object = object!({ "arch": architecture.kind().name() });
    object.extend(architecture.tokens().map(|n| ("N".to_string(), json!(n))));
    object
}

/// The shape of a loop: widths, or a budget and the widest block under it.
#[derive(clap::Args, Clone, Debug)]
struct ShapeArguments {
    /// The cap B: the loop has the largest hidden width that it allows. By default the smallest cap
    /// that admits the construction of the proofs.
    #[arg(long, value_name = "B", value_parser = whole, conflicts_with = "width")]
    budget: Option<u64>,
    /// State dimension q; by default that of the construction, or the largest whose widest block is at
    /// least as wide.
    #[arg(long = "q", value_name = "Q", value_parser = whole)]
    state: Option<u64>,
    /// Hidden width r; the cap is then what the shape counts.
    #[arg(long = "r", value_name = "R", value_parser = whole, requires = "state")]
    width: Option<u64>,
}

impl ShapeArguments {
    /// The shape and the cap.
    fn get(&self, problem: &Problem, thresholds: &Thresholds) -> Result<(LoopClass, u64)> {
        let widths = Widths {
            budget: self.budget,
            q: self.state,
            r: self.width,
        };
        problem.choose(widths, Some(thresholds)).map_err(as_usage)
    }
}

/// Parses a whole number up to 10^18, also as 1e6.
fn whole(text: &str) -> Result<u64, String> {
    match crate::data::whole(text) {
        Some(number) if (1..=LARGEST as u64).contains(&number) => Ok(number),
        _ => Err("it must be a whole number from 1 to 1e18".to_string()),
    }
}

/// What the calculators refuse comes from the command line alone.
fn as_usage(error: loopfit_theory::Error) -> anyhow::Error {
    usage(error.to_string())
}

/// Verdicts below a heading.
fn put_checks(sheet: &mut Sheet, heading: &str, checks: &[Check]) {
    let words = |check: &Check| format!("{}: {}", check.name, check.sentence);
    let lines = checks
        .iter()
        .map(|check| verdict(check.holds, &words(check)));
    sheet.lines(heading, lines);
}

/// Which constants are open, with the values they have here.
fn put_constants(sheet: &mut Sheet, values: &Constants, used: &[Constant]) {
    let line = |constant: &Constant| {
        let value = number::shortest(values.value(*constant));
        format!("{} = {value}: {}", constant.name(), constant.meaning())
    };
    sheet.lines(
        "Constants that the theorem leaves open (change them with --set NAME=VALUE)",
        used.iter().map(line),
    );
}

/// Whether everything that was checked holds.
fn exit_of(checks: &[Check]) -> Exit {
    match checks.iter().all(|check| check.holds) {
        true => Exit::Done,
        false => Exit::CheckFailed,
    }
}

fn checks_json(checks: &[Check]) -> Value {
    let of = |c: &Check| json!({ "name": c.name, "holds": c.holds, "sentence": c.sentence });
    checks.iter().map(of).collect()
}

fn constants_json(values: &Constants, used: &[Constant]) -> Value {
    let of = |c: &Constant| (c.name().to_string(), json!(values.value(*c)));
    Value::Object(used.iter().map(of).collect())
}

/// Numbers and their logarithms, each under two keys, a number as null where no float holds it.
fn log_json<const N: usize>(numbers: [(&str, LogNumber); N]) -> Map<String, Value> {
    let both = |(key, number): (&str, LogNumber)| {
        // Fifteen digits: the last ones are rounding of the logarithm.
        let value = format!("{:.14e}", number.value()).parse();
        let value: f64 = value.unwrap_or(f64::NAN);
        let representable = value.is_finite() && (value > 0.0 || number == LogNumber::ZERO);
        let ln = number.ln();
        [
            (key.to_string(), json!(representable.then_some(value))),
            (format!("log_{key}"), json!(ln.is_finite().then_some(ln))),
        ]
    };
    numbers.into_iter().flat_map(both).collect()
}

/// The same of a number that there may not be.
fn optional_log_json(key: &str, number: Option<LogNumber>) -> Map<String, Value> {
    match number {
        Some(number) => log_json([(key, number)]),
        None => Map::from_iter([(key.to_string(), Value::Null)]),
    }
}

/// Four digits of a number that may be too large or too small for a float.
fn log_digits(number: LogNumber) -> String {
    number::of_log(number.ln(), 4)
}

/// Five digits of a number.
fn digits(value: f64) -> String {
    number::value(value, 5, number::Exponent::Own)
}
