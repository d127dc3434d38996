//! What integers cost: errors on test rows of the paper's data sets and of simulations, of the model and of its C in integers, which is
//! compiled and run.
//!
//! Prints one object in JSON for each model; `cargo xtask bench integers` makes tables of them.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use loopfit::details::ApplyError;
use loopfit::{Effort, ExportOptions, Fit, IntegerExport, Method, Model, Simulation, Table, Width};
use loopfit_data::catalog::{self, DataSet};
use loopfit_data::roles::Roles;
use loopfit_data::split::{Groups, Splitter};
use loopfit_numerics::stream::Stream;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The cap, and the rows of a set that are looked at, one in five of them to test.
const CAP: usize = 64;
const ROWS: usize = 4000;
/// So many rows of a class are among them in any case.
const RARE: usize = 20;
/// Simulations with a loop inside, one without, and their rows.
const SIMULATIONS: [&str; 2] = ["recurrence", "bumps"];
const TRAIN: usize = 2048;
const TEST: usize = 8192;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    // Cargo passes `--bench` too.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|w| w != "--bench")
        .collect();
    // A folder, and names if not all sets are asked for.
    if let [folder, names @ ..] = &words[..] {
        // The paper's twelve; SARCOS is no more to be had as a whole.
        let asked = |set: &&DataSet| match names {
            [] => set.name != "sarcos",
            _ => names.iter().any(|name| name == set.name),
        };
        for set in catalog::all().iter().filter(asked) {
            println!("{}", of_set(set, Path::new(folder))?);
        }
    }
    for name in SIMULATIONS {
        for t in [1, 2, 4, 8, 16, 32] {
            println!("{}", of_simulation(name, t)?);
        }
    }
    Ok(())
}

fn of_set(set: &DataSet, folder: &Path) -> Result<Value> {
    let loaded = set.load(folder)?;
    let stream = Stream::new(0).child(set.name);
    let mut all = loaded.table;
    if all.rows() > ROWS && set.block.is_none() {
        let mut order = vec![0; all.rows()];
        stream.permute(&mut order);
        let target = all.column(set.target).filter(|_| set.classes.is_some());
        let (mut kept, mut of_class) = (Vec::new(), BTreeMap::new());
        for row in order.into_iter().map(|row| row as usize) {
            let class = target.and_then(|column| column.text(row));
            let rare = class.map_or(0, |class| {
                let count: &mut usize = of_class.entry(class).or_default();
                *count += 1;
                *count
            });
            if kept.len() < ROWS || (1..=RARE).contains(&rare) {
                kept.push(row);
            }
        }
        all = taken(&all, kept);
    }
    let roles = Roles::new(&all, Some(set.target), None, &[])?;
    let groups = Groups::new(&all, &roles, set.block)?;
    let splitter = match set.classes {
        Some(_) => Splitter::stratified(groups, &all, set.target)?,
        None => Splitter::new(groups),
    };
    let every: Vec<usize> = (0..all.rows()).collect();
    let (train, test) = splitter.divide(&every, 0.2, stream)?;
    let (train, test) = (taken(&all, train), taken(&all, test));
    let fit = Fit::new(&train)
        .target(set.target)
        .task(set.task)
        .budget(CAP);
    let fit = set.block.into_iter().fold(fit, Fit::block);
    let model = fitted(set.name, fit)?;
    let mut found = compared(&model, &train, &test)?;
    found["set"] = json!(set.title);
    Ok(found)
}

fn of_simulation(name: &str, t: usize) -> Result<Value> {
    let simulation: Simulation = name.parse()?;
    let draw = simulation.draw(0, TRAIN, 0, TEST);
    let source = format!("sim:{name}");
    let (train, test) = (draw.train.to_table(&source), draw.test.to_table(&source));
    let fit = Fit::new(&train).target("y").budget(CAP);
    let fit = match t {
        1 => fit.methods([Method::Single]),
        _ => fit.methods([Method::Loop]).iterations([t]),
    };
    let model = fitted(&format!("{name}-{t}"), fit)?;
    let mut found = compared(&model, &train, &test)?;
    found["simulation"] = json!(name);
    found["t"] = json!(t);
    Ok(found)
}

