//! The native program on exact numbers, with ideal comparisons.
//!
//! Attention enters the program in two ways: it gathers the input, exactly, and it gives a
//! comparison signal with the sign of the remainder. Off the routing exceptional set the comparator
//! has saturated at that sign before each commit, so the sign itself as the signal leads to the
//! same address, and `u` and `v` are rational numbers.

use super::Witness;
use crate::Error;
use crate::arithmetic::Exact;
use crate::block::{Coordinate, Machine, State};
use crate::rational::Rational;

/// The network of the controller on exact numbers.
#[derive(Clone, Debug)]
pub struct ExactRunner<'a> {
    witness: &'a Witness,
    machine: Machine<Exact>,
}

/// What the program leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The evaluator's output `u`.
    pub u: Rational,
    /// The corrected value `v`.
    pub v: Rational,
    /// The smallest magnitude of a remainder at a commit; nothing with one group.
    pub smallest_remainder: Option<Rational>,
}

/// One input on its way.
#[derive(Clone, Debug)]
pub struct ExactRun<'a> {
    runner: &'a ExactRunner<'a>,
    x: Vec<Rational>,
    state: State<Rational>,
    iteration: usize,
}

impl<'a> ExactRunner<'a> {
    pub(super) fn new(witness: &'a Witness) -> Self {
        Self {
            witness,
            machine: Machine::new(witness.block(), Exact),
        }
    }

    /// The controller before the first iteration.
    pub fn start(&'a self, x: &[Rational]) -> Result<ExactRun<'a>, Error> {
        let mut tokens = self.witness.start(x)?;
        let controller = tokens.swap_remove(self.witness.controller());
        Ok(ExactRun {
            runner: self,
            x: x.to_vec(),
            state: self.machine.state(controller),
            iteration: 0,
        })
    }

    /// `u` and `v` at `x`. Fails on boundary strips, where the program may not end in time.
    pub fn evaluate(&self, x: &[Rational]) -> Result<Outcome, Error> {
        let witness = self.witness;
        let (native, times) = (witness.native(), witness.resources().times);
        let mut run = self.start(x)?;
        let mut smallest: Option<Rational> = None;
        while run.iteration < times.halt {
            let commits = native
                .routing
                .phases
                .iter()
                .zip(native.routing.remainders());
            let committed = commits.filter(|([_, commit, _], _)| !run.value(*commit).is_zero());
            for (_, remainder) in committed {
                let size = run.value(remainder).abs();
                smallest = Some(smallest.map_or(size.clone(), |s| s.min(size)));
            }
            run.step();
        }
        let unfinished = || Error::Unfinished {
            iterations: times.clear,
            width: Rational::power_of_two(-(witness.resolution().g() as i64)).to_string(),
        };
        let halt = native.evaluator.phases[native.evaluator.phases.len() - 1];
        if *run.value(halt) != Rational::ONE {
            return Err(unfinished());
        }
        let u = run.value(native.u).clone();
        while run.iteration < times.clear {
            run.step();
        }
        if !run.is_cleared() {
            return Err(unfinished());
        }
        Ok(Outcome {
            u,
            v: run.value(native.v()).clone(),
            smallest_remainder: smallest,
        })
    }
}

impl ExactRun<'_> {
    /// One iteration: what attention adds, then the block.
    pub fn step(&mut self) {
        let native = self.runner.witness.native();
        let gathered = native.routing.aggregate.iter().zip(&self.x);
        let mut added: Vec<(Coordinate, Rational)> = Vec::new();
        if self.iteration == 0 {
            added.extend(gathered.map(|(place, x)| (*place, x.clone())));
        }
        let remainders = native.routing.remainders();
        let query = remainders.fold(Rational::ZERO, |sum, place| sum + self.value(place));
        if !query.is_zero() {
            let sign = if query.is_negative() { -1 } else { 1 };
            added.push((native.routing.signal, Rational::from(sign)));
        }
        if !added.is_empty() {
            let mut values = self.state.values().to_vec();
            for (place, increment) in added {
                values[place.0] = &values[place.0] + increment;
            }
            self.state = self.runner.machine.state(values);
        }
        self.runner.machine.step(&mut self.state);
        self.iteration += 1;
    }

    /// The iterations so far.
    pub fn iteration(&self) -> usize {
        self.iteration
    }

    /// The controller's native coordinates.
    pub fn state(&self) -> &[Rational] {
        self.state.values()
    }

    /// One native coordinate.
    pub fn value(&self, place: Coordinate) -> &Rational {
        &self.state.values()[place.0]
    }

    /// Whether nothing is left but `C = 1` and `v`.
    pub fn is_cleared(&self) -> bool {
        let native = self.runner.witness.native();
        let scale = native.front.scale;
        let others = self.state.values().iter().enumerate();
        let mut others = others.filter(|(i, _)| *i != scale.0 && *i != native.v().0);
        *self.value(scale) == Rational::ONE && others.all(|(_, value)| value.is_zero())
    }
}
