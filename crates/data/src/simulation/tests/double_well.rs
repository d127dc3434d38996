use loopfit_numerics::quadrature::gauss_legendre;
use loopfit_numerics::sum::sum;
use proptest::prelude::*;

use crate::simulation::Simulation;
use crate::simulation::double_well::{START, TIME, VARIANCE, flow};

/// The field as it is written.
fn force(x: f64) -> f64 {
    x - 4.0 * (x.abs() - 0.5).max(0.0) * x.signum()
}

/// Fourth-order Runge-Kutta, in 4096 steps that are halved again and again where a kink is
/// within reach: across one the method is only of second order.
fn runge_kutta(start: [f64; 2], time: f64) -> [f64; 2] {
    let h = time / 4096.0;
    (0..4096).fold(start, |state, _| runge_kutta_step(state, h))
}

fn runge_kutta_step([x, p]: [f64; 2], h: f64) -> [f64; 2] {
    if (x.abs() - 0.5).abs() <= 2.0 * h * (p.abs() + h) && h > 1e-9 {
        return runge_kutta_step(runge_kutta_step([x, p], h / 2.0), h / 2.0);
    }
    let (x1, p1) = (p, force(x));
    let (x2, p2) = (p + h / 2.0 * p1, force(x + h / 2.0 * x1));
    let (x3, p3) = (p + h / 2.0 * p2, force(x + h / 2.0 * x2));
    let (x4, p4) = (p + h * p3, force(x + h * x3));
    [
        x + h / 6.0 * (x1 + 2.0 * x2 + 2.0 * x3 + x4),
        p + h / 6.0 * (p1 + 2.0 * p2 + 2.0 * p3 + p4),
    ]
}

fn energy([x, p]: [f64; 2]) -> f64 {
    let over = (x.abs() - 0.5).max(0.0);
    p * p / 2.0 - x * x / 2.0 + 2.0 * over * over
}

fn distance([a, b]: [f64; 2], [c, d]: [f64; 2]) -> f64 {
    (a - c).abs().max((b - d).abs())
}

proptest! {
    /// Energy is kept, the flow is odd, going back leads to the start, and two legs are one way.
    #[test]
    fn the_flow_is_a_flow(x in -START..=START, p in -START..=START, first in 0.0..=TIME) {
        let end = flow([x, p], TIME);
        prop_assert!((energy(end) - energy([x, p])).abs() < 1e-14);
        prop_assert_eq!(flow([-x, -p], TIME), end.map(|v| -v));
        // The flow stretches by at most e in a unit of time, both ways.
        let [bx, bp] = flow([end[0], -end[1]], TIME);
        prop_assert!(distance([bx, -bp], [x, p]) < 1e-13);
        prop_assert!(distance(flow(flow([x, p], first), TIME - first), end) < 1e-13);
    }

    #[test]
    fn the_flow_solves_its_equation(x in -START..=START, p in -START..=START) {
        prop_assert!(distance(flow([x, p], TIME), runge_kutta([x, p], TIME)) < 1e-12);
    }
}

/// Starts on a kink and beside it, at rest, on the way into the saddle, in the minimum.
#[test]
fn special_starts_are_followed() {
    for x in [
        0.5,
        0.5f64.next_up(),
        0.5f64.next_down(),
        -0.5,
        0.0,
        2.0 / 3.0,
        1.0,
    ] {
        for p in [0.0, -0.0, 1e-17, -1e-17, 0.5, -0.5, 1.0, -1.0, -x] {
            let (got, expected) = (flow([x, p], TIME), runge_kutta([x, p], TIME));
            assert!(
                distance(got, expected) < 1e-12,
                "from ({x}, {p}): {got:?}, expected {expected:?}"
            );
        }
    }
}

/// The mean of `g` over the unit square: eight Gauss-Legendre nodes each way in each cell.
fn integral(cells: usize, g: impl Fn(&[f64]) -> f64) -> f64 {
    let rule = gauss_legendre(8);
    let nodes: Vec<(f64, f64)> = (0..cells)
        .flat_map(|i| {
            rule.iter()
                .map(move |(x, w)| (i as f64 + 0.5 + 0.5 * x, 0.5 * w))
        })
        .map(|(x, w)| (x / cells as f64, w / cells as f64))
        .collect();
    let rows: Vec<f64> = nodes
        .iter()
        .map(|(x, u)| {
            sum(&nodes
                .iter()
                .map(|(y, v)| u * v * g(&[*x, *y]))
                .collect::<Vec<_>>())
        })
        .collect();
    sum(&rows)
}

#[test]
fn the_target_has_mean_zero_and_variance_one() {
    let target = Simulation::DoubleWell.target(0);
    assert!(integral(64, |x| target.eval(x)).abs() < 1e-14);
    let variance = integral(96, |x| target.eval(x).powi(2));
    assert!((variance - 1.0).abs() < 1e-8, "{variance}");
}

#[test]
fn the_variance_is_right_in_all_digits() {
    let variance = integral(1024, |x| {
        flow([0, 1].map(|k| START * (2.0 * x[k] - 1.0)), TIME)[0].powi(2)
    });
    assert!((variance - VARIANCE).abs() < 5e-12, "{variance}");
}
