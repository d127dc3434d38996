//! How many iterations a loop should make, without knowing how smooth the target is.
//!
//! A [`ladder`](Ladder) fits the same loop with several iteration counts T to all samples. A likelihood never falls as T
//! grows but by luck of the fits, so that a penalty decides: that of the paper's risk bound, whose constant the data
//! themselves calibrate ([`penalised`]). [`lepski`] compares the fits with each other instead.

use crate::SearchError;
use crate::halving::Search;
use crate::plan::{self, Plan, Setting};
use crate::protocol::Protocol;
use crate::replication::Problem;
use loopfit_model::{Budget, Network, Tying};
use loopfit_numerics::libm::log;
use loopfit_numerics::stream::Stream;
use std::sync::Arc;

/// Iteration counts that are tried where none are given.
pub const LADDER: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Fewest updates that the searches of [`LADDER`] can share.
pub const LEAST_UPDATES: usize = LADDER.len() * plan::LEAST_UPDATES;
/// The penalty is this many times the smallest one that prevents the choice of the most iterations.
const SAFETY: f64 = 2.0;

/// What T iterations of a loop of B numbers cost in the risk bound, up to its constant.
///
/// # Formula
/// `B {log(en) + T log(eB)} / n`.
///
/// # Reference
/// Theorem 4.1, equation (15): the fitting term.
pub fn complexity(b: usize, n: usize, t: usize) -> f64 {
    let (b, n, t) = (b as f64, n as f64, t as f64);
    b * (1.0 + log(n) + t * (1.0 + log(b))) / n
}

/// A loop of a ladder: its iteration count and its average negative log-likelihood on the samples that it was fitted to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// The iteration count T.
    pub t: usize,
    /// The average negative log-likelihood.
    pub loss: f64,
}

/// A choice of the iteration count by penalised likelihood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalised {
    /// The chosen iteration count.
    pub t: usize,
    /// Where the choice jumps to many iterations.
    pub jump: f64,
    /// The factor of the penalty: twice the jump's.
    pub lambda: f64,
}

/// What a choice among the loops of a ladder was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The loops, by their iteration counts.
    pub rungs: Vec<Rung>,
    /// The choice.
    pub by: Penalised,
    /// Trainable numbers B and samples n of the penalty.
    pub of: (usize, usize),
}

impl Chosen {
    /// What the penalty adds to the loss of an iteration count.
    pub fn penalty(&self, t: usize) -> f64 {
        self.by.lambda * complexity(self.of.0, self.of.1, t)
    }
}

/// The iteration count that minimises the loss plus lambda times the complexity, with lambda by the jump of the dimension.
///
/// # Formula
/// `T(lambda) = argmin_T {loss_T + lambda B (log(en) + T log(eB)) / n}` falls in steps as lambda grows. The largest step, of
/// equal ones that at the smallest lambda, is at `lambda_jump`; the choice is `T(2 lambda_jump)`.
///
/// # Reference
/// Birgé and Massart, "Minimal penalties for Gaussian model selection", 2007; Arlot and Massart, "Data-driven calibration of
/// penalties for least-squares regression", 2009.
pub fn penalised(rungs: &[Rung], b: usize, n: usize) -> Option<Penalised> {
    let mut rungs = rungs.to_vec();
    rungs.retain(|rung| rung.loss.is_finite());
    rungs.sort_by_key(|rung| rung.t);
    // From the largest lambda down: at each step to the rung that gains most for what it costs.
    let mut at = *rungs.first()?;
    let mut steps: Vec<(f64, Rung, Rung)> = Vec::new();
    loop {
        let gain = |to: &Rung| {
            let cost = complexity(b, n, to.t) - complexity(b, n, at.t);
            (at.loss - to.loss) / cost
        };
        let next = rungs.iter().filter(|to| to.t > at.t && gain(to) > 0.0);
        // Of equal gains the furthest, since the others are passed at the same lambda.
        let Some(next) = next.max_by(|x, y| gain(x).total_cmp(&gain(y))) else {
            break;
        };
        steps.push((gain(next), at, *next));
        at = *next;
    }
    let width = |step: &(f64, Rung, Rung)| step.2.t - step.1.t;
    let jump = steps.iter().max_by_key(|step| width(step));
    let jump = jump.map_or(0.0, |step| step.0);
    let lambda = SAFETY * jump;
    let taken = steps.iter().take_while(|(gain, _, _)| *gain > lambda);
    let t = taken.last().map_or(rungs[0].t, |(_, _, to)| to.t);
    Some(Penalised { t, jump, lambda })
}

