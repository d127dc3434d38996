//! Figures of the report, from plain data.

use loopfit_report::figure::{
    Curve, Curves, LevelLine, PairMethod, PairPanel, Pairs, Panel, Point, Scale,
};
use pyo3::prelude::*;

/// Errors of methods side by side as an SVG: (name, colour, one value for each seed, standard error).
#[pyfunction]
pub(crate) fn pairs(
    title: String,
    metric: String,
    methods: Vec<(String, usize, Vec<f64>, Option<f64>)>,
) -> String {
    let method = |(name, color, values, se)| PairMethod {
        name,
        color,
        values,
        se,
        published: None,
    };
    let panel = PairPanel {
        title: String::new(),
        metric,
        methods: methods.into_iter().map(method).collect(),
    };
    Pairs {
        title,
        panels: vec![panel],
    }
    .to_svg()
}

/// A panel: its title, curves of (name, colour, dashed, points of x, centre, low and high), levels with their names.
type PlainPanel = (
    String,
    Vec<(String, usize, bool, Vec<(f64, f64, f64, f64)>)>,
    Vec<(String, f64)>,
);

/// Curves with bands as an SVG, the vertical axis logarithmic and the other one unless it counts things.
#[pyfunction]
#[pyo3(signature = (title, x_label, y_label, panels, counted = false))]
pub(crate) fn curves(
    title: String,
    x_label: &str,
    y_label: &str,
    panels: Vec<PlainPanel>,
    counted: bool,
) -> String {
    let x_scale = if counted { Scale::Linear } else { Scale::Log };
    let point = |(x, centre, low, high)| Point {
        x,
        centre,
        low,
        high,
        values: Vec::new(),
    };
    let curve = |(name, color, dashed, points): (_, _, _, Vec<_>)| Curve {
        name,
        color,
        dashed,
        points: points.into_iter().map(point).collect(),
    };
    let panel = |(title, curves, levels): PlainPanel| Panel {
        title,
        x_label: x_label.to_string(),
        y_label: y_label.to_string(),
        x_scale,
        y_scale: Scale::Log,
        curves: curves.into_iter().map(curve).collect(),
        levels: levels
            .into_iter()
            .map(|(name, y)| LevelLine { name, y })
            .collect(),
    };
    let panels = panels.into_iter().map(panel).collect();
    Curves { title, panels }.to_svg()
}
