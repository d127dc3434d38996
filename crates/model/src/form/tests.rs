use super::*;
use crate::activation::Activation;
use crate::reference::{forward, forward_values};
use proptest::prelude::*;

fn tyings() -> impl Strategy<Value = Tying> {
    prop_oneof![
        Just(Tying::Single),
        (1usize..4).prop_map(|t| Tying::Loop { t }),
        (1usize..4).prop_map(|t| Tying::Untied { t }),
    ]
}

/// Any network in a form other than the paper's, some of which read every second input, the last one first.
fn networks() -> impl Strategy<Value = Network> {
    (all_reading(), prop::bool::ANY).prop_map(|(network, skip)| {
        let read = network.d();
        match skip {
            true => network
                .reading(2 * read, (0..read).rev().map(|i| 2 * i).collect())
                .unwrap(),
            false => network,
        }
    })
}

fn all_reading() -> impl Strategy<Value = Network> {
    let sizes = (1usize..5, 1usize..4, 1usize..6, 1usize..4, 1usize..5);
    (sizes, tyings(), 0usize..3, 0usize..4).prop_map(
        |((d, outputs, q, r, extra), tying, form, activation)| {
            let activation = Activation::ALL[activation];
            if form == 0 {
                return Network::affine(d, outputs, q.min(d)).unwrap();
            }
            let (form, q) = match form {
                1 => (Form::Canonical, q),
                _ => (Form::Carried { extra }, q.min(d) + extra),
            };
            let network = Network::ffn(d, outputs, q, r, tying).unwrap();
            let network = network.with_activation(activation).unwrap();
            network.with_form(form).unwrap()
        },
    )
}

fn parameters() -> impl Strategy<Value = Parameters> {
    networks().prop_flat_map(|network| {
        prop::collection::vec(-2.0f32..2.0, network.count())
            .prop_map(move |values| Parameters::new(network.clone(), values).unwrap())
    })
}

proptest! {
    #[test]
    fn every_number_has_one_place(network in networks()) {
        let mut seen = vec![false; network.count()];
        for slot in network.slots() {
            if let Slot::Free(i) = slot {
                prop_assert!(!std::mem::replace(&mut seen[i], true));
            }
        }
        prop_assert!(seen.iter().all(|s| *s));
        prop_assert!(network.count() <= network.to_paper().count());
    }

    #[test]
    fn the_papers_form_is_the_same_function(p in parameters(), x in prop::collection::vec(-2.0f64..2.0, 8)) {
        let x = &x[..p.network().d()];
        prop_assert_eq!(forward(&p, x), forward(&p.to_paper(), x));
    }

    #[test]
    fn networks_survive_files(network in networks()) {
        let text = serde_json::to_string(&network).unwrap();
        prop_assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
    }
}

#[test]
fn extra_channels_begin_at_zero() {
    let network = Network::ffn(3, 1, 3, 1, Tying::Single).unwrap();
    let network = network.with_form(Form::Carried { extra: 2 }).unwrap();
    let values = vec![0.5; network.count()];
    let paper = Parameters::new(network, values).unwrap().to_paper();
    // One channel is x1 + (x2 + x3) / 2.
    let lift = [[1.0, 0.5, 0.5], [0.0; 3], [0.0; 3]].concat();
    assert_eq!(paper.view("input.weight"), lift);
}

#[test]
fn counts_by_hand() {
    let count = |q, r, tying, form| {
        let network = Network::ffn(3, 1, q, r, tying).unwrap();
        network.with_form(form).unwrap().count()
    };
    // Lift 3 x 0, block 2 x 3 r + 3 + r, output 3 + 1.
    assert_eq!(
        count(3, 4, Tying::Loop { t: 5 }, Form::Canonical),
        24 + 3 + 4 + 4
    );
    // Lift 2 x 1; block 2 x 2 r + 2 + r; output 2 + 1.
    assert_eq!(
        count(2, 4, Tying::Loop { t: 5 }, Form::Canonical),
        2 + 16 + 2 + 4 + 3
    );
    // A layer with a linear part: (d + 2) r, and d + 1.
    assert_eq!(
        count(4, 4, Tying::Single, Form::Carried { extra: 1 }),
        20 + 4
    );
    assert_eq!(Network::affine(3, 1, 3).unwrap().count(), 4);
    // Rank two of five outputs in thirty inputs: 2 x 28 + 5 x 3.
    assert_eq!(Network::affine(30, 5, 2).unwrap().count(), 71);
}

