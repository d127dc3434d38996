//! A residual FFN over octets of rows: its outputs, and the derivative of any combination of them in
//! every coefficient, row by row.
// Plain indices: several arrays are walked together, and the loops must stay simple enough for vectors.
#![allow(clippy::needless_range_loop)]

use crate::octet::Octet;
use loopfit_model::{Activation, Form, Network, Reduced, Tying};
use std::ops::Range;

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
    /// Gradient of the preactivations, on the way back.
    e: Vec<Octet>,
    /// Derivatives in the coefficients that are kept, in their order.
    pub(crate) gradient: Vec<Octet>,
}

/// A network with the values of some of its coefficients, by whose places its matrices are walked; all others are zero.
#[derive(Debug)]
pub(crate) struct Filled<'a> {
    tape: &'a Tape,
    /// The values, and the column of each in its matrix or vector.
    value: Vec<f64>,
    col: Vec<usize>,
    /// Which of them belong to each row of a matrix, or to a vector.
    lift: Vec<Range<usize>>,
    blocks: Vec<FilledBlock>,
    output: Vec<Range<usize>>,
    extra: Vec<Range<usize>>,
    bias: Range<usize>,
    /// All of the outputs' biases.
    biases: Vec<f64>,
}

#[derive(Debug)]
struct FilledBlock {
    w1: Vec<Range<usize>>,
    w2: Vec<Range<usize>>,
    b1: Range<usize>,
    b2: Range<usize>,
    /// All biases of the units and of what is written.
    biases: [Vec<f64>; 2],
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

    /// With these coefficients, of which those that are not zero are walked.
    pub(crate) fn filled(&self, theta: &[f64]) -> Filled<'_> {
        let kept: Vec<usize> = (0..self.len).filter(|i| theta[*i] != 0.0).collect();
        self.filled_at(theta, &kept)
    }

    /// With those of the coefficients that are kept, in ascending places; all others are zero.
    pub(crate) fn filled_at(&self, theta: &[f64], kept: &[usize]) -> Filled<'_> {
        let Reduced {
            d,
            r,
            carried,
            written,
            read,
            outputs,
            ..
        } = self.sizes;
        let mut col = vec![0; kept.len()];
        let mut vector = |offset: usize, len: usize| {
            let first = kept.partition_point(|i| *i < offset);
            let own = kept[first..].partition_point(|i| *i < offset + len);
            let own = first..first + own;
            own.clone().for_each(|i| col[i] = kept[i] - offset);
            own
        };
        let mut matrix = |offset: usize, rows: usize, cols: usize| -> Vec<Range<usize>> {
            let rows = 0..rows;
            rows.map(|row| vector(offset + row * cols, cols)).collect()
        };
        let lift = matrix(self.lift, carried, d - carried);
        let output = matrix(self.output, outputs, read);
        let beyond = match read < self.sizes.q {
            true => outputs.saturating_sub(written),
            false => 0,
        };
        let extra = matrix(self.extra, beyond, written);
        let matrices: Vec<[Vec<Range<usize>>; 2]> = self
            .blocks
            .iter()
            .map(|b| [matrix(b.w1, r, b.reads), matrix(b.w2, written, r)])
            .collect();
        let vectors: Vec<[Range<usize>; 2]> = self
            .blocks
            .iter()
            .map(|b| [vector(b.b1, r), b.b2.map_or(0..0, |b2| vector(b2, written))])
            .collect();
        let bias = vector(self.bias, outputs);
        let value: Vec<f64> = kept.iter().map(|i| theta[*i]).collect();
        let dense = |own: &Range<usize>, len: usize| {
            let mut all = vec![0.0; len];
            own.clone().for_each(|i| all[col[i]] = value[i]);
            all
        };
        let blocks = matrices.into_iter().zip(vectors);
        let blocks = blocks.map(|([w1, w2], [b1, b2])| FilledBlock {
            biases: [dense(&b1, r), dense(&b2, written)],
            w1,
            w2,
            b1,
            b2,
        });
        Filled {
            tape: self,
            blocks: blocks.collect(),
            biases: dense(&bias, outputs),
            value,
            col,
            lift,
            output,
            extra,
            bias,
        }
    }
}

