//! A text file as records of cells with exact line numbers.

use std::io::{self, BufRead, BufReader, Read};

use csv::{ByteRecord, ReaderBuilder, Terminator};

use super::Delimiter;
use super::limits::{Bounded, Most, TooMuch, too_much};

/// Follows the last line. It arrives as a record of its own unless a quotation mark is still
/// open, in which case it is swallowed by the last cell.
const END: &[u8] = b"\n\x01end of table\x01\n";

/// Why the records stop.
pub(super) enum Stop<E> {
    Io(io::Error),
    TooMuch { what: TooMuch, line: u64 },
    UnclosedQuote { line: u64 },
    Caller(E),
}

impl<E> Stop<E> {
    /// An error of reading, in the row that begins in `line`.
    fn reading(error: io::Error, line: u64) -> Self {
        match too_much(&error) {
            Some(what) => Self::TooMuch { what, line },
            None => Self::Io(error),
        }
    }
}

/// Calls `each(line, record)` for every line that is not blank. A record over several lines
/// counts as the last of them.
pub(super) fn for_each<E>(
    reader: impl Read,
    delimiter: Delimiter,
    most: Most,
    each: impl FnMut(u64, &ByteRecord) -> Result<(), E>,
) -> Result<(), Stop<E>> {
    match delimiter.byte() {
        Some(byte) => delimited(Bounded::new(reader.chain(END), most), byte, each),
        None => blank_separated(Bounded::new(reader, most), each),
    }
}

fn delimited<E>(
    reader: Bounded<impl Read>,
    delimiter: u8,
    mut each: impl FnMut(u64, &ByteRecord) -> Result<(), E>,
) -> Result<(), Stop<E>> {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        // With CRLF as terminator a record ends before its LF, and lines are miscounted by
        // one. The CR stays in the last cell, where trimming removes it.
        .terminator(Terminator::Any(b'\n'))
        .buffer_capacity(1 << 16)
        .from_reader(reader);
    let end = END.trim_ascii();
    let mut record = ByteRecord::new();
    let mut start = 1;
    let stop = |error, line| Stop::reading(io_error(error), line);
    while reader
        .read_byte_record(&mut record)
        .map_err(|error| stop(error, start))?
    {
        reader.get_mut().next_row();
        if record.len() == 1 && &record[0] == end {
            return Ok(());
        }
        if record.iter().any(|cell| cell.ends_with(END)) {
            break;
        }
        let after = reader.position().line();
        if record.len() > 1 || !record[0].trim_ascii().is_empty() {
            each(after - 1, &record).map_err(Stop::Caller)?;
        }
        start = after;
    }
    Err(Stop::UnclosedQuote { line: start })
}

fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(cause) => cause,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn blank_separated<E>(
    reader: Bounded<impl Read>,
    mut each: impl FnMut(u64, &ByteRecord) -> Result<(), E>,
) -> Result<(), Stop<E>> {
    let mut reader = BufReader::new(reader);
    let (mut bytes, mut record, mut line) = (Vec::new(), ByteRecord::new(), 0);
    loop {
        bytes.clear();
        line += 1;
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(|error| Stop::reading(error, line))? == 0 {
            return Ok(());
        }
        reader.get_mut().next_row();
        record.clear();
        let cells = bytes.split(u8::is_ascii_whitespace);
        cells
            .filter(|cell| !cell.is_empty())
            .for_each(|cell| record.push_field(cell));
        if !record.is_empty() {
            each(line, &record).map_err(Stop::Caller)?;
        }
    }
}
