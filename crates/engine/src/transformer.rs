//! The post-LN Transformer over lanes of samples (paper Section 3.2).
//!
//! A strip's state is `N` rows of `q` lines: data tokens, controller, two references. Every
//! step but attention treats all rows of all strips alike, so that they are simply rows:
//!
//! - [`pack`]: where each coefficient lies;
//! - [`forward`], [`backward`]: a block as a sequence of steps, and back;
//! - [`norm`]: layer normalisation, forward and back;
//! - [`behind`]: what is behind attention, back, in one kernel for short rows;
//! - [`attention`]: softmax attention between the tokens of a sample, forward and back;
//! - [`row`]: one sample at a time, tokens across lanes, for low latency;
//! - affine maps are [`crate::products`], their gradients sums of [`crate::outer`] products.
//!
//! Per sample, sums have one order. Over samples, lane sums take groups of strips in turn, in
//! each of them iterations from last to first and rows in ascending order, and the lanes
//! last, in one tree. Nothing about the machine enters, so the bits are the same everywhere.

/// Runs the kernel `$body` with the constant `$Q`, the length of a row, where that has up to eight numbers, or `$general`.
macro_rules! with_row_length {
    ($level:expr, $q:expr, |$Q:ident| $body:expr, $general:expr) => {
        with_row_length!(@ $level, $q, $Q, $body, $general, 1 2 3 4 5 6 7 8)
    };
    (@ $level:expr, $q:expr, $Q:ident, $body:expr, $general:expr, $($value:literal)*) => {
        match ($level.registers(), $q) {
            $((Some(level), $value) => { const $Q: usize = $value; level.lanewise($body) })*
            _ => $general,
        }
    };
}

mod attention;
mod backward;
mod behind;
mod forward;
mod norm;
pub(crate) mod pack;
mod row;

pub(crate) use row::RowPredictor;

use loopfit_numerics::lanes::{Lane, Level};
use pack::Packing;

/// Bytes of activations kept at once: a core's share of a common third-level cache. Smaller groups
/// that fit the second level lose more by short runs of rows than they gain (docs/benchmarks.md).
const CACHE_BYTES: usize = 4 * 1024 * 1024;

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

    /// The states `S_0..S_T`, each `[strip][N q]`.
    pub(crate) fn states(&self, len: usize) -> Vec<&[Lane]> {
        self.s.chunks_exact(len).collect()
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
    lanes: Lanes,
}

impl Transformer {
    pub(crate) fn new(packing: Packing, level: Level) -> Self {
        Self {
            packing,
            level,
            lanes: Lanes::Samples,
        }
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
}
