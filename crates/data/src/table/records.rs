//! A text file as records of cells with exact line numbers.

use std::io::{self, BufRead, BufReader, Read};

use csv::{ByteRecord, ReaderBuilder, Terminator};

use super::Delimiter;

/// Follows the last line. It arrives as a record of its own unless a quotation mark is still
/// open, in which case it is swallowed by the last cell.
const END: &[u8] = b"\n\x01end of table\x01\n";

/// Why the records stop.
pub(super) enum Stop<E> {
    Io(io::Error),
    UnclosedQuote { line: u64 },
    Caller(E),
}

/// Calls `each(line, record)` for every line that is not blank. A record over several lines
/// counts as the last of them.
pub(super) fn for_each<E>(
    reader: impl Read,
    delimiter: Delimiter,
    each: impl FnMut(u64, &ByteRecord) -> Result<(), E>,
) -> Result<(), Stop<E>> {
    match delimiter.byte() {
        Some(byte) => delimited(reader, byte, each),
        None => blank_separated(reader, each),
    }
}

fn delimited<E>(
    reader: impl Read,
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
        .from_reader(reader.chain(END));
    let end = END.trim_ascii();
    let mut record = ByteRecord::new();
    let mut start = 1;
    while reader.read_byte_record(&mut record).map_err(io_error)? {
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

fn io_error<E>(error: csv::Error) -> Stop<E> {
    Stop::Io(match error.into_kind() {
        csv::ErrorKind::Io(cause) => cause,
        other => io::Error::other(format!("{other:?}")),
    })
}

fn blank_separated<E>(
    reader: impl Read,
    mut each: impl FnMut(u64, &ByteRecord) -> Result<(), E>,
) -> Result<(), Stop<E>> {
    let mut reader = BufReader::new(reader);
    let (mut bytes, mut record, mut line) = (Vec::new(), ByteRecord::new(), 0);
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(Stop::Io)? == 0 {
            return Ok(());
        }
        line += 1;
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
