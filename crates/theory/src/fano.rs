//! The minimax lower bound with every constant explicit.

use crate::{Calibration, Error};
use loopfit_holder::{HolderClass, Packing};
use loopfit_numerics::libm::log;
use loopfit_numerics::log_number::LogNumber;
use std::f64::consts::LN_2;

/// A proven lower bound on the worst-case squared Hellinger risk of every estimator at a sample size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fano {
    /// The radius `delta` of the packing.
    pub delta: LogNumber,
    /// `log M`, as many functions as the lemma promises.
    pub log_packing: LogNumber,
    /// The largest divergence of `n` observations from those of the zero function.
    pub information: LogNumber,
    /// The bound on the risk.
    pub risk: LogNumber,
    /// The risk times `n^(a/(a+1))`: what Theorem 4.2 calls `c`, at this `n`.
    pub constant: LogNumber,
}

/// Radii that are tried below the best one of a long list of functions: so many, each this much smaller.
const TRIES: u32 = 800;
const STEP: f64 = 0.1;

/// Fano's inequality on the packing of Lemma C.3.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    \inf_{\widehat f}\sup_{f_0}\mathbb E\,h^2 \ge \sup_{\delta\le\delta_0} 16\,c_m\delta^2
    \Bigl(1 - \frac{n\,\kappa_m C^2\delta^2 + \log 2}{c\,\delta^{-d/s}}\Bigr)
")]
/// The `M >= exp(c delta^(-d/s))` functions are `8 delta` apart, so their laws are `8 delta sqrt(c_m)` apart in Hellinger distance
/// ([`Calibration::c`]), and an estimate within half of that names one of them. Their norms are at most `C delta`, so the
/// divergence from the zero function's law is at most `kappa_m C^2 delta^2` ([`Calibration::information`]), which bounds the
/// mutual information. `c`, `C` and `delta_0` are those of the packing. Without `log 2` the supremum is attained at
/// `delta^(2+d/s) = 2c / {(4 + d/s) n kappa_m C^2}`; smaller radii are tried from there on.
///
/// # Reference
/// Theorem 4.2, equation (16), and its proof in Section B.
pub fn fano(calibration: Calibration, class: HolderClass, n: f64) -> Result<Fano, Error> {
    let packing = Packing::coarsest(class)?;
    let smoothness = class.smoothness();
    let p = smoothness.d() as f64 / smoothness.s();
    let square = LogNumber::new(packing.norm_constant()).pow(2.0);
    let per_square = LogNumber::new(n) * calibration.information() * square;
    let at = |delta: LogNumber| {
        let log_packing = packing.c() * delta.pow(-p);
        let information = per_square * delta.pow(2.0);
        let spent = (information + LogNumber::new(LN_2)) / log_packing;
        let right = LogNumber::ONE.saturating_sub(spent);
        let risk = LogNumber::new(16.0) * calibration.c() * delta.pow(2.0) * right;
        let a = smoothness.a();
        Fano {
            delta,
            log_packing,
            information,
            risk,
            constant: risk * LogNumber::from_ln(log(n) * a / (a + 1.0)),
        }
    };
    let best = LogNumber::new(2.0 / (4.0 + p)) * packing.c() / per_square;
    let largest = LogNumber::new(packing.delta_0()).ln();
    let best = best.pow(1.0 / (2.0 + p)).ln().min(largest);
    let tried = (0..TRIES).map(|i| at(LogNumber::from_ln(best - STEP * f64::from(i))));
    let first = at(LogNumber::from_ln(best));
    Ok(tried.fold(first, |a, b| if b.risk > a.risk { b } else { a }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LikelihoodModel;
    use loopfit_holder::Smoothness;
    use proptest::prelude::*;

    fn class(d: usize, s: f64) -> HolderClass {
        HolderClass::new(Smoothness::new(d, s).unwrap(), 1.0).unwrap()
    }

    proptest! {
        /// The display in plain arithmetic at the radius that was chosen, which no other radius beats.
        #[test]
        fn bounds_are_the_display(d in 1usize..3, s in 0.8f64..2.0, ln_n in 20f64..38.0) {
            let (n, class) = (ln_n.exp(), class(d, s));
            let calibration = Calibration::new(LikelihoodModel::gaussian(1.0).unwrap(), 1.0).unwrap();
            let packing = Packing::coarsest(class).unwrap();
            let risk = |delta: f64| {
                let functions = packing.c().value() * delta.powf(-(d as f64) / s);
                // KL of n Gaussian observations with unit noise: n ||f||^2 / 2.
                let information = 0.5 * n * (packing.norm_constant() * delta).powi(2);
                let right = 1.0 - (information + 2f64.ln()) / functions;
                16.0 * calibration.c().value() * delta * delta * right
            };
            let found = fano(calibration, class, n).unwrap();
            let delta = found.delta.value();
            prop_assert!(delta <= packing.delta_0() * (1.0 + 1e-12));
            prop_assert!((found.risk.value() - risk(delta).max(0.0)).abs() <= 1e-9 * risk(delta).abs());
            for i in -60..60 {
                let other = delta * (0.05 * f64::from(i)).exp();
                if other <= packing.delta_0() {
                    prop_assert!(risk(other) <= found.risk.value() * 1.02 + 1e-300);
                }
            }
        }

        /// Of the order of Theorem 4.2, and below what is possible.
        #[test]
        fn the_order_is_that_of_the_theorem(d in 1usize..4, s in 0.5f64..3.0, which in 0usize..3) {
            let model = [
                LikelihoodModel::gaussian(1.0).unwrap(),
                LikelihoodModel::Bernoulli,
                LikelihoodModel::Energy,
            ][which];
            let calibration = Calibration::new(model, 1.0).unwrap();
            let at = |ln: f64| fano(calibration, class(d, s), ln.exp()).unwrap();
            let (few, many) = (at(500.0), at(600.0));
            prop_assert!(few.risk.ln() < 2f64.ln());
            prop_assert!((few.constant.ln() - many.constant.ln()).abs() < 0.1);
        }
    }
}
