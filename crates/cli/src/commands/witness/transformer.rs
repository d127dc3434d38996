//! The Transformer's part of the `witness` commands.

use super::run::ArithmeticName;
use super::{Construction, PointArgument, as_usage, say, short};
use crate::commands::on_threads;
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_report::{Align, Table, number};
use loopfit_witness::transformer::exact::Outcome;
use loopfit_witness::transformer::precision::Settled;
use loopfit_witness::transformer::{Witness, scientific};
use loopfit_witness::{BigFloat, Double, Rational, Single};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// Digits of outputs that are shown.
const DIGITS: usize = 30;

/// Iterations after clearing until the scale has settled to `2^-40` of the grid's accuracy, unless asked for others.
///
/// # Formula
/// The discrepancy shrinks by `(eps_LN / (1 + eps_LN))^2` with each (S66).
fn settling(witness: &Witness) -> usize {
    let eps = witness.setting().stabiliser.to_f64();
    let bits = 40.0 + witness.resolution().m as f64 * witness.resolution().s.to_f64();
    let per_iteration = 2.0 * ((1.0 + eps) / eps).log2();
    (bits / per_iteration).ceil().max(10.0) as usize
}

/// The finishing time with settling.
fn finishing_time(witness: &Witness) -> usize {
    witness.resources().times.clear + settling(witness)
}

