//! Rows of a table in model units.

use super::{Features, Input, PreprocessError, Preprocessing, Target, Weight, numbers};
use crate::levels::{Level, Levels};
use crate::roles::{RolesError, list};
use crate::samples::Samples;
use crate::table::{Column, Table};
use crate::task::Task;

impl Preprocessing {
    /// The inputs of some rows in model units. Needs the input columns only: other columns
    /// are ignored, the target may be absent.
    pub fn features(&self, table: &Table, rows: &[usize]) -> Result<Features, PreprocessError> {
        let d = self.d();
        let mut features = Features {
            x: vec![0.0; rows.len() * d],
            missing: 0,
            unknown: 0,
            outside: Vec::new(),
            expected: Vec::new(),
        };
        if self.task == Task::Count {
            let weights = self.weights(table, rows)?;
            features.expected = weights.into_iter().map(f64::from).collect();
        }
        let mut outside = vec![false; rows.len()];
        let mut first = 0;
        for input in &self.inputs {
            let column = self.find(table, input.name())?;
            // No rows have no cells to begin at.
            let rest = features.x.get_mut(first..).unwrap_or_default();
            let cells = rest.chunks_mut(d).zip(rows);
            first += input.features();
            let indicator = input.says_missing().then(|| input.features() - 1);
            let (shift, scale, median, bounded) = match input {
                Input::Numeric {
                    mean, sd, median, ..
                } => (mean, sd, median, false),
                Input::Unit {
                    low, width, median, ..
                } => (low, width, median, true),
                Input::Categorical {
                    name, categories, ..
                }
                | Input::Binary {
                    name, categories, ..
                } => {
                    check_texts(name, categories, column)?;
                    let finder = categories.finder(column);
                    for (cell, row) in cells {
                        match (finder.get(*row), input) {
                            (Level::Known(level), Input::Binary { mean, sd, .. }) => {
                                cell[0] = ((level as f64 - mean) / sd) as f32;
                            }
                            (Level::Known(level), _) => cell[level] = 1.0,
                            (Level::Unknown, _) => features.unknown += 1,
                            (Level::Missing, _) => {
                                features.missing += 1;
                                if let Some(indicator) = indicator {
                                    cell[indicator] = 1.0;
                                }
                            }
                        }
                    }
                    continue;
                }
            };
            let values = numbers(input.name(), column)?;
            for ((cell, row), outside) in cells.zip(&mut outside) {
                let mut value = values[*row];
                if value.is_nan() {
                    features.missing += 1;
                    value = *median;
                    if let Some(indicator) = indicator {
                        cell[indicator] = 1.0;
                    }
                }
                let mut scaled = (value - shift) / scale;
                if bounded {
                    *outside |= !(0.0..=1.0).contains(&scaled);
                    scaled = scaled.clamp(0.0, 1.0);
                }
                cell[0] = scaled as f32;
                if !cell[0].is_finite() {
                    return Err(PreprocessError::TooExtreme {
                        column: input.name().to_string(),
                        row: table.number_of(*row),
                        value: format!("{value:e}"),
                    });
                }
            }
        }
        features.outside = (0..rows.len()).filter(|row| outside[*row]).collect();
        Ok(features)
    }

