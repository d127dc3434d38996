use super::*;
use crate::Smoothness;
use proptest::prelude::*;

/// `phi^(j)` as a polynomial times a power of `w = 1 - u^2` times `phi`: in `u`,
/// `phi^(j) = P_j w^(-2j) phi` with `P_{j+1} = P_j' w^2 + (4 j u w - 2 beta u) P_j`.
fn by_polynomials(t: f64, order: usize) -> f64 {
    let times = |a: &[f64], b: &[f64]| {
        let mut product = vec![0.0; a.len() + b.len() - 1];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                product[i + j] += a * b;
            }
        }
        product
    };
    let mut p = vec![1.0];
    for j in 0..order {
        let slope: Vec<f64> = (1..p.len()).map(|i| i as f64 * p[i]).collect();
        let j = j as f64;
        let left = times(&[0.0, 4.0 * j - 2.0 * BETA, 0.0, -4.0 * j], &p);
        let right = if slope.is_empty() {
            vec![0.0]
        } else {
            times(&slope, &[1.0, 0.0, -2.0, 0.0, 1.0])
        };
        let n = left.len().max(right.len());
        let at = |v: &[f64], i: usize| v.get(i).copied().unwrap_or(0.0);
        p = (0..n).map(|i| at(&left, i) + at(&right, i)).collect();
    }
    let u = (t - 0.5) / RHO;
    let w = 1.0 - u * u;
    let value = p.iter().rev().fold(0.0, |sum, c| sum * u + c);
    value * (BETA - BETA / w).exp() * w.powi(-2 * order as i32) / RHO.powi(order as i32)
}

proptest! {
    #[test]
    fn derivatives_match_the_polynomials(t in 0.1f64..0.9) {
        let suprema = suprema();
        let derivatives = phi(t, ORDERS - 1);
        for order in 0..ORDERS {
            let off = (derivatives[order] - by_polynomials(t, order)).abs();
            prop_assert!(off <= 1e-9 * suprema[order], "order {}: {}", order, off);
        }
    }

    /// Central differences of each order are the next.
    #[test]
    fn derivatives_match_finite_differences(t in 0.0f64..=1.0) {
        let (suprema, h) = (suprema(), 1e-5);
        let (left, right) = (phi(t - h, ORDERS - 1), phi(t + h, ORDERS - 1));
        for order in 0..ORDERS - 3 {
            let difference = (right[order] - left[order]) / (2.0 * h);
            // Half of h^2/3 times the third derivative from there, and rounding.
            let off = h * h * suprema[order + 3] + 1e-10 * suprema[order] / h;
            prop_assert!((phi(t, order + 1)[order + 1] - difference).abs() <= off);
        }
    }

    #[test]
    fn suprema_are_suprema(t in 0.0f64..=1.0) {
        let derivatives = phi(t, ORDERS - 1);
        for (supremum, derivative) in suprema().iter().zip(derivatives) {
            prop_assert!(derivative.abs() <= *supremum);
        }
    }
}

/// Nothing overflows on the way to the edge, and nothing is left at it.
#[test]
fn the_edge_is_flat() {
    for i in 0..=2000 {
        let t = 0.5 - RHO + 1e-5 * f64::from(i - 1000);
        let derivatives = phi(t, ORDERS - 1);
        assert!(derivatives.iter().all(|v| v.is_finite()));
        assert!(i > 1000 || derivatives == [0.0; ORDERS]);
    }
    assert_eq!(phi(-3.0, 5), [0.0; ORDERS]);
    assert_eq!(phi(0.5 + RHO, 5), [0.0; ORDERS]);
}

/// `max phi = 1` at the centre; the largest slope is where `P_2 = 6 beta u^4 + 4 beta (beta - 1) u^2 - 2 beta`
/// vanishes.
#[test]
fn the_first_suprema_are_known() {
    let suprema = suprema();
    assert!((suprema[0] - 1.0).abs() < 2e-9);
    // 6 v^2 + 4 (beta - 1) v - 2 = 0 for v = u^2.
    let b = BETA - 1.0;
    let u = (((b * b + 3.0).sqrt() - b) / 3.0).sqrt();
    assert!((suprema[1] / by_polynomials(0.5 - RHO * u, 1).abs() - 1.0).abs() < 2e-9);
}

/// `integral phi'^2` and `integral phi^2` by an independent program (Python, midpoint rule with 4000
/// and with 5000 points, which agree in the digits given).
#[test]
fn norms_match_an_independent_program() {
    let (slope, value) = (6.251_124_688_546_4_f64, 0.319_877_533_329_708_f64);
    for d in [1, 2, 5] {
        let expected = (slope * value.powi(d - 1)).sqrt();
        let norm = Bump::new(d as usize).unwrap().norm();
        assert!((norm / expected - 1.0).abs() < 1e-12, "{norm} {expected}");
    }
}

/// By a rule that does not have the bump's symmetry.
#[test]
fn the_integral_is_zero() {
    let bump = Bump::new(1).unwrap();
    let f = |t| bump.derivative([0], [t]);
    let integral = integrate(0.0, 0.37, 40, f) + integrate(0.37, 1.0, 64, f);
    assert!(integral.abs() < 1e-13, "{integral}");
}

/// The scale's maximum over all multi-indices, without using that inputs are exchangeable.
#[test]
fn the_scale_is_the_maximum_over_all_multi_indices() {
    for d in 1..=3usize {
        for s in [0.5, 1.0, 1.3, 2.0, 2.5, 3.0, 4.2] {
            let class = HolderClass::new(Smoothness::new(d, s).unwrap(), 2.0).unwrap();
            let bump = Bump::new(d).unwrap();
            let (k, alpha) = (class.smoothness().k(), class.smoothness().alpha());
            let mut most: f64 = 0.0;
            for code in 0..(k + 1).pow(d as u32) {
                let nu: Vec<usize> = (0..d as u32)
                    .map(|i| code / (k + 1).pow(i) % (k + 1))
                    .collect();
                let order: usize = nu.iter().sum();
                let lipschitz: f64 = (0..d)
                    .map(|i| {
                        let mut raised = nu.clone();
                        raised[i] += 1;
                        bump.supremum(&raised)
                    })
                    .sum();
                let supremum = bump.supremum(&nu);
                if order <= k {
                    most = most.max(supremum);
                }
                if order == k {
                    most = most.max((2.0 * supremum).powf(1.0 - alpha) * lipschitz.powf(alpha));
                }
            }
            let scale = bump.scale(class).unwrap();
            assert!((scale * most / 2.0 - 1.0).abs() < 1e-12, "d {d} s {s}");
        }
    }
}

#[test]
fn large_dimensions_are_no_work_and_large_smoothness_is_refused() {
    let class = |s| HolderClass::new(Smoothness::new(1000, s).unwrap(), 1.0).unwrap();
    let bump = Bump::new(1000).unwrap();
    assert!(bump.scale(class(12.0)).unwrap() > 0.0);
    assert_eq!(bump.scale(class(12.5)), Err(Error::SmoothnessLimit(12.5)));
}
