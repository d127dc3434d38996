//! How work is spread over candidates, rows, starts and steps.

use crate::candidates::Candidate;
use crate::stepwise;
use crate::tape::Tape;
use loopfit_model::Network;

/// Parts of a method's work that go to the three rounds and to networks with zeros; the rest is for the last fits.
const SHARES: [f64; 4] = [0.25, 0.1, 0.27, 0.3];
/// Steps of a fit in each round.
pub(crate) const STEPS: [usize; 3] = [25, 50, 80];
/// Steps with each factor on the penalties.
pub(crate) const FACTOR_STEPS: usize = 10;
/// Rows of the first round: as few as still tell candidates apart, and as many as it needs.
const SCREENED_ROWS: [usize; 2] = [400, 1600];
/// Rows below which the first round looks at all folds: two of them say too little.
const ALL_FOLDS_BELOW: usize = 600;
/// Candidates of a method in the first round.
const SCREENED: [usize; 2] = [8, 72];
/// Rows of a fold for each of them: few rows do not tell many apart.
const ROWS_FOR_A_CANDIDATE: usize = 5;
/// As many of them in any case, also where there is no work for them: fits to so few rows cost little.
const SCREENED_OF_FEW: usize = 24;
/// Candidates of a method in the second and third round.
const KEPT: [[usize; 2]; 2] = [[2, 8], [1, 3]];
/// Starts of each fit in the third round.
const STARTS: [usize; 2] = [1, 8];
/// Starts where a good optimum is rare, and how much of a method's work these may be.
const MOST_STARTS: usize = 24;
const MORE_STARTS: f64 = 1.5;
/// Rows below which optima are not told apart, or as many for each number if that is less: fits that differ there differ in how closely they
/// follow few rows.
const ROWS_OF_OPTIMA: usize = 200;
const ROWS_OF_OPTIMA_FOR_A_NUMBER: usize = 8;
/// Networks with zeros, if there is work for them.
const SPARSE: usize = 2;
/// Starts of networks with zeros, whose fits begin with twice as many numbers and cost several times as much.
const SPARSE_STARTS: [usize; 2] = [1, 3];
/// How many times as much.
const SPARSE_COST: f64 = 6.0;

/// How much fits that begin with units of one input each may cost, relative to a method's work.
const STEPWISE_WORK: f64 = 0.5;
/// Starts of each of them, if there is work for them: what is left of their units differs.
const STEPWISE_STARTS: usize = 3;
/// Steps with as many numbers as the cap that cost as much as such a fit.
const STEPWISE_STEPS: f64 = 240.0;
/// Work of looking at all edges of an input for one row.
const SEARCH_WORK: f64 = 600.0;

/// The cap to which the work of a request refers.
const FULL_CAP: usize = 256;

/// Whether a much smaller loss of a fit of so many numbers to so many rows says that its optimum is a better one.
pub(crate) fn are_told_apart(rows: usize, numbers: usize) -> bool {
    rows >= ROWS_OF_OPTIMA.min(ROWS_OF_OPTIMA_FOR_A_NUMBER * numbers)
}

/// The part of the work that is spent under a cap: smaller networks cost less, and larger ones wait.
pub(crate) fn of_cap(cap: usize) -> f64 {
    cap.min(FULL_CAP) as f64 / FULL_CAP as f64
}

/// What a method's work buys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounds {
    /// Rows that a fit of the first round sees.
    pub(crate) rows: usize,
    /// Folds of the first round.
    pub(crate) folds: usize,
    /// Candidates of each round.
    pub(crate) candidates: [usize; 3],
    /// Starts of each fit in the third round and of the last fit.
    pub(crate) starts: usize,
    /// As many where a good optimum is rare.
    pub(crate) most_starts: usize,
    /// Networks with zeros.
    pub(crate) sparse: usize,
    /// Starts of each.
    pub(crate) sparse_starts: usize,
}

