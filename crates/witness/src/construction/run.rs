//! Inputs through a network, in any arithmetic, beside the target.

use super::{Construction, Network};
use crate::arithmetic::{ArithmeticKind, BigFloat, Exact, F32, F64};
use crate::precision::{Verdict, tolerance};
use crate::transformer::exact::Outcome;
use crate::transformer::scientific;
use crate::{Error, Rational, ffn, transformer};
use rayon::prelude::*;

/// What came out at several inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// The iterations that were made.
    pub iterations: usize,
    /// The inputs, in their order.
    pub rows: Vec<Row>,
    /// Whether the network is zero at every input that is not exceptional, and the target is not.
    pub silent: bool,
}

/// What came out at one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The input.
    pub x: Vec<Rational>,
    /// The normalised output `u`; of a Transformer the exact one, with ideal comparisons, nothing on strips.
    pub u: Option<Rational>,
    /// Of a Transformer: the exact `v`, nothing on strips.
    pub v: Option<Rational>,
    /// The output.
    pub value: Rational,
    /// Of a Transformer in exact arithmetic: the bits at which the output had settled.
    pub bits: Option<usize>,
    /// The target.
    pub f0: Rational,
    /// Whether the error bounds do not hold here, see [`Network::is_exceptional`].
    pub exceptional: bool,
}

impl Row {
    /// The distance of the output from the target.
    pub fn error(&self) -> f64 {
        (&self.value - &self.f0).to_f64().abs()
    }
}

/// An arithmetic in which a network does not return what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooFine {
    /// The arithmetic.
    pub arithmetic: ArithmeticKind,
    /// The input.
    pub x: Vec<Rational>,
    /// What is wrong.
    pub quantity: Quantity,
    /// Its value.
    pub found: Rational,
    /// What it should be.
    pub exact: Rational,
    /// Mantissa bits that are enough; of an FFN the fewest above 32.
    pub bits: usize,
}

/// What a network returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The normalised output of an FFN.
    U,
    /// The output of a Transformer.
    Output,
}

impl std::fmt::Display for TooFine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let x: Vec<String> = self.x.iter().map(Rational::to_string).collect();
        write!(
            f,
            "the resolution is too fine for {}: at x = {} {} {} instead of {}; {} bits are enough",
            self.arithmetic,
            x.join(","),
            match self.quantity {
                Quantity::U => "the network returns u =",
                Quantity::Output => "the output is",
            },
            scientific(&self.found, 6),
            scientific(&self.exact, 6),
            self.bits
        )
    }
}

impl Construction {
    /// Runs a network that was built from this on inputs, for its finishing time unless other iterations are asked for. At the
    /// finishing time an arithmetic is refused in which an input that is not exceptional gets another output than exactly.
    pub fn run(
        &self,
        network: &Network,
        inputs: &[Vec<Rational>],
        arithmetic: ArithmeticKind,
        asked: Option<usize>,
    ) -> Result<Runs, Error> {
        let iterations = asked.unwrap_or(network.finishing_time());
        let row = |x: &Vec<Rational>| self.row(network, x, arithmetic, iterations);
        let rows: Vec<_> = inputs.par_iter().map(row).collect();
        // In order, so that of several errors the first is told.
        let rows: Vec<Row> = rows.into_iter().collect::<Result<_, _>>()?;
        let usual = || rows.iter().filter(|row| !row.exceptional);
        if asked.is_none() {
            for row in usual() {
                network.check_precision(row, arithmetic, iterations)?;
            }
        }
        let finished = match network {
            Network::Ffn(_) => iterations >= network.finishing_time(),
            // Its exact u is of a run that ends.
            Network::Transformer(_) => true,
        };
        let values = usual().filter_map(|row| Some((row.u.as_ref()?, &row.f0)));
        Ok(Runs {
            iterations,
            silent: finished && self.is_silent(values),
            rows,
        })
    }

    fn row(
        &self,
        network: &Network,
        x: &[Rational],
        arithmetic: ArithmeticKind,
        iterations: usize,
    ) -> Result<Row, Error> {
        let row = |u, v, value, bits| {
            Ok(Row {
                x: x.to_vec(),
                u,
                v,
                value,
                bits,
                f0: self.target.value(x)?,
                exceptional: network.is_exceptional(x),
            })
        };
        match network {
            Network::Ffn(witness) => {
                let output = witness.output_in(arithmetic, x, iterations)?;
                row(Some(output.u), None, output.value, None)
            }
            Network::Transformer(witness) => {
                let (value, bits) = witness.output_in(arithmetic, x, iterations)?;
                let (u, v) = match witness.exact().evaluate(x) {
                    Ok(Outcome { u, v, .. }) => (Some(u), Some(v)),
                    Err(_) => (None, None),
                };
                row(u, v, value, bits)
            }
        }
    }
}

