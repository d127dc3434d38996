//! Forward pass: tokens, blocks, output function.

use super::attention::Attention;
use super::norm::{Norm, Residual};
use super::pack::{Block, Packing};
use super::row::TokenAttention;
use super::{Activations, Lanes, Transformer, part, part_mut};
use crate::feedforward::{Hidden, affine};
use crate::products::{Bias, Matrix};
use loopfit_model::Activation;
use loopfit_numerics::lanes::{Kernel, Lane, Simd};

impl Transformer {
    /// Outputs of all strips; with `keep` every iteration has its own part of `kept`.
    pub(super) fn run(
        &self,
        params: &[f32],
        x: &[Lane],
        out: &mut [Lane],
        kept: &mut Activations,
        keep: bool,
    ) {
        let p = &self.packing;
        let strips = x.len() / p.d;
        assert_eq!(params.len(), p.len(), "coefficients");
        assert_eq!(x.len(), strips * p.d, "inputs");
        assert_eq!(out.len(), strips * p.outputs, "outputs");
        let rows = strips * p.n;
        kept.reserve(p, rows, if keep { p.iterations } else { 1 });
        self.level.run(Tokens {
            p,
            params,
            x,
            state: part_mut(&mut kept.s, 0, rows * p.q),
        });
        for t in 0..p.iterations {
            let (from, to) = if keep { (t, t + 1) } else { (0, 0) };
            self.block(&p.block_at(t), params, rows, kept, from, to);
        }
        let last = if keep { p.iterations } else { 0 };
        let state = part(&kept.s, last, rows * p.q);
        let output = &params[p.output()];
        affine(self.level, output, state, p.state(), out, p.outputs);
    }

    /// The ReLU layer of a block.
    pub(super) fn hidden<'a>(&self, block: &Block, params: &'a [f32]) -> Hidden<'a> {
        Hidden {
            level: self.level,
            units: &params[block.units.clone()],
            q: self.packing.q,
            r: self.packing.r,
            activation: Activation::Relu,
        }
    }

    /// One block: from the state in part `from` of `kept` to the one in part `to`.
    ///
    /// # Formula
    /// `Y = LN1{S + Attn(S)}`, `Phi(S) = LN2{Y + W2 ReLU(W1 Y + b1) + b2}`.
    pub(super) fn block(
        &self,
        block: &Block,
        params: &[f32],
        rows: usize,
        kept: &mut Activations,
        from: usize,
        to: usize,
    ) {
        let Packing { q, r, n, .. } = self.packing;
        let level = self.level;
        let s = part(&kept.s, from, rows * q);
        let qkv = part_mut(&mut kept.qkv, from, rows * 3 * q);
        affine(level, &params[block.qkv.clone()], s, q, qkv, 3 * q);
        let (p, o) = (
            part_mut(&mut kept.p, from, rows * n),
            part_mut(&mut kept.o, from, rows * q),
        );
        match self.lanes {
            Lanes::Samples => Attention { n, q, qkv, p, o }.run(level),
            Lanes::Tokens => level.run(TokenAttention { n, q, qkv, p, o }),
        }
        let o = &*o;
        let u = &mut kept.scratch.u[..rows * q];
        let out = &params[block.out.clone()];
        let y = part_mut(&mut kept.y, from, rows * q);
        Norm {
            of: Residual {
                rows: s,
                bias: Bias::affine(out, q),
                matrix: Matrix::affine(out, q),
                from: o,
                width: q,
            },
            gain: &params[block.gain1.clone()],
            bias: &params[block.bias1.clone()],
            u,
            hat: part_mut(&mut kept.norm1.hat, from, rows * q),
            inverse: part_mut(&mut kept.norm1.inverse, from, rows),
            y,
        }
        .run(level);
        let y = &*y;
        let h = part_mut(&mut kept.h, from, rows * r);
        let hidden = self.hidden(block, params);
        hidden.values(y, h, &mut []);
        Norm {
            of: Residual {
                rows: y,
                bias: Bias::new(&params[block.b2.clone()]),
                matrix: Matrix::outgoing(hidden.units, q),
                from: h,
                width: r,
            },
            gain: &params[block.gain2.clone()],
            bias: &params[block.bias2.clone()],
            u,
            hat: part_mut(&mut kept.norm2.hat, from, rows * q),
            inverse: part_mut(&mut kept.norm2.inverse, from, rows),
            y: part_mut(&mut kept.s, to, rows * q),
        }
        .run(level);
    }
}

/// The first state: data tokens `A_j x_{I_j} + a_j` and the constant ones.
struct Tokens<'a> {
    p: &'a Packing,
    params: &'a [f32],
    x: &'a [Lane],
    state: &'a mut [Lane],
}

impl Kernel for Tokens<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let p = self.p;
        let constants = &self.params[p.constants()];
        let strips = self
            .x
            .chunks_exact(p.d)
            .zip(self.state.chunks_exact_mut(p.state()));
        for (x, state) in strips {
            let (data, constant) = state.split_at_mut(p.partition.len() * p.q);
            let mut rows = self.params;
            for (token, inputs) in data.chunks_exact_mut(p.q).zip(&p.partition) {
                for to in token {
                    let (row, rest) = rows.split_at(inputs.len() + 1);
                    let mut sum = s.splat(row[inputs.len()]);
                    for (w, input) in row.iter().zip(inputs) {
                        sum = s.fma(s.splat(*w), s.load(&x[*input]), sum);
                    }
                    s.store(to, sum);
                    rows = rest;
                }
            }
            for (to, value) in constant.iter_mut().zip(constants) {
                s.store(to, s.splat(*value));
            }
        }
    }
}
