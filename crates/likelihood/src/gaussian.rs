//! Gaussian regression (paper, Sections 3.1 and C.1).

use crate::distance;
use crate::scalar::SCALES;
use crate::{Divergence, Error, Gamma, ScalarLikelihood};
use loopfit_numerics::lanes::Simd;
use loopfit_numerics::libm::{expm1, log};
use loopfit_numerics::log_number::LogNumber;
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// `Y = f(X) + e` with `e ~ N(0, sigma^2)` and `sigma` known.
///
/// With `sigma = 1 / sqrt 2` ([`Gaussian::squared_error`]) the negative log-likelihood is
/// the squared error plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Gaussian {
    sigma: f64,
    /// `1 / sigma^2`.
    precision: f64,
    /// `log(sigma)`.
    log_sigma: f64,
    /// `log(2 pi) / 2`.
    half_log_tau: f64,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    sigma: f64,
}

impl Gaussian {
    /// A checked standard deviation.
    pub fn new(sigma: f64) -> Result<Self, Error> {
        if SCALES.contains(&sigma) {
            Ok(Self::with(sigma))
        } else {
            Err(Error::Scale {
                name: "sigma",
                value: sigma,
            })
        }
    }

    /// The scale at which `nll = (y - f)^2 + log(pi) / 2`: maximum likelihood is least squares.
    pub fn squared_error() -> Self {
        Self::with(FRAC_1_SQRT_2)
    }

    fn with(sigma: f64) -> Self {
        Self {
            sigma,
            precision: 1.0 / (sigma * sigma),
            log_sigma: log(sigma),
            half_log_tau: 0.5 * log(TAU),
        }
    }

    /// Standard deviation of the noise.
    pub fn sigma(self) -> f64 {
        self.sigma
    }
}

impl TryFrom<Unchecked> for Gaussian {
    type Error = Error;
    fn try_from(unchecked: Unchecked) -> Result<Self, Error> {
        Self::new(unchecked.sigma)
    }
}

impl From<Gaussian> for Unchecked {
    fn from(checked: Gaussian) -> Self {
        Self {
            sigma: checked.sigma,
        }
    }
}

impl ScalarLikelihood for Gaussian {
    fn check_target(self, y: f64) -> Result<(), Error> {
        if y.is_finite() {
            Ok(())
        } else {
            Err(Error::TargetNotFinite(y))
        }
    }

    /// # Formula
    /// `(y - f)^2 / (2 sigma^2) + log(sigma) + log(2 pi) / 2`.
    fn nll(self, y: f64, f: f64) -> f64 {
        let residual = y - f;
        0.5 * self.precision * residual * residual + self.log_sigma + self.half_log_tau
    }

    /// # Formula
    /// `(f - y) / sigma^2`.
    fn derivative(self, y: f64, f: f64) -> f64 {
        (f - y) * self.precision
    }

    #[inline(always)]
    fn derivative_lanes<S: Simd>(self, s: S, y: S::V, f: S::V) -> S::V {
        s.mul(s.sub(f, y), s.splat(self.precision as f32))
    }

    /// # Formula
    /// `1 / sigma^2`, whatever the index.
    fn fisher(self, _f: f64) -> f64 {
        self.precision
    }
}

impl Divergence for Gaussian {
    /// # Formula
    /// `2 [1 - exp{-(f - g)^2 / (8 sigma^2)}]`.
    ///
    /// # Reference
    /// Paper, Section C.1.
    fn hellinger_squared(self, f: f64, g: f64) -> f64 {
        -2.0 * expm1(-self.signal_to_noise(f, g) / 8.0)
    }

    /// # Formula
    /// `(f - g)^2 / (2 sigma^2)`.
    fn kl(self, f: f64, g: f64) -> f64 {
        0.5 * self.signal_to_noise(f, g)
    }

    /// # Formula
    /// `[exp{gamma (1 + gamma) D^2 / (2 sigma^2)} - 1] / gamma` with `D = f - g`.
    ///
    /// In `p_f^(1+gamma) p_g^-gamma` put `y = f + u`: the exponent is
    /// `-{(1 + gamma) u^2 - gamma (u + D)^2} / (2 sigma^2)
    /// = -{(u - gamma D)^2 - gamma (1 + gamma) D^2} / (2 sigma^2)`, a Gaussian in `u` times
    /// the constant above. At `gamma = 1/2` it is `exp{3 D^2 / (8 sigma^2)}`.
    ///
    /// # Reference
    /// Paper, proof of Lemma C.1.
    fn rho(self, gamma: Gamma, f: f64, g: f64) -> f64 {
        let gamma = gamma.value();
        expm1(0.5 * gamma * (1.0 + gamma) * self.signal_to_noise(f, g)) / gamma
    }

