//! How a number of updates is spread over starts and rungs.

use crate::SearchError;
use crate::protocol::{Draw, Protocol};
use loopfit_model::{Network, Tying};
use loopfit_numerics::stream::Stream;

/// Fewest updates that a search can spread.
pub const LEAST_UPDATES: usize = 32;
/// One start for so many updates, within [`STARTS`].
const UPDATES_PER_START: usize = 3000;
const STARTS: std::ops::RangeInclusive<usize> = 4..=128;
/// Where that is too few, one start for so many: the longest fits of a search stay short enough to run beside many others.
const UPDATES_OF_MANY: usize = 12_000;
/// As many as a large machine runs beside one another; more updates than these need make each start longer.
const MOST_STARTS: usize = 10_000;

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
    /// A Loop of T iterations runs with `T / shorten` of them; the last rung has 1.
    pub shorten: usize,
}

impl Plan {
    /// Spreads `updates` in all over the protocol's rungs, or by default in four equal parts
    /// over ever fewer starts, each a quarter of the one before; a Loop grows from T / 4 over
    /// T / 2 to T iterations. There is one start for every 3000 updates: 96 000 updates are
    /// 32 x 750, 8 x 3000, 2 x 12 000 and 1 x 24 000. There are at most 128, or one for every 12 000 updates up to
    /// 10 000 starts: a hundred million are 8333 x 3000, 2083 x 12 001, 520 x 48 076 and 130 x 192 307.
    pub fn new(protocol: &Protocol, updates: usize) -> Result<Self, SearchError> {
        if updates < LEAST_UPDATES {
            return Err(SearchError::Updates {
                found: updates,
                least: LEAST_UPDATES,
            });
        }
        let rungs: Vec<Rung> = match &protocol.rungs {
            Some(rungs) => rungs
                .iter()
                .map(|r| Rung {
                    fits: r.fits,
                    updates: (updates as f64 * r.share / r.fits as f64 + 1e-9) as usize,
                    shorten: r.shorten,
                })
                .collect(),
            None => {
                let starts = (updates / UPDATES_PER_START)
                    .clamp(*STARTS.start(), *STARTS.end())
                    .max((updates / UPDATES_OF_MANY).min(MOST_STARTS));
                [(1, 4), (4, 2), (16, 1), (64, 1)]
                    .map(|(fewer, shorten)| {
                        let fits = (starts / fewer).max(1);
                        Rung {
                            fits,
                            updates: updates / 4 / fits,
                            shorten,
                        }
                    })
                    .to_vec()
            }
        };
        if let Some(rung) = rungs.iter().find(|r| r.updates == 0) {
            return Err(SearchError::Rung {
                updates,
                fits: rung.fits,
            });
        }
        Ok(Self { rungs })
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

/// Shape, optimiser setting and random numbers of one start.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The shape.
    pub network: Network,
    /// Where in the protocol's ranges the optimiser's settings lie.
    pub(crate) draw: Draw,
    /// Source of the start and of the batch order.
    pub(crate) stream: Stream,
}

impl Setting {
    /// `count` settings that go through the shapes in turn.
    pub fn draw(
        protocol: &Protocol,
        shapes: &[Network],
        count: usize,
        stream: Stream,
    ) -> Vec<Self> {
        // Stratified, and in random order so that no shape always gets the high rates.
        let mut strata = vec![0; count];
        stream.child("strata").permute(&mut strata);
        shapes
            .iter()
            .cycle()
            .take(if shapes.is_empty() { 0 } else { count })
            .enumerate()
            .map(|(i, network)| {
                let stream = stream.nth(i as u64);
                let u = (f64::from(strata[i]) + stream.child("learning rate").uniform(0))
                    / count as f64;
                Self {
                    network: network.clone(),
                    draw: protocol.draw(u, stream),
                    stream,
                }
            })
            .collect()
    }

    /// The network with as many iterations as a rung gives it.
    pub(crate) fn network_at(&self, rung: Rung) -> Result<Network, SearchError> {
        let n = &self.network;
        let tying = match n.tying() {
            Tying::Loop { t } => Tying::Loop {
                t: (t / rung.shorten).max(1),
            },
            other => other,
        };
        Ok(n.resized(n.r(), tying)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_model::Tying;

    fn rungs(updates: usize) -> Vec<(usize, usize, usize)> {
        let plan = Plan::new(&Protocol::default(), updates).unwrap();
        plan.rungs
            .iter()
            .map(|r| (r.fits, r.updates, r.shorten))
            .collect()
    }

    #[test]
    fn a_plan_spends_its_updates() {
        for updates in [32, 100, 6000, 96_000, 96_017, 10_000_000] {
            let plan = Plan::new(&Protocol::default(), updates).unwrap();
            let fits: usize = plan.rungs.iter().map(|r| r.fits).sum();
            // Less than one update of each fit and rung is left over.
            let spent = plan.updates();
            assert!(
                spent <= updates && spent + fits + 4 > updates,
                "{updates}: {spent}"
            );
            assert!(plan.rungs.iter().all(|r| r.updates > 0));
        }
        assert_eq!(
            rungs(96_000),
            [(32, 750, 4), (8, 3000, 2), (2, 12_000, 1), (1, 24_000, 1)]
        );
        assert_eq!(rungs(1_500_000)[0], (128, 2929, 4));
        let many = [
            (8333, 3000, 4),
            (2083, 12_001, 2),
            (520, 48_076, 1),
            (130, 192_307, 1),
        ];
        assert_eq!(rungs(100_000_000), many);
        assert_eq!(rungs(2_000_000_000)[0], (10_000, 50_000, 4));
        assert_eq!(rungs(32), [(4, 2, 4), (1, 8, 2), (1, 8, 1), (1, 8, 1)]);
        assert!(Plan::new(&Protocol::default(), 31).is_err());
    }

    #[test]
    fn a_loop_grows_to_its_iterations_and_other_methods_stay() {
        let protocol = Protocol::default();
        let plan = Plan::new(&protocol, 96_000).unwrap();
        let at = |tying: Tying| -> Vec<usize> {
            let network = Network::ffn(2, 1, 3, 4, tying).unwrap();
            let setting = &Setting::draw(&protocol, &[network], 1, Stream::new(1))[0];
            plan.rungs
                .iter()
                .map(|r| setting.network_at(*r).unwrap().tying().iterations())
                .collect()
        };
        assert_eq!(at(Tying::Loop { t: 16 }), [4, 8, 16, 16]);
        assert_eq!(at(Tying::Loop { t: 3 }), [1, 1, 3, 3]);
        assert_eq!(at(Tying::Untied { t: 4 }), [4, 4, 4, 4]);
        assert_eq!(at(Tying::Single), [1, 1, 1, 1]);
    }

    #[test]
    fn settings_cover_shapes_and_learning_rates() {
        let protocol = Protocol::default();
        let shapes = [2, 3].map(|q| Network::ffn(2, 1, q, 4, Tying::Loop { t: 16 }).unwrap());
        let settings = Setting::draw(&protocol, &shapes, 6, Stream::new(1));
        assert_eq!(settings.len(), 6);
        let mut rates: Vec<f64> = settings.iter().map(|s| s.draw.learning_rate).collect();
        rates.sort_by(f64::total_cmp);
        // One in each sixth of the range, on the log scale.
        for (i, rate) in rates.iter().enumerate() {
            assert_eq!((6.0 * rate) as usize, i);
        }
        let first = settings.iter().filter(|s| s.network == shapes[0]);
        assert_eq!(first.count(), 3);
    }
}
