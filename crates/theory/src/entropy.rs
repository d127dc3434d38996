//! How large the classes are: covers, brackets, the critical radius, and the union of all untied shapes.
//!
//! [`sizes`] is all of it for one loop.

pub mod sizes;

pub use sizes::{Laws, Sizes};

use crate::{Calibration, Constant, Constants, Error, Sensitivity};
use loopfit_model::Budget;
use loopfit_model::budget::UntiedShape;
use loopfit_numerics::libm::{exp, log, sqrt};
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::quadrature::integrate;
use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

/// A class of functions with all coefficients in `[-M, M]` and a bounded sensitivity to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterClass {
    /// The number of coefficients `P`.
    count: f64,
    /// `4 M Gamma`.
    scale: LogNumber,
}

impl ParameterClass {
    /// A class of `count` coefficients.
    pub fn new(count: u64, parameter_bound: f64, gamma: LogNumber) -> Self {
        Self {
            count: count as f64,
            scale: LogNumber::new(4.0) * LogNumber::new(parameter_bound) * gamma,
        }
    }

    /// A bound on the logarithm of the internal covering number in the maximum norm.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \log\mathcal N(\epsilon, \mathcal G, \|\cdot\|_\infty) \le P \log(1 + 4 M_{\rm par} \Gamma / \epsilon)
    ")]
    ///
    /// # Reference
    /// Equation (S12).
    pub fn covering(&self, eps: LogNumber) -> f64 {
        self.count * (self.scale / eps).ln_1p()
    }

    /// A bound on the Hellinger bracketing entropy of the laws.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"H(u, \mathcal P^m, h) \le \log\mathcal N(\epsilon_m(u), \mathcal G, \|\cdot\|_\infty)")]
    /// with the radius `epsilon_m(u)` of [`Calibration::index_radius`].
    ///
    /// # Reference
    /// Proposition 3.2 (iii), and Proposition 3.4, equation (11), where the constants are not explicit.
    pub fn bracketing(&self, calibration: Calibration, u: f64) -> f64 {
        self.covering(LogNumber::new(calibration.index_radius(u)))
    }

    /// The smallest critical radius of the sieve likelihood bound for this entropy bound.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        e_n = \min\Bigl\{t \ge n^{-1/2} : \int_{t^2/2^8}^{\sqrt2 t} \sqrt{H(u/C_1, \mathcal P_n, h)}\,du
        \le C_2\sqrt n\, t^2\Bigr\}
    ")]
    /// With `u = tv` the condition reads `t^{-1} \int_{t/2^8}^{\sqrt 2} \sqrt{H(tv/C_1)} dv <= C_2 sqrt n`. Its left side
    /// falls as `t` grows, so it holds for every larger `t` too, as the theorem asks.
    ///
    /// # Reference
    /// Corollary 2.4, equation (2); Theorem A.2, equation (S2). The absolute constants `C_1`, `C_2` are those of Wong and
    /// Shen (1995), which the paper does not state.
    pub fn critical_radius(
        &self,
        calibration: Calibration,
        n: f64,
        constants: &Constants,
    ) -> CriticalRadius {
        let (c_1, c_2) = (constants.value(Constant::C1), constants.value(Constant::C2));
        // In v = log u the integrand is smooth.
        let integral = |t: f64| {
            let (low, high) = (log(t * t / 256.0), log(SQRT_2 * t));
            integrate(low, high, 8, |v| {
                exp(v) * sqrt(self.bracketing(calibration, exp(v) / c_1))
            })
        };
        let holds = |t: f64| integral(t) <= c_2 * sqrt(n) * t * t;
        if !holds(SQRT_2) {
            let root = integral(SQRT_2) / (2.0 * c_2);
            return CriticalRadius::None {
                needed: LogNumber::new(root).pow(2.0),
            };
        }
        let least = 1.0 / sqrt(n);
        if holds(least) {
            return CriticalRadius::Radius(least);
        }
        let (mut low, mut high) = (log(least), log(SQRT_2));
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if holds(exp(middle)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        CriticalRadius::Radius(exp(high))
    }
}

/// The constant `K` with which a critical radius is that of Lemma C.5.
///
/// # Formula
/// `e_n^2 = K P {log(en) + G} / n`: the smallest `K` at this `n` and class, where the lemma asks for a sufficiently large one.
///
/// # Reference
/// Lemma C.5, with `G` of (10).
pub fn resolution_constant(radius: f64, count: u64, g: f64, n: f64) -> f64 {
    radius * radius * n / (count as f64 * (1.0 + log(n) + g))
}

