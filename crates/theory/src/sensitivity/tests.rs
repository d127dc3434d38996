//! Measured sensitivities against the bounds, and the closed forms against their recurrences.

use super::*;
use loopfit_model::reference::{LAYER_NORM_STABILISER, forward_values};
use loopfit_model::{Activation, Network, Tying};
use loopfit_numerics::stream::Stream;
use proptest::prelude::*;

/// Equation (S11) step by step in plain arithmetic.
fn ffn_by_recurrence(d: f64, q: f64, r: f64, m: f64, t: usize) -> f64 {
    let (mut z, mut e) = (m * (d + 1.0), d + 1.0);
    for _ in 0..t {
        let hidden = m * (q * z + 1.0);
        e = (1.0 + q * r * m * m) * e + 2.0 * r * hidden + 1.0;
        z += m * (r * hidden + 1.0);
    }
    (q * m * e + q * z + 1.0).max(1.0)
}

/// Lemma C.4 step by step in plain arithmetic.
fn transformer_by_recurrence(d: f64, n: f64, q: f64, r: f64, m: f64, eps: f64, t: usize) -> f64 {
    let radius = 1f64.max(m * (d + 1.0)).max(m * (q.sqrt() + 1.0));
    let a = m * (q * radius + 1.0);
    let zeta = 1.0 + 4.0 * q.sqrt() * a * a;
    let attention = |u: f64, delta: f64| {
        (q * m).powi(2) * zeta * u + (q * m * zeta * (q * radius + 1.0) + q * a + 1.0) * delta
    };
    let norm = |change: f64, delta: f64| m * (q / eps).sqrt() * change + (q.sqrt() + 1.0) * delta;
    let mut e = d + 1.0;
    for _ in 0..t {
        let v = norm(e + attention(e, 1.0), 1.0);
        e = norm(v + q * r * m * m * v + 2.0 * r * a + 1.0, 1.0);
    }
    (n * q * m * e + n * q * radius + 1.0).max(1.0)
}

proptest! {
    #[test]
    fn closed_forms_are_the_recurrences(
        d in 1usize..9, q in 1u64..30, r in 1u64..60, ln_m in -7f64..3.0, t in 1usize..12, groups in 1usize..9,
    ) {
        let m = ln_m.exp();
        let (df, qf, rf) = (d as f64, q as f64, r as f64);
        let close = |got: LogNumber, want: f64| (got.ln() - want.ln()).abs() < 1e-9;
        let ffn = Ffn::new(d, q, r, m).gamma(t as f64);
        prop_assert!(close(ffn, ffn_by_recurrence(df, qf, rf, m, t)));
        let tokens = groups + 3;
        let got = Transformer::new(d, tokens, q, r, m, 1e-5).gamma(t as f64);
        let want = transformer_by_recurrence(df, tokens as f64, qf, rf, m, 1e-5, t);
        prop_assert!(want.is_infinite() || close(got, want), "{:?} {}", got, want);
    }

    /// Two random networks in the box, near each other or not, tied or not: the outputs never differ by more than
    /// Gamma times the distance of the coefficients, and neither does the gradient: its sum of absolute values, which
    /// is the local sensitivity in the maximum norm, stays below Gamma.
    #[test]
    fn measured_sensitivity_stays_below_gamma(
        seed: u64, d in 1usize..4, q in 1usize..5, r in 1usize..6, t in 1usize..6, ln_m in -3f64..1.0,
        ln_distance in -12f64..0.7, transformer: bool, untied: bool, vertex: bool, unit in 0usize..3,
    ) {
        let architecture = if transformer { Architecture::transformer(d) } else { Architecture::Ffn };
        let tying = if untied { Tying::Untied { t } } else { Tying::Loop { t } };
        let network = Network::new(architecture.clone(), d, 1, q, r, tying).unwrap();
        let activation = [Activation::Relu, Activation::Tanh, Activation::Sine][if transformer { 0 } else { unit }];
        let network = network.with_activation(activation).unwrap();
        let m = ln_m.exp();
        let stream = Stream::new(seed);
        let draw = |label: &str| -> Vec<f64> {
            let part = stream.child(label);
            (0..network.count() as u64)
                .map(|i| if vertex { part.sign(i) } else { 2.0 * part.uniform(i) - 1.0 })
                .collect()
        };
        let first: Vec<f64> = draw("coefficients").iter().map(|u| m * u).collect();
        let distance = ln_distance.exp() * m;
        let second: Vec<f64> = first.iter().zip(draw("direction"))
            .map(|(value, u)| (value + distance * u).clamp(-m, m)).collect();
        let apart = first.iter().zip(&second).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let inputs = stream.child("inputs");
        let gamma = Sensitivity::new(&architecture, d, q as u64, r as u64, m, LAYER_NORM_STABILISER)
            .gamma(t as f64).value();
        for point in 0..4u64 {
            let x: Vec<f64> = (0..d as u64).map(|k| inputs.uniform(point * d as u64 + k)).collect();
            let output = |values: &[f64]| forward_values(&network, values, &x)[0];
            let change = (output(&first) - output(&second)).abs();
            prop_assert!(change <= gamma * apart * (1.0 + 1e-9), "{} {}", change, gamma * apart);
        }
        // Differences of a step inside the box, whose error is far below Gamma.
        let x: Vec<f64> = (0..d as u64).map(|k| inputs.uniform(100 + k)).collect();
        let step = 1e-6 * m;
        let slopes: f64 = (0..first.len()).map(|i| {
            let mut moved = first.clone();
            moved[i] -= step * first[i].signum();
            (forward_values(&network, &moved, &x)[0] - forward_values(&network, &first, &x)[0]).abs() / step
        }).sum();
        prop_assert!(slopes <= gamma * (1.0 + 1e-3), "{} {}", slopes, gamma);
    }
}

