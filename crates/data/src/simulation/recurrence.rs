//! Smooth recurrence (F.4.1).

use std::f64::consts::PI;

use loopfit_numerics::jet::Scalar;

use super::Formula;

/// Twelve steps of a contraction that two inputs drive and the third one starts.
///
/// # Formula
/// `u_0 = x_3 - 1/2`,
/// `u_{j+1} = 0.25 u_j + 0.1 tanh(2 u_j + 3 (x_1 - 1/2)) + 0.08 sin(2 pi (x_2 + u_j))`,
/// `f0(x) = u_12`.
///
/// # Reference
/// F.4.1, "Smooth recurrence".
pub(super) struct Recurrence;

impl Formula for Recurrence {
    fn at<S: Scalar>(&self, x: &[S]) -> S {
        let x = |i: usize| x[i].clone();
        (0..12).fold(x(2) - 0.5, |u, _| {
            let pull = (u.clone() * 2.0 + (x(0) - 0.5) * 3.0).tanh();
            let wave = ((x(1) + u.clone()) * (2.0 * PI)).sin();
            u * 0.25 + pull * 0.1 + wave * 0.08
        })
    }
}
