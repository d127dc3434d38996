//! Rules for integrals over intervals and over the unit cube.

use std::f64::consts::PI;

/// Gauss-Legendre nodes and weights on [-1, 1], exact for degree `2n - 1`.
///
/// # Formula
/// Nodes are the zeros of the Legendre polynomial `P_n` (Newton from
/// `cos(pi (i + 3/4) / (n + 1/2))`), weights `2 / ((1 - x^2) P_n'(x)^2)`.
pub fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let mut x = -libm::cos(PI * (i as f64 + 0.75) / (n as f64 + 0.5));
            for _ in 0..100 {
                let (p, dp) = legendre(n, x);
                let step = p / dp;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            let (_, dp) = legendre(n, x);
            (x, 2.0 / ((1.0 - x * x) * dp * dp))
        })
        .collect()
}

/// `(P_n(x), P_n'(x))` by the three-term recurrence.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut p0, mut p1) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (p0, p1) = (p1, ((2.0 * k - 1.0) * x * p1 - (k - 1.0) * p0) / k);
    }
    (p1, n as f64 * (x * p1 - p0) / (x * x - 1.0))
}

/// `integral_a^b f` by `panels` Gauss-Legendre rules of 20 points each.
pub fn integrate(a: f64, b: f64, panels: usize, f: impl Fn(f64) -> f64) -> f64 {
    let rule = gauss_legendre(20);
    let width = (b - a) / panels as f64;
    let terms: Vec<f64> = (0..panels)
        .flat_map(|p| {
            let mid = a + (p as f64 + 0.5) * width;
            rule.iter()
                .map(|(x, w)| 0.5 * width * w * f(mid + 0.5 * width * x))
                .collect::<Vec<_>>()
        })
        .collect();
    crate::sum::sum(&terms)
}

/// The midpoint grid of `[0,1]^d` with `side` cells along each axis: `side^d` points,
/// row-major, first coordinate slowest.
pub fn midpoint_grid(d: usize, side: usize) -> Vec<f64> {
    let n = side.pow(d as u32);
    let mut points = Vec::with_capacity(n * d);
    for i in 0..n {
        for axis in 0..d {
            let cell = i / side.pow((d - 1 - axis) as u32) % side;
            points.push((cell as f64 + 0.5) / side as f64);
        }
    }
    points
}

/// `n` points of the Halton sequence in `[0,1]^d`, row-major.
///
/// # Formula
/// Coordinate `k` of point `i` is the radical inverse of `i + 1` in the `k`-th prime
/// base: the digits of `i + 1` mirrored about the point.
///
/// # Reference
/// Halton, "On the efficiency of certain quasi-random sequences of points", 1960.
pub fn low_discrepancy(d: usize, n: usize) -> Vec<f64> {
    let bases = primes(d);
    (1..=n as u64)
        .flat_map(|i| bases.iter().map(move |&base| radical_inverse(i, base)))
        .collect()
}

fn radical_inverse(mut i: u64, base: u64) -> f64 {
    let (mut x, mut scale) = (0.0, 1.0 / base as f64);
    while i > 0 {
        x += (i % base) as f64 * scale;
        i /= base;
        scale /= base as f64;
    }
    x
}

/// The first `count` primes.
fn primes(count: usize) -> Vec<u64> {
    (2..)
        .filter(|n| (2..*n).take_while(|k| k * k <= *n).all(|k| n % k != 0))
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_legendre_is_exact_for_polynomials() {
        for n in 1..=24 {
            let rule = gauss_legendre(n);
            for degree in 0..2 * n {
                let exact = if degree % 2 == 0 {
                    2.0 / (degree as f64 + 1.0)
                } else {
                    0.0
                };
                let got: f64 = rule.iter().map(|(x, w)| w * x.powi(degree as i32)).sum();
                assert!(
                    (got - exact).abs() < 1e-13,
                    "n {n} degree {degree}: {got} {exact}"
                );
            }
        }
    }

    #[test]
    fn integrates_a_gaussian() {
        let got = integrate(-10.0, 10.0, 40, |x| (-0.5 * x * x).exp());
        assert!((got - (2.0 * PI).sqrt()).abs() < 1e-13);
    }

    #[test]
    fn grids_have_the_right_mean() {
        let grid = midpoint_grid(3, 4);
        assert_eq!(grid.len(), 64 * 3);
        assert_eq!(&grid[..6], &[0.125, 0.125, 0.125, 0.125, 0.125, 0.375]);
        // integral of x y z over the cube = 1/8, exact for the midpoint rule.
        let mean: f64 = grid
            .chunks(3)
            .map(|p| p.iter().product::<f64>())
            .sum::<f64>()
            / 64.0;
        assert!((mean - 0.125).abs() < 1e-15);
    }

    #[test]
    fn low_discrepancy_beats_the_monte_carlo_rate() {
        for d in [4, 5, 6] {
            let n = 4096;
            let mean: f64 = low_discrepancy(d, n)
                .chunks(d)
                .map(|p| p.iter().map(|x| 2.0 * x).product::<f64>())
                .sum::<f64>()
                / n as f64;
            let monte_carlo_sd = (((4.0f64 / 3.0).powi(d as i32) - 1.0) / n as f64).sqrt();
            assert!((mean - 1.0).abs() < 0.5 * monte_carlo_sd, "d {d}: {mean}");
        }
    }
}
