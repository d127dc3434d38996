//! Paired per-seed plots: what each method reaches on the same seeds, and what was
//! published.

use super::canvas::{
    Anchor, CHARACTER, Canvas, LINE, MARGIN, axis_name, label_width, missing_remark, wrap,
};
use super::columns::{Column, Columns};
use super::panels::Panels;

/// Small multiples of paired values.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// Drawn at the top.
    pub title: String,
    /// Three side by side, then the next row.
    pub panels: Vec<PairPanel>,
}

/// Several methods on the same seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct PairPanel {
    /// Drawn above the panel.
    pub title: String,
    /// The name of the vertical axis, which is logarithmic where all values are positive.
    pub metric: String,
    /// Name, colour number, and one value per seed in the same order of seeds.
    pub methods: Vec<(String, usize, Vec<f64>)>,
    /// A published mean and its standard error for each method; may be shorter.
    pub published: Vec<Option<(f64, f64)>>,
}

impl Pairs {
    /// The figure.
    pub fn to_svg(&self) -> String {
        let panels = Panels::new(self.panels.len());
        let plots: Vec<Columns> = self.panels.iter().map(PairPanel::columns).collect();
        let metrics: Vec<Vec<String>> = self
            .panels
            .iter()
            .zip(&plots)
            .map(|(panel, plot)| axis_name(&panel.metric, plot.axis.scale(), panels.plot_height))
            .collect();
        let metric_lines = metrics.iter().map(Vec::len).max().unwrap_or(0);
        let labels = plots.iter().map(|plot| label_width(&plot.axis));
        let before = LINE * metric_lines as f64 + labels.fold(0.0, f64::max) + 14.0;

        let mut canvas = Canvas::new(panels.width);
        let mut top = canvas.heading(&self.title, &self.remarks(&plots));
        let titles: Vec<Vec<String>> = self
            .panels
            .iter()
            .map(|panel| wrap(&panel.title, (panels.cell() / CHARACTER / 1.1) as usize, 2))
            .collect();
        let title_lines = titles.iter().map(Vec::len).max().unwrap_or(0);
        top += 8.0 + LINE * title_lines as f64 + 10.0;

        let column = |plot: &Columns| (panels.cell() - before) / plot.columns.len().max(1) as f64;
        let plots: Vec<Columns> = plots
            .into_iter()
            .map(|mut plot| {
                let most = (column(&plot) / CHARACTER / 1.1) as usize;
                for column in &mut plot.columns {
                    column.labels = wrap(&column.name, most, 2);
                }
                plot
            })
            .collect();
        let names = plots.iter().flat_map(|plot| &plot.columns);
        let name_lines = names.map(|column| column.labels.len()).max().unwrap_or(0);
        let below = 12.0 + LINE * name_lines as f64;
        let row = panels.plot_height + below + 14.0 + LINE * title_lines as f64 + 10.0;

        for (at, plot) in plots.iter().enumerate() {
            let area = panels.area(at, before, top, row);
            for (line, text) in titles[at].iter().rev().enumerate() {
                let y = area.top - 10.0 - LINE * line as f64;
                canvas.text("name", (area.left, y), Anchor::Start, text);
            }
            let metric_at = panels.left(at) + 10.0;
            let repeated = panels.has_left_neighbour(at) && metrics[at] == metrics[at - 1];
            let metric = if repeated { &[][..] } else { &metrics[at] };
            canvas.y_axis(&area, &plot.axis, metric, metric_at);
            plot.draw(&mut canvas, &area, &[]);
        }
        let rows = panels.rows(plots.len()) as f64;
        let gaps = (rows - 1.0).max(0.0);
        let height =
            top + (panels.plot_height + below) * rows + (row - panels.plot_height - below) * gaps;
        canvas.finish(&self.title, height + MARGIN)
    }

    fn remarks(&self, plots: &[Columns]) -> String {
        let mut remarks =
            String::from("Thin lines: seeds; filled diamonds: means with one standard error");
        let columns = plots.iter().flat_map(|plot| &plot.columns);
        if columns.into_iter().any(|column| column.published.is_some()) {
            remarks += "; hollow diamonds: published means with theirs";
        }
        let (missing, all) = plots
            .iter()
            .map(Columns::missing)
            .fold((0, 0), |sum, plot| (sum.0 + plot.0, sum.1 + plot.1));
        format!("{remarks}. {}", missing_remark(missing, all))
    }
}

impl PairPanel {
    fn columns(&self) -> Columns {
        let published = self
            .published
            .iter()
            .copied()
            .chain(std::iter::repeat(None));
        let columns = self.methods.iter().zip(published);
        Columns::new(
            columns
                .map(|((name, color, values), published)| Column {
                    name: name.clone(),
                    color: *color,
                    values: values.clone(),
                    published,
                    labels: Vec::new(),
                })
                .collect(),
        )
    }
}
