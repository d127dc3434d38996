//! `loopfit witness precision`: how many bits of mantissa a constructed network needs.

mod row;

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
use loopfit_report::figure::{Curve, Curves, LevelLine, Panel, Point};
use loopfit_report::{Align, Table, number};
use loopfit_witness::points::MOST_FRACTION_BITS;
use loopfit_witness::precision::{BEYOND, CONFIRMED};
use loopfit_witness::{Rational, Reader, Resolution};
use rayon::prelude::*;
use row::Row;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit witness precision --to 4\n  loopfit witness precision --dim 2 --to 2 --reader dyadic --groups one --plot bits.svg\n  loopfit witness precision --target \"x1/2 - 3/4\" --from 3 --to 3 --json\n  loopfit witness precision --arch transformer --to 2 --cells 1"
)]
pub(crate) struct Arguments {
    /// The architecture.
    #[arg(long, value_name = "ARCH", default_value = "ffn", value_parser = ["ffn", "transformer"])]
    arch: String,
    /// Number of inputs d; by default as many as the target names, or 1.
    #[arg(long, value_name = "D", value_parser = dim)]
    dim: Option<usize>,
    /// Smoothness s > 0, e.g. 1 or 3/2.
    #[arg(
        long,
        value_name = "S",
        allow_hyphen_values = true,
        default_value = "1"
    )]
    smoothness: Rational,
    /// Bound H > 0 of the target and its derivatives.
    #[arg(
        long,
        value_name = "H",
        allow_hyphen_values = true,
        default_value = "1"
    )]
    bound: Rational,
    /// The target, e.g. "x1/2 - 3/4"; by default a polynomial that is nowhere near zero.
    #[arg(long, value_name = "FORMULA")]
    target: Option<String>,
    /// The first resolution: K = 2^M cells along each axis.
    #[arg(long, value_name = "M", default_value_t = 1, value_parser = level)]
    from: usize,
    /// The last resolution.
    #[arg(long, value_name = "M", default_value_t = 3, value_parser = level)]
    to: usize,
    /// One group for all cells, a group for each cell, or both.
    #[arg(long, value_name = "GROUPS", default_value = "both")]
    groups: Grouping,
    /// How bits are read: the paper's way, with dyadic thresholds, or both.
    #[arg(long, value_name = "READER", default_value = "both")]
    reader: Readers,
    /// Cells in which an input is tried, one in each.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = cells)]
    cells: usize,
    /// Bits of an input beyond those of its cell; with few of them, rounding the input is not a part of
    /// what is measured.
    #[arg(long, value_name = "BITS", default_value_t = 3, value_parser = input_bits)]
    input_bits: usize,
    /// Seed of cells and inputs.
    #[arg(long, default_value_t = 0, value_parser = crate::data::seed)]
    seed: u64,
    /// Draw the table into an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn dim(text: &str) -> Result<usize, String> {
    between(text, 1, 1000)
}

fn level(text: &str) -> Result<usize, String> {
    between(text, 1, 22)
}

fn cells(text: &str) -> Result<usize, String> {
    between(text, 1, 1 << 22)
}

fn input_bits(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_FRACTION_BITS)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Grouping {
    One,
    All,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Readers {
    Paper,
    Dyadic,
    Both,
}

impl Grouping {
    fn list(self) -> Vec<Self> {
        match self {
            Self::Both => vec![Self::One, Self::All],
            one => vec![one],
        }
    }

    /// The exponent of the number of groups along each axis.
    fn exponent(self, m: usize) -> usize {
        match self {
            Self::One => 0,
            Self::All | Self::Both => m,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::All | Self::Both => "all",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::One => "one group of all cells",
            Self::All | Self::Both => "a group for each cell",
        }
    }
}

impl Readers {
    fn list(self) -> Vec<Reader> {
        match self {
            Self::Paper => vec![Reader::Paper],
            Self::Dyadic => vec![Reader::Dyadic],
            Self::Both => vec![Reader::Paper, Reader::Dyadic],
        }
    }
}

fn reader_name(reader: Reader) -> &'static str {
    match reader {
        Reader::Paper => "paper",
        Reader::Dyadic => "dyadic",
    }
}

