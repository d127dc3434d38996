use super::*;
use crate::tying::Tying;
use proptest::prelude::*;

fn described(network: &Network) -> Vec<(String, Vec<usize>)> {
    let layout = network.layout();
    layout.iter().map(|v| (v.name.clone(), v.shape())).collect()
}

#[test]
fn ffn_tensors_in_order() {
    let network = Network::ffn(5, 3, 2, 7, Tying::Untied { t: 2 }).unwrap();
    let expected = [
        ("input.weight", vec![2, 5]),
        ("input.bias", vec![2]),
        ("block.0.w1", vec![7, 2]),
        ("block.0.b1", vec![7]),
        ("block.0.w2", vec![2, 7]),
        ("block.0.b2", vec![2]),
        ("block.1.w1", vec![7, 2]),
        ("block.1.b1", vec![7]),
        ("block.1.w2", vec![2, 7]),
        ("block.1.b2", vec![2]),
        ("output.weight", vec![3, 2]),
        ("output.bias", vec![3]),
    ];
    assert_eq!(
        described(&network),
        expected.map(|(n, s)| (n.to_owned(), s))
    );
}

#[test]
fn transformer_tensors_in_order() {
    let partition = vec![vec![2, 0], vec![1]];
    let architecture = Architecture::Transformer { partition };
    let network = Network::new(architecture, 3, 4, 2, 7, Tying::Loop { t: 9 }).unwrap();
    let expected = [
        ("input.0.weight", vec![2, 2]),
        ("input.0.bias", vec![2]),
        ("input.1.weight", vec![2, 1]),
        ("input.1.bias", vec![2]),
        ("controller", vec![2]),
        ("reference.0", vec![2]),
        ("reference.1", vec![2]),
        ("block.0.query.weight", vec![2, 2]),
        ("block.0.query.bias", vec![2]),
        ("block.0.key.weight", vec![2, 2]),
        ("block.0.key.bias", vec![2]),
        ("block.0.value.weight", vec![2, 2]),
        ("block.0.value.bias", vec![2]),
        ("block.0.out.weight", vec![2, 2]),
        ("block.0.out.bias", vec![2]),
        ("block.0.ln1.gain", vec![2]),
        ("block.0.ln1.bias", vec![2]),
        ("block.0.w1", vec![7, 2]),
        ("block.0.b1", vec![7]),
        ("block.0.w2", vec![2, 7]),
        ("block.0.b2", vec![2]),
        ("block.0.ln2.gain", vec![2]),
        ("block.0.ln2.bias", vec![2]),
        ("output.weight", vec![4, 10]),
        ("output.bias", vec![4]),
    ];
    assert_eq!(
        described(&network),
        expected.map(|(n, s)| (n.to_owned(), s))
    );
}

#[test]
fn fan_ins_and_roles() {
    let network = Network::ffn(5, 3, 2, 7, Tying::Single).unwrap();
    let layout = network.layout();
    for (name, fan_in, role) in [
        ("input.weight", 5, Role::Weight),
        ("input.bias", 5, Role::Bias),
        ("block.0.w1", 2, Role::Weight),
        ("block.0.b1", 2, Role::Bias),
        ("block.0.w2", 7, Role::OutgoingWeight),
        ("block.0.b2", 7, Role::OutgoingBias),
        ("output.bias", 2, Role::Bias),
    ] {
        let view = layout.get(name).unwrap();
        assert_eq!((view.fan_in, view.role), (fan_in, role), "{name}");
    }
    assert!(layout.get("block.1.w1").is_none());
}

proptest! {
    /// The closed form of the count is what the tensors add up to, without gaps.
    #[test]
    fn tensors_tile_the_flat_vector(
        d in 1usize..30, outputs in 1usize..12, q in 1usize..12, r in 1usize..40,
        t in 1usize..8, method in 0..3, transformer: bool,
    ) {
        let tying = [Tying::Single, Tying::Loop { t }, Tying::Untied { t }][method as usize];
        let architecture = if transformer { Architecture::transformer(d) } else { Architecture::Ffn };
        let network = Network::new(architecture, d, outputs, q, r, tying).unwrap();
        let layout = network.layout();
        let mut end = 0;
        for view in &layout {
            prop_assert_eq!(view.offset, end);
            prop_assert_eq!(view.size(), view.shape().iter().product::<usize>());
            prop_assert_eq!(layout.get(&view.name), Some(view));
            end = view.range().end;
        }
        prop_assert_eq!(end, network.count());
        prop_assert_eq!(layout.len(), network.count());
    }
}
