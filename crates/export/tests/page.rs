//! Pages in a browser show what `predict` says, whatever columns are called, and ask for nothing outside themselves.

#![allow(clippy::print_stderr, reason = "a test says what it skips")]

mod common;
use common::programs::found;
use common::{Answer, Case, Cell, cases};
use loopfit_export::{Description, Format, Options, Output, export};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Rows of each model that a browser is shown: after the last iteration, and after others.
const LAST: usize = 3;
const EARLIER: usize = 1;

fn page(case: &Case) -> String {
    let page = export(&case.model, Format::Html, &Options::default()).unwrap();
    page.single().text().unwrap().to_string()
}

/// What a person can put into the inputs of a page; not texts that are no category, and no infinite numbers.
fn cells(case: &Case, cells: &[Cell]) -> Option<Vec<Value>> {
    let d = Description::new(&case.model, false).unwrap();
    let cell = |(k, cell): (usize, &Cell)| match cell {
        Cell::Number(v) if v.is_nan() => Some(Value::Null),
        Cell::Number(v) => v.is_finite().then(|| json!(format!("{v:?}"))),
        Cell::Text(None) => Some(Value::Null),
        Cell::Text(Some(text)) => {
            let categories = d.columns[k].reading.categories()?;
            categories.iter().position(|c| c == text).map(|i| json!(i))
        }
    };
    cells.iter().enumerate().map(cell).collect()
}

/// Rows for a page with their answers.
fn rows(case: &Case) -> Vec<(Value, &Answer)> {
    let good = case.rows.iter().filter_map(|(row, t, answer)| {
        let names = case.model.preprocessing.class_names();
        let mut value = json!({"cells": cells(case, row)?, "t": t});
        if !names.is_empty() {
            value["label"] = match answer {
                Answer::Class(k, _) => json!(names[*k]),
                _ => Value::Null,
            };
        }
        Some((value, answer))
    });
    let (last, earlier): (Vec<_>, Vec<_>) = good.partition(|(value, _)| value["t"] == 0);
    let refused = last.iter().filter(|(_, a)| **a == Answer::Refused).take(1);
    let answered = last.iter().filter(|(_, a)| **a != Answer::Refused);
    let some = answered.take(LAST).chain(refused);
    some.chain(earlier.iter().take(EARLIER)).cloned().collect()
}

fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let there = |name: &&'static str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|o| o.status.success())
    };
    let name = names.into_iter().find(there);
    if name.is_none() {
        eprintln!("no Chromium is there: no page was shown");
    }
    name
}

/// What pages tell once a browser has shown them: rows and problems of each.
fn shown(browser: &str, folder: &Path) -> Vec<Vec<String>> {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args(["--virtual-time-budget=30000", "--dump-dom", &profile])
        .arg(format!("file://{}", folder.join("frames.html").display()))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, told) = text
        .split_once("<pre id=\"all\">")
        .unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let (told, _) = told.split_once("</pre>").unwrap();
    let lines = |page: &str| page.lines().map(str::to_string).collect();
    told.trim_start()
        .split_terminator("end\n")
        .map(lines)
        .collect()
}

#[test]
fn a_browser_shows_what_predict_says() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    for (i, case) in cases.iter().enumerate() {
        let asked: Vec<Value> = rows(case).into_iter().map(|(value, _)| value).collect();
        // A literal of JSON may hold the end of a script.
        let asked = json!(asked).to_string().replace('<', "\\u003c");
        let page = page(case)
            .replacen(
                "<head>",
                &format!(
                    "<head><script>{}</script>",
                    include_str!("programs/page_errors.js")
                ),
                1,
            )
            .replace(
                "</body>",
                &format!(
                    "<script>const rows = {asked};\n{}</script></body>",
                    include_str!("programs/page_rows.js")
                ),
            );
        std::fs::write(folder.path().join(format!("page{i}.html")), page).unwrap();
    }
    let frames = format!("<script>const pages = {};</script>", cases.len());
    let frames = include_str!("programs/page_frames.html").replacen(
        "<iframe",
        &format!("{frames}\n<iframe"),
        1,
    );
    std::fs::write(folder.path().join("frames.html"), frames).unwrap();
    let pages = shown(browser, folder.path());
    assert_eq!(pages.len(), cases.len());
    let mut compared = 0;
    for (case, told) in cases.iter().zip(&pages) {
        let answers = rows(case);
        let problems = told.iter().filter(|line| line.starts_with("problem"));
        assert_eq!(problems.count(), 0, "{}: {told:?}", case.words);
        assert_eq!(told.len(), answers.len(), "{}", case.words);
        for (line, (value, answer)) in told.iter().zip(&answers) {
            let found = line.split(' ').skip(1).filter(|word| !word.is_empty());
            let found: Vec<f64> = found.map(number).collect();
            let classes = case.model.preprocessing.class_names().len();
            let expected = match answer {
                Answer::Refused => vec![f64::NAN; classes.max(1)],
                Answer::Number(v) => vec![*v],
                Answer::Class(_, values) => values.clone(),
            };
            // Of an earlier iteration, classes have their label alone.
            if classes > 0 && found.is_empty() && value["t"] != 0 {
                continue;
            }
            let told = || format!("{}, {value}: {found:?}, not {expected:?}", case.words);
            assert_eq!(found.len(), expected.len(), "{}", told());
            for (a, b) in found.iter().zip(&expected) {
                let alike = a == b || a.is_nan() && b.is_nan();
                let near = (a - b).abs() <= 1e-6 * b.abs().max(1.0);
                assert!(alike || near, "{}", told());
                compared += 1;
            }
        }
    }
    assert!(compared > 3 * cases.len());
}

