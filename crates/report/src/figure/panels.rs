//! Panels in rows, all of one size, their axes aligned.

use super::canvas::{Anchor, Area, CHARACTER, Canvas, LINE, MARGIN, label_width, wrap};
use crate::axis::Axis;

/// Panels side by side before the next row begins.
const PER_ROW: usize = 3;

/// Air between panels side by side.
const GAP: f64 = 18.0;

/// Between a panel and its title, and between a row and the next.
const ABOVE: f64 = 10.0;
const ROW_GAP: f64 = 14.0;

/// A grid of panels. One panel is narrow enough for a phone and for one column of a
/// paper, three side by side fill a page.
pub(super) struct Panels {
    per_row: usize,
    width: f64,
    plot_height: f64,
    /// Titles and names of the vertical axes, in lines.
    titles: Vec<Vec<String>>,
    names: Vec<Vec<String>>,
    /// Left of all panels: room for the name of their axis where they share it.
    outside: f64,
    /// Left of each plot: room for its axis.
    before: f64,
    /// Below each plot.
    below: f64,
}

impl Panels {
    /// Panels of given titles, vertical axes and names of these.
    pub(super) fn new<'a>(
        panels: impl ExactSizeIterator<Item = (&'a str, &'a Axis, &'a str)>,
    ) -> Self {
        let per_row = panels.len().clamp(1, PER_ROW);
        let (width, plot_height) = match per_row {
            1 => (520.0, 270.0),
            2 => (720.0, 220.0),
            _ => (960.0, 200.0),
        };
        let mut grid = Self {
            per_row,
            width,
            plot_height,
            titles: Vec::new(),
            names: Vec::new(),
            outside: 0.0,
            before: 0.0,
            below: 0.0,
        };
        let mut labels: f64 = 0.0;
        for (title, axis, name) in panels {
            // A title's characters are a tenth wider.
            let most = (grid.cell() / CHARACTER / 1.1) as usize;
            grid.titles.push(wrap(title, most, 2));
            let most = (plot_height / CHARACTER) as usize;
            grid.names.push(wrap(name, most, 2));
            labels = labels.max(label_width(axis));
        }
        let names = LINE * most_lines(&grid.names);
        let shared = grid.names.windows(2).all(|pair| pair[0] == pair[1]);
        (grid.outside, grid.before) = if shared {
            (names, labels + 14.0)
        } else {
            (0.0, names + labels + 14.0)
        };
        grid
    }

    /// With so much room below each plot.
    pub(super) fn with_below(mut self, below: f64) -> Self {
        self.below = below;
        self
    }

    /// The width of the figure.
    pub(super) fn width(&self) -> f64 {
        self.width
    }

    /// The width of the area between a panel's axes.
    pub(super) fn plot_width(&self) -> f64 {
        self.cell() - self.before
    }

    /// Draws titles and vertical axes from `top` on; returns the areas between the
    /// axes and the height of the figure.
    pub(super) fn draw<'a>(
        &self,
        canvas: &mut Canvas,
        top: f64,
        axes: impl Iterator<Item = &'a Axis>,
    ) -> (Vec<Area>, f64) {
        let above = LINE * most_lines(&self.titles) + ABOVE;
        let row_height = above + self.plot_height + self.below + ROW_GAP;
        let mut areas = Vec::new();
        for (at, axis) in axes.enumerate() {
            let (row, column) = (at / self.per_row, at % self.per_row);
            let left = MARGIN + self.outside + (self.cell() + GAP) * column as f64;
            let area = Area {
                left: left + self.before,
                top: top + above + row_height * row as f64,
                width: self.plot_width(),
                height: self.plot_height,
            };
            for (line, text) in self.titles[at].iter().rev().enumerate() {
                let y = area.top - ABOVE - LINE * line as f64;
                canvas.text("name", (area.left, y), Anchor::Start, text);
            }
            let repeated = column > 0 && self.names[at] == self.names[at - 1];
            let name = if repeated { &[][..] } else { &self.names[at] };
            canvas.y_axis(&area, axis, name, left - self.outside + 10.0);
            areas.push(area);
        }
        let rows = areas.len().div_ceil(self.per_row).max(1);
        let height = top + row_height * rows as f64 - ROW_GAP + MARGIN;
        (areas, height)
    }

    /// The width of a panel with its axis.
    fn cell(&self) -> f64 {
        let gaps = GAP * (self.per_row - 1) as f64;
        (self.width - 2.0 * MARGIN - self.outside - gaps) / self.per_row as f64
    }
}

fn most_lines(texts: &[Vec<String>]) -> f64 {
    texts.iter().map(Vec::len).max().unwrap_or(0) as f64
}
