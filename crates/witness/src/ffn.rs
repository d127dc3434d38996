//! The looped residual FFN of Theorem D.1: selector, evaluator and hand-off in one block.
//!
//! - [`selector`]: the front end that loads the code of the input's group;
//! - [`resources`]: every count and bound of the construction, stated and built;
//! - [`run`]: running it on an input, in any arithmetic, with a trace;
//! - [`check`]: what the proof says of every state, checked on inputs;
//! - [`dense`]: the ordinary network that it is;
//! - [`precision`]: trying it in floats.

pub mod check;
pub mod dense;
pub mod precision;
pub mod resources;
pub mod run;
pub mod selector;

use crate::Error;
use crate::affine::Affine;
use crate::arithmetic::Arithmetic;
use crate::block::Block;
use crate::compiler::{Compiler, Gate, Placement};
use crate::evaluator::{Evaluator, REGISTER_BOUND};
use crate::rational::Rational;
use crate::records::{Groups, group_codes};
use crate::resolution::Resolution;
use crate::routines::Reader;
use crate::target::Target;
use resources::Resources;
use run::Runner;
use selector::{Handoff, Selector};

/// A network that the proof of Theorem D.1 constructs for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    resolution: Resolution,
    groups: Groups,
    codes: Vec<Rational>,
    evaluator: Evaluator,
    placement: Placement,
    selector: Selector,
    block: Block,
    resources: Resources,
}

impl Witness {
    /// The network for a target at a resolution, with `2^u` groups along each axis.
    ///
    /// # Formula
    /// The block applies evaluator and selector at once, and copies what the selector writes into
    /// code and start pulse to the evaluator:
    #[doc = loopfit_tex::tex!(r"
        (z, y)^+ = \bigl(\Phi_{\rm ev}(z) + L\{\Phi_{\rm front}(y) - y\}, \Phi_{\rm front}(y)\bigr)
    ")]
    ///
    /// # Reference
    /// Theorem D.1, Lemmas D.2, D.4 and D.5, (S33).
    pub fn new(
        resolution: Resolution,
        u: usize,
        reader: Reader,
        target: &dyn Target,
    ) -> Result<Self, Error> {
        let groups = Groups::new(&resolution, u)?;
        let codes = group_codes(&resolution, groups, target)?;
        let evaluator = Evaluator::new(&resolution, reader)?;
        let mut block = Block::new();
        let placement = Placement::new(&evaluator.program, &mut block, "");
        let selector = Selector::new(&resolution, groups, &mut block);
        let b_eval = Rational::from(resolution.b_eval() as i64);
        let gate = Gate {
            lambda: b_eval.scaled(1),
            reference: Affine::constant(Rational::ONE),
        };
        let evaluator_units = Compiler {
            program: &evaluator.program,
            placement: &placement,
            gate: &gate,
            coefficient_bound: &b_eval,
            register_bound: &Rational::from(REGISTER_BOUND),
        }
        .compile()?;
        let handoff = Handoff {
            code: placement.registers[evaluator.code.0],
            start: placement.phases[0],
        };
        let selector_units = selector.units(&codes, handoff);
        let counts = [evaluator_units.len(), selector_units.len()];
        block.extend(evaluator_units);
        block.extend(selector_units);
        let resources = Resources::new(&resolution, groups, &evaluator.program, &block, counts);
        resources.check()?;
        Ok(Self {
            resolution,
            groups,
            codes,
            evaluator,
            placement,
            selector,
            block,
            resources,
        })
    }

    /// The resolution.
    pub fn resolution(&self) -> &Resolution {
        &self.resolution
    }

    /// The groups of cells.
    pub fn groups(&self) -> Groups {
        self.groups
    }

    /// The code of each group, in the order of `j(a)`.
    pub fn codes(&self) -> &[Rational] {
        &self.codes
    }

