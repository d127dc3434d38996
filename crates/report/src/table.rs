//! A table of text that every writer can show: results, leaderboards, shapes.

/// On which side a column is flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The text of one cell, and whether the writers emphasise it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub(crate) text: String,
    pub(crate) best: bool,
}

impl Cell {
    /// An emphasised cell, e.g. the lowest of its row.
    pub fn best(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            best: true,
        }
    }

    /// A cell that is emphasised where `best` says so.
    pub fn marked(text: impl Into<String>, best: bool) -> Self {
        Self {
            text: text.into(),
            best,
        }
    }
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Self {
        Self::marked(text, false)
    }
}

/// A header, aligned columns, and rows; rows or single cells may be marked as best.
///
/// ```
/// use loopfit_report::{Align, Cell, Table};
///
/// let mut table = Table::new([("shape", Align::Left), ("numbers", Align::Right)]);
/// table.push_best(["q=4 r=11 T=16", "127"]);
/// table.push(["q=5 r=7 T=16", "118"]);
/// table.push([Cell::from("q=4 r=10 T=16"), Cell::best("118")]);
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
    pub(crate) cells: Vec<Cell>,
    /// The row as a whole is the best; then each of its cells is marked too.
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

    /// Adds a row, of texts or of [`Cell`]s.
    ///
    /// # Panics
    ///
    /// If the row has not one cell per column.
    pub fn push<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.push_row(cells.into_iter().map(Into::into).collect(), false);
    }

    /// Adds a row that the writers emphasise.
    ///
    /// # Panics
    ///
    /// If the row has not one cell per column.
    pub fn push_best<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells = cells.into_iter().map(|cell| Cell::best(cell.into().text));
        self.push_row(cells.collect(), true);
    }

    fn push_row(&mut self, cells: Vec<Cell>, best: bool) {
        assert_eq!(cells.len(), self.columns.len(), "one cell per column");
        self.rows.push(Row { cells, best });
    }

    /// Without the columns in which no row has anything.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Self {
        let filled: Vec<bool> = (0..self.columns.len())
            .map(|at| self.rows.iter().any(|row| !row.cells[at].text.is_empty()))
            .collect();
        fn keep<T>(items: &mut Vec<T>, filled: &[bool]) {
            let mut each = filled.iter();
            items.retain(|_| each.next().is_none_or(|filled| *filled));
        }
        if !self.is_empty() {
            keep(&mut self.columns, &filled);
            self.rows
                .iter_mut()
                .for_each(|row| keep(&mut row.cells, &filled));
        }
        self
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_columns_can_be_left_out() {
        let mut table = Table::new(["a", "b", "c"].map(|name| (name, Align::Left)));
        assert_eq!(table.clone().without_empty_columns(), table);
        table.push(["1", "", ""]);
        table.push(["", "", "2"]);
        let left = table.without_empty_columns();
        let names: Vec<&str> = left.columns.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(left.rows[1].cells[1].text, "2");
    }

    proptest! {
        /// Whatever the texts, every line of every writer has one cell per column.
        #[test]
        fn tables_stay_rectangular(
            columns in prop::collection::vec(any::<String>(), 1..5),
            texts in prop::collection::vec((any::<String>(), any::<bool>()), 0..20),
        ) {
            let width = columns.len();
            let mut table = Table::new(columns.iter().map(|name| (name, Align::Right)));
            for row in texts.chunks_exact(width) {
                table.push(row.iter().map(|(text, best)| Cell::marked(text, *best)));
            }
            let rows = texts.len() / width;

            let markdown = table.to_markdown().replace("\\\\", "").replace("\\|", "");
            prop_assert_eq!(markdown.lines().count(), rows + 2);
            for line in markdown.lines() {
                prop_assert_eq!(line.matches('|').count(), width + 1, "{}", line);
            }

            let latex = table.to_latex("", "").replace("\\&", "");
            let lines: Vec<&str> = latex.lines().filter(|line| line.ends_with(" \\\\")).collect();
            prop_assert_eq!(lines.len(), rows + 1);
            for line in lines {
                prop_assert_eq!(line.matches('&').count(), width - 1, "{}", line);
            }

            let html = table.to_html();
            crate::fixtures::balanced(&html);
            prop_assert_eq!(html.matches("<td").count(), rows * width);
        }
    }
}
