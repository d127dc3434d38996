//! The three distances of the paper, and their sums for laws given by log masses.
//!
//! # Formula
//! For two laws with masses `p_i`, `q_i` and `u_i = log(p_i / q_i)`:
//! - `h^2 = sum_i (sqrt p_i - sqrt q_i)^2`,
//! - `KL = sum_i p_i u_i`,
//! - `rho_gamma = (1/gamma) sum_i p_i (e^(gamma u_i) - 1)`.
//!
//! Both masses sum to one, so `sum_i p_i (e^-u_i - 1) = 0` may be added to the last
//! two. With `E(x) = e^x - 1 - x` they become
//! `KL = sum_i p_i E(-u_i)` and `rho_gamma = sum_i p_i {E(gamma u_i) / gamma + E(-u_i)}`,
//! sums of nonnegative terms, which keep their digits when the laws are close. The
//! paper's identity for `gamma = 1/2` (proof of Lemma C.2) is the same step.

use crate::Error;
use loopfit_numerics::libm::{exp, expm1, log};
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::special::log_sum_exp;
use loopfit_numerics::sum::sum;
use serde::{Deserialize, Serialize};

/// A distance between the laws of two index functions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// Squared Hellinger distance without a factor 1/2, in `[0, 2]` (Section 2.2).
    HellingerSquared,
    /// Kullback-Leibler divergence.
    Kl,
    /// The one-sided likelihood quantity `rho_gamma` (Section 2.2).
    Rho(Gamma),
}

/// The order `gamma` in (0, 1] of `rho_gamma`.
///
/// # Formula
/// `rho_gamma(p, q) = (1/gamma) integral p {(p/q)^gamma - 1}`. It increases with `gamma`,
/// from the Kullback-Leibler divergence at 0 to the chi-square divergence at 1.
///
/// # Reference
/// Paper, Section 2.2, the display that defines `rho_gamma`; Wong and Shen, 1995.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Gamma(f64);

impl Gamma {
    /// The order 1/2 of the paper's approximation condition.
    pub const HALF: Self = Self(0.5);

