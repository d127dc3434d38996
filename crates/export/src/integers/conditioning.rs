//! Before weights are rounded, they are moved to where rounding matters less: large weights that cancel each other, as fits like them,
//! become smaller ones as far as outputs allow, and all make up for the errors of tabulated activations.

use super::layers::Layers;
use super::rounding::{Goal, products};
use super::scales::Scaled;
use loopfit_numerics::cholesky::Cholesky;
use loopfit_numerics::lanes::Level;

/// Most steps of a descent.
const STEPS: usize = 12;
/// Dampings of a step, relative to the mean curvature, until the objective falls.
const DAMPINGS: [f64; 5] = [1e-9, 1e-6, 1e-4, 1e-2, 1.0];

/// The network that makes least the error of outputs and `strength` times the error that rounding to the nearest would add.
///
/// # Formula
/// `sum r^2 + strength sum_i d_i w_i^2`, where a weight's `d_i` is its row's `sum_j H_jj / 12`, the error of independent roundings of size
/// one, by the sum of squares of the row: smaller rows have finer units. Steps are those of Gauss and Newton, damped.
pub(crate) fn conditioned(
    mut network: Layers,
    scale: impl Fn(&Layers) -> Scaled,
    goal: &Goal,
    strength: f64,
) -> Layers {
    for _ in 0..STEPS {
        let scaled = scale(&network);
        let n = scaled.exact.len();
        let (slopes, residuals) = goal.slopes(&network, &scaled.units);
        let mut curvature = products(&slopes);
        let penalties = penalties(&scaled, &curvature, strength);
        let mean = (0..n).map(|i| curvature[i * n + i]).sum::<f64>() / n as f64;
        let mut gradient: Vec<f64> = slopes
            .iter()
            .map(|slope| slope.iter().zip(&residuals).map(|(a, b)| a * b).sum())
            .collect();
        let mut before: f64 = residuals.iter().map(|r| r * r).sum();
        for (i, penalty) in penalties.iter().enumerate() {
            curvature[i * n + i] += penalty;
            gradient[i] += penalty * scaled.exact[i];
            before += penalty * scaled.exact[i] * scaled.exact[i];
        }
        let mut factor = Cholesky::new(n, Level::fastest());
        let mut found = None;
        for damping in DAMPINGS {
            if !(mean > 0.0 && factor.factor(&curvature, damping * mean)) {
                continue;
            }
            let mut step = gradient.clone();
            factor.solve(&mut step);
            let mut moved = network.clone();
            let mut after = 0.0;
            for (i, step) in step.iter().enumerate() {
                moved.add(i, -step * scaled.units[i]);
                let number = scaled.exact[i] - step;
                after += penalties[i] * number * number;
            }
            after += goal.residuals(&moved).iter().map(|r| r * r).sum::<f64>();
            if after < before {
                found = Some((moved, after));
                break;
            }
        }
        let Some((moved, after)) = found else {
            break;
        };
        network = moved;
        if after > 0.98 * before {
            break;
        }
    }
    network
}

/// What a number's square costs, for each number; nothing for biases, which are fine.
fn penalties(scaled: &Scaled, curvature: &[f64], strength: f64) -> Vec<f64> {
    let n = scaled.exact.len();
    let mut penalties = Vec::with_capacity(n);
    for layer in &scaled.integers.layers {
        for _ in 0..layer.rows {
            let row = penalties.len()..penalties.len() + layer.columns;
            let noise = row.clone().map(|i| curvature[i * n + i]).sum::<f64>() / 12.0;
            let squares = row.map(|i| scaled.exact[i] * scaled.exact[i]).sum::<f64>();
            let penalty = strength * noise / squares.max(1.0);
            penalties.extend(std::iter::repeat_n(penalty, layer.columns));
        }
        penalties.extend(std::iter::repeat_n(0.0, layer.rows));
    }
    penalties
}
