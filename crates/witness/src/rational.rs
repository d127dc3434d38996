//! Exact rational numbers, fast where the constructions are: on dyadic values.

use dashu_int::ops::{BitTest, DivRem, Gcd, UnsignedAbs};
use dashu_int::{IBig, Sign, UBig};
use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};

mod text;

/// An exact rational number.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    \frac{n\, 2^e}{o}, \qquad n \text{ and } o \ge 1 \text{ odd and coprime, or } (n, e, o) = (0, 0, 1)
")]
///
/// # Why not a plain fraction
/// A code of Section D.1.1 is dyadic and thousands of bits long, and every step shifts it and adds
/// to it. Over a common denominator each addition would end in a greatest common divisor of two
/// numbers of that length; here a power of two is a count, and the only divisor that is ever
/// sought is one of the short odd denominator (of the input, of `1/3`, of `1/M_Tay`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rational {
    numerator: IBig,
    exponent: i64,
    odd: UBig,
}

/// Beyond these magnitudes [`Rational::approximate`] has no answer; products of two numbers
/// inside stay far from overflow and underflow.
const APPROXIMATED: std::ops::RangeInclusive<i64> = -400..=400;

impl Rational {
    /// Zero.
    pub const ZERO: Self = Self {
        numerator: IBig::ZERO,
        exponent: 0,
        odd: UBig::ONE,
    };

    /// One.
    pub const ONE: Self = Self {
        numerator: IBig::ONE,
        exponent: 0,
        odd: UBig::ONE,
    };

    /// `numerator / denominator`.
    ///
    /// # Panics
    /// If the denominator is zero.
    pub fn new(numerator: impl Into<IBig>, denominator: impl Into<UBig>) -> Self {
        let denominator = denominator.into();
        let twos = denominator.trailing_zeros().expect("a denominator above 0");
        Self::reduced(
            numerator.into(),
            -(twos as i64),
            denominator >> twos,
            Reduction::Divide,
        )
    }

    /// `2^exponent`.
    pub fn power_of_two(exponent: i64) -> Self {
        Self {
            exponent,
            ..Self::ONE
        }
    }

