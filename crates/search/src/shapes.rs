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
/// Untied falls back to one block where two do not fit: it is then Single. So it does where two
/// blocks of a Transformer fit with a smaller state than one is worth trying with. An error if only
/// networks fit that are not worth trying at all.
pub fn shortlist(
    budget: &Budget,
    method: Method,
    count: usize,
) -> Result<Vec<Network>, SearchError> {
    budget.useful()?;
    for least in &least_states(budget.architecture()) {
        for tyings in [tyings(method), vec![single_block(method)]] {
            let per_tying: Vec<Vec<Network>> = tyings
                .iter()
                .map(|tying| spread(budget, *tying, *least, count))
                .collect::<Result<_, _>>()?;
            // Round robin over iteration counts, so that a short list has some of each.
            let longest = per_tying.iter().map(Vec::len).max().unwrap_or(0);
            let nth = |i: usize| per_tying.iter().filter_map(move |list| list.get(i));
            if longest > 0 {
                return Ok((0..longest).flat_map(nth).take(count).cloned().collect());
            }
        }
    }
    Ok(Vec::new())
}

/// The least state dimension worth trying, and what to fall back to where nothing so large fits.
/// Layer normalisation leaves `q - 2` free numbers of a token's row: of a row of two it keeps a sign.
fn least_states(architecture: &Architecture) -> Vec<usize> {
    match architecture {
        Architecture::Ffn => vec![architecture.least_state()],
        Architecture::Transformer { .. } => vec![3, architecture.least_state()],
    }
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
fn spread(
    budget: &Budget,
    tying: Tying,
    least: usize,
    count: usize,
) -> Result<Vec<Network>, SearchError> {
    let widths: Vec<(usize, usize)> = (least..)
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
            let budgets = [Architecture::Ffn, Architecture::transformer(d)]
                .map(|architecture| Budget::new(b, architecture, d, outputs));
            for budget in budgets.into_iter().flatten() {
                let constant = *budget.architecture() != Architecture::Ffn && budget.holds(2).is_err();
                for method in Method::ALL {
                    let shapes = shortlist(&budget, method, count);
                    prop_assert_eq!(shapes.is_err(), constant);
                    let Ok(shapes) = shapes else { continue };
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

        /// A Transformer has a smaller state than 3 where no larger one fits with one block, and
        /// nowhere else.
        #[test]
        fn small_transformers_are_a_last_resort(b in 30usize..1000, d in 1usize..8) {
            let Ok(budget) = Budget::new(b, Architecture::transformer(d), d, 1) else {
                return Ok(());
            };
            let largest = budget.loop_shapes().map(|s| s.q).max().unwrap();
            if largest == 1 {
                return Ok(());
            }
            for method in Method::ALL {
                let shapes = shortlist(&budget, method, 8).unwrap();
                let least = shapes.iter().map(Network::q).min().unwrap();
                prop_assert!(least >= largest.min(3), "{method}");
            }
        }
    }

    /// Table 1 by hand: with d = 2 and N = 5 a Transformer of q = 3 has `100 + 7r` numbers, of
    /// q = 2 `59 + 5r`, of q = 4 `149 + 9r`.
    #[test]
    fn transformers_at_the_least_cap_of_their_states() {
        let shapes = |b: usize, method: Method| {
            let budget = Budget::new(b, Architecture::transformer(2), 2, 1).unwrap();
            let list = shortlist(&budget, method, 8).unwrap();
            let shape = |n: &Network| (n.q(), n.r(), n.tying().iterations());
            list.iter().map(shape).collect::<Vec<_>>()
        };
        assert_eq!(shapes(106, Method::Single), [(2, 9, 1)]);
        assert_eq!(shapes(107, Method::Single), [(3, 1, 1)]);
        assert_eq!(shapes(128, Method::Loop), [(3, 4, 16), (3, 4, 8)]);
        // Two blocks of q = 3 have `163 + 14r` numbers, of q = 2 `93 + 10r`.
        assert_eq!(shapes(176, Method::Untied), [(3, 10, 1), (4, 3, 1)]);
        assert_eq!(shapes(177, Method::Untied), [(3, 1, 2)]);
        assert_eq!(shapes(106, Method::Untied), [(2, 1, 2)]);
    }
}
