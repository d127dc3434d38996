//! `loopfit theory bound`.

mod sweep;

use super::{
    ProblemArguments, ShapeArguments, checks_json, constants_json, digits, log_digits, log_json,
    optional_log_json, problem_json, problem_words, put_checks, put_constants, whole,
};
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::{Sheet, columns, values};
use crate::{Global, output};
use anyhow::Result;
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::number;
use loopfit_theory::bound::{BoundForm, FormBound, Iterations, RiskBound, Terms, Vacuous};
use loopfit_theory::{Constant, Problem};
use serde_json::{Map, Value};
use std::str::FromStr;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory bound --n 1e6 --dim 2 --smoothness 1\n  loopfit theory bound --n 1e6 --dim 2 --smoothness 2 --budget 128 --iterations best\n  loopfit theory bound --dim 2 --smoothness 1 --budget 1e6 --over n --from 1e3 --to 1e18 --plot bound.svg\n  loopfit theory bound --dim 2 --smoothness 1 --over n --gamma 0.1 --below-thresholds --set C_B=64\n  loopfit theory bound --n 1e12 --dim 2 --smoothness 1 --over B --from 1e3 --to 1e9\n  loopfit theory bound --n 1e12 --dim 2 --smoothness 1 --budget 1e6 --over T --form budget-iteration --json\n\nHypotheses that fail are reported, not errors: the exit code is 0."
)]
pub(crate) struct Arguments {
    /// The sample size; not needed with --over n.
    #[arg(long, value_name = "N", value_parser = whole, required_unless_present = "over")]
    n: Option<u64>,
    #[command(flatten)]
    problem: ProblemArguments,
    #[command(flatten)]
    shape: ShapeArguments,
    /// Iterations T: a number, `schedule` for T_n of Theorem 4.4, or `best` for those that minimise the bound, if there are any.
    /// `schedule` by default. Form (15) holds where T satisfies the initialisation condition T >= C_init log^h_0(erT), so that
    /// its best T is the best of those; (14) holds at every T.
    #[arg(long, value_name = "T")]
    iterations: Option<IterationsArgument>,
    /// Tolerance epsilon_n of the fit in the average log-likelihood; 1/n by default.
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    #[command(flatten)]
    sweep: sweep::SweepArguments,
}

impl Arguments {
    fn iterations(&self) -> Iterations {
        self.iterations
            .map_or(Iterations::Schedule, |given| given.0)
    }
}

/// `--iterations`.
#[derive(Clone, Copy, Debug)]
struct IterationsArgument(Iterations);

impl FromStr for IterationsArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "schedule" => Ok(Self(Iterations::Schedule)),
            "best" => Ok(Self(Iterations::Best)),
            number => whole(number)
                .map(|t| Self(Iterations::Fixed(t as f64)))
                .map_err(|_| {
                    "it must be `schedule`, `best` or a whole number from 1 to 1e18".into()
                }),
        }
    }
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let (problem, thresholds) = a.problem.get(&a.sweep.used())?;
    if let Some(axis) = a.sweep.over {
        return sweep::run(a, axis, &problem, &thresholds, global);
    }
    let n = a.n.unwrap_or(1) as f64;
    let tolerance = a.tolerance.unwrap_or(1.0 / n);
    if !(tolerance >= 0.0 && tolerance.is_finite()) {
        return Err(usage(format!(
            "--tolerance {} is not a tolerance: give a number of at least 0",
            number::shortest(tolerance)
        )));
    }
    let shape = a.shape.get(&problem, &thresholds)?;
    let bound = RiskBound::new(&problem, &thresholds, shape, n, tolerance, a.iterations());
    if global.json {
        output::print_json(&to_json(&problem, &bound))?;
    } else {
        sheet(&problem, &bound).print()?;
    }
    Ok(Exit::Done)
}

fn to_json(problem: &Problem, bound: &RiskBound) -> Map<String, Value> {
    let shape = bound.shape;
    let mut object = problem_json(problem);
    object.extend(object!({
        "n": bound.n as u64, "q": shape.q, "r": shape.r, "B_L": shape.count, "B": bound.b,
        "G": bound.sensitivity_exponent, "checks": checks_json(&bound.checks),
        "constants": constants_json(problem.constants(), &Constant::OF_BOUNDS),
    }));
    object.extend(log_json([
        ("untied_floor", bound.floor),
        ("minimax", bound.minimax),
    ]));
    for form in &bound.forms {
        let key = match form.form {
            BoundForm::General => "general",
            BoundForm::BudgetIteration => "budget_iteration",
        };
        let mut part = terms_json(&form.taken);
        part.extend(log_json([("ratio", form.taken.total / bound.floor)]));
        part.extend(optional_log_json("n_cross", form.crossing));
        part.insert("best".into(), Value::Object(terms_json(&form.best)));
        object.insert(key.into(), Value::Object(part));
    }
    object
}

