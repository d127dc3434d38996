//! Networks of integers, with the bits of the C that is written: shifts round down, and half of the divisor is added before.

use crate::description::Network as Description;
use loopfit_model::Activation;
use loopfit_numerics::libm;
use loopfit_numerics::named::Named;

/// How wide weights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Weights of 8 bits, biases of 16; inputs and state of 32, of which at most 21 are used.
    Eight,
    /// Weights of 16 bits, biases of 32; inputs and state of 32, of which 23 are used.
    Sixteen,
}

impl Named for Width {
    const ALL: &'static [Self] = &[Self::Eight, Self::Sixteen];

    fn name(self) -> &'static str {
        match self {
            Self::Eight => "8",
            Self::Sixteen => "16",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Eight => "weights of 8 bits, biases of 16; inputs and state of 32",
            Self::Sixteen => "weights of 16 bits, biases of 32; inputs and state of 32",
        }
    }
}

impl Width {
    /// The largest weight.
    pub(crate) fn weight(self) -> i32 {
        match self {
            Self::Eight => 127,
            Self::Sixteen => 32767,
        }
    }

    /// Most bits of inputs, state and units, without the sign.
    pub(crate) fn most_bits(self) -> i32 {
        match self {
            Self::Eight => 20,
            Self::Sixteen => 22,
        }
    }

    /// Low bits of a value that are multiplied apart, so that products fit 32 bits.
    pub(crate) fn low_bits(self) -> u32 {
        match self {
            Self::Eight => 0,
            Self::Sixteen => 11,
        }
    }

    /// Bytes of a weight; of a bias they are twice as many.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Eight => 1,
            Self::Sixteen => 2,
        }
    }
}

/// An affine map: of each row the weighted sum, shifted to the right, and the bias.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) weights: Vec<i32>,
    pub(crate) biases: Vec<i32>,
    pub(crate) shifts: Vec<u32>,
}

/// A residual FFN or an affine function in integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers {
    pub(crate) width: Width,
    pub(crate) activation: Activation,
    pub(crate) iterations: usize,
    /// Bits of inputs, state and units, without the sign.
    pub(crate) value_bits: i32,
    /// The input function, `W1` and `W2` of each block, the output function.
    pub(crate) layers: Vec<Layer>,
    /// A model input is `x / 2^input_bits`.
    pub(crate) input_bits: i32,
    /// An output is `f / 2^output_bits`.
    pub(crate) output_bits: i32,
    /// An argument of a unit that is not ReLU is `u / 2^argument_bits`, of a sine in turns.
    pub(crate) argument_bits: i32,
    /// Outputs are held to `[-clip, clip]`.
    pub(crate) clip: i32,
    /// Where the activation is interpolated.
    pub(crate) table: Vec<i16>,
}

/// Positions in a table have this many bits behind the point.
const FRACTION: i32 = 12;

impl Layer {
    pub(crate) fn row(&self, k: usize) -> &[i32] {
        &self.weights[k * self.columns..][..self.columns]
    }

    fn apply(&self, low_bits: u32, bias: i32, k: usize, v: &[i32]) -> i32 {
        // The C has two sums of 32 bits here; together they are this one.
        let terms = self.row(k).iter().zip(v);
        let sum: i64 = terms.map(|(w, v)| i64::from(*w) * i64::from(*v)).sum();
        let sum = (sum >> low_bits) as i32;
        let shift = self.shifts[k];
        ((sum + ((1 << shift) >> 1)) >> shift) + bias * self.biases[k]
    }
}

/// What sizes of weights add up to.
pub(crate) fn total(row: &[i32]) -> i64 {
    row.iter().map(|w| i64::from(w.abs())).sum()
}

/// Room for the run of a network.
#[derive(Default)]
pub(crate) struct Room {
    z: Vec<i32>,
    h: Vec<i32>,
}

impl Integers {
    /// How wide weights are.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The largest value.
    pub(crate) fn limit(&self) -> i32 {
        (1 << self.value_bits) - 1
    }

    fn held(&self, v: i32) -> i32 {
        v.clamp(-self.limit(), self.limit())
    }

