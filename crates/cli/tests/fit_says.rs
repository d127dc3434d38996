//! What `fit` says of rows, columns and errors, beside the model.

mod common;
use common::{Place, classes_csv, regression_csv};
use serde_json::Value;

/// A table with missing cells in a column of numbers and in one of categories.
fn with_holes(rows: usize) -> String {
    let csv = regression_csv(rows);
    let cells = csv.lines().enumerate().map(|(i, line)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if i > 0 && i % 20 == 0 {
            cells[1] = "";
        }
        if i > 0 && i % 30 == 0 {
            cells[2] = "";
        }
        cells.join(",") + "\n"
    });
    cells.collect()
}

fn said_and_printed(place: &Place, command: &str) -> (String, String) {
    let output = place.run(command);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{command}: {said}");
    (said, String::from_utf8(output.stdout).unwrap())
}

/// Of 240 rows a fifth is for the test and a quarter of the others for validation; every twentieth lacks `b`, every thirtieth
/// its kind.
#[test]
fn rows_categories_and_missing_cells_are_said() {
    let place = Place::new();
    place.write("data.csv", with_holes(240));
    for (way, rows) in [
        (
            "--updates 320",
            "rows: 144 for training, 48 for validation and 48 for the test",
        ),
        ("--effort quick --method single", "48 for the test"),
    ] {
        let (said, _) = said_and_printed(
            &place,
            &format!("fit data.csv --target y --budget 40 {way}"),
        );
        for words in [
            rows,
            "categories: `kind` (blue, green, red)",
            "missing cells: 12 of `b` count as its median 0.",
            "8 of `kind` count as no category",
        ] {
            assert!(said.contains(words), "{way}: {words}: {said}");
        }
        assert!(!said.contains("numbers than rows"), "{said}");
    }
}

/// Noise alone, and a plane: where no model is better than a constant, that is said and nothing else.
#[test]
fn that_nothing_beats_a_constant_is_said() {
    let place = Place::new();
    let draw = |i: u64| {
        let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40
    };
    let table = |target: &dyn Fn(u64, u64, u64) -> u64| {
        let rows = (0..120).map(|i| {
            let [a, b, e] = [3 * i, 3 * i + 1, 3 * i + 2].map(draw);
            format!("{a},{b},{}\n", target(a, b, e))
        });
        "a,b,y\n".to_string() + &rows.collect::<String>()
    };
    place.write("noise.csv", table(&|_, _, e| e));
    place.write("plane.csv", table(&|a, b, e| 4 * a + 2 * b + e));
    let says = |data: &str| {
        let fit = format!("fit {data} --target y --budget 24 --effort quick --method single");
        let (_, printed) = said_and_printed(&place, &fit);
        let nothing = "No model under this cap is clearly better than a constant.";
        (printed.contains(nothing), printed.contains("would do"))
    };
    assert_eq!(says("noise.csv"), (true, false));
    assert_eq!(says("plane.csv"), (false, true));
}

