//! The strokes that all figures are drawn with, and the frame around them.
//!
//! No element has an id (nothing is clipped or referred to), so that any number of
//! figures can stand in one page.

use std::fmt::{Display, Write as _};

use crate::axis::{Axis, Scale, Tick};
use crate::{escape, style};

/// Space from the edges, and around the text.
pub(crate) const MARGIN: f64 = 16.0;
/// From one line of text to the next.
pub(crate) const LINE: f64 = 16.0;
/// Width of an average character of the labels, for margins and line breaks.
pub(crate) const CHARACTER: f64 = 6.3;

/// Where a text is held.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The area between the axes of a plot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Area {
    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Of a position from 0 to 1 along the horizontal axis.
    pub(crate) fn x(&self, position: f64) -> f64 {
        self.left + self.width * position
    }

    /// Of a position from 0 to 1 along the vertical axis.
    pub(crate) fn y(&self, position: f64) -> f64 {
        self.top + self.height * (1.0 - position)
    }
}

/// A figure under construction.
pub(crate) struct Canvas {
    body: String,
    width: f64,
}

impl Canvas {
    pub(crate) fn new(width: f64) -> Self {
        Self {
            body: String::new(),
            width,
        }
    }

    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    /// The whole file; `title` is its name, whether or not it is drawn.
    pub(crate) fn finish(self, title: &str, height: f64) -> String {
        let Self { body, width } = self;
        let title = escape::xml(title);
        let style = style::figure();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"loopfit\" role=\"img\" \
             aria-label=\"{title}\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\">\n<title>{title}</title>\n{style}\
             <rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n{body}</svg>\n"
        )
    }

    /// An element as it is written.
    pub(crate) fn element(&mut self, element: impl Display) {
        let _ = writeln!(self.body, "{element}");
    }

    pub(crate) fn open_group(&mut self, class: &str) {
        self.element(format_args!("<g class=\"{class}\">"));
    }

    pub(crate) fn close_group(&mut self) {
        self.element("</g>");
    }

    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, content: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.element(format_args!(
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            at.0,
            at.1,
            escape::xml(content)
        ));
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.element(format_args!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    pub(crate) fn path(&mut self, class: &str, data: &str) {
        self.element(format_args!("<path class=\"{class}\" d=\"{data}\"/>"));
    }

    /// A round dot that says `tooltip` under a pointer, unless that is empty.
    pub(crate) fn dot(&mut self, class: &str, at: (f64, f64), radius: f64, tooltip: &str) {
        let (x, y) = at;
        let tooltip = match tooltip {
            "" => String::new(),
            text => format!("<title>{}</title>", escape::xml(text)),
        };
        self.element(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\">{tooltip}</circle>"
        ));
    }

    /// A diamond that reaches `radius` from its middle.
    pub(crate) fn diamond(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let (x, y) = (at.0, at.1 - radius);
        self.path(
            class,
            &format!("M{x:.1} {y:.1}l{radius} {radius}l-{radius} {radius}l-{radius} -{radius}z"),
        );
    }

    /// A bar from `ends.0` to `ends.1` at `x`, with feet.
    pub(crate) fn bar(&mut self, class: &str, x: f64, ends: (f64, f64), foot: f64) {
        self.line(class, (x, ends.0), (x, ends.1));
        for end in [ends.0, ends.1] {
            self.line(class, (x - foot, end), (x + foot, end));
        }
    }

    /// The mark in place of a value that the axis cannot show.
    pub(crate) fn missing(&mut self, at: (f64, f64)) {
        let (x, y) = (at.0 - 3.0, at.1 - 3.0);
        self.path("missing", &format!("M{x:.1} {y:.1}l6 6m0 -6l-6 6"));
    }

    /// The title and the remarks at the top; returns where the figure can begin.
    pub(crate) fn heading(&mut self, title: &str, remarks: &str) -> f64 {
        let most = (self.width - 2.0 * MARGIN) / CHARACTER;
        let mut y = MARGIN;
        // The title's characters are a quarter wider.
        for line in wrap(title, (most / 1.3) as usize, 3) {
            y += LINE + 3.0;
            self.text("title", (MARGIN, y - 5.0), Anchor::Start, &line);
        }
        for line in wrap(remarks, most as usize, 3) {
            y += LINE;
            self.text("small", (MARGIN, y - 3.0), Anchor::Start, &line);
        }
        y
    }

    /// The vertical axis at the left of `area` with its grid, and its name in
    /// `label` lines at `label_at`.
    pub(crate) fn y_axis(&mut self, area: &Area, axis: &Axis, label: &[String], label_at: f64) {
        for Tick { position, label } in axis.ticks() {
            let y = area.y(position);
            match label {
                Some(label) => {
                    self.line("grid", (area.left, y), (area.right(), y));
                    self.line("axis", (area.left - 5.0, y), (area.left, y));
                    self.text("small", (area.left - 9.0, y + 4.0), Anchor::End, &label);
                }
                None => self.line("axis", (area.left - 3.0, y), (area.left, y)),
            }
        }
        self.line("axis", (area.left, area.top), (area.left, area.bottom()));
        for (row, line) in label.iter().enumerate() {
            self.element(format_args!(
                "<text transform=\"translate({:.1} {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                label_at + LINE * row as f64,
                area.y(0.5),
                escape::xml(line)
            ));
        }
    }

    /// The horizontal axis below `area` with its grid, and its name.
    pub(crate) fn x_axis(&mut self, area: &Area, ticks: &[Tick], label: &str) {
        let bottom = area.bottom();
        for Tick { position, label } in ticks {
            let x = area.x(*position);
            match label {
                Some(label) => {
                    self.line("grid", (x, area.top), (x, bottom));
                    self.line("axis", (x, bottom), (x, bottom + 5.0));
                    self.text("small", (x, bottom + 18.0), Anchor::Middle, label);
                }
                None => self.line("axis", (x, bottom), (x, bottom + 3.0)),
            }
        }
        self.line("axis", (area.left, bottom), (area.right(), bottom));
        let most = (area.width / CHARACTER) as usize;
        let label = wrap(label, most, 1).concat();
        self.text("", (area.x(0.5), bottom + 34.0), Anchor::Middle, &label);
    }
}

