//! A network of the proofs of either architecture, from what it is asked for to its runs.
//!
//! - [`run`]: inputs, in any arithmetic, beside the target;
//! - [`trace`]: one input, iteration by iteration or instruction by instruction;
//! - [`check`]: what the proofs say of every state, on many inputs;
//! - [`dense`]: the ordinary model that it is, with what 32 bits do not hold.

pub mod check;
pub mod dense;
pub mod run;
pub mod trace;

use crate::transformer::{self, Setting};
use crate::{Error, Rational, Reader, Resolution, Target, ffn};
use loopfit_model::Architecture;
use loopfit_numerics::text::count;

/// A target that can be evaluated from several threads.
pub type AnyTarget = Box<dyn Target + Send + Sync>;

/// What a network of the proofs is asked for.
pub struct Construction {
    /// The target as people write it.
    pub name: String,
    /// The target.
    pub target: AnyTarget,
    /// Class and resolution.
    pub resolution: Resolution,
    /// The group exponent: `2^u` groups along each axis.
    pub groups: usize,
    /// How codes are read.
    pub reader: Reader,
    /// The architecture.
    pub architecture: Architecture,
    /// The stabiliser of a Transformer's layer normalisation.
    pub stabiliser: Rational,
    /// State dimension and hidden width of a Transformer, if more than it needs.
    pub padding: (Option<usize>, Option<usize>),
}

/// A network of the proofs.
pub enum Network {
    /// Of Theorem D.1.
    Ffn(Box<ffn::Witness>),
    /// Of Theorem E.1.
    Transformer(Box<transformer::Witness>),
}

/// Digits that exact runs work on in a second, measured on one core.
const DIGITS_PER_SECOND: f64 = 4e9;

/// About how many seconds one exact run of an FFN takes, see [`ffn::run_work`].
pub fn exact_seconds(resolution: &Resolution, u: usize) -> f64 {
    ffn::run_work(resolution, u) / DIGITS_PER_SECOND
}

/// About how many seconds a table takes on so many threads, with a network for each of these times.
pub fn table_seconds(networks: &[f64], threads: usize) -> f64 {
    let longest = networks.iter().copied().fold(0.0, f64::max);
    longest.max(networks.iter().sum::<f64>() / threads as f64)
}

impl Construction {
    /// Builds the network.
    pub fn build(&self) -> Result<Network, Error> {
        let Architecture::Transformer { partition } = &self.architecture else {
            return Ok(Network::Ffn(Box::new(self.ffn()?)));
        };
        let setting = Setting {
            partition: partition.clone(),
            stabiliser: self.stabiliser.clone(),
            reader: self.reader,
            q: self.padding.0,
            r: self.padding.1,
        };
        let resolution = self.resolution.clone();
        let witness = transformer::Witness::new(resolution, self.groups, setting, &*self.target)?;
        Ok(Network::Transformer(Box::new(witness)))
    }

    /// The FFN of the same target, resolution and groups.
    pub fn ffn(&self) -> Result<ffn::Witness, Error> {
        let resolution = self.resolution.clone();
        ffn::Witness::new(resolution, self.groups, self.reader, &*self.target)
    }

    /// The iterations of an exact run, and about how many seconds so many runs take, before anything is built.
    pub fn expected(&self, runs: usize) -> (usize, f64) {
        let groups = self.groups.min(self.resolution.m);
        let iterations = ffn::finishing_time(&self.resolution, groups);
        (
            iterations,
            exact_seconds(&self.resolution, groups) * runs as f64,
        )
    }

    /// `x1/2, d = 1, s = 1, H = 1, K = 2^3 = 8, 1 group along each axis`.
    pub fn words(&self) -> String {
        let resolution = &self.resolution;
        format!(
            "{}, d = {}, s = {}, H = {}, K = 2^{} = {}, {} along each axis",
            self.name,
            resolution.d,
            resolution.s,
            resolution.h,
            resolution.m,
            resolution.cells_per_axis(),
            count(1 << self.groups.min(63), "group")
        )
    }

    /// Whether the network is zero at inputs where its target is not: values of `u` beside the target. Coefficients are rounded
    /// down to multiples of [`Resolution::quantum`], so that a target below it disappears.
    pub fn is_silent<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a Rational, &'a Rational)>,
    ) -> bool {
        let (mut zero, mut target) = (true, false);
        for (u, f0) in values {
            zero &= u.is_zero();
            target |= !f0.is_zero();
        }
        zero && target
    }
}

impl Network {
    /// `FFN` or `Transformer`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ffn(_) => "FFN",
            Self::Transformer(_) => "Transformer",
        }
    }

    /// Class and resolution.
    pub fn resolution(&self) -> &Resolution {
        match self {
            Self::Ffn(witness) => witness.resolution(),
            Self::Transformer(witness) => witness.resolution(),
        }
    }

    /// The iterations after which the output is final; for a Transformer with those in which its scale settles.
    ///
    /// # Reference
    /// (S34); [`transformer::Witness::finishing_time`].
    pub fn finishing_time(&self) -> usize {
        match self {
            Self::Ffn(witness) => witness.resources().finishing_time,
            Self::Transformer(witness) => witness.finishing_time(),
        }
    }

    /// Whether the error bounds do not hold at an input: it is on a strip around a cell's face or, for a Transformer, in the routing
    /// exceptional set.
    pub fn is_exceptional(&self, x: &[Rational]) -> bool {
        match self {
            Self::Ffn(witness) => witness.resolution().is_on_strip(x),
            Self::Transformer(witness) => witness.is_exceptional(x),
        }
    }

    /// What the error is at most at inputs that are not exceptional, for a target in the class.
    ///
    /// # Reference
    /// (S23) and (S28); for a Transformer with the accuracy of its readout.
    pub fn error_bound(&self) -> f64 {
        let bound = self.resolution().interior_error_bound();
        match self {
            Self::Ffn(_) => bound,
            Self::Transformer(witness) => {
                let accuracy = witness.correction().accuracy().to_f64();
                bound + accuracy * witness.resolution().h.to_f64()
            }
        }
    }

    /// The stages of the program.
    pub fn program(&self) -> String {
        match self {
            Self::Ffn(witness) => format!(
                "selector\n{}\nevaluator\n{}",
                witness.selector().text(),
                witness.evaluator().program
            ),
            Self::Transformer(witness) => format!(
                "boot and routing, whose end starts the front end\n{}\nfront end\n{}\nevaluator, whose halt starts the terminal correction\n{}\nterminal correction\n{}",
                witness.routing().program,
                transformer::front::text(witness.resolution(), witness.groups()),
                witness.evaluator().program,
                witness.correction().program
            ),
        }
    }
}

#[cfg(test)]
mod tests;
