//! The post-LN Transformer over lanes of samples (paper Section 3.2).
//!
//! A strip's state is `N` rows of `q` lines: data tokens, controller, two references. Every
//! step but attention treats all rows of all strips alike, so that they are simply rows:
//!
//! - [`pack`]: where each coefficient lies;
//! - [`norm`]: layer normalisation, forward and back;
//! - [`attention`]: softmax attention between the tokens of a sample, forward and back;
//! - [`row`]: one sample at a time, tokens across lanes, for low latency;
//! - affine maps are [`Products`], their gradients sums of outer products.
//!
//! Per sample, sums have one order. Over samples, lane sums take groups of strips in turn, in
//! each of them iterations from last to first and rows in ascending order, and the lanes
//! last, in one tree. Nothing about the machine enters, so the bits are the same everywhere.

mod attention;
mod norm;
pub(crate) mod pack;
mod row;

pub(crate) use row::RowPredictor;

use crate::outer::{Factor, SumRows, Target, outer_product};
use crate::products::{Bias, Finish, Matrix, Products, Start};
use attention::{Attention, AttentionBackward};
use loopfit_numerics::lanes::{Kernel, Lane, Level, Simd};
use norm::{Norm, NormBackward};
use pack::{Block, Packing};
use row::TokenAttention;

/// Bytes of activations kept at once: most of a common second-level cache.
const CACHE_BYTES: usize = 640 * 1024;

/// Strips that are predicted together.
const PREDICTED: usize = 4;

/// What the forward pass leaves for the backward pass, for one group of strips: every array
/// has one part for each iteration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activations {
    /// States `S_0..S_T`: rows of `q`.
    s: Vec<Lane>,
    /// Query, key and value: rows of `3q`.
    qkv: Vec<Lane>,
    /// Attention weights: rows of `N`.
    p: Vec<Lane>,
    /// Averages of values: rows of `q`.
    o: Vec<Lane>,
    /// After the first layer norm: rows of `q`.
    y: Vec<Lane>,
    /// Hidden values after the ReLU: rows of `r`.
    h: Vec<Lane>,
    norm1: Normed,
    norm2: Normed,
    /// What one iteration writes and nobody reads later.
    scratch: Scratch,
}

/// What a layer norm leaves behind.
#[derive(Clone, Debug, Default)]
struct Normed {
    /// Normalised rows of `q`.
    hat: Vec<Lane>,
    /// One over the scale of each row.
    inverse: Vec<Lane>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    /// Rows of `q`: before a layer norm, or a gradient.
    u: Vec<Lane>,
    /// Gradients of rows of `q`.
    g: Vec<Lane>,
    /// Gradients of the averages: rows of `q`.
    g_o: Vec<Lane>,
    /// Gradients of the hidden preactivations: rows of `r`.
    a: Vec<Lane>,
    /// Gradients of query, key and value: rows of `3q`.
    g_qkv: Vec<Lane>,
    /// Gradients of one strip's logits: `N x N`.
    g_logits: Vec<Lane>,
}

impl Activations {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let Scratch {
            u,
            g,
            g_o,
            a,
            g_qkv,
            g_logits,
        } = &self.scratch;
        let lines = [
            &self.s, &self.qkv, &self.p, &self.o, &self.y, &self.h, u, g, g_o, a, g_qkv, g_logits,
        ];
        let norms = [&self.norm1, &self.norm2].map(|n| n.hat.capacity() + n.inverse.capacity());
        let lines: usize = lines.iter().map(|l| l.capacity()).sum();
        (lines + norms.iter().sum::<usize>()) * size_of::<Lane>()
    }

    /// The states, `[t][strip][N q]`.
    pub(crate) fn states(&self) -> &[Lane] {
        &self.s
    }

    /// Makes room for `rows` rows in each of `iterations` iterations.
    fn reserve(&mut self, p: &Packing, rows: usize, iterations: usize) {
        let lines = |to: &mut Vec<Lane>, width: usize, times: usize| {
            to.resize(rows * width * times, Lane::ZERO);
        };
        lines(&mut self.s, p.q, iterations + 1);
        lines(&mut self.qkv, 3 * p.q, iterations);
        lines(&mut self.p, p.n, iterations);
        for to in [&mut self.o, &mut self.y] {
            lines(to, p.q, iterations);
        }
        lines(&mut self.h, p.r, iterations);
        for norm in [&mut self.norm1, &mut self.norm2] {
            lines(&mut norm.hat, p.q, iterations);
            lines(&mut norm.inverse, 1, iterations);
        }
        lines(&mut self.scratch.u, p.q, 1);
    }
}

