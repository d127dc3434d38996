//! Affine forms with exact coefficients.

use crate::rational::Rational;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};

/// `sum_i w_i z_i + b` over indices `I`: registers of a program or coordinates of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine<I: Ord> {
    terms: BTreeMap<I, Rational>,
    constant: Rational,
}

impl<I: Ord + Copy> Affine<I> {
    /// A constant.
    pub fn constant(value: Rational) -> Self {
        Self {
            terms: BTreeMap::new(),
            constant: value,
        }
    }

    /// The form `z_i`.
    pub fn of(index: I) -> Self {
        Self {
            terms: BTreeMap::from([(index, Rational::ONE)]),
            constant: Rational::ZERO,
        }
    }

    /// The nonzero coefficients, in the order of the indices.
    pub fn terms(&self) -> impl Iterator<Item = (I, &Rational)> {
        self.terms.iter().map(|(&index, weight)| (index, weight))
    }

    /// The constant `b`.
    pub fn bias(&self) -> &Rational {
        &self.constant
    }

    /// Whether the form is zero everywhere.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty() && self.constant.is_zero()
    }

    /// The value where index `i` has the value `z(i)`.
    pub fn at<'a>(&self, z: impl Fn(I) -> &'a Rational) -> Rational {
        self.terms()
            .fold(self.constant.clone(), |sum, (i, w)| sum + w * z(i))
    }

    /// The largest magnitude where every `|z_i| <= radius`.
    pub fn largest(&self, radius: &Rational) -> Rational {
        self.terms()
            .fold(self.constant.abs(), |sum, (_, w)| sum + w.abs() * radius)
    }

    /// The largest magnitude among coefficients and constant.
    pub fn largest_coefficient(&self) -> Rational {
        let weights = self.terms().map(|(_, w)| w.abs());
        weights.fold(self.constant.abs(), Rational::max)
    }

    /// The same form over other indices.
    pub fn map<J: Ord + Copy>(&self, place: impl Fn(I) -> J) -> Affine<J> {
        let zero = Affine::constant(self.constant.clone());
        self.terms()
            .fold(zero, |form, (i, w)| form + Affine::of(place(i)) * w)
    }

    /// The form as text, with names for the indices.
    pub fn text(&self, name: impl Fn(I) -> String) -> String {
        let mut text = String::new();
        let mut push = |coefficient: &Rational, factor: Option<String>| {
            let sign = match (text.is_empty(), coefficient.is_negative()) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let magnitude = coefficient.abs();
            text.push_str(sign);
            match factor {
                Some(factor) if magnitude == Rational::ONE => text.push_str(&factor),
                Some(factor) => text.push_str(&format!("{magnitude} {factor}")),
                None => text.push_str(&magnitude.to_string()),
            }
        };
        for (index, weight) in self.terms() {
            push(weight, Some(name(index)));
        }
        if !self.constant.is_zero() || self.terms.is_empty() {
            push(&self.constant, None);
        }
        text
    }
}

impl<I: Ord + Copy> From<Rational> for Affine<I> {
    fn from(value: Rational) -> Self {
        Self::constant(value)
    }
}

impl<I: Ord + Copy> From<i64> for Affine<I> {
    fn from(value: i64) -> Self {
        Self::constant(value.into())
    }
}

impl<I: Ord + Copy, T: Into<Affine<I>>> Add<T> for Affine<I> {
    type Output = Self;

    fn add(mut self, other: T) -> Self {
        let other = other.into();
        self.constant = self.constant + other.constant;
        for (index, weight) in other.terms {
            let sum = self.terms.remove(&index).unwrap_or(Rational::ZERO) + weight;
            if !sum.is_zero() {
                self.terms.insert(index, sum);
            }
        }
        self
    }
}

impl<I: Ord + Copy, T: Into<Affine<I>>> Sub<T> for Affine<I> {
    type Output = Self;

    fn sub(self, other: T) -> Self {
        self + -other.into()
    }
}

impl<I: Ord + Copy> Neg for Affine<I> {
    type Output = Self;

    fn neg(self) -> Self {
        self * &Rational::from(-1)
    }
}

impl<I: Ord + Copy> Mul<&Rational> for Affine<I> {
    type Output = Self;

    fn mul(self, factor: &Rational) -> Self {
        if factor.is_zero() {
            return Self::constant(Rational::ZERO);
        }
        let terms = self.terms.into_iter().map(|(i, w)| (i, w * factor));
        Self {
            terms: terms.collect(),
            constant: self.constant * factor,
        }
    }
}

impl<I: Ord + Copy> Mul<i64> for Affine<I> {
    type Output = Self;

    fn mul(self, factor: i64) -> Self {
        self * &Rational::from(factor)
    }
}

impl<I: Ord + Copy + fmt::Display> fmt::Display for Affine<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|i| i.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn z(i: u8) -> Affine<u8> {
        Affine::of(i)
    }

    #[test]
    fn forms_are_canonical_and_readable() {
        let form = z(2) * 3 - z(1) + 1 - z(1) * &Rational::new(1, 2u8);
        let name = |i: u8| format!("z{i}");
        assert_eq!(form.text(name), "-3/2 z1 + 3 z2 + 1");
        assert_eq!((form.clone() - form.clone()).text(name), "0");
        assert_eq!(z(1) + z(2) - z(1), z(2));
        assert!((form.clone() * &Rational::ZERO).is_zero());
        let values = [Rational::ZERO, Rational::ONE, Rational::ZERO];
        let at = |i: u8| &values[usize::from(i)];
        assert_eq!(form.at(at), Rational::new(-1, 2u8));
        // |1| + 2 (3/2 + 3)
        assert_eq!(form.largest(&2.into()), 10.into());
        assert_eq!(form.largest_coefficient(), 3.into());
        assert_eq!(form.map(|_| 7u8).text(name), "3/2 z7 + 1");
    }
}
