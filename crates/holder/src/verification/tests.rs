use super::*;
use crate::{HolderClass, Smoothness};

fn packing(d: usize, s: f64, h: f64, cells: f64) -> Packing {
    let class = HolderClass::new(Smoothness::new(d, s).unwrap(), h).unwrap();
    let delta_0 = match Packing::new(class, 1e300) {
        Err(crate::Error::DeltaTooLarge { delta_0, .. }) => delta_0,
        other => panic!("{other:?}"),
    };
    Packing::new(class, delta_0 * cells.powf(-s)).unwrap()
}

fn assert_holds(v: &Verification, what: &str) {
    assert!(v.code_holds, "{what}: code");
    assert!(v.count_holds, "{what}: count");
    assert!(v.separation_holds, "{what}: separation {:?}", v.distances);
    assert!(v.norm_holds, "{what}: norm {:?}", v.norms);
    assert!(v.mean_holds, "{what}: mean {:?}", v.means);
    assert!(v.membership_holds, "{what}: {:?}", v.memberships);
}

/// Integrals of the functions as evaluated, their derivatives and quotients, over dimensions,
/// smoothness (integer and not), bounds and radii.
#[test]
fn packings_satisfy_their_lemma() {
    for d in 1..=3 {
        for s in [0.5, 1.0, 1.3, 2.0, 2.5, 3.0] {
            for (h, cells) in [(1.0, 1.0), (0.1, 2.2), (30.0, 4.5)] {
                let packing = packing(d, s, h, cells);
                let what = format!("d {d} s {s} H {h} m {}", packing.m());
                assert_holds(&packing.verify(1, 7), &what);
            }
        }
    }
}

/// Rules of both kinds are used, and each says what it is.
#[test]
fn many_cells_and_many_inputs_are_integrated_by_monte_carlo() {
    for (d, s, cells) in [
        (2, 1.5, 100.5),
        (5, 1.0, 2.5),
        (1, 11.5, 3.5),
        (1, 0.7, 90_000.5),
    ] {
        let packing = packing(d, s, 1.0, cells);
        let verification = packing.verify(1, 3);
        assert_holds(&verification, &format!("d {d} s {s}"));
        let nodes = match verification.rule {
            Rule::GaussLegendre { nodes } => nodes,
            Rule::MonteCarlo { .. } => 0,
        };
        assert_eq!(nodes > 0, d == 1 && cells < 10.0, "d {d}");
    }
}

/// The membership check is not idle: in the class of half the bound the same functions are refuted.
#[test]
fn a_smaller_class_is_refuted() {
    for s in [0.5, 1.0, 2.0, 2.5] {
        let packing = packing(1, s, 1.0, 4.5);
        let tight = HolderClass::new(packing.class().smoothness(), 0.25).unwrap();
        let sampling = Sampling {
            seed: 1,
            points: 2000,
            pairs: 4200,
        };
        let f = packing.member(3).unwrap();
        assert!(packing.class().check(&f, &sampling).holds());
        assert!(!tight.check(&f, &sampling).holds(), "{s}");
    }
}
