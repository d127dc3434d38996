//! The ranges of the training rows, and what lies outside them.

use serde::{Deserialize, Serialize};

use super::rows::check_texts;
use super::{Input, PreprocessError, Preprocessing, Target, numbers};
use crate::levels::Level;
use crate::table::Table;

/// Smallest and largest number that some rows hold; two different, finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
pub struct SeenRange {
    low: f64,
    high: f64,
}

/// A row with cells beyond what the training rows hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideRange<'a> {
    /// Position of the row among those asked for.
    pub position: usize,
    /// Its columns with such cells, in the order of [`Preprocessing::inputs`].
    pub columns: Vec<&'a str>,
}

impl SeenRange {
    /// The range from one number up to another; none unless both are finite and the second is
    /// the larger one.
    pub fn new(low: f64, high: f64) -> Option<Self> {
        let ascending = low < high && low.is_finite() && high.is_finite();
        ascending.then_some(Self { low, high })
    }

    /// The smallest number.
    pub fn low(self) -> f64 {
        self.low
    }

    /// The largest number.
    pub fn high(self) -> f64 {
        self.high
    }

    /// Whether a number is in the range, ends included.
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The number of the range that is nearest.
    pub fn clamp(self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }
}

impl Input {
    /// Smallest and largest number of the training rows, where they were kept.
    pub fn range(&self) -> Option<SeenRange> {
        match self {
            Self::Numeric { range, .. } | Self::Unit { range, .. } => *range,
            Self::Categorical { .. } | Self::Binary { .. } => None,
        }
    }
}

impl Preprocessing {
    /// Smallest and largest response of the training rows in the target column's units, where
    /// they were kept.
    pub fn target_range(&self) -> Option<SeenRange> {
        match self.target {
            Some(Target::Response { range, .. }) => range,
            _ => None,
        }
    }

    /// The rows that a model can only extrapolate to: a number lies outside the range of the
    /// training rows, or a text is none of their categories. Missing cells are not outside.
    ///
    /// An older model file may have no ranges, which is an error if an input is a number.
    pub fn outside_range(
        &self,
        table: &Table,
        rows: &[usize],
    ) -> Result<Vec<OutsideRange<'_>>, PreprocessError> {
        let mut columns: Vec<Vec<&str>> = vec![Vec::new(); rows.len()];
        for input in &self.inputs {
            let column = self.find(table, input.name())?;
            let outside: Vec<bool> = match input {
                Input::Numeric { name, range, .. } | Input::Unit { name, range, .. } => {
                    let range = range.ok_or_else(|| PreprocessError::NoRange {
                        column: name.clone(),
                    })?;
                    let values = numbers(name, column)?;
                    let outside = |v: f64| !v.is_nan() && !range.contains(v);
                    rows.iter().map(|row| outside(values[*row])).collect()
                }
                Input::Categorical {
                    name, categories, ..
                }
                | Input::Binary {
                    name, categories, ..
                } => {
                    check_texts(name, categories, column)?;
                    let finder = categories.finder(column);
                    let unknown = |row: &usize| finder.get(*row) == Level::Unknown;
                    rows.iter().map(unknown).collect()
                }
            };
            for (columns, _) in columns.iter_mut().zip(outside).filter(|(_, out)| *out) {
                columns.push(input.name());
            }
        }
        let found = columns.into_iter().enumerate();
        Ok(found
            .filter(|(_, columns)| !columns.is_empty())
            .map(|(position, columns)| OutsideRange { position, columns })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ascends() {
        let range = SeenRange::new(-1.0, 2.5).unwrap();
        assert!(range.contains(-1.0) && range.contains(2.5));
        assert!(!range.contains(2.6) && !range.contains(f64::NAN));
        assert_eq!([-7.0, 0.5, 9.0].map(|v| range.clamp(v)), [-1.0, 0.5, 2.5]);
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for (low, high) in [(1.0, 1.0), (2.0, 1.0), (0.0, inf), (-inf, 0.0), (nan, 1.0)] {
            assert_eq!(SeenRange::new(low, high), None, "{low} {high}");
        }
    }
}