/// A polynomial that is negative on the cube, with every derivative at most one.
fn default_target(d: usize) -> String {
    match d {
        1 => "x1/2 - x1^2/5 - 3/4".to_string(),
        _ => format!("x1/2 - x1*x{d}/4 + x{d}^2/5 - 3/4"),
    }
}

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
    formula: String,
    d: usize,
    rows: Vec<Row>,
}

impl<'a> Study<'a> {
    fn new(a: &'a Arguments, global: &Global) -> Result<Self> {
        let formula = a.target.clone();
        let formula = formula.unwrap_or_else(|| default_target(a.dim.unwrap_or(1)));
        let target = target(&formula, a.dim)?;
        let levels = resolutions(a.from, a.to)?;
        let mut networks = Vec::new();
        for grouping in a.groups.list() {
            for reader in a.reader.list() {
                networks.extend(levels.iter().map(|&m| (grouping, reader, m)));
            }
        }
        let seconds = networks.iter().map(|&(grouping, _, m)| {
            let (s, h) = (a.smoothness.clone(), a.bound.clone());
            let resolution = Resolution::new(target.d(), s, h, m)?;
            Ok(row::seconds(a, &resolution, grouping.exponent(m)))
        });
        let seconds: Result<Vec<f64>, _> = seconds.collect();
        expect_table(&seconds.map_err(as_usage)?, global, "--cells")?;
        let rows = on_threads(global, || {
            // The last ones take longest: one at a time, so that no thread is left with several.
            let networks = networks.par_iter().with_max_len(1);
            networks
                .map(|&(grouping, reader, m)| Row::new(a, &*target, grouping, reader, m))
                .collect::<Vec<_>>()
        })?;
        // In order, so that of several errors the first is told.
        let rows: Result<Vec<Row>, _> = rows.into_iter().collect();
        Ok(Self {
            arguments: a,
            d: target.d(),
            formula,
            rows: rows.map_err(as_usage)?,
        })
    }

    fn is_transformer(&self) -> bool {
        self.arguments.arch == "transformer"
    }

    fn title(&self) -> String {
        format!(
            "Bits of mantissa that the {} needs: d = {}, s = {}, H = {}",
            if self.is_transformer() {
                "post-LN Transformer of Theorem E.1"
            } else {
                "residual FFN of Theorem D.1"
            },
            self.d,
            self.arguments.smoothness,
            self.arguments.bound
        )
    }

    fn sheet(&self) -> Sheet {
        let source = format!(
            "{}, run in floats of p bits; target {}",
            if self.is_transformer() {
                "Appendix E"
            } else {
                "Sections D.1 and D.2"
            },
            self.formula
        );
        let mut sheet = Sheet::new(&self.title(), &source);
        let left = ["groups", "reader"].map(|name| (name, Align::Left));
        let right = [
            "m",
            "K",
            "records",
            "2L",
            "S",
            "inputs",
            "asked for",
            "works from",
            if self.is_transformer() {
                "native from"
            } else {
                "exact from"
            },
            "f64",
            "f32",
        ];
        let right = right.map(|name| (name, Align::Right));
        let mut table = Table::new(left.into_iter().chain(right));
        for row in &self.rows {
            let whole = |value: usize| number::integer(value as u64);
            let bits = |p: Option<usize>| p.map_or(number::ABSENT.to_string(), whole);
            let mut cells = [row.grouping.name(), reader_name(row.reader)]
                .map(String::from)
                .to_vec();
            cells.extend(
                [
                    row.m,
                    row.cells_per_axis,
                    row.records,
                    row.code_bits,
                    row.finishing_time,
                    row.inputs,
                    row.demand.bits(),
                ]
                .map(whole),
            );
            let second = if self.is_transformer() {
                row.native
            } else {
                row.thresholds.exact
            };
            cells.extend([row.thresholds.works, second].map(bits));
            cells.extend([row.double, row.single].map(|verdict| verdict.name().to_string()));
            table.push(cells);
        }
        sheet.table("", &table);
        if self.is_transformer() {
            sheet.note(&format!(
                "works: on its tokens, with softmax and layer normalisation, the output is within 2^-20 H of what more bits do not change; native: the same on native coordinates with one scale for each token. \
                 The number is the smallest p that works, as does every larger p tried, the next {CONFIRMED} among them. asked for: the estimate from above with which runs begin."
            ));
            return sheet;
        }
        sheet.note(&format!(
            "works: phases and output u are within half a step of quantisation, 2^-b, of the exact ones when the run ends, one iteration before and tau_m after; exact: they are the same. \
             The number is the smallest p that works, as does every larger p tried, the next {CONFIRMED} among them; exact up to {BEYOND} bits more."
        ));
        sheet.note(
            "asked for: the bits from the last digit of a code or the start of a timer to the gate above it, or L_m + d u + 4 for the selector if that is more. The dyadic reader needs no others; 1/6, the paper's threshold, is not a float.",
        );
        sheet
    }

