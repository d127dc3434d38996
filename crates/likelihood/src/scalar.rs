//! What the families with one output have in common.

use crate::{Error, Gamma};
use loopfit_numerics::lanes::Simd;
use loopfit_numerics::log_number::LogNumber;
use std::ops::RangeInclusive;

/// Noise scales whose squares and reciprocal squares are ordinary 32-bit numbers.
pub(crate) const SCALES: RangeInclusive<f64> = 1e-15..=1e15;

/// A conditional likelihood of one target `y` given one index value `f = f(x)`: what fitting needs.
pub trait ScalarLikelihood: Copy + Send + Sync + 'static {
    /// Whether `y` can be observed at all.
    fn check_target(self, y: f64) -> Result<(), Error>;

    /// Negative log density `-log p_f(y)`, constants included.
    fn nll(self, y: f64, f: f64) -> f64;

    /// `d nll / d f`. NaN in gives NaN out.
    fn derivative(self, y: f64, f: f64) -> f64;

    /// [`ScalarLikelihood::derivative`] in 32 bits on sixteen samples at once.
    /// Implementations must be `#[inline(always)]`.
    fn derivative_lanes<S: Simd>(self, s: S, y: S::V, f: S::V) -> S::V;

    /// Fisher information of the index at `f`: `E (d nll / d f)^2` under `p_f`.
    fn fisher(self, f: f64) -> f64;
}

/// How far apart two laws of a family are: those of the conditional laws at one `x`. The distance of the joint laws is their
/// average over `x` ([`crate::Likelihood::distance`]).
pub trait Divergence: ScalarLikelihood {
    /// Squared Hellinger distance `integral (sqrt p_f - sqrt p_g)^2`, in `[0, 2]`.
    fn hellinger_squared(self, f: f64, g: f64) -> f64;

    /// Kullback-Leibler divergence `integral p_f log(p_f / p_g)`.
    fn kl(self, f: f64, g: f64) -> f64;

    /// `rho_gamma(p_f, p_g)`, see [`Gamma`].
    fn rho(self, gamma: Gamma, f: f64, g: f64) -> f64;

    /// [`Divergence::rho`], also where it is too large for a float. There its leading term is all that
    /// any digit holds.
    fn log_rho(self, gamma: Gamma, f: f64, g: f64) -> LogNumber;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use loopfit_numerics::lanes::{Kernel, LANES, Lane, Level};

    struct Derivative<L> {
        likelihood: L,
        y: Lane,
        f: Lane,
    }

    impl<L: ScalarLikelihood> Kernel for Derivative<L> {
        type Output = Lane;
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> Lane {
            let mut out = Lane::ZERO;
            let d = self
                .likelihood
                .derivative_lanes(s, s.load(&self.y), s.load(&self.f));
            s.store(&mut out, d);
            out
        }
    }

    /// Compares the lanes with the 64-bit derivative and all levels with each other.
    pub(crate) fn check_lanes<L: ScalarLikelihood>(
        likelihood: L,
        y: [f32; LANES],
        f: [f32; LANES],
    ) {
        let run = |level: Level| {
            level.run(Derivative {
                likelihood,
                y: Lane(y),
                f: Lane(f),
            })
        };
        let first = run(Level::fastest());
        for level in Level::available() {
            assert_eq!(run(level).0.map(f32::to_bits), first.0.map(f32::to_bits));
        }
        for i in 0..LANES {
            let exact = likelihood.derivative(f64::from(y[i]), f64::from(f[i]));
            let got = f64::from(first.0[i]);
            assert!(
                (got - exact).abs() <= 1e-6 * exact.abs() + 1e-37,
                "y {} f {}: {got} {exact}",
                y[i],
                f[i]
            );
        }
    }

    /// NaN must reach the gradient, where the engine notices it.
    pub(crate) fn check_nan<L: ScalarLikelihood>(likelihood: L) {
        assert!(likelihood.derivative(1.0, f64::NAN).is_nan());
        for level in Level::available() {
            let out = level.run(Derivative {
                likelihood,
                y: Lane([1.0; LANES]),
                f: Lane([f32::NAN; LANES]),
            });
            assert!(out.0.iter().all(|d| d.is_nan()), "{}", level.name());
        }
    }

    /// Compares the derivative with central differences of `nll`.
    pub(crate) fn check_derivative<L: ScalarLikelihood>(likelihood: L, y: f64, f: f64) {
        let h = 1e-5;
        let slope = (likelihood.nll(y, f + h) - likelihood.nll(y, f - h)) / (2.0 * h);
        let exact = likelihood.derivative(y, f);
        assert!(
            (slope - exact).abs() < 1e-7 * (1.0 + exact.abs()),
            "y {y} f {f}: {slope} {exact}"
        );
    }

    /// Compares the three distances with sums or integrals of the density `e^-nll`.
    pub(crate) fn check_distances<L: Divergence>(
        likelihood: L,
        f: f64,
        g: f64,
        integrate: impl Fn(&dyn Fn(f64) -> f64) -> f64,
    ) {
        // Logarithms, because the densities of the tails underflow before their ratios do.
        let log_p = |y| -likelihood.nll(y, f);
        let log_q = |y| -likelihood.nll(y, g);
        let close = |got: f64, exact: f64, what: &str| {
            assert!(
                (got - exact).abs() < 1e-10 * (1.0 + exact.abs()),
                "{what} at f {f} g {g}: {got} {exact}"
            );
        };
        close(1.0, integrate(&|y| log_p(y).exp()), "total mass");
        close(
            likelihood.hellinger_squared(f, g),
            integrate(&|y| ((log_p(y) / 2.0).exp() - (log_q(y) / 2.0).exp()).powi(2)),
            "squared Hellinger",
        );
        close(
            likelihood.kl(f, g),
            integrate(&|y| log_p(y).exp() * (log_p(y) - log_q(y))),
            "KL",
        );
        for gamma in [0.1, 0.5, 0.8, 1.0] {
            let power = integrate(&|y| ((1.0 + gamma) * log_p(y) - gamma * log_q(y)).exp());
            close(
                likelihood.rho(Gamma::new(gamma).unwrap(), f, g),
                (power - 1.0) / gamma,
                "rho",
            );
        }
        let information = integrate(&|y| log_p(y).exp() * likelihood.derivative(y, f).powi(2));
        close(likelihood.fisher(f), information, "Fisher information");
    }
}
