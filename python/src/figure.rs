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

/// Curves with bands as an SVG: (name, colour, dashed, points of x, centre, low and high), and levels with their names.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "plain data from the interpreter")]
pub(crate) fn curves(
    title: String,
    x_label: String,
    y_label: String,
    curves: Vec<(String, usize, bool, Vec<(f64, f64, f64, f64)>)>,
    levels: Vec<(String, f64)>,
) -> String {
    let point = |(x, centre, low, high)| Point {
        x,
        centre,
        low,
        high,
        values: Vec::new(),
    };
    let curves = curves
        .into_iter()
        .map(|(name, color, dashed, points)| Curve {
            name,
            color,
            dashed,
            points: points.into_iter().map(point).collect(),
        });
    let levels = levels.into_iter().map(|(name, y)| LevelLine { name, y });
    let panel = Panel {
        title: String::new(),
        x_label,
        y_label,
        x_scale: Scale::Log,
        y_scale: Scale::Log,
        curves: curves.collect(),
        levels: levels.collect(),
    };
    Curves {
        title,
        panels: vec![panel],
    }
    .to_svg()
}
