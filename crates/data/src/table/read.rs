//! Text to table in one pass: unpack, look at the beginning, then cell by cell.

use std::io::{self, Cursor, Read};

use csv::ByteRecord;
use flate2::read::MultiGzDecoder;
use loopfit_numerics::text::count;

use super::build::{Cell, ColumnBuilder};
use super::limits::{Most, TooMuch};
use super::records::{self, Stop};
use super::sniff::{self, Decimal, Delimiter, Suspicion};
use super::{Column, ReadOptions, Table, TableError, first_repeat};

/// How much of a file decides its delimiter.
const SAMPLE: u64 = 1 << 16;
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
pub(super) const PARQUET_MAGIC: [u8; 4] = *b"PAR1";
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// Reads a text, of which there are at most so many bytes unless it is packed.
pub(super) fn text(
    file: &str,
    mut reader: impl Read,
    options: &ReadOptions,
    most: u64,
) -> Result<Table, TableError> {
    let unreadable = |cause| TableError::open(file, cause);
    let start = peek(&mut reader, 2).map_err(unreadable)?;
    let zipped = start == GZIP_MAGIC;
    let reader = Cursor::new(start).chain(reader);
    if zipped {
        let failed = |cause| TableError::gzip(file, cause);
        let unpacked = MultiGzDecoder::new(reader);
        plain(file, unpacked, options, options.limits.bytes, &failed)
    } else {
        plain(file, reader, options, most, &unreadable)
    }
}

fn plain(
    file: &str,
    mut reader: impl Read,
    options: &ReadOptions,
    most: u64,
    failed: &dyn Fn(io::Error) -> TableError,
) -> Result<Table, TableError> {
    let mut sample = peek(&mut reader, SAMPLE).map_err(failed)?;
    if sample.starts_with(&PARQUET_MAGIC) {
        return Err(TableError::ParquetNeedsFile {
            file: file.to_string(),
        });
    }
    if sample.starts_with(BYTE_ORDER_MARK) {
        sample.drain(..BYTE_ORDER_MARK.len());
    }
    let comments = take_comments(&mut sample);
    let delimiter = options
        .delimiter
        .unwrap_or_else(|| Delimiter::sniff(whole_lines(&sample)));
    let decimal = options
        .decimal
        .unwrap_or_else(|| Decimal::sniff(whole_lines(&sample), delimiter));
    let mut notes = Vec::new();
    if comments > 0 {
        notes.push(format!(
            "left out {} at the beginning of {file}",
            count(comments as usize, "comment line")
        ));
    }
    if decimal == Decimal::Comma && options.decimal.is_none() {
        notes.push(format!(
            "numbers of {file} have a decimal comma, as in `0,5`; read with a decimal point they are texts"
        ));
    }

    let mut rows = Rows {
        file,
        options,
        delimiter,
        decimal,
        names: Vec::new(),
        columns: Vec::new(),
        verbatim: Vec::new(),
        rows: 0,
    };
    let reader = Cursor::new(sample).chain(reader);
    let push = |line: u64, record: &ByteRecord| rows.push(comments + line, record);
    let most = Most {
        row: options.limits.line,
        all: most,
    };
    records::for_each(reader, delimiter, most, push).map_err(|stop| match stop {
        Stop::Io(cause) => failed(cause),
        Stop::TooMuch { what, line } => match what {
            TooMuch::Row => TableError::LongLine {
                file: file.to_string(),
                line: comments + line,
                most: most.row,
            },
            TooMuch::All => TableError::TooLarge {
                file: file.to_string(),
                most: most.all,
            },
        },
        Stop::UnclosedQuote { line } => TableError::UnclosedQuote {
            file: file.to_string(),
            line: comments + line,
        },
        Stop::Caller(error) => error,
    })?;
    let table = rows.finish()?;
    notes.extend(like_numbers(&table));
    Ok(table.with_notes(notes))
}

/// Removes the lines at the beginning that are comments, and counts them. A first cell `#` is a name.
fn take_comments(sample: &mut Vec<u8>) -> u64 {
    let mut count = 0;
    while sniff::is_comment(sample)
        && let Some(end) = sample.iter().position(|b| *b == b'\n')
    {
        sample.drain(..=end);
        count += 1;
    }
    count
}

/// A sentence for each column of texts that are mostly numbers, or look like them.
fn like_numbers(table: &Table) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, column) in table.names.iter().zip(&table.columns) {
        let Column::Categorical(column) = column else {
            continue;
        };
        let like = column
            .categories
            .iter()
            .filter(|text| sniff::is_like_a_number(text));
        if 2 * like.count() > column.categories.len() {
            let first = &column.first_text;
            let suspicion = Suspicion::of_cell(first);
            notes.push(format!(
                "column `{name}` is read as texts, since {first}, is not a number{suspicion}"
            ));
        }
    }
    notes
}

