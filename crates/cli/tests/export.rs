//! Models as source code: what is written, what is said, what is refused.
#![allow(clippy::print_stderr)] // says what is left out

mod common;
use common::{Place, regression_csv};
use std::process::Command;

fn fitted() -> Place {
    let place = Place::new();
    place.write("data.csv", regression_csv(120));
    place.ok("fit data.csv --target y --budget 60 --updates 320 --shape loop=2,3,3 --method loop -o m.safetensors");
    place
}

#[test]
fn files_are_whole_and_sizes_are_told() {
    let place = fitted();
    let text = place.ok("export m.safetensors --to c --name pump -o pump.c");
    assert!(
        text.contains("bytes of tables") && text.contains("multiply-adds"),
        "{text}"
    );
    let header = String::from_utf8(place.read("pump.h")).unwrap();
    assert!(
        header.contains("double pump_evaluate(const pump_input *input);"),
        "{header}"
    );
    let one = place.ok("export m.safetensors --to c --name pump");
    assert!(one.starts_with(&header) && one.contains("pump_network"));
    place.ok("export m.safetensors --to rust -o model.rs");
    place.ok("export m.safetensors --to js -o model.mjs");
    let text = place.ok("export m.safetensors --to onnx --loop -o model.onnx");
    assert!(
        text.contains("bytes, ") && text.contains("multiply-adds"),
        "{text}"
    );
    // What no person reads goes to a pipe as it is.
    let piped = place.run("export m.safetensors --to onnx --loop").stdout;
    assert_eq!(piped, place.read("model.onnx"));
    place.ok("export m.safetensors --to html -o model.html");
    let files = [
        "data.csv",
        "m.safetensors",
        "model.html",
        "model.mjs",
        "model.onnx",
        "model.rs",
        "pump.c",
        "pump.h",
    ];
    assert_eq!(place.files(), files);
}

/// Rows without a target say how far inputs reach, and are not scored.
#[test]
fn integers_of_rows_without_a_target() {
    let place = fitted();
    let table = regression_csv(120);
    let mut lines: Vec<&str> = table.lines().collect();
    let without = lines[5].rsplit_once(',').unwrap().0.to_string() + ",";
    lines[5] = &without;
    place.write("some.csv", lines.join("\n"));
    let said = place.ok("export m.safetensors --to c --int 16 --calibrate some.csv -o some.c");
    assert!(said.contains("120 rows"), "{said}");
}

/// A fitted model in C says what `predict` says, bit for bit.
#[test]
fn a_fitted_model_predicts_in_c() {
    if !Command::new("cc")
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success())
    {
        eprintln!("cc is not there: nothing was compared");
        return;
    }
    let place = fitted();
    place.ok("export m.safetensors --to c -o model.c");
    let program = r#"
#include "model.c"
#include <stdio.h>
int main(void) {
    model_input in;
    char kind[16];
    double y;
    while (scanf("%lf,%lf,%15[a-z],%lf", &in.a, &in.b, kind, &y) == 4) {
        in.kind = model_find_kind(kind);
        printf("%.17g\n", model_evaluate(&in));
    }
    return 0;
}
"#;
    place.write("main.c", program);
    let compiled = Command::new("cc")
        .args(["-std=c99", "-O2", "-o"])
        .arg(place.path("main"))
        .arg(place.path("main.c"))
        .output();
    let compiled = compiled.unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let data = String::from_utf8(place.read("data.csv")).unwrap();
    place.write("rows.txt", data.split_once('\n').unwrap().1);
    let rows = std::fs::File::open(place.path("rows.txt")).unwrap();
    let output = Command::new(place.path("main"))
        .stdin(rows)
        .output()
        .unwrap();
    let numbers = |text: &str| {
        text.lines()
            .map(|l| l.parse::<f64>().unwrap())
            .collect::<Vec<f64>>()
    };
    let found = numbers(&String::from_utf8(output.stdout).unwrap());
    let csv = place.ok("predict m.safetensors data.csv");
    assert_eq!(found, numbers(csv.split_once('\n').unwrap().1));
}

/// The same files with a network of integers, and what that costs.
#[test]
fn integers_say_what_they_cost() {
    let place = fitted();
    let text =
        place.ok("export m.safetensors --to c --int 8 --calibrate data.csv --name pump -o pump.c");
    for words in ["weights of 8 bits", "on 120 rows", "MSE", "of the model"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let header = String::from_utf8(place.read("pump.h")).unwrap();
    assert!(header.contains("int32_t pump_predict_q(const pump_q *x);"));
    assert!(header.contains("#define PUMP_STEP_a ") && header.contains("PUMP_NO_FLOAT"));
    let text = place.ok("export m.safetensors --to c --int 16 -o m.c");
    assert!(
        text.contains("1,024 rows drawn from what the model knows"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_exported() {
    let place = fitted();
    place.write("m.c", "");
    place.all_refused(&[
        (
            "export m.safetensors --to fortran",
            2,
            &["c", "rust", "js", "onnx"],
        ),
        ("export m.safetensors", 2, &["--to"]),
        (
            "export m.safetensors --to c --name 2x",
            2,
            &["`2x` cannot begin names", "--name"],
        ),
        (
            "export m.safetensors --to js --name a",
            2,
            &["--name is for --to c"],
        ),
        (
            "export m.safetensors --to rust --int 8",
            2,
            &["--int is for --to c"],
        ),
        ("export m.safetensors --to c --int 12", 2, &["8", "16"]),
        (
            "export m.safetensors --to c --calibrate data.csv",
            2,
            &["--int"],
        ),
        (
            "export m.safetensors --to c --int 8 --seed 3",
            2,
            &["--seed says how the rows of --calibrate are read"],
        ),
        (
            "export m.safetensors --to js --header no",
            2,
            &["--header says how the rows of --calibrate are read"],
        ),
        (
            "export m.safetensors --to html --data-dir data",
            2,
            &["--data-dir says how"],
        ),
        (
            "export m.safetensors --to rust --size",
            2,
            &["--size is for --to c"],
        ),
        (
            "export m.safetensors --to js --loop",
            2,
            &["--loop is for --to onnx"],
        ),
        (
            "export m.safetensors --to onnx --json",
            2,
            &["makes a binary file: name it with -o"],
        ),
        (
            "export m.safetensors --to onnx --every-iteration -o m.onnx",
            2,
            &["export to c, rust or js", "--to"],
        ),
        (
            "export m.safetensors --to c -o m.rs",
            2,
            &["m.rs does not end in .c"],
        ),
        (
            "export m.safetensors --to c -o m.safetensors",
            2,
            &["does not end in .c"],
        ),
        ("export data.csv --to c", 3, &["data.csv", "safetensors"]),
        ("export none --to c", 3, &["none"]),
        ("export m.safetensors --to c -o none/m.c", 3, &["create it"]),
    ]);
    assert_eq!(place.files(), ["data.csv", "m.c", "m.safetensors"]);
}
