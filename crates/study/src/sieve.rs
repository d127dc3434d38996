//! How near fits come to the maximum of the likelihood: routes into classes, judged by their training samples.
//!
//! Every fit has its training samples as validation samples, so that its curve is the average negative log-likelihood that
//! the sieve estimator makes small, under the law that the samples have: the noise is the simulation's own.

use crate::StudyError;
use crate::contender::Contender;
use crate::forecast::Sample;
use crate::grid::shape_name;
use crate::progress::Work;
use crate::protocol::{Candidates, Case, Origin, ROUNDS, Route, Sieve};
use crate::recorder::{Job, Recorder};
use crate::store::Choice;
use crate::trial::Trial;
use crate::witnessed;
use loopfit_data::{Samples, Simulation};
use loopfit_engine::{FitOutcome, FitSpec, Predictor, Start};
use loopfit_likelihood::{Gaussian, Likelihood};
use loopfit_model::growth;
use loopfit_model::{Bounds, Method, Network, Parameters, Tying};
use loopfit_numerics::stream::Stream;
use loopfit_search::SearchError;
use loopfit_search::climb::{MOST_CLIMBS, Slope};
use loopfit_search::replication::Problem;
use std::sync::Arc;

/// Points at which a witness is asked for its values.
const DISTILLED: usize = 1024;
/// A rate at which a witness stays what it was built as: no coefficient moves by as much as a float can tell.
const STILL: f64 = 1e-30;
/// What the climbs of a class and the witness as it was built are called among routes.
pub(crate) const POLISH: &str = "polish";
pub(crate) const BUILT: &str = "built";

/// What the fits of a task have in common.
struct Task<'a> {
    sieve: &'a Sieve,
    slope: Slope,
    problem: Arc<Problem>,
    witness: Option<Parameters>,
    /// Samples of the values of each witness, from the coarsest resolution to the case's own.
    lessons: Vec<Arc<Samples>>,
    root: Stream,
}

/// Whether every method has a shape under the cap, and every route what it begins with.
pub(crate) fn check(
    sieve: &Sieve,
    methods: &[Method],
    trial: &Trial<'_>,
) -> Result<(), StudyError> {
    let task = Task::new(sieve, trial)?;
    for method in methods {
        task.classes(*method, trial)?;
    }
    Ok(())
}

/// Fits of one replication, at most.
pub(crate) fn work(sieve: &Sieve, case: &Case, methods: &[Method]) -> Work {
    let resolutions = case.witness.as_ref().map(|of| of.resolution);
    let mut work = Work::default();
    let mut add = |fits: usize, updates: usize| {
        work.fits += fits as u64;
        work.updates += (fits * updates) as u64;
    };
    for method in methods {
        let own = sieve.candidates(*method);
        let classes = match (method, resolutions) {
            (Method::Loop, Some(_)) => 1,
            _ => own.q.len() * own.t.len().max(1),
        };
        for route in sieve.routes_of(*method) {
            let rounds = rounds(route.from, resolutions.unwrap_or(0));
            let fits = classes * sieve.starts_of(route) * rounds;
            add(fits, route.updates / rounds);
            if route.from == Origin::Witness {
                add(classes, 1);
            }
        }
        if sieve.polish > 0 {
            add(classes * MOST_CLIMBS, sieve.polish);
        }
    }
    work
}

/// A fit of each class and route, and the updates of all that are like it.
pub(crate) fn samples(
    sieve: &Sieve,
    methods: &[Method],
    trial: &Trial<'_>,
) -> Result<Vec<Sample>, StudyError> {
    let task = Task::new(sieve, trial)?;
    let mut samples = Vec::new();
    for method in methods {
        for network in task.classes(*method, trial)? {
            for route in sieve.routes_of(*method) {
                let jobs: Vec<Job> = (0..sieve.starts_of(route))
                    .map(|start| task.job([&network; 2], route, start, None, route.updates))
                    .collect();
                samples.extend(Sample::of(&jobs, route.updates));
            }
        }
    }
    Ok(samples)
}

