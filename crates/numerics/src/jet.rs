//! Automatic differentiation to any order: truncated Taylor polynomials of several variables.
//!
//! A function that is written over [`Scalar`] runs on plain numbers and on [`Jet`]s alike; on jets it
//! gives all its partial derivatives up to an order at once, to the rounding of its own formula.

use std::collections::HashMap;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

/// Numbers that formulas are written over: `f64`, and [`Jet`].
pub trait Scalar:
    Clone
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The value without derivatives, which decides branches.
    fn value(&self) -> f64;
    /// A constant of the same kind.
    fn constant(&self, value: f64) -> Self;
    /// `e^x`.
    fn exp(&self) -> Self;
    /// The natural logarithm.
    fn ln(&self) -> Self;
    /// The square root.
    fn sqrt(&self) -> Self;
    /// The sine.
    fn sin(&self) -> Self;
    /// The cosine.
    fn cos(&self) -> Self;
    /// The hyperbolic sine.
    fn sinh(&self) -> Self;
    /// The hyperbolic cosine.
    fn cosh(&self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(&self) -> Self;
    /// The arc cosine.
    fn acos(&self) -> Self;
    /// The angle of the point `(x, self)`.
    fn atan2(&self, x: &Self) -> Self;
}

impl Scalar for f64 {
    fn value(&self) -> f64 {
        *self
    }
    fn constant(&self, value: f64) -> Self {
        value
    }
    fn exp(&self) -> Self {
        libm::exp(*self)
    }
    fn ln(&self) -> Self {
        libm::log(*self)
    }
    fn sqrt(&self) -> Self {
        libm::sqrt(*self)
    }
    fn sin(&self) -> Self {
        libm::sin(*self)
    }
    fn cos(&self) -> Self {
        libm::cos(*self)
    }
    fn sinh(&self) -> Self {
        libm::sinh(*self)
    }
    fn cosh(&self) -> Self {
        libm::cosh(*self)
    }
    fn tanh(&self) -> Self {
        libm::tanh(*self)
    }
    fn acos(&self) -> Self {
        libm::acos(*self)
    }
    fn atan2(&self, x: &Self) -> Self {
        libm::atan2(*self, *x)
    }
}

/// The monomials of `d` variables up to a degree, and how they multiply.
#[derive(Debug)]
struct Basis {
    order: usize,
    /// Exponents, by degree.
    monomials: Vec<Vec<usize>>,
    places: HashMap<Vec<usize>, usize>,
    /// `(i, j, place of the product)` for every product within the degree.
    products: Vec<(usize, usize, usize)>,
}

impl Basis {
    fn new(d: usize, order: usize) -> Self {
        let mut monomials = vec![vec![0; d]];
        let mut first = 0;
        for _ in 0..order {
            // Each monomial of the next degree once: raise no input before the last one raised.
            let last = monomials.len();
            for i in first..last {
                let from = monomials[i].iter().rposition(|&e| e > 0).unwrap_or(0);
                for input in from..d {
                    let mut raised = monomials[i].clone();
                    raised[input] += 1;
                    monomials.push(raised);
                }
            }
            first = last;
        }
        let places: HashMap<Vec<usize>, usize> = monomials.iter().cloned().zip(0..).collect();
        let mut products = Vec::new();
        for (i, a) in monomials.iter().enumerate() {
            for (j, b) in monomials.iter().enumerate() {
                let product: Vec<usize> = a.iter().zip(b).map(|(a, b)| a + b).collect();
                products.extend(places.get(&product).map(|&place| (i, j, place)));
            }
        }
        Self {
            order,
            monomials,
            places,
            products,
        }
    }
}

/// A truncated Taylor polynomial: a value with all partial derivatives up to an order.
#[derive(Clone, Debug)]
pub struct Jet {
    basis: Arc<Basis>,
    /// Taylor coefficients `d^nu f / nu!`, in the order of the basis.
    coefficients: Vec<f64>,
}

