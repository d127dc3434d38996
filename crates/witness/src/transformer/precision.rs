//! How many bits a run needs, and outputs that more bits do not change.

use super::Witness;
use super::exact::ExactRunner;
use super::native::NativeRunner;
use super::physical::PhysicalRunner;
use super::real::Real;
use crate::Error;
use crate::arithmetic::BigFloat;
use crate::rational::Rational;
use loopfit_numerics::libm::log2;

/// Bits for forty decimal digits of the output and for roundings that do not pile up.
const OUTPUT_BITS: usize = 192;

/// Outputs agree where they differ by less than this power of two, as a fraction of `H`.
const AGREEMENT: i64 = -160;

/// Bits beyond those of the grid's accuracy to which the scale settles.
const SETTLED_BITS: f64 = 40.0;

/// How often more bits are tried before giving up.
const ATTEMPTS: usize = 4;

/// The output of a network with what it took to be sure of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The clipped outputs after the iterations that were asked for.
    pub values: Vec<Rational>,
    /// The inverse squares `d_alpha` of the controller's scale then.
    pub inverse_square_scales: Vec<Rational>,
    /// The mantissa bits at which they had settled.
    pub bits: usize,
}

impl Witness {
    /// The network on exact numbers, with ideal comparisons.
    pub fn exact(&self) -> ExactRunner<'_> {
        ExactRunner::new(self)
    }

    /// The network on native coordinates and scales.
    pub fn runner<A: Real>(&self, arithmetic: A) -> NativeRunner<'_, A> {
        NativeRunner::new(self, arithmetic)
    }

    /// The network on its tokens.
    pub fn physical<A: Real>(&self, arithmetic: A) -> PhysicalRunner<'_, A> {
        PhysicalRunner::new(self, arithmetic)
    }

    /// Iterations after clearing until the scale has settled to `2^-40` of the grid's accuracy; ten at least.
    ///
    /// # Formula
    /// The discrepancy shrinks by `(eps_LN / (1 + eps_LN))^2` with each.
    ///
    /// # Reference
    /// (S66).
    pub fn settling(&self) -> usize {
        let (eps, resolution) = (self.setting().stabiliser.to_f64(), self.resolution());
        let bits = SETTLED_BITS + resolution.m as f64 * resolution.s.to_f64();
        let per_iteration = 2.0 * log2((1.0 + eps) / eps);
        (bits / per_iteration).ceil().max(10.0) as usize
    }

    /// The iterations until everything is cleared and the scale has settled.
    pub fn finishing_time(&self) -> usize {
        self.resources().times.clear + self.settling()
    }

    /// The mantissa bits with which a run starts.
    ///
    /// # Formula
    /// The sum, over all branches that a run takes, of `log2 Lambda + 2` and the length of the loop that
    /// the branch leaves; two bits for every digit of both codes; 192 for the output. A branch
    /// signal `2 tau - 1 + Lambda (e - C)` becomes the next phase, so an error in `e` grows by
    /// `Lambda` with each, an error in the timer by two with every check, and one in a code by
    /// four with every digit.
    ///
    /// This is an upper estimate. With `d = s = 1` tokens need 449 to 453 bits at `m = 1`, 558 to
    /// 581 at `m = 2` and 720 at `m = 3` with one record, about half of it.
    pub fn default_bits(&self) -> usize {
        let (resolution, groups) = (self.resolution(), self.groups());
        let resources = self.resources();
        let log2 = |value: usize| value.ilog2() as usize + 1;
        let exits = |gate: usize, times: usize, length: usize| times * (log2(gate) + 2 + length);
        let (d, h) = (resolution.d, groups.u());
        let gate = resources.gate;
        let routing = exits(gate, d * h, resources.comparisons) + exits(gate, d, h);
        let front = exits(gate, 1, resolution.scale_exponent()) + exits(gate, 1, d * h);
        let own = 2 * resolution.b_eval();
        let record = exits(own, d, resolution.m)
            + exits(own, resolution.terms, resolution.b())
            + exits(own, resolution.letters, resolution.j())
            + exits(own, 1, resolution.g())
            + exits(own, 1, 0);
        let correction = self.correction();
        let (b, l, words) = (correction.b, correction.l, correction.j + 1);
        let correction = exits(gate, words, b) + exits(gate, words + 2, l) + exits(gate, words, 0);
        let codes = 2 * (resources.code_length + resources.correction_length);
        OUTPUT_BITS + routing + front + groups.records() * record + correction + codes
    }

    /// The outputs after these numbers of iterations, in increasing order, computed with
    /// [`Witness::default_bits`] and again with a quarter more, until nothing that matters
    /// changes.
    ///
    /// # Panics
    /// If the iterations are in another order.
    pub fn settled(&self, x: &[Rational], iterations: &[usize]) -> Result<Settled, Error> {
        assert!(iterations.is_sorted(), "iterations in increasing order");
        let mut bits = self.default_bits();
        let mut last = self.observed(x, iterations, bits)?;
        let tolerance = self.resolution().h.scaled(AGREEMENT);
        for _ in 0..ATTEMPTS {
            let more = bits + bits / 4;
            let next = self.observed(x, iterations, more)?;
            let both = last.values.iter().zip(&next.values);
            let settled = both.clone().all(|(a, b)| (a - b).abs() <= tolerance);
            if settled {
                return Ok(last);
            }
            (bits, last) = (more, next);
        }
        Err(Error::Precision { bits })
    }

    fn observed(
        &self,
        x: &[Rational],
        iterations: &[usize],
        bits: usize,
    ) -> Result<Settled, Error> {
        let runner = self.runner(BigFloat::new(bits));
        let mut run = runner.start(x)?;
        let mut settled = Settled {
            values: Vec::new(),
            inverse_square_scales: Vec::new(),
            bits,
        };
        for &iteration in iterations {
            run.advance(iteration.saturating_sub(run.iteration()));
            settled.values.push(run.output()?);
            let scale = run.inverse_square_scale(self.controller());
            settled.inverse_square_scales.push(scale.clone());
        }
        Ok(settled)
    }

    /// The inverse square scale and the output to which a run with this `v` converges.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        d_* = \lambda_q(v^2 + 2), \qquad g_* = \Pi_H\Big\{\frac{H\sqrt2\, v}{\sqrt{v^2 + 2}}\Big\}
    ")]
    /// to so many bits.
    ///
    /// # Reference
    /// (S66) and (S67).
    pub fn limit(&self, v: &Rational, bits: usize) -> (Rational, Rational) {
        let float = BigFloat::new(bits);
        let square = v * v + Rational::from(2);
        let scale = (self.encoding().lambda() * &square).nearest(bits);
        let ratio = float.divide(&Rational::from(2), &square.nearest(bits));
        let h = &self.resolution().h;
        let value = (float.square_root(&ratio) * v * h).nearest(bits).clip(h);
        (scale, value)
    }
}
