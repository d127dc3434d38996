//! The looped post-LN Transformer of Theorem E.1: built, counted and run.
//!
//! The native program of the controller token has four parts, each a stage of its own:
//!
//! 1. [`routing`]: boot copies the input that attention has gathered; comparisons by attention and
//!    commits find the address of the input's group;
//! 2. [`front`]: the address becomes an integer and the group's code is looked up;
//! 3. the evaluator of Section D.1 reads the code and leaves `u`;
//! 4. [`correction`]: `u` becomes `v`, and everything else is cleared.
//!
//! They share one hidden layer on the native coordinates of [`layout`]. [`encoding`] carries
//! native states and units to tokens, [`weights`] gives the tensors of an ordinary model,
//! [`resources`] every count. Three ways to run it: [`exact`] on rationals, with ideal comparisons;
//! [`native`] on native coordinates and one scale for each token; [`physical`] on the tokens
//! themselves.

pub mod check;
pub mod correction;
mod decimal;
pub mod encoding;
pub mod exact;
pub mod front;
pub mod layout;
pub mod native;
pub mod physical;
pub mod precision;
pub mod real;
pub mod resources;
pub mod routing;
pub mod trial;
pub mod weights;

pub use correction::Correction;
pub use decimal::{scientific, ten};
pub use encoding::Encoding;
pub use layout::Native;
pub use native::NativeRun;
pub use physical::PhysicalRun;
pub use real::Real;
pub use resources::Resources;
pub use routing::Routing;

use crate::Error;
use crate::block::{Block, Unit};
use crate::compiler::{Compiler, Gate, identity_unit};
use crate::evaluator::{Evaluator, REGISTER_BOUND};
use crate::rational::Rational;
use crate::records::{Groups, group_codes};
use crate::resolution::Resolution;
use crate::routines::Reader;
use crate::target::Target;
use front::FrontUnits;
use loopfit_model::architecture::{default_partition, tokens};
use loopfit_model::tokens::Tokens;

/// What may be chosen besides target and resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The sets `I_1, ..., I_M` of inputs, counted from zero, that the data tokens read.
    pub partition: Vec<Vec<usize>>,
    /// The stabiliser `eps_LN` of both normalisations.
    pub stabiliser: Rational,
    /// How codes are read.
    pub reader: Reader,
    /// The state dimension; `q_hom` unless given.
    pub q: Option<usize>,
    /// The hidden width; `r_impl` unless given.
    pub r: Option<usize>,
}

impl Setting {
    /// The default: a data token for each of up to eight inputs, the stabiliser `1e-5` of model
    /// files, the paper's reader, no padding.
    pub fn new(d: usize) -> Self {
        Self {
            partition: default_partition(d),
            stabiliser: Rational::new(1, 100_000u32),
            reader: Reader::Paper,
            q: None,
            r: None,
        }
    }

    /// The number `N` of all tokens.
    pub fn tokens(&self) -> usize {
        tokens(&self.partition)
    }
}

/// How many hidden units each part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitCounts {
    /// Boot, routing and the unconditional clears.
    pub routing: usize,
    /// The evaluator.
    pub evaluator: usize,
    /// The front end without its rescaling.
    pub front: usize,
    /// The terminal correction with rescaling, transfer and clears.
    pub correction: usize,
}

/// The network of Theorem E.1 for one target and resolution.
#[derive(Clone, Debug)]
pub struct Witness {
    resolution: Resolution,
    groups: Groups,
    setting: Setting,
    codes: Vec<Rational>,
    routing: Routing,
    evaluator: Evaluator,
    correction: Correction,
    native: Native,
    block: Block,
    encoding: Encoding,
    resources: Resources,
}

/// The factor `Lambda` of the gates outside the evaluator.
///
/// # Formula
/// `Lambda = 64 (q_hom + 1)` (Section E.2.6).
pub fn gate_factor(q_hom: usize) -> usize {
    64 * (q_hom + 1)
}

/// The bound on affine and hinge coefficients of routing and correction.
const COEFFICIENT_BOUND: i64 = 8;

