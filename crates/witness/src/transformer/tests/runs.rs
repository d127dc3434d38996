//! Runs against each other, against closed forms, and against the reference implementation.

use super::*;
use crate::arithmetic::{Arithmetic, BigFloat, F64};
use loopfit_model::reference::forward_values;
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;

/// Partitions, stabilisers and padding.
fn settings() -> Vec<(Setting, usize)> {
    let with = |partition: Vec<Vec<usize>>, stabiliser: &str, extra: usize| {
        let d = partition.iter().map(Vec::len).sum();
        let setting = Setting {
            partition,
            stabiliser: r(stabiliser),
            q: match extra {
                0 => None,
                _ => Some(witness(d, "1", 1, 0).resources().q_hom + extra),
            },
            ..Setting::new(d)
        };
        (setting, d)
    };
    vec![
        with(vec![vec![0]], "1/100000", 0),
        with(vec![vec![0]], "1/10", 211),
        with(vec![vec![1], vec![0]], "1/1000", 7),
        with(vec![vec![0, 1]], "3", 0),
    ]
}

/// `|a - b| <= 2^-bits max(|a|, 1)`.
fn assert_near(a: &Rational, b: &Rational, bits: i64, what: &str) {
    let size = a.abs().max(Rational::ONE).scaled(-bits);
    assert!((a - b).abs() <= size, "{what}: {a:?} and {b:?}");
}

/// Lemma E.2 in every iteration: the tokens of the literal run are `alpha I_q(z)` of the native
/// one, and so are the outputs.
#[test]
fn physical_runs_are_native_runs() {
    for ((setting, d), h) in settings().into_iter().zip([1, 0, 0, 1]) {
        let witness = witness_with(d, "1", 1, h, setting);
        let float = BigFloat::new(witness.default_bits());
        let (native, physical) = (witness.runner(float), witness.physical(float));
        let x = point(d);
        let (mut native, mut physical) = (native.start(&x).unwrap(), physical.start(&x).unwrap());
        let clear = witness.resources().times.clear;
        for iteration in 1..=clear + 2 {
            native.step();
            physical.step();
            if iteration % 16 != 1 && iteration < clear {
                continue;
            }
            for token in 0..witness.resources().tokens {
                let scale = native.inverse_square_scale(token);
                let scale = float.divide(&Rational::ONE, &float.square_root(scale));
                let encoded = witness.encoding().encode(native.state(token));
                for (a, b) in encoded.iter().zip(physical.token(token)) {
                    assert_near(&(a * &scale), b, 150, "a token");
                }
            }
            let (a, b) = (native.output().unwrap(), physical.output().unwrap());
            assert_near(&a, &b, 150, "an output");
        }
        let v = &native.state(witness.controller())[witness.native().v().0];
        let exact = witness.exact().evaluate(&x).unwrap();
        assert_near(v, &exact.v, 150, "v");
        assert!(!exact.u.is_zero(), "a dead machine passes with u = 0");
    }
}

/// (S66): from `T_clear` on the scale goes to its limit at the rate `rho_LN^2`, for 1000
/// iterations, and the output to within the readout accuracy of `Hu`.
#[test]
fn cleared_networks_converge() {
    for (setting, d) in settings() {
        let witness = witness_with(d, "1", 2, 1, setting);
        let x = point(d);
        let clear = witness.resources().times.clear;
        let after = [0, 1, 2, 5, 30, 1000];
        let settled = witness.settled(&x, &after.map(|j| clear + j)).unwrap();
        assert_eq!(settled.bits, witness.default_bits());
        let outcome = witness.exact().evaluate(&x).unwrap();
        let (scale_limit, limit) = witness.limit(&outcome.v, 300);
        let stabiliser = &witness.setting().stabiliser;
        let rho = stabiliser * (stabiliser + Rational::ONE).reciprocal().unwrap();
        let float = BigFloat::new(300);
        let start = &settled.inverse_square_scales[0] - &scale_limit;
        for (j, scale) in after.iter().zip(&settled.inverse_square_scales) {
            let power = (0..2 * j).fold(Rational::ONE, |power, _| float.multiply(&power, &rho));
            assert_near(&(&scale_limit + power * &start), scale, 150, "d_alpha");
        }
        assert_near(settled.values.last().unwrap(), &limit, 150, "the limit");
        // v -> sqrt(2) v / sqrt(v^2 + 2) is 1-Lipschitz.
        assert!((limit - outcome.u).abs() <= witness.correction().accuracy());
    }
}

