//! The bump `psi` that packings are made of: smooth, inside the unit cube, with integral zero.

use crate::{Error, HolderClass};
use loopfit_numerics::libm::{exp, pow, sqrt};
use loopfit_numerics::quadrature::integrate;

/// How steeply the bump falls. With 3 for 1 the largest radius of a packing grows up to sevenfold for
/// `s <= 3`, since derivatives near the edge are no longer the largest by far.
pub const BETA: f64 = 3.0;
/// Half the width of the bump's support `[1/2 - rho, 1/2 + rho]^d`.
pub const RHO: f64 = 0.49;
/// The largest smoothness a bump is scaled for: the 13th derivative of `phi` has a supremum of
/// `4 * 10^24`, and each further one some hundred times the one before.
pub const MAX_SMOOTHNESS: f64 = 12.0;
/// Derivatives of `phi` that are known: the Hölder condition of order `k` takes `k + 2`.
const ORDERS: usize = MAX_SMOOTHNESS as usize + 2;
/// Below `exp(-EDGE)`, relative to its largest value, `phi` and its derivatives count as zero.
const EDGE: f64 = 690.0;
/// Points among which the largest value of a derivative is looked for.
const GRID: usize = 4096;
/// What suprema are raised by, so that the search's rounding never makes them too small.
const SAFETY: f64 = 1.0 + 1e-9;

/// The bump of a dimension.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    \psi(t) = \varphi'(t_1) \prod_{i=2}^d \varphi(t_i), \qquad
    \varphi(t) = \exp\Bigl(\beta - \frac{\beta}{1-u^2}\Bigr)\mathbf 1\{|u|<1\}, \quad u = \frac{t-1/2}{\rho}
")]
/// with `rho = 0.49` and `beta = 3`: smooth, supported strictly inside the unit cube, and of integral zero since
/// it is a derivative in the first coordinate.
///
/// # Reference
/// Proof of Lemma C.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bump {
    d: usize,
    /// `sup |phi^(j)|`.
    suprema: [f64; ORDERS],
}

impl Bump {
    /// The bump of `d >= 1` inputs.
    pub fn new(d: usize) -> Result<Self, Error> {
        match d {
            0 => Err(Error::Dimension),
            _ => Ok(Self {
                d,
                suprema: suprema(),
            }),
        }
    }

    /// The number of inputs `d`.
    pub fn d(&self) -> usize {
        self.d
    }

    /// A partial derivative at `t`, zero outside the unit cube.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\partial^\nu \psi(t) = \varphi^{(\nu_1+1)}(t_1) \prod_{i=2}^d \varphi^{(\nu_i)}(t_i)")]
    ///
    /// # Reference
    /// Proof of Lemma C.3: the derivative of a bump in its first coordinate.
    ///
    /// # Panics
    /// For an order above 13.
    pub fn derivative(
        &self,
        nu: impl IntoIterator<Item = usize>,
        t: impl IntoIterator<Item = f64>,
    ) -> f64 {
        let mut product = 1.0;
        for (i, (t, order)) in t.into_iter().zip(nu).enumerate() {
            let order = order + usize::from(i == 0);
            product *= phi(t, order)[order];
            if product == 0.0 {
                return 0.0;
            }
        }
        product
    }

    /// The largest value of a partial derivative, a product of suprema of one variable.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\|\partial^\nu\psi\|_\infty = \|\varphi^{(\nu_1+1)}\|_\infty \prod_{i=2}^d \|\varphi^{(\nu_i)}\|_\infty")]
    ///
    /// # Reference
    /// Proof of Lemma C.3, "derivatives of order `v <= k`".
    pub fn supremum(&self, nu: &[usize]) -> f64 {
        let of = |(i, order): (usize, &usize)| self.suprema[order + usize::from(i == 0)];
        nu.iter().enumerate().map(of).product()
    }

    /// The integral of a power of the bump over the cube.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\int \psi^p = \int (\varphi')^p \Bigl(\int \varphi^p\Bigr)^{d-1}")]
    pub(crate) fn moment(&self, p: i32) -> f64 {
        let of = |order: usize| {
            let power = |t| pow(phi(t, order)[order], f64::from(p));
            integrate(0.5 - RHO, 0.5 + RHO, 64, power)
        };
        of(1) * pow(of(0), (self.d - 1) as f64)
    }

