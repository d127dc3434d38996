use super::*;
use crate::{FiniteDifferences, Smoothness};
use proptest::prelude::*;

fn class(d: usize, s: f64, h: f64) -> HolderClass {
    HolderClass::new(Smoothness::new(d, s).unwrap(), h).unwrap()
}

/// The largest radius of a class.
fn delta_0(class: HolderClass) -> f64 {
    match Packing::new(class, 1e300) {
        Err(Error::DeltaTooLarge { delta_0, .. }) => delta_0,
        other => panic!("{other:?}"),
    }
}

/// A class and a radius that is some fraction of its largest.
fn packings() -> impl Strategy<Value = Packing> {
    let s = prop::sample::select(vec![0.5, 1.0, 1.3, 2.0, 2.5, 3.0]);
    (1usize..=3, s, 0.01f64..100.0, 1.0f64..20.0).prop_map(|(d, s, h, cells)| {
        let class = class(d, s, h);
        let delta = delta_0(class) * cells.powf(-s);
        Packing::new(class, delta).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The three assertions of the lemma, from closed forms.
    #[test]
    fn the_lemma_holds(packing in packings()) {
        let (d, s) = (packing.class.smoothness().d(), packing.class.smoothness().s());
        let (delta, m) = (packing.delta(), packing.m() as f64);
        let near = 1.0 + 1e-12;
        prop_assert!(packing.separation() * near >= 8.0 * delta);
        prop_assert!(packing.largest_norm() <= near * packing.norm_constant() * delta);
        prop_assert!(packing.log_m() * near >= packing.log_m_bound());
        // The floor of the formula, and no less.
        prop_assert!(packing.c_sep() * m.powf(-s) * near >= 8.0 * delta);
        prop_assert!(packing.c_sep() * (m + 1.0).powf(-s) < near * 8.0 * delta);
        prop_assert_eq!(packing.cells(), packing.m().pow(d as u32));
        let c = 2f64.ln() / 8.0 * 0.5f64.powi(d as i32) * packing.delta_0().powf(d as f64 / s);
        prop_assert!((packing.c().value() / c - 1.0).abs() < 1e-9);
    }

    /// Distances and norms are those of the words.
    #[test]
    fn distances_are_counted(packing in packings(), seeds: [u64; 2]) {
        let [f, g] = seeds.map(|seed| packing.draw(Stream::new(seed)));
        if f == g {
            prop_assert_eq!(f.differences(&g), 0);
        } else {
            prop_assert!(packing.norm_of(f.differences(&g)) >= packing.separation());
        }
        prop_assert!(packing.norm_of(f.bumps()) <= packing.largest_norm());
    }

    /// Members differentiate as finite differences of their values do.
    #[test]
    fn derivatives_match_finite_differences(
        packing in packings(),
        seed: u64,
        x in prop::collection::vec(0.0f64..=1.0, 3),
        axis in 0usize..3,
    ) {
        let d = packing.class.smoothness().d();
        let f = packing.draw(Stream::new(seed));
        let mut nu = vec![0; d];
        nu[axis % d] = 1;
        let height = packing.amplitude() * packing.bump.supremum(&vec![0; d]);
        let plain = FiniteDifferences::new(d, |x: &[f64]| f.value(x) / height, 1e-14);
        // The point moves by 1e-8 at the edge of the cube; second derivatives are below 200 m^2.
        let m = packing.m() as f64;
        let off = plain.error(1) + 1e-8 * 200.0 * m * m;
        let difference = plain.derivative(&nu, &x[..d]);
        let derivative = f.derivative(&nu, &x[..d]) / height;
        prop_assert!((derivative - difference).abs() <= off, "{} {}", derivative, difference);
    }
}

#[test]
fn values_are_bumps_in_their_cells() {
    // d = 2, m = 3: nine cells, even weight; member 1 has bumps in cell 0 and in the last.
    let class = class(2, 1.0, 1.0);
    let packing = Packing::new(class, delta_0(class) / 3.5).unwrap();
    assert_eq!((packing.m(), packing.cells()), (3, 9));
    let f = packing.member(1).unwrap();
    let [near, far] = [0.3, 0.5].map(|t| t / 3.0);
    let top = f.value(&[near, far]);
    let expected = packing.amplitude() * packing.bump.derivative([0, 0], [0.3, 0.5]);
    assert!((top - expected).abs() < 1e-12 * expected.abs() && top > 0.0);
    assert!((f.value(&[near + 2.0 / 3.0, far + 2.0 / 3.0]) - top).abs() < 1e-12 * top);
    assert_eq!(f.value(&[near, far + 1.0 / 3.0]), 0.0);
    assert_eq!(f.bumps(), 2);
    assert_eq!(packing.member(0).unwrap().value(&[near, far]), 0.0);
    for corner in [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]] {
        assert_eq!(f.value(&corner), 0.0);
    }
}

#[test]
fn impossible_radii_are_refused_with_the_possible_ones() {
    let class = class(2, 1.5, 1.0);
    for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Packing::new(class, delta), Err(Error::Delta(_))));
    }
    let delta_0 = delta_0(class);
    assert_eq!(Packing::new(class, delta_0).unwrap().m(), 1);
    assert!(Packing::new(class, delta_0 * (1.0 + 1e-15)).is_err());
    let Err(Error::DeltaTooSmall { least, .. }) = Packing::new(class, 1e-300) else {
        panic!("too many cells");
    };
    // 313^2 = 97969 cells are the most below 98304.
    assert_eq!(Packing::new(class, least * (1.0 + 1e-12)).unwrap().m(), 313);
    assert!(Packing::new(class, least * (1.0 - 1e-12)).is_err());
}

#[test]
fn many_inputs_leave_one_cell_or_are_refused() {
    let many = class(40, 2.0, 1.0);
    let packing = Packing::new(many, delta_0(many)).unwrap();
    assert_eq!(
        (packing.m(), packing.cells(), packing.code.bits()),
        (1, 1, 1)
    );
    for (d, h) in [(1_000_000, 1.0), (1, 1e200), (1, 1e-200)] {
        let refused = Packing::new(class(d, 2.0, h), 1e-3);
        assert!(matches!(refused, Err(Error::Range { .. })), "{d} {h}");
    }
}
