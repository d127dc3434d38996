//! Successive halving by validation loss, many searches at once.

use crate::SearchError;
use crate::plan::{Plan, Setting};
use crate::replication::Problem;
use loopfit_engine::{Control, Engine, FitOutcome, FitSpec};
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
    /// The fit with the lowest validation loss, its updates counted over all rungs.
    pub outcome: FitOutcome,
    /// Updates of all fits of the search.
    pub updates: usize,
}

/// A setting in the race, with its best outcome so far.
struct Runner {
    setting: usize,
    outcome: Option<FitOutcome>,
}

impl Runner {
    fn loss(&self) -> f64 {
        self.outcome
            .as_ref()
            .map_or(f64::INFINITY, |o| o.validation)
    }

    /// Takes the outcome of the next rung, which started where the last one ended.
    fn advance(&mut self, mut outcome: FitOutcome) {
        let before = self.outcome.as_ref().map_or(0, |o| o.updates);
        outcome.updates += before;
        self.outcome = Some(outcome);
    }
}

/// Runs all searches together, so that every thread has work until the end. Deterministic
/// for given settings, whatever the threads.
pub fn search(
    engine: &Engine,
    searches: &[Search],
    control: &Control,
) -> Result<Vec<Found>, SearchError> {
    let runners = |s: &Search| {
        let settings = 0..s.settings.len();
        settings
            .map(|setting| Runner {
                setting,
                outcome: None,
            })
            .collect::<Vec<_>>()
    };
    let mut race: Vec<Vec<Runner>> = searches.iter().map(runners).collect();
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
            for (place, runner) in race[s].iter().enumerate() {
                let start = runner.outcome.as_ref().map(|o| &o.parameters);
                let setting = &search.settings[runner.setting];
                specs.push(setting.spec(&search.problem, rung, *now, start)?);
                of.push((s, place));
            }
        }
        let outcomes = engine.run(&specs, control, |_, _| {})?;
        if control.is_interrupted() {
            return Err(SearchError::Interrupted);
        }
        for ((s, place), outcome) in of.into_iter().zip(outcomes) {
            updates[s] += outcome.updates;
            race[s][place].advance(outcome);
        }
        for runners in &mut race {
            // Stable: equal losses keep the order of the settings.
            runners.sort_by(|a, b| a.loss().total_cmp(&b.loss()));
        }
    }
    race.into_iter()
        .zip(updates)
        .map(|(runners, updates)| {
            let best = runners.into_iter().next().and_then(|runner| runner.outcome);
            best.map(|outcome| Found { outcome, updates })
                .ok_or(SearchError::NothingToTry)
        })
        .collect()
}
