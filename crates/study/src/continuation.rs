//! Paths: each stage starts from the function that the last one found (F.4.4).

use crate::StudyError;
use crate::contender::Contender;
use crate::forecast::Sample;
use crate::grid::{From, best, shape_name};
use crate::progress::Work;
use crate::protocol::{Continuation, PathStage};
use crate::recorder::Recorder;
use crate::store::Choice;
use crate::trial::Trial;
use loopfit_model::growth::{self, Normalisation};
use loopfit_model::{Method, Network, Parameters, Tying};
use loopfit_numerics::stream::Stream;
use loopfit_search::SearchError;
use loopfit_search::replication::Problem;

/// Fits of one replication.
pub(crate) fn work(path: &Continuation, methods: usize) -> Work {
    let settings = path.grid.settings();
    let stages = path.stages.iter().enumerate().map(|(i, stage)| {
        let starts = if i == 0 { path.grid.starts } else { 1 };
        let fits = (starts * settings * methods) as u64;
        Work {
            fits,
            updates: fits * stage.updates as u64,
        }
    });
    stages.sum()
}

/// Whether every stage has a shape under its cap.
pub(crate) fn check(
    path: &Continuation,
    methods: &[Method],
    trial: &Trial<'_>,
) -> Result<(), StudyError> {
    for stage in &path.stages {
        let problem = trial.visible_at(stage.train, stage.valid)?.problem;
        for method in methods {
            shape(stage, *method, trial, &problem)?;
        }
    }
    Ok(())
}

/// A fit of each stage and method, and the updates of all that are like it.
pub(crate) fn samples(
    path: &Continuation,
    methods: &[Method],
    trial: &Trial<'_>,
) -> Result<Vec<Sample>, StudyError> {
    let mut samples = Vec::new();
    for method in methods {
        for (i, stage) in path.stages.iter().enumerate() {
            let problem = trial.visible_at(stage.train, stage.valid)?.problem;
            let network = shape(stage, *method, trial, &problem)?;
            let starts = From::Fresh(if i == 0 { path.grid.starts } else { 1 });
            let stream = Stream::new(trial.seed);
            let jobs = path
                .grid
                .jobs("", &problem, &network, &starts, &[stage.updates], stream);
            samples.extend(Sample::of(&jobs, stage.updates));
        }
    }
    Ok(samples)
}

/// Runs a method's path and keeps the best fit of each stage that is reported.
pub(crate) fn choose(
    path: &Continuation,
    method: Method,
    trial: &Trial<'_>,
    recorder: &Recorder<'_>,
) -> Result<Vec<Choice>, StudyError> {
    let root = Stream::new(trial.seed)
        .child("path")
        .child(&trial.case.name)
        .child(method.key());
    let mut last: Option<(Parameters, Option<Normalisation>)> = None;
    let mut choices = Vec::new();
    for (i, stage) in path.stages.iter().enumerate() {
        let visible = trial.visible_at(stage.train, stage.valid)?;
        let problem = &visible.problem;
        let stream = root.nth(i as u64);
        let network = shape(stage, method, trial, problem)?;
        let grown = match &last {
            None => None,
            Some((parameters, was)) => {
                let normalisations = was.zip(visible.normalisation);
                let grown = grow(parameters, &network, normalisations, stream.child("growth"));
                Some(grown.map_err(|e| trial.wrong(SearchError::Growth(e)))?)
            }
        };
        let from = match &grown {
            None => From::Fresh(path.grid.starts),
            Some(parameters) => From::Last(parameters),
        };
        let prefix = format!(
            "{}/stage-{:02}/{}",
            method.key(),
            i + 1,
            shape_name(&network)
        );
        let rounds = [stage.updates];
        let jobs = path
            .grid
            .jobs(&prefix, problem, &network, &from, &rounds, stream);
        let outcomes = recorder.run(&jobs)?;
        let Some((job, outcome)) = best(&jobs, &outcomes) else {
            continue;
        };
        if let Some(at) = stage.at {
            let own = Contender::Method(method);
            choices.push(own.choice_on_path(at, job.name.clone()));
        }
        last = Some((outcome.parameters.clone(), visible.normalisation));
    }
    Ok(choices)
}

/// The network of a stage: the case's q and T, the largest r under the cap, and for Untied as
/// many of its blocks as leave room for a width of one.
fn shape(
    stage: &PathStage,
    method: Method,
    trial: &Trial<'_>,
    problem: &Problem,
) -> Result<Network, StudyError> {
    let wrong = |e: loopfit_model::budget::BudgetError| trial.wrong(e.into());
    let nothing = || StudyError::NothingFits {
        case: trial.case.name.clone(),
        method: method.to_string(),
        budget: stage.budget,
    };
    let budget = trial.cap(stage.budget, problem)?;
    let (q, t) = trial.case.path_shape(method).ok_or_else(nothing)?;
    let (blocks, tying): (usize, fn(usize) -> Tying) = match method {
        Method::Single => (1, |_| Tying::Single),
        Method::Loop => (1, |t| Tying::Loop { t }),
        Method::Untied => (t, |t| Tying::Untied { t }),
    };
    let fitting = (1..=blocks)
        .rev()
        .find_map(|blocks| budget.largest_r(q, blocks).map(|r| (blocks, r)));
    let (blocks, r) = fitting.ok_or_else(nothing)?;
    let iterations = match method {
        Method::Loop => stage.iterations.unwrap_or(t),
        _ => blocks,
    };
    budget.network(q, r, tying(iterations)).map_err(wrong)
}

/// The old function in the new network, on the new scale of the target.
fn grow(
    parameters: &Parameters,
    network: &Network,
    normalisations: Option<(Normalisation, Normalisation)>,
    stream: Stream,
) -> Result<Parameters, growth::GrowthError> {
    let mut grown = parameters.clone();
    if let Some((from, to)) = normalisations
        && from != to
    {
        grown = growth::rescale(&grown, from, to)?;
    }
    if let (Tying::Untied { t }, true) = (
        network.tying(),
        network.tying().blocks() > grown.network().tying().blocks(),
    ) {
        grown = growth::deepen(&grown, t, stream.child("blocks"))?;
    }
    if network.r() > grown.network().r() {
        grown = growth::widen(&grown, network.r(), stream.child("width"))?;
    }
    if let Tying::Loop { t } = network.tying()
        && t != grown.network().tying().iterations()
    {
        grown = growth::iterate(&grown, t)?;
    }
    Ok(grown)
}
