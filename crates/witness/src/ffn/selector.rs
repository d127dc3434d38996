//! The spatial selector of Lemma D.5: it finds the group of the input and loads its code.
//!
//! Its phases have the value of the scale `C`, which warm-up doubles until it is `C_* = 2^L_m`, so
//! it is not a program of Lemma D.4 and its units are written down one by one.

use crate::affine::Affine;
use crate::block::{Block, Coordinate, Unit};
use crate::compiler::{Gate, identity_unit};
use crate::rational::Rational;
use crate::records::Groups;
use crate::resolution::Resolution;

/// The gate's factor.
///
/// # Reference
/// Lemma D.5: a preactivation is gated by `16(e - C)`.
const LAMBDA: i64 = 16;

/// The selector's coordinates, and the numbers that its units depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The scaled inputs `U_1, ..., U_d`.
    pub u: Vec<Coordinate>,
    /// The scale `C`.
    pub scale: Coordinate,
    /// The address `I`.
    pub address: Coordinate,
    /// The timer `tau_front`.
    pub timer: Coordinate,
    /// The loaded code `c_front`.
    pub code: Coordinate,
    /// The start pulse `eta_start`.
    pub start: Coordinate,
    /// The phases: warm-up, address, scaling, lookup, halt.
    pub phases: [Coordinate; 5],
    groups: Groups,
    scale_exponent: i64,
}

/// Where the evaluator takes over: what the selector writes is added here as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// The evaluator's code.
    pub code: Coordinate,
    /// The evaluator's first phase.
    pub start: Coordinate,
}

impl Selector {
    /// The names of the phases.
    pub const PHASES: [&str; 5] = ["warm-up", "address", "scaling", "lookup", "selected"];

    /// The five phases as a person writes them; each has the value of the scale `C` while it is on.
    pub fn text(&self) -> String {
        let (d, per_axis, count) = (self.u.len(), self.groups.per_axis(), self.groups.count());
        let (warm_up, scaling) = (self.scale_exponent, d * self.groups.u());
        let next = if scaling == 0 { "lookup" } else { "scaling" };
        format!(
            "   1  warm-up: U_i := 2 U_i; C := 2 C; tau_front := 4 tau_front -> address after {warm_up}\n\
             \u{20}  2  address: I := sum_i {per_axis}^(i-1)/{count} sum_(j=1..{per_axis}) [ReLU(U_i - jC/{per_axis} + 1) - ReLU(U_i - jC/{per_axis})] -> {next}\n\
             \u{20}  3  scaling: I := 2 I; tau_front := 2 tau_front -> lookup after {scaling}\n\
             \u{20}  4  lookup: c, c_front := sum_(j=0..{}) code_j [ReLU(I - j + 1) - 2 ReLU(I - j) + ReLU(I - j - 1)]; eta_start := 1, which starts the evaluator -> selected\n\
             \u{20}  5  selected (for ever)\n",
            count - 1
        )
    }

    /// New coordinates of a block.
    pub fn new(resolution: &Resolution, groups: Groups, block: &mut Block) -> Self {
        Self {
            u: (1..=resolution.d)
                .map(|i| block.coordinate(format!("U_{i}")))
                .collect(),
            scale: block.coordinate("C"),
            address: block.coordinate("I"),
            timer: block.coordinate("tau_front"),
            code: block.coordinate("c_front"),
            start: block.coordinate("eta_start"),
            phases: Self::PHASES.map(|name| block.coordinate(format!("[{name}]"))),
            groups,
            scale_exponent: resolution.scale_exponent() as i64,
        }
    }

    /// The constants of the initial state.
    ///
    /// # Formula
    /// `C = 1`, `tau_front = 2^-(L_m - 1)`, warm-up phase one.
    ///
    /// # Reference
    /// Lemma D.5, step 1.
    pub fn constants(&self, resolution: &Resolution) -> [(Coordinate, Rational); 3] {
        let timer = 1 - resolution.scale_exponent() as i64;
        [
            (self.scale, Rational::ONE),
            (self.timer, Rational::power_of_two(timer)),
            (self.phases[0], Rational::ONE),
        ]
    }

    /// All units, phase by phase. The halt has none.
    pub fn units(&self, codes: &[Rational], handoff: Handoff) -> Vec<Unit> {
        let mut units = self.warm_up();
        units.extend(self.find_address());
        if self.groups.count() > 1 {
            units.extend(self.scale_address());
        }
        units.extend(self.look_up(codes, handoff));
        units
    }

    /// The exponent of the number of groups, `l = d u_grp`.
    fn address_bits(&self) -> i64 {
        i64::from(self.groups.count().ilog2())
    }

    fn gate(&self) -> Gate {
        Gate {
            lambda: Rational::from(LAMBDA),
            reference: self.scale.value(),
        }
    }

