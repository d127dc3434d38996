//! The fits of a grid: every start with every learning rate and weight decay.

use crate::protocol::Grid;
use crate::recorder::Job;
use loopfit_engine::{Adam, FitOutcome, FitSpec, Optimiser, Stage, Start, WeightDecay};
use loopfit_model::{Network, Parameters};
use loopfit_numerics::stream::Stream;
use loopfit_search::replication::Problem;

/// From where the fits of a grid start.
pub(crate) enum From<'a> {
    /// So many random starts.
    Fresh(usize),
    /// Where the last stage ended.
    Last(&'a Parameters),
}

impl Grid {
    /// Number of pairs of a learning rate and a weight decay.
    pub(crate) fn settings(&self) -> usize {
        self.learning_rates.len() * self.weight_decays.len()
    }

    /// One fit for every start, learning rate and weight decay, each with these rounds of
    /// updates. Fits of one start share their random numbers.
    pub(crate) fn jobs(
        &self,
        prefix: &str,
        problem: &Problem,
        network: &Network,
        from: &From<'_>,
        rounds: &[usize],
        stream: Stream,
    ) -> Vec<Job> {
        let t = network.tying().iterations();
        let starts = match from {
            From::Fresh(starts) => *starts,
            From::Last(_) => 1,
        };
        let mut jobs = Vec::new();
        for number in 0..starts {
            for rate in &self.learning_rates {
                for decay in &self.weight_decays {
                    let start = match from {
                        From::Fresh(_) => Start::Fresh {
                            outgoing_multiplier: self.outgoing_multiplier.at(t),
                        },
                        From::Last(parameters) => Start::Given((*parameters).clone()),
                    };
                    let stages = rounds
                        .iter()
                        .map(|updates| self.stage(t, *rate, *decay, *updates))
                        .collect();
                    jobs.push(Job {
                        name: format!("{prefix}/start-{number}/rate-{rate}/decay-{decay}"),
                        spec: FitSpec {
                            network: network.clone(),
                            likelihood: problem.likelihood,
                            bounds: problem.bounds,
                            train: problem.train.clone(),
                            valid: problem.valid.clone(),
                            start,
                            stages,
                            stream: stream.nth(number as u64),
                        },
                    });
                }
            }
        }
        jobs
    }

    fn stage(&self, t: usize, rate: f64, decay: f64, updates: usize) -> Stage {
        Stage {
            optimiser: Optimiser::Adam(Adam {
                outgoing_rate: self.outgoing_rate.at(t),
                gradient_cap: self.gradient_cap,
            }),
            learning_rate: rate,
            final_rate: self.final_rate,
            weight_decay: if self.decoupled {
                WeightDecay::Decoupled(decay)
            } else {
                WeightDecay::Coupled(decay)
            },
            batch: self.batch,
            updates,
            validate_every: self.validate_every,
        }
    }
}

/// The fit with the lowest validation loss, the first among equals.
pub(crate) fn best<'a>(
    jobs: &'a [Job],
    outcomes: &'a [FitOutcome],
) -> Option<(&'a Job, &'a FitOutcome)> {
    let pairs = jobs.iter().zip(outcomes);
    pairs.min_by(|a, b| a.1.validation.total_cmp(&b.1.validation))
}

/// `q4-r11-T16`.
pub(crate) fn shape_name(network: &Network) -> String {
    let (q, r, t) = (network.q(), network.r(), network.tying().iterations());
    format!("q{q}-r{r}-T{t}")
}
