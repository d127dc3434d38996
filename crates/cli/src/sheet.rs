//! An answer in words: a title with its source, values by symbol, tables, verdicts, remarks; and its figure.

use crate::exit::usage;
use crate::{Global, output};
use anyhow::Result;
use loopfit_report::figure::Curves;
use loopfit_report::{Align, Table};
use std::path::Path;

/// Lines of `symbol, value, meaning;` for [`Sheet::values`].
macro_rules! values {
    ($($symbol:expr, $value:expr, $meaning:expr;)*) => {
        vec![$(($symbol.to_string(), $value.to_string(), $meaning.to_string())),*]
    };
}
pub(crate) use values;

/// An answer that is written line by line.
pub(crate) struct Sheet {
    text: String,
}

impl Sheet {
    /// `source` names the theorem or lemma.
    pub(crate) fn new(title: &str, source: &str) -> Self {
        Self {
            text: format!("{title}\n{source}\n"),
        }
    }

    /// Symbols, their values and what they are, below a caption, which may be empty; see [`values!`].
    pub(crate) fn values(&mut self, caption: &str, lines: Vec<(String, String, String)>) {
        let mut table = columns(&["symbol"], &["value"], &["meaning"]);
        for (symbol, value, meaning) in lines {
            table.push([symbol, value, meaning]);
        }
        self.table(caption, &table);
    }

    /// A table below its caption, which may be empty.
    pub(crate) fn table(&mut self, caption: &str, table: &Table) {
        self.text.push('\n');
        if !caption.is_empty() {
            self.text += &format!("{caption}\n");
        }
        self.text += &table.to_terminal(output::color());
    }

    /// Lines below a heading, which may be empty.
    pub(crate) fn lines(&mut self, heading: &str, lines: impl IntoIterator<Item = String>) {
        self.text += "\n";
        if !heading.is_empty() {
            self.text += &format!("{heading}\n");
        }
        for line in lines {
            self.text += &format!("  {line}\n");
        }
    }

    /// A remark.
    pub(crate) fn note(&mut self, sentence: &str) {
        self.text += &format!("\n{sentence}\n");
    }

    pub(crate) fn print(&self) -> Result<()> {
        output::print(&self.text)
    }
}

/// A table with columns of text, then of numbers, then of text.
pub(crate) fn columns(text: &[&str], numbers: &[&str], more: &[&str]) -> Table {
    let left = |name: &&str| (name.to_string(), Align::Left);
    let right = numbers.iter().map(|name| (name.to_string(), Align::Right));
    let all = text.iter().map(left).chain(right);
    Table::new(all.chain(more.iter().map(left)))
}

/// A line of a verdict.
pub(crate) fn verdict(holds: bool, words: &str) -> String {
    format!("{}  {words}", if holds { "holds" } else { "FAILS" })
}

/// Checks before any work that a figure can be written, and over none of the files that are read.
pub(crate) fn check_plot(path: Option<&Path>, read: &[&Path]) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    if path.extension().is_none_or(|ending| ending != "svg") {
        return Err(usage(
            "--plot writes SVG: give a file whose name ends in .svg".to_string(),
        ));
    }
    output::check_writable(path, read)
}

/// Writes a figure, if one is asked for.
pub(crate) fn plot(
    path: Option<&Path>,
    figure: impl FnOnce() -> Curves,
    global: &Global,
) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    output::write_file(path, &figure().to_svg())?;
    output::wrote(path, global);
    Ok(())
}
