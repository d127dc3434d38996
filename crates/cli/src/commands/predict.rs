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
use loopfit_data::preprocess::OutsideRange;
use loopfit_data::roles::RolesError;
use loopfit_engine::{ApplyError, FittedModel, IterationPredictions};
use loopfit_model::Form;
use loopfit_numerics::sum::median;
use loopfit_report::number;
use std::borrow::Cow;
use std::path::PathBuf;
use write::{Beside, Interval};

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
    let Rows {
        table,
        carried,
        mut notes,
    } = a.rows.table(&a.data, &model, &a.id)?;
    notes.extend_from_slice(table.notes());
    super::on_threads(global, || {
        let apply = Apply {
            a,
            global,
            model: &model,
            table: &table,
            carried: &carried,
        };
        apply.run(interval, notes)
    })??;
    Ok(Exit::Done)
}

/// Parses the probability of an interval.
fn level(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(level) if level > 0.0 && level < 1.0 => Ok(level),
        Ok(_) => Err("it must be above 0 and below 1, such as 0.9".to_string()),
        Err(e) => Err(e.to_string()),
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

impl Apply<'_> {
    /// Nothing is written before every row is known to have predictions.
    fn run(&self, interval: Option<Interval>, mut notes: Vec<String>) -> Result<()> {
        let a = self.a;
        let explain = |e: ApplyError| a.iterations.explain(self.model, e);
        let (predictions, more) = self.model.predict(self.table).map_err(explain)?;
        notes.extend(more);
        notes.extend(super::witness::silent(self.model, &predictions));
        if a.every_iteration {
            notes.push(self.convergence()?);
        }
        let beside = Beside {
            ids: self.ids(&write::header(&predictions))?,
            interval,
            outside: self.outside(&mut notes)?,
            safe: a.csv_safe,
        };
        if !self.global.quiet {
            notes.iter().for_each(|note| output::note(note));
        }
        output::write_rows(a.output.as_deref(), self.global, |out| {
            match (a.every_iteration, self.global.json) {
                (false, false) => beside.write_csv(out, &predictions),
                (false, true) => beside.write_json(out, &predictions),
                (true, false) => {
                    drop(predictions);
                    beside.write_every_csv(out, |each| self.steps(0..self.t(), each))
                }
                (true, true) => {
                    drop(predictions);
                    let rows = self.table.rows();
                    beside.write_every_json(out, rows, |each| self.by_iteration(each))
                }
            }
        })
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
    fn ids(&self, header: &[String]) -> Result<Vec<(String, Vec<Cow<'_, str>>)>> {
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

    /// The rows to flag, if asked for, and in any case a note on them; a model without ranges cannot say.
    fn outside(&self, notes: &mut Vec<String>) -> Result<Option<Vec<OutsideRange<'_>>>> {
        let found = rows::outside(self.model, self.table, self.a.flag)?;
        let note = found
            .as_ref()
            .and_then(|found| rows::outside_note(found, self.table));
        let hint = if self.a.flag {
            ""
        } else {
            "; --flag says which"
        };
        notes.extend(note.map(|note| note + hint));
        Ok(found.filter(|_| self.a.flag))
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
