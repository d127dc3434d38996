//! `loopfit compare` where rows have targets: what each method estimates, paired over seeds.

use super::Arguments;
use super::result::Compared;
use crate::exit::{Exit, usage};
use crate::{Global, interrupt, json, output, progress};
use anyhow::Result;
use loopfit_engine::Engine;
use loopfit_model::{Form, Method, Network};
use loopfit_report::{Comparison, MethodResult, SeedResult};
use loopfit_search::SearchError;
use loopfit_search::estimate::{Ask, Entry, Estimate, Prepared};
use loopfit_search::replication::Source;

/// Estimates on every seed and sets them side by side, the linear model among them. Interrupted, those of the seeds that are
/// complete.
pub(super) fn run(
    a: &Arguments,
    source: &Source,
    methods: Vec<Method>,
    seeds: &[u64],
    global: &Global,
) -> Result<(Compared, Exit)> {
    if a.estimate.test_fraction() == 0.0 {
        return Err(usage(
            "a comparison is made on test rows: --test-fraction must be above 0".to_string(),
        ));
    }
    let engine = Engine::new(global.threads)?;
    let ask = |seed: u64| Ask {
        refit: false,
        test_seed: Some(seed),
        ..a.estimate
            .ask(a.budget, methods.clone(), a.search.work(), seed)
    };
    let part = 1.0 / seeds.len() as f64;
    let estimates = interrupt::searching(|control| {
        progress::with_percent(global.quiet, |advance| {
            let mut complete = Vec::new();
            for seed in seeds {
                let ask = ask(*seed);
                let prepared = Prepared::new(source, a.learn.noise(), &ask)?;
                let advance = |done| advance(part * done);
                match prepared.run(&engine, &ask, control, &advance) {
                    Ok(estimate) if estimate.complete => complete.push(estimate),
                    Ok(_) | Err(SearchError::Interrupted) => break,
                    Err(error) => return Err(error),
                }
            }
            Ok(complete)
        })
    })?;
    if estimates.is_empty() {
        return Err(SearchError::Interrupted.into());
    }
    Ok((
        compared(a, source, &methods, seeds, &estimates)?,
        Exit::Done,
    ))
}

fn compared(
    a: &Arguments,
    source: &Source,
    methods: &[Method],
    seeds: &[u64],
    estimates: &[Estimate],
) -> Result<Compared> {
    let rows = [None].into_iter().chain(methods.iter().copied().map(Some));
    // A method takes part if it has a model on every seed.
    let of = |method: Option<Method>| -> Option<Vec<&Entry>> {
        let found = estimates
            .iter()
            .map(|e| e.entries.iter().find(|e| e.method == method));
        found.collect()
    };
    let rows: Vec<(Option<Method>, Vec<&Entry>)> = rows
        .filter_map(|method| Some((method, of(method)?)))
        .collect();
    let results = rows.iter().map(|(method, entries)| MethodResult {
        key: json::method(*method).to_string(),
        name: method.map_or("linear".to_string(), |m| m.to_string()),
        updates: 0,
        results: entries.iter().map(|entry| result(entry)).collect(),
    });
    let name = source.name();
    let comparison = Comparison::new(
        format!(
            "{} on {name} under B = {}",
            super::names(methods.iter().copied()),
            a.budget
        ),
        name,
        a.budget,
        source.metric(a.learn.noise()),
        seeds[..estimates.len()].to_vec(),
        results.collect(),
    )?;
    let how = estimates.first().map_or("", |e| &e.selected_by);
    let notes = match source {
        Source::Table(table) => table.notes.clone(),
        Source::Simulation { .. } => Vec::new(),
    };
    let note = format!(
        "Every method was given the same work for each seed, and selected by {how}. Each seed has test samples, folds and starts of its own."
    );
    let taking_part = |method: &&Method| rows.iter().any(|(m, _)| *m == Some(**method));
    let left_out = methods.iter().filter(|m| !taking_part(m)).map(|method| {
        format!(
            "Left out: {method}, of which B = {} holds no network.",
            a.budget
        )
    });
    let compared = Compared {
        comparison: comparison.with_notes(notes.into_iter().chain([note]).chain(left_out)),
        families: rows
            .iter()
            .map(|(m, _)| (json::method(*m), "ffn"))
            .collect(),
        networks: rows
            .iter()
            .map(|(_, entries)| entries.iter().map(|e| e.network.clone()).collect())
            .collect(),
        asked: seeds.len(),
    };
    Ok(compared.with_note())
}

fn result(entry: &Entry) -> SeedResult {
    SeedResult {
        shape: shape(&entry.network),
        count: entry.network.count(),
        value: entry.test.error,
    }
}

/// `q = 4, r = 11, T = 16, tanh`.
fn shape(network: &Network) -> String {
    if network.form() == Form::Affine {
        return match network.q() == network.inputs_read() {
            true => format!("{} inputs", network.inputs_read()),
            false => format!("rank {}", network.q()),
        };
    }
    let (q, r, t) = (network.q(), network.r(), network.tying().iterations());
    format!("q = {q}, r = {r}, T = {t}, {}", network.activation())
}

/// Says what is learned.
pub(super) fn say(source: &Source, global: &Global) {
    if !global.quiet {
        source.notes().iter().for_each(|note| output::say(note));
    }
}
