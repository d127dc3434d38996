use super::*;
use crate::arithmetic::Exact;
use crate::block::Machine;
use crate::interpreter::Interpreter;
use crate::program::Assignment;
use crate::routines::Builder;
use proptest::prelude::*;

/// A program drawn at random: every coefficient and target, forward jumps and counted loops, so
/// that it halts; tests are those of counters, which are zero or one.
fn programs() -> impl Strategy<Value = (Program, Vec<Rational>)> {
    let coefficient = (-4i64..=4).prop_map(|p| Rational::new(p, 4u8));
    let form = prop::collection::vec(coefficient.clone(), 4);
    let assignment = (
        0usize..3,
        form.clone(),
        prop::collection::vec((coefficient.clone(), form), 0..3),
    );
    let phase = prop::collection::vec(assignment, 0..3);
    let phases = prop::collection::vec((phase, prop::option::of(1usize..4)), 1..7);
    let start = prop::collection::vec(coefficient, 3);
    (phases, start).prop_map(|(phases, start)| {
        let mut builder = Builder::new();
        let registers: Vec<_> = (0..3).map(|i| builder.register(format!("z{i}"))).collect();
        let timer = builder.register("timer");
        let affine = |weights: &[Rational]| {
            let terms = registers.iter().zip(weights);
            terms.fold(Affine::constant(weights[3].clone()), |sum, (r, w)| {
                sum + r.value() * w
            })
        };
        for (index, (assignments, count)) in phases.iter().enumerate() {
            let mut operation: Vec<Assignment> = Vec::new();
            for (register, value, hinges) in assignments {
                let register = registers[*register];
                if operation.iter().all(|a| a.register != register) {
                    let set = register.set(affine(value) * &Rational::new(1, 4u8));
                    operation.push(hinges.iter().fold(set, |set, (c, argument)| {
                        set.plus(c * &Rational::new(1, 4u8), affine(argument))
                    }));
                }
            }
            let name = format!("{index}");
            if let Some(count) = count {
                builder.repeat(&name, timer, *count, "body", operation);
            } else {
                builder.phase(name, operation);
            }
        }
        let mut start = start;
        start.push(Rational::ZERO);
        (builder.halt("halt").unwrap(), start)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Lemma D.4: in every state of the run, registers and phases of the network are those of
    /// the interpreter, and the halt is absorbing.
    #[test]
    fn networks_are_their_programs((program, start) in programs(), with_reference: bool) {
        let mut block = Block::new();
        let placement = Placement::new(&program, &mut block, "");
        let reference = match with_reference {
            true => block.coordinate("C").value(),
            false => Affine::constant(Rational::ONE),
        };
        let bound = Rational::from(100);
        let gate = Gate { lambda: bound.scaled(1), reference };
        let compiler = Compiler {
            program: &program,
            placement: &placement,
            gate: &gate,
            coefficient_bound: &bound,
            register_bound: &Rational::from(30),
        };
        block.extend(compiler.compile().unwrap());
        prop_assert!(block.largest_parameter() <= Rational::from(300));
        let machine = Machine::new(&block, Exact);
        let mut values = vec![Rational::ZERO; block.coordinates().len()];
        values[..start.len()].clone_from_slice(&start);
        values[placement.phases[0].0] = Rational::ONE;
        if with_reference {
            *values.last_mut().unwrap() = Rational::ONE;
        }
        let mut state = machine.state(values);
        let mut oracle = Interpreter::new(&program, start);
        for _ in 0..60 {
            for (coordinate, value) in placement.registers.iter().zip(oracle.registers()) {
                prop_assert!(value.abs() <= Rational::from(30));
                prop_assert_eq!(&state.values()[coordinate.0], value);
            }
            for (index, coordinate) in placement.phases.iter().enumerate() {
                let active = Rational::from(i64::from(index == oracle.phase()));
                prop_assert_eq!(&state.values()[coordinate.0], &active);
            }
            machine.step(&mut state);
            oracle.step().unwrap();
        }
        prop_assert!(oracle.halted());
    }
}

/// One register, one phase and a branch.
fn compile(coefficient: i64, bound: i64, register_bound: i64) -> Result<Vec<Unit>, Error> {
    let mut builder = Builder::new();
    let x = builder.register("x");
    builder.test(
        "a",
        vec![x.set(x.value() * coefficient).plus(1, x.value())],
        x.value(),
        0,
        1,
    );
    let program = builder.halt("halt").unwrap();
    let placement = Placement::new(&program, &mut Block::new(), "");
    let bound = Rational::from(bound);
    let gate = Gate {
        lambda: bound.scaled(1),
        reference: Affine::constant(Rational::ONE),
    };
    Compiler {
        program: &program,
        placement: &placement,
        gate: &gate,
        coefficient_bound: &bound,
        register_bound: &Rational::from(register_bound),
    }
    .compile()
}

#[test]
fn hypotheses_are_checked() {
    // Two units of the residual 2x, a hinge, a move and a branch; nothing for the halt.
    let units = compile(3, 4, 4).unwrap();
    let names: Vec<_> = units.iter().map(|unit| unit.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "a / x +",
            "a / x -",
            "a / x hinge 1",
            "a / next",
            "a / branch"
        ]
    );
    // 2 * 5 > 2 * 4
    assert!(matches!(compile(3, 4, 5), Err(Error::Preactivation { .. })));
    assert!(matches!(compile(6, 4, 1), Err(Error::Coefficient { .. })));
}

#[test]
fn widths_are_as_in_the_lemma() {
    // The evaluator for d = s = 1: 17 registers, 28 phases (the table of Section D.1.4).
    assert_eq!(width(17, 28), 1960);
}