    /// # Formula
    /// Leading term `exp{gamma (1 + gamma) D^2 / (2 sigma^2)} / gamma`.
    fn log_rho(self, gamma: Gamma, f: f64, g: f64) -> LogNumber {
        distance::unless_infinite(self.rho(gamma, f, g), || {
            let gamma = gamma.value();
            0.5 * gamma * (1.0 + gamma) * self.signal_to_noise(f, g) - log(gamma)
        })
    }
}

impl Gaussian {
    /// `(f - g)^2 / sigma^2`.
    fn signal_to_noise(self, f: f64, g: f64) -> f64 {
        self.precision * (f - g) * (f - g)
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
            assert!(matches!(Gaussian::new(bad), Err(Error::Scale { .. })));
        }
        assert!(serde_json::from_str::<Gaussian>(r#"{"sigma":-1.0}"#).is_err());
        assert!(serde_json::from_str::<Gaussian>(r#"{"sigma":1.0,"tau":1.0}"#).is_err());
    }

    #[test]
    fn squared_error_is_squared_error() {
        let l = Gaussian::squared_error();
        let constant = 0.5 * std::f64::consts::PI.ln();
        assert!((l.nll(3.0, 1.0) - 4.0 - constant).abs() < 1e-14);
        assert!((l.derivative(3.0, 1.0) + 4.0).abs() < 1e-14);
        let text = serde_json::to_string(&l).unwrap();
        assert_eq!(serde_json::from_str::<Gaussian>(&text).unwrap(), l);
    }

    #[test]
    fn huge_inputs_and_nan() {
        let l = Gaussian::new(2.0).unwrap();
        assert!(l.nll(1e150, -1e150).is_finite());
        assert_eq!(l.nll(1e300, -1e300), f64::INFINITY);
        assert_eq!(l.hellinger_squared(1e300, 0.0), 2.0);
        // 2 (e^{3 D^2 / 32} - 1) at D = 1e3 and D = 1.
        let large = l.log_rho(Gamma::HALF, 1e3, 0.0).ln();
        assert!((large - 93750.0 - 2f64.ln()).abs() < 1e-10);
        let small = l.log_rho(Gamma::HALF, 1.0, 0.0).value();
        assert!((small - l.rho(Gamma::HALF, 1.0, 0.0)).abs() < 1e-15);
        check_nan(l);
    }

    proptest! {
        #[test]
        fn derivative_is_the_slope(sigma in 0.3f64..3.0, y in -3.0f64..3.0, f in -3.0f64..3.0) {
            check_derivative(Gaussian::new(sigma).unwrap(), y, f);
        }

        #[test]
        fn lanes_agree(sigma in 0.01f64..100.0, y: [i16; 16], f: [i16; 16]) {
            let scale = |v: [i16; 16]| v.map(|x| f32::from(x) / 256.0);
            check_lanes(Gaussian::new(sigma).unwrap(), scale(y), scale(f));
        }

        #[test]
        fn distances_are_the_integrals(sigma in 0.3f64..3.0, f in -1.0f64..1.0, g in -1.0f64..1.0) {
            // The heaviest integrand, p^2 / q, is a Gaussian of scale sigma about 2f - g.
            let (a, b) = (-3.0 - 12.0 * sigma, 3.0 + 12.0 * sigma);
            check_distances(Gaussian::new(sigma).unwrap(), f, g, |h| integrate(a, b, 60, h));
        }

        /// The paper's display at gamma = 1/2.
        #[test]
        fn rho_half_is_the_papers(sigma in 0.3f64..3.0, f in -1.0f64..1.0, g in -1.0f64..1.0) {
            let got = Gaussian::new(sigma).unwrap().rho(Gamma::HALF, f, g);
            let display = (3.0 * (f - g).powi(2) / (8.0 * sigma * sigma)).exp();
            prop_assert!((got - 2.0 * (display - 1.0)).abs() < 1e-12 * display);
        }
    }
}
