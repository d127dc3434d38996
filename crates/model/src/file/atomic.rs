//! Writing a file so that no reader ever sees half of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces the file at `path` by one with these contents, or leaves it as it was.
///
/// The contents are written beside it, synced and renamed. A symbolic link keeps
/// pointing where it did. What exists and is no regular file (a directory, a device)
/// is refused, because renaming would replace it.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = match fs::canonicalize(path) {
        Ok(existing) if !existing.is_file() => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it exists and is not a regular file",
            ));
        }
        Ok(existing) => existing,
        Err(_) => path.to_owned(),
    };
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut beside = temporary_file(directory)?;
    beside.write_all(bytes)?;
    beside.as_file().sync_all()?;
    beside.persist(&path)?;
    // The rename itself lasts once the directory is synced; where directories cannot be
    // opened the operating system sees to it.
    if let Ok(directory) = File::open(directory) {
        directory.sync_all().ok();
    }
    Ok(())
}

/// A temporary file with the permissions of an ordinary new file: those of the
/// umask, where temporary files are otherwise private to their owner.
fn temporary_file(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_a_file_and_leaves_nothing_beside() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        for contents in [&b"first"[..], b"second, longer"] {
            write_atomic(&path, contents).unwrap();
            assert_eq!(fs::read(&path).unwrap(), contents);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn refuses_what_is_not_a_regular_file() {
        let directory = tempfile::tempdir().unwrap();
        let error = write_atomic(directory.path(), b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let nowhere = directory.path().join("missing").join("model");
        let error = write_atomic(&nowhere, b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn follows_links_and_gives_ordinary_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (path, link, plain) = (
            directory.path().join("model"),
            directory.path().join("link"),
            directory.path().join("plain"),
        );
        write_atomic(&path, b"old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_atomic(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(link.is_symlink());
        File::create(&plain).unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }
}
