//! Integrals over the unit cube under the uniform law: products of Gauss-Legendre rules in up to
//! three dimensions, seeded random points in any.
//!
//! Either is a probability on finitely many points, with positive weights. Inequalities between laws
//! that hold whatever the law of the inputs, as those of Proposition 3.2 do, hold on the points exactly; what is
//! approximate is how well the points stand for the cube.

use crate::Error;
use loopfit_numerics::named::Named;
use loopfit_numerics::quadrature::gauss_legendre;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::sum;

/// Above this dimension a product rule fine enough to be useful has too many points.
pub(crate) const MAX_PRODUCT_DIMENSION: usize = 3;
/// Points, and coordinates of points, beyond these leave no memory for anything else.
pub(crate) const MAX_POINTS: usize = 1 << 22;
pub(crate) const MAX_COORDINATES: usize = 1 << 24;
/// Batches of random points; each is left out once to see how much the answer depends on it.
pub(crate) const BATCHES: usize = 64;
/// Points of the Gauss-Legendre rule in each panel of an axis. Few points in many panels suit functions with kinks
/// and still integrate smooth ones with an error of order eight.
const ORDER: usize = 4;
/// The 0.975 quantile of Student's law with `BATCHES - 1 = 63` degrees of freedom.
const STUDENT: f64 = 1.998_340_542_520_74;

/// How integrals over `[0,1]^d` are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integration {
    d: usize,
    method: Cubature,
    /// Panels of an axis, or points of a batch.
    size: usize,
}

/// Where the points are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cubature {
    /// A product of composite Gauss-Legendre rules; the error is the difference from a rule with two
    /// thirds of the panels. That is an estimate, not a bound: kinks off the borders of panels make it uneven.
    Quadrature,
    /// Independent uniform points; the error is the half width of a 95% confidence interval.
    MonteCarlo {
        /// The seed of the points.
        seed: u64,
    },
}

/// A [`Cubature`] without its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CubatureKind {
    /// [`Cubature::Quadrature`].
    Quadrature,
    /// [`Cubature::MonteCarlo`].
    MonteCarlo,
}

impl Named for CubatureKind {
    const ALL: &'static [Self] = &[Self::Quadrature, Self::MonteCarlo];

    fn name(self) -> &'static str {
        match self {
            Self::Quadrature => "quadrature",
            Self::MonteCarlo => "monte-carlo",
        }
    }
}

impl Cubature {
    /// Its kind, which has the name.
    pub fn kind(self) -> CubatureKind {
        match self {
            Self::Quadrature => CubatureKind::Quadrature,
            Self::MonteCarlo { .. } => CubatureKind::MonteCarlo,
        }
    }
}

impl Integration {
    /// The [`Integration::standard`] one but for what is given.
    pub fn choose(
        d: usize,
        seed: u64,
        kind: Option<CubatureKind>,
        points: Option<usize>,
    ) -> Result<Self, Error> {
        let standard = Self::standard(d, seed)?;
        let method = match kind {
            None => standard.method(),
            Some(CubatureKind::Quadrature) => Cubature::Quadrature,
            Some(CubatureKind::MonteCarlo) => Cubature::MonteCarlo { seed },
        };
        Self::new(d, method, points.unwrap_or(standard.points()))
    }

    /// A rule of about `points` points: the largest product rule that has no more, or the next multiple of 64.
    pub fn new(d: usize, method: Cubature, points: usize) -> Result<Self, Error> {
        if d == 0 {
            return Err(Error::NoCoordinates);
        }
        let size = match method {
            Cubature::Quadrature if d > MAX_PRODUCT_DIMENSION => {
                return Err(Error::ProductDimension(d));
            }
            Cubature::Quadrature => {
                let count = |panels: usize| (panels * ORDER).pow(d as u32);
                (1..)
                    .take_while(|&n| count(n) <= points.min(MAX_POINTS))
                    .count()
            }
            Cubature::MonteCarlo { .. } => points.div_ceil(BATCHES),
        };
        let (least, most) = match method {
            Cubature::Quadrature => ((2 * ORDER).pow(d as u32), MAX_POINTS),
            Cubature::MonteCarlo { .. } => (BATCHES, MAX_POINTS.min(MAX_COORDINATES / d)),
        };
        if (least..=most).contains(&points) {
            Ok(Self { d, method, size })
        } else {
            Err(Error::Points {
                points,
                least,
                most,
            })
        }
    }

    /// Quadrature in up to three dimensions and random points above, as many as take about a second.
    pub fn standard(d: usize, seed: u64) -> Result<Self, Error> {
        if d <= MAX_PRODUCT_DIMENSION {
            Self::new(d, Cubature::Quadrature, 1 << 18)
        } else {
            Self::new(
                d,
                Cubature::MonteCarlo { seed },
                (1 << 18).min(MAX_COORDINATES / d),
            )
        }
    }

    /// Number of coordinates.
    pub fn d(self) -> usize {
        self.d
    }

    /// Where the points are.
    pub fn method(self) -> Cubature {
        self.method
    }

    /// Number of points of the answer, those for its error not counted.
    pub fn points(self) -> usize {
        match self.method {
            Cubature::Quadrature => (self.size * ORDER).pow(self.d as u32),
            Cubature::MonteCarlo { .. } => self.size * BATCHES,
        }
    }

