//! The figure of a comparison: one plot of columns, with shape, count and mean below
//! each method.

use crate::figure::{
    Area, CHARACTER, Canvas, Column, Columns, LINE, MARGIN, axis_name, label_width, missing_remark,
    wrap,
};
use crate::number::{Exponent, mean_se};
use crate::{Comparison, MethodResult};

/// Narrow enough to stay readable on a phone and in one column of a paper.
const WIDTH: f64 = 520.0;
/// The least width of a method's column, which has room for a mean with its standard error; many
/// methods make the figure wider. A long name gets more room, up to the second number.
const COLUMN: [f64; 2] = [126.0, 156.0];
/// Width of a letter of a name.
const NAME_CHARACTER: f64 = 8.4;
/// Height of the area between the axes.
const PLOT: f64 = 270.0;

impl Comparison {
    /// A figure that stands alone, in light or dark as the reader's system asks.
    pub fn to_svg(&self) -> String {
        self.figure(true)
    }

    /// The figure, with its title unless the page around it has one.
    pub(crate) fn figure(&self, titled: bool) -> String {
        let column = |(at, method): (usize, &MethodResult)| Column {
            name: method.name.clone(),
            color: at,
            values: method.values(),
            se: method.se(),
            published: None,
            labels: Vec::new(),
        };
        let mut plot = Columns::new(self.methods().iter().enumerate().map(column).collect());
        let metric = axis_name(self.metric(), plot.axis.scale());
        let metric = wrap(&metric, (PLOT / CHARACTER) as usize, 2);
        let left = MARGIN + LINE * metric.len() as f64 + label_width(&plot.axis) + 14.0;
        let width = (WIDTH - MARGIN - left).max(self.least_width());
        let means = Exponent::of(self.methods().iter().map(MethodResult::mean));
        let most = width / self.methods().len() as f64 / CHARACTER;
        for (column, method) in plot.columns.iter_mut().zip(self.methods()) {
            column.labels = labels(method, means, most as usize);
        }
        let lines = plot.columns.iter().map(|column| column.labels.len());
        let lines = lines.max().unwrap_or(0);

        let mut canvas = Canvas::new(left + width + MARGIN);
        let title = if titled { self.title() } else { "" };
        let (missing, all) = plot.missing();
        let remarks = match self.seeds().len() {
            1 => "One seed: no standard error.",
            _ => "Thin lines: seeds; diamonds: means with one standard error.",
        };
        let remarks = format!("{remarks} {}", missing_remark(missing, all));
        let area = Area {
            left,
            top: canvas.heading(title, &remarks) + 14.0,
            width,
            height: PLOT,
        };
        canvas.y_axis(&area, &plot.axis, &metric, MARGIN + 10.0);
        let seeds: Vec<String> = self.seeds().iter().map(u64::to_string).collect();
        plot.draw(&mut canvas, &area, &seeds);
        let height = area.bottom() + 12.0 + LINE * lines as f64 + MARGIN;
        canvas.finish(self.title(), height)
    }

    /// The width that the labels of all columns need side by side.
    fn least_width(&self) -> f64 {
        let letters = self.methods().iter().map(|m| m.name.chars().count()).max();
        let name = NAME_CHARACTER * letters.unwrap_or(0) as f64;
        name.clamp(COLUMN[0], COLUMN[1]) * self.methods().len() as f64
    }
}

/// What stands below a column: name, shape, count, mean.
fn labels(method: &MethodResult, means: Exponent, most: usize) -> Vec<String> {
    let mut labels = wrap(&method.name, most, 2);
    labels.extend(wrap(&method.shape_summary(), most, 3));
    labels.push(format!("{} numbers", method.count_summary()));
    labels.push(mean_se(method.mean(), method.se(), means));
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{awkward, bumps, comparison, well_formed};

    #[test]
    fn whatever_the_values_the_figure_is_well_formed() {
        for c in awkward().into_iter().chain([bumps()]) {
            well_formed(&c.to_svg());
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
}
