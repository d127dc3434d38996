//! All methods on one replication.

use crate::SearchError;
use crate::cost::{self, Equal};
use crate::halving::{Entry, Fits, Found, Search, search};
use crate::plan::{LEAST_UPDATES, Plan, Rung, Setting};
use crate::protocol::Protocol;
use crate::replication::{Problem, Replication};
use loopfit_engine::{Control, Engine, FittedModel, Provenance, Stop, Tolerance, tolerance};
use loopfit_model::{Budget, Method};
use loopfit_numerics::stream::Stream;
use std::sync::Arc;

/// Updates of each method's search at the efforts that have a name.
pub const QUICK: usize = 24_000;
/// The default.
pub const STANDARD: usize = 96_000;
/// For the last percent.
pub const STRONG: usize = 400_000;
/// Most updates that a time limit is turned into.
const MOST_UPDATES: f64 = 1e10;
/// Fewest updates of a refit, unless its rung had fewer.
const LEAST_REFIT: usize = 200;

/// What is searched: the cap, the methods and how long.
#[derive(Clone, Debug)]
pub struct Request {
    /// The cap B.
    pub budget: usize,
    /// The methods.
    pub methods: Vec<Method>,
    /// Updates of each method's search.
    pub updates: usize,
    /// Shapes, ranges and rules.
    pub protocol: Arc<Protocol>,
}

/// The best model of a method.
#[derive(Clone, Debug)]
pub struct MethodFit {
    /// The method.
    pub method: Method,
    /// The model.
    pub model: FittedModel,
    /// Metric of the selected fit on the validation samples; NaN if the method failed.
    pub validation: f64,
    /// Metric of the model on the test samples; NaN if the method failed.
    pub test: f64,
    /// Updates of the method's search.
    pub updates: usize,
    /// Why the selected fit ended.
    pub stop: Stop,
    /// How much worse the second best local optimum is, see [`Found::gap`].
    pub gap: Option<f64>,
    /// How far the model is from a stationary point; measured for the kept model alone, and not
    /// when the search was stopped.
    pub tolerance: Option<Tolerance>,
    /// Whether the fit went on with the validation samples.
    pub refitted: bool,
}

impl MethodFit {
    /// Whether no fit of the method had a finite validation loss.
    pub fn failed(&self) -> bool {
        !self.model.provenance.validation.is_finite()
    }
}

impl Request {
    /// The search of each method on a replication; `updates` has one entry for each.
    pub fn searches(
        &self,
        problem: &Arc<Problem>,
        seed: u64,
        updates: &[usize],
    ) -> Result<Vec<Search>, SearchError> {
        let budget = Budget::ffn(self.budget, problem.train.d(), problem.likelihood.outputs())?;
        self.methods
            .iter()
            .zip(updates)
            .map(|(method, updates)| {
                let plan = Plan::new(&self.protocol, *updates)?;
                let shapes = self.protocol.shapes.networks(&budget, *method)?;
                let stream = Stream::new(seed).child("search").child(method.key());
                Ok(Search {
                    problem: problem.clone(),
                    protocol: self.protocol.clone(),
                    settings: Setting::draw(&self.protocol, &shapes, plan.starts(), stream),
                    plan,
                    whole: self.protocol.shapes.are_given(*method),
                })
            })
            .collect()
    }

    /// The same number of updates for every method.
    fn same_updates(&self) -> Vec<usize> {
        vec![self.updates; self.methods.len()]
    }

    /// Updates of each method so that all have what Loop (or else the first method) has with
    /// [`Request::updates`].
    pub fn equal(
        &self,
        engine: &Engine,
        replication: &Replication,
        equal: Equal,
    ) -> Result<Vec<usize>, SearchError> {
        let searches = self.searches(&replication.problem, 0, &self.same_updates())?;
        let costs: Vec<f64> = searches
            .iter()
            .map(|search| match equal {
                Equal::Updates => Ok(1.0),
                Equal::Time => cost::thread_seconds(engine, search),
                Equal::Flops => cost::flops(search),
            })
            .collect::<Result<_, _>>()?;
        let is_loop = |method: &Method| *method == Method::Loop;
        let of = self.methods.iter().position(is_loop).unwrap_or(0);
        let updates = |cost: &f64| (self.updates as f64 * costs[of] / cost).round() as usize;
        Ok(costs
            .iter()
            .map(|c| updates(c).max(LEAST_UPDATES))
            .collect())
    }

    /// Seconds that [`fit`] takes, predicted from this machine's measured speed.
    pub fn seconds(&self, engine: &Engine, replication: &Replication) -> Result<f64, SearchError> {
        let searches = self.searches(&replication.problem, 0, &self.same_updates())?;
        cost::seconds(engine, &searches)
    }

    /// The number of updates with which [`fit`] takes about so many seconds.
    pub fn updates_within(
        &self,
        engine: &Engine,
        replication: &Replication,
        seconds: f64,
    ) -> Result<usize, SearchError> {
        let mut request = self.clone();
        request.updates = STANDARD;
        // Rungs are not quite proportional to the updates: the second look corrects the first.
        for _ in 0..2 {
            let predicted = request.seconds(engine, replication)?;
            let updates = request.updates as f64 * seconds / predicted;
            request.updates = updates.clamp(LEAST_UPDATES as f64, MOST_UPDATES) as usize;
        }
        Ok(request.updates)
    }

