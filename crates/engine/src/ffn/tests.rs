//! The register kernels against the general ones.

use super::*;
use crate::program::Program;
use loopfit_model::{Activation, Network, Tying, init};
use loopfit_numerics::lanes::LANES;
use loopfit_numerics::stream::Stream;
use proptest::prelude::*;

fn any_tying() -> impl Strategy<Value = Tying> {
    prop_oneof![
        Just(Tying::Single),
        (2usize..6).prop_map(|t| Tying::Loop { t }),
        (2usize..5).prop_map(|t| Tying::Untied { t }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The general kernels are the register kernels with the state in memory.
    #[test]
    fn general_and_register_kernels_give_the_same_bits(
        activation in prop::sample::select(Activation::ALL.to_vec()), tying in any_tying(), d in 1usize..6, q in 1usize..=MAX_REGISTER_STATE, r in 1usize..20, strips in 1usize..11, seed: u64,
    ) {
        let network = Network::ffn(d, 2, q, r, tying).unwrap().with_activation(activation).unwrap();
        let p = &Packing::new(&network);
        let start = init::fresh(&network, 0.5, Stream::new(seed));
        let params = &Program::new(&network, Level::fastest()).pack(&start);
        let draw = |label: &str, n: usize| -> Vec<Lane> {
            let s = Stream::new(seed).child(label);
            Lane::lines((0..n * LANES).map(|i| s.normal(i as u64) as f32))
        };
        let (x, g_out) = (&draw("x", strips * d), &draw("g", strips * 2));
        for level in Level::available() {
        let ffn = Ffn::new(p.clone(), level);
        let mut out = vec![Lane::ZERO; strips * 2];
        let (mut kept, mut other) = (Activations::default(), Activations::default());
        let mut acc = vec![Lane::ZERO; p.len()];
        ffn.predict(params, x, &mut out);
        let predicted = out.clone();
        ffn.forward(params, x, &mut out, &mut kept);
        prop_assert_eq!(predicted, out.clone());
        ffn.backward(params, x, g_out, &mut kept, (&mut acc, false));

        other.z.resize(kept.z.len(), Lane::ZERO);
        other.h.resize(kept.h.len(), Lane::ZERO);
        other.a.resize(kept.a.len(), Lane::ZERO);
        other.g.resize(kept.g.len(), Lane::ZERO);
        let mut other_out = out.clone();
        general::forward(level, p, params, x, &mut other_out, Some(general::Kept { z: &mut other.z, h: &mut other.h, slopes: &mut other.a }));
        other.g[..strips * q].copy_from_slice(&kept.g[..strips * q]);
        general::backward(level, p, params, Steps { strips, steps: 0..p.iterations, h: &other.h, a: &mut other.a, g: &mut other.g });
        prop_assert_eq!(out, other_out);
        prop_assert_eq!(kept.z, other.z);
        prop_assert_eq!(&kept.h, &other.h);
        prop_assert_eq!(&kept.g, &other.g);
        // Of the last steps alone, unless all were taken at once.
        let last = kept.h.len() - ffn.steps_at_once(strips).map_or(kept.h.len(), |steps| {
            let rest = p.iterations % steps;
            (if rest == 0 { steps } else { rest }) * strips * r
        });
        let first = if p.is_smooth() { last } else { 0 };
        prop_assert_eq!(&kept.a[first..first + kept.h.len() - last], &other.a[last..]);
        }
    }
}
