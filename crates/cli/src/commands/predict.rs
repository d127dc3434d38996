//! `loopfit predict`.

use crate::architecture::ExpectedArchitecture;
use crate::data::{DataName, ReadArguments};
use crate::exit::{Exit, usage};
use crate::iterations::IterationsArgument;
use crate::{Global, output};
use anyhow::Result;
use loopfit_data::Table;
use loopfit_data::preprocess::PreprocessError;
use loopfit_engine::{ApplyError, FittedModel, IterationPredictions, Predictions};
use loopfit_report::number;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit predict model.safetensors new.csv > predictions.csv\n  loopfit predict model.safetensors new.csv -o predictions.csv\n  loopfit predict model.safetensors - --json < new.csv\n  loopfit predict model.safetensors new.csv --interval 0.9 > intervals.csv\n  loopfit predict model.safetensors new.csv --flag > flagged.csv\n  loopfit predict model.safetensors new.csv --every-iteration > readout.csv\n  loopfit predict model.safetensors new.csv --iterations 8"
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
    /// Seed of a simulation: its function and its rows; 0 by default.
    #[arg(long)]
    seed: Option<u64>,
    /// Add columns `lower` and `upper`: an interval that holds a new response with this probability, from residuals of rows
    /// that fits had not seen.
    #[arg(long, value_name = "LEVEL", value_parser = level, conflicts_with_all = ["every_iteration", "iterations"])]
    interval: Option<f64>,
    /// Add a column `outside`: the input columns, separated by semicolons, in which a row lies outside what the training rows
    /// hold, so that its prediction is an extrapolation.
    #[arg(long)]
    flag: bool,
    /// Give the prediction after each iteration t = 1, ..., T, with the relative change of the
    /// state, |S_t - S_(t-1)| / |S_t|: small changes say that fewer iterations would do.
    #[arg(long)]
    every_iteration: bool,
    #[command(flatten)]
    iterations: IterationsArgument,
    #[command(flatten)]
    expected: ExpectedArchitecture,
    #[command(flatten)]
    read: ReadArguments,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
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
    let model = a.iterations.load(&a.model)?;
    a.expected.check(&model, &a.model)?;
    let interval = match a.interval {
        Some(level) => Some(Interval {
            level,
            half_width: model.half_width(level)?,
        }),
        None => None,
    };
    let (table, mut notes) = a.read.table(&a.data, a.seed)?;
    notes.extend_from_slice(table.notes());
    let (json, csv) = if a.every_iteration {
        let every = || model.predict_every_iteration(&table);
        let every = super::on_threads(global, every)?;
        let (steps, more) = every.map_err(|e| a.iterations.explain(e))?;
        notes.extend(more);
        notes.push(convergence(&steps));
        let outside = a.outside(&model, &table, &mut notes)?;
        (
            every_to_json(&steps, outside.as_ref()),
            every_to_csv(&steps, outside.as_ref())?,
        )
    } else {
        let predicted = super::on_threads(global, || model.predict(&table))?;
        let (predictions, more) = predicted.map_err(|e| a.iterations.explain(e))?;
        notes.extend(more);
        notes.extend(super::witness::silent(&model, &predictions));
        let outside = a.outside(&model, &table, &mut notes)?;
        (
            with_beside(
                to_json(&predictions),
                &predictions,
                interval,
                outside.as_ref(),
            ),
            to_csv(&predictions, interval, outside.as_ref())?,
        )
    };
    if !global.quiet {
        notes.iter().for_each(|note| output::say(note));
    }
    if global.json {
        output::print_json(&json)?;
    } else {
        match &a.output {
            Some(path) => {
                output::write_file(path, &csv)?;
                output::wrote(path, global);
            }
            None => output::print(&csv)?,
        }
    }
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

/// What is added on both sides of a prediction.
#[derive(Clone, Copy)]
struct Interval {
    level: f64,
    half_width: f64,
}

impl Interval {
    fn ends(self, prediction: f64) -> [f64; 2] {
        [prediction - self.half_width, prediction + self.half_width]
    }
}

/// For each row its columns outside what the training rows hold.
type Outside = Vec<Vec<String>>;

impl Arguments {
    /// The columns to flag, if asked for, and in any case a note on rows that have some; a model without ranges cannot say.
    fn outside(
        &self,
        model: &FittedModel,
        table: &Table,
        notes: &mut Vec<String>,
    ) -> Result<Option<Outside>> {
        let found = match model.outside_range(table) {
            Err(ApplyError::Preprocess(PreprocessError::NoRange { .. })) if !self.flag => {
                return Ok(None);
            }
            found => found?,
        };
        if !found.is_empty() {
            let hint = if self.flag { "" } else { "; --flag says which" };
            notes.push(format!(
                "rows outside the range of the training rows: {} of {}{hint}",
                number::integer(found.len() as u64),
                number::integer(table.rows() as u64)
            ));
        }
        let mut outside = vec![Vec::new(); table.rows()];
        for row in found {
            outside[row.position] = row.columns.into_iter().map(String::from).collect();
        }
        Ok(self.flag.then_some(outside))
    }
}

/// The flag's cell of a row, if there are flags.
fn flags(outside: Option<&Outside>, row: usize) -> Option<String> {
    outside.map(|outside| outside[row].join(";"))
}

/// The flag's name, if there are flags.
fn flags_name(outside: Option<&Outside>) -> Option<String> {
    outside.map(|_| "outside".to_string())
}