/// Goes every route of a method's classes, climbs on from the best of each class, and keeps the most likely fits.
pub(crate) fn choose(
    sieve: &Sieve,
    method: Method,
    trial: &Trial<'_>,
    recorder: &Recorder<'_>,
) -> Result<Vec<Choice>, StudyError> {
    let task = Task::new(sieve, trial)?;
    let by_route = method == Method::Loop && task.witness.is_some();
    let mut kept: Vec<(Contender, f64, String)> = Vec::new();
    for network in task.classes(method, trial)? {
        let mut best: Option<(Contender, FitOutcome)> = None;
        for route in sieve.routes_of(method) {
            let own = match (by_route, method) {
                (true, _) => Contender::Route(route.from),
                (false, Method::Loop) => Contender::Cut {
                    t: network.tying().iterations(),
                },
                (false, _) => Contender::Method(method),
            };
            for (name, outcome) in task.go(&network, route, trial, recorder)? {
                let of = match name.ends_with(&format!("/{BUILT}")) {
                    true => Contender::Built,
                    false => own,
                };
                kept.push((of, outcome.validation, name));
                let better = |b: &(Contender, FitOutcome)| outcome.validation < b.1.validation;
                if best.as_ref().is_none_or(better) {
                    best = Some((own, outcome));
                }
            }
        }
        let Some((own, outcome)) = best else {
            continue;
        };
        if sieve.polish > 0 {
            let jobs = task.climbs(&outcome.parameters);
            let climbed = recorder.run(&jobs)?;
            for (job, outcome) in jobs.iter().zip(climbed) {
                kept.push((own, outcome.validation, job.name.clone()));
            }
        }
    }
    // The most likely fit of each, the first among equals.
    kept.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    kept.dedup_by_key(|(own, ..)| *own);
    let choice = |(own, _, fit): (Contender, f64, String)| own.choice(trial.case.at, Some(fit));
    Ok(kept.into_iter().map(choice).collect())
}

/// Rounds of a route, of which a curriculum has one for each resolution and one for the samples.
fn rounds(from: Origin, resolutions: usize) -> usize {
    match from {
        Origin::Random | Origin::Witness => 1,
        Origin::Growing => ROUNDS,
        Origin::Distilled => 2,
        Origin::Curriculum => resolutions + 1,
    }
}

impl Sieve {
    pub(crate) fn candidates(&self, method: Method) -> &Candidates {
        match method {
            Method::Single => &self.single,
            Method::Loop => &self.looped,
            Method::Untied => &self.untied,
        }
    }

    /// The routes of a method: witnesses and growth are Loop's alone.
    fn routes_of(&self, method: Method) -> impl Iterator<Item = &Route> {
        let for_all = move |route: &&Route| method == Method::Loop || route.from == Origin::Random;
        self.routes.iter().filter(for_all)
    }

    fn starts_of(&self, route: &Route) -> usize {
        if route.from.is_random() {
            self.starts
        } else {
            1
        }
    }
}

impl<'a> Task<'a> {
    fn new(sieve: &'a Sieve, trial: &Trial<'_>) -> Result<Self, StudyError> {
        let case = trial.case;
        let wrong = |why: &str| StudyError::Data {
            case: case.name.clone(),
            why: why.to_string(),
        };
        let visible = trial.visible()?;
        let (Some(to), Some(noise)) = (visible.normalisation, noise(&case.data)) else {
            return Err(wrong(
                "a sieve needs a response with noise, as simulations of regression have",
            ));
        };
        let problem = visible.problem;
        let gaussian = Gaussian::new(noise / to.sd).map_err(|e| wrong(&e.to_string()))?;
        let mut slope = Slope {
            samples: problem.train.clone(),
            likelihood: Likelihood::Gaussian(gaussian),
            bounds: problem.bounds,
        };
        let root = Stream::new(trial.seed).child("sieve").child(&case.name);
        let (mut witness, mut lessons) = (None, Vec::new());
        if let Some(of) = &case.witness {
            for m in 1..=of.resolution {
                let built = witnessed::witness(case, of, m, trial.seed)?;
                let built = witnessed::standardised(&built, to)
                    .map_err(|e| trial.wrong(SearchError::Growth(e)))?;
                let largest = built.values().iter().fold(0.0, |a: f32, v| a.max(v.abs()));
                slope.bounds.parameter = slope.bounds.parameter.max(largest);
                lessons.push(Arc::new(lesson(
                    &built,
                    slope.bounds,
                    root.child("lessons"),
                )?));
                witness = Some(built);
            }
        }
        Ok(Self {
            sieve,
            slope,
            problem,
            witness,
            lessons,
            root,
        })
    }

