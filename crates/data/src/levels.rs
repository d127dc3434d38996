//! The distinct values of a column, in a fixed order: classes of a target, categories of
//! an input.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::table::{Column, MISSING, number_text};

/// Distinct texts in order: numbers by value, then other texts alphabetically.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Levels(Vec<String>);

impl TryFrom<Vec<String>> for Levels {
    type Error = String;

    /// The names of a file, which must differ.
    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("`{}` is there twice", pair[0])),
            None => Ok(Self(names)),
        }
    }
}

impl From<Levels> for Vec<String> {
    fn from(levels: Levels) -> Self {
        levels.0
    }
}

/// What a cell is among levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The level of that index.
    Known(usize),
    /// A value that is none of the levels.
    Unknown,
    /// No value.
    Missing,
}

impl Levels {
    /// How many levels a whole column has, without naming them.
    pub fn count(column: &Column) -> usize {
        match column {
            Column::Numeric(values) => distinct(values.iter().copied()).len(),
            Column::Categorical(c) => c.categories.len(),
        }
    }

    /// The levels that occur in some rows of a column.
    pub fn of(column: &Column, rows: impl IntoIterator<Item = usize>) -> Self {
        match column {
            Column::Numeric(values) => {
                let present = distinct(rows.into_iter().map(|row| values[row]));
                Self(present.into_iter().map(number_text).collect())
            }
            Column::Categorical(c) => {
                let mut seen = vec![false; c.categories.len()];
                for row in rows {
                    if c.codes[row] != MISSING {
                        seen[c.codes[row] as usize] = true;
                    }
                }
                let present = c.categories.iter().zip(seen).filter(|(_, seen)| *seen);
                let mut present: Vec<String> = present.map(|(text, _)| text.clone()).collect();
                let number = |text: &str| text.parse::<f64>().ok();
                present.sort_unstable_by(|a, b| match (number(a), number(b)) {
                    // Labels may be different texts of one number.
                    (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => a.cmp(b),
                });
                Self(present)
            }
        }
    }

    /// The names, in order.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Number of levels.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds the level of each row of a column, which may hold numbers, texts or values that
    /// are no level.
    pub fn finder<'a>(&self, column: &'a Column) -> Finder<'a> {
        let index: HashMap<&str, usize> = self.0.iter().map(String::as_str).zip(0..).collect();
        match column {
            Column::Numeric(values) => {
                let number = |(text, i): (&String, usize)| Some((text.parse::<f64>().ok()?, i));
                let mut levels: Vec<_> = self.0.iter().zip(0..).filter_map(number).collect();
                levels.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                Finder::Numbers { values, levels }
            }
            Column::Categorical(c) => Finder::Codes {
                codes: &c.codes,
                levels: c
                    .categories
                    .iter()
                    .map(|text| index.get(text.as_str()).copied())
                    .collect(),
            },
        }
    }
}

/// The different numbers, ascending; NaN marks missing ones.
fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut present: Vec<f64> = values.filter(|v| !v.is_nan()).collect();
    present.sort_unstable_by(f64::total_cmp);
    present.dedup();
    present
}

/// The levels of one column's cells.
pub enum Finder<'a> {
    /// Of a column of numbers.
    Numbers {
        /// The cells.
        values: &'a [f64],
        /// Number and index of each level that is a number, ascending.
        levels: Vec<(f64, usize)>,
    },
    /// Of a column of texts.
    Codes {
        /// The cells.
        codes: &'a [u32],
        /// For each code its level.
        levels: Vec<Option<usize>>,
    },
}

impl Finder<'_> {
    /// The level of a row.
    pub fn get(&self, row: usize) -> Level {
        let found = match self {
            Self::Numbers { values, .. } if values[row].is_nan() => return Level::Missing,
            Self::Codes { codes, .. } if codes[row] == MISSING => return Level::Missing,
            Self::Numbers { values, levels } => levels
                .binary_search_by(|(level, _)| level.total_cmp(&values[row]))
                .ok()
                .map(|i| levels[i].1),
            Self::Codes { codes, levels } => levels[codes[row] as usize],
        };
        found.map_or(Level::Unknown, Level::Known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ReadOptions, Table};

    fn column(text: &str) -> Column {
        let table = Table::from_reader("t", text.as_bytes(), &ReadOptions::default()).unwrap();
        table.column("s").unwrap().clone()
    }

    #[test]
    fn numbers_come_first_and_by_value() {
        let levels = Levels::of(&column("s\nb\n10\n9\na\n\n-1\n"), 0..5);
        assert_eq!(levels.names(), ["-1", "9", "10", "a", "b"]);
        let levels = Levels::of(&column("s\n10\n9\n10.0\nNA\n"), 0..4);
        assert_eq!(levels.names(), ["9", "10"]);
    }

    #[test]
    fn only_the_given_rows_count() {
        let levels = Levels::of(&column("s\na\nb\nc\nb\n"), [1, 3]);
        assert_eq!(levels.names(), ["b"]);
    }

    /// Levels of a column with texts are found in a column that happens to hold numbers only.
    #[test]
    fn levels_are_found_across_column_types() {
        let levels = Levels::of(&column("s\n1\n2\nA\n"), 0..3);
        for text in ["s\n2\n7\nNA\n1.0\n", "s\n2\n7\nNA\n1.0\nX\n"] {
            let column = column(text);
            let finder = levels.finder(&column);
            let found: Vec<Level> = (0..4).map(|row| finder.get(row)).collect();
            use Level::*;
            assert_eq!(found, [Known(1), Unknown, Missing, Known(0)]);
        }
    }
}
