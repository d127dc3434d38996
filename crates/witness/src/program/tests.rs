use super::*;

fn phase(name: &str, assignments: Vec<Assignment>, next: usize) -> Phase {
    Phase {
        name: name.to_owned(),
        assignments,
        next,
        branch: None,
    }
}

fn problem(phases: Vec<Phase>) -> String {
    let registers = vec!["x".to_owned(), "y".to_owned()];
    Program::new(registers, phases).unwrap_err().to_string()
}

const X: Register = Register(0);

#[test]
fn wrong_programs_are_refused() {
    let halt = |index| phase("halt", vec![], index);
    assert!(problem(vec![]).contains("no phase"));
    let twice = phase("a", vec![X.set(1), X.set(2)], 1);
    assert!(problem(vec![twice, halt(1)]).contains("register x is assigned twice"));
    let three = X.set(0).plus(1, X.value()).plus(1, 0).plus(1, 0);
    let crowded = phase("a", vec![three], 1);
    assert!(problem(vec![crowded, halt(1)]).contains("3 hinges"));
    let unknown = phase("a", vec![X.set(Register(2).value())], 1);
    assert!(problem(vec![unknown, halt(1)]).contains("no register 2"));
    let unassignable = phase("a", vec![Register(5).set(0)], 1);
    assert!(problem(vec![unassignable, halt(1)]).contains("no register 5"));
    let astray = phase("a", vec![], 7);
    assert!(problem(vec![astray, halt(1)]).contains("leads to phase 7"));
    let stuck = phase("a", vec![], 0);
    assert!(problem(vec![stuck, halt(1)]).contains("only the last phase"));
    let endless = phase("a", vec![X.set(0)], 0);
    assert!(problem(vec![endless]).contains("last phase must be"));
}

#[test]
fn programs_are_readable() {
    let (x, y) = (X, Register(1));
    let step = Phase {
        branch: Some(Branch {
            test: x.value() * 2 - 1,
            target: 0,
        }),
        ..phase(
            "step",
            vec![x.set(x.value() * 2), y.set(0).plus(-3, y.value() - 1)],
            1,
        )
    };
    let program = Program::new(
        vec!["x".to_owned(), "y".to_owned()],
        vec![
            step,
            phase("jump", vec![], 3),
            phase("reset", vec![x.set(0)], 3),
            phase("halt", vec![], 3),
        ],
    );
    let expected = "   1  step: x := 2 x; y := -3 ReLU(y - 1) -> 1 if ReLU(2 x - 1) = 1, else 2
   2  jump -> 4
   3  reset: x := 0
   4  halt (for ever)
";
    assert_eq!(program.unwrap().to_string(), expected);
}
