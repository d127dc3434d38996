//! Functions that are approximated: what a construction asks of them.

use crate::Error;
use crate::rational::Rational;
use loopfit_holder::Differentiable;

/// A function on `[0,1]^d` with partial derivatives at rational points.
pub trait Target {
    /// The number of inputs `d`.
    fn d(&self) -> usize;

    /// The partial derivative of the multi-index `nu` (`d` orders, one for each input) at `x`;
    /// the value where all orders are zero.
    fn derivative(&self, nu: &[usize], x: &[Rational]) -> Result<Rational, Error>;

    /// The value at `x`.
    fn value(&self, x: &[Rational]) -> Result<Rational, Error> {
        self.derivative(&vec![0; self.d()], x)
    }
}

/// A polynomial with rational coefficients: every derivative is exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polynomial {
    d: usize,
    terms: Vec<(Vec<usize>, Rational)>,
}

impl Polynomial {
    /// The sum of monomials, each with its `d` exponents and its coefficient.
    pub fn new(d: usize, terms: Vec<(Vec<usize>, Rational)>) -> Result<Self, Error> {
        match terms.iter().find(|(exponents, _)| exponents.len() != d) {
            Some((exponents, _)) => Err(Error::Exponents {
                found: exponents.len(),
                d,
            }),
            None => Ok(Self { d, terms }),
        }
    }
}

impl Target for Polynomial {
    fn d(&self) -> usize {
        self.d
    }

    fn derivative(&self, nu: &[usize], x: &[Rational]) -> Result<Rational, Error> {
        let monomial = |(exponents, coefficient): &(Vec<usize>, Rational)| {
            let factors = exponents.iter().zip(nu).zip(x);
            factors.fold(coefficient.clone(), |product, ((&exponent, &order), x)| {
                if order > exponent {
                    return Rational::ZERO;
                }
                // (x^e)^(n) = e (e - 1) ... (e - n + 1) x^(e - n)
                let falling = (exponent - order + 1..=exponent)
                    .fold(product, |product, j| product * Rational::from(j as i64));
                (0..exponent - order).fold(falling, |product, _| product * x)
            })
        };
        Ok(self
            .terms
            .iter()
            .map(monomial)
            .fold(Rational::ZERO, |sum, term| sum + term))
    }
}

/// A function whose derivatives are floats; they are taken at their word.
#[derive(Clone, Copy, Debug)]
pub struct Floating<F>(
    /// The function.
    pub F,
);

impl<F: Differentiable> Target for Floating<F> {
    fn d(&self) -> usize {
        self.0.d()
    }

    fn derivative(&self, nu: &[usize], x: &[Rational]) -> Result<Rational, Error> {
        let point: Vec<_> = x.iter().map(Rational::to_f64).collect();
        let value = self.0.derivative(nu, &point);
        Rational::from_f64(value).ok_or_else(|| Error::NoNumber {
            derivative: format!("{nu:?}"),
            point: format!("{x:?}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_holder::FiniteDifferences;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    /// f = x^3 y / 2 - 1/7, by hand at (1/2, 1/3).
    #[test]
    fn polynomials_have_exact_derivatives() {
        let terms = vec![(vec![3, 1], r("1/2")), (vec![0, 0], r("-1/7"))];
        let f = Polynomial::new(2, terms).unwrap();
        let x = [r("1/2"), r("1/3")];
        let cases = [
            ([0, 0], r("1/48") - r("1/7")),
            ([1, 0], r("1/8")),
            ([0, 1], r("1/16")),
            ([2, 0], r("1/2")),
            ([2, 1], r("3/2")),
            ([3, 1], r("3")),
            ([4, 0], r("0")),
            ([0, 2], r("0")),
        ];
        for (nu, expected) in cases {
            assert_eq!(f.derivative(&nu, &x), Ok(expected), "{nu:?}");
        }
        assert_eq!(
            Polynomial::new(1, vec![(vec![1, 2], Rational::ONE)]),
            Err(Error::Exponents { found: 2, d: 1 })
        );
    }

    #[test]
    fn floats_are_taken_at_their_word() {
        let square = Floating(FiniteDifferences::new(1, |x: &[f64]| x[0] * x[0], 1e-15));
        assert_eq!(square.value(&[r("1/4")]), Ok(r("1/16")));
        let pole = Floating(FiniteDifferences::new(1, |x: &[f64]| 1.0 / x[0], 1e-15));
        assert!(matches!(pole.value(&[r("0")]), Err(Error::NoNumber { .. })));
    }
}