    /// The signal that is `C` where the timer has come to `C`, and zero before.
    fn alarm(&self) -> Affine<Coordinate> {
        self.timer.value() * 2 - self.scale.value()
    }

    /// Step 1: `U+ = 2U`, `C+ = 2C`, `tau+ = 4 tau`, and the phase doubles until
    /// `F = ReLU(2 tau - C)` hands `2C` over to the address phase.
    fn warm_up(&self) -> Vec<Unit> {
        let [warm, address, ..] = self.phases;
        let doubled = self.u.iter().chain([&self.scale]).map(|&c| (c, 1));
        let mut units: Vec<_> = doubled
            .chain([(self.timer, 3)])
            .enumerate()
            .flat_map(|(i, (coordinate, factor))| {
                let name = format!("warm-up {}", i + 1);
                let residual = coordinate.value() * factor;
                self.gate().signed(&name, warm, &residual, coordinate)
            })
            .collect();
        units.push(identity_unit(
            "warm-up / double",
            warm,
            vec![(warm, Rational::ONE)],
        ));
        let outputs = vec![(warm, Rational::from(-2)), (address, Rational::from(2))];
        units.push(
            self.gate()
                .hinge("warm-up / branch", warm, &self.alarm(), outputs),
        );
        units
    }

    /// Step 2: `I = sum_i A^(i-1)/N_grp H_i`, where `H_i` counts the coarse faces below `U_i`.
    ///
    /// # Reference
    /// (S31).
    fn find_address(&self) -> Vec<Unit> {
        let [_, address, scaling, lookup, _] = self.phases;
        let a = self.groups.per_axis();
        let mut units = Vec::new();
        for (i, u) in self.u.iter().enumerate() {
            let place = i as i64 * i64::from(a.ilog2()) - self.address_bits();
            let weight = Rational::power_of_two(place);
            for j in 1..=a {
                let face = self.scale.value() * &Rational::new(j as i64, a as u64);
                let above = u.value() - face;
                for (argument, weight) in [(above.clone() + 1, weight.clone()), (above, -&weight)] {
                    let name = format!("address / input {} face {j}", i + 1);
                    let outputs = vec![(self.address, weight)];
                    units.push(self.gate().hinge(&name, address, &argument, outputs));
                }
            }
        }
        let mut next = lookup;
        if self.groups.count() > 1 {
            let start = Rational::power_of_two(1 - self.address_bits());
            let residual = self.scale.value() * &start - self.timer.value();
            let name = "address / timer";
            units.extend(self.gate().signed(name, address, &residual, self.timer));
            next = scaling;
        }
        let outputs = vec![(address, Rational::from(-1)), (next, Rational::ONE)];
        units.push(identity_unit("address / next", address, outputs));
        units
    }

    /// Step 3: `I+ = 2I`, `tau+ = 2 tau`; the phase stays until the timer has come to `C`.
    fn scale_address(&self) -> Vec<Unit> {
        let [_, _, scaling, lookup, _] = self.phases;
        let mut units = Vec::new();
        for (name, coordinate) in [
            ("scaling / address", self.address),
            ("scaling / timer", self.timer),
        ] {
            let residual = coordinate.value();
            units.extend(self.gate().signed(name, scaling, &residual, coordinate));
        }
        let outputs = vec![(scaling, Rational::from(-1)), (lookup, Rational::ONE)];
        units.push(
            self.gate()
                .hinge("scaling / branch", scaling, &self.alarm(), outputs),
        );
        units
    }

    /// Step 4: `c_front = sum_a gamma_a chi_j(a)(I)` and `eta_start = C/C_*`, copied to the
    /// evaluator.
    ///
    /// # Reference
    /// (S32); the shift `j` is `(j/C_*) C`.
    fn look_up(&self, codes: &[Rational], handoff: Handoff) -> Vec<Unit> {
        let [_, _, _, lookup, halt] = self.phases;
        let mut units = Vec::new();
        for (j, code) in codes.iter().enumerate() {
            let shift = Rational::from(j as i64).scaled(-self.scale_exponent);
            let offset = self.address.value() - self.scale.value() * &shift;
            for (side, weight) in [(1, 1), (0, -2), (-1, 1)] {
                let weight = code * &Rational::from(weight);
                let outputs = vec![(self.code, weight.clone()), (handoff.code, weight)];
                let name = format!("lookup / group {j}");
                let argument = offset.clone() + side;
                units.push(self.gate().hinge(&name, lookup, &argument, outputs));
            }
        }
        let pulse = Rational::power_of_two(-self.scale_exponent);
        let outputs = vec![
            (lookup, Rational::from(-1)),
            (halt, Rational::ONE),
            (self.start, pulse.clone()),
            (handoff.start, pulse),
        ];
        units.push(identity_unit("lookup / next", lookup, outputs));
        units
    }
}
