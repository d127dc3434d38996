//! Reading a small text that a person wrote.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The longest text: far longer than anyone writes.
const LONGEST: u64 = 16 << 20;

/// The text of a regular file of at most 16 MiB; a pipe could keep one waiting and a device has no end.
pub fn read_text(path: &Path) -> io::Result<String> {
    let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !fs::metadata(path)?.is_file() {
        return refuse("it is not a regular file");
    }
    let mut text = String::new();
    let read = File::open(path)?
        .take(LONGEST + 1)
        .read_to_string(&mut text)?;
    if read as u64 > LONGEST {
        return refuse("it is longer than 16 MiB");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_regular_files_of_bounded_length() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        fs::write(&path, "title").unwrap();
        assert_eq!(read_text(&path).unwrap(), "title");
        let file = File::create(&path).unwrap();
        file.set_len(LONGEST + 1).unwrap();
        assert!(read_text(&path).unwrap_err().to_string().contains("16 MiB"));
        for no_file in [directory.path(), Path::new("/dev/zero")] {
            assert!(read_text(no_file).is_err());
        }
    }
}
