use super::*;
use crate::activation::Activation;
use crate::init::fresh;
use crate::reference::forward;
use proptest::prelude::*;

fn start(architecture: &Architecture, outputs: usize, tying: Tying, seed: u64) -> Parameters {
    let network = Network::new(architecture.clone(), 3, outputs, 4, 5, tying).unwrap();
    fresh(&network, 1.0, Stream::new(seed))
}

/// The FFN of a form and an activation; in other forms than the paper's it reads two of its inputs if they suffice.
fn ffn_start(
    form: Form,
    activation: Activation,
    outputs: usize,
    tying: Tying,
    seed: u64,
) -> Parameters {
    let of = |d| {
        let network = Network::ffn(d, outputs, 4, 5, tying).unwrap();
        let network = network.with_activation(activation).unwrap();
        network.with_form(form)
    };
    let some = of(2).and_then(|network| network.reading(3, vec![2, 0]));
    let network = some.or(of(3)).unwrap();
    fresh(&network, 1.0, Stream::new(seed))
}

fn any_form() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Paper),
        Just(Form::Canonical),
        (1usize..4).prop_map(|extra| Form::Carried { extra }),
    ]
}

fn any_activation() -> impl Strategy<Value = Activation> {
    prop::sample::select(Activation::ALL.to_vec())
}

/// The same with other gains and biases of the layer norms.
fn moved(parameters: &Parameters, seed: u64) -> Parameters {
    let network = parameters.network().clone();
    let mut values = parameters.values().to_vec();
    for view in &network.layout() {
        if matches!(view.role, Role::Gain | Role::Shift) {
            for i in view.range() {
                values[i] += 0.4 * Stream::new(seed).child("moved").normal(i as u64) as f32;
            }
        }
    }
    Parameters::new(network, values).unwrap()
}

/// The largest difference of two functions at a few points.
fn distance(a: &Parameters, b: &Parameters) -> f64 {
    let points = [[0.0, 0.5, 1.0], [-1.0, 2.0, 0.3], [0.9, -0.1, -2.5]];
    let differences = points.iter().flat_map(|x| {
        let (f, g) = (forward(a, x), forward(b, x));
        f.into_iter().zip(g).map(|(f, g)| (f - g).abs())
    });
    differences.fold(0.0, f64::max)
}

fn any_start() -> impl Strategy<Value = Parameters> {
    let sizes = (1usize..4, 0usize..3, 1usize..5);
    (
        any::<bool>(),
        any_form(),
        any_activation(),
        sizes,
        any::<u64>(),
    )
        .prop_map(
            |(transformer, form, activation, (outputs, method, t), seed)| {
                let tying = [Tying::Single, Tying::Loop { t }, Tying::Untied { t }][method];
                if transformer {
                    start(&Architecture::transformer(3), outputs, tying, seed)
                } else {
                    ffn_start(form, activation, outputs, tying, seed)
                }
            },
        )
}

proptest! {
    #[test]
    fn widening_preserves_the_function(p in any_start(), more in 0usize..6, seed: u64) {
        let wide = widen(&p, 5 + more, Stream::new(seed)).unwrap();
        prop_assert_eq!(wide.network().r(), 5 + more);
        prop_assert_eq!(wide.network().tying(), p.network().tying());
        // Zeros are added to the sums, in the same order: not one bit changes.
        prop_assert_eq!(distance(&p, &wide), 0.0);
    }

    #[test]
    fn deepening_preserves_the_function(
        form in any_form(), activation in any_activation(), t in 1usize..4, more in 0usize..4, seed: u64,
    ) {
        for tying in [Tying::Single, Tying::Untied { t }] {
            let p = ffn_start(form, activation, 2, tying, seed);
            let deep = deepen(&p, t + more, Stream::new(seed)).unwrap();
            prop_assert_eq!(deep.network().tying(), Tying::Untied { t: t + more });
            prop_assert_eq!(distance(&p, &deep), 0.0);
        }
    }

    #[test]
    fn iterating_preserves_constant_increments(
        form in any_form(), activation in any_activation(), t in 1usize..9, t_new in 1usize..40, seed: u64,
    ) {
        for tying in [Tying::Single, Tying::Loop { t }] {
            let p = ffn_start(form, activation, 1, tying, seed);
            let (network, mut values) = (p.network().clone(), p.into_values());
            let layout = network.layout();
            // Without W1 an update adds W2 s(b1) + b2, whatever the state.
            values[layout.get("block.0.w1").unwrap().range()].fill(0.0);
            if let Some(b2) = layout.get("block.0.b2") {
                values[b2.range()].fill(0.25);
            }
            let p = Parameters::new(network, values).unwrap();
            let other = iterate(&p, t_new).unwrap();
            prop_assert_eq!(other.network().tying(), Tying::Loop { t: t_new });
            prop_assert!(distance(&p, &other) < 1e-5);
        }
    }

    #[test]
    fn rescaling_preserves_predictions_on_the_original_scale(
        p in any_start(),
        mean in -100.0..100.0, sd in 0.1..10.0, new_mean in -100.0..100.0, new_sd in 0.1..10.0,
    ) {
        // Classes have no normalisation.
        prop_assume!(p.network().outputs() == 1);
        let from = Normalisation { mean, sd };
        let to = Normalisation { mean: new_mean, sd: new_sd };
        let q = rescale(&p, from, to).unwrap();
        let x = [0.3, -0.7, 1.1];
        for (f, g) in forward(&p, &x).into_iter().zip(forward(&q, &x)) {
            let (old, new) = (mean + sd * f, new_mean + new_sd * g);
            // The new bias is of size (mean - mean') / sd' and rounded to 32 bits.
            prop_assert!((old - new).abs() < 1e-4, "{old} became {new}");
        }
    }
}

