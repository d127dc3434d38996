//! Panels in rows, all of one size.

use super::canvas::{Area, MARGIN};

/// Panels side by side before the next row begins.
const PER_ROW: usize = 3;

/// Air between panels side by side.
const GAP: f64 = 18.0;

/// A grid of panels. One panel is narrow enough for a phone and for one column of a
/// paper, three side by side fill a page.
pub(super) struct Panels {
    per_row: usize,
    pub(super) width: f64,
    pub(super) plot_height: f64,
}

impl Panels {
    pub(super) fn new(panels: usize) -> Self {
        let per_row = panels.clamp(1, PER_ROW);
        let (width, plot_height) = match per_row {
            1 => (520.0, 270.0),
            2 => (720.0, 220.0),
            _ => (960.0, 200.0),
        };
        Self {
            per_row,
            width,
            plot_height,
        }
    }

    /// The width of a panel with its labels.
    pub(super) fn cell(&self) -> f64 {
        let gaps = GAP * (self.per_row - 1) as f64;
        (self.width - 2.0 * MARGIN - gaps) / self.per_row as f64
    }

    /// The left edge of a panel with its labels.
    pub(super) fn left(&self, panel: usize) -> f64 {
        MARGIN + (self.cell() + GAP) * (panel % self.per_row) as f64
    }

    pub(super) fn row(&self, panel: usize) -> usize {
        panel / self.per_row
    }

    /// Whether a panel stands right of another.
    pub(super) fn has_left_neighbour(&self, panel: usize) -> bool {
        !panel.is_multiple_of(self.per_row)
    }

    pub(super) fn rows(&self, panels: usize) -> usize {
        panels.div_ceil(self.per_row)
    }

    /// The area between the axes: `before` is the width of the labels left of it,
    /// `top` the upper end of the first row's plots, `row` the height of a row.
    pub(super) fn area(&self, panel: usize, before: f64, top: f64, row: f64) -> Area {
        Area {
            left: self.left(panel) + before,
            top: top + row * self.row(panel) as f64,
            width: self.cell() - before,
            height: self.plot_height,
        }
    }
}
