//! Guessing a text file's layout from its first lines.

use loopfit_numerics::named::Named;
use std::convert::Infallible;
use std::fmt;

use csv::ByteRecord;

use super::build::Cell;
use super::limits::Most;
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

impl Named for Delimiter {
    const ALL: &'static [Self] = &[
        Self::Comma,
        Self::Semicolon,
        Self::Tab,
        Self::Bar,
        Self::Whitespace,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Semicolon => "semicolon",
            Self::Tab => "tab",
            Self::Bar => "bar",
            Self::Whitespace => "whitespace",
        }
    }
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

/// What stands between the whole part of a number and its fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decimal {
    /// `0.5`
    #[default]
    Point,
    /// `0,5`; points may group the digits of the whole part, `1.234,5`.
    Comma,
}

impl Named for Decimal {
    const ALL: &'static [Self] = &[Self::Point, Self::Comma];

    fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Comma => "comma",
        }
    }
}

impl Decimal {
    /// A comma if some cells are such numbers, beyond doubt, and none has a point.
    pub(super) fn sniff(sample: &[u8], delimiter: Delimiter) -> Self {
        let (mut commas, mut points) = (false, false);
        let _ = records::for_each(sample, delimiter, Most::ANY, |_, record| {
            for cell in record
                .iter()
                .filter_map(|cell| std::str::from_utf8(cell).ok())
            {
                let cell = cell.trim();
                match Cell::parse(cell, Self::Point) {
                    Cell::Number(_) => points |= cell.contains('.'),
                    Cell::Text(_) if !is_grouped(cell) => {
                        commas |= matches!(Cell::parse(cell, Self::Comma), Cell::Number(_));
                    }
                    _ => (),
                }
            }
            Ok::<_, Infallible>(())
        });
        if commas && !points {
            Self::Comma
        } else {
            Self::Point
        }
    }

    /// The number that a cell holds, if it holds one.
    pub(super) fn number(self, cell: &str) -> Option<f64> {
        if self == Self::Point || !cell.contains(['.', ',']) {
            return cell.parse().ok();
        }
        let (whole, fraction) = cell.split_once(',').unwrap_or((cell, ""));
        let groups: Vec<&str> = whole.split('.').collect();
        // `0.512` is a number with a decimal point and not 512.
        let grouped = groups.len() == 1
            || !groups[0].trim_start_matches(['+', '-']).starts_with('0')
                && groups.iter().skip(1).all(|digits| digits.len() == 3);
        if !grouped || fraction.contains(['.', ',']) {
            return None;
        }
        format!("{}.{fraction}", groups.concat()).parse().ok()
    }
}

/// Whether commas may separate thousands, as in `694,156`, rather than a fraction.
fn is_grouped(cell: &str) -> bool {
    let mut groups = cell.trim_start_matches(['+', '-']).split(',');
    let first = groups.next().unwrap_or_default();
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (1..=3).contains(&first.len())
        && digits(first)
        && first != "0"
        && groups.all(|group| group.len() == 3 && digits(group))
}

/// Whether a text is a number with a sign, a unit or separators around or in it: `$1.2`, `1.2%`, `694,156`, `0,5`.
pub(crate) fn is_like_a_number(text: &str) -> bool {
    let bare: String = text
        .chars()
        .filter(|c| !"$€£¥% ',\u{a0}\u{202f}".contains(*c))
        .collect();
    let first = bare.trim_start_matches(['+', '-']).chars().next();
    first.is_some_and(|c| c.is_ascii_digit() || c == '.') && bare.parse::<f64>().is_ok()
}

/// What a cell or a row may be that is not what its file lets expect; the end of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// Nothing in particular.
    Nothing,
    /// A comment among the rows.
    Comment,
    /// A number with a sign, a unit or separators of thousands.
    Number,
    /// A number with a decimal comma.
    DecimalComma,
    /// A number with a comma before three digits: thousands, or decimals.
    GroupOrDecimals,
    /// A row of one number, which its decimal comma has cut in two.
    CutNumber,
    /// A row of numbers, each of which its decimal comma has cut in two.
    CutNumbers,
}

impl Suspicion {
    /// Of a text where a number may be meant; `cell` is one of [`Categorical::first_text`].
    ///
    /// [`Categorical::first_text`]: super::Categorical::first_text
    pub fn of_cell(cell: &str) -> Self {
        let text = cell
            .strip_prefix('`')
            .and_then(|cell| cell.rsplit_once('`'));
        match text {
            Some((text, _)) if is_comment(text.as_bytes()) => Self::Comment,
            Some((text, _)) if !is_like_a_number(text) => Self::Nothing,
            Some((text, _)) if text.contains(',') && !is_grouped(text) => Self::DecimalComma,
            Some((text, _)) if text.matches(',').count() == 1 => Self::GroupOrDecimals,
            Some(_) => Self::Number,
            None => Self::Nothing,
        }
    }

    /// Of a row with a wrong number of cells.
    pub(super) fn of_row(record: &ByteRecord, delimiter: Delimiter, expected: usize) -> Self {
        let digits = |cell: &[u8]| {
            let unsigned = cell.trim_ascii();
            let unsigned = unsigned.strip_prefix(b"-").unwrap_or(unsigned);
            !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit)
        };
        let halves = delimiter == Delimiter::Comma && record.len() == 2 * expected;
        match record.iter().all(digits) {
            _ if record.get(0).is_some_and(is_comment) => Self::Comment,
            true if halves && expected == 1 => Self::CutNumber,
            true if halves => Self::CutNumbers,
            _ => Self::Nothing,
        }
    }
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "",
            Self::Comment => {
                "; if it is a comment, remove it or move it to the beginning of the file, where comments are left out"
            }
            Self::Number => "; if it should be a number, write it as 1234.5",
            Self::DecimalComma => {
                "; if it should be a number, write it as 1234.5 or read the file with decimal commas"
            }
            Self::GroupOrDecimals => {
                "; if it should be a number, write it as 1234.5, or read the file with decimal commas if its comma is one"
            }
            Self::CutNumber => {
                "; if its number has a decimal comma, as in `0,5`, read the file with semicolons between cells and decimal commas"
            }
            Self::CutNumbers => {
                "; if its numbers have a decimal comma, as in `0,5`, separate cells by semicolons"
            }
        })
    }
}

/// Whether a text that begins a line makes it a comment. A first cell `#` is a name.
pub(super) fn is_comment(text: &[u8]) -> bool {
    let named = |b: &u8| b",;|\t".contains(b);
    text.first() == Some(&b'#') && !text.get(1).is_some_and(named)
}

/// Cells in each line of the sample. A sample cut inside quotes ends early, which is fine.
fn cell_counts(sample: &[u8], delimiter: Delimiter) -> Vec<usize> {
    let mut counts = Vec::new();
    let _ = records::for_each(sample, delimiter, Most::ANY, |_, record| {
        counts.push(record.len());
        Ok::<_, Infallible>(())
    });
    counts
}

/// Whether a first line holds names: none of its cells is a number, and not all are missing.
pub(super) fn is_header(cells: &[String], decimal: Decimal) -> bool {
    let mut any_text = false;
    for cell in cells {
        match Cell::parse(cell, decimal) {
            Cell::Number(_) => return false,
            Cell::Text(_) => any_text = true,
            Cell::Missing => {}
        }
    }
    any_text
}
