//! Exact numbers as decimal text.

use crate::rational::Rational;
use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};
use std::cmp::Ordering;

/// A number with one digit before the point and `decimals` behind it, halves to even:
/// `-4.999e-01`.
pub fn scientific(value: &Rational, decimals: usize) -> String {
    if value.is_zero() {
        return format!("0.{}e+00", "0".repeat(decimals));
    }
    let magnitude = value.abs();
    // The quotient of the lengths is near; the loops settle the last step.
    let bits = |n: &UBig| n.bit_len() as i64;
    let numerator = UBig::try_from(magnitude.numerator()).unwrap_or_default();
    let size = bits(&numerator) - bits(&magnitude.denominator());
    let mut exponent = (size as f64 * std::f64::consts::LOG10_2).floor() as i64;
    while magnitude < ten(exponent) {
        exponent -= 1;
    }
    while magnitude >= ten(exponent + 1) {
        exponent += 1;
    }
    let scaled = magnitude * ten(decimals as i64 - exponent);
    let mut digits = rounded(&scaled).to_string();
    if digits.len() > decimals + 1 {
        digits.pop();
        exponent += 1;
    }
    let sign = if value.is_negative() { "-" } else { "" };
    let (whole, fraction) = digits.split_at(1);
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{whole}.{fraction}e{mark}{:02}", exponent.abs())
}

/// `10^exponent`.
pub fn ten(exponent: i64) -> Rational {
    let power = UBig::from(10u8).pow(exponent.unsigned_abs() as usize);
    match exponent < 0 {
        true => Rational::new(IBig::ONE, power),
        false => Rational::from(IBig::from(power)),
    }
}

/// The nearest integer, halves to even.
fn rounded(value: &Rational) -> IBig {
    let half = Rational::new(1, 2u8);
    let floor = value.floor();
    let rest = value - Rational::from(floor.clone());
    let odd = floor.trailing_zeros() == Some(0);
    match rest.cmp(&half) {
        Ordering::Greater => floor + IBig::ONE,
        Ordering::Equal if odd => floor + IBig::ONE,
        _ => floor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_rounded_to_nearest() {
        let text = |value: &str, decimals| scientific(&value.parse().unwrap(), decimals);
        assert_eq!(text("0", 3), "0.000e+00");
        assert_eq!(text("1/3", 4), "3.3333e-01");
        assert_eq!(text("-2/3", 4), "-6.6667e-01");
        assert_eq!(text("99999/10", 3), "1.000e+04");
        assert_eq!(text("0.0125", 1), "1.2e-02");
        assert_eq!(text("0.0135", 1), "1.4e-02");
        assert_eq!(text("1024", 0), "1.e+03");
    }
}
