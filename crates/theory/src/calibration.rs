//! Explicit constants of the metric calibration: how the distances of laws and of their index
//! functions bound each other.
//!
//! The paper proves that constants exist which depend on the bound `H` of the functions and on the
//! noise scale alone (Proposition 3.2). Its proofs are explicit up to a last step; here is that step, as
//! sharp as the argument allows, for each of its four likelihood models and, by the argument of the
//! energy model on a finite space, for several classes.

use crate::Error;
use loopfit_likelihood::{Divergence, Gamma, Gaussian, Laplace, Multiclass};
use loopfit_numerics::libm::{asinh, erfc, exp, log, log1p, sqrt};
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::named::Named;
use loopfit_numerics::special::{sigmoid, softplus};
use std::f64::consts::{E, FRAC_1_SQRT_2, LN_2, PI, SQRT_2};
use std::ops::RangeInclusive;

/// Bounds whose squares, also in units of any noise scale, are ordinary numbers.
pub(crate) const BOUNDS: RangeInclusive<f64> = 1e-15..=1e15;

/// How an index function stands for a law, as far as the constants depend on it.
///
/// # Reference
/// Section 3.1: `m = G, La, Be, E`. The paper stops there; classes are ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LikelihoodModel {
    /// `Y = f(X) + N(0, sigma^2)`.
    Gaussian(Gaussian),
    /// `Y = f(X) + Laplace(tau)`.
    Laplace(Laplace),
    /// `Y` in {0, 1}, `f` the logit.
    Bernoulli,
    /// `Y` in `0..C`, `f` the C logits.
    Multiclass(Multiclass),
    /// `X` on the unit cube, `f` the log density up to a constant.
    Energy,
}

/// A likelihood model without its noise scale or its number of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikelihoodKind {
    /// [`LikelihoodModel::Gaussian`].
    Gaussian,
    /// [`LikelihoodModel::Laplace`].
    Laplace,
    /// [`LikelihoodModel::Bernoulli`].
    Bernoulli,
    /// [`LikelihoodModel::Multiclass`].
    Multiclass,
    /// [`LikelihoodModel::Energy`].
    Energy,
}

impl Named for LikelihoodKind {
    const ALL: &'static [Self] = &[
        Self::Gaussian,
        Self::Laplace,
        Self::Bernoulli,
        Self::Multiclass,
        Self::Energy,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Laplace => "laplace",
            Self::Bernoulli => "bernoulli",
            Self::Multiclass => "multiclass",
            Self::Energy => "energy",
        }
    }
}

impl LikelihoodModel {
    /// The Gaussian model with a checked standard deviation.
    pub fn gaussian(sigma: f64) -> Result<Self, Error> {
        Ok(Self::Gaussian(Gaussian::new(sigma)?))
    }

    /// The Laplace model with a checked scale.
    pub fn laplace(tau: f64) -> Result<Self, Error> {
        Ok(Self::Laplace(Laplace::new(tau)?))
    }

    /// The four of the paper, with the noise scales of the first two.
    ///
    /// # Reference
    /// Section 3.1.
    pub fn of_paper(sigma: f64, tau: f64) -> Result<[Self; 4], Error> {
        let (gaussian, laplace) = (Self::gaussian(sigma)?, Self::laplace(tau)?);
        Ok([gaussian, laplace, Self::Bernoulli, Self::Energy])
    }

    /// Its kind, which has the name.
    pub fn kind(self) -> LikelihoodKind {
        match self {
            Self::Gaussian(_) => LikelihoodKind::Gaussian,
            Self::Laplace(_) => LikelihoodKind::Laplace,
            Self::Bernoulli => LikelihoodKind::Bernoulli,
            Self::Multiclass(_) => LikelihoodKind::Multiclass,
            Self::Energy => LikelihoodKind::Energy,
        }
    }

    /// The model of a checked number of classes.
    pub fn multiclass(classes: usize) -> Result<Self, Error> {
        Ok(Self::Multiclass(Multiclass::new(classes)?))
    }
}

/// The constants of one likelihood model for functions with values in `[-H, H]`.
///
/// `d_m` is the `L2(mu)` distance for the Gaussian, Laplace and Bernoulli models. It is the distance
/// modulo what the law does not see for the other two: constants for the energy model, and for
/// classes functions of `x` that are added to every logit.
///
/// # Reference
/// Proposition 3.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    model: LikelihoodModel,
    bound: f64,
}

impl Calibration {
    /// The constants for functions with values in `[-bound, bound]`.
    pub fn new(model: LikelihoodModel, bound: f64) -> Result<Self, Error> {
        if BOUNDS.contains(&bound) {
            Ok(Self { model, bound })
        } else {
            Err(Error::Bound(bound))
        }
    }

