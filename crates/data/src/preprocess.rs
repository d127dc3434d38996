//! From table cells to model units and back, with constants from training rows only.

mod describe;
mod error;
mod file;
mod fit;
mod missing;
mod numbers;
mod range;
mod rows;

pub use error::PreprocessError;
pub use numbers::{NumberReader, Numbers, NumbersRead};
pub use range::{OutsideRange, SeenRange};

use file::{positive, share, two};
use loopfit_numerics::libm;
use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Not};

use crate::levels::Levels;
use crate::roles::RolesError;
use crate::table::{Column, Table};
use crate::task::Task;

/// A text input with more categories than this is left out: it identifies rows rather than
/// describing them.
pub const MAX_CATEGORIES: usize = 100;

/// Whether a column identifies rows: it is then no input, and two rows that differ in it
/// alone are duplicates.
pub fn identifies_rows(column: &Column) -> bool {
    matches!(column, Column::Categorical(c) if c.categories.len() > MAX_CATEGORIES)
}

/// How inputs reach the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Numbers are standardised; for a density, mapped into the unit interval.
    Fitted,
    /// Numbers stay as they are, as the paper's simulated inputs do (F.4.1).
    Raw,
}

/// What a column becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// One indicator for each category, and nothing says that a cell was missing: the samples
    /// of the paper's frozen protocols.
    Indicators,
    /// As few inputs as say the same: a text of two categories is one input. Where missing
    /// cells predict the target, one more input says that the cell is missing. Ranges of the
    /// training rows are kept.
    Compact,
}

/// Everything needed to turn rows into samples and outputs into responses; part of a model
/// file.
///
/// # Reference
/// F.4.6: imputation and standardisation are fitted on the training split only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "file::Unchecked")]
pub struct Preprocessing {
    task: Task,
    inputs: Vec<Input>,
    target: Option<Target>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<Weight>,
    notes: Vec<String>,
}

/// The column that says how much a row counts; of a count, its exposure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// The column.
    name: String,
    /// Its mean in the training rows.
    #[serde(deserialize_with = "positive")]
    mean: f64,
}

/// One input column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Input {
    /// A number `x` becomes `(x - mean) / sd`; a missing one counts as the median. A raw input
    /// has mean 0 and SD 1.
    Numeric {
        /// The column.
        name: String,
        /// Mean of the training rows.
        mean: f64,
        /// Sample standard deviation of the training rows.
        #[serde(deserialize_with = "positive")]
        sd: f64,
        /// Median of the training rows.
        median: f64,
        /// Whether one more model input is 1 where the cell is missing, 0 elsewhere.
        #[serde(default, skip_serializing_if = "Not::not")]
        missing: bool,
        /// Smallest and largest number of the training rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<SeenRange>,
    },
    /// A number `x` becomes `(x - low) / width`, clamped to [0, 1]: a coordinate of a density.
    Unit {
        /// The column.
        name: String,
        /// What becomes 0.
        low: f64,
        /// `low + width` becomes 1.
        #[serde(deserialize_with = "positive")]
        width: f64,
        /// Median of the training rows.
        median: f64,
        /// Smallest and largest number of the training rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<SeenRange>,
    },
    /// A text becomes one indicator for each category; an unknown or missing one is all zeros.
    Categorical {
        /// The column.
        name: String,
        /// The categories of the training rows.
        categories: Levels,
        /// Whether one more model input is 1 where the cell is missing, 0 elsewhere.
        #[serde(default, skip_serializing_if = "Not::not")]
        missing: bool,
    },
    /// A text of two categories becomes `(x - mean) / sd`, where `x` is 0 for the first and 1
    /// for the second; an unknown or missing one counts as the mean.
    Binary {
        /// The column.
        name: String,
        /// The two categories of the training rows.
        #[serde(deserialize_with = "two")]
        categories: Levels,
        /// Share of the second category in the training rows.
        #[serde(deserialize_with = "share")]
        mean: f64,
        /// Sample standard deviation of `x` in the training rows.
        #[serde(deserialize_with = "positive")]
        sd: f64,
        /// Whether one more model input is 1 where the cell is missing, 0 elsewhere.
        #[serde(default, skip_serializing_if = "Not::not")]
        missing: bool,
    },
}

