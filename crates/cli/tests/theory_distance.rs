//! `loopfit theory distance`: models and simulations compared, and what is refused.

mod common;

use common::{Place, classes_csv, regression_csv};
use serde_json::Value;

fn value(json: &Value, key: &str) -> f64 {
    json[key]["value"].as_f64().unwrap()
}

fn error(json: &Value, key: &str) -> f64 {
    json[key]["error"].as_f64().unwrap()
}

fn all_hold(json: &Value) -> bool {
    let checks = json["checks"].as_array().unwrap();
    checks.len() >= 4 && checks.iter().all(|c| c["holds"] == true)
}

#[test]
fn two_simulations() {
    let place = Place::new();
    let json = place.json("theory distance --likelihood gaussian sim:bumps sim:bumps@1");
    assert_eq!(json["d"], 2);
    assert_eq!(json["m"], "gaussian");
    assert_eq!(json["sigma"], 0.02);
    assert_eq!(json["method"], "quadrature");
    assert_eq!(json["points"], 262_144);
    assert!(all_hold(&json));
    // KL = L2^2 / (2 sigma^2), and the constants of H = 1/4, the height of a bump.
    let (l2, sigma) = (value(&json, "L2"), 0.02f64);
    assert!((value(&json, "KL") / (l2 * l2 / (2.0 * sigma * sigma)) - 1.0).abs() < 1e-9);
    assert!((json["H"].as_f64().unwrap() - 0.25).abs() < 1e-6);
    assert!((json["C_m"].as_f64().unwrap() - 625.0).abs() < 1e-9);
    assert!((json["c_m"].as_f64().unwrap() - 8.0).abs() < 1e-4);
    // Random points say the same within twice their interval, and differ by seed.
    let random = |seed: u64| {
        place.json(&format!(
            "theory distance --likelihood gaussian sim:bumps@0 sim:bumps@1 --method monte-carlo --points 20000 --seed {seed}"
        ))
    };
    let (one, other) = (random(1), random(2));
    assert_eq!(one["points"], 20_032);
    assert_ne!(one["h2"], other["h2"]);
    for key in ["h2", "KL", "L2", "L2_centred"] {
        let gap = (value(&one, key) - value(&json, key)).abs();
        assert!(
            gap < 2.0 * error(&one, key) && error(&one, key) > 0.0,
            "{key}: {gap}"
        );
    }
}

#[test]
fn a_function_and_itself() {
    let place = Place::new();
    // Five inputs: random points. H / sigma is large enough that no float holds the bridge.
    let json = place
        .json("theory distance --likelihood gaussian sim:friedman1 sim:friedman1 --points 640");
    assert_eq!(json["method"], "monte-carlo");
    for key in ["h2", "KL", "rho_half", "L2", "L2_centred"] {
        assert_eq!((value(&json, key), error(&json, key)), (0.0, 0.0));
    }
    assert!(json["log_C_bridge"].as_f64().unwrap() > 1000.0 && json.get("C_bridge").is_none());
    assert!(all_hold(&json));
    let text =
        place.ok("theory distance --likelihood gaussian sim:friedman1 sim:friedman1 --points 640");
    assert!(text.contains("Proposition 3.2") && text.contains("95% confidence interval"));
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

/// The squared distance is the mean squared error that `score` finds on 32768 noise-free test points.
#[test]
fn a_model_and_its_simulation() {
    let place = Place::new();
    place.ok("fit sim:double-well --budget 40 --updates 64 --quiet -o m.safetensors");
    let json = place.json("theory distance --likelihood gaussian m.safetensors sim:double-well");
    assert_eq!(json["sigma"], 0.3);
    let mse = place.json("score m.safetensors sim:double-well")["value"]
        .as_f64()
        .unwrap();
    let l2 = value(&json, "L2");
    assert!((l2 * l2 / mse - 1.0).abs() < 0.05, "{l2} {mse}");
    assert!(all_hold(&json));
    // The other noise model, other threads, the other order.
    let laplace = "theory distance --likelihood laplace --tau 0.2 sim:double-well m.safetensors --points 4096 --json";
    let one = place.ok(&format!("{laplace} --threads 1"));
    assert_eq!(one, place.ok(&format!("{laplace} --threads 3")));
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one["tau"], 0.2);
    assert!(all_hold(&one) && (value(&one, "L2") / l2 - 1.0).abs() < 1e-3);
}

#[test]
fn densities_and_classes() {
    let place = Place::new();
    place.ok("fit sim:four-modes --budget 30 --updates 64 --quiet -o f.safetensors");
    let json =
        place.json("theory distance --likelihood energy f.safetensors sim:four-modes --bound 6");
    assert!(all_hold(&json) && json["checks"].as_array().unwrap().len() == 6);
    assert_eq!(json["H"], 6.0);
    // c_E = e^(-2H)/4 and C_E = e^(2H)/2.
    assert!((json["c_m"].as_f64().unwrap() / ((-12f64).exp() / 4.0) - 1.0).abs() < 1e-9);
    assert!((json["C_m"].as_f64().unwrap() / (12f64.exp() / 2.0) - 1.0).abs() < 1e-9);

    let points: String = (0..60)
        .map(|i| format!("{},{}\n", i * 37 % 61, i * 17 % 53))
        .collect();
    place.write("points.csv", format!("u,v\n{points}"));
    let fit = |budget, seed| {
        let name = format!("d{budget}-{seed}.safetensors");
        place.ok(&format!(
            "fit points.csv --task density --budget {budget} --updates 32 --seed {seed} --quiet -o {name}"
        ));
        name
    };
    let distance =
        |a: &str, b: &str| format!("theory distance --likelihood energy {a} {b} --points 4096");
    let (a, b) = (fit(20, 0), fit(30, 0));
    assert!(all_hold(&place.json(&distance(&a, &b))));
    let refused = place.run(&distance(&a, "sim:four-modes"));
    assert_eq!(refused.status.code(), Some(2));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        error.contains("has the inputs u, v and sim:four-modes x1, x2"),
        "{error}"
    );
    place.write("shifted.csv", format!("x1,x2\n{points}"));
    place.ok("fit shifted.csv --task density --budget 20 --updates 32 --quiet -o s.safetensors");
    let refused = place.run(&distance("s.safetensors", "sim:four-modes"));
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("different boxes"));

    place.write("classes.csv", classes_csv(90));
    for budget in [30, 40] {
        place.ok(&format!(
            "fit classes.csv --target label --budget {budget} --updates 64 --quiet -o c{budget}.safetensors"
        ));
    }
    let json = place.json(
        "theory distance --likelihood multiclass c30.safetensors c40.safetensors --points 4096",
    );
    assert_eq!(json["classes"], 3);
    assert!(all_hold(&json) && value(&json, "L2_centred") <= value(&json, "L2"));
}