    /// The classes of a method: the witness's own, or the candidates with the largest width under the cap.
    fn classes(&self, method: Method, trial: &Trial<'_>) -> Result<Vec<Network>, StudyError> {
        let cap = trial.case.cap();
        let nothing = || StudyError::NothingFits {
            case: trial.case.name.clone(),
            method: method.to_string(),
            budget: cap,
        };
        if let (Some(witness), Method::Loop) = (&self.witness, method) {
            let network = witness.network().clone();
            return match network.count() <= cap {
                true => Ok(vec![network]),
                false => Err(StudyError::Data {
                    case: trial.case.name.clone(),
                    why: format!("its witness has {} numbers: raise the cap", network.count()),
                }),
            };
        }
        if let Some(route) = self.sieve.routes.iter().find(|r| r.from.is_of_witness())
            && method == Method::Loop
        {
            return Err(StudyError::Data {
                case: trial.case.name.clone(),
                why: format!(
                    "the route {} begins with a witness, and it has none",
                    route.name
                ),
            });
        }
        let budget = trial.cap(cap, &self.problem)?;
        let own = self.sieve.candidates(method);
        let tyings: Vec<Tying> = match method {
            Method::Single => vec![Tying::Single],
            Method::Loop => own.t.iter().map(|t| Tying::Loop { t: *t }).collect(),
            Method::Untied => own.t.iter().map(|t| Tying::Untied { t: *t }).collect(),
        };
        let mut networks = Vec::new();
        for q in &own.q {
            for tying in &tyings {
                let Some(r) = budget.largest_r(*q, tying.blocks()) else {
                    continue;
                };
                let network = budget.network(*q, r, *tying);
                networks.push(network.map_err(|e| trial.wrong(e.into()))?);
            }
        }
        if networks.is_empty() {
            return Err(nothing());
        }
        Ok(networks)
    }

    /// The fit of a start of a route on the training samples, from random or given coefficients: for a class, of a
    /// network that may have fewer iterations.
    fn job(
        &self,
        [class, network]: [&Network; 2],
        route: &Route,
        start: usize,
        from: Option<Parameters>,
        updates: usize,
    ) -> Job {
        let (shape, method) = (shape_name(class), class.tying().method().key());
        let t = network.tying().iterations();
        Job {
            name: format!("{method}/{shape}/{}/start-{start:02}", route.name),
            spec: FitSpec {
                network: network.clone(),
                likelihood: self.slope.likelihood,
                bounds: self.slope.bounds,
                train: self.slope.samples.clone(),
                valid: self.slope.samples.clone(),
                start: match from {
                    Some(parameters) => Start::Given(parameters),
                    None => Start::Fresh {
                        outgoing_multiplier: route.outgoing_multiplier.at(t),
                    },
                },
                stages: vec![route.stage(t, updates)],
                // The starts of a class are the same for every route.
                stream: self.root.child(method).child(&shape).nth(start as u64),
            },
        }
    }

    /// The last fits of all starts of a route, with their names.
    fn go(
        &self,
        network: &Network,
        route: &Route,
        trial: &Trial<'_>,
        recorder: &Recorder<'_>,
    ) -> Result<Vec<(String, FitOutcome)>, StudyError> {
        let starts = self.sieve.starts_of(route);
        let mut plan = self.plan(network, route);
        let each = route.updates / plan.len();
        let mut from: Vec<Option<Parameters>> = match (&self.witness, route.from) {
            (Some(witness), Origin::Witness) => vec![Some(witness.clone())],
            _ => vec![None; starts],
        };
        let mut jobs = Vec::new();
        let first = self.sieve.routes.iter().find(|r| r.from == Origin::Witness);
        if let (Some(witness), true) = (&self.witness, first == Some(route)) {
            let mut built = self.job([network; 2], route, 0, Some(witness.clone()), 1);
            built.name = format!("{}/{BUILT}", built.name);
            built.spec.stages[0].learning_rate = STILL;
            jobs.push(built);
        }
        let last = plan.pop();
        for (i, round) in plan.iter().enumerate() {
            let mut jobs = self.round(network, route, round, &from, each, trial)?;
            for job in &mut jobs {
                job.name = format!("{}/round-{}", job.name, i + 1);
            }
            let outcomes = recorder.run(&jobs)?;
            from = outcomes.into_iter().map(|o| Some(o.parameters)).collect();
        }
        if let Some(last) = last {
            jobs.extend(self.round(network, route, &last, &from, each, trial)?);
        }
        let outcomes = recorder.run(&jobs)?;
        Ok(jobs.into_iter().map(|job| job.name).zip(outcomes).collect())
    }

