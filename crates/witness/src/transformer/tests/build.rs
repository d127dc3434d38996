//! What is built: counts, tables, and what is refused.

use super::*;
use crate::block::Coordinate;
use crate::transformer::resources::{group_exponent, implementation_width};
use loopfit_holder::Smoothness;
use loopfit_model::Architecture;
use loopfit_theory::thresholds::Thresholds;

/// Every formula is checked while building; thresholds and parameter bound are compared with the
/// calculator, which has formulas of its own.
#[test]
fn counts_are_the_papers() {
    for d in 1..=3 {
        for s in ["1/2", "1", "3/2", "2", "3"] {
            let smoothness = Smoothness::new(d, r(s).to_f64()).unwrap();
            let architecture = Architecture::transformer(d);
            let expected = Thresholds::new(smoothness, &architecture, 1.0, 1e-5).unwrap();
            for (m, h) in [(1, 0), (1, 1), (2, 1)] {
                let witness = witness(d, s, m, h);
                let resources = witness.resources();
                resources.check().unwrap();
                assert_eq!(resources.q_hom as u64, expected.q);
                assert_eq!(resources.parameter_bound.to_f64(), expected.parameter_bound);
                let one_group = resources.r_impl - 3 * witness.groups().count() + 3;
                assert_eq!(one_group as u64, expected.r);
                // The units that the tables of Sections E.2.6 and E.2.7 count one by one.
                let (routing, front) = match h {
                    0 => (8 * d + 3, 2 * d + 6 + 1 + 4),
                    _ => (51 * d + 5, resources.front_allowed),
                };
                assert_eq!(resources.units.routing, routing);
                assert_eq!(resources.units.front, front);
            }
        }
    }
}

/// The table of Section E.3.6: units of each phase of the terminal correction.
#[test]
fn phases_of_the_correction_have_the_papers_units() {
    let witness = witness(2, "1", 1, 1);
    let q_star = witness.resolution().q_0() + 2 + 10;
    let phases = &witness.native().correction.phases;
    let gated = |phase: Coordinate| {
        let units = witness.block().units().iter();
        units
            .filter(|unit| {
                let mut read = unit.preactivation.terms();
                read.any(|(c, weight)| c == phase && weight.is_positive())
            })
            .count()
    };
    let expected = [
        13,
        9,
        4,
        9,
        9,
        4,
        21,
        15,
        4,
        3,
        9,
        2,
        5,
        21,
        15,
        4,
        3,
        2 * (q_star - 1) + 2 * 14 + 1,
    ];
    let found: Vec<_> = phases.iter().map(|phase| gated(*phase)).collect();
    assert_eq!(found, expected);
}

#[test]
fn widths_choose_groups() {
    let resolution = Resolution::new(2, r("1"), r("1"), 3).unwrap();
    let width = |h| implementation_width(&resolution, Groups::new(&resolution, h).unwrap());
    assert_eq!(group_exponent(&resolution, width(0)), Ok(0));
    assert_eq!(group_exponent(&resolution, width(1) - 1), Ok(0));
    assert_eq!(group_exponent(&resolution, width(2)), Ok(2));
    assert_eq!(group_exponent(&resolution, 1 << 30), Ok(3));
    let least = width(0);
    let refused = group_exponent(&resolution, least - 1);
    assert_eq!(
        refused,
        Err(Error::HiddenWidth {
            r: least - 1,
            least
        })
    );
}

#[test]
fn wrong_requests_are_refused() {
    let refused = |change: fn(&mut Setting)| {
        let mut setting = Setting::new(2);
        change(&mut setting);
        let resolution = Resolution::new(2, r("1"), r("1"), 1).unwrap();
        let built = Witness::new(resolution, 1, setting, &bumps(2));
        built.unwrap_err().to_string()
    };
    assert!(refused(|s| s.partition = vec![vec![0]]).contains("leaves out input 1"));
    assert!(refused(|s| s.partition = vec![vec![0, 1], vec![1]]).contains("input 1 twice"));
    assert!(refused(|s| s.stabiliser = Rational::ZERO).contains("must be above 0"));
    // q_0 = 54, q_* = 66, p_nat = 124.
    assert!(refused(|s| s.q = Some(10)).contains("needs at least 250"));
    assert!(refused(|s| s.r = Some(10)).contains("needs at least"));
    let witness = witness(2, "1", 1, 1);
    let start = |x: &[Rational]| witness.start(x).unwrap_err().to_string();
    assert!(start(&[r("1/2")]).contains("give one number for each"));
    assert!(start(&[r("1/2"), r("3/2")]).contains("outside [0, 1]"));
}

/// A stabiliser so large that its root is the parameter bound.
#[test]
fn large_stabilisers_raise_the_bound() {
    let with = |stabiliser: &str| {
        let setting = Setting {
            stabiliser: r(stabiliser),
            ..Setting::new(1)
        };
        witness_with(1, "1", 1, 0, setting)
            .resources()
            .parameter_bound
            .clone()
    };
    assert_eq!(with("999999999999"), r("1000000"));
    let bound = with("1000000000000");
    let square = &bound * &bound;
    assert!(square >= r("1000000000001"));
    assert!(square < r("1000000000001.001"));
}