/// (S51) and (S52): the comparator after one comparison, from the scales, in `f64`.
#[test]
fn comparison_signals_have_the_closed_form() {
    for (setting, d) in settings() {
        let witness = witness_with(d, "1", 1, 1, setting);
        let runner = witness.runner(BigFloat::new(200));
        // So near to 1/2 that the comparator does not saturate at once.
        let mut x = point(d);
        x[0] = r("0.4999");
        let mut run = runner.start(&x).unwrap();
        run.step();
        let scale = |token: usize| 1.0 / run.inverse_square_scale(token).to_f64().sqrt();
        let (alpha, eta) = (scale(witness.controller()), scale(witness.controller() + 1));
        let [remainder, comparator, ..] = witness.native().routing.data[0];
        let u = run.state(witness.controller())[remainder.0].to_f64();
        assert!((u - (2.0 * 0.4999 - 1.0)).abs() < 1e-15);
        let n = witness.resources().tokens;
        let t = alpha * eta * u;
        let f = 2.0 * libm::sinh(t) / (n as f64 - 2.0 + 2.0 * libm::cosh(t));
        let signal = eta / alpha * f;
        run.step();
        let w = run.state(witness.controller())[comparator.0].to_f64();
        assert!(
            (w - signal).abs() <= 1e-13 * signal.abs(),
            "{w} and {signal}"
        );
        assert!(
            w.abs() < 1.0
                && w.abs() >= routing::least_signal(n, witness.resources().q_hom) * u.abs()
        );
    }
}

/// The tensors are those of an ordinary model: the reference implementation, dense and in `f64`,
/// gives every token. A random output function looks at all of them at once.
#[test]
fn ordinary_models_compute_the_same() {
    // Model files have this stabiliser.
    let setting = Setting {
        partition: vec![vec![1], vec![0]],
        ..Setting::new(2)
    };
    let witness = witness_with(2, "1", 1, 1, setting);
    let x = point(2);
    for iterations in [1, 2, 3] {
        let network = witness.network(iterations).unwrap();
        assert_eq!(network.count() as u128, witness.resources().count);
        let mut values = witness.dense(&network, &F64);
        let layout = network.layout();
        let view = layout.get("output.weight").unwrap();
        let stream = Stream::new(7);
        let weights: Vec<_> = (0..view.size())
            .map(|i| stream.uniform(i as u64) - 0.5)
            .collect();
        values[view.range()].clone_from_slice(&weights);
        let inputs: Vec<_> = x.iter().map(Rational::to_f64).collect();
        let expected = forward_values(&network, &values, &inputs)[0];
        let runner = witness.physical(F64);
        let mut run = runner.start(&x).unwrap();
        run.advance(iterations);
        let tokens = (0..witness.resources().tokens).flat_map(|token| run.token(token).to_vec());
        let found: f64 = tokens.zip(&weights).map(|(z, w)| z * w).sum();
        assert!((found - expected).abs() < 1e-10, "{found} and {expected}");
    }
}

/// A target and a bound twice as large: the same codes and `u`, outputs twice as large.
#[test]
fn outputs_scale_with_the_bound() {
    let x = point(2);
    let settled = ["1", "2"].map(|h| {
        let resolution = Resolution::new(2, r("3/2"), r(h), 1).unwrap();
        let terms = [
            (vec![1, 0], "1/3"),
            (vec![1, 1], "-1/2"),
            (vec![0, 2], "1/4"),
        ];
        let terms = terms.map(|(exponents, c)| (exponents, r(c) * r(h)));
        let target = Polynomial::new(2, terms.into()).unwrap();
        let setting = Setting {
            partition: vec![vec![0, 1]],
            ..Setting::new(2)
        };
        let witness = Witness::new(resolution, 1, setting, &target).unwrap();
        let outcome = witness.exact().evaluate(&x).unwrap();
        let end = witness.resources().times.clear + 40;
        let settled = witness.settled(&x, &[end]).unwrap();
        let (_, limit) = witness.limit(&outcome.v, 300);
        assert_near(&settled.values[0], &limit, 150, "the limit");
        assert!(!outcome.u.is_zero());
        (
            outcome.u,
            settled.values[0].scaled(1 - r(h).to_f64() as i64),
        )
    });
    assert_eq!(settled[0].0, settled[1].0);
    assert_near(&settled[0].1, &settled[1].1, 150, "half of the double");
}