/// What the sieve likelihood bound says about a class at a sample size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CriticalRadius {
    /// The critical radius `e_n`; the estimation term is its square.
    Radius(f64),
    /// The condition fails even at the largest Hellinger distance.
    None {
        /// The sample size at which it first holds there.
        needed: LogNumber,
    },
}

/// The union of all untied classes under a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct UntiedUnion {
    /// The exact number of admissible triples, `|I_U(B)|`.
    pub triples: u64,
    /// The classes that may have the largest cover: by their count those with a larger sensitivity than every class
    /// of a larger count.
    front: BTreeMap<usize, (UntiedShape, ParameterClass)>,
}

/// Budgets beyond this have too many shapes to go through all.
pub const LARGEST_UNION: usize = 1 << 21;

impl UntiedUnion {
    /// All admissible triples of a budget.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\mathcal I_U(B) = \{(q,r,T) : B_U(q,r,T) \le B\}")]
    ///
    /// # Reference
    /// Section 3.2, below Table 1.
    pub fn new(budget: &Budget, parameter_bound: f64, stabiliser: f64) -> Result<Self, Error> {
        if budget.b() > LARGEST_UNION {
            return Err(Error::UnionTooLarge { budget: budget.b() });
        }
        let mut triples = 0;
        let mut front: BTreeMap<usize, (UntiedShape, ParameterClass)> = BTreeMap::new();
        // Of equal q and T the widest class has the largest count and sensitivity.
        for shape in budget.untied_shapes() {
            triples += shape.r as u64;
            let (q, r) = (shape.q as u64, shape.r as u64);
            let architecture = budget.architecture();
            let sensitivity =
                Sensitivity::new(architecture, budget.d(), q, r, parameter_bound, stabiliser);
            let gamma = sensitivity.gamma(shape.t as f64);
            let class = ParameterClass::new(shape.count as u64, parameter_bound, gamma);
            let next = front.range(shape.count..).next();
            if next.is_some_and(|(_, (_, other))| other.scale >= class.scale) {
                continue;
            }
            while let Some((&count, (_, other))) = front.range(..=shape.count).next_back() {
                if other.scale > class.scale {
                    break;
                }
                front.remove(&count);
            }
            front.insert(shape.count, (shape, class));
        }
        Ok(Self { triples, front })
    }

