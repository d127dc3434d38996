use super::*;
use loopfit_numerics::lanes::{Across, Kernel, Level};
use loopfit_numerics::quadrature::integrate;
use proptest::collection::vec;
use proptest::prelude::*;

/// A smooth index with a closed form: `sum_k c_k cos(2 pi x_k)`, whose normaliser is a
/// product of Bessel functions `I_0(c_k)`.
fn cosines(points: &[f64], c: &[f64]) -> Vec<f64> {
    points
        .chunks(c.len())
        .map(|x| {
            x.iter()
                .zip(c)
                .map(|(x, c)| c * (std::f64::consts::TAU * x).cos())
                .sum()
        })
        .collect()
}

fn line(n: usize) -> Energy {
    Energy::new(1, Nodes::LowDiscrepancy { n }).unwrap()
}

#[test]
fn rules_are_checked() {
    let grid = |d, side| Energy::new(d, Nodes::Grid { side });
    let halton = |d, n| Energy::new(d, Nodes::LowDiscrepancy { n });
    assert_eq!(grid(0, 8), Err(Error::NoCoordinates));
    assert_eq!(grid(4, 8), Err(Error::GridDimension(4)));
    assert_eq!(grid(2, 0), Err(Error::NodeCount(0)));
    assert_eq!(grid(3, 1000), Err(Error::NodeCount(1_000_000_000)));
    assert_eq!(halton(5, 0), Err(Error::NodeCount(0)));
    assert!(grid(3, usize::MAX).is_err() && halton(5, usize::MAX).is_err());
    assert_eq!(Energy::training(0), Err(Error::NoCoordinates));

    let text = r#"{"d":2,"nodes":{"grid":{"side":32}}}"#;
    let read: Energy = serde_json::from_str(text).unwrap();
    assert_eq!(read, Energy::training(2).unwrap());
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert!(serde_json::from_str::<Energy>(r#"{"d":4,"nodes":{"grid":{"side":2}}}"#).is_err());
}

#[test]
fn default_rules() {
    // The paper, Section F.4.5: 32 x 32 for training, 128 x 128 for validation.
    assert_eq!(Energy::training(2).unwrap().node_count(), 32 * 32);
    assert_eq!(Energy::evaluation(2).unwrap().node_count(), 128 * 128);
    for d in 1..8 {
        for rule in [Energy::training(d).unwrap(), Energy::evaluation(d).unwrap()] {
            assert_eq!(rule.node_points().len(), rule.node_count() * d);
        }
    }
}

/// log I_0(c) from its integral, independent of the node rules.
fn log_bessel(c: f64) -> f64 {
    integrate(0.0, 1.0, 8, |x| {
        (c * (std::f64::consts::TAU * x).cos()).exp()
    })
    .ln()
}

#[test]
fn normalisers_match_bessel_functions() {
    let c = [1.3, 0.7, -0.9, 0.4, 0.8];
    // Periodic indices are integrated by grids almost exactly, by Halton points to about
    // (log n)^d / n.
    for (d, training, evaluation) in [
        (1, 1e-13, 1e-13),
        (2, 1e-13, 1e-13),
        (3, 1e-13, 1e-13),
        (4, 5e-3, 5e-4),
        (5, 5e-3, 5e-4),
    ] {
        let exact: f64 = c[..d].iter().map(|&c| log_bessel(c)).sum();
        for (rule, tolerance) in [
            (Energy::training(d).unwrap(), training),
            (Energy::evaluation(d).unwrap(), evaluation),
        ] {
            let got = rule.log_normaliser(&cosines(&rule.node_points(), &c[..d]));
            assert!((got - exact).abs() < tolerance, "d {d}: {got} {exact}");
        }
    }
}

/// The density normalised on the training grid integrates to one on a finer one; the index is
/// not periodic, so the midpoint rule's error h^2/24 times second derivatives shows.
#[test]
fn density_integrates_to_one() {
    let index = |points: &[f64]| -> Vec<f64> {
        points
            .chunks(2)
            .map(|x| 1.5 * x[0] - 2.0 * (x[1] - 0.3).powi(2) + x[0] * x[1])
            .collect()
    };
    let training = Energy::training(2).unwrap();
    let log_z = training.log_normaliser(&index(&training.node_points()));
    let finer = Energy::new(2, Nodes::Grid { side: 300 }).unwrap();
    let masses: Vec<f64> = index(&finer.node_points())
        .iter()
        .map(|&f| (-training.nll(log_z, f)).exp())
        .collect();
    assert!((mean(&masses) - 1.0).abs() < 5e-4);
}

#[test]
fn distances_match_the_integrals() {
    // On [0,1] with f = 1.2 cos, g = -0.6 cos(2 pi x): a fine grid against Gauss-Legendre.
    let (a, b) = (1.2, -0.6);
    let rule = Energy::new(1, Nodes::Grid { side: 256 }).unwrap();
    let points = rule.node_points();
    let (f, g) = (cosines(&points, &[a]), cosines(&points, &[b]));
    let (log_a, log_b) = (log_bessel(a), log_bessel(b));
    let over = |term: &dyn Fn(f64, f64) -> f64| {
        integrate(0.0, 1.0, 8, |x| {
            let cos = (std::f64::consts::TAU * x).cos();
            term(a * cos - log_a, b * cos - log_b)
        })
    };
    let h2 = over(&|p, q| ((p / 2.0).exp() - (q / 2.0).exp()).powi(2));
    assert!((rule.hellinger_squared(&f, &g) - h2).abs() < 1e-12);
    let divergence = over(&|p, q| p.exp() * (p - q));
    assert!((rule.kl(&f, &g) - divergence).abs() < 1e-12);
    for gamma in [0.2, 0.5, 1.0] {
        let rho = over(&|p, q| p.exp() * ((gamma * (p - q)).exp() - 1.0)) / gamma;
        let gamma = Gamma::new(gamma).unwrap();
        assert!((rule.rho(gamma, &f, &g) - rho).abs() < 1e-11);
    }
}

#[test]
fn huge_values_and_wrong_lengths() {
    let rule = line(3);
    assert_eq!(rule.log_normaliser(&[1e300; 3]), 1e300);
    assert_eq!(
        rule.hellinger_squared(&[1e300, 0.0, 0.0], &[0.0, 1e300, 0.0]),
        2.0
    );
    let wrong = Error::Length {
        expected: 3,
        got: 2,
    };
    assert_eq!(rule.average_nll(&[0.0], &[0.0, 0.0]), Err(wrong));
}

struct Weights<'a>(Energy, &'a [Lane]);

impl Kernel for Weights<'_> {
    type Output = Vec<Lane>;
    #[inline(always)]
    fn run<S: Across>(self, s: S) -> Vec<Lane> {
        let mut out = vec![Lane([f32::NAN; LANES]); self.1.len()];
        self.0.node_derivative_lanes(s, self.1, &mut out);
        out
    }
}

