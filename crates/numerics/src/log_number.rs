//! Nonnegative numbers by their logarithm, for products that no float can hold.

use std::fmt;
use std::ops::{Add, Div, Mul};

/// A nonnegative number `x`, kept as `log x`. Sums and products neither overflow nor underflow.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct LogNumber(f64);

impl LogNumber {
    /// Zero.
    pub const ZERO: Self = Self(f64::NEG_INFINITY);
    /// One.
    pub const ONE: Self = Self(0.0);

    /// The number `x >= 0` itself.
    pub fn new(x: f64) -> Self {
        debug_assert!(x >= 0.0, "{x}");
        Self(libm::log(x))
    }

    /// The number whose natural logarithm is given.
    pub fn from_ln(ln: f64) -> Self {
        Self(ln)
    }

    /// The natural logarithm.
    pub fn ln(self) -> f64 {
        self.0
    }

    /// `log(1 + x)`.
    pub fn ln_1p(self) -> f64 {
        crate::special::softplus(self.0)
    }

    /// The number as a float; infinite where it is too large for one.
    pub fn value(self) -> f64 {
        libm::exp(self.0)
    }

    /// `x^p`.
    pub fn pow(self, p: f64) -> Self {
        if p == 0.0 {
            return Self::ONE;
        }
        Self(p * self.0)
    }

    /// The larger of two numbers.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// `self - other`, or zero where `other` is the larger.
    pub fn saturating_sub(self, other: Self) -> Self {
        if other.0 >= self.0 {
            return Self::ZERO;
        }
        Self(self.0 + libm::log(-libm::expm1(other.0 - self.0)))
    }

    /// `1 + x + x^2 + ... + x^(n-1)`.
    ///
    /// # Formula
    /// `(x^n - 1) / (x - 1)`, and `n` where `x = 1`.
    pub fn geometric_sum(self, n: f64) -> Self {
        let (ratio, whole) = (self.0, n * self.0);
        if n == 0.0 {
            Self::ZERO
        } else if ratio.abs() < 1e-300 || !whole.is_normal() {
            // x = 1 (or x = 0, whose sum is one).
            Self::new(if ratio == f64::NEG_INFINITY { 1.0 } else { n })
        } else {
            Self(log_abs_expm1(whole) - log_abs_expm1(ratio))
        }
    }
}

/// `log |e^x - 1|` for `x != 0`.
fn log_abs_expm1(x: f64) -> f64 {
    if x > 40.0 {
        x + libm::log1p(-libm::exp(-x))
    } else {
        libm::log(libm::expm1(x).abs())
    }
}

/// Five digits; the power of ten alone where the number is beyond floats.
impl fmt::Display for LogNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tens = self.0 * std::f64::consts::LOG10_E;
        if *self == Self::ZERO {
            f.write_str("0")
        } else if (-4.0..5.0).contains(&tens) {
            let decimals = (4 - tens.floor() as i32).max(0) as usize;
            write!(f, "{:.decimals$}", self.value())
        } else if tens.abs() < 300.0 {
            write!(f, "{:.4e}", self.value())
        } else if tens.abs() < 1e9 {
            write!(f, "10^{tens:.1}")
        } else {
            write!(f, "10^({tens:.4e})")
        }
    }
}

impl Add for LogNumber {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, low) = if self.0 >= other.0 {
            (self.0, other.0)
        } else {
            (other.0, self.0)
        };
        if low == f64::NEG_INFINITY {
            return Self(high);
        }
        Self(high + libm::log1p(libm::exp(low - high)))
    }
}

impl Mul for LogNumber {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        if self == Self::ZERO || other == Self::ZERO {
            return Self::ZERO;
        }
        Self(self.0 + other.0)
    }
}

impl Div for LogNumber {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        if self == Self::ZERO {
            return Self::ZERO;
        }
        Self(self.0 - other.0)
    }
}

impl From<f64> for LogNumber {
    fn from(x: f64) -> Self {
        Self::new(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + b.abs())
    }

    #[test]
    fn nothing_overflows() {
        let huge = LogNumber::from_ln(1e15);
        assert_eq!((huge + huge).ln(), 1e15 + std::f64::consts::LN_2);
        assert_eq!((huge * huge).ln(), 2e15);
        assert_eq!((huge * LogNumber::ZERO), LogNumber::ZERO);
        assert_eq!(LogNumber::ZERO + LogNumber::ZERO, LogNumber::ZERO);
        assert_eq!(huge.saturating_sub(huge), LogNumber::ZERO);
        assert_eq!(huge.ln_1p(), 1e15);
        assert_eq!(LogNumber::ZERO.ln_1p(), 0.0);
        assert_eq!(LogNumber::ZERO.pow(0.0), LogNumber::ONE);
    }

    #[test]
    fn numbers_are_shown_with_five_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1.0000"),
            (0.25, "0.25000"),
            (12345.6, "12346"),
            (2.5e-7, "2.5000e-7"),
            (1e100, "1.0000e100"),
        ];
        for (x, text) in cases {
            assert_eq!(LogNumber::new(x).to_string(), text);
        }
        assert_eq!(LogNumber::from_ln(1e4).to_string(), "10^4342.9");
    }

    #[test]
    fn geometric_sums_at_the_edges() {
        assert_eq!(LogNumber::ONE.geometric_sum(7.0).value().round(), 7.0);
        assert_eq!(LogNumber::ZERO.geometric_sum(3.0), LogNumber::ONE);
        assert_eq!(LogNumber::new(5.0).geometric_sum(0.0), LogNumber::ZERO);
        assert!(close(
            LogNumber::new(1.0 + 1e-13).geometric_sum(10.0).value(),
            10.0
        ));
        // x^n - 1 over x - 1 with x = e: (e^n - 1) / (e - 1).
        let sum = LogNumber::from_ln(1.0).geometric_sum(1e18);
        assert!(close(sum.ln(), 1e18 - (std::f64::consts::E - 1.0).ln()));
    }

    proptest! {
        #[test]
        fn arithmetic_is_that_of_numbers(x in 0.0f64..1e6, y in 1e-9f64..1e6, n in 1u32..40) {
            let (a, b) = (LogNumber::new(x), LogNumber::new(y));
            prop_assert!(close((a + b).value() / (x + y), 1.0));
            prop_assert!(close((a * b).value(), x * y));
            prop_assert!(close((a / b).value(), x / y));
            // A difference of close numbers keeps the rounding of both.
            prop_assert!((a.saturating_sub(b).value() - (x - y).max(0.0)).abs() <= 1e-13 * (x + y));
            prop_assert!(close(a.ln_1p(), x.ln_1p()));
            let ratio = y / 1e5;
            let sum: f64 = (0..n).map(|i| ratio.powi(i as i32)).sum();
            prop_assert!(close(LogNumber::new(ratio).geometric_sum(f64::from(n)).value() / sum, 1.0));
        }
    }
}
