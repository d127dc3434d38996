//! One residual ReLU block as its nonzero coefficients, and running it.
//!
//! # Formula
#![doc = loopfit_tex::tex!(r"\Phi(z) = z + W_2 \operatorname{ReLU}(W_1 z + b_1)")]

use crate::affine::Affine;
use crate::arithmetic::Arithmetic;
use crate::rational::Rational;
use std::fmt;

/// A coordinate of the state: its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinate(pub usize);

impl Coordinate {
    /// The form that is this coordinate.
    pub fn value(self) -> Affine<Coordinate> {
        Affine::of(self)
    }
}

/// A hidden unit: a row of `W1` with its entry of `b1`, and a column of `W2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// What it does, for people.
    pub name: String,
    /// What its ReLU is applied to.
    pub preactivation: Affine<Coordinate>,
    /// What it adds to the state, as multiples of its value.
    pub outputs: Vec<(Coordinate, Rational)>,
}

impl Unit {
    /// The largest magnitude of a parameter.
    pub fn largest_parameter(&self) -> Rational {
        let outputs = self.outputs.iter().map(|(_, weight)| weight.abs());
        outputs.fold(self.preactivation.largest_coefficient(), Rational::max)
    }
}

/// A residual ReLU block on named coordinates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    coordinates: Vec<String>,
    units: Vec<Unit>,
}

/// How many entries of a block are not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    /// In `W1`.
    pub w1: usize,
    /// In `b1`.
    pub b1: usize,
    /// In `W2`.
    pub w2: usize,
}

impl Block {
    /// A block without coordinates and units.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new coordinate of the state.
    pub fn coordinate(&mut self, name: impl Into<String>) -> Coordinate {
        self.coordinates.push(name.into());
        Coordinate(self.coordinates.len() - 1)
    }

    /// Adds hidden units.
    ///
    /// # Panics
    /// If a unit reads or writes a coordinate that the block has not.
    pub fn extend(&mut self, units: impl IntoIterator<Item = Unit>) {
        for unit in units {
            let read = unit.preactivation.terms().map(|(c, _)| c);
            let written = unit.outputs.iter().map(|(c, _)| *c);
            let known = read.chain(written).all(|c| c.0 < self.coordinates.len());
            assert!(known, "unit {} is on the block's coordinates", unit.name);
            self.units.push(unit);
        }
    }

    /// The names of the coordinates.
    pub fn coordinates(&self) -> &[String] {
        &self.coordinates
    }

    /// The hidden units.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// How many entries are not zero.
    pub fn entries(&self) -> Entries {
        let units = || self.units.iter();
        let nonzero = |unit: &Unit| unit.outputs.iter().filter(|(_, w)| !w.is_zero()).count();
        Entries {
            w1: units().map(|unit| unit.preactivation.terms().count()).sum(),
            b1: units()
                .filter(|unit| !unit.preactivation.bias().is_zero())
                .count(),
            w2: units().map(nonzero).sum(),
        }
    }

    /// The largest magnitude of a parameter.
    pub fn largest_parameter(&self) -> Rational {
        let units = self.units.iter().map(Unit::largest_parameter);
        units.fold(Rational::ZERO, Rational::max)
    }
}

impl fmt::Display for Block {
    /// One line for each unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |c: Coordinate| self.coordinates[c.0].clone();
        for unit in &self.units {
            let outputs: Vec<_> = unit
                .outputs
                .iter()
                .map(|(c, w)| format!("{} += {w} h", name(*c)))
                .collect();
            let argument = unit.preactivation.text(name);
            writeln!(
                f,
                "{}: h = ReLU({argument}); {}",
                unit.name,
                outputs.join("; ")
            )?;
        }
        Ok(())
    }
}

/// A block whose coefficients are numbers of an arithmetic, ready to run.
///
/// # Sparsity
/// Most units of a compiled block are inactive, and with long numbers finding that out exactly
/// would be most of the work. Every coordinate has a float beside it; a unit is skipped where that
/// float and a bound on its error show its preactivation not to be positive, and is computed
/// otherwise. No assumption about phases is made, so runs stay exact where several are partly
/// active.
#[derive(Clone, Debug)]
pub struct Machine<A: Arithmetic> {
    arithmetic: A,
    units: Vec<LoadedUnit<A::Number>>,
}

#[derive(Clone, Debug)]
struct LoadedUnit<N> {
    terms: Vec<Term<N>>,
    bias: Option<(N, f64)>,
    outputs: Vec<(usize, N)>,
}

#[derive(Clone, Debug)]
struct Term<N> {
    coordinate: usize,
    weight: N,
    approximate: f64,
}

/// A state in an arithmetic.
#[derive(Clone, Debug)]
pub struct State<N> {
    values: Vec<N>,
    approximate: Vec<f64>,
}

impl<N> State<N> {
    /// The coordinates.
    pub fn values(&self) -> &[N] {
        &self.values
    }
}

