//! A fresh start.

use crate::layout::Role;
use crate::network::Network;
use crate::parameters::Parameters;
use loopfit_numerics::stream::Stream;

/// The coefficients with which a fit begins.
///
/// Each tensor has its own sub-stream, named like the tensor and indexed row by
/// row: a network of larger `r` begins with the same rows of `W1` and the same `b1`,
/// a network of more blocks with the same first blocks.
///
/// # Formula
/// Uniform on `[-1/sqrt(k), 1/sqrt(k)]` with fan-in `k` for the weights and biases of
/// affine maps and for the constant tokens (`k = q`); `W2` and the output projection of attention
/// drawn alike and multiplied by `outgoing_multiplier`; their biases and layer-norm biases 0;
/// layer-norm gains 1.
///
/// # Reference
/// Section F.4.3 for `W2` (multiplier `0.05/T` or `0.05`) and `b2`. The paper leaves the
/// other layers open; theirs is the common default of neural-network libraries.
///
/// # Panics
/// If the multiplier is not a finite 32-bit number.
pub fn fresh(network: &Network, outgoing_multiplier: f64, stream: Stream) -> Parameters {
    assert!(
        (outgoing_multiplier as f32).is_finite(),
        "the outgoing multiplier {outgoing_multiplier} is not finite"
    );
    let mut values = Vec::with_capacity(network.count());
    for view in &network.layout() {
        let bound = 1.0 / (view.fan_in as f64).sqrt();
        let draws = stream.child(&view.name);
        let draw = |i: usize| (2.0 * draws.uniform(i as u64) - 1.0) * bound;
        values.extend((0..view.size()).map(|i| match view.role {
            Role::Weight | Role::Bias | Role::Token => draw(i) as f32,
            Role::OutgoingWeight => (draw(i) * outgoing_multiplier) as f32,
            Role::OutgoingBias | Role::Shift => 0.0,
            Role::Gain => 1.0,
        }));
    }
    Parameters::new(network.clone(), values).expect("as many draws as parameters, all finite")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Architecture;
    use crate::tying::Tying;

    #[test]
    fn draws_fill_their_intervals() {
        let network = Network::ffn(16, 1, 25, 400, Tying::Loop { t: 4 }).unwrap();
        let p = fresh(&network, 0.05 / 4.0, Stream::new(1));
        // Bound 1/sqrt(fan_in): d = 16, q = 25, r = 400.
        for (name, bound) in [
            ("input.weight", 0.25),
            ("input.bias", 0.25),
            ("block.0.w1", 0.2),
            ("block.0.b1", 0.2),
            ("block.0.w2", 0.05 * 0.05 / 4.0),
            ("output.weight", 0.2),
        ] {
            let values = p.view(name);
            let largest = values.iter().fold(0.0f32, |a, v| a.max(v.abs()));
            assert!(
                largest <= bound && largest > 0.8 * bound,
                "{name}: {largest}"
            );
            let mean = values.iter().sum::<f32>() / values.len() as f32;
            // Six standard errors of a uniform mean.
            let tolerance = 6.0 * bound / (3.0 * values.len() as f32).sqrt();
            assert!(mean.abs() < tolerance, "{name}: mean {mean}");
        }
        assert!(p.view("block.0.b2").iter().all(|&v| v == 0.0));
    }

    #[test]
    fn layer_norms_start_as_pure_normalisations() {
        let network =
            Network::new(Architecture::transformer(2), 2, 1, 4, 3, Tying::Single).unwrap();
        let p = fresh(&network, 1.0, Stream::new(1));
        for ln in ["block.0.ln1", "block.0.ln2"] {
            assert_eq!(p.view(&format!("{ln}.gain")), [1.0; 4]);
            assert_eq!(p.view(&format!("{ln}.bias")), [0.0; 4]);
        }
        assert!(p.view("controller").iter().all(|v| v.abs() <= 0.5));
        assert_ne!(p.view("reference.0"), p.view("reference.1"));
    }

    #[test]
    fn wider_starts_contain_narrower_ones() {
        let start = |r, t| {
            let network = Network::ffn(3, 1, 4, r, Tying::Untied { t }).unwrap();
            fresh(&network, 1.0, Stream::new(9))
        };
        let (small, large) = (start(5, 2), start(8, 3));
        for name in ["input.weight", "block.1.w1", "block.1.b1", "output.bias"] {
            let n = small.view(name).len();
            assert_eq!(small.view(name), &large.view(name)[..n]);
        }
        assert_ne!(large.view("block.1.w1"), large.view("block.2.w1"));
    }
}
