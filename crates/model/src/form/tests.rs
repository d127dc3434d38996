use super::*;
use crate::activation::Activation;
use crate::reference::{forward, forward_values};
use loopfit_numerics::stream::Stream;
use proptest::prelude::*;

fn tyings() -> impl Strategy<Value = Tying> {
    prop_oneof![
        Just(Tying::Single),
        (1usize..4).prop_map(|t| Tying::Loop { t }),
        (1usize..4).prop_map(|t| Tying::Untied { t }),
    ]
}

/// Any network in a form other than the paper's, some of which read every second input, the last one first, and some of which
/// have zeros.
fn networks() -> impl Strategy<Value = Network> {
    let choices = (prop::bool::ANY, prop::option::of(2usize..5));
    (all_reading(), choices).prop_map(|(network, (skip, every))| {
        let read = network.d();
        let network = match skip {
            true => network
                .reading(2 * read, (0..read).rev().map(|i| 2 * i).collect())
                .unwrap(),
            false => network,
        };
        let count = network.count();
        match every {
            Some(every) => network
                .with_zeros((1..count).step_by(every).collect())
                .unwrap(),
            None => network,
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
        prop_assert_eq!(forward(&p, x), forward(&p.dense(), x));
        // It can stop after its first update, whatever is zero.
        let shorter = p.after(1).unwrap();
        prop_assert_eq!(forward(&shorter, x), forward(&p.dense().after(1).unwrap(), x));
    }

    #[test]
    fn networks_survive_files(network in networks()) {
        let text = serde_json::to_string(&network).unwrap();
        prop_assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
    }
}

#[test]
fn zeros_are_not_counted() {
    let network = Network::affine(4, 1, 4).unwrap();
    let sparse = network.clone().with_zeros(vec![0, 2]).unwrap();
    assert_eq!(sparse.count(), 3);
    assert_eq!(sparse.to_string(), "linear, sparse, 3 numbers");
    let p = Parameters::new(sparse.clone(), vec![2.0, 3.0, 4.0]).unwrap();
    assert_eq!(p.dense().values(), [0.0, 2.0, 0.0, 3.0, 4.0]);
    assert_eq!(forward(&p, &[1.0, 10.0, 100.0, 1000.0]), [3024.0]);
    assert_eq!(sparse.dense(), network);
    for wrong in [vec![2, 0], vec![1, 1], vec![5], vec![0, 1, 2, 3, 4]] {
        let refused = network.clone().with_zeros(wrong);
        assert_eq!(refused, Err(ShapeError::Zeros { count: 5 }));
    }
    let paper = Network::ffn(2, 1, 2, 1, Tying::Single).unwrap();
    assert!(matches!(
        paper.with_zeros(vec![0]),
        Err(ShapeError::Zeros { .. })
    ));
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
    // Rank two of five outputs, one of them zero, in thirty inputs: 2 x 28 + 4 x 3.
    assert_eq!(Network::affine(30, 5, 2).unwrap().count(), 68);
    // The linear model of thirteen inputs and three classes.
    assert_eq!(Network::affine(13, 3, 13).unwrap().count(), 28);
}

/// Networks in the paper's form, some of which ignore an input.
fn papers() -> impl Strategy<Value = Parameters> {
    let sizes = (1usize..5, 1usize..4, 1usize..6, 1usize..4);
    let random = (any::<u64>(), prop::bool::ANY);
    (sizes, tyings(), 0usize..4, random).prop_map(
        |((d, outputs, q, r), tying, activation, (seed, ignore))| {
            let network = Network::ffn(d, outputs, q, r, tying).unwrap();
            let network = network.with_activation(Activation::ALL[activation]);
            let fresh = |network| crate::init::fresh(network, 1.0, Stream::new(seed));
            let p = fresh(&network.unwrap());
            let mut values = p.values().to_vec();
            if ignore && d > 1 {
                (0..q).for_each(|row| values[row * d + d / 2] = 0.0);
            }
            Parameters::new(p.network().clone(), values).unwrap()
        },
    )
}

/// Largest difference of two functions, relative to the largest output of the first, at a few points; of several outputs, of how
/// far they are from the last.
fn difference(f: impl Fn(&[f64]) -> Vec<f64>, g: impl Fn(&[f64]) -> Vec<f64>, d: usize) -> f64 {
    let (mut apart, mut size) = (0.0f64, 0.0f64);
    for i in 0..8u64 {
        let s = Stream::new(7).nth(i);
        let x: Vec<f64> = (0..d as u64).map(|k| 4.0 * s.uniform(k) - 2.0).collect();
        let (f, g) = (f(&x), g(&x));
        let last = |out: &[f64]| {
            if out.len() > 1 {
                out[out.len() - 1]
            } else {
                0.0
            }
        };
        for (a, b) in f.iter().zip(&g) {
            apart = apart.max((a - last(&f) - b + last(&g)).abs());
            size = size.max(a.abs());
        }
    }
    apart / size
}

proptest! {
    /// The argument of the module's page: the change of basis that makes the lift canonical.
    #[test]
    fn the_canonical_form_is_the_same_function(p in papers()) {
        let d = p.network().d();
        let (network, values) = match p.canonical() {
            Ok(found) => found,
            // One draw in many is near a lift without full rank.
            Err(CanonicalError::Rank { rank, full }) => {
                prop_assert!(rank < full);
                return Ok(());
            }
            Err(other) => panic!("{other}"),
        };
        prop_assert!(network.count() <= p.network().count());
        let before = |x: &[f64]| forward(&p, x);
        let exact = difference(before, |x| forward_values(&network, &values, x), d);
        prop_assert!(exact < 1e-9, "{}", exact);
        // Coefficients up to a thousand times larger than before lose as much in 32 bits.
        let rounded = p.to_canonical().unwrap();
        let largest = values.iter().fold(1.0f64, |a, v| a.max(v.abs()));
        let rounding = difference(before, |x| forward(&rounded, x), d);
        prop_assert!(rounding < 1e-5 * largest, "{} {}", rounding, largest);
        // Already canonical, it stays as it is, also when its fixed coefficients were written out.
        prop_assert_eq!(&rounded.to_canonical().unwrap(), &rounded);
        let again = rounded.to_paper().to_canonical().unwrap();
        prop_assert_eq!(again.to_paper(), rounded.to_paper());
    }
}

/// Well-conditioned lifts of every tying, activation and side of `q = d`.
#[test]
fn canonical_networks_agree_to_five_digits() {
    for activation in Activation::ALL {
        for tying in [Tying::Single, Tying::Loop { t: 4 }, Tying::Untied { t: 3 }] {
            for q in [2, 3, 5] {
                let network = Network::ffn(3, 2, q, 4, tying).unwrap();
                let network = network.with_activation(activation).unwrap();
                let p = crate::init::fresh(&network, 1.0, Stream::new(3));
                let canonical = p.to_canonical().unwrap();
                let apart = difference(|x| forward(&p, x), |x| forward(&canonical, x), 3);
                assert!(apart < 1e-5, "{network} {apart}");
            }
        }
    }
}

#[test]
fn forms_that_carry_inputs_become_canonical_where_they_can() {
    let carried = |d: usize, q: usize, extra: usize| {
        let network = Network::ffn(d, 1, q, 2, Tying::Loop { t: 3 }).unwrap();
        let network = network.with_form(Form::Carried { extra }).unwrap();
        let values = (0..network.count()).map(|i| (i as f32 * 0.7).sin());
        Parameters::new(network, values.collect()).unwrap()
    };
    // All inputs are carried: the lift is canonical, and nothing is rounded.
    let all = carried(3, 4, 1);
    let canonical = all.to_canonical().unwrap();
    assert_eq!(canonical.network().form(), Form::Canonical);
    assert_eq!(canonical.to_paper(), all.to_paper());
    // One combination of three is carried and the other channel begins at zero.
    let refused = carried(3, 2, 1).to_canonical();
    let expected = CanonicalError::Rank { rank: 1, full: 2 };
    assert_eq!(refused, Err(expected));
    let affine = Network::affine(3, 2, 1).unwrap();
    let values = (0..affine.count()).map(|i| 1.0 + i as f32);
    let affine = Parameters::new(affine, values.collect()).unwrap();
    let x = [0.3, -0.2, 0.9];
    assert_eq!(
        forward(&affine.to_canonical().unwrap(), &x),
        forward(&affine, &x)
    );
}

#[test]
fn lifts_without_full_rank_and_transformers_are_refused() {
    let network = Network::ffn(3, 1, 2, 1, Tying::Single).unwrap();
    let refused = |lift: [f32; 6]| {
        let mut values = vec![0.5; network.count()];
        values[..6].copy_from_slice(&lift);
        let p = Parameters::new(network.clone(), values).unwrap();
        p.to_canonical().unwrap_err()
    };
    let rank = |rank, full| CanonicalError::Rank { rank, full };
    assert_eq!(refused([1.0, 2.0, 3.0, 2.0, 4.0, 6.0]), rank(1, 2));
    assert_eq!(refused([1.0, 2.0, 3.0, 1.0, 2.0, 3.00001]), rank(1, 2));
    assert_eq!(refused([0.0; 6]), rank(0, 2));
    let transformer = crate::Architecture::transformer(2);
    let transformer = Network::new(transformer, 2, 1, 4, 3, Tying::Single).unwrap();
    let p = crate::init::fresh(&transformer, 1.0, Stream::new(1));
    assert!(matches!(
        p.to_canonical(),
        Err(CanonicalError::Shape(ShapeError::FfnOnly { .. }))
    ));
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
