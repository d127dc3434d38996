//! The networks of the proofs from outside: built, run, traced, checked, planned.

mod common;
use common::Place;
use serde_json::{Value, json};

/// The paper's one-cell example (Section D.1.1): the record (1,0), (1,1), 0 is the code 69/128, the location comes out as 1/4
/// and the coefficient as 1/2.
#[test]
fn the_one_cell_example_runs_as_written() {
    let place = Place::new();
    let network = "--target 1/2 --dim 1 --smoothness 1 -m 2 -u 2";
    let built = place.json(&format!("witness build {network}"));
    assert_eq!(built["codes"][1], "69/128");
    assert_eq!(built["S"], 59);
    let trace = place.json(&format!("witness trace {network} --x 0.3 --each iteration"));
    let lines = trace["lines"].as_array().unwrap();
    let of = |phase: &str| -> Vec<&Value> {
        let lines = lines.iter().filter(|line| line["phase"] == phase);
        lines.map(|line| &line["registers"]).collect()
    };
    assert_eq!(lines.len(), 59);
    assert_eq!(of("lookup")[0]["c"], "69/128");
    assert_eq!(of("location 1: save")[0]["a_j,1"], "1/4");
    assert_eq!(of("term (): bit")[1]["a"], "3/4");
    assert_eq!(of("term (): coefficient")[0]["t"], "1/2");
    assert_eq!(of("output")[0]["u"], "1/2");
    let text = place.ok(&format!("witness trace {network} --x 0.3"));
    assert!(text.contains("39-56  gate"), "{text}");
    assert!(
        text.ends_with("after 59 iterations: output 1/2, target f0(x) = 1/2, error 0\n"),
        "{text}"
    );
    assert_eq!(
        (&trace["value"], &trace["f0"]),
        (&"1/2".into(), &"1/2".into())
    );
    let part = place.ok(&format!("witness trace {network} --x 0.3 --to 20"));
    assert!(
        part.contains("after 20 of 59 iterations, not finished"),
        "{part}"
    );
    let program = place.ok(&format!("witness trace {network} --program"));
    assert!(
        program.contains("28  halt (for ever)") && program.contains("1  warm-up: U_i := 2 U_i"),
        "{program}"
    );
}

