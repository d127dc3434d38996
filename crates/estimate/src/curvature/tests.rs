use super::*;
use crate::climb::start;
use crate::rows::Kind;
use loopfit_data::Samples;
use loopfit_model::reference::forward_values;
use loopfit_model::{Activation, Form, Network, Tying};
use loopfit_numerics::stream::Stream;
use proptest::prelude::*;

const KINDS: [(Kind, usize); 5] = [
    (Kind::Gaussian, 1),
    (Kind::Laplace, 1),
    (Kind::Poisson, 1),
    (Kind::Bernoulli, 1),
    (Kind::Multiclass, 3),
];

fn samples(n: usize, d: usize, kind: Kind, seed: u64) -> Samples {
    let draws = Stream::new(seed);
    let x = (0..n * d).map(|i| draws.child("x").normal(i as u64) as f32);
    let y = (0..n as u64).map(|i| match kind {
        Kind::Gaussian | Kind::Laplace => draws.child("y").normal(i) as f32,
        Kind::Poisson => draws.child("y").below(i, 5) as f32,
        Kind::Bernoulli => draws.child("y").below(i, 2) as f32,
        Kind::Multiclass => draws.child("y").below(i, 3) as f32,
    });
    Samples::new(d, x.collect(), y.collect()).unwrap()
}

fn every(samples: &Samples, kind: Kind, outputs: usize) -> Rows {
    Rows::new(
        samples,
        &(0..samples.n()).collect::<Vec<_>>(),
        kind,
        outputs,
    )
}

/// Networks of all forms, tyings and activations.
fn networks(d: usize, outputs: usize, activation: Activation) -> Vec<Network> {
    let tyings = [Tying::Single, Tying::Loop { t: 3 }, Tying::Untied { t: 2 }];
    let mut networks = vec![Network::affine(d, outputs, d).unwrap()];
    if outputs > 1 {
        networks.push(Network::affine(d, outputs, 1).unwrap());
    }
    for tying in tyings {
        for (q, form) in [
            (1, Form::Canonical),
            (d, Form::Canonical),
            (d + 2, Form::Canonical),
            (d + 1, Form::Carried { extra: 1 }),
            (outputs + 2, Form::Carried { extra: outputs + 1 }),
        ] {
            let network = Network::ffn(d, outputs, q, 2, tying).unwrap();
            let network = network.with_activation(activation).unwrap();
            networks.push(network.with_form(form).unwrap());
        }
    }
    networks
}

/// The curvature in all coefficients.
fn full(objective: &Objective<'_>, theta: &[f64]) -> Curvature {
    objective.curvature(theta, &(0..theta.len()).collect::<Vec<_>>())
}

/// The sum of losses from the reference in plain `f64`.
fn reference_loss(network: &Network, theta: &[f64], samples: &Samples, kind: Kind) -> f64 {
    let rows = samples.x().chunks(samples.d()).zip(samples.y());
    rows.map(|(x, y)| {
        let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
        let f = forward_values(network, theta, &x);
        let y = f64::from(*y);
        match kind {
            Kind::Gaussian => 0.5 * (f[0] - y) * (f[0] - y),
            Kind::Laplace => (f[0] - y).abs(),
            Kind::Poisson if y == 0.0 => f[0].exp(),
            Kind::Poisson => f[0].exp() - y * f[0] + y * y.ln() - y,
            Kind::Bernoulli => (1.0 + f[0].exp()).ln() - y * f[0],
            Kind::Multiclass => f.iter().map(|v| v.exp()).sum::<f64>().ln() - f[y as usize],
        }
    })
    .sum()
}

/// A row of weight two is the row twice.
#[test]
fn weights_count_rows() {
    for (kind, outputs) in KINDS {
        let once = samples(12, 3, kind, 5);
        let twice: Vec<usize> = (0..12).flat_map(|row| vec![row; 1 + row % 3]).collect();
        let weights = (0..12).map(|row| (1 + row % 3) as f32).collect();
        let repeated = Rows::new(&once, &twice, kind, outputs);
        let weighted = every(&once.clone().weighted(weights).unwrap(), kind, outputs);
        let network = Network::ffn(3, outputs, 3, 2, Tying::Loop { t: 2 }).unwrap();
        let network = network.with_form(Form::Canonical).unwrap();
        let tape = Tape::new(&network);
        let theta = start(&network, 1.0, Stream::new(3));
        let [a, b] = [&repeated, &weighted].map(|rows| full(&Objective::new(&tape, rows), &theta));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-11 * (1.0 + a.abs());
        assert!(close(a.loss, b.loss), "{kind:?}");
        assert!(
            a.gradient
                .iter()
                .zip(&b.gradient)
                .all(|(a, b)| close(*a, *b)),
            "{kind:?}"
        );
        assert!(
            a.matrix.iter().zip(&b.matrix).all(|(a, b)| close(*a, *b)),
            "{kind:?}"
        );
    }
}

