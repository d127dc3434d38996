//! What a block does behind attention, back: from the gradient of the next state to that of the averages, some rows after the
//! others. Short rows stay in registers all the way, and coefficients come from memory one after the other.
#![allow(clippy::needless_range_loop)]

use super::norm::NormBackward;
use crate::feedforward::{Hidden, affine_backward};
use crate::products::{by_tiles, rows_of_piece};
use loopfit_numerics::lanes::{Lane, Lanewise, Level, Simd};

/// A layer norm and what it left behind.
pub(super) struct NormOf<'a> {
    pub(super) gain: &'a [f32],
    pub(super) hat: &'a [Lane],
    /// One line for each row.
    pub(super) inverse: &'a [Lane],
    /// Sums of the gradients of gain and bias, which are neighbours.
    pub(super) acc: &'a mut [Lane],
}

/// `W1`, `W2` and the output projection, between two layer norms.
pub(super) struct Behind<'a> {
    pub(super) hidden: Hidden<'a>,
    /// Rows of the output projection.
    pub(super) out: &'a [f32],
    pub(super) norms: [NormOf<'a>; 2],
    /// Hidden values.
    pub(super) h: &'a [Lane],
    /// The gradient of the next state, then of what the second norm normalised.
    pub(super) g: &'a mut [Lane],
    /// Gradients of the hidden preactivations.
    pub(super) a: &'a mut [Lane],
    /// Gradients of what the first norm normalised.
    pub(super) u: &'a mut [Lane],
    /// Gradients of the averages.
    pub(super) g_o: &'a mut [Lane],
}

impl Behind<'_> {
    /// Runs at a level. Of longer rows there would be one at a time, each of whose steps waits for the one before.
    pub(super) fn run(self, level: Level) {
        with_row_length!(@ level, self.hidden.q, Q, OfLength::<Q>(self), {
            let [first, second] = self.norms;
            second.back(level, self.g);
            self.hidden.backward(self.g, self.h, self.a, self.u);
            first.back(level, self.u);
            let q = self.hidden.q;
            affine_backward(level, self.out, self.u, q, self.g_o, q);
        }, 1 2 3 4);
    }
}

impl NormOf<'_> {
    fn back(self, level: Level, g: &mut [Lane]) {
        let (acc_gain, acc_bias) = self.acc.split_at_mut(self.gain.len());
        NormBackward {
            gain: self.gain,
            hat: self.hat,
            inverse: self.inverse,
            g,
            acc_gain,
            acc_bias,
        }
        .run(level);
    }

    /// The same for `R` rows of `Q` numbers in registers, from row `row` on.
    #[inline(always)]
    fn rows<S: Simd, const Q: usize, const R: usize>(
        &mut self,
        s: S,
        row: usize,
        g: &mut [[S::V; Q]; R],
    ) {
        let minus_share = s.splat(-1.0 / Q as f32);
        let hat = &self.hat[row * Q..][..R * Q];
        let inverse = &self.inverse[row..][..R];
        let (acc_gain, acc_bias) = self.acc.split_at_mut(Q);
        let (gain, acc_bias) = (&self.gain[..Q], &mut acc_bias[..Q]);
        let (mut sums, mut along) = ([s.splat(0.0); R], [s.splat(0.0); R]);
        for k in 0..Q {
            let gain = s.splat(gain[k]);
            let (mut of_gain, mut of_bias) = (s.load(&acc_gain[k]), s.load(&acc_bias[k]));
            for r in 0..R {
                let hat = s.load(&hat[r * Q + k]);
                of_gain = s.fma(g[r][k], hat, of_gain);
                of_bias = s.add(of_bias, g[r][k]);
                g[r][k] = s.mul(gain, g[r][k]);
                sums[r] = s.add(sums[r], g[r][k]);
                along[r] = s.fma(g[r][k], hat, along[r]);
            }
            s.store(&mut acc_gain[k], of_gain);
            s.store(&mut acc_bias[k], of_bias);
        }
        for r in 0..R {
            let (sum, along) = (s.mul(minus_share, sums[r]), s.mul(minus_share, along[r]));
            let inverse = s.load(&inverse[r]);
            for k in 0..Q {
                let centred = s.add(g[r][k], sum);
                let hat = s.load(&hat[r * Q + k]);
                g[r][k] = s.mul(inverse, s.fma(hat, along, centred));
            }
        }
    }
}