    /// A checked order.
    pub fn new(gamma: f64) -> Result<Self, Error> {
        if gamma > 0.0 && gamma <= 1.0 {
            Ok(Self(gamma))
        } else {
            Err(Error::Gamma(gamma))
        }
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Gamma {
    type Error = Error;
    fn try_from(gamma: f64) -> Result<Self, Error> {
        Self::new(gamma)
    }
}

impl From<Gamma> for f64 {
    fn from(gamma: Gamma) -> Self {
        gamma.0
    }
}

/// `e^x - 1 - x`, to full relative precision also near zero.
pub(crate) fn exp_remainder(x: f64) -> f64 {
    if x.abs() > 0.5 {
        return expm1(x) - x;
    }
    // sum_{k >= 2} x^k / k!; the term k = 17 is below 1e-17 of the first.
    let series = (3..=16).rev().fold(1.0, |a, k| 1.0 + a * x / f64::from(k));
    0.5 * x * x * series
}

impl Distance {
    /// The sum over the points of two laws with these log masses. The masses need not sum to one, so that
    /// sums over parts of the points add up to that over all.
    ///
    /// # Formula
    /// `sum_i (sqrt p_i - sqrt q_i)^2`, `sum_i {p_i log(p_i / q_i) + q_i - p_i}`,
    /// `sum_i [p_i {(p_i / q_i)^gamma - 1} / gamma + q_i - p_i]`.
    pub fn of_log_masses(self, log_p: &[f64], log_q: &[f64]) -> f64 {
        match self {
            Self::HellingerSquared => hellinger_squared(log_p, log_q),
            Self::Kl => kl(log_p, log_q),
            Self::Rho(gamma) => rho(gamma, log_p, log_q),
        }
    }
}

/// `log(e^{v_i} / sum_j e^{v_j})`. The largest value is taken out first, so that a
/// common shift of the values, however large, costs no digits.
pub fn log_masses(values: &[f64]) -> Vec<f64> {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shifted: Vec<f64> = values.iter().map(|v| v - top).collect();
    let log_sum = log_sum_exp(&shifted);
    shifted.iter().map(|v| v - log_sum).collect()
}

/// `sum_i (sqrt p_i - sqrt q_i)^2` from log masses.
pub(crate) fn hellinger_squared(log_p: &[f64], log_q: &[f64]) -> f64 {
    total(log_p, log_q, |p, q| {
        let root_gap = expm1(-0.5 * (p - q).abs());
        exp(p.max(q)) * root_gap * root_gap
    })
}

/// `sum_i p_i log(p_i / q_i)` from log masses.
pub(crate) fn kl(log_p: &[f64], log_q: &[f64]) -> f64 {
    total(log_p, log_q, |p, q| {
        let u = p - q;
        if u.abs() > 1.0 {
            // e^-u may overflow where q = p e^-u does not.
            exp(q) - exp(p) + exp(p) * u
        } else {
            exp(p) * exp_remainder(-u)
        }
    })
}

/// `(1/gamma) sum_i p_i {(p_i / q_i)^gamma - 1}` from log masses.
pub(crate) fn rho(Gamma(gamma): Gamma, log_p: &[f64], log_q: &[f64]) -> f64 {
    total(log_p, log_q, |p, q| {
        let u = p - q;
        if u.abs() > 1.0 {
            (exp(p + gamma * u) - exp(p)) / gamma + exp(q) - exp(p)
        } else {
            exp(p) * (exp_remainder(gamma * u) / gamma + exp_remainder(-u))
        }
    })
}

/// [`Distance::of_log_masses`] for `rho_gamma`, also where it is too large for a float. The leading term is
/// then `sum_i p_i (p_i / q_i)^gamma / gamma`.
pub fn log_rho(gamma: Gamma, log_p: &[f64], log_q: &[f64]) -> LogNumber {
    unless_infinite(rho(gamma, log_p, log_q), || {
        let Gamma(gamma) = gamma;
        let terms: Vec<f64> = log_p
            .iter()
            .zip(log_q)
            .map(|(p, q)| p + gamma * (p - q))
            .collect();
        log_sum_exp(&terms) - log(gamma)
    })
}

/// A value, or from the logarithm of its leading term where it is too large for a float.
pub(crate) fn unless_infinite(value: f64, log_leading: impl FnOnce() -> f64) -> LogNumber {
    if value == f64::INFINITY {
        LogNumber::from_ln(log_leading())
    } else {
        LogNumber::new(value)
    }
}

fn total(log_p: &[f64], log_q: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    debug_assert_eq!(log_p.len(), log_q.len());
    let terms: Vec<f64> = log_p.iter().zip(log_q).map(|(&p, &q)| term(p, q)).collect();
    sum(&terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Expected: sum_{k=2}^{39} x^k / k! in exact rational arithmetic.
    #[test]
    fn remainder_keeps_its_digits() {
        let known = [
            (1e-8, 5.000_000_016_666_667e-17),
            (-1e-3, 4.998_333_749_916_681e-7),
            (0.5, 0.148_721_270_700_128_14),
            (-0.5, 0.106_530_659_712_633_42),
            (1.0, 0.718_281_828_459_045_2),
        ];
        for (x, expected) in known {
            let got = exp_remainder(x);
            assert!((got / expected - 1.0).abs() < 2e-15, "{x}: {got}");
        }
        // The two branches meet.
        let (below, above) = (exp_remainder(0.5), exp_remainder(0.5f64.next_up()));
        assert!((below - above).abs() < 1e-15);
    }

    #[test]
    fn orders_are_checked() {
        for bad in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
            assert!(matches!(Gamma::new(bad), Err(Error::Gamma(_))));
        }
        assert!(serde_json::from_str::<Gamma>("2.0").is_err());
        let rho: Distance = serde_json::from_str(r#"{"rho":0.5}"#).unwrap();
        assert_eq!(rho, Distance::Rho(Gamma::HALF));
    }

    #[test]
    fn nearly_equal_laws_keep_their_digits() {
        // p = (1/2, 1/2), q = (1/2 - e, 1/2 + e): h^2 = e^2, KL = 2 e^2, rho_1 = chi^2 = 4 e^2,
        // each up to a relative error of order e^2.
        let e = 1e-6;
        let p = [-std::f64::consts::LN_2; 2];
        let q = [(0.5f64 - e).ln(), (0.5f64 + e).ln()];
        assert!((hellinger_squared(&p, &q) / (e * e) - 1.0).abs() < 1e-9);
        assert!((kl(&p, &q) / (2.0 * e * e) - 1.0).abs() < 1e-9);
        assert!((rho(Gamma(1.0), &p, &q) / (4.0 * e * e) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn far_laws_stay_finite() {
        let p = log_masses(&[1e300, 0.0]);
        let q = log_masses(&[0.0, 1e300]);
        assert_eq!(hellinger_squared(&p, &q), 2.0);
        assert!((kl(&p, &q) / 1e300 - 1.0).abs() < 1e-15);
        assert_eq!(rho(Gamma::HALF, &p, &q), f64::INFINITY);
        // p puts mass one where q puts e^-1e300: rho = 2 e^{1e300 / 2}.
        assert!((log_rho(Gamma::HALF, &p, &q).ln() / 5e299 - 1.0).abs() < 1e-15);
    }

    proptest! {
        /// The rearranged sums against the definitions.
        #[test]
        fn sums_are_the_definitions(
            f in proptest::collection::vec(-4.0f64..4.0, 5),
            g in proptest::collection::vec(-4.0f64..4.0, 5),
            gamma in 0.01f64..1.0,
        ) {
            let (p, q) = (log_masses(&f), log_masses(&g));
            let direct = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
                p.iter().zip(&q).map(|(p, q)| term(p.exp(), q.exp())).sum()
            };
            prop_assert!((direct(&|p, _| p) - 1.0).abs() < 1e-14);
            let h2 = direct(&|p, q| (p.sqrt() - q.sqrt()).powi(2));
            prop_assert!((hellinger_squared(&p, &q) - h2).abs() < 1e-13);
            let divergence = direct(&|p, q| p * (p / q).ln());
            prop_assert!((kl(&p, &q) - divergence).abs() < 1e-12);
            let power = direct(&|p, q| p * ((p / q).powf(gamma) - 1.0)) / gamma;
            prop_assert!((rho(Gamma(gamma), &p, &q) - power).abs() < 1e-11 * (1.0 + power));
        }
    }
}