    /// The rounds of a route.
    fn plan(&self, network: &Network, route: &Route) -> Vec<Round> {
        let t = network.tying().iterations();
        let of = |t: usize, lesson: Option<usize>| Round { t, lesson };
        match route.from {
            Origin::Random | Origin::Witness => vec![of(t, None)],
            Origin::Growing => (0..ROUNDS)
                .rev()
                .map(|k| of(t.div_ceil(1 << k), None))
                .collect(),
            Origin::Distilled => vec![of(t, self.lessons.len().checked_sub(1)), of(t, None)],
            Origin::Curriculum => {
                let lessons = (0..self.lessons.len()).map(|k| of(t, Some(k)));
                lessons.chain([of(t, None)]).collect()
            }
        }
    }

    /// The fits of one round.
    fn round(
        &self,
        class: &Network,
        route: &Route,
        round: &Round,
        from: &[Option<Parameters>],
        updates: usize,
        trial: &Trial<'_>,
    ) -> Result<Vec<Job>, StudyError> {
        let grown = |e: growth::GrowthError| trial.wrong(SearchError::Growth(e));
        let mut network = class.clone();
        if round.t != class.tying().iterations() {
            let fewer = class.resized(class.r(), Tying::Loop { t: round.t });
            network = fewer.map_err(|e| grown(e.into()))?;
        }
        let mut jobs = Vec::new();
        for (start, from) in from.iter().enumerate() {
            let from = match from {
                Some(p) if p.network().tying() != network.tying() => {
                    Some(growth::iterate(p, round.t).map_err(grown)?)
                }
                other => other.clone(),
            };
            let mut job = self.job([class, &network], route, start, from, updates);
            if let Some(lesson) = round.lesson.and_then(|k| self.lessons.get(k)) {
                (job.spec.train, job.spec.valid) = (lesson.clone(), lesson.clone());
            }
            jobs.push(job);
        }
        Ok(jobs)
    }

    /// Climbs from the most likely fit of a class.
    fn climbs(&self, from: &Parameters) -> Vec<Job> {
        let network = from.network();
        let (shape, method) = (shape_name(network), network.tying().method().key());
        let stream = self.root.child(POLISH).child(method).child(&shape);
        let specs = self.slope.climbs(from, self.sieve.polish, stream);
        let named = |(i, spec): (usize, FitSpec)| Job {
            name: format!("{method}/{shape}/{POLISH}/climb-{i}"),
            spec,
        };
        specs.into_iter().enumerate().map(named).collect()
    }
}

/// One round of a route: how many iterations, and which lesson instead of the training samples.
struct Round {
    t: usize,
    lesson: Option<usize>,
}

/// The standard deviation of a simulation's noise.
fn noise(data: &str) -> Option<f64> {
    let simulation: Simulation = data.strip_prefix("sim:")?.parse().ok()?;
    simulation.noise_sd().filter(|sd| *sd > 0.0)
}

/// A network's values at points of the cube.
fn lesson(built: &Parameters, bounds: Bounds, stream: Stream) -> Result<Samples, StudyError> {
    let d = built.network().d();
    let x: Vec<f32> = (0..DISTILLED * d)
        .map(|i| stream.uniform(i as u64) as f32)
        .collect();
    let values = Predictor::new(built, bounds).predict(&x);
    let y = values.into_iter().map(|v| v as f32).collect();
    Samples::new(d, x, y).map_err(|e| StudyError::Search {
        of: "a witness".to_string(),
        why: Box::new(e.into()),
    })
}
