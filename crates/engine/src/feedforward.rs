//! The affine maps and the hidden layer that both architectures have, over rows of lanes.

use crate::products::{Bias, Finish, Matrix, Products, Start};
use crate::smooth::Activate;
use loopfit_model::Activation;
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
    pub(crate) activation: Activation,
}

impl Hidden<'_> {
    /// `h = s(W1 z + b1)` with the activation `s`; of a smooth one the derivatives at the same
    /// places to `slopes`, unless that is empty.
    pub(crate) fn values(self, z: &[Lane], h: &mut [Lane], slopes: &mut [Lane]) {
        let relu = self.activation == Activation::Relu;
        self.level.run(Products {
            matrix: Matrix::incoming(self.units, self.q),
            start: Start::Bias(Bias::incoming(self.units, self.q)),
            finish: if relu { Finish::Relu } else { Finish::Sum },
            from: z,
            width: self.q,
            to: h,
            height: self.r,
        });
        if !relu {
            self.level.run(Activate {
                activation: self.activation,
                values: h,
                slopes,
            });
        }
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

    /// From the gradient `g` of `next`: `a = s'(u) W2^T g` of the preactivations `u` and
    /// `g_z = g + W1^T a` of the state. The ReLU's derivative is `1{h > 0}`, a smooth one's
    /// stands in `a` before.
    pub(crate) fn backward(self, g: &[Lane], h: &[Lane], a: &mut [Lane], g_z: &mut [Lane]) {
        self.level.run(Products {
            matrix: Matrix::outgoing(self.units, self.q).transposed(),
            // The first term is left as it is, like a plain product.
            start: Start::Constant(-0.0),
            finish: match self.activation {
                Activation::Relu => Finish::Where(h),
                _ => Finish::Times,
            },
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