/// The width of a text in small letters, about.
pub(crate) fn text_width(text: &str) -> f64 {
    CHARACTER * text.chars().count() as f64
}

/// The width that the labels of an axis take.
pub(crate) fn label_width(axis: &Axis) -> f64 {
    let labels = axis.ticks().into_iter().filter_map(|tick| tick.label);
    labels.map(|label| text_width(&label)).fold(0.0, f64::max)
}

/// The name of an axis whose scale was not the caller's choice.
pub(crate) fn axis_name(name: &str, scale: Scale) -> String {
    match scale {
        Scale::Log => format!("{name} (log scale)"),
        Scale::Linear => name.into(),
    }
}

/// What the heading says about values that no axis can show.
pub(crate) fn missing_remark(missing: usize, all: usize) -> String {
    match missing {
        0 => String::new(),
        _ => format!("× marks what the axis cannot show: {missing} of {all} values."),
    }
}

/// Lines of at most `width` characters, broken at spaces; what is beyond the
/// last of `lines` is cut off and marked. SVG itself never breaks a line.
pub(crate) fn wrap(text: &str, width: usize, lines: usize) -> Vec<String> {
    let width = width.max(2);
    let mut wrapped: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match wrapped.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => wrapped.push(word.into()),
        }
    }
    let cut = wrapped.len() > lines;
    wrapped.truncate(lines);
    let last = wrapped.len().saturating_sub(1);
    for (at, line) in wrapped.iter_mut().enumerate() {
        if line.chars().count() > width || (cut && at == last) {
            *line = line.chars().take(width - 1).chain(['…']).collect();
        }
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 7, 3), ["one two", "three"]);
        assert_eq!(wrap("one two three four", 7, 2), ["one two", "three…"]);
        assert_eq!(wrap("unbreakable", 5, 2), ["unbr…"]);
        assert!(wrap("", 5, 2).is_empty());
    }
}
