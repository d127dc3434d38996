//! `loopfit witness error`: how the error of a constructed network falls with the resolution.

use super::{as_usage, check_plot, exact_seconds, expect_table, resolutions, target};
use crate::commands::on_threads;
use crate::data::between;
use crate::exit::Exit;
use crate::json::object;
use crate::sheet::Sheet;
use crate::{Global, output};
use anyhow::Result;
use clap::ValueEnum;
use loopfit_report::axis::Scale;
use loopfit_report::figure::{Curve, Curves, Panel, Point};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_witness::ffn::Witness;
use loopfit_witness::l2_error::{L2Error, measure, slope};
use loopfit_witness::{Exact, Rational, Reader, Resolution, Target};
use rayon::prelude::*;
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
    #[arg(long, value_name = "READER", default_value = "paper")]
    reader: ReaderName,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReaderName {
    Paper,
    Dyadic,
}

/// A run is shortest with a group for each cell; beyond so many groups, as a power of two, they
/// have several cells.
const MOST_GROUP_BITS: usize = 10;

/// The group exponent of a resolution.
fn groups(d: usize, m: usize) -> usize {
    m.min(MOST_GROUP_BITS / d)
}

/// Points on the strips for each one off them.
const ON_STRIPS: f64 = 1.0 / 8.0;

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    check_plot(a.plot.as_deref())?;
    let study = Study::new(a, global)?;
    if let Some(path) = &a.plot {
        output::write_file(path, &study.figure().to_svg())?;
        output::wrote(path, global);
    }
    if global.json {
        output::print_json(&study.to_json())?;
    } else {
        study.sheet().print()?;
    }
    Ok(Exit::Done)
}

struct Study<'a> {
    arguments: &'a Arguments,
    d: usize,
    series: Vec<Series>,
}

/// The errors for one smoothness.
struct Series {
    s: Rational,
    errors: Vec<L2Error>,
}

impl<'a> Study<'a> {
    fn new(a: &'a Arguments, global: &Global) -> Result<Self> {
        let target = target(&a.target, None)?;
        let levels = resolutions(a.from, a.to)?;
        let networks: Vec<(&Rational, usize)> = a
            .smoothness
            .iter()
            .flat_map(|s| levels.iter().map(move |&m| (s, m)))
            .collect();
        let seconds = networks.iter().map(|&(s, m)| {
            let resolution = Resolution::new(target.d(), s.clone(), a.bound.clone(), m)?;
            let runs = a.points as f64 * (1.0 + ON_STRIPS);
            Ok(runs * exact_seconds(&resolution, groups(target.d(), m)))
        });
        let seconds: Result<Vec<f64>, _> = seconds.collect();
        expect_table(&seconds.map_err(as_usage)?, global, "--points")?;
        let errors = on_threads(global, || {
            let networks = networks.par_iter().with_max_len(1);
            networks
                .map(|&(s, m)| error(a, s, &*target, m))
                .collect::<Vec<_>>()
        })?;
        // In order, so that of several errors the first is told.
        let errors: Result<Vec<L2Error>, _> = errors.into_iter().collect();
        let errors = errors.map_err(as_usage)?;
        let series = a.smoothness.iter().zip(errors.chunks(levels.len()));
        let series = series.map(|(s, errors)| Series {
            s: s.clone(),
            errors: errors.to_vec(),
        });
        Ok(Self {
            arguments: a,
            d: target.d(),
            series: series.collect(),
        })
    }

    fn title(&self) -> String {
        format!(
            "L2 error of the residual FFN of Theorem D.1: {}, d = {}, H = {}",
            self.arguments.target, self.d, self.arguments.bound
        )
    }

    fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(
            &self.title(),
            "exact runs at random points; the theorem promises an error of order K^-s",
        );
        let digits = |value: f64| number::value(value, 3, Exponent::Own);
        for series in &self.series {
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
            let mut table = Table::new(header.map(|name| (name, Align::Right)));
            let mut before: Option<&L2Error> = None;
            for error in &series.errors {
                let step = before.and_then(|before| slope(&[*before, *error]));
                let off = Some(error.off.standard_error);
                table.push([
                    error.m.to_string(),
                    number::integer(1 << error.m),
                    digits(error.l2),
                    step.map_or(number::ABSENT.to_string(), slope_text),
                    number::mean_se(error.off.root_mean_square, off, Exponent::Own),
                    digits(error.off.largest),
                    digits(error.interior_bound),
                    digits(error.on.root_mean_square),
                    digits(error.strip_measure),
                ]);
                before = Some(error);
            }
            let slope = slope(&series.errors).map_or(number::ABSENT.to_string(), slope_text);
            let caption = format!("s = {}: fitted slope {slope}", series.s);
            sheet.table(&caption, &table);
        }
        sheet.note(
            "slope: of log2 of the L2 error between neighbouring resolutions; fitted by least squares over all of them. off strips and on strips: root mean square errors.",
        );
        sheet
    }

    fn to_json(&self) -> Map<String, Value> {
        let a = self.arguments;
        let series = self.series.iter().map(|series| {
            let rows = series.errors.iter().map(|error| {
                json!({
                    "m": error.m, "K": 1u64 << error.m, "l2": error.l2,
                    "off": part_json(&error.off), "on": part_json(&error.on),
                    "strip_measure": error.strip_measure, "interior_bound": error.interior_bound,
                })
            });
            json!({
                "s": series.s.to_string(), "slope": slope(&series.errors),
                "rows": rows.collect::<Vec<_>>(),
            })
        });
        object!({
            "target": a.target, "d": self.d, "H": a.bound.to_string(), "seed": a.seed,
            "reader": format!("{:?}", a.reader).to_lowercase(),
            "series": series.collect::<Vec<_>>(),
        })
    }

    fn figure(&self) -> Curves {
        let mut curves = Vec::new();
        for (color, series) in (1..).zip(&self.series) {
            let points = |value: &dyn Fn(&L2Error) -> [f64; 3]| {
                let point = |error: &L2Error| {
                    let [centre, low, high] = value(error);
                    Point {
                        x: (1u64 << error.m) as f64,
                        centre,
                        low,
                        high,
                        values: Vec::new(),
                    }
                };
                series.errors.iter().map(point).collect()
            };
            curves.push(Curve {
                name: format!("bound (S29), s = {}", series.s),
                color,
                dashed: true,
                points: points(&|error| [error.interior_bound; 3]),
            });
            curves.push(Curve {
                name: format!("L2 error, s = {}", series.s),
                color,
                dashed: false,
                points: points(&|error| {
                    let se = error.off.standard_error;
                    [error.l2, error.l2 - se, error.l2 + se]
                }),
            });
        }
        Curves {
            title: self.title(),
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
}

fn part_json(part: &loopfit_witness::l2_error::Part) -> Value {
    json!({
        "points": part.points, "root_mean_square": part.root_mean_square,
        "standard_error": part.standard_error, "largest": part.largest,
    })
}

/// Two decimals.
fn slope_text(slope: f64) -> String {
    format!("{slope:.2}").replace('-', "−")
}

fn error(
    a: &Arguments,
    s: &Rational,
    target: &dyn Target,
    m: usize,
) -> Result<L2Error, loopfit_witness::Error> {
    let d = target.d();
    let resolution = Resolution::new(d, s.clone(), a.bound.clone(), m)?;
    let reader = match a.reader {
        ReaderName::Paper => Reader::Paper,
        ReaderName::Dyadic => Reader::Dyadic,
    };
    let witness = Witness::new(resolution, groups(d, m), reader, target)?;
    let runner = witness.runner(Exact);
    let value = |x: &[Rational]| Ok(runner.evaluate(x)?.value);
    measure(witness.resolution(), target, a.points, a.seed, value)
}
