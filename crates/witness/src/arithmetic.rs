//! The arithmetic that a block runs in: exact, floats of any precision, `f64` or `f32`.

use crate::rational::Rational;
use std::fmt::{Debug, Display, Formatter};

/// Numbers with the operations that a residual ReLU block needs.
///
/// One run of a block is generic over this trait, so that every arithmetic performs the same
/// operations in the same order and only rounding differs.
pub trait Arithmetic {
    /// The numbers.
    type Number: Clone + PartialEq + Debug;

    /// The number that stands for an exact one: itself, or the nearest.
    fn number(&self, exact: &Rational) -> Self::Number;

    /// The exact value; nothing where an overflow has left no number.
    fn exact(&self, number: &Self::Number) -> Option<Rational>;

    /// `a + b`.
    fn add(&self, a: &Self::Number, b: &Self::Number) -> Self::Number;

    /// `a b`.
    fn multiply(&self, a: &Self::Number, b: &Self::Number) -> Self::Number;

    /// Whether a number is above zero.
    fn is_positive(&self, number: &Self::Number) -> bool;

    /// A float within a relative `2^-50`, exactly zero for zero alone, or NaN.
    fn approximate(&self, number: &Self::Number) -> f64;

    /// The relative error of one operation at most: zero for an exact arithmetic.
    fn roundoff(&self) -> f64;
}

/// Rational numbers: nothing is ever rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact;

impl Arithmetic for Exact {
    type Number = Rational;

    fn number(&self, exact: &Rational) -> Rational {
        exact.clone()
    }

    fn exact(&self, number: &Rational) -> Option<Rational> {
        Some(number.clone())
    }

    fn add(&self, a: &Rational, b: &Rational) -> Rational {
        a + b
    }

    fn multiply(&self, a: &Rational, b: &Rational) -> Rational {
        a * b
    }

    fn is_positive(&self, number: &Rational) -> bool {
        number.is_positive()
    }

    fn approximate(&self, number: &Rational) -> f64 {
        number.approximate()
    }

    fn roundoff(&self) -> f64 {
        0.0
    }
}

/// Binary floats with a mantissa of any length and no bound on the exponent; rounding to
/// nearest, halves to even. A number is the dyadic rational that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigFloat {
    bits: usize,
}

impl BigFloat {
    /// Floats with this many mantissa bits, at least two.
    pub fn new(bits: usize) -> Self {
        Self { bits: bits.max(2) }
    }

    /// The bits of the mantissa.
    pub fn bits(self) -> usize {
        self.bits
    }
}

impl Arithmetic for BigFloat {
    type Number = Rational;

    fn number(&self, exact: &Rational) -> Rational {
        exact.nearest(self.bits)
    }

    fn exact(&self, number: &Rational) -> Option<Rational> {
        Some(number.clone())
    }

    fn add(&self, a: &Rational, b: &Rational) -> Rational {
        (a + b).nearest(self.bits)
    }

    fn multiply(&self, a: &Rational, b: &Rational) -> Rational {
        (a * b).nearest(self.bits)
    }

    fn is_positive(&self, number: &Rational) -> bool {
        number.is_positive()
    }

    fn approximate(&self, number: &Rational) -> f64 {
        number.approximate()
    }

    fn roundoff(&self) -> f64 {
        Rational::power_of_two(-(self.bits.min(1000) as i64)).to_f64()
    }
}

/// The floats of the hardware with 53 mantissa bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F64;

/// The floats of the hardware with 24 mantissa bits, in which model files are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F32;

/// One of the arithmetics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticKind {
    /// [`Exact`].
    Exact,
    /// [`F64`].
    F64,
    /// [`F32`].
    F32,
    /// [`BigFloat`] with so many mantissa bits.
    Bits(usize),
}

impl Display for ArithmeticKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact => f.write_str("exact rationals"),
            Self::F64 => f.write_str("f64"),
            Self::F32 => f.write_str("f32"),
            Self::Bits(bits) => write!(f, "floats of {bits} bits"),
        }
    }
}

macro_rules! hardware {
    ($($name:ident, $float:ty, $nearest:ident;)*) => {$(
        impl Arithmetic for $name {
            type Number = $float;

            fn number(&self, exact: &Rational) -> $float {
                exact.$nearest()
            }

            fn exact(&self, number: &$float) -> Option<Rational> {
                Rational::from_f64(f64::from(*number))
            }

            fn add(&self, a: &$float, b: &$float) -> $float {
                a + b
            }

            fn multiply(&self, a: &$float, b: &$float) -> $float {
                a * b
            }

            fn is_positive(&self, number: &$float) -> bool {
                *number > 0.0
            }

            // No shortcut: computing in hardware costs no more than looking ahead.
            fn approximate(&self, _number: &$float) -> f64 {
                f64::NAN
            }

            fn roundoff(&self) -> f64 {
                f64::from(<$float>::EPSILON)
            }
        }
    )*};
}

hardware! {
    F64, f64, to_f64;
    F32, f32, to_f32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Floats of 53 and 24 bits are the hardware's as long as nothing is subnormal.
        #[test]
        fn big_floats_are_ieee(a in -1e6f64..1e6, b in -1e6f64..1e6) {
            let exact = |x: f64| Rational::from_f64(x).unwrap();
            let float = BigFloat::new(53);
            let (x, y) = (float.number(&exact(a)), float.number(&exact(b)));
            prop_assert_eq!(float.exact(&float.add(&x, &y)), Some(exact(a + b)));
            prop_assert_eq!(float.exact(&float.multiply(&x, &y)), Some(exact(a * b)));
            let short = BigFloat::new(24);
            let (a, b) = (a as f32, b as f32);
            let (x, y) = (short.number(&exact(a.into())), short.number(&exact(b.into())));
            prop_assert_eq!(short.exact(&short.add(&x, &y)), Some(exact((a + b).into())));
            prop_assert_eq!(short.exact(&short.multiply(&x, &y)), Some(exact((a * b).into())));
        }
    }

    #[test]
    fn overflow_leaves_no_number() {
        assert_eq!(F64.exact(&f64::INFINITY), None);
        assert_eq!(F32.exact(&f32::NAN), None);
    }
}
