//! The bound over many sample sizes, budgets or iteration counts: a table, and a figure.

mod figure;

use super::{Arguments, iterations, terms_json};
use crate::commands::theory::{
    Sheet, as_usage, constants_json, insert_log, log_digits, problem_json, whole,
};
use crate::data::between;
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use clap::ValueEnum;
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::{Align, Table, number};
use loopfit_theory::bound::{self, Form, Iterations, Terms};
use loopfit_theory::{Constant, GrowingBudget, LoopShape, Problem, Start, Thresholds, schedule};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct SweepArguments {
    /// Give a table over sample sizes, budgets or iteration counts instead of one point.
    #[arg(long)]
    pub(super) over: Option<Over>,
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
    #[arg(long, default_value = "general", requires = "over")]
    form: FormName,
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
        let growing = self.gamma.map(|_| [Constant::CB, Constant::CQ]);
        let all = Constant::OF_BOUNDS.into_iter();
        all.chain(growing.into_iter().flatten()).collect()
    }

    /// The schedule of a growing budget at a sample size, if the budget grows.
    fn growing(
        &self,
        problem: &Problem,
        thresholds: &Thresholds,
        n: u64,
    ) -> Result<Option<GrowingBudget>> {
        let Some(gamma) = self.gamma else {
            return Ok(None);
        };
        let start = match self.below_thresholds {
            true => Start::BelowThresholds,
            false => Start::AtThresholds,
        };
        let schedule = GrowingBudget::new(problem, thresholds, start, gamma, n as f64);
        let schedule = schedule.map_err(|error| {
            // A larger budget helps where this one holds no loop.
            let remedy = match error {
                loopfit_theory::Error::BudgetTooSmall { .. } => {
                    "; begin at a larger n with --from, or larger with --set C_B=..."
                }
                _ => "",
            };
            usage(format!("no schedule at n = {n}: {error}{remedy}"))
        })?;
        Ok(Some(schedule))
    }

    /// The first and the last value of the axis.
    fn ends(&self, over: Over) -> Result<(u64, u64)> {
        let (from, to) = match over {
            Over::N => (100, 1_000_000_000_000),
            Over::B => (100, 100_000_000),
            Over::T => (1, 100_000_000),
        };
        let ends = (self.from.unwrap_or(from), self.to.unwrap_or(to));
        if ends.0 >= ends.1 {
            return Err(usage(format!(
                "--from {} is not below --to {}: give a smaller --from or a larger --to",
                ends.0, ends.1
            )));
        }
        Ok(ends)
    }
}

/// Parses a number of rows.
fn points(text: &str) -> Result<u16, String> {
    between(text, 2, 1000).map(|points| points as u16)
}

/// The axis of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Over {
    /// The sample size.
    #[value(name = "n")]
    N,
    /// The budget.
    #[value(name = "B", alias = "b")]
    B,
    /// The iteration count.
    #[value(name = "T", alias = "t")]
    T,
}

