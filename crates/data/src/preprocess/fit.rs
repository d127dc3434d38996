//! The constants of a [`Preprocessing`], from the training rows.

use loopfit_numerics::sum::{mean, median, sample_sd, sum};

use super::missing::Missingness;
use super::rows::counts;
use super::{
    Encoding, Input, PreprocessError, Preprocessing, Scaling, SeenRange, Target, Weight, find,
    identifies_rows, numbers,
};
use crate::levels::{Level, Levels};
use crate::roles::{Roles, RolesError};
use crate::table::{Categorical, Column, Table};
use crate::task::Task;

/// How far the interval of a density reaches beyond the training range, on each side, as a
/// share of that range.
const MARGIN: f64 = 0.05;

impl Preprocessing {
    /// Fits on some rows of a table with [`Encoding::Indicators`]. Columns that say nothing in
    /// these rows are left out, with a note.
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
        Self::fit_encoded(table, roles, task, rows, scaling, Encoding::Indicators)
    }

    /// As [`Preprocessing::fit`], with an encoding.
    pub fn fit_encoded(
        table: &Table,
        roles: &Roles,
        task: Task,
        rows: &[usize],
        scaling: Scaling,
        encoding: Encoding,
    ) -> Result<Self, PreprocessError> {
        if rows.len() < 2 {
            return Err(PreprocessError::TooFewRows { rows: rows.len() });
        }
        let target = match (&roles.target, task) {
            (Some(name), Task::Regression) => {
                Some(response(name, find(table, name)?, rows, encoding)?)
            }
            (Some(name), Task::Count) => Some(count(name, table, roles, rows)?),
            (Some(name), Task::Binary | Task::Multiclass { .. }) => {
                Some(classes(name, find(table, name)?, rows)?)
            }
            _ => None,
        };
        let weight = match &roles.weight {
            Some(name) => Some(Weight {
                name: name.clone(),
                mean: mean(&weights_of(table, name, rows)?),
            }),
            None => None,
        };
        let mut fitted = Self {
            task,
            inputs: Vec::new(),
            target,
            weight,
            notes: Vec::new(),
        };
        let missingness = match encoding {
            Encoding::Indicators => None,
            Encoding::Compact => Some(Missingness::new(task, &fitted.targets(table, rows)?)),
        };
        let mut training = Training {
            rows,
            task,
            scaling,
            encoding,
            missingness,
        };
        for name in &roles.inputs {
            let column = find(table, name)?;
            if roles.inputs.len() > 1 && numbers_the_rows(column) {
                fitted.notes.push(format!(
                    "column `{name}` numbers the rows: leave it out if it means nothing else"
                ));
            }
            let input = match (column, task) {
                (Column::Categorical(c), Task::Density) => {
                    return Err(PreprocessError::TextInDensity {
                        column: name.clone(),
                        first_text: c.first_text.clone(),
                    });
                }
                (Column::Numeric(values), _) => training.numeric(name, column, values),
                (Column::Categorical(c), _) => training.categorical(name, column, c),
            };
            match input {
                Ok(input) => {
                    if input.says_missing() {
                        fitted.notes.push(format!(
                            "column `{name}`: the target differs where it is missing, which becomes an input"
                        ));
                    }
                    fitted.inputs.push(input);
                }
                Err(why) => fitted
                    .notes
                    .push(format!("column `{name}` is left out: {why}")),
            }
        }
        if fitted.inputs.is_empty() {
            return Err(PreprocessError::NoUsableInput {
                notes: fitted.notes,
            });
        }
        Ok(fitted)
    }
}

/// Whether a column is `k, k + 1, k + 2, ...`
fn numbers_the_rows(column: &Column) -> bool {
    match column {
        Column::Numeric(values) => values.windows(2).all(|pair| pair[1] == pair[0] + 1.0),
        Column::Categorical(_) => false,
    }
}

/// What all columns are fitted on.
struct Training<'a> {
    rows: &'a [usize],
    task: Task,
    scaling: Scaling,
    encoding: Encoding,
    missingness: Option<Missingness>,
}