impl Filled<'_> {
    /// The values and columns of a row.
    #[inline(always)]
    fn row(&self, own: &Range<usize>) -> (&[f64], &[usize]) {
        (&self.value[own.clone()], &self.col[own.clone()])
    }

    /// `sum + row . x`.
    #[inline(always)]
    fn product(&self, own: &Range<usize>, x: &[Octet], mut sum: Octet) -> Octet {
        let (values, cols) = self.row(own);
        for (w, col) in values.iter().zip(cols) {
            sum = Octet::splat(*w).fma(x[*col], sum);
        }
        sum
    }

    /// Outputs of an octet of rows, `x` one octet for each input.
    #[inline(always)]
    pub(crate) fn forward(&self, x: &[Octet], trace: &mut Trace) {
        let Reduced {
            q,
            r,
            carried,
            written,
            read,
            outputs,
            ..
        } = self.tape.sizes;
        let steps = self.tape.iterations();
        trace.z.resize((steps + 1) * q, Octet::ZERO);
        trace.h.resize(steps * r, Octet::ZERO);
        trace.s.resize(steps * r, Octet::ZERO);
        // Scratch may have served a larger network.
        trace.out.clear();
        trace.out.resize(self.tape.outputs, Octet::ZERO);
        for k in 0..q {
            trace.z[k] = match k < carried {
                true => self.product(&self.lift[k], &x[carried..], x[k]),
                false => Octet::ZERO,
            };
        }
        for t in 0..steps {
            let block = &self.blocks[self.tape.tying.block_at(t)];
            let (before, after) = trace.z.split_at_mut((t + 1) * q);
            let (z, next) = (&before[t * q..], &mut after[..q]);
            next.copy_from_slice(z);
            let h = &mut trace.h[t * r..][..r];
            let s = &mut trace.s[t * r..][..r];
            let [b1, b2] = &block.biases;
            for j in 0..r {
                let u = self.product(&block.w1[j], z, Octet::splat(b1[j]));
                (h[j], s[j]) = u.activate(self.tape.activation);
            }
            for (k, to) in next[q - written..].iter_mut().enumerate() {
                *to = self.product(&block.w2[k], h, *to + Octet::splat(b2[k]));
            }
        }
        let z = &trace.z[steps * q..];
        for c in 0..outputs {
            let mut sum = self.product(&self.output[c], z, Octet::splat(self.biases[c]));
            if read < q {
                sum = match c.checked_sub(written) {
                    None => sum + z[read + c],
                    Some(beyond) => self.product(&self.extra[beyond], &z[read..], sum),
                };
            }
            trace.out[c] = sum;
        }
    }

    /// The derivative of `sum_c seed_c out_c` in every coefficient that is kept, after [`Filled::forward`].
    #[inline(always)]
    pub(crate) fn backward(&self, x: &[Octet], trace: &mut Trace, seed: &[Octet]) {
        let Reduced {
            d,
            q,
            r,
            carried,
            written,
            read,
            outputs,
        } = self.tape.sizes;
        let steps = self.tape.iterations();
        let Trace {
            z,
            h,
            s,
            g,
            next,
            e,
            gradient,
            ..
        } = trace;
        for scratch in [&mut *g, &mut *next] {
            scratch.clear();
            scratch.resize(q, Octet::ZERO);
        }
        gradient.clear();
        gradient.resize(self.value.len(), Octet::ZERO);
        let last = &z[steps * q..];
        for i in self.bias.clone() {
            gradient[i] = seed[self.col[i]];
        }
        for c in 0..outputs {
            let own = seed[c];
            self.product_back(&self.output[c], last, own, g, gradient);
            if read < q {
                match c.checked_sub(written) {
                    None => g[read + c] += own,
                    Some(beyond) => {
                        let (z, g) = (&last[read..], &mut g[read..]);
                        self.product_back(&self.extra[beyond], z, own, g, gradient);
                    }
                }
            }
        }
        // The gradient of channels that are not written is for the lift alone.
        let of_channels = match d > carried {
            true => 0,
            false => q - written,
        };
        for t in (0..steps).rev() {
            let block = &self.blocks[self.tape.tying.block_at(t)];
            let (z, h, s) = (&z[t * q..][..q], &h[t * r..][..r], &s[t * r..][..r]);
            let of_written = &g[q - written..];
            for i in block.b2.clone() {
                gradient[i] += of_written[self.col[i]];
            }
            e.clear();
            e.resize(r, Octet::ZERO);
            for (own, g) in block.w2.iter().zip(of_written) {
                self.product_back(own, h, *g, e, gradient);
            }
            for (e, s) in e.iter_mut().zip(s) {
                *e = *e * *s;
            }
            for i in block.b1.clone() {
                gradient[i] += e[self.col[i]];
            }
            next.copy_from_slice(g);
            // Before the first update there is nothing but the lift.
            let from = if t == 0 && d == carried {
                q
            } else {
                of_channels
            };
            for (own, e) in block.w1.iter().zip(&*e) {
                let split = own.start + self.col[own.clone()].partition_point(|col| *col < from);
                for i in own.start..split {
                    gradient[i] = e.fma(z[self.col[i]], gradient[i]);
                }
                self.product_back(&(split..own.end), z, *e, next, gradient);
            }
            std::mem::swap(g, next);
        }
        for (own, g) in self.lift.iter().zip(&*g) {
            for i in own.clone() {
                gradient[i] = *g * x[carried + self.col[i]];
            }
        }
    }

    /// On the way back through `row . x`, whose own derivative is `g`: adds to those of `x` and of the row.
    #[inline(always)]
    fn product_back(
        &self,
        own: &Range<usize>,
        x: &[Octet],
        g: Octet,
        of_x: &mut [Octet],
        gradient: &mut [Octet],
    ) {
        let (values, cols) = self.row(own);
        let gradient = &mut gradient[own.clone()];
        for ((w, col), to) in values.iter().zip(cols).zip(gradient) {
            of_x[*col] = Octet::splat(*w).fma(g, of_x[*col]);
            *to = g.fma(x[*col], *to);
        }
    }
}