#[test]
fn runs_are_exact_and_within_their_bound() {
    let place = Place::new();
    let run = |target: &str, x: &str| {
        place.json(&format!(
            "witness run --target {target} --smoothness 1 -m 3 --x {x}"
        ))
    };
    // A zero before the point may be left out.
    assert_eq!(run(".5*x1", ".3")["points"], run("0.5*x1", "0.3")["points"]);
    let run = place.json(
        "witness run --target x1*(1-x2)/2 --smoothness 2 -m 2 -u 1 --x 1/3,0.2 --x 5/7,11/13",
    );
    for point in run["points"].as_array().unwrap() {
        assert!(
            point["error"].as_f64().unwrap() <= run["bound"].as_f64().unwrap(),
            "{point}"
        );
        assert_eq!(point["on_strip"], false);
    }
    assert_eq!(run["points"][0]["f0"], "2/15");
    // Below the quantisation step the network is zero, and says so; numbers may have exponents.
    let zero = place.run("witness run --target x1/2 --smoothness 1 -m 2 --x 3e-1");
    let said = String::from_utf8(zero.stderr).unwrap();
    assert!(
        said.contains("the network is zero here") && said.contains("= 1/2;"),
        "{said}"
    );
    let face = place.json("witness run --target x1/2 --smoothness 1 -m 2 --x 0.5");
    assert_eq!(face["points"][0]["on_strip"], true);
    place.ok("witness check --target x1*(1-x2)/2 --smoothness 2 -m 1 -u 1 --points 5");
    place.ok("witness check --target sim:recurrence --smoothness 1 --bound 4 -m 1 -u 1 --points 3");

    place.refused(
        "witness run --target x1 --smoothness -1/2 -m 2 --x 0.3",
        "the smoothness s is -1/2: it must be above 0",
    );
    place.refused(
        "witness run --target x1 --smoothness 0 -m 2 --x 0.3",
        "the smoothness s is 0",
    );
    place.refused(
        "witness run --target 2*x1 --smoothness 1 -m 2 --x 0.3",
        "beyond H = 1; take H of at least 2",
    );
    place.refused(
        "witness run --target x1 --smoothness 1 -m 30 --x 0.3",
        "between 1 and 22",
    );
    place.refused(
        "witness run --target x1 --smoothness 1 -m 2 -u 3 --x 0.3",
        "at most m = 2",
    );
    for (d, m) in [(11, 2), (22, 1)] {
        let network = format!("--target x{d}/2 --smoothness 1 -m {m}");
        let words = "corners of cells, and at most 4194304 are possible";
        place.refused(&format!("witness build {network}"), words);
        let x = vec!["0.3"; d].join(",");
        let words = "an exact run would make";
        place.refused(&format!("witness run {network} --x {x}"), words);
    }
    place.refused(
        "witness run --target x1 --smoothness 1 -m 17 --x 0.3",
        "take a smaller m, or other groups",
    );
    place.refused(
        "witness build --target x1 --smoothness 1 -m 18 -u 18",
        "groups of cells",
    );
    place.refused(
        "witness run --target x1 --smoothness 1 -m 2 --x 1.5",
        "the input 3/2 is outside [0, 1]",
    );
    place.refused(
        "witness run --target x1 --smoothness 1 -m 2 --x 0.1,0.2",
        "2",
    );
    place.refused(
        "witness run --target x1 --smoothness 1 -m 2 --x cat",
        "not a rational number",
    );
    place.refused(
        "witness run --target foo(x1) --smoothness 1 -m 2 --x 0.3",
        "no function `foo`",
    );
    place.refused(
        "witness run --target sim:nosuch --smoothness 1 -m 2 --x 0.3",
        "there is no simulation",
    );
    place.refused("witness run --smoothness 1 -m 2 --x 0.3", "which network?");
    let command = "witness run --target sin(3*x1)/3 --smoothness 2 -m 3 --x 0.3 --arithmetic f64";
    place.refused(command, "the resolution is too fine for f64");
    place.refused(
        "witness plan --dim 1 --smoothness 1 --iterations 10000 --width 100",
        "at least 2055",
    );
    place.refused(
        "witness plan --dim 1 --smoothness 1 --iterations 10 --width 3000",
        "too few",
    );
}

/// With one record in a group and the dyadic reader every coefficient is a number of 32 bits, and the model file is the network.
#[test]
fn a_small_witness_is_an_ordinary_model() {
    let place = Place::new();
    let network = "--target x1 --smoothness 1 -m 3 -u 3 --reader dyadic";
    place.write("w.exact.csv", "of another network");
    let built = place.run(&format!("witness build {network} -o w.safetensors"));
    let said = String::from_utf8(built.stderr).unwrap();
    assert!(
        built.status.success() && said.contains("wrote w.safetensors\n"),
        "{said}"
    );
    assert!(said.contains("removed w.exact.csv"), "{said}");
    assert_eq!(place.files(), ["w.safetensors"]);
    place.write("x.csv", "x1\n0.1\n0.3\n0.6\n0.9\n");
    let predicted = place.json("predict w.safetensors x.csv");
    let exact = place.json(&format!(
        "witness run {network} --x 0.1 --x 0.3 --x 0.6 --x 0.9"
    ));
    for (i, point) in exact["points"].as_array().unwrap().iter().enumerate() {
        let value = point["value"].as_str().unwrap();
        let value = match value.split_once('/') {
            Some((p, q)) => p.parse::<f64>().unwrap() / q.parse::<f64>().unwrap(),
            None => value.parse().unwrap(),
        };
        assert_eq!(
            predicted["predictions"][i].as_f64().unwrap(),
            value,
            "{point}"
        );
    }
    assert_eq!(predicted["predictions"], json!([0.0, 0.25, 0.5, 0.75]));
    let show = place.ok("show w.safetensors");
    assert!(show.contains("constructed for"), "{show}");
    // The stairs of the README, in 32 bits beside a face of a cell.
    place.ok(
        "witness build --target x1 --smoothness 1 -m 3 -u 3 --reader dyadic -o stairs.safetensors",
    );
    place.write("face.csv", "x1\n0.3\n0.124969482421875\n");
    place.all_refused(&[(
        "predict stairs.safetensors face.csv",
        3,
        &["row 2", "leave such rows out", "witness run"],
    )]);
    assert!(!show.contains("fitted from"), "{show}");

    let long = place.run("witness build --target x1/2 --smoothness 1 -m 4 -o long.safetensors");
    assert!(long.status.success());
    let said = String::from_utf8(long.stderr).unwrap();
    assert!(said.contains("long.exact.csv has them exactly"), "{said}");
    assert!(said.contains("wrote long.exact.csv\n"), "{said}");
    let predicted = place.run("predict long.safetensors x.csv");
    let said = String::from_utf8(predicted.stderr).unwrap();
    assert!(said.contains("every prediction is zero"), "{said}");
    let csv = String::from_utf8(place.read("long.exact.csv")).unwrap();
    assert!(
        csv.starts_with("tensor,row,column,exact\n") && csv.contains("block.0.w2"),
        "{csv}"
    );
}

