//! The function that a network computes, in plain `f64`, straight from the paper.
//!
//! Nothing here is fast. It is what the engine's kernels, the growth rules and the
//! exported programs are tested against.

use crate::activation::Activation;
use crate::architecture::Architecture;
use crate::form::{Form, Slot};
use crate::layout::Layout;
use crate::network::Network;
use crate::parameters::Parameters;
use loopfit_numerics::libm;
use loopfit_numerics::special::log_sum_exp;

/// The fixed stabiliser `eps_LN` of layer normalisation.
pub const LAYER_NORM_STABILISER: f64 = 1e-5;

/// The outputs at `x`, before clipping.
///
/// # Formula
/// `O(Phi_T(... Phi_1(E(x))))`. FFN: `E` and `O` affine,
/// `Phi(z) = z + W2 s(W1 z + b1) + b2` with the ReLU or another activation `s`. Transformer: row `j <= M` of the state is
/// `A_j x_{I_j} + a_j`, then the controller and the two references;
/// `Y = LN1{S + Attn(S)}`, `Phi(S) = LN2{Y + FFN(Y)}`; `O` is affine on `vec(S)`, which
/// stacks the rows.
///
/// # Reference
/// Section 3.2.
///
/// # Panics
/// If `x` has not `d` entries.
pub fn forward(parameters: &Parameters, x: &[f64]) -> Vec<f64> {
    let values: Vec<f64> = parameters.values().iter().map(|&v| f64::from(v)).collect();
    forward_values(parameters.network(), &values, x)
}

/// As [`forward`], with coefficients of twice the precision: for finite differences.
///
/// # Panics
/// If `x` has not `d` entries or `values` are not as many as the network counts.
pub fn forward_values(network: &Network, values: &[f64], x: &[f64]) -> Vec<f64> {
    assert_eq!(x.len(), network.d(), "as many inputs as the network has");
    assert_eq!(values.len(), network.count(), "as many values as it counts");
    if network.form() != Form::Paper {
        let values: Vec<f64> = network
            .slots()
            .into_iter()
            .map(|slot| match slot {
                Slot::Free(i) => values[i],
                Slot::Fixed(value) => f64::from(value),
            })
            .collect();
        return forward_values(&network.to_paper(), &values, x);
    }
    let layout = network.layout();
    let tensors = Tensors {
        layout: &layout,
        values,
    };
    match network.architecture() {
        Architecture::Ffn => ffn(network, tensors, x),
        Architecture::Transformer { partition } => transformer(network, partition, tensors, x),
    }
}

fn ffn(network: &Network, tensors: Tensors<'_>, x: &[f64]) -> Vec<f64> {
    let blocks: Vec<_> = (0..network.tying().blocks())
        .map(|i| Feedforward::new(tensors, i, network.activation()))
        .collect();
    let mut z = tensors.affine("input.weight", "input.bias").apply(x);
    for iteration in 0..network.tying().iterations() {
        z = blocks[network.tying().block_at(iteration)].residual(&z);
    }
    tensors.affine("output.weight", "output.bias").apply(&z)
}

fn transformer(
    network: &Network,
    partition: &[Vec<usize>],
    tensors: Tensors<'_>,
    x: &[f64],
) -> Vec<f64> {
    let blocks: Vec<_> = (0..network.tying().blocks())
        .map(|i| PostLnBlock::new(tensors, i))
        .collect();
    let data = partition.iter().enumerate().map(|(j, inputs)| {
        let local: Vec<f64> = inputs.iter().map(|&i| x[i]).collect();
        let (weight, bias) = (format!("input.{j}.weight"), format!("input.{j}.bias"));
        tensors.affine(&weight, &bias).apply(&local)
    });
    let constant =
        ["controller", "reference.0", "reference.1"].map(|name| tensors.get(name).to_vec());
    let mut state: Vec<Vec<f64>> = data.chain(constant).collect();
    for iteration in 0..network.tying().iterations() {
        state = blocks[network.tying().block_at(iteration)].apply(&state);
    }
    tensors
        .affine("output.weight", "output.bias")
        .apply(&state.concat())
}

#[derive(Clone, Copy)]
struct Tensors<'a> {
    layout: &'a Layout,
    values: &'a [f64],
}

impl<'a> Tensors<'a> {
    fn get(self, name: &str) -> &'a [f64] {
        let view = self.layout.get(name).expect("a tensor of the architecture");
        &self.values[view.range()]
    }

    fn affine(self, weight: &str, bias: &str) -> Affine<'a> {
        Affine {
            weight: self.get(weight),
            bias: self.get(bias),
        }
    }
}

