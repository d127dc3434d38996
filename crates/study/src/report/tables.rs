//! Ours beside theirs, in numbers.

use crate::contender::Contender;
use crate::published::Published;
use crate::results::{Entry, Point, Results};
use loopfit_model::{Method, Network};
use loopfit_report::number::{self, Exponent, mean_se};
use loopfit_report::statistics::standard_error_difference;
use loopfit_report::{Align, Block, Cell, Table};
use std::collections::BTreeMap;

/// How a point is called in the first column.
pub(super) fn point_name(results: &Results, point: &Point) -> String {
    let title = point.case.title();
    match (point.at, &results.study.axis) {
        (Some(at), Some(axis)) => format!("{title}, {} = {at}", symbol(axis)),
        _ => title.to_string(),
    }
}

/// The last word of an axis is its symbol: `parameter cap B`.
fn symbol(axis: &str) -> &str {
    axis.split_whitespace().last().unwrap_or(axis)
}

/// The metric that all points share, if there is one.
fn one_metric(points: &[Point]) -> Option<&str> {
    let first = points.first()?.metric.as_str();
    points.iter().all(|p| p.metric == first).then_some(first)
}

/// What a row is about, before its method: where the metrics differ, that as well.
fn about(results: &Results, point: &Point) -> String {
    let name = point_name(results, point);
    match one_metric(&results.points) {
        Some(_) => name,
        None => format!("{name}: {}", point.metric),
    }
}

/// `0.62 (0.05)` on the scale of all points of a metric: a column has one format.
pub(super) fn scale(results: &Results, point: &Point) -> Exponent {
    let same = results.points.iter().filter(|p| p.metric == point.metric);
    Exponent::column(same.flat_map(|p| p.entries.iter().map(Entry::mean)))
}

/// Ours beside the published means, where there are some.
pub(super) fn beside_paper(results: &Results, published: &Published) -> Vec<Block> {
    let splits = results
        .points
        .iter()
        .any(|p| p.entries.iter().any(|e| e.split_sd().is_some()));
    let mut columns = vec![
        ("", Align::Left),
        ("method", Align::Left),
        ("ours", Align::Right),
        ("paper", Align::Right),
        ("difference in SE", Align::Right),
        ("our median", Align::Right),
        ("lowest on", Align::Right),
    ];
    if splits {
        columns.insert(5, ("in SD of splits", Align::Right));
    }
    let mut table = Table::new(columns);
    for point in &results.points {
        let Some(row) = published.means(point) else {
            continue;
        };
        let exponent = scale(results, point);
        for (method, entry) in point.methods() {
            let is_best = point.best() == Some(method);
            let theirs = row.of(method);
            let ours = entry.se().map(|se| (entry.mean(), se));
            let apart = ours
                .zip(theirs)
                .map(|(o, t)| standard_error_difference(o, t));
            let mut cells = vec![
                Cell::from(about(results, point)),
                Cell::marked(entry.label.clone(), is_best),
                Cell::marked(mean_se(entry.mean(), entry.se(), exponent), is_best),
                Cell::from(theirs.map_or(String::new(), |(m, se)| mean_se(m, Some(se), exponent))),
                Cell::from(apart.map_or(String::new(), signed)),
                Cell::from(number::value(entry.median(), 3, exponent)),
                Cell::from(wins(point, method)),
            ];
            if splits {
                // Our mean over S splits and theirs on one more.
                let sd = entry
                    .split_sd()
                    .map(|sd| sd * (1.0 + 1.0 / entry.splits().len() as f64).sqrt());
                let apart = sd
                    .zip(theirs)
                    .map(|(sd, (mean, _))| (entry.mean() - mean) / sd);
                cells.insert(5, Cell::from(apart.map_or(String::new(), signed)));
            }
            table.push(cells);
        }
    }
    if table.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Heading("Beside the paper".to_string()),
        Block::Table {
            caption: format!(
                "{}: mean (SE); the paper's numbers are from {}. The difference is ours minus the paper's, divided by the \
                 root of the sum of both squared SE: beyond \u{b1}2 it is more than the seeds explain.{}",
                capitalised(one_metric(&results.points).unwrap_or("test results")),
                published.source,
                if splits {
                    " The next column divides by the standard deviation between test splits (times the root of 1 + 1/S for our \
                     mean of S): it shows whether another split, as the paper's is, explains the difference."
                } else {
                    ""
                }
            ),
            table,
        },
    ]
}