/// The argument of the module's page, on random networks: the change of basis that makes the lift canonical.
#[test]
fn a_change_of_basis_makes_the_lift_canonical() {
    let (d, q, r) = (3, 2, 3);
    let paper = Network::ffn(d, 1, q, r, Tying::Loop { t: 4 }).unwrap();
    let canonical = paper.clone().with_form(Form::Canonical).unwrap();
    let p = crate::init::fresh(&paper, 1.0, loopfit_numerics::stream::Stream::new(3));
    let get = |name: &str| -> Vec<f64> { p.view(name).iter().map(|v| f64::from(*v)).collect() };
    let (a, shift, w1, b1) = (
        get("input.weight"),
        get("input.bias"),
        get("block.0.w1"),
        get("block.0.b1"),
    );
    let (w2, b2, out, c) = (
        get("block.0.w2"),
        get("block.0.b2"),
        get("output.weight"),
        get("output.bias"),
    );
    // M is the inverse of the lift's leading block L, so W1 M^-1 = W1 L and C M^-1 = C L.
    let l = [a[0], a[1], a[3], a[4]];
    let det = l[0] * l[3] - l[1] * l[2];
    let m = [l[3] / det, -l[1] / det, -l[2] / det, l[0] / det];
    let times_l = |v: &[f64]| [v[0] * l[0] + v[1] * l[2], v[0] * l[1] + v[1] * l[3]];
    let m_times = |v: [f64; 2]| [m[0] * v[0] + m[1] * v[1], m[2] * v[0] + m[3] * v[1]];
    let mut values = Vec::new();
    values.extend(m_times([a[2], a[5]]));
    values.extend(w1.chunks(2).flat_map(times_l));
    values.extend(
        w1.chunks(2)
            .zip(&b1)
            .map(|(w, b)| b + w[0] * shift[0] + w[1] * shift[1]),
    );
    let columns: Vec<[f64; 2]> = (0..r).map(|j| m_times([w2[j], w2[r + j]])).collect();
    values.extend(columns.iter().map(|c| c[0]));
    values.extend(columns.iter().map(|c| c[1]));
    values.extend(m_times([b2[0], b2[1]]));
    values.extend(times_l(&out));
    values.push(c[0] + out[0] * shift[0] + out[1] * shift[1]);
    for x in [[0.3, -0.2, 0.9], [1.0, 2.0, -1.5]] {
        let (f, g) = (
            forward(&p, &x)[0],
            forward_values(&canonical, &values, &x)[0],
        );
        assert!((f - g).abs() < 1e-12, "{f} {g}");
    }
}

#[test]
fn shapes_without_the_form_are_refused() {
    let network = |q, tying| Network::ffn(3, 1, q, 2, tying).unwrap();
    for (network, form) in [
        (network(4, Tying::Single), Form::Affine),
        (network(2, Tying::Single), Form::Affine),
        (network(3, Tying::Single), Form::Carried { extra: 3 }),
        (network(3, Tying::Single), Form::Carried { extra: 0 }),
        (network(5, Tying::Single), Form::Carried { extra: 1 }),
    ] {
        assert!(matches!(
            network.with_form(form),
            Err(ShapeError::Form { .. })
        ));
    }
    assert!(Network::affine(3, 1, 4).is_err());
    let affine = Network::affine(2, 1, 2).unwrap();
    for inputs in [vec![0], vec![0, 4], vec![0, 0], vec![0, 1, 2]] {
        let refused = affine.clone().reading(4, inputs);
        assert_eq!(refused, Err(ShapeError::Inputs { d: 4 }));
    }
    assert!(network(2, Tying::Single).reading(4, vec![0, 1, 2]).is_err());
    let transformer = crate::Architecture::transformer(2);
    let transformer = Network::new(transformer, 2, 1, 4, 3, Tying::Single).unwrap();
    assert!(transformer.clone().with_form(Form::Canonical).is_err());
    assert!(transformer.with_activation(Activation::Tanh).is_err());
    for text in [
        r#"{"architecture":{"kind":"ffn"},"d":3,"outputs":1,"q":3,"r":1,"tying":{"method":"single"},"form":"affine"}"#,
        r#"{"architecture":{"kind":"ffn"},"d":3,"outputs":1,"q":3,"r":0,"tying":{"method":"single"}}"#,
        r#"{"architecture":{"kind":"ffn"},"d":3,"outputs":1,"q":3,"r":0,"tying":{"method":"single"},"form":"canonical"}"#,
    ] {
        assert!(serde_json::from_str::<Network>(text).is_err(), "{text}");
    }
}
