//! All families on many replications, paired by seed.

use crate::SearchError;
use crate::cost::{self, Equal};
use crate::fit::{MethodFit, Request};
use crate::halving::{Found, Search, search};
use crate::refit::{Refitted, refit};
use crate::replication::{Noise, Replication, Source};
use loopfit_engine::{Backend, Control};

/// Fits of the last rung, one for each family of each seed, that a thread has to choose from.
const FITS_FOR_A_THREAD: usize = 2;

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
        backend: &dyn Backend,
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
            let updates = request.equal(backend, first, equal)?;
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
    pub fn seconds(&self, backend: &dyn Backend) -> Result<f64, SearchError> {
        let mut sum = 0.0;
        for search in self.searches.iter().take(self.request.families.len()) {
            sum += cost::thread_seconds(backend, search)?;
        }
        Ok(sum * self.seeds.len() as f64 / backend.threads().count() as f64)
    }

    /// The seeds.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// Runs the searches, a few seeds at a time: as many as keep all threads busy. Their results do not depend on each other. When
    /// stopped, the seeds that are complete come back: methods that were cut short cannot be compared.
    pub fn run(
        &self,
        backend: &dyn Backend,
        control: &Control,
    ) -> Result<Vec<SeedFits>, SearchError> {
        let families = self.request.families.len().max(1);
        let together = (FITS_FOR_A_THREAD * backend.threads().jobs()).div_ceil(families);
        let mut complete = Vec::new();
        let seeds = self.seeds.chunks(together);
        let replications = self.replications.chunks(together);
        let searches = self.searches.chunks(together * families);
        for ((seeds, replications), searches) in seeds.zip(replications).zip(searches) {
            let found = search(backend, control, searches)?;
            let refitted = refit(backend, control, searches, &found)?;
            if control.is_stopped() {
                break;
            }
            let mut found = found.into_iter().zip(refitted);
            for (seed, replication) in seeds.iter().zip(replications) {
                complete.push(self.seed_fits(backend, *seed, replication, &mut found)?);
            }
        }
        Ok(complete)
    }

    fn seed_fits(
        &self,
        backend: &dyn Backend,
        seed: u64,
        replication: &Replication,
        found: &mut (impl Iterator<Item = (Found, Option<Refitted>)> + Send),
    ) -> Result<SeedFits, SearchError> {
        let request = &self.request;
        backend.threads().install(|| {
            let families = request.families.iter().zip(found);
            let fits = families.map(|(family, (found, refitted))| {
                request.finish(replication, seed, family.clone(), found, refitted)
            });
            Ok(SeedFits {
                seed,
                fits: fits.collect::<Result<_, SearchError>>()?,
            })
        })
    }
}
