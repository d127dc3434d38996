//! Development keeps a few shapes, confirmation fits them again (F.4.5, F.4.6).

use crate::StudyError;
use crate::contender::Contender;
use crate::forecast::Sample;
use crate::grid::{From, best, shape_name};
use crate::progress::Work;
use crate::protocol::{Candidates, Rounds, Screen, Shortlist, Study};
use crate::recorder::{Job, Recorder};
use crate::store::{Choice, Store};
use crate::task::{Phase, Task};
use crate::trial::{Sources, Trial};
use loopfit_model::{Budget, Method, Network, Tying};
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State dimension and iteration count of a shape. Its width is the largest that fits, which may
/// differ between training splits: they need not show the same categories.
type Shape = (usize, Tying);

/// Shapes of each method that development kept, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept(pub(crate) BTreeMap<Method, Vec<Shape>>);

/// What the screen of F.4.5 found for a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Screened {
    /// The case.
    pub case: String,
    /// Mean development error of each method, in the study's order; none if a model failed.
    pub means: Vec<Option<f64>>,
    /// Seeds on which Loop was lowest.
    pub wins: usize,
    /// `1 - Loop / second lowest mean`; negative if Loop is not the lowest, none if there is
    /// nothing to compare.
    pub advantage: Option<f64>,
    /// Whether the rule lets it go on.
    pub eligible: bool,
}

impl Shortlist {
    pub(crate) fn candidates(&self, method: Method) -> &Candidates {
        match method {
            Method::Single => &self.single,
            Method::Loop => &self.looped,
            Method::Untied => &self.untied,
        }
    }

    /// The candidate shapes of a method.
    fn shapes(&self, method: Method) -> Vec<Shape> {
        let candidates = self.candidates(method);
        let tyings: Vec<Tying> = match method {
            Method::Single => vec![Tying::Single],
            Method::Loop => candidates.t.iter().map(|t| Tying::Loop { t: *t }).collect(),
            Method::Untied => candidates
                .t
                .iter()
                .map(|t| Tying::Untied { t: *t })
                .collect(),
        };
        let pairs = candidates
            .q
            .iter()
            .flat_map(|q| tyings.iter().map(move |tying| (*q, *tying)));
        pairs.collect()
    }

    /// At most so many fits of one replication in development; exactly, where every candidate
    /// fits its cap.
    pub(crate) fn development_work(&self, methods: &[Method]) -> Work {
        let shapes = |method: &Method| {
            let candidates = self.candidates(*method);
            candidates.q.len() * candidates.t.len().max(1)
        };
        let starts = self.development.starts.unwrap_or(self.grid.starts);
        let fits = methods.iter().map(shapes).sum::<usize>() * starts * self.grid.settings();
        work(fits, self.development.rounds())
    }

    /// At most so many fits of one replication in confirmation.
    pub(crate) fn confirmation_work(&self, methods: &[Method]) -> Work {
        let fits = self.development.keep * methods.len() * self.grid.starts * self.grid.settings();
        work(fits, self.confirmation)
    }
}

/// The network of a shape with the largest width under the cap, if one fits.
fn widest(budget: &Budget, (q, tying): Shape) -> Option<Network> {
    let r = budget.largest_r(q, tying.blocks())?;
    budget.network(q, r, tying).ok()
}

/// The shapes of each method that fit the cap of a trial.
fn fitting(
    methods: &[Method],
    shapes: impl Fn(Method) -> Vec<Shape>,
    trial: &Trial<'_>,
) -> Result<Vec<Network>, StudyError> {
    let problem = trial.visible()?.problem;
    let budget = trial.cap(trial.case.cap(), &problem)?;
    let mut networks = Vec::new();
    for method in methods {
        let before = networks.len();
        let shapes = shapes(*method).into_iter();
        networks.extend(shapes.filter_map(|shape| widest(&budget, shape)));
        if networks.len() == before {
            return Err(StudyError::NothingFits {
                case: trial.case.name.clone(),
                method: method.to_string(),
                budget: trial.case.cap(),
            });
        }
    }
    Ok(networks)
}

