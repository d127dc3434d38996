//! The small size of a study: every step of the way, a little of each.

use super::{Candidates, Rounds, Seeds, Study};
use loopfit_search::protocol::Protocol;

/// Seeds, updates of a fit and observations that are left.
const SEEDS: u64 = 2;
const UPDATES: usize = 30;
const SEARCH_UPDATES: usize = 600;
const ROWS: usize = 192;

impl Study {
    /// The study at a small size: two seeds, one test split, a few updates, few rows of a
    /// simulation, and the cases and places that [`super::Quick`] names.
    pub fn quick(mut self) -> Self {
        self.title = format!("{} (quick)", self.title);
        self.question =
            "A small size that takes every step: its numbers have no meaning.".to_string();
        self.seeds = fewer(self.seeds);
        self.test_splits.truncate(1);
        let kept = std::mem::take(&mut self.quick);
        let here =
            |at: Option<f64>| kept.at.is_empty() || at.is_none_or(|at| kept.at.contains(&at));
        self.cases.retain(|case| {
            here(case.at) && (kept.cases.is_empty() || kept.cases.contains(&case.name))
        });
        for case in &mut self.cases {
            case.train = case.train.map(|n| n.min(ROWS));
            case.valid = case.valid.map(|n| n.min(ROWS));
            case.seeds = case.seeds.map(fewer);
            case.updates = case.updates.map(|n| n.min(SEARCH_UPDATES));
        }
        if let Some(continuation) = &mut self.continuation {
            continuation.stages.retain(|stage| here(stage.at));
            for (i, stage) in continuation.stages.iter_mut().enumerate() {
                // A little larger at every stage, so that normalisations change.
                stage.train = stage.train.min(ROWS + 8 * i);
                stage.valid = stage.valid.min(ROWS);
                stage.updates = UPDATES;
            }
            continuation.grid.validate_every = UPDATES / 2;
        }
        if let Some(shortlist) = &mut self.shortlist {
            let development = &mut shortlist.development;
            development.seeds = fewer(development.seeds);
            development.keep = development.keep.min(2);
            (development.warm, development.refine) = (UPDATES / 3, UPDATES);
            shortlist.confirmation = Rounds {
                warm: UPDATES / 3,
                refine: UPDATES,
            };
            shortlist.grid.validate_every = UPDATES / 2;
            shortlist.grid.learning_rates.truncate(1);
            for candidates in [
                &mut shortlist.single,
                &mut shortlist.looped,
                &mut shortlist.untied,
            ] {
                *candidates = thinner(candidates);
            }
            if let Some(screen) = &mut shortlist.screen {
                screen.wins = screen.wins.min(SEEDS as usize);
            }
        }
        if let Some(search) = &mut self.search {
            search.updates = search.updates.min(SEARCH_UPDATES);
            thin_rungs(&mut search.protocol);
            if let Some(own) = &mut search.looped {
                thin_rungs(own);
            }
        }
        self
    }
}

fn fewer(seeds: Seeds) -> Seeds {
    Seeds {
        count: seeds.count.min(SEEDS),
        ..seeds
    }
}

/// The first two of each list.
fn thinner(candidates: &Candidates) -> Candidates {
    let first = |list: &[usize]| list.iter().take(2).copied().collect();
    Candidates {
        q: first(&candidates.q),
        t: first(&candidates.t),
    }
}

/// Rounds of at most a few fits.
fn thin_rungs(protocol: &mut Protocol) {
    for rung in protocol.rungs.iter_mut().flatten() {
        rung.fits = rung.fits.min(3);
    }
}
