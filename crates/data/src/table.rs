//! Tables: named columns of numbers or categories, read from text or parquet files.
//!
//! A cell that is a number has one name as a category, its shortest decimal form, so a
//! column of codes means the same whether a file holds only its numbers or a text as well.

mod build;
mod error;
mod limits;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
mod records;
mod sniff;

pub use error::TableError;
pub use limits::Limits;
pub(crate) use sniff::is_like_a_number;
pub use sniff::{Decimal, Delimiter, Suspicion};

use loopfit_numerics::text::{count, hex};
use read::Parts;
use sha2::{Digest, Sha256};
use std::fs::{File, FileType};
use std::io::{Cursor, Read, Seek};
use std::path::Path;

/// Code of a missing cell in [`Categorical::codes`].
pub const MISSING: u32 = u32::MAX;

/// Columns of equal length under distinct names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    source: String,
    names: Vec<String>,
    columns: Vec<Column>,
    verbatim: Vec<(String, Vec<String>)>,
    notes: Vec<String>,
    /// Rows of its source before its first.
    before: usize,
}

/// One column: numeric if every cell that is not missing is a finite number.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers; NaN marks a missing cell.
    Numeric(Vec<f64>),
    /// Texts.
    Categorical(Categorical),
}

/// A column of texts, each kept once.
#[derive(Clone, Debug, PartialEq)]
pub struct Categorical {
    /// For each row an index into `categories`, or [`MISSING`].
    pub codes: Vec<u32>,
    /// The distinct texts in the order of their first cell.
    pub categories: Vec<String>,
    /// The first cell that is not a number and where it stands, for messages.
    pub first_text: String,
}

/// How to read a text file where looking at its beginning is not enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether the first line holds the names; by default it does if none of its cells is a
    /// number. Without names the columns are called `c1`, `c2`, ...
    pub header: Option<bool>,
    /// What separates cells; by default the character that cuts the first lines into equally
    /// many cells.
    pub delimiter: Option<Delimiter>,
    /// How numbers are written; by default with a comma if some of the first lines' cells are such numbers and none has a point.
    pub decimal: Option<Decimal>,
    /// Columns whose cells are also kept as they are written; see [`Table::verbatim`].
    pub verbatim: Vec<String>,
    /// The most that is read.
    pub limits: Limits,
}

