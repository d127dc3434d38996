//! Curves along an axis and paired plots.

use super::tables::{capitalised, contenders, point_name};
use crate::contender::Contender;
use crate::published::Published;
use crate::results::{Entry, Point, Results};
use loopfit_model::Method;
use loopfit_report::Block;
use loopfit_report::figure::{self, Curve, Curves, PairMethod, PairPanel, Pairs, Panel, Scale};

/// The panel that a point belongs to: its curve, or its case.
pub(super) fn panel_of(point: &Point) -> &str {
    point.case.curve.as_deref().unwrap_or(&point.case.name)
}

/// The points with a place, panel by panel and in the order of the axis.
pub(super) fn panels(results: &Results) -> Vec<Vec<&Point>> {
    let mut panels: Vec<Vec<&Point>> = Vec::new();
    for point in results.points.iter().filter(|p| p.at.is_some()) {
        let same =
            |p: &&mut Vec<&Point>| panel_of(p[0]) == panel_of(point) && p[0].metric == point.metric;
        match panels.iter_mut().find(same) {
            Some(panel) => panel.push(point),
            None => panels.push(vec![point]),
        }
    }
    for panel in &mut panels {
        panel.sort_by(|a, b| a.at.unwrap_or(0.0).total_cmp(&b.at.unwrap_or(0.0)));
    }
    panels
}

/// The number of a contender's colour, of a fan's blade by its place in it.
fn color(contender: Contender, place: usize) -> usize {
    match contender {
        Contender::Method(Method::Single) => 0,
        Contender::Method(Method::Loop) => 1,
        Contender::Method(Method::Untied) => 2,
        Contender::Linear | Contender::Smoother => 3,
        Contender::Constant => 4,
        Contender::Built => 5,
        Contender::Chosen(_) => 14,
        Contender::Route(_) | Contender::Cut { .. } => 10 + place.min(5),
    }
}

/// Mean and one standard error; for a study of medians the median and the quartiles.
fn centre(entry: &Entry, medians: bool) -> (f64, f64, f64) {
    if medians {
        let mut sorted = entry.numbers();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        return (entry.median(), at(0.25), at(0.75));
    }
    let (mean, se) = (entry.mean(), entry.se().unwrap_or(0.0));
    (mean, mean - se, mean + se)
}

/// One panel for each curve.
pub(super) fn curves(results: &Results) -> Vec<Block> {
    let panels = panels(results);
    let medians = results.points.iter().any(|p| p.case.curve.is_some());
    let drawn: Vec<Panel> = panels
        .iter()
        .filter(|points| points.len() > 1)
        .map(|points| panel(results, points, medians))
        .collect();
    if drawn.is_empty() {
        return Vec::new();
    }
    let what = if medians {
        "Medians; shading from the lower to the upper quartile"
    } else {
        "Means; shading reaches one SE to both sides"
    };
    let figure = Curves {
        title: results.study.title.clone(),
        panels: drawn,
    };
    vec![Block::Figure {
        name: format!("{}-curves", results.name),
        caption: format!("{what}, dots are seeds."),
        svg: figure.to_svg(),
    }]
}

fn panel(results: &Results, points: &[&Point], medians: bool) -> Panel {
    let first = points[0];
    let title = first.case.curve.as_deref().unwrap_or(first.case.title());
    let all = contenders(points);
    let is_cut = |contender: &&Contender| matches!(contender, Contender::Cut { .. });
    let fans: Vec<&Contender> = all.iter().filter(is_cut).collect();
    let curves = all.iter().map(|contender| {
        let fan = fans.iter().position(|cut| *cut == contender);
        let points = points.iter().filter_map(|point| {
            let entry = point.entry(*contender)?;
            let (centre, low, high) = centre(entry, medians);
            // Bands of a fan would cover each other.
            let band = if fan.is_none() {
                (low, high)
            } else {
                (centre, centre)
            };
            Some(figure::Point {
                x: point.at?,
                centre,
                low: band.0,
                high: band.1,
                values: if fan.is_none() {
                    entry.numbers()
                } else {
                    Vec::new()
                },
            })
        });
        Curve {
            name: contender.to_string(),
            color: color(*contender, fan.unwrap_or(0)),
            dashed: fan.is_some(),
            points: points.collect(),
        }
    });
    // A metric that can be negative has no logarithm.
    let values = points
        .iter()
        .flat_map(|p| &p.entries)
        .flat_map(Entry::numbers);
    let positive = values.filter(|v| v.is_finite()).all(|v| v > 0.0);
    // The fan lies behind the methods.
    let mut curves: Vec<Curve> = curves.collect();
    curves.sort_by_key(|curve| !curve.dashed);
    Panel {
        title: title.to_string(),
        x_label: results.study.axis.clone().unwrap_or_default(),
        y_label: capitalised(&first.metric),
        x_scale: Scale::Log,
        y_scale: if positive { Scale::Log } else { Scale::Linear },
        curves,
        levels: Vec::new(),
    }
}

/// Every seed of every method, with the published means.
pub(super) fn pairs(results: &Results, published: &Published) -> Vec<Block> {
    let with_numbers = |p: &&Point| p.at.is_none() || published.means(p).is_some();
    let panels: Vec<PairPanel> = results
        .points
        .iter()
        .filter(with_numbers)
        .filter(|p| p.methods().count() > 1)
        .map(|point| {
            let row = published.means(point);
            let method = |(method, entry): (Method, &Entry)| PairMethod {
                name: method.to_string(),
                color: color(method.into(), 0),
                values: entry.numbers(),
                se: entry.se(),
                published: row.and_then(|row| row.of(method)),
            };
            PairPanel {
                title: point_name(results, point),
                metric: capitalised(&point.metric),
                methods: point.methods().map(method).collect(),
            }
        })
        .collect();
    if panels.is_empty() {
        return Vec::new();
    }
    let mut methods = panels.iter().flat_map(|panel| &panel.methods);
    let theirs = match methods.any(|method| method.published.is_some()) {
        true => ", hollow diamonds the published ones",
        false => "",
    };
    let figure = Pairs {
        title: format!("{}: every seed", results.study.title),
        panels,
    };
    vec![Block::Figure {
        name: format!("{}-pairs", results.name),
        caption: format!(
            "Dots are single values; every line is one seed (and test split); filled diamonds are means with one SE{theirs}."
        ),
        svg: figure.to_svg(),
    }]
}
