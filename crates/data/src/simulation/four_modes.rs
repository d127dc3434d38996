//! The four-mode density (F.4.5).

use loopfit_numerics::jet::Scalar;

use super::Formula;

/// `(centre, amplitude A, scale s)` of each radial term. The paper gives the centres, the
/// range of the scales and the range of the index; the amplitudes are chosen so that the
/// range comes out as [0.0634, 1.814], and the last term is the shallow central depression.
pub(super) const TERMS: [([f64; 2], f64, f64); 5] = [
    ([0.20, 0.23], 1.793, 0.17),
    ([0.74, 0.24], 1.60, 0.16),
    ([0.34, 0.73], 1.618, 0.17),
    ([0.78, 0.76], 1.55, 0.18),
    ([0.50, 0.50], -0.20, 0.12),
];

/// No value of the index exceeds this: its maximum over 512^2 midpoints plus its Lipschitz
/// constant times half a cell's diagonal is below.
pub(super) const BOUND: f64 = 1.9;

/// The log-density index on the unit square, up to the log normaliser.
///
/// # Formula
/// `f(x) = sum_k A_k exp(-|x - c_k|^2 / (2 s_k^2))`
///
/// # Reference
/// F.4.5; the index of the energy model (the paper's `eq:ebm-model`).
pub(super) struct FourModes;

impl Formula for FourModes {
    fn at<S: Scalar>(&self, x: &[S]) -> S {
        let term = |(c, a, s): &([f64; 2], f64, f64)| {
            let (u, v) = (x[0].clone() - c[0], x[1].clone() - c[1]);
            let square = u.clone() * u + v.clone() * v;
            (-square / (2.0 * s * s)).exp() * *a
        };
        let [first, rest @ ..] = &TERMS;
        rest.iter()
            .fold(term(first) + 0.0, |sum, next| sum + term(next))
    }
}
