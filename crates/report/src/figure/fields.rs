//! Functions on the unit square as pictures; each row has one colour scale.

use super::canvas::{Anchor, Area, CHARACTER, Canvas, LINE, MARGIN, text_width, wrap};
use super::color_map::{entry, picture};
use crate::axis::{Axis, Scale, Tick};
use crate::escape;

/// Rows of pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// Drawn at the top.
    pub title: String,
    /// Names of the horizontal and the vertical axis of every picture.
    pub axes: [String; 2],
    /// From top to bottom.
    pub rows: Vec<FieldRow>,
}

/// Pictures on one colour scale, with its bar beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldRow {
    /// What the colours mean, drawn above the row.
    pub label: String,
    /// From left to right.
    pub fields: Vec<Field>,
}

/// A function on a grid of `side` times `side` points of the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Drawn above the picture.
    pub title: String,
    /// Points along each axis.
    pub side: usize,
    /// The value at `(x_i, y_j)` is number `i * side + j`; the origin is at the lower
    /// left. What is not finite, or not there, is grey.
    pub values: Vec<f64>,
}

/// The largest picture, and the air between pictures.
const LARGEST: f64 = 240.0;
const SMALLEST: f64 = 60.0;
const GAP: f64 = 12.0;

/// Left of the pictures: the ends of the vertical axis.
const ENDS: f64 = 16.0;

/// The colour bar, and how many steps it is drawn in.
const BAR: f64 = 14.0;
const STEPS: usize = 256;

impl Fields {
    /// The figure.
    pub fn to_svg(&self) -> String {
        let most = self.rows.iter().map(|row| row.fields.len()).max();
        let most = most.unwrap_or(0).max(1) as f64;
        let scales: Vec<ColorScale> = self.rows.iter().map(ColorScale::new).collect();
        let bar = GAP + BAR + 9.0 + scales.iter().map(ColorScale::width).fold(0.0, f64::max);
        let around = 2.0 * MARGIN + ENDS + bar + GAP * (most - 1.0);
        let page: f64 = match most {
            ..=2.0 => 520.0,
            ..=3.0 => 720.0,
            _ => 960.0,
        };
        let side = ((page - around) / most).clamp(SMALLEST, LARGEST);
        let mut canvas = Canvas::new((around + side * most).max(360.0));
        let mut top = canvas.heading(&self.title, &self.remarks()) + 4.0;
        for (row, scale) in self.rows.iter().zip(&scales) {
            top = row.draw(&mut canvas, scale, &self.axes, top, side);
        }
        canvas.finish(&self.title, top)
    }

    fn remarks(&self) -> String {
        let fields = || self.rows.iter().flat_map(|row| &row.fields);
        let all: usize = fields().map(|field| field.side * field.side).sum();
        let shown: usize = fields().map(|field| field.finite().count()).sum();
        match all.saturating_sub(shown) {
            0 => String::new(),
            missing => format!("Grey: {missing} of {all} values are not finite."),
        }
    }
}

impl FieldRow {
    /// Returns where the next row can begin.
    fn draw(
        &self,
        canvas: &mut Canvas,
        scale: &ColorScale,
        axes: &[String; 2],
        top: f64,
        side: f64,
    ) -> f64 {
        let mut top = top;
        let most = ((canvas.width() - 2.0 * MARGIN) / CHARACTER / 1.1) as usize;
        for line in wrap(&self.label, most, 2) {
            top += LINE;
            canvas.text("name", (MARGIN, top), Anchor::Start, &line);
        }
        let titles: Vec<Vec<String>> = self
            .fields
            .iter()
            .map(|field| wrap(&field.title, (side / CHARACTER) as usize, 2))
            .collect();
        let lines = titles.iter().map(Vec::len).max().unwrap_or(0);
        top += 8.0 + LINE * lines as f64;
        let mut area = Area {
            left: MARGIN + ENDS,
            top,
            width: side,
            height: side,
        };
        for (at, field) in self.fields.iter().enumerate() {
            for (line, text) in titles[at].iter().rev().enumerate() {
                let y = top - 6.0 - LINE * line as f64;
                canvas.text("", (area.x(0.5), y), Anchor::Middle, text);
            }
            field.draw(canvas, scale, &area, axes, at == 0);
            area.left += side + GAP;
        }
        scale.draw(canvas, &Area { width: BAR, ..area });
        area.bottom() + 24.0
    }
}

impl Field {
    /// The value at a point; NaN where there is none.
    fn value(&self, i: usize, j: usize) -> f64 {
        let value = self.values.get(i * self.side + j).copied();
        value.filter(|v| v.is_finite()).unwrap_or(f64::NAN)
    }

