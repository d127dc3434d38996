//! Layer normalisation of rows (Section C.6, Step 1).

use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_numerics::lanes::{Kernel, Lane, Simd};

/// Normalises every row of `q` numbers.
///
/// # Formula
/// `hat = (u - mean u) / s`, `s = {mean (u - mean u)^2 + eps_LN}^{1/2}`,
/// `y = gain hat + bias`; `inverse = 1 / s`.
pub(super) struct Norm<'a> {
    pub(super) gain: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) u: &'a [Lane],
    pub(super) hat: &'a mut [Lane],
    /// One line for each row.
    pub(super) inverse: &'a mut [Lane],
    pub(super) y: &'a mut [Lane],
}

impl Kernel for Norm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let q = self.gain.len();
        let share = s.splat(1.0 / q as f32);
        let stabiliser = s.splat(LAYER_NORM_STABILISER as f32);
        let one = s.splat(1.0);
        let rows = self
            .u
            .chunks_exact(q)
            .zip(self.hat.chunks_exact_mut(q))
            .zip(self.y.chunks_exact_mut(q).zip(self.inverse));
        for ((u, hat), (y, inverse)) in rows {
            let mut sum = s.splat(0.0);
            for u in u {
                sum = s.add(sum, s.load(u));
            }
            let mean = s.mul(share, sum);
            let mut squares = s.splat(0.0);
            for (u, hat) in u.iter().zip(&mut *hat) {
                let centred = s.sub(s.load(u), mean);
                squares = s.fma(centred, centred, squares);
                s.store(hat, centred);
            }
            let scale = s.div(one, s.sqrt(s.fma(share, squares, stabiliser)));
            s.store(inverse, scale);
            let affine = self.gain.iter().zip(self.bias);
            for ((hat, y), (gain, bias)) in hat.iter_mut().zip(y).zip(affine) {
                let normed = s.mul(s.load(hat), scale);
                s.store(hat, normed);
                s.store(y, s.fma(s.splat(*gain), normed, s.splat(*bias)));
            }
        }
    }
}

/// From the gradient of `y` to that of `u`, in place; the gradients of gain and bias are added
/// to theirs.
///
/// # Formula
/// With `v = gain g`: `g_u = (v - mean v - hat mean(v hat)) / s`. The stabiliser is inside `s`.
pub(super) struct NormBackward<'a> {
    pub(super) gain: &'a [f32],
    pub(super) hat: &'a [Lane],
    pub(super) inverse: &'a [Lane],
    pub(super) g: &'a mut [Lane],
    pub(super) acc_gain: &'a mut [Lane],
    pub(super) acc_bias: &'a mut [Lane],
}

impl Kernel for NormBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let q = self.gain.len();
        for (k, (gain, bias)) in self.acc_gain.iter_mut().zip(self.acc_bias).enumerate() {
            let (mut of_gain, mut of_bias) = (s.load(gain), s.load(bias));
            for (g, hat) in self.g.chunks_exact(q).zip(self.hat.chunks_exact(q)) {
                let g = s.load(&g[k]);
                of_gain = s.fma(g, s.load(&hat[k]), of_gain);
                of_bias = s.add(of_bias, g);
            }
            s.store(gain, of_gain);
            s.store(bias, of_bias);
        }
        let minus_share = s.splat(-1.0 / q as f32);
        let rows = self
            .g
            .chunks_exact_mut(q)
            .zip(self.hat.chunks_exact(q))
            .zip(self.inverse);
        for ((g, hat), inverse) in rows {
            let (mut sum, mut along) = (s.splat(0.0), s.splat(0.0));
            for ((g, hat), gain) in g.iter_mut().zip(hat).zip(self.gain) {
                let v = s.mul(s.splat(*gain), s.load(g));
                sum = s.add(sum, v);
                along = s.fma(v, s.load(hat), along);
                s.store(g, v);
            }
            let (sum, along) = (s.mul(minus_share, sum), s.mul(minus_share, along));
            let inverse = s.load(inverse);
            for (g, hat) in g.iter_mut().zip(hat) {
                let centred = s.add(s.load(g), sum);
                s.store(g, s.mul(inverse, s.fma(s.load(hat), along, centred)));
            }
        }
    }
}