fn to_csv(
    predictions: &Predictions,
    interval: Option<Interval>,
    outside: Option<&Outside>,
) -> Result<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let ends = interval.map(|_| ["lower", "upper"].map(String::from));
    let names = header(predictions)
        .into_iter()
        .chain(ends.into_iter().flatten());
    csv.write_record(names.chain(flags_name(outside)))?;
    for row in 0..rows(predictions) {
        let ends = match (interval, predictions) {
            (Some(interval), Predictions::Responses(values)) => {
                interval.ends(values[row]).map(|v| v.to_string()).to_vec()
            }
            _ => Vec::new(),
        };
        let cells = cells(predictions, row).into_iter().chain(ends);
        csv.write_record(cells.chain(flags(outside, row)))?;
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
}

/// One line for each row and iteration.
fn every_to_csv(steps: &[IterationPredictions], outside: Option<&Outside>) -> Result<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let Some(last) = steps.last() else {
        return Ok(String::new());
    };
    let place = ["row", "t"].map(String::from).into_iter();
    let change = std::iter::once("change".to_string()).chain(flags_name(outside));
    csv.write_record(place.chain(header(&last.predictions)).chain(change))?;
    for row in 0..rows(&last.predictions) {
        for (i, step) in steps.iter().enumerate() {
            let place = [(row + 1).to_string(), (i + 1).to_string()].into_iter();
            let change = std::iter::once(step.change[row].to_string());
            let change = change.chain(flags(outside, row));
            csv.write_record(place.chain(cells(&step.predictions, row)).chain(change))?;
        }
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
}

fn every_to_json(steps: &[IterationPredictions], outside: Option<&Outside>) -> Value {
    let of_each = steps.iter().enumerate().map(|(i, step)| {
        let mut json = to_json(&step.predictions);
        json["t"] = json!(i + 1);
        json["change"] = json!(step.change);
        json
    });
    let mut json = json!({ "iterations": of_each.collect::<Vec<_>>() });
    if let Some(outside) = outside {
        json["outside"] = json!(outside);
    }
    json
}

/// Adds intervals and flags.
fn with_beside(
    mut json: Value,
    predictions: &Predictions,
    interval: Option<Interval>,
    outside: Option<&Outside>,
) -> Value {
    if let (Some(interval), Predictions::Responses(values)) = (interval, predictions) {
        let ends: Vec<[f64; 2]> = values.iter().map(|v| interval.ends(*v)).collect();
        json["level"] = json!(interval.level);
        json["half_width"] = json!(interval.half_width);
        json["lower"] = ends.iter().map(|[lower, _]| *lower).collect();
        json["upper"] = ends.iter().map(|[_, upper]| *upper).collect();
    }
    if let Some(outside) = outside {
        json["outside"] = json!(outside);
    }
    json
}

/// From which iteration on the state hardly changes, in a sentence.
fn convergence(steps: &[IterationPredictions]) -> String {
    let medians: Vec<f64> = steps.iter().map(|step| median(&step.change)).collect();
    let settled = medians.iter().rev().take_while(|m| **m < SMALL).count();
    match medians.last() {
        Some(last) if settled == 0 => format!(
            "the last iteration, t = {}, still changes the state by {:.1}% (median over rows)",
            steps.len(),
            100.0 * last
        ),
        _ => format!(
            "from t = {} of {} on, an iteration changes the state by less than {:.0}% (median over rows)",
            steps.len() - settled + 1,
            steps.len(),
            100.0 * SMALL
        ),
    }
}

/// A relative change of the state that hardly matters.
const SMALL: f64 = 0.01;

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Names of the columns.
fn header(predictions: &Predictions) -> Vec<String> {
    match predictions {
        Predictions::Responses(_) => vec!["prediction".to_string()],
        Predictions::LogDensities(_) => vec!["log_density".to_string()],
        Predictions::Probabilities { classes, .. } => std::iter::once("prediction".to_string())
            .chain(classes.iter().map(|c| format!("p({c})")))
            .collect(),
    }
}

fn rows(predictions: &Predictions) -> usize {
    match predictions {
        Predictions::Responses(values) | Predictions::LogDensities(values) => values.len(),
        Predictions::Probabilities { labels, .. } => labels.len(),
    }
}

/// The cells of a row.
fn cells(predictions: &Predictions, row: usize) -> Vec<String> {
    match predictions {
        Predictions::Responses(values) | Predictions::LogDensities(values) => {
            vec![values[row].to_string()]
        }
        Predictions::Probabilities {
            classes,
            values,
            labels,
        } => {
            let own = &values[row * classes.len()..][..classes.len()];
            std::iter::once(classes[labels[row]].clone())
                .chain(own.iter().map(f64::to_string))
                .collect()
        }
    }
}

fn to_json(predictions: &Predictions) -> Value {
    match predictions {
        Predictions::Responses(values) => json!({ "predictions": values }),
        Predictions::LogDensities(values) => json!({ "log_densities": values }),
        Predictions::Probabilities {
            classes,
            values,
            labels,
        } => {
            let rows: Vec<&[f64]> = values.chunks(classes.len()).collect();
            let labels: Vec<&String> = labels.iter().map(|label| &classes[*label]).collect();
            json!({ "classes": classes, "predictions": labels, "probabilities": rows })
        }
    }
}
