//! The figure of a comparison: every seed a thin line through its dots, one dot
//! per method, and beside them each method's mean with one standard error.

use std::fmt::{self, Write};

use crate::axis::{Axis, Scale};
use crate::number::{Exponent, mean_se};
use crate::{Comparison, MethodResult, escape};

/// Narrow enough to stay readable on a phone and in one column of a paper.
const WIDTH: f64 = 520.0;
/// Height of the area between the axes.
const PLOT: f64 = 270.0;
/// Space from the right edge, and around the text.
const MARGIN: f64 = 16.0;
const LINE: f64 = 16.0;
/// The dots stand to the left of a column's middle, the mean to the right.
const APART: f64 = 13.0;
/// Width of an average character of the labels, for margins and line breaks.
const CHARACTER: f64 = 6.3;

/// Plain rules, no variables: the tools that turn a figure into a PDF know only
/// these. All of them are below `.loopfit`, because a page may hold the figure.
const STYLE: &str = "
.loopfit { font: 12px system-ui, 'Helvetica Neue', Arial, sans-serif; }
.loopfit text { fill: #1f2328; }
.loopfit .title { font-size: 15px; font-weight: 600; }
.loopfit .name { font-size: 13px; font-weight: 600; }
.loopfit .small { fill: #59636e; }
.loopfit .paper { fill: #ffffff; }
.loopfit .grid { stroke: #e4e8ec; }
.loopfit .axis { stroke: #8c959f; }
.loopfit .seed { stroke: #9aa4ae; stroke-opacity: 0.55; fill: none; }
.loopfit .mean { stroke: #ffffff; stroke-width: 1.5; }
.loopfit .bar { stroke-width: 2; }
.loopfit .c0 { color: #0072b2; } .loopfit .c1 { color: #d55e00; } .loopfit .c2 { color: #00875f; }
.loopfit .c3 { color: #a8497f; } .loopfit .c4 { color: #6b6b6b; }
.loopfit .dot, .loopfit .mean { fill: currentColor; }
.loopfit .dot { fill-opacity: 0.6; }
.loopfit .bar { stroke: currentColor; }
.loopfit text.name { fill: currentColor; }
@media (prefers-color-scheme: dark) {
.loopfit text { fill: #e6e9ec; }
.loopfit .small { fill: #9aa4ae; }
.loopfit .paper { fill: #15181c; }
.loopfit .grid { stroke: #2a2f36; }
.loopfit .axis { stroke: #6b7480; }
.loopfit .seed { stroke: #7c8692; }
.loopfit .mean { stroke: #15181c; }
.loopfit .c0 { color: #56b4e9; } .loopfit .c1 { color: #ff9d4d; } .loopfit .c2 { color: #3fcf9f; }
.loopfit .c3 { color: #e08fbf; } .loopfit .c4 { color: #b0b0b0; }
.loopfit text.name { fill: currentColor; }
}
";
const COLORS: usize = 5;

impl Comparison {
    /// A figure that stands alone, in light or dark as the reader's system asks.
    pub fn to_svg(&self) -> String {
        self.figure(true)
    }

    /// The figure, with its title unless the page around it has one.
    pub(crate) fn figure(&self, titled: bool) -> String {
        let mut svg = String::new();
        Figure::new(self, titled)
            .write(&mut svg)
            .expect("writing to a string does not fail");
        svg
    }
}

struct Figure<'a> {
    comparison: &'a Comparison,
    axis: Axis,
    means: Exponent,
    title: Vec<String>,
    legend: Vec<String>,
    /// The area between the axes.
    left: f64,
    top: f64,
}

impl<'a> Figure<'a> {
    fn new(comparison: &'a Comparison, titled: bool) -> Self {
        let methods = comparison.methods();
        let values: Vec<f64> = methods.iter().flat_map(MethodResult::values).collect();
        let missing = values.iter().filter(|v| !v.is_finite()).count();
        // The bars need no room of their own: a mean is at least one standard error
        // away from the smallest and from the largest value.
        let axis = Axis::covering(&values);
        let labels = axis.ticks().into_iter().filter_map(|tick| tick.label);
        let widest = labels.map(|label| label.chars().count()).max().unwrap_or(0);
        let mut legend = String::from(match comparison.seeds().len() {
            1 => "One seed: no standard error.",
            _ => "Thin lines: seeds; diamonds: means with one standard error.",
        });
        if missing > 0 {
            let _ = write!(
                legend,
                " Not drawn: {missing} of {} values, not finite.",
                values.len()
            );
        }
        let title = wrap(comparison.title(), 60, if titled { 3 } else { 0 });
        let legend = wrap(&legend, 78, 2);
        Self {
            comparison,
            axis,
            means: Exponent::of(methods.iter().map(MethodResult::mean)),
            left: MARGIN + LINE + CHARACTER * widest as f64 + 14.0,
            top: MARGIN + (LINE + 3.0) * title.len() as f64 + LINE * legend.len() as f64 + 14.0,
            title,
            legend,
        }
    }

    fn write(&self, out: &mut impl Write) -> fmt::Result {
        let labels: Vec<Vec<String>> = self
            .comparison
            .methods()
            .iter()
            .map(|m| self.labels(m))
            .collect();
        let lines = labels.iter().map(Vec::len).max().unwrap_or(0);
        let height = self.top + PLOT + 12.0 + LINE * lines as f64 + MARGIN;
        let title = escape::xml(self.comparison.title());
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"loopfit\" role=\"img\" \
             aria-label=\"{title}\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height:.0}\"/>"
        )?;
        self.write_heading(out)?;
        self.write_axis(out)?;
        self.write_seeds(out)?;
        for (at, method) in self.comparison.methods().iter().enumerate() {
            writeln!(out, "<g class=\"c{}\">", at % COLORS)?;
            self.write_dots(out, at, method)?;
            self.write_mean(out, at, method)?;
            self.write_labels(out, at, &labels[at])?;
            writeln!(out, "</g>")?;
        }
        writeln!(out, "</svg>")
    }

    fn write_heading(&self, out: &mut impl Write) -> fmt::Result {
        let mut y = MARGIN;
        for line in &self.title {
            y += LINE + 3.0;
            text(out, "title", MARGIN, y - 5.0, "start", line)?;
        }
        for line in &self.legend {
            y += LINE;
            text(out, "small", MARGIN, y - 3.0, "start", line)?;
        }
        Ok(())
    }

    fn write_axis(&self, out: &mut impl Write) -> fmt::Result {
        let (left, right, bottom) = (self.left, WIDTH - MARGIN, self.top + PLOT);
        for tick in self.axis.ticks() {
            let y = bottom - PLOT * tick.position;
            match &tick.label {
                Some(label) => {
                    line(out, "grid", (left, y), (right, y))?;
                    line(out, "axis", (left - 5.0, y), (left, y))?;
                    text(out, "small", left - 9.0, y + 4.0, "end", label)?;
                }
                None => line(out, "axis", (left - 3.0, y), (left, y))?,
            }
        }
        line(out, "axis", (left, self.top), (left, bottom))?;
        line(out, "axis", (left, bottom), (right, bottom))?;
        let scale = if self.axis.scale() == Scale::Log {
            " (log scale)"
        } else {
            ""
        };
        let most = (PLOT / CHARACTER) as usize - scale.len();
        let metric = wrap(self.comparison.metric(), most, 1).concat();
        writeln!(
            out,
            "<text transform=\"translate({:.1} {:.1}) rotate(-90)\" text-anchor=\"middle\">{}{scale}</text>",
            MARGIN + 10.0,
            bottom - PLOT / 2.0,
            escape::xml(&metric)
        )
    }

    /// A line through each seed's dots, broken where a value is missing.
    fn write_seeds(&self, out: &mut impl Write) -> fmt::Result {
        for seed in 0..self.comparison.seeds().len() {
            let mut path = String::new();
            let mut pen_down = false;
            for (at, method) in self.comparison.methods().iter().enumerate() {
                let value = method.results[seed].value;
                if value.is_finite() {
                    let command = if pen_down { 'L' } else { 'M' };
                    write!(
                        path,
                        "{command}{:.1} {:.1}",
                        self.x(at) - APART,
                        self.y(value)
                    )?;
                }
                pen_down = value.is_finite();
            }
            if path.contains('L') {
                writeln!(out, "<path class=\"seed\" d=\"{path}\"/>")?;
            }
        }
        Ok(())
    }

    fn write_dots(&self, out: &mut impl Write, at: usize, method: &MethodResult) -> fmt::Result {
        for (result, seed) in method.results.iter().zip(self.comparison.seeds()) {
            if result.value.is_finite() {
                writeln!(
                    out,
                    "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>{}, seed {seed}: {:e}</title></circle>",
                    self.x(at) - APART,
                    self.y(result.value),
                    escape::xml(&method.name),
                    result.value
                )?;
            }
        }
        Ok(())
    }

    fn write_mean(&self, out: &mut impl Write, at: usize, method: &MethodResult) -> fmt::Result {
        let mean = method.mean();
        let Some(se) = method.se().filter(|se| se.is_finite() && mean.is_finite()) else {
            return Ok(());
        };
        let (x, y) = (self.x(at) + APART, self.y(mean));
        let ends = [mean - se, mean + se];
        line(out, "bar", (x, self.y(ends[0])), (x, self.y(ends[1])))?;
        for end in ends {
            line(out, "bar", (x - 5.0, self.y(end)), (x + 5.0, self.y(end)))?;
        }
        writeln!(
            out,
            "<path class=\"mean\" d=\"M{x:.1} {:.1}l6.5 6.5l-6.5 6.5l-6.5 -6.5z\"/>",
            y - 6.5
        )
    }

    fn write_labels(&self, out: &mut impl Write, at: usize, labels: &[String]) -> fmt::Result {
        for (row, label) in labels.iter().enumerate() {
            let class = if row == 0 { "name" } else { "small" };
            let y = self.top + PLOT + 8.0 + LINE * (row + 1) as f64;
            text(out, class, self.x(at), y, "middle", label)?;
        }
        Ok(())
    }

    /// What stands below a column: name, shape, count, mean.
    fn labels(&self, method: &MethodResult) -> Vec<String> {
        let most = (self.column() / CHARACTER) as usize;
        let mut labels = wrap(&method.name, most, 2);
        labels.extend(wrap(&method.shape_summary(), most, 3));
        labels.push(format!("{} numbers", method.count_summary()));
        labels.push(mean_se(method.mean(), method.se(), self.means));
        labels
    }

    fn column(&self) -> f64 {
        (WIDTH - MARGIN - self.left) / self.comparison.methods().len() as f64
    }

    fn x(&self, method: usize) -> f64 {
        self.left + self.column() * (method as f64 + 0.5)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + PLOT * (1.0 - self.axis.position(value))
    }
}

fn text(
    out: &mut impl Write,
    class: &str,
    x: f64,
    y: f64,
    anchor: &str,
    content: &str,
) -> fmt::Result {
    writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape::xml(content)
    )
}

fn line(out: &mut impl Write, class: &str, from: (f64, f64), to: (f64, f64)) -> fmt::Result {
    writeln!(
        out,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    )
}

/// Lines of at most `width` characters, broken at spaces; what is beyond the
/// last of `lines` is cut off and marked. SVG itself never breaks a line.
fn wrap(text: &str, width: usize, lines: usize) -> Vec<String> {
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
    use crate::fixtures::{awkward, balanced, bumps, comparison};

    #[test]
    fn whatever_the_values_the_figure_is_well_formed() {
        for c in awkward().into_iter().chain([bumps()]) {
            let svg = c.to_svg();
            balanced(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(!svg.contains("<script"), "{svg}");
        }
    }

    /// Two seeds at the ends of the axis: 0.06 of its length is air, so they stand
    /// 0.06 / 1.12 of the plot's height from its ends.
    #[test]
    fn dots_stand_where_the_axis_puts_them() {
        let svg = comparison(&[("loop", &[-1.0, 1.0])]).to_svg();
        let figure_top = MARGIN + (LINE + 3.0) + LINE + 14.0;
        let expected =
            [1.06 / 1.12, 0.06 / 1.12].map(|f| format!("cy=\"{:.1}\"", figure_top + PLOT * f));
        assert!(
            expected.iter().all(|cy| svg.contains(cy)),
            "{expected:?} {svg}"
        );
    }

    /// The largest standard error that a mean can have: one value unlike the others.
    #[test]
    fn a_bar_stays_inside() {
        let c = comparison(&[("loop", &[1e-6, 1e-6, 1.0])]);
        let looped = &c.methods()[0];
        let gap = looped.mean() - looped.se().unwrap();
        assert!((gap - 1e-6).abs() < 1e-15, "{gap}");
        assert_eq!(c.to_svg().matches("class=\"bar\"").count(), 3);
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 7, 3), ["one two", "three"]);
        assert_eq!(wrap("one two three four", 7, 2), ["one two", "three…"]);
        assert_eq!(wrap("unbreakable", 5, 2), ["unbr…"]);
        assert!(wrap("", 5, 2).is_empty());
    }
}