/// The fewest iterations whose fit differs from every fit of more iterations by no more than the latter's complexity allows.
///
/// # Formula
/// `T = min {T_i : d(i, j) <= kappa B (log(en) + T_j log(eB)) / n for all T_j > T_i}` for the squared distances `d` of fits.
///
/// # Reference
/// Lepski, "Asymptotically minimax adaptive estimation", 1991.
pub fn lepski(
    ts: &[usize],
    distance: impl Fn(usize, usize) -> f64,
    kappa: f64,
    b: usize,
    n: usize,
) -> Option<usize> {
    let mut order: Vec<usize> = (0..ts.len()).collect();
    order.sort_by_key(|i| ts[*i]);
    let close = |i: usize, j: usize| distance(i, j) <= kappa * complexity(b, n, ts[j]);
    let good = |place: &usize| {
        let later = &order[place + 1..];
        later.iter().all(|j| close(order[*place], *j))
    };
    let place = (0..order.len()).find(good)?;
    Some(ts[order[place]])
}

/// The same loops with several iteration counts.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// The iteration counts, ascending.
    pub ts: Vec<usize>,
    /// One search for each, with the same number of updates.
    pub searches: Vec<Search>,
}

impl Ladder {
    /// A search for each iteration count, in which loops of the given state dimensions, each as wide as the cap allows, compete.
    pub fn new(
        problem: &Arc<Problem>,
        budget: &Budget,
        states: &[usize],
        ts: &[usize],
        protocol: &Arc<Protocol>,
        updates: usize,
        stream: Stream,
    ) -> Result<Self, SearchError> {
        let mut ts = ts.to_vec();
        ts.sort_unstable();
        ts.dedup();
        let searches = ts.iter().map(|t| {
            let loops = states.iter().filter_map(|q| {
                let r = budget.largest_r(*q, 1)?;
                Some(budget.network(*q, r, Tying::Loop { t: *t }))
            });
            let networks = loops.collect::<Result<Vec<_>, _>>()?;
            let stream = stream.child("loop").nth(*t as u64);
            search(problem, &networks, protocol, updates, stream)
        });
        Ok(Self {
            searches: searches.collect::<Result<_, _>>()?,
            ts,
        })
    }
}

/// The search among some networks.
pub fn search(
    problem: &Arc<Problem>,
    networks: &[Network],
    protocol: &Arc<Protocol>,
    updates: usize,
    stream: Stream,
) -> Result<Search, SearchError> {
    let plan = Plan::new(protocol, updates)?;
    let settings = Setting::draw(protocol, networks, plan.starts(), stream);
    if settings.is_empty() {
        return Err(SearchError::NothingToTry);
    }
    Ok(Search {
        problem: problem.clone(),
        protocol: protocol.clone(),
        settings,
        plan,
        whole: true,
    })
}

