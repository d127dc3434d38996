//! Programs that answer rows, and what they are compared with.
#![allow(clippy::print_stderr)]

use super::{Answer, Case, Cell};
use loopfit_export::{Description, identifiers};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The identifiers of a model's columns, and which of them are texts.
pub(crate) fn fields(case: &Case, prefix: &str) -> Vec<(String, bool)> {
    let d = Description::new(&case.model, false).unwrap();
    let names = identifiers(&d.names(), prefix);
    let text = |k: usize| {
        d.columns
            .get(k)
            .is_some_and(|c| c.reading.categories().is_some())
    };
    names
        .into_iter()
        .enumerate()
        .map(|(k, name)| (name, text(k)))
        .collect()
}

pub(crate) fn is_numeric(fields: &[(String, bool)]) -> bool {
    !fields.iter().any(|(_, text)| *text)
}

pub(crate) fn classes(case: &Case) -> usize {
    case.model.preprocessing.class_names().len()
}

/// One line for each row: model, iteration, numbers by their bits, texts by their bytes.
pub(crate) fn lines(cases: &[Case]) -> String {
    let mut text = String::new();
    for (i, case) in cases.iter().enumerate() {
        for (cells, t, _) in &case.rows {
            write!(text, "{i} {t}").unwrap();
            for cell in cells {
                match cell {
                    Cell::Number(v) => write!(text, " {:016x}", v.to_bits()).unwrap(),
                    Cell::Text(None) => text.push_str(" -"),
                    Cell::Text(Some(value)) => {
                        text.push_str(" t");
                        value.bytes().for_each(|b| write!(text, "{b:02x}").unwrap());
                    }
                }
            }
            text.push('\n');
        }
    }
    text
}

/// Runs a program on lines: its own, one for each.
pub(crate) fn answers(program: &mut Command, lines: String) -> Vec<String> {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_string).collect()
}

/// Compares lines of numbers, a class first, with what `predict` says: bit for bit unless a tolerance is given.
pub(crate) fn compare(cases: &[Case], lines: &[String], tolerance: Option<f64>) {
    let rows = cases
        .iter()
        .flat_map(|case| case.rows.iter().map(move |row| (case, row)));
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), lines.len());
    let (mut refused, mut same) = (0, 0);
    for ((case, (cells, t, answer)), line) in rows.iter().zip(lines) {
        let mut words = line.split(' ');
        let class = (classes(case) > 0).then(|| words.next().unwrap().parse::<i64>().unwrap());
        let found: Vec<f64> = words
            .map(|word| f64::from_bits(u64::from_str_radix(word, 16).unwrap()))
            .collect();
        let (expected_class, expected) = match answer {
            Answer::Refused => (-1, vec![f64::NAN; classes(case).max(1)]),
            Answer::Number(v) => (-1, vec![*v]),
            Answer::Class(k, values) => (*k as i64, values.clone()),
        };
        refused += usize::from(*answer == Answer::Refused);
        let told = || {
            format!(
                "{}, {cells:?} after {t}: {found:?}, not {expected:?}",
                case.words
            )
        };
        assert!(
            class.is_none_or(|class| class == expected_class),
            "{}: class {class:?}",
            told()
        );
        assert_eq!(found.len(), expected.len(), "{}", told());
        for (a, b) in found.iter().zip(&expected) {
            let alike = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            let near = tolerance.is_some_and(|most| (a - b).abs() <= most * b.abs().max(1.0));
            assert!(alike || near, "{}", told());
            same += usize::from(alike);
        }
    }
    assert!(
        refused > 0 && refused < rows.len() / 2,
        "{refused} of {} rows",
        rows.len()
    );
    assert!(same > rows.len() / 2);
}

/// A compiler or interpreter, if the machine has it.
pub(crate) fn found(name: &str) -> Option<Command> {
    let there = Command::new(name)
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("{name} is not there: nothing was compared");
    }
    there.then(|| Command::new(name))
}

pub(crate) fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{told}");
    assert!(output.stderr.is_empty(), "{command:?}\n{told}");
}

pub(crate) const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// All models of C files in one, and a program that answers lines by them.
pub(crate) fn c_program(cases: &[Case]) -> (String, String) {
    let mut all = String::new();
    for i in 0..cases.len() {
        writeln!(all, "#include \"m{i}.c\"").unwrap();
    }
    let mut main = String::from(include_str!("../programs/rows.c"));
    for (i, case) in cases.iter().enumerate() {
        let fields = fields(case, &format!("m{i}"));
        let k = classes(case);
        write!(
            main,
            "static void run_{i}(char **cells, int t) {{\n    m{i}_input in;\n"
        )
        .unwrap();
        for (c, (field, text)) in fields.iter().enumerate() {
            match text {
                true => writeln!(
                    main,
                    "    in.{field} = m{i}_find_{field}(text(cells[{c}]));"
                )
                .unwrap(),
                false => writeln!(main, "    in.{field} = number(cells[{c}]);").unwrap(),
            }
        }
        let numbers: Vec<String> = (0..fields.len())
            .map(|c| format!("(float)number(cells[{c}])"))
            .collect();
        let x = format!("    {{ const float x[] = {{{}}};\n", numbers.join(", "));
        if k > 0 {
            let line = format!(
                "    double p[{k}]; int best = t ? m{i}_classify_iteration(&in, t, p) : m{i}_classify(&in, p); int k;\n    \
                 printf(\"%d\", best); for (k = 0; k < {k}; k++) show(p[k]);\n"
            );
            main += &line;
            if is_numeric(&fields) {
                main += &x;
                let line = format!(
                    "    float q[{k}]; same(best == (t ? m{i}_predict_iteration(x, t, q) : m{i}_predict(x, q)));\n    \
                     for (k = 0; k < {k}; k++) same_float((float)p[k], q[k]); }}\n"
                );
                main += &line;
            }
        } else {
            let line = format!(
                "    double y = t ? m{i}_evaluate_iteration(&in, t) : m{i}_evaluate(&in);\n    show(y);\n"
            );
            main += &line;
            if is_numeric(&fields) {
                main += &x;
                let line = format!(
                    "    same_float((float)y, t ? m{i}_predict_iteration(x, t) : m{i}_predict(x)); }}\n"
                );
                main += &line;
            }
        }
        main += "    putchar('\\n');\n}\n";
    }
    let calls: String = (0..cases.len()).map(|i| format!("run_{i}, ")).collect();
    main += &format!("static void (*const runs[])(char **, int) = {{{calls}}};\n");
    main += include_str!("../programs/rows_end.c");
    (all, main)
}
