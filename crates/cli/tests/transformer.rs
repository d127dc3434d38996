//! The second architecture from outside: fitted, compared, shown and used.

mod common;
use common::{Place, compared, paired, regression_csv};
use serde_json::{Value, json};

const SMALL: &str = "--train 256 --valid 128 --updates 640";

fn keys(methods: &Value, key: &str) -> Vec<String> {
    let methods = methods.as_array().unwrap().iter();
    let mut keys: Vec<String> = methods
        .map(|m| m[key].as_str().unwrap().to_string())
        .collect();
    keys.sort();
    keys
}

/// What `budget` lists can be fitted, and where it lists nothing `fit` says the same.
#[test]
fn listed_shapes_can_be_fitted() {
    let place = Place::new();
    let listed = place.json("budget --dim 2 --budget 64 --arch transformer");
    assert_eq!(listed["loop"], json!([{ "q": 2, "r": 1, "count": 64 }]));
    assert_eq!(
        listed["untied"],
        json!([{ "q": 2, "r": 1, "t": 1, "count": 64 }])
    );
    place.ok(&format!(
        "fit sim:bumps --budget 64 --arch transformer --shape loop=2,1,3 {SMALL}"
    ));
    let sentence = "the smallest that depends on its inputs needs 64 (q = 2, r = 1)";
    for budget in [28, 40, 63] {
        place.all_refused(&[
            (
                &format!("budget --dim 2 --budget {budget} --arch transformer"),
                3,
                &[sentence],
            ),
            (
                &format!("fit sim:bumps --budget {budget} --arch transformer"),
                3,
                &[sentence],
            ),
        ]);
    }
}

/// A table with one column of categories: five inputs, of which two tokens read three and two.
#[test]
fn a_table_from_fit_to_predictions() {
    let place = Place::new();
    place.write("data.csv", regression_csv(240));
    let fit = place.json(
        "fit data.csv --target y --budget 150 --arch transformer --tokens 0,1/2,3,4 --updates 3200 -o m.safetensors",
    );
    assert_eq!(fit["arch"], "transformer");
    assert_eq!(keys(&fit["methods"], "arch"), ["transformer"; 3]);
    assert_eq!(
        keys(&fit["methods"], "method"),
        ["loop", "single", "untied"]
    );
    for method in fit["methods"].as_array().unwrap() {
        assert!(method["count"].as_u64().unwrap() <= 150, "{method}");
    }
    let show = place.json("show m.safetensors");
    assert_eq!(
        show["network"]["architecture"],
        json!({ "kind": "transformer", "partition": [[0, 1], [2, 3, 4]] })
    );
    let text = place.ok("show m.safetensors");
    let tokens = "a, b | kind=blue, kind=green, kind=red | controller | 2 references";
    assert!(text.contains(tokens), "{text}");

    for command in [
        "show m.safetensors",
        "score m.safetensors data.csv",
        "predict m.safetensors data.csv",
    ] {
        place.ok(&format!("{command} --arch transformer"));
        let other = place.run(&format!("{command} --arch ffn"));
        assert_eq!(other.status.code(), Some(3), "{command}");
        let error = String::from_utf8(other.stderr).unwrap();
        assert!(
            error.contains("m.safetensors holds a model with --arch transformer"),
            "{error}"
        );
    }

    let score = place.json("score m.safetensors data.csv");
    assert!(score["also"]["R2"].as_f64().unwrap() > 0.9, "{score}");
    let one = place.ok("predict m.safetensors data.csv --threads 1");
    assert_eq!(one, place.ok("predict m.safetensors data.csv --threads 8"));
    assert_eq!(one.lines().count(), 241);
}