impl Jet {
    /// The coordinates of a point as jets: feed them to a function to get its derivatives there.
    pub fn variables(x: &[f64], order: usize) -> Vec<Self> {
        let basis = Arc::new(Basis::new(x.len(), order));
        let variable = |(i, &x): (usize, &f64)| {
            let mut coefficients = vec![0.0; basis.monomials.len()];
            coefficients[0] = x;
            if order > 0 {
                // The first degree lists the inputs in their order.
                coefficients[1 + i] = 1.0;
            }
            Self {
                basis: basis.clone(),
                coefficients,
            }
        };
        x.iter().enumerate().map(variable).collect()
    }

    /// A partial derivative, one order for each input.
    ///
    /// # Panics
    /// For a total order above that of the jet.
    pub fn derivative(&self, nu: &[usize]) -> f64 {
        let place = self.basis.places[nu];
        let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
        self.coefficients[place] * nu.iter().map(|&n| factorial(n)).product::<f64>()
    }

    /// `sum_j c_j (self - value)^j`: a function by its Taylor coefficients at the value.
    fn compose(&self, taylor: &[f64]) -> Self {
        let mut inner = self.clone();
        inner.coefficients[0] = 0.0;
        let (last, rest) = taylor.split_last().unwrap_or((&0.0, &[]));
        rest.iter()
            .rev()
            .fold(self.constant(*last), |sum, &c| sum * inner.clone() + c)
    }

    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            coefficients: self.coefficients.into_iter().map(f).collect(),
            basis: self.basis,
        }
    }

    fn zip(mut self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        for (a, b) in self.coefficients.iter_mut().zip(&other.coefficients) {
            *a = f(*a, *b);
        }
        self
    }

    /// Taylor coefficients at the value, one for each order.
    fn orders(&self) -> usize {
        self.basis.order + 1
    }
}

/// Taylor coefficients of `x^p` at `a`: `binomial(p, j) a^(p - j)`.
fn power_series(a: f64, p: f64, orders: usize) -> Vec<f64> {
    let mut series = vec![libm::pow(a, p)];
    for j in 1..orders {
        let before = series[j - 1];
        series.push(before * (p - (j - 1) as f64) / (j as f64 * a));
    }
    series
}

/// Taylor coefficients of a function whose derivatives repeat after four, from its value and the
/// next three derivatives.
fn cyclic_series(derivatives: [f64; 4], orders: usize) -> Vec<f64> {
    let mut factorial = 1.0;
    (0..orders)
        .map(|j| {
            factorial *= j.max(1) as f64;
            derivatives[j % 4] / factorial
        })
        .collect()
}

/// The antiderivative of a series, with its constant.
fn integrated(constant: f64, series: &[f64], orders: usize) -> Vec<f64> {
    let terms = series.iter().enumerate().map(|(j, c)| c / (j + 1) as f64);
    std::iter::once(constant)
        .chain(terms)
        .take(orders)
        .collect()
}

/// Taylor coefficients of `(c_0 + c_1 t + c_2 t^2)^p` at zero, from `g y' = p g' y`.
fn quadratic_power_series([c0, c1, c2]: [f64; 3], p: f64, orders: usize) -> Vec<f64> {
    let mut y = vec![libm::pow(c0, p)];
    for j in 0..orders.saturating_sub(1) {
        let jf = j as f64;
        // Coefficient of t^j on both sides.
        let mut right = p * c1 * y[j] - c1 * jf * y[j];
        if j >= 1 {
            right += 2.0 * p * c2 * y[j - 1] - c2 * (jf - 1.0) * y[j - 1];
        }
        y.push(right / (c0 * (jf + 1.0)));
    }
    y
}

impl Scalar for Jet {
    fn value(&self) -> f64 {
        self.coefficients[0]
    }

    fn constant(&self, value: f64) -> Self {
        let mut coefficients = vec![0.0; self.coefficients.len()];
        coefficients[0] = value;
        Self {
            basis: self.basis.clone(),
            coefficients,
        }
    }

    fn exp(&self) -> Self {
        self.compose(&cyclic_series([libm::exp(self.value()); 4], self.orders()))
    }

