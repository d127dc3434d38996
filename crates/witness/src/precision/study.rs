//! Many networks tried: resolution by resolution, both readers, one group or all.

use super::{Sample, Thresholds, Verdict};
use crate::arithmetic::{F32, F64};
use crate::construction::exact_seconds;
use crate::ffn::precision::{Demand, Trial};
use crate::ffn::{self, finishing_time};
use crate::transformer::trial::Run;
use crate::transformer::{self, Setting};
use crate::{Error, Rational, Reader, Resolution, Target};
use loopfit_model::ArchitectureKind;
use loopfit_numerics::named::Named;
use rayon::prelude::*;

/// How cells are put into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One group of all cells.
    One,
    /// A group for each cell.
    All,
}

impl Named for Grouping {
    const ALL: &'static [Self] = &[Self::One, Self::All];

    fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::All => "all",
        }
    }
}

impl Grouping {
    /// The exponent of the number of groups along each axis.
    pub fn exponent(self, m: usize) -> usize {
        match self {
            Self::One => 0,
            Self::All => m,
        }
    }
}

/// What is tried.
pub struct Question<'a> {
    /// The architecture; a Transformer has the default [`Setting`].
    pub architecture: ArchitectureKind,
    /// The target.
    pub target: &'a (dyn Target + Sync),
    /// The smoothness.
    pub s: Rational,
    /// The bound `H`.
    pub h: Rational,
    /// The resolutions `m`.
    pub levels: Vec<usize>,
    /// The groupings.
    pub groupings: Vec<Grouping>,
    /// The readers.
    pub readers: Vec<Reader>,
    /// The inputs of each network.
    pub sample: Sample,
}

/// One network.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// How its cells are put into groups.
    pub grouping: Grouping,
    /// How it reads codes.
    pub reader: Reader,
    /// The resolution.
    pub m: usize,
    /// `K`.
    pub cells_per_axis: usize,
    /// The records of a group.
    pub records: usize,
    /// `2L`.
    pub code_bits: usize,
    /// When it finishes; of a Transformer when everything is cleared.
    pub finishing_time: usize,
    /// The inputs that were tried.
    pub inputs: usize,
    /// What its numbers ask for.
    pub demand: Asked,
    /// The bits that work.
    pub thresholds: Thresholds,
    /// Of a Transformer: those that work on native coordinates with one scale for each token.
    pub native: Option<usize>,
    /// In floats of 64 bits.
    pub double: Verdict,
    /// In floats of 32 bits.
    pub single: Verdict,
}

/// What a network's numbers ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Codes, timers and scales below their gates.
    Ffn(Demand),
    /// An estimate from above, with which runs begin.
    Transformer(usize),
}

impl Asked {
    /// The mantissa bits.
    pub fn bits(&self) -> usize {
        match self {
            Self::Ffn(demand) => demand.bits(),
            Self::Transformer(bits) => *bits,
        }
    }
}

/// A polynomial that is negative on the cube, with every derivative at most one.
pub fn default_target(d: usize) -> String {
    match d {
        1 => "x1/2 - x1^2/5 - 3/4".to_string(),
        _ => format!("x1/2 - x1*x{d}/4 + x{d}^2/5 - 3/4"),
    }
}

/// Runs in floats until the bits are found, in exact runs; measured up to m = 7 with one group and m = 12 with all.
const RUNS: f64 = 100.0;
/// Seconds of a Transformer's runs for each iteration that the FFN takes; measured at m = 1 and 2.
const TRANSFORMER_SECONDS: f64 = 0.5;

