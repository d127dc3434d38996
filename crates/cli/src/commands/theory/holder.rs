//! `loopfit theory holder`.

use super::digits;
use super::function::FunctionArgument;
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::{Sheet, columns};
use crate::{Global, output};
use anyhow::Result;
use loopfit_holder::{
    Differentiable, FiniteDifferences, HolderClass, Membership, Sampling, Smoothness,
};
use loopfit_report::number;
use loopfit_witness::Expression;
use serde_json::{Map, Value, json};
use std::path::Path;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory holder \"x1*(1-x2)/2\" --smoothness 2\n  loopfit theory holder \"sin(3*x1)/3\" --smoothness 1.5 --bound 3\n  loopfit theory holder sim:bumps --smoothness 2 --bound 100 --json\n  loopfit theory holder model.safetensors --smoothness 1\n\nWith --bound the exit code is 1 where the function is found to be outside the class."
)]
pub(crate) struct Arguments {
    /// The function: a formula in x1, x2, ... on the unit cube, a simulation's function such as sim:bumps (of a seed,
    /// sim:bumps@3), or a model file, on the box of its training rows scaled to the unit cube.
    #[arg(value_name = "F", allow_hyphen_values = true)]
    function: String,
    /// Smoothness s > 0; need not be an integer.
    #[arg(long, value_name = "s", allow_negative_numbers = true)]
    smoothness: f64,
    /// Bound H of the class; without it the smallest that is not refuted is told.
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    bound: Option<f64>,
    /// Number of inputs d of a formula; by default as many as it names.
    #[arg(long, value_name = "d", value_parser = count)]
    dim: Option<usize>,
    /// Points at which derivatives are looked at, and pairs at which they are compared.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = count)]
    points: usize,
    /// Seed of the points.
    #[arg(long, default_value_t = 0, value_parser = crate::data::seed)]
    seed: u64,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let found = a.membership()?;
    let holds = found.membership.holds();
    let verdict = a.bound.map(|_| holds);
    if global.json {
        output::print_json(&found.to_json(a, verdict))?;
    } else {
        found.sheet(a, verdict).print()?;
    }
    Ok(match verdict {
        Some(false) => Exit::CheckFailed,
        _ => Exit::Done,
    })
}

/// What was found, and how derivatives were had.
struct Found {
    d: usize,
    derivatives: &'static str,
    membership: Membership,
}

impl Arguments {
    fn membership(&self) -> Result<Found> {
        const AUTOMATIC: &str = "exact, by automatic differentiation";
        let is_file =
            self.function.ends_with(".safetensors") || Path::new(&self.function).is_file();
        if !self.function.starts_with("sim:") && !is_file {
            let formula = Expression::parse(&self.function, self.dim);
            let formula = formula.map_err(|error| usage(error.to_string()))?;
            return self.check(&formula, AUTOMATIC);
        }
        if self.dim.is_some() {
            return Err(usage(
                "--dim is for formulas: a simulation and a model know their inputs".to_string(),
            ));
        }
        let name: FunctionArgument = self.function.parse().map_err(usage)?;
        if let FunctionArgument::Simulation(simulation, seed) = &name {
            return self.check(&simulation.target(seed.unwrap_or(self.seed)), AUTOMATIC);
        }
        let function = name.load(self.seed)?;
        if !function.classes.is_empty() {
            return Err(usage(format!(
                "{} has a logit for each class: give a model with one output",
                function.name
            )));
        }
        let (d, domain) = (function.inputs.len(), function.domain());
        // Rows that cannot be computed are found here; below they would be infinite.
        let centre = function.on(&domain, &vec![0.5; d])?;
        let value = |x: &[f64]| match function.on(&domain, x) {
            Ok(values) => values.first().copied().unwrap_or(f64::NAN),
            Err(_) => f64::NAN,
        };
        let differences = FiniteDifferences::of_network(d, value, &centre);
        self.check(&differences, "finite differences of a network in 32 bits")
    }

