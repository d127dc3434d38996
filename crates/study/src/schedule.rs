//! Loops whose iterations follow the sample size, beside those of every other iteration count, Single and Untied.
//!
//! Every search is fitted to all samples and keeps what its likelihood prefers: the sieve maximum likelihood estimator, as far as
//! the search finds it. Rows that are held out serve the two choices of an iteration count that need them, and no other.

pub(crate) mod smoother;

use crate::StudyError;
use crate::contender::{Contender, Rule};
use crate::progress::Work;
use crate::protocol::{Case, Follow, Schedule};
use crate::recorder::{Job, Recorder};
use crate::store::Choice;
use crate::trial::Trial;
use loopfit_data::Samples;
use loopfit_engine::{Backend, Predictor};
use loopfit_likelihood::{Distance, Gaussian, Likelihood};
use loopfit_model::{Budget, Method, Network, Tying};
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;
use loopfit_search::SearchError;
use loopfit_search::cost;
use loopfit_search::halving::{Found, Rounds, Search};
use loopfit_search::iterations::{self, Ladder, Rung};
use loopfit_search::plan::Plan;
use loopfit_search::replication::Problem;
use std::sync::Arc;

/// Rows at which Lepski's method compares fits, at most.
const COMPARED: usize = 2048;
/// Depths of Untied are tried up to this one.
const DEEPEST: usize = 16;

/// One search of a task and the name that its fits begin with.
struct Named {
    name: String,
    search: Search,
}

/// The iteration counts of a case: those of the ladder, of the theorem, and of the theorem at the smallest size.
fn counts(schedule: &Schedule, follow: &Follow) -> Vec<usize> {
    let mut ts = schedule.ladder.clone();
    ts.extend([follow.shape()[2], follow.first()]);
    ts.sort_unstable();
    ts.dedup();
    ts
}

/// Fits of one replication and their updates.
pub(crate) fn work(schedule: &Schedule, case: &Case) -> Work {
    let Some(follow) = &case.follow else {
        return Work::default();
    };
    let loops = counts(schedule, follow).len() * (1 + schedule.folds);
    let all = [(&schedule.protocol, loops), (schedule.of_others(), 2)];
    let updates = schedule.updates_of(case);
    let plan = |protocol| Plan::new(protocol, updates).ok();
    all.into_iter()
        .filter_map(|(protocol, times)| Some((plan(protocol)?, times as u64)))
        .map(|(plan, times)| Work {
            fits: times * plan.rungs.iter().map(|rung| rung.fits as u64).sum::<u64>(),
            updates: times * plan.updates() as u64,
        })
        .sum()
}

/// Whether every method has shapes under the cap.
pub(crate) fn check(schedule: &Schedule, trial: &Trial<'_>) -> Result<(), StudyError> {
    searches(schedule, trial).map(|_| ())
}

/// Seconds of one thread that a replication takes: that of the dearest search is measured, the others go by their operations.
pub(crate) fn seconds(
    schedule: &Schedule,
    trial: &Trial<'_>,
    backend: &dyn Backend,
) -> Result<f64, StudyError> {
    let wrong = |e| trial.wrong(e);
    let mut all = Vec::new();
    for named in searches(schedule, trial)?.0 {
        let flops = cost::flops(&named.search).map_err(wrong)?;
        all.push((flops, named.search));
    }
    let dearest = all.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((most, search)) = dearest else {
        return Ok(0.0);
    };
    let measured = cost::thread_seconds(backend, search).map_err(wrong)?;
    Ok(all.iter().map(|(flops, _)| measured * flops / most).sum())
}

/// The same, predicted from operations and updates alone.
pub(crate) fn cost(schedule: &Schedule, trial: &Trial<'_>) -> Result<f64, StudyError> {
    let mut sum = 0.0;
    for named in searches(schedule, trial)?.0 {
        let updates = named.search.plan.updates() as f64;
        let flops = cost::flops(&named.search).map_err(|e| trial.wrong(e))?;
        sum += crate::cost::of_search(updates, flops);
    }
    Ok(sum)
}

