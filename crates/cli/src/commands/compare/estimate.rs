//! `loopfit compare` where rows have targets: what each method estimates, paired over seeds.

use super::Arguments;
use crate::exit::Exit;
use crate::{Global, interrupt, output, progress};
use anyhow::Result;
use loopfit_engine::Engine;
use loopfit_model::{Form, Method, Network};
use loopfit_report::{Comparison, MethodResult, SeedResult};
use loopfit_search::SearchError;
use loopfit_search::estimate::{Ask, Estimate, Prepared};
use loopfit_search::replication::Source;

/// Estimates on every seed and sets them side by side, the linear model among them.
pub(super) fn run(
    a: &Arguments,
    source: &Source,
    seeds: &[u64],
    global: &Global,
) -> Result<(Comparison, Exit)> {
    let engine = Engine::new(global.threads)?;
    let ask = |seed: u64| Ask {
        refit: false,
        test_seed: Some(seed),
        ..a.estimate
            .ask(a.budget, Method::ALL.to_vec(), a.search.work(), seed)
    };
    let part = 1.0 / seeds.len() as f64;
    let estimates = interrupt::searching(|control| {
        progress::with_percent(global.quiet, |advance| {
            let each = seeds.iter().map(|seed| {
                let ask = ask(*seed);
                let prepared = Prepared::new(source, a.learn.noise(), &ask)?;
                prepared.run(&engine, &ask, control, &|done| advance(part * done))
            });
            each.collect::<Result<Vec<Estimate>, SearchError>>()
        })
    })?;
    if interrupt::was_interrupted() {
        return Err(SearchError::Interrupted.into());
    }
    Ok((comparison(a, source, seeds, &estimates)?, Exit::Done))
}

fn comparison(
    a: &Arguments,
    source: &Source,
    seeds: &[u64],
    estimates: &[Estimate],
) -> Result<Comparison> {
    let methods = [None].into_iter().chain(Method::ALL.map(Some));
    let methods = methods.filter_map(|method| {
        let results: Option<Vec<SeedResult>> = estimates
            .iter()
            .map(|estimate| {
                let entry = estimate.entries.iter().find(|e| e.method == method)?;
                Some(SeedResult {
                    shape: shape(&entry.network),
                    count: entry.network.count(),
                    value: entry.test,
                })
            })
            .collect();
        Some(MethodResult {
            key: method.map_or("linear", Method::key).to_string(),
            name: method.map_or("linear".to_string(), |m| m.to_string()),
            updates: 0,
            results: results?,
        })
    });
    let name = source.name();
    let comparison = Comparison::new(
        format!("Single, Loop and Untied on {name} under B = {}", a.budget),
        name,
        a.budget,
        source.metric(),
        seeds.to_vec(),
        methods.collect(),
    )?;
    let how = estimates.first().map_or("", |e| &e.selected_by);
    let notes = match source {
        Source::Table(table) => table.notes.clone(),
        Source::Simulation { .. } => Vec::new(),
    };
    let note = format!(
        "Every method was given the same work for each seed, and selected by {how}. Each seed has test samples, folds and starts of its own."
    );
    Ok(comparison.with_notes(notes.into_iter().chain([note])))
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
