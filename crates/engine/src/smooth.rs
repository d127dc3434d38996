//! Smooth hidden units over lanes: values and derivatives from preactivations.
//!
//! The ReLU is part of the kernels, which see its derivative in its value. A smooth unit's
//! derivative is computed beside its value and waits where the gradient of its preactivation will
//! stand, which the backward pass multiplies it by.

use loopfit_model::Activation;
use loopfit_numerics::lanes::{Lane, Lanewise, Simd};

/// Turns preactivations into values, in place, and writes the derivatives to `slopes`, unless
/// that is empty.
pub(crate) struct Activate<'a> {
    pub(crate) activation: Activation,
    pub(crate) values: &'a mut [Lane],
    pub(crate) slopes: &'a mut [Lane],
}

impl Lanewise for Activate<'_> {
    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, _: usize) {
        let Self {
            activation,
            values,
            slopes,
        } = self;
        let activation = *activation;
        if slopes.is_empty() {
            return run_activation(s, activation, values);
        }
        assert_eq!(values.len(), slopes.len(), "a slope for each value");
        let lines = values.iter_mut().zip(slopes.iter_mut());
        match activation {
            Activation::Relu => unreachable!("the kernels do it themselves"),
            Activation::Tanh => {
                for (value, slope) in lines {
                    let y = s.tanh(s.load(value));
                    let minus = s.sub(s.splat(0.0), y);
                    s.store(value, y);
                    s.store(slope, s.fma(minus, y, s.splat(1.0)));
                }
            }
            Activation::Silu => {
                for (value, slope) in lines {
                    let u = s.load(value);
                    let sigmoid = s.sigmoid(u);
                    let y = silu(s, u, sigmoid);
                    // The derivative is 1 where the other sigmoid is zero: infinity times zero is not.
                    let held = s.min(s.splat(HELD), y);
                    let other = s.sub(s.splat(1.0), sigmoid);
                    s.store(value, y);
                    s.store(slope, s.fma(held, other, sigmoid));
                }
            }
            Activation::Sine => {
                for (value, slope) in lines {
                    let (sin, cos) = s.sin_cos(s.load(value));
                    s.store(value, sin);
                    s.store(slope, cos);
                }
            }
        }
    }
}

/// Values alone.
#[inline(always)]
pub(crate) fn run_activation<S: Simd>(s: S, activation: Activation, values: &mut [Lane]) {
    match activation {
        Activation::Relu => unreachable!("the kernels do it themselves"),
        Activation::Tanh => {
            for value in values {
                let u = s.load(value);
                s.store(value, s.tanh(u));
            }
        }
        Activation::Silu => {
            for value in values {
                let u = s.load(value);
                s.store(value, silu(s, u, s.sigmoid(u)));
            }
        }
        Activation::Sine => {
            for value in values {
                let u = s.load(value);
                s.store(value, s.sin(u));
            }
        }
    }
}

/// Where the sigmoid of a negative number underflows, and beyond which that of a positive one is 1.
const HELD: f32 = 88.0;

/// `u` times its sigmoid.
#[inline(always)]
fn silu<S: Simd>(s: S, u: S::V, sigmoid: S::V) -> S::V {
    // The sigmoid never reaches zero, but a very negative `u` times it must.
    s.mul(s.max(s.splat(-HELD), u), sigmoid)
}
