//! `loopfit theory packing` and its functions as simulations.

mod common;
use common::Place;
use serde_json::Value;

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("{v} is not a number"))
}

fn stderr(place: &Place, arguments: &str, code: i32) -> String {
    let output = place.run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
    assert!(output.stdout.is_empty(), "{arguments}: printed a result");
    said
}

/// The lemma's formulas from the numbers that are printed, integer smoothness and not.
#[test]
fn the_lemma_holds_with_the_numbers_that_are_printed() {
    let place = Place::new();
    for (d, s, h, delta) in [
        (1, 2.0, 1.0, 1e-6),
        (2, 1.5, 100.0, 3e-4),
        (3, 0.5, 2.0, 2e-3),
    ] {
        let arguments =
            format!("theory packing --dim {d} --smoothness {s} --bound {h} --delta {delta}");
        let v = place.json(&arguments);
        let of = |key: &str| number(&v[key]);
        assert_eq!(
            (of("d"), of("s"), of("H"), of("delta")),
            (f64::from(d), s, h, delta)
        );
        assert_eq!(of("k") + of("alpha"), s);
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(near(
            of("c_sep"),
            of("c_star") * of("psi_norm") / 8f64.sqrt()
        ));
        assert!(near(of("delta_0"), of("c_sep") / 8.0));
        assert_eq!(of("m"), (of("c_sep") / (8.0 * delta)).powf(1.0 / s).floor());
        assert!(of("m") >= 2.0, "{v}");
        assert_eq!(of("cells"), of("m").powi(d));
        let code = &v["code"];
        assert_eq!(number(&code["length"]), of("cells"));
        assert!(8.0 * number(&code["distance"]) >= of("cells"));
        assert!(near(of("log_M"), number(&code["log2_M"]) * 2f64.ln()));
        let c = 2f64.ln() / 8.0 * 0.5f64.powi(d) * of("delta_0").powf(f64::from(d) / s);
        assert!(near(of("c"), c) && near(of("log_c"), c.ln()));
        assert!(near(of("lower_bound"), c * delta.powf(-f64::from(d) / s)));
        assert!(of("log_M") >= of("lower_bound"));
        assert!(of("separation") >= 8.0 * delta);
        assert!(near(of("C"), 8.0 * 8f64.sqrt() * 2f64.powf(s)));
        assert!(of("norm") <= of("C") * delta);
        let verdicts = v["verdicts"].as_array().unwrap();
        assert_eq!(verdicts.len(), 6);
        assert!(
            verdicts.iter().all(|verdict| verdict["holds"] == true),
            "{v}"
        );
        let text = place.ok(&arguments);
        assert!(text.contains("Lemma C.3") && text.contains(v["member"].as_str().unwrap()));
        assert_eq!(text.matches("\n  holds  ").count(), 6, "{text}");
    }
}

#[test]
fn impossible_packings_are_refused_with_the_condition_that_fails() {
    let place = Place::new();
    for (arguments, words) in [
        (
            "--dim 2 --smoothness 1.5 --bound 1 --delta 0.1",
            &["delta_0 = 0.00027", "larger H"][..],
        ),
        (
            "--dim 2 --smoothness 1.5 --bound 1 --delta 1e-20",
            &["98304 cells", "delta above 4.8"],
        ),
        (
            "--dim 2 --smoothness 20 --bound 1 --delta 1e-20",
            &["s is 20", "s <= 12"],
        ),
        ("--dim 2 --smoothness 0 --bound 1 --delta 1e-6", &["s is 0"]),
        (
            "--dim 2 --smoothness 1 --bound -1 --delta 1e-6",
            &["H is -1"],
        ),
        (
            "--dim 2 --smoothness 1 --bound 1 --delta 0",
            &["delta is 0"],
        ),
        (
            "--dim 9999 --smoothness 1 --bound 1 --delta 1e-6",
            &["between 1e-90", "fewer inputs"],
        ),
    ] {
        let said = stderr(&place, &format!("theory packing {arguments}"), 2);
        assert_eq!(said.lines().filter(|l| l.starts_with("error: ")).count(), 1);
        assert!(
            words.iter().all(|word| said.contains(word)),
            "{arguments}: {said}"
        );
    }
}

/// A member is fitted, scored as the function that it is whatever the order of its parameters,
/// and told from another.
#[test]
fn members_are_learned_like_any_simulation() {
    let place = Place::new();
    let text = "sim:packing:dim=1,smoothness=1,bound=40,delta=0.1,member=1,noise=0.01";
    let size = "--train 512 --valid 128 --budget 24 --updates 6400 --seed 3";
    let fit = place.json(&format!("fit {text} {size} -o m.safetensors"));
    assert_eq!(
        place.json("show m.safetensors")["provenance"]["source"],
        text,
        "{fit}"
    );
    let same = "sim:packing:member=1,delta=1e-1,noise=1e-2,bound=40.0,smoothness=1,dim=1";
    let output = place.run(&format!("score m.safetensors {same} --seed 3 --json"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && !said.contains("another function"),
        "{said}"
    );
    let score: Value = serde_json::from_slice(&output.stdout).unwrap();
    let zero = "sim:packing:dim=1,smoothness=1,bound=40,delta=0.1,member=0,noise=0.01";
    let output = place.run(&format!("score m.safetensors {zero} --seed 3 --json"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("another function"), "{said}");
    let other: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Nearer to the function it was fitted to than to zero.
    assert!(
        number(&score["value"]) < number(&other["value"]),
        "{score} {other}"
    );
    assert!(
        place
            .ok(&format!("predict m.safetensors {text}"))
            .lines()
            .count()
            > 1000
    );

    let drawn = "sim:packing:dim=1,smoothness=1,bound=40,delta=0.02";
    let compared = place.json(&format!(
        "compare {drawn} --seeds 2 --train 128 --valid 64 --budget 24 --updates 320"
    ));
    assert!(compared.to_string().contains(drawn), "{compared}");
}

#[test]
fn studies_take_members() {
    let place = Place::new();
    let protocol = r#"
title = "A packing"
seeds = { first = 1, count = 2 }
[[cases]]
name = "packing"
data = "sim:packing:dim=1,smoothness=1,bound=40,delta=0.02"
budget = 24
train = 128
valid = 64
[search]
updates = 320
"#;
    place.write("own.toml", protocol);
    place.ok("study run own.toml --out own --quiet");
    place.ok("study report own --quiet");
    let report = String::from_utf8(place.read("own/report/own.md")).unwrap();
    assert!(report.contains("A packing"), "{report}");
    let export = place.ok("study export own --json");
    assert!(
        export.contains("delta=0.02") && export.contains("MSE against f0"),
        "{export}"
    );
    place.write("wrong.toml", protocol.replace("delta=0.02", "delta=2"));
    let said = stderr(&place, "study run wrong.toml --out wrong --quiet", 3);
    assert!(said.contains("delta_0"), "{said}");
}

#[test]
fn wrong_members_are_refused() {
    let place = Place::new();
    let right = "packing:dim=1,smoothness=1,bound=40,delta=0.02";
    for (text, word) in [
        (
            format!("{right},member=99999999"),
            "there is no member 99999999",
        ),
        (format!("{right},members=1"), "no `members`"),
        (format!("{right},noise=x"), "noise=x"),
        ("packing".to_string(), "needs `dim=`"),
    ] {
        let said = stderr(&place, &format!("fit sim:{text} --budget 24"), 2);
        assert!(said.contains(word), "{text}: {said}");
    }
}
