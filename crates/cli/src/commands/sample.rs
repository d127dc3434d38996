//! `loopfit sample`.

use crate::data::{count, seed};
use crate::exit::{Exit, usage};
use crate::iterations::warn_of_many;
use crate::json::object;
use crate::{Global, output};
use anyhow::Result;
use loopfit_fitted::FittedModel;
use loopfit_numerics::stream::Stream;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  loopfit sample density.safetensors -n 1000 --seed 1 > draws.csv"
)]
pub(crate) struct Arguments {
    /// The model file of a density.
    model: PathBuf,
    /// Number of draws.
    #[arg(short, long = "count", value_name = "N", default_value_t = 1000, value_parser = count)]
    n: usize,
    /// Seed of the draws; fewer draws with the same seed are the first of more.
    #[arg(long, default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Write a csv file instead of printing.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    if let Some(path) = &a.output {
        if global.json {
            return Err(usage(
                "-o writes a csv file and --json prints: choose one".to_string(),
            ));
        }
        output::check_writable(path, &[a.model.as_path()])?;
    }
    let model = FittedModel::load(&a.model)?;
    warn_of_many(&model, global);
    let stream = Stream::new(a.seed).child("sample");
    let draws = super::on_threads(global, || model.sample(a.n, stream))??;
    let columns: Vec<String> = model
        .preprocessing
        .inputs()
        .iter()
        .map(|i| i.name().to_string())
        .collect();
    if global.json {
        output::print_json(&object!({ "columns": columns, "draws": draws }))?;
        return Ok(Exit::Done);
    }
    output::write_rows(a.output.as_deref(), global, |out| {
        let mut csv = csv::Writer::from_writer(out);
        let mut write = |cells: &[String]| csv.write_record(cells).map_err(output::csv_error);
        write(&columns)?;
        for draw in &draws {
            write(&draw.iter().map(f64::to_string).collect::<Vec<_>>())?;
        }
        Ok(csv.flush()?)
    })?;
    Ok(Exit::Done)
}
