//! `loopfit theory schedule`.

use super::{
    ProblemArguments, ShapeArguments, Sheet, as_usage, checks_json, constants_json, digits, whole,
};
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_report::number;
use loopfit_theory::{Check, FixedBudget, GrowingBudget, Problem, Start, Thresholds};
use serde_json::{Value, json};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory schedule --n 1e6 --dim 2 --smoothness 1\n  loopfit theory schedule --n 4096 --dim 2 --smoothness 2 --budget 128\n  loopfit theory schedule --n 1e9 --dim 2 --smoothness 1 --gamma 0.1 --arch transformer\n  loopfit theory schedule --n 1e6 --dim 2 --smoothness 1 --gamma 0.2 --below-thresholds --set C_B=64"
)]
pub(crate) struct Arguments {
    /// The sample size.
    #[arg(long, value_name = "N", value_parser = whole)]
    n: u64,
    #[command(flatten)]
    problem: ProblemArguments,
    /// Growth exponent gamma_B of the budget (Theorem 4.5); without it the budget is fixed (Theorem 4.4).
    #[arg(long, value_name = "g", conflicts_with_all = ["budget", "state", "width"])]
    gamma: Option<f64>,
    #[command(flatten)]
    shape: ShapeArguments,
    /// With --gamma: begin below the widths that the construction of the proofs needs, at q_n = c_q log(en) and
    /// B_n = C_B n^gamma_B. What is practical and what the theorem covers part here.
    #[arg(long, requires = "gamma")]
    below_thresholds: bool,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let (problem, thresholds) = a.problem.get()?;
    match a.gamma {
        Some(gamma) => growing(a, gamma, &problem, &thresholds, global),
        None => fixed(a, &problem, &thresholds, global),
    }
}

fn fixed(
    a: &Arguments,
    problem: &Problem,
    thresholds: &Thresholds,
    global: &Global,
) -> Result<Exit> {
    let (shape, budget) = a.shape.get(problem, thresholds)?;
    let schedule = FixedBudget::new(problem, thresholds, shape, a.n as f64).map_err(as_usage)?;
    let constants = problem.constants().of(&["C_init"]);
    if global.json {
        let mut object = common(problem, thresholds, &schedule.checks, a.n);
        object["theorem"] = json!("4.4");
        object["T_n"] = json!(schedule.t as u64);
        object["q"] = json!(shape.q);
        object["r"] = json!(shape.r);
        object["B_L"] = json!(shape.count);
        object["B"] = json!(budget);
        object["constants"] = constants_json(&constants);
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    let mut sheet = Sheet::new(
        &format!(
            "Schedule at a fixed budget: {}, n = {}",
            a.problem.words(problem),
            number::integer(a.n)
        ),
        "Theorem 4.4, equation (18): T_n grows, the number of parameters does not",
    );
    sheet.values([
        ("a", digits(problem.smoothness().a()), "2s/d"),
        ("T_n", number::integer(schedule.t as u64), "iterations"),
        ("q", number::integer(shape.q), "state dimension"),
        ("r", number::integer(shape.r), "hidden width"),
        (
            "B_L",
            number::integer(shape.count),
            "parameters, whatever T_n",
        ),
        ("B", number::integer(budget), "budget"),
        (
            "epsilon_n",
            digits(1.0 / a.n as f64),
            "largest tolerance of the fit, 1/n",
        ),
        (
            "M_0",
            digits(thresholds.parameter_bound),
            "smallest bound on coefficients",
        ),
    ]);
    finish(sheet, &schedule.checks, &constants)
}

fn growing(
    a: &Arguments,
    gamma: f64,
    problem: &Problem,
    thresholds: &Thresholds,
    global: &Global,
) -> Result<Exit> {
    let start = if a.below_thresholds {
        Start::BelowThresholds
    } else {
        Start::AtThresholds
    };
    let schedule = GrowingBudget::new(problem, thresholds, start, gamma, a.n as f64)
        .map_err(|error| usage(format!("no schedule at n = {}: {error}", a.n)))?;
    let shape = schedule.shape;
    let constants = problem.constants().of(&["C_B", "c_q", "C_6", "C_init"]);
    if global.json {
        let mut object = common(problem, thresholds, &schedule.checks, a.n);
        object["theorem"] = json!("4.5");
        object["gamma_B"] = json!(gamma);
        object["B_n"] = json!(schedule.b);
        object["q_n"] = json!(shape.q);
        object["r_n"] = json!(shape.r);
        object["B_L"] = json!(shape.count);
        object["l_n"] = json!(schedule.ell);
        object["W_n"] = json!(schedule.w);
        object["T_n"] = json!(schedule.t as u64);
        object["constants"] = constants_json(&constants);
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    let mut sheet = Sheet::new(
        &format!(
            "Schedule under a growing budget: {}, n = {}, gamma_B = {gamma}",
            a.problem.words(problem),
            number::integer(a.n)
        ),
        "Theorem 4.5, equations (21) and (22): widths and iterations grow together",
    );
    sheet.values([
        ("a", digits(problem.smoothness().a()), "2s/d"),
        ("B_n", number::integer(schedule.b), "budget"),
        ("q_n", number::integer(shape.q), "state dimension"),
        (
            "r_n",
            number::integer(shape.r),
            "largest hidden width under B_n",
        ),
        ("B_L", number::integer(shape.count), "parameters"),
        ("l_n", digits(schedule.ell), "log(C_6 (q_n + 1)(r_n + 1))"),
        ("W_n", digits(schedule.w), "order of r_n T_n"),
        ("T_n", number::integer(schedule.t as u64), "iterations"),
        (
            "epsilon_n",
            digits(1.0 / a.n as f64),
            "largest tolerance of the fit, 1/n",
        ),
        (
            "M_0",
            digits(thresholds.parameter_bound),
            "smallest bound on coefficients",
        ),
    ]);
    finish(sheet, &schedule.checks, &constants)
}

/// What both schedules have in their object.
fn common(problem: &Problem, thresholds: &Thresholds, checks: &[Check], n: u64) -> Value {
    let smoothness = problem.smoothness();
    json!({
        "n": n, "d": smoothness.d(), "s": smoothness.s(), "a": smoothness.a(),
        "h_0": problem.h_0(), "q_0": thresholds.q, "r_0": thresholds.r, "M_0": thresholds.parameter_bound,
        "epsilon_n": 1.0 / n as f64, "checks": checks_json(checks),
    })
}

fn finish(
    mut sheet: Sheet,
    checks: &[Check],
    constants: &[loopfit_theory::Constant],
) -> Result<Exit> {
    sheet.checks(checks);
    sheet.constants(constants);
    sheet.print()?;
    Ok(Exit::Done)
}
