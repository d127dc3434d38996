//! How far a store is, for people and for scripts.

use crate::StudyError;
use crate::protocol::Named;
use crate::results::{Results, read};
use crate::run;
use crate::store::Store;
use loopfit_model::Method;
use loopfit_report::number::{Exponent, mean_se};
use loopfit_report::{Align, Block, Document, Table};
use serde_json::{Value, json};

/// The state of one study in a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Name of the study.
    pub name: String,
    /// SHA-256 of its protocol.
    pub hash: String,
    /// Fits that are in the store.
    pub fits: u64,
    /// All fits of the study; an upper bound until every case has been looked at.
    pub total: u64,
    /// Updates that are in the store.
    pub updates: u64,
    /// All updates of the study, an upper bound as well.
    pub total_updates: u64,
    /// Processor time of the fits.
    pub seconds: f64,
    /// Whether every replication is finished.
    pub complete: bool,
    /// What is finished.
    pub results: Results,
}

/// The state of every study in a store.
pub fn status(store: &Store) -> Result<Vec<Status>, StudyError> {
    store
        .studies()?
        .iter()
        .map(|named| one(store, named))
        .collect()
}

fn one(store: &Store, named: &Named) -> Result<Status, StudyError> {
    let results = read(store, named)?;
    let (done, all) = results.tasks;
    let complete = all > 0 && done == all;
    let fits = results.costs.iter().map(|c| c.fits).sum();
    let total = run::total(&named.study);
    let updates = results.costs.iter().map(|c| c.updates).sum();
    Ok(Status {
        name: named.name.clone(),
        hash: named.study.hash(),
        fits,
        total: if complete { fits } else { total.fits.max(fits) },
        updates,
        total_updates: if complete {
            updates
        } else {
            total.updates.max(updates)
        },
        seconds: results.costs.iter().map(|c| c.seconds).sum(),
        complete,
        results,
    })
}

impl Status {
    /// Processor time that is left if the rest goes as the part so far; an upper bound.
    fn seconds_left(&self) -> f64 {
        let left = self.total_updates.saturating_sub(self.updates);
        self.seconds * left as f64 / self.updates as f64
    }

    /// The state as JSON with stable keys.
    pub fn to_json(&self) -> Value {
        let (done, all) = self.results.tasks;
        let points: Vec<Value> = self
            .results
            .points
            .iter()
            .map(|point| {
                let methods: Vec<Value> = point
                    .entries
                    .iter()
                    .map(|e| {
                        json!({
                            "method": e.of.key(),
                            "replications": e.values.len(),
                            "mean": finite(e.mean()),
                            "se": e.se().and_then(finite),
                            "median": finite(e.median()),
                        })
                    })
                    .collect();
                json!({
                    "case": point.case.name,
                    "at": point.at,
                    "budget": point.budget,
                    "metric": point.metric,
                    "methods": methods,
                })
            })
            .collect();
        json!({
            "study": self.name,
            "hash": self.hash,
            "fits": self.fits,
            "total_fits": self.total,
            "updates": self.updates,
            "cpu_seconds": self.seconds,
            "updates_per_cpu_second": finite(self.updates as f64 / self.seconds),
            "cpu_seconds_left": finite(self.seconds_left()),
            "replications": done,
            "total_replications": all,
            "complete": self.complete,
            "points": points,
        })
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The states as a page of text.
pub fn page(states: &[Status]) -> Document {
    let mut table = Table::new([
        ("study", Align::Left),
        ("protocol", Align::Left),
        ("fits", Align::Right),
        ("replications", Align::Right),
        ("updates", Align::Right),
        ("CPU seconds", Align::Right),
        ("state", Align::Left),
    ]);
    let mut best = Table::new([
        ("study", Align::Left),
        ("case", Align::Left),
        ("metric", Align::Left),
        ("Single", Align::Right),
        ("Loop", Align::Right),
        ("Untied", Align::Right),
    ]);
    for state in states {
        let (done, all) = state.results.tasks;
        table.push([
            state.name.clone(),
            crate::store::short(&state.hash),
            format!("{}/{}", state.fits, state.total),
            format!("{done}/{all}"),
            loopfit_report::number::integer(state.updates),
            loopfit_report::number::fixed(state.seconds, 0),
            if state.complete {
                "complete"
            } else {
                "not complete"
            }
            .to_string(),
        ]);
        for point in &state.results.points {
            let exponent = Exponent::of(point.methods().map(|(_, e)| e.mean()));
            let cell = |method: Method| {
                point
                    .entry(method)
                    .map_or(String::new(), |e| mean_se(e.mean(), e.se(), exponent))
            };
            let place = point.at.map_or(String::new(), |at| format!(" at {at}"));
            best.push([
                state.name.clone(),
                format!("{}{place}", point.case.name),
                point.metric.clone(),
                cell(Method::Single),
                cell(Method::Loop),
                cell(Method::Untied),
            ]);
        }
    }
    let mut blocks = vec![Block::Table {
        caption: String::new(),
        table,
    }];
    if !best.is_empty() {
        blocks.push(Block::Table {
            caption: "Test results so far, mean (SE).".to_string(),
            table: best,
        });
    }
    Document {
        title: "Studies".to_string(),
        subtitle: String::new(),
        blocks,
    }
}
