//! `loopfit theory bound`.

mod sweep;

use super::{
    ProblemArguments, ShapeArguments, Sheet, checks_json, constants_json, digits, insert_log,
    log_digits, problem_json, whole,
};
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::{Align, Table, number};
use loopfit_theory::bound::{self, Form, Iterations, Terms};
use loopfit_theory::{Check, Constant, LoopShape, Problem, Thresholds, schedule};
use serde_json::{Map, Value, json};
use std::str::FromStr;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory bound --n 1e6 --dim 2 --smoothness 1\n  loopfit theory bound --n 1e6 --dim 2 --smoothness 2 --budget 128 --iterations best\n  loopfit theory bound --dim 2 --smoothness 1 --budget 1e6 --over n --from 1e3 --to 1e18 --plot bound.svg\n  loopfit theory bound --dim 2 --smoothness 1 --over n --gamma 0.1 --below-thresholds --set C_B=64\n  loopfit theory bound --n 1e12 --dim 2 --smoothness 1 --over B --from 1e3 --to 1e9\n  loopfit theory bound --n 1e12 --dim 2 --smoothness 1 --budget 1e6 --over T --form budget-iteration --json\n\nHypotheses that fail are said and are no error: the exit code is 0."
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
    iterations: Option<IterationsName>,
    /// Tolerance epsilon_n of the fit in the average log-likelihood; 1/n by default.
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    #[command(flatten)]
    sweep: sweep::SweepArguments,
}

impl Arguments {
    fn iterations(&self) -> Iterations {
        self.iterations.map_or(Iterations::Schedule, |name| name.0)
    }
}

/// `--iterations`.
#[derive(Clone, Copy, Debug)]
struct IterationsName(Iterations);

impl FromStr for IterationsName {
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

/// Both forms of Theorem 4.1.
const FORMS: [(Form, &str, &str); 2] = [
    (Form::General, "general", "general (14)"),
    (
        Form::BudgetIteration,
        "budget_iteration",
        "budget-iteration (15)",
    ),
];

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let (problem, thresholds) = a.problem.get(&a.sweep.used())?;
    if let Some(over) = a.sweep.over {
        return sweep::run(a, over, &problem, &thresholds, global);
    }
    let n = a.n.unwrap_or(1) as f64;
    let tolerance = a.tolerance.unwrap_or(1.0 / n);
    if !(tolerance >= 0.0 && tolerance.is_finite()) {
        return Err(usage(format!(
            "--tolerance {} is not a tolerance: give a number of at least 0",
            number::shortest(tolerance)
        )));
    }
    let (shape, b) = a.shape.get(&problem, &thresholds)?;
    let answer = Answer::new(a, &problem, &thresholds, shape, b, n, tolerance)?;
    if global.json {
        output::print_json(&answer.to_json(&a.problem.arch))?;
    } else {
        answer.sheet(a).print()?;
    }
    Ok(Exit::Done)
}

/// Everything about one point.
struct Answer<'a> {
    problem: &'a Problem,
    shape: LoopShape,
    b: u64,
    n: f64,
    /// Of each form: the iterations taken with their terms, and the best ones.
    forms: [(Terms, Terms); 2],
    floor: LogNumber,
    crossings: [Option<LogNumber>; 2],
    checks: Vec<Check>,
}

impl<'a> Answer<'a> {
    fn new(
        a: &Arguments,
        problem: &'a Problem,
        thresholds: &Thresholds,
        shape: LoopShape,
        b: u64,
        n: f64,
        tolerance: f64,
    ) -> Result<Self> {
        let budget = b as f64;
        let at = |form: Form, t: f64| match form {
            Form::General => bound::general(problem, shape, n, t, tolerance),
            Form::BudgetIteration => bound::budget_iteration(problem, budget, n, t),
        };
        let forms = FORMS.map(|(form, ..)| {
            let taken = |iterations| bound::with(problem, form, shape, budget, n, iterations).t;
            let best = at(form, taken(Iterations::Best));
            (at(form, taken(a.iterations())), best)
        });
        let r = shape.r as f64;
        let checks = vec![
            schedule::size_check(n),
            schedule::admissible(problem, thresholds, shape),
            schedule::initialisation("initialisation condition, (14)", problem, r, forms[0].0.t),
            schedule::initialisation("initialisation condition, (15)", problem, r, forms[1].0.t),
            schedule::tolerance(tolerance, n),
        ];
        Ok(Self {
            problem,
            shape,
            b,
            n,
            forms,
            floor: problem.rates().untied_floor(budget, problem.constants()),
            crossings: FORMS.map(|(form, ..)| bound::crossing(problem, form, shape, budget)),
            checks,
        })
    }

    fn to_json(&self, key: &str) -> Map<String, Value> {
        let mut object = problem_json(self.problem, key);
        for (key, value) in [
            ("n", json!(self.n as u64)),
            ("q", json!(self.shape.q)),
            ("r", json!(self.shape.r)),
            ("B_L", json!(self.shape.count)),
            ("B", json!(self.b)),
        ] {
            object.insert(key.into(), value);
        }
        let t = self.forms[0].0.t;
        let g = t
            .is_finite()
            .then(|| bound::sensitivity_exponent(self.problem, self.shape, t));
        object.insert("G".into(), json!(g));
        for ((form, crossing), (_, key, _)) in self.forms.iter().zip(&self.crossings).zip(FORMS) {
            let (terms, best) = form;
            let mut part = terms_json(terms);
            insert_log(&mut part, "ratio", terms.total / self.floor);
            part.insert("best".into(), Value::Object(terms_json(best)));
            if let Some(n) = crossing {
                insert_log(&mut part, "n_cross", *n);
            } else {
                part.insert("n_cross".into(), Value::Null);
            }
            object.insert(key.into(), Value::Object(part));
        }
        insert_log(&mut object, "untied_floor", self.floor);
        let minimax = self
            .problem
            .rates()
            .minimax(self.n, self.problem.constants());
        insert_log(&mut object, "minimax", minimax);
        object.insert("checks".into(), checks_json(&self.checks));
        object.insert(
            "constants".into(),
            constants_json(self.problem.constants(), &Constant::OF_BOUNDS),
        );
        object
    }