/// A run tells what a trace needs: the active phase and what changed, iteration by iteration.
#[test]
fn runs_can_be_traced() {
    let witness = witness(1, "1", 1, 1);
    let runner = witness.runner(BigFloat::new(witness.default_bits()));
    let mut run = runner.start(&point(1)).unwrap();
    let times = witness.resources().times;
    let mut names = Vec::new();
    for _ in 0..times.clear {
        let phases = run.active_phases();
        assert_eq!(phases.len(), 1);
        names.push(phases[0].name.to_owned());
        let changed = run.step();
        assert!(!changed.is_empty());
    }
    assert!(run.active_phases().is_empty());
    assert!(run.step().is_empty());
    assert_eq!(names[0], "route [boot]");
    assert_eq!(names[times.route], "front [warm-up]");
    assert_eq!(names[times.load], "eval [reset p]");
    assert_eq!(names[times.halt], "eval [halt]");
    assert_eq!(names[times.clear - 1], "read [18 clear]");
}

/// Section E.2.5: a remainder that is zero, one that is small, one that is not.
#[test]
fn exceptional_inputs_are_known() {
    let witness = witness(1, "1", 2, 1);
    // delta = K^-2 = 1/16, so that inputs within 1/32 of 1/2 are exceptional.
    assert_eq!(witness.routing().delta, Some(1.0 / 16.0));
    let exceptional = |x: &str| witness.is_exceptional(&[r(x)]);
    assert!(exceptional("1/2") && exceptional("0.53") && exceptional("0.47"));
    assert!(!exceptional("0.532") && !exceptional("0.467"));
    // The strips of half-width 2^-8 around faces.
    assert!(exceptional("1/4") && exceptional("0.2529") && exceptional("1"));
    assert!(!exceptional("0.26") && !exceptional("0.99"));
}

/// Faces, corners and points beside them: ideal comparisons lead to an integer address there as
/// well, and `u` is a fraction of a cell's value. Rounded runs end with a number, even where the
/// comparator has not saturated and the lookup interpolates between codes.
#[test]
fn exceptional_inputs_are_run() {
    for reader in [Reader::Paper, Reader::Dyadic] {
        let setting = Setting {
            reader,
            ..Setting::new(1)
        };
        let witness = witness_with(1, "1", 2, 2, setting);
        let exact = witness.exact();
        let runner = witness.runner(BigFloat::new(witness.default_bits()));
        let tiny = Rational::power_of_two(-60);
        for face in ["0", "1/4", "1/2", "3/4", "1"] {
            for x in [r(face), r(face) - &tiny, r(face) + &tiny] {
                if x.is_negative() || x > Rational::ONE {
                    continue;
                }
                assert!(witness.is_exceptional(std::slice::from_ref(&x)));
                let outcome = exact.evaluate(std::slice::from_ref(&x)).unwrap();
                assert!(outcome.u.abs() <= Rational::ONE);
                let mut run = runner.start(&[x]).unwrap();
                run.advance(witness.resources().times.clear);
                run.output().unwrap();
            }
        }
    }
}

#[test]
fn model_files_have_one_stabiliser() {
    let setting = Setting {
        stabiliser: r("1/1000"),
        ..Setting::new(1)
    };
    let refused = witness_with(1, "1", 1, 0, setting).parameters(7);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("stabiliser is 1/1000")
    );
    let witness = witness(1, "1", 1, 0);
    let parameters = witness.parameters(7).unwrap();
    assert_eq!(
        parameters.network().count() as u128,
        witness.resources().count
    );
    let largest = parameters.values().iter().fold(0f32, |m, v| m.max(v.abs()));
    assert_eq!(
        Some(witness.resources().largest_parameter.clone()),
        Rational::from_f64(largest.into())
    );
}

/// Copies, mean square and count of a padded shape, by hand.
#[test]
fn padding_is_counted() {
    let plain = witness(1, "1", 1, 0);
    let setting = Setting {
        q: Some(plain.resources().q_hom * 2 + 3),
        r: Some(plain.resources().r_impl + 5),
        ..Setting::new(1)
    };
    let padded = witness_with(1, "1", 1, 0, setting);
    assert_eq!(padded.encoding().copies(), 2);
    assert_eq!(padded.encoding().lambda(), Rational::new(4, 419u16));
    let (q, r) = (419u128, 2336 + 5u128);
    // (S47) with N = 4.
    let expected = q * 9 + 1 + 4 * q * q + (2 * q + 1) * r + 9 * q;
    assert_eq!(padded.resources().count, expected);
}