    /// The number that a float is; nothing for infinities and NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let (biased, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        let (mantissa, exponent) = match biased {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, biased as i64 - 1075),
        };
        let magnitude = IBig::from(mantissa);
        let numerator = if value < 0.0 { -magnitude } else { magnitude };
        Some(Self::reduced(
            numerator,
            exponent,
            UBig::ONE,
            Reduction::Coprime,
        ))
    }

    /// `mantissa * 2^exponent`.
    pub(crate) fn dyadic(mantissa: IBig, exponent: i64) -> Self {
        Self::reduced(mantissa, exponent, UBig::ONE, Reduction::Coprime)
    }

    /// The canonical form of `numerator 2^exponent / odd`.
    fn reduced(mut numerator: IBig, exponent: i64, mut odd: UBig, reduction: Reduction) -> Self {
        let Some(twos) = numerator.trailing_zeros() else {
            return Self::ZERO;
        };
        if twos > 0 {
            numerator >>= twos;
        }
        if reduction == Reduction::Divide && !odd.is_one() {
            // The remainder first: the denominator is short where the numerator is long.
            let remainder = (&numerator).unsigned_abs() % &odd;
            let divisor = match remainder.is_zero() {
                true => odd.clone(),
                false => remainder.gcd(&odd),
            };
            if !divisor.is_one() {
                numerator /= IBig::from(divisor.clone());
                odd /= divisor;
            }
        }
        Self {
            numerator,
            exponent: exponent + twos as i64,
            odd,
        }
    }

    /// The numerator `p` of `p/q` in lowest terms.
    pub fn numerator(&self) -> IBig {
        &self.numerator << usize::try_from(self.exponent).unwrap_or(0)
    }

    /// The denominator `q >= 1` of `p/q` in lowest terms.
    pub fn denominator(&self) -> UBig {
        &self.odd << usize::try_from(-self.exponent).unwrap_or(0)
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    /// Whether this is above zero.
    pub fn is_positive(&self) -> bool {
        !self.is_zero() && self.numerator.sign() == Sign::Positive
    }

    /// Whether this is below zero.
    pub fn is_negative(&self) -> bool {
        self.numerator.sign() == Sign::Negative
    }

    /// The magnitude.
    pub fn abs(&self) -> Self {
        if self.is_negative() {
            -self
        } else {
            self.clone()
        }
    }

    /// `max(self, 0)`.
    pub fn relu(&self) -> Self {
        if self.is_positive() {
            self.clone()
        } else {
            Self::ZERO
        }
    }

    /// The nearest number in `[-bound, bound]`.
    pub fn clip(&self, bound: &Self) -> Self {
        if self.abs() <= *bound {
            self.clone()
        } else if self.is_negative() {
            -bound
        } else {
            bound.clone()
        }
    }

    /// `1 / self`, nothing for zero.
    pub fn reciprocal(&self) -> Option<Self> {
        if self.is_zero() {
            return None;
        }
        Some(Self {
            numerator: IBig::from_parts(self.numerator.sign(), self.odd.clone()),
            exponent: -self.exponent,
            odd: (&self.numerator).unsigned_abs(),
        })
    }

    /// `self * 2^exponent`.
    pub fn scaled(&self, exponent: i64) -> Self {
        if self.is_zero() {
            return Self::ZERO;
        }
        Self {
            exponent: self.exponent + exponent,
            ..self.clone()
        }
    }

    /// The largest integer that is not above.
    pub fn floor(&self) -> IBig {
        let (quotient, remainder) = self.numerator().div_rem(IBig::from(self.denominator()));
        if remainder.sign() == Sign::Negative {
            quotient - IBig::ONE
        } else {
            quotient
        }
    }

    /// The smallest integer that is not below.
    pub fn ceil(&self) -> IBig {
        -(-self).floor()
    }

    /// The nearest `mantissa * 2^exponent` with a mantissa of at most `bits` bits and an exponent
    /// of at least `least`; halves go to even mantissas.
    pub(crate) fn rounded(&self, bits: usize, least: i64) -> (IBig, i64) {
        if self.is_zero() {
            return (IBig::ZERO, 0);
        }
        let magnitude = (&self.numerator).unsigned_abs();
        let size = magnitude.bit_len() as i64 - self.odd.bit_len() as i64 + self.exponent;
        // The magnitude is in (2^(size - 1), 2^(size + 1)): one more try at the most.
        let mut exponent = (size - bits as i64).max(least);
        if self.odd.is_one() && magnitude.bit_len() <= bits && self.exponent >= least {
            return (self.numerator.clone(), self.exponent);
        }
        loop {
            let shift = self.exponent - exponent;
            let (up, down) = (shift.max(0) as usize, (-shift).max(0) as usize);
            let (mut quotient, rest) = if self.odd.is_one() {
                (&magnitude >> down, compared_with_half(&magnitude, down))
            } else {
                let divisor = &self.odd << down;
                let (quotient, remainder) = (&magnitude << up).div_rem(&divisor);
                (quotient, (remainder << 1usize).cmp(&divisor))
            };
            if quotient.bit_len() > bits {
                exponent += 1;
                continue;
            }
            if rest == Ordering::Greater || (rest == Ordering::Equal && quotient.bit(0)) {
                quotient += UBig::ONE;
            }
            return (IBig::from_parts(self.numerator.sign(), quotient), exponent);
        }
    }

    /// The nearest dyadic number whose mantissa has at most `bits` bits, halves to even.
    pub fn nearest(&self, bits: usize) -> Self {
        let (mantissa, exponent) = self.rounded(bits, i64::MIN / 4);
        Self::dyadic(mantissa, exponent)
    }

    /// The nearest `f64`, halves to even; infinite beyond the largest.
    pub fn to_f64(&self) -> f64 {
        let (mantissa, exponent) = self.rounded(53, -1074);
        // A mantissa of 53 bits is a float; two exact products reach the ends of the range.
        let exponent = exponent.clamp(-2000, 2000) as i32;
        let half = exponent / 2;
        mantissa.to_f64().value() * power_of_two(half) * power_of_two(exponent - half)
    }

    /// The nearest `f32`, halves to even; infinite beyond the largest.
    pub fn to_f32(&self) -> f32 {
        let (mantissa, exponent) = self.rounded(24, -149);
        (mantissa.to_f64().value() * power_of_two(exponent.clamp(-1000, 900) as i32)) as f32
    }

    /// A float within a relative `2^-50`, exactly zero for zero alone; NaN for magnitudes beyond
    /// `2^+-400`. Much cheaper than [`Rational::to_f64`] for long numbers.
    pub fn approximate(&self) -> f64 {
        if self.is_zero() {
            return 0.0;
        }
        let (sign, words) = self.numerator.as_sign_words();
        let (top, above) = leading(words);
        let (bottom, below) = leading(self.odd.as_words());
        let exponent = self.exponent + above - below;
        let quotient = top / bottom;
        // Both leading parts have up to 128 bits.
        if !APPROXIMATED.contains(&(exponent + 128)) || !APPROXIMATED.contains(&(exponent - 128)) {
            return f64::NAN;
        }
        let magnitude = quotient * power_of_two(exponent as i32);
        match sign {
            Sign::Positive => magnitude,
            Sign::Negative => -magnitude,
        }
    }
}

