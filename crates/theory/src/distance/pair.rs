//! Two functions on the points of a rule, and what is added up over the points.

use crate::calibration::BOUNDS;
use crate::integral::Rule;
use crate::{Error, LikelihoodModel};
use loopfit_likelihood::distance::{log_masses, log_rho};
use loopfit_likelihood::{Bernoulli, Distance, Divergence, Gamma};
use loopfit_numerics::libm::{exp, expm1, log, log1p, sqrt};
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::sum::{mean, sum};
use std::ops::Range;

/// Two functions on the points of a rule.
pub(super) struct Pair {
    model: LikelihoodModel,
    /// The order of `rho`.
    gamma: Gamma,
    outputs: usize,
    pub(super) weights: Vec<f64>,
    f: Vec<f64>,
    g: Vec<f64>,
    /// Log masses of the two densities on the points; empty for conditional models.
    log_p: Vec<f64>,
    log_q: Vec<f64>,
    /// The mean of `f - g` over the points, which centres it up to rounding; zero for classes, which have their own.
    shift: f64,
    pub(super) largest: f64,
}

impl Pair {
    pub(super) fn new(
        model: LikelihoodModel,
        gamma: Gamma,
        rule: Rule,
        d: usize,
        f: Vec<f64>,
        g: Vec<f64>,
    ) -> Result<Self, Error> {
        let outputs = match model {
            LikelihoodModel::Multiclass(l) => l.classes(),
            _ => 1,
        };
        let n = rule.weights.len();
        for (values, which) in [(&f, "first"), (&g, "second")] {
            assert_eq!(
                values.len(),
                n * outputs,
                "one row of values for each point"
            );
            if let Some(i) = values.iter().position(|v| !v.is_finite()) {
                let point = &rule.points[i / outputs * d..][..d];
                let point: Vec<String> = point.iter().map(f64::to_string).collect();
                return Err(Error::NotFinite {
                    which,
                    point: point.join(", "),
                });
            }
        }
        let largest = f.iter().chain(&g).fold(0.0, |a: f64, v| a.max(v.abs()));
        if largest > *BOUNDS.end() {
            return Err(Error::TooLarge(largest));
        }
        let weights = rule.weights;
        let (mut log_p, mut log_q) = (Vec::new(), Vec::new());
        if model == LikelihoodModel::Energy {
            // With e^f mu in place of e^f, the weighted points are a law with masses.
            let weighted = |values: &[f64]| -> Vec<f64> {
                values
                    .iter()
                    .zip(&weights)
                    .map(|(v, w)| v + log(*w))
                    .collect()
            };
            (log_p, log_q) = (log_masses(&weighted(&f)), log_masses(&weighted(&g)));
        }
        let shift = if outputs == 1 {
            let gaps = f.iter().zip(&g).zip(&weights);
            sum(&gaps.map(|((f, g), w)| w * (f - g)).collect::<Vec<_>>())
        } else {
            0.0
        };
        Ok(Self {
            model,
            gamma,
            outputs,
            weights,
            f,
            g,
            log_p,
            log_q,
            shift,
            largest,
        })
    }

    /// The sums over some of the points.
    pub(super) fn sums(&self, points: Range<usize>) -> Sums {
        let total = |term: &dyn Fn(usize) -> f64| {
            let terms: Vec<f64> = points.clone().map(|i| self.weights[i] * term(i)).collect();
            sum(&terms)
        };
        let weight = total(&|_| 1.0);
        let squares: Vec<Squares> = points.clone().map(|i| self.squares(i)).collect();
        let squared = |of: &dyn Fn(&Squares) -> f64| total(&|i| of(&squares[i - points.start]));
        let of_functions = Sums {
            weight,
            p: weight,
            q: weight,
            h2: 0.0,
            kl: 0.0,
            rho: LogNumber::ZERO,
            mean: squared(&|s| s.mean),
            centred: squared(&|s| s.centred),
            square: squared(&|s| s.square),
        };
        let at: Option<Vec<Pointwise>> = points.clone().map(|i| self.at(i)).collect();
        let Some(at) = at else {
            let (p, q) = (&self.log_p[points.clone()], &self.log_q[points.clone()]);
            let mass = |log: &[f64]| sum(&log.iter().map(|v| exp(*v)).collect::<Vec<_>>());
            return Sums {
                p: mass(p),
                q: mass(q),
                h2: Distance::HellingerSquared.of_log_masses(p, q),
                kl: Distance::Kl.of_log_masses(p, q),
                rho: log_rho(self.gamma, p, q),
                ..of_functions
            };
        };
        let terms = |of: &dyn Fn(&Pointwise) -> f64| total(&|i| of(&at[i - points.start]));
        // In units of the largest, all are ordinary numbers.
        let unit = at.iter().fold(LogNumber::ZERO, |a, v| a.max(v.rho));
        Sums {
            h2: terms(&|v| v.h2),
            kl: terms(&|v| v.kl),
            rho: unit * LogNumber::new(terms(&|v| (v.rho / unit).value())),
            ..of_functions
        }
    }