    /// Turns what a search found into a model and judges it. `refitted` has the coefficients and
    /// the samples of a fit that went on after the selection.
    pub(crate) fn finish(
        &self,
        replication: &Replication,
        seed: u64,
        method: Method,
        found: Found,
        refitted: Option<Refitted>,
    ) -> Result<MethodFit, SearchError> {
        let problem = &replication.problem;
        let (gap, stop) = (found.gap(), found.outcome.stop);
        let mut model = FittedModel {
            bounds: problem.bounds,
            likelihood: problem.likelihood,
            preprocessing: replication.preprocessing.clone(),
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_string(),
                source: replication.source.clone(),
                training_samples: problem.train.hash(),
                budget: self.budget,
                seed,
                validation: found.outcome.validation,
                updates: found.outcome.updates,
            },
            parameters: found.outcome.parameters,
        };
        let failed = !model.provenance.validation.is_finite();
        let validation = if failed {
            f64::NAN
        } else {
            replication.validate(&model)?
        };
        let is_refitted = refitted.is_some();
        if let Some(refitted) = refitted {
            model.parameters = refitted.outcome.parameters;
            model.provenance.training_samples = refitted.train.hash();
            model.provenance.updates += refitted.outcome.updates;
        }
        let test = if failed {
            f64::NAN
        } else {
            replication.judge(&model)?
        };
        Ok(MethodFit {
            method,
            model,
            validation,
            test,
            updates: found.updates,
            stop,
            gap,
            tolerance: None,
            refitted: is_refitted,
        })
    }
}

/// A fit that went on with all samples.
#[derive(Clone, Debug)]
pub struct Refitted {
    /// What it gave.
    pub outcome: loopfit_engine::FitOutcome,
    /// Training and validation samples together.
    pub train: Arc<loopfit_data::Samples>,
}

/// Where the protocol asks for it, goes on from what each search found with training and
/// validation samples together, for as many updates as the found fit took to its best
/// checkpoint. None where there is nothing to go on from.
pub fn refit(
    fits: &impl Fits,
    searches: &[Search],
    found: &[Found],
) -> Result<Vec<Option<Refitted>>, SearchError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut trains = Vec::new();
    let mut wanted = vec![false; found.len()];
    for (i, (search, found)) in searches.iter().zip(found).enumerate() {
        let good = found.outcome.validation.is_finite() && !fits.is_stopped();
        if !(search.protocol.refit && good) {
            continue;
        }
        wanted[i] = true;
        let problem = &search.problem;
        let all = Arc::new(problem.train.followed_by(&problem.valid)?);
        let problem = Problem {
            train: all.clone(),
            valid: all.clone(),
            ..(**problem).clone()
        };
        let rung = search.plan.rungs[found.rung];
        let updates = found.outcome.best_update.max(LEAST_REFIT).min(rung.updates);
        let number = search.plan.rungs.len();
        let setting = &search.settings[found.setting];
        let (rung, start) = (Rung { updates, ..rung }, Some(&found.outcome));
        entries.push(Entry {
            search: i,
            rung: number,
            setting: found.setting,
            spec: setting.spec(&search.protocol, &problem, number, rung, start)?,
        });
        trains.push(all);
    }
    let outcomes = fits.run(entries)?.into_iter();
    let mut outcomes = outcomes
        .zip(trains)
        .map(|(outcome, train)| Refitted { outcome, train });
    let next = |wanted: bool| if wanted { outcomes.next() } else { None };
    Ok(wanted.into_iter().map(next).collect())
}

/// Searches with every method; the fits come back in the order of their validation loss, so
/// that the first is the one to keep. Test samples are read after that order is settled. When
/// stopped, the best so far comes back.
pub fn fit(
    engine: &Engine,
    replication: &Replication,
    seed: u64,
    request: &Request,
    control: &Control,
) -> Result<Vec<MethodFit>, SearchError> {
    let searches = request.searches(&replication.problem, seed, &request.same_updates())?;
    let found = search(&(engine, control), &searches)?;
    let refitted = refit(&(engine, control), &searches, &found)?;
    let mut found: Vec<(Method, Found, Option<Refitted>)> = request
        .methods
        .iter()
        .zip(found)
        .zip(refitted)
        .map(|((method, found), refitted)| (*method, found, refitted))
        .collect();
    found.sort_by(|a, b| a.1.outcome.validation.total_cmp(&b.1.outcome.validation));
    let problem = &replication.problem;
    let first = found.first().and_then(|(_, _, refitted)| refitted.as_ref());
    let train = first.map_or(&problem.train, |r| &r.train).clone();
    engine.install(|| {
        let mut fits: Vec<MethodFit> = found
            .into_iter()
            .map(|(method, found, refitted)| {
                request.finish(replication, seed, method, found, refitted)
            })
            .collect::<Result<_, _>>()?;
        if let Some(best) = fits.first_mut()
            && !best.failed()
            && !control.is_stopped()
        {
            let parameters = &best.model.parameters;
            // Too large to measure, or not finite: then there is nothing to report.
            best.tolerance = tolerance(parameters, problem.likelihood, problem.bounds, &train).ok();
        }
        Ok(fits)
    })
}
