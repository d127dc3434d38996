//! The compiler of Lemma D.4: from a program to the units of one residual ReLU block.
//!
//! Four stages, in this order: [`check`](Compiler::check) the program against the lemma's
//! hypotheses, [`lower`](Compiler::lower) its phases to ungated features, [`add_gates`](Compiler::add_gates)
//! to each, and count what came out.

use crate::Error;
use crate::affine::Affine;
use crate::block::{Block, Coordinate, Unit};
use crate::program::{Phase, Program, Register};
use crate::rational::Rational;
use std::fmt;

/// What keeps a feature silent outside its phase: `Lambda (e - reference)`.
///
/// # Formula
/// `Lambda (e_a - 1)` with `Lambda = 2B` in Lemma D.4; `16 (e - C)` in the selector, whose phases
/// have the value `C`; `Lambda (e - C)` in Section E.1.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The factor `Lambda`.
    pub lambda: Rational,
    /// The value of an active phase, as a form: one, or a coordinate.
    pub reference: Affine<Coordinate>,
}

impl Gate {
    /// What is added to a preactivation of the phase `e`.
    pub fn at(&self, phase: Coordinate) -> Affine<Coordinate> {
        (phase.value() - self.reference.clone()) * &self.lambda
    }

    /// The two units whose difference is a signed form in the phase `e` and zero elsewhere.
    ///
    /// # Formula
    /// `ReLU{A + Lambda(e - 1)} - ReLU{-A + Lambda(e - 1)}` (proof of Lemma D.4).
    pub fn signed(
        &self,
        name: &str,
        phase: Coordinate,
        form: &Affine<Coordinate>,
        output: Coordinate,
    ) -> [Unit; 2] {
        [("+", 1), ("-", -1)].map(|(sign, factor)| Unit {
            name: format!("{name} {sign}"),
            preactivation: form.clone() * factor + self.at(phase),
            outputs: vec![(output, factor.into())],
        })
    }

    /// The unit that is a hinge in the phase `e` and zero elsewhere.
    pub fn hinge(
        &self,
        name: &str,
        phase: Coordinate,
        argument: &Affine<Coordinate>,
        outputs: Vec<(Coordinate, Rational)>,
    ) -> Unit {
        Unit {
            name: name.to_owned(),
            preactivation: argument.clone() + self.at(phase),
            outputs,
        }
    }
}

/// The unit that is a nonnegative coordinate itself: a phase, for its default move and for
/// constants that come with it.
pub fn identity_unit(
    name: impl Into<String>,
    coordinate: Coordinate,
    outputs: Vec<(Coordinate, Rational)>,
) -> Unit {
    Unit {
        name: name.into(),
        preactivation: coordinate.value(),
        outputs,
    }
}

/// Where the registers and phases of a program lie in the state of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The coordinates of the registers.
    pub registers: Vec<Coordinate>,
    /// The coordinates of the phases.
    pub phases: Vec<Coordinate>,
}

impl Placement {
    /// New coordinates of a block: the registers, then the phases, named `prefix` and what they
    /// are.
    pub fn new(program: &Program, block: &mut Block, prefix: &str) -> Self {
        let registers = program.registers().iter();
        let registers = registers.map(|name| block.coordinate(format!("{prefix}{name}")));
        let registers = registers.collect();
        let phases = program.phases().iter();
        let phases = phases.map(|phase| block.coordinate(format!("{prefix}[{}]", phase.name)));
        Self {
            registers,
            phases: phases.collect(),
        }
    }

    fn place(&self, form: &Affine<Register>) -> Affine<Coordinate> {
        form.map(|register| self.registers[register.0])
    }
}

