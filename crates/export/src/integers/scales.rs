//! Which power of two stands for what: so that every number has as many bits as its range allows.

use super::arithmetic::{Integers, Layer, WAVE_BITS, Width, exp2, table, total};
use super::layers::{self, Layers, Ranges};
use loopfit_model::Activation;

/// Ranges are widened by this factor, for rows that are not among those looked at.
const MARGIN: f64 = 1.125;
const ROUNDS: usize = 3;
/// Values have at least so many bits.
const LEAST_BITS: i32 = 15;
/// A weight may multiply by at most two to this power from the unit of a value to that of its sum.
const GAIN: i32 = 3;

/// A network of integers that is rounded to the nearest, and what was rounded.
pub(crate) struct Scaled {
    pub(crate) integers: Integers,
    /// Weights and biases in the order of [`Layers::add`], in units of their integers.
    pub(crate) exact: Vec<f64>,
    /// Those units.
    pub(crate) units: Vec<f64>,
    /// Whether weights have as many bits as they can.
    full: bool,
}

/// Integers for a network whose inputs are at most `inputs` in size and whose numbers have been in `ranges`: with as many bits of values
/// as leave weights all of theirs.
pub(crate) fn scaled(
    network: &Layers,
    ranges: &Ranges,
    inputs: f64,
    clip: f64,
    width: Width,
) -> Scaled {
    let with = |value_bits: i32| with_bits(network, ranges, inputs, clip, width, value_bits);
    let most = width.most_bits();
    let found = (LEAST_BITS..=most).rev().map(with).find(|found| found.full);
    found.unwrap_or_else(|| with(LEAST_BITS))
}

fn with_bits(
    network: &Layers,
    ranges: &Ranges,
    inputs: f64,
    clip: f64,
    width: Width,
    value_bits: i32,
) -> Scaled {
    let (input, blocks, output) = network.parts();
    let input_bits = value_bits - exponent(inputs);
    let d = vec![input_bits; input.columns];
    // No more bits than the range allows, and than weights that gain bits have.
    let bits = |layer: &layers::Layer, k: usize, from: &[i32], seen: f64| {
        let range = seen.max(layer.biases[k].abs()) * MARGIN;
        let terms = layer.row(k).iter().zip(from);
        let gains = terms.map(|(w, from)| from - exponent(w.abs()) + GAIN);
        gains.fold(value_bits - exponent(range), i32::min)
    };
    let seen = ranges.state.iter();
    let mut state: Vec<i32> = seen
        .map(|range| value_bits - exponent(range * MARGIN))
        .collect();
    let (mut arguments, mut hidden, mut argument_bits) = (Vec::new(), Vec::new(), 0);
    // The one's scale depends on the other's; after two rounds little changes, and nothing that would not fit.
    for _ in 0..ROUNDS {
        let firsts = blocks.iter().step_by(2).zip(&ranges.arguments);
        let own = firsts.map(|(first, seen)| {
            let each = seen.iter().enumerate();
            each.map(|(j, seen)| bits(first, j, &state, *seen))
                .collect()
        });
        let own: Vec<Vec<i32>> = own.collect();
        // ReLU units may each have their own scale; others share that of their table.
        let common = own.iter().flatten().min().copied().unwrap_or(3);
        argument_bits = common.clamp(3, value_bits);
        (arguments, hidden) = match network.activation {
            Activation::Relu => (own.clone(), own),
            Activation::Silu => (all(&own, argument_bits), all(&own, argument_bits)),
            Activation::Tanh | Activation::Sine => (all(&own, argument_bits), all(&own, WAVE_BITS)),
        };
        state = (0..input.rows)
            .map(|k| {
                let seconds = blocks.iter().skip(1).step_by(2).zip(&hidden);
                let most = seconds.map(|(second, hidden)| bits(second, k, hidden, 0.0));
                most.fold(bits(input, k, &d, ranges.state[k]), i32::min)
            })
            .collect();
    }
    let outputs = (0..output.rows).map(|k| bits(output, k, &state, ranges.outputs));
    let output_bits = outputs.min().unwrap_or(value_bits);
    let mut scaled = Scaled {
        integers: Integers {
            width,
            activation: network.activation,
            iterations: network.iterations,
            value_bits,
            layers: Vec::new(),
            input_bits,
            output_bits,
            argument_bits,
            clip: (clip * exp2(output_bits)).min(exp2(value_bits) - 1.0) as i32,
            table: table(network.activation),
        },
        exact: Vec::new(),
        units: Vec::new(),
        full: true,
    };
    scaled.push(input, &d, &state);
    for (pair, (arguments, hidden)) in blocks.chunks_exact(2).zip(arguments.iter().zip(&hidden)) {
        scaled.push(&pair[0], &state, arguments);
        scaled.push(&pair[1], hidden, &state);
    }
    scaled.push(output, &state, &vec![output_bits; output.rows]);
    scaled
}

