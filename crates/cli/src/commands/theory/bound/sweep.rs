//! The bound over many sample sizes, budgets or iteration counts: a table, and a figure.

mod figure;

use super::{Arguments, TERMS, iterations, parts, terms_json};
use crate::commands::theory::{
    as_usage, constants_json, log_digits, log_json, problem_json, problem_words, put_constants,
    whole,
};
use crate::data::between;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::named::named;
use crate::sheet::{Sheet, check_plot, columns, plot};
use crate::{Global, output};
use anyhow::Result;
use loopfit_numerics::named::Named;
use loopfit_report::number;
use loopfit_theory::bound::sweep::{Question, Row};
use loopfit_theory::bound::{Axis, BoundForm, Shapes, Sweep};
use loopfit_theory::{Constant, Error, FirstWidths, Problem, Thresholds};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct SweepArguments {
    /// Give a table over sample sizes, budgets or iteration counts instead of one point.
    #[arg(long, ignore_case = true, value_parser = named::<Axis>())]
    pub(super) over: Option<Axis>,
    /// Where the table begins; 100 for n and B, 1 for T by default.
    #[arg(long, value_name = "X", value_parser = whole, requires = "over")]
    from: Option<u64>,
    /// Where it ends; 1e12 for n, 1e8 for B and T by default.
    #[arg(long, value_name = "X", value_parser = whole, requires = "over")]
    to: Option<u64>,
    /// How many rows, at equal ratios.
    #[arg(long, value_name = "K", default_value_t = 21, requires = "over", value_parser = points)]
    points: u16,
    /// Which form of the bound.
    #[arg(long, default_value = "general", requires = "over", value_parser = named::<BoundForm>())]
    form: BoundForm,
    /// With --over n: the budget grows like n^g, and widths and iterations are those of Theorem 4.5.
    #[arg(long, value_name = "g", allow_negative_numbers = true, requires = "over", conflicts_with_all = ["budget", "state", "width"])]
    gamma: Option<f64>,
    /// With --gamma: begin below the widths that the construction of the proofs needs, see `theory schedule`.
    #[arg(long, requires = "gamma")]
    below_thresholds: bool,
    /// Draw the table into an SVG file.
    #[arg(long, value_name = "FILE", requires = "over")]
    plot: Option<PathBuf>,
}

impl SweepArguments {
    /// The open constants that the answer depends on.
    pub(super) fn used(&self) -> Vec<Constant> {
        Constant::of_bounds(self.gamma.is_some())
    }
}

/// Parses a number of rows.
fn points(text: &str) -> Result<u16, String> {
    between(text, 2, 1000).map(|points| points as u16)
}

impl Arguments {
    /// An error where options do not go together.
    fn check(&self, axis: Axis) -> Result<()> {
        let refuse = |sentence: &str| Err(usage(sentence.to_string()));
        if self.n.is_none() && axis != Axis::N {
            return Err(usage(format!(
                "a table over {} needs a sample size: add --n",
                axis.name()
            )));
        }
        if self.n.is_some() && axis == Axis::N {
            return refuse("a table over n has its own sample sizes: leave --n out");
        }
        if self.iterations.is_some() && axis == Axis::T {
            return refuse("a table over T has its own iterations: leave --iterations out");
        }
        match self.sweep.gamma {
            Some(_) if axis != Axis::N => {
                return refuse("--gamma lets the budget grow with n: use it with --over n");
            }
            Some(gamma) if !(gamma > 0.0 && gamma.is_finite()) => {
                return Err(usage(format!(
                    "--gamma {} lets no budget grow: give a positive number",
                    number::shortest(gamma)
                )));
            }
            _ => {}
        }
        if self.tolerance.is_some() {
            return refuse("a table takes epsilon_n = 1/n: leave --tolerance out");
        }
        if axis == Axis::B && (self.shape.budget.is_some() || self.shape.width.is_some()) {
            return refuse(
                "a table over B chooses the widest loop of each budget: leave --budget and --r out",
            );
        }
        Ok(())
    }

