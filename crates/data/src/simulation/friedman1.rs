//! Scaled Friedman1 (F.4.1).

use std::f64::consts::PI;

use loopfit_numerics::libm::sin;
use loopfit_numerics::stream::Stream;

use super::Function;

/// Friedman's first function, divided by 20.
///
/// # Formula
/// `f0(x) = 0.5 sin(pi x_1 x_2) + (x_3 - 1/2)^2 + 0.5 x_4 + 0.25 x_5`
///
/// # Reference
/// F.4.1, "Scaled Friedman1"; Friedman, "Multivariate adaptive regression splines", 1991.
pub(super) fn target(_coefficients: Stream) -> Box<Function> {
    Box::new(|x| {
        0.5 * sin(PI * x[0] * x[1]) + (x[2] - 0.5) * (x[2] - 0.5) + 0.5 * x[3] + 0.25 * x[4]
    })
}
