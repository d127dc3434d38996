//! Curves of jointly tuned families: medians, ratios and slopes along the axis.

use super::figures::{panel_of, panels};
use super::tables::contenders;
use crate::results::{Entry, Point, Results, Value};
use loopfit_model::Method;
use loopfit_numerics::libm::{log, sqrt};
use loopfit_report::number::{self, Exponent};
use loopfit_report::statistics::median;
use loopfit_report::{Align, Block, Table};

/// One section for each curve.
pub(super) fn section(results: &Results) -> Vec<Block> {
    let mut blocks = Vec::new();
    for points in panels(results) {
        let has = |method: Method| points[0].entry(method).is_some();
        let both = has(Method::Loop) && has(Method::Untied);
        if points.len() > 2 && points[0].case.curve.is_some() && both {
            blocks.extend(curve(results, &points));
        }
    }
    blocks
}

fn curve(results: &Results, points: &[&Point]) -> Vec<Block> {
    let axis = results.study.axis.as_deref().unwrap_or("place");
    let mut columns = vec![(axis.to_string(), Align::Right)];
    let all = contenders(&points[..1]);
    columns.extend(
        all.iter()
            .map(|contender| (contender.to_string(), Align::Right)),
    );
    columns.push(("Loop / Untied".to_string(), Align::Right));
    columns.push(("Loop / Single".to_string(), Align::Right));
    let mut table = Table::new(columns);
    let medians = points.iter().flat_map(|p| p.entries.iter());
    let exponent = Exponent::column(medians.map(Entry::median));
    for point in points {
        let mut cells = vec![number::shortest(point.at.unwrap_or(0.0))];
        for contender in &all {
            let value = point.entry(*contender).map_or(f64::NAN, Entry::median);
            cells.push(number::value(value, 3, exponent));
        }
        for other in [Method::Untied, Method::Single] {
            cells.push(number::value(ratio(point, other), 2, Exponent::Own));
        }
        table.push(cells);
    }
    let mut slopes = Table::new([
        ("method", Align::Left),
        ("slope", Align::Right),
        ("lowest median", Align::Right),
        ("last / second to last", Align::Right),
    ]);
    for contender in &all {
        let line: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|p| Some((p.at?, p.entry(*contender)?.median())))
            .filter(|(_, v)| v.is_finite() && *v > 0.0)
            .collect();
        let lowest = line.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
        let last = match line[..] {
            [.., (_, a), (_, b)] => number::value(b / a, 2, Exponent::Own),
            _ => String::new(),
        };
        let slope = slope(&line).map_or(String::new(), |(s, _)| number::value(s, 3, Exponent::Own));
        slopes.push([
            contender.to_string(),
            slope,
            number::value(lowest, 3, Exponent::Own),
            last,
        ]);
    }
    let ratios: Vec<f64> = points.iter().map(|p| ratio(p, Method::Untied)).collect();
    let falling = ratios.windows(2).all(|pair| pair[1] < pair[0]);
    let seeds = points[0].entries.first().map_or(0, |e| e.values.len());
    let text = format!(
        "The ratio of the medians of Loop and Untied over {seeds} seeds goes from {} to {}{}. The median of the \
         per-seed ratios ends at {}.",
        number::value(ratios[0], 2, Exponent::Own),
        number::value(ratios[ratios.len() - 1], 2, Exponent::Own),
        if falling {
            ", falling at every step"
        } else {
            ", not falling at every step"
        },
        number::value(seed_ratio(points[points.len() - 1]), 2, Exponent::Own),
    );
    vec![
        Block::Heading(format!(
            "Along the axis: {}, {}",
            panel_of(points[0]),
            points[0].metric
        )),
        Block::Text(text),
        Block::Table {
            caption: "Medians over seeds.".to_string(),
            table,
        },
        Block::Table {
            caption: "Slope of the median on logarithmic axes (least squares), the lowest median reached, \
                      and the last step: a value near one means that the curve has flattened at a floor. The floors are \
                      the best found, not lower bounds."
                .to_string(),
            table: slopes,
        },
    ]
}

/// Median of Loop over median of another method.
fn ratio(point: &Point, other: Method) -> f64 {
    let of = |method: Method| point.entry(method).map_or(f64::NAN, Entry::median);
    of(Method::Loop) / of(other)
}

/// Median over seeds of Loop's value over Untied's.
fn seed_ratio(point: &Point) -> f64 {
    let (Some(a), Some(b)) = (point.entry(Method::Loop), point.entry(Method::Untied)) else {
        return f64::NAN;
    };
    let ratios = a.values.iter().filter_map(|value| {
        let same = |v: &&Value| v.split == value.split && v.seed == value.seed;
        Some(value.value / b.values.iter().find(same)?.value)
    });
    median(&ratios.collect::<Vec<_>>())
}

/// Least-squares slope of log y against log x, and its standard error from the residuals where there are more than two points.
///
/// # Formula
/// `b = S_xy / S_xx`, `se^2 = (S_yy - b S_xy) / {(n - 2) S_xx}`.
pub(super) fn slope(line: &[(f64, f64)]) -> Option<(f64, Option<f64>)> {
    let n = line.len() as f64;
    if line.len() < 2 {
        return None;
    }
    let logs: Vec<(f64, f64)> = line.iter().map(|(x, y)| (log(*x), log(*y))).collect();
    let (mx, my) = logs
        .iter()
        .fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (sxy, sxx, syy) = logs.iter().fold((0.0, 0.0, 0.0), |(a, b, c), (x, y)| {
        let (x, y) = (x - mx, y - my);
        (a + x * y, b + x * x, c + y * y)
    });
    let slope = (sxx > 0.0).then_some(sxy / sxx)?;
    let left = (syy - slope * sxy).max(0.0);
    let se = (line.len() > 2).then(|| sqrt(left / ((n - 2.0) * sxx)));
    Some((slope, se))
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn the_slope_of_a_power_is_its_exponent() {
        let line: Vec<(f64, f64)> = [1.0, 4.0, 16.0, 64.0]
            .iter()
            .map(|x: &f64| (*x, 3.0 * x.powf(-1.5)))
            .collect();
        let (found, se) = slope(&line).unwrap();
        assert!((found + 1.5).abs() < 1e-12 && se.unwrap() < 1e-6);
        assert_eq!(slope(&line[..2]).unwrap().1, None);
        // By hand: at log x = 0, 1, 2, 3 and log y = 0, 1, 1, 2 the slope is 0.6 and its variance (2 - 0.6 * 3) / (2 * 5).
        let bent = [(0.0, 0.0), (1.0, 1.0), (2.0, 1.0), (3.0, 2.0)];
        let bent = bent.map(|(x, y): (f64, f64)| (x.exp(), y.exp()));
        let (found, se) = slope(&bent).unwrap();
        assert!((found - 0.6).abs() < 1e-12 && (se.unwrap() - 0.02f64.sqrt()).abs() < 1e-12);
        assert_eq!(slope(&line[..1]), None);
    }
}
