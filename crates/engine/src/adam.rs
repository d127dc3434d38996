//! Adam as in the paper (F.4.3): bias-corrected, gradient-norm cap, weight decay,
//! cosine learning rate, coefficients clamped to their box.

use crate::spec::{self, Stage, WeightDecay};
use loopfit_numerics::lanes::{Across, Kernel, Lane, Level, Simd};

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f32 = 1e-8;

/// The optimiser's state for one stage: moments and the number of steps made.
///
/// # Formula
/// With `g` the gradient scaled to norm at most `gradient_cap`, plus `w theta` when decay
/// is coupled: `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`,
/// `theta -= rate (m / (1 - b1^k)) / (sqrt(v / (1 - b2^k)) + eps)`, then the clamp.
///
/// # Reference
/// Kingma and Ba, "Adam: a method for stochastic optimization", 2015.
#[derive(Debug)]
pub(crate) struct Adam {
    settings: spec::Adam,
    level: Level,
    m: Vec<Lane>,
    v: Vec<Lane>,
    /// Learning-rate factor of each coefficient.
    rate: Vec<Lane>,
    step: usize,
    power1: f64,
    power2: f64,
    coefficient_bound: f32,
}

impl Adam {
    /// A fresh optimiser; `outgoing` marks the coefficients whose rate is multiplied by
    /// the outgoing factor.
    pub(crate) fn new(
        level: Level,
        settings: spec::Adam,
        outgoing: &[bool],
        coefficient_bound: f32,
    ) -> Self {
        let rate = Lane::lines(outgoing.iter().map(|o| {
            if *o {
                settings.outgoing_rate as f32
            } else {
                1.0
            }
        }));
        let zeros = vec![Lane::ZERO; rate.len()];
        Self {
            settings,
            level,
            m: zeros.clone(),
            v: zeros,
            rate,
            step: 0,
            power1: 1.0,
            power2: 1.0,
            coefficient_bound,
        }
    }

    /// One update of `theta` from the gradient. Returns false, changing nothing, if the
    /// gradient's norm is not finite.
    pub(crate) fn step(&mut self, stage: &Stage, gradient: &[Lane], theta: &mut [Lane]) -> bool {
        let norm = self.level.run(SquaredNorm(gradient)).sqrt();
        if !norm.is_finite() {
            return false;
        }
        let cap = self.settings.gradient_cap as f32;
        let scale = if norm > cap { cap / norm } else { 1.0 };
        let learning_rate = stage.rate_at(self.step);
        self.step += 1;
        self.power1 *= BETA1;
        self.power2 *= BETA2;
        let (coupled, decoupled) = match stage.weight_decay {
            WeightDecay::Coupled(w) => (w, 0.0),
            WeightDecay::Decoupled(w) => (0.0, w),
        };
        self.level.run(Update {
            gradient,
            theta,
            m: &mut self.m,
            v: &mut self.v,
            rate: &self.rate,
            scale,
            coupled: coupled as f32,
            keep: (-learning_rate * decoupled) as f32,
            step: (-learning_rate / (1.0 - self.power1)) as f32,
            correction2: (1.0 / (1.0 - self.power2)) as f32,
            bound: self.coefficient_bound,
        });
        true
    }
}

struct SquaredNorm<'a>(&'a [Lane]);

impl Kernel for SquaredNorm<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Across>(self, s: S) -> f32 {
        let mut sum = s.splat(0.0);
        for line in self.0 {
            let g = s.load(line);
            sum = s.fma(g, g, sum);
        }
        s.sum(sum)
    }
}

struct Update<'a> {
    gradient: &'a [Lane],
    theta: &'a mut [Lane],
    m: &'a mut [Lane],
    v: &'a mut [Lane],
    rate: &'a [Lane],
    scale: f32,
    coupled: f32,
    keep: f32,
    step: f32,
    correction2: f32,
    bound: f32,
}

