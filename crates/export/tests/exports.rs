//! What an export says of itself, and what it refuses.

use loopfit_export::{Description, ExportError, Format, Options, export};
use loopfit_fitted::{FittedModel, Provenance};
use loopfit_likelihood::{Bernoulli, Gaussian, Likelihood};
use loopfit_model::{Bounds, Network, Parameters, Tying, init};
use loopfit_numerics::named::Named;
use loopfit_numerics::stream::Stream;
use serde_json::json;
use std::path::Path;

fn model(tying: Tying, names: [&str; 2]) -> FittedModel {
    let input =
        |name: &str| json!({"numeric": {"name": name, "mean": 0.5, "sd": 2.0, "median": 0.4}});
    let file = json!({"task": "regression", "inputs": names.map(input), "notes": [],
        "target": {"response": {"name": "y", "mean": 0.0, "sd": 1.0}}});
    let network = Network::ffn(2, 1, 3, 5, tying).unwrap();
    FittedModel {
        parameters: init::fresh(&network, 1.0, Stream::new(1)),
        bounds: Bounds::default(),
        likelihood: Likelihood::Gaussian(Gaussian::squared_error()),
        preprocessing: serde_json::from_value(file).unwrap(),
        provenance: Provenance {
            source: "a file */ of\nmine".to_string(),
            budget: 100,
            ..Provenance::nothing()
        },
        assessment: None,
    }
}

/// The same model with two classes.
fn classes(names: [String; 2]) -> FittedModel {
    let mut model = model(Tying::Single, ["a", "b"]);
    let mut file = serde_json::to_value(&model.preprocessing).unwrap();
    file["task"] = json!("binary");
    file["target"] = json!({"classes": {"name": "y", "classes": names}});
    model.preprocessing = serde_json::from_value(file).unwrap();
    model.likelihood = Likelihood::Bernoulli(Bernoulli);
    model
}

/// 9 numbers of the lift, 3 * 5 + 5 + 5 * 3 + 3 of a block, 4 of the output, two columns of three numbers of 8 bytes.
#[test]
fn what_iterations_share_is_there_once() {
    for (tying, blocks) in [
        (Tying::Single, 1),
        (Tying::Loop { t: 7 }, 1),
        (Tying::Untied { t: 7 }, 7),
    ] {
        let description = Description::new(&model(tying, ["a", "b"]), false).unwrap();
        let sizes = description.sizes();
        assert_eq!(sizes.tables, 4 * (9 + 38 * blocks + 4) + 8 * 6);
        let updates = tying.iterations();
        assert_eq!(sizes.multiply_adds, 3 * 2 + updates * 2 * 3 * 5 + 3);
        for format in Format::ALL {
            let export = export(&model(tying, ["a", "b"]), *format, &Options::default());
            let content = export.unwrap().single();
            let parameters: Parameters = model(tying, ["a", "b"]).parameters;
            let number = parameters.view("block.0.w1")[0];
            let written = match content.text() {
                Some(_) => format!("{number:?}").into_bytes(),
                None => number.to_le_bytes().to_vec(),
            };
            let windows = content.as_ref().windows(written.len());
            let times = windows.filter(|window| *window == written).count();
            assert_eq!(times, 1, "{number} in {format:?}");
        }
    }
}

#[test]
fn files_of_c_are_two_and_of_others_one() {
    let model = model(Tying::Single, ["a", "int"]);
    let of = |format, name: &str| {
        let export = export(&model, format, &Options::default()).unwrap();
        export.files(Path::new(name))
    };
    let files = of(Format::C, "out/pump.c").unwrap();
    let names: Vec<_> = files
        .iter()
        .map(|(path, _)| path.to_str().unwrap())
        .collect();
    assert_eq!(names, ["out/pump.h", "out/pump.c"]);
    let [header, source] = [0, 1].map(|i| files[i].1.text().unwrap());
    assert!(source.starts_with("#include \"pump.h\"\n"));
    assert!(header.contains("double int_; /* \"int\" */"));
    assert!(header.contains("from a file * / of\\nmine"));
    assert_eq!(of(Format::Rust, "m.rs").unwrap().len(), 1);
    assert_eq!(of(Format::JavaScript, "m.mjs").unwrap().len(), 1);
    assert_eq!(of(Format::Onnx, "m.onnx").unwrap().len(), 1);
    for (format, name) in [
        (Format::C, "m"),
        (Format::Rust, "m.c"),
        (Format::JavaScript, "m.html"),
        (Format::Onnx, "m.c"),
    ] {
        let refused = of(format, name).unwrap_err();
        assert!(
            matches!(refused, ExportError::Extension { .. }),
            "{refused}"
        );
    }
    let refused = of(Format::C, "a\"b.c").unwrap_err();
    assert!(matches!(refused, ExportError::FileName { .. }), "{refused}");
}

