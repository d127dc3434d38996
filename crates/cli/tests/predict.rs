//! Intervals around predictions, and rows that lie outside what was learned from.

mod common;
use common::{Place, classes_csv, command};
use serde_json::{Value, json};

/// A fit that takes a moment.
const SMALL: &str = "--budget 8 --method single --activation relu --effort quick";

/// `y = 3 a - 2 b` with noise, a category that plays no part, and two numbers far from zero.
fn noisy_csv(rows: usize) -> String {
    let mut csv = "a,b,kind,y\n".to_string();
    for i in 0..rows {
        let (a, b) = ((i * 37 % 101) as f64 / 101.0, (i * 53 % 97) as f64 / 97.0);
        let noise = (i * 71 % 89) as f64 / 89.0 - 0.5;
        let kind = ["red", "green"][i * 13 % 7 % 2];
        csv += &format!("{a},{b},{kind},{}\n", 3.0 * a - 2.0 * b + noise);
    }
    csv
}

fn fitted() -> Place {
    let place = Place::new();
    place.write("data.csv", noisy_csv(150));
    place.ok(&format!("fit data.csv --target y -o m.safetensors {SMALL}"));
    place
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

fn said(place: &Place, arguments: &str) -> String {
    let output = place.run(arguments);
    assert!(output.status.success(), "{arguments}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn intervals_have_the_width_of_the_residuals() {
    let place = fitted();
    let plain = place.ok("predict m.safetensors data.csv");
    let mut before = 0.0;
    for level in [0.5, 0.8, 0.9] {
        let csv = place.ok(&format!(
            "predict m.safetensors data.csv --interval {level}"
        ));
        assert_eq!(csv.lines().next(), Some("prediction,lower,upper"));
        let v = place.json(&format!(
            "predict m.safetensors data.csv --interval {level}"
        ));
        assert_eq!(v["level"], level);
        let width = v["half_width"].as_f64().unwrap();
        assert!(width > before);
        before = width;
        let (f, low, high) = (
            numbers(&v["predictions"]),
            numbers(&v["lower"]),
            numbers(&v["upper"]),
        );
        let lines = csv.lines().skip(1).zip(plain.lines().skip(1));
        for (i, (line, prediction)) in lines.enumerate() {
            assert_eq!(line, format!("{},{},{}", f[i], low[i], high[i]));
            assert_eq!(prediction, f[i].to_string());
            assert_eq!((low[i], high[i]), (f[i] - width, f[i] + width));
        }
        // Noise is uniform on an interval of length one: nine tenths of it are not more.
        assert!(width < 0.6, "{level} {width}");
    }
    // The numbers of the file.
    let residuals = numbers(&place.json("show m.safetensors")["assessment"]["residuals"]);
    let rank = (0.9 * (residuals.len() as f64 + 1.0)).ceil() as usize;
    assert_eq!(before, residuals[rank - 1]);
}

#[test]
fn rows_outside_the_range_are_counted_and_flagged() {
    let place = fitted();
    let new = "a,b,kind\n0.5,0.5,red\n7,0.5,green\n-3,99,red\n,0.2,green\n0.1,0.1,blue\n";
    place.write("new.csv", new);
    let v = place.json("predict m.safetensors new.csv --flag");
    let show = place.json("show m.safetensors");
    let reads = show["reads"].as_array().unwrap();
    // A column that the network does not read is none that it extrapolates in.
    let kind = if reads.contains(&json!("kind")) {
        json!(["kind"])
    } else {
        json!([])
    };
    assert!(
        reads.contains(&json!("a")) && reads.contains(&json!("b")),
        "{show}"
    );
    assert_eq!(v["outside"], json!([[], ["a"], ["a", "b"], [], kind]));
    let csv = place.ok("predict m.safetensors new.csv --flag --interval 0.5");
    let cells: Vec<&str> = csv.lines().map(|l| l.rsplit(',').next().unwrap()).collect();
    assert_eq!(&cells[..5], ["outside", "", "a", "a;b", ""]);
    let count = 2 + kind.as_array().unwrap().len();
    let note = format!("rows outside the range of the training rows: {count} of 5");
    assert!(said(&place, "predict m.safetensors new.csv").contains(&format!("{note}; --flag")));
    assert!(said(&place, "predict m.safetensors new.csv --flag").contains(&note));
    assert!(!said(&place, "predict m.safetensors data.csv").contains("outside"));
    assert_eq!(said(&place, "predict m.safetensors new.csv --quiet"), "");
    let every = place.ok("predict m.safetensors new.csv --flag --every-iteration");
    assert_eq!(
        every.lines().next(),
        Some("row,t,prediction,change,outside")
    );
    assert!(every.lines().nth(2).unwrap().ends_with(",a"), "{every}");
}

/// Far rows are counted, and so are predictions that are the nearest the model gives.
#[test]
fn predictions_held_to_the_range_are_said() {
    let place = fitted();
    let far: String = (0..50).map(|i| format!("{i}e6,{i}e6,red,1\n")).collect();
    place.write("far.csv", format!("a,b,kind,y\n{far}"));
    for command in ["predict", "score"] {
        let said = said(&place, &format!("{command} m.safetensors far.csv"));
        assert!(
            said.contains("predictions held to the range from"),
            "{said}"
        );
        assert!(
            said.contains("rows outside the range of the training rows: 49 of 50"),
            "{said}"
        );
        let near = self::said(&place, &format!("{command} m.safetensors data.csv"));
        assert!(!near.contains("outside"), "{near}");
        let quiet = self::said(&place, &format!("{command} m.safetensors far.csv --quiet"));
        assert_eq!(quiet, "");
    }
}

/// Columns that are carried along stay as they are written.
#[test]
fn identifiers_are_carried_along() {
    let place = fitted();
    let new = "name,a,b,kind,day\n007,0.5,0.5,red,=1+1\n\"Ann, B\",0.1,0.2,green,2020-01-02\n";
    place.write("new.csv", new);
    let plain = place.ok("predict m.safetensors new.csv");
    let cells: Vec<&str> = plain.lines().collect();
    let csv = place.ok("predict m.safetensors new.csv --id name --id day");
    let expected = format!(
        "name,day,prediction\n007,=1+1,{}\n\"Ann, B\",2020-01-02,{}\n",
        cells[1], cells[2]
    );
    assert_eq!(csv, expected);
    let safe = place.ok("predict m.safetensors new.csv --id name --id day --csv-safe");
    assert_eq!(safe, expected.replace("=1+1", "'=1+1"));
    // An input may be one of them.
    let json = place.json("predict m.safetensors new.csv --id a --id name");
    assert_eq!(
        json["ids"],
        json!({"a": ["0.5", "0.1"], "name": ["007", "Ann, B"]})
    );
    assert_eq!(numbers(&json["predictions"])[0].to_string(), cells[1]);
    let every = place.ok("predict m.safetensors new.csv --id name --every-iteration");
    assert_eq!(every.lines().next(), Some("name,row,t,prediction,change"));
    assert!(
        every.lines().nth(1).unwrap().starts_with("007,1,1,"),
        "{every}"
    );
    let every = place.json("predict m.safetensors new.csv --id name --every-iteration");
    assert_eq!(every["ids"]["name"][1], "Ann, B");
    place.write("taken.csv", "prediction,a,b,kind\n1,0.5,0.5,red\n");
    place.all_refused(&[
        (
            "predict m.safetensors new.csv --id nam",
            3,
            &["`nam`", "did you mean `name`"],
        ),
        (
            "predict m.safetensors new.csv --id name --id name",
            2,
            &["twice"],
        ),
        (
            "predict m.safetensors taken.csv --id prediction",
            3,
            &["rename it"],
        ),
        (
            "predict m.safetensors new.csv --id name --no-header",
            2,
            &["--id name", "its number, counted from 1"],
        ),
        (
            "predict m.safetensors new.csv --csv-safe --json",
            2,
            &["--csv-safe", "--json"],
        ),
    ]);
}

/// Rows beyond what is in memory at once: the same predictions, notes on all of them, and an error that knows its row.
#[test]
fn long_files_are_predicted_in_parts() {
    let place = fitted();
    let (rows, copies) = (noisy_csv(150), 300);
    let (header, lines) = rows.split_once('\n').unwrap();
    let long = format!("{header}\n{}", lines.repeat(copies));
    place.write("long.csv", &long);
    let short = place.ok("predict m.safetensors data.csv --id kind --interval 0.8 --flag");
    let (names, cells) = short.split_once('\n').unwrap();
    let expected = format!("{names}\n{}", cells.repeat(copies));
    let command = "predict m.safetensors long.csv --id kind --interval 0.8 --flag";
    assert!(place.ok(command) == expected);
    place.ok(&format!("{command} -o p.csv"));
    assert!(place.read("p.csv") == expected.as_bytes());
    // Notes count the rows of all parts, once.
    place.write("far.csv", long.replace("red", "blue").replace("0.5,", ","));
    let notes = said(&place, "predict m.safetensors far.csv");
    let unknown = rows.matches("red").count() * copies;
    let count = format!("texts that are not a category of the training rows: {unknown}");
    assert!(notes.contains(&count), "{notes}");
    assert_eq!(notes.matches("not a category").count(), 1, "{notes}");
    // A file stays as it was if a later row is refused.
    place.write("bad.csv", format!("{long}1e300,0,red,0\n"));
    let output = place.run("predict m.safetensors bad.csv -o p.csv");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("row 45001"), "{error}");
    assert!(!error.contains("cannot write"), "{error}");
    assert!(place.read("p.csv") == expected.as_bytes());
}

/// What has no iterations says so; bytes may be written as 1e6.
#[test]
fn a_linear_model_has_no_iterations() {
    let place = Place::new();
    let line = (0..30).map(|i| format!("{i},{}\n", i % 2 + 3 * i));
    place.write("line.csv", format!("a,y\n{}", line.collect::<String>()));
    // Two numbers hold the linear model and no network.
    place.ok("fit line.csv --target y --budget 2 --effort quick --max-bytes 1e6 -o m.safetensors");
    let every = place.run("predict m.safetensors line.csv --every-iteration");
    let said = String::from_utf8_lossy(&every.stderr).into_owned();
    assert!(
        every.status.success() && said.contains("is linear and has no iterations"),
        "{said}"
    );
}

/// Class labels that a spreadsheet would run.
#[test]
fn labels_are_no_formulas() {
    let place = Place::new();
    let rows = (0..60).map(|i| format!("{},{}\n", i % 10, ["=1+1", "-2", "@x"][i % 10 / 4]));
    place.write("data.csv", format!("a,label\n{}", rows.collect::<String>()));
    place.ok(
        "fit data.csv --target label --task multiclass --budget 20 --updates 320 -o c.safetensors",
    );
    place.write("new.csv", "a\n0\n5\n9\n");
    let labels = |options: &str| -> Vec<String> {
        let csv = place.ok(&format!("predict c.safetensors new.csv {options}"));
        let cells = csv.lines().skip(1).map(|l| l.split(',').next().unwrap());
        cells.map(String::from).collect()
    };
    for (plain, safe) in labels("").iter().zip(labels("--csv-safe")) {
        let expected = match plain.as_str() {
            "-2" => "-2".to_string(),
            text => format!("'{text}"),
        };
        assert_eq!(safe, expected);
    }
}

/// Columns by their position.
#[test]
fn rows_without_names_are_taken_by_position() {
    let place = fitted();
    let show = place.json("show m.safetensors");
    let inputs = show["preprocessing"]["inputs"].as_array().unwrap().len();
    let data = noisy_csv(150);
    let bare = data.split_once('\n').unwrap().1;
    // The model's inputs are the first columns of the table, and the target is the last one.
    let cut = |columns: &[usize]| -> String {
        let line = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            let kept: Vec<&str> = columns.iter().map(|i| cells[*i]).collect();
            kept.join(",") + "\n"
        };
        bare.lines().map(line).collect()
    };
    let names = ["a", "b", "kind"];
    let own = show["preprocessing"]["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| {
            let name = input.as_object().unwrap().values().next().unwrap()["name"].clone();
            names.iter().position(|n| name == **n).unwrap()
        });
    let own: Vec<usize> = own.collect();
    assert_eq!(own.len(), inputs);
    let with_target = [own.clone(), vec![3]].concat();
    place.write("bare.csv", cut(&own));
    place.write("scored.csv", cut(&with_target));
    let expected = place.ok("predict m.safetensors data.csv");
    for file in ["bare.csv", "scored.csv"] {
        let found = place.ok(&format!("predict m.safetensors {file} --no-header"));
        assert_eq!(found, expected);
    }
    assert_eq!(
        place.ok("score m.safetensors scored.csv --no-header"),
        place.ok("score m.safetensors data.csv")
    );
    // Columns beside the inputs are carried along by their numbers, wherever they stand, and so are inputs.
    let numbered = cut(&own);
    let numbered = numbered.lines().enumerate();
    let numbered = numbered.map(|(i, line)| format!("{i:03},{line},n{i}\n"));
    place.write("numbered.csv", numbered.collect::<String>());
    let last = own.len() + 2;
    let found = place.ok(&format!(
        "predict m.safetensors numbered.csv --no-header --id c{last} --id 1"
    ));
    let lines = found.lines().skip(1).zip(expected.lines().skip(1));
    assert!(found.starts_with(&format!("column {last},column 1,prediction\n")));
    for (i, (found, expected)) in lines.enumerate() {
        assert_eq!(found, format!("n{i},{i:03},{expected}"));
    }
    let found = place.ok("predict m.safetensors scored.csv --no-header --id 1 --id 2");
    let carried = format!("{},{},prediction\n", names[own[0]], names[own[1]]);
    assert!(found.starts_with(&carried), "{found}");
    place.write("wide.csv", "1,2,3,4,5,6\n7,8,9,1,2,3\n");
    place.all_refused(&[
        (
            "predict m.safetensors bare.csv --no-header --id 9",
            2,
            &["--id 9", "columns"],
        ),
        (
            "predict m.safetensors bare.csv --no-header --id 1 --id c1",
            2,
            &["twice"],
        ),
        (
            "predict m.safetensors bare.csv",
            3,
            &["has no column names", "add --no-header"],
        ),
        (
            "predict m.safetensors wide.csv --no-header",
            3,
            &["has 6 columns", "`y`"],
        ),
        ("score m.safetensors bare.csv --no-header", 3, &["`y`"]),
        (
            "predict m.safetensors sim:bumps --no-header",
            2,
            &["--no-header"],
        ),
        (
            "predict m.safetensors bare.csv --no-header --header yes",
            2,
            &["--no-header"],
        ),
    ]);
}