    /// The likelihood model.
    pub fn model(self) -> LikelihoodModel {
        self.model
    }

    /// The bound `H`.
    pub fn bound(self) -> f64 {
        self.bound
    }

    /// The constant `c_m` of `c_m d_m(f, g)^2 <= h^2`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \begin{aligned}
        c_{\mathrm G} &= \frac{1-e^{-X}}{2H^2},\ X = \frac{H^2}{2\sigma^2}; \qquad
        c_{\mathrm{La}} = \frac{1-(1+W)e^{-W}}{2H^2},\ W = \frac H\tau; \qquad
        c_{\mathrm{Be}} = \frac{1}{16\cosh^2(H/2)}; \\
        c_{\mathrm E} &= \frac{e^{-2H}}{4}; \qquad
        c_{\mathrm{classes}} = \frac{p_{\min}}{4},\ p_{\min} = \frac{1}{1+(C-1)e^{2H}}
        \end{aligned}
    ")]
    ///
    /// Gaussian: at one `x` with `D = f - g` and `z = D^2/(8 sigma^2)`, which is at most `X`,
    /// `h^2/D^2 = (1 - e^-z)/(4 sigma^2 z)` falls with `z` by concavity, so it is smallest at
    /// `f = H`, `g = -H`. Laplace: with `w = |D|/(2 tau)`, at most `W`, `h^2 = 2{1 - (1 + w)e^-w}` has derivative
    /// `2we^-w`; its ratio to that of `w^2` falls, hence so does `h^2/w^2` (monotone form of
    /// l'Hôpital's rule), again down to `f = H`, `g = -H`. Bernoulli: the affinity is
    /// `a = cosh((f+g)/4)/{cosh(f/2)cosh(g/2)}^(1/2)`, and
    /// `h^2 = 2(1-a) >= 1 - a^2 = sinh^2(D/4)/{cosh(f/2)cosh(g/2)}`, at least `D^2/16` over `cosh^2(H/2)`; attained
    /// as `f` and `g` approach `H`. Energy: Lemma C.2, attained in the limit where densities come close to
    /// their smallest value `e^(-2H)`. Classes: Lemma C.2 with probabilities in place of densities:
    /// `log` is `1/sqrt(p_min)`-Lipschitz on the square roots, whose squared logarithms then differ by `4/p_min` times
    /// as much as they do.
    ///
    /// # Reference
    /// Proposition 3.2 (i); Sections C.1 to C.3 and Lemma C.2.
    pub fn c(self) -> LogNumber {
        let h = self.bound;
        match self.model {
            LikelihoodModel::Gaussian(l) => at_the_corners(l, h),
            LikelihoodModel::Laplace(l) => at_the_corners(l, h),
            LikelihoodModel::Bernoulli => {
                // log cosh t = t + log(1 + e^-2t) - log 2, at t = H/2.
                let log_cosh = 0.5 * h + log1p(exp(-h)) - LN_2;
                LogNumber::from_ln(-2.0 * log_cosh - 4.0 * LN_2)
            }
            LikelihoodModel::Multiclass(l) => self.p_min(l) / LogNumber::new(4.0),
            LikelihoodModel::Energy => LogNumber::from_ln(-2.0 * h) / LogNumber::new(4.0),
        }
    }

    /// The constant `C_m` of `h^2 <= C_m d_m(f, g)^2`; for the energy model and for classes also of
    /// `KL <= C_m d_m(f, g)^2`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        C_{\mathrm G} = \frac{1}{4\sigma^2}; \quad
        C_{\mathrm{La}} = \frac{1}{4\tau^2}; \quad
        C_{\mathrm{Be}} = \frac1{16}; \quad
        C_{\mathrm E} = \frac{e^{2H}}{2}; \quad
        C_{\mathrm{classes}} = \tfrac12\min\{p_{\max}, \tfrac12\},\ p_{\max} = \frac{1}{1+(C-1)e^{-2H}}
    ")]
    ///
    /// Gaussian and Laplace: the ratios of [`Calibration::c`] are largest as `D` goes to 0. Bernoulli: with
    /// `sqrt p = sin(theta)`, `h = 2 sin(|theta_f - theta_g|/2)` and
    /// `d theta/dt = 1/{4 cosh(t/2)}`, at most 1/4; attained as `f` and `g` approach 0. Energy: Lemma C.2;
    /// attained by `KL` in the limit where densities come close to their largest value `e^(2H)`.
    /// Classes: as there, `KL` is the average of `(1 - t) Var(delta)` over the path, and the variance is
    /// a quadratic form `diag(p) - pp^T`, below `p_max` because the second term takes away and below 1/2 because
    /// no row's absolute sum `2p_i(1 - p_i)` is above it.
    ///
    /// # Reference
    /// Proposition 3.2 (i); Sections C.1 to C.3 and Lemma C.2, equation (S9).
    pub fn upper(self) -> LogNumber {
        match self.model {
            LikelihoodModel::Energy => LogNumber::from_ln(2.0 * self.bound - LN_2),
            LikelihoodModel::Multiclass(l) => LogNumber::new(0.5 * self.p_max(l).min(0.5)),
            _ => LogNumber::new(self.speed() * self.speed()),
        }
    }