/// The searches of a task, Single, Untied and the ladder on all rows first, then the ladder without each fold; and the iteration counts.
fn searches(
    schedule: &Schedule,
    trial: &Trial<'_>,
) -> Result<(Vec<Named>, Vec<usize>), StudyError> {
    let wrong = |e: SearchError| trial.wrong(e);
    let seen = trial.visible()?.problem;
    let follow = trial.follow()?;
    let budget = trial.cap(trial.case.cap(), &seen)?;
    let protocol = Arc::new(schedule.protocol.clone());
    let stream = Stream::new(trial.seed).child("schedule");
    let all = Arc::new(Problem {
        valid: seen.train.clone(),
        ..(*seen).clone()
    });
    let updates = schedule.updates_of(trial.case);
    let mut found = Vec::new();
    let others = Arc::new(schedule.of_others().clone());
    for method in [Method::Single, Method::Untied] {
        let networks = shapes(&budget, method).map_err(wrong)?;
        let stream = stream.child(method.key());
        let search = iterations::search(&all, &networks, &others, updates, stream);
        found.push(Named {
            name: method.key().to_string(),
            search: search.map_err(wrong)?,
        });
    }
    let ts = counts(schedule, follow);
    let states = [follow.shape()[0]];
    let mut ladder = |problem: &Arc<Problem>, part: &str, stream: Stream| {
        let ladder = Ladder::new(problem, &budget, &states, &ts, &protocol, updates, stream);
        let ladder = ladder.map_err(wrong)?;
        found.extend(
            ladder
                .ts
                .iter()
                .zip(ladder.searches)
                .map(|(t, search)| Named {
                    name: format!("{}{part}", Contender::Cut { t: *t }.key()),
                    search,
                }),
        );
        Ok::<(), StudyError>(())
    };
    ladder(&all, "", stream)?;
    for fold in 0..schedule.folds {
        let problem = without(&seen, fold, schedule.folds).map_err(wrong)?;
        let part = format!("/fold-{}", fold + 1);
        ladder(
            &Arc::new(problem),
            &part,
            stream.child("fold").nth(fold as u64),
        )?;
    }
    Ok((found, ts))
}

/// The rows of a problem without those of a fold, which are for validation.
fn without(problem: &Problem, fold: usize, folds: usize) -> Result<Problem, SearchError> {
    let (rows, d) = (&problem.train, problem.train.d());
    let part = |held: bool| {
        let own = (0..rows.n()).filter(|i| (i % folds == fold) == held);
        let own: Vec<usize> = own.collect();
        let x = own.iter().flat_map(|i| &rows.x()[i * d..(i + 1) * d]);
        // A density has no responses.
        let y = own.iter().filter_map(|i| rows.y().get(*i));
        Samples::new(d, x.copied().collect(), y.copied().collect())
    };
    Ok(Problem {
        train: Arc::new(part(false)?),
        valid: Arc::new(part(true)?),
        ..problem.clone()
    })
}

/// Every state dimension of Single, and every depth of Untied with several, each as wide as the cap allows.
fn shapes(budget: &Budget, method: Method) -> Result<Vec<Network>, SearchError> {
    let (states, depths) = match method {
        Method::Single => (&[2, 3, 1, 4, 6, 8][..], 1..=1),
        _ => (&[2, 3, 1, 4][..], 2..=DEEPEST),
    };
    let mut networks = Vec::new();
    for q in states {
        for t in depths.clone() {
            let Some(r) = budget.largest_r(*q, t) else {
                break;
            };
            let tying = match method {
                Method::Single => Tying::Single,
                _ => Tying::Untied { t },
            };
            networks.push(budget.network(*q, r, tying)?);
        }
    }
    Ok(networks)
}