pub(super) fn peek(reader: &mut impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.take(bytes).read_to_end(&mut start)?;
    Ok(start)
}

/// The sample without a line that its end may have cut.
fn whole_lines(sample: &[u8]) -> &[u8] {
    match sample.iter().rposition(|b| *b == b'\n') {
        Some(last) if sample.len() as u64 >= SAMPLE - 3 => &sample[..=last],
        _ => sample,
    }
}

/// The table while its rows arrive.
struct Rows<'a> {
    file: &'a str,
    options: &'a ReadOptions,
    delimiter: Delimiter,
    decimal: Decimal,
    names: Vec<String>,
    columns: Vec<ColumnBuilder>,
    /// Positions of columns that are also kept as they are written, with their cells.
    verbatim: Vec<(usize, Vec<String>)>,
    rows: u64,
}

impl Rows<'_> {
    fn push(&mut self, line: u64, record: &ByteRecord) -> Result<(), TableError> {
        if self.columns.is_empty() && self.take_first_line(line, record)? {
            return Ok(());
        }
        if record.len() != self.columns.len() {
            return Err(TableError::Ragged {
                file: self.file.to_string(),
                line,
                found: record.len(),
                expected: self.columns.len(),
                suspicion: Suspicion::of_row(record, self.delimiter, self.columns.len()),
            });
        }
        self.rows += 1;
        if self.rows >= u64::from(u32::MAX) {
            return Err(TableError::TooManyRows {
                file: self.file.to_string(),
            });
        }
        for (i, column) in self.columns.iter_mut().enumerate() {
            let text = utf8(self.file, line, record, i)?;
            column.push(Cell::parse(text, self.decimal), line);
        }
        for (i, cells) in &mut self.verbatim {
            let text = utf8(self.file, line, record, *i)?;
            cells.push(text.trim().to_string());
        }
        Ok(())
    }

    /// Names the columns; true if the line was a header and holds no row.
    fn take_first_line(&mut self, line: u64, record: &ByteRecord) -> Result<bool, TableError> {
        if record.len() > self.options.limits.columns {
            return Err(TableError::TooManyColumns {
                file: self.file.to_string(),
                columns: record.len(),
                most: self.options.limits.columns,
            });
        }
        let cells = (0..record.len())
            .map(|i| Ok(utf8(self.file, line, record, i)?.trim().to_string()))
            .collect::<Result<Vec<String>, TableError>>()?;
        let header = self
            .options
            .header
            .unwrap_or_else(|| sniff::is_header(&cells, self.decimal));
        self.names = cells
            .into_iter()
            .enumerate()
            .map(|(i, cell)| match cell {
                cell if header && !cell.is_empty() => cell,
                _ => format!("c{}", i + 1),
            })
            .collect();
        self.columns = self.names.iter().map(|_| ColumnBuilder::new()).collect();
        let kept = self.names.iter().enumerate();
        let kept = kept.filter(|(_, name)| self.options.verbatim.contains(name));
        self.verbatim = kept.map(|(i, _)| (i, Vec::new())).collect();
        match first_repeat(&self.names) {
            Some((first, second)) => Err(TableError::DuplicateHeader {
                file: self.file.to_string(),
                name: self.names[first].clone(),
                first: first + 1,
                second: second + 1,
            }),
            None => Ok(header),
        }
    }

    fn finish(self) -> Result<Table, TableError> {
        let file = self.file.to_string();
        if self.columns.is_empty() {
            return Err(TableError::Empty { file });
        }
        if self.rows == 0 {
            return Err(TableError::HeaderOnly { file });
        }
        let verbatim = self.verbatim.into_iter();
        let verbatim = verbatim.map(|(i, cells)| (self.names[i].clone(), cells));
        let verbatim = verbatim.collect();
        let table = finish_columns(self.file, self.names, self.columns)?;
        Ok(Table { verbatim, ..table })
    }
}

/// The table of finished columns, unless one holds an infinite number.
pub(super) fn finish_columns(
    file: &str,
    names: Vec<String>,
    columns: Vec<ColumnBuilder>,
) -> Result<Table, TableError> {
    let columns = names
        .into_iter()
        .zip(columns)
        .map(|(name, column)| match column.finish() {
            Ok(column) => Ok((name, column)),
            Err(line) => Err(TableError::Infinite {
                file: file.to_string(),
                line,
                column: name,
            }),
        });
    Ok(Table::from_columns(
        file,
        columns.collect::<Result<_, _>>()?,
    ))
}

fn utf8<'r>(
    file: &str,
    line: u64,
    record: &'r ByteRecord,
    column: usize,
) -> Result<&'r str, TableError> {
    std::str::from_utf8(&record[column]).map_err(|_| TableError::NotUtf8 {
        file: file.to_string(),
        line,
        column: column + 1,
    })
}