/// All samples of a problem to fit to, and no others: fits and checkpoints are kept by the likelihood itself.
pub fn all_samples(problem: &Problem) -> Result<Problem, SearchError> {
    let all = Arc::new(problem.train.followed_by(&problem.valid)?);
    Ok(Problem {
        train: all.clone(),
        valid: all,
        ..problem.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rungs(losses: &[(usize, f64)]) -> Vec<Rung> {
        losses
            .iter()
            .map(|(t, loss)| Rung { t: *t, loss: *loss })
            .collect()
    }

    /// By hand: B = 64, n = 1000, T = 8: 64 (1 + log 1000 + 8 (1 + log 64)) / 1000 = 64 (7.907755 + 8 * 5.158883) / 1000.
    #[test]
    fn the_complexity_of_the_bound() {
        assert!((complexity(64, 1000, 8) - 3.147_444_5).abs() < 1e-6);
        let slope = complexity(64, 1000, 9) - complexity(64, 1000, 8);
        assert!((slope - 64.0 * 5.158_883_083 / 1000.0).abs() < 1e-9);
    }

    /// A bias that halves with every doubling up to T = 8, and beyond it noise that is fitted at a constant price: the jump is
    /// from 8 to 64 at that price, and twice the price keeps 8 or fewer.
    #[test]
    fn a_known_jump() {
        let price = 3e-5;
        let cost = |t: usize| price * (complexity(64, 1000, t) - complexity(64, 1000, 1));
        let losses: Vec<(usize, f64)> = LADDER
            .iter()
            .map(|t| (*t, 1.0 + 0.4 / (*t).min(8) as f64 - cost(*t)))
            .collect();
        let found = penalised(&rungs(&losses), 64, 1000).unwrap();
        assert_eq!(found.t, 8);
        assert!((found.jump - price).abs() < 1e-9, "{found:?}");
        assert!((found.lambda - 2.0 * price).abs() < 1e-9);
    }

    #[test]
    fn corners() {
        assert_eq!(penalised(&[], 64, 100), None);
        // Nothing is gained: the fewest iterations.
        let flat = penalised(&rungs(&[(4, 1.0), (1, 1.0), (2, 2.0)]), 64, 100).unwrap();
        assert_eq!((flat.t, flat.jump), (1, 0.0));
        // What failed is not chosen.
        let failed = penalised(
            &rungs(&[(1, f64::NAN), (2, 1.0), (4, f64::INFINITY)]),
            64,
            100,
        );
        assert_eq!(failed.unwrap().t, 2);
    }

    /// Distances of fits on a line: |f_i - f_j| of (0, 0.9, 1, 1) at T = 1, 2, 4, 8.
    #[test]
    fn lepski_stops_where_nothing_changes_any_more() {
        let (ts, f) = ([1, 2, 4, 8], [0.0f64, 0.9, 1.0, 1.0]);
        let distance = |i: usize, j: usize| (f[i] - f[j]).powi(2);
        let unit = complexity(16, 1000, 1);
        assert_eq!(lepski(&ts, distance, 1e-9, 16, 1000), Some(4));
        assert_eq!(lepski(&ts, distance, 0.02 / unit, 16, 1000), Some(2));
        assert_eq!(lepski(&ts, distance, 10.0 / unit, 16, 1000), Some(1));
        assert_eq!(lepski(&[], distance, 1.0, 16, 1000), None);
    }

    proptest! {
        /// The chosen count minimises the criterion at its lambda, and neither the order of the rungs nor a constant in the losses
        /// matters.
        #[test]
        fn the_choice_minimises_its_criterion(losses in proptest::collection::vec(0.0f64..1.0, 7), shift in -1.0f64..1.0) {
            let pairs: Vec<(usize, f64)> = LADDER.iter().copied().zip(losses.iter().copied()).collect();
            let found = penalised(&rungs(&pairs), 64, 500).unwrap();
            let criterion = |(t, loss): &(usize, f64)| loss + found.lambda * complexity(64, 500, *t);
            let own = pairs.iter().find(|(t, _)| *t == found.t).unwrap();
            for other in &pairs {
                prop_assert!(criterion(own) <= criterion(other) + 1e-9);
            }
            let moved: Vec<(usize, f64)> = pairs.iter().rev().map(|(t, loss)| (*t, loss + shift)).collect();
            let again = penalised(&rungs(&moved), 64, 500).unwrap();
            prop_assert_eq!(again.t, found.t);
        }
    }
}
