//! Rational numbers as text.

use super::Rational;
use crate::Error;
use dashu_int::{IBig, Sign, UBig};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Rational {
    /// `p/q` in lowest terms, `p` alone for an integer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p, q) = (self.numerator(), self.denominator());
        if q.is_one() {
            f.pad(&p.to_string())
        } else {
            f.pad(&format!("{p}/{q}"))
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Powers of ten beyond this are nothing that a person means.
const LARGEST_EXPONENT: i64 = 1000;

impl FromStr for Rational {
    type Err = Error;

    /// Reads `p/q`, `p`, or a decimal such as `-0.125`, `.5` or `1e-5`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = || Error::Number(text.to_owned());
        let integer = |digits: &str| {
            let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.is_empty();
            let value = UBig::from_str_radix(digits, 10).ok();
            value.filter(|_| plain).ok_or_else(refused)
        };
        let trimmed = text.trim();
        let (sign, digits) = match trimmed.strip_prefix('-') {
            Some(rest) => (Sign::Negative, rest),
            None => (Sign::Positive, trimmed),
        };
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                let exponent: i64 = exponent.parse().map_err(|_| refused())?;
                (mantissa, exponent)
            }
            None => (digits, 0),
        };
        if exponent.abs() > LARGEST_EXPONENT {
            return Err(refused());
        }
        let (mut numerator, mut denominator) = if let Some((p, q)) = digits.split_once('/') {
            (integer(p)?, integer(q)?)
        } else if let Some((whole, fraction)) = mantissa.split_once('.') {
            let scale = UBig::from(10u8).pow(fraction.len());
            // One side of the point may be left out, not both.
            let digits = format!("{whole}{fraction}");
            (integer(&digits)?, scale)
        } else {
            (integer(mantissa)?, UBig::ONE)
        };
        let power = UBig::from(10u8).pow(exponent.unsigned_abs() as usize);
        if exponent < 0 {
            denominator *= power;
        } else {
            numerator *= power;
        }
        if denominator.is_zero() {
            return Err(refused());
        }
        Ok(Self::new(IBig::from_parts(sign, numerator), denominator))
    }
}