    /// The points of the answer, and for quadrature those of the coarser rule.
    pub(crate) fn rules(self) -> (Rule, Option<Rule>) {
        match self.method {
            Cubature::Quadrature => {
                let coarser = (2 * self.size).div_ceil(3).min(self.size - 1);
                (
                    Rule::product(self.d, self.size),
                    Some(Rule::product(self.d, coarser)),
                )
            }
            Cubature::MonteCarlo { seed } => (Rule::random(self.d, self.points(), seed), None),
        }
    }
}

/// Points with weights that sum to one.
pub(crate) struct Rule {
    /// Row-major.
    pub(crate) points: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

impl Rule {
    fn product(d: usize, panels: usize) -> Self {
        let width = 1.0 / panels as f64;
        let rule = gauss_legendre(ORDER);
        let axis: Vec<(f64, f64)> = (0..panels)
            .flat_map(|panel| {
                let middle = (panel as f64 + 0.5) * width;
                rule.iter()
                    .map(move |(x, w)| (middle + 0.5 * width * x, 0.5 * width * w))
            })
            .collect();
        let n = axis.len().pow(d as u32);
        let (mut points, mut weights) = (Vec::with_capacity(n * d), Vec::with_capacity(n));
        for i in 0..n {
            let mut weight = 1.0;
            for k in (0..d).rev() {
                let (x, w) = axis[i / axis.len().pow(k as u32) % axis.len()];
                points.push(x);
                weight *= w;
            }
            weights.push(weight);
        }
        Self { points, weights }
    }

    fn random(d: usize, n: usize, seed: u64) -> Self {
        let stream = Stream::new(seed).child("integral");
        Self {
            points: (0..(n * d) as u64).map(|i| stream.uniform(i)).collect(),
            weights: vec![1.0 / n as f64; n],
        }
    }
}

/// Half width of the 95% confidence interval, from the answers without one batch each.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    t_{63,\,0.975}\Bigl\{\frac{63}{64}\sum_{b=1}^{64}\bigl(\theta_{(b)}-\bar\theta\bigr)^2\Bigr\}^{1/2}
")]
///
/// # Reference
/// Tukey, "Bias and confidence in not quite large samples", 1958, with batches as Quenouille's groups.
pub(crate) fn jackknife(without: &[f64]) -> f64 {
    let n = without.len() as f64;
    let centre = sum(without) / n;
    let squares: Vec<f64> = without
        .iter()
        .map(|v| (v - centre) * (v - centre))
        .collect();
    STUDENT * ((n - 1.0) / n * sum(&squares)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_numerics::sum::{mean, standard_error};

    fn integral(rule: &Rule, f: impl Fn(&[f64]) -> f64) -> f64 {
        let d = rule.points.len() / rule.weights.len();
        let values = rule.points.chunks(d).zip(&rule.weights);
        sum(&values.map(|(x, w)| w * f(x)).collect::<Vec<_>>())
    }

    #[test]
    fn requests_are_checked() {
        let points = |d, method, n| Integration::new(d, method, n);
        let random = Cubature::MonteCarlo { seed: 0 };
        assert_eq!(points(0, random, 100), Err(Error::NoCoordinates));
        assert_eq!(
            points(4, Cubature::Quadrature, 10_000),
            Err(Error::ProductDimension(4))
        );
        for (d, method, n) in [
            (3, Cubature::Quadrature, 511),
            (1, Cubature::Quadrature, MAX_POINTS + 1),
            (1, random, 63),
            (10_000, random, 2000),
        ] {
            assert!(
                matches!(points(d, method, n), Err(Error::Points { .. })),
                "{d} {n}"
            );
        }
        assert_eq!(points(3, Cubature::Quadrature, 512).unwrap().points(), 512);
        assert_eq!(points(2, Cubature::Quadrature, 150).unwrap().points(), 144);
        assert_eq!(points(9, random, 65).unwrap().points(), 128);
    }

    /// Every monomial of degree seven in each variable: the integral is a product of `1/(k + 1)`.
    #[test]
    fn products_integrate_polynomials() {
        for d in 1..=3 {
            let (fine, coarse) = Integration::new(d, Cubature::Quadrature, 512)
                .unwrap()
                .rules();
            for rule in [fine, coarse.unwrap()] {
                assert!((sum(&rule.weights) - 1.0).abs() < 1e-14);
                for k in 0..8 {
                    let got = integral(&rule, |x| x.iter().map(|x| x.powi(k)).product());
                    let exact = (1.0 / f64::from(k + 1)).powi(d as i32);
                    assert!((got - exact).abs() < 1e-14, "d {d} k {k}");
                }
            }
        }
    }

    /// For a mean the jackknife is the standard error of the batch means.
    #[test]
    fn jackknife_of_a_mean_is_the_standard_error() {
        let batches: Vec<f64> = (0..64).map(|i| f64::from(i * i % 17)).collect();
        let total = sum(&batches);
        let without: Vec<f64> = batches.iter().map(|b| (total - b) / 63.0).collect();
        assert!((mean(&without) - mean(&batches)).abs() < 1e-12);
        assert!((jackknife(&without) - STUDENT * standard_error(&batches)).abs() < 1e-12);
    }
}
