//! All families on many replications, paired by seed.

use crate::SearchError;
use crate::cost::{self, Equal};
use crate::fit::{MethodFit, Request, refit};
use crate::halving::{Search, search};
use crate::replication::{Noise, Replication, Source};
use loopfit_engine::{Control, Engine};

/// One seed's fits, in the order of the request's families.
#[derive(Clone, Debug)]
pub struct SeedFits {
    /// The seed.
    pub seed: u64,
    /// One fit for each family.
    pub fits: Vec<MethodFit>,
}

/// A comparison that is ready to run.
#[derive(Debug)]
pub struct Prepared {
    request: Request,
    seeds: Vec<u64>,
    replications: Vec<Replication>,
    searches: Vec<Search>,
    notes: Vec<String>,
}

impl Prepared {
    /// Prepares every family on every seed's replication, each with its equal share of what `equal`
    /// names. An architecture that does not fit the cap is left out if another does.
    pub fn new(
        engine: &Engine,
        source: &Source,
        noise: Option<Noise>,
        seeds: &[u64],
        mut request: Request,
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
        let problems = replications.iter().map(|replication| &*replication.problem);
        let notes = request.leave_out_what_cannot_fit(problems)?;
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
            notes,
        })
    }

    /// What was left out and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
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
        for search in self.searches.iter().take(self.request.families.len()) {
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
                        .families
                        .iter()
                        .zip(&mut found)
                        .map(|(family, (found, refitted))| {
                            request.finish(replication, *seed, family.clone(), found, refitted)
                        })
                        .collect::<Result<_, _>>()?;
                    Ok(SeedFits { seed: *seed, fits })
                })
                .collect()
        })
    }
}