impl<N: PartialEq> PartialEq for State<N> {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

/// A float stands for a number within a relative `2^-50`, and so do the two in a product; every
/// operation on floats adds `2^-53`. For each operation this is more than enough.
const APPROXIMATION: f64 = 1.0 / (1u64 << 48) as f64;

impl<A: Arithmetic> Machine<A> {
    /// A block in an arithmetic.
    pub fn new(block: &Block, arithmetic: A) -> Self {
        let load = |exact: &Rational| {
            let number = arithmetic.number(exact);
            let approximate = arithmetic.approximate(&number);
            (number, approximate)
        };
        let units = block
            .units
            .iter()
            .map(|unit| LoadedUnit {
                terms: unit
                    .preactivation
                    .terms()
                    .map(|(coordinate, weight)| {
                        let (weight, approximate) = load(weight);
                        Term {
                            coordinate: coordinate.0,
                            weight,
                            approximate,
                        }
                    })
                    .collect(),
                bias: Some(unit.preactivation.bias())
                    .filter(|bias| !bias.is_zero())
                    .map(load),
                outputs: unit
                    .outputs
                    .iter()
                    .filter(|(_, weight)| !weight.is_zero())
                    .map(|(coordinate, weight)| (coordinate.0, arithmetic.number(weight)))
                    .collect(),
            })
            .collect();
        Self { arithmetic, units }
    }

    /// The arithmetic.
    pub fn arithmetic(&self) -> &A {
        &self.arithmetic
    }

    /// A state from its coordinates.
    pub fn state(&self, values: Vec<A::Number>) -> State<A::Number> {
        let approximate = values
            .iter()
            .map(|value| self.arithmetic.approximate(value))
            .collect();
        State {
            values,
            approximate,
        }
    }

    /// The increments `W2 ReLU(W1 z + b1)` of the coordinates that units write to, in the order
    /// of the coordinates.
    ///
    /// Terms of a preactivation are added in the order of the coordinates and the bias last, terms
    /// of an increment in the order of the units: as in a dense block.
    pub fn increments(&self, state: &State<A::Number>) -> Vec<(usize, A::Number)> {
        let mut sums: Vec<Option<A::Number>> = vec![None; state.values.len()];
        for unit in &self.units {
            if self.is_surely_inactive(unit, state) {
                continue;
            }
            let Some(value) = self.preactivation(unit, state) else {
                continue;
            };
            if !self.arithmetic.is_positive(&value) {
                continue;
            }
            for (coordinate, weight) in &unit.outputs {
                let term = self.arithmetic.multiply(weight, &value);
                let sum = &mut sums[*coordinate];
                *sum = Some(match sum.take() {
                    Some(sum) => self.arithmetic.add(&sum, &term),
                    None => term,
                });
            }
        }
        let written = sums.into_iter().enumerate();
        written.filter_map(|(c, sum)| Some((c, sum?))).collect()
    }

    /// One iteration: `z + W2 ReLU(W1 z + b1)`. The coordinates whose value changed.
    pub fn step(&self, state: &mut State<A::Number>) -> Vec<usize> {
        let mut changed = Vec::new();
        for (coordinate, increment) in self.increments(state) {
            let value = self.arithmetic.add(&state.values[coordinate], &increment);
            if value != state.values[coordinate] {
                state.approximate[coordinate] = self.arithmetic.approximate(&value);
                state.values[coordinate] = value;
                changed.push(coordinate);
            }
        }
        changed
    }

    /// Runs this many iterations; fewer where a state repeats itself, since then nothing changes again.
    pub fn run(&self, state: &mut State<A::Number>, iterations: usize) {
        for _ in 0..iterations {
            if self.step(state).is_empty() {
                break;
            }
        }
    }

    fn is_surely_inactive(&self, unit: &LoadedUnit<A::Number>, state: &State<A::Number>) -> bool {
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for term in &unit.terms {
            let product = term.approximate * state.approximate[term.coordinate];
            sum += product;
            magnitude += product.abs();
        }
        if let Some((_, bias)) = unit.bias {
            sum += bias;
            magnitude += bias.abs();
        }
        // A product and a sum for each term, a sum for the bias, and one to spare.
        let operations = 2.0 * (unit.terms.len() + 1) as f64;
        let error = operations * (APPROXIMATION + self.arithmetic.roundoff());
        // NaN, where a float could not stand for its number, compares as false.
        sum + error * magnitude <= 0.0
    }

    /// The preactivation, nothing where no term is there.
    fn preactivation(
        &self,
        unit: &LoadedUnit<A::Number>,
        state: &State<A::Number>,
    ) -> Option<A::Number> {
        let terms = unit.terms.iter().map(|term| {
            let value = &state.values[term.coordinate];
            self.arithmetic.multiply(&term.weight, value)
        });
        let bias = unit.bias.iter().map(|(bias, _)| bias.clone());
        terms
            .chain(bias)
            .reduce(|sum, term| self.arithmetic.add(&sum, &term))
    }
}

#[cfg(test)]
mod tests;
