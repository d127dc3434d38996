//! `loopfit predict`.

use crate::data::{DataName, ReadArguments};
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_engine::{FittedModel, Predictions};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit predict model.safetensors new.csv > predictions.csv\n  loopfit predict model.safetensors new.csv -o predictions.csv\n  loopfit predict model.safetensors - --json < new.csv"
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
    let model = FittedModel::load(&a.model)?;
    let (table, mut notes) = a.read.table(&a.data, a.seed)?;
    let (predictions, more) = super::on_threads(global, || model.predict(&table))??;
    notes.extend(more);
    if !global.quiet {
        notes.iter().for_each(|note| output::say(note));
    }
    if global.json {
        output::print_json(&to_json(&predictions))?;
    } else {
        let csv = to_csv(&predictions)?;
        match &a.output {
            Some(path) => output::write_file(path, &csv)?,
            None => output::print(&csv)?,
        }
    }
    Ok(Exit::Done)
}

fn to_csv(predictions: &Predictions) -> Result<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    match predictions {
        Predictions::Responses(values) => {
            csv.write_record(["prediction"])?;
            values
                .iter()
                .try_for_each(|v| csv.write_record([v.to_string()]))?;
        }
        Predictions::LogDensities(values) => {
            csv.write_record(["log_density"])?;
            values
                .iter()
                .try_for_each(|v| csv.write_record([v.to_string()]))?;
        }
        Predictions::Probabilities {
            classes,
            values,
            labels,
        } => {
            let header = std::iter::once("prediction".to_string())
                .chain(classes.iter().map(|c| format!("p({c})")));
            csv.write_record(header)?;
            for (row, label) in values.chunks(classes.len()).zip(labels) {
                csv.write_field(&classes[*label])?;
                csv.write_record(row.iter().map(f64::to_string))?;
            }
        }
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
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
