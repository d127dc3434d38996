//! Figures as SVG: they stand alone, follow the reader's light or dark scheme, hold
//! no scripts, and are readable in one column of a paper.
//!
//! - [`Curves`]: error against sample size and the like, with shaded bands;
//! - [`Pairs`]: the same seeds under several methods, small multiples;
//! - [`Fields`]: functions on the unit square on common colour scales.
//!
//! `color` is a number wherever it occurs: 0 Single, 1 Loop, 2 Untied, 3 and 4 for
//! others; 10 to 15 are shades of Loop's hue from weak to strong, for a fan of curves.
//!
//! Values that an axis cannot show (not finite, not positive on a logarithmic one)
//! are left out; a cross on the edge of the plot marks each, and the heading counts them.

mod canvas;
mod color_map;
mod columns;
mod curves;
mod fields;
mod labels;
mod pairs;
mod panels;

pub(crate) use canvas::{
    Area, CHARACTER, Canvas, LINE, MARGIN, axis_name, label_width, missing_remark, wrap,
};
pub(crate) use columns::{Column, Columns};
pub use curves::{Curve, Curves, LevelLine, Panel, Point};
pub use fields::{Field, FieldRow, Fields};
pub use pairs::{PairMethod, PairPanel, Pairs};

pub use crate::axis::Scale;

#[cfg(test)]
mod tests;