#[test]
fn losses_and_gradients_agree_with_the_reference() {
    for (kind, outputs) in KINDS {
        let samples = samples(13, 3, kind, 7);
        let rows = every(&samples, kind, outputs);
        for activation in Activation::ALL {
            for network in networks(3, outputs, activation) {
                let tape = Tape::new(&network);
                let objective = Objective::new(&tape, &rows);
                let theta = start(&network, 1.0, Stream::new(3));
                let theta: Vec<f64> = theta
                    .iter()
                    .enumerate()
                    .map(|(i, t)| t + 0.01 * i as f64)
                    .collect();
                let curvature = full(&objective, &theta);
                let loss = |theta: &[f64]| reference_loss(&network, theta, &samples, kind);
                assert!((curvature.loss - loss(&theta)).abs() < 1e-10, "{network}");
                assert!((objective.loss(&theta) - curvature.loss).abs() < 1e-12);
                for i in 0..theta.len() {
                    let mut moved = theta.clone();
                    let h = 1e-6;
                    moved[i] += h;
                    let up = loss(&moved);
                    moved[i] -= 2.0 * h;
                    let difference = (up - loss(&moved)) / (2.0 * h);
                    let gradient = curvature.gradient[i];
                    assert!(
                        (gradient - difference).abs() < 2e-6 * (1.0 + difference.abs()),
                        "{kind:?} {network} {i}: {gradient} {difference}"
                    );
                }
            }
        }
    }
}

/// Of an affine function the Gauss-Newton matrix is the Hessian: gradients move by it.
#[test]
fn the_matrix_is_the_hessian_of_affine_functions() {
    for (kind, outputs) in KINDS.into_iter().filter(|(kind, _)| *kind != Kind::Laplace) {
        let samples = samples(21, 2, kind, 9);
        let rows = every(&samples, kind, outputs);
        let network = Network::affine(2, outputs, 2).unwrap();
        let tape = Tape::new(&network);
        let objective = Objective::new(&tape, &rows);
        let p = network.count();
        let theta: Vec<f64> = (0..p)
            .map(|i| 0.3 * Stream::new(1).normal(i as u64))
            .collect();
        let at = full(&objective, &theta);
        for i in 0..p {
            let mut moved = theta.clone();
            moved[i] += 1e-5;
            let up = full(&objective, &moved).gradient;
            moved[i] -= 2e-5;
            let down = full(&objective, &moved).gradient;
            for j in i..p {
                let difference = (up[j] - down[j]) / 2e-5;
                assert!(
                    (at.matrix[i * p + j] - difference).abs() < 1e-6,
                    "{kind:?} {i} {j}"
                );
            }
        }
    }
}

/// The curvature of some coefficients, the others being zero, is what it is among all.
#[test]
fn the_curvature_of_some_is_that_among_all() {
    for (kind, outputs) in KINDS {
        let samples = samples(40, 3, kind, 5);
        let rows = every(&samples, kind, outputs);
        for network in networks(3, outputs, Activation::Tanh) {
            let tape = Tape::new(&network);
            let objective = Objective::new(&tape, &rows);
            let mut theta = start(&network, 1.0, Stream::new(3));
            let p = theta.len();
            let kept: Vec<usize> = (0..p).filter(|i| i % 3 != 1).collect();
            theta.iter_mut().skip(1).step_by(3).for_each(|v| *v = 0.0);
            let (all, some) = (full(&objective, &theta), objective.curvature(&theta, &kept));
            assert_eq!(all.loss, some.loss);
            for (k, i) in kept.iter().enumerate() {
                assert!(
                    (some.gradient[k] - all.gradient[*i]).abs() < 1e-12,
                    "{network} {i}"
                );
                for (l, j) in kept.iter().enumerate().skip(k) {
                    let (expected, own) = (all.matrix[i * p + j], some.matrix[k * kept.len() + l]);
                    assert!((own - expected).abs() < 1e-12 * (1.0 + expected.abs()));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn every_level_gives_the_same_bits(n in 1usize..140, seed: u64, which in 0usize..64) {
        let (kind, outputs) = KINDS[which % 4];
        let activation = Activation::ALL[which / 4 % 4];
        let networks = networks(3, outputs, activation);
        let network = &networks[which % networks.len()];
        let samples = samples(n, 3, kind, seed);
        let rows = every(&samples, kind, outputs);
        let tape = Tape::new(network);
        let theta = start(network, 1.0, Stream::new(seed));
        let at = |level| {
            let objective = Objective::at_level(&tape, &rows, level);
            let Curvature { loss, gradient, matrix } = full(&objective, &theta);
            let p = gradient.len();
            let upper: Vec<u64> = (0..p * p).filter(|i| i % p >= i / p).map(|i| matrix[i].to_bits()).collect();
            let gradient: Vec<u64> = gradient.iter().map(|g| g.to_bits()).collect();
            (loss.to_bits(), gradient, upper, objective.outputs(&theta, 8.0).0)
        };
        let fastest = at(Level::fastest());
        for level in Level::available() {
            prop_assert_eq!(&at(level), &fastest);
        }
    }
}

/// Asked to stop, nothing half computed comes back.
#[test]
fn what_is_cut_short_is_not_known() {
    for (kind, outputs) in KINDS {
        let rows = every(&samples(900, 3, kind, 7), kind, outputs);
        let affine = Network::affine(3, outputs, 3).unwrap();
        for network in networks(3, outputs, Activation::Tanh)
            .into_iter()
            .chain([affine])
        {
            let tape = Tape::new(&network);
            let theta = start(&network, 1.0, Stream::new(3));
            let stopped = Objective::new(&tape, &rows).until(&|| true);
            assert_eq!(stopped.loss(&theta), f64::INFINITY);
            assert!(!full(&stopped, &theta).is_known());
            let objective = Objective::new(&tape, &rows).until(&|| false);
            assert!(objective.loss(&theta).is_finite());
            assert!(full(&objective, &theta).is_known());
        }
    }
}
