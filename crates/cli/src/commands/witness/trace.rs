//! `loopfit witness trace`.

use super::{
    ConstructionArguments, PointArgument, as_usage, digits, expect_runs, point_text, say_if_silent,
    short, title,
};
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::named::named;
use crate::{Global, output};
use anyhow::Result;
use loopfit_witness::construction::trace::{Each, Line, Trace};
use serde_json::{Value, json};

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
    #[arg(long, default_value = "instruction", value_parser = named::<Each>())]
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

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let construction = a.construction.get()?;
    if !a.program {
        expect_runs(&construction, 1, global)?;
    }
    let network = construction.build().map_err(as_usage)?;
    let Some(x) = a.x.as_ref().filter(|_| !a.program) else {
        let program = network.program();
        if global.json {
            let phases: Vec<&str> = program.lines().collect();
            output::print_json(&object!({ "phases": phases }))?;
        } else {
            output::print(&program)?;
        }
        return Ok(Exit::Done);
    };
    let (from, to) = (a.from, a.to.unwrap_or(network.program_length()));
    if from == 0 || from > to {
        let end = match a.to {
            Some(to) => format!("--to {to}"),
            None => format!("{to}, the last iteration of the program"),
        };
        return Err(usage(format!(
            "--from {from} must be at least 1 and at most {end}"
        )));
    }
    let trace = construction.trace(&network, &x.0, from..=to, a.each);
    let trace = trace.map_err(as_usage)?;
    say_if_silent(trace.silent, &construction, global);
    let x = point_text(&x.0);
    if global.json {
        let lines: Vec<Value> = trace
            .lines
            .iter()
            .map(|line| line_json(&trace, line))
            .collect();
        output::print_json(&object!({
            "x": x, "lines": lines, "T": trace.iterations, "S": trace.finishing,
            "value": trace.value.to_string(), "f0": trace.f0.to_string(), "error": trace.error(),
        }))?;
    } else {
        let title = format!("{}, x = {x}", title(&construction, &network));
        output::print(&text(&title, &trace))?;
    }
    Ok(Exit::Done)
}

fn text(title: &str, trace: &Trace) -> String {
    let scales = trace.lines.iter().any(|line| line.scales.is_some());
    let more = match scales {
        true => " [scales of controller, references]",
        false => "",
    };
    let mut text = format!("{title}\niterations, phase,{more} registers that changed\n");
    for line in &trace.lines {
        text += &line_text(trace, line);
    }
    let (t, value, f0) = (trace.iterations, short(&trace.value), short(&trace.f0));
    text + &match trace.is_finished() {
        true => format!(
            "after {t} iterations: output {value}, target f0(x) = {f0}, error {}\n",
            digits(trace.error())
        ),
        false => format!(
            "after {t} of {} iterations, not finished: output {value}, target f0(x) = {f0}\n",
            trace.finishing
        ),
    }
}

fn line_text(trace: &Trace, line: &Line) -> String {
    let span = match line.first == line.last {
        true => line.first.to_string(),
        false => format!("{}-{}", line.first, line.last),
    };
    let changes = line.registers.iter();
    let changes = changes.map(|(&i, value)| format!("{} = {}", trace.coordinates[i], short(value)));
    let scales = line
        .scales
        .map_or(String::new(), |[controller, references]| {
            format!("  [{controller:.6}, {references:.6}]")
        });
    format!(
        "{span:>13}  {:<24}{scales}  {}\n",
        line.phases,
        changes.collect::<Vec<String>>().join(", ")
    )
}

fn line_json(trace: &Trace, line: &Line) -> Value {
    let registers = line.registers.iter();
    let registers =
        registers.map(|(&i, value)| (trace.coordinates[i].clone(), json!(value.to_string())));
    json!({
        "first": line.first, "last": line.last, "phase": line.phases, "scales": line.scales,
        "registers": Value::Object(registers.collect()),
    })
}
