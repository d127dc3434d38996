//! Errors over resolutions, for one smoothness or several.

use super::{FEWER_ON_STRIPS, L2Error, measure, slope};
use crate::construction::exact_seconds;
use crate::{Error, Exact, Rational, Reader, Resolution, Target, ffn};
use rayon::prelude::*;

/// A run is shortest with a group for each cell; beyond so many groups, as a power of two, they
/// have several cells.
const MOST_GROUP_BITS: usize = 10;

/// What is measured.
pub struct Question<'a> {
    /// The target.
    pub target: &'a (dyn Target + Sync),
    /// Each smoothness.
    pub smoothness: Vec<Rational>,
    /// The bound `H`.
    pub h: Rational,
    /// The resolutions `m`.
    pub levels: Vec<usize>,
    /// Points off the strips, at least.
    pub points: usize,
    /// Their seed.
    pub seed: u64,
    /// How codes are read, which matters on the strips alone.
    pub reader: Reader,
}

/// The errors for one smoothness.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The smoothness.
    pub s: Rational,
    /// The error at each resolution.
    pub errors: Vec<L2Error>,
}

impl Series {
    /// The exponent of `K` over all resolutions, see [`slope`].
    pub fn slope(&self) -> Option<f64> {
        slope(&self.errors)
    }

    /// The exponent of `K` between each resolution and the one before.
    pub fn steps(&self) -> Vec<Option<f64>> {
        let pairs = self.errors.windows(2).map(slope);
        std::iter::once(None).chain(pairs).collect()
    }
}

impl Question<'_> {
    fn networks(&self) -> Vec<(&Rational, usize)> {
        let levels = |s| self.levels.iter().map(move |&m| (s, m));
        self.smoothness.iter().flat_map(levels).collect()
    }

    fn resolution(&self, s: &Rational, m: usize) -> Result<Resolution, Error> {
        Resolution::new(self.target.d(), s.clone(), self.h.clone(), m)
    }

    /// The group exponent at a resolution.
    fn groups(&self, m: usize) -> usize {
        m.min(MOST_GROUP_BITS / self.target.d())
    }

    /// About how many seconds each network takes on one thread.
    pub fn seconds(&self) -> Result<Vec<f64>, Error> {
        let runs = self.points as f64 * (1.0 + 1.0 / FEWER_ON_STRIPS as f64);
        let of = |(s, m): (&Rational, usize)| {
            Ok(runs * exact_seconds(&self.resolution(s, m)?, self.groups(m)))
        };
        self.networks().into_iter().map(of).collect()
    }

    /// Builds every network and measures its error.
    ///
    /// # Reference
    /// Theorem D.1.
    pub fn series(&self) -> Result<Vec<Series>, Error> {
        let networks = self.networks();
        let networks = networks.par_iter().with_max_len(1);
        let errors: Vec<_> = networks.map(|&(s, m)| self.error(s, m)).collect();
        // In order, so that of several errors the first is told.
        let errors: Vec<L2Error> = errors.into_iter().collect::<Result<_, _>>()?;
        let chunks = errors.chunks(self.levels.len().max(1));
        let series = self
            .smoothness
            .iter()
            .zip(chunks)
            .map(|(s, errors)| Series {
                s: s.clone(),
                errors: errors.to_vec(),
            });
        Ok(series.collect())
    }

    fn error(&self, s: &Rational, m: usize) -> Result<L2Error, Error> {
        let resolution = self.resolution(s, m)?;
        let witness = ffn::Witness::new(resolution, self.groups(m), self.reader, self.target)?;
        let runner = witness.runner(Exact);
        let value = |x: &[Rational]| Ok(runner.evaluate(x)?.value);
        let resolution = witness.resolution();
        measure(resolution, self.target, self.points, self.seed, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expression;

    #[test]
    fn errors_fall_with_the_resolution() {
        let target = Expression::parse("x1*(1-x1) - 1/5*x1^3", None).unwrap();
        let target = target.into_target();
        let question = Question {
            target: &*target,
            smoothness: vec![Rational::ONE, "2".parse().unwrap()],
            h: "4".parse().unwrap(),
            levels: vec![2, 3, 4],
            points: 16,
            seed: 0,
            reader: Reader::Paper,
        };
        assert_eq!(question.seconds().unwrap().len(), 6);
        let series = question.series().unwrap();
        for (series, s) in series.iter().zip([1.0, 2.0]) {
            assert!(
                (series.slope().unwrap() + s).abs() < 0.5,
                "{:?}",
                series.slope()
            );
            assert_eq!(series.steps().len(), 3);
            let levels: Vec<usize> = series.errors.iter().map(|error| error.m).collect();
            assert_eq!(levels, question.levels);
        }
    }
}
