//! What the proof of Theorem E.1 says of inputs, checked on them.

use super::Witness;
use crate::Error;
use crate::arithmetic::Exact;
use crate::ffn;
use crate::ffn::check::Invariant;
use crate::rational::Rational;
use crate::target::Target;
use loopfit_numerics::libm;

/// Iterations after clearing at which the scale is compared with its formula.
const AFTER: [usize; 4] = [0, 1, 2, 5];

/// Runs inputs off the strips and the routing exceptional set and checks the outcome; `twin` is the FFN witness of the same
/// target, resolution and groups.
///
/// # Reference
/// Theorem E.1: Lemma E.2, (S62), (S66), (S67).
pub fn check(
    witness: &Witness,
    twin: &ffn::Witness,
    target: &dyn Target,
    inputs: &[Vec<Rational>],
) -> Result<Vec<Invariant>, Error> {
    let mut all = [
        "the program ends with C = 1 and v alone",
        "u is that of the FFN witness",
        "v is within its accuracy of u / sqrt(1 - u^2/2)",
        "after clearing the scale contracts as (S66) says",
        "the output is within its bound",
    ]
    .map(|name| Invariant {
        name,
        checked: 0,
        violation: None,
    });
    let resolution = witness.resolution();
    let exact = witness.exact();
    let runner = twin.runner(Exact);
    let accuracy = witness.correction().accuracy().to_f64();
    let bound = resolution.interior_error_bound() + resolution.h.to_f64() * accuracy;
    let clear = witness.resources().times.clear;
    for x in inputs {
        if resolution.is_on_strip(x) || witness.is_exceptional(x) {
            continue;
        }
        let mut note = |which: usize, holds: bool, what: &dyn Fn() -> String| {
            all[which].checked += 1;
            if !holds && all[which].violation.is_none() {
                all[which].violation = Some(format!("x = {x:?}: {}", what()));
            }
        };
        let outcome = exact.evaluate(x);
        note(0, outcome.is_ok(), &|| "it does not".into());
        let Ok(outcome) = outcome else { continue };
        let expected = runner.evaluate(x)?.u;
        note(1, outcome.u == expected, &|| {
            format!("{} and {expected}", outcome.u)
        });
        let u = outcome.u.to_f64();
        let inverse = u / libm::sqrt(1.0 - 0.5 * u * u);
        let gap = (outcome.v.to_f64() - inverse).abs();
        note(2, gap <= accuracy * (1.0 + 1e-12), &|| {
            format!("the gap is {gap}")
        });
        let settled = witness.settled(x, &AFTER.map(|j| clear + j))?;
        let (limit, _) = witness.limit(&outcome.v, settled.bits);
        let limit = limit.to_f64();
        let stabiliser = witness.setting().stabiliser.to_f64();
        let ratio = stabiliser / (1.0 + stabiliser);
        let scales: Vec<f64> = settled
            .inverse_square_scales
            .iter()
            .map(Rational::to_f64)
            .collect();
        let contracts = AFTER.iter().zip(&scales).all(|(&j, scale)| {
            let expected = limit + ratio.powi(2 * j as i32) * (scales[0] - limit);
            (scale - expected).abs() <= 1e-12 * scales[0].max(limit)
        });
        note(3, contracts, &|| format!("{scales:?} towards {limit}"));
        let f0 = target.value(x)?;
        // Before the scale has settled, the output is off by its relative discrepancy at most.
        let h = resolution.h.to_f64();
        let excess = |(g, scale): (&Rational, &f64)| {
            let error = (g - &f0).to_f64().abs();
            error - bound - h * (scale / limit - 1.0).abs()
        };
        let excess = settled.values.iter().zip(&scales).map(excess);
        let excess = excess.fold(f64::NEG_INFINITY, f64::max);
        note(4, excess <= 1e-9 * bound, &|| format!("by {excess} above"));
    }
    Ok(all.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expression;
    use crate::resolution::Resolution;
    use crate::routines::Reader;
    use crate::transformer::Setting;

    #[test]
    fn invariants_hold() {
        let target = Expression::parse("x1*(1-x1) - 1/10", None)
            .unwrap()
            .into_target();
        let resolution = Resolution::new(1, "1".parse().unwrap(), Rational::ONE, 1).unwrap();
        let twin = ffn::Witness::new(resolution.clone(), 1, Reader::Paper, &*target).unwrap();
        let witness = Witness::new(resolution, 1, Setting::new(1), &*target).unwrap();
        let inputs = ffn::check::inputs(&twin, 3, 1);
        for invariant in check(&witness, &twin, &*target, &inputs).unwrap() {
            assert_eq!(invariant.violation, None, "{}", invariant.name);
            assert!(invariant.checked > 2, "{}", invariant.name);
        }
    }
}
