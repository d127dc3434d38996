//! Which inputs matter most.

use crate::climb::Climb;
use crate::curvature::{Objective, Stop};
use crate::prior::Prior;
use crate::rows::Rows;
use crate::tape::Tape;
use loopfit_model::Network;

/// Rows that the ranking looks at.
const ROWS: usize = 2000;
/// Part of the remaining inputs that goes at once.
const DROPPED: f64 = 0.15;
/// Steps of each fit.
const STEPS: usize = 12;

/// The inputs, the most important one first: an affine function of all inputs and their squares is fitted, the least
/// important ones go, and so on with the rest.
///
/// # Formula
/// An input's importance is `sum_i theta_i^2 / (A^-1)_ii` over its coefficients, `A` the matrix of the
/// penalised objective.
///
/// # Reference
/// Guyon, Weston, Barnhill and Vapnik, "Gene selection for cancer classification", 2002: recursive elimination.
pub(crate) fn ranking(rows: &Rows, stop: Stop<'_>) -> Vec<usize> {
    let rows = rows.first(ROWS);
    let mut left: Vec<usize> = (0..rows.d).collect();
    let mut ranked = Vec::with_capacity(rows.d);
    // Asked to stop, what is left is in no order.
    while left.len() > 1 && !stop() {
        let mut scored: Vec<(f64, usize)> = importance(&rows, &left, stop)
            .into_iter()
            .zip(left)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let dropped = ((scored.len() as f64 * DROPPED) as usize).max(1);
        let kept = scored.len() - dropped;
        ranked.extend(scored[kept..].iter().rev().map(|(_, input)| *input));
        left = scored[..kept].iter().map(|(_, input)| *input).collect();
    }
    ranked.extend(left);
    ranked.reverse();
    ranked
}

/// One ranking of `d` inputs from several: by the sum of their places.
pub(crate) fn consensus<'a>(rankings: impl Iterator<Item = &'a [usize]>, d: usize) -> Vec<usize> {
    let mut places = vec![0; d];
    for ranking in rankings {
        for (place, input) in ranking.iter().enumerate() {
            places[*input] += place;
        }
    }
    let mut inputs: Vec<usize> = (0..d).collect();
    inputs.sort_by_key(|input| (places[*input], *input));
    inputs
}

/// The importance of inputs. Several classes are told from the rest one by one, by squares: a logistic regression of them all
/// would cost as much as everything else.
fn importance(rows: &Rows, inputs: &[usize], stop: Stop<'_>) -> Vec<f64> {
    let expanded = rows.with_squares(inputs);
    if expanded.outputs == 1 {
        return of_one(&expanded, inputs, stop);
    }
    let mut sum = vec![0.0; inputs.len()];
    for class in 0..expanded.outputs {
        let own = of_one(&expanded.one_against_rest(class), inputs, stop);
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    sum
}

fn of_one(expanded: &Rows, inputs: &[usize], stop: Stop<'_>) -> Vec<f64> {
    let nothing = vec![0.0; inputs.len()];
    let Ok(network) = Network::affine(expanded.d, expanded.outputs, expanded.d) else {
        return nothing;
    };
    let tape = Tape::new(&network);
    let objective = Objective::new(&tape, expanded).until(stop);
    let theta = vec![0.0; network.count()];
    let mut climb = Climb::new(&objective, theta, Prior::new(&network, 1.0));
    climb.run(STEPS, Some(3), stop);
    let Some(variances) = climb.variances() else {
        return nothing;
    };
    let d = expanded.d;
    let mut importance = nothing;
    for (i, (theta, variance)) in climb
        .theta
        .iter()
        .zip(variances)
        .enumerate()
        .take(expanded.outputs * d)
    {
        importance[i % d % inputs.len()] += theta * theta / variance;
    }
    importance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consensus_goes_by_the_sum_of_places() {
        let rankings: [&[usize]; 3] = [&[0, 1, 2], &[2, 0, 1], &[0, 2, 1]];
        assert_eq!(consensus(rankings.into_iter(), 3), [0, 2, 1]);
    }
}