#[test]
fn golden_files_are_compared_to_the_first_difference() {
    let place = Place::new();
    let golden = include_str!("../../witness/tests/golden/ffn_d1s1_m2_u1.json");
    place.write("good.json", golden);
    place.write("bad.json", golden.replace("\"tau_m\": 45", "\"tau_m\": 46"));
    place.write("no.json", "{");
    let text = place.ok("witness check --golden good.json --quiet");
    assert!(text.contains("values agree"), "{text}");
    let bad = place.run("witness check --golden good.json bad.json --quiet");
    assert_eq!(bad.status.code(), Some(1));
    let text = String::from_utf8(bad.stdout).unwrap();
    assert!(
        text.contains("bad.json: resources.tau_m is 45 here and 46 in the file"),
        "{text}"
    );
    for missing in ["no.json", "nosuch.json"] {
        let output = place.run(&format!("witness check --golden {missing}"));
        assert_eq!(output.status.code(), Some(3), "{missing}");
    }
}

#[test]
fn the_transformer_runs_too() {
    let place = Place::new();
    let network = "--target x1/2-3/4 --smoothness 1 -m 1 -u 1 --arch transformer";
    let built = place.json(&format!("witness build {network}"));
    // p_nat = q_* + 11 d + 36 = 56 + 47, q_hom = 2 (p_nat + 1).
    assert_eq!(
        (&built["p_nat"], &built["q_hom"]),
        (&103.into(), &208.into())
    );
    let run = place.json(&format!("witness run {network} --x 0.3"));
    let point = &run["points"][0];
    assert!(point["error"].as_f64().unwrap() <= run["bound"].as_f64().unwrap());
    assert_eq!(point["u"], "-1");
    let value: f64 = point["value"].as_str().unwrap().parse().unwrap();
    assert!((value + 1.0).abs() < 0.05, "{point}");
    let trace = place.json(&format!(
        "witness trace {network} --x 0.3 --each iteration --to 12"
    ));
    assert_eq!(trace["lines"][0]["phase"], "route boot");
    assert!(trace["lines"][0]["scales"][0].as_f64().unwrap() > 1.0);
    place.ok(&format!("witness check {network} --points 2"));
    place.ok(&format!(
        "witness check {network} --points 1 --epsilon-ln 1e2"
    ));
    let text = place.ok(&format!("witness trace {network} --x 0.3"));
    assert!(text.contains("iterations: output ~−0.99"), "{text}");
    let plan = place.json(
        "witness plan --dim 1 --smoothness 1 --iterations 422 --width 2339 --arch transformer",
    );
    assert_eq!((&plan["m"], &plan["S"]), (&2.into(), &422.into()));
    let padded = place.json(&format!(
        "witness build {network} --q 500 --r 3000 -o p.safetensors"
    ));
    assert_eq!(padded["q"], 500);
    let command = format!("witness run {network} --x 0.3 --arithmetic f64");
    place.refused(&command, "the resolution is too fine for f64");
    place.refused(
        "witness run --target x1 --smoothness 1 -m 1 --x 0.3 --tokens all",
        "--tokens is for the Transformer",
    );
    let command = "witness run --target x1 --smoothness 1 -m 1 --x 0.3 --epsilon-ln 1";
    place.refused(command, "--epsilon-ln is for the Transformer");
    place.ok(&format!("witness build {network} -o t.safetensors"));
    assert_eq!(
        place.files(),
        [
            "p.exact.csv",
            "p.safetensors",
            "t.exact.csv",
            "t.safetensors"
        ]
    );
}