fn work(fits: usize, rounds: Rounds) -> Work {
    Work {
        fits: fits as u64,
        updates: (fits * (rounds.warm + rounds.refine)) as u64,
    }
}

/// Whether every method has a candidate under the cap.
pub(crate) fn check(
    shortlist: &Shortlist,
    methods: &[Method],
    trial: &Trial<'_>,
) -> Result<(), StudyError> {
    fitting(methods, |method| shortlist.shapes(method), trial).map(|_| ())
}

/// A fit of each candidate shape, and the updates of all that are like it in development and, as many
/// as each shape's part of those that are kept, in confirmation.
pub(crate) fn samples(
    shortlist: &Shortlist,
    methods: &[Method],
    trial: &Trial<'_>,
    phase: Phase,
) -> Result<Vec<Sample>, StudyError> {
    let problem = trial.visible()?.problem;
    let shapes = fitting(methods, |method| shortlist.shapes(method), trial)?;
    let development = &shortlist.development;
    let (rounds, starts) = match phase {
        Phase::Development => (development.rounds(), development.starts),
        Phase::Confirmation => (shortlist.confirmation, None),
    };
    let starts = From::Fresh(starts.unwrap_or(shortlist.grid.starts));
    let mut samples = Vec::new();
    for network in &shapes {
        let stream = Stream::new(trial.seed);
        let stages = [rounds.warm, rounds.refine];
        let jobs = shortlist
            .grid
            .jobs("", &problem, network, &starts, &stages, stream);
        let method = network.tying().method();
        let alike = shapes.iter().filter(|n| n.tying().method() == method);
        let part = match phase {
            Phase::Development => 1.0,
            Phase::Confirmation => (development.keep as f64 / alike.count() as f64).min(1.0),
        };
        let sample = Sample::of(&jobs, rounds.warm + rounds.refine);
        samples.extend(sample.map(|s| s.times(part)));
    }
    Ok(samples)
}

/// Fits every candidate shape; each shape's best fit is a choice named after it.
pub(crate) fn develop(
    shortlist: &Shortlist,
    methods: &[Method],
    trial: &Trial<'_>,
    recorder: &Recorder<'_>,
) -> Result<Vec<Choice>, StudyError> {
    let shapes = fitting(methods, |method| shortlist.shapes(method), trial)?;
    let starts = shortlist
        .development
        .starts
        .unwrap_or(shortlist.grid.starts);
    let rounds = shortlist.development.rounds();
    let fitted = fit_shapes(shortlist, &shapes, starts, rounds, trial, recorder)?;
    let choices = shapes.iter().zip(fitted).map(|(network, fitted)| {
        let method = network.tying().method().key();
        Choice {
            name: format!(
                "{method}/q{}-T{}",
                network.q(),
                network.tying().iterations()
            ),
            method: method.to_string(),
            at: None,
            fit: Some(fitted.fit),
        }
    });
    Ok(choices.collect())
}

/// Fits the kept shapes; the best fit of each method is its choice.
pub(crate) fn confirm(
    shortlist: &Shortlist,
    methods: &[Method],
    kept: &Kept,
    trial: &Trial<'_>,
    recorder: &Recorder<'_>,
) -> Result<Vec<Choice>, StudyError> {
    let rounds = shortlist.confirmation;
    let kept = |method| kept.0.get(&method).cloned().unwrap_or_default();
    let shapes = fitting(methods, kept, trial)?;
    let starts = shortlist.grid.starts;
    let fitted = fit_shapes(shortlist, &shapes, starts, rounds, trial, recorder)?;
    let mut choices = Vec::new();
    for method in methods {
        let own = shapes.iter().zip(&fitted);
        let own = own.filter(|(network, _)| network.tying().method() == *method);
        let best = own.min_by(|a, b| a.1.validation.total_cmp(&b.1.validation));
        if let Some((_, fitted)) = best {
            let own = Contender::Method(*method);
            choices.push(own.choice(trial.case.at, Some(fitted.fit.clone())));
        }
    }
    Ok(choices)
}