/// T without validation rows: the rows, the choice, a model that says that nothing was held out, and what does not go with it.
#[test]
fn iterations_are_chosen_by_penalised_likelihood() {
    let place = Place::new();
    place.write("data.csv", regression_csv(240));
    let fit = "fit data.csv --target y --budget 40 --iterations auto --updates 448";
    let (said, printed) = said_and_printed(&place, &format!("{fit} -o auto.safetensors"));
    assert!(
        said.contains("rows: 192 for training and the choice of T and 48 for the test"),
        "{said}"
    );
    for words in [
        "T chosen by penalised likelihood: Loop",
        "training loss",
        "n = 192",
    ] {
        assert!(printed.contains(words), "{printed}");
    }
    assert!(
        place
            .ok("show auto.safetensors")
            .contains("no rows were held out")
    );
    place.ok("predict auto.safetensors data.csv");
    let json = place.json(fit);
    let chosen = &json["methods"][0]["chosen"];
    assert_eq!(chosen["t"], json["methods"][0]["shape"]["t"]);
    assert_eq!(chosen["rungs"].as_array().unwrap().len(), 7);
    for (more, code, says) in [
        ("--method single", 2, "--iterations auto is for loops alone"),
        ("--shape loop=2,3,4", 2, "shape is not fixed"),
        (
            "--activation tanh",
            2,
            "--activation does not go with --iterations auto",
        ),
        ("--arch any", 2, "one architecture"),
        ("--iterations 4", 2, "--iterations auto stands alone"),
        (
            "--no-refit",
            2,
            "--no-refit is for a fit with validation rows",
        ),
    ] {
        let output = place.run(&format!("{fit} {more}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{more}: {said}");
        assert!(said.contains(says), "{more}: {said}");
    }
    let few = place.run("fit data.csv --target y --budget 40 --iterations auto --updates 32");
    let said = String::from_utf8(few.stderr).unwrap();
    assert!(
        said.contains("32 updates") && said.contains("at least 224"),
        "{said}"
    );
    place.ok("fit data.csv --target y --budget 40 --iterations auto --updates 224");
    // Without test rows all are trained on, and nothing says how good the model is on others.
    let (said, printed) = said_and_printed(
        &place,
        &format!("{fit} --test-fraction 0 -o all.safetensors"),
    );
    assert!(
        said.contains("rows: 240 for training and the choice of T; inputs"),
        "{said}"
    );
    assert!(printed.contains("n = 240"), "{printed}");
    place.ok("show all.safetensors");
    let json = place.json(&format!("{fit} --test-fraction 0"));
    assert_eq!(json["test_rows"], 0);
    assert!(json["methods"][0]["test"].is_null(), "{json}");
    let (said, _) = said_and_printed(&place, &format!("{fit} --test-fraction 0.5"));
    assert!(said.contains("and 120 for the test"), "{said}");
    for other in [
        "compare data.csv --target y --budget 40 --seeds 2 --iterations auto",
        "curve data.csv --target y --iterations auto",
    ] {
        let output = place.run(other);
        assert_eq!(output.status.code(), Some(2), "{other}");
    }
}

#[test]
fn more_numbers_than_rows_are_said() {
    let place = Place::new();
    place.write("few.csv", regression_csv(20));
    for way in ["--updates 320", "--effort quick --method single"] {
        let (said, _) = said_and_printed(
            &place,
            &format!("fit few.csv --target y --budget 128 {way}"),
        );
        assert!(said.contains("a cap of 128 numbers meets 1"), "{said}");
        assert!(said.contains("more numbers than rows"), "{said}");
    }
}

/// R² of numbers, the accuracy of classes, on test rows; and how good the optimum is for those alone who ask.
#[test]
fn shares_stand_beside_the_errors() {
    let place = Place::new();
    place
        .write("data.csv", regression_csv(120))
        .write("classes.csv", classes_csv(120));
    for way in ["--updates 1e3", "--effort quick --method single"] {
        let (_, numbers) = said_and_printed(
            &place,
            &format!("fit data.csv --target y --budget 40 {way}"),
        );
        assert!(numbers.contains("test R²"), "{numbers}");
        let (_, classes) = said_and_printed(
            &place,
            &format!("fit classes.csv --target label --budget 40 {way}"),
        );
        assert!(classes.contains("test accuracy"), "{classes}");
        for text in [&numbers, &classes] {
            assert!(
                !text.contains("Fisher") && !text.contains("parameters"),
                "{text}"
            );
        }
    }
    let all =
        "fit data.csv --target y --budget 40 --effort quick --method single --test-fraction 0";
    let (_, text) = said_and_printed(&place, all);
    assert!(text.contains("validation R²"), "{text}");
    let verbose = "fit data.csv --target y --budget 40 --updates 1e3 --verbose";
    let (_, text) = said_and_printed(&place, verbose);
    assert!(
        text.contains("Optimum: training MSE") && text.contains("Fisher"),
        "{text}"
    );
    let (_, text) = said_and_printed(
        &place,
        "fit sim:bumps --train 64 --valid 32 --budget 40 --updates 320",
    );
    assert!(text.contains("R² against f0"), "{text}");
}

/// The last fit is said where there is one: to 96 + 24 rows of the search, to all 120 of an estimate.
#[test]
fn a_last_fit_is_said() {
    let place = Place::new();
    place.write("data.csv", regression_csv(120));
    let fit = "fit data.csv --target y --budget 40";
    let (_, text) = said_and_printed(&place, &format!("{fit} --updates 320 --refit"));
    let again = "After the selection the model was fitted again";
    assert!(
        text.contains(&format!(
            "{again}, to training and validation rows together (96 rows)"
        )),
        "{text}"
    );
    let (_, text) = said_and_printed(&place, &format!("{fit} --updates 320"));
    assert!(!text.contains("fitted again"), "{text}");
    let quick = format!("{fit} --effort quick --method single");
    let (_, text) = said_and_printed(&place, &quick);
    assert!(
        text.contains(&format!("{again}, to all 120 rows")),
        "{text}"
    );
    let (_, text) = said_and_printed(&place, &format!("{quick} --no-refit"));
    assert!(
        text.contains("was fitted to 96 rows and has not seen the 24 test rows"),
        "{text}"
    );
}

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("{v} is not a number"))
}