/// Node values as lines, with the given value in the padding.
fn lines(values: &[f64], padding: f32) -> Vec<Lane> {
    values
        .chunks(LANES)
        .map(|chunk| {
            Lane(std::array::from_fn(|i| {
                chunk.get(i).map_or(padding, |&v| v as f32)
            }))
        })
        .collect()
}

#[test]
fn nan_at_a_node_reaches_every_weight() {
    let mut values = vec![0.0; 20];
    values[17] = f64::NAN;
    let got = Level::fastest().run(Weights(line(20), &lines(&values, 0.0)));
    assert!(got.iter().flat_map(|l| l.0).take(16).all(|w| w.is_nan()));
}

proptest! {
    #[test]
    fn derivative_is_the_slope(data in vec(-3.0f64..3.0, 4), nodes in vec(-3.0f64..3.0, 7)) {
        let rule = line(7);
        let mut w = [0.0; 7];
        rule.node_derivative(&nodes, &mut w);
        let slope = |i: usize| {
            let at = |h: f64| {
                let (mut data, mut nodes) = (data.clone(), nodes.clone());
                if i < 7 { nodes[i] += h } else { data[0] += h }
                rule.average_nll(&data, &nodes).unwrap()
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        for (i, w) in w.iter().enumerate() {
            prop_assert!((slope(i) - w).abs() < 1e-9);
        }
        prop_assert!((slope(7) - rule.data_derivative(4)).abs() < 1e-9);
    }

    #[test]
    fn fisher_is_the_second_derivative(f in vec(-3.0f64..3.0, 9), delta in vec(-1.0f64..1.0, 9)) {
        let rule = line(9);
        let at = |t: f64| {
            let moved: Vec<f64> = f.iter().zip(&delta).map(|(f, d)| f + t * d).collect();
            rule.log_normaliser(&moved)
        };
        let h = 1e-3;
        let second = (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h);
        prop_assert!((second - rule.fisher(&f, &delta)).abs() < 1e-6);
    }

    #[test]
    fn lanes_agree(values in vec(-30.0f64..30.0, 1..100), padding in prop_oneof![
        Just(f32::NAN), Just(f32::INFINITY), Just(1e30), Just(0.0)
    ]) {
        let values: Vec<f64> = values.iter().map(|&v| f64::from(v as f32)).collect();
        let rule = line(values.len());
        let padded = lines(&values, padding);
        let got = Level::fastest().run(Weights(rule, &padded));
        for level in Level::available() {
            prop_assert_eq!(&level.run(Weights(rule, &padded)), &got);
        }
        let mut exact = vec![0.0; values.len()];
        rule.node_derivative(&values, &mut exact);
        let weights: Vec<f32> = got.iter().flat_map(|l| l.0).collect();
        // Rounding f - top, up to 60 here, to 32 bits moves its exponential by 60 * 2^-24 = 3.6e-6.
        for (w, exact) in weights.iter().zip(&exact) {
            prop_assert!((f64::from(*w) - exact).abs() <= 6e-6 * exact + 1e-30);
        }
        prop_assert!(weights[values.len()..].iter().all(|&w| w == 0.0));
    }

    /// Adding constants to the indices leaves densities and distances alone.
    #[test]
    fn constants_do_not_matter(
        f in vec(-3.0f64..3.0, 9), g in vec(-3.0f64..3.0, 9), a in -50.0f64..50.0,
    ) {
        let rule = line(9);
        let moved: Vec<f64> = f.iter().map(|f| f + a).collect();
        let close = |x: f64, y: f64| (x - y).abs() < 1e-11 * (1.0 + y.abs());
        prop_assert!(rule.hellinger_squared(&f, &moved) < 1e-24);
        prop_assert!(close(rule.kl(&moved, &g), rule.kl(&f, &g)));
        prop_assert!(close(rule.rho(Gamma::HALF, &g, &moved), rule.rho(Gamma::HALF, &g, &f)));
    }

    #[test]
    fn rho_is_the_closed_form(
        f in vec(-3.0f64..3.0, 9), g in vec(-3.0f64..3.0, 9), gamma in 0.01f64..1.0,
    ) {
        let rule = line(9);
        let mixed: Vec<f64> =
            f.iter().zip(&g).map(|(f, g)| (1.0 + gamma) * f - gamma * g).collect();
        let exponent = rule.log_normaliser(&mixed)
            - (1.0 + gamma) * rule.log_normaliser(&f)
            + gamma * rule.log_normaliser(&g);
        let got = rule.rho(Gamma::new(gamma).unwrap(), &f, &g);
        prop_assert!((got - exponent.exp_m1() / gamma).abs() < 1e-11 * (1.0 + got));
    }
}