    /// What sizes of the weights of a row may add up to: sums then stay below `2^30`, whatever the values.
    pub(crate) fn row_limit(&self) -> i64 {
        1 << (30 - self.value_bits + self.width.low_bits() as i32)
    }

    /// The largest bias, and what one unit of it is in values.
    pub(crate) fn bias(&self) -> (i32, i32) {
        match self.width {
            Width::Eight => (32767, 1 << (self.value_bits - 15)),
            Width::Sixteen => (self.limit(), 1),
        }
    }

    /// Model inputs in fixed point, as the C reads them from floats.
    pub fn inputs(&self, x: &[f32]) -> Vec<i32> {
        let (unit, most) = (exp2(self.input_bits) as f32, self.limit() as f32);
        let number = |x: &f32| {
            let v = x * unit;
            let v = if v > -most { v.min(most) } else { -most };
            (v + if v < 0.0 { -0.5 } else { 0.5 }) as i32
        };
        x.iter().map(number).collect()
    }

    /// Outputs of model inputs, row after row, after some iterations, in fixed point.
    pub fn run(&self, x: &[i32], iterations: usize) -> Vec<i32> {
        let x: Vec<i32> = x.iter().map(|v| self.held(*v)).collect();
        let (columns, outputs) = (self.layers[0].columns, self.outputs());
        let (mut room, mut f) = (Room::default(), vec![0; x.len() / columns * outputs]);
        for (x, f) in x.chunks_exact(columns).zip(f.chunks_exact_mut(outputs)) {
            self.run_row(x, iterations, &mut room, f);
        }
        f
    }

    /// As [`FittedModel::predictor`](loopfit_fitted::FittedModel::predictor) does, from model inputs to outputs, in floats outside.
    pub fn predict(&self, x: &[f32]) -> Vec<f64> {
        let f = self.run(&self.inputs(x), self.iterations);
        self.values(&f)
    }

    /// Outputs as numbers.
    pub(crate) fn values(&self, f: &[i32]) -> Vec<f64> {
        let unit = exp2(-self.output_bits);
        f.iter().map(|f| f64::from(*f) * unit).collect()
    }

    pub(crate) fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.rows)
    }

    /// The first layer, the blocks', the last.
    pub(crate) fn parts(&self) -> (&Layer, &[Layer], &Layer) {
        let last = self.layers.len() - 1;
        (&self.layers[0], &self.layers[1..last], &self.layers[last])
    }

    pub(crate) fn run_row(&self, x: &[i32], iterations: usize, room: &mut Room, f: &mut [i32]) {
        let (low, bias) = (self.width.low_bits(), self.bias().1);
        let (input, blocks, output) = self.parts();
        let Room { z, h } = room;
        z.clear();
        z.extend((0..input.rows).map(|k| self.held(input.apply(low, bias, k, x))));
        for t in 0..iterations {
            let own = if blocks.len() > 2 { 2 * t } else { 0 };
            let [first, second] = [blocks.get(own), blocks.get(own + 1)];
            let (Some(first), Some(second)) = (first, second) else {
                break;
            };
            h.clear();
            h.extend((0..first.rows).map(|j| self.activated(first.apply(low, bias, j, z))));
            for (k, z) in z.iter_mut().enumerate() {
                *z = self.held(*z + second.apply(low, bias, k, h));
            }
        }
        for (k, f) in f.iter_mut().enumerate() {
            *f = output.apply(low, bias, k, z).clamp(-self.clip, self.clip);
        }
    }

    /// As the templates `relu`, `tanh`, `silu` and `sine` of C in integers do.
    fn activated(&self, u: i32) -> i32 {
        let bits = self.argument_bits;
        match self.activation {
            Activation::Relu => self.held(u.max(0)),
            Activation::Tanh => {
                let size = self.held(u).abs();
                let h = match size >> (bits + TANH_REACH) {
                    0 => self.interpolated(moved(size, STEPS + FRACTION - bits)),
                    _ => 32767,
                };
                if u < 0 { -h } else { h }
            }
            Activation::Silu => {
                let u = self.held(u);
                let size = u.abs();
                let below = match size >> (bits + SILU_REACH) {
                    0 => self.interpolated(moved(size, STEPS + FRACTION - bits)),
                    _ => 0,
                };
                u.max(0) - rounded(below, bits - SILU_BITS)
            }
            Activation::Sine => {
                let turn = (1 << bits) - 1;
                let phase = moved(u & turn, 2 + SINE_STEPS + FRACTION - bits);
                let quarter = 1 << (SINE_STEPS + FRACTION);
                let place = phase & (quarter - 1);
                let place = if phase & quarter == 0 {
                    place
                } else {
                    quarter - place
                };
                let h = self.interpolated(place);
                if phase & (2 * quarter) == 0 { h } else { -h }
            }
        }
    }

    /// Between numbers of the table, whose first stands for the place before the first interval.
    ///
    /// # Formula
    /// Bessel's to second order: `f_0 + t (f_1 - f_0) + t (t - 1) (f_-1 - f_0 - f_1 + f_2) / 4`.
    fn interpolated(&self, place: i32) -> i32 {
        let at = |k: i32| {
            let k = (place >> FRACTION) + k;
            i32::from(self.table[k as usize])
        };
        let t = place & ((1 << FRACTION) - 1);
        let curve = at(0) - at(1) - at(2) + at(3);
        let bend = (((t * (t - (1 << FRACTION))) >> 8) * curve) >> 6;
        at(1) + ((t * (at(2) - at(1)) + bend + (1 << (FRACTION - 1))) >> FRACTION)
    }
}

