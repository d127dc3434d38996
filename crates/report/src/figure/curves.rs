//! Curves with shaded bands, in panels under one legend.

use std::fmt::Write as _;

use super::canvas::{
    Anchor, Area, CHARACTER, Canvas, LINE, MARGIN, missing_remark, text_width, wrap,
};
use super::labels::{Occupied, Place, stride};
use super::panels::Panels;
use crate::axis::{Axis, Scale, Tick};
use crate::style;

/// Curves, e.g. of an error against the sample size.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// Drawn at the top.
    pub title: String,
    /// Three side by side, then the next row; the legend is common to all.
    pub panels: Vec<Panel>,
}

/// One plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Drawn above the panel.
    pub title: String,
    /// The name of the horizontal axis.
    pub x_label: String,
    /// The name of the vertical axis.
    pub y_label: String,
    /// How the horizontal axis is spread. Its ticks stand at the points' own values
    /// where these are few.
    pub x_scale: Scale,
    /// How the vertical axis is spread.
    pub y_scale: Scale,
    /// Drawn in this order, the last on top.
    pub curves: Vec<Curve>,
    /// Horizontal lines behind the curves.
    pub levels: Vec<LevelLine>,
}

/// One curve; curves of equal name and look share an entry of the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// The number of its colour.
    pub color: usize,
    /// Whether the line is dashed.
    pub dashed: bool,
    /// From left to right.
    pub points: Vec<Point>,
}

impl Curve {
    /// A line through points, without bands and dots.
    pub fn line(
        name: impl Into<String>,
        color: usize,
        dashed: bool,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let point = |(x, y)| Point {
            x,
            centre: y,
            low: y,
            high: y,
            values: Vec::new(),
        };
        Self {
            name: name.into(),
            color,
            dashed,
            points: points.into_iter().map(point).collect(),
        }
    }
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Where on the horizontal axis.
    pub x: f64,
    /// What the line goes through.
    pub centre: f64,
    /// The lower end of the band, e.g. one standard error below.
    pub low: f64,
    /// The upper end of the band.
    pub high: f64,
    /// Single values, drawn as small faint dots; may be empty.
    pub values: Vec<f64>,
}

/// A thin dotted line with its name: a floor, a published value.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelLine {
    /// Written at one end of the line.
    pub name: String,
    /// Where on the vertical axis.
    pub y: f64,
}

/// Up to so many different x the ticks stand at them.
const FEW: usize = 12;

/// On a logarithmic axis the lower end of a band needs room unless it is below this
/// fraction of its centre; then the band is cut at the end of the axis.
const LEAST_LOW: f64 = 0.2;

/// The line of an entry in the legend.
const SWATCH: f64 = 24.0;

impl Curves {
    /// The figure.
    pub fn to_svg(&self) -> String {
        let plots: Vec<Plot> = self.panels.iter().map(Plot::new).collect();
        let panels = plots
            .iter()
            .map(|plot| (&*plot.panel.title, &plot.y, &*plot.panel.y_label));
        let panels = Panels::new(panels).with_below(40.0);
        let (missing, all) = plots
            .iter()
            .map(Plot::missing)
            .fold((0, 0), |sum, plot| (sum.0 + plot.0, sum.1 + plot.1));
        let mut canvas = Canvas::new(panels.width());
        let top = canvas.heading(&self.title, &missing_remark(missing, all));
        let top = self.draw_legend(&mut canvas, top + 4.0) + 6.0;
        let (areas, height) = panels.draw(&mut canvas, top, plots.iter().map(|plot| &plot.y));
        for (plot, area) in plots.iter().zip(&areas) {
            plot.draw(&mut canvas, area);
        }
        canvas.finish(&self.title, height)
    }

