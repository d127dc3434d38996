//! What kind of question a table asks.

use loopfit_numerics::named::Named;
use serde::{Deserialize, Serialize};

use crate::levels::Levels;
use crate::roles::{RolesError, list};
use crate::table::{Column, Table};

/// More classes than this are no classes but identifiers or measurements.
pub const MAX_CLASSES: usize = 256;

/// What is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A number from inputs.
    Regression,
    /// How often something happens, from inputs.
    Count,
    /// One of two classes.
    Binary,
    /// One of several classes.
    Multiclass {
        /// How many.
        classes: usize,
    },
    /// The distribution of the inputs themselves.
    Density,
}

/// A task as a user asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// See [`Task::Regression`].
    Regression,
    /// See [`Task::Count`].
    Count,
    /// See [`Task::Binary`].
    Binary,
    /// See [`Task::Multiclass`].
    Multiclass,
    /// See [`Task::Density`].
    Density,
}

impl Named for TaskKind {
    const ALL: &'static [Self] = &[
        Self::Regression,
        Self::Count,
        Self::Binary,
        Self::Multiclass,
        Self::Density,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Count => "count",
            Self::Binary => "binary",
            Self::Multiclass => "multiclass",
            Self::Density => "density",
        }
    }
}

/// A task and the sentence that says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What is learned.
    pub task: Task,
    /// One sentence for people.
    pub because: String,
}

/// Why there is no task.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TaskError {
    /// The target is not a column.
    #[error(transparent)]
    Roles(#[from] RolesError),
    /// Neither a target nor a density.
    #[error("no target column is given; name one, or ask for the density of all columns")]
    NoTarget,
    /// A density with a target.
    #[error("a density has no target, but `{target}` is given; leave one of the two out")]
    DensityTarget {
        /// The target.
        target: String,
    },
    /// The target is always the same.
    #[error("target `{target}` is `{value}` in every row, so there is nothing to learn")]
    OneValue {
        /// The target.
        target: String,
        /// Its value.
        value: String,
    },
    /// Regression on texts.
    #[error("regression needs numbers, but target `{target}` holds {first_text}")]
    TextTarget {
        /// The target.
        target: String,
        /// The first text and its line.
        first_text: String,
    },
    /// Binary with more than two values.
    #[error("a binary target has two different values, but `{target}` has {values}")]
    NotBinary {
        /// The target.
        target: String,
        /// How many it has.
        values: usize,
    },
    /// Far too many classes.
    #[error(
        "target `{target}` has {values} different values, more than the {MAX_CLASSES} classes possible{hint}"
    )]
    TooManyClasses {
        /// The target.
        target: String,
        /// How many it has.
        values: usize,
        /// What to look at, as part of the sentence.
        hint: String,
    },
    /// A name that is not a task's.
    #[error(
        "there is no task `{name}`; the known ones are regression, binary, multiclass, density"
    )]
    Unknown {
        /// The name.
        name: String,
    },
}

impl Task {
    /// Length of the model's output.
    pub fn outputs(self) -> usize {
        match self {
            Self::Multiclass { classes } => classes,
            _ => 1,
        }
    }

    /// Whether the response is a class.
    pub fn is_classification(self) -> bool {
        matches!(self, Self::Binary | Self::Multiclass { .. })
    }

    /// Infers the task from the target column, or checks the one asked for.
    ///
    /// Texts and any two different values are classes; other numbers are a response to
    /// regress on, even a few integers, because their order means something: classes of
    /// that kind must be asked for, and so must a density.
    pub fn decide(
        table: &Table,
        target: Option<&str>,
        asked: Option<TaskKind>,
    ) -> Result<Decision, TaskError> {
        let name = match (target, asked) {
            (None, Some(TaskKind::Density)) => {
                return Ok(Decision {
                    task: Self::Density,
                    because: "The density of all input columns, as asked for.".to_string(),
                });
            }
            (None, _) => return Err(TaskError::NoTarget),
            (Some(target), _) => target,
        };
        let column = table
            .column(name)
            .ok_or_else(|| RolesError::no_column(table, name, &[]))?;
        let target = name.to_string();
        if let Some(row) = (0..table.rows()).find(|row| column.is_missing(*row)) {
            return Err(RolesError::missing_target(name, column, row).into());
        }
        let values = Levels::count(column);
        if values < 2 {
            return Err(TaskError::OneValue {
                target,
                value: match table.rows() {
                    0 => String::new(),
                    _ => column.text(0).unwrap_or_default(),
                },
            });
        }
        let (task, reason) = match asked {
            Some(kind) => (
                asked_for(kind, &target, column, values)?,
                ", as asked for".to_string(),
            ),
            None => {
                let (task, reason) = inferred(table.rows(), &target, column, values)?;
                (task, format!(": {reason}"))
            }
        };
        Ok(Decision {
            task,
            because: format!("{} `{name}`{reason}.", task.title()),
        })
    }

