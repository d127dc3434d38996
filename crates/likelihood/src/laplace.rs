//! Laplace regression (paper, Sections 3.1 and C.2).

use crate::distance::{self, exp_remainder};
use crate::scalar::SCALES;
use crate::{Divergence, Error, Gamma, ScalarLikelihood};
use loopfit_numerics::lanes::Simd;
use loopfit_numerics::libm::{exp, log};
use loopfit_numerics::log_number::LogNumber;
use serde::{Deserialize, Serialize};

/// `Y = f(X) + e` where `e` has density `e^(-|u| / tau) / (2 tau)` and `tau` is known.
/// Maximum likelihood is least absolute deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Laplace {
    tau: f64,
    /// `1 / tau`.
    rate: f64,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    tau: f64,
}

impl Laplace {
    /// A checked scale.
    pub fn new(tau: f64) -> Result<Self, Error> {
        if SCALES.contains(&tau) {
            Ok(Self {
                tau,
                rate: 1.0 / tau,
            })
        } else {
            Err(Error::Scale {
                name: "tau",
                value: tau,
            })
        }
    }

    /// Scale of the noise.
    pub fn tau(self) -> f64 {
        self.tau
    }
}

impl TryFrom<Unchecked> for Laplace {
    type Error = Error;
    fn try_from(unchecked: Unchecked) -> Result<Self, Error> {
        Self::new(unchecked.tau)
    }
}

impl From<Laplace> for Unchecked {
    fn from(checked: Laplace) -> Self {
        Self { tau: checked.tau }
    }
}

impl ScalarLikelihood for Laplace {
    fn check_target(self, y: f64) -> Result<(), Error> {
        if y.is_finite() {
            Ok(())
        } else {
            Err(Error::TargetNotFinite(y))
        }
    }

    /// # Formula
    /// `|y - f| / tau + log(2 tau)`.
    fn nll(self, y: f64, f: f64) -> f64 {
        self.rate * (y - f).abs() + log(2.0 * self.tau)
    }

    /// # Formula
    /// `sign(f - y) / tau`, and 0 at `f = y`.
    fn derivative(self, y: f64, f: f64) -> f64 {
        let gap = f - y;
        if gap > 0.0 {
            self.rate
        } else if gap < 0.0 {
            -self.rate
        } else {
            gap // zero, or NaN
        }
    }

    #[inline(always)]
    fn derivative_lanes<S: Simd>(self, s: S, y: S::V, f: S::V) -> S::V {
        let rate = self.rate as f32;
        let (gap, zero) = (s.sub(f, y), s.splat(0.0));
        // What is neither above nor below zero is zero, or NaN.
        let not_below = s.select_greater(gap, zero, s.splat(rate), gap);
        s.select_greater(zero, gap, s.splat(-rate), not_below)
    }

    /// # Formula
    /// `1 / tau^2`, whatever the index.
    fn fisher(self, _f: f64) -> f64 {
        self.rate * self.rate
    }
}

impl Divergence for Laplace {
    /// # Formula
    /// `2 {1 - (1 + v/2) e^(-v/2)}` with `v = |f - g| / tau`; near zero as
    /// `2 e^-w (e^w - 1 - w)`, `w = v/2`.
    ///
    /// # Reference
    /// Paper, Section C.2.
    fn hellinger_squared(self, f: f64, g: f64) -> f64 {
        let w = 0.5 * self.gap(f, g);
        if w > 1.0 {
            2.0 - 2.0 * (exp(-w) + w * exp(-w))
        } else {
            2.0 * exp(-w) * exp_remainder(w)
        }
    }

    /// # Formula
    /// `e^-v - 1 + v` with `v = |f - g| / tau`.
    ///
    /// With `f = 0`, `g = v` and `tau = 1` it is `E |Y - v| - E |Y| = (v + e^-v) - 1`.
    fn kl(self, f: f64, g: f64) -> f64 {
        exp_remainder(-self.gap(f, g))
    }

    /// # Formula
    /// `[{(1 + gamma) e^(gamma v) + gamma e^(-(1 + gamma) v)} / (1 + 2 gamma) - 1] / gamma` with
    /// `v = |f - g| / tau`.
    ///
    /// With `f = 0`, `g = v`, `tau = 1` the integrand `exp{-(1 + gamma) |y| + gamma |y - v|} / 2` is
    /// `e^(gamma v) e^y / 2` below 0, `e^(gamma v) e^(-(1 + 2 gamma) y) / 2` on `(0, v)` and
    /// `e^(-gamma v) e^-y / 2` above `v`; the three integrals are `e^(gamma v) / 2`,
    /// `{e^(gamma v) - e^(-(1 + gamma) v)} / {2 (1 + 2 gamma)}` and `e^(-(1 + gamma) v) / 2`. At
    /// `gamma = 1/2` their sum is `{3 e^(v/2) + e^(-3v/2)} / 4`. The linear terms of the two
    /// exponentials cancel, so both are computed without them.
    ///
    /// # Reference
    /// Paper, proof of Lemma C.1.
    fn rho(self, gamma: Gamma, f: f64, g: f64) -> f64 {
        let (gamma, v) = (gamma.value(), self.gap(f, g));
        let grows = (1.0 + gamma) * exp_remainder(gamma * v);
        let falls = gamma * exp_remainder(-(1.0 + gamma) * v);
        (grows + falls) / (gamma * (1.0 + 2.0 * gamma))
    }