    fn check(&self, f: &impl Differentiable, derivatives: &'static str) -> Result<Found> {
        let wrong = |error: loopfit_holder::Error| match error {
            loopfit_holder::Error::Work { k, d, points } => usage(format!(
                "derivatives up to order {k} with d = {d} at {} points would take minutes or more: take a smaller --smoothness, fewer inputs or fewer --points",
                number::integer(points as u64)
            )),
            other => usage(other.to_string()),
        };
        let smoothness = Smoothness::new(f.d(), self.smoothness).map_err(wrong)?;
        let class = HolderClass::new(smoothness, self.bound.unwrap_or(1.0)).map_err(wrong)?;
        let sampling = Sampling {
            seed: self.seed,
            points: self.points,
            pairs: self.points,
        };
        class.check_work(f, &sampling).map_err(wrong)?;
        Ok(Found {
            d: f.d(),
            derivatives,
            membership: class.check(f, &sampling),
        })
    }
}

/// A multi-index or a point.
fn list<T: ToString>(values: &[T]) -> String {
    let texts: Vec<String> = values.iter().map(T::to_string).collect();
    format!("({})", texts.join(", "))
}

/// A point to four digits.
fn point(x: &[f64]) -> String {
    list(&x.iter().map(|v| format!("{v:.4}")).collect::<Vec<_>>())
}

impl Found {
    fn sheet(&self, a: &Arguments, verdict: Option<bool>) -> Sheet {
        let Self { d, membership, .. } = self;
        let s = number::shortest(a.smoothness);
        let mut sheet = Sheet::new(
            &format!(
                "Membership of {} in a Hölder class, d = {d}, s = {s}",
                a.function
            ),
            "Definition 3.1: derivatives up to order k = ceil(s) - 1, and Hölder quotients of those of order k, are at most H",
        );
        let mut table = columns(&["what"], &["largest found"], &["derivative", "at"]);
        for order in &membership.orders {
            let name = match order.order {
                0 => "value".to_string(),
                v => format!("derivative of order {v}"),
            };
            table.push([name, digits(order.value), list(&order.nu), point(&order.x)]);
        }
        let quotient = &membership.quotient;
        table.push([
            "Hölder quotient".to_string(),
            digits(quotient.value),
            list(&quotient.nu),
            format!("{} and {}", point(&quotient.x), point(&quotient.y)),
        ]);
        sheet.table("", &table);
        let largest = digits(membership.largest());
        sheet.note(&match (verdict, a.bound) {
            (Some(true), Some(h)) => format!(
                "Nothing that was found exceeds H = {}; the largest is {largest}. Sampling refutes, it does not prove.",
                number::shortest(h)
            ),
            (Some(false), Some(h)) => format!(
                "The function is outside the class with H = {}: the points above show it. H must be at least {largest}.",
                number::shortest(h)
            ),
            _ => format!(
                "H must be at least {largest}. Sampling refutes smaller ones, it does not prove that this one is enough."
            ),
        });
        sheet.note(&format!(
            "{} points and as many pairs of seed {}; derivatives: {}.",
            number::integer(a.points as u64),
            a.seed,
            self.derivatives
        ));
        sheet
    }

    fn to_json(&self, a: &Arguments, verdict: Option<bool>) -> Map<String, Value> {
        let orders = self.membership.orders.iter().map(|order| {
            json!({
                "order": order.order, "largest": order.value, "nu": order.nu, "x": order.x,
                "all_indices": order.all_indices,
            })
        });
        let quotient = &self.membership.quotient;
        object!({
            "function": a.function, "d": self.d, "s": a.smoothness, "H": a.bound, "holds": verdict,
            "least_H": self.membership.largest(), "orders": orders.collect::<Vec<_>>(),
            "quotient": { "largest": quotient.value, "nu": quotient.nu, "x": quotient.x, "y": quotient.y },
            "derivatives": self.derivatives, "points": a.points, "seed": a.seed,
        })
    }
}
