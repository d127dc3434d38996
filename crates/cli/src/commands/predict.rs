//! `loopfit predict`.

mod write;

use crate::architecture::ExpectedArchitecture;
use crate::data::DataName;
use crate::exit::{Exit, usage};
use crate::iterations::IterationsArgument;
use crate::rows::{self, Rows, RowsArguments};
use crate::{Global, output};
use anyhow::{Result, ensure};
use loopfit_data::Table;
use loopfit_data::roles::RolesError;
use loopfit_fitted::{Application, ApplyError, FittedModel, IterationPredictions, Predictions};
use loopfit_model::Form;
use loopfit_numerics::sum::median;
use loopfit_report::number;
use std::borrow::Cow;
use std::path::PathBuf;
use write::{Beside, Csv, Interval};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit predict model.safetensors new.csv > predictions.csv\n  loopfit predict model.safetensors new.csv -o predictions.csv\n  loopfit predict model.safetensors new.csv --id name --id date > predictions.csv\n  loopfit predict model.safetensors - --json < new.csv\n  loopfit predict model.safetensors values.csv --no-header --id 1 > predictions.csv\n  loopfit predict model.safetensors new.csv --interval 0.9 > intervals.csv\n  loopfit predict model.safetensors new.csv --flag > flagged.csv\n  loopfit predict model.safetensors new.csv --every-iteration > readout.csv\n  loopfit predict model.safetensors new.csv --iterations 8"
)]
pub(crate) struct Arguments {
    /// The model file.
    model: PathBuf,
    /// The rows to predict: a file, where the target column may be absent, a data set such as
    /// data:airfoil or a simulation.
    data: DataName,
    /// Write a csv file instead of printing.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Carry a column along, before the predictions and as it is written; with --no-header by its number, counted from 1. May be
    /// repeated.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    id: Vec<String>,
    /// Add columns `lower` and `upper`: an interval that holds a new response with this probability, from residuals of rows
    /// that fits had not seen.
    #[arg(long, value_name = "LEVEL", value_parser = level, conflicts_with_all = ["every_iteration", "iterations"])]
    interval: Option<f64>,
    /// Add a column `outside`: the input columns, separated by semicolons, in which a row lies outside what the training rows
    /// hold, so that its prediction is an extrapolation.
    #[arg(long)]
    flag: bool,
    /// Put an apostrophe before names, classes and identifiers that begin with = + - or @, which a spreadsheet would run as a
    /// formula.
    #[arg(long)]
    csv_safe: bool,
    /// Give the prediction after each iteration t = 1, ..., T, with the relative change of the
    /// state, |S_t - S_(t-1)| / |S_t|: small changes say that fewer iterations would do.
    #[arg(long)]
    every_iteration: bool,
    #[command(flatten)]
    iterations: IterationsArgument,
    #[command(flatten)]
    expected: ExpectedArchitecture,
    #[command(flatten)]
    rows: RowsArguments,
}

/// More iterations than can be shown one by one.
const MOST_STEPS: usize = 1 << 16;
/// Rows and iterations whose steps are in memory at once for JSON, which goes by iterations.
const STEPS_AT_ONCE: usize = 1 << 23;

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    if a.csv_safe && global.json {
        return Err(usage(
            "--csv-safe is for csv files and --json is none: leave one out".to_string(),
        ));
    }
    if let Some(path) = &a.output {
        if global.json {
            return Err(usage(
                "-o writes a csv file and --json prints: choose one".to_string(),
            ));
        }
        output::check_writable(
            path,
            &[Some(a.model.as_path()), a.data.file()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
        )?;
    }
    let model = a.iterations.load(&a.model, global)?;
    a.expected.check(&model, &a.model)?;
    let interval = match a.interval {
        Some(level) => Some(Interval {
            level,
            half_width: model.half_width(level)?,
        }),
        None => None,
    };
    super::on_threads(global, || {
        if a.every_iteration || global.json {
            let rows = a.rows.table(&a.data, &model, &a.id)?;
            Apply::new(a, global, &model, &rows).run(interval, &rows)
        } else {
            stream(a, global, &model, interval)
        }
    })??;
    Ok(Exit::Done)
}

