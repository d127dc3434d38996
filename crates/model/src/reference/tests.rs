use super::*;
use crate::tying::Tying;

/// Coefficient `i` is `((37 i + 11) mod 64 - 32) / 32`: exact in 32 bits.
fn example(network: Network) -> Parameters {
    let values = (0..network.count())
        .map(|i| ((37 * i + 11) % 64) as f32 / 32.0 - 1.0)
        .collect();
    Parameters::new(network, values).unwrap()
}

/// Expected outputs: a separate program in Python, without a linear algebra library,
/// that reads the same coefficients from front to back.
#[test]
fn agrees_with_a_separate_program() {
    let transformer = || Architecture::Transformer {
        partition: vec![vec![2, 0], vec![1]],
    };
    for (architecture, tying, expected) in [
        (
            Architecture::Ffn,
            Tying::Loop { t: 3 },
            [4.525224520315533, -0.8711738437705208],
        ),
        (
            Architecture::Ffn,
            Tying::Untied { t: 3 },
            [-6.385807302489411, 2.0273351030773483],
        ),
        (
            transformer(),
            Tying::Loop { t: 3 },
            [-0.6500729045652001, -1.6430785165115909],
        ),
        (
            transformer(),
            Tying::Untied { t: 2 },
            [1.2180166852289622, -3.9601105178975224],
        ),
    ] {
        let network = Network::new(architecture, 3, 2, 3, 4, tying).unwrap();
        let found = forward(&example(network.clone()), &[0.25, -0.5, 0.75]);
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-12, "{network}: {f} instead of {e}");
        }
        assert_eq!(found.len(), 2);
    }
}

/// `Phi(z) = z + ReLU(z - 1)` doubles the distance from 1, so with
/// `E(x) = x` and `O(z) = z` the loop computes `1 + 2^T (x - 1)` above 1 and `x` below.
#[test]
fn a_loop_that_doubles() {
    for t in 1..20 {
        let network = Network::ffn(1, 1, 1, 1, Tying::Loop { t }).unwrap();
        let values = vec![1.0, 0.0, 1.0, -1.0, 1.0, 0.0, 1.0, 0.0];
        let p = Parameters::new(network, values).unwrap();
        let powers = f64::from(1u32 << t);
        assert_eq!(forward(&p, &[1.25]), [1.0 + 0.25 * powers]);
        assert_eq!(forward(&p, &[0.75]), [0.75]);
    }
}

/// Attention and feedforward zero, gains one: two normalisations of each token, whose
/// coordinates `(a, -a)` become `(s, -s)` with `s = a / sqrt(a^2 + eps)`.
#[test]
fn a_transformer_that_only_normalises() {
    let architecture = Architecture::transformer(1);
    let network = Network::new(architecture, 1, 1, 2, 1, Tying::Single).unwrap();
    let mut values = vec![0.0f32; network.count()];
    let layout = network.layout();
    let mut set = |name: &str, new: &[f32]| {
        values[layout.get(name).unwrap().range()].copy_from_slice(new);
    };
    set("input.0.weight", &[1.0, -1.0]);
    set("block.0.ln1.gain", &[1.0, 1.0]);
    set("block.0.ln2.gain", &[1.0, 1.0]);
    // vec(S) begins with the data token; the constant tokens are zero.
    set("output.weight", &[1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let p = Parameters::new(network, values).unwrap();
    let normalised = |a: f64| a / (a * a + 1e-5).sqrt();
    for x in [-2.0, 0.0, 0.001, 0.5] {
        let expected = normalised(normalised(x));
        assert!((forward(&p, &[x])[0] - expected).abs() < 1e-15, "x = {x}");
    }
}