    /// The constant `kappa_m` of `KL <= kappa_m d_m(f, g)^2`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \kappa_{\mathrm G} = \frac{1}{2\sigma^2}; \quad
        \kappa_{\mathrm{La}} = \frac{1}{2\tau^2}; \quad
        \kappa_{\mathrm{Be}} = \frac18; \quad
        \kappa_{\mathrm E} = C_{\mathrm E}; \quad
        \kappa_{\mathrm{classes}} = C_{\mathrm{classes}}
    ")]
    /// Half the largest Fisher information, twice [`Calibration::upper`] where the laws are conditional on one number: Gaussian
    /// exactly, Laplace because `w + e^-w - 1 <= w^2/2`, Bernoulli because the variance of a binary law is at most 1/4.
    ///
    /// # Reference
    /// Section C.1; Lemma C.2, equation (S9).
    pub fn information(self) -> LogNumber {
        match self.model {
            LikelihoodModel::Energy | LikelihoodModel::Multiclass(_) => self.upper(),
            _ => LogNumber::new(2.0) * self.upper(),
        }
    }

    /// The constant of the one-sided bridge `rho_{1/2} <= C h^2`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \begin{aligned}
        \mathrm G:\ &\frac{e^{3X}-1}{1-e^{-X}} = e^X+e^{2X}+e^{3X}; \qquad
        \mathrm{La}:\ \frac{(3e^W+e^{-3W})/4-1}{1-(1+W)e^{-W}}; \\
        \mathrm{Be}:\ &2e^{H/2}+1; \qquad
        \mathrm E:\ 2e^{2H}+1; \qquad
        \mathrm{classes}:\ 2\sqrt{p_{\max}/p_{\min}}+1
        \end{aligned}
    ")]
    ///
    /// Gaussian and Laplace: both sides are known at each `x`, and their ratio rises with `|f - g|` from 3
    /// to the value at `f = H`, `g = -H` (for Laplace because the ratio of derivatives
    /// `(3/2) sinh(2w)/w` rises), so that these are sharp. The others: with `t = p_f/p_g`, `rho_{1/2}` is the
    /// integral of `p_g (sqrt t - 1)^2 (2 sqrt t + 1)`, and `t` is at most `e^H`, `e^(4H)` and `p_max/p_min`.
    ///
    /// # Reference
    /// Proposition 3.2 (ii); Lemma C.1, and Lemma C.2, equation (S10).
    pub fn bridge(self) -> LogNumber {
        let h = self.bound;
        let twice_and_one = |root: LogNumber| root + root + LogNumber::ONE;
        match self.model {
            LikelihoodModel::Gaussian(l) => {
                let x = 0.5 * (h / l.sigma()) * (h / l.sigma());
                let e = LogNumber::from_ln(x);
                e + e * e + e * e * e
            }
            LikelihoodModel::Laplace(l) => {
                let rho = l.log_rho(Gamma::HALF, h, -h);
                rho / LogNumber::new(l.hellinger_squared(h, -h))
            }
            LikelihoodModel::Bernoulli => twice_and_one(LogNumber::from_ln(0.5 * h)),
            LikelihoodModel::Energy => twice_and_one(LogNumber::from_ln(2.0 * h)),
            LikelihoodModel::Multiclass(l) => {
                let ratio = LogNumber::new(self.p_max(l)) / self.p_min(l);
                twice_and_one(ratio.pow(0.5))
            }
        }
    }

