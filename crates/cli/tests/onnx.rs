//! Fitted models in ONNX Runtime say what `loopfit predict` says. `cargo xtask test --export` names a Python that has it by
//! `LOOPFIT_ONNX_PYTHON`.
#![allow(clippy::print_stderr)] // says what is left out

mod common;
use common::{Place, regression_csv};
use std::ffi::OsString;
use std::process::Command;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/onnx_table.py");

/// A number far from zero, two that are not, a text, missing cells, and targets of every kind.
fn table(rows: usize) -> String {
    let mut csv = "a,far out,kind,days,y,label,digit,n\n".to_string();
    for i in 0..rows {
        let part = |k: usize, m: usize| (i * k % m) as f64 / m as f64;
        let (a, b, days) = (part(3701, 10_007), part(5309, 9_973), 0.25 + part(29, 97));
        let kind = ["red", "green", "blue"][i % 3];
        let shift = (i % 3) as f64 * a;
        let y = 1e5 + 3.0 * a * a - 2.0 * b + shift + 0.1 * part(61, 89);
        let label = ["low", "middle", "high"][((a * a + 0.1 * part(43, 83)) * 2.7) as usize];
        let digit = usize::from(a + 0.4 * part(71, 79) > 0.7);
        let n = (days * (3.0 * a + 2.0 * part(67, 73))).round();
        let far = match i % 31 {
            0 => String::new(),
            _ => (101_325.0 + 800.0 * b).to_string(),
        };
        let kind = if i % 37 == 0 { "" } else { kind };
        csv += &format!("{a},{far},{kind},{days},{y},{label},{digit},{n}\n");
    }
    csv
}

#[test]
fn fitted_models_predict_in_onnx_runtime() {
    let Some(python) = python() else {
        return;
    };
    let place = Place::new();
    place.write("data.csv", table(400));
    place.write("rows.csv", table(100_000));
    // Of the whole search and of short ones.
    let fits = [
        "--target y --ignore label,digit,n,days --budget 32 --effort quick",
        "--target y --ignore label,digit,n,days,kind --budget 128 --shape loop=4,11,16 --method loop --updates 640",
        "--target y --ignore label,digit,n,days,kind --budget 128 --arch transformer --method loop --updates 640",
        "--target label --ignore y,digit,n,days --budget 64 --method untied --updates 640",
        "--target digit --task binary --ignore y,label,n,days,kind --budget 32 --method loop --updates 640",
        "--target n --likelihood poisson --exposure days --ignore y,label,digit,kind --budget 16 --effort quick",
        "--task density --ignore y,label,digit,n,days,kind --budget 48 --method single --updates 640",
    ];
    for fit in fits {
        place.ok(&format!("fit data.csv {fit} -o m.safetensors"));
        place.ok("predict m.safetensors rows.csv -o predictions.csv");
        place.ok("export m.safetensors --to onnx -o m.onnx");
        place.ok("export m.safetensors --to onnx --loop -o loop.onnx");
        let files = ["rows.csv", "predictions.csv", "m.onnx", "loop.onnx"];
        let mut program = Command::new(&python);
        program
            .arg(PROGRAM)
            .args(files.map(|name| place.path(name)));
        let told = succeeds(&mut program);
        let errors: Vec<f64> = told.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(errors.len(), 2, "{told}");
        eprintln!("{errors:?} {fit}");
        assert!(errors.iter().all(|error| *error <= 1e-5), "{fit}: {told}");
    }
}

/// The examples of the page on exports print what `predict` says.
#[test]
fn examples_of_the_page_can_be_pasted() {
    let Some(python) = python() else {
        return;
    };
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/export.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```python\n").skip(1);
    let blocks: Vec<&str> = blocks.map(|b| b.split("```").next().unwrap()).collect();
    let place = Place::new();
    let short = "--method loop --shape loop=2,3,3 --updates 320";
    let numbers: String = regression_csv(60)
        .lines()
        .map(|line| line.replace(",kind", "").replace(",red", "") + "\n")
        .filter(|line| !line.contains("green") && !line.contains("blue"))
        .collect();
    place.write("data.csv", numbers);
    place.write("texts.csv", regression_csv(60));
    assert_eq!(blocks.len(), 2);
    for (block, name) in blocks.iter().zip(["data", "texts"]) {
        place.ok(&format!(
            "fit {name}.csv --target y --budget 40 {short} -o m.safetensors"
        ));
        let model = if name == "data" { "model" } else { name };
        place.ok(&format!("export m.safetensors --to onnx -o {model}.onnx"));
        place.write("example.py", block);
        let mut program = Command::new(&python);
        program.arg("example.py").current_dir(place.path(""));
        let told = succeeds(&mut program).replace(['[', ']'], " ");
        let found: Vec<f64> = told
            .split_whitespace()
            .map(|v| v.parse().unwrap())
            .collect();
        let csv = place.ok(&format!("predict m.safetensors {name}.csv"));
        let expected = csv.lines().skip(1).map(|line| line.parse::<f64>().unwrap());
        assert_eq!(found.len(), 5, "{told}");
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-4),
            "{told}{csv}"
        );
    }
}

/// What a program prints if all goes well.
fn succeeds(program: &mut Command) -> String {
    let done = program.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program:?}: {told}");
    String::from_utf8(done.stdout).unwrap()
}

/// The Python that has ONNX Runtime.
fn python() -> Option<OsString> {
    let python = std::env::var_os("LOOPFIT_ONNX_PYTHON");
    if python.is_none() {
        eprintln!("LOOPFIT_ONNX_PYTHON names no Python with ONNX Runtime: nothing was compared");
    }
    python
}
