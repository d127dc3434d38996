//! `loopfit fit`.

use super::compare::Shape;
use crate::data::{LearnArguments, cap, updates};
use crate::exit::{Exit, usage};
use crate::{Global, interrupt, output, progress};
use anyhow::Result;
use clap::ValueEnum;
use loopfit_engine::Engine;
use loopfit_model::Method;
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_search::fit::{MethodFit, Request, fit};
use loopfit_search::replication::{Replication, Source};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit fit data.csv --target y --budget 128 -o model.safetensors\n  loopfit fit data.csv --target species --budget 64 --method loop -o model.safetensors\n  loopfit fit points.csv --task density --budget 160 -o density.safetensors\n  cat data.csv | loopfit fit - --target y --budget 128 --json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    learn: LearnArguments,
    /// The cap B on distinct trainable numbers.
    #[arg(long, value_name = "B", value_parser = cap)]
    budget: usize,
    /// Where the model goes.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Methods to try; all by default.
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    method: Vec<MethodName>,
    /// Updates of each method, over all its starts.
    #[arg(long, value_name = "N", default_value_t = 96_000, value_parser = updates)]
    updates: usize,
    /// Fix a method's shape: single=q,r or loop=q,r,T or untied=q,r,T.
    #[arg(long, value_name = "METHOD=q,r[,T]")]
    shape: Vec<Shape>,
    /// Seed of the splits, starts and batches.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    Single,
    Loop,
    Untied,
}

impl MethodName {
    fn method(self) -> Method {
        match self {
            Self::Single => Method::Single,
            Self::Loop => Method::Loop,
            Self::Untied => Method::Untied,
        }
    }
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    if let Some(path) = &a.output {
        let read: Vec<&Path> = a.learn.data.file().into_iter().collect();
        output::check_writable(path, &read)?;
    }
    let wanted =
        |method: Method| a.method.is_empty() || a.method.iter().any(|n| n.method() == method);
    if let Some(shape) = a.shape.iter().find(|s| !wanted(s.0.tying.method())) {
        let method = shape.0.tying.method().key();
        return Err(usage(format!(
            "--shape {method}=... is for a method that --method leaves out"
        )));
    }
    let source = a.learn.source(a.seed)?;
    let replication = source.replication(a.seed, a.learn.noise())?;
    let notes = notes(&source, &replication);
    if !global.quiet {
        notes.iter().for_each(|note| output::say(note));
    }
    let request = Request {
        budget: a.budget,
        methods: Method::ALL.into_iter().filter(|m| wanted(*m)).collect(),
        updates: a.updates,
        shapes: a.shape.iter().map(|s| s.0).collect(),
    };
    let engine = Engine::new(global.threads)?;
    let total = (request.methods.len() as u64).saturating_mul(a.updates as u64);
    let fits = interrupt::searching(|control| {
        progress::with_bar(total, global.quiet, control, || {
            fit(&engine, &replication, a.seed, &request, control)
        })
    })?;
    let best = &fits[0];
    if best.failed() {
        output::say(
            "error: no fit has a finite validation loss and no model was written: look for extreme values in the data",
        );
        return Ok(Exit::FitsFailed);
    }
    if global.json {
        output::print_json(&to_json(a, &source, &replication, &notes, &fits))?;
    } else {
        output::print(&to_text(a, &source, &fits))?;
    }
    if let Some(path) = &a.output {
        interrupt::writing(|| best.model.save(path))?;
        if !global.quiet {
            output::say(&format!("wrote {}", path.display()));
        }
    } else if !global.quiet {
        output::say("no model was written: name a file with -o to keep it");
    }
    Ok(if fits.iter().any(MethodFit::failed) {
        Exit::FitsFailed
    } else {
        Exit::Done
    })
}

/// What a person should know about the data before the fit.
fn notes(source: &Source, replication: &Replication) -> Vec<String> {
    let problem = &replication.problem;
    let mut notes = Vec::new();
    if let Source::Table(table) = source {
        notes.push(table.decision.because.clone());
    }
    notes.extend(replication.notes.iter().cloned());
    notes.push(format!(
        "rows: {} for training and {} for validation; inputs: {}",
        problem.train.n(),
        problem.valid.n(),
        problem.train.d()
    ));
    notes
}

fn to_text(a: &Arguments, source: &Source, fits: &[MethodFit]) -> String {
    let metric = source.metric();
    let mut table = Table::new([
        ("method", Align::Left),
        ("q", Align::Right),
        ("r", Align::Right),
        ("T", Align::Right),
        ("numbers", Align::Right),
        (source.validation_metric(), Align::Right),
        (metric, Align::Right),
    ]);
    let exponent = |values: Vec<f64>| Exponent::of(values);
    let validations = || fits.iter().map(|f| f.validation).collect::<Vec<_>>();
    let tests = || fits.iter().map(|f| f.test).collect::<Vec<_>>();
    for (i, f) in fits.iter().enumerate() {
        let network = f.model.parameters.network();
        let cells = [
            f.method.to_string(),
            network.q().to_string(),
            network.r().to_string(),
            network.tying().iterations().to_string(),
            network.count().to_string(),
            number::value(f.validation, 4, exponent(validations())),
            number::value(f.test, 4, exponent(tests())),
        ];
        if i == 0 {
            table.push_best(cells);
        } else {
            table.push(cells);
        }
    }
    format!(
        "Best under B = {}, selected by validation: {}\n{}",
        a.budget,
        fits[0].model.parameters.network(),
        table.to_terminal(output::color())
    )
}

fn to_json(
    a: &Arguments,
    source: &Source,
    replication: &Replication,
    notes: &[String],
    fits: &[MethodFit],
) -> Value {
    let methods: Vec<Value> = fits
        .iter()
        .map(|f| {
            let network = f.model.parameters.network();
            json!({
                "method": f.method.key(), "q": network.q(), "r": network.r(), "t": network.tying().iterations(),
                "count": network.count(), "validation": f.validation, "test": f.test,
                "updates": f.updates, "stop": f.stop,
            })
        })
        .collect();
    json!({
        "data": source.name(), "task": replication.preprocessing.task(), "budget": a.budget, "seed": a.seed,
        "train_rows": replication.problem.train.n(), "valid_rows": replication.problem.valid.n(), "test_rows": replication.test_rows,
        "inputs": replication.preprocessing.feature_names(), "metric": source.metric(), "notes": notes,
        "selected": fits[0].method.key(), "methods": methods,
        "model": a.output.as_ref().map(|p| p.display().to_string()),
    })
}