/// Gains and biases are arbitrary; what is left is the stabiliser's doing. Fixed seeds: where a row
/// has hardly any variance, the stabiliser does more.
#[test]
fn deepening_a_transformer_preserves_its_function_up_to_the_stabiliser() {
    for seed in 0..64 {
        for (tying, t) in [
            (Tying::Single, 1),
            (Tying::Single, 2),
            (Tying::Single, 5),
            (Tying::Untied { t: 2 }, 4),
        ] {
            let p = moved(&start(&Architecture::transformer(3), 2, tying, seed), seed);
            let deep = deepen(&p, t, Stream::new(seed)).unwrap();
            assert_eq!(deep.network().tying(), Tying::Untied { t });
            let difference = distance(&p, &deep);
            assert!(
                difference < 1e-3,
                "seed {seed}, {tying:?} to {t}: {difference}"
            );
            assert_eq!(difference == 0.0, t == 1);
        }
    }
}

#[test]
fn new_units_are_drawn_as_at_initialisation() {
    let stream = Stream::new(5).child("widening");
    let p = start(&Architecture::Ffn, 1, Tying::Single, 1);
    let wide = widen(&p, 8, stream).unwrap();
    let wide_start = fresh(wide.network(), 1.0, stream);
    assert_eq!(wide.view("block.0.w1")[..20], *p.view("block.0.w1"));
    assert_eq!(
        wide.view("block.0.w1")[20..],
        wide_start.view("block.0.w1")[20..]
    );
    assert_eq!(
        wide.view("block.0.b1")[5..],
        wide_start.view("block.0.b1")[5..]
    );
    let deep = deepen(&p, 2, stream).unwrap();
    assert!(deep.view("block.1.w1").iter().all(|&v| v != 0.0));
    for name in ["block.1.w2", "block.1.b2"] {
        assert!(deep.view(name).iter().all(|&v| v.to_bits() == 0), "{name}");
    }
}

/// Doubling T again and again follows Euler's method for a flow: an error of order
/// 1/T, so each change is about half the one before.
#[test]
fn iterating_approaches_a_flow() {
    for architecture in [Architecture::Ffn, Architecture::transformer(3)] {
        let p = moved(&start(&architecture, 1, Tying::Single, 3), 3);
        let at = |t| iterate(&p, t).unwrap();
        let change = |t| distance(&at(t), &at(2 * t));
        for t in [64, 128, 256] {
            let ratio = change(2 * t) / change(t);
            assert!((0.45..0.55).contains(&ratio), "T = {t}: {ratio}");
        }
        // Halving and doubling are exact in binary, but for gains near one.
        let back = iterate(&at(16), 1).unwrap();
        if architecture == Architecture::Ffn {
            assert_eq!(back.values(), p.values());
        }
        for (a, b) in back.values().iter().zip(p.values()) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
}

#[test]
fn impossible_growth_is_refused() {
    let stream = Stream::new(0);
    let of = |tying| start(&Architecture::Ffn, 1, tying, 0);
    let (single, looped, untied) = (
        of(Tying::Single),
        of(Tying::Loop { t: 2 }),
        of(Tying::Untied { t: 2 }),
    );
    assert_eq!(
        widen(&single, 4, stream),
        Err(GrowthError::Narrower { from: 5, to: 4 })
    );
    assert!(matches!(
        widen(&single, usize::MAX, stream),
        Err(GrowthError::Shape(_))
    ));
    assert_eq!(
        deepen(&untied, 1, stream),
        Err(GrowthError::Shallower { from: 2, to: 1 })
    );
    assert_eq!(deepen(&looped, 3, stream), Err(GrowthError::DeepenLoop));
    assert_eq!(iterate(&untied, 3), Err(GrowthError::IterateUntied));
    assert!(matches!(iterate(&looped, 0), Err(GrowthError::Shape(_))));
    let affine = fresh(&Network::affine(3, 1, 2).unwrap(), 1.0, stream);
    assert_eq!(widen(&affine, 0, stream).as_ref(), Ok(&affine));
    for grown in [
        widen(&affine, 1, stream),
        deepen(&affine, 2, stream),
        iterate(&affine, 2),
    ] {
        assert!(matches!(
            grown,
            Err(GrowthError::Shape(ShapeError::Form { .. }))
        ));
    }
    let good = Normalisation { mean: 0.0, sd: 1.0 };
    for (mean, sd) in [
        (f64::NAN, 1.0),
        (0.0, 0.0),
        (0.0, -1.0),
        (0.0, f64::INFINITY),
    ] {
        let bad = Normalisation { mean, sd };
        for (from, to) in [(good, bad), (bad, good)] {
            let error = rescale(&single, from, to).unwrap_err();
            assert!(matches!(error, GrowthError::Normalisation { .. }));
        }
    }
    let tiny = Normalisation {
        mean: 0.0,
        sd: 1e-300,
    };
    assert!(matches!(
        rescale(&single, good, tiny),
        Err(GrowthError::Parameters(ParametersError::NotFinite { .. }))
    ));
}
