//! What the proofs say of every state, checked on many inputs at once.

use super::{Construction, Network};
use crate::ffn::check::{self, Invariant};
use crate::{Error, Rational, transformer};
use rayon::prelude::*;

/// What was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// `FFN` or `Transformer`.
    pub network: &'static str,
    /// How many inputs there were.
    pub inputs: usize,
    /// How many of them are on strips.
    pub on_strips: usize,
    /// How many were left out, on strips or in the routing exceptional set of a Transformer.
    pub left_out: usize,
    /// Each invariant over all inputs.
    pub invariants: Vec<Invariant>,
}

impl Checked {
    /// Whether every invariant holds.
    pub fn holds(&self) -> bool {
        let mut all = self.invariants.iter();
        all.all(|invariant| invariant.violation.is_none())
    }
}

impl Construction {
    /// Builds the network and checks so many random inputs beside corners, faces and strips, see [`check::inputs`].
    pub fn check(&self, points: usize, seed: u64) -> Result<Checked, Error> {
        let twin = self.ffn()?;
        let inputs = check::inputs(&twin, points, seed);
        let count = |is: &dyn Fn(&[Rational]) -> bool| inputs.iter().filter(|x| is(x)).count();
        let network = self.build()?;
        let (left_out, invariants) = match &network {
            Network::Ffn(witness) => {
                let one = |x: &[Vec<Rational>]| check::check(witness, &*self.target, x);
                (0, each(&inputs, one)?)
            }
            Network::Transformer(witness) => {
                let one = |x: &[Vec<Rational>]| {
                    transformer::check::check(witness, &twin, &*self.target, x)
                };
                (count(&|x| witness.is_exceptional(x)), each(&inputs, one)?)
            }
        };
        Ok(Checked {
            network: network.name(),
            inputs: inputs.len(),
            on_strips: count(&|x| self.resolution.is_on_strip(x)),
            left_out,
            invariants,
        })
    }
}

/// Checks inputs one by one, on all threads, and puts together what was found in their order.
fn each(
    inputs: &[Vec<Rational>],
    check: impl Fn(&[Vec<Rational>]) -> Result<Vec<Invariant>, Error> + Sync,
) -> Result<Vec<Invariant>, Error> {
    let one = |x: &Vec<Rational>| check(std::slice::from_ref(x));
    let found: Vec<_> = inputs.par_iter().map(one).collect();
    let mut all: Vec<Invariant> = Vec::new();
    for invariants in found {
        let invariants = invariants?;
        if all.is_empty() {
            all = invariants;
            continue;
        }
        for (sum, one) in all.iter_mut().zip(invariants) {
            sum.checked += one.checked;
            sum.violation = sum.violation.take().or(one.violation);
        }
    }
    Ok(all)
}