    /// A bound on the logarithm of the internal covering number of the union in the maximum norm, and the shape whose
    /// own bound is the largest.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \log\mathcal N(\epsilon, \mathcal F_U[B], \|\cdot\|_\infty) \le \log|\mathcal I_U(B)|
        + \max_{(q,r,T)\in\mathcal I_U(B)} B_U(q,r,T)\log(1 + 4M_{\rm par}\Gamma(q,r,T)/\epsilon)
    ")]
    ///
    /// # Reference
    /// Lemma B.2, equation (S8), and Lemma C.6, where the number of triples is bounded by `B^3`.
    pub fn covering(&self, eps: LogNumber) -> (f64, UntiedShape) {
        let largest = self
            .front
            .values()
            .map(|(shape, class)| (class.covering(eps), *shape))
            .reduce(|a, b| if b.0 > a.0 { b } else { a });
        // A budget holds at least one shape.
        let nothing = UntiedShape {
            q: 0,
            r: 0,
            t: 0,
            count: 0,
        };
        let (covering, shape) = largest.unwrap_or((0.0, nothing));
        (log(self.triples as f64) + covering, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LikelihoodModel;
    use loopfit_likelihood::Gaussian;
    use loopfit_model::Architecture;
    use proptest::prelude::*;

    fn gaussian() -> Calibration {
        let model = LikelihoodModel::Gaussian(Gaussian::new(0.5).unwrap());
        Calibration::new(model, 1.0).unwrap()
    }

    /// Table 1 written out, all triples tried: the exact number of those under the budget.
    fn brute_force(budget: usize, d: usize, transformer: bool) -> u64 {
        let (n, mut triples) = (d + 3, 0);
        for q in 1..=budget {
            for r in 1..=budget {
                for t in 1..=budget {
                    let count = if transformer {
                        q * (d + 2 * n) + 1 + t * (4 * q * q + (2 * q + 1) * r + 9 * q)
                    } else {
                        q * (d + 2) + 1 + t * ((2 * q + 1) * r + q)
                    };
                    triples += u64::from(count <= budget);
                }
            }
        }
        triples
    }

    #[test]
    fn triples_are_those_of_brute_force() {
        for d in 1..=3 {
            for transformer in [false, true] {
                let architecture = if transformer {
                    Architecture::transformer(d)
                } else {
                    Architecture::Ffn
                };
                for b in 1..=60 {
                    let expected = brute_force(b, d, transformer);
                    match Budget::new(b, architecture.clone(), d, 1) {
                        Ok(budget) => {
                            let union = UntiedUnion::new(&budget, 1.0, 1e-5).unwrap();
                            assert_eq!(union.triples, expected, "B {b} d {d}");
                        }
                        Err(_) => assert_eq!(expected, 0, "B {b} d {d}"),
                    }
                }
            }
        }
    }

    proptest! {
        /// The union covers each of its classes: against every triple, narrow ones included.
        #[test]
        fn the_union_is_no_smaller_than_any_class(b in 30usize..120, d in 1usize..3, ln_eps in -9f64..0.0, m in 0.2f64..3.0) {
            let budget = Budget::ffn(b, d, 1).unwrap();
            let eps = LogNumber::from_ln(ln_eps);
            let (bound, largest) = UntiedUnion::new(&budget, m, 1e-5).unwrap().covering(eps);
            let covering = |shape: UntiedShape| {
                let gamma = Sensitivity::new(&Architecture::Ffn, d, shape.q as u64, shape.r as u64, m, 1e-5)
                    .gamma(shape.t as f64);
                shape.count as f64 * (4.0 * m * gamma.value() / ln_eps.exp()).ln_1p()
            };
            let all: Vec<UntiedShape> = budget.admissible().collect();
            let direct = all.iter().map(|s| covering(*s)).fold(0.0, f64::max) + (all.len() as f64).ln();
            prop_assert!((bound / direct - 1.0).abs() < 1e-9, "{} {} {:?}", bound, direct, largest);
        }

        /// A parametric entropy has a radius of order sqrt(P log n / n): the condition holds there and fails below, by
        /// a midpoint sum that shares nothing with the solver.
        #[test]
        fn radii_satisfy_the_condition(count in 1u64..200, ln_gamma in 0f64..200.0, ln_n in 8f64..40.0) {
            let class = ParameterClass::new(count, 2.0, LogNumber::from_ln(ln_gamma));
            let n = ln_n.exp();
            let excess = |t: f64| {
                let (low, high) = (t * t / 256.0, SQRT_2 * t);
                let cells = 20_000;
                let width = (high - low) / f64::from(cells);
                let sum: f64 = (0..cells)
                    .map(|i| width * class.bracketing(gaussian(), low + (f64::from(i) + 0.5) * width).sqrt())
                    .sum();
                sum / (n.sqrt() * t * t)
            };
            match class.critical_radius(gaussian(), n, &Constants::default()) {
                CriticalRadius::Radius(t) => {
                    prop_assert!((n.powf(-0.5)..=SQRT_2).contains(&t));
                    prop_assert!(excess(t) <= 1.0 + 1e-3);
                    prop_assert!(excess((2.0 * t).min(SQRT_2)) <= 1.0 + 1e-3);
                    prop_assert!(t <= n.powf(-0.5) * (1.0 + 1e-9) || excess(0.99 * t) > 1.0 - 1e-3);
                }
                CriticalRadius::None { needed } => {
                    prop_assert!(excess(SQRT_2) > 1.0 - 1e-3);
                    let enough = class.critical_radius(gaussian(), needed.value() * 1.001, &Constants::default());
                    prop_assert!(matches!(enough, CriticalRadius::Radius(_)), "{:?}", enough);
                }
            }
        }
    }

    #[test]
    fn coverings_of_huge_classes_are_finite() {
        let class = ParameterClass::new(1 << 60, 1e15, LogNumber::from_ln(1e20));
        let covering = class.covering(LogNumber::new(1e-300));
        assert!(covering.is_finite() && covering > 1e38);
        let none = class.critical_radius(gaussian(), 10.0, &Constants::default());
        assert!(matches!(none, CriticalRadius::None { needed } if needed.ln() > 80.0));
    }

    #[test]
    fn unions_beyond_counting_are_refused() {
        let budget = Budget::ffn(LARGEST_UNION + 1, 2, 1).unwrap();
        let refused = UntiedUnion::new(&budget, 1.0, 1e-5);
        assert!(matches!(refused, Err(Error::UnionTooLarge { .. })));
    }
}