/// The best fit of a shape.
struct Fitted {
    fit: String,
    validation: f64,
}

/// Fits all shapes together, so that every thread has work.
fn fit_shapes(
    shortlist: &Shortlist,
    shapes: &[Network],
    starts: usize,
    rounds: Rounds,
    trial: &Trial<'_>,
    recorder: &Recorder<'_>,
) -> Result<Vec<Fitted>, StudyError> {
    let problem = trial.visible()?.problem;
    let root = Stream::new(trial.seed)
        .child("shortlist")
        .child(&trial.case.name);
    let mut jobs: Vec<Job> = Vec::new();
    let mut ends = Vec::new();
    for network in shapes {
        let (method, shape) = (network.tying().method().key(), shape_name(network));
        let stream = root.child(method).child(&shape);
        let prefix = format!("{method}/{shape}");
        let rounds = [rounds.warm, rounds.refine];
        let from = From::Fresh(starts);
        jobs.extend(
            shortlist
                .grid
                .jobs(&prefix, &problem, network, &from, &rounds, stream),
        );
        ends.push(jobs.len());
    }
    let outcomes = recorder.run(&jobs)?;
    let mut first = 0;
    let mut fitted = Vec::new();
    for end in ends {
        if let Some((job, outcome)) = best(&jobs[first..end], &outcomes[first..end]) {
            fitted.push(Fitted {
                fit: job.name.clone(),
                validation: outcome.validation,
            });
        }
        first = end;
    }
    Ok(fitted)
}

/// The shapes with the lowest validation loss, on average over development tasks of one case and
/// split.
pub(crate) fn keep(
    shortlist: &Shortlist,
    methods: &[Method],
    store: &Store,
    study: &str,
    tasks: &[Task],
) -> Result<Kept, StudyError> {
    // For every shape its losses over the tasks.
    let mut losses: BTreeMap<Shape, Vec<f64>> = BTreeMap::new();
    for task in tasks {
        let Some(frozen) = store.frozen(study, &task.name)? else {
            continue;
        };
        for choice in frozen.choices() {
            let Some(fit) = &choice.fit else { continue };
            if let Some(stored) = store.fit(study, &task.name, fit)? {
                let network = stored.outcome.parameters.network();
                let shape = (network.q(), network.tying());
                losses
                    .entry(shape)
                    .or_default()
                    .push(stored.outcome.validation);
            }
        }
    }
    let mut kept = Kept::default();
    for method in methods {
        let own = losses
            .iter()
            .filter(|((_, tying), _)| tying.method() == *method);
        // A shape that did not fit everywhere is compared where it did.
        let mut ranked: Vec<(f64, Shape)> = own
            .map(|(shape, losses)| (sum::mean(losses), *shape))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = ranked.into_iter().take(shortlist.development.keep);
        kept.0
            .insert(*method, best.map(|(_, shape)| shape).collect());
    }
    Ok(kept)
}

