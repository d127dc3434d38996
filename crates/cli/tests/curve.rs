//! The error against the cap, from the table to the answer.

mod common;
use common::{Place, regression_csv};
use serde_json::Value;

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("{v} is not a number"))
}

#[test]
fn a_curve_answers_how_many_numbers_are_needed() {
    let place = Place::new();
    place.write("data.csv", regression_csv(120));
    let arguments = "curve data.csv --target y --caps 3,6,12 --activation relu --plot c.svg";
    let v = place.json(&format!("{arguments} --threads 1"));
    assert_eq!(
        (&v["task"], &v["error"]),
        (&"regression".into(), &"MSE".into())
    );
    assert_eq!(
        (&v["selection"]["rows"], &v["test_rows"]),
        (&120.into(), &0.into())
    );
    let points = v["points"].as_array().unwrap();
    let caps: Vec<u64> = points.iter().map(|p| p["cap"].as_u64().unwrap()).collect();
    assert_eq!(caps, [3, 6, 12]);
    let mut before = f64::INFINITY;
    for point in points {
        let best = &point["best"];
        assert!(best["count"].as_u64() <= point["cap"].as_u64());
        assert!(number(&best["validation"]) <= before);
        before = number(&best["validation"]);
        assert!(number(&best["validation_se"]) > 0.0 && best["test"].is_null());
        assert!(number(&best["validation"]) <= number(&point["linear"]["validation"]));
        assert!(!point["selected"].as_array().unwrap().is_empty());
    }
    assert!(before < 0.1 * number(&v["constant"]));
    let enough = v["enough"]["count"].as_u64().unwrap();
    assert!(v["still_falls"].is_boolean() && v["search"]["complete"] == true);
    let sentence = v["conclusions"][0].as_str().unwrap();
    assert!(
        sentence.contains(&format!("{enough} numbers would do")),
        "{sentence}"
    );
    let figure = String::from_utf8(place.read("c.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.contains("linear"));
    // The same numbers on any number of threads, and in the text.
    let text = place.ok(&format!("{arguments} --threads 2"));
    assert!(
        text.contains("cap") && text.contains("constant") && text.contains(sentence),
        "{text}"
    );
    assert_eq!(String::from_utf8(place.read("c.svg")).unwrap(), figure);
}

#[test]
fn the_models_of_a_curve_are_those_of_fits() {
    let place = Place::new();
    place.write("data.csv", regression_csv(60));
    let options = "data.csv --target y --effort quick --activation tanh";
    let v = place.json(&format!("curve {options} --caps 16,32 --models made"));
    assert_eq!(
        v["models"],
        serde_json::json!(["made/16.safetensors", "made/32.safetensors"])
    );
    for cap in [16, 32] {
        let alone = format!("fit {options} --test-fraction 0 --budget {cap} -o m.safetensors");
        place.ok(&alone);
        let made = place.read(&format!("made/{cap}.safetensors"));
        assert!(place.read("m.safetensors") == made, "{cap}");
    }
}

#[test]
fn wrong_curves_get_one_sentence() {
    let place = Place::new();
    place.write("data.csv", regression_csv(60));
    let before = place.files();
    #[rustfmt::skip]
    let cases: &[(&str, i32, &[&str])] = &[
        ("curve data.csv", 2, &["--target"]),
        ("curve data.csv --target y --caps 0,8", 2, &["at least 1"]),
        ("curve data.csv --target y --caps eight", 2, &["--caps"]),
        ("curve data.csv --target y --effort much", 2, &["quick", "standard", "strong"]),
        ("curve data.csv --target y --plot c.png", 2, &[".svg"]),
        ("curve data.csv --target y --activation square", 2, &["relu", "sine"]),
        ("curve data.csv --task density", 2, &["density", "target"]),
        ("curve sim:four-modes", 2, &["density", "target"]),
        ("curve data.csv --target y --caps 1,8 --plot c.svg", 3, &["budget 1 ", "the smallest needs 2"]),
        ("curve data.csv --target y --caps 8 --form paper", 3, &["budget 8 "]),
        ("curve none.csv --target y", 3, &["none.csv"]),
        ("curve data.csv --target z", 3, &["`z`"]),
        ("curve data.csv --target y --plot none/c.svg", 3, &["create it"]),
    ];
    place.all_refused(cases);
    assert_eq!(place.files(), before);
}

/// Ctrl-C: the exit code is 130, and the caps that were finished are printed, if there were some.
#[cfg(unix)]
#[test]
fn an_interrupted_curve_keeps_what_was_done() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let place = Place::new();
    place.write("data.csv", regression_csv(300));
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("loopfit"))
        .args("curve data.csv --target y --effort strong --caps 2,400 --json".split(' '))
        .current_dir(place.path(""))
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    while !said.contains("rows:") {
        assert!(reader.read_line(&mut said).unwrap() > 0, "{said}");
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(killed.success());
    reader.read_to_string(&mut said).unwrap();
    let mut printed = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut printed)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    if !printed.is_empty() {
        let v: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(v["points"].as_array().unwrap().len(), 1);
        assert_eq!(v["search"]["complete"], false);
    }
    assert_eq!(place.files(), ["data.csv"]);
}
