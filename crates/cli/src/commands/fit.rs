//! `loopfit fit`.

mod estimate;

use crate::architecture::ArchitectureArguments;
use crate::data::{LearnArguments, cap, index_bound};
use crate::effort::{SearchArguments, about, duration};
use crate::estimating::EstimateArguments;
use crate::exit::{Exit, usage};
use crate::{Global, interrupt, output, progress};
use anyhow::Result;
use clap::ValueEnum;
use loopfit_engine::{DensityFacts, Engine};
use loopfit_model::Method;
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_search::Family;
use loopfit_search::fit::{MethodFit, Request, fit};
use loopfit_search::replication::{Replication, Source};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Part of a time limit that the search is planned for.
const SAFETY: f64 = 0.8;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit fit data.csv --target y --budget 128 -o model.safetensors\n  loopfit fit data.csv --target y --budget 128 --effort strong -o model.safetensors\n  loopfit fit data.csv --target y --budget 128 --time 60s -o model.safetensors\n  loopfit fit data.csv --target species --budget 64 --method loop -o model.safetensors\n  loopfit fit data.csv --target y --budget 256 --arch transformer --tokens 0,1/2,3 -o model.safetensors\n  loopfit fit data.csv --target y --budget 256 --arch any -o model.safetensors\n  loopfit fit data:airfoil --data-dir data --budget 64 -o airfoil.safetensors\n  loopfit fit points.csv --task density --budget 160 -o density.safetensors\n  cat data.csv | loopfit fit - --target y --budget 128 --json"
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
    #[command(flatten)]
    architecture: ArchitectureArguments,
    #[command(flatten)]
    estimate: EstimateArguments,
    #[command(flatten)]
    search: SearchArguments,
    /// Search for so long instead (60s, 2m, 1h): as many updates as this machine makes in the
    /// time, and whatever is best when it is over.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["effort", "updates"], value_parser = duration)]
    time: Option<Duration>,
    /// Bound M of a density's index, within which densities differ by a factor of at most e^(2M); 4 by default.
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = index_bound)]
    bound: Option<f32>,
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
        let files = [a.learn.data.file(), a.search.protocol.as_deref()];
        let read: Vec<&Path> = files.into_iter().flatten().collect();
        output::check_writable(path, &read)?;
    }
    let wanted =
        |method: Method| a.method.is_empty() || a.method.iter().any(|n| n.method() == method);
    if let Some(shape) = a.search.shape.iter().find(|s| !wanted(s.tying.method())) {
        let method = shape.tying.method().key();
        return Err(usage(format!(
            "--shape {method}=... is for a method that --method leaves out"
        )));
    }
    let methods: Vec<Method> = Method::ALL.into_iter().filter(|m| wanted(*m)).collect();
    let source = a.learn.source(a.seed)?;
    if a.bound.is_some() && !source.is_density() {
        return Err(usage(
            "--bound is for the index of a density: leave it out, or add --task density"
                .to_string(),
        ));
    }
    let protocol = a.search.protocol(&source)?;
    if a.estimate
        .applies(&source, a.architecture.is_ffn(), &a.search)?
    {
        return estimate::run(a, &source, methods, global);
    }
    let mut request = Request {
        budget: a.budget,
        families: a.architecture.families(&methods, &protocol)?,
        updates: a.search.updates(),
        protocol: protocol.clone(),
    };
    let mut replication = source.replication(a.seed, a.learn.noise())?;
    if let Some(bound) = a.bound {
        Arc::make_mut(&mut replication.problem).bounds.output = bound;
    }
    let mut notes = notes(&source, &replication);
    let left_out = request.leave_out_what_cannot_fit([&*replication.problem]);
    let names = replication.preprocessing.feature_names();
    notes.extend(left_out.map_err(|error| a.architecture.with_inputs(error, &names))?);
    if !global.quiet {
        notes.iter().for_each(|note| output::say(note));
    }
    let engine = Engine::new(global.threads)?;
    let started = Instant::now();
    if let Some(time) = a.time {
        let seconds = SAFETY * time.as_secs_f64();
        request.updates = request.updates_within(&engine, &replication, seconds)?;
        interrupt::control().stop_at(started + time);
    }
    let predicted = request.seconds(&engine, &replication)?;
    if !global.quiet {
        output::say(&search_note(&request, predicted, engine.threads()));
    }
    let total = (request.families.len() as u64).saturating_mul(request.updates as u64);
    let fits = interrupt::searching(|control| {
        progress::with_bar(total, global.quiet, control, || {
            fit(&engine, &replication, a.seed, &request, control)
        })
    })?;
    let ending = Ending {
        predicted,
        seconds: started.elapsed().as_secs_f64(),
        interrupted: interrupt::was_interrupted(),
        out_of_time: interrupt::control().is_stopped() && !interrupt::was_interrupted(),
    };
    let best = &fits[0];
    if best.failed() {
        output::say(
            "error: no fit has a finite validation loss and no model was written: look for extreme values in the data",
        );
        return Ok(Exit::FitsFailed);
    }
    // The model first: whatever happens to the output, it is not lost.
    if let Some(path) = &a.output {
        interrupt::writing(|| best.model.save(path))?;
    }
    let density = engine.install(|| best.model.density_facts(replication.problem.train.x()))?;
    if global.json {
        let mut result = to_json(a, &source, &replication, &notes, &fits);
        result["density"] = json!(density);
        output::print_json(&with_search(result, &request, &ending))?;
    } else {
        output::print(&to_text(a, &source, &fits))?;
        output::print(&optimum_text(best))?;
        if let Some(facts) = &density {
            output::print(&density_text(facts))?;
        }
    }
    if !global.quiet {
        let unusual = density.iter().flat_map(DensityFacts::notes);
        unusual.for_each(|note| output::say(&note));
    }
    if ending.interrupted {
        output::say("interrupted: this is the best so far");
    } else if !global.quiet && ending.out_of_time {
        output::say("the time was over before the search: this is the best so far");
    }
    if !global.quiet {
        if protocol.refit && !best.refitted {
            output::say("there was no time left to refit with the validation rows");
        }
        output::say(&match &a.output {
            Some(path) => format!("wrote {}", path.display()),
            None => "no model was written: name a file with -o to keep it".to_string(),
        });
    }
    Ok(if ending.interrupted {
        Exit::Interrupted
    } else if fits.iter().any(MethodFit::failed) {
        Exit::FitsFailed
    } else {
        Exit::Done
    })
}