    /// What the table is about.
    fn question(&self, axis: Axis, problem: &Problem, thresholds: &Thresholds) -> Result<Question> {
        let (from, to) = axis.range();
        let ends = (self.sweep.from.unwrap_or(from), self.sweep.to.unwrap_or(to));
        if ends.0 >= ends.1 {
            return Err(usage(format!(
                "--from {} is not below --to {}: give a smaller --from or a larger --to",
                ends.0, ends.1
            )));
        }
        check_plot(self.sweep.plot.as_deref(), &[])?;
        let shapes = match (axis, self.sweep.gamma) {
            (Axis::B, _) => Shapes::Widest(self.shape.state),
            (_, Some(gamma)) => Shapes::Growing {
                gamma,
                start: match self.sweep.below_thresholds {
                    true => FirstWidths::BelowThresholds,
                    false => FirstWidths::AtThresholds,
                },
            },
            (_, None) => {
                let (shape, budget) = self.shape.get(problem, thresholds)?;
                Shapes::Fixed(shape, budget)
            }
        };
        Ok(Question {
            axis,
            ends,
            points: self.sweep.points,
            form: self.sweep.form,
            n: self.n.unwrap_or(1) as f64,
            iterations: self.iterations(),
            shapes,
        })
    }
}

pub(super) fn run(
    a: &Arguments,
    axis: Axis,
    problem: &Problem,
    thresholds: &Thresholds,
    global: &Global,
) -> Result<Exit> {
    a.check(axis)?;
    let question = a.question(axis, problem, thresholds)?;
    let sweep = Sweep::new(problem, thresholds, &question).map_err(|error| {
        // A larger budget helps where this one holds no loop.
        let small = matches!(&error, Error::NoSchedule { why, .. } if matches!(**why, Error::BudgetTooSmall { .. }));
        match small {
            true => usage(format!(
                "{error}; begin at a larger n with --from, or larger with --set C_B=..."
            )),
            false => as_usage(error),
        }
    })?;
    let path = a.sweep.plot.as_deref();
    plot(path, || figure::figure(a, problem, &sweep), global)?;
    if global.json {
        output::print_json(&to_json(a, problem, &sweep))?;
    } else {
        sheet(a, problem, &sweep).print()?;
    }
    Ok(Exit::Done)
}

fn to_json(a: &Arguments, problem: &Problem, sweep: &Sweep) -> Map<String, Value> {
    let row = |row: &Row| {
        let mut object = terms_json(&row.terms);
        object.extend(object!({
            (sweep.axis.name()): row.x, "q": row.shape.q, "r": row.shape.r, "B_L": row.shape.count,
            "best": terms_json(&row.best), "admissible": row.admissible, "applies": row.applies,
        }));
        object.insert("B".into(), json!(row.b));
        object.extend(log_json([
            ("untied_floor", row.floor),
            ("ratio", row.terms.total / row.floor),
            ("minimax", row.minimax),
        ]));
        if sweep.axis == Axis::N {
            object.extend(log_json([
                ("total_at_fixed_T", row.fixed.total),
                ("total_at_T_n", row.schedule.total),
            ]));
        }
        Value::Object(object)
    };
    let mut object = problem_json(problem);
    object.extend(object!({
        "rows": sweep.rows.iter().map(row).collect::<Vec<_>>(), "over": sweep.axis.name(),
        "form": sweep.form.title(), "smallest_admissible_budget": sweep.smallest_budget,
        "constants": constants_json(problem.constants(), &a.sweep.used()),
    }));
    if sweep.axis == Axis::N {
        object.insert("fixed_T".into(), json!(sweep.fixed_t as u64));
    }
    if let Some(gamma) = a.sweep.gamma {
        object.insert("gamma_B".into(), json!(gamma));
    }
    object
}

