//! Invariants of a construction, checked on inputs while it runs.

use crate::Error;
use crate::arithmetic::Exact;
use crate::evaluator::REGISTER_BOUND;
use crate::ffn::Witness;
use crate::interpreter::Interpreter;
use crate::rational::Rational;
use crate::target::Target;
use loopfit_numerics::stream::Stream;

/// An invariant over all inputs that were tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invariant {
    /// What must hold.
    pub name: &'static str,
    /// The inputs on which it was checked.
    pub checked: usize,
    /// The first input on which it does not, with what happened.
    pub violation: Option<String>,
}

/// How many further iterations must change nothing.
pub const FURTHER: usize = 1000;

/// Inputs that try a construction: seeded random ones, the corners and the middle of the cube, and for some cells the
/// centre, points at the edge of a strip on either side, and points on faces.
pub fn inputs(witness: &Witness, random: usize, seed: u64) -> Vec<Vec<Rational>> {
    let resolution = witness.resolution();
    let d = resolution.d;
    let stream = Stream::new(seed).child("witness inputs");
    let scattered = |i: u64| {
        let coordinate = |k: u64| {
            // An odd denominator for every other input: no coordinate of the grid.
            let denominator = if i.is_multiple_of(2) { 10_007 } else { 4096 };
            let index = i * d as u64 + k;
            Rational::new(stream.below(index, denominator), denominator)
        };
        (0..d as u64).map(coordinate).collect()
    };
    let mut inputs: Vec<Vec<Rational>> = (0..random as u64).map(scattered).collect();
    for corner in 0..1usize << d.min(6) {
        let bit = |k: usize| Rational::from((corner >> k.min(5) & 1) as i64);
        inputs.push((0..d).map(bit).collect());
    }
    inputs.push(vec![Rational::new(1, 2u8); d]);
    let margin = Rational::power_of_two(-(resolution.g() as i64));
    let cells = resolution.cells_per_axis() as u64;
    for i in 0..(random as u64).clamp(1, 16) {
        let pick = stream.child("cells").nth(i);
        let corner =
            |k: usize| Rational::from(pick.below(k as u64, cells) as i64) * resolution.side();
        let half = resolution.side().scaled(-1);
        let centre: Vec<Rational> = (0..d).map(|k| corner(k) + &half).collect();
        let with_first = |first: Rational| {
            let mut point = centre.clone();
            point[0] = first;
            point
        };
        // At the margin, just inside the strip, on the face.
        let inside = [
            corner(0) + &margin,
            corner(0) + margin.scaled(-1),
            corner(0),
            corner(0) + resolution.side() - &margin,
        ];
        inputs.extend(inside.map(with_first));
        inputs.push(centre);
    }
    inputs
}

/// Runs inputs exactly and checks what the proof says of every state on the way.
///
/// # Reference
/// Lemmas D.2, D.4 and D.5 and the proof of Theorem D.1.
pub fn check(
    witness: &Witness,
    target: &dyn Target,
    inputs: &[Vec<Rational>],
) -> Result<Vec<Invariant>, Error> {
    let mut all = [
        "off the strips evaluator registers stay within [-2, 2]",
        "off the strips exactly one phase of the evaluator is on, with value one",
        "it finishes after S iterations: the phase is halt",
        "further iterations change nothing",
        "the network's u is the interpreter's",
        "|u| <= 1 off the strips, and the output is in [-H, H] everywhere",
        "off the strips the error is within its bound",
    ]
    .map(|name| Invariant {
        name,
        checked: 0,
        violation: None,
    });
    let runner = witness.runner(Exact);
    let bound = Rational::from(REGISTER_BOUND);
    let registers: Vec<usize> = witness.placement().registers.iter().map(|c| c.0).collect();
    let phases: Vec<usize> = witness.placement().phases.iter().map(|c| c.0).collect();
    let error_bound = witness.resolution().interior_error_bound();
    for x in inputs {
        let on_strip = witness.resolution().is_on_strip(x);
        let mut note = |which: usize, holds: bool, what: &dyn Fn() -> String| {
            all[which].checked += 1;
            if !holds && all[which].violation.is_none() {
                all[which].violation = Some(format!("x = {x:?}: {}", what()));
            }
        };
        let mut run = runner.start(x)?;
        let (mut bounded, mut one_hot) = (true, true);
        let started = witness.resources().selection_time;
        for t in 1..=witness.resources().finishing_time {
            for change in run.step() {
                bounded &= !registers.contains(&change.coordinate) || change.to.abs() <= bound;
            }
            if t >= started && !on_strip {
                let on = phases.iter().filter(|&&p| !run.state()[p].is_zero());
                let on: Vec<&Rational> = on.map(|&p| &run.state()[p]).collect();
                one_hot &= on == [&Rational::ONE];
            }
        }
        if !on_strip {
            note(0, bounded, &|| "a register leaves the interval".into());
            note(1, one_hot, &|| "phases are not one-hot".into());
            let halted = run.active_phases().iter().any(|phase| phase.name == "halt");
            note(2, halted, &|| "the evaluator has not halted".into());
            let before = run.state().to_vec();
            run.advance(FURTHER);
            note(3, before == run.state(), &|| "the state moves on".into());
        }
        let output = run.output()?;
        if !on_strip {
            let expected = interpreted(witness, x)?;
            note(4, output.u == expected, &|| {
                format!("{} instead of {expected}", output.u)
            });
            let f0 = target.value(x)?;
            let error = (&output.value - &f0).to_f64().abs();
            note(6, error <= error_bound * (1.0 + 1e-12), &|| {
                format!("the error is {error}, the bound {error_bound}")
            });
        }
        let h = &witness.resolution().h;
        let clipped = output.value.abs() <= *h;
        note(
            5,
            clipped && (on_strip || output.u.abs() <= Rational::ONE),
            &|| format!("u = {}", output.u),
        );
    }
    Ok(all.into())
}

