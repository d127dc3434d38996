//! What a task costs, predicted from shapes, iterations, sizes and updates alone.
//!
//! The prediction decides who runs what ([`crate::shares`]), so it depends on no clock and no machine. Its constants are seconds
//! of one core (Zen 4, AVX-512), fitted to the fits of the paper's studies; on another machine costs are larger or smaller by
//! about one factor, which no share notices.

use crate::StudyError;
use crate::forecast::Sample;
use crate::protocol::{Case, Way};
use crate::run::Prepared;
use crate::task::Phase;
use crate::trial::Trial;
use crate::{continuation, schedule, searched, shortlist, sieve};
use loopfit_engine::{FitSpec, flops_per_gradient, flops_per_update};
use loopfit_likelihood::Likelihood;

/// Seconds of an update beside its operations: the optimiser, the bookkeeping.
const PER_UPDATE: f64 = 7.1e-7;
/// Seconds of a floating-point operation of a gradient.
const PER_FLOP: f64 = 1.23e-11;
/// Seconds of an input of a batch, which is gathered from all over the sample.
const PER_INPUT: f64 = 8.9e-10;
/// Seconds of a floating-point operation of a validation, and of a row beside its operations: its likelihood, in 64 bits.
const PER_VALID_FLOP: f64 = 2.5e-11;
const PER_VALID_ROW: f64 = 2.34e-8;
/// Operations of a validation, relative to those of a gradient: forward alone.
const FORWARD: f64 = 1.0 / 3.0;

/// Seconds of an update.
pub(crate) fn of_update(spec: &FitSpec) -> f64 {
    let batch = spec.stages.first().map_or(0, |stage| stage.batch);
    let inputs = batch.min(spec.train.n()) * spec.network.d();
    PER_UPDATE + PER_FLOP * flops_per_update(spec) + PER_INPUT * inputs as f64
}

/// Seconds of a validation.
pub(crate) fn of_validation(spec: &FitSpec) -> f64 {
    let nodes = match spec.likelihood {
        Likelihood::Energy(energy) => energy.node_count(),
        _ => 0,
    };
    let rows = spec.valid.n() + nodes;
    let flops = FORWARD * flops_per_gradient(&spec.network, rows);
    PER_VALID_FLOP * flops + PER_VALID_ROW * rows as f64
}

/// Seconds of a fit: its updates, the validations between them and those at both ends.
pub(crate) fn of_fit(spec: &FitSpec) -> f64 {
    let stages = spec.stages.iter();
    let updates: usize = stages.clone().map(|stage| stage.updates).sum();
    let validations = stages.map(|stage| stage.updates as f64 / stage.validate_every as f64);
    updates as f64 * of_update(spec) + (2.0 + validations.sum::<f64>()) * of_validation(spec)
}

/// Seconds of so many updates and operations of searches, whose networks are not one.
pub(crate) fn of_search(updates: f64, flops: f64) -> f64 {
    PER_UPDATE * updates + PER_FLOP * flops
}

/// Predicted seconds of one task of a case. All its splits and seeds have samples of about one size, so the first stands for all.
pub(crate) fn task_cost(
    prepared: &Prepared<'_>,
    case: &Case,
    phase: Phase,
) -> Result<f64, StudyError> {
    let study = &prepared.named.study;
    let split = study.splits(case).first().copied().flatten();
    let seed = study.seeds_of(case).first;
    let trial = Trial::new(&prepared.sources, study, case, split, seed);
    let methods = &study.methods;
    let samples = match (&study.way, phase) {
        (
            Way::Continuation(_) | Way::Search(_) | Way::Sieve(_) | Way::Schedule(_),
            Phase::Development,
        ) => {
            return Ok(0.0);
        }
        (Way::Continuation(path), Phase::Confirmation) => {
            continuation::samples(path, methods, &trial)?
        }
        (Way::Shortlist(list), _) => shortlist::samples(list, methods, &trial, phase)?,
        (Way::Search(plan), Phase::Confirmation) => {
            return searched::cost(plan, methods, &trial);
        }
        (Way::Sieve(own), Phase::Confirmation) => sieve::samples(own, methods, &trial)?,
        (Way::Schedule(own), Phase::Confirmation) => return schedule::cost(own, &trial),
    };
    Ok(samples.iter().map(Sample::cost).sum())
}
