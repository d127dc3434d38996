//! Exact samples of energy models, by rejection.

use crate::{Energy, Error};
use loopfit_numerics::libm::log;
use loopfit_numerics::stream::Stream;

/// Rejections in a row after which sampling gives up.
pub(crate) const PATIENCE: u64 = 10_000_000;
/// Proposals handed to the index at once. The sample does not depend on it.
const BATCH: u64 = 4096;

impl Energy {
    /// `n` independent draws from the density `e^f / Z_f`, row-major, `n x d`.
    ///
    /// `index` gets proposals row-major and returns `f` at each; `bound` is any upper bound of `f`,
    /// and the closer the faster: one in `e^bound / Z_f` proposals is accepted. Draw `i` depends
    /// on the stream and on `f` alone, so a longer sample starts with the shorter one.
    ///
    /// # Formula
    /// Proposal `i` is uniform on the cube and accepted when `log U_i <= f(x_i) - bound`, `U_i`
    /// uniform: the accepted ones have density proportional to `e^f`, whatever the nodes.
    pub fn sample(
        self,
        mut index: impl FnMut(&[f64]) -> Vec<f64>,
        bound: f64,
        n: usize,
        stream: Stream,
    ) -> Result<Vec<f64>, Error> {
        if !bound.is_finite() {
            return Err(Error::Bound(bound));
        }
        let d = self.d();
        let (places, coins) = (stream.child("proposals"), stream.child("acceptance"));
        let mut sample = Vec::new();
        let (mut proposal, mut rejected) = (0, 0);
        while sample.len() < n * d {
            let first = proposal * d as u64;
            let points: Vec<f64> = (first..first + BATCH * d as u64)
                .map(|i| places.uniform(i))
                .collect();
            let values = index(&points);
            if values.len() as u64 != BATCH {
                return Err(Error::Length {
                    expected: BATCH as usize,
                    got: values.len(),
                });
            }
            for (point, value) in points.chunks(d).zip(values) {
                if value.is_nan() {
                    return Err(Error::IndexNotANumber);
                }
                if value > bound {
                    return Err(Error::AboveBound { value, bound });
                }
                if log(coins.uniform(proposal)) <= value - bound {
                    sample.extend_from_slice(point);
                    rejected = 0;
                } else {
                    rejected += 1;
                }
                proposal += 1;
            }
            if rejected >= PATIENCE {
                return Err(Error::Hopeless(bound));
            }
        }
        sample.truncate(n * d);
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nodes;

    fn index(points: &[f64]) -> Vec<f64> {
        points
            .chunks(2)
            .map(|x| 1.5 * x[0] - 6.0 * (x[1] - 0.3) * (x[1] - 0.3) + 2.0 * x[0] * x[1])
            .collect()
    }

    /// Above the index everywhere: 1.5 + 2 = 3.5.
    const BOUND: f64 = 3.5;

    #[test]
    fn counts_and_moments_match_the_density() {
        let n = 20_000;
        let energy = Energy::training(2).unwrap();
        let sample = energy.sample(index, BOUND, n, Stream::new(5)).unwrap();
        assert_eq!(sample.len(), 2 * n);

        // Expected values by quadrature on 256 x 256 midpoints.
        let fine = Energy::new(2, Nodes::Grid { side: 256 }).unwrap();
        let points = fine.node_points();
        let mut mass = vec![0.0; fine.node_count()];
        fine.node_derivative(&index(&points), &mut mass);
        let cell = |x: &[f64]| (x[0] * 5.0) as usize * 5 + (x[1] * 5.0) as usize;
        let (mut expected, mut observed) = ([0.0; 25], [0.0; 25]);
        let mut moments = [0.0; 5];
        for (x, w) in points.chunks(2).zip(&mass) {
            expected[cell(x)] += w * n as f64;
            for (m, v) in
                moments
                    .iter_mut()
                    .zip([x[0], x[1], x[0] * x[0], x[1] * x[1], x[0] * x[1]])
            {
                *m += w * v;
            }
        }
        for x in sample.chunks(2) {
            observed[cell(x)] += 1.0;
            for (m, v) in
                moments
                    .iter_mut()
                    .zip([x[0], x[1], x[0] * x[0], x[1] * x[1], x[0] * x[1]])
            {
                *m -= v / n as f64;
            }
        }
        // Chi-square with 24 degrees of freedom: its 99.9% quantile is 51.2 (tables).
        let chi2: f64 = expected
            .iter()
            .zip(&observed)
            .map(|(e, o)| (o - e) * (o - e) / e)
            .sum();
        assert!(chi2 < 51.2, "chi-square {chi2}");
        // Five standard errors of a variable in [0, 1].
        assert!(moments.iter().all(|m| m.abs() < 2.5 / (n as f64).sqrt()));
    }

    #[test]
    fn longer_samples_start_with_shorter_ones() {
        let energy = Energy::training(2).unwrap();
        let draw = |n| energy.sample(index, BOUND, n, Stream::new(9)).unwrap();
        let long = draw(5000);
        for n in [0, 1, 17, 1000] {
            assert_eq!(draw(n), long[..2 * n]);
        }
        let other = energy.sample(index, BOUND, 17, Stream::new(10)).unwrap();
        assert_ne!(other, long[..34]);
    }

    #[test]
    fn wrong_bounds_are_errors() {
        let energy = Energy::training(1).unwrap();
        let constant = |value: f64| move |points: &[f64]| vec![value; points.len()];
        let stream = Stream::new(1);
        let draw = |value, bound| energy.sample(constant(value), bound, 10, stream);
        assert!(matches!(draw(0.0, f64::NAN), Err(Error::Bound(_))));
        assert_eq!(draw(f64::NAN, 1.0), Err(Error::IndexNotANumber));
        assert_eq!(
            draw(1.5, 1.0),
            Err(Error::AboveBound {
                value: 1.5,
                bound: 1.0
            })
        );
        assert_eq!(draw(0.0, 100.0), Err(Error::Hopeless(100.0)));
        let short = energy.sample(|_| vec![0.0], 1.0, 1, stream);
        assert!(matches!(short, Err(Error::Length { got: 1, .. })));
    }
}
