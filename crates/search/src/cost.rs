//! What searches cost: updates, floating-point operations and seconds, known before they run.

use crate::SearchError;
use crate::halving::Search;
use loopfit_engine::{Control, Engine, FitSpec, flops_per_update};
use std::time::{Duration, Instant};

/// Updates of the two short runs whose difference is timed.
const TIMED: (usize, usize) = (24, 104);
/// A first run that takes longer than this is enough.
const LONG: Duration = Duration::from_millis(30);

/// What one rung of a search costs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RungCost {
    fits: usize,
    /// Seconds of one fit.
    seconds: f64,
}

/// Floating-point operations of a search, over all rungs; where a rung keeps some of the
/// shapes only, each counts for its part of all.
pub fn flops(search: &Search) -> Result<f64, SearchError> {
    let mut total = 0.0;
    for (number, rung) in search.plan.rungs.iter().enumerate() {
        let mut sum = 0.0;
        for setting in &search.settings {
            let spec = setting.spec(&search.protocol, &search.problem, number, *rung, None)?;
            sum += flops_per_update(&spec.network, &spec.stages[0]);
        }
        let mean = sum / search.settings.len() as f64;
        total += mean * (rung.fits * rung.updates) as f64;
    }
    Ok(total)
}

/// Seconds that the searches take together on the engine's threads, from the measured speed of
/// a few updates.
pub fn seconds(engine: &Engine, searches: &[Search]) -> Result<f64, SearchError> {
    let mut rungs: Vec<Vec<RungCost>> = Vec::new();
    for search in searches {
        for (number, cost) in rung_costs(engine, search)?.into_iter().enumerate() {
            if rungs.len() <= number {
                rungs.push(Vec::new());
            }
            rungs[number].push(cost);
        }
    }
    let threads = engine.threads() as f64;
    Ok(rungs
        .iter()
        .map(|costs| {
            let all: f64 = costs.iter().map(|c| c.fits as f64 * c.seconds).sum();
            let longest = costs.iter().map(|c| c.seconds).fold(0.0, f64::max);
            longest.max(all / threads)
        })
        .sum())
}

/// Seconds of one thread that a search takes.
pub fn thread_seconds(engine: &Engine, search: &Search) -> Result<f64, SearchError> {
    let costs = rung_costs(engine, search)?;
    Ok(costs.iter().map(|c| c.fits as f64 * c.seconds).sum())
}

/// The first setting of each rung is timed, the others by their operations.
fn rung_costs(engine: &Engine, search: &Search) -> Result<Vec<RungCost>, SearchError> {
    let Some(first) = search.settings.first() else {
        return Err(SearchError::NothingToTry);
    };
    let mut costs = Vec::new();
    for (number, rung) in search.plan.rungs.iter().enumerate() {
        let spec = first.spec(&search.protocol, &search.problem, number, *rung, None)?;
        let seconds = seconds_per_update(engine, &spec)?;
        let own = flops_per_update(&spec.network, &spec.stages[0]);
        let mut sum = 0.0;
        for setting in &search.settings {
            let spec = setting.spec(&search.protocol, &search.problem, number, *rung, None)?;
            sum += flops_per_update(&spec.network, &spec.stages[0]);
        }
        let mean = sum / search.settings.len() as f64;
        costs.push(RungCost {
            fits: rung.fits,
            seconds: seconds * mean / own * rung.updates as f64,
        });
    }
    Ok(costs)
}

/// Seconds of one update on one thread.
fn seconds_per_update(engine: &Engine, spec: &FitSpec) -> Result<f64, SearchError> {
    let time = |updates: usize| -> Result<Duration, SearchError> {
        let mut spec = spec.clone();
        spec.stages[0].updates = updates;
        spec.stages[0].validate_every = updates;
        let start = Instant::now();
        engine.run(&[spec], &Control::default(), |_, _| {})?;
        Ok(start.elapsed())
    };
    let short = time(TIMED.0)?;
    if short > LONG {
        return Ok(short.as_secs_f64() / TIMED.0 as f64);
    }
    let long = time(TIMED.1)?;
    let difference = long.saturating_sub(short).as_secs_f64();
    Ok((difference / (TIMED.1 - TIMED.0) as f64).max(1e-7))
}

/// What all methods of a comparison have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equal {
    /// The number of updates.
    #[default]
    Updates,
    /// Seconds on one thread, as measured on this machine.
    Time,
    /// Floating-point operations.
    Flops,
}
