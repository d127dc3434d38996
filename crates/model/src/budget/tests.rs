use super::*;
use proptest::prelude::*;

/// Section F.4.4: the hidden width is the largest that satisfies the cap; here the frozen
/// configurations of Section F.4.2 at cap 128.
#[test]
fn frozen_configurations_use_the_largest_width() {
    for (d, q, t, r) in [
        (2, 4, 1, 11),
        (2, 6, 3, 2),
        (3, 3, 1, 15),
        (3, 2, 1, 23),
        (3, 2, 4, 5),
        (5, 4, 1, 10),
        (5, 5, 1, 7),
        (5, 4, 3, 3),
        (2, 3, 1, 16),
        (2, 2, 1, 23),
        (2, 4, 3, 3),
    ] {
        let budget = Budget::ffn(128, d, 1).unwrap();
        assert_eq!(budget.largest_r(q, t), Some(r), "d = {d}, q = {q}, T = {t}");
    }
}

#[test]
fn too_small_a_cap_names_the_smallest() {
    // q(d + 1) + C(q + 1) + (2q + 1) r + q = 6 + 2 + 3 + 1.
    let error = Budget::ffn(11, 5, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "budget 11 cannot hold any residual FFN for d = 5: \
         the smallest needs 12 (q = 1, r = 1); raise the budget"
    );
    assert_eq!(Budget::ffn(12, 5, 1).unwrap().admissible().count(), 1);
    // N = 5 tokens: q(d + N) + C(Nq + 1) + 4q^2 + (2q + 1) r + 9q = 7 + 18 + 4 + 3 + 9 with q = 1, a constant, and
    // 14 + 33 + 16 + 5 + 18 with q = 2.
    let error = Budget::new(40, Architecture::transformer(2), 2, 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "budget 40 cannot hold any post-LN Transformer for d = 2 and 3 outputs: \
         the smallest that depends on its inputs needs 86 (q = 2, r = 1); raise the budget"
    );
    let budget = |b| Budget::new(b, Architecture::transformer(2), 2, 3).unwrap();
    assert!(budget(41).useful().is_err() && budget(85).useful().is_err());
    assert!(budget(86).useful().is_ok());
}

#[test]
fn impossible_budgets_are_refused() {
    assert!(matches!(
        Budget::ffn(128, 0, 1),
        Err(BudgetError::Shape(ShapeError::Zero { name: "d" }))
    ));
    assert!(matches!(
        Budget::ffn(usize::MAX, 1, 1),
        Err(BudgetError::TooLarge { b: usize::MAX })
    ));
}

#[test]
fn shapes_over_the_cap_are_refused() {
    let budget = Budget::ffn(119, 2, 1).unwrap();
    assert!(budget.network(4, 10, Tying::Loop { t: 16 }).is_ok());
    let error = budget.network(4, 11, Tying::Loop { t: 16 }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Loop (q = 4, r = 11, T = 16), 120 numbers, exceeds the budget 119: \
         choose a smaller shape or raise the budget"
    );
    assert!(matches!(
        budget.network(4, 0, Tying::Single),
        Err(BudgetError::Shape(ShapeError::Zero { name: "r" }))
    ));
}

#[test]
fn nothing_fits_where_nothing_is_meant() {
    let budget = Budget::ffn(128, 2, 1).unwrap();
    for (q, t) in [(0, 1), (1, 0), (usize::MAX, 1), (1, usize::MAX), (22, 1)] {
        assert_eq!(budget.largest_r(q, t), None, "q = {q}, T = {t}");
    }
}

proptest! {
    /// Closed form against a search that only counts.
    #[test]
    fn enumeration_is_all_that_fits(
        d in 1usize..8, outputs in 1usize..4, b in 1usize..120, transformer: bool,
    ) {
        let architecture = if transformer { Architecture::transformer(d) } else { Architecture::Ffn };
        let mut fitting = Vec::new();
        for q in 1..=b {
            for t in 1..=b {
                for r in 1..=b {
                    let tying = Tying::Untied { t };
                    let network = Network::new(architecture.clone(), d, outputs, q, r, tying).unwrap();
                    let count = network.count();
                    if count > b {
                        break;
                    }
                    fitting.push(UntiedShape { q, r, t, count });
                }
            }
        }
        let Ok(budget) = Budget::new(b, architecture.clone(), d, outputs) else {
            prop_assert!(fitting.is_empty());
            return Ok(());
        };
        prop_assert_eq!(budget.admissible().collect::<Vec<_>>(), fitting.clone());

        let widest = |q, t| fitting.iter().rfind(|s| (s.q, s.t) == (q, t)).copied();
        for shape in budget.untied_shapes() {
            prop_assert_eq!(Some(shape), widest(shape.q, shape.t));
            let network = budget.network(shape.q, shape.r, Tying::Untied { t: shape.t }).unwrap();
            prop_assert_eq!(network.layout().len(), shape.count);
            prop_assert!(budget.network(shape.q, shape.r + 1, network.tying()).is_err());
        }
        for shape in budget.loop_shapes() {
            let LoopShape { q, r, count } = shape;
            prop_assert_eq!(Some(UntiedShape { q, r, t: 1, count }), widest(q, 1));
            let network = budget.network(q, r, Tying::Loop { t: 1000 }).unwrap();
            prop_assert_eq!(network.layout().len(), count);
        }
        prop_assert_eq!(
            budget.loop_shapes().count(),
            fitting.iter().filter(|s| (s.r, s.t) == (1, 1)).count()
        );
    }
}
