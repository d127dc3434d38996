//! Smooth bumps (F.4.1).

use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;

use super::Function;

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
pub(super) fn target(coefficients: Stream) -> Box<Function> {
    let signs: [f64; K * K] = std::array::from_fn(|j| coefficients.sign(j as u64));
    Box::new(move |x| {
        let (mut cell, mut exponent) = (0, 0.0);
        for &x in &x[..2] {
            let j = (K as f64 * x).floor().clamp(0.0, (K - 1) as f64);
            let t = 4.0 * (K as f64 * x - j - 0.5);
            if t.abs() >= 1.0 {
                return 0.0;
            }
            cell = cell * K + j as usize;
            exponent += 1.0 - 1.0 / (1.0 - t * t);
        }
        A0 / K as f64 * signs[cell] * libm::exp(exponent)
    })
}
