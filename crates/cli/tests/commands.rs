//! Every command as a user runs it, at small sizes.

mod common;
use common::{Place, classes_csv, compared, paired, regression_csv};
use serde_json::Value;

const QUICK: &str = "--updates 3200";

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("{v} is not a number"))
}

#[test]
fn a_regression_from_csv_to_predictions() {
    let place = Place::new();
    place.write("data.csv", regression_csv(240));
    let fit = place.json(&format!(
        "fit data.csv --target y --budget 64 -o m.safetensors {QUICK}"
    ));
    assert_eq!(fit["task"], "regression");
    assert_eq!(
        fit["inputs"],
        serde_json::json!(["a", "b", "kind=blue", "kind=green", "kind=red"])
    );
    assert!(number(&fit["methods"][0]["validation"]) <= number(&fit["methods"][1]["validation"]));
    for method in fit["methods"].as_array().unwrap() {
        assert!(number(&method["count"]) <= 64.0);
        assert!(number(&method["test"]) < 0.2, "{method}");
    }

    let score = place.json("score m.safetensors data.csv");
    assert_eq!(score["rows"], 240);
    assert!(number(&score["also"]["R2"]) > 0.9);

    let show = place.json("show m.safetensors");
    let tensors = show["tensors"].as_array().unwrap();
    let size = |t: &Value| {
        t["shape"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .product::<u64>()
    };
    assert_eq!(
        tensors.iter().map(size).sum::<u64>(),
        show["count"].as_u64().unwrap()
    );

    // Row i of the output is row i of the input, whatever the threads; the target may be
    // absent, other columns may be present, an unknown category and a missing cell are fine.
    let csv = regression_csv(240);
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    let reordered: String = std::iter::once("extra,kind,b,a\n".to_string())
        .chain(rows.iter().map(|r| {
            let c: Vec<&str> = r.split(',').collect();
            format!("x,{},{},{}\n", c[2], c[1], c[0])
        }))
        .collect();
    place
        .write("new.csv", reordered)
        .write("odd.csv", "a,b,kind\n,0.5,red\n0.5,0.5,purple\n");
    let one = place.ok("predict m.safetensors new.csv --threads 1");
    assert_eq!(one, place.ok("predict m.safetensors data.csv --threads 8"));
    assert_eq!(one.lines().count(), 241);
    for (line, row) in one.lines().skip(1).zip(&rows).take(50) {
        let y: f64 = row.rsplit(',').next().unwrap().parse().unwrap();
        assert!((line.parse::<f64>().unwrap() - y).abs() < 1.5);
    }
    let odd = place.run("predict m.safetensors odd.csv");
    assert!(odd.status.success());
    let said = String::from_utf8(odd.stderr).unwrap();
    assert!(
        said.contains("missing cells, replaced: 1") && said.contains("training rows: 1"),
        "{said}"
    );
    place.ok("predict m.safetensors data.csv -o p.csv");
    assert_eq!(place.read("p.csv"), one.as_bytes());
}

/// A constant that knows the shares of three classes is no worse than guessing at random, on test rows too.
#[test]
fn the_constant_beside_several_classes_is_one() {
    let place = Place::new();
    place.write("data.csv", classes_csv(120));
    let fit =
        place.ok("fit data.csv --target label --budget 8 --effort quick --method single --json");
    let result: Value = serde_json::from_str(&fit).unwrap();
    for of in ["validation", "test"] {
        let error = result["constant"][of].as_f64().unwrap();
        assert!(error < 3f64.ln() + 0.02, "{of} {error}");
    }
}

#[test]
fn a_classification_and_its_probabilities() {
    let place = Place::new();
    place.write("data.csv", classes_csv(200));
    let fit = place.json(&format!(
        "fit data.csv --target label --budget 48 -o m.safetensors {QUICK}"
    ));
    assert_eq!(fit["task"]["multiclass"]["classes"], 3);
    let score = place.json("score m.safetensors data.csv");
    assert!(number(&score["also"]["accuracy"]) > 0.85, "{score}");
    let predictions = place.json("predict m.safetensors data.csv");
    for row in predictions["probabilities"].as_array().unwrap() {
        let total: f64 = row.as_array().unwrap().iter().map(number).sum();
        assert!((total - 1.0).abs() < 1e-12);
    }
}

#[test]
fn two_classes_from_standard_input() {
    let place = Place::new();
    let csv: String = classes_csv(150).replace("middle", "high");
    let output = common::command(
        &place.path(""),
        &format!("fit - --target label --budget 20 --json -o m.safetensors {QUICK}"),
    )
    .write_stdin(csv)
    .output()
    .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let fit: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fit["task"], "binary");
    assert!(
        String::from_utf8(output.stderr).unwrap().contains("label"),
        "the inferred task is said"
    );
}

