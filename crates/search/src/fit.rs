//! All three methods on one replication.

use crate::SearchError;
use crate::halving::{Found, Search, search};
use crate::plan::{Plan, Setting};
use crate::replication::Replication;
use crate::shapes::shortlist;
use loopfit_engine::{Control, Engine, FittedModel, Provenance, Stop};
use loopfit_model::{Budget, Method, Network, Tying};
use loopfit_numerics::stream::Stream;

/// Shapes of the shortlist of each method.
const SHAPES: usize = 3;

/// Shapes to try instead of a method's shortlist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedShape {
    /// State dimension.
    pub q: usize,
    /// Hidden width.
    pub r: usize,
    /// Tying.
    pub tying: Tying,
}

/// What is searched: the cap, the methods and how long.
#[derive(Clone, Debug)]
pub struct Request {
    /// The cap B.
    pub budget: usize,
    /// The methods.
    pub methods: Vec<Method>,
    /// Updates of each method's search.
    pub updates: usize,
    /// Methods with a shape given by the user.
    pub shapes: Vec<FixedShape>,
}

/// The best model of a method.
#[derive(Clone, Debug)]
pub struct MethodFit {
    /// The method.
    pub method: Method,
    /// The model.
    pub model: FittedModel,
    /// Its metric on the validation samples; NaN if the method failed.
    pub validation: f64,
    /// Its metric on the test samples; NaN if the method failed.
    pub test: f64,
    /// Updates of the method's search.
    pub updates: usize,
    /// Why the selected fit ended.
    pub stop: Stop,
}

impl MethodFit {
    /// Whether no fit of the method had a finite validation loss.
    pub fn failed(&self) -> bool {
        !self.model.provenance.validation.is_finite()
    }
}

impl Request {
    /// The searches of all methods on a replication.
    pub(crate) fn searches(
        &self,
        replication: &Replication,
        seed: u64,
    ) -> Result<Vec<Search>, SearchError> {
        let problem = &replication.problem;
        let budget = Budget::ffn(self.budget, problem.train.d(), problem.likelihood.outputs())?;
        let plan = Plan::with_updates(self.updates)?;
        self.methods
            .iter()
            .map(|method| {
                let fixed: Vec<Network> = self
                    .shapes
                    .iter()
                    .filter(|shape| shape.tying.method() == *method)
                    .map(|shape| budget.network(shape.q, shape.r, shape.tying))
                    .collect::<Result<_, _>>()?;
                let shapes = if fixed.is_empty() {
                    shortlist(&budget, *method, SHAPES)?
                } else {
                    fixed
                };
                let stream = Stream::new(seed).child("search").child(method.key());
                let settings = Setting::draw(&shapes, plan.starts(), stream);
                Ok(Search {
                    problem: problem.clone(),
                    settings,
                    plan: plan.clone(),
                })
            })
            .collect()
    }

    /// Turns what a search found into a model and judges it.
    pub(crate) fn finish(
        &self,
        replication: &Replication,
        seed: u64,
        method: Method,
        found: Found,
    ) -> Result<MethodFit, SearchError> {
        let problem = &replication.problem;
        let model = FittedModel {
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
        let (validation, test) = if model.provenance.validation.is_finite() {
            (replication.validate(&model)?, replication.judge(&model)?)
        } else {
            (f64::NAN, f64::NAN)
        };
        Ok(MethodFit {
            method,
            model,
            validation,
            test,
            updates: found.updates,
            stop: found.outcome.stop,
        })
    }
}

/// Searches with every method; the fits come back in the order of their validation loss, so
/// that the first is the one to keep. Test samples are read after that order is settled.
pub fn fit(
    engine: &Engine,
    replication: &Replication,
    seed: u64,
    request: &Request,
    control: &Control,
) -> Result<Vec<MethodFit>, SearchError> {
    let found = search(engine, &request.searches(replication, seed)?, control)?;
    let mut found: Vec<(Method, Found)> = request.methods.iter().copied().zip(found).collect();
    found.sort_by(|a, b| a.1.outcome.validation.total_cmp(&b.1.outcome.validation));
    engine.install(|| {
        found
            .into_iter()
            .map(|(method, found)| request.finish(replication, seed, method, found))
            .collect()
    })
}
