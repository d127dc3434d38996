//! Losses of single rows with what boosting and kernels need of them.

use loopfit_likelihood::Likelihood;
use loopfit_numerics::libm;
use loopfit_numerics::special::{sigmoid, softplus};
use loopfit_numerics::sum::{mean, median};

/// Rows that each class is believed to have before the first one is seen: log odds stay finite.
const PRIOR_ROWS: f64 = 0.5;

/// What a likelihood costs at a row, without constants and without its noise level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// `(f - y)^2 / 2`.
    Squared,
    /// `|f - y|`.
    Absolute,
    /// `log(1 + e^f) - y f`.
    Logistic,
    /// `log sum_k e^{f_k} - f_y`, with so many classes.
    Softmax(usize),
}

impl Loss {
    /// The loss of a likelihood; none for counts and densities.
    pub(super) fn of(likelihood: Likelihood) -> Option<Self> {
        match likelihood {
            Likelihood::Gaussian(_) => Some(Self::Squared),
            Likelihood::Laplace(_) => Some(Self::Absolute),
            Likelihood::Bernoulli(_) => Some(Self::Logistic),
            Likelihood::Multiclass(l) => Some(Self::Softmax(l.classes())),
            Likelihood::Poisson(_) | Likelihood::Energy(_) => None,
        }
    }

    /// Outputs of a row.
    pub(super) fn outputs(self) -> usize {
        match self {
            Self::Softmax(classes) => classes,
            _ => 1,
        }
    }

    /// Whether squares of residuals are the loss or stand in for it where one linear system is to
    /// give the answer.
    pub(super) fn by_squares(self) -> bool {
        matches!(self, Self::Squared | Self::Absolute)
    }

    /// The loss of a row with target `y` at outputs `f`.
    pub(super) fn value(self, y: f64, f: &[f64]) -> f64 {
        match self {
            Self::Squared => 0.5 * (f[0] - y) * (f[0] - y),
            Self::Absolute => (f[0] - y).abs(),
            Self::Logistic => softplus(f[0]) - y * f[0],
            Self::Softmax(_) => {
                let largest = f.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
                let sum: f64 = f.iter().map(|v| libm::exp(v - largest)).sum();
                largest + libm::log(sum) - f[y as usize]
            }
        }
    }

    /// Slopes and curvatures of the loss by each output.
    ///
    /// # Formula
    /// Squared `(f - y, 1)`; absolute `(sign(f - y), 1)`; logistic `(p - y, p (1 - p))` with
    /// `p = 1 / (1 + e^{-f})`; softmax `(p_k - [y = k], p_k (1 - p_k) K / (K - 1))`, where the
    /// last factor makes up for the other outputs, which move at the same time (exact for two
    /// classes).
    pub(super) fn slopes(self, y: f64, f: &[f64], slope: &mut [f64], curvature: &mut [f64]) {
        match self {
            Self::Squared => (slope[0], curvature[0]) = (f[0] - y, 1.0),
            Self::Absolute => {
                let r = f[0] - y;
                slope[0] = f64::from(i8::from(r > 0.0) - i8::from(r < 0.0));
                curvature[0] = 1.0;
            }
            Self::Logistic => {
                let p = sigmoid(f[0]);
                (slope[0], curvature[0]) = (p - y, p * (1.0 - p));
            }
            Self::Softmax(classes) => {
                let largest = f.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
                let mut sum = 0.0;
                for (e, v) in slope.iter_mut().zip(f) {
                    *e = libm::exp(v - largest);
                    sum += *e;
                }
                let others = classes as f64 / (classes as f64 - 1.0).max(1.0);
                for (k, (slope, curvature)) in slope.iter_mut().zip(curvature).enumerate() {
                    let p = *slope / sum;
                    *curvature = p * (1.0 - p) * others;
                    *slope = p - f64::from(u8::from(k == y as usize));
                }
            }
        }
    }

    /// A bound on the curvature in any direction: the loss lies below the parabola with it.
    ///
    /// # Formula
    /// Logistic `p (1 - p) <= 1/4`; softmax `diag(p) - p p^T <= I / 2`. The absolute loss has no
    /// such bound; where it is asked for, squares stand in for it.
    ///
    /// # Reference
    /// D. Böhning, Multinomial logistic regression algorithm, Ann. Inst. Statist. Math. 44
    /// (1992) 197-200.
    pub(super) fn curvature_bound(self) -> f64 {
        match self {
            Self::Squared | Self::Absolute => 1.0,
            Self::Logistic => 0.25,
            Self::Softmax(_) => 0.5,
        }
    }

