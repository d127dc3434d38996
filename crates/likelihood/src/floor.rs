//! The least probability of a class that rows support.

use crate::Likelihood;
use loopfit_numerics::libm;

/// How many rows may be sure and wrong where all that were seen are sure and right.
const UNSEEN: f64 = 0.1;

/// The least probability that is given to a class, whatever the scores say of it. Scores of a network can be arbitrarily far apart where
/// there were no training rows, and one such row would cost more than all others.
///
/// # Formula
/// `p -> (1 - K e) p + e` of `K` classes, with `e = a / {(K - 1) n}` after `n` rows: the `e` that costs `n` rows whose right class has
/// probability one and `a = 0.1` rows whose right class has probability zero the least, to first order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    classes: f64,
    least: f64,
}

impl Floor {
    /// Nothing is held back.
    pub const NONE: Self = Self {
        classes: 0.0,
        least: 0.0,
    };

    /// What a fit to so many rows supports; nothing is held back where there are no classes.
    pub fn after(likelihood: Likelihood, rows: usize) -> Self {
        let classes = classes(likelihood);
        let least = match classes > 1.0 {
            true => UNSEEN / ((classes - 1.0) * rows.max(1) as f64),
            false => 0.0,
        };
        Self { classes, least }
    }

    /// One that is known; none if it leaves no room for the probabilities.
    pub fn new(likelihood: Likelihood, least: f64) -> Option<Self> {
        let classes = classes(likelihood);
        let room = least >= 0.0 && least * classes < 1.0 && (least == 0.0 || classes > 1.0);
        room.then_some(Self { classes, least })
    }

    /// The least probability.
    pub fn least(self) -> f64 {
        self.least
    }

    /// What becomes of a probability.
    pub fn probability(self, p: f64) -> f64 {
        (1.0 - self.classes * self.least) * p + self.least
    }

    /// What becomes of the negative logarithm of a probability.
    pub fn nll(self, nll: f64) -> f64 {
        match self.least > 0.0 {
            true => -libm::log(self.probability(libm::exp(-nll))),
            false => nll,
        }
    }
}

fn classes(likelihood: Likelihood) -> f64 {
    likelihood.classes().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bernoulli, Gaussian, Multiclass};

    #[test]
    fn probabilities_still_sum_to_one_and_no_loss_is_without_bound() {
        let three = Likelihood::Multiclass(Multiclass::new(3).unwrap());
        let floor = Floor::after(three, 500);
        let total: f64 = [0.7, 0.3, 0.0].map(|p| floor.probability(p)).iter().sum();
        assert!((total - 1.0).abs() < 1e-15, "{total}");
        assert_eq!(floor.least(), 0.1 / (2.0 * 500.0));
        assert!((floor.nll(1e6) + floor.least().ln()).abs() < 1e-12);
        assert!((floor.nll(0.5) - 0.5).abs() < 1e-3);
    }

    /// The cost of sure rows, all right but a tenth of one, by a fine grid.
    #[test]
    fn the_floor_costs_sure_rows_the_least() {
        let n = 200.0;
        let two = Likelihood::Bernoulli(Bernoulli);
        let cost = |least: f64| {
            let floor = Floor::new(two, least).unwrap();
            n * floor.nll(0.0) + UNSEEN * floor.nll(f64::INFINITY)
        };
        let own = cost(Floor::after(two, 200).least());
        let best = (1..2000)
            .map(|i| cost(f64::from(i) * 1e-6))
            .fold(f64::INFINITY, f64::min);
        assert!(own < best * (1.0 + 1e-5), "{own} {best}");
    }

    #[test]
    fn a_regression_has_none() {
        let gaussian = Likelihood::Gaussian(Gaussian::new(1.0).unwrap());
        assert_eq!(Floor::after(gaussian, 10).nll(77.0), 77.0);
        assert!(Floor::new(gaussian, 0.1).is_none());
        assert!(Floor::new(Likelihood::Bernoulli(Bernoulli), 0.5).is_none());
        assert!(Floor::new(Likelihood::Bernoulli(Bernoulli), f64::NAN).is_none());
    }
}
