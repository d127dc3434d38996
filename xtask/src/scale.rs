//! `cargo xtask bench scale`: how time and memory grow with T, B, n and the
//! number of fits, on one thread and on two.
//!
//! The engine's benchmark `scale` measures and prints points; here are their
//! slopes, tables and figure.

use std::fs;

use anyhow::{Context, Result};
use clap::Args;
use loopfit_report::figure::{Curve, Curves, Panel, Scale};
use loopfit_report::{Align, Table};
use serde::{Deserialize, Serialize};

use crate::peers::json;
use crate::{command, workspace};

/// Where the figure goes; `docs/benchmarks.md` shows it.
const FIGURE: &str = "docs/growth.svg";

/// Every size on one thread and on two.
const THREADS: [(usize, &str); 2] = [(1, "one thread"), (2, "two threads")];

/// What grows, as the benchmark calls it, and what that means.
const SERIES: [(&str, &str); 4] = [
    ("T", "iterations T: two fits of 400 updates"),
    (
        "B",
        "numbers B (the width r at T = 16): two fits of 400 updates",
    ),
    (
        "n",
        "rows n: two fits of one pass over them (n / 128 updates), then a prediction of each row",
    ),
    ("fits", "fits of 400 updates each"),
];

/// What is measured, with its unit.
const MEASURES: [(&str, &str, Measure); 2] = [
    ("time", "milliseconds", |point| 1e3 * point.seconds),
    ("memory", "MB", |point| 1e-6 * point.bytes),
];

type Measure = fn(&Point) -> f64;

#[derive(Args)]
pub(crate) struct Growth {
    /// Print an object with all points and slopes instead of tables
    #[arg(long)]
    json: bool,
    /// Print the tables in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// What the benchmark prints for one size on some threads.
#[derive(Deserialize, Serialize)]
struct Point {
    over: String,
    size: f64,
    threads: usize,
    seconds: f64,
    bytes: f64,
}

/// The growth of a measure on a logarithmic scale: 1 where it is proportional to the size.
#[derive(Serialize)]
struct Slope {
    over: &'static str,
    of: &'static str,
    threads: usize,
    slope: f64,
}

impl Growth {
    pub(crate) fn run(&self) -> Result<()> {
        let mut bench = command("cargo");
        bench.args(["bench", "-q", "-p", "loopfit-engine", "--bench", "scale"]);
        let points: Vec<Point> = json(&mut bench, "growth")?;
        let figure = workspace().join(FIGURE);
        fs::write(&figure, draw(&points).to_svg())
            .with_context(|| format!("cannot write {}", figure.display()))?;
        if self.json {
            let all = serde_json::json!({ "points": points, "slopes": slopes(&points) });
            println!("{all}");
            return Ok(());
        }
        let print = |table: Table| match self.markdown {
            true => println!("{}", table.to_markdown()),
            false => println!("{}", table.to_terminal(false)),
        };
        for (over, meaning) in SERIES {
            println!("{meaning}\n");
            print(sizes_table(&points, over));
        }
        println!(
            "Slopes on a logarithmic scale, over the upper half of the sizes: fixed costs rule the lower.\n"
        );
        print(slopes_table(&slopes(&points)));
        println!("The figure is {FIGURE}.");
        Ok(())
    }
}

/// The points of one curve, by size.
fn curve<'a>(
    points: &'a [Point],
    over: &'a str,
    threads: usize,
) -> impl Iterator<Item = &'a Point> {
    let wanted = move |point: &&Point| point.over == over && point.threads == threads;
    points.iter().filter(wanted)
}

fn slopes(points: &[Point]) -> Vec<Slope> {
    let mut slopes = Vec::new();
    for (over, _) in SERIES {
        for (of, _, measure) in MEASURES {
            for (threads, _) in THREADS {
                let at: Vec<(f64, f64)> = curve(points, over, threads)
                    .map(|point| (point.size, measure(point)))
                    .collect();
                let slope = log_log_slope(&at[at.len() / 2..]);
                slopes.push(Slope {
                    over,
                    of,
                    threads,
                    slope,
                });
            }
        }
    }
    slopes
}