impl Question<'_> {
    /// Every network: groupings, in each the readers, in each the resolutions.
    fn networks(&self) -> Vec<(Grouping, Reader, usize)> {
        let mut networks = Vec::new();
        for &grouping in &self.groupings {
            for &reader in &self.readers {
                networks.extend(self.levels.iter().map(|&m| (grouping, reader, m)));
            }
        }
        networks
    }

    fn resolution(&self, m: usize) -> Result<Resolution, Error> {
        Resolution::new(self.target.d(), self.s.clone(), self.h.clone(), m)
    }

    /// About how many seconds each network takes on one thread.
    pub fn seconds(&self) -> Result<Vec<f64>, Error> {
        let of = |(grouping, _, m): (Grouping, Reader, usize)| {
            let (resolution, u) = (self.resolution(m)?, grouping.exponent(m));
            let every = (resolution.cells_per_axis() as f64).powi(resolution.d as i32);
            let inputs = every.min(self.sample.cells as f64);
            Ok(inputs
                * match self.architecture {
                    ArchitectureKind::Transformer => {
                        TRANSFORMER_SECONDS * finishing_time(&resolution, u) as f64
                    }
                    ArchitectureKind::Ffn => RUNS * exact_seconds(&resolution, u),
                })
        };
        self.networks().into_iter().map(of).collect()
    }

    /// Builds every network and tries it.
    pub fn rows(&self) -> Result<Vec<Row>, Error> {
        let networks = self.networks();
        // The last ones take longest: one at a time, so that no thread is left with several.
        let networks = networks.par_iter().with_max_len(1);
        let rows: Vec<_> = networks.map(|&network| self.row(network)).collect();
        // In order, so that of several errors the first is told.
        rows.into_iter().collect()
    }

    fn row(&self, (grouping, reader, m): (Grouping, Reader, usize)) -> Result<Row, Error> {
        let (resolution, u) = (self.resolution(m)?, grouping.exponent(m));
        let cells_per_axis = resolution.cells_per_axis();
        match self.architecture {
            ArchitectureKind::Ffn => {
                let witness = ffn::Witness::new(resolution, u, reader, self.target)?;
                let trial = Trial::new(&witness, &self.sample)?;
                Ok(Row {
                    grouping,
                    reader,
                    m,
                    cells_per_axis,
                    records: witness.groups().records(),
                    code_bits: 2 * witness.resources().code_length,
                    finishing_time: witness.resources().finishing_time,
                    inputs: trial.inputs(),
                    demand: Asked::Ffn(Demand::of(&witness)),
                    thresholds: trial.thresholds()?,
                    native: None,
                    double: trial.verdict(F64)?,
                    single: trial.verdict(F32)?,
                })
            }
            ArchitectureKind::Transformer => {
                let setting = Setting {
                    reader,
                    ..Setting::new(resolution.d)
                };
                let witness = transformer::Witness::new(resolution, u, setting, self.target)?;
                let trial = transformer::trial::Trial::new(&witness, &self.sample)?;
                Ok(Row {
                    grouping,
                    reader,
                    m,
                    cells_per_axis,
                    records: witness.groups().records(),
                    code_bits: 2 * witness.resources().code_length,
                    finishing_time: witness.resources().times.clear,
                    inputs: trial.inputs(),
                    demand: Asked::Transformer(witness.default_bits()),
                    thresholds: trial.thresholds(Run::Tokens)?,
                    native: trial.thresholds(Run::Native)?.works,
                    double: trial.verdict(f64::MANTISSA_DIGITS as usize, Run::Tokens)?,
                    single: trial.verdict(f32::MANTISSA_DIGITS as usize, Run::Tokens)?,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expression;

    /// Rows stand in the order of groupings, readers and resolutions; the dyadic reader with one record asks for no more than it
    /// gets, and the target of the study is tried in every cell.
    #[test]
    fn rows_in_order() {
        let target = Expression::parse(&default_target(1), None).unwrap();
        let target = target.into_target();
        let question = Question {
            architecture: ArchitectureKind::Ffn,
            target: &*target,
            s: Rational::ONE,
            h: Rational::ONE,
            levels: vec![1, 2],
            groupings: Grouping::ALL.to_vec(),
            readers: Reader::ALL.to_vec(),
            sample: Sample {
                cells: 4,
                fraction_bits: 3,
                seed: 0,
            },
        };
        let rows = question.rows().unwrap();
        assert_eq!((rows.len(), question.seconds().unwrap().len()), (8, 8));
        let places: Vec<_> = rows
            .iter()
            .map(|row| (row.grouping, row.reader, row.m))
            .collect();
        assert_eq!(places, question.networks());
        for row in &rows {
            assert_eq!(row.cells_per_axis, 1 << row.m);
            assert_eq!(row.inputs, row.cells_per_axis.min(4));
            assert_eq!(
                row.records,
                if row.grouping == Grouping::One {
                    row.cells_per_axis
                } else {
                    1
                }
            );
            if row.reader == Reader::Dyadic {
                assert!(
                    row.thresholds.works.unwrap() <= row.demand.bits(),
                    "{row:?}"
                );
            }
        }
        // 2L + 3 where every bit of the code counts.
        assert_eq!(rows[3].thresholds.works, Some(rows[3].code_bits + 3));
    }

    #[test]
    fn default_targets_are_in_the_class() {
        for d in 1..4 {
            let target = Expression::parse(&default_target(d), Some(d))
                .unwrap()
                .into_target();
            let resolution = Resolution::new(d, Rational::ONE, Rational::ONE, 1).unwrap();
            assert!(ffn::Witness::new(resolution, 1, Reader::Paper, &*target).is_ok());
        }
    }
}