impl Rounds {
    /// Rounds for candidates like these, fitted to `n` rows in each of `folds` folds.
    pub(crate) fn new(
        candidates: &[Candidate],
        n: usize,
        factors: usize,
        folds: usize,
        work: f64,
    ) -> Self {
        let count = candidates.len().max(1) as f64;
        let mean = |work: &dyn Fn(&Network) -> f64| {
            candidates.iter().map(|c| work(&c.network)).sum::<f64>() / count
        };
        let (per_row, per_step) = (mean(&|w| row_work(w, factors)), mean(&solve_work));
        let numbers = mean(&|w| w.count() as f64);
        let within =
            |value: f64, [least, most]: [usize; 2]| (value as usize).clamp(least, most.max(least));
        // Rows first, then candidates.
        let fits = |share: f64, steps: usize, rows: usize| {
            share * work / (steps as f64 * (per_row * rows as f64 + per_step))
        };
        let told_apart = (n / ROWS_FOR_A_CANDIDATE).clamp(SCREENED_OF_FEW, SCREENED[1]);
        let least = match n < ROWS_FOR_A_CANDIDATE * SCREENED_OF_FEW {
            true => SCREENED_OF_FEW,
            false => SCREENED[0],
        };
        let most = candidates.len().min(told_apart);
        // All folds of few rows, if there is work for them.
        let few = n < ALL_FOLDS_BELOW;
        let affordable = fits(SHARES[0], STEPS[0] * folds, n) >= most as f64 / 2.0;
        let screen_folds = folds.min(if few && affordable { 5 } else { 2 });
        let screen = |rows: usize| fits(SHARES[0], STEPS[0] * screen_folds, rows);
        let enough = |rows: &usize| screen(*rows) >= most as f64;
        let sizes =
            [SCREENED_ROWS[1], SCREENED_ROWS[1] / 2, SCREENED_ROWS[0]].map(|rows| rows.min(n));
        let rows = sizes.into_iter().find(enough).unwrap_or(sizes[2]);
        let screened = within(screen(rows), [least, told_apart]).min(candidates.len());
        let second = within(fits(SHARES[1], STEPS[1] * folds, n), KEPT[0]).min(screened);
        let third_fits = fits(SHARES[2], STEPS[2] * folds, n);
        let third = within(third_fits / 2.0, KEPT[1]).min(second);
        let starts = within(third_fits / third as f64, STARTS);
        let more = fits(MORE_STARTS, STEPS[2] * folds, n) / third as f64;
        let sparse_fits = fits(SPARSE_COST.recip() * SHARES[3], STEPS[2] * folds, n);
        let sparse = sparse_fits.min(SPARSE as f64) as usize;
        Self {
            sparse,
            sparse_starts: within(sparse_fits / sparse.max(1) as f64, SPARSE_STARTS),
            rows,
            folds: screen_folds,
            candidates: [screened, second, third],
            starts,
            most_starts: match are_told_apart(n, numbers as usize) {
                true => within(more, [starts, MOST_STARTS]),
                false => starts,
            },
        }
    }
}

/// Work of one step for one row, in units of a tenth of a nanosecond of a core with AVX-512, what is done beside the steps included: the
/// products of the Gauss-Newton matrix, and the passes through the network, whose activations cost more than their multiply-adds.
pub(crate) fn row_work(network: &Network, factors: usize) -> f64 {
    let (p, m) = (network.count() as f64, factors as f64);
    m * 0.33 * p * p + 3.0 * (2.0 + m) * Tape::new(network).work()
}

/// Work of a fit that grows by one unit after the other, has half as many numbers too many, and loses them.
pub(crate) fn stepwise_work(cap: usize, d: usize, n: usize, factors: usize) -> f64 {
    let p = cap as f64;
    let steps = STEPWISE_STEPS * 0.55 * p * p * (n * factors) as f64;
    let searches = SEARCH_WORK * p / 3.0 * (d * n.min(stepwise::ROWS)) as f64;
    steps + searches
}

/// Starts of each fit that begins with units of one input each, given what one start in all folds costs; none where even that is too much.
pub(crate) fn stepwise_starts(cost: f64, work: f64) -> usize {
    ((STEPWISE_WORK * work / cost) as usize).min(STEPWISE_STARTS)
}

/// Work of one step of an affine function of all inputs.
pub(crate) fn full_linear_work(d: usize, factors: usize, n: usize) -> f64 {
    let (d, m, n) = (d as f64, factors as f64, n as f64);
    let p = m * (d + 1.0);
    0.3 * n * p * p + 2.0 * p * p * p
}

/// Work of one step whatever the rows: factors and inverses of the matrix, slower than products.
fn solve_work(network: &Network) -> f64 {
    let p = network.count() as f64;
    0.2 * p * p * p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::Space;
    use loopfit_model::{Activation, Method};

    /// Candidates of the first round with hardly any work and with plenty: two dozen of few rows, then one for five rows.
    #[test]
    fn rows_say_how_many_candidates_are_told_apart() {
        let space = Space {
            cap: 32,
            above: 0,
            d: 8,
            outputs: 1,
            activations: vec![Activation::Relu, Activation::Tanh, Activation::Silu],
            iterations: vec![2, 4, 8],
            paper: false,
            said: usize::MAX,
        };
        let candidates = space.networks(Method::Loop);
        assert!(candidates.len() > 72, "{}", candidates.len());
        let screened = |n: usize, work: f64| Rounds::new(&candidates, n, 1, 5, work).candidates[0];
        assert_eq!((screened(16, 1.0), screened(16, 1e15)), (24, 24));
        assert_eq!((screened(119, 1.0), screened(119, 1e15)), (24, 24));
        assert_eq!((screened(200, 1.0), screened(200, 1e15)), (8, 40));
        assert_eq!((screened(5000, 1.0), screened(5000, 1e15)), (8, 72));
    }

    /// The paper's form has one of three inputs, a channel and a unit in ten numbers, in which carried inputs have no place.
    #[test]
    fn the_smallest_of_the_papers_form_competes() {
        let space = |cap| Space {
            cap,
            above: 0,
            d: 3,
            outputs: 1,
            activations: vec![Activation::Relu],
            iterations: vec![2],
            paper: true,
            said: usize::MAX,
        };
        for method in [Method::Single, Method::Loop] {
            assert!(space(9).networks(method).is_empty());
            let ten = space(10).networks(method);
            assert!(!ten.is_empty() && ten.iter().all(|c| c.network.to_paper().count() <= 10));
        }
    }

    #[test]
    fn half_of_the_work_goes_to_units_of_one_input() {
        let starts = |work: f64| stepwise_starts(1e9, work);
        assert_eq!([1.9e9, 2e9, 5e9, 1e12].map(starts), [0, 1, 2, 3]);
    }
}