/// Fits with Laplace noise make absolute errors small: these lead, and order the methods.
#[test]
fn laplace_noise_is_judged_by_absolute_errors() {
    let place = Place::new();
    place.write("data.csv", regression_csv(120));
    let fit = "fit data.csv --target y --budget 40 --likelihood laplace -o m.safetensors";
    for way in ["--updates 1e3", "--effort quick"] {
        let v = place.json(&format!("{fit} {way}"));
        assert_eq!(
            (&v["metric"], &v["error"]),
            (&"test MAE".into(), &"MAE".into())
        );
        let best = &v["methods"][0];
        let also = &best["also"];
        assert!(
            number(&also["MSE"]) >= number(&best["test"]).powi(2),
            "{best}"
        );
        assert!(also["R2"].is_f64() && also["NLL"].is_f64(), "{also}");
        let score = place.json("score m.safetensors data.csv");
        assert_eq!(score["metric"], "MAE");
        assert!(score["also"]["MSE"].is_f64() && score["also"]["NLL"].is_f64());
        let (_, shown) = said_and_printed(&place, "show m.safetensors");
        assert!(shown.contains("MAE"), "{shown}");
    }
    let searched = place.json(&format!("{fit} --updates 1e3"));
    let validations = searched["methods"].as_array().unwrap().iter();
    let validations: Vec<f64> = validations.map(|m| number(&m["validation"])).collect();
    assert!(validations.is_sorted(), "{validations:?}");
    for way in ["--updates 320", "--effort quick --method single"] {
        let v = place.json(&format!(
            "compare data.csv --target y --budget 40 --likelihood laplace --seeds 2 {way}"
        ));
        assert_eq!(v["metric"], "test MAE");
    }
}

/// A column that has another part already is not what was meant.
#[test]
fn columns_in_use_are_not_suggested() {
    let place = Place::new();
    place.write("data.csv", regression_csv(60));
    place.all_refused(&[(
        "fit data.csv --target y --ignore Y --budget 40",
        3,
        &["no column `Y`;"],
    )]);
    place.all_refused(&[(
        "fit data.csv --target Y --budget 40",
        3,
        &["did you mean `y`?"],
    )]);
}

/// 120 rows whose response is that of `z`, with eight kinds of one row each, the first in the order of their names.
fn rare_kinds() -> String {
    let mut csv = "kind,a,z,b,y\n".to_string();
    let draw = |i: usize, k: f64| (i as f64 * k).fract();
    for i in 0..120 {
        let kind = match i % 17 {
            0 => format!("a{i}"),
            _ => "usual".to_string(),
        };
        let z = draw(i, 0.618_034);
        let (a, b) = (draw(i, 0.414_214), draw(i, 0.732_051));
        csv += &format!(
            "{kind},{a},{z},{b},{}\n",
            5.0 * z + 0.1 * draw(i, 0.236_068)
        );
    }
    csv
}

/// Categories of which the rows of the selection know nothing are inputs of all rows; what was chosen without them reads what it read.
#[test]
fn categories_of_test_rows_alone_move_no_input() {
    let place = Place::new();
    place.write("data.csv", rare_kinds());
    for seed in 1..=3 {
        place.ok(&format!(
            "fit data.csv --target y --budget 16 --method single --effort quick --quiet --seed {seed} -o m.safetensors"
        ));
        let score = place.json("score m.safetensors data.csv");
        assert!(score["value"].as_f64().unwrap() < 0.05, "{seed}: {score}");
    }
}

/// Where all rows select once more, what is said of inputs and rows is of them: eight rare kinds and the usual one, and the three numbers.
#[test]
fn a_second_selection_says_what_it_read() {
    let place = Place::new();
    place.write("data.csv", rare_kinds());
    let fit = "fit data.csv --target y --budget 16 --method single --seed 1";
    let second = place.json(fit);
    assert_eq!(second["inputs"].as_array().unwrap().len(), 9 + 3);
    let notes = second["notes"].as_array().unwrap();
    let rows = "rows: all 120 for the selection by 5-fold cross-validation, twice, after one without the 24 of the test; inputs: 12";
    assert!(notes.iter().any(|note| note == rows), "{notes:?}");
    let first = place.json(&format!("{fit} --no-refit"));
    let inputs = first["inputs"].as_array().unwrap().len();
    assert!(inputs < 12);
    let notes = first["notes"].as_array().unwrap();
    let rows = format!(
        "rows: 96 for the selection by 5-fold cross-validation, twice, 24 for the test; inputs: {inputs}"
    );
    assert!(notes.iter().any(|note| *note == rows), "{notes:?}");
}
