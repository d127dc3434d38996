//! Numbers in someone else's memory in model units, read where they lie.

use super::{Input, PreprocessError, Preprocessing, Unprepared};
use crate::task::Task;
use std::ops::Range;

/// Rows of numbers that someone else keeps; NaN is a missing cell.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a, T> {
    values: &'a [T],
    rows: usize,
    row_step: usize,
    column_step: usize,
}

impl<'a, T: Copy + Into<f64>> Numbers<'a, T> {
    /// Row after row, `columns` numbers each. None if they are not whole rows.
    pub fn by_rows(values: &'a [T], columns: usize) -> Option<Self> {
        let whole = columns > 0 && values.len().is_multiple_of(columns);
        whole.then(|| Self {
            values,
            rows: values.len() / columns,
            row_step: columns,
            column_step: 1,
        })
    }

    /// Column after column, `columns` of them. None if they differ in length.
    pub fn by_columns(values: &'a [T], columns: usize) -> Option<Self> {
        let whole = columns > 0 && values.len().is_multiple_of(columns);
        whole.then(|| Self {
            values,
            rows: values.len() / columns,
            row_step: 1,
            column_step: values.len() / columns,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        match self.row_step {
            1 => self.values.len() / self.rows.max(1),
            columns => columns,
        }
    }

    /// The number in a row of a column.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.row_step + column * self.column_step].into()
    }
}

/// How columns of numbers become the inputs of a model: what [`Preprocessing::features`] does to a table, for memory that is read
/// where it lies.
#[derive(Clone, Debug)]
pub struct NumberReader {
    d: usize,
    inputs: Vec<ReadInput>,
}

#[derive(Clone, Debug)]
struct ReadInput {
    name: String,
    column: usize,
    feature: usize,
    indicator: Option<usize>,
    shift: f64,
    scale: f64,
    median: f64,
    bounded: bool,
}

/// What the training rows did not prepare for in some rows.
#[derive(Clone, Debug, Default)]
pub struct NumbersRead {
    /// Cells and rows by kind.
    pub unprepared: Unprepared,
    /// Rows outside the interval of a density, counted as in the memory.
    pub outside: Vec<usize>,
}

impl Preprocessing {
    /// How the inputs are read from memory whose columns have these names. None where an input is a category, a column is missing or
    /// the target is a count, which may have an exposure: a table says more then.
    pub fn number_reader(&self, names: &[impl AsRef<str>]) -> Option<NumberReader> {
        if self.task == Task::Count {
            return None;
        }
        let mut feature = 0;
        let mut inputs = Vec::new();
        for input in &self.inputs {
            let (shift, scale, median, bounded) = match input {
                Input::Numeric {
                    mean, sd, median, ..
                } => (*mean, *sd, *median, false),
                Input::Unit {
                    low, width, median, ..
                } => (*low, *width, *median, true),
                Input::Categorical { .. } | Input::Binary { .. } => return None,
            };
            let name = input.name();
            let column = names.iter().position(|own| own.as_ref() == name)?;
            inputs.push(ReadInput {
                name: name.to_string(),
                column,
                feature,
                indicator: input.says_missing().then(|| feature + input.features() - 1),
                shift,
                scale,
                median,
                bounded,
            });
            feature += input.features();
        }
        Some(NumberReader { d: feature, inputs })
    }
}

impl NumberReader {
    /// Number of model inputs.
    pub fn d(&self) -> usize {
        self.d
    }

