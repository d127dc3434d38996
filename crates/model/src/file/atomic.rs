//! Writing a file so that no reader ever sees half of it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

/// A temporary file that has not changed for this long belongs to a process that was killed.
const OLD: Duration = Duration::from_secs(3600);
/// Random characters at the end of a temporary file's name.
const RANDOM: usize = 6;
/// Links that lead to a file, at most: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Replaces the file at `path` by one with these contents, or leaves it as it was; see [`write_atomic_with`].
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomic_with(path, |file| file.write_all(bytes))
}

/// Replaces the file at `path` by what `write` writes, or leaves it as it was.
///
/// The contents are written beside it, synced and renamed; what a killed process left there an hour ago or earlier is removed.
/// A symbolic link keeps pointing where it did, even if nothing is there yet. An existing file's permissions stay. What exists
/// and is not a regular file (a directory, a device) is refused, because renaming would replace it.
pub fn write_atomic_with<T, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let path = behind_links(path)?;
    let existing = match fs::symlink_metadata(&path) {
        Ok(existing) if !existing.is_file() => {
            let why = "it exists and is not a regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why).into());
        }
        Ok(existing) => Some(existing),
        Err(_) => None,
    };
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let prefix = temporary_prefix(&path);
    remove_orphans(directory, &prefix);
    let beside = temporary_file(directory, &prefix, existing.as_ref())?;
    // To the bare file: errors of the temporary one would name its path, which says nothing to anybody.
    let mut buffered = BufWriter::new(beside.as_file());
    let written = write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    beside.as_file().sync_all()?;
    beside.persist(&path).map_err(|e| e.error)?;
    // The rename itself lasts once the directory is synced; where directories cannot be
    // opened the operating system sees to it.
    if let Ok(directory) = File::open(directory) {
        directory.sync_all().ok();
    }
    Ok(written)
}

/// Where a path leads, through symbolic links, whether or not there is something.
pub fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            return Ok(path);
        };
        // Relative targets start where the link lies; `join` keeps absolute ones.
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "its symbolic links lead in a circle",
    ))
}

/// How the names of temporary files for a path begin: `.NAME.tmp`, or a name of our own where that leaves no room for the rest.
fn temporary_prefix(path: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    let name = path.file_name().unwrap_or_default();
    prefix.push(if name.len() <= 200 {
        name
    } else {
        OsStr::new("loopfit")
    });
    prefix.push(".tmp");
    prefix
}

/// Removes temporary files of writes to the same path that ended long ago. What cannot be removed does no harm.
fn remove_orphans(directory: &Path, prefix: &OsStr) {
    let own = |name: &OsStr| {
        let rest = name
            .as_encoded_bytes()
            .strip_prefix(prefix.as_encoded_bytes());
        rest.is_some_and(|rest| rest.len() == RANDOM && rest.iter().all(u8::is_ascii_alphanumeric))
    };
    let old = |file: &Metadata| {
        let changed = file.modified().ok();
        let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
        file.is_file() && age.is_some_and(|age| age >= OLD)
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if own(&entry.file_name()) && entry.metadata().is_ok_and(|file| old(&file)) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// A temporary file with the owner and permissions of the existing one, or else with those of an ordinary new file: those of
/// the umask, where temporary files are otherwise private to their owner.
fn temporary_file(
    directory: &Path,
    prefix: &OsStr,
    existing: Option<&Metadata>,
) -> io::Result<NamedTempFile> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(existing.map_or(0o666, |file| file.permissions().mode() & 0o777));
    }
    let file = tempfile::Builder::new()
        .prefix(prefix)
        .rand_bytes(RANDOM)
        .make_in(directory, |path| options.open(path))?;
    #[cfg(unix)]
    if let Some(existing) = existing {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        // Only the superuser may give a file away; for others it stays theirs.
        fchown(file.as_file(), Some(existing.uid()), Some(existing.gid())).ok();
        let exactly = fs::Permissions::from_mode(existing.permissions().mode() & 0o777);
        file.as_file().set_permissions(exactly)?;
    }
    #[cfg(not(unix))]
    let _ = existing;
    Ok(file)
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
        let failed = write_atomic_with(&path, |file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"second, longer");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let long = directory.path().join("m".repeat(255));
        write_atomic(&long, b"long").unwrap();
        assert_eq!(fs::read(&long).unwrap(), b"long");
    }

    #[test]
    fn refuses_what_is_not_a_regular_file() {
        let directory = tempfile::tempdir().unwrap();
        let error = write_atomic(directory.path(), b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let nowhere = directory.path().join("missing").join("model");
        let error = write_atomic(&nowhere, b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        // The system's own, without the path of a file that nobody knows.
        assert!(error.raw_os_error().is_some(), "{error}");
    }

    /// What a killed process left is removed when it is old, and nothing else is.
    #[test]
    fn orphans_are_removed_by_the_next_write() {
        let directory = tempfile::tempdir().unwrap();
        let make = |name: &str, age: Duration| {
            let file = File::create(directory.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        let old = OLD + Duration::from_secs(60);
        make(".model.tmpAb3xYz", old);
        for (name, age) in [
            (".model.tmpAb3xY0", Duration::ZERO),
            (".model.tmp", old),
            (".model.tmp-notes", old),
            (".other.tmpAb3xYz", old),
            (".tmpAb3xYz", old),
        ] {
            make(name, age);
        }
        write_atomic(&directory.path().join("model"), b"new").unwrap();
        assert!(!directory.path().join(".model.tmpAb3xYz").exists());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 6);
    }

    #[cfg(unix)]
    #[test]
    fn follows_links_and_keeps_permissions() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let (path, link, plain) = (at("model"), at("link"), at("plain"));
        write_atomic(&path, b"old").unwrap();
        symlink(&path, &link).unwrap();
        write_atomic(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(link.is_symlink());
        File::create(&plain).unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), mode(&plain));
        for bits in [0o600, 0o640, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
            write_atomic(&path, b"newer").unwrap();
            assert_eq!(mode(&path), bits);
        }
        // Links to what is not there yet, one after another and relative.
        let (first, second) = (at("first"), at("second"));
        symlink("second", &first).unwrap();
        symlink("later", &second).unwrap();
        write_atomic(&first, b"later").unwrap();
        assert!(first.is_symlink() && second.is_symlink());
        assert_eq!(fs::read(at("later")).unwrap(), b"later");
        let (a, b) = (at("a"), at("b"));
        symlink(&a, &b).unwrap();
        symlink(&b, &a).unwrap();
        let error = write_atomic(&a, b"").unwrap_err();
        assert!(error.to_string().contains("circle"), "{error}");
    }
}