    /// The evaluator's program.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// Where the evaluator lies in the state.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The selector's coordinates.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Counts, bounds and times, as the paper states them and as they were built.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// The state that the input function gives: copies of `x` in the evaluator and the selector,
    /// and the selector's constants.
    ///
    /// # Reference
    /// Lemma D.5 and Section D.2.2.
    pub fn initial_state(&self, x: &[Rational]) -> Result<Vec<Rational>, Error> {
        if x.len() != self.resolution.d {
            return Err(Error::InputCount {
                found: x.len(),
                d: self.resolution.d,
            });
        }
        let outside = |x: &&Rational| x.is_negative() || **x > Rational::ONE;
        if let Some(x) = x.iter().find(outside) {
            return Err(Error::OutsideCube(x.to_string()));
        }
        let mut state = vec![Rational::ZERO; self.block.coordinates().len()];
        for (coordinate, i) in self.inputs() {
            state[coordinate] = x[i].clone();
        }
        for (coordinate, value) in self.selector.constants(&self.resolution) {
            state[coordinate.0] = value;
        }
        Ok(state)
    }

    /// The coordinates that start as copies of an input, with that input.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (usize, usize)> {
        let registers = self.evaluator.x.iter();
        let evaluator = registers.map(|register| self.placement.registers[register.0].0);
        let selector = self.selector.u.iter().map(|coordinate| coordinate.0);
        evaluator.zip(0..).chain(selector.zip(0..))
    }

    /// The coordinate of the output `u`.
    pub(crate) fn output(&self) -> usize {
        self.placement.registers[self.evaluator.u.0].0
    }

    /// The network in an arithmetic, ready for inputs.
    pub fn runner<A: Arithmetic>(&self, arithmetic: A) -> Runner<'_, A> {
        Runner::new(self, arithmetic)
    }
}

/// The finishing time of a construction with `2^u` groups along each axis.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"S_{m,u} = L_m + du + 2 + 2^{d(m-u)}\tau_m")]
///
/// # Reference
/// (S34).
pub fn finishing_time(resolution: &Resolution, u: usize) -> usize {
    let d = resolution.d;
    let selection = resolution.scale_exponent() + d * u + 2;
    selection + (resolution.tau() << (d * (resolution.m - u)))
}

/// The work of one exact run, in digits: in each iteration those of a code, which the registers hold, and a few of every unit.
///
/// # Formula
/// `S_{m,u} (L + 12 r(u))` with (S34), (S24) and (S35); the 12 is measured, from 2,055 to 63,000 units.
pub fn run_work(resolution: &Resolution, u: usize) -> f64 {
    const DIGITS_OF_A_UNIT: f64 = 12.0;
    let records = 1usize << (resolution.d * (resolution.m - u));
    let digits = (records * resolution.record_length()) as f64;
    let units = hidden_width(resolution, u) as f64;
    finishing_time(resolution, u) as f64 * (digits + DIGITS_OF_A_UNIT * units)
}

/// The hidden width of such a construction.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"r(u) = r_0 + 10d\,2^u + 10d + 15\cdot 2^{du} + 60")]
///
/// # Reference
/// (S35).
pub fn hidden_width(resolution: &Resolution, u: usize) -> usize {
    let d = resolution.d;
    resolution.r_0() + ((10 * d) << u) + 10 * d + (15 << (d * u)) + 60
}

/// The group exponent that the proof chooses for a hidden width `r`: the largest `u <= m` with
/// `R(u) <= r`.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"R(u) = b_0 + b_1 2^{du}, \qquad b_0 = r_0 + 10d + 60, \qquad b_1 = 10d + 15")]
///
/// # Reference
/// Section D.2.3, with the threshold (S36).
pub fn group_exponent(resolution: &Resolution, r: usize) -> Result<usize, Error> {
    let d = resolution.d;
    let (b_0, b_1) = (resolution.r_0() + 10 * d + 60, 10 * d + 15);
    let width = |u: usize| b_0 + (b_1 << (d * u));
    let fitting = (0..=resolution.m).rev().find(|&u| width(u) <= r);
    fitting.ok_or_else(|| Error::HiddenWidth { r, least: width(0) })
}

#[cfg(test)]
mod tests;