/// Rows of `Q` numbers.
struct OfLength<'a, const Q: usize>(Behind<'a>);

/// Rows of a piece.
const PIECE: usize = 12;

/// Rows at a time, whose gradients stay in registers before and behind the hidden units.
const fn most_rows<S: Simd>(q: usize) -> usize {
    match (S::REGISTERS >= 32, q) {
        (true, 0..=3) => 4,
        (true, _) => 3,
        (false, 0..=3) => 2,
        (false, _) => 1,
    }
}

impl<const Q: usize> Lanewise for OfLength<'_, Q> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        self.0.norms[0].inverse.len().div_ceil(PIECE)
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, piece: usize) {
        let behind = &self.0;
        let (rows, r) = (behind.norms[0].inverse.len(), behind.hidden.r);
        // What makes the unchecked accesses of `tile` sound.
        assert!(behind.h.len() == rows * r && behind.a.len() == rows * r);
        let rows = rows_of_piece(rows, piece, PIECE);
        by_tiles!(self, S, s, rows, most_rows::<S>(Q));
    }
}

impl<const Q: usize> OfLength<'_, Q> {
    /// Rows `row..row + R`.
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(&mut self, s: S, row: usize) {
        let behind = &mut self.0;
        let [first, second] = &mut behind.norms;
        let (zero, height) = (s.splat(0.0), behind.hidden.r);
        let lines = &mut behind.g[row * Q..][..R * Q];
        let mut g = [[zero; Q]; R];
        for r in 0..R {
            for k in 0..Q {
                g[r][k] = s.load(&lines[r * Q + k]);
            }
        }
        second.rows(s, row, &mut g);
        for r in 0..R {
            for k in 0..Q {
                s.store(&mut lines[r * Q + k], g[r][k]);
            }
        }
        let mut u = g;
        let units = behind.hidden.units.chunks_exact(2 * Q + 1);
        for (j, unit) in units.enumerate().take(height) {
            // The first term is left as it is, like a plain product.
            let mut a = [s.splat(-0.0); R];
            for k in 0..Q {
                let w = s.splat(unit[Q + 1 + k]);
                for r in 0..R {
                    a[r] = s.fma(w, g[r][k], a[r]);
                }
            }
            for r in 0..R {
                let at = (row + r) * height + j;
                // SAFETY: row + r is a row and j < height; `run` looked at both lengths.
                let h = s.load(unsafe { behind.h.get_unchecked(at) });
                a[r] = s.select_greater(h, zero, a[r], zero);
                // SAFETY: as above.
                s.store(unsafe { behind.a.get_unchecked_mut(at) }, a[r]);
            }
            for k in 0..Q {
                let w = s.splat(unit[k]);
                for r in 0..R {
                    u[r][k] = s.fma(w, a[r], u[r][k]);
                }
            }
        }
        first.rows(s, row, &mut u);
        let lines = &mut behind.u[row * Q..][..R * Q];
        let mut g_o = [[zero; Q]; R];
        let rows = &behind.out[..Q * (Q + 1)];
        for j in 0..Q {
            let out = &rows[j * (Q + 1)..][..Q];
            for r in 0..R {
                s.store(&mut lines[r * Q + j], u[r][j]);
            }
            for k in 0..Q {
                let w = s.splat(out[k]);
                for r in 0..R {
                    g_o[r][k] = s.fma(w, u[r][j], g_o[r][k]);
                }
            }
        }
        let lines = &mut behind.g_o[row * Q..][..R * Q];
        for r in 0..R {
            for k in 0..Q {
                s.store(&mut lines[r * Q + k], g_o[r][k]);
            }
        }
    }
}
