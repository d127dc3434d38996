//! The most that a text may hold, so that a file from elsewhere cannot take all memory.

use std::io::{self, Read};

/// Bounds on what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a row, up to a buffer's length.
    pub line: u64,
    /// Columns of a table.
    pub columns: usize,
    /// Bytes of what may have no end: of a pipe, or of a packed file once it is unpacked.
    pub bytes: u64,
}

impl Default for Limits {
    /// 16 MiB, 65,536 columns, 1 GiB.
    fn default() -> Self {
        Self {
            line: 1 << 24,
            columns: 1 << 16,
            bytes: 1 << 30,
        }
    }
}

/// What there is too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMuch {
    #[error("a row is too long")]
    Row,
    #[error("there is too much of it")]
    All,
}

/// A reader that fails with [`TooMuch`] beyond its bounds.
pub(super) struct Bounded<R> {
    reader: R,
    most: Most,
    read: Most,
}

/// Numbers of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub(super) row: u64,
    pub(super) all: u64,
}

impl Most {
    /// No bounds.
    pub(super) const ANY: Self = Self {
        row: u64::MAX,
        all: u64::MAX,
    };
}

impl<R> Bounded<R> {
    pub(super) fn new(reader: R, most: Most) -> Self {
        Self {
            reader,
            most,
            read: Most { row: 0, all: 0 },
        }
    }

    /// From now on bytes belong to another row.
    pub(super) fn next_row(&mut self) {
        self.read.row = 0;
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read.row > self.most.row {
            return Err(io::Error::other(TooMuch::Row));
        }
        if self.read.all > self.most.all {
            return Err(io::Error::other(TooMuch::All));
        }
        let bytes = self.reader.read(buffer)?;
        self.read.row += bytes as u64;
        self.read.all += bytes as u64;
        Ok(bytes)
    }
}

/// Whether an error is that of a [`Bounded`] reader.
pub(super) fn too_much(error: &io::Error) -> Option<TooMuch> {
    error.get_ref()?.downcast_ref().copied()
}