/// # Formula
///
/// The slope of the line through `(ln x, ln y)` by least squares.
fn log_log_slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / n;
    let products = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y));
    let squares = logs.iter().map(|(x, _)| (x - mean_x).powi(2));
    products.sum::<f64>() / squares.sum::<f64>()
}

fn sizes_table(points: &[Point], over: &str) -> Table {
    let mut columns = vec![over.to_owned()];
    for (of, unit, _) in MEASURES {
        columns.extend(THREADS.map(|(_, threads)| format!("{of}, {unit}, {threads}")));
    }
    let mut table = Table::new(columns.into_iter().map(|name| (name, Align::Right)));
    for (one, two) in curve(points, over, 1).zip(curve(points, over, 2)) {
        let mut cells = vec![one.size.to_string()];
        for (_, _, measure) in MEASURES {
            cells.extend([one, two].map(|point| format!("{:.2}", measure(point))));
        }
        table.push(cells);
    }
    table
}

fn slopes_table(slopes: &[Slope]) -> Table {
    let mut columns = vec!["against".to_owned()];
    for (of, _, _) in MEASURES {
        columns.extend(THREADS.map(|(_, threads)| format!("{of}, {threads}")));
    }
    let mut table = Table::new(columns.into_iter().map(|name| (name, Align::Right)));
    for of_one in slopes.chunks(MEASURES.len() * THREADS.len()) {
        let mut cells = vec![of_one[0].over.to_owned()];
        cells.extend(of_one.iter().map(|slope| format!("{:.2}", slope.slope)));
        table.push(cells);
    }
    table
}

fn draw(points: &[Point]) -> Curves {
    let mut panels = Vec::new();
    for (of, unit, measure) in MEASURES {
        for (over, _) in SERIES {
            let mut curves: Vec<Curve> = THREADS
                .iter()
                .map(|&(threads, name)| {
                    let line =
                        curve(points, over, threads).map(|point| (point.size, measure(point)));
                    Curve::line(name, threads, false, line)
                })
                .collect();
            curves.insert(0, proportional(&curves[0]));
            panels.push(Panel {
                title: format!("{of} against {over}"),
                x_label: over.to_owned(),
                y_label: unit.to_owned(),
                x_scale: Scale::Log,
                y_scale: Scale::Log,
                curves,
                levels: Vec::new(),
            });
        }
    }
    Curves {
        title: "Growth with T, B, n and the number of fits".to_owned(),
        panels,
    }
}

/// The line of slope 1 that ends where a curve does, from the middle on.
fn proportional(curve: &Curve) -> Curve {
    let points = &curve.points[curve.points.len() / 2..];
    let line = points.last().into_iter().flat_map(|last| {
        let ratio = last.centre / last.x;
        points.iter().map(move |point| (point.x, ratio * point.x))
    });
    Curve::line("proportional (slope 1)", 3, true, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_has_its_exponent_as_slope() {
        for power in [0.0, 1.0, 1.5] {
            let points = [1.0, 2.0, 4.0, 8.0, 100.0].map(|x: f64| (x, 3.0 * x.powf(power)));
            assert!((log_log_slope(&points) - power).abs() < 1e-12);
        }
    }

    /// Proportional to the size from 8 on, constant below: the slope is that of the upper half.
    #[test]
    fn slopes_are_of_the_upper_half() {
        let mut points = Vec::new();
        for (over, _) in SERIES {
            for (threads, _) in THREADS {
                points.extend([1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|size| Point {
                    over: over.to_owned(),
                    size,
                    threads,
                    seconds: size.max(8.0) / threads as f64,
                    bytes: 1e6,
                }));
            }
        }
        let slopes = slopes(&points);
        assert_eq!(slopes.len(), SERIES.len() * MEASURES.len() * THREADS.len());
        for Slope { of, slope, .. } in slopes {
            let expected = if of == "time" { 1.0 } else { 0.0 };
            assert!((slope - expected).abs() < 1e-12, "{of}: {slope}");
        }
    }
}