/// How the last `places` bits of an odd number compare with half of `2^places`.
fn compared_with_half(odd: &UBig, places: usize) -> Ordering {
    match places.checked_sub(1).map(|top| odd.bit(top)) {
        Some(true) if places == 1 => Ordering::Equal,
        Some(true) => Ordering::Greater,
        _ => Ordering::Less,
    }
}

/// Whether numerator and denominator may have a common divisor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reduction {
    Divide,
    Coprime,
}

/// The two leading words as a float, and the exponent of what follows them.
fn leading(words: &[dashu_int::Word]) -> (f64, i64) {
    let word = f64::from_bits((1023 + u64::from(dashu_int::Word::BITS)) << 52);
    match words {
        [] => (0.0, 0),
        [only] => (*only as f64, 0),
        [rest @ .., low, high] => (
            *high as f64 * word + *low as f64,
            rest.len() as i64 * i64::from(dashu_int::Word::BITS),
        ),
    }
}

/// `2^exponent` in the range of normal numbers, zero below and infinity above.
fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        ..=-1023 => 0.0,
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        _ => f64::INFINITY,
    }
}

impl From<i64> for Rational {
    fn from(value: i64) -> Self {
        Self::dyadic(IBig::from(value), 0)
    }
}

impl From<IBig> for Rational {
    fn from(value: IBig) -> Self {
        Self::dyadic(value, 0)
    }
}

fn sum(a: &Rational, b: &Rational) -> Rational {
    if a.is_zero() {
        return b.clone();
    }
    if b.is_zero() {
        return a.clone();
    }
    let exponent = a.exponent.min(b.exponent);
    let aligned = |z: &Rational| &z.numerator << (z.exponent - exponent) as usize;
    if a.odd == b.odd {
        return Rational::reduced(
            aligned(a) + aligned(b),
            exponent,
            a.odd.clone(),
            Reduction::Divide,
        );
    }
    let common = (&a.odd).gcd(&b.odd);
    let (a_rest, b_rest) = (&a.odd / &common, &b.odd / &common);
    let numerator = aligned(a) * IBig::from(b_rest.clone()) + aligned(b) * IBig::from(a_rest);
    Rational::reduced(numerator, exponent, &a.odd * b_rest, Reduction::Divide)
}

fn product(a: &Rational, b: &Rational) -> Rational {
    let dyadic = a.odd.is_one() && b.odd.is_one();
    let reduction = if dyadic {
        Reduction::Coprime
    } else {
        Reduction::Divide
    };
    Rational::reduced(
        &a.numerator * &b.numerator,
        a.exponent + b.exponent,
        &a.odd * &b.odd,
        reduction,
    )
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $function:expr;)*) => {$(
        impl $trait<&Rational> for &Rational {
            type Output = Rational;
            fn $method(self, other: &Rational) -> Rational {
                $function(self, other)
            }
        }
        impl $trait<Rational> for Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational {
                $function(&self, &other)
            }
        }
        impl $trait<&Rational> for Rational {
            type Output = Rational;
            fn $method(self, other: &Rational) -> Rational {
                $function(&self, other)
            }
        }
        impl $trait<Rational> for &Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational {
                $function(self, &other)
            }
        }
    )*};
}

operators! {
    Add, add, sum;
    Sub, sub, |a: &Rational, b: &Rational| sum(a, &-b);
    Mul, mul, product;
}

impl Neg for Rational {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            numerator: -self.numerator,
            ..self
        }
    }
}

impl Neg for &Rational {
    type Output = Rational;

    fn neg(self) -> Rational {
        -self.clone()
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        let difference = self - other;
        match (difference.is_zero(), difference.is_negative()) {
            (true, _) => Ordering::Equal,
            (_, true) => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
