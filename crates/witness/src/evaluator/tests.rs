use super::*;
use crate::interpreter::Interpreter;
use crate::records::{Groups, code, group_codes};
use crate::target::{Polynomial, Target};
use proptest::prelude::*;

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

fn run(
    resolution: &Resolution,
    reader: Reader,
    code: &Rational,
    x: &[Rational],
) -> (Rational, usize) {
    let evaluator = Evaluator::new(resolution, reader).unwrap();
    let mut start = vec![Rational::ZERO; evaluator.program.registers().len()];
    for (register, x) in evaluator.x.iter().zip(x) {
        start[register.0] = x.clone();
    }
    start[evaluator.code.0] = code.clone();
    let mut interpreter = Interpreter::new(&evaluator.program, start);
    let mut iterations = 0;
    while !interpreter.halted() {
        interpreter.step().unwrap();
        iterations += 1;
        for value in interpreter.registers() {
            assert!(value.abs() <= Rational::from(REGISTER_BOUND));
        }
    }
    (interpreter.registers()[evaluator.u.0].clone(), iterations)
}

/// Phases, registers and iterations of a record are those of the table in Section D.1.4.
#[test]
fn sizes_and_times_are_the_papers() {
    for d in 1..=3 {
        for s in ["1/2", "1", "3/2", "2", "3"] {
            for m in 1..=2 {
                let resolution = Resolution::new(d, r(s), r("1"), m).unwrap();
                for reader in [Reader::Paper, Reader::Dyadic] {
                    let program = Evaluator::new(&resolution, reader).unwrap().program;
                    assert_eq!(program.phases().len(), resolution.phases());
                    assert_eq!(program.registers().len(), resolution.registers());
                }
                let x = vec![r("1/3"); d];
                let empty = code(&vec![false; resolution.record_length()]);
                let (_, iterations) = run(&resolution, Reader::Paper, &empty, &x);
                assert_eq!(iterations, resolution.tau());
            }
        }
    }
}

/// The paper's example: one record, of the cell [1/4, 1/2) with coefficient 1/2.
#[test]
fn the_papers_example_runs() {
    let resolution = Resolution::new(1, r("1"), r("1"), 2).unwrap();
    for reader in [Reader::Paper, Reader::Dyadic] {
        let at = |x: &str| run(&resolution, reader, &r("69/128"), &[r(x)]);
        assert_eq!(at("3/8"), (r("1/2"), resolution.tau()));
        assert_eq!(at("3/4").0, r("0"));
        // On the strip of half-width 2^-8 the gate is a fraction: 2^8 / 1024.
        assert_eq!(at("257/1024").0, r("1/4"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Lemma D.2 on random polynomials: in the interior of a cell the result is within the
    /// explicit error of (S23), (S28) and the clipping, and takes `N tau_m` iterations.
    #[test]
    fn values_are_close(
        a in -9i64..=9, b in -9i64..=9, c in -9i64..=9,
        x in 0u32..1000, y in 0u32..1000, s in 1i64..=3, m in 1usize..=2,
    ) {
        let resolution = Resolution::new(2, s.into(), r("1"), m).unwrap();
        let terms = vec![
            (vec![0, 0], Rational::new(a, 40u8)),
            (vec![1, 1], Rational::new(b, 40u8)),
            (vec![2, 0], Rational::new(c, 40u8)),
        ];
        let target = Polynomial::new(2, terms).unwrap();
        let groups = Groups::new(&resolution, 0).unwrap();
        let codes = group_codes(&resolution, groups, &target).unwrap();
        // Off the strips of half-width 2^-G, along which the gate is a fraction.
        let strip = Rational::power_of_two(m as i64 - resolution.g() as i64);
        let inside = |t: u32| {
            let place = Rational::new(i64::from(t), 1000u32) * Rational::from(1 << m);
            let (cell, fraction) = (Rational::from(place.floor()), &place - Rational::from(place.floor()));
            let fraction = fraction.max(strip.clone()).min(Rational::ONE - &strip);
            (cell + fraction).scaled(-(m as i64))
        };
        let point = [inside(x), inside(y)];
        let (u, iterations) = run(&resolution, Reader::Paper, &codes[0], &point);
        prop_assert_eq!(iterations, resolution.cells() * resolution.tau());
        // d^k h^s + M_Tay 2^(1-b) + V 4^-J / 2
        let taylor = Rational::from(2i64.pow(resolution.k as u32)).scaled(-(s * m as i64));
        let words = Rational::from(resolution.terms as i64).scaled(1 - resolution.b() as i64);
        let products = Rational::from(resolution.letters as i64).scaled(-1 - 2 * resolution.j() as i64);
        let error = (u - target.value(&point).unwrap()).abs();
        prop_assert!(error <= taylor + words + products, "{}", error);
    }
}