/// Predictions of one part of the rows after another, as csv.
fn stream(
    a: &Arguments,
    global: &Global,
    model: &FittedModel,
    interval: Option<Interval>,
) -> Result<()> {
    let explain = |e: ApplyError| a.iterations.explain(model, e);
    let mut application = Application::new(model).map_err(explain)?;
    let (mut notes, mut silent) = (Vec::new(), Some(String::new()));
    let (mut rows, mut outside) = (0, 0);
    output::write_rows(a.output.as_deref(), global, |out| {
        let mut csv = Csv::new(out);
        a.rows.in_parts(&a.data, model, &a.id, |part| {
            let apply = Apply::new(a, global, model, &part);
            let predictions = application.predict(&part.table).map_err(explain)?;
            let (beside, found) = apply.beside(&predictions, interval)?;
            if rows == 0 {
                beside.write_header(&mut csv, &predictions)?;
            }
            beside.write_rows(&mut csv, &predictions)?;
            notes.extend(part.notes.iter().chain(part.table.notes()).cloned());
            silent = silent
                .take()
                .and_then(|_| super::witness::silent(model, &predictions));
            rows += part.table.rows();
            outside += found;
            Ok(())
        })?;
        csv.finish()?;
        notes.extend(application.notes());
        notes.extend(silent);
        notes.extend(a.outside_note(outside, rows));
        output::notes(&notes, global);
        Ok(())
    })
}

/// Parses the probability of an interval.
fn level(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(level) if level > 0.0 && level < 1.0 => Ok(level),
        _ => Err("it must be a number above 0 and below 1, such as 0.9".to_string()),
    }
}

impl Arguments {
    /// A sentence on rows that the model extrapolates to, if there are some.
    fn outside_note(&self, found: usize, rows: usize) -> Option<String> {
        let hint = if self.flag { "" } else { "; --flag says which" };
        rows::outside_note(found, rows).map(|note| note + hint)
    }
}

/// All that predictions are made of.
struct Apply<'a> {
    a: &'a Arguments,
    global: &'a Global,
    model: &'a FittedModel,
    table: &'a Table,
    /// The columns to carry along.
    carried: &'a [String],
}

impl<'a> Apply<'a> {
    fn new(a: &'a Arguments, global: &'a Global, model: &'a FittedModel, rows: &'a Rows) -> Self {
        Self {
            a,
            global,
            model,
            table: &rows.table,
            carried: &rows.carried,
        }
    }

    /// What goes by iterations or is one object: nothing is written before every row is known to have predictions.
    fn run(&self, interval: Option<Interval>, rows: &Rows) -> Result<()> {
        let a = self.a;
        let explain = |e: ApplyError| a.iterations.explain(self.model, e);
        let (predictions, more) = self.model.predict(self.table).map_err(explain)?;
        let mut notes = [&rows.notes, self.table.notes(), &more].concat();
        notes.extend(super::witness::silent(self.model, &predictions));
        if a.every_iteration {
            notes.push(self.convergence()?);
        }
        let (beside, outside) = self.beside(&predictions, interval)?;
        notes.extend(a.outside_note(outside, self.table.rows()));
        output::notes(&notes, self.global);
        output::write_rows(a.output.as_deref(), self.global, |out| {
            if !a.every_iteration {
                return beside.write_json(out, &predictions);
            }
            drop(predictions);
            if self.global.json {
                let rows = self.table.rows();
                beside.write_every_json(out, rows, |each| self.by_iteration(each))
            } else {
                beside.write_every_csv(out, |each| self.steps(0..self.t(), each))
            }
        })
    }

    /// What stands beside predictions, and how many rows the model extrapolates to as far as it can say.
    fn beside(
        &self,
        predictions: &Predictions,
        interval: Option<Interval>,
    ) -> Result<(Beside<'a>, usize)> {
        let found = rows::outside(self.model, self.table, self.a.flag)?;
        let outside = found.as_ref().map_or(0, Vec::len);
        let beside = Beside {
            ids: self.ids(&write::header(predictions))?,
            interval,
            outside: found.filter(|_| self.a.flag),
            safe: self.a.csv_safe,
        };
        Ok((beside, outside))
    }

    /// The model's iterations.
    fn t(&self) -> usize {
        self.model.parameters.network().tying().iterations()
    }

