//! Stochastic Fisher scoring: the gradient of a batch, preconditioned by a running average of
//! the coefficients' whole information matrix.

use crate::batches::Strips;
use crate::gradient::Gradient;
use crate::information::{Blend, Information, Probe};
use crate::program::Program;
use crate::spec::{FitSpec, Scoring, Stage, WeightDecay};
use loopfit_numerics::cholesky::Cholesky;
use loopfit_numerics::lanes::{Kernel, Lane, Level, Simd};
use loopfit_numerics::stream::Stream;

/// Weight of the past in the average of the gradient.
const MOMENTUM: f64 = 0.9;
/// How often a matrix that is not positive definite gets ten times the damping.
const MORE_DAMPING: usize = 8;

/// The optimiser's state for one stage.
///
/// # Formula
/// With `m` the bias-corrected average of the batch gradients, `F` that of the batches'
/// information and `C` the diagonal matrix of units (`outgoing_rate` or 1):
/// `theta -= rate C v`, `(C F C + damping I) v = C m`, `v` no longer than `step_cap`, then the
/// clamp. `F` is refreshed from every `refresh`-th batch.
///
/// # Reference
/// Amari, "Natural gradient works efficiently in learning", 1998; Martens, "New insights and
/// perspectives on the natural gradient method", 2020.
#[derive(Debug)]
pub(crate) struct ScoringState {
    settings: Scoring,
    level: Level,
    damping: f64,
    information: Information,
    /// Average information, and the weight that batches before the first would have in it.
    average: Vec<f64>,
    past: f64,
    cholesky: Cholesky,
    momentum: Vec<f64>,
    power: f64,
    direction: Vec<f64>,
    step: usize,
    signs: Stream,
    coefficient_bound: f64,
    /// The unit of each coefficient.
    units: Vec<f64>,
    /// Room for the information in these units, where they are not all 1.
    scaled: Vec<f64>,
}

impl ScoringState {
    pub(crate) fn new(settings: Scoring, spec: &FitSpec, program: &Program, signs: Stream) -> Self {
        let (p, level) = (program.len(), program.level());
        Self {
            settings,
            level,
            damping: settings.damping * spec.likelihood.information_scale(),
            information: Information::new(program.clone(), spec.likelihood, spec.bounds),
            average: vec![0.0; p * p],
            past: 1.0,
            cholesky: Cholesky::new(p, level),
            momentum: vec![0.0; p],
            power: 1.0,
            direction: vec![0.0; p],
            step: 0,
            signs,
            coefficient_bound: f64::from(spec.bounds.parameter),
            units: units(program, settings.outgoing_rate),
            scaled: Vec::new(),
        }
    }

    /// One update of `theta` from a computed gradient. Returns false, changing nothing, if no
    /// finite step exists.
    pub(crate) fn step(&mut self, stage: &Stage, gradient: &Gradient, theta: &mut [Lane]) -> bool {
        let p = self.momentum.len();
        if self.settings.refreshes_at(self.step) {
            let params = Lane::flatten(theta)[..p].to_vec();
            if !self.refresh(&params, gradient.batch()) {
                return false;
            }
        }
        let rate = stage.rate_at(self.step);
        self.step += 1;
        self.power *= MOMENTUM;
        let (coupled, decoupled) = match stage.weight_decay {
            WeightDecay::Coupled(w) => (w, 0.0),
            WeightDecay::Decoupled(w) => (0.0, w),
        };
        let values = &mut Lane::flatten_mut(theta)[..p];
        self.level.run(Average {
            gradient: &Lane::flatten(gradient.total())[..p],
            theta: values,
            coupled,
            share: 1.0 - self.power,
            units: &self.units,
            momentum: &mut self.momentum,
            direction: &mut self.direction,
        });
        self.cholesky.solve(&mut self.direction);
        let norm = self.direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        if !norm.is_finite() {
            return false;
        }
        self.level.run(Move {
            theta: values,
            direction: &self.direction,
            units: &self.units,
            decay: rate * decoupled,
            length: rate.min(self.settings.step_cap / norm),
            bound: self.coefficient_bound,
        });
        true
    }

    /// Takes a batch into the average and factors it; false if that is hopeless.
    fn refresh(&mut self, params: &[f32], batch: &Strips) -> bool {
        // The bias-corrected average, kept corrected: the first batch has all the weight.
        self.past *= self.settings.memory;
        let share = (1.0 - self.settings.memory) / (1.0 - self.past);
        self.information.blend(
            params,
            batch,
            Probe::Signs(self.signs.nth(self.step as u64)),
            Blend {
                keep: 1.0 - share,
                share,
            },
            &mut self.average,
        );
        let information = if self.settings.outgoing_rate == 1.0 {
            &self.average
        } else {
            self.scaled.clone_from(&self.average);
            let rows = self.scaled.chunks_exact_mut(self.units.len());
            for (row, own) in rows.zip(&self.units) {
                for (value, unit) in row.iter_mut().zip(&self.units) {
                    *value *= own * unit;
                }
            }
            &self.scaled
        };
        let mut damping = self.damping;
        for _ in 0..MORE_DAMPING {
            if self.cholesky.factor(information, damping) {
                return true;
            }
            damping *= 10.0;
        }
        false
    }
}

/// Takes a gradient into the average of gradients, and what is to be solved for from that.
struct Average<'a> {
    gradient: &'a [f32],
    theta: &'a [f32],
    coupled: f64,
    /// The weight of all batches so far.
    share: f64,
    units: &'a [f64],
    momentum: &'a mut [f64],
    direction: &'a mut [f64],
}

impl Kernel for Average<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let gradient = self.gradient.iter().zip(self.theta);
        let averages = self.momentum.iter_mut().zip(self.direction);
        for ((g, theta), ((m, direction), unit)) in gradient.zip(averages.zip(self.units)) {
            let g = f64::from(*g) + self.coupled * f64::from(*theta);
            *m = MOMENTUM * *m + (1.0 - MOMENTUM) * g;
            *direction = unit * (*m / self.share);
        }
    }
}

/// A step along a direction.
struct Move<'a> {
    theta: &'a mut [f32],
    direction: &'a [f64],
    units: &'a [f64],
    /// What weight decay takes off, relative to a coefficient.
    decay: f64,
    length: f64,
    bound: f64,
}

impl Kernel for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for ((theta, direction), unit) in self.theta.iter_mut().zip(self.direction).zip(self.units)
        {
            let old = f64::from(*theta);
            let new = old - self.decay * old - self.length * (unit * direction);
            *theta = new.clamp(-self.bound, self.bound) as f32;
        }
    }
}

/// The unit of each packed coefficient.
fn units(program: &Program, outgoing_rate: f64) -> Vec<f64> {
    let outgoing = program.outgoing().into_iter();
    let unit = |outgoing| if outgoing { outgoing_rate } else { 1.0 };
    outgoing.map(unit).collect()
}