#[test]
fn columns_that_are_renamed_are_told() {
    let export = |format| {
        export(
            &model(Tying::Single, ["a", "int"]),
            format,
            &Options::default(),
        )
    };
    let told = [("int".to_string(), "int_".to_string())];
    assert_eq!(export(Format::C).unwrap().renamed, told);
    assert_eq!(export(Format::Rust).unwrap().renamed, told);
    assert_eq!(export(Format::JavaScript).unwrap().renamed, []);
    // All numbers are one input.
    assert_eq!(export(Format::Onnx).unwrap().renamed, []);
}

/// Inputs of a graph are called like their columns unless an output or a column before is, or a sign is none of an identifier.
#[test]
fn inputs_of_a_graph_are_told_from_its_outputs() {
    let mut model = classes(["0", "1"].map(str::to_string));
    let input = |name: &str| json!({"categorical": {"name": name, "categories": ["a", "b"]}});
    let names = ["label", "label_2", "probabilities", "y", "", "_columns"];
    let mut file = serde_json::to_value(&model.preprocessing).unwrap();
    file["inputs"] = names.iter().map(|name| input(name)).collect();
    model.preprocessing = serde_json::from_value(file).unwrap();
    let network = Network::ffn(12, 1, 3, 5, Tying::Single).unwrap();
    model.parameters = init::fresh(&network, 1.0, Stream::new(1));
    let export = export(&model, Format::Onnx, &Options::default()).unwrap();
    let told: Vec<(&str, &str)> = export
        .renamed
        .iter()
        .map(|(column, name)| (column.as_str(), name.as_str()))
        .collect();
    let expected = [
        ("label", "label_2"),
        ("label_2", "label_2_2"),
        ("probabilities", "probabilities_2"),
        ("", "x_"),
        ("_columns", "x__columns"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn graphs_are_not_written_out_without_end() {
    let model = model(Tying::Loop { t: 3000 }, ["a", "b"]);
    let of = |loop_operator, every_iteration| {
        let options = Options {
            loop_operator,
            every_iteration,
            ..Options::default()
        };
        export(&model, Format::Onnx, &options)
    };
    let refused = of(false, false).unwrap_err().to_string();
    assert!(
        refused.contains("3000 iterations") && refused.contains("Loop"),
        "{refused}"
    );
    let size = of(true, false).unwrap().single().as_ref().len();
    assert!(size < 4000, "{size}");
    let refused = of(true, true).unwrap_err().to_string();
    assert!(refused.contains("export to c, rust or js"), "{refused}");
}

#[test]
fn what_c_cannot_write_others_can() {
    for bad in ["a\0b".to_string(), "x".repeat(4096)] {
        let model = classes([bad, "b".to_string()]);
        let refused = export(&model, Format::C, &Options::default()).unwrap_err();
        let told = refused.to_string();
        assert!(told.contains("export to rust, js or onnx"), "{told}");
        assert!(told.len() < 200 && !told.contains('\0'), "{told}");
        for format in [Format::Rust, Format::JavaScript, Format::Onnx] {
            export(&model, format, &Options::default()).unwrap();
        }
    }
}

#[test]
fn names_begin_with_what_a_name_can_begin_with() {
    let model = model(Tying::Single, ["a", "b"]);
    let with = |prefix: &str| {
        let options = Options {
            prefix: prefix.to_string(),
            ..Options::default()
        };
        export(&model, Format::C, &options)
    };
    let content = with("Pump_2").unwrap().single();
    let text = content.text().unwrap();
    assert!(text.contains("float Pump_2_predict(const float *x)") && text.contains("PUMP_2_FMA"));
    assert!(!text.contains("model_") && !text.contains("MODEL_"));
    let content = with("my_exposure").unwrap().single();
    let text = content.text().unwrap();
    assert!(text.contains("MY_EXPOSURE_D") && !text.contains("MY_b"));
    for bad in ["", "2x", "a b", "int", "_x", "ä", &"x".repeat(41)] {
        let refused = with(bad).unwrap_err();
        assert!(
            matches!(refused, ExportError::Prefix(_)),
            "{bad}: {refused}"
        );
    }
}