/// Tables have `2^STEPS` intervals to a unit.
const STEPS: i32 = 3;
/// `tanh` is 1 from `2^TANH_REACH`.
pub(crate) const TANH_REACH: i32 = 3;
/// What SiLU lacks to ReLU is 0 from `2^SILU_REACH`; it has `SILU_BITS` in the table.
pub(crate) const SILU_REACH: i32 = 4;
const SILU_BITS: i32 = 16;
/// A quarter of a turn has `2^SINE_STEPS` intervals.
const SINE_STEPS: i32 = 4;
/// Bits of `tanh` and sine.
pub(crate) const WAVE_BITS: i32 = 15;

/// The activation as integers have it, but for their rounding: `activated` without ends of bits.
pub(crate) fn activated_by(activation: Activation, table: &[i16], u: f64) -> f64 {
    let at = |place: f64, bits: i32| {
        let (k, t) = (place.floor(), place - place.floor());
        let f = |i: usize| f64::from(table[k as usize + i]);
        let bend = t * (t - 1.0) * (f(0) - f(1) - f(2) + f(3)) / 4.0;
        (f(1) + t * (f(2) - f(1)) + bend) * exp2(-bits)
    };
    let size = u.abs();
    match activation {
        Activation::Relu => u.max(0.0),
        Activation::Tanh if size >= exp2(TANH_REACH) => u.signum(),
        Activation::Tanh => u.signum() * at(size * exp2(STEPS), WAVE_BITS),
        Activation::Silu if size >= exp2(SILU_REACH) => u.max(0.0),
        Activation::Silu => u.max(0.0) - at(size * exp2(STEPS), SILU_BITS),
        Activation::Sine => {
            let phase = 4.0 * (u - u.floor());
            let quarter = phase - phase.floor();
            let (odd, negative) = (phase.floor() % 2.0 == 1.0, phase >= 2.0);
            let place = if odd { 1.0 - quarter } else { quarter };
            let h = at(place * exp2(SINE_STEPS), WAVE_BITS);
            if negative { -h } else { h }
        }
    }
}

/// Numbers of the activation's table, empty for ReLU.
pub(crate) fn table(activation: Activation) -> Vec<i16> {
    let (intervals, bits) = match activation {
        Activation::Relu => return Vec::new(),
        Activation::Tanh => (1 << (TANH_REACH + STEPS), WAVE_BITS),
        Activation::Silu => (1 << (SILU_REACH + STEPS), SILU_BITS),
        Activation::Sine => (1 << SINE_STEPS, WAVE_BITS),
    };
    let at = |k: i32| {
        let u = f64::from(k) * exp2(-STEPS);
        let v = match activation {
            Activation::Tanh => libm::tanh(u),
            Activation::Silu => u / (1.0 + libm::exp(u)),
            _ => libm::sin(f64::from(k) * std::f64::consts::FRAC_PI_2 * exp2(-SINE_STEPS)),
        };
        (v * exp2(bits)).round().clamp(-32767.0, 32767.0) as i16
    };
    // The sine is also read at the end of its last interval.
    let beyond = if activation == Activation::Sine { 2 } else { 1 };
    (-1..=intervals + beyond).map(at).collect()
}

