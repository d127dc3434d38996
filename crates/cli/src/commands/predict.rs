//! `loopfit predict`.

use crate::architecture::ExpectedArchitecture;
use crate::data::{DataName, ReadArguments};
use crate::exit::{Exit, usage};
use crate::iterations::IterationsArgument;
use crate::{Global, output};
use anyhow::Result;
use loopfit_engine::{IterationPredictions, Predictions};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit predict model.safetensors new.csv > predictions.csv\n  loopfit predict model.safetensors new.csv -o predictions.csv\n  loopfit predict model.safetensors - --json < new.csv\n  loopfit predict model.safetensors new.csv --every-iteration > readout.csv\n  loopfit predict model.safetensors new.csv --iterations 8"
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
    let (table, mut notes) = a.read.table(&a.data, a.seed)?;
    let (json, csv) = if a.every_iteration {
        let every = || model.predict_every_iteration(&table);
        let every = super::on_threads(global, every)?;
        let (steps, more) = every.map_err(|e| a.iterations.explain(e))?;
        notes.extend(more);
        notes.push(convergence(&steps));
        (every_to_json(&steps), every_to_csv(&steps)?)
    } else {
        let predicted = super::on_threads(global, || model.predict(&table))?;
        let (predictions, more) = predicted.map_err(|e| a.iterations.explain(e))?;
        notes.extend(more);
        (to_json(&predictions), to_csv(&predictions)?)
    };
    if !global.quiet {
        notes.iter().for_each(|note| output::say(note));
    }
    if global.json {
        output::print_json(&json)?;
    } else {
        match &a.output {
            Some(path) => output::write_file(path, &csv)?,
            None => output::print(&csv)?,
        }
    }
    Ok(Exit::Done)
}

fn to_csv(predictions: &Predictions) -> Result<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(header(predictions))?;
    for row in 0..rows(predictions) {
        csv.write_record(cells(predictions, row))?;
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
}

/// One line for each row and iteration.
fn every_to_csv(steps: &[IterationPredictions]) -> Result<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let Some(last) = steps.last() else {
        return Ok(String::new());
    };
    let place = ["row", "t"].map(String::from).into_iter();
    let change = std::iter::once("change".to_string());
    csv.write_record(place.chain(header(&last.predictions)).chain(change))?;
    for row in 0..rows(&last.predictions) {
        for (i, step) in steps.iter().enumerate() {
            let place = [(row + 1).to_string(), (i + 1).to_string()].into_iter();
            let change = std::iter::once(step.change[row].to_string());
            csv.write_record(place.chain(cells(&step.predictions, row)).chain(change))?;
        }
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
}

fn every_to_json(steps: &[IterationPredictions]) -> Value {
    let of_each = steps.iter().enumerate().map(|(i, step)| {
        let mut json = to_json(&step.predictions);
        json["t"] = json!(i + 1);
        json["change"] = json!(step.change);
        json
    });
    json!({ "iterations": of_each.collect::<Vec<_>>() })
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
