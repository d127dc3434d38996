//! The oracle inequality of a sieve estimate, its terms beside the estimate's own risk.

use crate::entropy::{CriticalRadius, ParameterClass};
use crate::{Calibration, Constants, Measured, Sensitivity};
use loopfit_model::Network;

/// The largest squared Hellinger distance: what an inequality without a critical radius still says.
pub const LARGEST_H2: f64 = 2.0;

/// The class of all networks of a shape with coefficients in `[-M, M]`, tied as the network is.
///
/// # Reference
/// Equations (S11) and (S12): the sensitivity bounds a change of all coefficients at once, so that it is the same
/// whether blocks share them or not; how many there are is the network's own count.
pub fn class_of(network: &Network, parameter_bound: f64, stabiliser: f64) -> ParameterClass {
    let (q, r) = (network.q() as u64, network.r() as u64);
    let architecture = network.architecture();
    let sensitivity =
        Sensitivity::new(architecture, network.d(), q, r, parameter_bound, stabiliser);
    let gamma = sensitivity.gamma(network.tying().iterations() as f64);
    ParameterClass::new(network.count() as u64, parameter_bound, gamma)
}

/// The terms of the oracle inequality at one estimate.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    \mathbb E\, h^2(\mathbb P_{f_0}, \mathbb P_{\widehat f_n}) \le C_5\{A(\mathcal C_n) + e_n^2 + \varepsilon_n\}
")]
/// The inequality is about a mean over samples and the worst target; the terms here are those of one target and one sample.
/// `A` is at most that of the best member that is known, `epsilon` at least the likelihood that is known to be missing.
///
/// # Reference
/// Corollary 2.4, equation (4); Theorem A.2, equation (S3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oracle {
    /// Squared Hellinger distance of the estimate from the truth.
    pub risk: Measured,
    /// That of the member of the class that is the nearest known to the truth.
    pub approximation: Measured,
    /// The critical radius of the class.
    pub radius: CriticalRadius,
    /// The average log-likelihood of the best member known, less that of the estimate.
    pub tolerance: f64,
}

impl Oracle {
    /// The critical radius of a class of laws at a sample size, with the other terms as they were measured.
    pub fn new(
        risk: Measured,
        approximation: Measured,
        tolerance: f64,
        (class, calibration): (&ParameterClass, Calibration),
        n: usize,
        constants: &Constants,
    ) -> Self {
        Self {
            risk,
            approximation,
            radius: class.critical_radius(calibration, n as f64, constants),
            tolerance,
        }
    }

    /// The estimation term `e_n^2`; 2 where no radius satisfies the entropy condition, so that the inequality says nothing.
    pub fn estimation(&self) -> f64 {
        match self.radius {
            CriticalRadius::Radius(e) => e * e,
            CriticalRadius::None { .. } => LARGEST_H2,
        }
    }

    /// `A + e_n^2 + epsilon`.
    pub fn sum(&self) -> f64 {
        self.approximation.value + self.estimation() + self.tolerance
    }

    /// The risk in units of the sum: the inequality says that its mean is at most `C_5`.
    pub fn ratio(&self) -> f64 {
        self.risk.value / self.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LikelihoodModel;
    use loopfit_likelihood::Gaussian;
    use loopfit_model::Tying;
    use loopfit_numerics::log_number::LogNumber;

    fn measured(value: f64) -> Measured {
        Measured { value, error: 0.0 }
    }

    /// d = q = r = M = 1, T = 1 by hand: a = 1 + qrM^2 = 2, Z_0 = M(d + 1) = 2, and the state after one iteration is
    /// at most Z_1 = 2 * 2 + 2 = 6 (z + M(M z + M) + M), so that with T = 1 the formula of the FFN gives
    /// Gamma = q Z_1 + 1 + q M {(d + 1) a + (2 r M q Z_0 + 2 r M + 2) - 1} = 7 + {4 + (4 + 2 + 2) - 1} = 18.
    #[test]
    fn the_class_is_that_of_the_formula() {
        let network = Network::ffn(1, 1, 1, 1, Tying::Single).unwrap();
        // q(d + 2) + 1 + (2q + 1)r + q = 3 + 1 + 3 + 1.
        assert_eq!(network.count(), 8);
        let class = class_of(&network, 1.0, 1e-5);
        let expected = ParameterClass::new(8, 1.0, LogNumber::new(18.0));
        let eps = LogNumber::new(0.1);
        assert!((class.covering(eps) - expected.covering(eps)).abs() < 1e-9);
        assert!((class.covering(eps) - 8.0 * (1.0 + 4.0 * 18.0 / 0.1_f64).ln()).abs() < 1e-9);
        let network = Network::ffn(1, 1, 1, 1, Tying::Untied { t: 1 }).unwrap();
        assert_eq!(class_of(&network, 1.0, 1e-5), class);
    }

    /// With a constant entropy H the condition is (sqrt 2 t - t^2/256) sqrt H <= sqrt n t^2, so that
    /// t = sqrt 2 sqrt H / (sqrt n + sqrt H / 256): P log(1 + 4M Gamma / eps) hardly moves with eps where Gamma is huge.
    #[test]
    fn the_terms_add_up() {
        let calibration = LikelihoodModel::Gaussian(Gaussian::new(1.0).unwrap());
        let calibration = Calibration::new(calibration, 1.0).unwrap();
        let class = ParameterClass::new(3, 1.0, LogNumber::from_ln(1e9));
        let (n, h) = (1e12_f64, 3e9_f64);
        let oracle = Oracle::new(
            measured(0.02),
            measured(0.005),
            0.001,
            (&class, calibration),
            n as usize,
            &Constants::default(),
        );
        let e = (2.0 * h).sqrt() / (n.sqrt() + h.sqrt() / 256.0);
        assert!(
            (oracle.estimation() / (e * e) - 1.0).abs() < 1e-5,
            "{oracle:?} {e}"
        );
        assert!((oracle.sum() - (0.006 + e * e)).abs() < 1e-7);
        assert!((oracle.ratio() - 0.02 / (0.006 + e * e)).abs() < 1e-5);
    }

    #[test]
    fn without_a_radius_the_inequality_says_nothing() {
        let calibration = LikelihoodModel::Gaussian(Gaussian::new(1.0).unwrap());
        let calibration = Calibration::new(calibration, 1.0).unwrap();
        let class = ParameterClass::new(100, 1.0, LogNumber::from_ln(1e9));
        let constants = Constants::default();
        let (risk, nearest) = (measured(0.5), measured(0.25));
        let oracle = Oracle::new(risk, nearest, 0.25, (&class, calibration), 100, &constants);
        assert!(matches!(oracle.radius, CriticalRadius::None { .. }));
        assert_eq!(
            (oracle.estimation(), oracle.sum(), oracle.ratio()),
            (2.0, 2.5, 0.2)
        );
    }
}
