//! Every way in which rows are no samples.

use crate::roles::RolesError;
use crate::samples::SamplesError;
use crate::table::Suspicion;

/// Why rows cannot become samples.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PreprocessError {
    /// A target that is not a count.
    #[error(
        "target `{target}` is {value} in row {row} below the header, which is not a count: counts are whole numbers, not below 0"
    )]
    NotCount {
        /// The target.
        target: String,
        /// What it is.
        value: String,
        /// Row, from one.
        row: usize,
    },
    /// A column that the model needs is not there.
    #[error(transparent)]
    Column(#[from] RolesError),
    /// The numbers do not form samples.
    #[error(transparent)]
    Samples(#[from] SamplesError),
    /// Too few rows to fit anything on.
    #[error("preprocessing needs at least two training rows, not {rows}")]
    TooFewRows {
        /// How many there are.
        rows: usize,
    },
    /// Texts where numbers are needed.
    #[error(
        "column `{column}` must hold numbers, but holds {first_text}{}",
        Suspicion::of_cell(first_text)
    )]
    TextColumn {
        /// The column.
        column: String,
        /// The first text and its line.
        first_text: String,
    },
    /// Numbers where texts are needed.
    #[error("column `{column}` must hold texts such as `{category}`, but holds numbers")]
    NumberColumn {
        /// The column.
        column: String,
        /// A category of the training rows.
        category: String,
    },
    /// A number that the model cannot take.
    #[error(
        "column `{column}` holds {value} in row {row} below the header, too far from the training rows to scale"
    )]
    TooExtreme {
        /// The column.
        column: String,
        /// Row, from one.
        row: usize,
        /// The number.
        value: String,
    },
    /// A range that a model file does not have.
    #[error(
        "the model does not know the range of column `{column}` in its training rows; fit it again to know"
    )]
    NoRange {
        /// The column.
        column: String,
    },
    /// Every input was left out.
    #[error("no usable input column is left: {}", notes.join("; "))]
    NoUsableInput {
        /// Why each one was left out.
        notes: Vec<String>,
    },
    /// The training rows share one response.
    #[error(
        "target `{target}` has zero variance in the training rows, so there is nothing to learn"
    )]
    ZeroVariance {
        /// The target.
        target: String,
    },
    /// The target's numbers leave the floating-point range when squared.
    #[error(
        "target `{target}` has numbers too large or too close to scale; express it in another unit"
    )]
    TargetScale {
        /// The target.
        target: String,
    },
    /// The training rows share one class.
    #[error(
        "target `{target}` has only the class `{class}` in the training rows, so there is nothing to learn"
    )]
    OneClass {
        /// The target.
        target: String,
        /// The class.
        class: String,
    },
    /// A class that the model does not have.
    #[error(
        "target `{target}` is `{class}` in row {row} below the header, which is none of the model's classes {known}"
    )]
    UnknownClass {
        /// The target.
        target: String,
        /// The class.
        class: String,
        /// Row, from one.
        row: usize,
        /// The model's classes.
        known: String,
    },
    /// A density over texts.
    #[error(
        "a density needs numbers, but column `{column}` holds {first_text}; leave the column out"
    )]
    TextInDensity {
        /// The column.
        column: String,
        /// The first text and its line.
        first_text: String,
    },
}
