//! `loopfit witness precision`: how many bits of mantissa a constructed network needs.

use super::{as_usage, expect_table, resolutions, target};
use crate::architecture::ArchArgument;
use crate::commands::on_threads;
use crate::data::between;
use crate::exit::Exit;
use crate::json::object;
use crate::named::{OneOrAll, named_or_all};
use crate::sheet::{Sheet, check_plot, columns, plot};
use crate::{Global, output};
use anyhow::Result;
use loopfit_model::ArchitectureKind;
use loopfit_numerics::named::Named;
use loopfit_report::axis::Scale;
use loopfit_report::figure::{Curve, Curves, LevelLine, Panel};
use loopfit_report::number;
use loopfit_witness::points::MOST_FRACTION_BITS;
use loopfit_witness::precision::study::{Asked, Grouping, Question, Row, default_target};
use loopfit_witness::precision::{BEYOND, CONFIRMED, Sample};
use loopfit_witness::{Rational, Reader};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit witness precision --to 4\n  loopfit witness precision --dim 2 --to 2 --reader dyadic --groups one --plot bits.svg\n  loopfit witness precision --target \"x1/2 - 3/4\" --from 3 --to 3 --json\n  loopfit witness precision --arch transformer --to 2 --cells 1"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    architecture: ArchArgument,
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
    #[arg(long, value_name = "GROUPS", default_value = "both", value_parser = named_or_all::<Grouping>("both"))]
    groups: OneOrAll<Grouping>,
    /// How bits are read: the paper's way, with dyadic thresholds, or both.
    #[arg(long, value_name = "READER", default_value = "both", value_parser = named_or_all::<Reader>("both"))]
    reader: OneOrAll<Reader>,
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

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    check_plot(a.plot.as_deref(), &[])?;
    let formula = a.target.clone();
    let formula = formula.unwrap_or_else(|| default_target(a.dim.unwrap_or(1)));
    let target = target(&formula, a.dim)?;
    let question = Question {
        architecture: a.architecture.arch,
        target: &*target,
        s: a.smoothness.clone(),
        h: a.bound.clone(),
        levels: resolutions(a.from, a.to)?,
        groupings: a.groups.0.clone(),
        readers: a.reader.0.clone(),
        sample: Sample {
            cells: a.cells,
            fraction_bits: a.input_bits,
            seed: a.seed,
        },
    };
    let seconds = question.seconds().map_err(as_usage)?;
    expect_table(&seconds, global, "--cells")?;
    let rows = on_threads(global, || question.rows())?;
    let study = Study {
        arguments: a,
        d: target.d(),
        formula,
        rows: rows.map_err(as_usage)?,
    };
    plot(a.plot.as_deref(), || study.figure(), global)?;
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

impl Study<'_> {
    fn is_transformer(&self) -> bool {
        self.arguments.architecture.arch == ArchitectureKind::Transformer
    }

    fn title(&self) -> String {
        format!(
            "Bits of mantissa that the {} needs: d = {}, s = {}, H = {}",
            match self.is_transformer() {
                true => "post-LN Transformer of Theorem E.1",
                false => "residual FFN of Theorem D.1",
            },
            self.d,
            self.arguments.smoothness,
            self.arguments.bound
        )
    }

    fn sheet(&self) -> Sheet {
        let (appendix, second) = match self.is_transformer() {
            true => ("Appendix E", "native from"),
            false => ("Sections D.1 and D.2", "exact from"),
        };
        let source = format!(
            "{appendix}, run in floats of p bits; target {}",
            self.formula
        );
        let mut sheet = Sheet::new(&self.title(), &source);
        let numbers = [
            "m",
            "K",
            "records",
            "2L",
            "S",
            "inputs",
            "asked for",
            "works from",
            second,
            "f64",
            "f32",
        ];
        let mut table = columns(&["groups", "reader"], &numbers, &[]);
        for row in &self.rows {
            let whole = |value: usize| number::integer(value as u64);
            let bits = |p: Option<usize>| p.map_or(number::ABSENT.to_string(), whole);
            let mut cells = vec![
                row.grouping.name().to_string(),
                row.reader.name().to_string(),
            ];
            let counts = [
                row.m,
                row.cells_per_axis,
                row.records,
                row.code_bits,
                row.finishing_time,
                row.inputs,
                row.demand.bits(),
            ];
            cells.extend(counts.map(whole));
            let second = match self.is_transformer() {
                true => row.native,
                false => row.thresholds.exact,
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
        let asked = |demand: &Asked| match demand {
            Asked::Ffn(demand) => json!({
                "code": demand.code, "timer": demand.timer, "selector": demand.selector,
            }),
            Asked::Transformer(bits) => json!(bits),
        };
        let row = |row: &Row| {
            let tried = row.thresholds.tried.iter();
            let tried: Vec<_> = tried.map(|(p, v)| json!([p, v.name()])).collect();
            json!({
                "groups": row.grouping.name(), "reader": row.reader.name(),
                "m": row.m, "K": row.cells_per_axis, "records": row.records,
                "code_bits": row.code_bits, "S": row.finishing_time, "inputs": row.inputs,
                "asked_for": asked(&row.demand), "native": row.native,
                "works": row.thresholds.works, "exact": row.thresholds.exact,
                "f64": row.double.name(), "f32": row.single.name(), "tried": tried,
            })
        };
        object!({
            "arch": a.architecture.arch.name(), "d": self.d, "s": a.smoothness.to_string(),
            "H": a.bound.to_string(), "target": self.formula,
            "cells": a.cells, "input_bits": a.input_bits, "seed": a.seed,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    fn figure(&self) -> Curves {
        let groupings = self.arguments.groups.0.iter();
        Curves {
            title: self.title(),
            panels: groupings.map(|grouping| self.panel(*grouping)).collect(),
        }
    }

    fn panel(&self, grouping: Grouping) -> Panel {
        type Bits<'b> = &'b dyn Fn(&Row) -> Option<usize>;
        let curve = |name: &str, color, dashed, reader, bits: Bits<'_>| {
            let rows = self.rows.iter();
            let rows = rows.filter(|row| row.grouping == grouping && row.reader == reader);
            let point = |row: &Row| Some((row.m as f64, bits(row)? as f64));
            Curve::line(name, color, dashed, rows.filter_map(point))
        };
        let mut curves = Vec::new();
        for &reader in &self.arguments.reader.0 {
            if curves.is_empty() {
                let code_bits = |row: &Row| Some(row.code_bits);
                curves.push(curve("bits of the code, 2L", 4, true, reader, &code_bits));
            }
            let (name, color) = match reader {
                Reader::Paper => ("the paper's reader", 2),
                Reader::Dyadic => ("dyadic reader", 1),
            };
            let works = |row: &Row| row.thresholds.works;
            curves.push(curve(name, color, false, reader, &works));
        }
        let level = |name: &str, y| LevelLine {
            name: name.into(),
            y,
        };
        Panel {
            title: match grouping {
                Grouping::One => "one group of all cells",
                Grouping::All => "a group for each cell",
            }
            .into(),
            x_label: "resolution m, K = 2^m".into(),
            y_label: "bits of mantissa".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Log,
            curves,
            levels: vec![level("f64", 53.0), level("f32", 24.0)],
        }
    }
}
