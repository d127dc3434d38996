//! `loopfit witness run`.

use super::{
    AnyTarget, Built, Construction, ConstructionArguments, PointArgument, as_usage, short,
    transformer,
};
use crate::data::{between, count};
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_report::{Align, Table, number};
use loopfit_witness::ffn::run::Output;
use loopfit_witness::precision::{Verdict, tolerance};
use loopfit_witness::{BigFloat, Double, Exact, Rational, Single, ffn};
use serde_json::{Value, json};
use std::str::FromStr;

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
    #[arg(long, value_name = "A", default_value = "exact")]
    arithmetic: ArithmeticName,
    /// Iterations; by default the finishing time.
    #[arg(long, value_name = "T", value_parser = count)]
    iterations: Option<usize>,
}

/// What numbers a network is run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArithmeticName {
    Exact,
    F64,
    F32,
    Bits(usize),
}

impl FromStr for ArithmeticName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "exact" => Ok(Self::Exact),
            "f64" => Ok(Self::F64),
            "f32" => Ok(Self::F32),
            bits => between(bits, 2, 1_000_000).map(Self::Bits).map_err(|_| {
                "it must be exact, f64, f32 or a number of bits from 2 to 1000000".into()
            }),
        }
    }
}

impl std::fmt::Display for ArithmeticName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact => f.write_str("exact rationals"),
            Self::F64 => f.write_str("f64"),
            Self::F32 => f.write_str("f32"),
            Self::Bits(bits) => write!(f, "floats of {bits} bits"),
        }
    }
}

/// The output after so many iterations, in an arithmetic.
pub(super) fn evaluate(
    witness: &ffn::Witness,
    arithmetic: ArithmeticName,
    x: &[Rational],
    iterations: usize,
) -> Result<Output, loopfit_witness::Error> {
    macro_rules! in_arithmetic {
        ($arithmetic:expr) => {{
            let runner = witness.runner($arithmetic);
            let mut run = runner.start(x)?;
            run.advance(iterations);
            run.output()
        }};
    }
    match arithmetic {
        ArithmeticName::Exact => in_arithmetic!(Exact),
        ArithmeticName::F64 => in_arithmetic!(Double),
        ArithmeticName::F32 => in_arithmetic!(Single),
        ArithmeticName::Bits(bits) => in_arithmetic!(BigFloat::new(bits)),
    }
}

/// One input with what came out.
struct Row {
    x: PointArgument,
    output: Output,
    f0: Rational,
    on_strip: bool,
}

impl Row {
    fn new(
        witness: &ffn::Witness,
        target: &AnyTarget,
        x: &PointArgument,
        arithmetic: ArithmeticName,
        iterations: usize,
    ) -> Result<Self, loopfit_witness::Error> {
        Ok(Self {
            x: x.clone(),
            output: evaluate(witness, arithmetic, &x.0, iterations)?,
            f0: target.value(&x.0)?,
            on_strip: witness.resolution().is_on_strip(&x.0),
        })
    }

    fn error(&self) -> f64 {
        (&self.output.value - &self.f0).to_f64().abs()
    }

    fn to_json(&self) -> Value {
        let x: Vec<String> = self.x.0.iter().map(Rational::to_string).collect();
        json!({
            "x": x, "u": self.output.u.to_string(), "value": self.output.value.to_string(),
            "f0": self.f0.to_string(), "error": self.error(), "on_strip": self.on_strip,
        })
    }
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let construction = a.construction.get()?;
    construction.expect(a.x.len(), global)?;
    let witness = match construction.build()? {
        Built::Ffn(witness) => witness,
        Built::Transformer(witness) => {
            let (x, t) = (&a.x, a.iterations);
            return transformer::run(&construction, &witness, x, a.arithmetic, t, global);
        }
    };
    let resolution = witness.resolution();
    let finishing = witness.resources().finishing_time;
    let iterations = a.iterations.unwrap_or(finishing);
    let rows = a.x.iter().map(|x| {
        Row::new(&witness, &construction.target, x, a.arithmetic, iterations).map_err(as_usage)
    });
    let rows: Vec<Row> = rows.collect::<Result<_>>()?;
    if a.iterations.is_none() {
        check_precision(&witness, &rows, a.arithmetic)?;
    }
    if iterations >= finishing {
        let off = rows.iter().filter(|row| !row.on_strip);
        let off: Vec<(&Rational, &Rational)> = off.map(|row| (&row.output.u, &row.f0)).collect();
        super::say_if_zero(&construction, &off, global);
    }
    let bound = resolution.interior_error_bound();
    if global.json {
        let mut object = construction.to_json();
        for (key, value) in [
            ("S", json!(finishing)),
            ("T", json!(iterations)),
            ("arithmetic", json!(a.arithmetic.to_string())),
            ("bound", json!(bound)),
            ("points", rows.iter().map(Row::to_json).collect()),
        ] {
            object.insert(key.into(), value);
        }
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    output::print(&text(a, &construction, &rows, bound, iterations))?;
    Ok(Exit::Done)
}

/// Refuses an arithmetic in which the network does not return what it returns exactly, off the strips.
fn check_precision(witness: &ffn::Witness, rows: &[Row], arithmetic: ArithmeticName) -> Result<()> {
    let tolerance = tolerance(witness.resolution());
    for row in rows.iter().filter(|row| !row.on_strip) {
        let exact = witness
            .runner(Exact)
            .evaluate(&row.x.0)
            .map_err(as_usage)?
            .u;
        if Verdict::of(&row.output.u, &exact, &tolerance) != Verdict::Fails {
            continue;
        }
        let finishing = witness.resources().finishing_time;
        let works = |bits: usize| {
            let output = evaluate(witness, ArithmeticName::Bits(bits), &row.x.0, finishing);
            output.is_ok_and(|o| Verdict::of(&o.u, &exact, &tolerance) != Verdict::Fails)
        };
        // Twice as many until it works, then between.
        let mut high = 64;
        while high < 1 << 20 && !works(high) {
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = (low + high) / 2;
            if works(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        return Err(usage(format!(
            "the resolution is too fine for {arithmetic}: at x = {} the network returns u = {} instead of {}; it works with --arithmetic {high}, or exactly",
            row.x.text(),
            short(&row.output.u),
            short(&exact)
        )));
    }
    Ok(())
}

fn text(
    a: &Arguments,
    construction: &Construction,
    rows: &[Row],
    bound: f64,
    iterations: usize,
) -> String {
    let mut table = Table::new([
        ("x", Align::Left),
        ("u", Align::Right),
        ("Hu, clipped", Align::Right),
        ("f0(x)", Align::Right),
        ("error", Align::Right),
        ("on a strip", Align::Left),
    ]);
    let digits = |value: f64| number::value(value, 4, number::Exponent::Own);
    for row in rows {
        table.push([
            row.x.text(),
            short(&row.output.u),
            short(&row.output.value),
            short(&row.f0),
            digits(row.error()),
            if row.on_strip { "yes" } else { "no" }.to_string(),
        ]);
    }
    let promise = match a.iterations {
        None => format!(
            "\nFor a target in the Hölder class the error off the strips of half-width 2^-{} around cell faces is at most {} (S23, S28).\n",
            construction.resolution.g(),
            digits(bound)
        ),
        Some(_) => String::new(),
    };
    format!(
        "FFN witness: {}\n{} iterations in {} (Theorem D.1)\n\n{}{promise}",
        construction.words(),
        number::integer(iterations as u64),
        a.arithmetic,
        table.to_terminal(output::color()),
    )
}
