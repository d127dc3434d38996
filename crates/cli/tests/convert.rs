//! Model files in other forms: other numbers, the same predictions.

mod common;
use common::{Place, regression_csv};

fn predictions(place: &Place, model: &str) -> Vec<f64> {
    let csv = place.ok(&format!("predict {model} data.csv"));
    csv.lines().skip(1).map(|l| l.parse().unwrap()).collect()
}

#[test]
fn forms_there_and_back() {
    let place = Place::new();
    place.write("data.csv", regression_csv(120));
    // A model in the paper's form, whose lift has full rank.
    place.ok("fit data.csv --target y --budget 60 --updates 320 --shape loop=2,3,3 --method loop -o paper.safetensors");
    let v = place.json("convert paper.safetensors --form canonical -o canonical.safetensors");
    let count = |v: &serde_json::Value| v["count"].as_u64().unwrap();
    assert_eq!(
        (&v["from"]["form"], &v["to"]["form"]),
        (&"paper".into(), &"canonical".into())
    );
    // Five inputs, two channels: the lift's bias and an identity block are not stored.
    assert_eq!(count(&v["from"]) - count(&v["to"]), 2 * 2 + 2);
    let before = predictions(&place, "paper.safetensors");
    let after = predictions(&place, "canonical.safetensors");
    for (a, b) in before.iter().zip(&after) {
        assert!((a - b).abs() < 1e-5 * a.abs().max(1.0), "{a} {b}");
    }
    // The canonical form written out has the same bits, and is canonical as it was.
    let text = place.ok("convert canonical.safetensors --form paper -o again.safetensors");
    assert!(
        text.contains("(canonical form) to") && text.contains("(paper form)"),
        "{text}"
    );
    assert_eq!(predictions(&place, "again.safetensors"), after);
    place.ok("convert again.safetensors --form canonical -o back.safetensors");
    assert_eq!(
        place.read("back.safetensors"),
        place.read("canonical.safetensors")
    );
    // Nothing to do is done.
    place.ok("convert paper.safetensors --form paper -o same.safetensors");
    assert_eq!(
        place.read("same.safetensors"),
        place.read("paper.safetensors")
    );
}

/// A fit carries inputs and knows its error; written out it needs a larger cap and says the same of its error.
#[test]
fn a_fit_is_written_out() {
    let place = Place::new();
    place.write("data.csv", regression_csv(120));
    place.ok("fit data.csv --target y --budget 9 --method single --activation tanh --effort quick -o m.safetensors");
    let v = place.json("convert m.safetensors --form paper -o paper.safetensors");
    assert!(
        v["to"]["count"].as_u64() > v["from"]["count"].as_u64(),
        "{v}"
    );
    assert_eq!(v["to"]["budget"], v["to"]["count"]);
    assert_eq!(
        predictions(&place, "m.safetensors"),
        predictions(&place, "paper.safetensors")
    );
    let of = |model: &str| place.json(&format!("show {model}"))["assessment"].clone();
    assert_eq!(of("m.safetensors"), of("paper.safetensors"));
    let interval = |model: &str| place.ok(&format!("predict {model} data.csv --interval 0.9"));
    assert_eq!(interval("m.safetensors"), interval("paper.safetensors"));
}

#[test]
fn what_cannot_be_converted() {
    let place = Place::new();
    place.write("data.csv", regression_csv(60));
    place.ok("fit data.csv --target y --budget 150 --updates 160 --arch transformer --tokens all --method loop -o t.safetensors");
    let before = place.files();
    #[rustfmt::skip]
    let cases: &[(&str, i32, &[&str])] = &[
        ("convert t.safetensors --form canonical -o out", 3, &["canonical form", "residual FFN"]),
        ("convert t.safetensors --form paper -o t.safetensors", 3, &["t.safetensors is read"]),
        ("convert t.safetensors --form paper", 2, &["--output"]),
        ("convert t.safetensors -o out", 2, &["--form"]),
        ("convert t.safetensors --form short -o out", 2, &["canonical", "paper"]),
        ("convert data.csv --form paper -o out", 3, &["data.csv", "safetensors"]),
        ("convert none --form paper -o out", 3, &["none"]),
        ("convert t.safetensors --form paper -o none/out", 3, &["create it"]),
    ];
    place.all_refused(cases);
    assert_eq!(place.files(), before);
}