/// The target column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// A response `y` becomes `(y - mean) / sd`.
    Response {
        /// The column.
        name: String,
        /// Mean of the training rows.
        mean: f64,
        /// Sample standard deviation of the training rows.
        #[serde(deserialize_with = "positive")]
        sd: f64,
        /// Smallest and largest response of the training rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<SeenRange>,
    },
    /// A count `y` after an exposure `e`, which is one where no column has it, becomes `y / (rate e)`.
    Count {
        /// The column.
        name: String,
        /// Counts by exposure, of the training rows together.
        #[serde(deserialize_with = "positive")]
        rate: f64,
    },
    /// A class becomes its index.
    Classes {
        /// The column.
        name: String,
        /// The classes of the whole table.
        classes: Levels,
    },
}

impl Target {
    /// The column.
    pub fn name(&self) -> &str {
        match self {
            Self::Response { name, .. } | Self::Count { name, .. } | Self::Classes { name, .. } => {
                name
            }
        }
    }
}

/// Inputs in model units, and how many cells the training rows did not prepare for.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Row-major.
    pub x: Vec<f32>,
    /// Missing cells, replaced as [`Input`] says.
    pub missing: usize,
    /// Texts that are not a category of the training rows.
    pub unknown: usize,
    /// Positions of rows with a coordinate of a density outside its interval, moved to the
    /// border; the density there is zero.
    pub outside: Vec<usize>,
    /// Of counts, how many are expected of each row by its exposure alone; empty elsewhere.
    pub expected: Vec<f64>,
}

/// How many cells and rows the training rows did not prepare for; see [`Features`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unprepared {
    /// Missing cells.
    pub missing: usize,
    /// Texts that are not a category.
    pub unknown: usize,
    /// Rows outside the interval of a density.
    pub outside: usize,
}

impl Preprocessing {
    /// Inputs `x1`, ..., `xd` and a response `y` that stay as they are.
    pub fn unchanged(d: usize) -> Self {
        let input = |k: usize| Input::Numeric {
            name: format!("x{k}"),
            mean: 0.0,
            sd: 1.0,
            median: 0.5,
            missing: false,
            range: None,
        };
        Self {
            task: Task::Regression,
            inputs: (1..=d).map(input).collect(),
            target: Some(Target::Response {
                name: "y".to_string(),
                mean: 0.0,
                sd: 1.0,
                range: None,
            }),
            weight: None,
            notes: Vec::new(),
        }
    }

    /// What is learned.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The input columns that are used.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The target column; none for a density.
    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// Sentences about what was left out or changed.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Number of model inputs.
    pub fn d(&self) -> usize {
        self.inputs.iter().map(Input::features).sum()
    }

    /// The name of each model input: `column=category` for an indicator and for the second of
    /// two categories, `column missing` where missing cells are an input.
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.d());
        for input in &self.inputs {
            let category = |c: &String| format!("{}={c}", input.name());
            match input {
                Input::Numeric { name, .. } | Input::Unit { name, .. } => names.push(name.clone()),
                Input::Categorical { categories, .. } => {
                    names.extend(categories.names().iter().map(category));
                }
                Input::Binary { categories, .. } => {
                    names.extend(categories.names().last().map(category));
                }
            }
            if input.says_missing() {
                names.push(format!("{} missing", input.name()));
            }
        }
        names
    }

    /// For each model input the position of its column among [`Preprocessing::inputs`].
    pub fn feature_columns(&self) -> Vec<usize> {
        let columns = self.inputs.iter().enumerate();
        columns
            .flat_map(|(column, input)| std::iter::repeat_n(column, input.features()))
            .collect()
    }

    /// The same preprocessing of some columns alone, by their positions among
    /// [`Preprocessing::inputs`]: what a model needs that uses no others. A column keeps all of
    /// its model inputs, and columns keep their order, in whichever order they are named.
    ///
    /// # Panics
    /// If there is no column of a position.
    pub fn restricted(&self, columns: &[usize]) -> Self {
        let mut kept = vec![false; self.inputs.len()];
        for column in columns {
            kept[*column] = true;
        }
        let inputs = self.inputs.iter().zip(kept).filter(|(_, kept)| *kept);
        Self {
            task: self.task,
            inputs: inputs.map(|(input, _)| input.clone()).collect(),
            target: self.target.clone(),
            weight: self.weight.clone(),
            notes: self.notes.clone(),
        }
    }

    /// The names of the classes, in the order of their indices; empty without classes.
    pub fn class_names(&self) -> &[String] {
        match &self.target {
            Some(Target::Classes { classes, .. }) => classes.names(),
            _ => &[],
        }
    }

    /// A standardised response on the scale of the target column; other outputs as they are.
    pub fn to_original(&self, f: f64) -> f64 {
        match &self.target {
            Some(Target::Response { mean, sd, .. }) => mean + sd * f,
            _ => f,
        }
    }

    /// Numeric inputs of one row in model units on the scale of their columns, in the order of
    /// [`Preprocessing::inputs`]; categories are skipped. For the samples of a density.
    pub fn inputs_to_original(&self, x: &[f32]) -> Vec<f64> {
        let mut rest = x;
        let mut original = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let (own, others) = rest.split_at(input.features());
            match input {
                Input::Numeric { mean, sd, .. } => original.push(mean + sd * f64::from(own[0])),
                Input::Unit { low, width, .. } => original.push(low + width * f64::from(own[0])),
                Input::Categorical { .. } | Input::Binary { .. } => {}
            }
            rest = others;
        }
        original
    }

    /// Log volume of one unit of model coordinates on the scale of the columns: a log density
    /// in model units minus this is one in the columns' units.
    ///
    /// # Formula
    /// `sum_k log width_k` over the coordinates of a density.
    pub fn log_volume(&self) -> f64 {
        let widths = self.inputs.iter().map(|input| match input {
            Input::Unit { width, .. } => libm::log(*width),
            _ => 0.0,
        });
        widths.sum()
    }
}