/// A program with what the lemma assumes of it.
#[derive(Clone, Debug)]
pub struct Compiler<'a> {
    /// The program.
    pub program: &'a Program,
    /// Where it lies.
    pub placement: &'a Placement,
    /// What keeps features silent outside their phase.
    pub gate: &'a Gate,
    /// The bound `B` on affine and hinge coefficients.
    pub coefficient_bound: &'a Rational,
    /// The bound on every data register in reachable states.
    pub register_bound: &'a Rational,
}

/// A feature of a phase before it is gated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feature {
    /// The affine residual of an assignment: two units.
    Residual {
        /// What it is for.
        name: String,
        /// The phase it belongs to.
        phase: Coordinate,
        /// The residual.
        form: Affine<Coordinate>,
        /// The coordinate it is added to.
        output: Coordinate,
    },
    /// A hinge of an assignment, or a branch: one unit.
    Hinge {
        /// What it is for.
        name: String,
        /// The phase it belongs to.
        phase: Coordinate,
        /// What its ReLU is applied to.
        argument: Affine<Coordinate>,
        /// What it adds.
        outputs: Vec<(Coordinate, Rational)>,
    },
    /// The default move: one unit, which is the phase itself.
    Move {
        /// What it is for.
        name: String,
        /// The phase that is left.
        phase: Coordinate,
        /// The phase that follows.
        next: Coordinate,
    },
}

/// What the checks of a compilation found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// The largest magnitude of an ungated preactivation over the register box.
    pub largest_preactivation: Rational,
    /// The largest magnitude of an affine or hinge coefficient.
    pub largest_coefficient: Rational,
}

