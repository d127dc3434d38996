//! Data to standard output, messages to standard error, files whole or not at all.
#![allow(clippy::print_stderr)]

use crate::{Global, hints, interrupt, progress};
use anyhow::{Context, Result};
use loopfit_model::file::{behind_links, write_atomic, write_atomic_with};
use loopfit_report::JSON_SCHEMA;
use loopfit_search::SearchError;
use serde_json::{Map, Value};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Prints a result.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Prints bytes that are not for people.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Prints a JSON object on one line, with its schema first.
pub(crate) fn print_json(object: &Map<String, Value>) -> Result<()> {
    print(&json_line(object))
}

/// A JSON object as one line, with its schema first.
pub(crate) fn json_line(object: &Map<String, Value>) -> String {
    let keys = object
        .iter()
        .map(|(key, value)| format!(",{}:{value}", Value::from(key.as_str())));
    let keys: String = keys.collect();
    format!("{{\"schema\":\"{JSON_SCHEMA}\"{keys}}}\n")
}

/// Says something to a person.
pub(crate) fn say(text: &str) {
    // Names from files may hold anything; a sentence stays one line.
    let text: String = text
        .chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            }
        })
        .collect();
    // A closed standard error is no reason to fail.
    progress::aside(|| drop(writeln!(io::stderr(), "{text}")));
}

/// Says what a library found worth knowing.
pub(crate) fn note(note: &str) {
    say(&hints::note(note));
}

/// Says what libraries found worth knowing, unless asked not to.
pub(crate) fn notes(notes: &[String], global: &Global) {
    if !global.quiet {
        notes.iter().for_each(|text| note(text));
    }
}

/// Whether standard output shows colours: a terminal, and NO_COLOR unset or empty.
pub(crate) fn color() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Checks before any work that a file can be written later, and that it is none of those
/// that are read.
pub(crate) fn check_writable(path: &Path, read: &[&Path]) -> Result<()> {
    let name = path.display();
    anyhow::ensure!(
        !path.is_dir(),
        "cannot write {name}: it is a directory; name a file"
    );
    anyhow::ensure!(
        !path.exists() || path.is_file(),
        "cannot write {name}: it is not an ordinary file; name another"
    );
    let same = |other: &&&Path| {
        path.canonicalize()
            .is_ok_and(|p| other.canonicalize().is_ok_and(|o| o == p))
    };
    if let Some(other) = read.iter().find(same) {
        anyhow::bail!(
            "cannot write {name}: {} is read by this command; name another file",
            other.display()
        );
    }
    let place = behind_links(path).with_context(|| format!("cannot write {name}"))?;
    let parent = place
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let place = parent.display();
    anyhow::ensure!(
        parent.is_dir(),
        "cannot write {name}: {place} is not a directory; create it first"
    );
    tempfile::tempfile_in(parent)
        .with_context(|| format!("cannot write {name}: no file can be created in {place}"))?;
    Ok(())
}

/// Directories that were created for files; what is still empty at the end goes again.
#[must_use]
pub(crate) struct Directory(Vec<PathBuf>);

impl Drop for Directory {
    fn drop(&mut self) {
        for path in &self.0 {
            // Files keep their directory.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Creates a directory for files that come later, before what is given back is dropped.
pub(crate) fn create_directory(path: &Path) -> Result<Directory> {
    let name = path.display();
    let there = |p: &&Path| p.as_os_str().is_empty() || p.exists();
    let missing = path.ancestors().take_while(|p| !there(p));
    let created = Directory(missing.map(Path::to_path_buf).collect());
    std::fs::create_dir_all(path)
        .with_context(|| format!("cannot create the directory {name}; name another"))?;
    tempfile::tempfile_in(path)
        .with_context(|| format!("no file can be created in {name}; name another"))?;
    Ok(created)
}

/// Says that a file was written, unless asked not to.
pub(crate) fn wrote(path: &Path, global: &Global) {
    if !global.quiet {
        say(&format!("wrote {}", path.display()));
    }
}

/// Writes a file beside its place and moves it there.
pub(crate) fn write_file(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    interrupt::writing(|| write_atomic(path, content.as_ref()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes rows as they come: to a file beside its place, which is moved there, or to standard output. Ctrl-C leaves the place as it was.
pub(crate) fn write_rows(
    path: Option<&Path>,
    global: &Global,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let Some(path) = path else {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&mut out)?;
        return Ok(out.flush()?);
    };
    let written = interrupt::searching(|_| {
        write_atomic_with(path, |file| write(&mut UntilInterrupted(file)))
    });
    match written {
        Err(_) if interrupt::was_interrupted() => Err(SearchError::Interrupted.into()),
        written => {
            written.map_err(|error| match error.is::<io::Error>() {
                true => error.context(format!("cannot write {}", path.display())),
                false => error,
            })?;
            wrote(path, global);
            Ok(())
        }
    }
}

/// What stopped a csv writer: the error of the file or pipe itself, so that a closed pipe is known as one.
pub(crate) fn csv_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// A writer that fails once Ctrl-C was pressed.
struct UntilInterrupted<'a>(&'a mut dyn Write);

impl Write for UntilInterrupted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if interrupt::was_interrupted() {
            return Err(io::Error::other("interrupted"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
