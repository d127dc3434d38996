//! Paired per-seed plots: what each method reaches on the same seeds, and what was
//! published.

use super::canvas::{CHARACTER, Canvas, LINE, axis_name, missing_remark, wrap};
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
    /// From left to right, their values in the same order of seeds.
    pub methods: Vec<PairMethod>,
}

/// One method of a [`PairPanel`].
#[derive(Clone, Debug, PartialEq)]
pub struct PairMethod {
    /// Drawn below its column.
    pub name: String,
    /// The number of its colour.
    pub color: usize,
    /// One value per seed.
    pub values: Vec<f64>,
    /// The standard error of their mean, as the tables have it.
    pub se: Option<f64>,
    /// A published mean and its standard error.
    pub published: Option<(f64, f64)>,
}

impl Pairs {
    /// The figure.
    pub fn to_svg(&self) -> String {
        let mut plots: Vec<Columns> = self.panels.iter().map(PairPanel::columns).collect();
        let names: Vec<String> = self
            .panels
            .iter()
            .zip(&plots)
            .map(|(panel, plot)| axis_name(&panel.metric, plot.axis.scale()))
            .collect();
        let panels = self.panels.iter().zip(&plots).zip(&names);
        let panels = panels.map(|((panel, plot), name)| (&*panel.title, &plot.axis, &**name));
        let panels = Panels::new(panels);
        for plot in &mut plots {
            let width = panels.plot_width() / plot.columns.len().max(1) as f64;
            for method in &mut plot.columns {
                method.labels = wrap(&method.name, (width / CHARACTER / 1.1) as usize, 2);
            }
        }
        let columns = plots.iter().flat_map(|plot| &plot.columns);
        let lines = columns.map(|column| column.labels.len()).max();
        let panels = panels.with_below(12.0 + LINE * lines.unwrap_or(0) as f64);

        let mut canvas = Canvas::new(panels.width());
        let top = canvas.heading(&self.title, &self.remarks(&plots)) + 8.0;
        let (areas, height) = panels.draw(&mut canvas, top, plots.iter().map(|plot| &plot.axis));
        for (plot, area) in plots.iter().zip(&areas) {
            plot.draw(&mut canvas, area, &[]);
        }
        canvas.finish(&self.title, height)
    }

    fn remarks(&self, plots: &[Columns]) -> String {
        let no_seeds = !plots.is_empty() && plots.iter().all(Columns::has_no_seeds);
        let mut remarks = String::from(match no_seeds {
            true => "Diamonds: errors with one standard error",
            false => "Thin lines: seeds; filled diamonds: means with one standard error",
        });
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
        let column = |method: &PairMethod| Column {
            name: method.name.clone(),
            color: method.color,
            values: method.values.clone(),
            se: method.se,
            published: method.published,
            labels: Vec::new(),
        };
        Columns::new(self.methods.iter().map(column).collect())
    }
}
