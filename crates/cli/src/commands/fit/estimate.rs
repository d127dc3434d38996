//! `loopfit fit` where rows have targets: what the table supports.

use super::{Arguments, SAFETY};
use crate::exit::Exit;
use crate::{Global, interrupt, output, progress};
use anyhow::Result;
use loopfit_engine::Engine;
use loopfit_model::{Form, Method};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_search::estimate::{Ask, Entry, Estimate, Prepared, metric};
use loopfit_search::replication::Source;
use serde_json::{Value, json};
use std::time::Instant;

/// Work of one second of a thread, in the units of [`Ask::work`]; half of what a core with AVX-512 does.
const PER_SECOND: f64 = 5e9;
/// Standard errors of a paired difference from which on a method is said to be better.
const CLEARLY: f64 = 2.0;

pub(super) fn run(
    a: &Arguments,
    source: &Source,
    methods: Vec<Method>,
    global: &Global,
) -> Result<Exit> {
    let engine = Engine::new(global.threads)?;
    let started = Instant::now();
    let work = match a.time {
        Some(time) => {
            interrupt::control().stop_at(started + time);
            let all = SAFETY * time.as_secs_f64() * PER_SECOND * engine.threads() as f64;
            all / methods.len() as f64
        }
        None => a.search.work(),
    };
    let ask = a.estimate.ask(a.budget, methods, work, a.seed);
    let prepared = Prepared::new(source, a.learn.noise(), &ask)?;
    let notes = notes(source, &prepared);
    if !global.quiet {
        notes.iter().for_each(|note| output::say(note));
    }
    let estimate = interrupt::searching(|control| {
        progress::with_percent(global.quiet, |advance| {
            prepared.run(&engine, &ask, control, advance)
        })
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let interrupted = interrupt::was_interrupted();
    let complete = estimate.complete;
    if let Some(path) = &a.output {
        interrupt::writing(|| estimate.model.save(path))?;
    }
    if global.json {
        let mut result = to_json(a, source, &prepared, &notes, &ask, &estimate);
        result["search"] = json!({"seconds": seconds, "complete": complete, "work": ask.work});
        output::print_json(&result)?;
    } else {
        output::print(&to_text(&ask, source, &estimate))?;
    }
    if interrupted {
        output::say("interrupted: this is the best so far");
    } else if !global.quiet && !complete {
        output::say("the time was over before the selection: this is the best so far");
    }
    if !global.quiet {
        output::say(&match &a.output {
            Some(path) => format!("wrote {}", path.display()),
            None => "no model was written: name a file with -o to keep it".to_string(),
        });
    }
    Ok(if interrupted {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

/// What a person should know about the data before the fit.
fn notes(source: &Source, prepared: &Prepared) -> Vec<String> {
    let mut notes = source.notes();
    notes.extend(prepared.notes.iter().cloned());
    notes.push(format!(
        "rows: {} for the selection by {}, {} for the test; inputs: {}",
        number::integer(prepared.selection_rows() as u64),
        prepared.selected_by(),
        number::integer(prepared.test_rows() as u64),
        prepared.inputs().len()
    ));
    notes
}

fn name(entry: &Entry) -> String {
    match entry.method {
        Some(method) => method.to_string(),
        None => "linear".to_string(),
    }
}

fn to_text(ask: &Ask, source: &Source, estimate: &Estimate) -> String {
    let mut table = Table::new([
        ("model", Align::Left),
        ("q", Align::Right),
        ("r", Align::Right),
        ("T", Align::Right),
        ("units", Align::Left),
        ("numbers", Align::Right),
        (source.validation_metric(), Align::Right),
        ("(SE)", Align::Right),
        (source.metric(), Align::Right),
    ]);
    let errors = estimate.entries.iter().flat_map(|e| [e.validation, e.test]);
    let exponent = Exponent::of(errors.chain([estimate.constant.0]).collect::<Vec<_>>());
    let value = |v: f64| {
        if v.is_nan() {
            "-".to_string()
        } else {
            number::value(v, 4, exponent)
        }
    };
    for (i, e) in estimate.entries.iter().enumerate() {
        let network = &e.network;
        let affine = network.form() == Form::Affine;
        let shown = |n: usize| {
            if affine {
                "-".to_string()
            } else {
                n.to_string()
            }
        };
        let cells = [
            name(e),
            shown(network.q()),
            shown(network.r()),
            shown(network.tying().iterations()),
            if affine {
                "-".to_string()
            } else {
                network.activation().to_string()
            },
            network.count().to_string(),
            value(e.validation),
            value(e.validation_se),
            value(e.test),
        ];
        if i == 0 {
            table.push_best(cells);
        } else {
            table.push(cells);
        }
    }
    let constant = ("constant".to_string(), estimate.constant);
    let no_cap = estimate
        .no_cap
        .map(|(name, validation, test)| (format!("no cap: {name}"), (validation, test)));
    for (name, (validation, test)) in [constant].into_iter().chain(no_cap) {
        let mut cells = vec!["-".to_string(); 9];
        cells[0] = name;
        cells[6] = value(validation);
        cells[8] = value(test);
        table.push(cells);
    }
    let best = &estimate.entries[0];
    let mut text = format!(
        "Best under B = {}, selected by {}: {}\n{}",
        ask.budget,
        estimate.selected_by,
        best.network,
        table.to_terminal(output::color())
    );
    for sentence in sentences(ask, estimate) {
        text += &sentence;
        text.push('\n');
    }
    text
}

/// What the table means.
fn sentences(ask: &Ask, estimate: &Estimate) -> Vec<String> {
    let mut sentences = Vec::new();
    let best = &estimate.entries[0];
    let of = |method: Method| estimate.entries.iter().find(|e| e.method == Some(method));
    if let (Some(single), Some(looped)) = (of(Method::Single), of(Method::Loop)) {
        let z = looped.better_than(single);
        sentences.push(match z {
            z if z > CLEARLY => format!(
                "Looping pays here: Loop's error is {:.0}% below Single's.",
                100.0 * (1.0 - looped.validation / single.validation)
            ),
            z if z < -CLEARLY => "Looping does not pay here: Single is better.".to_string(),
            _ => "Looping makes no clear difference here.".to_string(),
        });
    }
    let linear = estimate.entries.iter().find(|e| e.method.is_none());
    let networks = estimate.entries.len() > usize::from(linear.is_some());
    match linear {
        // What was not tried cannot be said to be worse.
        _ if !estimate.complete || !networks => (),
        Some(linear) if best.method.is_none() => sentences.push(format!(
            "No network is better than the linear model: a cap of {} would do.",
            linear.network.count()
        )),
        Some(linear) if best.better_than(linear) < 1.0 => sentences.push(format!(
            "The linear model with {} numbers is within the noise of the best.",
            linear.network.count()
        )),
        _ if 4 * best.network.count() <= 3 * ask.budget => sentences.push(format!(
            "A cap of {} would do: the best model needs no more.",
            best.network.count()
        )),
        _ => sentences.push(format!(
            "The best model uses its cap: `loopfit curve` shows whether more than {} numbers would help.",
            ask.budget
        )),
    }
    if let Some(assessment) = &estimate.model.assessment {
        let rows = number::integer(assessment.rows as u64);
        let tested = number::integer(assessment.test_rows as u64);
        sentences.push(match (ask.refit, assessment.test_rows) {
            (_, 0) => format!(
                "The model was fitted to all {rows} rows; validation errors are of rows that the fits had not seen."
            ),
            (true, _) => format!(
                "The model was fitted to all {rows} rows; validation errors are of rows that the fits had not seen, test errors of the same selection without the {tested} test rows."
            ),
            (false, _) => format!(
                "The model was fitted to {rows} rows and has not seen the {tested} test rows."
            ),
        });
        if assessment.clip {
            sentences.push("Predictions are held to the range of the targets seen.".to_string());
        }
    }
    sentences
}

fn to_json(
    a: &Arguments,
    source: &Source,
    prepared: &Prepared,
    notes: &[String],
    ask: &Ask,
    estimate: &Estimate,
) -> Value {
    let finite = |v: f64| v.is_finite().then_some(v);
    let entry = |e: &Entry| {
        let n = &e.network;
        json!({
            "method": e.method.map_or("linear", Method::key), "arch": "ffn", "q": n.q(), "r": n.r(), "t": n.tying().iterations(),
            "activation": n.activation(), "form": n.form().to_string(), "count": n.count(),
            "validation": e.validation, "validation_se": e.validation_se, "test": finite(e.test),
            "penalty_factor": e.factor, "starts": e.starts,
        })
    };
    let best = &estimate.entries[0];
    let task = prepared.preprocessing().task();
    json!({
        "data": source.name(), "task": task, "budget": a.budget, "seed": a.seed,
        "selection": {"by": estimate.selected_by, "rows": estimate.selection_rows}, "test_rows": estimate.test_rows,
        "inputs": prepared.inputs(), "metric": source.metric(), "error": metric(task), "notes": notes,
        "selected": best.method.map_or("linear", Method::key), "arch": "ffn",
        "methods": estimate.entries.iter().map(entry).collect::<Vec<_>>(),
        "constant": {"validation": estimate.constant.0, "test": finite(estimate.constant.1)},
        "no_cap": estimate.no_cap.map(|(name, validation, test)| json!({"by": name, "validation": finite(validation), "test": finite(test)})),
        "validation": best.validation, "test": finite(best.test),
        "conclusions": sentences(ask, estimate),
        "assessment": estimate.model.assessment,
        "model": a.output.as_ref().map(|p| p.display().to_string()),
    })
}
