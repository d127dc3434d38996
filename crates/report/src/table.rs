//! A table of text that every writer can show: results, leaderboards, shapes.

/// On which side a column is flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A header, aligned columns, and rows of which some may be marked as best.
///
/// ```
/// use loopfit_report::{Align, Table};
///
/// let mut table = Table::new([("shape", Align::Left), ("count", Align::Right)]);
/// table.push_best(["q=4 r=11 T=16", "127"]);
/// table.push(["q=5 r=7 T=16", "118"]);
/// assert!(table.to_markdown().starts_with("| shape"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub(crate) columns: Vec<(String, Align)>,
    pub(crate) rows: Vec<Row>,
}

/// One line of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) best: bool,
}

impl Table {
    /// A table without rows: the name and the alignment of each column.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = (S, Align)>) -> Self {
        let columns = columns
            .into_iter()
            .map(|(name, align)| (name.into(), align))
            .collect();
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If the row has not one cell per column.
    pub fn push<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.push_row(cells.into_iter().map(Into::into).collect(), false);
    }

    /// Adds a row that the writers emphasise.
    ///
    /// # Panics
    ///
    /// If the row has not one cell per column.
    pub fn push_best<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.push_row(cells.into_iter().map(Into::into).collect(), true);
    }

    fn push_row(&mut self, cells: Vec<String>, best: bool) {
        assert_eq!(cells.len(), self.columns.len(), "one cell per column");
        self.rows.push(Row { cells, best });
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
