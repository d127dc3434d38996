//! Every way in which a file is not a table.

use super::sniff::Suspicion;
use loopfit_numerics::text::count;
use std::io;

/// Why a table could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// There is no such file.
    #[error("there is no file `{file}`")]
    NotFound {
        /// The file.
        file: String,
    },
    /// The file exists but cannot be read.
    #[error("`{file}` cannot be read: {cause}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        cause: io::Error,
    },
    /// Numbers in memory that are not whole rows.
    #[error(
        "{values} numbers are not rows of {columns} columns: give one name for each column, at least one row, and every row in full"
    )]
    NotRows {
        /// Numbers given.
        values: usize,
        /// Names given.
        columns: usize,
    },
    /// A name that is given twice.
    #[error("two columns are called `{name}`: give each a name of its own")]
    TwoColumns {
        /// The name.
        name: String,
    },
    /// A column that is longer or shorter than the others.
    #[error("the column `{name}` has {found} values and the table {rows} rows")]
    ColumnLength {
        /// The column.
        name: String,
        /// Its values.
        found: usize,
        /// The rows of the others.
        rows: usize,
    },
    /// A number that is not finite.
    #[error("the column `{name}` is infinite in row {row}: use NaN for a missing value")]
    InfiniteValue {
        /// The column.
        name: String,
        /// The row, from one.
        row: usize,
    },
    /// Something that is read and may have no end.
    #[error("`{file}` is a device and not a file; name a file, a pipe or `-` for standard input")]
    Device {
        /// The path.
        file: String,
    },
    /// A row that is longer than allowed.
    #[error(
        "`{file}`: the row that begins in line {line} is longer than {most} bytes; if it is meant to be, raise the limit"
    )]
    LongLine {
        /// The file.
        file: String,
        /// Line in which it begins, from one.
        line: u64,
        /// The most that is allowed.
        most: u64,
    },
    /// More columns than allowed.
    #[error("`{file}` has {columns} columns, more than {most}; if it is meant to, raise the limit")]
    TooManyColumns {
        /// The file.
        file: String,
        /// Columns of its first line.
        columns: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// A pipe or a packed file with more in it than allowed.
    #[error("`{file}` holds more than {most} bytes, unpacked; if it is meant to, raise the limit")]
    TooLarge {
        /// The file.
        file: String,
        /// The most that is allowed.
        most: u64,
    },
    /// A gzip file stops before its end.
    #[error("`{file}` is a gzip file that ends too early; copy or download it again")]
    GzipTruncated {
        /// The file.
        file: String,
    },
    /// A gzip file with wrong contents.
    #[error("`{file}` begins like a gzip file but is damaged ({cause}); copy or download it again")]
    GzipDamaged {
        /// The file.
        file: String,
        /// What the decoder says.
        cause: io::Error,
    },
    /// Nothing in it.
    #[error("`{file}` is empty; a table needs at least one row")]
    Empty {
        /// The file.
        file: String,
    },
    /// Names and nothing below.
    #[error("`{file}` holds a header line and no rows")]
    HeaderOnly {
        /// The file.
        file: String,
    },
    /// A row with too few or too many cells.
    #[error(
        "`{file}`, line {line}: {} where {expected} {} expected{suspicion}",
        count(*found, "cell"),
        if *expected == 1 { "is" } else { "are" }
    )]
    Ragged {
        /// The file.
        file: String,
        /// Line, from one.
        line: u64,
        /// Cells in this line.
        found: usize,
        /// Cells in the first line.
        expected: usize,
        /// What it may be.
        suspicion: Suspicion,
    },
    /// Two columns of one name.
    #[error("`{file}`: columns {first} and {second} are both called `{name}`; rename one")]
    DuplicateHeader {
        /// The file.
        file: String,
        /// The name.
        name: String,
        /// Position of the first, from one.
        first: usize,
        /// Position of the second, from one.
        second: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("`{file}`, line {line}, column {column}: the text is not UTF-8; convert the file")]
    NotUtf8 {
        /// The file.
        file: String,
        /// Line, from one.
        line: u64,
        /// Column, from one.
        column: usize,
    },
    /// A quotation mark without its partner.
    #[error("`{file}`: a quotation mark opened in line {line} is never closed")]
    UnclosedQuote {
        /// The file.
        file: String,
        /// Line in which the row begins, from one.
        line: u64,
    },
    /// An infinite number in a column of numbers.
    #[error(
        "`{file}`, line {line}: column `{column}` holds an infinite value; leave the cell empty or correct it"
    )]
    Infinite {
        /// The file.
        file: String,
        /// Line, from one (of a parquet file: row).
        line: u64,
        /// Name of the column.
        column: String,
    },
    /// More rows than can be numbered.
    #[error("`{file}` has more than {} rows; take a sample", u32::MAX)]
    TooManyRows {
        /// The file.
        file: String,
    },
    /// A parquet file, and no reader for it.
    #[error(
        "`{file}` is a parquet file, which this build cannot read; build it with the feature `parquet`, or convert the file to csv"
    )]
    ParquetOff {
        /// The file.
        file: String,
    },
    /// A parquet file through a pipe or inside gzip.
    #[error("`{file}` holds parquet data, which can be read from a plain file only")]
    ParquetNeedsFile {
        /// The file.
        file: String,
    },
    /// A parquet file that its reader rejects.
    #[error("`{file}` is not a valid parquet file: {cause}")]
    ParquetDamaged {
        /// The file.
        file: String,
        /// What the reader says.
        cause: String,
    },
    /// A parquet column that is neither numbers, texts nor truth values.
    #[error(
        "`{file}`: column `{column}` is of the parquet type {kind}; convert it to numbers or text"
    )]
    ParquetType {
        /// The file.
        file: String,
        /// Name of the column.
        column: String,
        /// Its type.
        kind: String,
    },
}

impl TableError {
    pub(super) fn open(file: &str, cause: io::Error) -> Self {
        let file = file.to_string();
        match cause.kind() {
            io::ErrorKind::NotFound => Self::NotFound { file },
            _ => Self::Unreadable { file, cause },
        }
    }

    pub(super) fn gzip(file: &str, cause: io::Error) -> Self {
        let file = file.to_string();
        match cause.kind() {
            io::ErrorKind::UnexpectedEof => Self::GzipTruncated { file },
            _ => Self::GzipDamaged { file, cause },
        }
    }
}
