//! A fitted model as source code for other machines, as a graph for runtimes of networks, and as a page that shows it at work.
//!
//! - [`Description`]: what a model computes, from named columns to predictions, complete and in one place;
//! - [`Format`]: the languages, one file each that prints a description, with text that does not depend on the model under
//!   `templates/`;
//! - [`export`]: a model in a format, as an [`Export`];
//! - [`export_integers`]: one whose network computes in integers, with what that costs.
//!
//! Weights that iterations share are there once in every format. C and Rust have the bits of
//! [`FittedModel::predict`](loopfit_fitted::FittedModel::predict), JavaScript those of the network and values within rounding of
//! what becomes of its outputs; ONNX is computed by a runtime that sums in an order of its own.

#![forbid(unsafe_code)]

mod c;
mod description;
mod integers;
mod javascript;
mod names;
mod onnx;
mod page;
mod parts;
mod rust;

pub use description::{Column, Description, Kind, Network, Output, Reading, Sizes};
pub use integers::{IntegerExport, Integers, Loss, Width, export_integers};
pub use names::identifiers;

use loopfit_fitted::{ApplyError, FittedModel};
use loopfit_numerics::named::Named;
use std::path::{Path, PathBuf};

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// C99, also C++.
    C,
    /// Rust without the standard library.
    Rust,
    /// An ES module.
    JavaScript,
    /// A graph of standard operators.
    Onnx,
    /// A page that shows the model at work.
    Html,
}

impl Named for Format {
    const ALL: &'static [Self] = &[
        Self::C,
        Self::Rust,
        Self::JavaScript,
        Self::Onnx,
        Self::Html,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Rust => "rust",
            Self::JavaScript => "js",
            Self::Onnx => "onnx",
            Self::Html => "html",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::C => "C99 that is also C++: a source file and its header, without allocation",
            Self::Rust => "one Rust file without dependencies, for no_std too",
            Self::JavaScript => "one ES module without dependencies",
            Self::Onnx => "one file of standard ONNX operators, for ONNX Runtime and others",
            Self::Html => "one page that shows the model at work, without a network",
        }
    }
}

impl Format {
    /// How names of its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Rust => "rs",
            Self::JavaScript => "js",
            Self::Onnx => "onnx",
            Self::Html => "html",
        }
    }
}

/// What may be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What names of a C file begin with.
    pub prefix: String,
    /// Whether there is a function for what the model says after each of its iterations; a page always has it.
    pub every_iteration: bool,
    /// Whether an ONNX graph repeats its update by the operator `Loop` instead of writing all iterations out.
    pub loop_operator: bool,
}

impl Default for Options {
    /// Names that begin with `model`, the last iteration alone, iterations written out.
    fn default() -> Self {
        Self {
            prefix: "model".to_string(),
            every_iteration: false,
            loop_operator: false,
        }
    }
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Source code.
    Text(String),
    /// What is not for people.
    Bytes(Vec<u8>),
}

impl Content {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A model in a format.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// The format.
    pub format: Format,
    /// What other files of the program include, where that is a file of its own.
    pub header: Option<String>,
    /// All the rest.
    pub body: Content,
    /// How much the model takes.
    pub sizes: Sizes,
    /// Columns that have another name in the export, with that name.
    pub renamed: Vec<(String, String)>,
}

impl Export {
    /// All of it in one.
    pub fn single(&self) -> Content {
        match (&self.header, &self.body) {
            (Some(header), Content::Text(body)) => format!("{header}{body}").into(),
            (_, body) => body.clone(),
        }
    }

    /// The files of an export whose main one has this name, that one last.
    pub fn files(&self, path: &Path) -> Result<Vec<(PathBuf, Content)>, ExportError> {
        let expected = self.format.extension();
        // Names of modules differ among programs that read them.
        let alike = |found: &str| match self.format {
            Format::JavaScript => found == "js" || found == "mjs",
            _ => found == expected,
        };
        let found = path.extension().and_then(|e| e.to_str());
        if !found.is_some_and(alike) {
            return Err(ExportError::Extension {
                file: path.display().to_string(),
                expected,
            });
        }
        let (Some(header), Content::Text(body)) = (&self.header, &self.body) else {
            return Ok(vec![(path.to_path_buf(), self.body.clone())]);
        };
        let beside = path.with_extension("h");
        let name = beside.file_name().and_then(|name| name.to_str());
        let plain = |name: &&str| !name.contains(['"', '\\', '\n', '\r', '?']);
        let name = name.filter(plain).ok_or_else(|| ExportError::FileName {
            file: path.display().to_string(),
        })?;
        let source = format!("#include \"{name}\"\n{body}");
        Ok(vec![
            (beside.clone(), header.clone().into()),
            (path.to_path_buf(), source.into()),
        ])
    }
}

