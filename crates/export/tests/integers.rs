//! Models in integers: C has the bits of the arithmetic here, wherever it runs, and stays near the model.

mod common;
use common::programs::{WARNINGS, answers, c_program, compare, found, lines, succeeds};
use common::{Answer, Case, Cell, answer, cases, names, table};
use loopfit_data::Table;
use loopfit_export::{ExportError, Integers, Options, Width, export_integers};
use loopfit_model::Architecture;
use loopfit_numerics::stream::Stream;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const WIDTHS: [Width; 2] = [Width::Eight, Width::Sixteen];

/// Models that have a form in integers, with one, alternately of 8 and 16 bits; their files in a folder.
fn exported(folder: &Path) -> Vec<(Case, Integers)> {
    // One in two: every network with two or one of its kinds of outputs.
    let ffn = cases().into_iter().step_by(2);
    let ffn =
        ffn.filter(|case| *case.model.parameters.network().architecture() == Architecture::Ffn);
    let each = ffn.enumerate().map(|(i, case)| {
        let options = Options {
            prefix: format!("m{i}"),
            every_iteration: true,
            ..Options::default()
        };
        let width = WIDTHS[i % 2];
        let found = export_integers(&case.model, width, Some(&usual(&case)), &options).unwrap();
        let files = found.export.files(&folder.join(format!("m{i}.c"))).unwrap();
        for (path, text) in files {
            std::fs::write(path, text).unwrap();
        }
        (case, found.integers)
    });
    each.collect()
}

/// Some rows of a case whose numbers are not extreme, to choose scales by.
fn usual(case: &Case) -> Table {
    let small = |cell: &Cell| !matches!(cell, Cell::Number(v) if v.abs() > 1e5 || v.is_nan());
    let rows = case
        .rows
        .iter()
        .filter(|(_, _, answer)| *answer != Answer::Refused);
    let rows = rows.map(|(cells, _, _)| cells);
    let rows: Vec<_> = rows
        .filter(|cells| cells.iter().all(small))
        .take(32)
        .collect();
    table(&names(&case.model), &rows)
}

#[test]
fn c_has_the_bits_of_the_arithmetic_here() {
    let Some(mut compiler) = found("cc") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (cases, integers): (Vec<Case>, Vec<Integers>) = exported(folder.path()).into_iter().unzip();
    let answered = cases.iter().zip(&integers);
    let cases: Vec<Case> = answered
        .map(|(case, integers)| answered_by(case, |x| integers.predict(x)))
        .collect();
    let (all, main) = c_program(&cases);
    std::fs::write(at("all.c"), &all).unwrap();
    std::fs::write(at("main.c"), format!("{all}{main}")).unwrap();
    let flags = [
        "-std=c99",
        "-O1",
        "-fsanitize=undefined",
        "-fno-sanitize-recover=all",
        "-o",
    ];
    succeeds(
        compiler
            .args(WARNINGS)
            .args(flags)
            .arg(at("main"))
            .arg(at("main.c")),
    );
    let found_lines = answers(&mut Command::new(at("main")), lines(&cases));
    let trimmed: Vec<String> = found_lines.iter().map(|l| l.trim().to_string()).collect();
    compare(&cases, &trimmed, None);
    if let Some(mut compiler) = found("c++") {
        let flags = ["-x", "c++", "-fsyntax-only"];
        succeeds(compiler.args(WARNINGS).args(flags).arg(at("all.c")));
    }
    // The integers themselves, without a float in the whole program.
    let (text, rows, expected) = integer_program(&integers, &cases);
    std::fs::write(at("integers.c"), format!("{all}{text}")).unwrap();
    let mut compiler = Command::new("cc");
    let flags = ["-std=c99", "-O2", "-o"];
    compiler.args(WARNINGS).args(flags).arg(at("integers"));
    for i in 0..cases.len() {
        compiler.arg(format!("-DM{i}_NO_FLOAT"));
    }
    succeeds(compiler.arg(at("integers.c")));
    let found = answers(&mut Command::new(at("integers")), rows);
    assert_eq!(found, expected);
}

/// The same rows after the last iteration with the answers of another network.
fn answered_by(case: &Case, network: impl Fn(&[f32]) -> Vec<f64>) -> Case {
    let names = names(&case.model);
    let rows = case.rows.iter().filter(|(_, t, _)| *t == 0);
    let rows = rows.map(|(cells, _, _)| {
        let found = case.model.predict_by(&table(&names, &[cells]), &network);
        let answer = found.map_or(Answer::Refused, |found| answer(&found, 0));
        (cells.clone(), 0, answer)
    });
    Case {
        words: case.words.clone(),
        wild: case.wild,
        model: case.model.clone(),
        rows: rows.collect(),
    }
}