    /// The values of a function at a point: one, or one for each class.
    fn row<'a>(&self, values: &'a [f64], i: usize) -> &'a [f64] {
        &values[i * self.outputs..(i + 1) * self.outputs]
    }

    fn squares(&self, i: usize) -> Squares {
        let (f, g) = (self.row(&self.f, i), self.row(&self.g, i));
        let gaps: Vec<f64> = f.iter().zip(g).map(|(f, g)| f - g).collect();
        let about = |centre: f64| {
            let squares: Vec<f64> = gaps.iter().map(|v| (v - centre) * (v - centre)).collect();
            sum(&squares)
        };
        let centre = match self.model {
            LikelihoodModel::Multiclass(_) => mean(&gaps),
            _ => self.shift,
        };
        Squares {
            mean: mean(&gaps) - centre,
            centred: about(centre),
            square: about(0.0),
        }
    }

    /// The distances of the conditional laws at one point; none of an energy model, which is one law over all points.
    fn at(&self, i: usize) -> Option<Pointwise> {
        Some(match self.model {
            LikelihoodModel::Gaussian(l) => scalar(l, self.gamma, self.f[i], self.g[i]),
            LikelihoodModel::Laplace(l) => scalar(l, self.gamma, self.f[i], self.g[i]),
            LikelihoodModel::Bernoulli => scalar(Bernoulli, self.gamma, self.f[i], self.g[i]),
            LikelihoodModel::Multiclass(l) => {
                let (f, g) = (self.row(&self.f, i), self.row(&self.g, i));
                Pointwise {
                    h2: l.hellinger_squared(f, g),
                    kl: l.kl(f, g),
                    rho: l.log_rho(self.gamma, f, g),
                }
            }
            LikelihoodModel::Energy => return None,
        })
    }
}

/// Distances of two conditional laws.
struct Pointwise {
    h2: f64,
    kl: f64,
    rho: LogNumber,
}

fn scalar(l: impl Divergence, gamma: Gamma, f: f64, g: f64) -> Pointwise {
    Pointwise {
        h2: l.hellinger_squared(f, g),
        kl: l.kl(f, g),
        rho: l.log_rho(gamma, f, g),
    }
}

/// What is added up over the cube for the distances of the functions; see [`Sums`].
struct Squares {
    mean: f64,
    centred: f64,
    square: f64,
}

/// What is added up over points; every distance is a function of these sums.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    weight: f64,
    /// Masses of the two densities of an energy model; those of `mu` for a conditional one.
    pub(super) p: f64,
    pub(super) q: f64,
    /// The sums of [`Distance::of_log_masses`].
    h2: f64,
    kl: f64,
    rho: LogNumber,
    /// `f - g` about a number near its mean, its square, and the square of `f - g` itself.
    mean: f64,
    centred: f64,
    square: f64,
}

/// The five distances.
pub(super) struct Values {
    pub(super) h2: f64,
    pub(super) kl: f64,
    pub(super) rho: LogNumber,
    pub(super) l2: f64,
    pub(super) l2_centred: f64,
}

impl Sums {
    pub(super) fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let none = Self {
            weight: 0.0,
            p: 0.0,
            q: 0.0,
            h2: 0.0,
            kl: 0.0,
            rho: LogNumber::ZERO,
            mean: 0.0,
            centred: 0.0,
            square: 0.0,
        };
        parts.into_iter().fold(none, |a, b| Self {
            weight: a.weight + b.weight,
            p: a.p + b.p,
            q: a.q + b.q,
            h2: a.h2 + b.h2,
            kl: a.kl + b.kl,
            rho: a.rho + b.rho,
            mean: a.mean + b.mean,
            centred: a.centred + b.centred,
            square: a.square + b.square,
        })
    }

    /// The distances of the two laws on the points that were added up, whose masses `P` and `Q` are one only if
    /// they are all points.
    ///
    /// # Formula
    /// With `p/P` and `q/Q` in place of `p` and `q`, and `r = Q/P - 1`:
    #[doc = loopfit_tex::tex!(r"
        h^2=\frac{\sum(\sqrt p-\sqrt q)^2-(\sqrt P-\sqrt Q)^2}{\sqrt{PQ}}, \qquad
        \mathrm{KL}=\frac1P\sum\Bigl(p\log\frac pq+q-p\Bigr)-\{r-\log(1+r)\},
    ")]
    #[doc = loopfit_tex::tex!(r"
        \rho_\gamma=\frac{(1+r)^\gamma}{P}\sum\Bigl[\frac p\gamma\Bigl\{\Bigl(\frac pq\Bigr)^\gamma-1\Bigr\}+q-p\Bigr]
          -\frac1\gamma\Bigl\{1-(1+r)^\gamma(1-\gamma r)\Bigr\}
    ")]
    pub(super) fn values(self, gamma: Gamma) -> Values {
        let Self { p, q, weight, .. } = self;
        let gap = sqrt(p) - sqrt(q);
        let r = (q - p) / p;
        let gamma_r = gamma.value() * r;
        let power = match gamma == Gamma::HALF {
            true => sqrt(1.0 + r),
            false => exp(gamma.value() * log1p(r)),
        };
        let excess = if gamma == Gamma::HALF {
            // 2 {1 - s (1 - r/2)} with s = sqrt(1 + r), where s may be close to one.
            (power - 1.0) * (power - 1.0) * (power + 2.0)
        } else if gamma_r < 1.0 {
            -expm1(gamma.value() * log1p(r) + log1p(-gamma_r)) / gamma.value()
        } else {
            (1.0 - power * (1.0 - gamma_r)) / gamma.value()
        };
        let centre = self.mean / weight;
        Values {
            h2: ((self.h2 - gap * gap) / sqrt(p * q)).max(0.0),
            kl: (self.kl / p - (r - log1p(r))).max(0.0),
            rho: (self.rho * LogNumber::new(power / p))
                .saturating_sub(LogNumber::new(excess.max(0.0))),
            l2: sqrt(self.square / weight),
            l2_centred: sqrt((self.centred / weight - centre * centre).max(0.0)),
        }
    }
}