    /// The radius of a uniform cover of the functions that gives brackets of Hellinger width `u`, as many as the
    /// cover has members: the bracket entropy at `u` is at most the log covering number at this radius.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \frac{u}{2\|L\|_2} \text{ for } \mathrm G, \mathrm{La}, \mathrm{Be}; \qquad
        \operatorname{asinh}(u/2) \text{ for } \mathrm E \text{ and classes}
    ")]
    /// where `L` is the largest `|d/dt sqrt(p_t)|` over `|t| <= H`:
    #[doc = loopfit_tex::tex!(r"
        \begin{aligned}
        \|L\|_2^2 = {} &\frac{1}{2\sqrt{2\pi}\,\sigma^2}\Bigl\{\frac2e(\eta+z)+ze^{-z^2/2}
          +\sqrt{\tfrac\pi2}\operatorname{erfc}\frac{z}{\sqrt2}\Bigr\},\ \eta=\frac H\sigma,\ z=\min(\eta,\sqrt2); \\
        &\frac{H+\tau}{4\tau^3}; \qquad
        \tfrac12 p(1-p)^2,\ p = \max\{\tfrac13, \operatorname{sigmoid}(-H)\}
        \end{aligned}
    ")]
    ///
    /// Gaussian: in units of sigma the derivative is `z e^(-z^2/4)` up to a factor, `z` the distance of `y` from
    /// `t`. It peaks at `sqrt 2`, which some `t` attains where `| |y| - sqrt 2 | <= eta`; elsewhere the end of
    /// the interval of `t` that comes nearest to the peak counts. Laplace: `e^{-(|y| - H)_+/tau}/(8 tau^3)` integrated.
    /// Bernoulli: `sqrt(p)(1 - p)/2` rises up to `p = 1/3` and falls from there; both values of `y` count the same.
    /// Energy: Lemma C.2, brackets of width `2 sinh(radius)`; the argument is the same for classes at each `x`.
    ///
    /// # Reference
    /// Proposition 3.2 (iii); Section C.3, the display of `L`, and Lemma C.2.
    pub fn index_radius(self, u: f64) -> f64 {
        match self.envelope() {
            Some(norm) => u / (2.0 * norm),
            None => asinh(0.5 * u),
        }
    }

    /// The radius of an internal uniform cover of the functions that gives an internal Hellinger cover of
    /// their laws at radius `eps`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        h(\mathbb P_f,\mathbb P_g)\le \tfrac12\sqrt{I}\,\|f-g\|_\infty, \qquad
        \tfrac12\sqrt I = \frac1{2\sigma},\ \frac1{2\tau},\ \frac14,\ \frac12,\ \frac12
    ")]
    /// for `m` = G, La, Be, E and classes. On the way from `f` to `g` the square root of the density moves with
    /// half the root of the Fisher information in the direction `g - f`. That is the variance of `g - f` for the
    /// last two, which its largest square bounds.
    ///
    /// # Reference
    /// Proposition 3.2 (iii), last sentence.
    pub fn cover_radius(self, eps: f64) -> f64 {
        eps / self.speed()
    }

    /// The largest `h / sup|f - g|`, see [`Calibration::cover_radius`].
    fn speed(self) -> f64 {
        match self.model {
            LikelihoodModel::Gaussian(l) => 0.5 / l.sigma(),
            LikelihoodModel::Laplace(l) => 0.5 / l.tau(),
            LikelihoodModel::Bernoulli => 0.25,
            LikelihoodModel::Multiclass(_) | LikelihoodModel::Energy => 0.5,
        }
    }

    /// The norm of the envelope `L`, see [`Calibration::index_radius`].
    fn envelope(self) -> Option<f64> {
        let h = self.bound;
        match self.model {
            LikelihoodModel::Gaussian(l) => {
                let eta = h / l.sigma();
                let z = eta.min(SQRT_2);
                let peak = 2.0 / E * (eta + z);
                let tail = z * exp(-0.5 * z * z) + sqrt(0.5 * PI) * erfc(z * FRAC_1_SQRT_2);
                Some(sqrt((peak + tail) / (2.0 * sqrt(2.0 * PI))) / l.sigma())
            }
            LikelihoodModel::Laplace(l) => Some(0.5 * sqrt(h / l.tau() + 1.0) / l.tau()),
            LikelihoodModel::Bernoulli => {
                let p = sigmoid(-h).max(1.0 / 3.0);
                Some((1.0 - p) * sqrt(0.5 * p))
            }
            LikelihoodModel::Multiclass(_) | LikelihoodModel::Energy => None,
        }
    }

    /// The least probability of a class: its logit is `-H`, all others are `H`.
    fn p_min(self, l: Multiclass) -> LogNumber {
        LogNumber::from_ln(-softplus(others(l) + 2.0 * self.bound))
    }

    /// The largest probability of a class.
    fn p_max(self, l: Multiclass) -> f64 {
        sigmoid(2.0 * self.bound - others(l))
    }
}

/// `log(C - 1)`.
fn others(l: Multiclass) -> f64 {
    log((l.classes() - 1) as f64)
}

/// `h^2 / (f - g)^2` at `f = H`, `g = -H`.
fn at_the_corners(l: impl Divergence, h: f64) -> LogNumber {
    LogNumber::new(l.hellinger_squared(h, -h)) / LogNumber::new(4.0 * h * h)
}

#[cfg(test)]
mod tests;