/// Part `t` of an array whose parts have `len` lines.
fn part(lines: &[Lane], t: usize, len: usize) -> &[Lane] {
    &lines[t * len..][..len]
}

/// As [`part`], to write.
fn part_mut(lines: &mut [Lane], t: usize, len: usize) -> &mut [Lane] {
    &mut lines[t * len..][..len]
}

/// What the lanes of a line are.
#[derive(Clone, Copy, Debug)]
enum Lanes {
    /// The same token of sixteen samples.
    Samples,
    /// Sixteen tokens of one sample.
    Tokens,
}

/// A Transformer of a fixed shape, ready to run at a level.
#[derive(Clone, Debug)]
pub(crate) struct Transformer {
    pub(crate) packing: Packing,
    level: Level,
}

impl Transformer {
    pub(crate) fn new(packing: Packing, level: Level) -> Self {
        Self { packing, level }
    }

    /// As [`crate::program::Program::strips_at_once`].
    pub(crate) fn strips_at_once(&self, strips: usize) -> usize {
        let p = &self.packing;
        let per_row = p.iterations * (8 * p.q + p.n + p.r + 2) + p.q;
        let per_strip = p.n * per_row * size_of::<Lane>();
        let mut at_once = strips.max(1);
        while at_once > 2 && at_once * per_strip > CACHE_BYTES {
            at_once = at_once.div_ceil(2);
        }
        at_once
    }

    /// As [`crate::program::Program::predict`].
    pub(crate) fn predict(&self, params: &[f32], x: &[Lane], out: &mut [Lane]) {
        let p = &self.packing;
        let mut kept = Activations::default();
        let groups = x
            .chunks(PREDICTED * p.d)
            .zip(out.chunks_mut(PREDICTED * p.outputs));
        for (x, out) in groups {
            self.run(params, x, out, &mut kept, false);
        }
    }

    /// As [`crate::program::Program::forward`].
    pub(crate) fn forward(
        &self,
        params: &[f32],
        x: &[Lane],
        out: &mut [Lane],
        kept: &mut Activations,
    ) {
        self.run(params, x, out, kept, true);
    }

