//! The network in 64 bits, layer by layer: what integers are measured by.

use super::arithmetic::{activated_by, table};
use crate::description::{Kind, Network};
use loopfit_model::Activation;
use loopfit_numerics::libm;

/// An affine map, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) weights: Vec<f64>,
    pub(crate) biases: Vec<f64>,
}

/// A residual FFN: the input function, `W1` and `W2` of each block, the output function.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    pub(crate) activation: Activation,
    pub(crate) iterations: usize,
    pub(crate) layers: Vec<Layer>,
    /// Where the activation is interpolated; empty if it is exact.
    pub(crate) table: Vec<i16>,
}

/// The largest size that each number had.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    /// Of each coordinate of the state, whatever the iteration.
    pub(crate) state: Vec<f64>,
    /// Of each unit's argument, block by block.
    pub(crate) arguments: Vec<Vec<f64>>,
    /// Of all outputs.
    pub(crate) outputs: f64,
}

impl Layer {
    fn zeros(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            weights: vec![0.0; rows * columns],
            biases: vec![0.0; rows],
        }
    }

    /// Of rows that are each followed by their bias.
    fn new(rows: usize, columns: usize, numbers: &[f32]) -> Self {
        let mut layer = Self::zeros(rows, columns);
        for (k, row) in numbers.chunks_exact(columns + 1).enumerate() {
            for (to, from) in layer.weights[k * columns..].iter_mut().zip(&row[..columns]) {
                *to = f64::from(*from);
            }
            layer.biases[k] = f64::from(row[columns]);
        }
        layer
    }

    pub(crate) fn row(&self, k: usize) -> &[f64] {
        &self.weights[k * self.columns..][..self.columns]
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        for (k, to) in y.iter_mut().enumerate() {
            let terms = self.row(k).iter().zip(x);
            *to = terms.fold(self.biases[k], |sum, (w, x)| w * x + sum);
        }
    }

    fn numbers(&self) -> usize {
        self.weights.len() + self.biases.len()
    }

    fn number_mut(&mut self, i: usize) -> Option<&mut f64> {
        let weights = self.weights.len();
        match i < weights {
            true => self.weights.get_mut(i),
            false => self.biases.get_mut(i - weights),
        }
    }
}

impl Layers {
    /// Of a residual FFN or an affine function; none of a Transformer. Arguments of sines are in turns.
    pub(crate) fn new(network: &Network) -> Option<Self> {
        let Kind::Ffn { activation } = network.kind else {
            return None;
        };
        let (d, q, r) = (network.d, network.q, network.r);
        let mut layers = vec![Layer::new(q, d, &network.input)];
        for block in &network.blocks {
            let (mut first, mut second) = (Layer::zeros(r, q), Layer::zeros(q, r));
            let (units, biases) = block.split_at(r * (2 * q + 1));
            for (j, unit) in units.chunks_exact(2 * q + 1).enumerate() {
                for k in 0..q {
                    first.weights[j * q + k] = f64::from(unit[k]);
                    second.weights[k * r + j] = f64::from(unit[q + 1 + k]);
                }
                first.biases[j] = f64::from(unit[q]);
            }
            for (to, from) in second.biases.iter_mut().zip(biases) {
                *to = f64::from(*from);
            }
            if activation == Activation::Sine {
                let numbers = first.weights.iter_mut().chain(&mut first.biases);
                numbers.for_each(|w| *w /= std::f64::consts::TAU);
            }
            layers.extend([first, second]);
        }
        layers.push(Layer::new(network.outputs, q, &network.output));
        Some(Self {
            activation,
            iterations: network.iterations,
            layers,
            table: Vec::new(),
        })
    }

    /// The same with activations from the tables that integers have.
    pub(crate) fn tabulated(&self) -> Self {
        Self {
            table: table(self.activation),
            ..self.clone()
        }
    }

    /// How many numbers there are.
    pub(crate) fn numbers(&self) -> usize {
        self.layers.iter().map(Layer::numbers).sum()
    }

    /// Adds to a number by its place: layer after layer, each with its weights and then its biases.
    pub(crate) fn add(&mut self, mut place: usize, step: f64) {
        for layer in &mut self.layers {
            if place < layer.numbers() {
                if let Some(number) = layer.number_mut(place) {
                    *number += step;
                }
                return;
            }
            place -= layer.numbers();
        }
    }

    /// The blocks' layers, and the first and the last layer.
    pub(crate) fn parts(&self) -> (&Layer, &[Layer], &Layer) {
        let last = self.layers.len() - 1;
        (&self.layers[0], &self.layers[1..last], &self.layers[last])
    }

    /// Outputs of a row after all iterations; `seen` is told the state and the arguments of units with their block as they arise.
    fn run(&self, x: &[f64], mut seen: impl FnMut(&[f64], Option<(usize, &[f64])>)) -> Vec<f64> {
        let (input, blocks, output) = self.parts();
        let mut z = vec![0.0; input.rows];
        input.apply(x, &mut z);
        seen(&z, None);
        let pairs: Vec<&[Layer]> = blocks.chunks_exact(2).collect();
        let mut step = vec![0.0; z.len()];
        for t in 0..self.iterations {
            let own = if pairs.len() > 1 { t } else { 0 };
            let Some([first, second]) = pairs.get(own) else {
                break;
            };
            let mut h = vec![0.0; first.rows];
            first.apply(&z, &mut h);
            seen(&z, Some((own, &h)));
            h.iter_mut().for_each(|u| *u = self.activated(*u));
            second.apply(&h, &mut step);
            z.iter_mut().zip(&step).for_each(|(z, step)| *z += step);
            seen(&z, None);
        }
        let mut f = vec![0.0; output.rows];
        output.apply(&z, &mut f);
        f
    }

    fn activated(&self, u: f64) -> f64 {
        if !self.table.is_empty() {
            return activated_by(self.activation, &self.table, u);
        }
        match self.activation {
            Activation::Relu => u.max(0.0),
            Activation::Tanh => libm::tanh(u),
            Activation::Silu => u / (1.0 + libm::exp(-u)),
            Activation::Sine => libm::sin(std::f64::consts::TAU * u),
        }
    }

    /// Outputs of rows, one after the other.
    pub(crate) fn outputs(&self, x: &[f64]) -> Vec<f64> {
        let rows = x.chunks_exact(self.parts().0.columns);
        rows.flat_map(|row| self.run(row, |_, _| ())).collect()
    }

    /// How large numbers become on rows.
    pub(crate) fn ranges(&self, x: &[f64]) -> Ranges {
        let (input, blocks, _) = self.parts();
        let mut state = vec![0.0_f64; input.rows];
        let firsts = blocks.iter().step_by(2);
        let mut arguments: Vec<Vec<f64>> = firsts.map(|first| vec![0.0; first.rows]).collect();
        let raise = |largest: &mut [f64], values: &[f64]| {
            let pairs = largest.iter_mut().zip(values);
            pairs.for_each(|(most, v)| *most = most.max(v.abs()));
        };
        let mut outputs = 0.0_f64;
        for row in x.chunks_exact(input.columns) {
            let f = self.run(row, |z, units| match units {
                None => raise(&mut state, z),
                Some((block, u)) => raise(&mut arguments[block], u),
            });
            outputs = f.iter().fold(outputs, |most, v| most.max(v.abs()));
        }
        Ranges {
            state,
            arguments,
            outputs,
        }
    }
}