/// Means of everything, one row for each point; medians and shapes are folded.
pub(super) fn means(results: &Results) -> Vec<Block> {
    let mut metrics: Vec<&str> = results.points.iter().map(|p| p.metric.as_str()).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let mut blocks = vec![Block::Heading("Results".to_string())];
    for metric in &metrics {
        let points: Vec<&Point> = results
            .points
            .iter()
            .filter(|p| p.metric == *metric)
            .collect();
        blocks.push(wide(results, metric, &points));
    }
    blocks.push(Block::Details {
        summary: "Medians and shapes".to_string(),
        blocks: vec![medians(results)],
    });
    blocks
}

/// All that some points have, each once, in the order in which they come.
pub(super) fn contenders(points: &[&Point]) -> Vec<Contender> {
    let mut all: Vec<Contender> = Vec::new();
    for entry in points.iter().flat_map(|p| &p.entries) {
        if !all.contains(&entry.of) {
            all.push(entry.of);
        }
    }
    all
}

fn wide(results: &Results, metric: &str, points: &[&Point]) -> Block {
    let all = contenders(points);
    // Along an axis the cap is part of the name or the same everywhere.
    let caps = results.study.axis.is_none();
    let mut columns = vec![("".to_string(), Align::Left)];
    if caps {
        columns.push(("B".to_string(), Align::Right));
    }
    columns.extend(
        all.iter()
            .map(|contender| (contender.to_string(), Align::Right)),
    );
    columns.push(("lowest".to_string(), Align::Left));
    let mut table = Table::new(columns);
    for point in points {
        let best = point.best();
        let exponent = scale(results, point);
        let mut cells = vec![Cell::from(point_name(results, point))];
        if caps {
            cells.push(Cell::from(number::integer(point.budget as u64)));
        }
        for contender in &all {
            let is_best = best.map(Contender::Method) == Some(*contender);
            let text = point
                .entry(*contender)
                .map_or(String::new(), |e| mean_se(e.mean(), e.se(), exponent));
            cells.push(Cell::marked(text, is_best));
        }
        let lowest = best.map_or(String::new(), |m| match point.wins(m) {
            // Of several methods, each with the lowest value somewhere, or of equal values.
            Some(0) => format!("{m}, by its mean alone"),
            _ => format!("{m}, on {}", wins(point, m).replace('/', " of ")),
        });
        cells.push(Cell::from(lowest));
        table.push(cells);
    }
    let several = points.iter().any(|p| p.best().is_some());
    let bold = match several {
        true => ", the lowest of the methods in bold",
        false => "",
    };
    Block::Table {
        caption: format!("{}: mean (SE){bold}.", capitalised(metric)),
        table: table.without_empty_columns(),
    }
}

fn medians(results: &Results) -> Block {
    let mut table = Table::new([
        ("", Align::Left),
        ("method", Align::Left),
        ("median", Align::Right),
        ("lowest on", Align::Right),
        ("typical shape", Align::Left),
    ]);
    for point in &results.points {
        for entry in &point.entries {
            let wins = match entry.of {
                Contender::Method(method) => wins(point, method),
                _ => String::new(),
            };
            table.push([
                about(results, point),
                entry.label.clone(),
                number::value(entry.median(), 3, scale(results, point)),
                wins,
                typical(entry),
            ]);
        }
    }
    Block::Table {
        caption: "The typical shape is the one that was selected most often; a fraction after it, such as (5/8), says \
                  how many of all models have it. P is how many numbers it has."
            .to_string(),
        table: table.without_empty_columns(),
    }
}

/// `5/8`: on how many splits and seeds a method is the lowest; nothing where it is alone.
fn wins(point: &Point, method: Method) -> String {
    let of = point.entry(method).map_or(0, |e| e.values.len());
    let wins = point.wins(method);
    wins.map_or(String::new(), |wins| format!("{wins}/{of}"))
}

