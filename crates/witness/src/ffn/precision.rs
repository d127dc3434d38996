//! How many bits of mantissa the FFN needs: trying it in any arithmetic.

use crate::Error;
use crate::arithmetic::{Arithmetic, BigFloat, Exact};
use crate::block::Coordinate;
use crate::evaluator::REGISTER_BOUND;
use crate::ffn::Witness;
use crate::ffn::run::{Run, Runner};
use crate::precision::{Sample, Thresholds, Verdict, thresholds, tolerance};
use crate::rational::Rational;
use dashu_int::ops::BitTest;

/// A network and inputs with their exact outputs.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    witness: &'a Witness,
    cases: Vec<Case>,
    tolerance: Rational,
}

#[derive(Clone, Debug)]
struct Case {
    x: Vec<Rational>,
    u: Rational,
}

/// What a network's numbers ask of floats if no threshold of the reader is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// From the last digit of a code to the gate that is added to it.
    ///
    /// # Formula
    /// `e + ceil(log2(2 B_eval + 1))` where the codes are multiples of `2^-e`, `e <= 2L - 3`: a
    /// preactivation is summed as `c + 2 B_eval e_l - ...`, and the last bit of a code is zero.
    pub code: usize,
    /// From the start of the longest timer, `2^-(G - 1)`, to the gate.
    ///
    /// # Formula
    /// `G - 1 + ceil(log2(2 B_eval + 1))`.
    pub timer: usize,
    /// From one unit of the address to the gate of the selector.
    ///
    /// # Formula
    /// `L_m + d u_grp + 4`: addresses are multiples of `1/N_grp` of numbers as large as
    /// `C_* = 2^L_m`, and the gate is `16 C_*`.
    pub selector: usize,
}

impl Demand {
    /// What a network asks for.
    pub fn of(witness: &Witness) -> Self {
        let (resolution, groups) = (witness.resolution(), witness.groups());
        let digits = witness.codes().iter().map(|code| {
            let denominator = code.denominator();
            denominator.bit_len() - 1
        });
        let gate = (2 * resolution.b_eval()).ilog2() as usize + 1;
        Self {
            code: digits.max().unwrap_or(0) + gate,
            timer: resolution.g() - 1 + gate,
            selector: resolution.scale_exponent() + resolution.d * groups.u() + 4,
        }
    }

    /// The largest of the three.
    pub fn bits(self) -> usize {
        self.code.max(self.timer).max(self.selector)
    }
}

/// More bits than so many times those of the code and the selector's scale are not tried.
const PATIENCE: usize = 16;

impl<'a> Trial<'a> {
    /// A network with the first inputs of a sample whose exact `u` is not zero within the
    /// tolerance: a dead network returns zero, and would be right on the others.
    pub fn new(witness: &'a Witness, sample: &Sample) -> Result<Self, Error> {
        let tolerance = tolerance(witness.resolution());
        let runner = witness.runner(Exact);
        let mut cases = Vec::new();
        for x in sample.candidates(witness.resolution(), witness.groups()) {
            if cases.len() == sample.cells {
                break;
            }
            let u = runner.evaluate(&x)?.u;
            if u.abs() >= tolerance {
                cases.push(Case { x, u });
            }
        }
        match cases.is_empty() {
            true => Err(Error::NoTrialInput {
                m: witness.resolution().m,
            }),
            false => Ok(Self {
                witness,
                cases,
                tolerance,
            }),
        }
    }

    /// How many inputs are tried.
    pub fn inputs(&self) -> usize {
        self.cases.len()
    }

    /// The worst verdict over the inputs in an arithmetic.
    pub fn verdict<A: Arithmetic>(&self, arithmetic: A) -> Result<Verdict, Error> {
        let runner = self.witness.runner(arithmetic);
        let mut worst = Verdict::Exact;
        for case in &self.cases {
            worst = worst.min(self.judge(&runner, case)?);
            if worst == Verdict::Fails {
                break;
            }
        }
        Ok(worst)
    }

    /// The fewest bits with which the network works.
    pub fn thresholds(&self) -> Result<Thresholds, Error> {
        // The code is a multiple of 2^-(2L - 1).
        let code = 2 * self.witness.resources().code_length - 1;
        let scale = self.witness.resolution().scale_exponent();
        thresholds(code, PATIENCE * (code + scale), |p| {
            self.verdict(BigFloat::new(p))
        })
    }