    /// The norm of the bump over the cube.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\|\psi\|_2 = \Bigl\{\int (\varphi')^2 \Bigl(\int \varphi^2\Bigr)^{d-1}\Bigr\}^{1/2}")]
    ///
    /// # Reference
    /// Proof of Lemma C.3.
    pub fn norm(&self) -> f64 {
        sqrt(self.moment(2))
    }

    /// The scale `c_*` at which every sum of bumps of a packing is in a class.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        c_* = H \Big/ \max\Bigl\{ \max_{|\nu| \le k} \|\partial^\nu\psi\|_\infty,\
          \max_{|\nu| = k} \bigl(2\|\partial^\nu\psi\|_\infty\bigr)^{1-\alpha}
          \Bigl(\sum_{i=1}^d \|\partial_i\partial^\nu\psi\|_\infty\Bigr)^{\alpha} \Bigr\}
    ")]
    ///
    /// # Proof
    /// Let `f(x) = c_* m^{-s} sum_j omega_j psi(mx - j)` with `m >= 1` and `omega_j` in `{0, 1}`, and let
    /// `G` be the sum with `d^nu psi` for `psi`, so that `d^nu f(x) = c_* m^{v-s} G(mx)` for `v = |nu|`.
    /// The supports are disjoint: at each point at most one term of `G`, and of its gradient, is
    /// not zero. So `|G|` is at most `sup = ||d^nu psi||`, and since `v <= k < s`,
    /// `|d^nu f| <= c_* sup <= H`. Along a segment `G` changes by at most
    /// `L = sum_i ||d_i d^nu psi||` for each unit of the largest coordinate, whatever cells the
    /// segment crosses, so
    #[doc = loopfit_tex::tex!(r"
        |G(z) - G(w)| \le \min\bigl(2\sup, L\|z-w\|_\infty\bigr)
          \le (2\sup)^{1-\alpha} L^\alpha \|z-w\|_\infty^\alpha .
    ")]
    /// For `v = k` put `z = mx` and `w = my`: the factor `m^{k-s} m^alpha` is one.
    ///
    /// Inputs but the first are exchangeable, so the maxima are over `nu_1` and the partitions of
    /// `v - nu_1` into at most `d - 1` parts.
    ///
    /// # Reference
    /// Proof of Lemma C.3, "for sufficiently small fixed `c_*`".
    pub fn scale(&self, class: HolderClass) -> Result<f64, Error> {
        let smoothness = class.smoothness();
        if smoothness.s() > MAX_SMOOTHNESS {
            return Err(Error::SmoothnessLimit(smoothness.s()));
        }
        let (k, alpha) = (smoothness.k(), smoothness.alpha());
        let mut most: f64 = 0.0;
        for order in 0..=k {
            self.each_size(order, |supremum, _| most = most.max(supremum));
        }
        self.each_size(k, |supremum, lipschitz| {
            most = most.max(pow(2.0 * supremum, 1.0 - alpha) * pow(lipschitz, alpha));
        });
        Ok(class.bound() / most)
    }

    /// The largest `||d^nu psi||_inf` and the largest `sum_i ||d_i d^nu psi||_inf` of an order.
    pub(crate) fn largest(&self, order: usize) -> (f64, f64) {
        let mut largest: (f64, f64) = (0.0, 0.0);
        self.each_size(order, |supremum, lipschitz| {
            largest = (largest.0.max(supremum), largest.1.max(lipschitz));
        });
        largest
    }

    /// Calls `f` with `||d^nu psi||_inf` and `sum_i ||d_i d^nu psi||_inf` for every `nu` of an order,
    /// one for all that differ by exchanging inputs but the first.
    fn each_size(&self, order: usize, mut f: impl FnMut(f64, f64)) {
        for first in 0..=order {
            each_partition(order - first, self.d - 1, &mut Vec::new(), &mut |parts| {
                f(self.product(first, parts), self.lipschitz(first, parts));
            });
        }
    }

    /// `||d^nu psi||_inf` for `nu` with `nu_1 = first` and the parts in any other inputs.
    fn product(&self, first: usize, parts: &[usize]) -> f64 {
        let others: f64 = parts.iter().map(|&order| self.suprema[order]).product();
        let rest = (self.d - 1 - parts.len()) as f64;
        self.suprema[first + 1] * others * pow(self.suprema[0], rest)
    }

    /// `sum_i ||d_i d^nu psi||_inf` for the same `nu`.
    fn lipschitz(&self, first: usize, parts: &[usize]) -> f64 {
        let mut sum = self.product(first + 1, parts);
        for i in 0..parts.len() {
            let mut raised = parts.to_vec();
            raised[i] += 1;
            sum += self.product(first, &raised);
        }
        let rest = self.d - 1 - parts.len();
        if rest > 0 {
            let raised: Vec<usize> = parts.iter().copied().chain([1]).collect();
            sum += rest as f64 * self.product(first, &raised);
        }
        sum
    }
}

