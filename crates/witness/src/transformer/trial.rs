//! How many bits of mantissa the Transformer needs: trying it in floats.

use super::Witness;
use crate::Error;
use crate::arithmetic::BigFloat;
use crate::precision::{Sample, Thresholds, Verdict, thresholds, tolerance};
use crate::rational::Rational;

/// How the network is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// As it is: on its tokens, with softmax and layer normalisation.
    Tokens,
    /// On native coordinates with one scale for each token, which hides the rounding of normalisation.
    Native,
}

/// A network and inputs with their outputs.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    witness: &'a Witness,
    cases: Vec<(Vec<Rational>, Rational)>,
    iterations: usize,
    tolerance: Rational,
}

/// Outputs agree where they differ by less than `2^-NEAR H`. Half a quantisation step would do for the output, but at
/// coarse resolutions an interrupted program may come that near by chance.
pub(crate) const NEAR: i64 = 20;

/// Iterations after clearing, in which the scale settles.
const SETTLING: usize = 5;

impl<'a> Trial<'a> {
    /// A network with the first inputs of a sample whose `u` is not zero within the tolerance and that are not exceptional:
    /// a dead network returns zero, and would be right on the others.
    pub fn new(witness: &'a Witness, sample: &Sample) -> Result<Self, Error> {
        let resolution = witness.resolution();
        let tolerance = tolerance(resolution);
        let iterations = witness.resources().times.clear + SETTLING;
        let exact = witness.exact();
        let mut cases = Vec::new();
        for x in sample.candidates(resolution, witness.groups()) {
            if cases.len() == sample.cells {
                break;
            }
            if witness.is_exceptional(&x) || exact.evaluate(&x)?.u.abs() < tolerance {
                continue;
            }
            let settled = witness.settled(&x, &[iterations])?;
            cases.extend(settled.values.into_iter().next().map(|value| (x, value)));
        }
        if cases.is_empty() {
            return Err(Error::NoTrialInput { m: resolution.m });
        }
        Ok(Self {
            witness,
            cases,
            iterations,
            tolerance: resolution.h.scaled(-NEAR),
        })
    }

    /// How many inputs are tried.
    pub fn inputs(&self) -> usize {
        self.cases.len()
    }

    /// The worst verdict over the inputs with so many bits: the output against the one that more bits do not change.
    pub fn verdict(&self, bits: usize, run: Run) -> Result<Verdict, Error> {
        let arithmetic = BigFloat::new(bits);
        let mut worst = Verdict::Exact;
        for (x, expected) in &self.cases {
            let found = match run {
                Run::Tokens => {
                    let runner = self.witness.physical(arithmetic);
                    let mut run = runner.start(x)?;
                    run.advance(self.iterations);
                    run.output()
                }
                Run::Native => {
                    let runner = self.witness.runner(arithmetic);
                    let mut run = runner.start(x)?;
                    run.advance(self.iterations);
                    run.output()
                }
            };
            let verdict = found.map_or(Verdict::Fails, |found| {
                Verdict::of(&found, expected, &self.tolerance)
            });
            worst = worst.min(verdict);
            if worst == Verdict::Fails {
                break;
            }
        }
        Ok(worst)
    }

    /// The fewest bits with which the network works.
    pub fn thresholds(&self, run: Run) -> Result<Thresholds, Error> {
        let most = self.witness.default_bits();
        thresholds(most / 2, most, |bits| self.verdict(bits, run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expression;
    use crate::resolution::Resolution;
    use crate::transformer::Setting;

    /// An earlier independent study found 450 bits at d = s = 1, m = 1.
    #[test]
    fn tokens_need_many_more_bits_than_codes() {
        let target = Expression::parse("x1/2 - 3/4", None).unwrap().into_target();
        let resolution = Resolution::new(1, "1".parse().unwrap(), Rational::ONE, 1).unwrap();
        let witness = Witness::new(resolution, 1, Setting::new(1), &*target).unwrap();
        let sample = Sample {
            cells: 1,
            fraction_bits: 4,
            seed: 0,
        };
        let trial = Trial::new(&witness, &sample).unwrap();
        let native = trial.thresholds(Run::Native).unwrap().works.unwrap();
        assert!((100..200).contains(&native), "{native}");
        assert_eq!(trial.verdict(400, Run::Tokens), Ok(Verdict::Fails));
        assert_ne!(trial.verdict(480, Run::Tokens), Ok(Verdict::Fails));
    }
}
