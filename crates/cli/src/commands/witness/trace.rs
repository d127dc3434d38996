//! `loopfit witness trace`.

use super::{Built, ConstructionArguments, PointArgument, as_usage, short, transformer};
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::{Global, output};
use anyhow::Result;
use clap::ValueEnum;
use loopfit_report::number;
use loopfit_witness::ffn::run::{Change, Output, Run};
use loopfit_witness::{Exact, Rational, ffn};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit witness trace --target x1 --smoothness 1 -m 3 -u 3 --x 0.7\n  loopfit witness trace --target 1/2 --dim 1 --smoothness 1 -m 2 -u 2 --x 0.3 --each iteration --from 11 --to 59\n  loopfit witness trace --target x1 --smoothness 1 -m 3 -u 3 --program"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    construction: ConstructionArguments,
    /// The input, coordinates separated by commas, each p/q or a decimal.
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "X",
        required_unless_present = "program"
    )]
    x: Option<PointArgument>,
    /// A line for each iteration, or one for each instruction: a counted loop is one.
    #[arg(long, default_value = "instruction")]
    each: Each,
    /// The first iteration that is shown, counted from 1.
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = crate::data::natural)]
    from: usize,
    /// The last iteration that is shown; by default the finishing time.
    #[arg(long, value_name = "T", value_parser = count)]
    to: Option<usize>,
    /// Print the stages of the program instead.
    #[arg(long, conflicts_with_all = ["x", "from", "to"])]
    program: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Each {
    Iteration,
    Instruction,
}

/// Consecutive iterations of one instruction.
pub(super) struct Line {
    first: usize,
    last: usize,
    phases: String,
    /// Registers that changed, with their last value.
    registers: BTreeMap<usize, Rational>,
    /// Of a Transformer: the scales of the controller and of the references.
    pub(super) scales: Option<[f64; 2]>,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let construction = a.construction.get()?;
    if !a.program {
        construction.expect(1, global)?;
    }
    let built = construction.build()?;
    let Some(x) = a.x.as_ref().filter(|_| !a.program) else {
        let program = match &built {
            Built::Ffn(witness) => format!(
                "selector\n{}\nevaluator\n{}",
                witness.selector().text(),
                witness.evaluator().program
            ),
            Built::Transformer(witness) => format!(
                "boot and routing, whose end starts the front end\n{}\nfront end\n{}\nevaluator, whose halt starts the terminal correction\n{}\nterminal correction\n{}",
                witness.routing().program,
                loopfit_witness::transformer::front::text(witness.resolution(), witness.groups()),
                witness.evaluator().program,
                witness.correction().program
            ),
        };
        if global.json {
            let phases: Vec<&str> = program.lines().collect();
            output::print_json(&object!({ "phases": phases }))?;
        } else {
            output::print(&program)?;
        }
        return Ok(Exit::Done);
    };
    let instructions = a.each == Each::Instruction;
    let witness = match &built {
        Built::Ffn(witness) => witness,
        Built::Transformer(witness) => {
            let span = (a.from, a.to);
            return transformer::trace(&construction, witness, x, span, instructions, global);
        }
    };
    let to = a.to.unwrap_or(witness.resources().finishing_time);
    if a.from == 0 || a.from > to {
        return Err(usage(format!(
            "--from {} must be at least 1 and at most --to {to}",
            a.from
        )));
    }
    let (lines, output) = lines(witness, x, (a.from, to), instructions).map_err(as_usage)?;
    let title = format!("FFN witness: {}, x = {}", construction.words(), x.text());
    let ending = Ending {
        t: to,
        finishing: witness.resources().finishing_time,
        value: output.value,
        f0: construction.target.value(&x.0).map_err(as_usage)?,
    };
    let on_strip = witness.resolution().is_on_strip(&x.0);
    if to >= ending.finishing && !on_strip {
        super::say_if_zero(&construction, &[(&output.u, &ending.f0)], global);
    }
    let names = witness.block().coordinates();
    print(&title, x, &lines, names, &ending, global)
}

/// What a trace ends with.
pub(super) struct Ending {
    /// The iterations that were made.
    pub(super) t: usize,
    /// Those that the network needs.
    pub(super) finishing: usize,
    /// The output then.
    pub(super) value: Rational,
    /// The target.
    pub(super) f0: Rational,
}

impl Ending {
    fn error(&self) -> f64 {
        (&self.value - &self.f0).to_f64().abs()
    }

