//! One result, many writers: terminal, Markdown, LaTeX, SVG and HTML.
//!
//! Plain data comes in, text goes out; nothing is printed and no file is written here.
//!
//! - [`comparison`]: Single, Loop and Untied on the same seeds, and their statistics;
//! - [`document`]: a report of headings, texts, tables and figures;
//! - [`figure`]: curves, paired values and functions on the square;
//! - [`table`]: any table of text, e.g. a leaderboard;
//! - [`axis`]: linear and logarithmic axes with clean ticks;
//! - [`number`]: how numbers are printed, everywhere;
//! - [`statistics`]: mean, standard error and median, everywhere;
//! - `style`: the colours and style rules of figures and pages;
//! - one private file per writer: `terminal`, `markdown`, `latex`, `svg`, `html`.
//!
//! ```
//! use loopfit_report::{Comparison, MethodResult, SeedResult};
//!
//! let method = |key: &str, name: &str, values: [f64; 2]| MethodResult {
//!     key: key.into(),
//!     name: name.into(),
//!     updates: 96_000,
//!     results: values
//!         .map(|value| SeedResult { shape: "q=4 r=11".into(), count: 127, value })
//!         .into(),
//! };
//! let comparison = Comparison::new(
//!     "Smooth bumps under a cap of 128",
//!     "sim:bumps",
//!     128,
//!     "MSE against f0",
//!     vec![88000, 88001],
//!     vec![
//!         method("single", "Single", [2.9e-3, 3.0e-3]),
//!         method("loop", "Loop", [2.6e-3, 2.5e-3]),
//!     ],
//! )?;
//! assert!(comparison.to_terminal(false).contains("2.550 (0.050) × 10⁻³"));
//! # Ok::<(), loopfit_report::ComparisonError>(())
//! ```

#![forbid(unsafe_code)]

pub mod axis;
pub mod comparison;
pub mod document;
pub mod figure;
pub mod number;
pub mod statistics;
pub mod table;

mod escape;
mod html;
mod latex;
mod markdown;
mod style;
mod summary;
mod svg;
mod terminal;

#[cfg(test)]
mod fixtures;

/// What the keys of all JSON objects belong to; docs/json.md lists them.
pub const JSON_SCHEMA: &str = "loopfit/1";

pub use comparison::{Comparison, ComparisonError, MethodResult, PAGES, Paired, SeedResult};
pub use document::{Block, Document, Link};
pub use table::{Align, Cell, Table};
