//! Backward pass: gradients of states and of all coefficients, iteration after iteration.

use super::attention::AttentionBackward;
use super::behind::{Behind, NormOf};
use super::pack::{Block, Packing};
use super::{Activations, Scratch, Transformer, part};
use crate::feedforward::affine_backward;
use crate::outer::{Factor, SumRows, Target, outer_product};
use crate::products::{Finish, Matrix, Products, Start};
use loopfit_numerics::lanes::{Kernel, Lane, Simd};

impl Transformer {
    /// As [`crate::program::Program::backward`].
    pub(crate) fn backward(
        &self,
        params: &[f32],
        x: &[Lane],
        g_out: &[Lane],
        kept: &mut Activations,
        acc: &mut [Lane],
    ) {
        let p = &self.packing;
        let strips = x.len() / p.d;
        assert_eq!(acc.len(), p.len(), "accumulators");
        assert_eq!(g_out.len(), strips * p.outputs, "gradients of the outputs");
        let rows = strips * p.n;
        let scratch = &mut kept.scratch;
        scratch.g.resize(rows * p.q, Lane::ZERO);
        scratch.g_o.resize(rows * p.q, Lane::ZERO);
        scratch.a.resize(rows * p.r, Lane::ZERO);
        scratch.g_qkv.resize(rows * 3 * p.q, Lane::ZERO);
        scratch.g_logits.resize(p.n * p.n, Lane::ZERO);
        let output = p.output();
        let rows_out = &params[output.clone()];
        affine_backward(
            self.level,
            rows_out,
            g_out,
            p.outputs,
            &mut scratch.g,
            p.state(),
        );
        outer_product(
            self.level,
            &mut acc[output],
            Target::affine(p.state(), true),
            Factor::new(g_out, p.outputs),
            Factor::new(part(&kept.s, p.iterations, rows * p.q), p.state()),
        );
        for t in (0..p.iterations).rev() {
            self.block_backward(&p.block_at(t), params, rows, kept, t, acc);
        }
        self.level.run(TokensBackward {
            p,
            x,
            g: &kept.scratch.g,
            acc,
        });
    }

    /// Iteration `t` back: `scratch.g` is the gradient of the state after it, then of the one
    /// before.
    fn block_backward(
        &self,
        block: &Block,
        params: &[f32],
        rows: usize,
        kept: &mut Activations,
        t: usize,
        acc: &mut [Lane],
    ) {
        let Packing { q, r, n, .. } = self.packing;
        let level = self.level;
        let Scratch {
            u,
            g,
            g_o,
            a,
            g_qkv,
            g_logits,
        } = &mut kept.scratch;
        let u = &mut u[..rows * q];
        let (h, y) = (part(&kept.h, t, rows * r), part(&kept.y, t, rows * q));
        let (acc1, acc2) = acc.split_at_mut(block.gain2.start);
        // Gain and bias are neighbours.
        let first = NormOf {
            gain: &params[block.gain1.clone()],
            hat: part(&kept.norm1.hat, t, rows * q),
            inverse: part(&kept.norm1.inverse, t, rows),
            acc: &mut acc1[block.gain1.start..][..2 * q],
        };
        let second = NormOf {
            gain: &params[block.gain2.clone()],
            hat: part(&kept.norm2.hat, t, rows * q),
            inverse: part(&kept.norm2.inverse, t, rows),
            acc: &mut acc2[..2 * q],
        };
        Behind {
            hidden: self.hidden(block, params),
            out: &params[block.out.clone()],
            norms: [first, second],
            h,
            g,
            a,
            u,
            g_o,
        }
        .run(level);
        AttentionBackward {
            n,
            q,
            qkv: part(&kept.qkv, t, rows * 3 * q),
            p: part(&kept.p, t, rows * n),
            g_o,
            g_qkv,
            g_logits,
        }
        .run(level);
        let add = |acc: &mut [Lane], target, left: &[Lane], rows, right: &[Lane]| {
            let (left, right) = (Factor::new(left, rows), Factor::new(right, q));
            outer_product(level, acc, target, left, right);
        };
        let acc_units = &mut acc[block.units.clone()];
        add(acc_units, Target::outgoing(q, true), h, r, g);
        add(acc_units, Target::incoming(q, true), a, r, y);
        level.lanewise(SumRows {
            add: true,
            acc: &mut acc[block.b2.clone()],
            rows: g,
        });
        let o = part(&kept.o, t, rows * q);
        add(
            &mut acc[block.out.clone()],
            Target::affine(q, true),
            u,
            q,
            o,
        );
        let s = part(&kept.s, t, rows * q);
        add(
            &mut acc[block.qkv.clone()],
            Target::affine(q, true),
            g_qkv,
            3 * q,
            s,
        );
        Products {
            matrix: Matrix::affine(&params[block.qkv.clone()], q).transposed(),
            start: Start::Rows(u),
            finish: Finish::Sum,
            from: g_qkv,
            width: 3 * q,
            to: g,
            height: q,
        }
        .run(level);
    }
}

/// Adds the gradients of the input function's coefficients from that of the first state.
struct TokensBackward<'a> {
    p: &'a Packing,
    x: &'a [Lane],
    g: &'a [Lane],
    acc: &'a mut [Lane],
}

impl Kernel for TokensBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let p = self.p;
        let strips = self.x.chunks_exact(p.d).zip(self.g.chunks_exact(p.state()));
        for (x, g) in strips {
            let (data, constant) = g.split_at(p.partition.len() * p.q);
            let (acc_data, acc_constant) =
                self.acc[..p.constants().end].split_at_mut(p.constants().start);
            let mut rows = acc_data;
            for (token, inputs) in data.chunks_exact(p.q).zip(&p.partition) {
                for g in token {
                    let (row, rest) = rows.split_at_mut(inputs.len() + 1);
                    let g = s.load(g);
                    for (acc, input) in row.iter_mut().zip(inputs) {
                        let sum = s.fma(g, s.load(&x[*input]), s.load(acc));
                        s.store(acc, sum);
                    }
                    let bias = &mut row[inputs.len()];
                    let sum = s.add(s.load(bias), g);
                    s.store(bias, sum);
                    rows = rest;
                }
            }
            for (acc, g) in acc_constant.iter_mut().zip(constant) {
                let sum = s.add(s.load(acc), s.load(g));
                s.store(acc, sum);
            }
        }
    }
}