    /// Some rows in model units, row-major, into `x`; those bits that [`Preprocessing::features`] gives.
    ///
    /// # Panics
    /// If `x` has not `d` numbers for each row.
    pub fn read<T: Copy + Into<f64>>(
        &self,
        numbers: &Numbers<'_, T>,
        rows: Range<usize>,
        x: &mut [f32],
    ) -> Result<NumbersRead, PreprocessError> {
        assert_eq!(x.len(), rows.len() * self.d, "rows of d inputs");
        let mut read = NumbersRead::default();
        let mut finite = true;
        let mut outside = vec![false; rows.len()];
        for input in &self.inputs {
            let first = rows.start * numbers.row_step + input.column * numbers.column_step;
            let values = numbers.values[first..].iter().step_by(numbers.row_step);
            let cells = x[input.feature..].iter_mut().step_by(self.d);
            let mut missing = 0;
            // One pass that a compiler can do several rows at a time of; what is rare is looked at afterwards.
            for (cell, value) in cells.zip(values) {
                let value: f64 = (*value).into();
                let nan = value.is_nan();
                missing += usize::from(nan);
                let value = if nan { input.median } else { value };
                *cell = ((value - input.shift) / input.scale) as f32;
                finite &= cell.is_finite();
            }
            if input.bounded {
                let cells = x[input.feature..].iter_mut().step_by(self.d);
                for ((i, cell), outside) in cells.enumerate().zip(&mut outside) {
                    let value = numbers.at(rows.start + i, input.column);
                    let value = if value.is_nan() { input.median } else { value };
                    let scaled = (value - input.shift) / input.scale;
                    *outside |= !(0.0..=1.0).contains(&scaled);
                    *cell = scaled.clamp(0.0, 1.0) as f32;
                }
            }
            if missing > 0
                && let Some(indicator) = input.indicator
            {
                for (i, row) in x.chunks_mut(self.d).enumerate() {
                    let nan = numbers.at(rows.start + i, input.column).is_nan();
                    row[indicator] = f32::from(u8::from(nan));
                }
            } else if let Some(indicator) = input.indicator {
                x.chunks_mut(self.d).for_each(|row| row[indicator] = 0.0);
            }
            read.unprepared.missing += missing;
        }
        if !finite && let Some(error) = self.extreme(numbers, rows.clone(), x) {
            return Err(error);
        }
        let outside = outside.iter().enumerate();
        read.outside = outside
            .filter_map(|(i, outside)| outside.then_some(rows.start + i))
            .collect();
        read.unprepared.outside = read.outside.len();
        Ok(read)
    }

    /// The first cell that became no number; a coordinate of a density that is far outside was moved to the border.
    fn extreme<T: Copy + Into<f64>>(
        &self,
        numbers: &Numbers<'_, T>,
        rows: Range<usize>,
        x: &[f32],
    ) -> Option<PreprocessError> {
        let too_far = |(i, input): (usize, &ReadInput)| {
            let cell = x[i * self.d + input.feature];
            (!cell.is_finite()).then(|| PreprocessError::TooExtreme {
                column: input.name.clone(),
                row: rows.start + i + 1,
                value: format!("{:e}", numbers.at(rows.start + i, input.column)),
            })
        };
        (0..rows.len())
            .flat_map(|i| self.inputs.iter().map(move |input| (i, input)))
            .find_map(too_far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preprocess::tests::fitted_to_numbers;

    #[test]
    fn numbers_in_memory_have_the_bits_of_a_table() {
        let names = ["u", "v", "w"];
        let (nan, mut rows) = (f64::NAN, Vec::new());
        for i in 0..40 {
            let t = f64::from(i);
            rows.extend([t.sin(), if i % 7 == 0 { nan } else { t * t }, 1e-3 * t]);
        }
        let columns: Vec<f64> = (0..3)
            .flat_map(|k| rows.iter().skip(k).step_by(3).copied())
            .collect();
        let every: Vec<usize> = (0..40).collect();
        for target in [None, Some("w")] {
            let (table, preprocessing) = fitted_to_numbers(&rows, &names, target);
            let expected = preprocessing.features(&table, &every).unwrap();
            let reader = preprocessing.number_reader(&names).unwrap();
            let by_rows = Numbers::by_rows(&rows, 3).unwrap();
            let by_columns = Numbers::by_columns(&columns, 3).unwrap();
            for numbers in [by_rows, by_columns] {
                let mut x = vec![f32::NAN; 30 * reader.d()];
                let read = reader.read(&numbers, 10..40, &mut x).unwrap();
                assert_eq!(x, expected.x[10 * reader.d()..]);
                assert_eq!(read.unprepared.missing, 4);
                assert_eq!((numbers.rows(), numbers.columns()), (40, 3));
            }
            // Columns are found by name, and one that is not there is left to a table.
            assert!(preprocessing.number_reader(&["w", "u", "v", "t"]).is_some());
            assert!(preprocessing.number_reader(&["u", "w"]).is_none());
            let mut far = rows.clone();
            far[31] = f64::INFINITY;
            let numbers = Numbers::by_rows(&far, 3).unwrap();
            let mut x = vec![0.0; 40 * reader.d()];
            match (target, reader.read(&numbers, 0..40, &mut x)) {
                // The density is zero there.
                (None, Ok(read)) => assert_eq!(read.outside, [10]),
                (Some(_), Err(error)) => {
                    let sentence = error.to_string();
                    assert!(sentence.contains("`v` holds inf in row 11"), "{sentence}");
                }
                (_, read) => panic!("{read:?}"),
            }
        }
    }

    #[test]
    fn whole_rows_only() {
        assert!(Numbers::by_rows(&[1.0, 2.0, 3.0], 2).is_none());
        assert!(Numbers::by_columns(&[1.0_f32], 0).is_none());
        let one = Numbers::by_rows(&[1.0, 2.0], 1).unwrap();
        assert_eq!((one.rows(), one.columns()), (2, 1));
    }
}