/// Where all coefficients are M and all inputs one, moving all coefficients down together attains Gamma: a smaller
/// bound would be wrong.
#[test]
fn the_ffn_bound_is_sharp() {
    for (tying, t) in [
        (Tying::Loop { t: 5 }, 5.0),
        (Tying::Untied { t: 3 }, 3.0),
        (Tying::Single, 1.0),
    ] {
        let (d, q, r, m) = (3, 2, 4, 0.6);
        let network = Network::new(Architecture::Ffn, d, 1, q, r, tying).unwrap();
        let output =
            |value: f64| forward_values(&network, &vec![value; network.count()], &[1.0; 3])[0];
        let step = 1e-7;
        let measured = (output(m) - output(m - step)) / step;
        let gamma = Ffn::new(d, q as u64, r as u64, m).gamma(t).value();
        assert!((measured / gamma - 1.0).abs() < 1e-5, "{measured} {gamma}");
    }
}

/// The proof's own majorant: L_blk <= 12 c^14 (q+1)^(15/2) (r+1) and K_blk <= 23 c^15 (q+1)^8 (r+1).
#[test]
fn blocks_stay_below_the_majorants_of_the_proof() {
    for (d, tokens, q, r, m, eps) in [
        (1, 4, 1u64, 1u64, 1.0f64, 1.0f64),
        (5, 8, 16, 64, 3.0, 1e-5),
        (20, 11, 300, 7, 0.1, 1e-3),
    ] {
        let c = [2.0, d as f64 + 1.0, tokens as f64, m, eps.powf(-0.5)]
            .into_iter()
            .fold(0.0, f64::max);
        let bounds = Transformer::new(d, tokens, q, r, m, eps);
        let (qf, rf) = (q as f64 + 1.0, r as f64 + 1.0);
        assert!(bounds.l_blk.ln() <= (12.0 * c.powi(14) * qf.powf(7.5) * rf).ln());
        assert!(bounds.k_blk.ln() <= (23.0 * c.powi(15) * qf.powi(8) * rf).ln());
    }
}

#[test]
fn nothing_overflows() {
    let largest = 1 << 59;
    for m in [1e-15, 1.0, 1e15] {
        for t in [1.0, 1e18] {
            for (q, r) in [(1, 1), (largest, largest)] {
                let ffn = Ffn::new(1 << 24, q, r, m).gamma(t).ln();
                let transformer = Transformer::new(1 << 24, 11, q, r, m, 1e-300).gamma(t).ln();
                for ln in [ffn, transformer] {
                    assert!(ln.is_finite() && ln >= 0.0, "{m} {t} {q}: {ln}");
                }
            }
        }
    }
}
