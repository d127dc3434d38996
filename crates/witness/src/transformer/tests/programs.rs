//! Programs against their interpreters, phase by phase.

use super::*;
use crate::arithmetic::BigFloat;
use crate::compiler::Placement;
use crate::interpreter::Interpreter;
use crate::transformer::exact::ExactRun;
use proptest::prelude::*;

/// The registers of an interpreter are the native coordinates, and its phase is the one that is
/// not zero.
fn assert_same(interpreter: &Interpreter<'_>, placement: &Placement, run: &ExactRun<'_>) {
    for (value, place) in interpreter.registers().iter().zip(&placement.registers) {
        assert_eq!(value, run.value(*place), "iteration {}", run.iteration());
    }
    for (index, place) in placement.phases.iter().enumerate() {
        if *place != correction::NOWHERE {
            let active = Rational::from(i64::from(index == interpreter.phase()));
            assert_eq!(*run.value(*place), active, "iteration {}", run.iteration());
        }
    }
}

/// The values that a program finds at its place.
fn found(placement: &Placement, run: &ExactRun<'_>) -> Vec<Rational> {
    let registers = placement.registers.iter();
    registers.map(|place| run.value(*place).clone()).collect()
}

/// All of a run: every part of the native block does what its interpreter does, in the
/// iterations that the paper gives it.
fn check_run(witness: &Witness, x: &[Rational]) {
    let (native, times) = (witness.native(), witness.resources().times);
    let runner = witness.exact();
    let mut run = runner.start(x).unwrap();

    let routing = witness.routing();
    let placement = routing.placement(native);
    let mut interpreter = Interpreter::new(&routing.program, found(&placement, &run));
    while run.iteration() < times.route {
        // What attention adds, here as in the run, and the unconditional clears.
        if run.iteration() == 0 {
            for (register, x) in routing.aggregate().iter().zip(x) {
                interpreter.set(*register, x.clone());
            }
        }
        let remainders = routing.remainders();
        let query = remainders.fold(Rational::ZERO, |sum, u| sum + &interpreter.registers()[u.0]);
        let sign = i64::from(query.is_positive()) - i64::from(query.is_negative());
        interpreter.set(routing.signal(), Rational::from(sign));
        interpreter.step().unwrap();
        for register in routing.aggregate().iter().chain([&routing.signal()]) {
            interpreter.set(*register, Rational::ZERO);
        }
        run.step();
        assert_same(&interpreter, &placement, &run);
    }
    assert!(interpreter.halted());

    // (S53), from the input.
    let cubes = Rational::from(witness.groups().per_axis() as i64);
    let address = x.iter().rev().fold(0, |sum, x| {
        let j = usize::try_from((x * &cubes).floor()).unwrap();
        sum * witness.groups().per_axis() + j
    });
    let normalised = Rational::new(address as i64, witness.groups().count() as u64);
    assert_eq!(*run.value(native.front.address), normalised);
    let mut active = native.front.phases[0];
    while run.iteration() < times.load {
        // One phase is active, and it has the value C.
        let nonzero: Vec<_> = native
            .front
            .phases
            .iter()
            .filter(|e| !run.value(**e).is_zero())
            .collect();
        assert_eq!(nonzero.len(), 1);
        active = *nonzero[0];
        assert_eq!(run.value(active), run.value(native.front.scale));
        assert!(run.value(native.code).is_zero());
        run.step();
    }
    assert_eq!(active, native.front.phases[3]);
    assert!(native.front.phases.iter().all(|e| run.value(*e).is_zero()));
    assert_eq!(*run.value(native.code), witness.codes()[address]);
    assert_eq!(*run.value(native.front.scale), Rational::ONE);
    assert_eq!(*run.value(native.front.timer), Rational::from(2));
    for ((place, input), copy) in native.x.iter().zip(x).zip(&native.front.inputs) {
        assert_eq!((run.value(*place), run.value(*copy)), (input, input));
    }

    let program = &witness.evaluator().program;
    let mut interpreter = Interpreter::new(program, found(&native.evaluator, &run));
    while run.iteration() < times.halt {
        interpreter.step().unwrap();
        run.step();
        assert_same(&interpreter, &native.evaluator, &run);
    }
    assert!(interpreter.halted());

    run.step();
    let placement = witness.correction().placement(native);
    let program = &witness.correction().program;
    let mut interpreter = Interpreter::new(program, found(&placement, &run));
    let u = run.value(native.u).clone();
    assert_same(&interpreter, &placement, &run);
    while run.iteration() + 1 < times.clear {
        interpreter.step().unwrap();
        run.step();
        assert_same(&interpreter, &placement, &run);
        assert!(!run.is_cleared());
    }
    let v = run.value(native.v()).clone();
    run.step();
    assert!(run.is_cleared());
    let outcome = runner.evaluate(x).unwrap();
    assert_eq!((outcome.u, outcome.v), (u, v));
    let before = run.state().to_vec();
    run.step();
    assert_eq!(run.state(), before);
}

#[test]
fn units_do_what_interpreters_do() {
    for (d, s, m, h) in [
        (1, "1", 2, 0),
        (1, "1", 3, 2),
        (1, "2", 2, 1),
        (2, "1/2", 1, 0),
        (2, "2", 1, 1),
        (2, "1", 2, 1),
        (3, "1", 1, 1),
    ] {
        for reader in [Reader::Paper, Reader::Dyadic] {
            let setting = Setting {
                reader,
                ..Setting::new(d)
            };
            check_run(&witness_with(d, s, m, h, setting), &point(d));
        }
    }
}

/// `|v sqrt(1 - u^2/2) - u|` is at most the distance of `v` from `g_inv(u)`.
fn assert_accurate(correction: &Correction, u: &Rational, v: &Rational) {
    let float = BigFloat::new(200);
    let root = float.square_root(&(Rational::ONE - (u * u).scaled(-1)).nearest(200));
    let inverse = float.divide(&u.nearest(200), &root);
    assert!(
        (v - inverse).abs() <= correction.accuracy(),
        "u = {u}, v = {v}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// (S63), the iterations, the register bounds of Section E.3, and both readers alike.
    #[test]
    fn corrections_are_accurate(u in -1000i64..=1000, s in 1i64..=6, m in 1usize..=4) {
        let resolution = Resolution::new(1, Rational::new(s, 2u8), r("1"), m).unwrap();
        let u = Rational::new(u, 1000u32);
        let values = [Reader::Paper, Reader::Dyadic].map(|reader| {
            let correction = Correction::new(&resolution, reader).unwrap();
            let mut registers = vec![Rational::ZERO; correction.program.registers().len()];
            registers[0] = correction.code.clone();
            *registers.last_mut().unwrap() = u.clone();
            let mut interpreter = Interpreter::new(&correction.program, registers);
            let mut iterations = 1;
            while !interpreter.halted() {
                interpreter.step().unwrap();
                iterations += 1;
                for value in interpreter.registers() {
                    assert!(value.abs() <= Rational::from(2));
                }
            }
            assert_eq!(iterations, correction.iterations());
            let v = interpreter.registers()[layout::CORRECTION_DATA.len() - 1].clone();
            assert_accurate(&correction, &u, &v);
            v
        });
        prop_assert_eq!(&values[0], &values[1]);
    }
}