impl Compiler<'_> {
    /// All stages: the units of the program.
    ///
    /// # Reference
    /// Lemma D.4: at most `P(4D + 2)` units, entries of at most `Lambda + B`, which is `3B` where
    /// `Lambda = 2B`; the halt has no unit.
    pub fn compile(&self) -> Result<Vec<Unit>, Error> {
        self.check()?;
        let features = self.lower();
        let units = self.add_gates(features);
        self.count(&units)?;
        Ok(units)
    }

    /// Checks the hypotheses of the lemma: over the register box every ungated preactivation is at
    /// most `Lambda`, so that a gate silences it, and coefficients are at most `B`.
    pub fn check(&self) -> Result<Findings, Error> {
        let mut findings = Findings {
            largest_preactivation: Rational::ZERO,
            largest_coefficient: Rational::ONE,
        };
        for phase in self.program.phases() {
            let forms = ungated(phase);
            for (what, form) in &forms {
                let size = form.largest(self.register_bound);
                if size > self.gate.lambda {
                    return Err(Error::Preactivation {
                        phase: phase.name.clone(),
                        what: what.clone(),
                        size: size.to_string(),
                        bound: self.gate.lambda.to_string(),
                    });
                }
                findings.largest_preactivation = findings.largest_preactivation.max(size);
            }
            let hinges = phase.assignments.iter().flat_map(|a| &a.hinges);
            let outer = hinges.map(|hinge| hinge.coefficient.abs());
            let inner = forms.iter().map(|(_, form)| form.largest_coefficient());
            for size in outer.chain(inner) {
                if size > *self.coefficient_bound {
                    return Err(Error::Coefficient {
                        phase: phase.name.clone(),
                        size: size.to_string(),
                        bound: self.coefficient_bound.to_string(),
                    });
                }
                findings.largest_coefficient = findings.largest_coefficient.max(size);
            }
        }
        Ok(findings)
    }

    /// The features of every phase, ungated: residuals and hinges of its assignments, its default
    /// move unless it stays, its branch.
    pub fn lower(&self) -> Vec<Feature> {
        let mut features = Vec::new();
        for (index, phase) in self.program.phases().iter().enumerate() {
            let e = self.placement.phases[index];
            for assignment in &phase.assignments {
                let Register(register) = assignment.register;
                let output = self.placement.registers[register];
                let name = format!("{} / {}", phase.name, self.program.registers()[register]);
                let residual = assignment.residual();
                if !residual.is_zero() {
                    features.push(Feature::Residual {
                        name: name.clone(),
                        phase: e,
                        form: self.placement.place(&residual),
                        output,
                    });
                }
                for (nu, hinge) in assignment.hinges.iter().enumerate() {
                    features.push(Feature::Hinge {
                        name: format!("{name} hinge {}", nu + 1),
                        phase: e,
                        argument: self.placement.place(&hinge.argument),
                        outputs: vec![(output, hinge.coefficient.clone())],
                    });
                }
            }
            let next = self.placement.phases[phase.next];
            if phase.next != index {
                features.push(Feature::Move {
                    name: format!("{} / next", phase.name),
                    phase: e,
                    next,
                });
            }
            if let Some(branch) = &phase.branch {
                let target = self.placement.phases[branch.target];
                features.push(Feature::Hinge {
                    name: format!("{} / branch", phase.name),
                    phase: e,
                    argument: self.placement.place(&branch.test),
                    outputs: vec![(next, Rational::from(-1)), (target, Rational::ONE)],
                });
            }
        }
        features
    }

    /// Adds the gate of its phase to every feature; a move needs none.
    pub fn add_gates(&self, features: Vec<Feature>) -> Vec<Unit> {
        let mut units = Vec::new();
        for feature in features {
            match feature {
                Feature::Residual {
                    name,
                    phase,
                    form,
                    output,
                } => units.extend(self.gate.signed(&name, phase, &form, output)),
                Feature::Hinge {
                    name,
                    phase,
                    argument,
                    outputs,
                } => units.push(self.gate.hinge(&name, phase, &argument, outputs)),
                Feature::Move { name, phase, next } => {
                    let outputs = vec![(phase, Rational::from(-1)), (next, Rational::ONE)];
                    units.push(identity_unit(name, phase, outputs));
                }
            }
        }
        units
    }

    /// The conclusions of the lemma on width and coefficients.
    fn count(&self, units: &[Unit]) -> Result<(), Error> {
        let (registers, phases) = (self.program.registers().len(), self.program.phases().len());
        let width = width(registers, phases);
        if units.len() > width {
            return Err(Error::Width {
                units: units.len(),
                width,
            });
        }
        let largest = units.iter().map(Unit::largest_parameter);
        let largest = largest.fold(Rational::ZERO, Rational::max);
        let bound = &self.gate.lambda + self.coefficient_bound;
        if largest > bound {
            return Err(Error::Entry {
                size: largest.to_string(),
                bound: bound.to_string(),
            });
        }
        Ok(())
    }
}

/// The hidden units that a program with `D` registers and `P` phases needs at the most.
///
/// # Formula
/// `P (4D + 2)` (Lemma D.4).
pub fn width(registers: usize, phases: usize) -> usize {
    phases * (4 * registers + 2)
}

/// What a phase evaluates, with a word on what it is.
fn ungated(phase: &Phase) -> Vec<(String, Affine<Register>)> {
    let mut forms = Vec::new();
    for assignment in &phase.assignments {
        let register = assignment.register.0 + 1;
        forms.push((
            format!("the residual of register {register}"),
            assignment.residual(),
        ));
        for hinge in &assignment.hinges {
            let what = format!("a hinge of register {register}");
            forms.push((what, hinge.argument.clone()));
        }
    }
    let tests = phase.branch.iter();
    forms.extend(tests.map(|branch| ("the test".to_owned(), branch.test.clone())));
    forms
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |form: &Affine<Coordinate>| form.text(|c| format!("z{}", c.0));
        match self {
            Self::Residual { name, form, .. } => write!(f, "{name}: {}", of(form)),
            Self::Hinge { name, argument, .. } => write!(f, "{name}: ReLU({})", of(argument)),
            Self::Move { name, phase, next } => write!(f, "{name}: z{} -> z{}", phase.0, next.0),
        }
    }
}

#[cfg(test)]
mod tests;