/// What templates of the activation name, as macros of C.
pub(crate) fn constants(integers: &Integers) -> Vec<(&'static str, String)> {
    let bits = integers.argument_bits;
    let moved = |left: i32| match left >= 0 {
        true => format!("((v) << {left})"),
        false => format!("((v) >> {})", -left),
    };
    let along = ("MOVED(v)", moved(STEPS + FRACTION - bits));
    match integers.activation {
        Activation::Relu => vec![],
        Activation::Tanh => vec![("REACH", (bits + TANH_REACH).to_string()), along],
        Activation::Silu => {
            let left = bits - SILU_BITS;
            let less = match left >= 0 {
                true => moved(left),
                false => format!("(((v) + {}) >> {})", 1 << (-left - 1), -left),
            };
            vec![
                ("REACH", (bits + SILU_REACH).to_string()),
                along,
                ("LESS(v)", less),
            ]
        }
        Activation::Sine => vec![
            ("TURN", ((1 << bits) - 1).to_string()),
            ("MOVED(v)", moved(2 + SINE_STEPS + FRACTION - bits)),
        ],
    }
}

/// Bytes of its tables, and of the arrays of a prediction.
pub(crate) fn bytes(integers: &Integers, network: &Description) -> (usize, usize) {
    let width = integers.width.bytes();
    let layer = |l: &Layer| width * (l.weights.len() + 2 * l.biases.len()) + l.shifts.len();
    let tables = integers.layers.iter().map(layer).sum::<usize>() + 2 * integers.table.len();
    let units = if network.blocks.is_empty() {
        0
    } else {
        network.r
    };
    let stack = 4 * (network.d + network.q + units + network.outputs);
    (tables, stack)
}

fn moved(v: i32, left: i32) -> i32 {
    if left >= 0 { v << left } else { v >> -left }
}

fn rounded(v: i32, left: i32) -> i32 {
    if left >= 0 {
        v << left
    } else {
        (v + (1 << (-left - 1))) >> -left
    }
}

/// `2^n`, for `n` that a network can have.
pub(crate) fn exp2(n: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(n.clamp(-1000, 1000))) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Activations are near their functions wherever arguments can be.
    #[test]
    fn activations_are_near() {
        for activation in Activation::ALL {
            for width in [Width::Eight, Width::Sixteen] {
                for argument_bits in [3, 9, 12, 14, 18, 20] {
                    if argument_bits > width.most_bits() {
                        continue;
                    }
                    let integers = Integers {
                        width,
                        activation,
                        iterations: 1,
                        value_bits: width.most_bits(),
                        layers: vec![],
                        input_bits: 0,
                        output_bits: 0,
                        argument_bits,
                        clip: 0,
                        table: table(activation),
                    };
                    for i in -2000..=2000 {
                        let u = integers.limit() / 2000 * i;
                        let v = f64::from(u) * exp2(-argument_bits);
                        let h = f64::from(integers.activated(u));
                        let (found, expected) = match activation {
                            Activation::Relu => (h, f64::from(u.max(0))),
                            Activation::Tanh => (h * exp2(-15), v.tanh()),
                            Activation::Silu => (h * exp2(-argument_bits), v / (1.0 + (-v).exp())),
                            Activation::Sine => (h * exp2(-15), (std::f64::consts::TAU * v).sin()),
                        };
                        let coarse = match activation {
                            Activation::Silu => exp2(-argument_bits),
                            _ => 0.0,
                        };
                        assert!(
                            (found - expected).abs() < 1e-4 + coarse,
                            "{activation:?} {width:?} {argument_bits}: {v} gives {found}, not {expected}"
                        );
                    }
                }
            }
        }
    }
}
