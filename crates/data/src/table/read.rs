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

/// Where rows go: tables of at most so many cells, but of at least one row each, one after another.
pub(super) struct Parts<'a> {
    pub(super) cells: usize,
    /// Takes a table; false if no other is wanted.
    pub(super) take: &'a mut dyn FnMut(Table) -> bool,
}

/// Reads a text, of which there are at most so many bytes unless it is packed.
pub(super) fn text(
    file: &str,
    mut reader: impl Read,
    options: &ReadOptions,
    most: u64,
    parts: Parts<'_>,
) -> Result<(), TableError> {
    let unreadable = |cause| TableError::open(file, cause);
    let start = peek(&mut reader, 2).map_err(unreadable)?;
    let zipped = start == GZIP_MAGIC;
    let reader = Cursor::new(start).chain(reader);
    if zipped {
        let failed = |cause| TableError::gzip(file, cause);
        let unpacked = MultiGzDecoder::new(reader);
        let most = options.limits.bytes;
        plain(file, unpacked, options, most, &failed, parts)
    } else {
        plain(file, reader, options, most, &unreadable, parts)
    }
}

fn plain(
    file: &str,
    mut reader: impl Read,
    options: &ReadOptions,
    most: u64,
    failed: &dyn Fn(io::Error) -> TableError,
    parts: Parts<'_>,
) -> Result<(), TableError> {
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
        before: 0,
        rows: 0,
        notes,
        noted: Vec::new(),
        parts,
    };
    let reader = Cursor::new(sample).chain(reader);
    let push = |line: u64, record: &ByteRecord| rows.push(comments + line, record);
    let most = Most {
        row: options.limits.line,
        all: most,
    };
    match records::for_each(reader, delimiter, most, push) {
        Ok(()) => rows.finish(),
        Err(Stop::Caller(Halt::Enough)) => Ok(()),
        Err(Stop::Caller(Halt::Error(error))) => Err(error),
        Err(Stop::Io(cause)) => Err(failed(cause)),
        Err(Stop::TooMuch { what, line }) => Err(match what {
            TooMuch::Row => TableError::LongLine {
                file: file.to_string(),
                line: comments + line,
                most: most.row,
            },
            TooMuch::All => TableError::TooLarge {
                file: file.to_string(),
                most: most.all,
            },
        }),
        Err(Stop::UnclosedQuote { line }) => Err(TableError::UnclosedQuote {
            file: file.to_string(),
            line: comments + line,
        }),
    }
}

/// Why rows stop before the end of the text.
enum Halt {
    Error(TableError),
    /// Nobody wants more.
    Enough,
}

impl From<TableError> for Halt {
    fn from(error: TableError) -> Self {
        Self::Error(error)
    }
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

/// A sentence for each column of texts that are mostly numbers, or look like them, unless it was `noted`.
fn like_numbers(table: &Table, noted: &mut [bool]) -> Vec<String> {
    let mut notes = Vec::new();
    let columns = table.names.iter().zip(&table.columns).zip(noted);
    for ((name, column), noted) in columns.filter(|(_, noted)| !**noted) {
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
            *noted = true;
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
struct Rows<'a, 'p> {
    file: &'a str,
    options: &'a ReadOptions,
    delimiter: Delimiter,
    decimal: Decimal,
    names: Vec<String>,
    columns: Vec<ColumnBuilder>,
    /// Positions of columns that are also kept as they are written, with their cells.
    verbatim: Vec<(usize, Vec<String>)>,
    /// Rows of the parts before.
    before: usize,
    /// Rows of this part.
    rows: usize,
    /// What a person should know, for the next part.
    notes: Vec<String>,
    /// Columns that a note is about.
    noted: Vec<bool>,
    parts: Parts<'p>,
}

impl Rows<'_, '_> {
    fn push(&mut self, line: u64, record: &ByteRecord) -> Result<(), Halt> {
        if self.columns.is_empty() && self.take_first_line(line, record)? {
            return Ok(());
        }
        if record.len() != self.columns.len() {
            return Err(Halt::Error(TableError::Ragged {
                file: self.file.to_string(),
                line,
                found: record.len(),
                expected: self.columns.len(),
                suspicion: Suspicion::of_row(record, self.delimiter, self.columns.len()),
            }));
        }
        if self.rows > 0 && (self.rows + 1).saturating_mul(self.columns.len()) > self.parts.cells {
            self.give()?;
        }
        self.rows += 1;
        if self.rows >= u32::MAX as usize {
            return Err(Halt::Error(TableError::TooManyRows {
                file: self.file.to_string(),
            }));
        }
        // All cells at once, which is quicker than one by one.
        let text = std::str::from_utf8(record.as_slice()).unwrap_or_default();
        for (i, column) in self.columns.iter_mut().enumerate() {
            let cell = record.range(i).and_then(|range| text.get(range));
            let cell = match cell {
                Some(cell) => cell,
                None => utf8(self.file, line, record, i)?,
            };
            column.push(Cell::parse(cell, self.decimal), line);
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
        self.noted = vec![false; self.names.len()];
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

    /// Gives the rows so far away as a table.
    fn give(&mut self) -> Result<(), Halt> {
        let next = self.columns.iter().map(ColumnBuilder::next_part).collect();
        let columns = std::mem::replace(&mut self.columns, next);
        let verbatim = self.verbatim.iter_mut();
        let verbatim = verbatim.map(|(i, cells)| (self.names[*i].clone(), std::mem::take(cells)));
        let mut table = Table {
            verbatim: verbatim.collect(),
            before: self.before,
            notes: std::mem::take(&mut self.notes),
            ..finish_columns(self.file, self.names.clone(), columns)?
        };
        table.notes.extend(like_numbers(&table, &mut self.noted));
        self.before += self.rows;
        self.rows = 0;
        match (self.parts.take)(table) {
            true => Ok(()),
            false => Err(Halt::Enough),
        }
    }

    fn finish(mut self) -> Result<(), TableError> {
        let file = self.file.to_string();
        if self.columns.is_empty() {
            return Err(TableError::Empty { file });
        }
        if self.rows == 0 {
            return Err(TableError::HeaderOnly { file });
        }
        match self.give() {
            Ok(()) | Err(Halt::Enough) => Ok(()),
            Err(Halt::Error(error)) => Err(error),
        }
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
