//! The direct front end: scale, address, lookup, and the start of the evaluator (Section E.2.7).

use super::layout::{FrontCoordinates, Native};
use crate::affine::Affine;
use crate::block::{Coordinate, Unit};
use crate::compiler::{Gate, identity_unit};
use crate::rational::Rational;
use crate::records::Groups;
use crate::resolution::Resolution;

/// The units of the front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontUnits {
    /// Warm-up, timer, scaling and lookup.
    pub own: Vec<Unit>,
    /// The rescaling (S59), which the paper counts with the terminal correction.
    pub rescaling: Vec<Unit>,
}

/// The four phases as a person writes them; each has the value of the scale `C` while it is on.
pub fn text(resolution: &Resolution, groups: Groups) -> String {
    let (warm_up, scaling) = (resolution.scale_exponent(), resolution.d * groups.u());
    let next = if scaling == 0 { "lookup" } else { "scaling" };
    format!(
        "   1  warm-up: U_i := 2 U_i; C := 2 C; tau_front := 4 tau_front -> timer after {warm_up}\n\
         \u{20}  2  timer: tau_front := 2^-({scaling} - 1) C -> {next}\n\
         \u{20}  3  scaling: I := 2 I; tau_front := 2 tau_front -> lookup after {scaling}\n\
         \u{20}  4  lookup: c := sum_(j=0..{}) code_j [ReLU(I - j + 1) - 2 ReLU(I - j) + ReLU(I - j - 1)]; C, U_i, I, tau_front divided by 2^{warm_up} -> the evaluator\n",
        groups.count() - 1
    )
}

impl FrontUnits {
    /// The units that load one of the codes.
    ///
    /// # Reference
    /// Section E.2.7. The lookup hinges have the gate `Lambda (e_l - C)` too: without it they
    /// would add to the code in every iteration.
    pub fn new(
        resolution: &Resolution,
        groups: Groups,
        codes: &[Rational],
        native: &Native,
        gate: &Gate,
    ) -> Self {
        let FrontCoordinates {
            inputs,
            scale,
            address,
            timer,
            phases,
        } = &native.front;
        let [warm, set, scaling, lookup] = *phases;
        let c = scale.value();
        let moved = |name: &str, from, to| {
            let outputs = vec![(from, Rational::from(-1)), (to, Rational::ONE)];
            identity_unit(name, from, outputs)
        };
        let mut own = Vec::new();
        let grows = |form: Affine<Coordinate>, name: &str, output| {
            gate.signed(&format!("warm-up / {name}"), warm, &form, output)
        };
        for (i, u) in inputs.iter().enumerate() {
            own.extend(grows(u.value(), &format!("U_{}", i + 1), *u));
        }
        own.extend(grows(c.clone(), "C", *scale));
        own.extend(grows(timer.value() * 3, "tau_front", *timer));
        own.push(identity_unit(
            "warm-up / e_w",
            warm,
            vec![(warm, Rational::ONE)],
        ));
        let elapsed = timer.value() * 2 - c.clone();
        let out = vec![(warm, Rational::from(-2)), (set, Rational::from(2))];
        own.push(gate.hinge("warm-up / branch", warm, &elapsed, out));

        let doublings = resolution.d * groups.u();
        if doublings == 0 {
            own.push(moved("address / next", set, lookup));
        } else {
            let start = c.clone() * &Rational::power_of_two(1 - doublings as i64);
            own.extend(gate.signed("address / tau_front", set, &(start - timer.value()), *timer));
            own.push(moved("address / next", set, scaling));
            own.extend(gate.signed("scaling / I", scaling, &address.value(), *address));
            own.extend(gate.signed("scaling / tau_front", scaling, &timer.value(), *timer));
            let out = vec![(scaling, Rational::from(-1)), (lookup, Rational::ONE)];
            own.push(gate.hinge("scaling / branch", scaling, &elapsed, out));
        }

        let shrink = Rational::power_of_two(-(resolution.scale_exponent() as i64));
        for (j, code) in codes.iter().enumerate() {
            let offset = address.value() - c.clone() * &(Rational::from(j as i64) * &shrink);
            for (shift, weight) in [(1, 1), (0, -2), (-1, 1)] {
                let name = format!("lookup / code {j} hinge {}", 2 - shift);
                let outputs = vec![(native.code, code * Rational::from(weight))];
                own.push(gate.hinge(&name, lookup, &(offset.clone() + shift), outputs));
            }
        }
        let first = native.evaluator.phases[0];
        let outputs = vec![(lookup, Rational::from(-1)), (first, shrink.clone())];
        own.push(identity_unit("lookup / next", lookup, outputs));

        let rest = shrink - Rational::ONE;
        let rescaled = [*scale].into_iter().chain(inputs.iter().copied());
        let rescaling = rescaled.chain([*address, *timer]).flat_map(|coordinate| {
            let residual = coordinate.value() * &rest;
            gate.signed("lookup / rescale", lookup, &residual, coordinate)
        });
        Self {
            rescaling: rescaling.collect(),
            own,
        }
    }
}