impl Kernel for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (b1, b2) = (s.splat(BETA1 as f32), s.splat(BETA2 as f32));
        let (c1, c2) = (s.splat((1.0 - BETA1) as f32), s.splat((1.0 - BETA2) as f32));
        let (scale, coupled, keep) = (
            s.splat(self.scale),
            s.splat(self.coupled),
            s.splat(self.keep),
        );
        let (step, correction2) = (s.splat(self.step), s.splat(self.correction2));
        let (epsilon, low, high) = (s.splat(EPSILON), s.splat(-self.bound), s.splat(self.bound));
        let lines = self
            .gradient
            .iter()
            .zip(self.theta)
            .zip(self.m)
            .zip(self.v)
            .zip(self.rate);
        for ((((g, theta), m), v), rate) in lines {
            let old = s.load(theta);
            let rate = s.load(rate);
            let g = s.fma(coupled, old, s.mul(scale, s.load(g)));
            let m_new = s.fma(b1, s.load(m), s.mul(c1, g));
            let v_new = s.fma(b2, s.load(v), s.mul(c2, s.mul(g, g)));
            s.store(m, m_new);
            s.store(v, v_new);
            let direction = s.div(m_new, s.add(s.sqrt(s.mul(v_new, correction2)), epsilon));
            let kept = s.fma(s.mul(keep, rate), old, old);
            let new = s.fma(s.mul(step, rate), direction, kept);
            s.store(theta, s.min(high, s.max(low, new)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(weight_decay: WeightDecay) -> Stage {
        Stage {
            learning_rate: 0.01,
            weight_decay,
            updates: 50,
            ..Stage::default()
        }
    }

    const SETTINGS: spec::Adam = spec::Adam {
        gradient_cap: 1.5,
        outgoing_rate: 0.25,
    };

    /// Against the textbook recursion in f64.
    #[test]
    fn follows_the_textbook() {
        for decay in [
            WeightDecay::Coupled(0.1),
            WeightDecay::Decoupled(0.1),
            WeightDecay::Coupled(0.0),
        ] {
            let stage = stage(decay);
            let outgoing: Vec<bool> = (0..20).map(|i| i % 3 == 0).collect();
            let mut theta: Vec<f64> = (0..20).map(|i| f64::from(i) * 0.1 - 1.0).collect();
            let mut lanes = Lane::lines(theta.iter().map(|t| *t as f32));
            let (mut m, mut v) = (vec![0.0; 20], vec![0.0; 20]);
            let mut adam = Adam::new(Level::fastest(), SETTINGS, &outgoing, 1.05);
            for k in 1..=50 {
                // Gradient of sum_i (theta_i - i / 20)^2.
                let g: Vec<f64> = theta
                    .iter()
                    .enumerate()
                    .map(|(i, t)| 2.0 * (t - i as f64 / 20.0))
                    .collect();
                let flat = Lane::flatten(&lanes)[..20].to_vec();
                let g32 = Lane::lines(
                    flat.iter()
                        .enumerate()
                        .map(|(i, t)| 2.0 * (t - i as f32 / 20.0)),
                );
                assert!(adam.step(&stage, &g32, &mut lanes));
                let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
                let progress = f64::from(k - 1) / 50.0;
                let lr =
                    0.01 * (0.05 + 0.95 * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()));
                for i in 0..20 {
                    let lr = if outgoing[i] { lr * 0.25 } else { lr };
                    let mut gi = g[i] * (1.5 / norm).min(1.0);
                    match decay {
                        WeightDecay::Coupled(w) => gi += w * theta[i],
                        WeightDecay::Decoupled(w) => theta[i] -= lr * w * theta[i],
                    }
                    m[i] = 0.9 * m[i] + 0.1 * gi;
                    v[i] = 0.999 * v[i] + 0.001 * gi * gi;
                    let mhat = m[i] / (1.0 - 0.9f64.powi(k));
                    let vhat = v[i] / (1.0 - 0.999f64.powi(k));
                    theta[i] = (theta[i] - lr * mhat / (vhat.sqrt() + 1e-8)).clamp(-1.05, 1.05);
                }
            }
            for (a, b) in Lane::flatten(&lanes).iter().zip(&theta) {
                assert!((f64::from(*a) - b).abs() < 2e-6, "{decay:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn refuses_a_gradient_that_is_not_finite() {
        let stage = stage(WeightDecay::Coupled(0.0));
        let mut theta = Lane::lines([1.0, 2.0]);
        let before = theta.clone();
        let mut adam = Adam::new(Level::fastest(), SETTINGS, &[false; 2], 128.0);
        assert!(!adam.step(&stage, &Lane::lines([f32::NAN, 0.0]), &mut theta));
        assert!(!adam.step(&stage, &Lane::lines([3e38, 3e38]), &mut theta));
        assert_eq!(theta, before);
    }
}
