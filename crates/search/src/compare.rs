//! All methods on many replications, paired by seed.

use crate::SearchError;
use crate::fit::{MethodFit, Request};
use crate::halving::search;
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

/// Runs every method on every seed's replication. All searches run together; their results
/// do not depend on each other.
pub fn compare(
    engine: &Engine,
    source: &Source,
    noise: Option<Noise>,
    seeds: &[u64],
    request: &Request,
    control: &Control,
) -> Result<Vec<SeedFits>, SearchError> {
    let mut replications: Vec<Replication> = Vec::with_capacity(seeds.len());
    for seed in seeds {
        if control.is_interrupted() {
            return Err(SearchError::Interrupted);
        }
        replications.push(source.replication(*seed, noise)?);
    }
    let mut searches = Vec::new();
    for (replication, seed) in replications.iter().zip(seeds) {
        searches.extend(request.searches(replication, *seed)?);
    }
    let mut found = search(engine, &searches, control)?.into_iter();
    engine.install(|| {
        seeds
            .iter()
            .zip(&replications)
            .map(|(seed, replication)| {
                let fits = request
                    .methods
                    .iter()
                    .zip(&mut found)
                    .map(|(method, found)| request.finish(replication, *seed, *method, found))
                    .collect::<Result<_, _>>()?;
                Ok(SeedFits { seed: *seed, fits })
            })
            .collect()
    })
}
