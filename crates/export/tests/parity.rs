//! Programs of every language say of every row what `predict` says.
#![allow(clippy::print_stderr)] // says what is left out

mod common;
use common::programs::{
    WARNINGS, answers, c_program, classes, compare, fields, found, lines, succeeds,
};
use common::{Case, cases};
use loopfit_export::{Export, Format, Options, export};
use loopfit_model::Architecture;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// All models in a format, with their files in a folder.
fn exported(cases: &[Case], format: Format, folder: &Path) -> Vec<Export> {
    let each = cases.iter().enumerate().map(|(i, case)| {
        let options = Options {
            prefix: format!("m{i}"),
            every_iteration: true,
            ..Options::default()
        };
        let export = export(&case.model, format, &options).unwrap();
        let extension = if format == Format::JavaScript {
            "mjs"
        } else {
            format.extension()
        };
        for (path, content) in export
            .files(&folder.join(format!("m{i}.{extension}")))
            .unwrap()
        {
            std::fs::write(path, content).unwrap();
        }
        export
    });
    each.collect()
}

#[test]
fn c_has_the_bits_of_predict() {
    if found("cc").is_none() {
        return;
    }
    let cases = cases();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (case, export) in cases.iter().zip(exported(&cases, Format::C, folder.path())) {
        let network = case.model.parameters.network();
        let roots = matches!(network.architecture(), Architecture::Transformer { .. });
        let text = export.body.text().unwrap();
        assert_eq!(text.contains("math.h"), roots, "{network}");
    }
    let (all, main) = c_program(&cases);
    std::fs::write(at("all.c"), &all).unwrap();
    std::fs::write(at("main.c"), format!("{all}{main}")).unwrap();
    // With multiply-adds of the file itself, and with those of the processor where it has them.
    let mut ways = vec![&[][..]];
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("fma") {
        ways.push(&["-mfma"]);
    }
    for way in ways {
        let mut compiler = found("cc").unwrap();
        succeeds(
            compiler
                .args(WARNINGS)
                .args(["-std=c99", "-O1", "-o"])
                .arg(at("main"))
                .args(way)
                .arg(at("main.c"))
                .arg("-lm"),
        );
        let lines = answers(&mut Command::new(at("main")), lines(&cases));
        let lines: Vec<String> = lines.iter().map(|line| line.trim().to_string()).collect();
        compare(&cases, &lines, None);
    }
    if let Some(mut compiler) = found("c++") {
        succeeds(
            compiler
                .args(WARNINGS)
                .args(["-x", "c++", "-fsyntax-only"])
                .arg(at("all.c")),
        );
    }
}

#[test]
fn rust_has_the_bits_of_predict() {
    let Some(mut library) = found("rustc") else {
        return;
    };
    let cases = cases();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    exported(&cases, Format::Rust, folder.path());
    let mut all = String::from("#![no_std]\n#![deny(warnings)]\n");
    let mut main = String::from(include_str!("programs/rows.rs"));
    for (i, case) in cases.iter().enumerate() {
        writeln!(all, "pub mod m{i};").unwrap();
        let fields = fields(case, "model");
        let set: String = fields
            .iter()
            .enumerate()
            .map(|(c, (field, text))| match text {
                true => format!("{field}: text(cells[{c}]).as_deref(), "),
                false => format!("{field}: number(cells[{c}]), "),
            })
            .collect();
        // Texts live as long as the expression that they are in.
        let call = format!(
            "if t == 0 {{ m{i}::predict(&m{i}::Input {{ {set} }}) }} else {{ m{i}::predict_iteration(&m{i}::Input {{ {set} }}, t) }}"
        );
        let k = classes(case);
        match k {
            0 => writeln!(
                main,
                "fn run_{i}(cells: &[&str], t: usize) {{ show(&[{call}]) }}"
            )
            .unwrap(),
            _ => writeln!(
                main,
                "fn run_{i}(cells: &[&str], t: usize) {{ class({call}) }}"
            )
            .unwrap(),
        }
    }
    let calls: String = (0..cases.len()).map(|i| format!("run_{i}, ")).collect();
    writeln!(
        main,
        "const RUNS: [fn(&[&str], usize); {}] = [{calls}];",
        cases.len()
    )
    .unwrap();
    std::fs::write(at("lib.rs"), all).unwrap();
    std::fs::write(at("main.rs"), main).unwrap();
    let edition = ["--edition=2021", "-Copt-level=1"];
    succeeds(
        library
            .args(edition)
            .args(["--crate-type=rlib", "--crate-name=models"])
            .arg("-o")
            .arg(at("libmodels.rlib"))
            .arg(at("lib.rs")),
    );
    let models = format!("models={}", at("libmodels.rlib").display());
    succeeds(
        Command::new("rustc")
            .args(edition)
            .arg("--extern")
            .arg(models)
            .arg("-o")
            .arg(at("main"))
            .arg(at("main.rs")),
    );
    compare(
        &cases,
        &answers(&mut Command::new(at("main")), lines(&cases)),
        None,
    );
}

#[test]
fn javascript_says_what_predict_says() {
    let Some(mut node) = found("node") else {
        return;
    };
    let cases = cases();
    let folder = tempfile::tempdir().unwrap();
    exported(&cases, Format::JavaScript, folder.path());
    let modules: String = (0..cases.len())
        .map(|i| format!("import * as m{i} from \"./m{i}.mjs\";\n"))
        .collect();
    let list: Vec<String> = (0..cases.len()).map(|i| format!("m{i}")).collect();
    let main = format!(
        "{modules}const models = [{}];\n{}",
        list.join(", "),
        include_str!("programs/rows.mjs")
    );
    std::fs::write(folder.path().join("main.mjs"), main).unwrap();
    let lines = answers(node.arg(folder.path().join("main.mjs")), lines(&cases));
    compare(&cases, &lines, Some(1e-9));
}