    fn finite(&self) -> impl Iterator<Item = f64> {
        let values = self.values.iter().take(self.side * self.side).copied();
        values.filter(|v| v.is_finite())
    }

    /// The picture from the top left, as entries of the colour map.
    pub(super) fn entries(&self, position: impl Fn(f64) -> f64) -> Vec<u8> {
        let points = (0..self.side)
            .rev()
            .flat_map(|j| (0..self.side).map(move |i| (i, j)));
        points
            .map(|(i, j)| entry(position(self.value(i, j))))
            .collect()
    }

    fn draw(
        &self,
        canvas: &mut Canvas,
        scale: &ColorScale,
        area: &Area,
        [across, up]: &[String; 2],
        first: bool,
    ) {
        let Area {
            left,
            top,
            width,
            height,
        } = *area;
        let place =
            format!("x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
        canvas.element(format_args!("<rect class=\"absent\" {place}/>"));
        let entries = self.entries(|value| scale.position(value));
        if let Some(address) = picture(self.side, &entries) {
            canvas.element(format_args!(
                "<image {place} preserveAspectRatio=\"none\" href=\"{address}\"/>"
            ));
        }
        canvas.element(format_args!("<rect class=\"frame\" {place}/>"));
        for (position, label) in [(0.0, "0"), (1.0, "1")] {
            let x = area.x(position);
            let inward = 3.0 - 6.0 * position;
            canvas.text(
                "small",
                (x + inward, area.bottom() + 14.0),
                Anchor::Middle,
                label,
            );
            if first {
                let y = area.y(position) + 1.0 + 7.0 * position;
                canvas.text("small", (area.left - 5.0, y), Anchor::End, label);
            }
        }
        let most = (width / CHARACTER) as usize;
        let name = wrap(across, most.saturating_sub(4), 1).concat();
        canvas.text(
            "small",
            (area.x(0.5), area.bottom() + 14.0),
            Anchor::Middle,
            &name,
        );
        if first {
            let name = wrap(up, most.saturating_sub(4), 1).concat();
            canvas.element(format_args!(
                "<text class=\"small\" transform=\"translate({:.1} {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                area.left - 7.0,
                area.y(0.5),
                escape::xml(&name)
            ));
        }
    }
}

/// The colours of one row.
struct ColorScale {
    low: f64,
    high: f64,
    ticks: Vec<Tick>,
}

impl ColorScale {
    /// From the smallest to the largest finite value.
    fn new(row: &FieldRow) -> Self {
        let values: Vec<f64> = row.fields.iter().flat_map(Field::finite).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut scale = Self {
            low,
            high,
            ticks: Vec::new(),
        };
        if low <= high {
            // The axis has air at its ends, the bar has none.
            let axis = Axis::new(Scale::Linear, &[low, high]);
            let (from, to) = (axis.position(low), axis.position(high));
            scale.ticks = axis.ticks();
            for tick in &mut scale.ticks {
                tick.position = if to > from {
                    (tick.position - from) / (to - from)
                } else {
                    0.5 + tick.position - from
                };
            }
            scale
                .ticks
                .retain(|t| (-1e-9..=1.0 + 1e-9).contains(&t.position));
        }
        scale
    }

    /// Where a value stands, from 0 to 1; in the middle where all are equal.
    fn position(&self, value: f64) -> f64 {
        // Halves: the difference of two huge values may overflow.
        let length = 0.5 * self.high - 0.5 * self.low;
        match value {
            _ if value.is_nan() => value,
            _ if length > 0.0 => (0.5 * value - 0.5 * self.low) / length,
            _ => 0.5,
        }
    }

    /// The width of its labels.
    fn width(&self) -> f64 {
        let labels = self.ticks.iter().filter_map(|tick| tick.label.as_deref());
        labels.map(text_width).fold(0.0, f64::max)
    }

    fn draw(&self, canvas: &mut Canvas, area: &Area) {
        if self.ticks.is_empty() {
            return;
        }
        let Area {
            left,
            top,
            width,
            height,
        } = *area;
        let place =
            format!("x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
        let steps = (0..STEPS)
            .rev()
            .map(|n| entry(n as f64 / (STEPS - 1) as f64));
        if let Some(address) = picture(1, &steps.collect::<Vec<_>>()) {
            canvas.element(format_args!(
                "<image {place} preserveAspectRatio=\"none\" href=\"{address}\"/>"
            ));
        }
        canvas.element(format_args!("<rect class=\"frame\" {place}/>"));
        for tick in &self.ticks {
            let y = area.y(tick.position);
            canvas.line("axis", (area.right(), y), (area.right() + 4.0, y));
            if let Some(label) = &tick.label {
                canvas.text("small", (area.right() + 8.0, y + 4.0), Anchor::Start, label);
            }
        }
    }
}
