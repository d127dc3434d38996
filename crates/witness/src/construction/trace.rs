//! One input through a network, iteration by iteration or instruction by instruction.

use super::{Construction, Network};
use crate::arithmetic::{BigFloat, Exact};
use crate::ffn::run::{Change, Run};
use crate::{Error, Rational, ffn, transformer};
use loopfit_numerics::libm::pow;
use loopfit_numerics::named::Named;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What has a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// Every iteration.
    Iteration,
    /// Every instruction: a counted loop is one.
    Instruction,
}

impl Named for Each {
    const ALL: &'static [Self] = &[Self::Iteration, Self::Instruction];

    fn name(self) -> &'static str {
        match self {
            Self::Iteration => "iteration",
            Self::Instruction => "instruction",
        }
    }
}

/// Consecutive iterations of one instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The first of them.
    pub first: usize,
    /// The last of them.
    pub last: usize,
    /// The phases that are on.
    pub phases: String,
    /// The registers that changed, by their place among the coordinates, with their last value.
    pub registers: BTreeMap<usize, Rational>,
    /// Of a Transformer: the scales of the controller and of the references.
    pub scales: Option<[f64; 2]>,
}

/// What happened to one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The iterations that were asked for.
    pub lines: Vec<Line>,
    /// The names of the coordinates.
    pub coordinates: Vec<String>,
    /// The iterations that were made.
    pub iterations: usize,
    /// Those that the network needs.
    pub finishing: usize,
    /// The output then.
    pub value: Rational,
    /// The target.
    pub f0: Rational,
    /// Whether an FFN has finished with zero, off the strips, where the target is not zero.
    pub silent: bool,
}

impl Trace {
    /// Whether the network has finished.
    pub fn is_finished(&self) -> bool {
        self.iterations >= self.finishing
    }

    /// The distance of the output from the target.
    pub fn error(&self) -> f64 {
        (&self.value - &self.f0).to_f64().abs()
    }
}

/// What rounding leaves of phases that are off, and of registers that do not change, is below this.
const NOISE: i64 = -64;

impl Network {
    /// The iterations of the whole program; the scale of a Transformer settles after them.
    pub fn program_length(&self) -> usize {
        match self {
            Self::Ffn(witness) => witness.resources().finishing_time,
            Self::Transformer(witness) => witness.resources().times.clear,
        }
    }
}

impl Construction {
    /// Watches an input run through a network that was built from this; lines are of these iterations, counted from one.
    pub fn trace(
        &self,
        network: &Network,
        x: &[Rational],
        span: RangeInclusive<usize>,
        each: Each,
    ) -> Result<Trace, Error> {
        match network {
            Network::Ffn(witness) => self.trace_ffn(witness, x, span, each),
            Network::Transformer(witness) => self.trace_transformer(witness, x, span, each),
        }
    }

    fn trace_ffn(
        &self,
        witness: &ffn::Witness,
        x: &[Rational],
        span: RangeInclusive<usize>,
        each: Each,
    ) -> Result<Trace, Error> {
        let runner = witness.runner(Exact);
        let mut run = runner.start(x)?;
        let mut lines = Lines::new(each);
        // Phases are named in what runs, not among what changes.
        let phases = witness.placement().phases.iter();
        let phases = phases.chain(&witness.selector().phases).map(|c| c.0);
        let phases: Vec<usize> = phases.collect();
        for t in 1..=*span.end() {
            let name = active(&run);
            let changes = run.step();
            if !span.contains(&t) {
                continue;
            }
            let registers = changes.into_iter();
            let registers = registers.filter(|change| !phases.contains(&change.coordinate));
            let registers = registers.map(|Change { coordinate, to, .. }| (coordinate, to));
            lines.push(t, name, instruction, registers);
        }
        let (output, f0) = (run.output()?, self.target.value(x)?);
        let finishing = witness.resources().finishing_time;
        let finished = *span.end() >= finishing && !witness.resolution().is_on_strip(x);
        Ok(Trace {
            lines: lines.all,
            coordinates: witness.block().coordinates().to_vec(),
            iterations: *span.end(),
            finishing,
            silent: finished && self.is_silent([(&output.u, &f0)]),
            value: output.value,
            f0,
        })
    }

