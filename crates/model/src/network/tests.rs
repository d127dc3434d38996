use super::*;
use crate::architecture::{ArchitectureKind, default_partition};
use loopfit_numerics::named::Named;
use proptest::prelude::*;

/// The 21 entries (q, r, T, P) of the table of frozen simulation configurations
/// (Section F.4.2, panel b): smooth bumps have d = 2, the recurrence d = 3, Friedman1 d = 5.
#[test]
fn counts_of_the_frozen_configurations() {
    let entries = [
        // B study.
        (2, 4, 11, Tying::Single, 120),
        (2, 4, 11, Tying::Loop { t: 16 }, 120),
        (2, 6, 2, Tying::Untied { t: 3 }, 121),
        (3, 3, 15, Tying::Single, 124),
        (3, 2, 23, Tying::Loop { t: 16 }, 128),
        (3, 2, 5, Tying::Untied { t: 4 }, 119),
        (5, 4, 10, Tying::Single, 123),
        (5, 5, 7, Tying::Loop { t: 16 }, 118),
        (5, 4, 3, Tying::Untied { t: 3 }, 122),
        // n study.
        (2, 3, 16, Tying::Single, 128),
        (2, 2, 23, Tying::Loop { t: 16 }, 126),
        (2, 4, 3, Tying::Untied { t: 3 }, 110),
        (3, 3, 15, Tying::Single, 124),
        (3, 2, 23, Tying::Loop { t: 16 }, 128),
        (3, 2, 5, Tying::Untied { t: 4 }, 119),
        (5, 4, 10, Tying::Single, 123),
        (5, 5, 7, Tying::Loop { t: 16 }, 118),
        (5, 4, 3, Tying::Untied { t: 3 }, 122),
    ];
    // T study: the count is the same for each T of the grid.
    let t_study = [(2, 3, 16, 128), (3, 2, 23, 128), (5, 5, 7, 118)];
    let t_study = t_study
        .into_iter()
        .flat_map(|(d, q, r, p)| [1, 2, 4, 8, 16, 32, 64].map(|t| (d, q, r, Tying::Loop { t }, p)));
    for (d, q, r, tying, p) in entries.into_iter().chain(t_study) {
        let network = Network::ffn(d, 1, q, r, tying).unwrap();
        assert_eq!(network.count(), p, "{network}, d = {d}");
    }
}

#[test]
fn names_itself() {
    let network = Network::ffn(2, 1, 4, 11, Tying::Loop { t: 16 }).unwrap();
    assert_eq!(
        network.to_string(),
        "Loop (q = 4, r = 11, T = 16), 120 numbers"
    );
}

#[test]
fn impossible_shapes_are_refused() {
    let error = |d, outputs, q, r, tying| Network::ffn(d, outputs, q, r, tying).unwrap_err();
    let single = Tying::Single;
    for (error, name) in [
        (error(0, 1, 1, 1, single), "d"),
        (error(1, 0, 1, 1, single), "the number of outputs"),
        (error(1, 1, 0, 1, single), "q"),
        (error(1, 1, 1, 0, single), "r"),
        (error(1, 1, 1, 1, Tying::Loop { t: 0 }), "T"),
        (error(1, 1, 1, 1, Tying::Untied { t: 0 }), "T"),
    ] {
        assert_eq!(error, ShapeError::Zero { name });
    }
    assert_eq!(
        error(1, 1, usize::MAX, 1, single),
        ShapeError::TooLarge {
            name: "q",
            value: usize::MAX
        }
    );
    assert!(matches!(
        error(
            LARGEST,
            LARGEST,
            LARGEST,
            LARGEST,
            Tying::Untied { t: LARGEST }
        ),
        ShapeError::TooManyParameters { .. }
    ));
    assert!(Network::ffn(1, 1, 1, 1, Tying::Loop { t: LARGEST }).is_ok());
}

#[test]
fn impossible_partitions_are_refused() {
    let error = |partition: &[&[usize]]| {
        let partition = partition.iter().map(|set| set.to_vec()).collect();
        let architecture = Architecture::Transformer { partition };
        Network::new(architecture, 3, 1, 2, 2, Tying::Single).unwrap_err()
    };
    assert_eq!(
        error(&[&[0, 1], &[], &[2]]),
        ShapeError::EmptyToken { token: 1 }
    );
    assert_eq!(
        error(&[&[0, 1], &[2, 3]]),
        ShapeError::InputOutOfRange {
            token: 1,
            input: 3,
            d: 3
        }
    );
    assert_eq!(
        error(&[&[0, 1], &[2, 1]]),
        ShapeError::InputTwice { input: 1 }
    );
    assert_eq!(error(&[&[0], &[2]]), ShapeError::InputUnused { input: 1 });
    assert_eq!(error(&[]), ShapeError::InputUnused { input: 0 });
}

