//! Guessing a text file's layout from its first lines.

use std::convert::Infallible;

use super::build::Cell;
use super::records;

/// What separates the cells of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// `\t`
    Tab,
    /// `;`
    Semicolon,
    /// `|`
    Bar,
    /// `,`
    Comma,
    /// Any run of blanks and tabs; such files have no quotation marks.
    Whitespace,
}

impl Delimiter {
    pub(super) fn byte(self) -> Option<u8> {
        match self {
            Self::Tab => Some(b'\t'),
            Self::Semicolon => Some(b';'),
            Self::Bar => Some(b'|'),
            Self::Comma => Some(b','),
            Self::Whitespace => None,
        }
    }

    /// The delimiter that cuts most of the sample's lines into as many cells as the first.
    ///
    /// Commas come late because they occur inside numbers and texts of files that are
    /// separated otherwise, whitespace only where nothing else cuts.
    pub(super) fn sniff(sample: &[u8]) -> Self {
        let agreement = |delimiter: Self| {
            let counts = cell_counts(sample, delimiter);
            let first = *counts.first()?;
            let equal = counts.iter().filter(|c| **c == first).count();
            (first > 1).then_some(equal as f64 / counts.len() as f64)
        };
        let mut best = None;
        for delimiter in [Self::Tab, Self::Semicolon, Self::Bar, Self::Comma] {
            if let Some(share) = agreement(delimiter)
                && best.is_none_or(|(_, most)| share > most)
            {
                best = Some((delimiter, share));
            }
        }
        match best {
            Some((delimiter, _)) => delimiter,
            None if agreement(Self::Whitespace) >= Some(0.9) => Self::Whitespace,
            None => Self::Comma,
        }
    }
}

/// Cells in each line of the sample. A sample cut inside quotes ends early, which is fine.
fn cell_counts(sample: &[u8], delimiter: Delimiter) -> Vec<usize> {
    let mut counts = Vec::new();
    let _ = records::for_each(sample, delimiter, |_, record| {
        counts.push(record.len());
        Ok::<_, Infallible>(())
    });
    counts
}

/// Whether a first line holds names: none of its cells is a number, and not all are missing.
pub(super) fn is_header(cells: &[String]) -> bool {
    let mut any_text = false;
    for cell in cells {
        match Cell::parse(cell) {
            Cell::Number(_) => return false,
            Cell::Text(_) => any_text = true,
            Cell::Missing => {}
        }
    }
    any_text
}
