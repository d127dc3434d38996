//! Successive halving by validation loss, many searches at once.

use crate::SearchError;
use crate::plan::{Plan, Setting};
use crate::replication::Problem;
use loopfit_engine::{Control, Engine, FitOutcome, FitSpec, Start};
use std::sync::Arc;

/// What one search tries.
#[derive(Clone, Debug)]
pub struct Search {
    /// The samples and their likelihood.
    pub problem: Arc<Problem>,
    /// One entry for each start of the first rung.
    pub settings: Vec<Setting>,
    /// How updates are spread.
    pub plan: Plan,
}

/// What one search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The setting with the lowest validation loss.
    pub setting: Setting,
    /// Its best checkpoint.
    pub outcome: FitOutcome,
    /// Updates of all fits of the search.
    pub updates: usize,
}

/// Runs all searches together, so that every thread has work until the end. Deterministic
/// for given settings, whatever the threads.
pub fn search(
    engine: &Engine,
    searches: &[Search],
    control: &Control,
) -> Result<Vec<Found>, SearchError> {
    // Per search: the settings still in the race with their best outcome so far, best first.
    let mut race: Vec<Vec<(usize, Option<FitOutcome>)>> = searches
        .iter()
        .map(|s| (0..s.settings.len()).map(|i| (i, None)).collect())
        .collect();
    let mut updates = vec![0; searches.len()];
    let rungs = searches
        .iter()
        .map(|s| s.plan.rungs.len())
        .max()
        .unwrap_or(0);
    for rung in 0..rungs {
        let mut specs: Vec<FitSpec> = Vec::new();
        let mut of: Vec<(usize, usize)> = Vec::new();
        for (s, search) in searches.iter().enumerate() {
            let Some(now) = search.plan.rungs.get(rung) else {
                continue;
            };
            race[s].truncate(now.fits);
            for (place, (setting, outcome)) in race[s].iter().enumerate() {
                let start = outcome.as_ref().map(|o| Start::Given(o.parameters.clone()));
                specs.push(search.settings[*setting].spec(
                    &search.problem,
                    rung,
                    now.updates,
                    start,
                ));
                of.push((s, place));
            }
        }
        let outcomes = engine.run(&specs, control, |_, _| {})?;
        if control.is_interrupted() {
            return Err(SearchError::Interrupted);
        }
        for ((s, place), outcome) in of.into_iter().zip(outcomes) {
            updates[s] += outcome.updates;
            race[s][place].1 = Some(outcome);
        }
        for entries in &mut race {
            // Stable: equal losses keep the order of the settings.
            entries.sort_by(|a, b| loss(&a.1).total_cmp(&loss(&b.1)));
        }
    }
    Ok(searches
        .iter()
        .zip(race)
        .zip(updates)
        .filter_map(|((search, entries), updates)| {
            let (setting, outcome) = entries.into_iter().next()?;
            Some(Found {
                setting: search.settings[setting].clone(),
                outcome: outcome?,
                updates,
            })
        })
        .collect())
}

fn loss(outcome: &Option<FitOutcome>) -> f64 {
    outcome.as_ref().map_or(f64::INFINITY, |o| o.validation)
}