    /// The entries from left to right, in as many lines as they need; returns where
    /// the figure can go on.
    fn draw_legend(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let mut entries: Vec<&Curve> = Vec::new();
        let same =
            |a: &Curve, b: &Curve| (&a.name, a.color, a.dashed) == (&b.name, b.color, b.dashed);
        for curve in self.panels.iter().flat_map(|panel| &panel.curves) {
            if !curve.name.is_empty() && !entries.iter().any(|entry| same(entry, curve)) {
                entries.push(curve);
            }
        }
        if entries.is_empty() {
            return top;
        }
        let (mut x, mut y) = (MARGIN, top + LINE);
        let most = ((canvas.width() - 2.0 * MARGIN - SWATCH) / CHARACTER) as usize;
        for curve in entries {
            let name = wrap(&curve.name, most, 1).concat();
            let width = SWATCH + 6.0 + text_width(&name);
            if x > MARGIN && x + width > canvas.width() - MARGIN {
                (x, y) = (MARGIN, y + LINE + 2.0);
            }
            canvas.open_group(&style::series(curve.color));
            canvas.line(curve.class(), (x, y - 4.0), (x + SWATCH, y - 4.0));
            canvas.dot("node", (x + 0.5 * SWATCH, y - 4.0), 2.5, "");
            canvas.close_group();
            canvas.text("", (x + SWATCH + 6.0, y), Anchor::Start, &name);
            x += width + 16.0;
        }
        y + 6.0
    }
}

impl Curve {
    fn class(&self) -> &'static str {
        if self.dashed { "curve dashed" } else { "curve" }
    }
}

/// A panel with its axes.
struct Plot<'a> {
    panel: &'a Panel,
    x: Axis,
    y: Axis,
    /// The different x that can be drawn, in order.
    xs: Vec<f64>,
}

impl<'a> Plot<'a> {
    fn new(panel: &'a Panel) -> Self {
        let points = || panel.curves.iter().flat_map(|curve| &curve.points);
        let mut xs: Vec<f64> = points().map(|point| point.x).collect();
        let x = Axis::new(panel.x_scale, &xs);
        xs.retain(|v| x.shows(*v));
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let mut ys: Vec<f64> = panel.levels.iter().map(|level| level.y).collect();
        for point in points().filter(|point| x.shows(point.x)) {
            ys.extend(&point.values);
            ys.extend([point.centre, point.high]);
            // Where the error is as large as the mean, the band ends near zero: on a
            // logarithmic axis that would press everything else together.
            if panel.y_scale == Scale::Linear || point.low >= LEAST_LOW * point.centre {
                ys.push(point.low);
            }
        }
        Self {
            panel,
            y: Axis::new(panel.y_scale, &ys),
            x,
            xs,
        }
    }

    /// How many values are not drawn, and how many there are.
    fn missing(&self) -> (usize, usize) {
        let (mut missing, mut all) = (0, 0);
        for point in self.panel.curves.iter().flat_map(|curve| &curve.points) {
            for value in [point.centre].iter().chain(&point.values) {
                all += 1;
                missing += usize::from(!self.shows(point.x, *value));
            }
        }
        for level in &self.panel.levels {
            all += 1;
            missing += usize::from(!self.y.shows(level.y));
        }
        (missing, all)
    }

    fn shows(&self, x: f64, y: f64) -> bool {
        self.x.shows(x) && self.y.shows(y)
    }

    /// Draws all but the vertical axis.
    fn draw(&self, canvas: &mut Canvas, area: &Area) {
        canvas.x_axis(area, &self.x_ticks(area), &self.panel.x_label);
        for level in self.panel.levels.iter().filter(|l| self.y.shows(l.y)) {
            let y = area.y(self.y.position(level.y));
            canvas.line("level", (area.left, y), (area.right(), y));
        }
        let mut occupied = Occupied::default();
        for curve in &self.panel.curves {
            canvas.open_group(&style::series(curve.color));
            self.draw_band(canvas, area, curve);
            canvas.close_group();
        }
        for curve in &self.panel.curves {
            canvas.open_group(&style::series(curve.color));
            self.draw_curve(canvas, area, curve, &mut occupied);
            canvas.close_group();
        }
        self.draw_level_names(canvas, area, occupied);
    }

    fn x_ticks(&self, area: &Area) -> Vec<Tick> {
        let mut ticks = match self.xs.len() {
            1..=FEW => self.x.ticks_at(&self.xs),
            _ => self.x.ticks(),
        };
        let labels: Vec<(f64, &str)> = ticks
            .iter()
            .filter_map(|tick| Some((area.x(tick.position), tick.label.as_deref()?)))
            .collect();
        let stride = stride(&labels);
        let labelled = ticks.iter_mut().rev().filter(|tick| tick.label.is_some());
        for (at, tick) in labelled.enumerate() {
            if !at.is_multiple_of(stride) {
                tick.label = None;
            }
        }
        ticks
    }