/// Fits everything and chooses iteration counts by every rule. The best of each iteration count on all rows is kept, whoever chose it.
pub(crate) fn choose(
    schedule: &Schedule,
    trial: &Trial<'_>,
    recorder: &Recorder<'_>,
) -> Result<Vec<Choice>, StudyError> {
    let (named, ts) = searches(schedule, trial)?;
    let (names, searches): (Vec<String>, Vec<Search>) =
        named.into_iter().map(|n| (n.name, n.search)).unzip();
    let found = run(trial, recorder, &names, &searches)?;
    let fit = |i: usize| name(&names[i], found[i].rung, found[i].setting);
    let choice = |own: Contender, fit: Option<String>| own.choice(trial.case.at, fit);
    let mut choices = vec![
        choice(Method::Single.into(), Some(fit(0))),
        choice(Method::Untied.into(), Some(fit(1))),
    ];
    let (ladder, folds) = found[2..].split_at(ts.len());
    for (i, t) in ts.iter().enumerate() {
        choices.push(choice(Contender::Cut { t: *t }, Some(fit(2 + i))));
    }
    let follow = trial.follow()?;
    let n = trial.visible()?.problem.train.n();
    let b = ladder[0].outcome.parameters.network().count();
    let rungs: Vec<Rung> = ts
        .iter()
        .zip(ladder)
        .map(|(t, found)| Rung {
            t: *t,
            loss: found.outcome.validation,
        })
        .collect();
    let held: Vec<&[Found]> = folds.chunks(ts.len()).collect();
    let distances = distances(trial, ladder)?;
    let between = |i: usize, j: usize| distances[i * ts.len() + j];
    let mut chosen = vec![
        (Contender::Method(Method::Loop), Some(follow.shape()[2])),
        (Rule::Fixed.into(), Some(follow.first())),
        (
            Rule::Penalised.into(),
            iterations::penalised(&rungs, b, n).map(|p| p.t),
        ),
    ];
    if let Some(first) = held.first() {
        let crossed = (0..ts.len()).map(|i| {
            let of_all: Vec<f64> = held.iter().map(|fold| losses(fold)[i]).collect();
            mean(&of_all)
        });
        let crossed: Vec<f64> = crossed.collect();
        chosen.push((Rule::Validation.into(), lowest(&ts, &losses(first))));
        chosen.push((Rule::CrossValidation.into(), lowest(&ts, &crossed)));
    }
    let lepski = iterations::lepski(&ts, between, schedule.lepski, b, n);
    chosen.push((Rule::Lepski.into(), lepski));
    for (own, t) in chosen {
        let place = t.and_then(|t| ts.iter().position(|other| *other == t));
        choices.push(choice(own, Some(fit(2 + place.unwrap_or(0)))));
    }
    choices.push(choice(Contender::Smoother, None));
    choices.push(choice(Contender::Constant, None));
    Ok(choices)
}

/// Runs the searches together, round by round.
fn run(
    trial: &Trial<'_>,
    recorder: &Recorder<'_>,
    names: &[String],
    searches: &[Search],
) -> Result<Vec<Found>, StudyError> {
    let wrong = |e: SearchError| trial.wrong(e);
    let mut rounds = Rounds::new(searches);
    while let Some(entries) = rounds.next_round().map_err(wrong)? {
        let jobs: Vec<Job> = entries
            .into_iter()
            .map(|entry| Job {
                name: name(&names[entry.search], entry.rung, entry.setting),
                spec: entry.spec,
            })
            .collect();
        rounds.take(recorder.run(&jobs)?);
    }
    rounds.finish().map_err(wrong)
}

/// The name of a fit in its task.
fn name(search: &str, rung: usize, setting: usize) -> String {
    format!("{search}/round-{}/start-{setting:03}", rung + 1)
}

fn losses(found: &[Found]) -> Vec<f64> {
    found.iter().map(|found| found.outcome.validation).collect()
}

/// The iteration count with the lowest loss, of equal ones the first.
fn lowest(ts: &[usize], losses: &[f64]) -> Option<usize> {
    let finite = ts.iter().zip(losses).filter(|(_, loss)| loss.is_finite());
    finite.min_by(|a, b| a.1.total_cmp(b.1)).map(|(t, _)| *t)
}

/// Squared Hellinger distances between the laws of fits at the first training inputs, of densities at the nodes of their normaliser;
/// row by row.
fn distances(trial: &Trial<'_>, ladder: &[Found]) -> Result<Vec<f64>, StudyError> {
    let visible = trial.visible()?;
    let problem = &visible.problem;
    let likelihood = match (problem.likelihood, trial.noise_sd()?) {
        // The noise in units of the standardised responses.
        (Likelihood::Gaussian(_), Some(sd)) => {
            let unit = visible.normalisation.map_or(1.0, |n| n.sd);
            let noise = Gaussian::new(sd / unit).map_err(|e| trial.wrong(e.into()))?;
            Likelihood::Gaussian(noise)
        }
        (other, _) => other,
    };
    let x: Vec<f32> = match likelihood {
        Likelihood::Energy(energy) => energy.node_points().iter().map(|v| *v as f32).collect(),
        _ => {
            let x = problem.train.x();
            x[..x.len().min(COMPARED * problem.train.d())].to_vec()
        }
    };
    let outputs: Vec<Vec<f64>> = ladder
        .iter()
        .map(|found| Predictor::new(&found.outcome.parameters, problem.bounds).predict(&x))
        .collect();
    let mut distances = Vec::with_capacity(ladder.len() * ladder.len());
    for f in &outputs {
        for g in &outputs {
            let own = likelihood.distance(Distance::HellingerSquared, f, g);
            distances.push(own.map_err(|e| trial.wrong(e.into()))?);
        }
    }
    Ok(distances)
}
