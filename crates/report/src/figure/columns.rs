//! A plot of columns: every seed a thin line through its dots, one dot per method,
//! and beside them each method's mean with one standard error.

use std::fmt::Write as _;

use super::canvas::{Anchor, Area, Canvas, LINE};
use crate::axis::Axis;
use crate::statistics::mean;
use crate::style;

/// The dots stand to the left of a column's middle, the mean to the right: so far,
/// or a fraction of a narrow column.
const APART: f64 = 13.0;
const APART_OF_COLUMN: f64 = 0.17;

/// One method.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) color: usize,
    /// One value per seed.
    pub(crate) values: Vec<f64>,
    /// The standard error of their mean.
    pub(crate) se: Option<f64>,
    /// A published mean with its standard error.
    pub(crate) published: Option<(f64, f64)>,
    /// The lines below the column, the first one emphasised.
    pub(crate) labels: Vec<String>,
}

/// The plot.
pub(crate) struct Columns {
    pub(crate) columns: Vec<Column>,
    pub(crate) axis: Axis,
}

impl Columns {
    /// An axis that covers the values and the bars.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        // The bar of a mean of several needs no room: a mean is at least one standard
        // error away from the smallest and from the largest value.
        let bars = columns.iter().flat_map(|column| {
            let own = match column.values[..] {
                [one] => column.se.map(|se| (one, se)),
                _ => None,
            };
            own.into_iter().chain(column.published)
        });
        let bars = bars
            .flat_map(|(mean, se)| [mean, mean - se, mean + se])
            .filter(|v| v.is_finite());
        let ours = columns.iter().flat_map(|column| &column.values).copied();
        let mut values: Vec<f64> = ours.chain(bars).collect();
        // A bar that reaches below zero is cut rather than ending the logarithmic axis.
        if columns
            .iter()
            .flat_map(|c| c.values.iter().copied().chain(c.published.map(|p| p.0)))
            .all(|v| v > 0.0 || !v.is_finite())
        {
            values.retain(|v| *v > 0.0);
        }
        let axis = Axis::covering(&values);
        Self { columns, axis }
    }

    /// Whether each column is one value whose standard error is known from elsewhere: there are no seeds to show.
    pub(crate) fn has_no_seeds(&self) -> bool {
        let single = |column: &Column| column.values.len() == 1 && column.se.is_some();
        !self.columns.is_empty() && self.columns.iter().all(single)
    }

    /// How many values are not drawn, and how many there are.
    pub(crate) fn missing(&self) -> (usize, usize) {
        let values = || self.columns.iter().flat_map(|column| &column.values);
        (
            values().filter(|v| !v.is_finite()).count(),
            values().count(),
        )
    }

    /// Draws all but the vertical axis.
    pub(crate) fn draw(&self, canvas: &mut Canvas, area: &Area, seeds: &[String]) {
        let bottom = area.bottom();
        canvas.line("axis", (area.left, bottom), (area.right(), bottom));
        let has_seeds = !self.has_no_seeds();
        if has_seeds {
            self.draw_seeds(canvas, area);
        }
        for (at, column) in self.columns.iter().enumerate() {
            canvas.open_group(&style::series(column.color));
            if has_seeds {
                self.draw_dots(canvas, area, at, seeds);
            }
            self.draw_means(canvas, area, at);
            for (row, label) in column.labels.iter().enumerate() {
                let class = if row == 0 { "name" } else { "small" };
                let y = bottom + 8.0 + LINE * (row + 1) as f64;
                canvas.text(class, (self.x(area, at), y), Anchor::Middle, label);
            }
            canvas.close_group();
        }
    }

    /// A line through each seed's dots, broken where a value is missing.
    fn draw_seeds(&self, canvas: &mut Canvas, area: &Area) {
        let seeds = self.columns.iter().map(|column| column.values.len());
        for seed in 0..seeds.max().unwrap_or(0) {
            let mut path = String::new();
            let mut pen_down = false;
            for (at, column) in self.columns.iter().enumerate() {
                let value = column.values.get(seed).filter(|v| v.is_finite());
                if let Some(value) = value {
                    let command = if pen_down { 'L' } else { 'M' };
                    let (x, y) = (self.dots_x(area, at), self.y(area, *value));
                    let _ = write!(path, "{command}{x:.1} {y:.1}");
                }
                pen_down = value.is_some();
            }
            if path.contains('L') {
                canvas.path("seed", &path);
            }
        }
    }

    fn draw_dots(&self, canvas: &mut Canvas, area: &Area, at: usize, seeds: &[String]) {
        let column = &self.columns[at];
        let x = self.dots_x(area, at);
        for (index, value) in column.values.iter().enumerate() {
            if value.is_finite() {
                let tooltip = match seeds.get(index) {
                    Some(seed) => format!("{}, seed {seed}: {value:e}", column.name),
                    None => format!("{}: {value:e}", column.name),
                };
                canvas.dot("dot", (x, self.y(area, *value)), 3.5, &tooltip);
            } else {
                canvas.missing((x, area.top));
            }
        }
    }

    /// Our mean and the published one, each with its bar.
    fn draw_means(&self, canvas: &mut Canvas, area: &Area, at: usize) {
        let column = &self.columns[at];
        let x = self.x(area, at) + self.apart(area);
        let bar = |(mean, se): (f64, f64)| (self.y(area, mean - se), self.y(area, mean + se));
        if let Some((mean, se)) = column.published.filter(|(mean, _)| mean.is_finite()) {
            let x = x + self.apart(area).clamp(9.0, APART);
            let se = if se.is_finite() { se } else { 0.0 };
            canvas.bar("published", x, bar((mean, se)), 3.5);
            canvas.diamond("published", (x, self.y(area, mean)), 5.0);
        }
        let mean = mean(&column.values);
        let Some(se) = column.se else {
            return;
        };
        if mean.is_finite() && se.is_finite() {
            canvas.bar("bar", x, bar((mean, se)), 5.0);
            canvas.diamond("mean", (x, self.y(area, mean)), 6.5);
        }
    }

    fn column(&self, area: &Area) -> f64 {
        area.width / self.columns.len().max(1) as f64
    }

    fn apart(&self, area: &Area) -> f64 {
        APART.min(APART_OF_COLUMN * self.column(area))
    }

    fn x(&self, area: &Area, column: usize) -> f64 {
        area.left + self.column(area) * (column as f64 + 0.5)
    }

    fn dots_x(&self, area: &Area, column: usize) -> f64 {
        self.x(area, column) - self.apart(area)
    }

    fn y(&self, area: &Area, value: f64) -> f64 {
        area.y(self.axis.position(value))
    }
}