/// A loop of numbers and categories, by the keyboard of a browser alone, in both schemes, and on paper.
#[test]
fn a_page_needs_no_mouse_and_can_be_printed() {
    let Some(browser) = browser() else { return };
    if found("node").is_none() {
        return;
    }
    let is_told = |case: &&Case| {
        let d = Description::new(&case.model, true).unwrap();
        let texts = d
            .columns
            .iter()
            .filter(|c| c.reading.categories().is_some());
        let texts = texts.count();
        // One that is not held to a range, so that a slider shows.
        let held = matches!(d.output, Output::Response { range: Some(_), .. });
        !held && d.network.iterations > 1 && texts > 0 && texts < d.columns.len()
    };
    let cases = cases();
    let case = cases.iter().find(is_told).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("page.html"), page(case)).unwrap();
    std::fs::write(at("keys.mjs"), include_str!("programs/page_keys.mjs")).unwrap();
    let mut node = Command::new("node");
    node.arg(at("keys.mjs")).arg(browser);
    let output = node
        .args([at("profile"), at("page.html")])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let text = told.to_string();
    // Every control is reached, in the order of the page, and shows that it is.
    let operated = told["operated"].as_u64().unwrap();
    let in_order: Vec<u64> = (0..operated).collect();
    assert!(operated > 6, "{text}");
    assert_eq!(told["reached"], json!(in_order), "{text}");
    assert_eq!(told["marked"], json!(true), "{text}");
    // And does what it is for.
    let differ = |key: &str| told[key][0] != told[key][1];
    for key in ["slider", "step", "select", "typical"] {
        assert!(differ(key), "{key}: {text}");
    }
    assert_ne!(told["before"], told["after"], "{text}");
    let t = case.model.parameters.network().tying().iterations();
    let of = |shown: usize| format!("{shown} of {t}");
    assert_eq!(told["iteration"], json!([of(t), of(1)]), "{text}");
    let early = told["early"].as_str().unwrap();
    assert!(
        early.ends_with(&format!(" after {} iterations", of(1))),
        "{text}"
    );
    assert_eq!(told["play"], json!(["Play", "Pause"]), "{text}");
    assert_eq!(told["played"], json!(of(t)), "{text}");
    // Texts have the contrast that WCAG 2 asks for, AA; paper is white even where the screen is dark.
    let papers = [("light", true), ("dark", false), ("print", true)];
    for (scheme, white) in papers {
        let scheme = &told["schemes"][scheme];
        assert_eq!(scheme["paper"] == json!("rgb(255, 255, 255)"), white);
        for (of, contrast) in scheme["contrasts"].as_object().unwrap() {
            assert!(contrast.as_f64().unwrap() >= 4.5, "{of}: {scheme}");
        }
    }
    // Paper has no controls, nothing beside its edge, and the screen comes back.
    assert_eq!(told["printed"]["controls"], json!(0), "{text}");
    assert_eq!(told["printed"]["wide"], json!(0), "{text}");
    let pages = told["printed"]["pages"].as_u64().unwrap();
    assert!((1..=8).contains(&pages), "{text}");
    assert!(told["width"].as_f64().unwrap() <= 1.0, "{text}");
    assert_eq!(told["problems"], json!([]), "{text}");
}

/// A number as JavaScript writes it.
fn number(word: &str) -> f64 {
    match word {
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        word => word.parse().unwrap(),
    }
}

#[test]
fn a_page_asks_for_nothing_and_names_stay_text() {
    for case in &cases() {
        let page = page(case);
        let own = page.replace("http://www.w3.org/2000/svg", "");
        for outside in [
            "http:", "https:", "url(", "@import", " src=", "fetch(", "import(",
        ] {
            assert!(!own.contains(outside), "{outside} in {}", case.words);
        }
        assert_eq!(own.matches("<script").count(), 1, "{}", case.words);
        assert_eq!(own.matches("</script").count(), 1, "{}", case.words);
        assert!(!own.contains("<!--") && !own.contains("{{"));
        assert!(!own.contains('\u{202e}'), "{}", case.words);
    }
}