fn title(a: &Arguments, problem: &Problem, sweep: &Sweep) -> String {
    let words = problem_words(problem);
    let n = a.n.map_or(String::new(), |n| {
        format!(", n = {}", number::shortest(n as f64))
    });
    let b = sweep.rows.first().map_or(0, |row| row.b);
    let what = match (sweep.axis, a.sweep.gamma) {
        (Axis::N, Some(gamma)) => format!(", B growing like n^{}", number::shortest(gamma)),
        (Axis::N, None) => format!(", B = {}", number::integer(b)),
        (Axis::B, _) => n,
        (Axis::T, _) => format!(", B = {}{n}", number::integer(b)),
    };
    format!("Risk bound over {}: {words}{what}", sweep.axis.name())
}

fn sheet(a: &Arguments, problem: &Problem, sweep: &Sweep) -> Sheet {
    let mut sheet = Sheet::new(
        &title(a, problem, sweep),
        &format!(
            "Theorem 4.1, {}; untied floor: Proposition 4.3, equation (17)",
            sweep.form.title()
        ),
    );
    let (grows, over_t) = (a.sweep.gamma.is_some(), sweep.axis == Axis::T);
    let mut header = vec![sweep.axis.name()];
    header.extend(grows.then_some(["B", "q", "r"]).into_iter().flatten());
    header.extend((!over_t).then_some("T"));
    header.extend(TERMS);
    header.extend(
        (!over_t)
            .then_some(["best T", "total there"])
            .into_iter()
            .flatten(),
    );
    header.extend(["untied floor", "total / floor"]);
    let mut table = columns(&[], &header, &[]);
    for row in &sweep.rows {
        let mut cells = vec![number::of_log((row.x as f64).ln(), 4)];
        if grows {
            cells.extend([row.b, row.shape.q, row.shape.r].map(number::integer));
        }
        if !over_t {
            cells.push(iterations(row.terms.t));
        }
        cells.extend(parts(&row.terms).map(log_digits));
        if let (false, Some(total)) = (row.applies, cells.last_mut()) {
            *total = format!("({total})");
        }
        if !over_t {
            let star = if row.best_is_restricted { "*" } else { "" };
            cells.extend([iterations(row.best.t) + star, log_digits(row.best.total)]);
        }
        cells.extend([row.floor, row.terms.total / row.floor].map(log_digits));
        table.push(cells);
    }
    sheet.table("", &table);
    remarks(sweep)
        .iter()
        .for_each(|sentence| sheet.note(sentence));
    put_constants(&mut sheet, problem.constants(), &a.sweep.used());
    sheet
}

/// What a reader must know of some rows.
fn remarks(sweep: &Sweep) -> Vec<String> {
    let any = |is: &dyn Fn(&Row) -> bool| sweep.rows.iter().any(is);
    let best = |is: &dyn Fn(&Row) -> bool| sweep.axis != Axis::T && any(is);
    let mut remarks = Vec::new();
    let mut say = |sentence: &str| remarks.push(sentence.to_string());
    if best(&|row| row.best.t.is_infinite()) {
        say(match sweep.form {
            BoundForm::General => {
                "Where there is no best T, the bound falls towards the number beside it as T grows, since the estimation term is cut off at one, and says nothing yet."
            }
            BoundForm::BudgetIteration => {
                "Where there is no best T, none that could be satisfies the initialisation condition, which (15) asks for."
            }
        });
    }
    if best(&|row| row.best_is_restricted) {
        say(
            "A best T with a star is held up by the initialisation condition T >= C_init log^h_0(erT), which (15) asks for and T - 1 does not satisfy.",
        );
    }
    if any(&|row| !row.applies) {
        say(
            "Totals in brackets are at iterations that do not satisfy the initialisation condition, which (15) asks for.",
        );
    }
    if any(&|row| !row.admissible) {
        let smallest = match sweep.smallest_budget {
            Some(b) => format!(
                "the smallest budget that holds it is {}",
                number::integer(b)
            ),
            None => "no budget up to 10^18 holds it".to_string(),
        };
        let which = if any(&|row| row.admissible) {
            "some"
        } else {
            "any"
        };
        say(&format!(
            "The construction of the proofs does not fit into {which} of these shapes and the formulas extrapolate there; {smallest}."
        ));
    }
    remarks
}
