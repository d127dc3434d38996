//! Test splits, and two studies on the same ones.

use super::tables::{scale, signed};
use crate::protocol::Way;
use crate::results::{Entry, Point, Results};
use loopfit_report::number::{self, Exponent, mean_se};
use loopfit_report::statistics::{mean, standard_error};
use loopfit_report::{Align, Block, Table};

/// Means on every test split, and how far the splits are apart.
pub(super) fn each_split(results: &Results) -> Vec<Block> {
    let with_splits = |p: &&Point| p.entries.iter().any(|e| e.splits().len() > 1);
    let points: Vec<&Point> = results.points.iter().filter(with_splits).collect();
    let Some(first) = points.first().and_then(|p| p.entries.first()) else {
        return Vec::new();
    };
    let splits = first.splits();
    let mut columns = vec![
        ("".to_string(), Align::Left),
        ("method".to_string(), Align::Left),
    ];
    columns.extend(
        splits
            .iter()
            .map(|split| (format!("split {}", split.unwrap_or(0)), Align::Right)),
    );
    columns.push(("SD between splits".to_string(), Align::Right));
    columns.push(("SD / SE".to_string(), Align::Right));
    let mut table = Table::new(columns);
    for point in points {
        let exponent = scale(results, point);
        for entry in &point.entries {
            let mut cells = vec![point.case.title().to_string(), entry.label.clone()];
            for split in &splits {
                let values = entry.on(*split);
                let mean = mean(&values);
                cells.push(mean_se(mean, standard_error(&values), exponent));
            }
            let sd = entry.split_sd();
            cells.push(sd.map_or(String::new(), |sd| number::value(sd, 2, exponent)));
            // Beside the standard error of one split, which is what a single split reports.
            let one = entry.se().map(|se| se * (splits.len() as f64).sqrt());
            let ratio = sd.zip(one).map(|(sd, se)| sd / se);
            cells.push(ratio.map_or(String::new(), |r| number::fixed(r, 1)));
            table.push(cells);
        }
    }
    vec![
        Block::Heading("Test splits".to_string()),
        Block::Text(format!(
            "Every test split holds out other rows. Where the standard deviation between splits is larger \
             than the standard error over seeds, levels of different splits{} cannot be \
             compared; the methods can, because they share their splits.",
            match results.study.published {
                Some(_) => " (the paper's among them)",
                None => "",
            }
        )),
        Block::Table {
            caption: "Mean (SE) on each test split; SD / SE divides by the SE of a mean on one split, the root mean \
                      square of those shown."
                .to_string(),
            table,
        },
    ]
}

/// This study against another one with the same data, architecture, caps, splits and seeds.
pub(super) fn against(results: &Results, other: &Results) -> Vec<Block> {
    let searched = |results: &Results| matches!(results.study.way, Way::Search(_));
    if !searched(results) || searched(other) {
        return Vec::new();
    }
    let theirs = match other.study.published {
        Some(_) => "paper's protocol",
        None => &other.name,
    };
    let mut table = Table::new([
        ("", Align::Left),
        ("method", Align::Left),
        (theirs, Align::Right),
        ("here", Align::Right),
        ("change", Align::Right),
        ("paired difference (SE)", Align::Right),
    ]);
    for point in &results.points {
        let same = |p: &&Point| {
            let (a, b) = (&p.case, &point.case);
            (&a.data, a.train, p.budget) == (&b.data, b.train, point.budget)
                && a.architecture() == b.architecture()
                && p.metric == point.metric
        };
        let Some(theirs) = other.points.iter().find(same) else {
            continue;
        };
        let exponent = scale(other, theirs);
        let mut push = |label: String, here: &Entry, there: &Entry| {
            let paired = here.minus(there);
            if paired.values.is_empty() {
                return;
            }
            let own = Exponent::of([paired.mean()]);
            table.push([
                point.case.title().to_string(),
                label,
                mean_se(there.mean(), there.se(), exponent),
                mean_se(here.mean(), here.se(), exponent),
                percent(here.mean() / there.mean()),
                mean_se(paired.mean(), paired.se(), own),
            ]);
        };
        for (method, here) in point.methods() {
            if let Some(there) = theirs.entry(method) {
                push(method.to_string(), here, there);
            }
        }
        let best = |p: &Point| p.best().and_then(|m| p.entry(m)).cloned();
        if let (Some(here), Some(there)) = (best(point), best(theirs)) {
            push(
                format!("best ({}, {})", there.label, here.label),
                &here,
                &there,
            );
        }
    }
    if table.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Heading(format!("Against {}", other.study.title)),
        Block::Table {
            caption: "The same caps, test splits and seeds. The best method of each side is the one with \
                      the lowest mean there."
                .to_string(),
            table,
        },
    ]
}

/// A ratio as a change: `+3.1%`.
fn percent(ratio: f64) -> String {
    format!("{}%", signed(100.0 * (ratio - 1.0)))
}
