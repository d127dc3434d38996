//! What searches cost: updates, floating-point operations and seconds, known before they run.

use crate::SearchError;
use crate::halving::Search;
use crate::plan::Rung;
use loopfit_engine::{Backend, Control, FitSpec, flops_per_gradient, flops_per_update};
use loopfit_likelihood::Likelihood;
use loopfit_numerics::named::Named;
use std::time::Duration;

/// Updates of the shorter of two runs that are timed: as many as there are between two refreshes of a curvature.
const FEW: usize = 10;
/// Updates of the longer one; [`SLOW`] if the shorter one took [`LONG`].
const MANY: usize = 20 * FEW;
const SLOW: usize = 2 * FEW;
const LONG: Duration = Duration::from_millis(20);
/// Runs of each length, of which the fastest counts.
const RUNS: usize = 3;
/// Operations of a validation, relative to those of a gradient: forward alone.
const FORWARD: f64 = 1.0 / 3.0;

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
    let specs = specs(search, rung)?;
    let flops: f64 = specs.iter().map(flops_per_update).sum();
    Ok(flops / specs.len() as f64)
}

/// The fits of a rung, from fresh starts.
fn specs(search: &Search, rung: Rung) -> Result<Vec<FitSpec>, SearchError> {
    let settings = search.settings.iter();
    settings
        .map(|setting| search.spec(setting, 0, rung, None))
        .collect()
}

/// Seconds that the searches take together on the backend's threads, from the measured speed of
/// a few updates.
pub fn seconds(backend: &dyn Backend, searches: &[Search]) -> Result<f64, SearchError> {
    let mut rungs: Vec<Vec<f64>> = Vec::new();
    for search in searches {
        let mut costs = rung_costs(backend, search)?;
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
        .map(|fits| makespan(fits, backend.threads().count()));
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
pub fn thread_seconds(backend: &dyn Backend, search: &Search) -> Result<f64, SearchError> {
    let costs = rung_costs(backend, search)?;
    Ok(costs.iter().map(|c| c.fits as f64 * c.seconds).sum())
}

/// What each rung costs. The setting with about as many operations as the mean is timed: what a smaller network spends beside
/// its operations would be multiplied.
fn rung_costs(backend: &dyn Backend, search: &Search) -> Result<Vec<RungCost>, SearchError> {
    let mut costs: Vec<RungCost> = Vec::new();
    let mut timed: Option<(usize, Timing)> = None;
    for rung in &search.plan.rungs {
        let timing = match timed {
            // The same network again.
            Some((shorten, timing)) if shorten == rung.shorten => timing,
            _ => {
                let mean = mean_flops(search, *rung)?;
                let far = |spec: &FitSpec| (flops_per_update(spec) - mean).abs();
                let specs = specs(search, *rung)?;
                let typical = specs.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
                let typical = typical.ok_or(SearchError::NothingToTry)?;
                let timing = Timing::new(backend, typical)?;
                timing.scaled(mean / flops_per_update(typical))
            }
        };
        timed = Some((rung.shorten, timing));
        costs.push(RungCost {
            fits: rung.fits,
            seconds: timing.once + timing.per_update * rung.updates as f64,
        });
    }
    Ok(costs)
}

/// Seconds of a fit on one thread.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Of what a fit does once: its start and the validations at both ends.
    pub once: f64,
    /// Of each update, with the validations on the way.
    pub per_update: f64,
}

impl Timing {
    /// Of a network with so many times the operations.
    fn scaled(self, by: f64) -> Self {
        Self {
            once: by * self.once,
            per_update: by * self.per_update,
        }
    }

    /// From runs of two lengths of a fit's first stage.
    pub fn new(backend: &dyn Backend, spec: &FitSpec) -> Result<Self, SearchError> {
        let time = |updates: usize, runs: usize| -> Result<f64, SearchError> {
            let mut spec = spec.clone();
            let Some(stage) = spec.stages.first_mut() else {
                return Err(SearchError::NothingToTry);
            };
            // Validated at both ends alone.
            (stage.updates, stage.validate_every) = (updates, updates);
            let mut fastest = f64::INFINITY;
            for _ in 0..runs {
                // Of the thread that runs the fit, whatever else the machine does.
                let specs = std::slice::from_ref(&spec);
                let outcomes = backend.run(specs, &Control::default(), &|_, _| {})?;
                let seconds = outcomes.iter().map(|outcome| outcome.seconds).sum();
                fastest = fastest.min(seconds);
            }
            Ok(fastest)
        };
        let first = time(FEW, 1)?;
        let (many, runs) = match first > LONG.as_secs_f64() {
            true => (SLOW, 1),
            false => (MANY, RUNS),
        };
        let few = match runs {
            1 => first,
            _ => time(FEW, runs)?,
        };
        let longer = time(many, runs)?;
        let per_update = (longer - few) / (many - FEW) as f64;
        // A cold start may have made the shorter run the longer one.
        let per_update = match per_update > 0.0 {
            true => per_update,
            false => longer / many as f64,
        };
        Ok(Self {
            once: (few - FEW as f64 * per_update).max(0.0),
            per_update: per_update * (1.0 + validation_part(spec)),
        })
    }
}

/// What validations cost, relative to the updates between them.
fn validation_part(spec: &FitSpec) -> f64 {
    let nodes = match spec.likelihood {
        Likelihood::Energy(energy) => energy.node_count(),
        _ => 0,
    };
    let flops = FORWARD * flops_per_gradient(&spec.network, spec.valid.n() + nodes);
    let every = spec.stages.first().map_or(1, |stage| stage.validate_every);
    flops / (flops_per_update(spec) * every as f64)
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

impl Named for Equal {
    const ALL: &'static [Self] = &[Self::Updates, Self::Time, Self::Flops];

    fn name(self) -> &'static str {
        match self {
            Self::Updates => "updates",
            Self::Time => "time",
            Self::Flops => "flops",
        }
    }
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
