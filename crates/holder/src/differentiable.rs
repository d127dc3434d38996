//! Functions whose derivatives can be evaluated.

use loopfit_numerics::libm::pow;

/// A function on `[0,1]^d` with its partial derivatives.
pub trait Differentiable {
    /// The number of inputs `d`.
    fn d(&self) -> usize;

    /// The partial derivative of the multi-index `nu` (`d` orders, one for each input) at `x`;
    /// the value where all orders are zero.
    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64;

    /// How far [`Differentiable::derivative`] of this total order may be off, so that a check
    /// does not take rounding for a violation. Zero unless said otherwise.
    fn error(&self, _order: usize) -> f64 {
        0.0
    }

    /// How much work one derivative of a total order is, in steps of some fifty nanoseconds; that of automatic differentiation
    /// unless said otherwise.
    ///
    /// # Formula
    /// The pairs of monomials up to the order, of which a product of Taylor polynomials is made: `C(d + v, v)^2`.
    fn work(&self, order: usize) -> f64 {
        let d = self.d();
        let monomials = (1..=order).fold(1.0, |c, i| c * (d + i) as f64 / i as f64);
        monomials * monomials
    }
}

/// A plain function, with central differences for derivatives.
///
/// # Formula
/// For each input with `nu_i > 0`
#[doc = loopfit_tex::tex!(r"
    \Delta_h^{\nu_i} f(x) = h^{-\nu_i} \sum_{l=0}^{\nu_i} (-1)^{\nu_i - l} \binom{\nu_i}{l}
      f\bigl(x + (l - \nu_i/2) h e_i\bigr),
")]
/// one input after the other; `x` is moved inwards where the stencil would leave the open cube.
///
/// # Accuracy
/// A difference is the mean of the derivative over the stencil with a B-spline's weights. So it
/// is off by `O(h^2)` as a derivative, yet where all derivatives keep a bound or a Hölder
/// condition, their differences keep the same one: a check refutes no member of a class because of
/// the step, and [`Differentiable::error`] is rounding alone, `(2/h)^v` times the error of `f`.
/// The step makes that `10^-6` as long as the stencil fits the cube. Where it does not, the error
/// grows, and orders above six or so refute nothing.
#[derive(Clone, Debug)]
pub struct FiniteDifferences<F> {
    d: usize,
    function: F,
    error: f64,
}

/// Steps of one value of a small network.
const NETWORK: f64 = 100.0;

/// What a network of 32 bits may be off by, in units of the last place of its values.
const NETWORK_ERROR: f64 = 16.0 * f32::EPSILON as f64;

/// What rounding may do to a finite difference.
const ROUNDING: f64 = 1e-6;

impl<F: Fn(&[f64]) -> f64> FiniteDifferences<F> {
    /// A function of `d` inputs whose values are within `error` of the truth, rounding of the
    /// inputs included: some `10^-15` for a short formula with values about one.
    pub fn new(d: usize, function: F, error: f64) -> Self {
        Self { d, function, error }
    }

    /// A network of `d` inputs that runs in 32 bits, with these values at some point.
    pub fn of_network(d: usize, function: F, values: &[f64]) -> Self {
        let scale = values.iter().fold(1.0, |most: f64, v| most.max(v.abs()));
        Self::new(d, function, NETWORK_ERROR * scale)
    }

    /// The step for derivatives of a total order of at least one.
    fn step(&self, order: usize) -> f64 {
        let v = order as f64;
        (2.0 * pow(self.error / ROUNDING, 1.0 / v)).clamp(f64::EPSILON, 0.5 / v)
    }

    /// Differences of the inputs from `axis` on, at a point that is changed on the way.
    fn difference(&self, nu: &[usize], axis: usize, h: f64, x: &mut [f64]) -> f64 {
        let Some(i) = (axis..self.d).find(|&i| nu[i] > 0) else {
            return (self.function)(x);
        };
        let (order, reach) = (nu[i], 0.5 * nu[i] as f64 * h);
        // Boundary values of a function of the class are bounded, not continuous.
        let margin = reach + 0.5 * h;
        let centre = x[i].clamp(margin, 1.0 - margin);
        let (mut sum, mut binomial) = (0.0, 1.0);
        for l in 0..=order {
            let sign = if (order - l).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            };
            x[i] = centre + l as f64 * h - reach;
            sum += sign * binomial * self.difference(nu, i + 1, h, x);
            binomial *= (order - l) as f64 / (l + 1) as f64;
        }
        x[i] = centre;
        sum / pow(h, order as f64)
    }
}

impl<F: Fn(&[f64]) -> f64> Differentiable for FiniteDifferences<F> {
    fn d(&self) -> usize {
        self.d
    }

    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64 {
        let order: usize = nu.iter().sum();
        if order == 0 {
            return (self.function)(x);
        }
        self.difference(nu, 0, self.step(order), &mut x.to_vec())
    }

    fn error(&self, order: usize) -> f64 {
        match order {
            0 => self.error,
            _ => self.error * pow(2.0 / self.step(order), order as f64),
        }
    }

    /// The values on the stencil.
    fn work(&self, order: usize) -> f64 {
        NETWORK * pow(2.0, order as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against derivatives in closed form, at the edge of the cube as well.
        #[test]
        fn differences_are_derivatives(x in 0.0f64..=1.0, y in 0.0f64..=1.0) {
            let f = FiniteDifferences::new(2, |x: &[f64]| (2.0 * x[0]).sin() * (x[1]).exp(), 1e-15);
            let point = [x, y];
            let (sin, cos, exp) = ((2.0 * x).sin(), (2.0 * x).cos(), y.exp());
            let cases = [
                ([0, 0], sin * exp),
                ([1, 0], 2.0 * cos * exp),
                ([0, 1], sin * exp),
                ([1, 1], 2.0 * cos * exp),
                ([2, 0], -4.0 * sin * exp),
                ([2, 1], -4.0 * sin * exp),
            ];
            for (nu, expected) in cases {
                let v = nu[0] + nu[1];
                // The point moves by at most v h / 2 at the edge, where the next derivative is
                // below 22; elsewhere the differences are second order.
                let off = f.error(v) + 22.0 * v as f64 * if v == 0 { 0.0 } else { f.step(v) };
                prop_assert!((f.derivative(&nu, &point) - expected).abs() <= off, "{:?}", nu);
            }
        }
    }
}
