//! The affine maps and the ReLU layer that both architectures have, over rows of lanes.

use crate::products::{Bias, Finish, Matrix, Products, Start};
use loopfit_numerics::lanes::{Lane, Level};

/// `to = W from + b`, rows of `W` (`width` numbers) each followed by their bias.
pub(crate) fn affine(
    level: Level,
    rows: &[f32],
    from: &[Lane],
    width: usize,
    to: &mut [Lane],
    height: usize,
) {
    level.run(Products {
        matrix: Matrix::affine(rows, width),
        start: Start::Bias(Bias::affine(rows, width)),
        finish: Finish::Sum,
        from,
        width,
        to,
        height,
    });
}

/// `g_from = W^T g_to` of an affine map.
pub(crate) fn affine_backward(
    level: Level,
    rows: &[f32],
    g_to: &[Lane],
    height: usize,
    g_from: &mut [Lane],
    width: usize,
) {
    level.run(Products {
        matrix: Matrix::affine(rows, width).transposed(),
        start: Start::Constant(0.0),
        finish: Finish::Sum,
        from: g_to,
        width: height,
        to: g_from,
        height: width,
    });
}

/// The hidden units of a block and the sizes of its state and of its layer.
#[derive(Clone, Copy)]
pub(crate) struct Hidden<'a> {
    pub(crate) level: Level,
    pub(crate) units: &'a [f32],
    pub(crate) q: usize,
    pub(crate) r: usize,
}

impl Hidden<'_> {
    /// `h = ReLU(W1 z + b1)`.
    pub(crate) fn values(self, z: &[Lane], h: &mut [Lane]) {
        self.level.run(Products {
            matrix: Matrix::incoming(self.units, self.q),
            start: Start::Bias(Bias::incoming(self.units, self.q)),
            finish: Finish::Relu,
            from: z,
            width: self.q,
            to: h,
            height: self.r,
        });
    }

    /// `next = z + W2 h + b2`.
    pub(crate) fn residual(self, z: &[Lane], h: &[Lane], b2: &[f32], next: &mut [Lane]) {
        self.level.run(Products {
            matrix: Matrix::outgoing(self.units, self.q),
            start: Start::RowsAndBias(z, Bias::new(b2)),
            finish: Finish::Sum,
            from: h,
            width: self.r,
            to: next,
            height: self.q,
        });
    }

    /// From the gradient `g` of `next`: `a = 1{h > 0} W2^T g` of the preactivations and
    /// `g_z = g + W1^T a` of the state.
    pub(crate) fn backward(self, g: &[Lane], h: &[Lane], a: &mut [Lane], g_z: &mut [Lane]) {
        self.level.run(Products {
            matrix: Matrix::outgoing(self.units, self.q).transposed(),
            // The first term is left as it is, like a plain product.
            start: Start::Constant(-0.0),
            finish: Finish::Where(h),
            from: g,
            width: self.q,
            to: a,
            height: self.r,
        });
        self.level.run(Products {
            matrix: Matrix::incoming(self.units, self.q).transposed(),
            start: Start::Rows(g),
            finish: Finish::Sum,
            from: a,
            width: self.r,
            to: g_z,
            height: self.q,
        });
    }
}
