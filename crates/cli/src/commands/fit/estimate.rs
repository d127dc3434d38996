//! `loopfit fit` where rows have targets: what the table supports.

use super::{Arguments, SAFETY, beside, more_numbers_than_rows, say_ending, share};
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, interrupt, json, output, progress};
use anyhow::Result;
use loopfit_engine::Engine;
use loopfit_model::{Form, Method};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_search::estimate::{Absence, Ask, Entry, Estimate, Prepared};
use loopfit_search::replication::Source;
use serde_json::{Map, Value, json};
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
    let notes = notes(source, &prepared, &ask);
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
        let search = json!({"seconds": seconds, "complete": complete, "work": ask.work});
        result.insert("search".into(), search);
        output::print_json(&result)?;
    } else {
        output::print(&to_text(a, &ask, source, &estimate))?;
    }
    let not_reached = estimate.absent.iter();
    let not_reached = not_reached.filter(|(_, why)| *why == Absence::NotReached);
    let not_reached: Vec<String> = not_reached.map(|(method, _)| method.to_string()).collect();
    say_ending(a, !complete, &not_reached, global);
    Ok(if interrupted {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

/// What a person should know about the data before the fit.
fn notes(source: &Source, prepared: &Prepared, ask: &Ask) -> Vec<String> {
    let mut notes = source.notes();
    notes.extend(prepared.notes.iter().cloned());
    notes.push(format!(
        "rows: {} for the selection by {}, {} for the test; inputs: {}",
        number::integer(prepared.selection_rows() as u64),
        prepared.selected_by(),
        number::integer(prepared.test_rows() as u64),
        prepared.inputs().len()
    ));
    notes.extend(more_numbers_than_rows(
        ask.budget,
        prepared.selection_rows(),
    ));
    notes
}

/// What a method without a model has instead.
fn why(absence: Absence) -> &'static str {
    match absence {
        Absence::NotReached => "not reached",
        Absence::DoesNotFit => "does not fit",
    }
}

fn name(entry: &Entry) -> String {
    match entry.method {
        Some(method) => method.to_string(),
        None => "linear".to_string(),
    }
}

fn to_text(a: &Arguments, ask: &Ask, source: &Source, estimate: &Estimate) -> String {
    let noise = a.learn.noise();
    let shown = |e: &Entry| match estimate.test_rows {
        0 => beside(&[e.held]),
        _ => beside(&e.test.also),
    };
    let metric = source.metric(noise);
    let share_name = shown(&estimate.entries[0]).map(|(name, _)| {
        match (estimate.test_rows, metric.split_once(" against ")) {
            (0, _) => format!("validation {name}"),
            (_, Some((_, target))) => format!("{name} against {target}"),
            _ => format!("test {name}"),
        }
    });
    let mut columns = vec![
        ("model", Align::Left),
        ("q", Align::Right),
        ("r", Align::Right),
        ("T", Align::Right),
        ("units", Align::Left),
        ("numbers", Align::Right),
        (source.validation_metric(noise), Align::Right),
        ("(SE)", Align::Right),
        (metric, Align::Right),
    ];
    columns.extend(share_name.as_deref().map(|name| (name, Align::Right)));
    let width = columns.len();
    let mut table = Table::new(columns);
    let errors = estimate
        .entries
        .iter()
        .flat_map(|e| [e.validation, e.test.error]);
    let exponent = Exponent::of(errors.chain([estimate.constant.0]).collect::<Vec<_>>());
    let value = |v: f64| {
        if v.is_nan() {
            "-".to_string()
        } else {
            number::value(v, 4, exponent)
        }
    };
    let row = |name: String, filled: &[(usize, String)]| {
        let mut cells = vec!["-".to_string(); width];
        cells[0] = name;
        filled.iter().for_each(|(i, cell)| cells[*i] = cell.clone());
        cells
    };
    for (i, e) in estimate.entries.iter().enumerate() {
        let network = &e.network;
        let mut filled = vec![
            (5, network.count().to_string()),
            (6, value(e.validation)),
            (7, value(e.validation_se)),
            (8, value(e.test.error)),
        ];
        if network.form() != Form::Affine {
            filled.push((1, network.q().to_string()));
            filled.push((2, network.r().to_string()));
            filled.push((3, network.tying().iterations().to_string()));
            filled.push((4, network.activation().to_string()));
        }
        filled.extend(shown(e).map(|(_, v)| (9, share(v))));
        let cells = row(name(e), &filled);
        if i == 0 {
            table.push_best(cells);
        } else {
            table.push(cells);
        }
    }
    for (method, absence) in &estimate.absent {
        table.push(row(method.to_string(), &[(6, why(*absence).to_string())]));
    }
    let constant = ("constant".to_string(), estimate.constant);
    let no_cap = estimate
        .no_cap
        .map(|(name, validation, test)| (format!("no cap: {name}"), (validation, test)));
    for (name, (validation, test)) in [constant].into_iter().chain(no_cap) {
        table.push(row(name, &[(6, value(validation)), (8, value(test))]));
    }
    let best = &estimate.entries[0];
    let mut text = format!(
        "Best {}under B = {}, selected by {}: {}\n{}",
        if estimate.complete { "" } else { "so far " },
        ask.budget,
        estimate.selected_by,
        best.network,
        table.to_terminal(output::color())
    );
    for sentence in sentences(ask, estimate) {
        text += &sentence;
        text.push('\n');
    }
    if a.verbose {
        text += &format!(
            "Penalties: {} times what the evidence gives; {} of each fit.\n",
            best.factor,
            number::count(best.starts, "start")
        );
    }
    text
}

/// What the table means.
fn sentences(ask: &Ask, estimate: &Estimate) -> Vec<String> {
    let mut sentences = Vec::new();
    let best = &estimate.entries[0];
    let of = |method: Method| estimate.entries.iter().find(|e| e.method == Some(method));
    // What was cut short cannot be said to be worse.
    if let (Some(single), Some(looped), true) =
        (of(Method::Single), of(Method::Loop), estimate.complete)
    {
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
        _ if !estimate.complete || !networks => (),
        Some(linear) if best.method.is_none() => sentences.push(format!(
            "No network is better than the linear model: a cap of {} would do.",
            linear.network.count()
        )),
        Some(linear) if best.better_than(linear) < 1.0 => sentences.push(format!(
            "The linear model with {} is within the noise of the best.",
            number::count(linear.network.count(), "number")
        )),
        _ if 4 * best.network.count() <= 3 * ask.budget => sentences.push(format!(
            "A cap of {} would do: the best model needs no more.",
            best.network.count()
        )),
        _ => sentences.push(format!(
            "The best model uses its cap: `loopfit curve` shows whether more than {} would help.",
            number::count(ask.budget, "number")
        )),
    }
    if let Some(assessment) = &estimate.model.assessment {
        let rows = number::count(assessment.rows, "row");
        let tested = number::count(assessment.test_rows, "test row");
        let again = match ask.refit && assessment.rows > estimate.selection_rows {
            true => "After the selection the model was fitted again, to all",
            false => "The model was fitted to",
        };
        sentences.push(match (ask.refit, assessment.test_rows) {
            (_, 0) => format!(
                "{again} {rows}; validation errors are of rows that the fits had not seen."
            ),
            (true, _) => format!(
                "{again} {rows}; validation errors are of rows that the fits had not seen, test errors of the same selection without the {tested}."
            ),
            (false, _) => format!("{again} {rows} and has not seen the {tested}."),
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
) -> Map<String, Value> {
    let fitted = estimate.entries.iter().map(json::entry);
    let absent = estimate.absent.iter().map(
        |(method, absence)| json!({"method": method.key(), "arch": "ffn", "state": why(*absence)}),
    );
    let noise = a.learn.noise();
    let best = &estimate.entries[0];
    let task = prepared.preprocessing().task();
    object!({
        "data": source.name(), "task": task, "budget": a.budget, "seed": a.seed,
        "selection": {"by": estimate.selected_by, "rows": estimate.selection_rows}, "test_rows": estimate.test_rows,
        "inputs": prepared.inputs(), "metric": source.metric(noise), "error": source.error_name(noise), "notes": notes,
        "selected": json::method(best.method), "arch": "ffn",
        "methods": fitted.chain(absent).collect::<Vec<_>>(),
        "constant": {"validation": estimate.constant.0, "test": json::finite(estimate.constant.1)},
        "no_cap": estimate.no_cap.map(|(name, validation, test)| json!({"by": name, "validation": json::finite(validation), "test": json::finite(test)})),
        "validation": best.validation, "test": json::finite(best.test.error),
        "conclusions": sentences(ask, estimate),
        "assessment": estimate.model.assessment,
        "model": a.output.as_ref().map(|p| p.display().to_string()),
    })
}
