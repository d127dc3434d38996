//! The search of `fit` and `compare` as a part of a study.

use crate::StudyError;
use crate::contender::Contender;
use crate::progress::Work;
use crate::protocol::{Case, SearchPlan};
use crate::recorder::{Job, Recorder};
use crate::store::Choice;
use crate::trial::Trial;
use loopfit_engine::Backend;
use loopfit_model::Method;
use loopfit_search::cost;
use loopfit_search::fit::Request;
use loopfit_search::halving::{Entry, Rounds, Search};
use loopfit_search::plan::Plan;
use loopfit_search::refit::refits;
use loopfit_search::{Family, SearchError};
use std::collections::BTreeMap;
use std::sync::Arc;

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
    backend: &dyn Backend,
) -> Result<f64, StudyError> {
    let mut sum = 0.0;
    for method in methods {
        for search in searches(plan, *method, trial)? {
            let seconds = cost::thread_seconds(backend, &search).map_err(|e| trial.wrong(e))?;
            sum += seconds * (1.0 + refit_part(&search));
        }
    }
    Ok(sum)
}

/// The same, predicted from operations and updates alone.
pub(crate) fn cost(
    plan: &SearchPlan,
    methods: &[Method],
    trial: &Trial<'_>,
) -> Result<f64, StudyError> {
    let mut sum = 0.0;
    for method in methods {
        for search in searches(plan, *method, trial)? {
            let updates = search.plan.updates() as f64;
            let flops = cost::flops(&search).map_err(|e| trial.wrong(e))?;
            sum += crate::cost::of_search(updates, flops) * (1.0 + refit_part(&search));
        }
    }
    Ok(sum)
}

/// Updates of a refit, relative to those of its search.
fn refit_part(search: &Search) -> f64 {
    let longest = search.plan.rungs.iter().map(|r| r.updates).max();
    match search.protocol.refit {
        true => longest.unwrap_or(0) as f64 / search.plan.updates() as f64,
        false => 0.0,
    }
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
    let mut rounds = Rounds::new(&searches);
    // For every T the lowest validation loss and the name of its fit.
    let mut by_iterations: BTreeMap<usize, (f64, String)> = BTreeMap::new();
    while let Some(entries) = rounds.next_round().map_err(wrong)? {
        let jobs = jobs(method, entries);
        let outcomes = recorder.run(&jobs)?;
        for (job, outcome) in jobs.iter().zip(&outcomes) {
            let t = job.spec.network.tying().iterations();
            let so_far = by_iterations.get(&t).map_or(f64::INFINITY, |best| best.0);
            if outcome.validation < so_far {
                by_iterations.insert(t, (outcome.validation, job.name.clone()));
            }
        }
        rounds.take(outcomes);
    }
    let found = rounds.finish().map_err(wrong)?;
    let refits = refits(&searches, &found).map_err(wrong)?;
    let rungs: Vec<usize> = found
        .iter()
        .enumerate()
        .map(|(i, found)| {
            let refit = refits.iter().find(|entry| entry.search == i);
            refit.map_or(found.rung, |entry| entry.rung)
        })
        .collect();
    recorder.run(&jobs(method, refits))?;
    let choice = |own: Contender, fit: String| own.choice(trial.case.at, Some(fit));
    let mut choices = Vec::new();
    for (found, rung) in found.iter().zip(rungs) {
        let fit = name(method, rung, found.setting);
        choices.push(choice(Contender::Method(method), fit));
    }
    if plan.fan && method == Method::Loop {
        // The chosen model stands for its own iteration count.
        let chosen = found
            .first()
            .map(|f| f.outcome.parameters.network().tying().iterations());
        for (t, (_, fit)) in by_iterations
            .into_iter()
            .filter(|(t, _)| Some(*t) != chosen)
        {
            choices.push(choice(Contender::Cut { t }, fit));
        }
    }
    Ok(choices)
}

/// The fits of a round under their names in the task.
fn jobs(method: Method, entries: Vec<Entry>) -> Vec<Job> {
    let job = |entry: Entry| Job {
        name: name(method, entry.rung, entry.setting),
        spec: entry.spec,
    };
    entries.into_iter().map(job).collect()
}

/// The name of a fit in its task.
fn name(method: Method, rung: usize, setting: usize) -> String {
    format!("{}/round-{}/start-{setting:03}", method.key(), rung + 1)
}