impl Scaled {
    /// A layer from values of some bits to values of others.
    fn push(&mut self, layer: &layers::Layer, from: &[i32], to: &[i32]) {
        let width = self.integers.width;
        let (mut exact, mut units) = (Vec::new(), Vec::new());
        let mut shifts = Vec::new();
        for (k, to) in to.iter().enumerate() {
            let factors = from.iter().map(|from| exp2(to - from));
            let row: Vec<f64> = layer
                .row(k)
                .iter()
                .zip(factors)
                .map(|(w, f)| w * f)
                .collect();
            let largest = row.iter().fold(0.0_f64, |most, w| most.max(w.abs()));
            let total: f64 = row.iter().map(|w| w.abs()).sum();
            // Rounding and error feedback need some room as well.
            let most = 0.9 * self.integers.row_limit() as f64;
            let low = width.low_bits() as i32;
            let by = |fits: &dyn Fn(f64) -> bool| {
                let shift = (low..=low + 29).rev().find(|shift| fits(exp2(*shift)));
                shift.unwrap_or(low)
            };
            let own = by(&|unit| largest * unit <= f64::from(width.weight()));
            let shift = own.min(by(&|unit| total * unit <= most));
            self.full &= shift == own;
            exact.extend(row.iter().map(|w| w * exp2(shift)));
            units.extend(from.iter().map(|from| exp2(from - to - shift)));
            shifts.push((shift - low) as u32);
        }
        let (most_bias, bias) = self.integers.bias();
        let biases = layer.biases.iter().zip(to);
        exact.extend(biases.map(|(b, to)| b * exp2(*to) / f64::from(bias)));
        units.extend(to.iter().map(|to| f64::from(bias) * exp2(-to)));
        let integer = |most: i32| move |v: &f64| (v.round() as i32).clamp(-most, most);
        let (weights, biases) = exact.split_at(layer.rows * layer.columns);
        let mut weights: Vec<i32> = weights.iter().map(integer(width.weight())).collect();
        for row in weights.chunks_mut(layer.columns.max(1)) {
            // What no shift makes fit is made to: sums must not overflow.
            while total(row) > self.integers.row_limit() {
                row.iter_mut().for_each(|w| *w /= 2);
            }
        }
        self.integers.layers.push(Layer {
            rows: layer.rows,
            columns: layer.columns,
            weights,
            biases: biases.iter().map(integer(most_bias)).collect(),
            shifts,
        });
        self.exact.extend(exact);
        self.units.extend(units);
    }
}

fn all(like: &[Vec<i32>], bits: i32) -> Vec<Vec<i32>> {
    like.iter().map(|block| vec![bits; block.len()]).collect()
}

/// The least `n` with `range <= 2^n`, within what numbers of a fitted model can ask for.
fn exponent(range: f64) -> i32 {
    let range = range.clamp(1e-9, 1e9);
    (-30..=30).find(|n| range <= exp2(*n)).unwrap_or(30)
}