    /// Calls `each` with the first row and the steps of some rows after another.
    fn steps(
        &self,
        iterations: std::ops::Range<usize>,
        mut each: impl FnMut(usize, Vec<IterationPredictions>) -> Result<()>,
    ) -> Result<()> {
        let steps = self
            .model
            .predict_every_iteration(self.table, iterations, |first, steps| {
                each(first, steps).map_err(Stop::Caller)
            });
        match steps {
            Ok(_) => Ok(()),
            Err(Stop::Caller(error)) => Err(error),
            Err(Stop::Apply(error)) => Err(self.a.iterations.explain(self.model, error)),
        }
    }

    /// Calls `each` with one iteration after another and the step of all rows.
    fn by_iteration(
        &self,
        each: &mut dyn FnMut(usize, IterationPredictions) -> Result<()>,
    ) -> Result<()> {
        let at_once = (STEPS_AT_ONCE / self.table.rows().max(1)).max(1);
        for start in (0..self.t()).step_by(at_once) {
            let mut all: Vec<IterationPredictions> = Vec::new();
            self.steps(start..self.t().min(start + at_once), |_, steps| {
                if all.is_empty() {
                    all = steps;
                } else {
                    all.iter_mut()
                        .zip(steps)
                        .for_each(|(all, more)| write::append(all, more));
                }
                Ok(())
            })?;
            for (i, step) in all.into_iter().enumerate() {
                each(start + i, step)?;
            }
        }
        Ok(())
    }

    /// From which iteration on the state hardly changes, in a sentence.
    fn convergence(&self) -> Result<String> {
        let (t, n) = (self.t(), self.table.rows());
        if self.model.parameters.network().form() == Form::Affine {
            return Ok(
                "the model is linear and has no iterations: its predictions stand at t = 1"
                    .to_string(),
            );
        }
        ensure!(
            t <= MOST_STEPS,
            "the model makes T = {} iterations, too many to show one by one: stop earlier with --iterations",
            number::integer(t as u64)
        );
        // The median is small if more than half of the changes are.
        let (mut small, mut last) = (vec![0; t], Vec::with_capacity(n));
        self.steps(0..t, |_, steps| {
            for (small, step) in small.iter_mut().zip(&steps) {
                *small += step.change.iter().filter(|v| **v < SMALL).count();
            }
            last.extend(steps.into_iter().last().into_iter().flat_map(|s| s.change));
            Ok(())
        })?;
        let settled = small.iter().rev().take_while(|small| 2 * **small > n);
        let settled = settled.count();
        Ok(if settled == 0 {
            format!(
                "the last iteration, t = {t}, still changes the state by {:.1}% (median over rows)",
                100.0 * median(&last)
            )
        } else {
            format!(
                "from t = {} of {t} on, an iteration changes the state by less than {:.0}% (median over rows)",
                t - settled + 1,
                100.0 * SMALL
            )
        })
    }

    /// The columns to carry along.
    fn ids(&self, header: &[String]) -> Result<Vec<(String, Vec<Cow<'a, str>>)>> {
        let added = [
            (self.a.every_iteration, &["row", "t", "change"][..]),
            (self.a.interval.is_some(), &["lower", "upper"]),
            (self.a.flag, &["outside"]),
        ];
        let is_added = |name: &str| {
            let there = added.iter().filter(|(there, _)| *there);
            there.flat_map(|(_, names)| *names).any(|n| *n == name)
        };
        let ids = self.carried.iter().map(|name| {
            ensure!(
                !header.contains(name) && !is_added(name),
                "--id {name} has the name of a column that predict writes: rename it in {}",
                self.table.source()
            );
            let column = self.table.column(name);
            let column = column.ok_or_else(|| RolesError::no_column(self.table, name, &[]))?;
            let cells = match self.table.verbatim(name) {
                Some(cells) => cells.iter().map(|cell| Cow::from(cell.as_str())).collect(),
                None => (0..self.table.rows())
                    .map(|row| Cow::from(column.text(row).unwrap_or_default()))
                    .collect(),
            };
            Ok((name.clone(), cells))
        });
        ids.collect()
    }
}

/// Why steps stop.
enum Stop {
    Apply(ApplyError),
    Caller(anyhow::Error),
}

impl From<ApplyError> for Stop {
    fn from(error: ApplyError) -> Self {
        Self::Apply(error)
    }
}

/// A relative change of the state that hardly matters.
const SMALL: f64 = 0.01;