    fn draw_band(&self, canvas: &mut Canvas, area: &Area, curve: &Curve) {
        for run in self.runs(curve).filter(|run| run.len() > 1) {
            let mut path = String::new();
            let ends = run.iter().map(|point| (point.x, point.high, point.centre));
            let back = run
                .iter()
                .rev()
                .map(|point| (point.x, point.low, point.centre));
            for (at, (x, end, centre)) in ends.chain(back).enumerate() {
                let (x, y) = self.at(area, x, if end.is_nan() { centre } else { end });
                let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
            }
            canvas.path("band", &(path + "z"));
        }
        // A band of one point would be invisible: a bar stands for it.
        for run in self.runs(curve).filter(|run| run.len() == 1) {
            let point = &run[0];
            if !point.low.is_nan() && !point.high.is_nan() && point.low < point.high {
                let (x, low) = self.at(area, point.x, point.low);
                let (_, high) = self.at(area, point.x, point.high);
                canvas.bar("published", x, (low, high), 3.5);
            }
        }
    }

    fn draw_curve(&self, canvas: &mut Canvas, area: &Area, curve: &Curve, occupied: &mut Occupied) {
        for point in curve.points.iter().filter(|point| self.x.shows(point.x)) {
            for value in &point.values {
                self.draw_value(canvas, area, point.x, *value, "faint", 1.8);
                if self.y.shows(*value) {
                    let at = self.at(area, point.x, *value);
                    occupied.add_line(at, at);
                }
            }
        }
        for run in self.runs(curve) {
            let mut path = String::new();
            let mut before = None;
            for point in run {
                let to = self.at(area, point.x, point.centre);
                let command = if before.is_some() { 'L' } else { 'M' };
                let _ = write!(path, "{command}{:.1} {:.1}", to.0, to.1);
                occupied.add_line(before.unwrap_or(to), to);
                before = Some(to);
            }
            if run.len() > 1 {
                canvas.path(curve.class(), &path);
            }
        }
        for point in curve.points.iter().filter(|point| self.x.shows(point.x)) {
            self.draw_value(canvas, area, point.x, point.centre, "node", 2.5);
        }
    }

    /// A dot, or the mark of a value that cannot be drawn on the edge it is beyond.
    fn draw_value(
        &self,
        canvas: &mut Canvas,
        area: &Area,
        x: f64,
        y: f64,
        class: &str,
        radius: f64,
    ) {
        if self.y.shows(y) {
            canvas.dot(class, self.at(area, x, y), radius, "");
        } else {
            let edge = if y <= 0.0 { area.bottom() } else { area.top };
            canvas.missing((area.x(self.x.position(x)), edge));
        }
    }

    /// The stretches of a curve between points that cannot be drawn.
    fn runs<'c>(&'c self, curve: &'c Curve) -> impl Iterator<Item = &'c [Point]> {
        curve
            .points
            .split(|point| !self.shows(point.x, point.centre))
            .filter(|run| !run.is_empty())
    }

    /// Each name above or below its line, at the end where it disturbs least.
    fn draw_level_names(&self, canvas: &mut Canvas, area: &Area, mut occupied: Occupied) {
        let most = (area.width / CHARACTER) as usize;
        for level in self.panel.levels.iter().filter(|l| self.y.shows(l.y)) {
            let y = area.y(self.y.position(level.y));
            let name = wrap(&level.name, most, 1).concat();
            let width = text_width(&name);
            let place = |left: f64, top: f64| Place {
                left,
                top,
                width,
                height: 13.0,
            };
            let (near, far) = (area.left + 4.0, area.right() - 4.0 - width);
            let places: Vec<Place> = [
                (far, y - 15.0),
                (near, y - 15.0),
                (far, y + 2.0),
                (near, y + 2.0),
            ]
            .into_iter()
            .filter(|(_, top)| *top >= area.top - 2.0 && top + 13.0 <= area.bottom())
            .map(|(left, top)| place(left, top))
            .collect();
            if let Some(Place { left, top, .. }) = occupied.take(&places) {
                canvas.text("small halo", (left, top + 11.0), Anchor::Start, &name);
            }
        }
    }

    fn at(&self, area: &Area, x: f64, y: f64) -> (f64, f64) {
        (area.x(self.x.position(x)), area.y(self.y.position(y)))
    }
}
