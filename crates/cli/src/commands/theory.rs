//! `loopfit theory`: what the paper proves, as calculators.

mod bound;
mod distance;
mod entropy;
mod holder;
mod packing;
mod rate;
mod schedule;

use crate::architecture::TokensArgument;
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_holder::HolderClass;
use loopfit_model::Architecture;
use loopfit_model::network::CONSTANT_TOKENS;
use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::{Align, Table, number};
use loopfit_theory::problem::LARGEST;
use loopfit_theory::{Check, Constant, Constants, LoopShape, Problem, Thresholds};
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
    /// The architecture.
    #[arg(long, value_name = "ARCH", default_value = "ffn", value_parser = ["ffn", "transformer"])]
    arch: String,
    #[command(flatten)]
    tokens: TokensArgument,
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
        let architecture = architecture(&self.arch, &self.tokens, smoothness.d())?;
        let thresholds =
            Thresholds::new(smoothness, &architecture, self.bound, LAYER_NORM_STABILISER)
                .map_err(as_usage)?;
        let constants = self.constants.constants(used)?;
        Ok((
            Problem::new(smoothness, architecture, constants),
            thresholds,
        ))
    }

    /// `residual FFN, d = 2, s = 1`.
    fn words(&self, problem: &Problem) -> String {
        let smoothness = problem.smoothness();
        let (d, s) = (smoothness.d(), number::shortest(smoothness.s()));
        format!(
            "{}, d = {d}, s = {s}",
            architecture_words(problem.architecture())
        )
    }
}

/// An architecture from the command line alone.
fn architecture(key: &str, tokens: &TokensArgument, d: usize) -> Result<Architecture> {
    let choice = tokens.of(key)?;
    choice.at(d).map_err(|error| usage(error.to_string()))
}

fn architecture_words(architecture: &Architecture) -> String {
    match tokens_of(architecture) {
        None => "residual FFN".to_string(),
        Some(n) => format!("post-LN Transformer with N = {n} tokens"),
    }
}

/// The number N of all tokens, of a Transformer.
fn tokens_of(architecture: &Architecture) -> Option<usize> {
    match architecture {
        Architecture::Ffn => None,
        Architecture::Transformer { partition } => Some(partition.len() + CONSTANT_TOKENS),
    }
}

/// What every answer about a problem has in its object.
fn problem_json(problem: &Problem, key: &str) -> Map<String, Value> {
    let smoothness = problem.smoothness();
    let mut object = Map::new();
    object.insert("arch".into(), json!(key));
    if let Some(n) = tokens_of(problem.architecture()) {
        object.insert("N".into(), json!(n));
    }
    object.insert("d".into(), json!(smoothness.d()));
    object.insert("s".into(), json!(smoothness.s()));
    object.insert("a".into(), json!(smoothness.a()));
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
    fn get(&self, problem: &Problem, thresholds: &Thresholds) -> Result<(LoopShape, u64)> {
        let shape = match (self.budget, self.state, self.width) {
            (None, Some(q), Some(r)) => problem.shape(q, r),
            (None, q, _) => problem.shape(q.unwrap_or(thresholds.q), thresholds.r),
            (Some(budget), q, _) => match q {
                Some(q) => problem.widest(q, budget),
                None => problem
                    .default_q(budget, thresholds.q)
                    .and_then(|q| problem.widest(q, budget)),
            },
        }
        .map_err(as_usage)?;
        Ok((shape, self.budget.unwrap_or(shape.count)))
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

/// An answer in words: a title with the theorem, values by symbol, tables, hypotheses, constants.
pub(super) struct Sheet {
    text: String,
}

impl Sheet {
    /// `source` names the theorem or lemma.
    pub(super) fn new(title: &str, source: &str) -> Self {
        Self {
            text: format!("{title}\n{source}\n"),
        }
    }

    /// Symbols, their values and what they are.
    fn values<'a>(&mut self, rows: impl IntoIterator<Item = (&'a str, String, &'a str)>) {
        let mut table = Table::new([
            ("symbol", Align::Left),
            ("value", Align::Right),
            ("meaning", Align::Left),
        ]);
        for (symbol, value, meaning) in rows {
            table.push([symbol.to_string(), value, meaning.to_string()]);
        }
        self.table("", &table);
    }

    /// A table below its caption, which may be empty.
    pub(super) fn table(&mut self, caption: &str, table: &Table) {
        self.text.push('\n');
        if !caption.is_empty() {
            self.text += &format!("{caption}\n");
        }
        self.text += &table.to_terminal(output::color());
    }

    /// Each hypothesis with its verdict.
    fn checks(&mut self, checks: &[Check]) {
        self.verdicts("Hypotheses", checks);
    }

    /// Verdicts below a heading.
    fn verdicts(&mut self, heading: &str, checks: &[Check]) {
        self.text += &format!("\n{heading}\n");
        for check in checks {
            let verdict = if check.holds { "holds" } else { "FAILS" };
            self.text += &format!("  {verdict}  {}: {}\n", check.name, check.sentence);
        }
    }

    /// Which constants are open, with the values they have here.
    fn constants(&mut self, values: &Constants, used: &[Constant]) {
        self.text +=
            "\nConstants that the theorem leaves open (change them with --set NAME=VALUE)\n";
        for constant in used {
            let value = number::shortest(values.value(*constant));
            self.text += &format!("  {} = {value}: {}\n", constant.name(), constant.meaning());
        }
    }

    /// A remark.
    pub(super) fn note(&mut self, sentence: &str) {
        self.text += &format!("\n{sentence}\n");
    }

    pub(super) fn print(&self) -> Result<()> {
        output::print(&self.text)
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

/// A number and its logarithm under two keys, the number as null where no float holds it.
fn insert_log(object: &mut Map<String, Value>, key: &str, number: LogNumber) {
    // Fifteen digits: the last ones are rounding of the logarithm.
    let value: f64 = format!("{:.14e}", number.value())
        .parse()
        .unwrap_or(f64::NAN);
    let representable = value.is_finite() && (value > 0.0 || number == LogNumber::ZERO);
    object.insert(
        key.into(),
        if representable {
            json!(value)
        } else {
            Value::Null
        },
    );
    let ln = number.ln();
    object.insert(
        format!("log_{key}"),
        if ln.is_finite() {
            json!(ln)
        } else {
            Value::Null
        },
    );
}

/// Four digits of a number that may be too large or too small for a float.
fn log_digits(number: LogNumber) -> String {
    number::of_log(number.ln(), 4)
}

/// Five digits of a number.
fn digits(value: f64) -> String {
    number::value(value, 5, number::Exponent::Own)
}