impl Over {
    fn symbol(self) -> &'static str {
        match self {
            Self::N => "n",
            Self::B => "B",
            Self::T => "T",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormName {
    General,
    BudgetIteration,
}

/// One line of the table.
struct Row {
    x: u64,
    shape: LoopShape,
    b: u64,
    /// Whether the construction fits the shape.
    admissible: bool,
    /// At the iterations asked for.
    terms: Terms,
    best: Terms,
    /// At `T_n`.
    schedule: Terms,
    /// At iterations that are the same in every row.
    fixed: Terms,
    floor: LogNumber,
    minimax: LogNumber,
}

pub(super) fn run(
    a: &Arguments,
    over: Over,
    problem: &Problem,
    thresholds: &Thresholds,
    global: &Global,
) -> Result<Exit> {
    if a.n.is_none() && over != Over::N {
        return Err(usage(format!(
            "a table over {} needs a sample size: add --n",
            over.symbol()
        )));
    }
    if a.n.is_some() && over == Over::N {
        return Err(usage(
            "a table over n has its own sample sizes: leave --n out".to_string(),
        ));
    }
    if a.iterations.is_some() && over == Over::T {
        return Err(usage(
            "a table over T has its own iterations: leave --iterations out".to_string(),
        ));
    }
    if a.sweep
        .plot
        .as_ref()
        .is_some_and(|path| path.extension().is_none_or(|e| e != "svg"))
    {
        return Err(usage(
            "--plot writes SVG: give a file whose name ends in .svg".to_string(),
        ));
    }
    if a.sweep.gamma.is_some() && over != Over::N {
        return Err(usage(
            "--gamma lets the budget grow with n: use it with --over n".to_string(),
        ));
    }
    if let Some(gamma) = a.sweep.gamma
        && !(gamma > 0.0 && gamma.is_finite())
    {
        return Err(usage(format!(
            "--gamma {} lets no budget grow: give a positive number",
            number::shortest(gamma)
        )));
    }
    if a.tolerance.is_some() {
        return Err(usage(
            "a table takes epsilon_n = 1/n: leave --tolerance out".to_string(),
        ));
    }
    if over == Over::B && (a.shape.budget.is_some() || a.shape.width.is_some()) {
        return Err(usage(
            "a table over B chooses the widest loop of each budget: leave --budget and --r out"
                .to_string(),
        ));
    }
    let ends = a.sweep.ends(over)?;
    if let Some(path) = &a.sweep.plot {
        output::check_writable(path, &[])?;
    }
    let sweep = Sweep::new(a, over, ends, problem, thresholds)?;
    let smallest = schedule::smallest_budget(problem, thresholds);
    if let Some(path) = &a.sweep.plot {
        output::write_file(path, &sweep.figure(a).to_svg())?;
        output::wrote(path, global);
    }
    if global.json {
        output::print_json(&sweep.to_json(a, smallest))?;
    } else {
        sweep.sheet(a, smallest).print()?;
    }
    Ok(Exit::Done)
}

struct Sweep<'a> {
    over: Over,
    form: Form,
    problem: &'a Problem,
    /// The iterations that are the same in every row.
    fixed: f64,
    rows: Vec<Row>,
}

impl<'a> Sweep<'a> {
    fn new(
        a: &Arguments,
        over: Over,
        (from, to): (u64, u64),
        problem: &'a Problem,
        thresholds: &Thresholds,
    ) -> Result<Self> {
        let form = match a.sweep.form {
            FormName::General => Form::General,
            FormName::BudgetIteration => Form::BudgetIteration,
        };
        let fixed_shape = match over {
            Over::B => None,
            _ if a.sweep.gamma.is_some() => None,
            _ => Some(a.shape.get(problem, thresholds)?),
        };
        let fixed = match a.iterations() {
            Iterations::Fixed(t) => t,
            _ => {
                let middle = ((from as f64).ln() + (to as f64).ln()) / 2.0;
                schedule::fixed_iterations(problem.smoothness().a(), middle.exp())
            }
        };
        let row = |x: u64| -> Result<Row> {
            let growing = match over {
                Over::N => a.sweep.growing(problem, thresholds, x)?,
                Over::B | Over::T => None,
            };
            let (shape, b) = match (fixed_shape, &growing) {
                (Some(fixed), _) => fixed,
                (None, Some(growing)) => (growing.shape, growing.b),
                (None, None) => {
                    let q = match a.shape.state {
                        Some(q) => q,
                        None => problem.default_q(x, thresholds.q).map_err(as_usage)?,
                    };
                    (problem.widest(q, x).map_err(as_usage)?, x)
                }
            };
            let (cap, b) = (b, b as f64);
            let n = if over == Over::N { x } else { a.n.unwrap_or(1) } as f64;
            let schedule = match &growing {
                Some(growing) => Iterations::Fixed(growing.t),
                None => Iterations::Schedule,
            };
            let asked = match (over, a.iterations()) {
                (Over::T, _) => Iterations::Fixed(x as f64),
                (Over::N | Over::B, Iterations::Schedule) => schedule,
                (Over::N | Over::B, other) => other,
            };
            let with = |iterations| bound::with(problem, form, shape, b, n, iterations);
            Ok(Row {
                x,
                shape,
                b: cap,
                admissible: shape.q >= thresholds.q && shape.r >= thresholds.r,
                terms: with(asked),
                best: bound::best(problem, form, shape, b, n),
                schedule: with(schedule),
                fixed: with(Iterations::Fixed(fixed)),
                floor: problem.rates().untied_floor(b, problem.constants()),
                minimax: problem.rates().minimax(n, problem.constants()),
            })
        };
        let rows = grid(from, to, a.sweep.points).into_iter().map(row);
        Ok(Self {
            over,
            form,
            problem,
            fixed,
            rows: rows.collect::<Result<_>>()?,
        })
    }

