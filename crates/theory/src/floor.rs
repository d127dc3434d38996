//! The untied floor with every constant explicit.

use crate::entropy::UntiedUnion;
use crate::{Calibration, Error};
use loopfit_holder::{HolderClass, Packing};
use loopfit_numerics::log_number::LogNumber;

/// A proven lower bound on the risk of every estimator with values in the untied networks of a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// The Hellinger radius `delta`.
    pub delta: LogNumber,
    /// `log` of the number of targets, at Hellinger distance `8 delta` from each other.
    pub log_packing: LogNumber,
    /// `log` of the number of balls of radius `delta` that cover all untied networks.
    pub log_cover: LogNumber,
}

impl Floor {
    /// The bound on the squared Hellinger risk, at every sample size.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\delta^2")]
    ///
    /// # Reference
    /// Lemma A.1, equation (S1), with `p = 2` and `c_d = 1`.
    pub fn risk(&self) -> LogNumber {
        self.delta.pow(2.0)
    }
}

/// The largest radius at which the packing of the target class outnumbers the cover of the untied union.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    \delta = \sup\Bigl\{\delta \le \delta_0\sqrt{c_m} :
    c\,\Bigl(\frac{\delta}{\sqrt{c_m}}\Bigr)^{-d/s} > \log\mathcal N(\delta, \mathcal P_U[B], h)\Bigr\}, \qquad
    \inf_{\widehat f \in \mathcal F_U[B]}\sup_{f_0} \mathbb E\, h^2 \ge \delta^2
")]
/// The left side counts the functions of Lemma C.3 with `c`, `delta_0` explicit ([`Packing::c`]): their distances are at least
/// `8 delta / sqrt(c_m)` in `L2`, so at least `8 delta` in Hellinger distance; they have mean zero, so the centred
/// distance of the energy model is the same. Codes of `m^d` places with distance `m^d / 8` and `2^{m^d / 8}` words exist
/// for every length (Varshamov and Gilbert). The right side is [`UntiedUnion::covering`] at
/// [`Calibration::cover_radius`].
///
/// # Reference
/// Theorem 2.6 and Lemma A.1, equation (S1); Proposition 4.3 is the same with constants left open.
pub fn explicit_floor(
    union: &UntiedUnion,
    calibration: Calibration,
    class: HolderClass,
) -> Result<Floor, Error> {
    let packing = Packing::coarsest(class)?;
    let smoothness = class.smoothness();
    let exponent = smoothness.d() as f64 / smoothness.s();
    let root_c = calibration.c().pow(0.5);
    let unit_radius = LogNumber::new(calibration.cover_radius(1.0));
    let at = |ln: f64| {
        let delta = LogNumber::from_ln(ln);
        let (log_cover, _) = union.covering(delta * unit_radius);
        Floor {
            delta,
            log_packing: packing.c() * (delta / root_c).pow(-exponent),
            log_cover: LogNumber::new(log_cover),
        }
    };
    let outnumbers = |floor: &Floor| floor.log_packing > floor.log_cover;
    let largest = at((LogNumber::new(packing.delta_0()) * root_c).ln());
    if outnumbers(&largest) {
        return Ok(largest);
    }
    // Down until the packing is the larger, then between: a power of delta beats its logarithm.
    let (mut high, mut step) = (largest.delta.ln(), 1.0);
    let mut found = at(high - step);
    while !outnumbers(&found) {
        high = found.delta.ln();
        step *= 2.0;
        found = at(high - step);
    }
    for _ in 0..80 {
        let middle = at(0.5 * (found.delta.ln() + high));
        if outnumbers(&middle) {
            found = middle;
        } else {
            high = middle.delta.ln();
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LikelihoodModel;
    use loopfit_holder::Smoothness;
    use loopfit_likelihood::{Gaussian, Laplace};
    use loopfit_model::{Architecture, Budget};
    use proptest::prelude::*;

    proptest! {
        /// At the floor the packing outnumbers the cover, just above it does not; and the real packing of a
        /// radius that can be built has as many functions as the floor counts on.
        #[test]
        fn floors_are_where_packing_and_cover_meet(
            b in 40usize..400, d in 1usize..4, s in 0.4f64..3.0, h in 0.3f64..4.0, which in 0usize..4, transformer: bool,
        ) {
            let architecture = if transformer { Architecture::transformer(d) } else { Architecture::Ffn };
            let Ok(budget) = Budget::new(b, architecture, d, 1) else { return Ok(()) };
            let model = [
                LikelihoodModel::Gaussian(Gaussian::new(0.7).unwrap()),
                LikelihoodModel::Laplace(Laplace::new(0.7).unwrap()),
                LikelihoodModel::Bernoulli,
                LikelihoodModel::Energy,
            ][which];
            let calibration = Calibration::new(model, h).unwrap();
            let class = HolderClass::new(Smoothness::new(d, s).unwrap(), h).unwrap();
            let union = UntiedUnion::new(&budget, 2.0, 1e-5).unwrap();
            let floor = explicit_floor(&union, calibration, class).unwrap();
            prop_assert!(floor.log_packing > floor.log_cover);
            prop_assert!(floor.risk().ln().is_finite() && floor.risk().ln() < 2f64.ln());
            // Everything again in plain arithmetic, where floats can hold it.
            let packing = Packing::coarsest(class).unwrap();
            let root_c = calibration.c().value().sqrt();
            let count = |delta: f64| packing.c().value() * (delta / root_c).powf(-(d as f64) / s);
            let cover = |delta: f64| union.covering(LogNumber::new(calibration.cover_radius(delta))).0;
            let delta = floor.delta.value();
            if delta > 1e-250 && delta < packing.delta_0() * root_c * 0.99 {
                prop_assert!(count(delta * 0.999) > cover(delta * 0.999));
                prop_assert!(count(delta * 1.001) < cover(delta * 1.001));
            }
        }
    }
}
