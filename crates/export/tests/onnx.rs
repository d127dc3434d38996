//! Graphs of ONNX pass its checker, and ONNX Runtime says of every row what `predict` says, up to roundings of 32 bits.
//!
//! `cargo xtask test --export` makes an environment that has both, and names its Python by `LOOPFIT_ONNX_PYTHON`.
#![allow(clippy::print_stderr)] // says what is left out

mod common;
use common::{Answer, Case, Cell, cases, cases_of};
use loopfit_data::preprocess::{Input, Target};
use loopfit_export::{Format, Options, export};
use loopfit_model::{Architecture, Form};
use serde_json::{Value, json};
use std::process::Command;

/// Largest error, in standard deviations of a response and of any other answer beyond one in its own size.
const TOLERANCE: f64 = 1e-5;
/// The same where a network lets roundings grow from iteration to iteration: untrained ones do at a row in some ten thousand, where
/// `predict` is as far from arithmetic of 64 bits.
const GROWN: f64 = 1e-3;

#[test]
fn every_kind_of_model_says_what_predict_says() {
    let cases = cases();
    let Some(found) = compared(&cases) else {
        return;
    };
    let [mut refused, mut rows] = [0, 0];
    for (case, found) in found {
        assert!(case.wild || found.grown == 0, "{}", case.words);
        refused += found.refused;
        rows += found.rows;
    }
    assert!(refused > 0 && refused < rows / 2, "{refused} of {rows}");
}

/// Both architectures, each way of tying, texts, exposures.
#[test]
fn a_hundred_thousand_rows_are_no_worse() {
    let cases = cases_of(|place| [0, 10, 37].contains(&place), 100_000);
    for (case, found) in compared(&cases).unwrap_or_default() {
        assert!(
            found.grown < 100,
            "{}: {} of {} rows",
            case.words,
            found.grown,
            found.rows
        );
    }
}

/// What was found of a graph: its rows, those that `predict` refuses, and those where roundings have grown.
#[derive(Default)]
struct Found {
    rows: usize,
    refused: usize,
    grown: usize,
}

/// What a graph says: how many operators `Loop` it has, bits of its numbers, labels.
type Said = (usize, Vec<u64>, Vec<String>);

/// Writes both graphs of each model, has them checked and run, and compares.
fn compared(cases: &[Case]) -> Option<Vec<(&Case, Found)>> {
    let Some(python) = std::env::var_os("LOOPFIT_ONNX_PYTHON") else {
        eprintln!("LOOPFIT_ONNX_PYTHON names no Python with ONNX Runtime: nothing was compared");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let each = cases.iter().enumerate().map(|(i, case)| {
        let files = [false, true].map(|loop_operator| {
            let options = Options {
                loop_operator,
                ..Options::default()
            };
            let name = format!("m{i}_{loop_operator}.onnx");
            let export = export(&case.model, Format::Onnx, &options).unwrap();
            let files = export.files(&at(&name)).unwrap();
            let [(path, content)] = &files[..] else {
                panic!("one file")
            };
            std::fs::write(path, content).unwrap();
            name
        });
        json!({"files": files, "columns": columns(case)})
    });
    let rows: Vec<Value> = each.collect();
    std::fs::write(at("rows.json"), Value::from(rows).to_string()).unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/rows.py");
    let done = Command::new(python)
        .arg(program)
        .arg(folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{:?}\n{told}", done.status);
    let answers = std::fs::read(at("answers.json")).unwrap();
    let answers: Vec<[Said; 2]> = serde_json::from_slice(&answers).unwrap();
    assert_eq!(answers.len(), cases.len());
    let both = cases.iter().zip(&answers).flat_map(|(case, said)| {
        let loops = case.model.parameters.network().form() != Form::Affine;
        assert_eq!(said[0].0, 0, "{}", case.words);
        assert_eq!(said[1].0, usize::from(loops), "{}", case.words);
        said.each_ref().map(|said| (case, compare(case, said)))
    });
    Some(both.collect())
}

/// Rows after the last iteration.
fn rows(case: &Case) -> impl Iterator<Item = (&Vec<Cell>, &Answer)> {
    let last = case.rows.iter().filter(|(_, t, _)| *t == 0);
    last.map(|(cells, _, answer)| (cells, answer))
}

/// Numbers by their bits, texts with nothing where they are missing.
fn columns(case: &Case) -> Vec<Value> {
    let count = rows(case).next().unwrap().0.len();
    let column = |k: usize| {
        let mut numbers = Vec::new();
        let mut texts = Vec::new();
        for (cells, _) in rows(case) {
            match &cells[k] {
                Cell::Number(v) => numbers.push(v.to_bits()),
                Cell::Text(text) => texts.push(text.clone().unwrap_or_default()),
            }
        }
        match texts.is_empty() {
            true => json!({ "numbers": numbers }),
            false => json!({ "texts": texts }),
        }
    };
    (0..count).map(column).collect()
}

/// Compares the answers of a graph with those of `predict`.
fn compare(case: &Case, (_, bits, labels): &Said) -> Found {
    let classes = case.model.preprocessing.class_names();
    let unit = match case.model.preprocessing.target() {
        Some(Target::Response { sd, .. }) => *sd,
        _ => 1.0,
    };
    let mut found = Found::default();
    let width = classes.len().max(1);
    assert_eq!(bits.len(), rows(case).count() * width, "{}", case.words);
    for (i, ((cells, answer), bits)) in rows(case).zip(bits.chunks(width)).enumerate() {
        let (label, expected) = match answer {
            Answer::Refused => ("", vec![f64::NAN; width]),
            Answer::Number(v) => ("", vec![*v]),
            Answer::Class(k, values) => (classes[*k].as_str(), values.clone()),
        };
        found.rows += 1;
        found.refused += usize::from(*answer == Answer::Refused);
        if normed_beyond_32_bits(case, cells) {
            continue;
        }
        let mut largest = 0.0f64;
        for (a, b) in bits.iter().map(|bits| f64::from_bits(*bits)).zip(&expected) {
            // Answers have 32 bits, so that the largest are infinite.
            let alike = a == *b || a == f64::from(*b as f32) || a.is_nan() && b.is_nan();
            let error = match alike {
                true => 0.0,
                false => (a - b).abs() / b.abs().max(unit),
            };
            let told = || format!("{}, {cells:?}: {a}, not {b}", case.words);
            assert!(error <= GROWN, "{}", told());
            largest = largest.max(error);
        }
        found.grown += usize::from(largest > TOLERANCE);
        let best = expected.iter().copied().fold(0.0, f64::max);
        let near = expected
            .iter()
            .filter(|p| best - **p <= 2.0 * largest.max(TOLERANCE));
        if !classes.is_empty() && near.count() < 2 {
            assert_eq!(labels[i], label, "{}: {cells:?}", case.words);
        }
    }
    found
}

/// Whether squares in a norm are infinite in 32 bits, of which runtimes make different things.
fn normed_beyond_32_bits(case: &Case, cells: &[Cell]) -> bool {
    let network = case.model.parameters.network();
    let inputs = case.model.preprocessing.inputs().iter();
    let extreme = inputs.zip(cells).any(|pair| match pair {
        (Input::Numeric { mean, sd, .. }, Cell::Number(v)) => ((v - mean) / sd).abs() > 1e15,
        _ => false,
    });
    extreme && matches!(network.architecture(), Architecture::Transformer { .. })
}
