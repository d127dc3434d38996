//! Every count and bound of the construction: as the paper states it and as it was built.

use crate::Error;
use crate::block::{Block, Entries, Unit};
use crate::ffn::{finishing_time, hidden_width};
use crate::program::Program;
use crate::rational::Rational;
use crate::records::Groups;
use crate::resolution::Resolution;
use loopfit_model::Architecture;
use std::fmt;

/// What a stated number says about the built one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are the same.
    Equal,
    /// The built one is not larger.
    AtMost,
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What it is.
    pub name: &'static str,
    /// The formula, with its equation.
    pub formula: &'static str,
    /// The number that the formula gives.
    pub stated: Rational,
    /// How the two compare.
    pub relation: Relation,
    /// The number that was counted.
    pub built: Rational,
}

impl Resource {
    /// Whether what was built is what is stated.
    pub fn holds(&self) -> bool {
        match self.relation {
            Relation::Equal => self.built == self.stated,
            Relation::AtMost => self.built <= self.stated,
        }
    }

    /// The error of a line that does not hold.
    pub(crate) fn error(&self) -> Error {
        Error::Resource {
            name: self.name,
            formula: self.formula,
            stated: self.stated.to_string(),
            built: self.built.to_string(),
        }
    }
}

impl fmt::Display for Resource {
    /// Name, built number, relation, stated number and formula.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match self.relation {
            Relation::Equal => "=",
            Relation::AtMost => "<=",
        };
        write!(
            f,
            "{:<24}{:>10} {relation:<2} {:<10}{}",
            self.name, self.built, self.stated, self.formula
        )
    }
}

/// Counts, bounds and times of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// The evaluator's phases `P`.
    pub phases: usize,
    /// The evaluator's dimension and width (S20).
    pub evaluator: (usize, usize),
    /// The state dimension `q_*` (S35).
    pub q: usize,
    /// The hidden width `r(u_grp)` (S35).
    pub r: usize,
    /// The hidden units that are not padding: the evaluator's, the selector's.
    pub units: [usize; 2],
    /// The iterations of the evaluator for each record (S21).
    pub tau: usize,
    /// The iterations up to and including the lookup (Lemma D.5).
    pub selection_time: usize,
    /// The iterations after which the network has finished, `S_{m,u}` (S34).
    pub finishing_time: usize,
    /// The largest magnitude of a coefficient of the block.
    pub largest_parameter: Rational,
    /// The entries of the block that are not zero.
    pub entries: Entries,
    /// The coefficients of the dense network, `B_L`.
    pub count: u128,
    /// The digits of a group's code.
    pub code_length: usize,
    table: Vec<Resource>,
}

impl Resources {
    /// The resources of a block whose first units are the evaluator's, the others the selector's.
    pub(crate) fn new(
        resolution: &Resolution,
        groups: Groups,
        program: &Program,
        block: &Block,
        units: [usize; 2],
    ) -> Self {
        let d = resolution.d;
        let b_eval = resolution.b_eval();
        let q = resolution.q_0() + d + 10;
        let r = hidden_width(resolution, groups.u());
        let selector_width = r - resolution.r_0();
        let finishing_time = finishing_time(resolution, groups.u());
        let selection_time = finishing_time - groups.records() * resolution.tau();
        let (evaluator, selector) = block.units().split_at(units[0]);
        let line = |name, formula, stated: usize, relation, built: Rational| Resource {
            name,
            formula,
            stated: Rational::from(stated as i64),
            relation,
            built,
        };
        let number = |count: usize| Rational::from(count as i64);
        let table = vec![
            line(
                "evaluator registers",
                "D_data = 2d + 15",
                resolution.registers(),
                Relation::Equal,
                number(program.registers().len()),
            ),
            line(
                "evaluator phases",
                "P = 7d + 7 M_Tay + 5V + 14",
                resolution.phases(),
                Relation::Equal,
                number(program.phases().len()),
            ),
            line(
                "evaluator dimension",
                "q_0 = 9d + 7 M_Tay + 5V + 29 (S20)",
                resolution.q_0(),
                Relation::Equal,
                number(program.registers().len() + program.phases().len()),
            ),
            line(
                "evaluator width",
                "r_0 = P (8d + 62) (S20)",
                resolution.r_0(),
                Relation::AtMost,
                number(units[0]),
            ),
            line(
                "selector width",
                "10dA + 10d + 15 N_grp + 60 (Lemma D.5)",
                selector_width,
                Relation::AtMost,
                number(units[1]),
            ),
            line(
                "state dimension",
                "q_* = q_0 + d + 10 (S35)",
                q,
                Relation::Equal,
                number(block.coordinates().len()),
            ),
            line(
                "hidden width",
                "r(u) = r_0 + 10d 2^u + 10d + 15 2^(du) + 60 (S35)",
                r,
                Relation::AtMost,
                number(block.units().len()),
            ),
            line(
                "evaluator coefficients",
                "3 B_eval, B_eval = 32 (M_Tay + 1) + 1 (Lemma D.2)",
                3 * b_eval,
                Relation::AtMost,
                largest(evaluator),
            ),
            line(
                "selector coefficients",
                "22 (Lemma D.5)",
                22,
                Relation::AtMost,
                largest(selector),
            ),
            line(
                "coefficients",
                "B_* = 2 (3 B_eval + 22) (S35)",
                2 * (3 * b_eval + 22),
                Relation::AtMost,
                block.largest_parameter(),
            ),
        ];
        Self {
            phases: resolution.phases(),
            evaluator: (resolution.q_0(), resolution.r_0()),
            q,
            r,
            units,
            tau: resolution.tau(),
            selection_time,
            finishing_time,
            largest_parameter: block.largest_parameter(),
            entries: block.entries(),
            count: Architecture::Ffn.count(d, 1, q, r, 1),
            code_length: groups.records() * resolution.record_length(),
            table,
        }
    }

    /// The lines of the table.
    pub fn table(&self) -> &[Resource] {
        &self.table
    }

    /// Checks that what was built is what is stated.
    pub fn check(&self) -> Result<(), Error> {
        match self.table.iter().find(|line| !line.holds()) {
            None => Ok(()),
            Some(line) => Err(line.error()),
        }
    }
}

/// The largest magnitude of a coefficient of some units.
fn largest(units: &[Unit]) -> Rational {
    let of = units.iter().map(Unit::largest_parameter);
    of.fold(Rational::ZERO, Rational::max)
}

impl fmt::Display for Resources {
    /// The table, then times and sizes that follow from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.table {
            writeln!(f, "{line}")?;
        }
        for (name, value, formula) in [
            (
                "iterations per record",
                self.tau as u128,
                "tau_m = d(5 + 2m) + M_Tay(5 + 2b) + V(3 + 2J) + 2G + 11 (S21)",
            ),
            (
                "iterations of selection",
                self.selection_time as u128,
                "L_m + d u + 2 (Lemma D.5)",
            ),
            (
                "iterations in all",
                self.finishing_time as u128,
                "S = L_m + d u + 2 + 2^(d(m - u)) tau_m (S34)",
            ),
            (
                "digits of a code",
                self.code_length as u128,
                "L = N_* (dm + M_Tay b + 1) (S24)",
            ),
            (
                "coefficients in all",
                self.count,
                "B_L = q(d + 2) + 1 + q + (2q + 1) r",
            ),
        ] {
            writeln!(f, "{name:<24}{value:>10}               {formula}")?;
        }
        Ok(())
    }
}
