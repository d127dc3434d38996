//! Classification with C classes (paper, Section F.4.2).

use crate::distance::{self, log_masses};
use crate::{Error, Gamma};
use loopfit_numerics::lanes::{Lane, Simd};
use loopfit_numerics::libm::{exp, log};
use loopfit_numerics::log_number::LogNumber;
use serde::{Deserialize, Serialize};

/// Class numbers are exact as 32-bit floats up to here.
pub(crate) const MAX_CLASSES: usize = 1 << 24;

/// `Y` in `0..C` with probabilities `p = softmax(f)`: the index is C logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Multiclass {
    classes: usize,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    classes: usize,
}

impl Multiclass {
    /// A checked number of classes.
    pub fn new(classes: usize) -> Result<Self, Error> {
        if (2..=MAX_CLASSES).contains(&classes) {
            Ok(Self { classes })
        } else {
            Err(Error::Classes(classes))
        }
    }

    /// Number of classes.
    pub fn classes(self) -> usize {
        self.classes
    }
}

impl TryFrom<Unchecked> for Multiclass {
    type Error = Error;
    fn try_from(unchecked: Unchecked) -> Result<Self, Error> {
        Self::new(unchecked.classes)
    }
}

impl From<Multiclass> for Unchecked {
    fn from(checked: Multiclass) -> Self {
        Self {
            classes: checked.classes,
        }
    }
}

/// Slices of logits have one value for each class.
impl Multiclass {
    /// The class that a target names.
    pub fn check_target(self, y: f64) -> Result<usize, Error> {
        if y >= 0.0 && y < self.classes as f64 && y.fract() == 0.0 {
            Ok(y as usize)
        } else {
            Err(Error::TargetNotClass {
                value: y,
                classes: self.classes,
            })
        }
    }

    /// Negative log probability of a class.
    ///
    /// # Formula
    /// `log(sum_k e^{f_k}) - f_class`, the largest logit taken out of both terms.
    pub fn nll(self, class: usize, logits: &[f64]) -> f64 {
        debug_assert_eq!(logits.len(), self.classes);
        let top = largest(logits);
        let total = logits.iter().fold(0.0, |a, f| a + exp(f - top));
        (top - logits[class]) + log(total)
    }

    /// `d nll / d f_k` for every class `k`.
    ///
    /// # Formula
    /// `p_k - [k = class]`, `p = softmax(f)`.
    pub fn derivative(self, class: usize, logits: &[f64], out: &mut [f64]) {
        softmax(logits, out);
        out[class] -= 1.0;
    }

    /// [`Multiclass::derivative`] in 32 bits on sixteen samples at once: `class` holds the class
    /// numbers, `logits[k]` and `out[k]` belong to class `k`.
    #[inline(always)]
    pub fn derivative_lanes<S: Simd>(self, s: S, class: S::V, logits: &[Lane], out: &mut [Lane]) {
        debug_assert_eq!((logits.len(), out.len()), (self.classes, self.classes));
        let mut top = s.splat(f32::NEG_INFINITY);
        for f in logits {
            top = s.max(s.load(f), top);
        }
        let mut total = s.splat(0.0);
        for (f, o) in logits.iter().zip(out.iter_mut()) {
            let e = s.exp(s.sub(s.load(f), top));
            total = s.add(total, e);
            s.store(o, e);
        }
        let (scale, quarter) = (s.div(s.splat(1.0), total), s.splat(0.25));
        for (k, o) in out.iter_mut().enumerate() {
            let away = s.sub(class, s.splat(k as f32));
            let minus_hit =
                s.select_greater(quarter, s.mul(away, away), s.splat(-1.0), s.splat(0.0));
            s.store(o, s.fma(s.load(o), scale, minus_hit));
        }
    }

    /// [`crate::Likelihood::information_factor`].
    pub(crate) fn information_factor(self, logits: &[f64], e: &[f64], out: &mut [f64]) {
        debug_assert_eq!(out.len(), self.classes);
        softmax(logits, out);
        let total: f64 = out.iter().zip(e).map(|(p, e)| p.sqrt() * e).sum();
        for (p, e) in out.iter_mut().zip(e) {
            *p = p.sqrt() * e - *p * total;
        }
    }