    fn sheet(&self, a: &Arguments) -> Sheet {
        let mut sheet = Sheet::new(
            &format!(
                "Risk bound of a loop: {}, n = {}",
                a.problem.words(self.problem),
                number::integer(self.n as u64)
            ),
            "Theorem 4.1, equations (14) and (15); untied floor: Proposition 4.3, equation (17)",
        );
        let minimax = self
            .problem
            .rates()
            .minimax(self.n, self.problem.constants());
        sheet.values([
            (
                "q, r",
                format!("{}, {}", self.shape.q, self.shape.r),
                "widths",
            ),
            ("B", number::integer(self.b), "budget"),
            (
                "B_L",
                number::integer(self.shape.count),
                "parameters of the loop",
            ),
            (
                "G",
                match self.forms[0].0.t {
                    t if t.is_finite() => {
                        digits(bound::sensitivity_exponent(self.problem, self.shape, t))
                    }
                    _ => number::ABSENT.to_string(),
                },
                "exponent of sensitivity at T (10)",
            ),
            (
                "untied floor",
                log_digits(self.floor),
                "no untied network comes below (17)",
            ),
            (
                "minimax",
                log_digits(minimax),
                "no estimator does better (16)",
            ),
        ]);
        let header = [
            "bound",
            "T",
            "approximation",
            "initialisation",
            "estimation",
            "optimisation",
            "total",
            "total / untied floor",
        ];
        let aligned = |(i, name)| (name, if i == 0 { Align::Left } else { Align::Right });
        let mut table = Table::new(header.into_iter().enumerate().map(aligned));
        for (form, (_, _, name)) in self.forms.iter().zip(FORMS) {
            for (terms, which) in [(form.0, ""), (form.1, ", best T")] {
                table.push([
                    format!("{name}{which}"),
                    iterations(terms.t),
                    log_digits(terms.approximation),
                    log_digits(terms.initialisation),
                    log_digits(terms.estimation),
                    log_digits(terms.optimisation),
                    log_digits(terms.total),
                    log_digits(terms.total / self.floor),
                ]);
            }
        }
        sheet.table("", &table);
        for (crossing, (_, _, name)) in self.crossings.iter().zip(FORMS) {
            let words = match crossing {
                Some(n) => format!("from n = {} on", log_digits(*n)),
                None => "at no n up to 10^299".to_string(),
            };
            sheet.note(&format!(
                "At T_n, with epsilon_n = 1/n, the {name} bound lies below the untied floor {words}."
            ));
        }
        for (terms, (form, _, name)) in self.forms.iter().zip(FORMS) {
            let best = &terms.1;
            let restricted = bound::best_is_restricted(self.problem, form, self.shape, best.t);
            let restricted = restricted.then(|| restricted_best(best.t, name));
            let notes = restricted.into_iter().chain(says_nothing(form, best, name));
            notes.for_each(|sentence| sheet.note(&sentence));
        }
        sheet.checks(&self.checks);
        sheet.constants(self.problem.constants(), &Constant::OF_BOUNDS);
        sheet
    }
}

/// What keeps the best T of a form from being smaller.
fn restricted_best(t: f64, name: &str) -> String {
    format!(
        "The best T of the {name} bound is held up by the initialisation condition T >= C_init log^h_0(erT), which this form asks for and T = {} does not satisfy.",
        iterations(t - 1.0)
    )
}

/// Why the smallest value of a bound is none that one could use, if so.
fn says_nothing(form: Form, best: &Terms, name: &str) -> Option<String> {
    if best.t.is_infinite() && form == Form::BudgetIteration {
        Some(format!(
            "No T that could be the best satisfies the initialisation condition, which the {name} bound asks for: it says nothing here."
        ))
    } else if best.t.is_infinite() {
        Some(format!(
            "No T minimises the {name} bound at this n and shape: it falls towards {} as T grows, since its estimation term is cut off at one, and says nothing yet.",
            log_digits(best.total)
        ))
    } else if best.total >= LogNumber::new(2.0) {
        Some(format!(
            "The smallest {name} bound is {} at this n and shape, and no squared Hellinger distance is above 2: it says nothing yet.",
            log_digits(best.total)
        ))
    } else {
        None
    }
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

fn terms_json(terms: &Terms) -> Map<String, Value> {
    let mut object = Map::new();
    let t = terms.t.is_finite().then_some(terms.t as u64);
    object.insert("T".into(), json!(t));
    insert_log(&mut object, "approximation", terms.approximation);
    insert_log(&mut object, "initialisation", terms.initialisation);
    insert_log(&mut object, "estimation", terms.estimation);
    insert_log(&mut object, "optimisation", terms.optimisation);
    insert_log(&mut object, "total", terms.total);
    object
}
