//! Counts.

use crate::distance::{self, exp_remainder};
use crate::{Divergence, Error, Gamma, ScalarLikelihood};
use loopfit_numerics::lanes::Simd;
use loopfit_numerics::libm::{exp, expm1, lgamma, log, sinh};
use loopfit_numerics::log_number::LogNumber;
use serde::{Deserialize, Serialize};

/// `Y` in {0, 1, 2, ...} with mean `e^f`: the index is the logarithm of the mean. Maximum likelihood minimises the deviance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Poisson;

impl Poisson {
    /// Half the deviance of a count `y`, or of a mean of counts: how much larger the negative log-likelihood is than at `e^f = y`.
    ///
    /// # Formula
    /// `e^f - y f + y log y - y`, and `e^f` at `y = 0`.
    #[inline(always)]
    pub fn half_deviance(self, y: f64, f: f64) -> f64 {
        let own = if y > 0.0 { y * (log(y) - 1.0 - f) } else { 0.0 };
        exp(f) + own
    }
}

impl ScalarLikelihood for Poisson {
    fn check_target(self, y: f64) -> Result<(), Error> {
        if y >= 0.0 && y.is_finite() && y.fract() == 0.0 {
            Ok(())
        } else {
            Err(Error::TargetNotCount(y))
        }
    }

    /// # Formula
    /// `e^f - y f + log y!`.
    fn nll(self, y: f64, f: f64) -> f64 {
        exp(f) - y * f + lgamma(y + 1.0)
    }

    /// # Formula
    /// `e^f - y`.
    fn derivative(self, y: f64, f: f64) -> f64 {
        exp(f) - y
    }

    #[inline(always)]
    fn derivative_lanes<S: Simd>(self, s: S, y: S::V, f: S::V) -> S::V {
        s.sub(s.exp(f), y)
    }

    /// # Formula
    /// `e^f`, the variance of `Y`.
    fn fisher(self, f: f64) -> f64 {
        exp(f)
    }
}

impl Divergence for Poisson {
    /// # Formula
    /// `2 [1 - exp{-(e^(f/2) - e^(g/2))^2 / 2}]`: the sum of `(p_f p_g)^(1/2)` is `exp{e^((f+g)/2) - (e^f + e^g)/2}`. The gap of the
    /// roots is `2 e^((f+g)/4) sinh((f-g)/4)`.
    fn hellinger_squared(self, f: f64, g: f64) -> f64 {
        if f == g {
            return 0.0;
        }
        let gap = match (f - g).abs() < 1.0 {
            true => 2.0 * exp(0.25 * (f + g)) * sinh(0.25 * (f - g)),
            false => exp(0.5 * f) - exp(0.5 * g),
        };
        -2.0 * expm1(-0.5 * gap * gap)
    }

    /// # Formula
    /// `e^f (f - g) - e^f + e^g = e^f (e^h - 1 - h)` with `h = g - f`.
    fn kl(self, f: f64, g: f64) -> f64 {
        match g - f < 1.0 {
            true => exp(f) * exp_remainder(g - f),
            false => exp(g) - exp(f) * (1.0 + g - f),
        }
    }

    /// # Formula
    /// `[exp{e^((1 + gamma) f - gamma g) - (1 + gamma) e^f + gamma e^g} - 1] / gamma`.
    ///
    /// The sum of `p_f^(1+gamma) p_g^-gamma` over `y` is that of a Poisson law with mean `e^((1 + gamma) f - gamma g)` up to its
    /// normaliser. With `h = g - f` and `R(t) = e^t - 1 - t` the exponent is `e^f {R(-gamma h) + gamma R(h)}`.
    fn rho(self, gamma: Gamma, f: f64, g: f64) -> f64 {
        expm1(exponent(gamma, f, g)) / gamma.value()
    }

    /// # Formula
    /// Leading term `e^E / gamma` with the exponent `E` of `rho`.
    fn log_rho(self, gamma: Gamma, f: f64, g: f64) -> LogNumber {
        distance::unless_infinite(self.rho(gamma, f, g), || {
            exponent(gamma, f, g) - log(gamma.value())
        })
    }
}

/// The logarithm of the sum of `p_f^(1+gamma) p_g^-gamma`.
fn exponent(gamma: Gamma, f: f64, g: f64) -> f64 {
    let (gamma, h) = (gamma.value(), g - f);
    match h.abs() < 1.0 {
        true => exp(f) * (exp_remainder(-gamma * h) + gamma * exp_remainder(h)),
        false => exp(f - gamma * h) - (1.0 + gamma) * exp(f) + gamma * exp(g),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::tests::{check_derivative, check_distances, check_lanes, check_nan};
    use proptest::prelude::*;

    #[test]
    fn counts_are_whole_and_not_negative() {
        for good in [0.0, 1.0, 1e6] {
            assert!(Poisson.check_target(good).is_ok());
        }
        for bad in [-1.0, 0.5, f64::NAN, f64::INFINITY] {
            assert!(Poisson.check_target(bad).is_err());
        }
        check_nan(Poisson);
    }

    #[test]
    fn a_known_probability() {
        // P(Y = 3) at mean 2: e^-2 8 / 6.
        let p = (-Poisson.nll(3.0, 2f64.ln())).exp();
        assert!((p - (-2f64).exp() * 8.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn extreme_indices_are_no_nan() {
        for (f, g) in [
            (0.0, -4000.0),
            (-4000.0, 0.0),
            (-800.0, 10.0),
            (10.0, -800.0),
            (5.0, 5.0),
        ] {
            assert!(
                (0.0..=2.0).contains(&Poisson.hellinger_squared(f, g)),
                "{f} {g}"
            );
            assert!(Poisson.kl(f, g) >= 0.0, "{f} {g}");
            assert!(!Poisson.rho(Gamma::HALF, f, g).is_nan(), "{f} {g}");
        }
    }

    #[test]
    fn large_ratios_keep_their_logarithm() {
        let log = Poisson.log_rho(Gamma::HALF, 5.0, -5.0).ln();
        // e^{7.5 + 2.5} - 1.5 e^5 + 0.5 e^-5 - log(1/2).
        let exact = 10f64.exp() - 1.5 * 5f64.exp() + 0.5 * (-5f64).exp() + 2f64.ln();
        assert!((log - exact).abs() < 1e-9 * exact);
    }

    proptest! {
        #[test]
        fn derivative_is_the_slope(y in 0u8..20, f in -3.0f64..3.0) {
            check_derivative(Poisson, f64::from(y), f);
        }

        #[test]
        fn half_the_deviance_is_a_difference(y in 0u8..20, f in -3.0f64..3.0) {
            let y = f64::from(y);
            let best = if y > 0.0 { Poisson.nll(y, y.ln()) } else { 0.0 };
            let half = Poisson.half_deviance(y, f);
            prop_assert!((half - (Poisson.nll(y, f) - best)).abs() < 1e-11 * (1.0 + half));
            prop_assert!(half >= -1e-12);
        }

        #[test]
        fn lanes_agree(y: [u8; 16], f: [i16; 16]) {
            // The difference of two numbers has the digits of the larger one.
            let f = f.map(|f| f32::from(f) / 8192.0);
            let y = std::array::from_fn(|i| if f[i] > 0.0 { 0.0 } else { 8.0 + f32::from(y[i]) });
            check_lanes(Poisson, y, f);
        }

        #[test]
        fn distances_are_the_sums(f in -1.0f64..1.0, g in -1.0f64..1.0) {
            check_distances(Poisson, f, g, |h| (0..400).map(|y| h(f64::from(y))).sum());
        }
    }
}
