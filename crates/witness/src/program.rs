//! The language of finite-state programs that the proofs are written in.
//!
//! A program has data registers and phases. In a phase every register may be assigned an affine
//! form of the old registers plus at most two hinges; all assignments happen at once. Then the
//! program moves to the phase's successor, unless a test, whose ReLU is exactly zero or one,
//! redirects it. One phase, the last, changes nothing and is never left.

use crate::Error;
use crate::affine::Affine;
use crate::rational::Rational;
use std::collections::BTreeSet;
use std::fmt;

/// A data register: its place among the registers of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub usize);

impl Register {
    /// The form that is this register.
    pub fn value(self) -> Affine<Register> {
        Affine::of(self)
    }

    /// The assignment of an affine form; add hinges with [`Assignment::plus`].
    pub fn set(self, value: impl Into<Affine<Register>>) -> Assignment {
        Assignment {
            register: self,
            value: value.into(),
            hinges: Vec::new(),
        }
    }
}

/// `coefficient * ReLU(argument)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hinge {
    /// The factor outside.
    pub coefficient: Rational,
    /// The affine form inside.
    pub argument: Affine<Register>,
}

/// A new value for one register.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    z_i^+ = z_i + A(z) + c_1 \operatorname{ReLU}\{\ell_1(z)\} + c_2 \operatorname{ReLU}\{\ell_2(z)\}
")]
///
/// # Reference
/// Lemma D.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The register that changes.
    pub register: Register,
    /// The affine part `z_i + A(z)` of the new value.
    pub value: Affine<Register>,
    /// The hinges.
    pub hinges: Vec<Hinge>,
}

impl Assignment {
    /// The assignment with one more hinge.
    pub fn plus(
        mut self,
        coefficient: impl Into<Rational>,
        argument: impl Into<Affine<Register>>,
    ) -> Self {
        self.hinges.push(Hinge {
            coefficient: coefficient.into(),
            argument: argument.into(),
        });
        self
    }

    /// The affine residual `A(z)`.
    pub fn residual(&self) -> Affine<Register> {
        self.value.clone() - self.register.value()
    }
}

/// A way out of a phase that a test may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Taken where the ReLU of this form is one, not taken where it is zero.
    pub test: Affine<Register>,
    /// The phase it leads to.
    pub target: usize,
}

/// One instruction: what it assigns and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The name, for people and traces.
    pub name: String,
    /// Simultaneous assignments, one for a register at the most.
    pub assignments: Vec<Assignment>,
    /// The phase that follows by default.
    pub next: usize,
    /// The phase that may follow instead.
    pub branch: Option<Branch>,
}

impl Phase {
    /// Whether the phase changes nothing and follows itself.
    fn is_halt(&self, index: usize) -> bool {
        self.assignments.is_empty() && self.next == index && self.branch.is_none()
    }
}

/// A checked program: names and targets exist, assignments are simultaneous and have at most two
/// hinges, and the last phase is the only one that is never left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    registers: Vec<String>,
    phases: Vec<Phase>,
}

/// The hinges that Lemma D.4 allows in one assignment.
pub const LARGEST_HINGE_COUNT: usize = 2;

