//! Counts with exposures, and row weights.

mod common;
use common::Place;
use serde_json::Value;

/// Counts out of different numbers of days, and labels that are coins, with a column of weights.
fn table(rows: usize) -> String {
    let mut csv = "x,days,claims,coin,w\n".to_string();
    for i in 0..rows {
        let x = (i as f64 * 0.618_034).fract();
        let days = 1 + i % 5;
        let claims = (days as f64 * (2.0 * x).exp()).round();
        let coin = ["heads", "tails"][usize::from((i as f64 * 0.754_877).fract() > 0.5)];
        let w = if i % 20 == 0 { 500 } else { 1 };
        csv += &format!("{x:.5},{days},{claims},{coin},{w}\n");
    }
    csv
}

fn json(place: &Place, command: &str) -> Value {
    let output = place.run(command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn counts_are_fitted_scored_and_predicted_with_their_exposure() {
    let place = Place::new();
    place.write("t.csv", table(200));
    let fit = "fit t.csv --target claims --likelihood poisson --exposure days --ignore coin,w --budget 8 --effort quick";
    let found = json(&place, &format!("{fit} -o m.safetensors --json"));
    assert_eq!(
        (&found["task"], &found["metric"]),
        (&"count".into(), &"test deviance".into())
    );
    assert_eq!(found["inputs"], serde_json::json!(["x"]));
    let score = json(&place, "score m.safetensors t.csv --json");
    assert!(score["value"].as_f64().unwrap() < 0.3, "{score}");
    assert!(score["also"]["D2"].as_f64().unwrap() > 0.9, "{score}");
    // The largest of the absolute errors, by the predictions themselves.
    let predicted = json(&place, "predict m.safetensors t.csv --json");
    let means = predicted["predictions"].as_array().unwrap().iter();
    let table = table(200);
    let rows = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let rows: Vec<Vec<&str>> = rows.collect();
    let at = rows[0].iter().position(|name| *name == "claims").unwrap();
    let counts = rows[1..].iter().map(|row| row[at].parse::<f64>().unwrap());
    let errors = means
        .zip(counts)
        .map(|(m, y)| (m.as_f64().unwrap() - y).abs());
    let largest = errors.fold(0.0, f64::max);
    let told = score["also"]["largest error"].as_f64().unwrap();
    assert!((told / largest - 1.0).abs() < 1e-5, "{told} {largest}");
    place.write("new.csv", "x,days\n0.5,1\n0.5,4\n");
    let predicted = json(&place, "predict m.safetensors new.csv --json");
    let text = predicted.to_string();
    let means = &predicted["predictions"];
    let [one, four] = [0, 1].map(|i| means[i].as_f64().expect(&text));
    assert!((four / one - 4.0).abs() < 1e-4, "{text}");
    assert!((one / 1f64.exp() - 1.0).abs() < 0.2, "{text}");
}

#[test]
fn counts_and_weights_that_make_no_sense_are_refused() {
    let place = Place::new();
    place.write("t.csv", table(60));
    for (options, code, sentence) in [
        (
            "--target claims --exposure days",
            2,
            "add --likelihood poisson",
        ),
        (
            "--target claims --likelihood poisson --weight w",
            2,
            "not counts",
        ),
        (
            "--target claims --likelihood poisson --updates 64",
            2,
            "--likelihood poisson does not go with --updates",
        ),
        (
            "--target claims --likelihood poisson --exposure coin",
            3,
            "heads",
        ),
        ("--target x --likelihood poisson", 3, "not a count"),
        ("--target claims --weight nope", 3, "no column `nope`"),
    ] {
        let output = place.run(&format!("fit t.csv {options} --budget 8"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{options}: {said}");
        assert!(said.contains(sentence), "{options}: {said}");
    }
}

/// Coins cannot be predicted, however much some of them count: no model is said to be better than chance allows.
#[test]
fn validation_errors_of_weighted_rows_are_honest() {
    let place = Place::new();
    place.write("t.csv", table(400));
    let fit = "fit t.csv --target coin --weight w --ignore days,claims --budget 12 --effort quick";
    let found = json(&place, &format!("{fit} --method single --json"));
    let constant = found["constant"]["validation"].as_f64().unwrap();
    for method in found["methods"].as_array().unwrap() {
        let error = method["validation"].as_f64().unwrap();
        assert!(error > 0.8 * constant, "{method} {constant}");
    }
}
