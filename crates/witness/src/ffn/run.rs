//! Running a constructed network on an input, in any arithmetic, with a trace.

use crate::Error;
use crate::arithmetic::Arithmetic;
use crate::block::{Machine, State};
use crate::ffn::Witness;
use crate::rational::Rational;

/// A network whose coefficients are numbers of an arithmetic.
#[derive(Clone, Debug)]
pub struct Runner<'a, A: Arithmetic> {
    witness: &'a Witness,
    machine: Machine<A>,
}

/// One input on its way through the network.
#[derive(Clone, Debug)]
pub struct Run<'a, A: Arithmetic> {
    runner: &'a Runner<'a, A>,
    state: State<A::Number>,
    iteration: usize,
}

/// What the network returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The normalised output `u`.
    pub u: Rational,
    /// `Hu`, clipped to `[-H, H]`.
    pub value: Rational,
}

/// A coordinate that an iteration changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<N> {
    /// The place in the state.
    pub coordinate: usize,
    /// The value before.
    pub from: N,
    /// The value after.
    pub to: N,
}

/// A phase that is not zero: its name and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivePhase<'a, N> {
    /// The name.
    pub name: &'a str,
    /// One in the evaluator and `C` in the selector, unless the input is on a strip.
    pub value: &'a N,
}

impl<'a, A: Arithmetic> Runner<'a, A> {
    pub(crate) fn new(witness: &'a Witness, arithmetic: A) -> Self {
        Self {
            witness,
            machine: Machine::new(witness.block(), arithmetic),
        }
    }

    /// The arithmetic.
    pub fn arithmetic(&self) -> &A {
        self.machine.arithmetic()
    }

    /// An input before the first iteration.
    pub fn start(&'a self, x: &[Rational]) -> Result<Run<'a, A>, Error> {
        let exact = self.witness.initial_state(x)?;
        let numbers = exact.iter().map(|z| self.machine.arithmetic().number(z));
        let state = self.machine.state(numbers.collect());
        Ok(Run {
            runner: self,
            state,
            iteration: 0,
        })
    }

    /// The output at `x` after the finishing time `S_{m,u}`.
    pub fn evaluate(&self, x: &[Rational]) -> Result<Output, Error> {
        let mut run = self.start(x)?;
        run.advance(self.witness.resources().finishing_time);
        run.output()
    }
}

impl<A: Arithmetic> Run<'_, A> {
    /// One iteration, and what it changed.
    pub fn step(&mut self) -> Vec<Change<A::Number>> {
        let before = self.state.clone();
        let changed = self.runner.machine.step(&mut self.state);
        self.iteration += 1;
        let change = |coordinate: usize| Change {
            coordinate,
            from: before.values()[coordinate].clone(),
            to: self.state.values()[coordinate].clone(),
        };
        changed.into_iter().map(change).collect()
    }

    /// Runs this many iterations.
    pub fn advance(&mut self, iterations: usize) {
        self.runner.machine.run(&mut self.state, iterations);
        self.iteration += iterations;
    }

    /// The iterations so far.
    pub fn iteration(&self) -> usize {
        self.iteration
    }

    /// The state, in the order of the block's coordinates.
    pub fn state(&self) -> &[A::Number] {
        self.state.values()
    }

    /// The phases that are not zero: the evaluator's, then the selector's.
    pub fn active_phases(&self) -> Vec<ActivePhase<'_, A::Number>> {
        let witness = self.runner.witness;
        let zero = self.runner.machine.arithmetic().number(&Rational::ZERO);
        let evaluator = witness.evaluator().program.phases().iter();
        let evaluator = evaluator.map(|phase| phase.name.as_str());
        let names = evaluator.chain(crate::ffn::selector::Selector::PHASES);
        let selector = witness.selector().phases.iter();
        let coordinates = witness.placement().phases.iter().chain(selector);
        names
            .zip(coordinates)
            .map(|(name, coordinate)| ActivePhase {
                name,
                value: &self.state.values()[coordinate.0],
            })
            .filter(|phase| *phase.value != zero)
            .collect()
    }

    /// The output in this state.
    pub fn output(&self) -> Result<Output, Error> {
        let witness = self.runner.witness;
        let number = &self.state.values()[witness.output()];
        let u = self.runner.machine.arithmetic().exact(number);
        let u = u.ok_or(Error::Overflow)?;
        let h = &witness.resolution().h;
        let value = (&u * h).clip(h);
        Ok(Output { u, value })
    }
}