#[test]
fn a_density_is_fitted_scored_and_sampled() {
    let place = Place::new();
    let fit = place.json(
        "fit sim:four-modes --train 512 --valid 256 --budget 60 --updates 3200 -o m.safetensors",
    );
    assert_eq!(fit["metric"], "squared Hellinger distance");
    let twenty = place.ok("sample m.safetensors -n 20 --seed 3");
    let thirty = place.ok("sample m.safetensors -n 30 --seed 3 --threads 8");
    assert!(
        thirty.starts_with(twenty.as_str()),
        "fewer draws are the first of more"
    );
    assert!(
        twenty
            .lines()
            .skip(1)
            .flat_map(|l| l.split(','))
            .all(|c| (0.0..=1.0).contains(&c.parse::<f64>().unwrap()))
    );
    assert!(number(&place.json("score m.safetensors sim:four-modes")["value"]) < 0.0);

    // A table of the user's own, not on the unit square.
    let csv: String = std::iter::once("u,v\n".to_string())
        .chain((0..300).map(|i| {
            format!(
                "{},{}\n",
                100.0 + (i * 37 % 101) as f64,
                -5.0 - ((i * 53 % 97) as f64 / 97.0).powi(2)
            )
        }))
        .collect();
    place.write("points.csv", csv);
    place.ok("fit points.csv --task density --budget 40 --updates 800 -o own.safetensors");
    let draws = place.ok("sample own.safetensors -n 50");
    for line in draws.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|c| c.parse().unwrap()).collect();
        assert!(
            (90.0..=210.0).contains(&cells[0]) && (-6.2..=-4.8).contains(&cells[1]),
            "{line}"
        );
    }
}

#[test]
fn compare_has_the_promised_keys_and_the_same_bytes_on_any_threads() {
    let place = Place::new();
    let arguments = "compare sim:recurrence --budget 64 --seeds 3 --first-seed 5 --train 256 --valid 64 --updates 480";
    let one = place.ok(&format!("{arguments} --json --threads 1"));
    assert_eq!(one, place.ok(&format!("{arguments} --json --threads 2")));
    let v: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(v["budget"], 64);
    assert_eq!(v["metric"], "MSE against f0");
    assert_eq!(v["seeds"], serde_json::json!([5, 6, 7]));
    for method in ["single", "loop", "untied"] {
        let m = compared(&v, method);
        let values: Vec<f64> = m["values"].as_array().unwrap().iter().map(number).collect();
        assert_eq!(values.len(), 3);
        assert!((number(&m["mean"]) - values.iter().sum::<f64>() / 3.0).abs() < 1e-15);
        assert!(number(&m["se"]) > 0.0 && m["shape"]["q"].is_u64());
    }
    let mean = |m: &str| number(&compared(&v, m)["mean"]);
    for other in ["single", "untied"] {
        let paired = paired(&v, "loop", other).unwrap();
        assert!((number(&paired["mean"]) - (mean("loop") - mean(other))).abs() < 1e-12);
        assert!(number(&paired["se"]) > 0.0);
    }
}

/// Some methods alone: those are compared, with the results that they have among all.
#[test]
fn compare_takes_some_methods() {
    let place = Place::new();
    let small = "compare sim:bumps --budget 64 --seeds 2 --train 128 --valid 64 --updates 320";
    let all = place.json(small);
    let some = place.json(&format!("{small} --method single,untied"));
    assert_eq!(some["methods"].as_array().unwrap().len(), 2);
    for method in ["single", "untied"] {
        let of = |v: &Value| compared(v, method)["values"].clone();
        assert_eq!(of(&some), of(&all));
    }
    let title = some["title"].as_str().unwrap();
    assert!(title.starts_with("Single and Untied on"), "{title}");
    place.refused(
        &format!("{small} --method single --shape loop=2,3,4"),
        "--method leaves out",
    );
}

#[test]
fn compare_takes_shapes_tables_and_writes_a_report() {
    let place = Place::new();
    place.write("data.csv", regression_csv(200));
    let v = place.json("compare data.csv --target y --budget 64 --seeds 2 --updates 320 --shape loop=2,5,4 --report out");
    let shape = &compared(&v, "loop")["shape"];
    assert_eq!(
        (&shape["q"], &shape["r"], &shape["t"]),
        (&2.into(), &5.into(), &4.into())
    );
    assert_eq!(v["metric"], "test MSE");
    let pages = ["single.html", "loop.html", "untied.html"];
    let report = String::from_utf8(place.read("out/comparison.html")).unwrap();
    for page in pages {
        assert!(report.contains(&format!("href=\"{page}\"")), "{page}");
    }
    let files = ["comparison.md", "comparison.svg", "comparison.html"];
    for file in files.into_iter().chain(pages) {
        assert!(!place.read(&format!("out/{file}")).is_empty());
    }
    let text = place
        .ok("compare data.csv --target y --budget 64 --seeds 2 --updates 320 --likelihood laplace");
    assert!(
        text.contains("Loop − Single") && text.contains("the same number of updates"),
        "{text}"
    );
}