/// Why a model cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A density without a normaliser.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A model whose parts do not belong together.
    #[error("the model has no target column and is not a density")]
    Contradiction,
    /// A prefix that no name can begin with.
    #[error(
        "`{0}` cannot begin names: give at most 40 letters, digits and _, of ASCII, a letter first, and no word of C, C++ or Rust"
    )]
    Prefix(String),
    /// A text that the format has no way to write.
    #[error("{what} {name} {why}, which C does not have: export to rust, js or onnx instead")]
    Text {
        /// What is called so.
        what: &'static str,
        /// The beginning of its name, in quotes.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Answers of a graph after each iteration.
    #[error(
        "an ONNX graph says what the model predicts after its last iteration, not after each: export to c, rust or js instead"
    )]
    LastIterationOnly,
    /// A graph that would be too large.
    #[error(
        "{iterations} iterations are too many to be written out one by one: repeat one update by the operator Loop instead"
    )]
    WrittenOut {
        /// How many.
        iterations: usize,
    },
    /// A network that has no form in integers.
    #[error(
        "a Transformer has no form in integers, since its norms divide: export it to c with floats, or fit a residual FFN"
    )]
    Transformer,
    /// A table of nothing.
    #[error("{0} has no rows to choose scales by: give some, or leave it out")]
    NoRows(String),
    /// A file name of another language.
    #[error("{file} does not end in .{expected}: name a file that does")]
    Extension {
        /// The file.
        file: String,
        /// How it should end.
        expected: &'static str,
    },
    /// A file name that cannot be included.
    #[error(
        "{file} cannot be included by a C file: name one without quotes, backslashes, question marks and line breaks"
    )]
    FileName {
        /// The file.
        file: String,
    },
}

/// A model in a format.
pub fn export(
    model: &FittedModel,
    format: Format,
    options: &Options,
) -> Result<Export, ExportError> {
    let every_iteration = options.every_iteration || format == Format::Html;
    let options = &Options {
        every_iteration,
        ..options.clone()
    };
    let description = Description::new(model, every_iteration)?;
    match format {
        Format::C => c::export(&description, options),
        Format::Rust => Ok(rust::export(&description, options)),
        Format::JavaScript => Ok(javascript::export(&description, options)),
        Format::Onnx => onnx::export(model, &description, options),
        Format::Html => Ok(page::export(model, &description, options)),
    }
}

/// How every file begins, in lines: what it is, what it was made from, how much it takes, and what is to be said of the format.
fn preamble(d: &Description, about: &str) -> Vec<String> {
    preamble_of(d, d.sizes(), about)
}

/// The same, where it takes something else.
fn preamble_of(d: &Description, sizes: Sizes, about: &str) -> Vec<String> {
    let made = format!("Made by loopfit {}.", env!("CARGO_PKG_VERSION"));
    let mut lines = vec![made, String::new()];
    lines.extend(d.about.iter().map(|text| names::line(text)));
    lines.push(format!(
        "{} of tables, {} for a prediction",
        names::many(sizes.tables, "byte"),
        names::many(sizes.multiply_adds, "multiply-add"),
    ));
    lines.push(String::new());
    lines.extend(about.lines().map(str::to_string));
    lines
}

/// The same as comments of one line each.
fn comments(d: &Description, about: &str) -> String {
    let lines = preamble(d, about).into_iter();
    let comment = |line: String| format!("// {line}").trim_end().to_string() + "\n";
    lines.map(comment).collect()
}

/// What the function that predicts gives.
fn says(output: &Output) -> String {
    let quoted = names::quoted;
    match output {
        Output::Response { target, .. } => format!("Predicts {} of a row.", quoted(target)),
        Output::Count { target, .. } => format!("The mean of {} of a row.", quoted(target)),
        Output::Classes { target, .. } => {
            let target = quoted(target);
            format!("The most likely class of a row by {target}, and the probabilities of all.")
        }
        Output::LogDensity { .. } => {
            "The log density of a row in the units of the columns, minus infinity outside its box."
                .to_string()
        }
    }
}

/// Columns whose identifier is not their name.
fn renamed(d: &Description, identifiers: &[String]) -> Vec<(String, String)> {
    let pairs = d.names().into_iter().zip(identifiers);
    let differ = pairs.filter(|(name, identifier)| name != identifier);
    let owned = differ.map(|(name, identifier)| (name.to_string(), identifier.clone()));
    owned.collect()
}
