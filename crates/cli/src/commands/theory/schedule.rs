//! `loopfit theory schedule`.

use super::{
    ProblemArguments, ShapeArguments, Sheet, as_usage, checks_json, constants_json, digits,
    insert_log, log_digits, problem_json, whole,
};
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::number;
use loopfit_theory::bound::{self, Form, Terms};
use loopfit_theory::{Check, Constant, FixedBudget, GrowingBudget, Problem, Start, Thresholds};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory schedule --n 1e6 --dim 2 --smoothness 1\n  loopfit theory schedule --n 4096 --dim 2 --smoothness 2 --budget 128\n  loopfit theory schedule --n 1e9 --dim 2 --smoothness 1 --gamma 0.1 --arch transformer\n  loopfit theory schedule --n 1e6 --dim 2 --smoothness 1 --gamma 0.2 --below-thresholds --set C_B=64\n\nHypotheses that fail are said and are no error: the exit code is 0."
)]
pub(crate) struct Arguments {
    /// The sample size.
    #[arg(long, value_name = "N", value_parser = whole)]
    n: u64,
    #[command(flatten)]
    problem: ProblemArguments,
    /// Growth exponent gamma_B of the budget (Theorem 4.5); without it the budget is fixed (Theorem 4.4).
    #[arg(long, value_name = "g", allow_negative_numbers = true, conflicts_with_all = ["budget", "state", "width"])]
    gamma: Option<f64>,
    #[command(flatten)]
    shape: ShapeArguments,
    /// With --gamma: begin below the widths that the construction of the proofs needs, at q_n = c_q log(en) and
    /// B_n = C_B n^gamma_B. What is practical and what the theorem covers part here.
    #[arg(long, requires = "gamma")]
    below_thresholds: bool,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let mut used = Constant::OF_BOUNDS.to_vec();
    used.retain(|constant| *constant != Constant::CMin);
    if a.gamma.is_some() {
        used.extend([Constant::CB, Constant::CQ]);
    }
    let (problem, thresholds) = a.problem.get(&used)?;
    let answer = match a.gamma {
        Some(gamma) => growing(a, gamma, &problem, &thresholds)?,
        None => fixed(a, &problem, &thresholds)?,
    };
    if global.json {
        let mut object = answer.object;
        object.insert("n".into(), json!(a.n));
        object.insert("h_0".into(), json!(problem.h_0()));
        object.insert("q_0".into(), json!(thresholds.q));
        object.insert("r_0".into(), json!(thresholds.r));
        object.insert("M_0".into(), json!(thresholds.parameter_bound));
        object.insert("epsilon_n".into(), json!(1.0 / a.n as f64));
        insert_log(&mut object, "bound", answer.terms.total);
        insert_log(&mut object, "untied_floor", answer.floor);
        insert_log(&mut object, "ratio", answer.terms.total / answer.floor);
        object.insert("checks".into(), checks_json(&answer.checks));
        object.insert(
            "constants".into(),
            constants_json(problem.constants(), &used),
        );
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    let mut sheet = Sheet::new(&answer.title, answer.source);
    let terms = &answer.terms;
    let more = [
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
        (
            "bound",
            log_digits(terms.total),
            "general risk bound (14) here",
        ),
        (
            "untied floor",
            log_digits(answer.floor),
            "no untied network comes below (17)",
        ),
        (
            "ratio",
            log_digits(terms.total / answer.floor),
            "bound / untied floor, which tends to zero",
        ),
    ];
    sheet.values(answer.values.into_iter().chain(more));
    sheet.note(&answer.note);
    sheet.checks(&answer.checks);
    sheet.constants(problem.constants(), &used);
    sheet.print()?;
    Ok(Exit::Done)
}

struct Answer {
    title: String,
    source: &'static str,
    values: Vec<(&'static str, String, &'static str)>,
    checks: Vec<Check>,
    object: Map<String, Value>,
    terms: Terms,
    floor: LogNumber,
    /// What the ratio says.
    note: String,
}

/// What the bound says against the untied floor at this sample size, and at larger ones.
fn compared(terms: &Terms, floor: LogNumber, later: &str) -> String {
    if terms.total <= floor {
        "At this n the bound of the loop lies below what untied networks can reach.".to_string()
    } else {
        format!("At this n the bound of the loop is still above the untied floor: {later}.")
    }
}

fn fixed(a: &Arguments, problem: &Problem, thresholds: &Thresholds) -> Result<Answer> {
    let (shape, budget) = a.shape.get(problem, thresholds)?;
    let n = a.n as f64;
    let schedule = FixedBudget::new(problem, thresholds, shape, n).map_err(as_usage)?;
    let terms = bound::general(problem, shape, n, schedule.t, 1.0 / n);
    let floor = problem
        .rates()
        .untied_floor(budget as f64, problem.constants());
    let crossing = bound::crossing(problem, Form::General, shape, budget as f64);
    let later = match crossing {
        Some(n) => format!(
            "it falls with n and the floor does not, and from n = {} on it lies below",
            log_digits(n)
        ),
        None => "it does not come below at any n up to 10^299".to_string(),
    };
    let mut object = problem_json(problem, &a.problem.arch);
    object.insert("theorem".into(), json!("4.4"));
    match crossing {
        Some(n) => insert_log(&mut object, "n_cross", n),
        None => drop(object.insert("n_cross".into(), Value::Null)),
    }
    object.insert("T_n".into(), json!(schedule.t as u64));
    object.insert("q".into(), json!(shape.q));
    object.insert("r".into(), json!(shape.r));
    object.insert("B_L".into(), json!(shape.count));
    object.insert("B".into(), json!(budget));
    Ok(Answer {
        title: format!(
            "Schedule at a fixed budget: {}, n = {}",
            a.problem.words(problem),
            number::integer(a.n)
        ),
        source: "Theorem 4.4, equation (18): T_n grows, the number of parameters does not",
        values: vec![
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
        ],
        checks: schedule.checks,
        object,
        note: compared(&terms, floor, &later),
        terms,
        floor,
    })
}

fn growing(
    a: &Arguments,
    gamma: f64,
    problem: &Problem,
    thresholds: &Thresholds,
) -> Result<Answer> {
    let (start, remedy) = if a.below_thresholds {
        (
            Start::BelowThresholds,
            "; or begin larger with --set C_B=...",
        )
    } else {
        (Start::AtThresholds, "")
    };
    let n = a.n as f64;
    let schedule = GrowingBudget::new(problem, thresholds, start, gamma, n)
        .map_err(|error| usage(format!("no schedule at n = {}: {error}{remedy}", a.n)))?;
    let shape = schedule.shape;
    let terms = bound::general(problem, shape, n, schedule.t, 1.0 / n);
    let floor = problem
        .rates()
        .untied_floor(schedule.b as f64, problem.constants());
    let mut object = problem_json(problem, &a.problem.arch);
    object.insert("theorem".into(), json!("4.5"));
    object.insert("gamma_B".into(), json!(gamma));
    object.insert("B_n".into(), json!(schedule.b));
    object.insert("q_n".into(), json!(shape.q));
    object.insert("r_n".into(), json!(shape.r));
    object.insert("B_L".into(), json!(shape.count));
    object.insert("l_n".into(), json!(schedule.ell));
    object.insert("W_n".into(), json!(schedule.w));
    object.insert("T_n".into(), json!(schedule.t as u64));
    Ok(Answer {
        title: format!(
            "Schedule under a growing budget: {}, n = {}, gamma_B = {}",
            a.problem.words(problem),
            number::integer(a.n),
            number::shortest(gamma)
        ),
        source: "Theorem 4.5, equations (21) to (23): widths and iterations grow together",
        values: vec![
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
        ],
        checks: schedule.checks,
        object,
        note: compared(
            &terms,
            floor,
            "within the window of gamma_B it falls faster than the floor",
        ),
        terms,
        floor,
    })
}