impl Program {
    /// A program from its registers' names and its phases; it starts in the first one.
    pub fn new(registers: Vec<String>, phases: Vec<Phase>) -> Result<Self, Error> {
        let program = Self { registers, phases };
        program.check()?;
        Ok(program)
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |phase: &Phase, problem: String| Error::Program {
            phase: phase.name.clone(),
            problem,
        };
        let Some(halt) = self.phases.len().checked_sub(1) else {
            return Err(Error::EmptyProgram);
        };
        for (index, phase) in self.phases.iter().enumerate() {
            let mut assigned = BTreeSet::new();
            for assignment in &phase.assignments {
                let Register(register) = assignment.register;
                if !assigned.insert(register) {
                    let name = self.register_name(assignment.register);
                    return Err(wrong(phase, format!("register {name} is assigned twice")));
                }
                let hinges = assignment.hinges.len();
                if hinges > LARGEST_HINGE_COUNT {
                    let name = self.register_name(assignment.register);
                    let problem = format!(
                        "the assignment of {name} has {hinges} hinges, {LARGEST_HINGE_COUNT} are allowed"
                    );
                    return Err(wrong(phase, problem));
                }
            }
            let read = phase
                .forms()
                .flat_map(|form| form.terms().map(|(r, _)| r.0));
            if let Some(unknown) = assigned
                .iter()
                .copied()
                .chain(read)
                .find(|&r| r >= self.registers.len())
            {
                return Err(wrong(phase, format!("there is no register {unknown}")));
            }
            let targets = phase.branch.iter().map(|b| b.target).chain([phase.next]);
            if let Some(unknown) = targets.into_iter().find(|&t| t >= self.phases.len()) {
                return Err(wrong(
                    phase,
                    format!("it leads to phase {unknown}, which does not exist"),
                ));
            }
            if phase.is_halt(index) != (index == halt) {
                let problem = match index == halt {
                    true => "the last phase must be the absorbing halt",
                    false => "only the last phase may be absorbing",
                };
                return Err(wrong(phase, problem.to_owned()));
            }
        }
        Ok(())
    }

    /// The names of the registers.
    pub fn registers(&self) -> &[String] {
        &self.registers
    }

    /// The phases; the first is the start, the last the absorbing halt.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// The index of the absorbing phase.
    pub fn halt(&self) -> usize {
        self.phases.len() - 1
    }

    fn register_name(&self, register: Register) -> String {
        let unknown = || format!("z{}", register.0);
        self.registers
            .get(register.0)
            .cloned()
            .unwrap_or_else(unknown)
    }

    /// A form with the registers' names.
    fn text(&self, form: &Affine<Register>) -> String {
        form.text(|r| self.register_name(r))
    }

    /// An assignment as a person writes it.
    fn assignment_text(&self, assignment: &Assignment) -> String {
        let mut text = format!("{} := ", self.register_name(assignment.register));
        let mut first = true;
        if !assignment.value.is_zero() || assignment.hinges.is_empty() {
            text.push_str(&self.text(&assignment.value));
            first = false;
        }
        for hinge in &assignment.hinges {
            let sign = match (first, hinge.coefficient.is_negative()) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let magnitude = hinge.coefficient.abs();
            let factor = match magnitude == Rational::ONE {
                true => String::new(),
                false => format!("{magnitude} "),
            };
            let argument = self.text(&hinge.argument);
            text.push_str(&format!("{sign}{factor}ReLU({argument})"));
            first = false;
        }
        text
    }
}

impl Phase {
    /// Every form that the phase evaluates.
    fn forms(&self) -> impl Iterator<Item = &Affine<Register>> {
        let assigned = self.assignments.iter().flat_map(|assignment| {
            let hinges = assignment.hinges.iter().map(|hinge| &hinge.argument);
            std::iter::once(&assignment.value).chain(hinges)
        });
        assigned.chain(self.branch.iter().map(|branch| &branch.test))
    }
}

impl fmt::Display for Program {
    /// One line for each phase: its number, name, assignments, and where it goes unless to the
    /// next line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, phase) in self.phases.iter().enumerate() {
            write!(f, "{:>4}  {}", index + 1, phase.name)?;
            let assignments: Vec<_> = phase
                .assignments
                .iter()
                .map(|assignment| self.assignment_text(assignment))
                .collect();
            if !assignments.is_empty() {
                write!(f, ": {}", assignments.join("; "))?;
            }
            if let Some(branch) = &phase.branch {
                let test = self.text(&branch.test);
                write!(f, " -> {} if ReLU({test}) = 1", branch.target + 1)?;
                write!(f, ", else {}", phase.next + 1)?;
            } else if phase.next == index {
                write!(f, " (for ever)")?;
            } else if phase.next != index + 1 {
                write!(f, " -> {}", phase.next + 1)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