/// Development errors of a case: for every task the error of each method's best shape by
/// validation.
fn development_errors(
    methods: &[Method],
    store: &Store,
    study: &str,
    tasks: &[Task],
    metric: &str,
) -> Result<Vec<Vec<f64>>, StudyError> {
    let mut rows = Vec::new();
    for task in tasks {
        let mut row = Vec::new();
        for method in methods {
            let query = "SELECT score.value FROM choice JOIN fit USING (study, task, fit) \
                 JOIN score USING (study, task, name) WHERE choice.study = ? AND choice.task = ? \
                 AND choice.method = ? AND score.metric = ? \
                 ORDER BY fit.validation IS NULL, fit.validation LIMIT 1";
            let key = [study, &task.name, method.key(), metric];
            let values: Vec<Option<f64>> = store.rows(query, key, |r| r.get(0))?;
            let value = values.first().ok_or_else(|| StudyError::Broken {
                path: store.path().display().to_string(),
                what: format!("task {}", task.name),
                why: format!("it has no score of {method}"),
            })?;
            row.push(value.unwrap_or(f64::INFINITY));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The eligibility rule (F.4.5), case by case.
pub(crate) fn screen(
    study: &Study,
    rule: &Screen,
    sources: &Sources,
    store: &Store,
    name: &str,
    tasks: &[Task],
) -> Result<Vec<Screened>, StudyError> {
    let looped = study.methods.iter().position(|m| *m == Method::Loop);
    let looped = looped.unwrap_or(0);
    let mut screened = Vec::new();
    for case in &study.cases {
        let own: Vec<Task> = tasks
            .iter()
            .filter(|task| task.case == case.name)
            .cloned()
            .collect();
        let metric = sources.metric(study, case)?;
        let errors = development_errors(&study.methods, store, name, &own, metric)?;
        screened.push(screen_case(&case.name, &errors, looped, rule.wins));
    }
    Ok(screened)
}

/// The rule for one case; `errors` has a row for each seed and a column for each method.
fn screen_case(case: &str, errors: &[Vec<f64>], looped: usize, needed: usize) -> Screened {
    let methods = errors.first().map_or(0, Vec::len);
    let column = |m: usize| errors.iter().map(|row| row[m]).collect::<Vec<f64>>();
    let means: Vec<f64> = (0..methods).map(|m| sum::mean(&column(m))).collect();
    let lowest = |row: &[f64]| (0..row.len()).all(|m| m == looped || row[looped] < row[m]);
    let wins = errors.iter().filter(|row| lowest(row)).count();
    let others = means.iter().enumerate().filter(|(m, _)| *m != looped);
    let second = others.map(|(_, mean)| *mean).fold(f64::INFINITY, f64::min);
    let own = means.get(looped).copied().unwrap_or(f64::INFINITY);
    Screened {
        case: case.to_string(),
        advantage: Some(1.0 - own / second).filter(|a| a.is_finite()),
        eligible: lowest(&means) && wins >= needed && !errors.is_empty(),
        means: means
            .into_iter()
            .map(|m| Some(m).filter(|m| m.is_finite()))
            .collect(),
        wins,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F.4.5 by hand: the smallest mean and two of three seeds.
    #[test]
    fn the_eligibility_rule() {
        let rule = |errors: &[[f64; 3]]| {
            let rows: Vec<Vec<f64>> = errors.iter().map(|row| row.to_vec()).collect();
            screen_case("c", &rows, 1, 2)
        };
        let good = rule(&[[4.0, 2.0, 5.0], [4.0, 3.0, 5.0], [1.0, 1.5, 5.0]]);
        assert!(good.eligible);
        assert_eq!(
            (good.wins, good.means.clone()),
            (2, vec![Some(3.0), Some(6.5 / 3.0), Some(5.0)])
        );
        assert!((good.advantage.unwrap() - (1.0 - 6.5 / 9.0)).abs() < 1e-12);
        // The smallest mean alone is not enough, nor are the wins alone.
        let mean_only = rule(&[[9.0, 1.0, 9.0], [1.0, 1.1, 9.0], [1.0, 1.1, 9.0]]);
        assert!(!mean_only.eligible && mean_only.wins == 1);
        let wins_only = rule(&[[2.0, 1.0, 9.0], [2.0, 1.0, 9.0], [2.0, 9.0, 9.0]]);
        assert!(!wins_only.eligible && wins_only.wins == 2);
        assert!(!rule(&[]).eligible);
        // A model that failed leaves no mean, and a screen that can be read back.
        let failed = rule(&[[f64::INFINITY, 1.0, f64::INFINITY]; 3]);
        assert_eq!(
            (failed.means.clone(), failed.advantage),
            (vec![None, Some(1.0), None], Some(1.0))
        );
        let text = serde_json::to_string(&failed).unwrap();
        assert_eq!(serde_json::from_str::<Screened>(&text).unwrap(), failed);
    }
}
