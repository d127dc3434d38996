//! The small size of a study: every step of the way, a little of each.

use super::{
    Candidates, Continuation, Rounds, Schedule, SearchPlan, Seeds, Shortlist, Sieve, Study, Way,
};
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
        match &mut self.way {
            Way::Continuation(path) => shorter(path, here),
            Way::Shortlist(list) => smaller(list),
            Way::Search(plan) => plan_less(plan),
            Way::Sieve(sieve) => strain_less(sieve),
            Way::Schedule(schedule) => scheduled_less(schedule),
        }
        self
    }
}

/// A path of few updates through the places that are kept.
fn shorter(path: &mut Continuation, here: impl Fn(Option<f64>) -> bool) {
    path.stages.retain(|stage| here(stage.at));
    for (i, stage) in path.stages.iter_mut().enumerate() {
        // A little larger at every stage, so that normalisations change.
        stage.train = stage.train.min(ROWS + 8 * i);
        stage.valid = stage.valid.min(ROWS);
        stage.updates = UPDATES;
    }
    path.grid.validate_every = UPDATES / 2;
}

/// Fewer shapes and shorter rounds.
fn smaller(list: &mut Shortlist) {
    let development = &mut list.development;
    development.seeds = fewer(development.seeds);
    development.keep = development.keep.min(2);
    (development.warm, development.refine) = (UPDATES / 3, UPDATES);
    list.confirmation = Rounds {
        warm: UPDATES / 3,
        refine: UPDATES,
    };
    list.grid.validate_every = UPDATES / 2;
    list.grid.learning_rates.truncate(1);
    for candidates in [&mut list.single, &mut list.looped, &mut list.untied] {
        *candidates = thinner(candidates);
    }
    if let Some(screen) = &mut list.screen {
        screen.wins = screen.wins.min(SEEDS as usize);
    }
}

/// Fewer updates in rounds of fewer fits.
fn plan_less(plan: &mut SearchPlan) {
    plan.updates = plan.updates.min(SEARCH_UPDATES);
    thin_rungs(&mut plan.protocol);
    if let Some(own) = &mut plan.looped {
        thin_rungs(own);
    }
}

/// Few starts on short routes.
fn strain_less(sieve: &mut Sieve) {
    sieve.starts = sieve.starts.min(2);
    sieve.polish = sieve.polish.min(UPDATES / 3);
    for candidates in [&mut sieve.single, &mut sieve.looped, &mut sieve.untied] {
        *candidates = thinner(candidates);
    }
    for route in &mut sieve.routes {
        route.updates = route.updates.min(UPDATES / 3);
        route.validate_every = UPDATES / 6;
        route.batch = route.batch.min(32);
    }
}

/// Fewer updates, iteration counts and folds.
fn scheduled_less(schedule: &mut Schedule) {
    schedule.updates = schedule.updates.min(SEARCH_UPDATES);
    schedule.ladder.truncate(3);
    schedule.folds = schedule.folds.min(2);
    thin_rungs(&mut schedule.protocol);
    if let Some(others) = &mut schedule.others {
        thin_rungs(others);
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
