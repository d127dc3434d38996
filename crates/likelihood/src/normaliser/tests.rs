use super::*;
use loopfit_numerics::libm::erf;
use loopfit_numerics::quadrature::integrate;

/// A mixture of Gaussian bumps on a constant, the exponential of an index: `a + sum_k w_k prod_i exp(-(x_i - c_k)^2 / 2 s^2)`.
struct Mixture {
    d: usize,
    a: f64,
    /// Height, the common coordinate of the centre, scale.
    bumps: Vec<(f64, f64, f64)>,
}

impl Mixture {
    fn index(&self, points: &[f64]) -> Vec<f64> {
        let at = |x: &[f64]| {
            let bumps = self.bumps.iter().map(|(height, centre, scale)| {
                let squares: f64 = x.iter().map(|x| (x - centre) * (x - centre)).sum();
                height * (-0.5 * squares / (scale * scale)).exp()
            });
            (self.a + bumps.sum::<f64>()).ln()
        };
        points.chunks(self.d).map(at).collect()
    }

    /// In closed form: each bump is a product of Gaussian integrals over the unit interval.
    fn log_normaliser(&self) -> f64 {
        let bumps = self.bumps.iter().map(|(height, centre, scale)| {
            let root = scale * 2f64.sqrt();
            let half = scale * (std::f64::consts::PI / 2.0).sqrt();
            let side = half * (erf((1.0 - centre) / root) + erf(centre / root));
            height * side.powi(self.d as i32)
        });
        (self.a + bumps.sum::<f64>()).ln()
    }
}

/// Two modes whose index runs from -4 to about 4, as under the default bound.
fn two_modes(d: usize) -> Mixture {
    Mixture {
        d,
        a: (-4.0f64).exp(),
        bumps: vec![(4f64.exp(), 0.3, 0.13), (3f64.exp(), 0.68, 0.15)],
    }
}

/// Known closed forms lie within the error that is told, and the error is small.
#[test]
fn mixtures_are_normalised() {
    for d in [4, 6, 8, 10] {
        let mixture = two_modes(d);
        let exact = mixture.log_normaliser();
        let rule = Energy::evaluation(d).unwrap();
        let found = rule
            .estimated_log_normaliser(|points| mixture.index(points))
            .unwrap();
        let off = (found.value - exact).abs();
        assert!(off <= 4.0 * found.error, "d {d}: off by {off}, {found:?}");
        assert!(found.error < LogNormaliser::LARGE, "d {d}: {found:?}");
    }
}

/// A product of Bessel functions, see the tests of the rules; peaks as high as `e^10` over the lowest point.
#[test]
fn periodic_indices_are_normalised() {
    let tau = std::f64::consts::TAU;
    for d in [4, 7, 12] {
        let c = 10.0 / d as f64;
        let one = integrate(0.0, 1.0, 8, |x| (c * (tau * x).cos()).exp());
        let exact = d as f64 * one.ln();
        let index = |points: &[f64]| -> Vec<f64> {
            let at = |x: &[f64]| x.iter().map(|x| c * (tau * x).cos()).sum();
            points.chunks(d).map(at).collect()
        };
        let rule = Energy::evaluation(d).unwrap();
        let found = rule.estimated_log_normaliser(index).unwrap();
        assert!(
            (found.value - exact).abs() <= 4.0 * found.error,
            "{found:?}"
        );
        assert!(found.error <= ENOUGH, "d {d}: {found:?}");
    }
}

/// On a grid the value is that of the rule, bit for bit, and the error is about the midpoint rule's.
#[test]
fn grids_stay_as_they_are() {
    for d in 1..=3 {
        let mixture = two_modes(d);
        let rule = Energy::evaluation(d).unwrap();
        let index = |points: &[f64]| mixture.index(points);
        let found = rule.estimated_log_normaliser(index).unwrap();
        assert_eq!(
            found.value,
            rule.log_normaliser(&index(&rule.node_points()))
        );
        let off = (found.value - mixture.log_normaliser()).abs();
        assert!(off <= 2.0 * found.error + 1e-12, "d {d}: {off} {found:?}");
        assert!(found.error < 1e-3, "d {d}: {found:?}");
    }
}

/// A needle that no pilot point sees by chance is either found on the way or told as an error.
#[test]
fn needles_are_not_silent() {
    let d = 6;
    let needle = Mixture {
        d,
        a: (-8.0f64).exp(),
        bumps: vec![(8f64.exp(), 0.4, 0.05)],
    };
    let rule = Energy::evaluation(d).unwrap();
    let found = rule
        .estimated_log_normaliser(|points| needle.index(points))
        .unwrap();
    let off = (found.value - needle.log_normaliser()).abs();
    assert!(off <= 4.0 * found.error, "off by {off}, {found:?}");
}

/// A spike between the nodes of a grid of side 64: the grid is off, and the points that replace it are not.
#[test]
fn spikes_in_few_dimensions_are_found() {
    for d in 1..=2 {
        let spike = Mixture {
            d,
            a: (-5.0f64).exp(),
            bumps: vec![(5f64.exp(), 0.42, 0.006)],
        };
        let index = |points: &[f64]| spike.index(points);
        let rule = Energy::new(d, Nodes::Grid { side: 64 }).unwrap();
        let exact = spike.log_normaliser();
        let found = rule.estimated_log_normaliser(index).unwrap();
        let off = (found.value - exact).abs();
        assert!(off <= 4.0 * found.error + 1e-12, "d {d}: {off} {found:?}");
        assert!(found.error < LogNormaliser::LARGE, "d {d}: {found:?}");
    }
}

#[test]
fn broken_indices_are_errors() {
    let rule = Energy::evaluation(4).unwrap();
    let nan = rule.estimated_log_normaliser(|points| vec![f64::NAN; points.len() / 4]);
    assert_eq!(nan, Err(Error::IndexNotANumber));
    let short = rule.estimated_log_normaliser(|_| vec![0.0]);
    assert!(matches!(short, Err(Error::Length { got: 1, .. })));
}
