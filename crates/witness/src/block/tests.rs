use super::*;
use crate::arithmetic::{BigFloat, Exact, F64};
use proptest::prelude::*;

/// Blocks with any sparsity pattern on four coordinates, not compiled from anything: units are
/// near the boundary of activity often, since the numbers are few.
fn blocks() -> impl Strategy<Value = Block> {
    let weight = (-2i64..=2).prop_map(|p| Rational::new(p, 3u8));
    let unit = (
        prop::collection::vec(weight.clone(), 5),
        prop::collection::vec(weight, 4),
    );
    prop::collection::vec(unit, 0..12).prop_map(|units| {
        let mut block = Block::new();
        let coordinates: Vec<_> = (0..4).map(|i| block.coordinate(format!("z{i}"))).collect();
        block.extend(units.into_iter().map(|(row, column)| {
            Unit {
                name: "unit".to_owned(),
                preactivation: coordinates
                    .iter()
                    .zip(&row)
                    .fold(Affine::constant(row[4].clone()), |sum, (c, w)| {
                        sum + c.value() * w
                    }),
                outputs: coordinates.iter().copied().zip(column).collect(),
            }
        }));
        block
    })
}

/// The formula of the block on the dense matrices.
fn dense_step(block: &Block, z: &[Rational]) -> Vec<Rational> {
    let mut next = z.to_vec();
    for unit in block.units() {
        let hidden = unit.preactivation.at(|c| &z[c.0]).relu();
        for (c, w) in &unit.outputs {
            next[c.0] = &next[c.0] + w * &hidden;
        }
    }
    next
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Skipping inactive units changes nothing, tiny and huge numbers included.
    #[test]
    fn sparse_runs_are_exact(
        block in blocks(),
        start in prop::collection::vec((-3i64..=3, prop::sample::select(vec![0i64, -60, -500, 500])), 4),
    ) {
        let start: Vec<_> = start.iter().map(|(p, e)| Rational::from(*p).scaled(*e)).collect();
        let machine = Machine::new(&block, Exact);
        let (mut state, mut dense) = (machine.state(start.clone()), start);
        for _ in 0..5 {
            machine.step(&mut state);
            dense = dense_step(&block, &dense);
            prop_assert_eq!(state.values(), &dense[..]);
        }
    }

    /// Floats of 53 bits skip what they look ahead at, the hardware's never do: same numbers.
    #[test]
    fn skipping_is_invisible_to_floats(block in blocks(), start in prop::collection::vec(-3i64..=3, 4)) {
        let start: Vec<_> = start.into_iter().map(Rational::from).collect();
        let (big, double) = (Machine::new(&block, BigFloat::new(53)), Machine::new(&block, F64));
        let mut a = big.state(start.iter().map(|x| BigFloat::new(53).number(x)).collect());
        let mut b = double.state(start.iter().map(Rational::to_f64).collect());
        for _ in 0..5 {
            big.step(&mut a);
            double.step(&mut b);
            for (a, b) in a.values().iter().zip(b.values()) {
                prop_assert_eq!(BigFloat::new(53).exact(a), F64.exact(b));
            }
        }
    }
}

#[test]
fn entries_are_counted_without_zeros() {
    let mut block = Block::new();
    let (x, y) = (block.coordinate("x"), block.coordinate("y"));
    block.extend([
        Unit {
            name: "a".to_owned(),
            preactivation: x.value() * 2 - y.value() - 7,
            outputs: vec![(x, Rational::ONE), (y, Rational::ZERO)],
        },
        Unit {
            name: "b".to_owned(),
            preactivation: x.value(),
            outputs: vec![(y, Rational::from(-3))],
        },
    ]);
    assert_eq!(
        block.entries(),
        Entries {
            w1: 3,
            b1: 1,
            w2: 2
        }
    );
    assert_eq!(block.largest_parameter(), 7.into());
    let expected = "a: h = ReLU(2 x - y - 7); x += 1 h; y += 0 h\nb: h = ReLU(x); y += -3 h\n";
    assert_eq!(block.to_string(), expected);
}
