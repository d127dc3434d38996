//! Smooth bumps (F.4.1).

use loopfit_numerics::jet::Scalar;
use loopfit_numerics::stream::Stream;

use super::Formula;

/// Cells along each axis.
const K: usize = 3;
/// Amplitude: a bump is `A0 / K` high.
const A0: f64 = 0.75;

/// One compact bump in each cell of a 3 x 3 grid, with independent fair signs.
///
/// # Formula
/// `f0(x) = (a0 / k) c_j phi(t)`, `j_l = min(floor(k x_l), k - 1)`,
/// `t_l = 4 (k x_l - j_l - 1/2)`, `phi(t) = exp(sum_l [1 - 1 / (1 - t_l^2)])` where both
/// `|t_l| < 1`, zero elsewhere; `k = 3`, `a0 = 0.75`.
///
/// # Reference
/// F.4.1, "Smooth bumps".
pub(super) struct Bumps {
    signs: [f64; K * K],
}

impl Bumps {
    pub(super) fn new(coefficients: Stream) -> Self {
        Self {
            signs: std::array::from_fn(|j| coefficients.sign(j as u64)),
        }
    }
}

impl Formula for Bumps {
    fn at<S: Scalar>(&self, x: &[S]) -> S {
        let (mut cell, mut inside) = (0, true);
        // 1 - 1/(1 - t^2) in one coordinate.
        let mut exponent = |x: &S| {
            let scaled = K as f64 * x.value();
            let j = scaled.floor().clamp(0.0, (K - 1) as f64);
            let t = (x.clone() * K as f64 - j - 0.5) * 4.0;
            inside &= t.value().abs() < 1.0;
            cell = cell * K + j as usize;
            let one = x.constant(1.0);
            one.clone() - one.clone() / (one - t.clone() * t)
        };
        let sum = exponent(&x[0]) + exponent(&x[1]);
        if !inside {
            return x[0].constant(0.0);
        }
        sum.exp() * (A0 / K as f64 * self.signs[cell])
    }
}
