//! What searches cost: updates, floating-point operations and seconds, known before they run.

use crate::SearchError;
use crate::halving::Search;
use crate::plan::Rung;
use loopfit_engine::{Control, Engine, FitSpec, flops_per_update};
use std::time::{Duration, Instant};

/// Updates of a run that is timed, if a shorter one was fast.
const TIMED: usize = 200;
/// Updates of the shorter run, which is enough if it took [`LONG`].
const FEW: usize = 8;
const LONG: Duration = Duration::from_millis(20);

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
    let rungs = search.plan.rungs.iter();
    rungs
        .map(|rung| Ok(mean_flops(search, *rung)? * (rung.fits * rung.updates) as f64))
        .sum()
}

/// Operations of an update in a rung, on average over all settings.
fn mean_flops(search: &Search, rung: Rung) -> Result<f64, SearchError> {
    let mut sum = 0.0;
    for setting in &search.settings {
        let (protocol, problem) = (&search.protocol, &search.problem);
        let spec = setting.spec(protocol, problem, 0, rung, None)?;
        sum += flops_per_update(&spec);
    }
    Ok(sum / search.settings.len() as f64)
}

/// Seconds that the searches take together on the engine's threads, from the measured speed of
/// a few updates.
pub fn seconds(engine: &Engine, searches: &[Search]) -> Result<f64, SearchError> {
    let mut rungs: Vec<Vec<f64>> = Vec::new();
    for search in searches {
        let mut costs = rung_costs(engine, search)?;
        if let (true, Some(last)) = (search.protocol.refit, costs.last()) {
            costs.push(RungCost { fits: 1, ..*last });
        }
        for (number, cost) in costs.into_iter().enumerate() {
            if rungs.len() <= number {
                rungs.push(Vec::new());
            }
            rungs[number].extend(std::iter::repeat_n(cost.seconds, cost.fits));
        }
    }
    let spans = rungs
        .into_iter()
        .map(|fits| makespan(fits, engine.threads()));
    Ok(spans.sum())
}

/// When the last of some jobs ends if each thread takes the longest that is left.
fn makespan(mut jobs: Vec<f64>, threads: usize) -> f64 {
    jobs.sort_by(|a, b| b.total_cmp(a));
    let mut busy_until = vec![0.0f64; threads.max(1)];
    for job in jobs {
        if let Some(first) = busy_until.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *first += job;
        }
    }
    busy_until.into_iter().fold(0.0, f64::max)
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
    let mut costs: Vec<RungCost> = Vec::new();
    let mut timed: Option<(usize, f64)> = None;
    for (number, rung) in search.plan.rungs.iter().enumerate() {
        let spec = first.spec(&search.protocol, &search.problem, number, *rung, None)?;
        let per_update = match timed {
            // The same network again.
            Some((shorten, seconds)) if shorten == rung.shorten => seconds,
            _ => {
                let own = flops_per_update(&spec);
                seconds_per_update(engine, &spec)? * mean_flops(search, *rung)? / own
            }
        };
        timed = Some((rung.shorten, per_update));
        costs.push(RungCost {
            fits: rung.fits,
            seconds: per_update * rung.updates as f64,
        });
    }
    Ok(costs)
}

/// Seconds of one update on one thread, validations included.
pub fn seconds_per_update(engine: &Engine, spec: &FitSpec) -> Result<f64, SearchError> {
    let time = |updates: usize| -> Result<f64, SearchError> {
        let mut spec = spec.clone();
        spec.stages[0].updates = updates;
        let start = Instant::now();
        engine.run(&[spec], &Control::default(), |_, _| {})?;
        Ok(start.elapsed().as_secs_f64() / updates as f64)
    };
    let few = time(FEW)?;
    if few * FEW as f64 > LONG.as_secs_f64() {
        return Ok(few);
    }
    time(TIMED)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_do_not_divide_evenly_wait() {
        assert_eq!(makespan(vec![1.0, 1.0, 1.0], 2), 2.0);
        assert_eq!(makespan(vec![3.0, 1.0, 1.0, 1.0], 2), 3.0);
        assert_eq!(makespan(vec![2.0], 16), 2.0);
        assert_eq!(makespan(Vec::new(), 2), 0.0);
    }
}