    fn judge<A: Arithmetic>(&self, runner: &Runner<'_, A>, case: &Case) -> Result<Verdict, Error> {
        let resources = self.witness.resources();
        let arithmetic = runner.arithmetic();
        let halt = self.witness.placement().phases.len() - 1;
        let mut run = runner.start(&case.x)?;
        // A run that has left the box will not be right again, but its numbers become long.
        let last = resources.finishing_time - 1;
        while run.iteration() < last {
            run.advance((last - run.iteration()).min(resources.tau));
            if !self.is_inside_the_box(arithmetic, &run) {
                return Ok(Verdict::Fails);
            }
        }
        // One iteration from the end the last phase before the halt is on: no record was left out.
        let mut verdict = self.compare(arithmetic, &run, halt - 1, &case.u);
        for iterations in [1, resources.tau] {
            if verdict == Verdict::Fails {
                break;
            }
            run.advance(iterations);
            verdict = verdict.min(self.compare(arithmetic, &run, halt, &case.u));
        }
        Ok(verdict)
    }

    /// Whether registers and phases are within twice the bound of Lemma D.2.
    fn is_inside_the_box<A: Arithmetic>(&self, arithmetic: &A, run: &Run<'_, A>) -> bool {
        let placement = self.witness.placement();
        let bound = Rational::from(2 * REGISTER_BOUND);
        let mut places = placement.registers.iter().chain(&placement.phases);
        places.all(|place| {
            let value = arithmetic.exact(&run.state()[place.0]);
            value.is_some_and(|value| value.abs() <= bound)
        })
    }

