//! What layer normalisation and attention need of an arithmetic beyond sums and products.

use crate::arithmetic::{Arithmetic, BigFloat, F32, F64};
use crate::rational::Rational;
use dashu_int::ops::{BitTest, DivRem, SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};
use loopfit_numerics::libm;

/// An arithmetic with quotients, square roots and the exponential function.
pub trait Real: Arithmetic {
    /// `a / b`, for `b` other than zero.
    fn divide(&self, a: &Self::Number, b: &Self::Number) -> Self::Number;

    /// The square root of a number that is not negative.
    fn square_root(&self, number: &Self::Number) -> Self::Number;

    /// The exponential function.
    fn exponential(&self, number: &Self::Number) -> Self::Number;

    /// `-a`.
    fn negate(&self, number: &Self::Number) -> Self::Number;

    /// Zero.
    fn zero(&self) -> Self::Number {
        self.number(&Rational::ZERO)
    }

    /// The sum, from the first term to the last.
    fn sum(&self, terms: impl IntoIterator<Item = Self::Number>) -> Self::Number {
        let terms = terms.into_iter();
        terms.fold(self.zero(), |sum, term| self.add(&sum, &term))
    }
}

/// Bits beyond the mantissa with which the exponential function is computed, besides one for each
/// squaring.
const GUARD: usize = 16;

impl Real for BigFloat {
    fn divide(&self, a: &Rational, b: &Rational) -> Rational {
        let ((p, p_exponent), (q, q_exponent)) = (mantissa(a), mantissa(b));
        assert!(!q.is_zero(), "a quotient has a divisor other than zero");
        // The quotient has `bits + 2` bits at least, and what was cut off leaves a last bit.
        let lengths = (&q).unsigned_abs().bit_len() + self.bits() + 3;
        let shift = lengths.saturating_sub((&p).unsigned_abs().bit_len());
        let (quotient, rest) = (p << shift).div_rem(q);
        let quotient = sticky(quotient, a.is_negative() != b.is_negative(), rest.is_zero());
        let exponent = p_exponent - q_exponent - shift as i64 - 1;
        Rational::dyadic(quotient, exponent).nearest(self.bits())
    }

    fn square_root(&self, number: &Rational) -> Rational {
        let (p, exponent) = mantissa(number);
        let p = UBig::try_from(p).expect("the square root of a negative number was asked for");
        let wanted = 2 * self.bits() + 4;
        let shift = wanted.saturating_sub(p.bit_len());
        let shift = shift + (exponent - shift as i64).rem_euclid(2) as usize;
        let shifted = p << shift;
        let root = shifted.sqrt();
        let whole = &root * &root == shifted;
        let root = sticky(IBig::from(root), false, whole);
        let exponent = (exponent - shift as i64) / 2 - 1;
        Rational::dyadic(root, exponent).nearest(self.bits())
    }

    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        e^x = \Big\{\sum_j \frac{(2^{-n}x)^j}{j!}\Big\}^{2^n}, \qquad |2^{-n}x| \le 2^{-\sqrt{\rm bits}}
    ")]
    fn exponential(&self, number: &Rational) -> Rational {
        if number.is_zero() {
            return Rational::ONE;
        }
        let (p, exponent) = mantissa(number);
        let size = p.unsigned_abs().bit_len() as i64 + exponent;
        let halvings = (size + self.bits().isqrt() as i64).max(0);
        let wide = BigFloat::new(self.bits() + halvings as usize + GUARD);
        let x = number.scaled(-halvings);
        let (mut sum, mut term, mut j) = (Rational::ONE, Rational::ONE, 0i64);
        let smallest = Rational::power_of_two(-(wide.bits() as i64));
        while term.abs() > smallest {
            j += 1;
            term = wide.divide(&wide.multiply(&term, &x), &Rational::from(j));
            sum = wide.add(&sum, &term);
        }
        let power = (0..halvings).fold(sum, |power, _| wide.multiply(&power, &power));
        power.nearest(self.bits())
    }

