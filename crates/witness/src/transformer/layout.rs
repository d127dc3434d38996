//! The native coordinates of a token in the allocation of Section E.2.1.

use super::Correction;
use crate::block::{Block, Coordinate};
use crate::compiler::Placement;
use crate::evaluator::Evaluator;
use crate::resolution::Resolution;

/// The front end's coordinates.
///
/// # Reference
/// Section E.2.7, the table of `d + 7` coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontCoordinates {
    /// `U_1, ..., U_d`: copies of the input, scaled with `C`.
    pub inputs: Vec<Coordinate>,
    /// `C`, the common scale.
    pub scale: Coordinate,
    /// `I`, the group's address.
    pub address: Coordinate,
    /// `tau_front`.
    pub timer: Coordinate,
    /// `e_w`, `e_a`, `e_s`, `e_l`: warm-up, timer, scaling, lookup.
    pub phases: [Coordinate; 4],
}

/// The terminal correction's coordinates.
///
/// # Reference
/// Section E.3.2, the table of 15 data and 18 phase coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorrectionCoordinates {
    /// The data coordinates in the order of the table: `c` first, `v` last.
    pub data: Vec<Coordinate>,
    /// `e_1, ..., e_18`.
    pub phases: Vec<Coordinate>,
}

/// Attention's and routing's coordinates.
///
/// # Reference
/// Section E.2.1, the table of `11d + 3` coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingCoordinates {
    /// `k`, the key.
    pub key: Coordinate,
    /// `a_att`, the comparison signal.
    pub signal: Coordinate,
    /// `e_boot`.
    pub boot: Coordinate,
    /// `x^loc`.
    pub local: Vec<Coordinate>,
    /// `x^agg`.
    pub aggregate: Vec<Coordinate>,
    /// `u_i, w_i, b_i, p_i, tau_cmp_i, tau_level_i` for each input.
    pub data: Vec<[Coordinate; 6]>,
    /// `e_C_i, e_M_i, e_H_i` for each input.
    pub phases: Vec<[Coordinate; 3]>,
}

impl RoutingCoordinates {
    /// The remainders `u_i`, whose sum is the query.
    pub fn remainders(&self) -> impl Iterator<Item = Coordinate> + '_ {
        self.data.iter().map(|data| data[0])
    }
}

/// All native coordinates.
///
/// # Reference
/// Section E.2.1 and (S48).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Native {
    /// The `q_0` coordinates of the evaluator.
    pub evaluator: Placement,
    /// The evaluator's `x`.
    pub x: Vec<Coordinate>,
    /// The evaluator's code.
    pub code: Coordinate,
    /// The evaluator's output `u`.
    pub u: Coordinate,
    /// The front end.
    pub front: FrontCoordinates,
    /// Three coordinates that stay zero.
    pub reserved: [Coordinate; 3],
    /// The terminal correction.
    pub correction: CorrectionCoordinates,
    /// Attention and routing.
    pub routing: RoutingCoordinates,
}

/// The data coordinates of the terminal correction, in the order of its table.
pub(super) const CORRECTION_DATA: [&str; 15] = [
    "c", "a", "t", "p", "v_s", "S_s", "w_s", "v_+", "v_-", "S_+", "S_-", "w", "tau_read", "beta",
    "v",
];

/// The phases of the terminal correction.
pub(super) const CORRECTION_PHASES: usize = 18;

impl Native {
    /// The coordinates as new ones of an empty block.
    pub fn new(
        resolution: &Resolution,
        evaluator: &Evaluator,
        correction: &Correction,
        block: &mut Block,
    ) -> Self {
        let d = resolution.d;
        let placement = Placement::new(&evaluator.program, block, "eval ");
        let place = |register: crate::Register| placement.registers[register.0];
        let (x, code) = (
            evaluator.x.iter().map(|&r| place(r)).collect(),
            place(evaluator.code),
        );
        let u = place(evaluator.u);
        let mut new = |name: String| block.coordinate(name);
        let mut each =
            |name: &str| -> Vec<_> { (1..=d).map(|i| new(format!("{name}_{i}"))).collect() };
        let inputs = each("U");
        let front = FrontCoordinates {
            inputs,
            scale: new("C".into()),
            address: new("I".into()),
            timer: new("tau_front".into()),
            phases: ["warm-up", "timer", "scaling", "lookup"]
                .map(|name| new(format!("front [{name}]"))),
        };
        let reserved = [1, 2, 3].map(|i| new(format!("reserved_{i}")));
        let correction = CorrectionCoordinates {
            data: CORRECTION_DATA
                .iter()
                .map(|name| new(format!("read {name}")))
                .collect(),
            phases: correction.program.phases()[..CORRECTION_PHASES]
                .iter()
                .map(|phase| new(format!("read [{}]", phase.name)))
                .collect(),
        };
        let (key, signal) = (new("k".into()), new("a_att".into()));
        let boot = new("route [boot]".into());
        let mut each =
            |name: &str| -> Vec<_> { (0..d).map(|i| new(format!("{name}_{i}"))).collect() };
        let (local, aggregate) = (each("x_loc"), each("x_agg"));
        let data = (0..d).map(|i| {
            ["u", "w", "b", "p", "tau_cmp", "tau_level"].map(|name| new(format!("{name}_{i}")))
        });
        let data = data.collect();
        let phases = (0..d).map(|i| {
            ["compare", "commit", "handoff"].map(|name| new(format!("route [{name} {i}]")))
        });
        let phases = phases.collect();
        Self {
            evaluator: placement,
            x,
            code,
            u,
            front,
            reserved,
            correction,
            routing: RoutingCoordinates {
                key,
                signal,
                boot,
                local,
                aggregate,
                data,
                phases,
            },
        }
    }

    /// Every phase coordinate, in the order in which a run meets them: boot, routing, front end,
    /// evaluator, correction.
    pub fn phases(&self) -> impl Iterator<Item = Coordinate> + '_ {
        let routing = self.routing.phases.iter().flatten();
        [&self.routing.boot]
            .into_iter()
            .chain(routing)
            .chain(&self.front.phases)
            .chain(&self.evaluator.phases)
            .chain(&self.correction.phases)
            .copied()
    }

    /// The corrected value `v`, which the output function reads.
    pub fn v(&self) -> Coordinate {
        self.correction.data[CORRECTION_DATA.len() - 1]
    }

    /// The `q_*` coordinates that the FFN construction has too: evaluator, front end, reserved.
    pub fn original(&self) -> impl Iterator<Item = Coordinate> + '_ {
        (0..=self.reserved[2].0).map(Coordinate)
    }
}
