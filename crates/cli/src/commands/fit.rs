//! `loopfit fit`.

mod estimate;

use crate::architecture::ArchitectureArguments;
use crate::data::{LearnArguments, cap, index_bound, seed};
use crate::effort::{SearchArguments, about, duration};
use crate::estimating::EstimateArguments;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::methods::MethodsArgument;
use crate::{Global, interrupt, json, output, progress};
use anyhow::Result;
use loopfit_engine::{DensityFacts, Engine};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_search::Family;
use loopfit_search::fit::{MethodFit, Request, fit};
use loopfit_search::replication::{Replication, Source};
use serde_json::{Map, Value, json};
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
    #[command(flatten)]
    methods: MethodsArgument,
    #[command(flatten)]
    architecture: ArchitectureArguments,
    #[command(flatten)]
    estimate: EstimateArguments,
    #[command(flatten)]
    search: SearchArguments,
    /// Limit the search to this wall time (60s, 2m, 1h), and take the best model found when it is over.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["effort", "updates"], value_parser = duration)]
    time: Option<Duration>,
    /// Bound M of a density's index, within which densities differ by a factor of at most e^(2M); 4 by default.
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = index_bound)]
    bound: Option<f32>,
    /// Seed of the splits, starts and batches.
    #[arg(long, default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Also say how good the optimum is.
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    if let Some(path) = &a.output {
        let files = [a.learn.data.file(), a.search.protocol.as_deref()];
        let read: Vec<&Path> = files.into_iter().flatten().collect();
        output::check_writable(path, &read)?;
    }
    let methods = a.methods.chosen(&a.search)?;
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
    let mut notes = notes(a, &source, &replication);
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
    let best_so_far = |loss: f64| {
        let error = number::value(replication.error_of_loss(loss), 4, Exponent::Own);
        format!("best {} {error}", source.error_name(a.learn.noise()))
    };
    let fits = interrupt::searching(|control| {
        progress::with_bar(total, global.quiet, control, Some(&best_so_far), || {
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
        result.insert("density".into(), json!(density));
        result.insert("search".into(), search_json(&request, &ending));
        output::print_json(&result)?;
    } else {
        output::print(&to_text(a, &source, &replication, &fits, &ending))?;
        if let Some(facts) = &density {
            output::print(&density_text(facts))?;
        }
    }
    if !global.quiet {
        let unusual = density.iter().flat_map(DensityFacts::notes);
        unusual.for_each(|note| output::say(&note));
    }
    let not_reached = fits.iter().filter(|f| f.not_reached());
    let not_reached: Vec<String> = not_reached.map(|f| f.family.to_string()).collect();
    say_ending(a, !ending.complete(), &not_reached, global);
    if !global.quiet && protocol.refit && !best.refitted {
        output::say("there was no time left to fit again with the validation rows");
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

impl Ending {
    fn complete(&self) -> bool {
        !(self.interrupted || self.out_of_time)
    }
}

/// Says whether what was printed is all, and where the model is.
fn say_ending(a: &Arguments, stopped: bool, not_reached: &[String], global: &Global) {
    let missed = match not_reached {
        [] => String::new(),
        [one] => format!(", and {one} was not reached"),
        [most @ .., last] => format!(", and {} and {last} were not reached", most.join(", ")),
    };
    if interrupt::was_interrupted() {
        output::say(&format!("interrupted: this is the best so far{missed}"));
    } else if !global.quiet && stopped {
        output::say(&format!(
            "the time was over before the end: this is the best so far{missed}"
        ));
    }
    if !global.quiet {
        output::say(&match &a.output {
            Some(path) => format!("wrote {}", path.display()),
            None => "no model was written: name a file with -o to keep it".to_string(),
        });
    }
}

/// What a table's last column shows beside the errors: R2, of classes the share that is right.
fn beside(also: &[(&'static str, f64)]) -> Option<(&'static str, f64)> {
    let shown = |(name, value): &(&'static str, f64)| match *name {
        "R2" => Some(("R²", *value)),
        "accuracy" => Some(("accuracy", *value)),
        _ => None,
    };
    also.iter().find_map(shown)
}

/// A share such as R2 or an accuracy.
fn share(value: f64) -> String {
    match value.is_finite() {
        true => format!("{value:.3}"),
        false => number::ABSENT.to_string(),
    }
}

/// A warning where a model may have more numbers than rows to learn them from.
fn more_numbers_than_rows(budget: usize, rows: usize) -> Option<String> {
    (budget > rows).then(|| {
        format!(
            "a cap of {} meets {}: with more numbers than rows a fit can follow every one of them, so take a smaller cap or more rows",
            number::count(budget, "number"),
            number::count(rows, "row")
        )
    })
}

/// What is going to happen and how long it takes.
fn search_note(request: &Request, predicted: f64, threads: usize) -> String {
    format!(
        "search: {} for each method ({}), {} on {}",
        number::count(request.updates, "update"),
        request
            .families
            .iter()
            .map(Family::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        about(predicted),
        number::count(threads, "thread")
    )
}

/// What a person should know about the data before the fit.
fn notes(a: &Arguments, source: &Source, replication: &Replication) -> Vec<String> {
    let problem = &replication.problem;
    let mut notes = source.notes();
    notes.extend(replication.notes.iter().cloned());
    let rows = |n: usize| number::integer(n as u64);
    let test = match replication.test_rows {
        0 => String::new(),
        n => format!(" and {} for the test", rows(n)),
    };
    notes.push(format!(
        "rows: {} for training, {} for validation{test}; inputs: {}",
        rows(problem.train.n()),
        rows(problem.valid.n()),
        problem.train.d()
    ));
    notes.extend(more_numbers_than_rows(a.budget, problem.train.n()));
    notes
}

fn to_text(
    a: &Arguments,
    source: &Source,
    replication: &Replication,
    fits: &[MethodFit],
    ending: &Ending,
) -> String {
    let noise = a.learn.noise();
    let metric = source.metric(noise);
    let shown = beside(&fits[0].judged.also);
    let share_name = shown.map(|(name, _)| match metric.split_once(" against ") {
        Some((_, target)) => format!("{name} against {target}"),
        None => format!("test {name}"),
    });
    let mut columns = vec![
        ("method", Align::Left),
        ("q", Align::Right),
        ("r", Align::Right),
        ("T", Align::Right),
        ("numbers", Align::Right),
        (source.validation_metric(noise), Align::Right),
        (metric, Align::Right),
    ];
    columns.extend(share_name.as_deref().map(|name| (name, Align::Right)));
    let mut table = Table::new(columns);
    let validations = Exponent::of(fits.iter().map(|f| f.validation));
    let tests = Exponent::of(fits.iter().map(|f| f.judged.error));
    for (i, f) in fits.iter().enumerate() {
        let network = f.model.parameters.network();
        let mut cells = vec![f.family.to_string()];
        if f.not_reached() {
            cells.extend(vec![number::ABSENT.to_string(); 6]);
            cells[5] = "not reached".to_string();
        } else {
            cells.extend([
                network.q().to_string(),
                network.r().to_string(),
                network.tying().iterations().to_string(),
                network.count().to_string(),
                number::value(f.validation, 4, validations),
                number::value(f.judged.error, 4, tests),
            ]);
        }
        if shown.is_some() {
            let value = beside(&f.judged.also).map_or(f64::NAN, |(_, value)| value);
            cells.push(share(value));
        }
        if i == 0 {
            table.push_best(cells);
        } else {
            table.push(cells);
        }
    }
    let best = &fits[0];
    let mut text = format!(
        "Best {}under B = {}, selected by validation: {}\n{}",
        if ending.complete() { "" } else { "so far " },
        a.budget,
        best.model.parameters.network(),
        table.to_terminal(output::color())
    );
    if best.refitted {
        let problem = &replication.problem;
        text += &format!(
            "After the selection the model was fitted again, to training and validation rows together ({}); its test error is of that fit.\n",
            number::count(problem.train.n() + problem.valid.n(), "row")
        );
    }
    if a.verbose {
        text += &optimum_text(source.error_name(noise), replication, best);
    }
    text
}

/// How good the kept optimum is, as far as can be told.
fn optimum_text(error: &str, replication: &Replication, best: &MethodFit) -> String {
    let value = |v: f64| number::value(v, 3, Exponent::Own);
    let lower = |from: f64, by: f64| {
        value(replication.error_of_loss(from) - replication.error_of_loss(from - by))
    };
    let mut text = String::new();
    if let Some(t) = best.tolerance {
        let achieved = match t.achieved_decrease > 0.0 {
            true => format!("lowers it by {}", lower(t.loss, t.achieved_decrease)),
            false => "does not lower it".to_string(),
        };
        text += &format!(
            "Optimum: training {error} {}, norm of the loss's gradient {}. One damped Fisher-scoring step should lower the {error} by {} and {achieved}.\n",
            value(replication.error_of_loss(t.loss)),
            value(t.gradient_norm),
            lower(t.loss, t.predicted_decrease)
        );
    }
    if let Some(gap) = best.gap {
        text += &format!(
            "The second best local optimum found has a validation {error} that is higher by {}.\n",
            lower(best.model.provenance.validation + gap, gap)
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

/// What was searched and how it ended.
fn search_json(request: &Request, ending: &Ending) -> Value {
    json!({
        "updates": request.updates, "predicted_seconds": ending.predicted, "seconds": ending.seconds,
        "complete": ending.complete(), "protocol": *request.protocol,
    })
}

fn to_json(
    a: &Arguments,
    source: &Source,
    replication: &Replication,
    notes: &[String],
    fits: &[MethodFit],
) -> Map<String, Value> {
    let method = |f: &MethodFit| {
        let (method, arch) = (f.family.method.key(), f.family.architecture.key());
        if f.not_reached() {
            return json!({"method": method, "arch": arch, "state": "not reached", "updates": 0});
        }
        let network = f.model.parameters.network();
        json!({
            "method": method, "arch": arch, "state": "fitted", "shape": json::shape(network), "count": network.count(),
            "validation": json::finite(f.validation), "test": json::finite(f.judged.error), "also": json::metrics(&f.judged.also),
            "updates": f.updates, "stop": f.stop, "gap": f.gap, "tolerance": f.tolerance, "refitted": f.refitted,
        })
    };
    let noise = a.learn.noise();
    object!({
        "data": source.name(), "task": replication.preprocessing.task(), "budget": a.budget, "seed": a.seed,
        "train_rows": replication.problem.train.n(), "valid_rows": replication.problem.valid.n(), "test_rows": replication.test_rows,
        "inputs": replication.preprocessing.feature_names(), "metric": source.metric(noise), "error": source.error_name(noise), "notes": notes,
        "selected": fits[0].family.method.key(), "arch": fits[0].family.architecture.key(),
        "methods": fits.iter().map(method).collect::<Vec<_>>(),
        "model": a.output.as_ref().map(|p| p.display().to_string()),
    })
}