#[test]
fn budget_reproduces_the_counts_of_the_paper() {
    let place = Place::new();
    // Frozen configurations at B = 128 (F.4.2): (d, method, q, r, T, P).
    let table = [
        (2, "loop", 4, 11, 1, 120),
        (2, "untied", 6, 2, 3, 121),
        (3, "loop", 3, 15, 1, 124),
        (3, "loop", 2, 23, 1, 128),
        (3, "untied", 2, 5, 4, 119),
        (5, "loop", 4, 10, 1, 123),
        (5, "loop", 5, 7, 1, 118),
        (5, "untied", 4, 3, 3, 122),
        (2, "loop", 3, 16, 1, 128),
        (2, "loop", 2, 23, 1, 126),
        (2, "untied", 4, 3, 3, 110),
    ];
    for (d, method, q, r, t, count) in table {
        let v = place.json(&format!("budget --dim {d} --budget 128"));
        let row = v[method]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["q"] == q && (method == "loop" || s["t"] == t))
            .unwrap();
        assert_eq!(
            (row["r"].as_u64(), row["count"].as_u64()),
            (Some(r), Some(count)),
            "{d} {method} {q}"
        );
    }
    let transformer = place.json("budget --dim 3 --budget 300 --arch transformer --outputs 2");
    assert!(
        transformer["loop"]
            .as_array()
            .unwrap()
            .iter()
            .all(|s| s["count"].as_u64().unwrap() <= 300)
    );
    // Table 1 by hand: d = 5, M = 1, N = 4, q = 3 gives 103 + 7r.
    let one = place.json("budget --dim 5 --budget 128 --arch transformer --tokens all");
    assert_eq!(
        (&one["arch"], &one["tokens"]),
        (&"transformer".into(), &4.into())
    );
    let three = &one["loop"][1];
    assert_eq!(
        (three["r"].as_u64(), three["count"].as_u64()),
        (Some(3), Some(124))
    );
    let text = place.ok("budget --dim 5 --budget 128");
    assert!(text.contains("largest r") && text.contains("`--form paper` counts as here"));
    let text = place.ok("budget --dim 3 --budget 300 --arch transformer");
    assert!(!text.contains("--form paper"), "{text}");
}

/// The smallest Transformer of two inputs that depends on them has 64 numbers (Table 1, q = 2):
/// under a cap of 63 the FFN is alone, with the results that it has without competition.
#[test]
fn an_architecture_that_cannot_fit_is_left_out_and_said() {
    let place = Place::new();
    let small = "--train 64 --valid 32 --updates 320 --budget 63";
    let alone = place.json(&format!("fit sim:bumps {small}"));
    let any = place.json(&format!("fit sim:bumps {small} --arch any"));
    assert_eq!(any["methods"], alone["methods"]);
    assert_eq!(any["arch"], "ffn");
    let left_out = |notes: &Value| {
        let notes = notes.as_array().unwrap();
        let with = |n: &&Value| n.as_str().unwrap().contains("any post-LN Transformer");
        notes.iter().filter(with).count()
    };
    assert_eq!((left_out(&alone["notes"]), left_out(&any["notes"])), (0, 1));
    let comparison = place.json(&format!("compare sim:bumps --seeds 2 {small} --arch any"));
    assert_eq!(left_out(&comparison["notes"]), 1);
    assert_eq!(comparison["methods"].as_array().unwrap().len(), 3);
}

#[test]
fn help_has_examples_and_completions_have_every_command() {
    let place = Place::new();
    let commands = [
        "demo",
        "fit",
        "curve",
        "predict",
        "score",
        "show",
        "convert",
        "export",
        "compare",
        "sample",
        "budget",
        "data",
        "completions",
    ];
    for command in commands {
        assert!(
            place.ok(&format!("{command} --help")).contains("Example"),
            "{command}"
        );
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = place.ok(&format!("completions {shell}"));
        assert!(commands.iter().all(|c| script.contains(c)), "{shell}");
    }
}

#[test]
fn the_same_seed_writes_the_same_file() {
    let place = Place::new();
    place.write("data.csv", regression_csv(120));
    for (file, threads) in [("one", 1), ("two", 2)] {
        place.ok(&format!("fit data.csv --target y --budget 40 --updates 320 --seed 9 --threads {threads} -o {file}"));
    }
    assert_eq!(place.read("one"), place.read("two"));
    place.ok("fit data.csv --target y --budget 40 --updates 320 --seed 10 -o other");
    assert_ne!(place.read("one"), place.read("other"));
}

/// Without a GPU `auto` is the processor, and `cuda` says what is missing and what to do.
#[test]
fn a_device_changes_no_result() {
    let place = Place::new();
    let search = "fit sim:bumps --budget 16 --updates 64";
    let losses = |device: &str| -> Vec<Value> {
        let fit = place.json(&format!("{search} --device {device}"));
        let methods = fit["methods"].as_array().unwrap().iter();
        methods.map(|method| method["validation"].clone()).collect()
    };
    assert_eq!(losses("cpu"), losses("auto"));
    let output = place.run(&format!("{search} --device cuda"));
    if !output.status.success() {
        assert_eq!(output.status.code(), Some(3));
        let error = String::from_utf8(output.stderr).unwrap();
        let sentence = error.lines().find(|l| l.starts_with("error: ")).unwrap();
        assert!(
            sentence.starts_with("error: the backend cuda failed: "),
            "{error}"
        );
        assert!(sentence.ends_with("(--device cpu)"), "{error}");
    }
    place.refused(&format!("{search} --device tpu"), "cpu, cuda, auto");
}