    fn text(&self) -> String {
        let (t, value, f0) = (self.t, short(&self.value), short(&self.f0));
        match t >= self.finishing {
            true => format!(
                "after {t} iterations: output {value}, target f0(x) = {f0}, error {}\n",
                number::value(self.error(), 4, number::Exponent::Own)
            ),
            false => format!(
                "after {t} of {} iterations, not finished: output {value}, target f0(x) = {f0}\n",
                self.finishing
            ),
        }
    }
}

/// Prints a trace.
pub(super) fn print(
    title: &str,
    x: &PointArgument,
    lines: &[Line],
    names: &[String],
    ending: &Ending,
    global: &Global,
) -> Result<Exit> {
    if global.json {
        let lines: Vec<Value> = lines.iter().map(|line| line.to_json(names)).collect();
        output::print_json(&object!({
            "x": x.text(), "lines": lines, "T": ending.t, "S": ending.finishing,
            "value": ending.value.to_string(), "f0": ending.f0.to_string(), "error": ending.error(),
        }))?;
    } else {
        let scales = lines.iter().any(|line| line.scales.is_some());
        let more = if scales {
            " [scales of controller, references]"
        } else {
            ""
        };
        let mut text = format!("{title}\niterations, phase,{more} registers that changed\n");
        for line in lines {
            text += &line.text(names);
        }
        output::print(&(text + &ending.text()))?;
    }
    Ok(Exit::Done)
}

fn lines(
    witness: &ffn::Witness,
    x: &PointArgument,
    (from, to): (usize, usize),
    instructions: bool,
) -> Result<(Vec<Line>, Output), loopfit_witness::Error> {
    let runner = witness.runner(Exact);
    let mut run = runner.start(&x.0)?;
    let mut lines: Vec<Line> = Vec::new();
    // Phases are named in what runs, not among what changes.
    let phases = witness.placement().phases.iter();
    let phases: Vec<usize> = phases
        .chain(&witness.selector().phases)
        .map(|c| c.0)
        .collect();
    for t in 1..=to {
        let name = active(&run);
        let name = if instructions {
            instruction(&name)
        } else {
            name
        };
        let changes = run.step();
        if t < from {
            continue;
        }
        let registers = changes
            .into_iter()
            .filter(|change| !phases.contains(&change.coordinate))
            .map(|Change { coordinate, to, .. }| (coordinate, to));
        push(&mut lines, t, name, registers, instructions);
    }
    Ok((lines, run.output()?))
}

/// Adds an iteration to the lines: to the last one if it is of the same instruction.
pub(super) fn push(
    lines: &mut Vec<Line>,
    t: usize,
    phases: String,
    registers: impl Iterator<Item = (usize, Rational)>,
    instructions: bool,
) {
    match lines.last_mut() {
        Some(line) if instructions && line.phases == phases => {
            line.last = t;
            line.registers.extend(registers);
        }
        _ => lines.push(Line {
            first: t,
            last: t,
            phases,
            registers: registers.collect(),
            scales: None,
        }),
    }
}

/// The phases that are on, with their values where these are not what they should be: one, or the scale C.
fn active(run: &Run<'_, Exact>) -> String {
    let phases = run.active_phases();
    // The selector stays in its last phase while the evaluator runs.
    let waits = phases.len() > 1;
    let names = phases
        .iter()
        .filter(|phase| !(waits && phase.name == "selected"))
        .map(|phase| phase.name);
    names.collect::<Vec<_>>().join(" + ")
}

/// The instruction that a phase belongs to: `location 1: bit` is part of `location 1`.
pub(super) fn instruction(phase: &str) -> String {
    match phase.split_once(": ") {
        Some((instruction, _)) => instruction.to_string(),
        None => phase.to_string(),
    }
}

impl Line {
    fn text(&self, names: &[String]) -> String {
        let span = if self.first == self.last {
            self.first.to_string()
        } else {
            format!("{}-{}", self.first, self.last)
        };
        let changes = self.registers.iter();
        let changes = changes.map(|(&i, value)| format!("{} = {}", names[i], short(value)));
        let changes: Vec<String> = changes.collect();
        let scales = self
            .scales
            .map_or(String::new(), |[controller, references]| {
                format!("  [{controller:.6}, {references:.6}]")
            });
        format!(
            "{span:>13}  {:<24}{scales}  {}\n",
            self.phases,
            changes.join(", ")
        )
    }

    fn to_json(&self, names: &[String]) -> Value {
        let registers = self.registers.iter();
        let registers = registers.map(|(&i, value)| (names[i].clone(), json!(value.to_string())));
        json!({
            "first": self.first, "last": self.last, "phase": self.phases, "scales": self.scales,
            "registers": Value::Object(registers.collect()),
        })
    }
}
