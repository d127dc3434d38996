//! `loopfit theory`: what the paper proves, as calculators.

mod rate;

use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_report::{Align, Table, number};
use loopfit_theory::{Check, Constant, Constants};
use serde_json::{Value, json};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Exponents and powers of the logarithm for a dimension and a smoothness.
    Rate(rate::Arguments),
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    match &a.command {
        Command::Rate(a) => rate::run(a, global),
    }
}

/// Values for the constants that the theorems leave open.
#[derive(clap::Args, Clone, Debug)]
struct ConstantArguments {
    /// Give a constant that the theorems leave open a value, e.g. c_U=0.1; may be repeated. Those not
    /// given are 1 (C_6 is 2).
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl ConstantArguments {
    fn constants(&self) -> Result<Constants> {
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
            constants
                .set(name, value)
                .map_err(|error| usage(error.to_string()))?;
        }
        Ok(constants)
    }
}

/// An answer in words: a title with the theorem, values by symbol, tables, hypotheses, constants.
struct Sheet {
    text: String,
}

impl Sheet {
    /// `source` names the theorem or lemma.
    fn new(title: &str, source: &str) -> Self {
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
    fn table(&mut self, caption: &str, table: &Table) {
        self.text.push('\n');
        if !caption.is_empty() {
            self.text += &format!("{caption}\n");
        }
        self.text += &table.to_terminal(output::color());
    }

    /// Each hypothesis with its verdict.
    fn checks(&mut self, checks: &[Check]) {
        self.text += "\nHypotheses\n";
        for check in checks {
            let verdict = if check.holds { "holds" } else { "FAILS" };
            self.text += &format!("  {verdict}  {}: {}\n", check.name, check.sentence);
        }
    }

    /// Which constants are open, with the values they were given here.
    fn constants(&mut self, constants: &[Constant]) {
        self.text +=
            "\nConstants that the theorem leaves open (change them with --set NAME=VALUE)\n";
        for c in constants {
            let value = number::shortest(c.value);
            self.text += &format!("  {} = {value}: {}\n", c.name, c.meaning);
        }
    }

    /// A remark.
    fn note(&mut self, sentence: &str) {
        self.text += &format!("\n{sentence}\n");
    }

    fn print(&self) -> Result<()> {
        output::print(&self.text)
    }
}

fn checks_json(checks: &[Check]) -> Value {
    let of = |c: &Check| json!({ "name": c.name, "holds": c.holds, "sentence": c.sentence });
    checks.iter().map(of).collect()
}

fn constants_json(constants: &[Constant]) -> Value {
    let of = |c: &Constant| (c.name.to_string(), json!(c.value));
    Value::Object(constants.iter().map(of).collect())
}

/// Five digits of a number.
fn digits(value: f64) -> String {
    number::value(value, 5, number::Exponent::Own)
}