impl Network {
    /// Refuses an arithmetic in which an input got another output than exactly.
    fn check_precision(
        &self,
        row: &Row,
        arithmetic: ArithmeticKind,
        iterations: usize,
    ) -> Result<(), Error> {
        let wrong = |quantity, found: &Rational, exact, bits| {
            Err(Error::TooFine(Box::new(TooFine {
                arithmetic,
                x: row.x.clone(),
                quantity,
                found: found.clone(),
                exact,
                bits,
            })))
        };
        match (self, &row.u) {
            (Self::Ffn(witness), Some(u)) => {
                let exact = witness.runner(Exact).evaluate(&row.x)?.u;
                let tolerance = tolerance(witness.resolution());
                if Verdict::of(u, &exact, &tolerance) != Verdict::Fails {
                    return Ok(());
                }
                let bits = fewest(|bits| {
                    let kind = ArithmeticKind::Bits(bits);
                    let output = witness.output_in(kind, &row.x, iterations);
                    output.is_ok_and(|o| Verdict::of(&o.u, &exact, &tolerance) != Verdict::Fails)
                });
                wrong(Quantity::U, u, exact, bits)
            }
            (Self::Transformer(witness), _) if arithmetic != ArithmeticKind::Exact => {
                let exact = witness.output_in(ArithmeticKind::Exact, &row.x, iterations)?;
                let (exact, bits) = exact;
                let tolerance = witness.resolution().h.scaled(-transformer::trial::NEAR);
                if (&exact - &row.value).abs() <= tolerance {
                    return Ok(());
                }
                let bits = bits.unwrap_or(witness.default_bits());
                wrong(Quantity::Output, &row.value, exact, bits)
            }
            _ => Ok(()),
        }
    }
}

/// The fewest bits that work, from 33 on: twice as many until some do, then between.
fn fewest(works: impl Fn(usize) -> bool) -> usize {
    let mut high = 64;
    while high < 1 << 20 && !works(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = (low + high) / 2;
        if works(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// An input for this many iterations, in an arithmetic.
macro_rules! advance {
    ($witness:expr, $arithmetic:expr, $x:expr, $iterations:expr) => {{
        let runner = $witness.runner($arithmetic);
        let mut run = runner.start($x)?;
        run.advance($iterations);
        run.output()
    }};
}

impl ffn::Witness {
    /// The output at `x` after this many iterations, in an arithmetic.
    pub fn output_in(
        &self,
        arithmetic: ArithmeticKind,
        x: &[Rational],
        iterations: usize,
    ) -> Result<ffn::run::Output, Error> {
        match arithmetic {
            ArithmeticKind::Exact => advance!(self, Exact, x, iterations),
            ArithmeticKind::F64 => advance!(self, F64, x, iterations),
            ArithmeticKind::F32 => advance!(self, F32, x, iterations),
            ArithmeticKind::Bits(bits) => advance!(self, BigFloat::new(bits), x, iterations),
        }
    }
}

impl transformer::Witness {
    /// The output at `x` after this many iterations, in an arithmetic. It has roots, so that exact means enough bits, checked by running
    /// again with more; then the bits at which the output had settled are told.
    pub fn output_in(
        &self,
        arithmetic: ArithmeticKind,
        x: &[Rational],
        iterations: usize,
    ) -> Result<(Rational, Option<usize>), Error> {
        let value = match arithmetic {
            ArithmeticKind::Exact => {
                let settled = self.settled(x, &[iterations])?;
                let value = settled.values.into_iter().next();
                return Ok((value.unwrap_or(Rational::ZERO), Some(settled.bits)));
            }
            ArithmeticKind::F64 => advance!(self, F64, x, iterations),
            ArithmeticKind::F32 => advance!(self, F32, x, iterations),
            ArithmeticKind::Bits(bits) => advance!(self, BigFloat::new(bits), x, iterations),
        };
        Ok((value?, None))
    }
}