    /// Fisher information of the logits, a C x C matrix, row-major.
    ///
    /// # Formula
    /// `diag(p) - p p^T`, `p = softmax(f)`.
    pub fn fisher(self, logits: &[f64], out: &mut [f64]) {
        debug_assert_eq!(out.len(), self.classes * self.classes);
        let mut p = vec![0.0; self.classes];
        softmax(logits, &mut p);
        for (i, row) in out.chunks_mut(self.classes).enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                *entry = if i == j {
                    p[i] * (1.0 - p[i])
                } else {
                    -p[i] * p[j]
                };
            }
        }
    }

    /// Squared Hellinger distance of the class laws of two vectors of logits, in `[0, 2]`.
    ///
    /// # Formula
    /// `sum_k (sqrt p_k - sqrt q_k)^2`.
    pub fn hellinger_squared(self, f: &[f64], g: &[f64]) -> f64 {
        distance::hellinger_squared(&log_masses(f), &log_masses(g))
    }

    /// Kullback-Leibler divergence.
    ///
    /// # Formula
    /// `sum_k p_k log(p_k / q_k)`.
    pub fn kl(self, f: &[f64], g: &[f64]) -> f64 {
        distance::kl(&log_masses(f), &log_masses(g))
    }

    /// `rho_gamma(p, q)`, see [`Gamma`].
    ///
    /// # Formula
    /// `[exp{b((1 + gamma) f - gamma g) - (1 + gamma) b(f) + gamma b(g)} - 1] / gamma` with
    /// `b(f) = log(sum_k e^{f_k})`: the Bernoulli form with the softmax's log normaliser in
    /// place of `log(1 + e^t)`. Computed as the sum over classes, see [`crate::distance`].
    pub fn rho(self, gamma: Gamma, f: &[f64], g: &[f64]) -> f64 {
        distance::rho(gamma, &log_masses(f), &log_masses(g))
    }

    /// `rho_gamma`, also where it is too large for a float.
    pub fn log_rho(self, gamma: Gamma, f: &[f64], g: &[f64]) -> LogNumber {
        distance::log_rho(gamma, &log_masses(f), &log_masses(g))
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn softmax(logits: &[f64], out: &mut [f64]) {
    debug_assert_eq!(logits.len(), out.len());
    let top = largest(logits);
    let mut total = 0.0;
    for (f, o) in logits.iter().zip(out.iter_mut()) {
        *o = exp(f - top);
        total += *o;
    }
    for o in out {
        *o /= total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Divergence;
    use crate::{Bernoulli, ScalarLikelihood};
    use loopfit_numerics::lanes::{Kernel, LANES, Level};
    use loopfit_numerics::special::log_sum_exp;
    use proptest::collection::vec;
    use proptest::prelude::*;

    struct Derivative<'a>(Multiclass, Lane, &'a [Lane]);

    impl Kernel for Derivative<'_> {
        type Output = Vec<Lane>;
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> Vec<Lane> {
            let mut out = vec![Lane::ZERO; self.2.len()];
            let class = s.load(&self.1);
            self.0.derivative_lanes(s, class, self.2, &mut out);
            out
        }
    }

    #[test]
    fn classes_and_targets_are_checked() {
        for bad in [0, 1, MAX_CLASSES + 1] {
            assert_eq!(Multiclass::new(bad), Err(Error::Classes(bad)));
        }
        assert!(serde_json::from_str::<Multiclass>(r#"{"classes":1}"#).is_err());
        let l = Multiclass::new(3).unwrap();
        assert_eq!(l.check_target(2.0), Ok(2));
        for bad in [-1.0, 0.5, 3.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                l.check_target(bad),
                Err(Error::TargetNotClass { .. })
            ));
        }
    }

    #[test]
    fn huge_inputs_and_nan() {
        let l = Multiclass::new(3).unwrap();
        assert_eq!(l.nll(0, &[1e300, -1e300, 0.0]), 0.0);
        assert_eq!(l.nll(1, &[1e300, 0.0, 0.0]), 1e300);
        // Two equal logits share the mass, however large they are.
        assert_eq!(l.nll(0, &[1e15, 1e15, 0.0]), std::f64::consts::LN_2);
        let mut out = [0.0; 3];
        l.derivative(2, &[1e300, 1e300, -1e300], &mut out);
        assert_eq!(out, [0.5, 0.5, -1.0]);
        l.derivative(2, &[1.0, f64::NAN, 0.0], &mut out);
        assert!(out.iter().all(|d| d.is_nan()));
        for place in 0..3 {
            let mut logits = [Lane::ZERO; 3];
            logits[place] = Lane([f32::NAN; LANES]);
            let lanes = Level::fastest().run(Derivative(l, Lane::ZERO, &logits));
            assert!(lanes.iter().all(|lane| lane.0.iter().all(|d| d.is_nan())));
        }
    }

    proptest! {
        #[test]
        fn derivative_is_the_slope(f in vec(-5.0f64..5.0, 4), class in 0usize..4) {
            let l = Multiclass::new(4).unwrap();
            let mut d = [0.0; 4];
            l.derivative(class, &f, &mut d);
            for k in 0..4 {
                let at = |h: f64| {
                    let mut moved = f.clone();
                    moved[k] += h;
                    l.nll(class, &moved)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                prop_assert!((slope - d[k]).abs() < 1e-9);
            }
        }

        /// The columns of the information are the slopes of the derivative.
        #[test]
        fn fisher_is_the_second_derivative(f in vec(-5.0f64..5.0, 4)) {
            let l = Multiclass::new(4).unwrap();
            let mut information = [0.0; 16];
            l.fisher(&f, &mut information);
            for k in 0..4 {
                let at = |h: f64| {
                    let (mut moved, mut d) = (f.clone(), [0.0; 4]);
                    moved[k] += h;
                    l.derivative(0, &moved, &mut d);
                    d
                };
                let (up, down) = (at(1e-5), at(-1e-5));
                for j in 0..4 {
                    let slope = (up[j] - down[j]) / 2e-5;
                    prop_assert!((slope - information[j * 4 + k]).abs() < 1e-9);
                }
            }
        }

        #[test]
        fn lanes_agree(
            classes in 2usize..13,
            logits in vec(-20.0f32..20.0, 13 * LANES),
            labels in vec(0usize..13, LANES),
        ) {
            let l = Multiclass::new(classes).unwrap();
            let label = |lane: usize| labels[lane] % classes;
            let rows: Vec<Lane> = (0..classes)
                .map(|k| Lane(std::array::from_fn(|lane| logits[k * LANES + lane])))
                .collect();
            let y = Lane(std::array::from_fn(|lane| label(lane) as f32));
            let got = Level::fastest().run(Derivative(l, y, &rows));
            for level in Level::available() {
                prop_assert_eq!(&level.run(Derivative(l, y, &rows)), &got);
            }
            for lane in 0..LANES {
                let f: Vec<f64> = rows.iter().map(|r| f64::from(r.0[lane])).collect();
                let mut exact = vec![0.0; classes];
                l.derivative(label(lane), &f, &mut exact);
                for k in 0..classes {
                    prop_assert!((f64::from(got[k].0[lane]) - exact[k]).abs() < 5e-7);
                }
            }
        }

        /// Two classes are the Bernoulli model with the difference of the logits.
        #[test]
        fn two_classes_are_bernoulli(f in -5.0f64..5.0, g in -5.0f64..5.0, shift in -9.0f64..9.0) {
            let l = Multiclass::new(2).unwrap();
            let (a, b) = ([shift, f + shift], [-shift, g - shift]);
            let close = |x: f64, y: f64| (x - y).abs() < 1e-12 * (1.0 + y.abs());
            prop_assert!(close(l.nll(1, &a), Bernoulli.nll(1.0, f)));
            prop_assert!(close(l.hellinger_squared(&a, &b), Bernoulli.hellinger_squared(f, g)));
            prop_assert!(close(l.kl(&a, &b), Bernoulli.kl(f, g)));
            prop_assert!(close(l.rho(Gamma::HALF, &a, &b), Bernoulli.rho(Gamma::HALF, f, g)));
        }

        #[test]
        fn rho_is_the_closed_form(
            f in vec(-3.0f64..3.0, 5), g in vec(-3.0f64..3.0, 5), gamma in 0.01f64..1.0,
        ) {
            let l = Multiclass::new(5).unwrap();
            let mixed: Vec<f64> =
                f.iter().zip(&g).map(|(f, g)| (1.0 + gamma) * f - gamma * g).collect();
            let exponent = log_sum_exp(&mixed) - (1.0 + gamma) * log_sum_exp(&f)
                + gamma * log_sum_exp(&g);
            let got = l.rho(Gamma::new(gamma).unwrap(), &f, &g);
            prop_assert!((got - exponent.exp_m1() / gamma).abs() < 1e-11 * (1.0 + got));
        }
    }
}
