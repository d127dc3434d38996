//! The constants of a [`Preprocessing`], from the training rows.

use loopfit_numerics::sum::{mean, median, sample_sd};

use super::{
    Input, PreprocessError, Preprocessing, Scaling, Target, find, identifies_rows, numbers,
};
use crate::levels::{Level, Levels};
use crate::roles::Roles;
use crate::table::{Categorical, Column, Table};
use crate::task::Task;

/// How far the interval of a density reaches beyond the training range, on each side, as a
/// share of that range.
const MARGIN: f64 = 0.05;

impl Preprocessing {
    /// Fits on some rows of a table. Columns that say nothing in these rows are left out, with
    /// a note.
    ///
    /// The names of the classes come from the whole table, so that a rare class without a
    /// training row still has its place among the outputs.
    pub fn fit(
        table: &Table,
        roles: &Roles,
        task: Task,
        rows: &[usize],
        scaling: Scaling,
    ) -> Result<Self, PreprocessError> {
        if rows.len() < 2 {
            return Err(PreprocessError::TooFewRows { rows: rows.len() });
        }
        let (mut inputs, mut notes) = (Vec::new(), Vec::new());
        for name in &roles.inputs {
            if roles.inputs.len() > 1 && numbers_the_rows(find(table, name)?) {
                notes.push(format!(
                    "column `{name}` numbers the rows: leave it out with --ignore if it means nothing else"
                ));
            }
            let fitted = match (find(table, name)?, task) {
                (Column::Categorical(c), Task::Density) => {
                    return Err(PreprocessError::TextInDensity {
                        column: name.clone(),
                        first_text: c.first_text.clone(),
                    });
                }
                (Column::Numeric(values), _) => numeric(name, values, rows, task, scaling),
                (column @ Column::Categorical(c), _) => categorical(name, column, c, rows),
            };
            match fitted {
                Ok(input) => inputs.push(input),
                Err(why) => notes.push(format!("column `{name}` is left out: {why}")),
            }
        }
        if inputs.is_empty() {
            return Err(PreprocessError::NoUsableInput { notes });
        }
        let target = match (&roles.target, task) {
            (Some(name), Task::Regression) => Some(response(name, find(table, name)?, rows)?),
            (Some(name), Task::Binary | Task::Multiclass { .. }) => {
                Some(classes(name, find(table, name)?, rows)?)
            }
            _ => None,
        };
        Ok(Self {
            task,
            inputs,
            target,
            notes,
        })
    }
}

/// Whether a column is `k, k + 1, k + 2, ...`
fn numbers_the_rows(column: &Column) -> bool {
    match column {
        Column::Numeric(values) => values.windows(2).all(|pair| pair[1] == pair[0] + 1.0),
        Column::Categorical(_) => false,
    }
}

/// A numeric input, or why it is left out.
fn numeric(
    name: &str,
    values: &[f64],
    rows: &[usize],
    task: Task,
    scaling: Scaling,
) -> Result<Input, String> {
    let present: Vec<f64> = rows
        .iter()
        .map(|row| values[*row])
        .filter(|v| !v.is_nan())
        .collect();
    if present.is_empty() {
        return Err("it has no value in the training rows".to_string());
    }
    let name = name.to_string();
    let (median, sd) = (median(&present), sample_sd(&present));
    let low = present.iter().copied().fold(f64::INFINITY, f64::min);
    let high = present.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match (task, scaling) {
        _ if low == high => Err(format!("it is {low} in every training row")),
        (Task::Density, Scaling::Raw) => Ok(Input::Unit {
            name,
            low: 0.0,
            width: 1.0,
            median,
        }),
        (_, Scaling::Raw) => Ok(Input::Numeric {
            name,
            mean: 0.0,
            sd: 1.0,
            median,
        }),
        // Numbers near the ends of the floating-point range, whose squares leave it.
        _ if !(sd > 0.0 && sd.is_finite()) => {
            Err("its numbers are too large or too close to scale".to_string())
        }
        (Task::Density, Scaling::Fitted) => {
            let range = high - low;
            Ok(Input::Unit {
                name,
                low: low - MARGIN * range,
                width: (1.0 + 2.0 * MARGIN) * range,
                median,
            })
        }
        (_, Scaling::Fitted) => Ok(Input::Numeric {
            name,
            mean: mean(&present),
            sd,
            median,
        }),
    }
}

/// A text input, or why it is left out.
fn categorical(
    name: &str,
    column: &Column,
    cells: &Categorical,
    rows: &[usize],
) -> Result<Input, String> {
    let categories = Levels::of(column, rows.iter().copied());
    let complete = || rows.iter().all(|row| !column.is_missing(*row));
    match categories.names() {
        [] => Err("it has no value in the training rows".to_string()),
        [only] if complete() => Err(format!("it is `{only}` in every training row")),
        _ if identifies_rows(column) => Err(format!(
            "it has {} different texts, the first being {}",
            cells.categories.len(),
            cells.first_text
        )),
        _ => Ok(Input::Categorical {
            name: name.to_string(),
            categories,
        }),
    }
}

fn response(name: &str, column: &Column, rows: &[usize]) -> Result<Target, PreprocessError> {
    let values = numbers(name, column)?;
    if let Some(row) = rows.iter().find(|row| values[**row].is_nan()) {
        return Err(PreprocessError::MissingTarget {
            target: name.to_string(),
            row: row + 1,
        });
    }
    let values: Vec<f64> = rows.iter().map(|row| values[*row]).collect();
    let sd = sample_sd(&values);
    let target = name.to_string();
    if values.iter().all(|v| *v == values[0]) {
        return Err(PreprocessError::ZeroVariance { target });
    }
    if !(sd > 0.0 && sd.is_finite()) {
        return Err(PreprocessError::TargetScale { target });
    }
    Ok(Target::Response {
        name: name.to_string(),
        mean: mean(&values),
        sd,
    })
}

fn classes(name: &str, column: &Column, rows: &[usize]) -> Result<Target, PreprocessError> {
    let classes = Levels::of(column, 0..column.len());
    let finder = classes.finder(column);
    let mut first = None;
    let mut several = false;
    for &row in rows {
        match finder.get(row) {
            Level::Known(class) => several |= *first.get_or_insert(class) != class,
            _ => {
                return Err(PreprocessError::MissingTarget {
                    target: name.to_string(),
                    row: row + 1,
                });
            }
        }
    }
    if !several {
        return Err(PreprocessError::OneClass {
            target: name.to_string(),
            class: first.map_or(String::new(), |class| classes.names()[class].clone()),
        });
    }
    Ok(Target::Classes {
        name: name.to_string(),
        classes,
    })
}