    /// Outputs of all strips; with `keep` every iteration has its own part of `kept`.
    fn run(
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
            self.block(&p.block_at(t), params, Lanes::Samples, rows, kept, from, to);
        }
        let last = if keep { p.iterations } else { 0 };
        let output = &params[p.output()];
        self.level.run(Products {
            matrix: Matrix::affine(output, p.state()),
            start: Start::Bias(Bias::affine(output, p.state())),
            finish: Finish::Sum,
            from: part(&kept.s, last, rows * p.q),
            width: p.state(),
            to: out,
            height: p.outputs,
        });
    }

    /// One block: from the state in part `from` of `kept` to the one in part `to`.
    ///
    /// # Formula
    /// `Y = LN1{S + Attn(S)}`, `Phi(S) = LN2{Y + W2 ReLU(W1 Y + b1) + b2}`.
    fn block(
        &self,
        block: &Block,
        params: &[f32],
        lanes: Lanes,
        rows: usize,
        kept: &mut Activations,
        from: usize,
        to: usize,
    ) {
        let Packing { q, r, n, .. } = self.packing;
        let level = self.level;
        let s = part(&kept.s, from, rows * q);
        let qkv = part_mut(&mut kept.qkv, from, rows * 3 * q);
        let projections = &params[block.qkv.clone()];
        level.run(Products {
            matrix: Matrix::affine(projections, q),
            start: Start::Bias(Bias::affine(projections, q)),
            finish: Finish::Sum,
            from: s,
            width: q,
            to: qkv,
            height: 3 * q,
        });
        let (p, o) = (
            part_mut(&mut kept.p, from, rows * n),
            part_mut(&mut kept.o, from, rows * q),
        );
        match lanes {
            Lanes::Samples => level.run(Attention { n, q, qkv, p, o }),
            Lanes::Tokens => level.run(TokenAttention { n, q, qkv, p, o }),
        }
        let o = &*o;
        let u = &mut kept.scratch.u[..rows * q];
        let out = &params[block.out.clone()];
        level.run(Products {
            matrix: Matrix::affine(out, q),
            start: Start::RowsAndBias(s, Bias::affine(out, q)),
            finish: Finish::Sum,
            from: o,
            width: q,
            to: u,
            height: q,
        });
        let y = part_mut(&mut kept.y, from, rows * q);
        level.run(Norm {
            gain: &params[block.gain1.clone()],
            bias: &params[block.bias1.clone()],
            u,
            hat: part_mut(&mut kept.norm1.hat, from, rows * q),
            inverse: part_mut(&mut kept.norm1.inverse, from, rows),
            y,
        });
        let h = part_mut(&mut kept.h, from, rows * r);
        let units = &params[block.units.clone()];
        level.run(Products {
            matrix: Matrix::incoming(units, q),
            start: Start::Bias(Bias::incoming(units, q)),
            finish: Finish::Relu,
            from: y,
            width: q,
            to: h,
            height: r,
        });
        level.run(Products {
            matrix: Matrix::outgoing(units, q),
            start: Start::RowsAndBias(y, Bias::new(&params[block.b2.clone()])),
            finish: Finish::Sum,
            from: h,
            width: r,
            to: u,
            height: q,
        });
        level.run(Norm {
            gain: &params[block.gain2.clone()],
            bias: &params[block.bias2.clone()],
            u,
            hat: part_mut(&mut kept.norm2.hat, from, rows * q),
            inverse: part_mut(&mut kept.norm2.inverse, from, rows),
            y: part_mut(&mut kept.s, to, rows * q),
        });
    }

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
        self.level.run(Products {
            matrix: Matrix::affine(&params[output.clone()], p.state()).transposed(),
            start: Start::Constant(0.0),
            finish: Finish::Sum,
            from: g_out,
            width: p.outputs,
            to: &mut scratch.g[..],
            height: p.state(),
        });
        outer_product(
            self.level,
            &mut acc[output],
            Target::affine(p.state()),
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
        let mut norm = |gain: &std::ops::Range<usize>, normed: &Normed, g: &mut [Lane]| {
            // Gain and bias are neighbours.
            let (acc_gain, acc_bias) = acc[gain.start..gain.end + q].split_at_mut(q);
            level.run(NormBackward {
                gain: &params[gain.clone()],
                hat: part(&normed.hat, t, rows * q),
                inverse: part(&normed.inverse, t, rows),
                g,
                acc_gain,
                acc_bias,
            });
        };
        norm(&block.gain2, &kept.norm2, g);
        let (h, y) = (part(&kept.h, t, rows * r), part(&kept.y, t, rows * q));
        let units = &params[block.units.clone()];
        level.run(Products {
            matrix: Matrix::outgoing(units, q).transposed(),
            start: Start::Constant(0.0),
            finish: Finish::Where(h),
            from: g,
            width: q,
            to: a,
            height: r,
        });
        level.run(Products {
            matrix: Matrix::incoming(units, q).transposed(),
            start: Start::Rows(g),
            finish: Finish::Sum,
            from: a,
            width: r,
            to: u,
            height: q,
        });
        norm(&block.gain1, &kept.norm1, u);
        let out = &params[block.out.clone()];
        level.run(Products {
            matrix: Matrix::affine(out, q).transposed(),
            start: Start::Constant(0.0),
            finish: Finish::Sum,
            from: u,
            width: q,
            to: g_o,
            height: q,
        });
        level.run(AttentionBackward {
            n,
            q,
            qkv: part(&kept.qkv, t, rows * 3 * q),
            p: part(&kept.p, t, rows * n),
            g_o,
            g_qkv,
            g_logits,
        });
        let add = |acc: &mut [Lane], target, left: &[Lane], rows, right: &[Lane]| {
            let (left, right) = (Factor::new(left, rows), Factor::new(right, q));
            outer_product(level, acc, target, left, right);
        };
        let acc_units = &mut acc[block.units.clone()];
        add(acc_units, Target::outgoing(q), h, r, g);
        add(acc_units, Target::incoming(q), a, r, y);
        level.run(SumRows {
            acc: &mut acc[block.b2.clone()],
            rows: g,
        });
        let o = part(&kept.o, t, rows * q);
        add(&mut acc[block.out.clone()], Target::affine(q), u, q, o);
        let s = part(&kept.s, t, rows * q);
        add(
            &mut acc[block.qkv.clone()],
            Target::affine(q),
            g_qkv,
            3 * q,
            s,
        );
        level.run(Products {
            matrix: Matrix::affine(&params[block.qkv.clone()], q).transposed(),
            start: Start::Rows(u),
            finish: Finish::Sum,
            from: g_qkv,
            width: 3 * q,
            to: g,
            height: q,
        });
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
