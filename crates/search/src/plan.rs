//! How a number of updates is spread over starts and rungs.

use crate::SearchError;
use loopfit_engine::{FitSpec, Stage, Start};
use loopfit_model::{Method, Network};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;

/// Starts of the first rung and survivors of the second.
const STARTS: usize = 6;
const SURVIVORS: usize = 2;

/// Learning rates are drawn log-uniformly from here: several times the paper's, and several
/// times better at the same number of updates.
const LEARNING_RATES: (f64, f64) = (0.004, 0.015);

/// Successive halving: all starts get `rungs[0].updates`, the best `rungs[1].fits` of them
/// `rungs[1].updates` more, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// From many short fits to few long ones.
    pub rungs: Vec<Rung>,
}

/// One round of fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Number of fits.
    pub fits: usize,
    /// Updates of each.
    pub updates: usize,
}

impl Plan {
    /// Spreads `updates` in all: six fits of a sixteenth each, then the best two with five
    /// sixteenths each.
    pub fn with_updates(updates: usize) -> Result<Self, SearchError> {
        let least = 16;
        if updates < least {
            return Err(SearchError::Updates {
                found: updates,
                least,
            });
        }
        let first = Rung {
            fits: STARTS,
            updates: updates / 16,
        };
        let rest = updates - first.fits * first.updates;
        Ok(Self {
            rungs: vec![
                first,
                Rung {
                    fits: SURVIVORS,
                    updates: rest / SURVIVORS,
                },
            ],
        })
    }

    /// Updates of all fits together.
    pub fn updates(&self) -> usize {
        self.rungs.iter().map(|r| r.fits * r.updates).sum()
    }

    /// Starts of the first rung.
    pub fn starts(&self) -> usize {
        self.rungs.first().map_or(0, |r| r.fits)
    }
}

/// Optimiser settings of one start.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The shape.
    pub network: Network,
    /// Initial learning rate.
    pub learning_rate: f64,
    /// Factor on the outgoing weights' learning rate.
    pub outgoing_rate: f64,
    /// Factor on the outgoing weights' initial values.
    pub outgoing_multiplier: f64,
    /// Source of the start and of the batch order.
    pub stream: Stream,
}

impl Setting {
    /// `count` settings that go through the shapes in turn. Outgoing weights start at `1 / T`
    /// of their usual size; in a loop they learn at `1 / sqrt(T)` of the common rate, since one
    /// gradient sums over T uses.
    pub fn draw(shapes: &[Network], count: usize, stream: Stream) -> Vec<Self> {
        let (low, high) = LEARNING_RATES;
        // Stratified, and in random order so that no shape always gets the high rates.
        let mut strata = vec![0; count];
        stream.child("strata").permute(&mut strata);
        shapes
            .iter()
            .cycle()
            .take(if shapes.is_empty() { 0 } else { count })
            .enumerate()
            .map(|(i, network)| {
                let t = network.tying().iterations() as f64;
                let stream = stream.nth(i as u64);
                let u = (f64::from(strata[i]) + stream.child("learning rate").uniform(0))
                    / count as f64;
                Self {
                    network: network.clone(),
                    learning_rate: low * libm::pow(high / low, u),
                    outgoing_rate: match network.tying().method() {
                        Method::Loop => 1.0 / t.sqrt(),
                        _ => 1.0,
                    },
                    outgoing_multiplier: 1.0 / t,
                    stream,
                }
            })
            .collect()
    }

    /// The fit of this setting at a rung.
    pub(crate) fn spec(
        &self,
        problem: &crate::replication::Problem,
        rung: usize,
        updates: usize,
        start: Option<Start>,
    ) -> FitSpec {
        FitSpec {
            network: self.network.clone(),
            likelihood: problem.likelihood,
            bounds: problem.bounds,
            train: problem.train.clone(),
            valid: problem.valid.clone(),
            start: start.unwrap_or(Start::Fresh {
                outgoing_multiplier: self.outgoing_multiplier,
            }),
            stages: vec![Stage {
                learning_rate: self.learning_rate,
                outgoing_rate: self.outgoing_rate,
                updates,
                // Validation costs a third of an update per sample: keep it below a tenth in all.
                validate_every: (problem.valid.n() / 40).max(200),
                ..Stage::default()
            }],
            stream: self.stream.child("rung").nth(rung as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_model::Tying;

    #[test]
    fn a_plan_spends_its_updates() {
        for updates in [16, 100, 6000, 96_000, 96_017] {
            let plan = Plan::with_updates(updates).unwrap();
            assert!(
                plan.updates() <= updates && plan.updates() + 1 >= updates,
                "{updates}: {plan:?}"
            );
        }
        assert_eq!(
            Plan::with_updates(96_000).unwrap().rungs,
            [
                Rung {
                    fits: 6,
                    updates: 6000
                },
                Rung {
                    fits: 2,
                    updates: 30_000
                }
            ]
        );
        assert!(Plan::with_updates(15).is_err());
    }

    #[test]
    fn settings_cover_shapes_and_learning_rates() {
        let shapes = [2, 3].map(|q| Network::ffn(2, 1, q, 4, Tying::Loop { t: 16 }).unwrap());
        let settings = Setting::draw(&shapes, 6, Stream::new(1));
        assert_eq!(settings.len(), 6);
        let mut rates: Vec<f64> = settings.iter().map(|s| s.learning_rate).collect();
        rates.sort_by(f64::total_cmp);
        // One in each sixth of the range, on the log scale.
        for (i, rate) in rates.iter().enumerate() {
            let part = 6.0 * (rate / 0.004).ln() / (0.015f64 / 0.004).ln();
            assert_eq!(part as usize, i);
        }
        assert!(
            settings
                .iter()
                .all(|s| (0.004..=0.015).contains(&s.learning_rate))
        );
        assert_eq!(
            settings.iter().filter(|s| s.network == shapes[0]).count(),
            3
        );
    }
}
