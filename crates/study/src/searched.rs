//! The search of `fit` and `compare` as a part of a study.

use crate::StudyError;
use crate::progress::Work;
use crate::protocol::{Case, SearchPlan};
use crate::recorder::{Recorder, SearchFits};
use crate::store::Choice;
use crate::trial::Trial;
use loopfit_engine::{Engine, FitOutcome};
use loopfit_model::Method;
use loopfit_search::cost;
use loopfit_search::fit::{Request, refit};
use loopfit_search::halving::{Entry, Fits, Search, search};
use loopfit_search::plan::Plan;
use loopfit_search::{Family, SearchError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Updates of each method's search.
fn updates(plan: &SearchPlan, case: &Case) -> usize {
    case.updates.unwrap_or(plan.updates)
}

/// Fits of one replication, and at most so many updates: a refit takes no more than a round.
pub(crate) fn work(
    plan: &SearchPlan,
    case: &Case,
    methods: &[Method],
) -> Result<Work, SearchError> {
    let of = |method: &Method| {
        let protocol = plan.of(*method);
        let spread = Plan::new(protocol, updates(plan, case))?;
        let longest = spread.rungs.iter().map(|r| r.updates).max();
        let refit = u64::from(protocol.refit);
        Ok(Work {
            fits: spread.rungs.iter().map(|r| r.fits as u64).sum::<u64>() + refit,
            updates: spread.updates() as u64 + refit * longest.unwrap_or(0) as u64,
        })
    };
    methods.iter().map(of).sum()
}

/// Whether every method has shapes under the cap and updates for its rounds.
pub(crate) fn check(
    plan: &SearchPlan,
    methods: &[Method],
    trial: &Trial<'_>,
) -> Result<(), StudyError> {
    let mut methods = methods.iter();
    methods.try_for_each(|method| searches(plan, *method, trial).map(|_| ()))
}

/// Seconds of one thread that a replication takes with each method, refits included.
pub(crate) fn seconds(
    plan: &SearchPlan,
    methods: &[Method],
    trial: &Trial<'_>,
    engine: &Engine,
) -> Result<f64, StudyError> {
    let mut sum = 0.0;
    for method in methods {
        for search in searches(plan, *method, trial)? {
            let seconds = cost::thread_seconds(engine, &search).map_err(|e| trial.wrong(e))?;
            let longest = search.plan.rungs.iter().map(|r| r.updates).max();
            let refit = match search.protocol.refit {
                true => longest.unwrap_or(0) as f64 / search.plan.updates() as f64,
                false => 0.0,
            };
            sum += seconds * (1.0 + refit);
        }
    }
    Ok(sum)
}

fn searches(
    plan: &SearchPlan,
    method: Method,
    trial: &Trial<'_>,
) -> Result<Vec<Search>, StudyError> {
    let problem = trial.visible()?.problem;
    let updates = updates(plan, trial.case);
    let request = Request {
        budget: trial.case.cap(),
        families: Family::each(&[trial.architecture()?], &[method]),
        updates,
        protocol: Arc::new(plan.of(method).clone()),
    };
    request
        .searches(&problem, trial.seed, &[updates])
        .map_err(|e| trial.wrong(e))
}

/// Searches with a method and keeps the best fit; with a fan also the best at every iteration
/// count that Loop grew through.
pub(crate) fn choose(
    plan: &SearchPlan,
    method: Method,
    trial: &Trial<'_>,
    recorder: &Recorder<'_>,
) -> Result<Vec<Choice>, StudyError> {
    let wrong = |e: SearchError| trial.wrong(e);
    let searches = searches(plan, method, trial)?;
    let fits = Watched {
        fits: SearchFits {
            recorder,
            method: method.key(),
        },
        by_iterations: Mutex::default(),
    };
    let found = search(&fits, &searches).map_err(wrong)?;
    let refitted = refit(&fits, &searches, &found).map_err(wrong)?;
    let choice = |name: String, fit: String| Choice {
        name,
        method: method.key().to_string(),
        at: trial.case.at,
        fit: Some(fit),
    };
    let mut choices = Vec::new();
    for ((search, found), refitted) in searches.iter().zip(&found).zip(&refitted) {
        let rung = match refitted {
            Some(_) => search.plan.rungs.len(),
            None => found.rung,
        };
        let fit = fits.fits.name(rung, found.setting);
        choices.push(choice(method.key().to_string(), fit));
    }
    if plan.fan && method == Method::Loop {
        let best = fits
            .by_iterations
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        // The chosen model stands for its own iteration count.
        let chosen = found
            .first()
            .map(|f| f.outcome.parameters.network().tying().iterations());
        for (t, (_, fit)) in best.into_iter().filter(|(t, _)| Some(*t) != chosen) {
            choices.push(choice(format!("{}-T{t:03}", method.key()), fit));
        }
    }
    Ok(choices)
}

/// Fits that are also remembered by their iteration count.
struct Watched<'a> {
    fits: SearchFits<'a>,
    /// For every T the lowest validation loss and the name of its fit.
    by_iterations: Mutex<BTreeMap<usize, (f64, String)>>,
}

impl Fits for Watched<'_> {
    fn run(&self, entries: Vec<Entry>) -> Result<Vec<FitOutcome>, SearchError> {
        let names: Vec<(usize, String)> = entries
            .iter()
            .map(|e| {
                let t = e.spec.network.tying().iterations();
                (t, self.fits.name(e.rung, e.setting))
            })
            .collect();
        let outcomes = self.fits.run(entries)?;
        let mut best = self
            .by_iterations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for ((t, name), outcome) in names.into_iter().zip(&outcomes) {
            let so_far = best.get(&t).map_or(f64::INFINITY, |(loss, _)| *loss);
            if outcome.validation < so_far {
                best.insert(t, (outcome.validation, name));
            }
        }
        Ok(outcomes)
    }

    fn is_stopped(&self) -> bool {
        self.fits.is_stopped()
    }
}
