//! Numeric matrices of MATLAB level 5 files.
//!
//! # Reference
//! MathWorks, "MAT-File Format", chapter "Level 5 MAT-File Format": a header of 128 bytes,
//! then elements of a type, a length and contents; a matrix is an element made of array
//! flags, dimensions, name and values, and may be wrapped in a zlib-compressed element.

use std::io::Read;

use flate2::read::ZlibDecoder;

const HEADER: usize = 128;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// The largest matrix element that is unpacked, in bytes.
const MOST_UNPACKED: u64 = 1 << 30;

/// A real matrix, column after column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Vec<f64>>,
}

/// Why a file holds no matrix that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatError {
    /// Another format.
    #[error("it has no header of a MATLAB level 5 file")]
    Header,
    /// Contents that stop early or lengths that lie.
    #[error("it ends too early or its lengths are wrong")]
    Truncated,
    /// A damaged compressed element.
    #[error("its compressed contents are damaged")]
    Compression,
    /// No matrix, or one of another kind.
    #[error("its first variable is not a real matrix of numbers")]
    NotAMatrix,
}

/// Reads the first variable of a file.
pub(crate) fn first_matrix(file: &[u8]) -> Result<Matrix, MatError> {
    let header = file.get(..HEADER).ok_or(MatError::Header)?;
    let order = match (&header[126..], header[124], header[125]) {
        (b"IM", 0, 1) => Order::Little,
        (b"MI", 1, 0) => Order::Big,
        _ => return Err(MatError::Header),
    };
    let element = Cursor::new(&file[HEADER..], order).element()?;
    match element.kind {
        MATRIX => matrix(element),
        COMPRESSED => {
            let mut unpacked = Vec::new();
            ZlibDecoder::new(element.contents)
                .take(MOST_UNPACKED)
                .read_to_end(&mut unpacked)
                .map_err(|_| MatError::Compression)?;
            let inner = Cursor::new(&unpacked, order).element()?;
            match inner.kind {
                MATRIX => matrix(inner),
                _ => Err(MatError::NotAMatrix),
            }
        }
        _ => Err(MatError::NotAMatrix),
    }
}

fn matrix(element: Element<'_>) -> Result<Matrix, MatError> {
    let mut parts = Cursor::new(element.contents, element.order);
    let flags = parts.element()?.numbers()?;
    let dimensions = parts.element()?.numbers()?;
    let _name = parts.element()?;
    // Classes 6 to 15 are doubles, singles and integers; bit 11 marks a complex array.
    let flags = *flags.first().ok_or(MatError::Truncated)? as u32;
    if !(6..=15).contains(&(flags & 0xFF)) || flags & 0x800 != 0 {
        return Err(MatError::NotAMatrix);
    }
    let [rows, columns] = dimensions[..] else {
        return Err(MatError::NotAMatrix);
    };
    let (rows, columns) = (rows as usize, columns as usize);
    let values = parts.element()?.numbers()?;
    if rows == 0 || rows.checked_mul(columns) != Some(values.len()) {
        return Err(MatError::Truncated);
    }
    Ok(Matrix {
        rows,
        columns: values.chunks(rows).map(<[f64]>::to_vec).collect(),
    })
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

/// A type, its contents and the byte order of both.
struct Element<'a> {
    kind: u32,
    contents: &'a [u8],
    order: Order,
}

/// Elements one after the other, each padded to a multiple of eight bytes.
struct Cursor<'a> {
    rest: &'a [u8],
    order: Order,
}

