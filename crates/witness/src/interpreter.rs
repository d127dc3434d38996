//! Running a program directly, phase by phase, on exact numbers.
//!
//! Nothing here knows of blocks, gates or phase coordinates: it is what compiled networks are
//! compared with.

use crate::Error;
use crate::program::{Assignment, Program, Register};
use crate::rational::Rational;

/// A program at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter<'a> {
    program: &'a Program,
    phase: usize,
    registers: Vec<Rational>,
}

impl<'a> Interpreter<'a> {
    /// A program at its first phase.
    ///
    /// # Panics
    /// If there are not as many values as registers.
    pub fn new(program: &'a Program, registers: Vec<Rational>) -> Self {
        let expected = program.registers().len();
        assert_eq!(registers.len(), expected, "one value for each register");
        Self {
            program,
            phase: 0,
            registers,
        }
    }

    /// The index of the phase that comes next.
    pub fn phase(&self) -> usize {
        self.phase
    }

    /// The values of the registers.
    pub fn registers(&self) -> &[Rational] {
        &self.registers
    }

    /// Gives a register another value, as surroundings may between two phases.
    pub fn set(&mut self, register: Register, value: Rational) {
        self.registers[register.0] = value;
    }

    /// Whether the program has halted.
    pub fn halted(&self) -> bool {
        self.phase == self.program.halt()
    }

    /// Performs one phase. Fails where a test is neither zero nor one.
    pub fn step(&mut self) -> Result<(), Error> {
        let phase = &self.program.phases()[self.phase];
        let value = |r: Register| &self.registers[r.0];
        let assigned = |assignment: &Assignment| {
            let hinges = assignment.hinges.iter();
            let bend = hinges.fold(Rational::ZERO, |sum, hinge| {
                sum + &hinge.coefficient * hinge.argument.at(value).relu()
            });
            assignment.value.at(value) + bend
        };
        let mut next = phase.next;
        if let Some(branch) = &phase.branch {
            let signal = branch.test.at(value).relu();
            if signal == Rational::ONE {
                next = branch.target;
            } else if !signal.is_zero() {
                return Err(Error::Test {
                    phase: phase.name.clone(),
                    signal: signal.to_string(),
                });
            }
        }
        let values: Vec<_> = phase.assignments.iter().map(assigned).collect();
        for (assignment, value) in phase.assignments.iter().zip(values) {
            self.registers[assignment.register.0] = value;
        }
        self.phase = next;
        Ok(())
    }

    /// Performs phases until the program halts, `limit` at the most; how many it performed.
    pub fn run(&mut self, limit: usize) -> Result<usize, Error> {
        for performed in 0..limit {
            if self.halted() {
                return Ok(performed);
            }
            self.step()?;
        }
        Ok(limit)
    }
}