    fn negate(&self, number: &Rational) -> Rational {
        -number
    }
}

/// The least number of so many bits that is not below the square root of a rational number; the
/// root itself where it is one.
pub(super) fn root_above(square: &Rational, bits: usize) -> Rational {
    let float = BigFloat::new(bits);
    let mut root = float.square_root(&square.nearest(2 * bits));
    let step = Rational::power_of_two(mantissa_top(&root) - bits as i64);
    while &root * &root < *square {
        root = root + &step;
    }
    root
}

/// The exponent of the power of two above a number.
fn mantissa_top(number: &Rational) -> i64 {
    let (p, exponent) = mantissa(number);
    p.unsigned_abs().bit_len() as i64 + exponent
}

/// A dyadic number as `mantissa * 2^exponent`.
fn mantissa(number: &Rational) -> (IBig, i64) {
    number.rounded(usize::MAX / 4, i64::MIN / 4)
}

/// The number with one more bit, which says whether something was cut off.
fn sticky(number: IBig, negative: bool, whole: bool) -> IBig {
    let doubled = number << 1usize;
    match (whole, negative) {
        (true, _) => doubled,
        (false, false) => doubled + IBig::ONE,
        (false, true) => doubled - IBig::ONE,
    }
}

impl Real for F64 {
    fn divide(&self, a: &f64, b: &f64) -> f64 {
        a / b
    }

    fn square_root(&self, number: &f64) -> f64 {
        number.sqrt()
    }

    fn exponential(&self, number: &f64) -> f64 {
        libm::exp(*number)
    }

    fn negate(&self, number: &f64) -> f64 {
        -number
    }
}

impl Real for F32 {
    fn divide(&self, a: &f32, b: &f32) -> f32 {
        a / b
    }

    fn square_root(&self, number: &f32) -> f32 {
        number.sqrt()
    }

    fn exponential(&self, number: &f32) -> f32 {
        libm::expf(*number)
    }

    fn negate(&self, number: &f32) -> f32 {
        -number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transformer::scientific;
    use proptest::prelude::*;

    fn exact(x: f64) -> Rational {
        Rational::from_f64(x).unwrap()
    }

    proptest! {
        /// Quotients and roots of 53 bits are the hardware's, which rounds correctly.
        #[test]
        fn quotients_and_roots_are_ieee(a in -1e6f64..1e6, b in 1e-6f64..1e6, c in -50f64..50.0) {
            let float = BigFloat::new(53);
            prop_assert_eq!(float.divide(&exact(a), &exact(b)), exact(a / b));
            prop_assert_eq!(float.divide(&exact(b), &exact(-b)), exact(-1.0));
            prop_assert_eq!(float.square_root(&exact(b)), exact(b.sqrt()));
            // libm promises an error below one unit in the last place.
            let (ours, theirs) = (float.exponential(&exact(c)), exact(libm::exp(c)));
            prop_assert!((&ours - &theirs).abs() <= theirs.scaled(-52));
        }

        /// `e^(a + b) = e^a e^b` in 400 bits, with three roundings.
        #[test]
        fn exponentials_multiply(a in -300f64..300.0, b in -3f64..3.0) {
            let float = BigFloat::new(400);
            let product = float.multiply(&float.exponential(&exact(a)), &float.exponential(&exact(b)));
            let whole = float.exponential(&(exact(a) + exact(b)));
            prop_assert!((&product - &whole).abs() <= whole.scaled(-397));
        }
    }

    /// OEIS A001113 and A002193.
    #[test]
    fn constants_have_the_published_digits() {
        let float = BigFloat::new(200);
        assert_eq!(
            scientific(&float.exponential(&Rational::ONE), 40),
            "2.7182818284590452353602874713526624977572e+00"
        );
        assert_eq!(
            scientific(&float.square_root(&2.into()), 40),
            "1.4142135623730950488016887242096980785697e+00"
        );
        assert_eq!(float.square_root(&Rational::ZERO), Rational::ZERO);
        assert_eq!(float.exponential(&Rational::ZERO), Rational::ONE);
    }
}
