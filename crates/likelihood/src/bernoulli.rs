//! Binary response (paper, Sections 3.1 and C.3).

use crate::distance;
use crate::{Divergence, Error, Gamma, ScalarLikelihood};
use loopfit_numerics::lanes::Simd;
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::special::{sigmoid, softplus};
use serde::{Deserialize, Serialize};

/// `Y` in {0, 1} with success probability `p = 1 / (1 + e^-f)`: the index is the logit.
/// Maximum likelihood minimises the logistic loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bernoulli;

impl ScalarLikelihood for Bernoulli {
    fn check_target(self, y: f64) -> Result<(), Error> {
        if y == 0.0 || y == 1.0 {
            Ok(())
        } else {
            Err(Error::TargetNotBinary(y))
        }
    }

    /// # Formula
    /// `log(1 + e^f) - y f = b(s f)` with `s = 1 - 2y` and `b(t) = log(1 + e^t)`.
    fn nll(self, y: f64, f: f64) -> f64 {
        softplus((1.0 - 2.0 * y) * f)
    }

    /// # Formula
    /// `sigmoid(f) - y = s sigmoid(s f)` with `s = 1 - 2y`; the second form keeps its digits
    /// for a confident right answer.
    fn derivative(self, y: f64, f: f64) -> f64 {
        let s = 1.0 - 2.0 * y;
        s * sigmoid(s * f)
    }

    #[inline(always)]
    fn derivative_lanes<S: Simd>(self, s: S, y: S::V, f: S::V) -> S::V {
        let one = s.splat(1.0);
        let sign = s.fma(y, s.splat(-2.0), one);
        // e / (1 + e) and not 1 / (1 + 1/e): the held exponential then gives 1 above and a
        // normal number below.
        let e = s.exp(s.mul(sign, f));
        s.mul(sign, s.div(e, s.add(one, e)))
    }

    /// # Formula
    /// `p (1 - p)` with `p = sigmoid(f)`.
    fn fisher(self, f: f64) -> f64 {
        sigmoid(f) * sigmoid(-f)
    }
}

impl Divergence for Bernoulli {
    /// # Formula
    /// `(sqrt p_f - sqrt p_g)^2 + (sqrt(1 - p_f) - sqrt(1 - p_g))^2`.
    ///
    /// # Reference
    /// Paper, Section C.3.
    fn hellinger_squared(self, f: f64, g: f64) -> f64 {
        distance::hellinger_squared(&log_masses(f), &log_masses(g))
    }

    /// # Formula
    /// `p_f log(p_f / p_g) + (1 - p_f) log{(1 - p_f) / (1 - p_g)}`.
    fn kl(self, f: f64, g: f64) -> f64 {
        distance::kl(&log_masses(f), &log_masses(g))
    }

    /// # Formula
    /// `[exp{b((1 + gamma) f - gamma g) - (1 + gamma) b(f) + gamma b(g)} - 1] / gamma` with
    /// `b(t) = log(1 + e^t)`.
    ///
    /// Since `p_f(y) = exp{y f - b(f)}`, the sum of `p_f^(1+gamma) p_g^-gamma` over `y` is
    /// `exp{-(1 + gamma) b(f) + gamma b(g)} (1 + e^((1 + gamma) f - gamma g))`. At `gamma = 1/2`
    /// the first argument is `(3f - g) / 2`. Computed as the sum over `y`, see
    /// [`crate::distance`].
    ///
    /// # Reference
    /// Paper, proof of Lemma C.1.
    fn rho(self, gamma: Gamma, f: f64, g: f64) -> f64 {
        distance::rho(gamma, &log_masses(f), &log_masses(g))
    }

    fn log_rho(self, gamma: Gamma, f: f64, g: f64) -> LogNumber {
        distance::log_rho(gamma, &log_masses(f), &log_masses(g))
    }
}

/// `(log P(Y = 0), log P(Y = 1))`.
fn log_masses(f: f64) -> [f64; 2] {
    [-softplus(f), -softplus(-f)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::tests::{check_derivative, check_distances, check_lanes, check_nan};
    use proptest::prelude::*;

    #[test]
    fn targets_are_checked() {
        assert_eq!(Bernoulli.check_target(0.0), Ok(()));
        assert_eq!(Bernoulli.check_target(1.0), Ok(()));
        for bad in [-1.0, 0.5, 2.0, f64::NAN] {
            assert!(matches!(
                Bernoulli.check_target(bad),
                Err(Error::TargetNotBinary(_))
            ));
        }
    }

    #[test]
    fn huge_inputs_and_nan() {
        assert_eq!(Bernoulli.nll(0.0, 1e300), 1e300);
        assert_eq!(Bernoulli.nll(1.0, 1e300), 0.0);
        assert_eq!(Bernoulli.derivative(0.0, 1e300), 1.0);
        // -log sigmoid(50) = e^-50 to first order.
        assert!((Bernoulli.nll(1.0, 50.0) / (-50.0f64).exp() - 1.0).abs() < 1e-15);
        assert!((Bernoulli.derivative(1.0, 50.0) / (-50.0f64).exp() + 1.0).abs() < 1e-15);
        assert_eq!(Bernoulli.hellinger_squared(1e300, -1e300), 2.0);
        let y: [f32; 16] = std::array::from_fn(|i| (i % 2) as f32);
        let f = std::array::from_fn(|i| if i < 8 { 1e30 } else { -1e30 });
        check_lanes(Bernoulli, y, f);
        check_nan(Bernoulli);
    }

    proptest! {
        #[test]
        fn derivative_is_the_slope(y in 0u8..2, f in -8.0f64..8.0) {
            check_derivative(Bernoulli, f64::from(y), f);
        }

        #[test]
        fn lanes_agree(y: [bool; 16], f: [i16; 16]) {
            let y = y.map(|b| f32::from(u8::from(b)));
            check_lanes(Bernoulli, y, f.map(|x| f32::from(x) / 512.0));
        }

        #[test]
        fn distances_are_the_sums(f in -5.0f64..5.0, g in -5.0f64..5.0) {
            check_distances(Bernoulli, f, g, |h| h(0.0) + h(1.0));
        }

        /// The closed form with `b`; at gamma = 1/2 the paper's display.
        #[test]
        fn rho_is_the_closed_form(f in -5.0f64..5.0, g in -5.0f64..5.0, gamma in 0.01f64..1.0) {
            let b = |t: f64| t.exp().ln_1p();
            let closed = |gamma: f64| {
                let exponent =
                    b((1.0 + gamma) * f - gamma * g) - (1.0 + gamma) * b(f) + gamma * b(g);
                exponent.exp_m1() / gamma
            };
            for gamma in [gamma, 0.5] {
                let got = Bernoulli.rho(Gamma::new(gamma).unwrap(), f, g);
                prop_assert!((got - closed(gamma)).abs() < 1e-12 * (1.0 + got));
            }
        }
    }
}
