//! `loopfit theory schedule`.

use super::{
    ProblemArguments, ShapeArguments, as_usage, checks_json, constants_json, digits, log_digits,
    log_json, optional_log_json, problem_json, problem_words, put_checks, put_constants, whole,
};
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::{Sheet, values};
use crate::{Global, output};
use anyhow::Result;
use loopfit_report::number;
use loopfit_theory::bound::{self, BoundForm, Standing};
use loopfit_theory::{
    Check, Constant, Error, FirstWidths, FixedBudget, GrowingBudget, Problem, Thresholds,
};
use serde_json::{Map, Value};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory schedule --n 1e6 --dim 2 --smoothness 1\n  loopfit theory schedule --n 4096 --dim 2 --smoothness 2 --budget 128\n  loopfit theory schedule --n 1e9 --dim 2 --smoothness 1 --gamma 0.1 --arch transformer\n  loopfit theory schedule --n 1e6 --dim 2 --smoothness 1 --gamma 0.2 --below-thresholds --set C_B=64\n\nHypotheses that fail are reported, not errors: the exit code is 0."
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
    let used = Constant::of_schedules(a.gamma.is_some());
    let (problem, thresholds) = a.problem.get(&used)?;
    let answer = match a.gamma {
        Some(gamma) => growing(a, gamma, &problem, &thresholds)?,
        None => fixed(a, &problem, &thresholds)?,
    };
    let (standing, tolerance) = (answer.standing, 1.0 / a.n as f64);
    if global.json {
        let mut object = answer.object;
        object.extend(problem_json(&problem));
        object.extend(object!({
            "n": a.n, "h_0": problem.h_0(), "q_0": thresholds.q, "r_0": thresholds.r,
            "M_0": thresholds.parameter_bound, "epsilon_n": tolerance,
            "checks": checks_json(&answer.checks), "constants": constants_json(problem.constants(), &used),
        }));
        object.extend(log_json([
            ("bound", standing.bound.total),
            ("untied_floor", standing.floor),
            ("ratio", standing.ratio()),
        ]));
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    let mut sheet = Sheet::new(&answer.title, answer.source);
    let mut lines = answer.values;
    lines.extend(values! {
        "epsilon_n", digits(tolerance), "largest tolerance of the fit, 1/n";
        "M_0", digits(thresholds.parameter_bound), "smallest bound on coefficients";
        "bound", log_digits(standing.bound.total), "general risk bound (14) here";
        "untied floor", log_digits(standing.floor), "no untied network comes below (17)";
        "ratio", log_digits(standing.ratio()), "bound / untied floor, which tends to zero";
    });
    sheet.values("", lines);
    sheet.note(&match standing.is_below() {
        true => {
            "At this n the bound of the loop lies below what untied networks can reach.".to_string()
        }
        false => format!(
            "At this n the bound of the loop is still above the untied floor: {}.",
            answer.later
        ),
    });
    put_checks(&mut sheet, "Hypotheses", &answer.checks);
    put_constants(&mut sheet, problem.constants(), &used);
    sheet.print()?;
    Ok(Exit::Done)
}

struct Answer {
    title: String,
    source: &'static str,
    values: Vec<(String, String, String)>,
    checks: Vec<Check>,
    object: Map<String, Value>,
    standing: Standing,
    /// What becomes of the bound against the floor at larger sample sizes.
    later: String,
}

fn fixed(a: &Arguments, problem: &Problem, thresholds: &Thresholds) -> Result<Answer> {
    let (shape, budget) = a.shape.get(problem, thresholds)?;
    let n = a.n as f64;
    let schedule = FixedBudget::new(problem, thresholds, shape, n).map_err(as_usage)?;
    let crossing = bound::crossing(problem, BoundForm::General, shape, budget as f64);
    let mut object = object!({
        "theorem": "4.4", "T_n": schedule.t as u64, "q": shape.q, "r": shape.r, "B_L": shape.count, "B": budget,
    });
    object.extend(optional_log_json("n_cross", crossing));
    Ok(Answer {
        title: format!(
            "Schedule at a fixed budget: {}, n = {}",
            problem_words(problem),
            number::integer(a.n)
        ),
        source: "Theorem 4.4, equation (18): T_n grows, the number of parameters does not",
        values: values! {
            "a", digits(problem.smoothness().a()), "2s/d";
            "T_n", number::integer(schedule.t as u64), "iterations";
            "q", number::integer(shape.q), "state dimension";
            "r", number::integer(shape.r), "hidden width";
            "B_L", number::integer(shape.count), "parameters, whatever T_n";
            "B", number::integer(budget), "budget";
        },
        checks: schedule.checks,
        object,
        standing: Standing::new(problem, shape, budget, n, schedule.t),
        later: match crossing {
            Some(n) => format!(
                "it falls with n and the floor does not, and from n = {} on it lies below",
                log_digits(n)
            ),
            None => "it does not come below at any n up to 10^299".to_string(),
        },
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
            FirstWidths::BelowThresholds,
            "; or begin larger with --set C_B=...",
        )
    } else {
        (FirstWidths::AtThresholds, "")
    };
    let n = a.n as f64;
    let schedule = GrowingBudget::new(problem, thresholds, start, gamma, n);
    let schedule = schedule.map_err(|why| {
        let error = Error::NoSchedule {
            n,
            why: Box::new(why),
        };
        usage(format!("{error}{remedy}"))
    })?;
    let shape = schedule.shape;
    let object = object!({
        "theorem": "4.5", "gamma_B": gamma, "B_n": schedule.b, "q_n": shape.q, "r_n": shape.r,
        "B_L": shape.count, "l_n": schedule.ell, "W_n": schedule.w, "T_n": schedule.t as u64,
    });
    Ok(Answer {
        title: format!(
            "Schedule under a growing budget: {}, n = {}, gamma_B = {}",
            problem_words(problem),
            number::integer(a.n),
            number::shortest(gamma)
        ),
        source: "Theorem 4.5, equations (21) to (23): widths and iterations grow together",
        values: values! {
            "a", digits(problem.smoothness().a()), "2s/d";
            "B_n", number::integer(schedule.b), "budget";
            "q_n", number::integer(shape.q), "state dimension";
            "r_n", number::integer(shape.r), "largest hidden width under B_n";
            "B_L", number::integer(shape.count), "parameters";
            "l_n", digits(schedule.ell), "log(C_6 (q_n + 1)(r_n + 1))";
            "W_n", digits(schedule.w), "order of r_n T_n";
            "T_n", number::integer(schedule.t as u64), "iterations";
        },
        checks: schedule.checks,
        object,
        standing: Standing::new(problem, shape, schedule.b, n, schedule.t),
        later: "within the window of gamma_B it falls faster than the floor".to_string(),
    })
}