fn sheet(problem: &Problem, bound: &RiskBound) -> Sheet {
    let mut sheet = Sheet::new(
        &format!(
            "Risk bound of a loop: {}, n = {}",
            problem_words(problem),
            number::integer(bound.n as u64)
        ),
        "Theorem 4.1, equations (14) and (15); untied floor: Proposition 4.3, equation (17)",
    );
    let exponent = bound.sensitivity_exponent;
    let exponent = exponent.map_or(number::ABSENT.to_string(), digits);
    let lines = values! {
        "q, r", format!("{}, {}", bound.shape.q, bound.shape.r), "widths";
        "B", number::integer(bound.b), "budget";
        "B_L", number::integer(bound.shape.count), "parameters of the loop";
        "G", exponent, "exponent of sensitivity at T (10)";
        "untied floor", log_digits(bound.floor), "no untied network comes below (17)";
        "minimax", log_digits(bound.minimax), "no estimator does better (16)";
    };
    sheet.values("", lines);
    let mut header = vec!["T"];
    header.extend(TERMS);
    header.push("total / untied floor");
    let mut table = columns(&["bound"], &header, &[]);
    for form in &bound.forms {
        for (terms, which) in [(form.taken, ""), (form.best, ", best T")] {
            let name = format!("{}{which}", form.form.title());
            let mut cells = vec![name, iterations(terms.t)];
            cells.extend(parts(&terms).map(log_digits));
            cells.push(log_digits(terms.total / bound.floor));
            table.push(cells);
        }
    }
    sheet.table("", &table);
    for form in &bound.forms {
        let words = match form.crossing {
            Some(n) => format!("from n = {} on", log_digits(n)),
            None => "at no n up to 10^299".to_string(),
        };
        sheet.note(&format!(
            "At T_n, with epsilon_n = 1/n, the {} bound lies below the untied floor {words}.",
            form.form.title()
        ));
    }
    let remarks = bound.forms.iter().flat_map(remarks);
    remarks.for_each(|sentence| sheet.note(&sentence));
    put_checks(&mut sheet, "Hypotheses", &bound.checks);
    put_constants(&mut sheet, problem.constants(), &Constant::OF_BOUNDS);
    sheet
}

/// What keeps the best T of a form from being smaller, and why its smallest value says nothing, if so.
fn remarks(bound: &FormBound) -> Vec<String> {
    let (name, best) = (bound.form.title(), &bound.best);
    let restricted = bound.best_is_restricted.then(|| format!(
        "The best T of the {name} bound is held up by the initialisation condition T >= C_init log^h_0(erT), which this form asks for and T = {} does not satisfy.",
        iterations(best.t - 1.0)
    ));
    let total = log_digits(best.total);
    let vacuous = bound.vacuous().map(|why| match why {
        Vacuous::NotInitialised => format!(
            "No T that could be the best satisfies the initialisation condition, which the {name} bound asks for: it says nothing here."
        ),
        Vacuous::CutOff => format!(
            "No T minimises the {name} bound at this n and shape: it falls towards {total} as T grows, since its estimation term is cut off at one, and says nothing yet."
        ),
        Vacuous::AboveTwo => format!(
            "The smallest {name} bound is {total} at this n and shape, and no squared Hellinger distance is above 2: it says nothing yet."
        ),
    });
    restricted.into_iter().chain(vacuous).collect()
}

/// Iterations as a person would write them.
fn iterations(t: f64) -> String {
    if t.is_infinite() {
        "none".to_string()
    } else if t < 1e9 {
        number::integer(t as u64)
    } else {
        number::of_log(t.ln(), 4)
    }
}

/// What [`parts`] are called.
const TERMS: [&str; 5] = [
    "approximation",
    "initialisation",
    "estimation",
    "optimisation",
    "total",
];

/// The terms of a bound and their total.
fn parts(terms: &Terms) -> [LogNumber; 5] {
    [
        terms.approximation,
        terms.initialisation,
        terms.estimation,
        terms.optimisation,
        terms.total,
    ]
}

fn terms_json(terms: &Terms) -> Map<String, Value> {
    let t = terms.t.is_finite().then_some(terms.t as u64);
    let mut object = object!({ "T": t });
    for (key, part) in TERMS.into_iter().zip(parts(terms)) {
        object.extend(log_json([(key, part)]));
    }
    object
}
