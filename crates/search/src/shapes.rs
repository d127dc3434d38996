//! A shortlist of the shapes that fit under a cap.

use crate::SearchError;
use loopfit_model::{Architecture, Budget, Method, Network, Tying};
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

/// The least state dimension that a network can do something with. A state of one number can only
/// move along a line. Layer normalisation leaves `q - 2` free numbers of a token's row: of a row of
/// two it keeps a sign, of a row of one nothing.
fn least_useful_q(architecture: &Architecture) -> usize {
    match architecture {
        Architecture::Ffn => 2,
        Architecture::Transformer { .. } => 3,
    }
}

/// Networks of a tying whose state dimensions are spread evenly on the log scale over those
/// with a hidden layer of at least half the state; the middle ones come first.
fn spread(budget: &Budget, tying: Tying, count: usize) -> Result<Vec<Network>, SearchError> {
    let widths: Vec<(usize, usize)> = (1..)
        .map_while(|q| budget.largest_r(q, tying.blocks()).map(|r| (q, r)))
        .collect();
    let from = |least: usize, balanced: bool| -> Vec<(usize, usize)> {
        let good = |(q, r): &(usize, usize)| *q >= least && (!balanced || 2 * r >= *q);
        widths.iter().copied().filter(good).collect()
    };
    // A state that is too small to be useful is a last resort, the smaller the later.
    let from = (1..=least_useful_q(budget.architecture()))
        .rev()
        .flat_map(|least| [from(least, true), from(least, false)])
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
            let budgets = [Architecture::Ffn, Architecture::transformer(d)]
                .map(|architecture| Budget::new(b, architecture, d, outputs));
            for budget in budgets.into_iter().flatten() {
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

        /// Smaller states than useful ones are tried where no useful one fits, and nowhere else.
        #[test]
        fn small_states_are_a_last_resort(b in 30usize..1000, d in 1usize..8) {
            for (architecture, useful) in
                [(Architecture::Ffn, 2), (Architecture::transformer(d), 3)]
            {
                let Ok(budget) = Budget::new(b, architecture, d, 1) else { continue };
                let shapes = shortlist(&budget, Method::Loop, 8).unwrap();
                let largest = budget.loop_shapes().map(|s| s.q).max().unwrap();
                let least = shapes.iter().map(Network::q).min().unwrap();
                if largest >= useful {
                    prop_assert!(least >= useful);
                } else {
                    prop_assert_eq!(least, largest);
                }
            }
        }
    }

    /// Table 1 by hand: with d = 2 and N = 5 a Transformer of q = 3 has `100 + 7r` numbers, of
    /// q = 2 `59 + 5r`.
    #[test]
    fn transformers_at_the_least_cap_of_their_states() {
        let shapes = |b: usize| {
            let budget = Budget::new(b, Architecture::transformer(2), 2, 1).unwrap();
            let list = shortlist(&budget, Method::Single, 8).unwrap();
            list.iter().map(|n| (n.q(), n.r())).collect::<Vec<_>>()
        };
        assert_eq!(shapes(106), [(2, 9)]);
        assert_eq!(shapes(107), [(3, 1)]);
        assert_eq!(shapes(128), [(3, 4)]);
    }
}
