//! A residual FFN over octets of rows: its outputs, and the derivative of any combination of them in
//! every coefficient, row by row.
// Plain indices: several arrays are walked together, and the loops must stay simple enough for vectors.
#![allow(clippy::needless_range_loop)]

use crate::octet::Octet;
use loopfit_model::{Activation, Form, Network, Reduced, Tying};

/// Lines of a [`Column`] that lie side by side.
pub(crate) const LINES: usize = 4;

/// Where the tensors of a network lie, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Tape {
    sizes: Reduced,
    /// All outputs; those that the sizes do not count are zero.
    outputs: usize,
    activation: Activation,
    tying: Tying,
    lift: usize,
    blocks: Vec<Block>,
    output: usize,
    extra: usize,
    bias: usize,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    reads: usize,
    w1: usize,
    b1: usize,
    w2: usize,
    b2: Option<usize>,
}

/// What the forward pass leaves behind for one octet of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// States, `[t][q]`.
    z: Vec<Octet>,
    /// Hidden values, `[t][r]`.
    h: Vec<Octet>,
    /// Derivatives of the hidden values in their preactivations, `[t][r]`.
    s: Vec<Octet>,
    /// Outputs.
    pub(crate) out: Vec<Octet>,
    /// Gradient of the state, on the way back.
    g: Vec<Octet>,
    next: Vec<Octet>,
}

/// One column of a matrix whose lines come four by four: lines `4 b..4 b + 4` of column `at` are
/// `lines[b * stride + at]`.
#[derive(Debug)]
pub(crate) struct Column<'a> {
    pub(crate) lines: &'a mut [[Octet; LINES]],
    pub(crate) stride: usize,
    pub(crate) at: usize,
    /// The line of each coefficient.
    pub(crate) line: &'a [usize],
}

impl Column<'_> {
    /// What belongs to a coefficient.
    #[inline(always)]
    pub(crate) fn at(&mut self, i: usize) -> &mut Octet {
        let line = self.line[i];
        &mut self.lines[line / LINES * self.stride + self.at][line % LINES]
    }
}

impl Tape {
    /// Prepares a network that is not in the paper's form.
    pub(crate) fn new(network: &Network) -> Self {
        let sizes = Reduced::of(network).expect("a reduced form");
        let layout = network.layout();
        let place = |name: String| layout.get(&name).map(|view| view.offset);
        let blocks = match network.form() {
            Form::Affine => Vec::new(),
            _ => (0..network.tying().blocks())
                .map(|i| {
                    let tensor = |part: &str| place(format!("block.{i}.{part}"));
                    Block {
                        reads: sizes.reads(network.tying(), i),
                        w1: tensor("w1").expect("a matrix"),
                        b1: tensor("b1").expect("a bias"),
                        w2: tensor("w2").expect("a matrix"),
                        b2: tensor("b2"),
                    }
                })
                .collect(),
        };
        Self {
            sizes,
            outputs: network.outputs(),
            activation: network.activation(),
            tying: network.tying(),
            lift: place("input.weight".into()).unwrap_or(0),
            blocks,
            output: place("output.weight".into()).unwrap_or(0),
            extra: place("output.extra".into()).unwrap_or(0),
            bias: place("output.bias".into()).expect("a bias"),
            len: network.count(),
        }
    }