    /// The constants that explain the targets best: mean, median, log odds, or logarithms of
    /// the shares of the classes.
    pub(super) fn constants(self, y: &[f64]) -> Vec<f64> {
        let share = |count: f64, classes: f64| {
            (count + PRIOR_ROWS) / (y.len() as f64 + classes * PRIOR_ROWS)
        };
        match self {
            Self::Squared if y.is_empty() => vec![0.0],
            Self::Squared => vec![mean(y)],
            Self::Absolute if y.is_empty() => vec![0.0],
            Self::Absolute => vec![median(y)],
            Self::Logistic => {
                let p = share(y.iter().sum(), 2.0);
                vec![libm::log(p) - libm::log1p(-p)]
            }
            Self::Softmax(classes) => (0..classes)
                .map(|k| {
                    let count = y.iter().filter(|y| **y as usize == k).count();
                    libm::log(share(count as f64, classes as f64))
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_likelihood::{Bernoulli, Gaussian, Laplace, Multiclass};

    fn all() -> [Likelihood; 4] {
        [
            Likelihood::Gaussian(Gaussian::new(1.0).unwrap()),
            Likelihood::Laplace(Laplace::new(1.0).unwrap()),
            Likelihood::Bernoulli(Bernoulli),
            Likelihood::Multiclass(Multiclass::new(3).unwrap()),
        ]
    }

    #[test]
    fn losses_are_negative_log_likelihoods_less_what_a_perfect_fit_costs() {
        let f = [0.3, -1.2, 0.9];
        for likelihood in all() {
            let loss = Loss::of(likelihood).unwrap();
            let f = &f[..loss.outputs()];
            let perfect = match loss {
                Loss::Squared | Loss::Absolute => likelihood.nll(1.0, &[1.0]).unwrap(),
                _ => 0.0,
            };
            let expected = likelihood.nll(1.0, f).unwrap() - perfect;
            assert!((loss.value(1.0, f) - expected).abs() < 1e-14, "{loss:?}");
        }
    }

    #[test]
    fn slopes_and_curvatures_are_differences_of_losses() {
        let (f, h) = ([0.3, -1.2, 0.9], 1e-4);
        for loss in all().map(|l| Loss::of(l).unwrap()) {
            let c = loss.outputs();
            let (mut slope, mut curvature) = (vec![0.0; c], vec![0.0; c]);
            loss.slopes(1.0, &f[..c], &mut slope, &mut curvature);
            for k in 0..c {
                let at = |h: f64| {
                    let mut f = f[..c].to_vec();
                    f[k] += h;
                    loss.value(1.0, &f)
                };
                assert!(((at(h) - at(-h)) / (2.0 * h) - slope[k]).abs() < 1e-7);
                if loss == Loss::Absolute {
                    continue;
                }
                let second = (at(h) + at(-h) - 2.0 * at(0.0)) / (h * h);
                let others = if c == 1 { 1.0 } else { 1.5 };
                assert!((second * others - curvature[k]).abs() < 1e-6, "{loss:?}");
                assert!(second <= loss.curvature_bound() + 1e-6);
            }
        }
    }

    #[test]
    fn constants_are_where_the_slopes_cancel() {
        let y = [0.0, 1.0, 1.0, 2.0, 1.0];
        assert_eq!(Loss::Squared.constants(&y), vec![1.0]);
        assert_eq!(Loss::Absolute.constants(&y), vec![1.0]);
        // (3 + 1/2) / (4 + 1) = 0.7.
        let odds = Loss::Logistic.constants(&[1.0, 1.0, 0.0, 1.0])[0];
        assert!((odds - libm::log(0.7 / 0.3)).abs() < 1e-14);
        let shares = Loss::Softmax(4).constants(&y);
        let total: f64 = shares.iter().map(|s| libm::exp(*s)).sum();
        assert!((total - 1.0).abs() < 1e-14 && shares.iter().all(|s| s.is_finite()));
    }
}