impl Table {
    /// Reads a file: csv, tsv and the like, also gzip-compressed, or parquet; `-` is
    /// standard input. A pipe is as good as a file, a device is refused: it may have no end.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TableError> {
        Self::read_with(path, &ReadOptions::default())
    }

    /// As [`Table::read`], where looking at the beginning of the file is not enough.
    pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, TableError> {
        let path = path.as_ref();
        whole(&path.display().to_string(), |parts| {
            Self::open(path, options, parts)
        })
    }

    /// As [`Table::read_with`], some rows after another: calls `each` with tables of at most `cells` cells (and of one row, if that
    /// has more), so that what is in memory does not grow with the file. A column of one of them is numeric if its own cells and
    /// those before are numbers. Parquet files are read whole.
    ///
    /// # Example
    /// ```
    /// # use loopfit_data::{Table, TableError, table::ReadOptions};
    /// # let file = std::env::temp_dir().join(format!("parts-{}.csv", std::process::id()));
    /// # std::fs::write(&file, "u,v\n1,2\n3,4\n5,6\n").unwrap();
    /// let mut rows = Vec::new();
    /// Table::read_in_parts(&file, &ReadOptions::default(), 4, |part| {
    ///     rows.push(part.rows());
    ///     Ok::<_, TableError>(())
    /// })?;
    /// assert_eq!(rows, [2, 1]);
    /// # std::fs::remove_file(file).unwrap();
    /// # Ok::<(), TableError>(())
    /// ```
    pub fn read_in_parts<E: From<TableError>>(
        path: impl AsRef<Path>,
        options: &ReadOptions,
        cells: usize,
        mut each: impl FnMut(Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut outcome = Ok(());
        let mut take = |table| {
            outcome = each(table);
            outcome.is_ok()
        };
        let take = &mut take;
        Self::open(path.as_ref(), options, Parts { cells, take })?;
        outcome
    }

    fn open(path: &Path, options: &ReadOptions, parts: Parts<'_>) -> Result<(), TableError> {
        if path == Path::new("-") {
            let (name, stdin) = ("standard input", std::io::stdin().lock());
            return read::text(name, stdin, options, options.limits.bytes, parts);
        }
        let name = path.display().to_string();
        let unreadable = |e| TableError::open(&name, e);
        // Opened once: a pipe gives its bytes to the first that reads them.
        let mut file = File::open(path).map_err(unreadable)?;
        let kind = file.metadata().map_err(unreadable)?.file_type();
        if is_device(kind) {
            return Err(TableError::Device { file: name });
        }
        let start = read::peek(&mut file, 4).map_err(unreadable)?;
        if start == read::PARQUET_MAGIC && file.rewind().is_ok() {
            (parts.take)(Self::from_parquet(&name, file)?);
            return Ok(());
        }
        // What lies on a disk has an end.
        let most = if kind.is_file() {
            u64::MAX
        } else {
            options.limits.bytes
        };
        read::text(&name, Cursor::new(start).chain(file), options, most, parts)
    }

    /// Reads text, possibly gzip-compressed; `source` names it in messages.
    pub fn from_reader(
        source: &str,
        reader: impl Read,
        options: &ReadOptions,
    ) -> Result<Self, TableError> {
        let most = options.limits.bytes;
        whole(source, |parts| {
            read::text(source, reader, options, most, parts)
        })
    }

    #[cfg(feature = "parquet")]
    fn from_parquet(source: &str, file: File) -> Result<Self, TableError> {
        parquet::read(source, file)
    }

    #[cfg(not(feature = "parquet"))]
    fn from_parquet(source: &str, _file: File) -> Result<Self, TableError> {
        Err(TableError::ParquetOff {
            file: source.to_string(),
        })
    }

    /// Numbers in memory, row by row, one column for each name; NaN is a missing cell.
    ///
    /// # Example
    /// ```
    /// # use loopfit_data::Table;
    /// let table = Table::from_rows(&[1.0, 2.0, 3.0, 4.0], &["u", "v"])?;
    /// assert_eq!((table.rows(), table.names().len()), (2, 2));
    /// # Ok::<(), loopfit_data::TableError>(())
    /// ```
    pub fn from_rows<T: Copy + Into<f64>>(
        values: &[T],
        names: &[impl AsRef<str>],
    ) -> Result<Self, TableError> {
        let width = names.len();
        if width == 0 || values.is_empty() || !values.len().is_multiple_of(width) {
            return Err(TableError::NotRows {
                values: values.len(),
                columns: width,
            });
        }
        let empty = Self::without_columns("memory");
        let mut columns = names.iter().enumerate();
        columns.try_fold(empty, |table, (k, name)| {
            let column: Vec<T> = values.iter().skip(k).step_by(width).copied().collect();
            table.with_column(name.as_ref(), &column)
        })
    }

    /// The same with one more column of numbers; NaN is a missing cell.
    pub fn with_column<T: Copy + Into<f64>>(
        mut self,
        name: &str,
        values: &[T],
    ) -> Result<Self, TableError> {
        // As cells of a file are read, negative zero is zero.
        let values: Vec<f64> = values.iter().map(|v| (*v).into() + 0.0).collect();
        if let Some(row) = values.iter().position(|v| v.is_infinite()) {
            return Err(TableError::InfiniteValue {
                name: name.to_string(),
                row: row + 1,
            });
        }
        self.push(name, Column::Numeric(values))?;
        Ok(self)
    }

    /// The same with one more column, of texts; a cell without one is missing, and so is one that stands for no value in a file, such as
    /// `NA`.
    ///
    /// # Example
    /// ```
    /// # use loopfit_data::Table;
    /// let table = Table::from_rows(&[1.0, 2.0], &["u"])?.with_texts("v", [Some("red"), None])?;
    /// assert!(table.column("v").is_some_and(|v| v.is_missing(1)));
    /// # Ok::<(), loopfit_data::TableError>(())
    /// ```
    pub fn with_texts<'t>(
        mut self,
        name: &str,
        cells: impl IntoIterator<Item = Option<&'t str>>,
    ) -> Result<Self, TableError> {
        self.push(name, build::of_texts(cells))?;
        Ok(self)
    }

    /// The same with one more column, of texts that are what they are, such as classes: none is missing, whatever it says, and `1.0` is not
    /// `1`; a cell without one is. Blanks around them do not count.
    ///
    /// # Example
    /// ```
    /// # use loopfit_data::Table;
    /// let table = Table::from_rows(&[1.0, 2.0], &["u"])?.with_labels("v", [Some("NA"), Some("")])?;
    /// assert!(table.column("v").is_some_and(|v| !v.is_missing(0) && !v.is_missing(1)));
    /// # Ok::<(), loopfit_data::TableError>(())
    /// ```
    pub fn with_labels<'t>(
        mut self,
        name: &str,
        labels: impl IntoIterator<Item = Option<&'t str>>,
    ) -> Result<Self, TableError> {
        self.push(name, build::of_labels(labels))?;
        Ok(self)
    }

    /// No columns yet; `source` names the table in messages.
    pub fn without_columns(source: &str) -> Self {
        Self {
            source: source.to_string(),
            names: Vec::new(),
            columns: Vec::new(),
            verbatim: Vec::new(),
            notes: Vec::new(),
            before: 0,
        }
    }

    fn push(&mut self, name: &str, column: Column) -> Result<(), TableError> {
        let name = name.to_string();
        if self.names.contains(&name) {
            return Err(TableError::TwoColumns { name });
        }
        if !self.columns.is_empty() && column.len() != self.rows() {
            return Err(TableError::ColumnLength {
                name,
                found: column.len(),
                rows: self.rows(),
            });
        }
        self.names.push(name);
        self.columns.push(column);
        Ok(())
    }

    /// A table of columns already at hand.
    ///
    /// # Panics
    /// If the columns differ in length or two share a name.
    pub fn from_columns(source: &str, columns: Vec<(String, Column)>) -> Self {
        let (names, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        assert!(
            columns.windows(2).all(|w| w[0].len() == w[1].len()),
            "columns of a table have one length"
        );
        assert!(
            first_repeat(&names).is_none(),
            "columns of a table have distinct names"
        );
        Self {
            source: source.to_string(),
            names,
            columns,
            verbatim: Vec::new(),
            notes: Vec::new(),
            before: 0,
        }
    }

    /// The same columns under other names, in their order.
    ///
    /// # Panics
    /// If there are not as many names as columns, or two are equal.
    pub fn renamed(self, names: Vec<String>) -> Self {
        assert!(
            names.len() == self.columns.len() && first_repeat(&names).is_none(),
            "columns of a table have distinct names"
        );
        let renamed = |(own, cells): (String, Vec<String>)| {
            let at = self.names.iter().position(|name| *name == own);
            (at.map_or(own, |at| names[at].clone()), cells)
        };
        let verbatim = self.verbatim.into_iter().map(renamed).collect();
        Self {
            names,
            verbatim,
            ..self
        }
    }

    /// What a person should know about how the table was read: what was skipped or taken otherwise than it looks.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The rows that have a value in a column, and a note if there are others; all rows if none has one.
    pub fn with_values_of(self, name: &str) -> Self {
        let Some(column) = self.column(name) else {
            return self;
        };
        let rows: Vec<usize> = (0..column.len())
            .filter(|row| !column.is_missing(*row))
            .collect();
        let missing = column.len() - rows.len();
        if missing == 0 || rows.is_empty() {
            return self;
        }
        let rows_missing = count(missing, "row");
        let note = format!("left out {rows_missing} without a value of `{name}`");
        let columns = self
            .columns
            .iter()
            .map(|column| column.take(&rows))
            .collect();
        let verbatim = self.verbatim.iter().map(|(name, cells)| {
            let kept = rows.iter().map(|row| cells[*row].clone());
            (name.clone(), kept.collect())
        });
        let notes = self.notes.iter().cloned().chain([note]).collect();
        Self {
            columns,
            verbatim: verbatim.collect(),
            notes,
            ..self
        }
    }

    /// The columns with their names, in order.
    pub fn into_columns(self) -> Vec<(String, Column)> {
        self.names.into_iter().zip(self.columns).collect()
    }

    /// SHA-256 of names and cells as 64 hexadecimal digits, wherever the table came from.
    ///
    /// # Formula
    /// `SHA-256("loopfit table 1" | columns)`; a column is its name, `n` and its numbers as 64-bit
    /// little-endian, or `t` and its texts by row; names and texts are preceded by their length.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(b"loopfit table 1");
        let text = |hasher: &mut Sha256, text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for (name, column) in self.names.iter().zip(&self.columns) {
            text(&mut hasher, name);
            match column {
                Column::Numeric(values) => {
                    hasher.update(b"n");
                    for value in values {
                        // Missing cells have one form.
                        let value = if value.is_nan() { f64::NAN } else { *value };
                        hasher.update(value.to_bits().to_le_bytes());
                    }
                }
                Column::Categorical(c) => {
                    hasher.update(b"t");
                    for code in &c.codes {
                        let cell = c.categories.get(*code as usize);
                        text(&mut hasher, cell.map_or("", String::as_str));
                        hasher.update([u8::from(cell.is_some())]);
                    }
                }
            }
        }
        hex(hasher.finalize())
    }

    /// Where the table came from, for messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The number of a row in the source, counted from one, for messages.
    pub fn number_of(&self, row: usize) -> usize {
        self.before + row + 1
    }

    /// The names of the columns, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let position = self.names.iter().position(|n| n == name)?;
        Some(&self.columns[position])
    }

    /// The cells of a column as they are written in the text, blanks around them left out, if
    /// [`ReadOptions::verbatim`] asked for them: `007` is not `7`.
    pub fn verbatim(&self, name: &str) -> Option<&[String]> {
        let kept = self.verbatim.iter().find(|(own, _)| own == name);
        kept.map(|(_, cells)| cells.as_slice())
    }
}