/// The best model of a fit, kept below `target/tmp` for the next run.
fn fitted(name: &str, fit: Fit) -> Result<Model> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("integers");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{name}-{CAP}-{ROWS}.safetensors"));
    if file.exists() {
        return Ok(Model::load(&file)?);
    }
    let fits = fit.effort(Effort::Quick).run()?;
    fits.best().model().save(&file)?;
    Ok(fits.best().model().clone())
}

fn taken(table: &Table, mut rows: Vec<usize>) -> Table {
    rows.sort_unstable();
    let columns = table.names().iter().map(|name| {
        let column = table.column(name).map(|column| column.take(&rows));
        column.map(|column| (name.clone(), column))
    });
    Table::from_columns(table.source(), columns.flatten().collect())
}

/// Errors of a model on test rows, and of its integers.
fn compared(model: &Model, train: &Table, test: &Table) -> Result<Value> {
    let own = model.score(test)?;
    let mut found = json!({
        "network": model.network().to_string(), "numbers": model.count(), "test_rows": test.rows(),
        "metric": own.metric, "float": own.value,
    });
    for (width, bits) in [(Width::Eight, "8"), (Width::Sixteen, "16")] {
        for (table, suffix) in [(Some(train), ""), (None, "_drawn")] {
            let began = std::time::Instant::now();
            let export = model.export_integers(width, table, &ExportOptions::default())?;
            let seconds = began.elapsed().as_secs_f64();
            let every: Vec<usize> = (0..test.rows()).collect();
            let mut failed = None;
            let score = model.parts().score_by(test, &every, |x| {
                compiled(&export, x).unwrap_or_else(|e| {
                    failed = Some(e);
                    Vec::new()
                })
            });
            match failed {
                Some(e) => return Err(e),
                None => found[format!("int{bits}{suffix}")] = json!(score?.value),
            }
            let loss = &export.loss;
            found[format!("loss{bits}{suffix}")] = json!({
                "rms": loss.rms, "rms_of_nearest": loss.rms_of_nearest, "seconds": seconds,
                "tables": export.export.sizes.tables,
            });
        }
    }
    Ok(found)
}

/// Outputs of the C that is exported, compiled without floats, which must be those of the arithmetic in Rust.
fn compiled(export: &IntegerExport, x: &[f32]) -> Result<Vec<f64>> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    for (path, text) in export.export.files(&at("model.c"))? {
        std::fs::write(path, text)?;
    }
    std::fs::write(at("main.c"), MAIN)?;
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-O2", "-DMODEL_NO_FLOAT", "-o"]);
    let status = cc.arg(at("main")).arg(at("main.c")).status()?;
    if !status.success() {
        return Err("cc failed".into());
    }
    let fixed = export.integers.inputs(x);
    let mut lines = String::new();
    for v in &fixed {
        writeln!(lines, "{v}")?;
    }
    let mut child = Command::new(at("main"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(lines.as_bytes())));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    let text = String::from_utf8(output.stdout)?;
    let found: Vec<i32> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?;
    let rust = export.integers.predict(x);
    let unit = rust.iter().zip(&found).find(|(_, f)| **f != 0);
    let unit = unit.map_or(1.0, |(v, f)| v / f64::from(*f));
    let values: Vec<f64> = found.iter().map(|f| f64::from(*f) * unit).collect();
    match values == rust {
        true => Ok(values),
        false => Err(ApplyError::NoScore("equal outputs of C and Rust").into()),
    }
}

const MAIN: &str = r#"
#include "model.c"
#include <stdio.h>
#ifndef MODEL_CLASSES
#define MODEL_LOGITS 1
#endif
int main(void) {
    long v;
    model_q x[MODEL_INPUTS], f[MODEL_LOGITS];
    int n = 0, k;
    while (scanf("%ld", &v) == 1) {
        x[n++] = (model_q)v;
        if (n < MODEL_INPUTS) continue;
        n = 0;
#ifdef MODEL_CLASSES
        model_predict_q(x, f);
#else
        f[0] = (model_q)model_predict_q(x);
#endif
        for (k = 0; k < MODEL_LOGITS; k++) printf("%ld\n", (long)f[k]);
    }
    return 0;
}
"#;