    fn title(self) -> String {
        match self {
            Self::Regression => "Regression on".to_string(),
            Self::Count => "Poisson regression on".to_string(),
            Self::Binary => "Binary classification of".to_string(),
            Self::Multiclass { classes } => format!("Classification into {classes} classes of"),
            Self::Density => "Density of".to_string(),
        }
    }
}

/// The task asked for, if the target allows it.
fn asked_for(
    kind: TaskKind,
    target: &str,
    column: &Column,
    values: usize,
) -> Result<Task, TaskError> {
    match (kind, column) {
        (TaskKind::Regression | TaskKind::Count, Column::Categorical(c)) => {
            Err(TaskError::TextTarget {
                target: target.to_string(),
                first_text: c.first_text.clone(),
            })
        }
        (TaskKind::Regression, Column::Numeric(_)) => Ok(Task::Regression),
        (TaskKind::Count, Column::Numeric(_)) => Ok(Task::Count),
        (TaskKind::Binary, _) if values != 2 => Err(TaskError::NotBinary {
            target: target.to_string(),
            values,
        }),
        (TaskKind::Binary, _) => Ok(Task::Binary),
        (TaskKind::Multiclass, _) => multiclass(target, column, values),
        (TaskKind::Density, _) => Err(TaskError::DensityTarget {
            target: target.to_string(),
        }),
    }
}

/// The task that the target's values suggest, and why.
fn inferred(
    rows: usize,
    target: &str,
    column: &Column,
    values: usize,
) -> Result<(Task, String), TaskError> {
    let levels = || Levels::of(column, 0..rows);
    match column {
        _ if values == 2 => {
            let levels = levels();
            let names = levels.names();
            let reason = format!(
                "it has two different values, `{}` (class 0) and `{}` (class 1)",
                names[0], names[1]
            );
            Ok((Task::Binary, reason))
        }
        Column::Categorical(_) => {
            let task = multiclass(target, column, values)?;
            let reason = format!("it holds texts ({})", list(levels().names()));
            Ok((task, reason))
        }
        Column::Numeric(numbers) => {
            let whole = numbers.iter().all(|v| v.fract() == 0.0);
            let reason = if whole && few(values, rows) {
                format!(
                    "it holds {values} different whole numbers, whose order counts; \
                     ask for multiclass to treat them as classes"
                )
            } else {
                format!("it holds {values} different numbers")
            };
            Ok((Task::Regression, reason))
        }
    }
}

/// So few values that whole numbers may be codes of classes: at most 20 and less than a
/// twentieth of the rows.
fn few(values: usize, rows: usize) -> bool {
    values <= 20 && 20 * values < rows
}

fn multiclass(target: &str, column: &Column, classes: usize) -> Result<Task, TaskError> {
    if classes <= MAX_CLASSES {
        return Ok(Task::Multiclass { classes });
    }
    let hint = match column {
        Column::Numeric(_) => "; ask for regression".to_string(),
        Column::Categorical(c) => format!("; the first text is {}", c.first_text),
    };
    Err(TaskError::TooManyClasses {
        target: target.to_string(),
        values: classes,
        hint,
    })
}

impl std::str::FromStr for TaskKind {
    type Err = TaskError;

    fn from_str(name: &str) -> Result<Self, TaskError> {
        match name {
            "regression" => Ok(Self::Regression),
            "binary" => Ok(Self::Binary),
            "multiclass" => Ok(Self::Multiclass),
            "density" => Ok(Self::Density),
            _ => Err(TaskError::Unknown {
                name: name.to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