impl<'a> Cursor<'a> {
    fn new(bytes: &'a [u8], order: Order) -> Self {
        Self { rest: bytes, order }
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], MatError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(bytes)
            .ok_or(MatError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, MatError> {
        let bytes = self.take(4)?.try_into().map_err(|_| MatError::Truncated)?;
        Ok(match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    fn element(&mut self) -> Result<Element<'a>, MatError> {
        let order = self.order;
        let first = self.word()?;
        // A length in the upper half marks the short form: up to four bytes in the second word.
        if first >> 16 != 0 {
            let contents = self.take(4)?.get(..(first >> 16) as usize);
            return Ok(Element {
                kind: first & 0xFFFF,
                contents: contents.ok_or(MatError::Truncated)?,
                order,
            });
        }
        let length = self.word()? as usize;
        let contents = self.take(length)?;
        // The last element of a file may lack its padding, compressed ones have none.
        let padding = length.next_multiple_of(8) - length;
        if first != COMPRESSED {
            self.take(padding.min(self.rest.len()))?;
        }
        Ok(Element {
            kind: first,
            contents,
            order,
        })
    }
}

impl Element<'_> {
    /// The contents as numbers, whatever their type.
    fn numbers(&self) -> Result<Vec<f64>, MatError> {
        macro_rules! decode {
            ($type:ty) => {{
                let (words, rest) = self.contents.as_chunks::<{ size_of::<$type>() }>();
                if !rest.is_empty() {
                    return Err(MatError::Truncated);
                }
                let decode = |bytes: &[u8; size_of::<$type>()]| match self.order {
                    Order::Little => <$type>::from_le_bytes(*bytes) as f64,
                    Order::Big => <$type>::from_be_bytes(*bytes) as f64,
                };
                words.iter().map(decode).collect()
            }};
        }
        Ok(match self.kind {
            1 => decode!(i8),
            2 => decode!(u8),
            3 => decode!(i16),
            4 => decode!(u16),
            5 => decode!(i32),
            6 => decode!(u32),
            7 => decode!(f32),
            9 => decode!(f64),
            12 => decode!(i64),
            13 => decode!(u64),
            _ => return Err(MatError::NotAMatrix),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn element(kind: u32, contents: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend((contents.len() as u32).to_le_bytes());
        bytes.extend(contents);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn file(element: &[u8]) -> Vec<u8> {
        let mut file = b"MATLAB 5.0 MAT-file".to_vec();
        file.resize(124, b' ');
        file.extend([0, 1, b'I', b'M']);
        file.extend(element);
        file
    }

    /// `x = [1 3 5; 2 4 6]`, its values of some type, its name in the short form.
    fn x(class: u32, kind: u32, values: &[u8]) -> Vec<u8> {
        let mut parts = element(6, &[class.to_le_bytes(), [0; 4]].concat());
        parts.extend(element(
            5,
            &[2_i32.to_le_bytes(), 3_i32.to_le_bytes()].concat(),
        ));
        parts.extend([1, 0, 1, 0, b'x', 0, 0, 0]);
        parts.extend(element(kind, values));
        element(MATRIX, &parts)
    }

    fn doubles() -> Vec<u8> {
        (1..=6).flat_map(|v| f64::from(v).to_le_bytes()).collect()
    }

    fn expected() -> Matrix {
        Matrix {
            rows: 2,
            columns: vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]],
        }
    }

    #[test]
    fn matrices_of_any_number_type_plain_and_compressed() {
        let bytes: Vec<u8> = (1..=6).collect();
        for matrix in [x(6, 9, &doubles()), x(6, 2, &bytes)] {
            assert_eq!(first_matrix(&file(&matrix)), Ok(expected()));
            let mut zlib =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            zlib.write_all(&matrix).unwrap();
            let packed = element(COMPRESSED, &zlib.finish().unwrap());
            assert_eq!(first_matrix(&file(&packed)), Ok(expected()));
        }
    }

    #[test]
    fn what_is_no_matrix_says_so() {
        let complex = x(6 | 0x800, 9, &doubles());
        assert_eq!(first_matrix(&file(&complex)), Err(MatError::NotAMatrix));
        let text = x(4, 4, &[0; 12]);
        assert_eq!(first_matrix(&file(&text)), Err(MatError::NotAMatrix));
        let short = x(6, 9, &doubles()[..40]);
        assert_eq!(first_matrix(&file(&short)), Err(MatError::Truncated));
        assert_eq!(first_matrix(b"a,b\n1,2\n"), Err(MatError::Header));
        let damaged = element(COMPRESSED, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(first_matrix(&file(&damaged)), Err(MatError::Compression));
    }

    proptest! {
        /// No file makes the reader panic.
        #[test]
        fn altered_files_are_refused_or_read(at in 0usize..400, to: u8, cut in 0usize..400) {
            let mut bytes = file(&x(6, 9, &doubles()));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = to;
            }
            bytes.truncate(cut.max(HEADER));
            let _ = first_matrix(&bytes);
        }
    }
}
