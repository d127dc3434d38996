//! Columns while their cells arrive: numbers until the first text.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Categorical, Column, Decimal, MISSING, number_text};

/// Cells that stand for no value. A bare `-` and `None` are ordinary texts.
const MISSING_CELLS: [&str; 9] = ["", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "nil"];

/// What a cell says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Missing,
    /// Possibly infinite, never NaN.
    Number(f64),
    Text(&'a str),
}

impl<'a> Cell<'a> {
    pub(super) fn parse(text: &'a str, decimal: Decimal) -> Self {
        let text = trimmed(text);
        match decimal.number(text) {
            Some(value) => Self::number(value),
            None if MISSING_CELLS.iter().any(|m| text.eq_ignore_ascii_case(m)) => Self::Missing,
            None => Self::Text(text),
        }
    }

    pub(super) fn number(value: f64) -> Self {
        match value {
            v if v.is_nan() => Self::Missing,
            // Negative zero would be another duplicate row and another category.
            v => Self::Number(v + 0.0),
        }
    }
}

/// Without blanks around it, in a moment where the first and last byte tell that there are none.
fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [b'!'..=b'~', .., b'!'..=b'~'] | [b'!'..=b'~'] => text,
        _ => text.trim(),
    }
}

/// One column under construction.
pub(super) struct ColumnBuilder {
    cells: Cells,
    /// Line of the first infinite number.
    infinite: Option<u64>,
}

enum Cells {
    Numbers(Vec<f64>),
    Texts {
        codes: Vec<u32>,
        index: HashMap<String, u32>,
        first_text: String,
    },
}

impl ColumnBuilder {
    pub(super) fn new() -> Self {
        Self {
            cells: Cells::Numbers(Vec::new()),
            infinite: None,
        }
    }

    /// The same column in the next part of a text: of texts if there was one.
    pub(super) fn next_part(&self) -> Self {
        let cells = match &self.cells {
            Cells::Numbers(_) => Cells::Numbers(Vec::new()),
            Cells::Texts { first_text, .. } => Cells::texts(&[], first_text.clone()),
        };
        Self {
            cells,
            infinite: None,
        }
    }

    pub(super) fn push(&mut self, cell: Cell<'_>, line: u64) {
        if let (Cells::Numbers(numbers), Cell::Text(text)) = (&self.cells, cell) {
            self.cells = Cells::texts(numbers, format!("`{text}`, line {line}"));
        }
        match (&mut self.cells, cell) {
            (Cells::Numbers(numbers), Cell::Number(v)) => {
                if v.is_infinite() {
                    self.infinite.get_or_insert(line);
                }
                numbers.push(v);
            }
            (Cells::Numbers(numbers), _) => numbers.push(f64::NAN),
            (Cells::Texts { codes, index, .. }, cell) => codes.push(match cell {
                Cell::Missing => MISSING,
                Cell::Number(v) => intern(index, &number_text(v)),
                Cell::Text(text) => intern(index, text),
            }),
        }
    }

    /// The column, or the line of an infinite value among numbers.
    pub(super) fn finish(self) -> Result<Column, u64> {
        match (self.cells, self.infinite) {
            (Cells::Numbers(_), Some(line)) => Err(line),
            (Cells::Numbers(numbers), None) => Ok(Column::Numeric(numbers)),
            (
                Cells::Texts {
                    codes,
                    index,
                    first_text,
                },
                _,
            ) => Ok(categorical(codes, index, first_text)),
        }
    }
}

impl Cells {
    /// A column that held numbers so far, from now on of texts.
    fn texts(numbers: &[f64], first_text: String) -> Self {
        let mut index = HashMap::new();
        let codes = numbers
            .iter()
            .map(|v| match v {
                v if v.is_nan() => MISSING,
                v => intern(&mut index, &number_text(*v)),
            })
            .collect();
        Self::Texts {
            codes,
            index,
            first_text,
        }
    }
}

/// A column of texts, also where they look like numbers.
pub(super) fn of_texts<'t>(cells: impl IntoIterator<Item = Option<&'t str>>) -> Column {
    let text = |cell: Option<&'t str>| match Cell::parse(cell?, Decimal::Point) {
        Cell::Missing => None,
        Cell::Number(v) => Some(Cow::Owned(number_text(v))),
        Cell::Text(text) => Some(Cow::Borrowed(text)),
    };
    interned(cells.into_iter().map(text))
}

/// A column of texts that are what they are, but for blanks around them: none is missing, and none is a number.
pub(super) fn of_labels<'t>(labels: impl IntoIterator<Item = Option<&'t str>>) -> Column {
    let text = |label: Option<&'t str>| Some(trimmed(label?).into());
    interned(labels.into_iter().map(text))
}

fn interned<'t>(cells: impl Iterator<Item = Option<Cow<'t, str>>>) -> Column {
    let mut index = HashMap::new();
    let mut first_text = None;
    let codes = cells.enumerate().map(|(row, cell)| {
        let Some(text) = cell else {
            return MISSING;
        };
        first_text.get_or_insert_with(|| format!("`{text}`, row {}", row + 1));
        intern(&mut index, &text)
    });
    let codes = codes.collect();
    categorical(codes, index, first_text.unwrap_or_default())
}

fn categorical(codes: Vec<u32>, index: HashMap<String, u32>, first_text: String) -> Column {
    let mut categories: Vec<(String, u32)> = index.into_iter().collect();
    categories.sort_unstable_by_key(|(_, code)| *code);
    Column::Categorical(Categorical {
        codes,
        categories: categories.into_iter().map(|(text, _)| text).collect(),
        first_text,
    })
}

fn intern(index: &mut HashMap<String, u32>, text: &str) -> u32 {
    if let Some(code) = index.get(text) {
        return *code;
    }
    let code = index.len() as u32;
    index.insert(text.to_string(), code);
    code
}
