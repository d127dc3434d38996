//! `loopfit witness error`: how the error of a constructed network falls with the resolution.

use super::{as_usage, expect_table, resolutions, target};
use crate::commands::on_threads;
use crate::data::between;
use crate::exit::Exit;
use crate::json::object;
use crate::named::named;
use crate::sheet::{Sheet, check_plot, columns, plot};
use crate::{Global, output};
use anyhow::Result;
use loopfit_numerics::named::Named;
use loopfit_report::axis::Scale;
use loopfit_report::figure::{Curve, Curves, Panel, Point};
use loopfit_report::number::{self, Exponent};
use loopfit_witness::l2_error::L2Error;
use loopfit_witness::l2_error::study::{Question, Series};
use loopfit_witness::{Rational, Reader};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit witness error --smoothness 1,2,3 --from 3 --to 6\n  loopfit witness error --target \"x1*(1-x2)/2 + x1^3/6\" --smoothness 2 --bound 1 --to 4 --plot error.svg"
)]
pub(crate) struct Arguments {
    /// The target.
    #[arg(long, value_name = "FORMULA", default_value = "x1*(1-x1) - 1/5*x1^3")]
    target: String,
    /// Smoothness s > 0, or several with commas between them.
    #[arg(
        long,
        value_name = "S",
        allow_hyphen_values = true,
        default_value = "2",
        value_delimiter = ','
    )]
    smoothness: Vec<Rational>,
    /// Bound H > 0 of the target and its derivatives.
    #[arg(
        long,
        value_name = "H",
        allow_hyphen_values = true,
        default_value = "4"
    )]
    bound: Rational,
    /// The first resolution: K = 2^M cells along each axis.
    #[arg(long, value_name = "M", default_value_t = 1, value_parser = level)]
    from: usize,
    /// The last resolution.
    #[arg(long, value_name = "M", default_value_t = 5, value_parser = level)]
    to: usize,
    /// Points off the strips, at least; an eighth as many on them.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = points)]
    points: usize,
    /// Seed of the points.
    #[arg(long, default_value_t = 0, value_parser = crate::data::seed)]
    seed: u64,
    /// How bits are read, which matters on the strips alone.
    #[arg(long, value_name = "READER", default_value = "paper", value_parser = named::<Reader>())]
    reader: Reader,
    /// Draw the errors into an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn level(text: &str) -> Result<usize, String> {
    between(text, 1, 22)
}

fn points(text: &str) -> Result<usize, String> {
    between(text, 2, 10_000_000)
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    check_plot(a.plot.as_deref(), &[])?;
    let target = target(&a.target, None)?;
    let question = Question {
        target: &*target,
        smoothness: a.smoothness.clone(),
        h: a.bound.clone(),
        levels: resolutions(a.from, a.to)?,
        points: a.points,
        seed: a.seed,
        reader: a.reader,
    };
    let seconds = question.seconds().map_err(as_usage)?;
    expect_table(&seconds, global, "--points")?;
    let series = on_threads(global, || question.series())?;
    let series = series.map_err(as_usage)?;
    let title = format!(
        "L2 error of the residual FFN of Theorem D.1: {}, d = {}, H = {}",
        a.target,
        target.d(),
        a.bound
    );
    plot(a.plot.as_deref(), || figure(&title, &series), global)?;
    if global.json {
        output::print_json(&to_json(a, target.d(), &series))?;
    } else {
        sheet(&title, &series).print()?;
    }
    Ok(Exit::Done)
}

fn sheet(title: &str, series: &[Series]) -> Sheet {
    let mut sheet = Sheet::new(
        title,
        "exact runs at random points; the theorem promises an error of order K^-s",
    );
    let digits = |value: f64| number::value(value, 3, Exponent::Own);
    for series in series {
        let header = [
            "m",
            "K",
            "L2 error",
            "slope",
            "off strips",
            "largest",
            "bound (S29)",
            "on strips",
            "strip measure",
        ];
        let mut table = columns(&[], &header, &[]);
        for (error, step) in series.errors.iter().zip(series.steps()) {
            let off = Some(error.off.standard_error);
            table.push([
                error.m.to_string(),
                number::integer(1 << error.m),
                digits(error.l2),
                slope_text(step),
                number::mean_se(error.off.root_mean_square, off, Exponent::Own),
                digits(error.off.largest),
                digits(error.interior_bound),
                digits(error.on.root_mean_square),
                digits(error.strip_measure),
            ]);
        }
        let slope = slope_text(series.slope());
        let caption = format!("s = {}: fitted slope {slope}", series.s);
        sheet.table(&caption, &table);
    }
    sheet.note(
        "slope: of log2 of the L2 error between neighbouring resolutions; fitted by least squares over all of them. off strips and on strips: root mean square errors.",
    );
    sheet
}

fn to_json(a: &Arguments, d: usize, series: &[Series]) -> Map<String, Value> {
    let series = series.iter().map(|series| {
        let rows = series.errors.iter().map(|error| {
            json!({
                "m": error.m, "K": 1u64 << error.m, "l2": error.l2,
                "off": part_json(&error.off), "on": part_json(&error.on),
                "strip_measure": error.strip_measure, "interior_bound": error.interior_bound,
            })
        });
        json!({ "s": series.s.to_string(), "slope": series.slope(), "rows": rows.collect::<Vec<_>>() })
    });
    object!({
        "target": a.target, "d": d, "H": a.bound.to_string(), "seed": a.seed, "reader": a.reader.name(),
        "series": series.collect::<Vec<_>>(),
    })
}

fn figure(title: &str, series: &[Series]) -> Curves {
    let mut curves = Vec::new();
    for (color, series) in (1..).zip(series) {
        let cells = |error: &L2Error| (1u64 << error.m) as f64;
        let bounds = series
            .errors
            .iter()
            .map(|error| (cells(error), error.interior_bound));
        let name = format!("bound (S29), s = {}", series.s);
        curves.push(Curve::line(name, color, true, bounds));
        let point = |error: &L2Error| Point {
            x: cells(error),
            centre: error.l2,
            low: error.l2 - error.off.standard_error,
            high: error.l2 + error.off.standard_error,
            values: Vec::new(),
        };
        curves.push(Curve {
            name: format!("L2 error, s = {}", series.s),
            color,
            dashed: false,
            points: series.errors.iter().map(point).collect(),
        });
    }
    Curves {
        title: title.to_string(),
        panels: vec![Panel {
            title: "exact runs".into(),
            x_label: "cells along each axis K".into(),
            y_label: "L2 error".into(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            curves,
            levels: Vec::new(),
        }],
    }
}

fn part_json(part: &loopfit_witness::l2_error::Part) -> Value {
    json!({
        "points": part.points, "root_mean_square": part.root_mean_square,
        "standard_error": part.standard_error, "largest": part.largest,
    })
}

/// Two decimals.
fn slope_text(slope: Option<f64>) -> String {
    let text = |slope: f64| format!("{slope:.2}").replace('-', "−");
    slope.map_or(number::ABSENT.to_string(), text)
}
