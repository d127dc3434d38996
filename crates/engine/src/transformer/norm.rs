//! Layer normalisation of rows (Section C.6, Step 1).
#![allow(clippy::needless_range_loop)]

use crate::products::{Bias, Finish, Matrix, Products, Start, by_tiles, rows_of_piece};
use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_numerics::lanes::{Lane, Lanewise, Level, Simd};

/// Sums of products are normalised, row by row: `u = rows + bias + M from`.
pub(super) struct Residual<'a> {
    pub(super) rows: &'a [Lane],
    pub(super) bias: Bias<'a>,
    pub(super) matrix: Matrix<'a>,
    pub(super) from: &'a [Lane],
    /// Numbers in a row of `from`.
    pub(super) width: usize,
}

/// Normalises every row of `q` numbers. Short rows do not leave the registers before, and products of some rows
/// go on while others wait for divisions and square roots.
///
/// # Formula
/// `hat = (u - mean u) / s`, `s = {mean (u - mean u)^2 + eps_LN}^{1/2}`,
/// `y = gain hat + bias`; `inverse = 1 / s`.
pub(super) struct Norm<'a> {
    pub(super) of: Residual<'a>,
    pub(super) gain: &'a [f32],
    pub(super) bias: &'a [f32],
    /// Room for all `u`.
    pub(super) u: &'a mut [Lane],
    pub(super) hat: &'a mut [Lane],
    /// One line for each row.
    pub(super) inverse: &'a mut [Lane],
    pub(super) y: &'a mut [Lane],
}

impl Norm<'_> {
    /// Normalises at a level.
    pub(super) fn run(self, level: Level) {
        with_row_length!(level, self.gain.len(), |Q| OfLength::<_, Q>(self), {
            let (of, q) = (&self.of, self.gain.len());
            Products {
                matrix: of.matrix,
                start: Start::RowsAndBias(of.rows, of.bias),
                finish: Finish::Sum,
                from: of.from,
                width: of.width,
                to: &mut *self.u,
                height: q,
            }
            .run(level);
            level.lanewise(OfLength::<_, 0>(self));
        });
    }
}

/// Rows of `Q` numbers; of any number if it is zero.
struct OfLength<T, const Q: usize>(T);

/// Rows of a piece.
const PIECE: usize = 12;

/// Rows at a time, whose numbers stay in registers.
const fn most_rows<S: Simd>(q: usize) -> usize {
    match (S::REGISTERS >= 32, q) {
        (true, 0..=4) => 4,
        (true, 5 | 6) | (false, 0..=3) => 3,
        (true, _) | (false, 4..=6) => 2,
        (false, _) => 1,
    }
}

impl<const Q: usize> Lanewise for OfLength<Norm<'_>, Q> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        if Q > 0 {
            self.0.inverse.len().div_ceil(PIECE)
        } else {
            1
        }
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, piece: usize) {
        if Q == 0 {
            return self.of_any_length(s);
        }
        let Residual {
            from,
            matrix: m,
            width,
            ..
        } = self.0.of;
        let rows = self.0.inverse.len();
        // What makes the unchecked reads of `tile` sound.
        assert!(width > 0 && from.len() == rows * width);
        assert!(m.first + (Q - 1) * m.down + (width - 1) * m.along < m.coefficients.len());
        let rows = rows_of_piece(rows, piece, PIECE);
        by_tiles!(self, S, s, rows, most_rows::<S>(Q));
    }
}

