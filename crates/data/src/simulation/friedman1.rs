//! Scaled Friedman1 (F.4.1).

use std::f64::consts::PI;

use loopfit_numerics::jet::Scalar;

use super::Formula;

/// Friedman's first function, divided by 20.
///
/// # Formula
/// `f0(x) = 0.5 sin(pi x_1 x_2) + (x_3 - 1/2)^2 + 0.5 x_4 + 0.25 x_5`
///
/// # Reference
/// F.4.1, "Scaled Friedman1"; Friedman, "Multivariate adaptive regression splines", 1991.
pub(super) struct Friedman1;

impl Formula for Friedman1 {
    fn at<S: Scalar>(&self, x: &[S]) -> S {
        let x = |i: usize| x[i].clone();
        let square = (x(2) - 0.5) * (x(2) - 0.5);
        (x(0) * PI * x(1)).sin() * 0.5 + square + x(3) * 0.5 + x(4) * 0.25
    }
}
