//! Smooth recurrence (F.4.1).

use std::f64::consts::PI;

use loopfit_numerics::libm::{sin, tanh};
use loopfit_numerics::stream::Stream;

use super::Function;

/// Twelve steps of a contraction that two inputs drive and the third one starts.
///
/// # Formula
/// `u_0 = x_3 - 1/2`,
/// `u_{j+1} = 0.25 u_j + 0.1 tanh(2 u_j + 3 (x_1 - 1/2)) + 0.08 sin(2 pi (x_2 + u_j))`,
/// `f0(x) = u_12`.
///
/// # Reference
/// F.4.1, "Smooth recurrence".
pub(super) fn target(_coefficients: Stream) -> Box<Function> {
    Box::new(|x| {
        (0..12).fold(x[2] - 0.5, |u, _| {
            0.25 * u + 0.1 * tanh(2.0 * u + 3.0 * (x[0] - 0.5)) + 0.08 * sin(2.0 * PI * (x[1] + u))
        })
    })
}
