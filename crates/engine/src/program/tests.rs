//! The kernels of both architectures against the plain f64 network, finite differences and
//! each other.

use super::*;
use crate::{Predictor, RowPredictor};
use loopfit_data::Samples;
use loopfit_likelihood::{Bernoulli, Energy, Gaussian, Laplace, Likelihood, Multiclass, Nodes};
use loopfit_model::{Activation, Bounds, Role, Tying, init, reference};
use loopfit_numerics::stream::Stream;
use proptest::prelude::*;

fn any_tying() -> impl Strategy<Value = Tying> {
    prop_oneof![
        Just(Tying::Single),
        (2usize..6).prop_map(|t| Tying::Loop { t }),
        (2usize..5).prop_map(|t| Tying::Untied { t }),
    ]
}

/// The FFN, and a Transformer whose tokens read the inputs in turn.
fn architectures(tokens: usize, d: usize) -> [Architecture; 2] {
    let tokens = tokens.min(d);
    let of = |token| (token..d).step_by(tokens).collect();
    let partition = (0..tokens).map(of).collect();
    [Architecture::Ffn, Architecture::Transformer { partition }]
}

/// Networks of these sizes: a Transformer, and the FFN with every activation and in every form that
/// has them; other forms than the paper's take the activations in turn, and one reads some inputs only.
fn networks(
    tokens: usize,
    [d, outputs, q, r]: [usize; 4],
    tying: Tying,
    turn: usize,
) -> Vec<Network> {
    let [ffn, transformer] = architectures(tokens, d)
        .map(|architecture| Network::new(architecture, d, outputs, q, r, tying).unwrap());
    let mut networks = vec![transformer];
    for activation in Activation::ALL {
        networks.push(ffn.clone().with_activation(activation).unwrap());
    }
    networks.push(Network::affine(d, outputs, q.min(d)).unwrap());
    let every_second: Vec<usize> = (0..d).step_by(2).rev().collect();
    let narrow = Network::ffn(every_second.len(), outputs, q, r, tying).unwrap();
    let narrow = narrow.with_form(Form::Canonical).unwrap();
    networks.push(narrow.reading(d, every_second).unwrap());
    let carried = (1..q).map(|extra| Form::Carried { extra });
    for (i, form) in carried.chain([Form::Canonical]).enumerate() {
        let activation = Activation::ALL[(turn + i) % Activation::ALL.len()];
        let reduced = ffn.clone().with_form(form);
        networks.extend(reduced.map(|network| network.with_activation(activation).unwrap()));
    }
    let canonical = ffn.with_form(Form::Canonical).unwrap();
    let zeros = (1..canonical.count()).step_by(3).collect();
    networks.push(canonical.with_zeros(zeros).unwrap());
    networks
}

/// Any of the five likelihoods, for `d` inputs.
fn likelihood(kind: usize, d: usize) -> Likelihood {
    match kind {
        0 => Likelihood::Gaussian(Gaussian::squared_error()),
        1 => Likelihood::Laplace(Laplace::new(0.7).unwrap()),
        2 => Likelihood::Bernoulli(Bernoulli),
        3 => Likelihood::Multiclass(Multiclass::new(4).unwrap()),
        _ => Likelihood::Energy(Energy::new(d, Nodes::LowDiscrepancy { n: 37 }).unwrap()),
    }
}

/// Random samples whose targets suit the likelihood.
fn samples(likelihood: Likelihood, d: usize, n: usize, stream: Stream) -> Samples {
    let x = (0..n * d)
        .map(|i| stream.uniform(i as u64) as f32)
        .collect();
    let y = stream.child("y");
    let y = (0..n as u64).map(|i| match likelihood {
        Likelihood::Bernoulli(_) => y.below(i, 2) as f32,
        Likelihood::Multiclass(m) => y.below(i, m.classes() as u64) as f32,
        _ => y.normal(i) as f32,
    });
    Samples::new(d, x, y.collect()).unwrap()
}

/// A start none of whose coefficients is special: zero biases and gains of one are moved.
fn start(network: &Network, stream: Stream) -> Parameters {
    let mut values = init::fresh(network, 0.5, stream).into_values();
    for view in &network.layout() {
        if matches!(view.role, Role::Gain | Role::Shift | Role::OutgoingBias) {
            for i in view.range() {
                values[i] += 0.3 * stream.child("moved").normal(i as u64) as f32;
            }
        }
    }
    Parameters::new(network.clone(), values).unwrap()
}

/// Average negative log-likelihood in f64, straight from the definitions, clipped at `bound`.
fn loss(
    network: &Network,
    values: &[f64],
    likelihood: Likelihood,
    samples: &Samples,
    bound: f64,
) -> f64 {
    let at = |x: &[f64]| -> Vec<f64> {
        reference::forward_values(network, values, x)
            .iter()
            .map(|f| f.clamp(-bound, bound))
            .collect()
    };
    let rows = samples.x().chunks(samples.d());
    let outputs: Vec<f64> = rows
        .flat_map(|row| at(&row.iter().map(|v| f64::from(*v)).collect::<Vec<_>>()))
        .collect();
    let y: Vec<f64> = samples.y().iter().map(|v| f64::from(*v)).collect();
    match likelihood {
        Likelihood::Energy(energy) => {
            let nodes: Vec<f64> = energy
                .node_points()
                .chunks(energy.d())
                .flat_map(&at)
                .collect();
            energy.average_nll(&outputs, &nodes).unwrap()
        }
        other => other.average_nll(&outputs, &y).unwrap(),
    }
}