    /// The phases and registers of the controller, and the scales of the tokens; behind the program, until the scale has settled.
    fn trace_transformer(
        &self,
        witness: &transformer::Witness,
        x: &[Rational],
        span: RangeInclusive<usize>,
        each: Each,
    ) -> Result<Trace, Error> {
        let runner = witness.runner(BigFloat::new(witness.default_bits()));
        let mut run = runner.start(x)?;
        let mut lines = Lines::new(each);
        let phases: Vec<usize> = witness.native().phases().map(|c| c.0).collect();
        let noise = Rational::power_of_two(NOISE);
        for t in 1..=*span.end() {
            let active = run.active_phases().into_iter();
            let active = active.filter(|phase| phase.value.abs() > noise);
            let active: Vec<&str> = active.map(|phase| phase.name).collect();
            let name = active.join(" + ").replace(['[', ']'], "");
            let changes = run.step();
            if !span.contains(&t) {
                continue;
            }
            let registers = changes
                .into_iter()
                .filter(|change| !phases.contains(&change.coordinate))
                .filter(|change| (&change.to - &change.from).abs() > noise)
                .map(|change| (change.coordinate, rounded(&change.to)));
            lines.push(t, name, numbered_instruction, registers);
            let scale = |token: usize| pow(run.inverse_square_scale(token).to_f64(), -0.5);
            if let Some(line) = lines.all.last_mut() {
                let controller = witness.controller();
                line.scales = Some([scale(controller), scale(controller + 1)]);
            }
        }
        let finishing = witness.finishing_time();
        if run.iteration() < finishing && *span.end() >= witness.resources().times.clear {
            run.advance(finishing - run.iteration());
        }
        Ok(Trace {
            lines: lines.all,
            coordinates: witness.block().coordinates().to_vec(),
            iterations: run.iteration(),
            finishing,
            value: rounded(&run.output()?),
            f0: self.target.value(x)?,
            silent: false,
        })
    }
}

/// Lines so far.
struct Lines {
    all: Vec<Line>,
    each: Each,
}

impl Lines {
    fn new(each: Each) -> Self {
        let all = Vec::new();
        Self { all, each }
    }

    /// Adds an iteration: to the last line if that is of the same instruction.
    fn push(
        &mut self,
        t: usize,
        phases: String,
        instruction: fn(&str) -> String,
        registers: impl Iterator<Item = (usize, Rational)>,
    ) {
        let phases = match self.each {
            Each::Iteration => phases,
            Each::Instruction => instruction(&phases),
        };
        match self.all.last_mut() {
            Some(line) if self.each == Each::Instruction && line.phases == phases => {
                line.last = t;
                line.registers.extend(registers);
            }
            _ => self.all.push(Line {
                first: t,
                last: t,
                phases,
                registers: registers.collect(),
                scales: None,
            }),
        }
    }
}

/// The phases that are on.
fn active(run: &Run<'_, Exact>) -> String {
    let phases = run.active_phases();
    // The selector stays in its last phase while the evaluator runs.
    let waits = phases.len() > 1;
    let names = phases
        .iter()
        .filter(|phase| !(waits && phase.name == "selected"))
        .map(|phase| phase.name);
    names.collect::<Vec<_>>().join(" + ")
}

/// The instruction that a phase belongs to: `location 1: bit` is part of `location 1`.
fn instruction(phase: &str) -> String {
    match phase.split_once(": ") {
        Some((instruction, _)) => instruction.to_string(),
        None => phase.to_string(),
    }
}

/// The same where the phases of the terminal correction have numbers, as in the paper.
fn numbered_instruction(phase: &str) -> String {
    let mut words = phase.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("read"), Some(number), Some(name)) if number.parse::<usize>().is_ok() => {
            format!("read {}", name.trim_end_matches(':'))
        }
        _ => instruction(phase),
    }
}

/// A number to 64 bits behind the point: enough to be read, and without what rounding left.
fn rounded(value: &Rational) -> Rational {
    let half = Rational::new(1, 2u8);
    Rational::from((value.scaled(64) + half).floor()).scaled(-64)
}
