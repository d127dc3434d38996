//! A shortlist of the shapes that fit under a cap.

use crate::SearchError;
use loopfit_model::{Budget, Method, Network, Tying};
use loopfit_numerics::libm;

/// Iteration counts of Loop, in the order of preference.
const LOOP_ITERATIONS: [usize; 2] = [16, 8];
/// Depths of Untied, in the order of preference.
const UNTIED_DEPTHS: [usize; 3] = [2, 3, 4];

/// At most `count` networks of a method under the cap, each with the largest hidden width,
/// spread over state dimensions and iteration counts.
///
/// Untied falls back to one block where two do not fit: it is then Single.
pub fn shortlist(
    budget: &Budget,
    method: Method,
    count: usize,
) -> Result<Vec<Network>, SearchError> {
    let mut per_tying: Vec<Vec<Network>> = tyings(method)
        .iter()
        .map(|tying| spread(budget, *tying, count))
        .collect::<Result<_, _>>()?;
    if per_tying.iter().all(Vec::is_empty) {
        per_tying = vec![spread(budget, single_block(method), count)?];
    }
    // Round robin over iteration counts, so that a short list has some of each.
    let longest = per_tying.iter().map(Vec::len).max().unwrap_or(0);
    let networks = (0..longest).flat_map(|i| per_tying.iter().filter_map(move |list| list.get(i)));
    Ok(networks.take(count).cloned().collect())
}

fn tyings(method: Method) -> Vec<Tying> {
    match method {
        Method::Single => vec![Tying::Single],
        Method::Loop => LOOP_ITERATIONS
            .iter()
            .map(|t| Tying::Loop { t: *t })
            .collect(),
        Method::Untied => UNTIED_DEPTHS
            .iter()
            .map(|t| Tying::Untied { t: *t })
            .collect(),
    }
}

/// The method's smallest network in blocks.
fn single_block(method: Method) -> Tying {
    match method {
        Method::Single => Tying::Single,
        Method::Loop => Tying::Loop {
            t: LOOP_ITERATIONS[0],
        },
        Method::Untied => Tying::Untied { t: 1 },
    }
}

/// Networks of a tying whose state dimensions are spread evenly on the log scale over those
/// with a hidden layer of at least half the state; the middle ones come first.
fn spread(budget: &Budget, tying: Tying, count: usize) -> Result<Vec<Network>, SearchError> {
    let widths: Vec<(usize, usize)> = (1..)
        .map_while(|q| budget.largest_r(q, tying.blocks()).map(|r| (q, r)))
        .collect();
    let balanced: Vec<(usize, usize)> = widths
        .iter()
        .copied()
        .filter(|(q, r)| 2 * r >= *q)
        .collect();
    // A state of one number can only move along a line: a last resort.
    let wide: Vec<(usize, usize)> = balanced.iter().copied().filter(|(q, _)| *q > 1).collect();
    let from = [wide, balanced, widths]
        .into_iter()
        .find(|list| !list.is_empty())
        .unwrap_or_default();
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    for fraction in [0.5, 0.25, 0.75, 0.0, 1.0, 0.375, 0.625, 0.125, 0.875] {
        let (Some(first), Some(last)) = (from.first(), from.last()) else {
            break;
        };
        let target = first.0 as f64 * libm::pow(last.0 as f64 / first.0 as f64, fraction);
        let nearest = from.iter().min_by(|a, b| {
            (a.0 as f64 - target)
                .abs()
                .total_cmp(&(b.0 as f64 - target).abs())
        });
        if let Some(shape) = nearest
            && !chosen.contains(shape)
            && chosen.len() < count
        {
            chosen.push(*shape);
        }
    }
    Ok(chosen
        .into_iter()
        .map(|(q, r)| budget.network(q, r, tying))
        .collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_shape_fits_and_cannot_be_wider(b in 12usize..3000, d in 1usize..8, outputs in 1usize..5, count in 1usize..7) {
            let Ok(budget) = Budget::ffn(b, d, outputs) else { return Ok(()) };
            for method in Method::ALL {
                let shapes = shortlist(&budget, method, count).unwrap();
                prop_assert!(!shapes.is_empty() && shapes.len() <= count);
                for n in &shapes {
                    prop_assert!(n.count() <= b);
                    prop_assert!(budget.network(n.q(), n.r() + 1, n.tying()).is_err());
                    prop_assert_eq!(n.tying().method(), method);
                }
                let distinct: std::collections::HashSet<_> = shapes.iter().collect();
                prop_assert_eq!(distinct.len(), shapes.len());
            }
        }
    }
}
