//! A report of several parts that every text writer can show.

use crate::Table;

/// A page: headings, texts, tables and figures.
///
/// ```
/// use loopfit_report::{Align, Block, Document, Table};
///
/// let mut table = Table::new([("method", Align::Left), ("MSE", Align::Right)]);
/// table.push_best(["Loop", "2.64 × 10⁻³"]);
/// let document = Document {
///     title: "Smooth bumps".into(),
///     subtitle: "Eight seeds".into(),
///     blocks: vec![
///         Block::Heading("Results".into()),
///         Block::Table { caption: "Mean over seeds.".into(), table },
///     ],
/// };
/// assert!(document.to_markdown("figures/").contains("## Results"));
/// assert!(document.to_latex("bumps").contains(r"\toprule"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What the report is called.
    pub title: String,
    /// One sentence below the title; may be empty.
    pub subtitle: String,
    /// The parts in order.
    pub blocks: Vec<Block>,
}

/// A part of a [`Document`]. Its texts are plain: nothing in them is markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// The name of a section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Remarks, one sentence or so each.
    Bullets(Vec<String>),
    /// Other documents of the same kind in the same place.
    Links(Vec<Link>),
    /// Pages that are HTML whatever the kind of the document.
    Pages(Vec<Link>),
    /// A table below its caption.
    Table {
        /// What it shows; may be empty.
        caption: String,
        /// The table.
        table: Table,
    },
    /// A figure above its caption.
    Figure {
        /// The name of its file, without ending; one figure per name.
        name: String,
        /// What it shows; may be empty.
        caption: String,
        /// A figure of this crate.
        svg: String,
    },
    /// What only some readers need: folded where the format can fold.
    Details {
        /// The line that is always shown.
        summary: String,
        /// What is folded.
        blocks: Vec<Block>,
    },
}

/// A document beside this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The name of its file, without ending.
    pub page: String,
    /// What it is called.
    pub title: String,
    /// What it is about.
    pub text: String,
}

impl Document {
    /// Every figure's name and SVG, in order, also those inside details.
    pub fn figures(&self) -> Vec<(&str, &str)> {
        let mut figures = Vec::new();
        visit(&self.blocks, &mut |block| {
            if let Block::Figure { name, svg, .. } = block {
                figures.push((name.as_str(), svg.as_str()));
            }
        });
        figures
    }
}

/// Calls `each` with every block in order, also those inside details.
pub(crate) fn visit<'a>(blocks: &'a [Block], each: &mut impl FnMut(&'a Block)) {
    for block in blocks {
        each(block);
        if let Block::Details { blocks, .. } = block {
            visit(blocks, each);
        }
    }
}
