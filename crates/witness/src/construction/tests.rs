use super::trace::{Each, Trace};
use super::*;
use crate::Expression;
use crate::arithmetic::ArithmeticKind;

fn construction(target: &str, m: usize, u: usize, transformer: bool) -> Construction {
    let name = target.to_string();
    let target = Expression::parse(target, None).unwrap().into_target();
    let d = target.d();
    let resolution = Resolution::new(d, "1".parse().unwrap(), Rational::ONE, m).unwrap();
    Construction {
        name,
        target,
        resolution,
        groups: u,
        reader: Reader::Paper,
        architecture: match transformer {
            true => Architecture::transformer(d),
            false => Architecture::Ffn,
        },
        stabiliser: Rational::new(1, 100_000u32),
        padding: (None, None),
    }
}

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

#[test]
fn exact_runs_are_within_their_bound_on_both_networks() {
    for transformer in [false, true] {
        let construction = construction("x1/2 - 3/4", 1, 1, transformer);
        let network = construction.build().unwrap();
        let inputs = [vec![r("3/10")], vec![r("1/2")], vec![r("4/5")]];
        let kind = ArithmeticKind::Exact;
        let runs = construction.run(&network, &inputs, kind, None).unwrap();
        assert_eq!(runs.iterations, network.finishing_time());
        for row in &runs.rows {
            assert_eq!(row.exceptional, row.x == [r("1/2")], "{row:?}");
            assert!(
                row.exceptional || row.error() <= network.error_bound(),
                "{row:?}"
            );
        }
        assert!(!runs.silent);
        assert_eq!(runs.rows[0].v.is_some(), transformer);
    }
}

/// Below the quantisation step the network is zero; at the finishing time that is said, before it is not known.
#[test]
fn silence_is_noticed() {
    let construction = construction("x1/8", 2, 0, false);
    let network = construction.build().unwrap();
    let silent = |iterations| {
        let kind = ArithmeticKind::Exact;
        let runs = construction.run(&network, &[vec![r("3/10")]], kind, iterations);
        runs.unwrap().silent
    };
    assert!(silent(None) && !silent(Some(3)));
}

/// Too few bits are refused with the fewest that work, and one fewer does not.
#[test]
fn too_few_bits_are_refused() {
    let construction = construction("x1", 3, 0, false);
    let network = construction.build().unwrap();
    let x = [vec![r("3/10")]];
    let run = |kind| construction.run(&network, &x, kind, None);
    let Err(Error::TooFine(wrong)) = run(ArithmeticKind::F32) else {
        panic!("24 bits are not enough");
    };
    assert!(run(ArithmeticKind::Bits(wrong.bits)).is_ok());
    assert!(run(ArithmeticKind::Bits(wrong.bits - 1)).is_err());
    let text = Error::TooFine(wrong).to_string();
    assert!(
        text.starts_with("the resolution is too fine for f32: at x = 3/10"),
        "{text}"
    );
}

/// The scale of (S66) contracts by `(eps / (1 + eps))^2` with each iteration: with `eps = 1` a factor of four.
#[test]
fn settling_follows_the_stabiliser() {
    let settling = |stabiliser: &str| {
        let mut construction = construction("x1", 1, 1, true);
        construction.stabiliser = r(stabiliser);
        let Ok(Network::Transformer(witness)) = construction.build() else {
            panic!("a Transformer");
        };
        let settling = witness.settling();
        assert_eq!(
            witness.finishing_time(),
            witness.resources().times.clear + settling
        );
        settling
    };
    // 41 bits, two with each iteration; and the least.
    assert_eq!(settling("1"), 21);
    assert_eq!(settling("1/100000"), 10);
}

/// Lines of instructions are lines of iterations put together.
#[test]
fn traces_of_instructions_are_shorter() {
    for transformer in [false, true] {
        let construction = construction("x1/2 - 3/4", 1, 1, transformer);
        let network = construction.build().unwrap();
        let (x, end) = ([r("3/10")], network.program_length());
        let trace = |each, span| construction.trace(&network, &x, span, each).unwrap();
        let iterations = trace(Each::Iteration, 1..=end);
        let instructions = trace(Each::Instruction, 1..=end);
        assert_eq!(iterations.lines.len(), end);
        assert!(instructions.lines.len() < end / 2);
        let spans = instructions.lines.windows(2);
        assert!(
            spans
                .into_iter()
                .all(|pair| pair[0].last + 1 == pair[1].first)
        );
        let change = |trace: &Trace| {
            let registers = trace.lines.iter().flat_map(|line| line.registers.clone());
            registers.collect::<std::collections::BTreeMap<_, _>>()
        };
        assert_eq!(change(&iterations), change(&instructions));
        assert!(iterations.is_finished() && iterations.error() <= network.error_bound());
        let part = trace(Each::Iteration, 3..=5);
        assert!(!part.is_finished() && part.lines == iterations.lines[2..5]);
    }
}

#[test]
fn checks_add_up_over_inputs() {
    let construction = construction("x1*(1-x1)", 2, 1, false);
    let checked = construction.check(6, 1).unwrap();
    assert!(checked.holds() && checked.left_out == 0 && checked.on_strips > 0);
    let off = checked.inputs - checked.on_strips;
    assert!(
        checked
            .invariants
            .iter()
            .all(|invariant| invariant.checked >= off)
    );
}

/// Codes of several records are longer than 32 bits; with a record for each group and dyadic thresholds nothing is rounded.
#[test]
fn what_floats_do_not_hold_is_written_down() {
    let mut construction = construction("x1", 2, 0, false);
    let dense = construction
        .build()
        .unwrap()
        .dense((None, None), None)
        .unwrap();
    let csv = dense.exact_csv();
    assert!(csv.starts_with("tensor,row,column,exact\n"), "{csv}");
    assert_eq!(csv.lines().count(), dense.exact.len() + 1);
    (construction.groups, construction.reader) = (2, Reader::Dyadic);
    let dense = construction
        .build()
        .unwrap()
        .dense((None, None), Some(7))
        .unwrap();
    assert!(dense.exact.is_empty());
    assert_eq!(dense.parameters.network().tying().iterations(), 7);
}

#[test]
fn tables_take_as_long_as_their_longest_network() {
    assert_eq!(table_seconds(&[1.0, 1.0, 4.0], 2), 4.0);
    assert_eq!(table_seconds(&[1.0, 1.0, 4.0], 1), 6.0);
}