    fn to_json(&self, a: &Arguments, smallest: Option<u64>) -> Map<String, Value> {
        let rows = self.rows.iter().map(|row| {
            let mut object = terms_json(&row.terms);
            object.insert(self.over.symbol().into(), json!(row.x));
            object.insert("q".into(), json!(row.shape.q));
            object.insert("r".into(), json!(row.shape.r));
            object.insert("B_L".into(), json!(row.shape.count));
            object.insert("B".into(), json!(row.b));
            object.insert("best".into(), Value::Object(terms_json(&row.best)));
            insert_log(&mut object, "untied_floor", row.floor);
            insert_log(&mut object, "ratio", row.terms.total / row.floor);
            insert_log(&mut object, "minimax", row.minimax);
            object.insert("admissible".into(), json!(row.admissible));
            object.insert("applies".into(), json!(self.applies(row)));
            if self.over == Over::N {
                insert_log(&mut object, "total_at_fixed_T", row.fixed.total);
                insert_log(&mut object, "total_at_T_n", row.schedule.total);
            }
            Value::Object(object)
        });
        let mut object = problem_json(self.problem, &a.problem.arch);
        object.insert("rows".into(), rows.collect());
        object.insert("over".into(), json!(self.over.symbol()));
        object.insert("form".into(), json!(self.form_name()));
        object.insert("smallest_admissible_budget".into(), json!(smallest));
        if self.over == Over::N {
            object.insert("fixed_T".into(), json!(self.fixed as u64));
        }
        if let Some(gamma) = a.sweep.gamma {
            object.insert("gamma_B".into(), json!(gamma));
        }
        let constants = constants_json(self.problem.constants(), &a.sweep.used());
        object.insert("constants".into(), constants);
        object
    }

    /// Whether the form says anything at the iterations of a row.
    fn applies(&self, row: &Row) -> bool {
        bound::applies(self.problem, self.form, row.shape, row.terms.t)
    }

    fn best_is_restricted(&self, row: &Row) -> bool {
        bound::best_is_restricted(self.problem, self.form, row.shape, row.best.t)
    }

    fn form_name(&self) -> &'static str {
        match self.form {
            Form::General => "general (14)",
            Form::BudgetIteration => "budget-iteration (15)",
        }
    }

    fn title(&self, a: &Arguments) -> String {
        let words = a.problem.words(self.problem);
        let n = a.n.map_or(String::new(), |n| {
            format!(", n = {}", number::shortest(n as f64))
        });
        let b = self.rows.first().map_or(0, |row| row.b);
        let what = match (self.over, a.sweep.gamma) {
            (Over::N, Some(gamma)) => format!(", B growing like n^{}", number::shortest(gamma)),
            (Over::N, None) => format!(", B = {}", number::integer(b)),
            (Over::B, _) => n,
            (Over::T, _) => format!(", B = {}{n}", number::integer(b)),
        };
        format!("Risk bound over {}: {words}{what}", self.over.symbol())
    }