impl Witness {
    /// The network with `2^h` groups along each axis, every count checked against the paper's
    /// formulas.
    pub fn new(
        resolution: Resolution,
        h: usize,
        setting: Setting,
        target: &dyn Target,
    ) -> Result<Self, Error> {
        let groups = Groups::new(&resolution, h)?;
        Tokens::Given(setting.partition.clone())
            .partition(resolution.d)
            .map_err(|error| Error::Shape(error.to_string()))?;
        if !setting.stabiliser.is_positive() {
            return Err(Error::NotPositive {
                name: "the stabiliser eps_LN",
                value: setting.stabiliser.to_string(),
            });
        }
        let codes = group_codes(&resolution, groups, target)?;
        let evaluator = Evaluator::new(&resolution, setting.reader)?;
        let mut block = Block::new();
        let correction = Correction::new(&resolution, setting.reader)?;
        let native = Native::new(&resolution, &evaluator, &correction, &mut block);
        let p = block.coordinates().len();
        let q_hom = 2 * (p + 1);
        let encoding = Encoding::new(p, setting.q.unwrap_or(q_hom))?;
        let tokens = setting.tokens();
        let routing = Routing::new(&resolution, groups, tokens, q_hom)?;
        let gate = Gate {
            lambda: Rational::from(gate_factor(q_hom) as i64),
            reference: native.front.scale.value(),
        };
        let front = FrontUnits::new(&resolution, groups, &codes, &native, &gate);
        let routing_units = routing_units(&routing, &native, &gate, q_hom)?;
        let evaluator_units = evaluator_units(&resolution, &evaluator, &native)?;
        let mut correction_units = front.rescaling;
        correction_units.extend(correction_units_of(&correction, &native, &gate)?);
        let units = UnitCounts {
            routing: routing_units.len(),
            evaluator: evaluator_units.len(),
            front: front.own.len(),
            correction: correction_units.len(),
        };
        for units in [routing_units, front.own, evaluator_units, correction_units] {
            block.extend(units);
        }
        let resources = Resources::new(resources::Built {
            resolution: &resolution,
            groups,
            setting: &setting,
            routing: &routing,
            correction: &correction,
            encoding,
            block: &block,
            units,
        });
        resources.check()?;
        Ok(Self {
            resolution,
            groups,
            setting,
            codes,
            routing,
            evaluator,
            correction,
            native,
            block,
            encoding,
            resources,
        })
    }

    /// Target class and resolution.
    pub fn resolution(&self) -> &Resolution {
        &self.resolution
    }

    /// The groups of cells, `2^h` along each axis.
    pub fn groups(&self) -> Groups {
        self.groups
    }

    /// What was chosen.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The code of each group.
    pub fn codes(&self) -> &[Rational] {
        &self.codes
    }

    /// Boot and routing.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// The evaluator.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The terminal correction.
    pub fn correction(&self) -> &Correction {
        &self.correction
    }

    /// The native coordinates.
    pub fn native(&self) -> &Native {
        &self.native
    }

    /// The units on native coordinates, constants as biases: one hidden layer.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// How native states lie in tokens.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Every count.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// The place of the controller among the tokens: behind the data tokens.
    pub fn controller(&self) -> usize {
        self.setting.partition.len()
    }

    /// The native states that the input function gives the tokens: data tokens, controller, the
    /// reference with `k = 1`, the reference with `k = -1`.
    ///
    /// # Reference
    /// Section E.2.1. All have `C = 1`; `U_i` is zero until boot.
    pub fn start(&self, x: &[Rational]) -> Result<Vec<Vec<Rational>>, Error> {
        self.check_input(x)?;
        let native = &self.native;
        let mut blank = vec![Rational::ZERO; self.encoding.p()];
        blank[native.front.scale.0] = Rational::ONE;
        let mut tokens = Vec::new();
        for inputs in &self.setting.partition {
            let mut token = blank.clone();
            for &i in inputs {
                token[native.routing.local[i].0] = x[i].clone();
            }
            tokens.push(token);
        }
        let mut controller = blank.clone();
        controller[native.routing.boot.0] = Rational::ONE;
        let warm_up = self.resolution.scale_exponent();
        controller[native.front.timer.0] = routing::zeta(warm_up);
        controller[native.correction.data[0].0] = self.correction.code.clone();
        tokens.push(controller);
        for key in [1, -1] {
            let mut token = blank.clone();
            token[native.routing.key.0] = Rational::from(key);
            tokens.push(token);
        }
        Ok(tokens)
    }

