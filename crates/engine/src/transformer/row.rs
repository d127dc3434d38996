//! One sample at a time: tokens across lanes, sixteen to a line. What treats rows alike runs
//! as in batches, and attention reads the other tokens from the lanes.

use super::pack::Packing;
use super::{Activations, Lanes, Transformer};
use loopfit_numerics::lanes::{Kernel, LANES, Lane, Level, Simd};

/// A Transformer with its coefficients and room for one sample.
#[derive(Clone, Debug)]
pub(crate) struct RowPredictor {
    transformer: Transformer,
    params: Vec<f32>,
    kept: Activations,
    lines: usize,
}

impl RowPredictor {
    pub(crate) fn new(packing: Packing, level: Level, params: Vec<f32>) -> Self {
        let lines = packing.n.div_ceil(LANES);
        let mut kept = Activations::default();
        kept.reserve(&packing, lines, 1);
        let transformer = Transformer {
            lanes: Lanes::Tokens,
            ..Transformer::new(packing, level)
        };
        Self {
            transformer,
            params,
            kept,
            lines,
        }
    }

    /// Outputs for one row, before clipping.
    pub(crate) fn predict(&mut self, x: &[f32], out: &mut [f32]) {
        let p = &self.transformer.packing;
        let place = |token: usize, k: usize| (token / LANES * p.q + k, token % LANES);
        let mut rows = &self.params[..];
        for (token, inputs) in p.partition.iter().enumerate() {
            for k in 0..p.q {
                let (row, rest) = rows.split_at(inputs.len() + 1);
                let terms = row.iter().zip(inputs);
                let value = terms.fold(row[inputs.len()], |sum, (w, i)| sum + w * x[*i]);
                let (line, lane) = place(token, k);
                self.kept.s[line].0[lane] = value;
                rows = rest;
            }
        }
        for (i, value) in self.params[p.constants()].iter().enumerate() {
            let (line, lane) = place(p.partition.len() + i / p.q, i % p.q);
            self.kept.s[line].0[lane] = *value;
        }
        for t in 0..p.iterations {
            let block = p.block_at(t);
            let (transformer, kept) = (&self.transformer, &mut self.kept);
            transformer.block(&block, &self.params, self.lines, kept, 0, 0);
        }
        let rows = self.params[p.output()].chunks_exact(p.state() + 1);
        for (row, out) in rows.zip(out) {
            *out = row[p.state()];
            for (i, w) in row[..p.state()].iter().enumerate() {
                let (line, lane) = place(i / p.q, i % p.q);
                *out += w * self.kept.s[line].0[lane];
            }
        }
    }
}

/// As [`super::attention::Attention`], the tokens of one sample across lanes: `qkv` has lines
/// `[line][3q]`, `p` has `[line][N]` and `o` has `[line][q]`.
pub(super) struct TokenAttention<'a> {
    pub(super) n: usize,
    pub(super) q: usize,
    pub(super) qkv: &'a [Lane],
    pub(super) p: &'a mut [Lane],
    pub(super) o: &'a mut [Lane],
}

impl Kernel for TokenAttention<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (n, q) = (self.n, self.q);
        let scale = s.splat(1.0 / (q as f32).sqrt());
        let lines = self
            .qkv
            .chunks_exact(3 * q)
            .zip(self.p.chunks_exact_mut(n))
            .zip(self.o.chunks_exact_mut(q));
        for ((own, p), o) in lines {
            for (token, logit) in p.iter_mut().enumerate() {
                let key = &self.qkv[token / LANES * 3 * q + q..][..q];
                let mut sum = s.splat(0.0);
                for (query, key) in own[..q].iter().zip(key) {
                    sum = s.fma(s.load(query), s.splat(key.0[token % LANES]), sum);
                }
                s.store(logit, sum);
            }
            super::attention::softmax(s, p, n, scale);
            for (k, o) in o.iter_mut().enumerate() {
                let mut sum = s.splat(0.0);
                for (token, p) in p.iter().enumerate() {
                    let value = &self.qkv[token / LANES * 3 * q + 2 * q + k];
                    sum = s.fma(s.load(p), s.splat(value.0[token % LANES]), sum);
                }
                s.store(o, sum);
            }
        }
    }
}