    fn sheet(&self, a: &Arguments, smallest: Option<u64>) -> Sheet {
        let mut sheet = Sheet::new(
            &self.title(a),
            &format!(
                "Theorem 4.1, {}; untied floor: Proposition 4.3, equation (17)",
                self.form_name()
            ),
        );
        let grows = a.sweep.gamma.is_some();
        let mut header = vec![self.over.symbol()];
        header.extend(grows.then_some(["B", "q", "r"]).into_iter().flatten());
        header.extend([
            "T",
            "approximation",
            "initialisation",
            "estimation",
            "optimisation",
            "total",
        ]);
        if self.over == Over::T {
            header.remove(1);
        } else {
            header.extend(["best T", "total there"]);
        }
        header.extend(["untied floor", "total / floor"]);
        let mut table = Table::new(header.into_iter().map(|name| (name, Align::Right)));
        for row in &self.rows {
            let terms = &row.terms;
            let mut cells = vec![number::of_log((row.x as f64).ln(), 4)];
            if grows {
                cells.extend([row.b, row.shape.q, row.shape.r].map(number::integer));
            }
            if self.over != Over::T {
                cells.push(iterations(terms.t));
            }
            let parts = [
                terms.approximation,
                terms.initialisation,
                terms.estimation,
                terms.optimisation,
                terms.total,
            ];
            cells.extend(parts.map(log_digits));
            if !self.applies(row) {
                let last = cells.len() - 1;
                cells[last] = format!("({})", cells[last]);
            }
            if self.over != Over::T {
                let star = if self.best_is_restricted(row) {
                    "*"
                } else {
                    ""
                };
                let best = iterations(row.best.t) + star;
                cells.extend([best, log_digits(row.best.total)]);
            }
            cells.extend([row.floor, terms.total / row.floor].map(log_digits));
            table.push(cells);
        }
        sheet.table("", &table);
        let best = || self.rows.iter().filter(|_| self.over != Over::T);
        if best().any(|row| row.best.t.is_infinite()) {
            sheet.note(match self.form {
                Form::General => "Where there is no best T, the bound falls towards the number beside it as T grows, since the estimation term is cut off at one, and says nothing yet.",
                Form::BudgetIteration => "Where there is no best T, none that could be satisfies the initialisation condition, which (15) asks for.",
            });
        }
        if best().any(|row| self.best_is_restricted(row)) {
            sheet.note("A best T with a star is held up by the initialisation condition T >= C_init log^h_0(erT), which (15) asks for and T - 1 does not satisfy.");
        }
        if self.rows.iter().any(|row| !self.applies(row)) {
            sheet.note("Totals in brackets are at iterations that do not satisfy the initialisation condition, which (15) asks for.");
        }
        if self.rows.iter().any(|row| !row.admissible) {
            let smallest = match smallest {
                Some(b) => format!(
                    "the smallest budget that holds it is {}",
                    number::integer(b)
                ),
                None => "no budget up to 10^18 holds it".to_string(),
            };
            sheet.note(&format!(
                "The construction of the proofs does not fit into {} of these shapes and the formulas extrapolate there; {smallest}.",
                if self.rows.iter().any(|row| row.admissible) { "some" } else { "any" }
            ));
        }
        sheet.constants(self.problem.constants(), &a.sweep.used());
        sheet
    }
}

/// Whole numbers at equal ratios, without repetitions.
fn grid(from: u64, to: u64, points: u16) -> Vec<u64> {
    let (low, high) = ((from as f64).ln(), (to as f64).ln());
    let at = |i: u16| {
        let part = f64::from(i) / f64::from(points - 1);
        ((low + part * (high - low)).exp().round() as u64).clamp(from, to)
    };
    let mut grid: Vec<u64> = (0..points).map(at).collect();
    if let (Some(first), Some(last)) = (grid.first().copied(), grid.last_mut()) {
        *last = to;
        grid[0] = from.min(first);
    }
    grid.dedup();
    grid
}
