//! `loopfit witness run`.

use super::{
    ConstructionArguments, PointArgument, as_usage, digits, expect_runs, point_text, say_if_silent,
    short, title, to_json,
};
use crate::commands::on_threads;
use crate::data::{between, count};
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::columns;
use crate::{Global, output};
use anyhow::Result;
use loopfit_report::{Table, number};
use loopfit_witness::construction::run::{Quantity, Row, Runs};
use loopfit_witness::transformer::scientific;
use loopfit_witness::{ArithmeticKind, Error, Network, Rational};
use serde_json::{Value, json};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit witness run --target \"x1*(1-x2)/2\" --smoothness 2 -m 3 --x 1/3,0.2\n  loopfit witness run --target x1 --smoothness 1 -m 8 -u 8 --x 0.3 --x 0.7 --arithmetic f64 --reader dyadic\n  loopfit witness run --target sim:friedman1 --smoothness 1 --bound 4 -m 1 -u 1 --x 0.3,0.6,0.2,0.9,0.4 --json\n  loopfit witness run --target x1 --smoothness 1 -m 2 -u 1 --arch transformer --x 0.7"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    construction: ConstructionArguments,
    /// An input, coordinates separated by commas, each p/q or a decimal; may be repeated.
    #[arg(long, value_name = "X", required = true, allow_hyphen_values = true)]
    x: Vec<PointArgument>,
    /// Arithmetic: exact, f64, f32, or a number of mantissa bits. A Transformer has roots, so that exact means
    /// enough bits for the digits shown, checked by running again with more.
    #[arg(long, value_name = "A", default_value = "exact", value_parser = arithmetic)]
    arithmetic: ArithmeticKind,
    /// Iterations; by default the finishing time.
    #[arg(long, value_name = "T", value_parser = count)]
    iterations: Option<usize>,
}

/// Parses an arithmetic.
fn arithmetic(text: &str) -> Result<ArithmeticKind, String> {
    match text {
        "exact" => Ok(ArithmeticKind::Exact),
        "f64" => Ok(ArithmeticKind::F64),
        "f32" => Ok(ArithmeticKind::F32),
        bits => between(bits, 2, 1_000_000)
            .map(ArithmeticKind::Bits)
            .map_err(|_| "it must be exact, f64, f32 or a number of bits from 2 to 1000000".into()),
    }
}

/// Digits of a Transformer's outputs in tables.
const DIGITS: usize = 30;

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let construction = a.construction.get()?;
    expect_runs(&construction, a.x.len(), global)?;
    let network = construction.build().map_err(as_usage)?;
    let inputs: Vec<Vec<Rational>> = a.x.iter().map(|x| x.0.clone()).collect();
    let runs = on_threads(global, || {
        construction.run(&network, &inputs, a.arithmetic, a.iterations)
    })?;
    let runs = runs.map_err(refused)?;
    say_if_silent(runs.silent, &construction, global);
    if global.json {
        let rows = runs.rows.iter().map(|row| row_json(&network, row));
        let mut object = to_json(&construction);
        object.extend(object!({
            "T": runs.iterations, "bound": network.error_bound(), "points": rows.collect::<Vec<_>>(),
        }));
        if let Network::Ffn(_) = &network {
            object.extend(object!({
                "S": network.finishing_time(), "arithmetic": a.arithmetic.to_string(),
            }));
        }
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    let bound = digits(network.error_bound());
    let iterations = number::integer(runs.iterations as u64);
    let (how, promise) = match &network {
        Network::Ffn(_) => (
            format!("{iterations} iterations in {} (Theorem D.1)", a.arithmetic),
            format!(
                "off the strips of half-width 2^-{} around cell faces is at most {bound} (S23, S28).",
                network.resolution().g()
            ),
        ),
        Network::Transformer(_) => (
            format!(
                "{iterations} iterations (Theorem E.1); u and v are exact, with ideal comparisons"
            ),
            format!(
                "at inputs that are not exceptional is at most {bound} (S23, S28 and the readout's accuracy)."
            ),
        ),
    };
    let promise = match a.iterations {
        None => format!("\nFor a target in the Hölder class the error {promise}\n"),
        Some(_) => String::new(),
    };
    output::print(&format!(
        "{}\n{how}\n\n{}{promise}",
        title(&construction, &network),
        table(&network, &runs).to_terminal(output::color()),
    ))?;
    Ok(Exit::Done)
}

/// What a construction refuses, in the words of the command line.
fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::TooFine(wrong) if wrong.quantity == Quantity::U => usage(format!(
            "the resolution is too fine for {}: at x = {} the network returns u = {} instead of {}; it works with --arithmetic {}, or exactly",
            wrong.arithmetic,
            point_text(&wrong.x),
            short(&wrong.found),
            short(&wrong.exact),
            wrong.bits
        )),
        other => as_usage(other),
    }
}

fn row_json(network: &Network, row: &Row) -> Value {
    let x: Vec<String> = row.x.iter().map(Rational::to_string).collect();
    let text = |part: &Option<Rational>| part.as_ref().map(Rational::to_string);
    let mut object = object!({
        "x": x, "u": text(&row.u), "f0": row.f0.to_string(), "error": row.error(),
    });
    object.extend(match network {
        Network::Ffn(_) => {
            object!({ "value": row.value.to_string(), "on_strip": row.exceptional })
        }
        Network::Transformer(_) => object!({
            "v": text(&row.v), "value": scientific(&row.value, 40), "bits": row.bits,
            "exceptional": row.exceptional,
        }),
    });
    json!(object)
}

fn table(network: &Network, runs: &Runs) -> Table {
    let (numbers, place): (&[&str], _) = match network {
        Network::Ffn(_) => (&["u", "Hu, clipped", "f0(x)", "error"], "on a strip"),
        Network::Transformer(_) => (
            &["u", "v", "output", "f0(x)", "error", "bits"],
            "exceptional",
        ),
    };
    let mut table = columns(&["x"], numbers, &[place]);
    let part = |part: &Option<Rational>| part.as_ref().map_or(number::ABSENT.to_string(), short);
    for row in &runs.rows {
        let mut cells = vec![point_text(&row.x), part(&row.u)];
        match network {
            Network::Ffn(_) => cells.push(short(&row.value)),
            Network::Transformer(_) => {
                cells.extend([part(&row.v), scientific(&row.value, DIGITS)]);
            }
        }
        cells.extend([short(&row.f0), digits(row.error())]);
        if let Network::Transformer(_) = network {
            let bits = row.bits.map(|bits| bits.to_string());
            cells.push(bits.unwrap_or(number::ABSENT.to_string()));
        }
        cells.push(if row.exceptional { "yes" } else { "no" }.to_string());
        table.push(cells);
    }
    table
}