impl Training<'_> {
    /// A numeric input, or why it is left out.
    fn numeric(&mut self, name: &str, column: &Column, values: &[f64]) -> Result<Input, String> {
        let present: Vec<f64> = self
            .rows
            .iter()
            .map(|row| values[*row])
            .filter(|v| !v.is_nan())
            .collect();
        if present.is_empty() {
            return Err("it has no value in the training rows".to_string());
        }
        let low = present.iter().copied().fold(f64::INFINITY, f64::min);
        let high = present.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let name = name.to_string();
        if low == high {
            // Whether there is a value is all that such a column can say.
            if self.missing_is_input(column, None) {
                return Ok(Input::Categorical {
                    name,
                    categories: Levels::of(column, self.rows.iter().copied()),
                    missing: false,
                });
            }
            return Err(format!("it is {low} in every training row"));
        }
        let (median, sd) = (median(&present), sample_sd(&present));
        let range = SeenRange::new(low, high);
        let (mean, sd) = match (self.task, self.scaling) {
            (Task::Density, Scaling::Raw) => {
                return Ok(Input::Unit {
                    name,
                    low: 0.0,
                    width: 1.0,
                    median,
                    range,
                });
            }
            (_, Scaling::Raw) => (0.0, 1.0),
            // Numbers near the ends of the floating-point range, whose squares leave it.
            _ if !(sd > 0.0 && sd.is_finite()) => {
                return Err("its numbers are too large or too close to scale".to_string());
            }
            (Task::Density, Scaling::Fitted) => {
                let width = high - low;
                return Ok(Input::Unit {
                    name,
                    low: low - MARGIN * width,
                    width: (1.0 + 2.0 * MARGIN) * width,
                    median,
                    range,
                });
            }
            (_, Scaling::Fitted) => (mean(&present), sd),
        };
        let distance = |row: &usize| (values[*row] - median).abs();
        let distances: Vec<f64> = self.rows.iter().map(distance).collect();
        Ok(Input::Numeric {
            name,
            mean,
            sd,
            median,
            missing: self.missing_is_input(column, Some(&distances)),
            range,
        })
    }

    /// A text input, or why it is left out.
    fn categorical(
        &mut self,
        name: &str,
        column: &Column,
        cells: &Categorical,
    ) -> Result<Input, String> {
        let categories = Levels::of(column, self.rows.iter().copied());
        let complete = || self.rows.iter().all(|row| !column.is_missing(*row));
        let name = name.to_string();
        match (categories.names(), self.encoding) {
            ([], _) => Err("it has no value in the training rows".to_string()),
            ([only], _) if complete() => Err(format!("it is `{only}` in every training row")),
            _ if identifies_rows(column) => Err(format!(
                "it has {} different texts, the first being {}",
                cells.categories.len(),
                cells.first_text
            )),
            ([_, _], Encoding::Compact) => {
                let finder = categories.finder(column);
                let code = |row: &usize| match finder.get(*row) {
                    Level::Known(level) => Some(level as f64),
                    _ => None,
                };
                let codes: Vec<f64> = self.rows.iter().filter_map(code).collect();
                Ok(Input::Binary {
                    name,
                    mean: mean(&codes),
                    sd: sample_sd(&codes),
                    categories,
                    missing: self.missing_is_input(column, None),
                })
            }
            // The indicator of an only category says already where the cell is missing.
            (names, _) => Ok(Input::Categorical {
                name,
                missing: names.len() > 1 && self.missing_is_input(column, None),
                categories,
            }),
        }
    }

    /// Whether missing cells of a column are an input; `distances` are those of the rows from what missing cells count as.
    fn missing_is_input(&mut self, column: &Column, distances: Option<&[f64]>) -> bool {
        let rows = self.rows.iter();
        self.missingness.as_mut().is_some_and(|missingness| {
            let missing = rows.map(|row| column.is_missing(*row)).collect();
            missingness.is_input(missing, distances)
        })
    }
}

/// The range that an encoding keeps.
fn response(
    name: &str,
    column: &Column,
    rows: &[usize],
    encoding: Encoding,
) -> Result<Target, PreprocessError> {
    let values = numbers(name, column)?;
    if let Some(row) = rows.iter().find(|row| values[**row].is_nan()) {
        return Err(RolesError::missing_target(name, column, *row).into());
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
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Ok(Target::Response {
        name: name.to_string(),
        mean: mean(&values),
        sd,
        // Responses of the other encoding are held to their bound alone.
        range: match encoding {
            Encoding::Indicators => None,
            Encoding::Compact => SeenRange::new(low, high),
        },
    })
}

/// Weights or exposures of rows.
fn weights_of(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<f64>, PreprocessError> {
    let values = numbers(name, find(table, name)?)?;
    Ok(rows.iter().map(|row| values[*row]).collect())
}

fn count(
    name: &str,
    table: &Table,
    roles: &Roles,
    rows: &[usize],
) -> Result<Target, PreprocessError> {
    let counts = counts(name, find(table, name)?, rows)?;
    let exposure = match &roles.weight {
        Some(exposure) => sum(&weights_of(table, exposure, rows)?),
        None => rows.len() as f64,
    };
    match sum(&counts) / exposure {
        rate if rate > 0.0 && rate.is_finite() => Ok(Target::Count {
            name: name.to_string(),
            rate,
        }),
        _ => Err(PreprocessError::ZeroVariance {
            target: name.to_string(),
        }),
    }
}

fn classes(name: &str, column: &Column, rows: &[usize]) -> Result<Target, PreprocessError> {
    let classes = Levels::of(column, 0..column.len());
    let finder = classes.finder(column);
    let mut first = None;
    let mut several = false;
    for &row in rows {
        match finder.get(row) {
            Level::Known(class) => several |= *first.get_or_insert(class) != class,
            _ => return Err(RolesError::missing_target(name, column, row).into()),
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