    /// The responses of some rows in model units; empty for a density.
    pub fn targets(&self, table: &Table, rows: &[usize]) -> Result<Vec<f32>, PreprocessError> {
        match &self.target {
            None => Ok(Vec::new()),
            Some(Target::Response { name, mean, sd, .. }) => {
                let column = self.find(table, name)?;
                let values = numbers(name, column)?;
                let scaled = rows.iter().map(|&row| match values[row] {
                    value if value.is_nan() => {
                        Err(RolesError::missing_target(name, column, row).into())
                    }
                    value => Ok(((value - mean) / sd) as f32),
                });
                scaled.collect()
            }
            Some(Target::Count { name, .. }) => {
                let counts = counts(name, self.find(table, name)?, rows)?;
                let expected = self.weights(table, rows)?;
                Ok(counts
                    .iter()
                    .zip(expected)
                    .map(|(count, expected)| (count / f64::from(expected)) as f32)
                    .collect())
            }
            Some(Target::Classes { name, classes }) => {
                let column = self.find(table, name)?;
                let finder = classes.finder(column);
                let indices = rows.iter().map(|&row| match finder.get(row) {
                    Level::Known(class) => Ok(class as f32),
                    Level::Missing => Err(RolesError::missing_target(name, column, row).into()),
                    Level::Unknown => Err(PreprocessError::UnknownClass {
                        target: name.clone(),
                        class: column.text(row).unwrap_or_default(),
                        row: row + 1,
                        known: list(classes.names()),
                    }),
                });
                indices.collect()
            }
        }
    }

    /// How much some rows count: on average once, or as often as is expected of a count after their exposure. Empty where all
    /// rows count alike.
    pub fn weights(&self, table: &Table, rows: &[usize]) -> Result<Vec<f32>, PreprocessError> {
        let scale = match (&self.target, &self.weight) {
            (Some(Target::Count { rate, .. }), None) => {
                return Ok(vec![*rate as f32; rows.len()]);
            }
            (_, None) => return Ok(Vec::new()),
            (Some(Target::Count { rate, .. }), Some(_)) => *rate,
            (_, Some(weight)) => weight.mean.recip(),
        };
        let Some(Weight { name, .. }) = &self.weight else {
            return Ok(Vec::new());
        };
        let values = numbers(name, self.find(table, name)?)?;
        let scaled = rows.iter().map(|row| match (values[*row] * scale) as f32 {
            weight if weight > 0.0 && weight.is_finite() => Ok(weight),
            _ => Err(PreprocessError::Column(RolesError::Weight {
                name: name.clone(),
                row: table.number_of(*row),
            })),
        });
        scaled.collect()
    }

    /// The column that says how much a row counts, if there is one.
    pub fn weight_column(&self) -> Option<&str> {
        self.weight.as_ref().map(|weight| weight.name.as_str())
    }

    /// The mean of that column in the training rows.
    pub fn mean_weight(&self) -> Option<f64> {
        self.weight.as_ref().map(|weight| weight.mean)
    }

    /// Features, targets and weights of some rows together.
    pub fn samples(&self, table: &Table, rows: &[usize]) -> Result<Samples, PreprocessError> {
        let x = self.features(table, rows)?.x;
        let samples = Samples::new(self.d(), x, self.targets(table, rows)?)?;
        Ok(samples.weighted(self.weights(table, rows)?)?)
    }
}

/// The counts of some rows.
pub(super) fn counts(
    name: &str,
    column: &Column,
    rows: &[usize],
) -> Result<Vec<f64>, PreprocessError> {
    let values = numbers(name, column)?;
    let count = |row: &usize| match values[*row] {
        value if value.is_nan() => Err(RolesError::missing_target(name, column, *row).into()),
        value if value >= 0.0 && value.fract() == 0.0 => Ok(value),
        value => Err(PreprocessError::NotCount {
            target: name.to_string(),
            value: value.to_string(),
            row: row + 1,
        }),
    };
    rows.iter().map(count).collect()
}

/// A column of numbers is not a column of texts, unless categories look like numbers.
pub(super) fn check_texts(
    name: &str,
    categories: &Levels,
    column: &Column,
) -> Result<(), PreprocessError> {
    let holds_numbers = matches!(column, Column::Numeric(v) if v.iter().any(|v| !v.is_nan()));
    let number = |text: &String| text.parse::<f64>().is_ok();
    match categories.names().first() {
        Some(category) if holds_numbers && !categories.names().iter().any(number) => {
            Err(PreprocessError::NumberColumn {
                column: name.to_string(),
                category: category.clone(),
            })
        }
        _ => Ok(()),
    }
}