    /// Whether `x` is exceptional: on a strip of the fine grid, or with a remainder so small that
    /// its comparison is not proven to saturate. Elsewhere the error bounds hold.
    ///
    /// # Formula
    /// A remainder is exceptional where `|u_i| < delta` at one of the `h` bits of an input, with
    /// ideal remainders `u_i = 2 x_i - 1`, `u_i := 2 u_i - sign u_i`.
    ///
    /// # Reference
    /// Section E.2.5 and Section E.4.
    pub fn is_exceptional(&self, x: &[Rational]) -> bool {
        let delta = self.routing.delta.and_then(Rational::from_f64);
        let uncertain = |delta: &Rational| {
            x.iter().any(|x| {
                let mut u = x.scaled(1) - Rational::ONE;
                (0..self.groups.u()).any(|_| {
                    let small = u.abs() < *delta;
                    let sign = if u.is_negative() { -1 } else { 1 };
                    u = u.scaled(1) - Rational::from(sign);
                    small
                })
            })
        };
        self.resolution.is_on_strip(x) || delta.as_ref().is_some_and(uncertain)
    }

    fn check_input(&self, x: &[Rational]) -> Result<(), Error> {
        let d = self.resolution.d;
        if x.len() != d {
            return Err(Error::InputCount { found: x.len(), d });
        }
        match x.iter().find(|x| x.is_negative() || **x > Rational::ONE) {
            Some(x) => Err(Error::OutsideCube(x.to_string())),
            None => Ok(()),
        }
    }
}

/// Boot, comparison, commit and handoff with their gates, and the unconditional clears of what
/// attention reads and writes.
fn routing_units(
    routing: &Routing,
    native: &Native,
    gate: &Gate,
    q_hom: usize,
) -> Result<Vec<Unit>, Error> {
    let placement = routing.placement(native);
    let mut units = Compiler {
        program: &routing.program,
        placement: &placement,
        gate,
        coefficient_bound: &COEFFICIENT_BOUND.into(),
        // |a_att| <= q_hom / 3 (Section E.2.6); everything else is at most two.
        register_bound: &Rational::new(q_hom as i64, 3u8),
    }
    .compile()?;
    let routes = &native.routing;
    let cleared = routes.local.iter().chain(&routes.aggregate);
    for &coordinate in cleared.chain([&routes.signal]) {
        units.extend([("+", 1), ("-", -1)].map(|(sign, factor)| Unit {
            name: format!("clear {} {sign}", coordinate.0),
            preactivation: coordinate.value() * factor,
            outputs: vec![(coordinate, Rational::from(-factor))],
        }));
    }
    Ok(units)
}

/// The evaluator with its own gates `Lambda_eval (e - 1)`, `Lambda_eval = 2 B_eval`.
fn evaluator_units(
    resolution: &Resolution,
    evaluator: &Evaluator,
    native: &Native,
) -> Result<Vec<Unit>, Error> {
    let bound = Rational::from(resolution.b_eval() as i64);
    Compiler {
        program: &evaluator.program,
        placement: &native.evaluator,
        gate: &Gate {
            lambda: bound.scaled(1),
            reference: Rational::ONE.into(),
        },
        coefficient_bound: &bound,
        register_bound: &REGISTER_BOUND.into(),
    }
    .compile()
}

/// The transfer out of the evaluator's halt, the phases 1 to 18, and what phase 18 clears outside
/// the correction's own registers: every original coordinate but `C`.
fn correction_units_of(
    correction: &Correction,
    native: &Native,
    gate: &Gate,
) -> Result<Vec<Unit>, Error> {
    let halt = native.evaluator.phases[native.evaluator.phases.len() - 1];
    let phases = &native.correction.phases;
    let outputs = vec![(halt, Rational::from(-1)), (phases[0], Rational::ONE)];
    let mut units = vec![identity_unit("transfer", halt, outputs)];
    let placement = correction.placement(native);
    let compiled = Compiler {
        program: &correction.program,
        placement: &placement,
        gate,
        coefficient_bound: &COEFFICIENT_BOUND.into(),
        register_bound: &REGISTER_BOUND.into(),
    }
    .compile()?;
    units.extend(compiled.into_iter().map(|mut unit| {
        unit.outputs
            .retain(|(place, _)| *place != correction::NOWHERE);
        unit
    }));
    let last = phases[phases.len() - 1];
    let cleared = native.original().filter(|c| *c != native.front.scale);
    units.extend(cleared.flat_map(|coordinate| {
        let name = format!("18 clear / {}", coordinate.0);
        gate.signed(&name, last, &-coordinate.value(), coordinate)
    }));
    Ok(units)
}

#[cfg(test)]
mod tests;