/// How a search ended.
struct Ending {
    predicted: f64,
    seconds: f64,
    interrupted: bool,
    out_of_time: bool,
}

/// What is going to happen and how long it takes.
fn search_note(request: &Request, predicted: f64, threads: usize) -> String {
    format!(
        "search: {} updates for each method ({}), {} on {threads} threads",
        number::integer(request.updates as u64),
        request
            .families
            .iter()
            .map(Family::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        about(predicted)
    )
}

/// What a person should know about the data before the fit.
fn notes(source: &Source, replication: &Replication) -> Vec<String> {
    let problem = &replication.problem;
    let mut notes = source.notes();
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
            f.family.to_string(),
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

/// How good the kept optimum is, as far as can be told.
fn optimum_text(best: &MethodFit) -> String {
    let mut text = String::new();
    if let Some(t) = best.tolerance {
        let achieved = if t.achieved_decrease > 0.0 {
            format!("lowers it by {:.1e}", t.achieved_decrease)
        } else {
            "does not lower it".to_string()
        };
        text += &format!(
            "Optimum: training loss {:.5}, gradient norm {:.1e}. One damped Fisher-scoring step should lower the loss by {:.1e} and {achieved}.\n",
            t.loss, t.gradient_norm, t.predicted_decrease
        );
    }
    if let Some(gap) = best.gap {
        text += &format!(
            "The second best local optimum found has a validation loss {gap:.1e} higher.\n"
        );
    }
    text
}

/// How well the normaliser of the kept density is known.
fn density_text(facts: &DensityFacts) -> String {
    format!(
        "Normaliser: log Z = {:.4}, with an error of {:.1e}; the index is at its bound of ±{} on {} of {} training rows.\n",
        facts.log_z, facts.log_z_error, facts.bound, facts.clipped_rows, facts.rows
    )
}

/// Adds what was searched and how it ended.
fn with_search(mut result: Value, request: &Request, ending: &Ending) -> Value {
    result["search"] = json!({
        "updates": request.updates, "predicted_seconds": ending.predicted, "seconds": ending.seconds,
        "complete": !(ending.interrupted || ending.out_of_time), "protocol": *request.protocol,
    });
    result
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
                "method": f.family.method.key(), "arch": f.family.architecture.key(), "q": network.q(), "r": network.r(), "t": network.tying().iterations(),
                "count": network.count(), "validation": f.validation, "test": f.test,
                "updates": f.updates, "stop": f.stop, "gap": f.gap, "tolerance": f.tolerance, "refitted": f.refitted,
            })
        })
        .collect();
    json!({
        "data": source.name(), "task": replication.preprocessing.task(), "budget": a.budget, "seed": a.seed,
        "train_rows": replication.problem.train.n(), "valid_rows": replication.problem.valid.n(), "test_rows": replication.test_rows,
        "inputs": replication.preprocessing.feature_names(), "metric": source.metric(), "notes": notes,
        "selected": fits[0].family.method.key(), "arch": fits[0].family.architecture.key(), "methods": methods,
        "model": a.output.as_ref().map(|p| p.display().to_string()),
    })
}