/// `witness build`.
pub(super) fn build(
    construction: &Construction,
    witness: &Witness,
    files: Option<(&Path, &Path)>,
    iterations: Option<usize>,
    global: &Global,
) -> Result<Exit> {
    if let Some((path, exact)) = files {
        write(construction, witness, path, exact, iterations, global)?;
    }
    let resources = witness.resources();
    if global.json {
        let mut object = construction.to_json();
        let texts = |codes: &[Rational]| codes.iter().map(Rational::to_string).collect::<Vec<_>>();
        let table: Vec<Value> = resources
            .table()
            .iter()
            .map(super::build::line_json)
            .collect();
        let times = resources.times;
        for (key, value) in [
            ("p_nat", json!(resources.p_nat)),
            ("q_hom", json!(resources.q_hom)),
            ("q", json!(resources.q)),
            ("N", json!(resources.tokens)),
            ("Lambda", json!(resources.gate)),
            ("units_used", json!(resources.units_used())),
            ("resources", json!(table)),
            ("L_route", json!(resources.comparisons)),
            ("T_route", json!(times.route)),
            ("T_load", json!(times.load)),
            ("T_halt", json!(times.halt)),
            ("T_clear", json!(times.clear)),
            ("B_L", json!(resources.count)),
            ("bits", json!(witness.default_bits())),
            ("codes", json!(texts(witness.codes()))),
            ("readout_code", json!(witness.correction().code.to_string())),
        ] {
            object.insert(key.into(), value);
        }
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    output::print(&format!(
        "Transformer witness: {}\nbuilt, what the paper states, its formula\n\n{resources}{:<24}{:>10}               estimated from above, for runs\n",
        construction.words(),
        "mantissa bits",
        witness.default_bits()
    ))?;
    Ok(Exit::Done)
}

/// Writes the model in 32 bits, and the codes, which they do not hold.
fn write(
    construction: &Construction,
    witness: &Witness,
    path: &Path,
    exact: &Path,
    iterations: Option<usize>,
    global: &Global,
) -> Result<()> {
    let t = iterations.unwrap_or_else(|| finishing_time(witness));
    let parameters = witness.parameters(t).map_err(as_usage)?;
    super::build::save(construction, parameters, path)?;
    output::wrote(path, global);
    let mut csv = format!("code,exact\nreadout,{}\n", witness.correction().code);
    for (j, code) in witness.codes().iter().enumerate() {
        csv += &format!("group {j},{code}\n");
    }
    output::write_file(exact, &csv)?;
    output::wrote(exact, global);
    say(
        global,
        &format!(
            "in 32 bits the network computes another function: {} has its codes exactly, and `witness run` runs it with enough bits",
            exact.display()
        ),
    );
    Ok(())
}

/// One input with what came out.
struct Row {
    x: PointArgument,
    /// Nothing on strips.
    outcome: Option<Outcome>,
    value: Rational,
    bits: Option<usize>,
    f0: Rational,
    /// On a strip around a cell's face, or in the routing exceptional set.
    exceptional: bool,
}

/// `witness run`.
pub(super) fn run(
    construction: &Construction,
    witness: &Witness,
    points: &[PointArgument],
    arithmetic: ArithmeticName,
    iterations: Option<usize>,
    global: &Global,
) -> Result<Exit> {
    let t = iterations.unwrap_or_else(|| finishing_time(witness));
    let row = |x: &PointArgument| -> Result<Row, loopfit_witness::Error> {
        let (value, bits) = evaluate(witness, arithmetic, &x.0, t)?;
        Ok(Row {
            exceptional: witness.resolution().is_on_strip(&x.0) || witness.is_exceptional(&x.0),
            outcome: witness.exact().evaluate(&x.0).ok(),
            f0: construction.target.value(&x.0)?,
            x: x.clone(),
            value,
            bits,
        })
    };
    let rows = on_threads(global, || points.par_iter().map(row).collect::<Vec<_>>())?;
    let rows: Result<Vec<Row>, _> = rows.into_iter().collect();
    let rows = rows.map_err(as_usage)?;
    if arithmetic != ArithmeticName::Exact && iterations.is_none() {
        check_precision(witness, &rows, arithmetic, t)?;
    }
    let said = rows.iter().filter(|row| !row.exceptional);
    let said: Vec<(&Rational, &Rational)> = said
        .filter_map(|row| Some((&row.outcome.as_ref()?.u, &row.f0)))
        .collect();
    super::say_if_zero(construction, &said, global);
    let accuracy = witness.correction().accuracy().to_f64() * construction.resolution.h.to_f64();
    let bound = construction.resolution.interior_error_bound() + accuracy;
    if global.json {
        let mut object = construction.to_json();
        let of = |row: &Row| {
            let x: Vec<String> = row.x.0.iter().map(Rational::to_string).collect();
            let part = |value: fn(&Outcome) -> &Rational| {
                row.outcome
                    .as_ref()
                    .map(|outcome| value(outcome).to_string())
            };
            json!({
                "x": x, "u": part(|o| &o.u), "v": part(|o| &o.v), "value": scientific(&row.value, 40),
                "f0": row.f0.to_string(), "error": row.error(), "bits": row.bits, "exceptional": row.exceptional,
            })
        };
        object.insert("T".into(), json!(t));
        object.insert("bound".into(), json!(bound));
        object.insert("points".into(), rows.iter().map(of).collect());
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new([
        ("x", Align::Left),
        ("u", Align::Right),
        ("v", Align::Right),
        ("output", Align::Right),
        ("f0(x)", Align::Right),
        ("error", Align::Right),
        ("bits", Align::Right),
        ("exceptional", Align::Left),
    ]);
    for row in &rows {
        let part = |value: fn(&Outcome) -> &Rational| match &row.outcome {
            Some(outcome) => short(value(outcome)),
            None => number::ABSENT.to_string(),
        };
        table.push([
            row.x.text(),
            part(|o| &o.u),
            part(|o| &o.v),
            scientific(&row.value, DIGITS),
            short(&row.f0),
            number::value(row.error(), 4, number::Exponent::Own),
            row.bits
                .map_or(number::ABSENT.to_string(), |bits| bits.to_string()),
            if row.exceptional { "yes" } else { "no" }.to_string(),
        ]);
    }
    output::print(&format!(
        "Transformer witness: {}\n{} iterations (Theorem E.1); u and v are exact, with ideal comparisons\n\n{}{}",
        construction.words(),
        number::integer(t as u64),
        table.to_terminal(output::color()),
        match iterations {
            None => format!(
                "\nFor a target in the Hölder class the error at inputs that are not exceptional is at most {} (S23, S28 and the readout's accuracy).\n",
                number::value(bound, 4, number::Exponent::Own)
            ),
            Some(_) => String::new(),
        }
    ))?;
    Ok(Exit::Done)
}

/// Refuses an arithmetic in which the output is another one than with enough bits.
fn check_precision(
    witness: &Witness,
    rows: &[Row],
    arithmetic: ArithmeticName,
    t: usize,
) -> Result<()> {
    let tolerance = witness.resolution().h.scaled(-20);
    for row in rows.iter().filter(|row| !row.exceptional) {
        let (exact, bits) =
            evaluate(witness, ArithmeticName::Exact, &row.x.0, t).map_err(as_usage)?;
        if (&exact - &row.value).abs() > tolerance {
            return Err(usage(format!(
                "the resolution is too fine for {arithmetic}: at x = {} the output is {} instead of {}; {} bits are enough",
                row.x.text(),
                scientific(&row.value, 6),
                scientific(&exact, 6),
                bits.unwrap_or(witness.default_bits())
            )));
        }
    }
    Ok(())
}

impl Row {
    fn error(&self) -> f64 {
        (&self.value - &self.f0).to_f64().abs()
    }
}

/// The output after so many iterations, and the bits at which it had settled.
fn evaluate(
    witness: &Witness,
    arithmetic: ArithmeticName,
    x: &[Rational],
    t: usize,
) -> Result<(Rational, Option<usize>), loopfit_witness::Error> {
    macro_rules! in_arithmetic {
        ($arithmetic:expr) => {{
            let runner = witness.runner($arithmetic);
            let mut run = runner.start(x)?;
            run.advance(t);
            run.output()
        }};
    }
    let value = match arithmetic {
        ArithmeticName::Exact => {
            let Settled { values, bits, .. } = witness.settled(x, &[t])?;
            let value = values.into_iter().next().unwrap_or(Rational::ZERO);
            return Ok((value, Some(bits)));
        }
        ArithmeticName::F64 => in_arithmetic!(Double)?,
        ArithmeticName::F32 => in_arithmetic!(Single)?,
        ArithmeticName::Bits(bits) => in_arithmetic!(BigFloat::new(bits))?,
    };
    Ok((value, None))
}

/// `witness trace`: the controller's phases and registers, and the scales of the tokens.
pub(super) fn trace(
    construction: &Construction,
    witness: &Witness,
    x: &PointArgument,
    (from, to): (usize, Option<usize>),
    instructions: bool,
    global: &Global,
) -> Result<Exit> {
    let to = to.unwrap_or(witness.resources().times.clear);
    if from == 0 || from > to {
        return Err(usage(format!(
            "--from {from} must be at least 1 and at most --to {to}"
        )));
    }
    let runner = witness.runner(BigFloat::new(witness.default_bits()));
    let mut run = runner.start(&x.0).map_err(as_usage)?;
    let names = witness.block().coordinates();
    let phases: Vec<usize> = witness.native().phases().map(|c| c.0).collect();
    let mut lines: Vec<super::trace::Line> = Vec::new();
    let noise = Rational::power_of_two(-64);
    for t in 1..=to {
        // Rounding leaves traces of phases that are off.
        let active = run.active_phases().into_iter();
        let active: Vec<&str> = active
            .filter(|phase| phase.value.abs() > noise)
            .map(|phase| phase.name)
            .collect();
        let name = active.join(" + ").replace(['[', ']'], "");
        let name = match instructions {
            true => instruction(&name),
            false => name,
        };
        let changes = run.step();
        if t < from {
            continue;
        }
        let registers = changes
            .into_iter()
            .filter(|change| !phases.contains(&change.coordinate))
            .filter(|change| (&change.to - &change.from).abs() > noise)
            .map(|change| (change.coordinate, rounded(&change.to)));
        let scale = |token: usize| run.inverse_square_scale(token).to_f64().powf(-0.5);
        let scales = [scale(witness.controller()), scale(witness.controller() + 1)];
        super::trace::push(&mut lines, t, name, registers, instructions);
        if let Some(line) = lines.last_mut() {
            line.scales = Some(scales);
        }
    }
    let finishing = finishing_time(witness);
    if run.iteration() < finishing && to >= witness.resources().times.clear {
        run.advance(finishing - run.iteration());
    }
    let ending = super::trace::Ending {
        t: run.iteration(),
        finishing,
        value: rounded(&run.output().map_err(as_usage)?),
        f0: construction.target.value(&x.0).map_err(as_usage)?,
    };
    let title = format!(
        "Transformer witness: {}, x = {}",
        construction.words(),
        x.text()
    );
    super::trace::print(&title, x, &lines, names, &ending, global)
}

/// The instruction of a phase; the phases of the terminal correction have numbers, as in the paper.
fn instruction(phase: &str) -> String {
    let mut words = phase.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("read"), Some(number), Some(name)) if number.parse::<usize>().is_ok() => {
            format!("read {}", name.trim_end_matches(':'))
        }
        _ => super::trace::instruction(phase),
    }
}

/// A number to 64 bits behind the point: enough to be read, and without what rounding left.
fn rounded(value: &Rational) -> Rational {
    let half = Rational::new(1, 2u8);
    Rational::from((value.scaled(64) + half).floor()).scaled(-64)
}