impl Input {
    /// Where the input is uniform if nothing else is known of it: the lower end and the width of an interval. Of a coordinate of a
    /// density it is the one that becomes `[0, 1]`; of an input that was standardised, the one on which a uniform law has the mean and the
    /// standard deviation of the training rows; otherwise `[0, 1]`.
    ///
    /// # Formula
    /// `mean ± sqrt(3) sd`: the variance of a uniform law is a twelfth of its squared width.
    pub fn interval(&self) -> (f64, f64) {
        match self {
            Self::Unit { low, width, .. } => (*low, *width),
            Self::Numeric { mean, sd, .. } if (*mean, *sd) != (0.0, 1.0) => {
                (mean - sd * libm::sqrt(3.0), sd * libm::sqrt(12.0))
            }
            Self::Numeric { .. } | Self::Categorical { .. } | Self::Binary { .. } => (0.0, 1.0),
        }
    }

    /// The column.
    pub fn name(&self) -> &str {
        match self {
            Self::Numeric { name, .. }
            | Self::Unit { name, .. }
            | Self::Categorical { name, .. }
            | Self::Binary { name, .. } => name,
        }
    }

    /// Number of model inputs that the column becomes.
    pub fn features(&self) -> usize {
        let own = match self {
            Self::Categorical { categories, .. } => categories.len(),
            _ => 1,
        };
        own + usize::from(self.says_missing())
    }

    /// Whether the last of the column's model inputs says that the cell is missing.
    pub fn says_missing(&self) -> bool {
        match self {
            Self::Numeric { missing, .. }
            | Self::Categorical { missing, .. }
            | Self::Binary { missing, .. } => *missing,
            Self::Unit { .. } => false,
        }
    }
}

impl Features {
    /// One sentence for each kind of cell that the training rows did not prepare for.
    pub fn notes(&self) -> Vec<String> {
        self.unprepared().notes()
    }

    /// How many cells and rows the training rows did not prepare for.
    pub fn unprepared(&self) -> Unprepared {
        Unprepared {
            missing: self.missing,
            unknown: self.unknown,
            outside: self.outside.len(),
        }
    }
}

impl Unprepared {
    /// One sentence for each kind of which there are some.
    pub fn notes(&self) -> Vec<String> {
        let counts = [
            (self.missing, "missing cells, replaced"),
            (
                self.unknown,
                "texts that are not a category of the training rows",
            ),
            (
                self.outside,
                "rows outside the range of the density, where it is zero",
            ),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        some.map(|(count, what)| format!("{what}: {count}"))
            .collect()
    }
}

impl AddAssign for Unprepared {
    fn add_assign(&mut self, more: Self) {
        self.missing += more.missing;
        self.unknown += more.unknown;
        self.outside += more.outside;
    }
}

fn find<'t>(table: &'t Table, name: &str) -> Result<&'t Column, PreprocessError> {
    let column = table.column(name);
    column.ok_or_else(|| RolesError::no_column(table, name, &[]).into())
}

fn numbers<'t>(name: &str, column: &'t Column) -> Result<&'t [f64], PreprocessError> {
    match column {
        Column::Numeric(values) => Ok(values),
        Column::Categorical(c) => Err(PreprocessError::TextColumn {
            column: name.to_string(),
            first_text: c.first_text.clone(),
        }),
    }
}

#[cfg(test)]
mod tests;