#[test]
fn default_partitions_have_at_most_eight_groups_of_neighbours() {
    for d in 1..200 {
        let partition = default_partition(d);
        assert_eq!(partition.len(), d.min(8));
        assert_eq!(partition.concat(), (0..d).collect::<Vec<_>>());
        let sizes = || partition.iter().map(Vec::len);
        assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
    }
    assert!(default_partition(0).is_empty());
}

#[test]
fn json_is_checked() {
    let network = Network::ffn(2, 3, 4, 11, Tying::Untied { t: 3 }).unwrap();
    let json = serde_json::to_string(&network).unwrap();
    assert_eq!(
        json,
        r#"{"architecture":{"kind":"ffn"},"d":2,"outputs":3,"q":4,"r":11,"tying":{"method":"untied","t":3}}"#
    );
    assert_eq!(serde_json::from_str::<Network>(&json).unwrap(), network);
    for (good, bad) in [
        (r#""q":4"#, r#""q":0"#),
        (r#""q":4"#, r#""q":-4"#),
        (r#""q":4"#, r#""p":4"#),
        (r#""t":3"#, r#""t":0"#),
        ("untied", "tied"),
        ("ffn", "transformer"),
    ] {
        let altered = json.replace(good, bad);
        assert!(
            serde_json::from_str::<Network>(&altered).is_err(),
            "{altered}"
        );
    }
}

proptest! {
    /// Table 1 (scalar output) and Section F.4.2 (C classes), in the paper's own words.
    #[test]
    fn counts_of_the_papers_tables(
        d in 1usize..30, c in 2usize..12, q in 1usize..20, r in 1usize..50, t in 1usize..20,
    ) {
        let count = |architecture: &Architecture, outputs, tying| {
            Network::new(architecture.clone(), d, outputs, q, r, tying).unwrap().count()
        };
        let shared = [Tying::Single, Tying::Loop { t }];
        let untied = Tying::Untied { t };

        let ffn = Architecture::Ffn;
        for tying in shared {
            prop_assert_eq!(count(&ffn, 1, tying), q * (d + 3) + 1 + (2 * q + 1) * r);
            prop_assert_eq!(count(&ffn, c, tying), q * (d + 1) + c * (q + 1) + (2 * q + 1) * r + q);
        }
        prop_assert_eq!(count(&ffn, 1, untied), q * (d + 2) + 1 + t * ((2 * q + 1) * r + q));
        prop_assert_eq!(
            count(&ffn, c, untied),
            q * (d + 1) + c * (q + 1) + t * ((2 * q + 1) * r + q)
        );

        let transformer = Architecture::transformer(d);
        let n = d.min(8) + 3;
        for tying in shared {
            prop_assert_eq!(
                count(&transformer, 1, tying),
                4 * q * q + q * (d + 2 * n + 9) + 1 + (2 * q + 1) * r
            );
        }
        prop_assert_eq!(
            count(&transformer, 1, untied),
            q * (d + 2 * n) + 1 + t * (4 * q * q + (2 * q + 1) * r + 9 * q)
        );
        // Each further output is one more affine function on R^{Nq}.
        prop_assert_eq!(
            count(&transformer, c, untied),
            count(&transformer, 1, untied) + (c - 1) * (n * q + 1)
        );
    }
}

/// N = M + 3: one controller and two references stand behind the data tokens; and the names are those of files.
#[test]
fn tokens_and_names() {
    assert_eq!(Architecture::Ffn.tokens(), None);
    assert_eq!(Architecture::transformer(20).tokens(), Some(11));
    for (architecture, kind) in [
        (Architecture::Ffn, ArchitectureKind::Ffn),
        (Architecture::transformer(3), ArchitectureKind::Transformer),
    ] {
        assert_eq!(architecture.kind(), kind);
        assert_eq!(ArchitectureKind::named(kind.name()), Some(kind));
        let json = serde_json::to_value(&architecture).unwrap();
        assert_eq!(json["kind"], kind.name());
    }
}