/// The evaluator's `u` for the code of the input's group, by the interpreter.
fn interpreted(witness: &Witness, x: &[Rational]) -> Result<Rational, Error> {
    let evaluator = witness.evaluator();
    let groups = witness.groups();
    // j(a) with the first coordinate fastest.
    let address = x.iter().rev().fold(0, |address, x| {
        let cell = x.scaled(groups.u() as i64).floor();
        let cell = usize::try_from(cell)
            .unwrap_or(0)
            .min(groups.per_axis() - 1);
        address * groups.per_axis() + cell
    });
    let mut registers = vec![Rational::ZERO; evaluator.program.registers().len()];
    for (register, x) in evaluator.x.iter().zip(x) {
        registers[register.0] = x.clone();
    }
    registers[evaluator.code.0] = witness.codes()[address].clone();
    let mut interpreter = Interpreter::new(&evaluator.program, registers);
    interpreter.run(witness.resources().finishing_time)?;
    Ok(interpreter.registers()[evaluator.u.0].clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expression;
    use crate::resolution::Resolution;
    use crate::routines::Reader;

    #[test]
    fn invariants_hold() {
        for (d, s, m, u, reader, f) in [
            (1, "1", 3, 0, Reader::Paper, "x1*(1-x1)"),
            (1, "2", 2, 1, Reader::Dyadic, "x1^2/2 - x1/3"),
            (2, "1", 1, 1, Reader::Paper, "x1*(1-x2)/2"),
            (2, "3/2", 1, 0, Reader::Paper, "x1*(1-x2)/2"),
        ] {
            let target = Expression::parse(f, Some(d)).unwrap().into_target();
            let resolution = Resolution::new(d, s.parse().unwrap(), Rational::ONE, m).unwrap();
            let witness = Witness::new(resolution, u, reader, &*target).unwrap();
            let inputs = inputs(&witness, 6, 1);
            assert!(inputs.iter().any(|x| witness.resolution().is_on_strip(x)));
            for invariant in check(&witness, &*target, &inputs).unwrap() {
                assert_eq!(invariant.violation, None, "{}", invariant.name);
                assert!(invariant.checked > 0, "{}", invariant.name);
            }
        }
    }

    /// A check that is asked about another target says so.
    #[test]
    fn a_wrong_target_is_noticed() {
        let target = Expression::parse("x1/2", None).unwrap().into_target();
        let other = Expression::parse("1/2 - x1", None).unwrap().into_target();
        let resolution = Resolution::new(1, "1".parse().unwrap(), Rational::ONE, 4).unwrap();
        let witness = Witness::new(resolution, 0, Reader::Paper, &*target).unwrap();
        let inputs = inputs(&witness, 4, 1);
        let checked = check(&witness, &*other, &inputs).unwrap();
        assert!(checked[6].violation.is_some());
    }
}