    fn ln(&self) -> Self {
        let derivative = power_series(self.value(), -1.0, self.orders());
        self.compose(&integrated(
            libm::log(self.value()),
            &derivative,
            self.orders(),
        ))
    }

    fn sqrt(&self) -> Self {
        self.compose(&power_series(self.value(), 0.5, self.orders()))
    }

    fn sin(&self) -> Self {
        let (s, c) = (libm::sin(self.value()), libm::cos(self.value()));
        self.compose(&cyclic_series([s, c, -s, -c], self.orders()))
    }

    fn cos(&self) -> Self {
        let (s, c) = (libm::sin(self.value()), libm::cos(self.value()));
        self.compose(&cyclic_series([c, -s, -c, s], self.orders()))
    }

    fn sinh(&self) -> Self {
        let (s, c) = (libm::sinh(self.value()), libm::cosh(self.value()));
        self.compose(&cyclic_series([s, c, s, c], self.orders()))
    }

    fn cosh(&self) -> Self {
        let (s, c) = (libm::sinh(self.value()), libm::cosh(self.value()));
        self.compose(&cyclic_series([c, s, c, s], self.orders()))
    }

    /// `y' = 1 - y^2`.
    fn tanh(&self) -> Self {
        let mut series = vec![libm::tanh(self.value())];
        for j in 0..self.basis.order {
            let square: f64 = (0..=j).map(|i| series[i] * series[j - i]).sum();
            let one = if j == 0 { 1.0 } else { 0.0 };
            series.push((one - square) / (j + 1) as f64);
        }
        self.compose(&series)
    }

    /// `y' = -(1 - x^2)^(-1/2)`.
    fn acos(&self) -> Self {
        let a = self.value();
        let derivative = quadratic_power_series([1.0 - a * a, -2.0 * a, -1.0], -0.5, self.orders());
        let derivative: Vec<f64> = derivative.iter().map(|c| -c).collect();
        self.compose(&integrated(libm::acos(a), &derivative, self.orders()))
    }

    /// The arc tangent of the smaller ratio, whose derivative is `1/(1 + x^2)`, shifted to the angle.
    fn atan2(&self, x: &Self) -> Self {
        let angle = libm::atan2(self.value(), x.value());
        let (ratio, sign) = if self.value().abs() <= x.value().abs() {
            (self.clone() / x.clone(), 1.0)
        } else {
            (x.clone() / self.clone(), -1.0)
        };
        let a = ratio.value();
        let derivative = quadratic_power_series([1.0 + a * a, 2.0 * a, 1.0], -1.0, self.orders());
        let series = integrated(0.0, &derivative, self.orders());
        ratio.compose(&series) * sign + angle
    }
}

impl Add for Jet {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.zip(&other, |a, b| a + b)
    }
}

impl Sub for Jet {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.zip(&other, |a, b| a - b)
    }
}

impl Mul for Jet {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let mut coefficients = vec![0.0; self.coefficients.len()];
        for &(i, j, place) in &self.basis.products {
            coefficients[place] += self.coefficients[i] * other.coefficients[j];
        }
        Self {
            coefficients,
            basis: self.basis,
        }
    }
}

impl Div for Jet {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let reciprocal = other.compose(&power_series(other.value(), -1.0, other.orders()));
        self * reciprocal
    }
}

impl Neg for Jet {
    type Output = Self;
    fn neg(self) -> Self {
        self.map(|c| -c)
    }
}

impl Add<f64> for Jet {
    type Output = Self;
    fn add(mut self, constant: f64) -> Self {
        self.coefficients[0] += constant;
        self
    }
}

impl Sub<f64> for Jet {
    type Output = Self;
    fn sub(self, constant: f64) -> Self {
        self + -constant
    }
}

impl Mul<f64> for Jet {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        self.map(|c| c * factor)
    }
}