/// The one table of a text that is not read in parts.
fn whole(
    source: &str,
    read: impl FnOnce(Parts<'_>) -> Result<(), TableError>,
) -> Result<Table, TableError> {
    let mut table = None;
    let take = &mut |all| {
        table = Some(all);
        true
    };
    let cells = usize::MAX;
    read(Parts { cells, take })?;
    table.ok_or_else(|| TableError::Empty {
        file: source.to_string(),
    })
}

/// Whether a path leads to something that is read but holds no table: it may have no end.
#[cfg(unix)]
fn is_device(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_kind: FileType) -> bool {
    false
}

impl Column {
    /// Number of cells, missing ones included.
    pub fn len(&self) -> usize {
        match self {
            Self::Numeric(values) => values.len(),
            Self::Categorical(c) => c.codes.len(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column of some rows, in their order.
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numeric(values) => Self::Numeric(rows.iter().map(|row| values[*row]).collect()),
            Self::Categorical(c) => {
                let mut code_of = vec![MISSING; c.categories.len()];
                let mut categories = Vec::new();
                let codes = rows.iter().map(|row| {
                    let Some(code) = code_of.get_mut(c.codes[*row] as usize) else {
                        return MISSING;
                    };
                    if *code == MISSING {
                        *code = categories.len() as u32;
                        categories.push(c.categories[c.codes[*row] as usize].clone());
                    }
                    *code
                });
                let codes = codes.collect();
                Self::Categorical(Categorical {
                    codes,
                    categories,
                    first_text: c.first_text.clone(),
                })
            }
        }
    }

    /// Whether the cell of a row has no value.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Numeric(values) => values[row].is_nan(),
            Self::Categorical(c) => c.codes[row] == MISSING,
        }
    }

    /// The cell of a row as a text: what it would be called as a category.
    pub fn text(&self, row: usize) -> Option<String> {
        if self.is_missing(row) {
            return None;
        }
        Some(match self {
            Self::Numeric(values) => number_text(values[row]),
            Self::Categorical(c) => c.categories[c.codes[row] as usize].clone(),
        })
    }
}

/// The shortest decimal form that reads back as the same number.
pub(crate) fn number_text(value: f64) -> String {
    value.to_string()
}

/// Positions of the first two equal names.
fn first_repeat(names: &[String]) -> Option<(usize, usize)> {
    let mut seen = std::collections::HashMap::new();
    names
        .iter()
        .enumerate()
        .find_map(|(i, name)| seen.insert(name, i).map(|first| (first, i)))
}

#[cfg(test)]
mod tests;
