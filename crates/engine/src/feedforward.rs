//! The affine maps and the hidden layer that both architectures have, over rows of lanes.

use crate::products::{Bias, Finish, Matrix, Products, Start};
use crate::smooth::Activate;
use loopfit_model::Activation;
use loopfit_numerics::lanes::{Kernel, Lane, Lanewise, Level, Simd};

/// `to = W from + b`, rows of `W` (`width` numbers) each followed by their bias.
pub(crate) fn affine(
    level: Level,
    rows: &[f32],
    from: &[Lane],
    width: usize,
    to: &mut [Lane],
    height: usize,
) {
    Products {
        matrix: Matrix::affine(rows, width),
        start: Start::Bias(Bias::affine(rows, width)),
        finish: Finish::Sum,
        from,
        width,
        to,
        height,
    }
    .run(level);
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
    if height == 1 {
        return level.lanewise(OfOne {
            row: &rows[..width],
            g: g_to,
            to: g_from,
        });
    }
    Products {
        matrix: Matrix::affine(rows, width).transposed(),
        start: Start::Constant(0.0),
        finish: Finish::Sum,
        from: g_to,
        width: height,
        to: g_from,
        height: width,
    }
    .run(level);
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
        Products {
            matrix: Matrix::incoming(self.units, self.q),
            start: Start::Bias(Bias::incoming(self.units, self.q)),
            finish: if relu { Finish::Relu } else { Finish::Sum },
            from: z,
            width: self.q,
            to: h,
            height: self.r,
        }
        .run(self.level);
        if !relu {
            self.level.lanewise(Activate {
                activation: self.activation,
                values: h,
                slopes,
            });
        }
    }

    /// `next = z + W2 h + b2`.
    pub(crate) fn residual(self, z: &[Lane], h: &[Lane], b2: &[f32], next: &mut [Lane]) {
        Products {
            matrix: Matrix::outgoing(self.units, self.q),
            start: Start::RowsAndBias(z, Bias::new(b2)),
            finish: Finish::Sum,
            from: h,
            width: self.r,
            to: next,
            height: self.q,
        }
        .run(self.level);
    }

    /// From the gradient `g` of `next`: `a = 1{h > 0} W2^T g` of the preactivations and
    /// `g_z = g + W1^T a` of the state, for the ReLU.
    pub(crate) fn backward(self, g: &[Lane], h: &[Lane], a: &mut [Lane], g_z: &mut [Lane]) {
        self.outgoing_backward(g, Finish::Where(h), a);
        self.incoming_backward(g, a, g_z);
    }

    /// The same for smooth units, whose derivatives stand in `a` before. `room` is as long as `a`: a
    /// finish that multiplies would cost all other products up to a fifth of their speed.
    pub(crate) fn smooth_backward(
        self,
        g: &[Lane],
        room: &mut [Lane],
        a: &mut [Lane],
        g_z: &mut [Lane],
    ) {
        self.outgoing_backward(g, Finish::Sum, room);
        self.level.run(Multiply(a, room));
        self.incoming_backward(g, a, g_z);
    }

    fn outgoing_backward(self, g: &[Lane], finish: Finish<'_>, to: &mut [Lane]) {
        Products {
            matrix: Matrix::outgoing(self.units, self.q).transposed(),
            // The first term is left as it is, like a plain product.
            start: Start::Constant(-0.0),
            finish,
            from: g,
            width: self.q,
            to,
            height: self.r,
        }
        .run(self.level);
    }

    fn incoming_backward(self, g: &[Lane], a: &[Lane], g_z: &mut [Lane]) {
        Products {
            matrix: Matrix::incoming(self.units, self.q).transposed(),
            start: Start::Rows(g),
            finish: Finish::Sum,
            from: a,
            width: self.r,
            to: g_z,
            height: self.q,
        }
        .run(self.level);
    }
}

/// `to = 0 + row g` for each strip of an affine map with one output.
struct OfOne<'a> {
    row: &'a [f32],
    g: &'a [Lane],
    to: &'a mut [Lane],
}

impl Lanewise for OfOne<'_> {
    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, _: usize) {
        for (g, to) in self.g.iter().zip(self.to.chunks_exact_mut(self.row.len())) {
            let g = s.load(g);
            for (to, w) in to.iter_mut().zip(self.row) {
                s.store(to, s.fma(s.splat(*w), g, s.splat(0.0)));
            }
        }
    }
}

/// Multiplies the first by the second, in place.
struct Multiply<'a>(&'a mut [Lane], &'a [Lane]);

impl Kernel for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for (to, by) in self.0.iter_mut().zip(self.1) {
            let product = s.mul(s.load(to), s.load(by));
            s.store(to, product);
        }
    }
}