struct Affine<'a> {
    weight: &'a [f64],
    bias: &'a [f64],
}

impl Affine<'_> {
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.weight.chunks_exact(x.len());
        rows.zip(self.bias)
            .map(|(row, b)| dot(row, x) + b)
            .collect()
    }
}

struct Feedforward<'a> {
    inner: Affine<'a>,
    outer: Affine<'a>,
    activation: Activation,
}

impl<'a> Feedforward<'a> {
    fn new(tensors: Tensors<'a>, i: usize, activation: Activation) -> Self {
        Self {
            inner: tensors.affine(&format!("block.{i}.w1"), &format!("block.{i}.b1")),
            outer: tensors.affine(&format!("block.{i}.w2"), &format!("block.{i}.b2")),
            activation,
        }
    }

    /// `z + W2 s(W1 z + b1) + b2`
    fn residual(&self, z: &[f64]) -> Vec<f64> {
        let preactivations = self.inner.apply(z);
        let hidden: Vec<f64> = preactivations
            .iter()
            .map(|u| self.activation.value(*u))
            .collect();
        add(z, &self.outer.apply(&hidden))
    }
}

struct LayerNorm<'a> {
    gain: &'a [f64],
    bias: &'a [f64],
}

impl<'a> LayerNorm<'a> {
    fn new(tensors: Tensors<'a>, name: &str) -> Self {
        Self {
            gain: tensors.get(&format!("{name}.gain")),
            bias: tensors.get(&format!("{name}.bias")),
        }
    }

    /// `gain * P z / s(z) + bias`, with `P z = z - mean(z)` and
    /// `s(z) = {|P z|^2 / q + eps_LN}^{1/2}` (Section C.6, Step 1).
    fn apply(&self, z: &[f64]) -> Vec<f64> {
        let q = z.len() as f64;
        let mean = z.iter().sum::<f64>() / q;
        let centred: Vec<f64> = z.iter().map(|v| v - mean).collect();
        let s = (dot(&centred, &centred) / q + LAYER_NORM_STABILISER).sqrt();
        let scaled = centred.iter().zip(self.gain).map(|(c, g)| g * c / s);
        scaled.zip(self.bias).map(|(v, b)| v + b).collect()
    }
}

struct PostLnBlock<'a> {
    query: Affine<'a>,
    key: Affine<'a>,
    value: Affine<'a>,
    out: Affine<'a>,
    norm1: LayerNorm<'a>,
    feedforward: Feedforward<'a>,
    norm2: LayerNorm<'a>,
}

impl<'a> PostLnBlock<'a> {
    fn new(tensors: Tensors<'a>, i: usize) -> Self {
        let projection = |p: &str| {
            tensors.affine(
                &format!("block.{i}.{p}.weight"),
                &format!("block.{i}.{p}.bias"),
            )
        };
        Self {
            query: projection("query"),
            key: projection("key"),
            value: projection("value"),
            out: projection("out"),
            norm1: LayerNorm::new(tensors, &format!("block.{i}.ln1")),
            feedforward: Feedforward::new(tensors, i, Activation::Relu),
            norm2: LayerNorm::new(tensors, &format!("block.{i}.ln2")),
        }
    }

    fn apply(&self, state: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let attended = self.attention(state);
        let rows = state.iter().zip(&attended);
        rows.map(|(s, a)| {
            let y = self.norm1.apply(&add(s, a));
            self.norm2.apply(&self.feedforward.residual(&y))
        })
        .collect()
    }

    /// `out(softmax(Q K^T / sqrt(q)) V)`, the softmax row by row.
    fn attention(&self, state: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let project =
            |p: &Affine<'_>| -> Vec<Vec<f64>> { state.iter().map(|s| p.apply(s)).collect() };
        let (keys, values) = (project(&self.key), project(&self.value));
        let attend = |query: Vec<f64>| {
            let q = query.len();
            let scale = 1.0 / (q as f64).sqrt();
            let logits: Vec<f64> = keys.iter().map(|key| dot(&query, key) * scale).collect();
            let normaliser = log_sum_exp(&logits);
            let mut average = vec![0.0; q];
            for (logit, value) in logits.iter().zip(&values) {
                let weight = libm::exp(logit - normaliser);
                for (a, v) in average.iter_mut().zip(value) {
                    *a += weight * v;
                }
            }
            self.out.apply(&average)
        };
        project(&self.query).into_iter().map(attend).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[cfg(test)]
mod tests;