    fn to_json(&self) -> Map<String, Value> {
        let a = self.arguments;
        let row = |row: &Row| {
            let tried = row.thresholds.tried.iter();
            let tried: Vec<_> = tried.map(|(p, v)| json!([p, v.name()])).collect();
            json!({
                "groups": row.grouping.name(), "reader": reader_name(row.reader),
                "m": row.m, "K": row.cells_per_axis, "records": row.records,
                "code_bits": row.code_bits, "S": row.finishing_time, "inputs": row.inputs,
                "asked_for": row.demand.to_json(), "native": row.native,
                "works": row.thresholds.works, "exact": row.thresholds.exact,
                "f64": row.double.name(), "f32": row.single.name(), "tried": tried,
            })
        };
        object!({
            "arch": a.arch, "d": self.d, "s": a.smoothness.to_string(),
            "H": a.bound.to_string(), "target": self.formula,
            "cells": a.cells, "input_bits": a.input_bits, "seed": a.seed,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    fn figure(&self) -> Curves {
        let panel = |grouping: Grouping| {
            let curve =
                |name: &str, color, dashed, reader, bits: &dyn Fn(&Row) -> Option<usize>| {
                    let rows = self.rows.iter();
                    let rows = rows.filter(|row| row.grouping == grouping && row.reader == reader);
                    let point = |row: &Row| {
                        let bits = bits(row)? as f64;
                        Some(Point {
                            x: row.m as f64,
                            centre: bits,
                            low: bits,
                            high: bits,
                            values: Vec::new(),
                        })
                    };
                    Curve {
                        name: name.to_string(),
                        color,
                        dashed,
                        points: rows.filter_map(point).collect(),
                    }
                };
            let works = |row: &Row| row.thresholds.works;
            let mut curves = Vec::new();
            for reader in self.arguments.reader.list() {
                if curves.is_empty() {
                    curves.push(curve("bits of the code, 2L", 4, true, reader, &|row| {
                        Some(row.code_bits)
                    }));
                }
                let (name, color) = match reader {
                    Reader::Paper => ("the paper's reader", 2),
                    Reader::Dyadic => ("dyadic reader", 1),
                };
                curves.push(curve(name, color, false, reader, &works));
            }
            let level = |name: &str, y| LevelLine {
                name: name.into(),
                y,
            };
            Panel {
                title: grouping.words().into(),
                x_label: "resolution m, K = 2^m".into(),
                y_label: "bits of mantissa".into(),
                x_scale: Scale::Linear,
                y_scale: Scale::Log,
                curves,
                levels: vec![level("f64", 53.0), level("f32", 24.0)],
            }
        };
        Curves {
            title: self.title(),
            panels: self
                .arguments
                .groups
                .list()
                .into_iter()
                .map(panel)
                .collect(),
        }
    }
}