#[test]
fn wrong_requests_are_explained() {
    let place = Place::new();
    place.write("t.csv", regression_csv(60));
    place.ok("fit t.csv --target y --budget 40 --updates 32 --quiet -o kinds.safetensors");
    place
        .ok("fit t.csv --target y --ignore kind --budget 40 --updates 32 --quiet -o m.safetensors");
    for (arguments, code, words) in [
        (
            "gaussian sim:bumps sim:nothing",
            2,
            "no simulation `nothing`",
        ),
        ("gaussian sim:bumps sim:bumps@x", 2, "`x` is not a seed"),
        ("gaussian sim:bumps data:airfoil", 2, "behind a data set"),
        ("gaussian sim:bumps none.safetensors", 3, "none.safetensors"),
        (
            "gaussian sim:bumps sim:recurrence",
            2,
            "2 inputs and sim:recurrence of 3",
        ),
        (
            "gaussian sim:bumps sim:double-well",
            2,
            "choose one with --sigma",
        ),
        ("gaussian m.safetensors m.safetensors", 2, "--sigma"),
        (
            "gaussian sim:bumps sim:bumps --sigma 0",
            2,
            "sigma = 0 is not a noise scale",
        ),
        (
            "gaussian sim:bumps sim:bumps --tau 1",
            2,
            "--tau is the noise of --likelihood laplace",
        ),
        ("laplace sim:bumps sim:bumps", 2, "--tau"),
        (
            "energy m.safetensors sim:bumps",
            2,
            "use --likelihood gaussian",
        ),
        ("multiclass sim:bumps sim:bumps", 2, "a logit each"),
        (
            "bernoulli sim:bumps sim:bumps --bound 0.1",
            2,
            "above the bound H = 0.1",
        ),
        (
            "bernoulli sim:bumps sim:bumps --bound NaN",
            2,
            "H = NaN is not a bound",
        ),
        (
            "bernoulli sim:friedman1 sim:friedman1 --method quadrature",
            2,
            "up to 3 coordinates, not 5",
        ),
        (
            "bernoulli sim:bumps sim:bumps --points 10",
            2,
            "choose 64 to",
        ),
        (
            "gaussian kinds.safetensors kinds.safetensors --sigma 1",
            3,
            "`kind` is a category",
        ),
    ] {
        let output = place.run(&format!("theory distance --likelihood {arguments}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        assert!(said.contains(words), "{arguments}: {said}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

/// Models of tables are compared on the box of their rows, and inputs by name: the same rows with their columns
/// exchanged give almost the same function.
#[test]
fn models_of_tables_meet_where_their_rows_are() {
    let place = Place::new();
    let (mut ab, mut ba) = ("a,b,y\n".to_string(), "b,a,y\n".to_string());
    for i in 0..400 {
        let (u, v) = ((i * 37 % 101) as f64 / 101.0, (i * 53 % 97) as f64 / 97.0);
        let (a, b) = (100.0 * u, v - 20.0);
        let y = 0.02 * a + b + 0.05 * ((i * 31 % 17) as f64 / 8.0 - 1.0);
        ab += &format!("{a},{b},{y}\n");
        ba += &format!("{b},{a},{y}\n");
    }
    place.write("ab.csv", ab).write("ba.csv", ba);
    for name in ["ab", "ba"] {
        place.ok(&format!(
            "fit {name}.csv --target y --budget 40 --updates 4000 -o {name}.safetensors"
        ));
    }
    let answer = place
        .json("theory distance --likelihood gaussian --sigma 0.1 ab.safetensors ba.safetensors");
    let l2 = answer["L2"]["value"].as_f64().unwrap();
    assert!(l2 < 0.05, "{answer}");
    let box_of = |k: usize| {
        (
            answer["box"][k]["low"].as_f64().unwrap(),
            answer["box"][k]["high"].as_f64().unwrap(),
        )
    };
    let ((low, high), (_, last)) = (box_of(0), box_of(1));
    assert!(
        low.abs() < 10.0 && (high - 100.0).abs() < 10.0 && (last + 19.0).abs() < 0.2,
        "{answer}"
    );
    let text =
        place.ok("theory distance --likelihood gaussian --sigma 0.1 ab.safetensors ba.safetensors");
    assert!(text.contains("a in ["), "{text}");
    let other = place.run("theory distance --likelihood gaussian ab.safetensors sim:bumps");
    assert_eq!(other.status.code(), Some(2));
    let error = String::from_utf8(other.stderr).unwrap();
    assert!(
        error.contains("ab.safetensors has the inputs a, b and sim:bumps x1, x2"),
        "{error}"
    );
}