impl Div<f64> for Jet {
    type Output = Self;
    fn div(self, divisor: f64) -> Self {
        self.map(|c| c / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All derivatives of `x^3 y^2 + 2 x - 5`, in closed form.
    #[test]
    fn polynomials_are_exact() {
        let at = [0.75, -1.25];
        let jets = Jet::variables(&at, 5);
        let [x, y] = [&jets[0], &jets[1]].map(Clone::clone);
        let cube = x.clone() * x.clone() * x.clone();
        let f = cube * y.clone() * y + x * 2.0 - 5.0;
        let falling = |base: f64, power: i32, order: usize| -> f64 {
            let order = order as i32;
            if order > power {
                return 0.0;
            }
            (0..order).map(|i| f64::from(power - i)).product::<f64>() * base.powi(power - order)
        };
        for i in 0..=3 {
            for j in 0..=2 {
                let mut want = falling(at[0], 3, i) * falling(at[1], 2, j);
                want += match (i, j) {
                    (0, 0) => 2.0 * at[0] - 5.0,
                    (1, 0) => 2.0,
                    _ => 0.0,
                };
                assert!((f.derivative(&[i, j]) - want).abs() < 1e-12, "{i} {j}");
            }
        }
        assert_eq!(f.derivative(&[0, 3]), 0.0);
    }

    /// A function of two variables that uses everything.
    fn everything<S: Scalar>(x: &[S]) -> S {
        let [u, v] = [x[0].clone(), x[1].clone()];
        let inner = (u.clone() * 1.5 + v.clone()).sin() * v.exp() + u.cosh().ln() * v.sqrt();
        let angle =
            (u.clone() - 2.0).atan2(&(v.clone() + 0.3)) + (u.clone() * v.clone() / 2.0).acos();
        inner / (u.tanh() + 2.0) + angle * v.cos() - u.sinh() * 0.25
    }

    proptest! {
        /// Each order against central differences of the order below.
        #[test]
        fn orders_are_slopes_of_the_orders_below(u in 0.2f64..0.9, v in 0.2f64..0.9, i in 0usize..4, j in 0usize..4) {
            let jet = |x: [f64; 2]| everything(&Jet::variables(&x, 7));
            let value = jet([u, v]);
            prop_assert!((value.value() - everything(&[u, v])).abs() < 1e-12);
            let h = 1e-5;
            for (axis, nu) in [(0, [i + 1, j]), (1, [i, j + 1])] {
                let mut moved = [[u, v], [u, v]];
                moved[0][axis] += h;
                moved[1][axis] -= h;
                let slope = (jet(moved[0]).derivative(&[i, j]) - jet(moved[1]).derivative(&[i, j])) / (2.0 * h);
                let got = value.derivative(&nu);
                prop_assert!((slope - got).abs() < 1e-5 * (1.0 + got.abs()) + 1e-7 * got.abs().max(slope.abs()), "{:?}: {} {}", nu, slope, got);
            }
        }

        /// `tan(atan2(y, x)) = y / x` and `cos(acos(y)) = y` on all quadrants.
        #[test]
        fn inverse_functions_invert(y in -0.9f64..0.9, x in 0.1f64..2.0, negative: bool) {
            let x = if negative { -x } else { x };
            let jets = Jet::variables(&[y, x], 4);
            let angle = jets[0].atan2(&jets[1]);
            let tangent = angle.sin() * jets[1].clone() - angle.cos() * jets[0].clone();
            let back = jets[0].acos().cos() - jets[0].clone();
            for jet in [tangent, back] {
                let largest = jet.coefficients.iter().fold(0.0f64, |a, c| a.max(c.abs()));
                let scale = angle.coefficients.iter().fold(1.0f64, |a, c| a.max(c.abs()));
                prop_assert!(largest < 1e-9 * scale, "{:?}", jet.coefficients);
            }
        }
    }

    #[test]
    fn order_zero_is_the_value() {
        let jets = Jet::variables(&[0.5, 0.25], 0);
        assert_eq!(
            everything(&jets).derivative(&[0, 0]),
            everything(&[0.5, 0.25])
        );
    }
}
