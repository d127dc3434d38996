//! What searches found, fitted on with training and validation samples together.

use crate::SearchError;
use crate::halving::{Entry, Found, Search, outcomes};
use crate::plan::Rung;
use crate::replication::Problem;
use loopfit_data::Samples;
use loopfit_engine::{Backend, Control, FitOutcome};
use std::sync::Arc;

/// Fewest updates of a refit, unless its rung had fewer.
const LEAST_REFIT: usize = 200;

/// A fit that went on with all samples.
#[derive(Clone, Debug)]
pub(crate) struct Refitted {
    /// What it gave.
    pub(crate) outcome: FitOutcome,
    /// Training and validation samples together.
    pub(crate) train: Arc<Samples>,
}

/// The fits that go on from what the searches found, where the protocol asks for it and there is something to go on from: with
/// training and validation samples together, for as many updates as the found fit took to its best checkpoint. They are the round
/// after the last.
pub fn refits(searches: &[Search], found: &[Found]) -> Result<Vec<Entry>, SearchError> {
    let mut entries: Vec<Entry> = Vec::new();
    for (i, (search, found)) in searches.iter().zip(found).enumerate() {
        if !(search.protocol.refit && found.outcome.validation.is_finite()) {
            continue;
        }
        let problem = &search.problem;
        let all = Arc::new(problem.train.followed_by(&problem.valid)?);
        let search = Search {
            problem: Arc::new(Problem {
                train: all.clone(),
                valid: all,
                ..(**problem).clone()
            }),
            ..search.clone()
        };
        let rung = search.plan.rungs[found.rung];
        let updates = found.outcome.best_update.max(LEAST_REFIT).min(rung.updates);
        let (number, rung) = (search.plan.rungs.len(), Rung { updates, ..rung });
        let setting = &search.settings[found.setting];
        entries.push(Entry {
            search: i,
            rung: number,
            setting: found.setting,
            spec: search.spec(setting, number, rung, Some(&found.outcome))?,
        });
    }
    Ok(entries)
}

/// What [`refits`] give, for each search; none where there is none, or where the search was stopped.
pub(crate) fn refit(
    backend: &dyn Backend,
    control: &Control,
    searches: &[Search],
    found: &[Found],
) -> Result<Vec<Option<Refitted>>, SearchError> {
    let mut refitted = vec![None; found.len()];
    if control.is_stopped() {
        return Ok(refitted);
    }
    let entries = refits(searches, found)?;
    let of: Vec<(usize, Arc<Samples>)> = entries
        .iter()
        .map(|entry| (entry.search, entry.spec.train.clone()))
        .collect();
    let outcomes = outcomes(backend, control, entries)?;
    for ((search, train), outcome) in of.into_iter().zip(outcomes) {
        refitted[search] = Some(Refitted { outcome, train });
    }
    Ok(refitted)
}