    /// The worst verdict over the phases, of which one should be on, and the output.
    fn compare<A: Arithmetic>(
        &self,
        arithmetic: &A,
        run: &Run<'_, A>,
        on: usize,
        u: &Rational,
    ) -> Verdict {
        let phases = self.witness.placement().phases.iter().enumerate();
        let phases = phases.map(|(i, &place)| (place, Rational::from(i64::from(i == on))));
        let output = (Coordinate(self.witness.output()), u.clone());
        let verdict = |(place, expected): (Coordinate, Rational)| match arithmetic
            .exact(&run.state()[place.0])
        {
            Some(found) => Verdict::of(&found, &expected, &self.tolerance),
            None => Verdict::Fails,
        };
        let verdicts = phases.chain([output]).map(verdict);
        verdicts.fold(Verdict::Exact, Verdict::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{F32, F64};
    use crate::resolution::Resolution;
    use crate::routines::Reader;
    use crate::target::Polynomial;

    const SAMPLE: Sample = Sample {
        cells: 4,
        fraction_bits: 3,
        seed: 0,
    };

    /// `x_1/2 - 3/4 + x_d^2/5`: negative, so that no cell returns zero, and every derivative at
    /// most one.
    fn witness(d: usize, s: i64, m: usize, u: usize, reader: Reader) -> Witness {
        let r = |text: &str| text.parse::<Rational>().unwrap();
        let monomial = |i: usize, power| {
            let mut exponents = vec![0; d];
            exponents[i] = power;
            exponents
        };
        let terms = vec![
            (vec![0; d], r("-3/4")),
            (monomial(0, 1), r("1/2")),
            (monomial(d - 1, 2), r("1/5")),
        ];
        let target = Polynomial::new(d, terms).unwrap();
        let resolution = Resolution::new(d, Rational::from(s), Rational::ONE, m).unwrap();
        Witness::new(resolution, u, reader, &target).unwrap()
    }

    fn verdicts(d: usize, s: i64, m: usize, u: usize, reader: Reader) -> [Verdict; 2] {
        let witness = witness(d, s, m, u, reader);
        let trial = Trial::new(&witness, &SAMPLE).unwrap();
        [trial.verdict(F64).unwrap(), trial.verdict(F32).unwrap()]
    }

    /// As an independent program found: the paper's threshold 1/6 is not a float, so that groups of
    /// several records are never exact in hardware and soon fail in f64, and always in f32.
    #[test]
    fn the_papers_reader_is_not_for_hardware() {
        for (m, u) in [(1, 0), (2, 0), (2, 1), (3, 1)] {
            let [double, single] = verdicts(1, 1, m, u, Reader::Paper);
            assert_ne!(double, Verdict::Exact, "m = {m}, u = {u}");
            assert_eq!(single, Verdict::Fails, "m = {m}, u = {u}");
        }
        for (m, u) in [(2, 0), (3, 0), (3, 1), (3, 2)] {
            let [double, _] = verdicts(1, 1, m, u, Reader::Paper);
            assert_eq!(double, Verdict::Fails, "m = {m}, u = {u}");
        }
    }

    /// As an independent program found: with the dyadic reader f64 is exact for 2L <= 44 and wrong
    /// from 50 on, and with one record in each group up to m = 9, f32 up to m = 3.
    #[test]
    fn the_dyadic_reader_is_exact_until_the_bits_end() {
        // 2L = 12, 20, 40, 28 and 56, 112.
        for (m, u) in [(1, 0), (2, 1), (2, 0), (3, 2)] {
            assert_eq!(verdicts(1, 1, m, u, Reader::Dyadic)[0], Verdict::Exact);
        }
        for (m, u) in [(3, 1), (3, 0)] {
            assert_eq!(verdicts(1, 1, m, u, Reader::Dyadic)[0], Verdict::Fails);
        }
        for (m, expected) in [(3, Verdict::Exact), (4, Verdict::Fails)] {
            assert_eq!(verdicts(1, 1, m, m, Reader::Dyadic)[1], expected);
        }
        for (m, expected) in [(9, Verdict::Exact), (10, Verdict::Fails)] {
            assert_eq!(verdicts(1, 1, m, m, Reader::Dyadic)[0], expected);
        }
    }

    /// Hardware agrees with floats of its length, exact arithmetic is exact, and the dyadic reader
    /// needs what its numbers ask for, the paper's more.
    #[test]
    fn thresholds_are_consistent() {
        for (d, s, m, u) in [
            (1, 1, 1, 1),
            (1, 1, 1, 0),
            (1, 1, 2, 0),
            (1, 1, 2, 2),
            (1, 2, 1, 0),
            (2, 1, 1, 0),
        ] {
            for reader in [Reader::Paper, Reader::Dyadic] {
                let witness = witness(d, s, m, u, reader);
                let trial = Trial::new(&witness, &SAMPLE).unwrap();
                assert_eq!(trial.verdict(Exact), Ok(Verdict::Exact));
                assert_eq!(trial.verdict(F64), trial.verdict(BigFloat::new(53)));
                assert_eq!(trial.verdict(F32), trial.verdict(BigFloat::new(24)));
                let found = trial.thresholds().unwrap();
                let works = found.works.unwrap();
                assert_eq!(found.tried[&(works - 1)], Verdict::Fails);
                assert!((works..=works + 4).all(|p| found.tried[&p] >= Verdict::Works));
                let demand = Demand::of(&witness);
                if reader == Reader::Dyadic {
                    assert_eq!(works, demand.bits(), "{d} {s} {m} {u}");
                    assert_eq!(found.exact, Some(works));
                } else {
                    assert!(works >= demand.bits(), "{d} {s} {m} {u}");
                    assert!(u == m || works > demand.bits() + 20, "{d} {s} {m} {u}");
                    assert_eq!(found.exact, None);
                }
            }
        }
    }

    /// A code that lost its last record would halt early, with the right output in other cells.
    #[test]
    fn lost_records_are_noticed() {
        let witness = witness(1, 1, 2, 0, Reader::Dyadic);
        let trial = Trial::new(&witness, &SAMPLE).unwrap();
        let code = 2 * witness.resources().code_length;
        for p in code / 2..code {
            assert_eq!(trial.verdict(BigFloat::new(p)), Ok(Verdict::Fails), "{p}");
        }
    }

    /// A constant target whose quantised value is zero in every cell.
    #[test]
    fn networks_that_return_zero_cannot_be_tried() {
        let target = Polynomial::new(1, vec![]).unwrap();
        let resolution = Resolution::new(1, Rational::ONE, Rational::ONE, 2).unwrap();
        let witness = Witness::new(resolution, 0, Reader::Paper, &target).unwrap();
        let error = Trial::new(&witness, &SAMPLE).unwrap_err();
        assert!(error.to_string().contains("returns zero"), "{error}");
    }
}