/// The engine's gradient in the model's order.
fn gradient(
    parameters: &Parameters,
    likelihood: Likelihood,
    samples: &Samples,
    bound: f32,
    level: Level,
) -> Vec<f32> {
    let bounds = Bounds {
        output: bound,
        ..Bounds::default()
    };
    crate::gradient::gradient(parameters, likelihood, bounds, samples, level)
}

/// What 32 bits may be off by, beside numbers of order one: the inverse scale of a layer norm, up to
/// 316, multiplies rounding errors where a row has hardly any variance.
fn rounding(network: &Network) -> f64 {
    match network.architecture() {
        Architecture::Ffn => 2e-5,
        Architecture::Transformer { .. } => 1e-3,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Every coefficient's derivative against a central difference in f64, for every
    /// architecture, activation, form, likelihood and tying.
    #[test]
    fn gradients_match_finite_differences(
        d in 1usize..4, tokens in 1usize..4, q in 1usize..7, r in 1usize..7, t in 2usize..4, n in 1usize..24,
        seed: u64, tight: bool,
    ) {
        let tyings = [Tying::Single, Tying::Loop { t }, Tying::Untied { t }];
        for (kind, tying) in (0..5).flat_map(|kind| tyings.map(|tying| (kind, tying))) {
            let likelihood = likelihood(kind, d);
            let all = networks(tokens, [d, likelihood.outputs(), q, r], tying, seed as usize % 4);
            // Finite differences take long: the Transformer, and two of the others.
            let some = [0, 1 + seed as usize % (all.len() - 1), 1 + (seed as usize / 64 + kind) % (all.len() - 1)];
            for network in some.map(|i| all[i].clone()) {
                let stream = Stream::new(seed);
                let parameters = start(&network, stream.child("start"));
                let samples = samples(likelihood, d, n, stream.child("samples"));
                // A tight bound makes clipping active for some samples.
                let bound = if tight { 0.3 } else { 8.0 };
                let got = gradient(&parameters, likelihood, &samples, bound, Level::fastest());
                let values: Vec<f64> = parameters.values().iter().map(|v| f64::from(*v)).collect();
                let at = |i: usize, h: f64| {
                    let mut moved = values.clone();
                    moved[i] += h;
                    loss(&network, &moved, likelihood, &samples, f64::from(bound))
                };
                // Gradients are sums of terms of order one, rounded to 32 bits: an absolute error
                // remains where they cancel.
                let scale = got.iter().fold(1e-2f64, |a, g| a.max(f64::from(g.abs())));
                let here = at(0, 0.0);
                for (i, got) in got.iter().enumerate() {
                    // At a kink (ReLU, clip, absolute value) the derivative is one of the two
                    // one-sided ones, and 32 bits may see a sample on the other side of it.
                    let (got, slack) = (f64::from(*got), rounding(&network).max(2e-4) * scale);
                    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
                    let close = [1e-6, 1e-5, 1e-7].into_iter().any(|h| {
                        for h in [h, -h] {
                            let slope = (at(i, h) - here) / h;
                            (low, high) = (low.min(slope), high.max(slope));
                        }
                        low - slack < got && got < high + slack
                    });
                    prop_assert!(close, "coefficient {i}: {got}, {likelihood:?} {network}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn outputs_match_the_reference(
        tying in any_tying(), d in 1usize..24, tokens in 1usize..24, q in 1usize..24, r in 1usize..40,
        outputs in 1usize..4, n in 1usize..70, seed: u64,
    ) {
        for network in networks(tokens, [d, outputs, q, r], tying, seed as usize % 4) {
            let parameters = start(&network, Stream::new(seed));
            let stream = Stream::new(seed).child("x");
            let rows: Vec<f32> = (0..n * d).map(|i| stream.normal(i as u64) as f32).collect();
            let bounds = Bounds { output: 1e6, ..Bounds::default() };
            let got = Predictor::new(&parameters, bounds).predict(&rows);
            let mut one = RowPredictor::new(&parameters, bounds);
            let mut out = vec![0.0; outputs];
            for (i, row) in rows.chunks(d).enumerate() {
                let x: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
                let exact = reference::forward(&parameters, &x);
                one.predict(row, &mut out);
                for c in 0..outputs {
                    let tolerance = rounding(&network) * (1.0 + exact[c].abs());
                    let (got, one) = (got[i * outputs + c], f64::from(out[c]));
                    prop_assert!((got - exact[c]).abs() < tolerance, "{network}: {got}, not {}", exact[c]);
                    prop_assert!((one - exact[c]).abs() < tolerance, "{network}: {one}, not {}", exact[c]);
                }
            }
        }
    }

    /// Gradients have the same bits at every level, for any width of tile.
    #[test]
    fn levels_give_the_same_bits(
        kind in 0usize..5, tying in any_tying(), d in 1usize..6, tokens in 1usize..6, q in 1usize..20, r in 1usize..20,
        n in 1usize..200, seed: u64,
    ) {
        let likelihood = likelihood(kind, d);
        for network in networks(tokens, [d, likelihood.outputs(), q, r], tying, seed as usize % 4) {
            let parameters = start(&network, Stream::new(seed));
            let samples = samples(likelihood, d, n, Stream::new(seed));
            let bits = |level| -> Vec<u32> {
                gradient(&parameters, likelihood, &samples, 8.0, level).iter().map(|g| g.to_bits()).collect()
            };
            let levels = Level::available();
            let first = bits(levels[0]);
            for level in &levels[1..] {
                prop_assert_eq!(&bits(*level), &first, "{}", level.name());
            }
        }
    }

    /// Fixed coefficients change nothing: outputs and gradients of a network in another form are
    /// those of its paper form, bit for bit.
    #[test]
    fn forms_are_parts_of_the_papers_networks(
        kind in 0usize..5, tying in any_tying(), d in 1usize..6, q in 1usize..20, r in 1usize..9, n in 1usize..60,
        seed: u64,
    ) {
        let likelihood = likelihood(kind, d);
        for network in networks(1, [d, likelihood.outputs(), q, r], tying, seed as usize % 4) {
            let parameters = start(&network, Stream::new(seed));
            let paper = parameters.to_paper();
            let samples = samples(likelihood, d, n, Stream::new(seed));
            let [own, full] = [&parameters, &paper]
                .map(|p| gradient(p, likelihood, &samples, 8.0, Level::fastest()));
            let slots = network.slots();
            prop_assert_eq!(own.len(), network.count());
            for (slot, full) in slots.iter().zip(full) {
                if let Slot::Free(i) = slot {
                    prop_assert_eq!(own[*i].to_bits(), full.to_bits());
                }
            }
            let t = network.tying().iterations();
            let [own, full] = [&parameters, &paper]
                .map(|p| Predictor::new(p, Bounds::default()).every_iteration(samples.x(), 0..t));
            prop_assert_eq!(own, full);
        }
    }

    /// The readout after t iterations is the network that stops there, and where the output is the
    /// whole state, its change is that of the readout.
    #[test]
    fn every_iteration_is_a_shorter_network(
        tying in any_tying(), d in 1usize..4, tokens in 1usize..4, q in 1usize..8, r in 1usize..6,
        n in 1usize..300, seed: u64,
    ) {
        let [ffn, transformer] = architectures(tokens, d);
        let both = Activation::ALL.map(|activation| (ffn.clone(), activation));
        for (architecture, activation) in both.into_iter().chain([(transformer, Activation::Relu)]) {
            let width = match &architecture {
                Architecture::Ffn => q,
                Architecture::Transformer { partition } => (partition.len() + 3) * q,
            };
            let network = Network::new(architecture, d, width, q, r, tying).unwrap();
            let network = network.with_activation(activation).unwrap();
            let mut values = start(&network, Stream::new(seed)).into_values();
            let layout = network.layout();
            values[layout.get("output.bias").unwrap().range()].fill(0.0);
            for (i, place) in layout.get("output.weight").unwrap().range().enumerate() {
                values[place] = f32::from(u8::from(i / width == i % width));
            }
            let parameters = Parameters::new(network, values).unwrap();
            let stream = Stream::new(seed).child("x");
            let rows: Vec<f32> = (0..n * d).map(|i| stream.normal(i as u64) as f32).collect();
            let bounds = Bounds { output: 1e6, ..Bounds::default() };
            let predictor = Predictor::new(&parameters, bounds);
            let steps = predictor.every_iteration(&rows, 0..tying.iterations());
            prop_assert_eq!(steps.len(), tying.iterations());
            let middle = steps.len() / 2;
            prop_assert_eq!(&predictor.every_iteration(&rows, middle..steps.len())[..], &steps[middle..]);
            for (i, step) in steps.iter().enumerate() {
                let shorter = parameters.after(i + 1).unwrap();
                prop_assert_eq!(&step.outputs, &Predictor::new(&shorter, bounds).predict(&rows));
                prop_assert_eq!(step.change.len(), n);
                let Some(last) = i.checked_sub(1).map(|last| &steps[last]) else { continue };
                for row in 0..n {
                    let [new, old] = [step, last].map(|s| &s.outputs[row * width..][..width]);
                    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
                    let moved = norm(&mut new.iter().zip(old).map(|(a, b)| a - b));
                    let expected = moved / norm(&mut new.iter().copied());
                    prop_assert!((step.change[row] - expected).abs() < 1e-6 * (1.0 + expected));
                }
            }
        }
    }
}
