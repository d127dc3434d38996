//! Raw files: where they lie, where they come from and what they must contain.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use loopfit_numerics::text::hex;
use sha1::Sha1;
use sha2::{Digest, Sha256};

const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
/// More than any raw file holds: what a packed one unpacks to is cut there, and its checksum differs.
const MOST_BYTES: u64 = 1 << 30;

/// A file as it is published, or as it is made from what is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFile {
    /// Path below the data folder, without `.gz`.
    pub path: &'static str,
    /// Of the uncompressed content.
    pub checksum: Checksum,
    /// Rows of data in it.
    pub rows: usize,
    /// Where it comes from.
    pub origin: Origin,
}

/// What identifies a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// SHA-256, in hexadecimal.
    Sha256(&'static str),
    /// Name of the git object with this content (SHA-1 of its header and content).
    GitBlob(&'static str),
}

/// Where a raw file is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The file itself.
    File {
        /// Its address.
        url: &'static str,
    },
    /// A member of a zip archive.
    Zip {
        /// Address of the archive.
        url: &'static str,
        /// The member, wherever it lies in the archive.
        member: &'static str,
    },
    /// The first sheet of a spreadsheet in a zip archive, as csv.
    ZipSheet {
        /// Address of the archive.
        url: &'static str,
        /// The spreadsheet, wherever it lies in the archive.
        member: &'static str,
    },
    /// A member of a gzip-compressed tar archive.
    Tgz {
        /// Address of the archive.
        url: &'static str,
        /// The member, wherever it lies in the archive.
        member: &'static str,
    },
    /// Not published: a substitute for a file that is missing.
    Substitute,
}

impl RawFile {
    /// The file below a data folder, plain or gzip-compressed, if it is there.
    pub fn locate(&self, folder: &Path) -> Option<PathBuf> {
        let plain = folder.join(self.path);
        let zipped = folder.join(format!("{}.gz", self.path));
        [plain, zipped].into_iter().find(|path| path.is_file())
    }

    /// Whether an uncompressed content is this file's.
    pub fn is_content(&self, content: &[u8]) -> bool {
        match self.checksum {
            Checksum::Sha256(expected) => hex(Sha256::digest(content)) == expected,
            Checksum::GitBlob(expected) => {
                let header = format!("blob {}\0", content.len());
                let digest = Sha1::new().chain_update(header).chain_update(content);
                hex(digest.finalize()) == expected
            }
        }
    }
}

/// The content of a file, unpacked if it is gzip-compressed.
pub(super) fn read_unpacked(path: &Path) -> io::Result<Vec<u8>> {
    let content = fs::read(path)?;
    if !content.starts_with(&GZIP_MAGIC) {
        return Ok(content);
    }
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(content.as_slice())
        .take(MOST_BYTES)
        .read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(checksum: Checksum) -> RawFile {
        RawFile {
            path: "set/file.csv",
            checksum,
            rows: 0,
            origin: Origin::Substitute,
        }
    }

    /// SHA-256 of "abc" from FIPS 180-4; the object name that `git hash-object` prints for
    /// "hello\n".
    #[test]
    fn contents_are_recognised() {
        let sha = file(Checksum::Sha256(
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ));
        assert!(sha.is_content(b"abc") && !sha.is_content(b"abd"));
        let git = file(Checksum::GitBlob(
            "ce013625030ba8dba906f756967f9e9ca394464a",
        ));
        assert!(git.is_content(b"hello\n") && !git.is_content(b"hello"));
    }

    #[test]
    fn files_are_found_plain_first_and_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(Checksum::Sha256(""));
        assert_eq!(file.locate(folder.path()), None);
        fs::create_dir(folder.path().join("set")).unwrap();
        let zipped = folder.path().join("set/file.csv.gz");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"a,b\n").unwrap();
        fs::write(&zipped, gz.finish().unwrap()).unwrap();
        assert_eq!(file.locate(folder.path()), Some(zipped.clone()));
        assert_eq!(read_unpacked(&zipped).unwrap(), b"a,b\n");
        let plain = folder.path().join("set/file.csv");
        fs::write(&plain, b"a\n").unwrap();
        assert_eq!(file.locate(folder.path()), Some(plain.clone()));
        assert_eq!(read_unpacked(&plain).unwrap(), b"a\n");
        fs::write(&zipped, [0x1F, 0x8B, 8, 0]).unwrap();
        assert!(read_unpacked(&zipped).is_err());
    }
}