/// `+1.3`.
pub(super) fn signed(value: f64) -> String {
    if value.is_nan() {
        return number::ABSENT.to_string();
    }
    let sign = if value < 0.0 { "\u{2212}" } else { "+" };
    format!("{sign}{}", number::fixed(value.abs(), 1))
}

pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().collect::<String>());
    first.unwrap_or_default() + letters.as_str()
}

/// The shape that was selected most often.
fn typical(entry: &Entry) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for network in entry.values.iter().filter_map(|v| v.network.as_ref()) {
        *counts.entry(shape(network)).or_default() += 1;
    }
    let most = counts.iter().max_by_key(|(_, count)| **count);
    let of = entry.values.len();
    match most {
        Some((shape, count)) if *count == of => shape.clone(),
        Some((shape, count)) => format!("{shape} ({count}/{of})"),
        None => String::new(),
    }
}

fn shape(network: &Network) -> String {
    let (q, r, t) = (network.q(), network.r(), network.tying().iterations());
    format!("q={q} r={r} T={t} P={}", network.count())
}

/// Loop minus every other method, seed by seed.
pub(super) fn differences(results: &Results, published: &Published) -> Vec<Block> {
    let theirs = results
        .points
        .iter()
        .any(|point| published.differences(point).is_some());
    let mut columns = vec![
        ("", Align::Left),
        ("difference", Align::Left),
        ("mean (SE)", Align::Right),
        ("Loop lower on", Align::Right),
    ];
    if theirs {
        columns.push(("paper", Align::Right));
    }
    let mut table = Table::new(columns);
    let others = [Method::Single, Method::Untied];
    let paired = |point: &Point, method: Method| {
        let looped = point.entry(Method::Loop)?;
        Some(looped.minus(point.entry(method)?))
    };
    let all = results
        .points
        .iter()
        .flat_map(|p| others.map(|m| paired(p, m)));
    let exponent = Exponent::column(all.flatten().map(|paired| paired.mean()));
    for point in &results.points {
        let row = published.differences(point);
        for method in others {
            let Some(paired) = paired(point, method) else {
                continue;
            };
            let wins = paired.values.iter().filter(|v| v.value < 0.0).count();
            let mut cells = vec![
                about(results, point),
                paired.label.clone(),
                mean_se(paired.mean(), paired.se(), exponent),
                format!("{wins}/{}", paired.values.len()),
            ];
            if theirs {
                let printed = row.and_then(|row| row.of(method));
                cells.push(printed.map_or(String::new(), |(m, se)| mean_se(m, Some(se), exponent)));
            }
            table.push(cells);
        }
    }
    if table.is_empty() {
        return Vec::new();
    }
    vec![Block::Table {
        caption: "Paired differences on the same data; negative values favour Loop.".to_string(),
        table,
    }]
}

/// By how much Loop's mean falls along the axis, beside what the paper says.
pub(super) fn falls(results: &Results, published: &Published) -> Vec<Block> {
    let mut table = Table::new([
        ("", Align::Left),
        ("from", Align::Right),
        ("to", Align::Right),
        ("fall of Loop's mean", Align::Right),
        ("paper", Align::Right),
    ]);
    for fall in &published.falls {
        let mean_at = |at: f64| {
            let mut points = results.points.iter();
            let point = points.find(|p| fall.is_about(p, at))?;
            Some((point.case.title(), point.entry(Method::Loop)?.mean()))
        };
        if let (Some((title, first)), Some((_, last))) = (mean_at(fall.from), mean_at(fall.to)) {
            table.push([
                title.to_string(),
                fall.from.to_string(),
                fall.to.to_string(),
                format!("{}%", number::fixed(100.0 * (1.0 - last / first), 1)),
                format!("{}%", number::fixed(fall.percent, 1)),
            ]);
        }
    }
    if table.is_empty() {
        return Vec::new();
    }
    let caption = "How much the mean error falls from one end of the axis to the other.";
    vec![Block::Table {
        caption: caption.to_string(),
        table,
    }]
}
