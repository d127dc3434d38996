//! Loops with every iteration count, of which penalised likelihood chooses one.

use super::{MethodFit, Prepared, Request};
use crate::SearchError;
use crate::halving::Found;
use crate::iterations::{self, Chosen, LADDER, LEAST_UPDATES, Ladder, Rung, penalised};
use crate::replication::Replication;
use loopfit_engine::{Control, tolerance};
use loopfit_model::{Budget, Method};
use loopfit_numerics::stream::Stream;
use std::sync::Arc;

impl Prepared {
    /// Prepares loops of the first family with every iteration count of [`LADDER`], which share the updates, all fitted to training and
    /// validation samples together and without weight decay; [`Prepared::run`] chooses one by penalised likelihood.
    pub fn automatic(
        mut request: Request,
        mut replication: Replication,
        seed: u64,
    ) -> Result<Self, SearchError> {
        let all = Arc::new(iterations::all_samples(&replication.problem)?);
        replication.problem = all.clone();
        request.families.truncate(1);
        let family = request.families.first().ok_or(SearchError::NothingToTry)?;
        let (d, outputs) = (all.train.d(), all.likelihood.outputs());
        let budget = Budget::new(request.budget, family.architecture.at(d)?, d, outputs)?;
        let mut states: Vec<usize> = Vec::new();
        for network in
            crate::shapes::shortlist(&budget, Method::Loop, request.protocol.shapes.count)?
        {
            if !states.contains(&network.q()) {
                states.push(network.q());
            }
        }
        let mut protocol = (*request.protocol).clone();
        protocol.decay.none = 1.0;
        protocol.refit = false;
        request.protocol = Arc::new(protocol);
        if request.updates < LEAST_UPDATES {
            return Err(SearchError::Updates {
                found: request.updates,
                least: LEAST_UPDATES,
            });
        }
        let updates = request.updates / LADDER.len();
        let stream = Stream::new(seed).child("iterations");
        let protocol = &request.protocol;
        let ladder = Ladder::new(&all, &budget, &states, &LADDER, protocol, updates, stream)?;
        Ok(Self {
            request,
            replication,
            seed,
            searches: ladder.searches,
            ladder: Some(ladder.ts),
        })
    }

    /// Whether an iteration count is chosen by penalised likelihood.
    pub fn is_automatic(&self) -> bool {
        self.ladder.is_some()
    }

    /// The loop of a ladder that penalised likelihood prefers.
    pub(super) fn choose(
        &self,
        control: &Control,
        ts: &[usize],
        mut found: Vec<Found>,
    ) -> Result<MethodFit, SearchError> {
        // A loop that had no update says nothing about its iteration count.
        if found.iter().any(|found| found.updates == 0) {
            return Err(SearchError::Interrupted);
        }
        let (request, replication) = (&self.request, &self.replication);
        let pairs = ts.iter().zip(&found);
        let rungs: Vec<Rung> = pairs
            .map(|(t, found)| Rung {
                t: *t,
                loss: found.outcome.validation,
            })
            .collect();
        let problem = &replication.problem;
        let of = (request.budget, problem.train.n());
        let by = penalised(&rungs, of.0, of.1);
        let updates = found.iter().map(|found| found.updates).sum();
        let place = by.and_then(|by| ts.iter().position(|t| *t == by.t));
        let kept = found.swap_remove(place.unwrap_or(0));
        let family = request.families[0].clone();
        let mut fit = request.finish(replication, self.seed, family, kept, None)?;
        fit.updates = updates;
        if let Some(by) = by {
            if !control.is_stopped() {
                let parameters = &fit.model.parameters;
                fit.tolerance = tolerance(
                    parameters,
                    problem.likelihood,
                    problem.bounds,
                    &problem.train,
                )
                .ok();
            }
            // Nothing was held out.
            fit.validation = f64::NAN;
            fit.model.provenance.validation = f64::NAN;
            fit.gap = None;
            fit.chosen = Some(Chosen { rungs, by, of });
        }
        Ok(fit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;
    use crate::replication::Source;
    use loopfit_data::Simulation;
    use loopfit_model::ArchitectureChoice;

    /// The chosen loop is one of the ladder, minimises its criterion, was fitted to all samples, and is the same again.
    #[test]
    fn an_iteration_count_by_penalised_likelihood() {
        let source = Source::Simulation {
            simulation: Simulation::Bumps,
            train: 96,
            valid: 32,
        };
        let request = Request {
            budget: 40,
            families: Family::each(&[ArchitectureChoice::Ffn], &[Method::Loop]),
            updates: 7 * 64,
            protocol: Arc::default(),
        };
        let run = || {
            let replication = source.replication(1, None).unwrap();
            let prepared = Prepared::automatic(request.clone(), replication, 3).unwrap();
            let engine = loopfit_engine::Engine::new(1).unwrap();
            prepared
                .run(&engine, &Control::default())
                .unwrap()
                .remove(0)
        };
        let fit = run();
        let chosen = fit.chosen.clone().unwrap();
        assert_eq!(chosen.of, (40, 128));
        assert_eq!(chosen.rungs.iter().map(|r| r.t).collect::<Vec<_>>(), LADDER);
        let criterion = |r: &Rung| r.loss + chosen.penalty(r.t);
        let own = chosen.rungs.iter().find(|r| r.t == chosen.by.t).unwrap();
        assert!(
            chosen
                .rungs
                .iter()
                .all(|r| criterion(own) <= criterion(r) + 1e-12)
        );
        let network = fit.model.parameters.network();
        assert_eq!(network.tying().iterations(), chosen.by.t);
        assert!(network.count() <= 40 && fit.validation.is_nan() && !fit.failed());
        let all = source.replication(1, None).unwrap().problem;
        let all = iterations::all_samples(&all).unwrap();
        assert_eq!(fit.model.provenance.training_samples, all.train.hash());
        assert_eq!(run().model.parameters, fit.model.parameters);
    }
}