    /// Number of coefficients.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    fn iterations(&self) -> usize {
        if self.blocks.is_empty() {
            0
        } else {
            self.tying.iterations()
        }
    }

    fn block_at(&self, t: usize) -> Block {
        self.blocks[self.tying.block_at(t)]
    }

    /// Whether it is an affine function of all inputs.
    pub(crate) fn is_affine(&self) -> bool {
        self.blocks.is_empty() && self.sizes.carried == self.sizes.d
    }

    /// Multiply-adds of the outputs of one row.
    pub(crate) fn work(&self) -> f64 {
        let Reduced {
            d,
            q,
            r,
            carried,
            written,
            outputs,
            ..
        } = self.sizes;
        let block = r * (q + written + 8);
        (carried * (d - carried) + self.iterations() * block + outputs * q) as f64
    }

    /// Outputs of an octet of rows, `x` one octet for each input.
    #[inline(always)]
    pub(crate) fn forward(&self, theta: &[f64], x: &[Octet], trace: &mut Trace) {
        let Reduced {
            d,
            q,
            r,
            carried,
            written,
            read,
            outputs,
        } = self.sizes;
        let steps = self.iterations();
        trace.z.resize((steps + 1) * q, Octet::ZERO);
        trace.h.resize(steps * r, Octet::ZERO);
        trace.s.resize(steps * r, Octet::ZERO);
        // Scratch may have served a larger network.
        trace.out.clear();
        trace.out.resize(self.outputs, Octet::ZERO);
        let free = d - carried;
        for k in 0..q {
            trace.z[k] = if k < carried { x[k] } else { Octet::ZERO };
        }
        for k in 0..carried {
            let row = &theta[self.lift + k * free..][..free];
            let mut sum = trace.z[k];
            for (w, x) in row.iter().zip(&x[carried..]) {
                sum = Octet::splat(*w).fma(*x, sum);
            }
            trace.z[k] = sum;
        }
        for t in 0..steps {
            let block = self.block_at(t);
            let (before, after) = trace.z.split_at_mut((t + 1) * q);
            let (z, next) = (&before[t * q..], &mut after[..q]);
            next.copy_from_slice(z);
            let h = &mut trace.h[t * r..][..r];
            let s = &mut trace.s[t * r..][..r];
            for j in 0..r {
                let mut u = Octet::splat(theta[block.b1 + j]);
                let row = &theta[block.w1 + j * block.reads..][..block.reads];
                for (w, z) in row.iter().zip(z) {
                    u = Octet::splat(*w).fma(*z, u);
                }
                (h[j], s[j]) = u.activate(self.activation);
            }
            for k in 0..written {
                let mut sum = next[q - written + k];
                if let Some(b2) = block.b2 {
                    sum += Octet::splat(theta[b2 + k]);
                }
                let row = &theta[block.w2 + k * r..][..r];
                for (w, h) in row.iter().zip(&*h) {
                    sum = Octet::splat(*w).fma(*h, sum);
                }
                next[q - written + k] = sum;
            }
        }
        let z = &trace.z[steps * q..];
        for c in 0..outputs {
            let mut sum = Octet::splat(theta[self.bias + c]);
            let row = &theta[self.output + c * read..][..read];
            for (w, z) in row.iter().zip(z) {
                sum = Octet::splat(*w).fma(*z, sum);
            }
            if read < q {
                match c.checked_sub(written) {
                    None => sum += z[read + c],
                    Some(beyond) => {
                        let row = &theta[self.extra + beyond * written..][..written];
                        for (w, z) in row.iter().zip(&z[read..]) {
                            sum = Octet::splat(*w).fma(*z, sum);
                        }
                    }
                }
            }
            trace.out[c] = sum;
        }
    }

    /// The derivative of `sum_c seed_c out_c` in every coefficient, after [`Tape::forward`].
    #[inline(always)]
    pub(crate) fn backward(
        &self,
        theta: &[f64],
        x: &[Octet],
        trace: &mut Trace,
        seed: &[Octet],
        to: &mut Column<'_>,
    ) {
        let Reduced {
            d,
            q,
            r,
            carried,
            written,
            read,
            outputs,
        } = self.sizes;
        let steps = self.iterations();
        let Trace {
            z, h, s, g, next, ..
        } = trace;
        g.clear();
        g.resize(q, Octet::ZERO);
        next.resize(q, Octet::ZERO);
        let last = &z[steps * q..];
        for c in 0..outputs {
            let e = seed[c];
            *to.at(self.bias + c) = e;
            for k in 0..read {
                let at = self.output + c * read + k;
                g[k] = Octet::splat(theta[at]).fma(e, g[k]);
                *to.at(at) = e * last[k];
            }
            if read < q {
                match c.checked_sub(written) {
                    None => g[read + c] += e,
                    Some(beyond) => {
                        for k in 0..written {
                            let at = self.extra + beyond * written + k;
                            g[read + k] = Octet::splat(theta[at]).fma(e, g[read + k]);
                            *to.at(at) = e * last[read + k];
                        }
                    }
                }
            }
        }
        for block in &self.blocks {
            for i in block.w1..block.w1 + r * block.reads {
                *to.at(i) = Octet::ZERO;
            }
            for i in block.b1..block.b1 + r {
                *to.at(i) = Octet::ZERO;
            }
            for i in block.w2..block.w2 + written * r {
                *to.at(i) = Octet::ZERO;
            }
            if let Some(b2) = block.b2 {
                for i in b2..b2 + written {
                    *to.at(i) = Octet::ZERO;
                }
            }
        }
        for t in (0..steps).rev() {
            let block = self.block_at(t);
            let (z, h, s) = (&z[t * q..][..q], &h[t * r..][..r], &s[t * r..][..r]);
            next.copy_from_slice(g);
            if let Some(b2) = block.b2 {
                for k in 0..written {
                    *to.at(b2 + k) += g[q - written + k];
                }
            }
            for j in 0..r {
                let mut e = Octet::ZERO;
                for k in 0..written {
                    let at = block.w2 + k * r + j;
                    let g = g[q - written + k];
                    e = Octet::splat(theta[at]).fma(g, e);
                    *to.at(at) = g.fma(h[j], *to.at(at));
                }
                let e = e * s[j];
                *to.at(block.b1 + j) += e;
                for k in 0..block.reads {
                    let at = block.w1 + j * block.reads + k;
                    *to.at(at) = e.fma(z[k], *to.at(at));
                    next[k] = Octet::splat(theta[at]).fma(e, next[k]);
                }
            }
            std::mem::swap(g, next);
        }
        let free = d - carried;
        for k in 0..carried {
            for i in 0..free {
                *to.at(self.lift + k * free + i) = g[k] * x[carried + i];
            }
        }
    }
}
