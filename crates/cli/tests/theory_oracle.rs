//! `loopfit theory oracle`: the terms of the inequality at a model, and what is refused.

mod common;

use common::{Place, regression_csv};
use serde_json::Value;

fn number(json: &Value, key: &str) -> f64 {
    json[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key}: {json}"))
}

/// A quick fit is far from the maximum of its likelihood: the terms are those of other commands, and they add up.
#[test]
fn terms_of_a_fit() {
    let place = Place::new();
    place.ok("fit sim:double-well --train 128 --valid 64 --budget 40 --method loop --updates 320 --quiet -o m.safetensors");
    let arguments =
        "theory oracle m.safetensors sim:double-well --train 128 --valid 64 --updates 40";
    let json = place.json(arguments);
    let distance =
        place.json("theory distance --likelihood gaussian m.safetensors sim:double-well");
    let h2 = number(&json["h2"], "value");
    assert!((h2 - number(&distance["h2"], "value")).abs() < 1e-9);
    let (a, epsilon) = (number(&json["A"], "value"), number(&json, "epsilon"));
    assert!(a <= h2 && epsilon >= 0.0);
    assert!((number(&json, "L_best") - number(&json, "L") - epsilon).abs() < 1e-12);
    assert_eq!(json["within_tolerance"], epsilon <= 1.0 / 128.0);
    let estimation = number(&json, "estimation");
    match json["e_n"].as_f64() {
        Some(e) => assert!((estimation - e * e).abs() < 1e-12),
        None => assert!(estimation == 2.0 && number(&json, "n_needed") > 128.0),
    }
    assert!((number(&json, "sum") - (a + estimation + epsilon)).abs() < 1e-12);
    assert!((number(&json, "ratio") - h2 / number(&json, "sum")).abs() < 1e-12);
    // The critical radius is that of `theory entropy` for the same class, noise and bounds: here there is none, and the
    // sample size from which on there is one is the same.
    let sigma = number(&json, "sigma");
    let entropy = place.json(&format!(
        "theory entropy --dim 2 --q {} --r {} --iterations {} --n 128 --sigma {sigma} --bound 8",
        json["q"], json["r"], json["T"]
    ));
    // Its form may leave numbers out that the paper counts.
    if entropy["P"] == json["P"] {
        let needed = number(&entropy["laws"]["gaussian"], "log_n_needed");
        assert!((number(&json, "log_n_needed") / needed - 1.0).abs() < 1e-9);
    }
    // More of the constants: a smaller radius, and nothing else changes.
    let other = place.json(&format!("{arguments} --set C_2=1000"));
    assert!(number(&other, "estimation") < 2.0 && other["h2"] == json["h2"]);
    let text = place.ok(arguments);
    let line = text
        .lines()
        .find(|line| line.contains("A + e_n^2 + epsilon ="));
    assert!(
        line.is_some_and(|line| line.contains("h^2 =") && line.contains("ratio")),
        "{text}"
    );
}

/// A density, and a model that was fitted again to all rows with a seed of its own.
#[test]
fn other_models() {
    let place = Place::new();
    place.ok("fit sim:four-modes --train 96 --valid 64 --budget 40 --method single --updates 320 --quiet -o f.safetensors");
    let json =
        place.json("theory oracle f.safetensors sim:four-modes --train 96 --valid 64 --updates 5");
    let law = (json["m"].as_str(), json["sigma"].as_f64());
    assert_eq!(law, (Some("energy"), None));
    place.ok("fit sim:double-well --seed 3 --train 64 --valid 32 --budget 30 --updates 320 --refit --quiet -o r.safetensors");
    let json =
        place.json("theory oracle r.safetensors sim:double-well --train 64 --valid 32 --updates 5");
    let sample = (json["n"].as_u64(), json["data"].as_str());
    assert_eq!(sample, (Some(96), Some("sim:double-well@3")));
}

#[test]
fn what_is_refused() {
    let place = Place::new();
    place.ok("fit sim:double-well --train 64 --valid 32 --budget 30 --updates 320 --quiet -o m.safetensors");
    place.write("data.csv", regression_csv(40));
    place.ok("witness build --target sim:double-well --smoothness 1 --bound 4 -m 1 -u 1 --reader dyadic --quiet -o w.safetensors");
    for (arguments, code, words) in [
        (
            "m.safetensors data.csv",
            2,
            "the law behind a table is unknown",
        ),
        (
            "m.safetensors data:airfoil",
            2,
            "the law behind a table is unknown",
        ),
        ("m.safetensors sim:nothing", 2, "nothing"),
        (
            "m.safetensors sim:double-well",
            2,
            "was not fitted to 4096 training observations",
        ),
        (
            "m.safetensors sim:double-well@1 --train 64 --valid 32",
            2,
            "with seed 1",
        ),
        (
            "m.safetensors sim:friedman1 --train 64 --valid 32",
            2,
            "has 2 inputs and sim:friedman1 has 5",
        ),
        (
            "m.safetensors sim:four-modes --train 64 --valid 32",
            2,
            "which is not the law of sim:four-modes",
        ),
        (
            "m.safetensors sim:double-well --train 64 --valid 32 --set c_U=1",
            2,
            "does not depend on c_U",
        ),
        ("m.safetensors sim:double-well --updates 0", 2, "--updates"),
        (
            "nothing.safetensors sim:double-well",
            3,
            "nothing.safetensors",
        ),
    ] {
        let output = place.run(&format!("theory oracle {arguments}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        assert!(said.contains(words), "{arguments}: {said}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}