/// Models of a search know neither residuals nor ranges.
#[test]
fn models_without_residuals_say_so() {
    let place = fitted();
    place.write("classes.csv", classes_csv(60));
    // So few rows that no high level is possible.
    place.write("few.csv", noisy_csv(12));
    place.ok(&format!(
        "fit few.csv --target y -o few.safetensors --test-fraction 0 {SMALL}"
    ));
    place.ok("fit data.csv --target y --budget 20 --updates 160 -o old.safetensors");
    place.ok("fit classes.csv --target label --budget 20 --updates 160 -o c.safetensors");
    place.ok("fit sim:four-modes --train 64 --valid 32 --budget 20 --updates 160 -o d.safetensors");
    let few = place.json("show few.safetensors");
    let residuals = few["assessment"]["residuals"].as_array().unwrap().len();
    let highest = (1000 * residuals / (residuals + 1)) as f64 / 1000.0;
    let highest = format!("up to a level of {highest},");
    #[rustfmt::skip]
    let cases: &[(&str, i32, &[&str])] = &[
        ("predict m.safetensors data.csv --interval 1", 2, &["above 0 and below 1"]),
        ("predict m.safetensors data.csv --interval 0", 2, &["above 0 and below 1"]),
        ("predict m.safetensors data.csv --interval nan", 2, &["above 0 and below 1"]),
        ("predict m.safetensors data.csv --interval most", 2, &["--interval"]),
        ("predict m.safetensors data.csv --interval 0.9 --every-iteration", 2, &["--interval", "--every-iteration"]),
        ("predict m.safetensors data.csv --interval 0.9 --iterations 1", 2, &["--interval", "--iterations"]),
        ("predict few.safetensors data.csv --interval 0.999", 3, &[&highest, "0.999"]),
        ("predict old.safetensors data.csv --interval 0.9", 3, &["no residuals", "loopfit fit"]),
        ("predict c.safetensors classes.csv --interval 0.9", 3, &["regression", "classification"]),
        ("predict d.safetensors sim:four-modes --interval 0.9", 3, &["regression", "a density"]),
    ];
    place.all_refused(cases);
    // Those of a search know the ranges of their inputs too.
    place.write("far.csv", "a,b,kind\n77,0.5,red\n");
    let far = said(&place, "predict old.safetensors far.csv");
    assert!(
        far.contains("rows outside the range of the training rows: 1 of 1"),
        "{far}"
    );
}

#[test]
fn show_says_what_is_known_of_a_model() {
    let place = fitted();
    let text = place.ok("show m.safetensors");
    for part in [
        "form",
        "reads",
        "fitted to",
        "150 rows",
        "selected by",
        "cross-validation",
        "estimated error",
        "test error",
        "MSE",
        "intervals",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let help = command(&place.path(""), "predict --help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("--interval 0.9") && help.contains("--flag"));
}
