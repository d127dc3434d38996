//! All methods on many replications, paired by seed.

use crate::SearchError;
use crate::cost::{self, Equal};
use crate::fit::{MethodFit, Request, refit};
use crate::halving::{Search, search};
use crate::replication::{Noise, Replication, Source};
use loopfit_engine::{Control, Engine};

/// One seed's fits, in the order of the request's methods.
#[derive(Clone, Debug)]
pub struct SeedFits {
    /// The seed.
    pub seed: u64,
    /// One fit for each method.
    pub fits: Vec<MethodFit>,
}

/// A comparison that is ready to run.
#[derive(Debug)]
pub struct Prepared {
    request: Request,
    seeds: Vec<u64>,
    replications: Vec<Replication>,
    searches: Vec<Search>,
}

impl Prepared {
    /// Prepares every method on every seed's replication, each method with its equal share of
    /// what `equal` names.
    pub fn new(
        engine: &Engine,
        source: &Source,
        noise: Option<Noise>,
        seeds: &[u64],
        request: Request,
        equal: Equal,
        control: &Control,
    ) -> Result<Self, SearchError> {
        let mut replications: Vec<Replication> = Vec::with_capacity(seeds.len());
        for seed in seeds {
            if control.is_stopped() {
                return Err(SearchError::Interrupted);
            }
            replications.push(source.replication(*seed, noise)?);
        }
        let mut searches = Vec::new();
        if let Some(first) = replications.first() {
            let updates = request.equal(engine, first, equal)?;
            for (replication, seed) in replications.iter().zip(seeds) {
                searches.extend(request.searches(&replication.problem, *seed, &updates)?);
            }
        }
        Ok(Self {
            request,
            seeds: seeds.to_vec(),
            replications,
            searches,
        })
    }

    /// Updates of all searches.
    pub fn updates(&self) -> u64 {
        let updates = self.searches.iter().map(|s| s.plan.updates() as u64);
        updates.sum()
    }

    /// Seconds that [`Prepared::run`] takes, predicted from this machine's measured speed on
    /// the first seed.
    pub fn seconds(&self, engine: &Engine) -> Result<f64, SearchError> {
        let mut sum = 0.0;
        for search in self.searches.iter().take(self.request.methods.len()) {
            sum += cost::thread_seconds(engine, search)?;
        }
        Ok(sum * self.seeds.len() as f64 / engine.threads() as f64)
    }

    /// Runs all searches together; their results do not depend on each other.
    pub fn run(self, engine: &Engine, control: &Control) -> Result<Vec<SeedFits>, SearchError> {
        let found = search(&(engine, control), &self.searches)?;
        let refitted = refit(&(engine, control), &self.searches, &found)?;
        if control.is_stopped() {
            // Methods that were cut short cannot be compared.
            return Err(SearchError::Interrupted);
        }
        let mut found = found.into_iter().zip(refitted);
        let request = &self.request;
        engine.install(|| {
            self.seeds
                .iter()
                .zip(&self.replications)
                .map(|(seed, replication)| {
                    let fits = request
                        .methods
                        .iter()
                        .zip(&mut found)
                        .map(|(method, (found, refitted))| {
                            request.finish(replication, *seed, *method, found, refitted)
                        })
                        .collect::<Result<_, _>>()?;
                    Ok(SeedFits { seed: *seed, fits })
                })
                .collect()
        })
    }
}