/// The readout of both architectures: one line for each row and iteration, the last of them the
/// prediction; fewer iterations give the line of theirs.
#[test]
fn every_iteration_leads_to_the_prediction() {
    let place = Place::new();
    place.write("data.csv", regression_csv(60));
    for (arch, shape) in [("ffn", "loop=3,4,5"), ("transformer", "loop=3,2,5")] {
        place.ok(&format!(
            "fit data.csv --target y --budget 250 --arch {arch} --method loop --shape {shape} --updates 320 -o m.safetensors"
        ));
        let every = place.ok("predict m.safetensors data.csv --every-iteration");
        let lines: Vec<Vec<&str>> = every.lines().map(|l| l.split(',').collect()).collect();
        assert_eq!(lines[0], ["row", "t", "prediction", "change"]);
        assert_eq!(lines.len(), 1 + 60 * 5);
        for t in [2, 5] {
            let cut = place.ok(&format!("predict m.safetensors data.csv --iterations {t}"));
            let at_t = lines[1..].iter().filter(|l| l[1] == t.to_string());
            let at_t: Vec<&str> = at_t.map(|l| l[2]).collect();
            assert_eq!(cut.lines().skip(1).collect::<Vec<_>>(), at_t, "{arch} {t}");
        }
        let json = place.json("predict m.safetensors data.csv --every-iteration --iterations 7");
        let steps = json["iterations"].as_array().unwrap();
        assert_eq!(steps.len(), 7);
        assert_eq!(steps[6]["t"], 7);
        for key in ["predictions", "change"] {
            assert_eq!(steps[6][key].as_array().unwrap().len(), 60);
        }
        let score = |options: &str| {
            place.json(&format!("score m.safetensors data.csv {options}"))["value"].clone()
        };
        assert_eq!(score("--iterations 5"), score(""));
        assert_ne!(score("--iterations 1"), score(""));
    }
    place.ok("fit data.csv --target y --budget 250 --method untied --shape untied=3,4,2 --updates 320 -o u.safetensors");
    for (t, code, sentence) in [(3, 3, "ask for at most 2"), (0, 2, "at least 1")] {
        let output = place.run(&format!("predict u.safetensors data.csv --iterations {t}"));
        assert_eq!(output.status.code(), Some(code));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(sentence), "{error}");
    }
}

/// Both architectures under one cap: the FFN's models are those that it finds alone.
#[test]
fn architectures_compete_without_disturbing_each_other() {
    let place = Place::new();
    let of = |arch: &str| {
        place.json(&format!(
            "fit sim:recurrence --budget 128 --arch {arch} {SMALL}"
        ))
    };
    let any = of("any");
    let methods = any["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 6);
    for arch in ["ffn", "transformer"] {
        let alone = of(arch);
        for method in alone["methods"].as_array().unwrap() {
            let same = |m: &&Value| m["method"] == method["method"] && m["arch"] == arch;
            let found = methods.iter().find(same).unwrap();
            for key in ["shape", "validation", "test", "updates"] {
                assert_eq!(found[key], method[key], "{arch} {key}");
            }
        }
    }
    // Selected by validation, whatever the architecture.
    let losses = methods.iter().map(|m| m["validation"].as_f64().unwrap());
    let best = losses.fold(f64::INFINITY, f64::min);
    assert_eq!(methods[0]["validation"].as_f64(), Some(best));
    assert_eq!(
        (&any["selected"], &any["arch"]),
        (&methods[0]["method"], &methods[0]["arch"])
    );
}

#[test]
fn comparisons_pair_the_loops() {
    let place = Place::new();
    let compare = format!("compare sim:bumps --budget 128 --seeds 2 {SMALL}");
    let alone = place.json(&format!("{compare} --arch transformer --tokens all"));
    let names = [
        "single-transformer",
        "loop-transformer",
        "untied-transformer",
    ];
    for name in names {
        assert_eq!(
            compared(&alone, name)["values"].as_array().unwrap().len(),
            2
        );
    }
    let pairs = alone["paired"].as_array().unwrap().iter();
    let pairs: Vec<(&Value, &Value)> = pairs.map(|p| (&p["first"], &p["second"])).collect();
    let (single, looped, untied) = (names[0].into(), names[1].into(), names[2].into());
    assert_eq!(pairs, [(&looped, &single), (&looped, &untied)]);
    let any = place.json(&format!("{compare} --arch any --tokens all --report out"));
    assert_eq!(any["methods"].as_array().unwrap().len(), 6);
    for name in names {
        // Wins are over all that compete.
        let mut own = compared(&alone, name).clone();
        own["wins"] = compared(&any, name)["wins"].clone();
        assert_eq!(*compared(&any, name), own);
    }
    assert!(paired(&any, "loop", "loop-transformer").is_some());
    let svg = String::from_utf8(place.read("out/comparison.svg")).unwrap();
    for class in ["c0", "c1", "c2", "c3", "c4", "c5"] {
        assert!(svg.contains(&format!("<g class=\"{class}\"")), "{class}");
    }
    // Work is shared out from the FFN's Loop.
    let flops = place.json(&format!("{compare} --arch any --equal flops"));
    let updates = |name: &str| compared(&flops, name)["updates"].as_u64().unwrap();
    assert_eq!(updates("loop"), 640);
    assert!(updates("single") > 640);
}

#[test]
fn a_density_of_a_transformer_is_sampled() {
    let place = Place::new();
    place.ok(&format!(
        "fit sim:four-modes --budget 120 --arch transformer --method loop {SMALL} -o m.safetensors"
    ));
    let draws = place.ok("sample m.safetensors -n 20");
    assert_eq!(draws.lines().count(), 21);
}