impl<const Q: usize> OfLength<Norm<'_>, Q> {
    /// Rows `row..row + R`.
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(&mut self, s: S, row: usize) {
        let norm = &mut self.0;
        let (of, m) = (&norm.of, norm.of.matrix);
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let mut v = [[zero; Q]; R];
        let own = &of.rows[row * Q..][..R * Q];
        for k in 0..Q {
            let bias = s.splat(of.bias.at(k));
            for r in 0..R {
                v[r][k] = s.add(s.load(&own[r * Q + k]), bias);
            }
        }
        for j in 0..of.width {
            let mut x = [zero; R];
            for r in 0..R {
                // SAFETY: row + r is a row, j < width; `run` looked at the length.
                x[r] = s.load(unsafe { of.from.get_unchecked((row + r) * of.width + j) });
            }
            for k in 0..Q {
                let at = m.first + k * m.down + j * m.along;
                // SAFETY: k < Q, j < width; `run` looked at the last entry.
                let w = s.splat(unsafe { *m.coefficients.get_unchecked(at) });
                for r in 0..R {
                    v[r][k] = s.fma(w, x[r], v[r][k]);
                }
            }
        }
        let share = s.splat(1.0 / Q as f32);
        let stabiliser = s.splat(LAYER_NORM_STABILISER as f32);
        let mut scales = [one; R];
        let inverse = &mut norm.inverse[row..][..R];
        for r in 0..R {
            let mut sum = zero;
            for k in 0..Q {
                sum = s.add(sum, v[r][k]);
            }
            let mean = s.mul(share, sum);
            let mut squares = zero;
            for k in 0..Q {
                v[r][k] = s.sub(v[r][k], mean);
                squares = s.fma(v[r][k], v[r][k], squares);
            }
            scales[r] = s.div(one, s.sqrt(s.fma(share, squares, stabiliser)));
            s.store(&mut inverse[r], scales[r]);
        }
        let (gain, bias) = (&norm.gain[..Q], &norm.bias[..Q]);
        let hat = &mut norm.hat[row * Q..][..R * Q];
        let y = &mut norm.y[row * Q..][..R * Q];
        for k in 0..Q {
            let (gain, bias) = (s.splat(gain[k]), s.splat(bias[k]));
            for r in 0..R {
                let normed = s.mul(v[r][k], scales[r]);
                s.store(&mut hat[r * Q + k], normed);
                s.store(&mut y[r * Q + k], s.fma(gain, normed, bias));
            }
        }
    }

    #[inline(always)]
    fn of_any_length<S: Simd>(&mut self, s: S) {
        let norm = &mut self.0;
        let q = norm.gain.len();
        let share = s.splat(1.0 / q as f32);
        let stabiliser = s.splat(LAYER_NORM_STABILISER as f32);
        let one = s.splat(1.0);
        let rows = norm
            .u
            .chunks_exact(q)
            .zip(norm.hat.chunks_exact_mut(q))
            .zip(norm.y.chunks_exact_mut(q).zip(&mut *norm.inverse));
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
            let affine = norm.gain.iter().zip(norm.bias);
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

impl NormBackward<'_> {
    /// Runs at a level; short rows stay in registers. The shortest are taken by [`super::behind`].
    pub(super) fn run(self, level: Level) {
        with_row_length!(@ level, self.gain.len(), Q, OfLength::<_, Q>(self), {
            level.lanewise(OfLength::<_, 0>(self));
        }, 5 6 7 8);
    }
}

impl<const Q: usize> Lanewise for OfLength<NormBackward<'_>, Q> {
    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, _: usize) {
        let norm = &mut self.0;
        let q = norm.gain.len();
        let minus_share = s.splat(-1.0 / q as f32);
        let (acc_gain, acc_bias) = (&mut *norm.acc_gain, &mut *norm.acc_bias);
        if Q > 0 {
            let zero = s.splat(0.0);
            let (acc_gain, acc_bias) = (&mut acc_gain[..Q], &mut acc_bias[..Q]);
            let (mut gains, mut of_gain, mut of_bias) = ([zero; Q], [zero; Q], [zero; Q]);
            for k in 0..Q {
                gains[k] = s.splat(norm.gain[k]);
                (of_gain[k], of_bias[k]) = (s.load(&acc_gain[k]), s.load(&acc_bias[k]));
            }
            let rows = norm.g.chunks_exact_mut(Q).zip(norm.hat.chunks_exact(Q));
            for ((g, hat), inverse) in rows.zip(norm.inverse) {
                let (mut sum, mut along) = (zero, zero);
                let (mut v, mut hats) = ([zero; Q], [zero; Q]);
                for k in 0..Q {
                    let g = s.load(&g[k]);
                    hats[k] = s.load(&hat[k]);
                    of_gain[k] = s.fma(g, hats[k], of_gain[k]);
                    of_bias[k] = s.add(of_bias[k], g);
                    v[k] = s.mul(gains[k], g);
                    sum = s.add(sum, v[k]);
                    along = s.fma(v[k], hats[k], along);
                }
                let (sum, along) = (s.mul(minus_share, sum), s.mul(minus_share, along));
                let inverse = s.load(inverse);
                for k in 0..Q {
                    let centred = s.add(v[k], sum);
                    s.store(&mut g[k], s.mul(inverse, s.fma(hats[k], along, centred)));
                }
            }
            for k in 0..Q {
                s.store(&mut acc_gain[k], of_gain[k]);
                s.store(&mut acc_bias[k], of_bias[k]);
            }
            return;
        }
        for (k, (gain, bias)) in acc_gain.iter_mut().zip(acc_bias).enumerate() {
            let (mut of_gain, mut of_bias) = (s.load(gain), s.load(bias));
            for (g, hat) in norm.g.chunks_exact(q).zip(norm.hat.chunks_exact(q)) {
                let g = s.load(&g[k]);
                of_gain = s.fma(g, s.load(&hat[k]), of_gain);
                of_bias = s.add(of_bias, g);
            }
            s.store(gain, of_gain);
            s.store(bias, of_bias);
        }
        let rows = norm
            .g
            .chunks_exact_mut(q)
            .zip(norm.hat.chunks_exact(q))
            .zip(norm.inverse);
        for ((g, hat), inverse) in rows {
            let (mut sum, mut along) = (s.splat(0.0), s.splat(0.0));
            for ((g, hat), gain) in g.iter_mut().zip(hat).zip(norm.gain) {
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