    /// # Formula
    /// Leading term `(1 + gamma) e^(gamma v) / {gamma (1 + 2 gamma)}`.
    fn log_rho(self, gamma: Gamma, f: f64, g: f64) -> LogNumber {
        distance::unless_infinite(self.rho(gamma, f, g), || {
            let gamma = gamma.value();
            gamma * self.gap(f, g) + log((1.0 + gamma) / (gamma * (1.0 + 2.0 * gamma)))
        })
    }
}

impl Laplace {
    /// `|f - g| / tau`, the paper's `v`.
    fn gap(self, f: f64, g: f64) -> f64 {
        self.rate * (f - g).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::tests::{check_derivative, check_distances, check_lanes, check_nan};
    use loopfit_numerics::quadrature::integrate;
    use proptest::prelude::*;

    #[test]
    fn scales_are_checked() {
        for bad in [0.0, -1.0, 1e-16, 1e16, f64::NAN, f64::INFINITY] {
            assert!(matches!(Laplace::new(bad), Err(Error::Scale { .. })));
        }
        assert!(serde_json::from_str::<Laplace>(r#"{"tau":0.0}"#).is_err());
    }

    #[test]
    fn derivative_is_zero_at_the_kink() {
        let l = Laplace::new(0.5).unwrap();
        assert_eq!(l.derivative(1.25, 1.25), 0.0);
        check_lanes(l, [1.25; 16], [1.25; 16]);
        check_nan(l);
    }

    #[test]
    fn huge_inputs() {
        let l = Laplace::new(2.0).unwrap();
        assert_eq!(l.nll(1e300, -1e300), 1e300);
        assert_eq!(l.hellinger_squared(1e300, 0.0), 2.0);
        assert_eq!(l.kl(1e300, 0.0), 5e299);
        // 2 {(3 e^w + e^-3w) / 4 - 1}, w = D/4, at D = 1e4 and D = 1.
        let large = l.log_rho(Gamma::HALF, 1e4, 0.0).ln();
        assert!((large - 2500.0 - 1.5f64.ln()).abs() < 1e-12);
        let small = l.log_rho(Gamma::HALF, 1.0, 0.0).value();
        assert!((small - l.rho(Gamma::HALF, 1.0, 0.0)).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn derivative_is_the_slope(tau in 0.3f64..3.0, y in -3.0f64..3.0, f in -3.0f64..3.0) {
            prop_assume!((y - f).abs() > 1e-4);
            check_derivative(Laplace::new(tau).unwrap(), y, f);
        }

        #[test]
        fn lanes_agree(tau in 0.01f64..100.0, y: [i16; 16], f: [i16; 16]) {
            let scale = |v: [i16; 16]| v.map(|x| f32::from(x) / 256.0);
            check_lanes(Laplace::new(tau).unwrap(), scale(y), scale(f));
        }

        #[test]
        fn distances_are_the_integrals(tau in 0.3f64..3.0, f in -1.0f64..1.0, g in -1.0f64..1.0) {
            // Between the kinks everything is analytic; every tail falls like e^(-|y| / tau).
            let (low, high, tail) = (f.min(g), f.max(g), 45.0 * tau);
            check_distances(Laplace::new(tau).unwrap(), f, g, |h| {
                integrate(low - tail, low, 40, h)
                    + integrate(low, high, 10, h)
                    + integrate(high, high + tail, 40, h)
            });
        }

        /// The paper's display at gamma = 1/2.
        #[test]
        fn rho_half_is_the_papers(tau in 0.3f64..3.0, f in -1.0f64..1.0, g in -1.0f64..1.0) {
            let got = Laplace::new(tau).unwrap().rho(Gamma::HALF, f, g);
            let v = (f - g).abs() / tau;
            let display = (3.0 * (v / 2.0).exp() + (-1.5 * v).exp()) / 4.0;
            prop_assert!((got - 2.0 * (display - 1.0)).abs() < 1e-12 * display);
        }

        #[test]
        fn both_forms_of_the_hellinger_distance_agree(v in 0.0f64..8.0) {
            let got = Laplace::new(1.0).unwrap().hellinger_squared(v, 0.0);
            let display = 2.0 * (1.0 - (1.0 + v / 2.0) * (-v / 2.0).exp());
            prop_assert!((got - display).abs() < 1e-14);
        }
    }
}