/// Calls `f` with every partition of `total` into at most `most` positive parts, each not larger
/// than the one before.
fn each_partition(total: usize, most: usize, parts: &mut Vec<usize>, f: &mut impl FnMut(&[usize])) {
    if total == 0 {
        return f(parts);
    }
    if most == 0 {
        return;
    }
    let largest = parts.last().map_or(total, |&last| last.min(total));
    for part in 1..=largest {
        parts.push(part);
        each_partition(total - part, most - 1, parts, f);
        parts.pop();
    }
}

/// The derivatives of `phi` through an order, at `t`.
///
/// # Formula
/// The Taylor coefficients in `u` of the exponent's poles are those of two geometric series,
#[doc = loopfit_tex::tex!(r"
    r_n = \tfrac\beta2\bigl\{(1-u)^{-n-1} + (-1)^n (1+u)^{-n-1}\bigr\} \quad\text{of}\quad
    \frac\beta{1-u^2} = \frac\beta2\Bigl(\frac1{1-u} + \frac1{1+u}\Bigr),
")]
/// those of the exponential follow by `n g_n = -sum_{i=1}^n i r_i g_{n-i}` from
/// `g_0 = exp(beta - r_0)`, and `phi^(j)(t) = j! g_j rho^{-j}`.
fn phi(t: f64, order: usize) -> [f64; ORDERS] {
    let mut derivatives = [0.0; ORDERS];
    let u = (t - 0.5) / RHO;
    let (near, far) = (1.0 / (1.0 - u), 1.0 / (1.0 + u));
    // Beyond the edge the exponential is too small for any power of the pole to matter.
    let inside = u.abs() < 1.0 && 0.5 * BETA * (near + far) < EDGE;
    if !inside {
        return derivatives;
    }
    let (mut left, mut right) = (0.5 * BETA * near, 0.5 * BETA * far);
    // i r_i at place i; place 0 is not used.
    let mut slopes = [0.0; ORDERS];
    derivatives[0] = exp(BETA - (left + right));
    let mut factor = 1.0;
    for n in 1..=order {
        left *= near;
        right *= -far;
        slopes[n] = n as f64 * (left + right);
        let mut sum = 0.0;
        for i in 1..=n {
            sum -= slopes[i] * derivatives[n - i];
        }
        derivatives[n] = sum / n as f64;
    }
    for (n, derivative) in derivatives.iter_mut().enumerate().take(order + 1).skip(1) {
        factor *= n as f64 / RHO;
        *derivative *= factor;
    }
    derivatives
}

/// `sup |phi^(j)|` for every order, by search on a grid and golden sections around its best point,
/// raised by a billionth.
fn suprema() -> [f64; ORDERS] {
    let step = RHO / GRID as f64;
    let grid: Vec<[f64; ORDERS]> = (0..GRID)
        .map(|i| phi(0.5 + i as f64 * step, ORDERS - 1))
        .collect();
    std::array::from_fn(|order| {
        let size = |t: f64| phi(t, order)[order].abs();
        let larger = |a: &usize, b: &usize| grid[*a][order].abs().total_cmp(&grid[*b][order].abs());
        let best = (0..GRID).max_by(larger).unwrap_or(0) as f64;
        let (mut a, mut b) = (0.5 + (best - 1.0) * step, 0.5 + (best + 1.0) * step);
        let golden = 0.5 * (sqrt(5.0) - 1.0);
        for _ in 0..60 {
            let width = golden * (b - a);
            if size(b - width) > size(a + width) {
                b = a + width;
            } else {
                a = b - width;
            }
        }
        let best = 0.5 + best * step;
        SAFETY * size(0.5 * (a + b)).max(size(best))
    })
}

#[cfg(test)]
mod tests;