/// A program that answers lines of integers, such lines, and what is expected.
fn integer_program(integers: &[Integers], cases: &[Case]) -> (String, String, Vec<String>) {
    let (mut text, mut rows) = (
        String::from(include_str!("programs/integers.c")),
        String::new(),
    );
    let mut expected = Vec::new();
    for (i, (integers, case)) in integers.iter().zip(cases).enumerate() {
        let network = case.model.parameters.network();
        let (d, outputs) = (network.d(), network.outputs());
        let classes = !case.model.preprocessing.class_names().is_empty();
        let (call, show) = match classes {
            true => (
                format!("m{i}_predict_q_iteration(x, t, f)"),
                "printf(\"%d\", best);",
            ),
            false => (
                format!("m{i}_predict_q_iteration(x, t)"),
                "f[0] = (m_q)best;",
            ),
        };
        let (show, last) = (
            show.replace("m_q", &format!("m{i}_q")),
            match classes {
                true => format!("m{i}_predict_q(x, 0)"),
                false => format!("m{i}_predict_q(x)"),
            },
        );
        write!(
            text,
            "static void run_{i}(char **cells, int t) {{\n    m{i}_q x[{d}], f[{outputs}];\n    int k; long best;\n    \
             for (k = 0; k < {d}; k++) x[k] = (m{i}_q)strtol(cells[k], 0, 10);\n    best = {call};\n    \
             if (t == M{i}_ITERATIONS && best != {last}) exit(1);\n    {}\n    \
             for (k = 0; k < {outputs}; k++) printf(\" %ld\", (long)f[k]);\n    putchar('\\n');\n}}\n",
            show.replace("%d", "%ld"),
        )
        .unwrap();
        let limit: i64 = match integers.width() {
            Width::Eight => 1 << 22,
            Width::Sixteen => 1 << 23,
        };
        let stream = Stream::new(i as u64);
        for row in 0..40 {
            // From usual to all that a C program can pass.
            let size = limit >> (row % 5);
            let value =
                |k: usize| stream.nth(row).below(k as u64, 2 * size as u64 + 1) as i64 - size;
            let x: Vec<i32> = (0..d).map(|k| value(k) as i32).collect();
            let t = 1 + row as usize % network.tying().iterations();
            let f = integers.run(&x, t);
            let cells: Vec<String> = x.iter().map(i32::to_string).collect();
            writeln!(rows, "{i} {t} {}", cells.join(" ")).unwrap();
            let outputs: Vec<String> = f.iter().map(|v| format!(" {v}")).collect();
            let best = match classes {
                true => {
                    let logits: Vec<f64> = f.iter().map(|v| f64::from(*v)).collect();
                    loopfit_fitted::most_likely(&logits).to_string()
                }
                false => String::new(),
            };
            expected.push(format!("{best}{}", outputs.concat()));
        }
    }
    let calls: String = (0..integers.len()).map(|i| format!("run_{i}, ")).collect();
    text += &format!("static void (*const runs[])(char **, int) = {{{calls}}};\n");
    text += include_str!("programs/rows_end.c");
    (text, rows, expected)
}

/// Untrained networks on rows that are drawn: 16 bits are nearer than 8, and both are near.
#[test]
fn outputs_stay_near() {
    let mut sums = [0.0, 0.0];
    for case in cases().into_iter().step_by(4) {
        let model = &case.model;
        if *model.parameters.network().architecture() != Architecture::Ffn {
            let refused = export_integers(model, Width::Eight, None, &Options::default());
            assert!(matches!(refused, Err(ExportError::Transformer)));
            continue;
        }
        let rms = WIDTHS.map(|width| {
            let found =
                export_integers(model, width, Some(&usual(&case)), &Options::default()).unwrap();
            let loss = found.loss;
            assert!(loss.rms <= loss.largest && loss.from_table && loss.scores.is_none());
            assert!(
                loss.rms < 1.5 * loss.rms_of_nearest + 1e-3,
                "{}: {loss:?}",
                case.words
            );
            loss.rms
        });
        sums[0] += rms[0];
        sums[1] += rms[1];
    }
    assert!(sums[1] < 0.05 * sums[0], "{sums:?}");
}
