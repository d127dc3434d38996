//! A fitted model in the units of its columns, and every way its file can contradict itself.

use loopfit_data::table::Column;
use loopfit_data::{Preprocessing, Roles, Scaling, Table, Task};
use loopfit_fitted::{FittedModel, ModelError, Predictions, Provenance, Score};
use loopfit_likelihood::{
    Bernoulli, Energy, Floor, Gaussian, Likelihood, Multiclass, Nodes, Poisson,
};
use loopfit_model::{Activation, Bounds, Form, Network, Parameters, Tying, init, reference};
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;
use serde_json::{Value, json};

/// Two numeric inputs far from the unit square, a response and a class.
fn table(n: usize) -> Table {
    let s = Stream::new(3);
    let draw = |label: &str, shift: f64, scale: f64| {
        let s = s.child(label);
        Column::Numeric(
            (0..n as u64)
                .map(|i| shift + scale * s.uniform(i))
                .collect(),
        )
    };
    let class = (0..n as u64)
        .map(|i| s.child("class").below(i, 3) as f64)
        .collect();
    let columns = [
        ("u", draw("u", 100.0, 20.0)),
        ("v", draw("v", -3.0, 0.5)),
        ("y", draw("y", 7.0, 40.0)),
        ("class", Column::Numeric(class)),
    ];
    Table::from_columns(
        "t",
        columns
            .into_iter()
            .map(|(name, c)| (name.to_string(), c))
            .collect(),
    )
}

/// An untrained model for a task on the table's inputs.
fn model(task: Task) -> FittedModel {
    let table = table(50);
    let (target, other) = match task {
        Task::Regression => (Some("y"), vec!["class".to_string()]),
        Task::Density => (None, vec!["y".to_string(), "class".to_string()]),
        _ => (Some("class"), vec!["y".to_string()]),
    };
    let roles = Roles::new(&table, target, None, &other).unwrap();
    let rows: Vec<usize> = (0..50).collect();
    let preprocessing = Preprocessing::fit(&table, &roles, task, &rows, Scaling::Fitted).unwrap();
    let likelihood = match task {
        Task::Regression => Likelihood::Gaussian(Gaussian::squared_error()),
        Task::Count => Likelihood::Poisson(Poisson),
        Task::Binary => Likelihood::Bernoulli(Bernoulli),
        Task::Multiclass { classes } => Likelihood::Multiclass(Multiclass::new(classes).unwrap()),
        Task::Density => Likelihood::Energy(Energy::training(2).unwrap()),
    };
    let network = Network::ffn(2, likelihood.outputs(), 3, 8, Tying::Loop { t: 3 }).unwrap();
    FittedModel {
        parameters: init::fresh(&network, 1.0, Stream::new(5)),
        bounds: Bounds::default(),
        likelihood,
        preprocessing,
        provenance: Provenance {
            version: "0".into(),
            source: "t".into(),
            training_samples: String::new(),
            budget: 100,
            seed: 0,
            validation: 0.0,
            updates: 0,
        },
        assessment: None,
    }
}

/// However far apart scores are, no class has less than the model's least probability, and the score is that of these probabilities.
#[test]
fn probabilities_have_a_floor() {
    let mut sure = model(Task::Multiclass { classes: 3 });
    let values = sure.parameters.values().iter().map(|v| 50.0 * v).collect();
    let network = sure.parameters.network().clone();
    sure.parameters = Parameters::new(network, values).unwrap();
    sure.bounds = Bounds::new(1e6, 512.0).unwrap();
    let (table, rows) = (table(50), (0..50).collect::<Vec<usize>>());
    let losses = |model: &FittedModel| {
        let (Predictions::Probabilities { values, .. }, _) = model.predict(&table).unwrap() else {
            panic!("probabilities")
        };
        let y = model.preprocessing.targets(&table, &rows).unwrap();
        let of_row = |(p, y): (&[f64], &f32)| -p[*y as usize].ln();
        values.chunks(3).zip(&y).map(of_row).collect::<Vec<f64>>()
    };
    let worst = |losses: &[f64]| losses.iter().copied().fold(0.0, f64::max);
    assert!(worst(&losses(&sure)) > 30.0);
    let floor = Floor::after(sure.likelihood, 50);
    sure.hold(false, floor);
    let held = losses(&sure);
    assert!(worst(&held) <= -floor.least().ln() + 1e-9);
    let score = sure.score(&table, &rows).unwrap().value;
    assert!((score - mean(&held)).abs() < 1e-9);
}

/// At points of the unit square, what predictions say there; for a density, at where its intervals have those points.
#[test]
fn the_index_is_what_predictions_are_made_of() {
    let points = [0.2, 0.9, 0.5, 0.1, 0.75, 0.3];
    let table_at = |model: &FittedModel, mapped: bool| {
        let column = |k: usize| {
            let values = points.iter().skip(k).step_by(2).map(|x| {
                let original = model.preprocessing.inputs_to_original(&[*x as f32; 2])[k];
                if mapped { original } else { *x }
            });
            Column::Numeric(values.collect())
        };
        Table::from_columns("p", vec![("u".into(), column(0)), ("v".into(), column(1))])
    };
    let regression = model(Task::Regression);
    let (predictions, _) = regression.predict(&table_at(&regression, false)).unwrap();
    let index = regression.index(&points).unwrap();
    assert_eq!(predictions, Predictions::Responses(index));

    let classes = model(Task::Multiclass { classes: 3 });
    let logits = classes.index(&points).unwrap();
    let (Predictions::Probabilities { values, .. }, _) =
        classes.predict(&table_at(&classes, false)).unwrap()
    else {
        panic!("probabilities")
    };
    for (logits, p) in logits.chunks(3).zip(values.chunks(3)) {
        assert!((logits[0] - logits[1] - (p[0] / p[1]).ln()).abs() < 1e-12);
    }

    let density = model(Task::Density);
    let index = density.index(&points).unwrap();
    let (Predictions::LogDensities(log_p), _) = density.predict(&table_at(&density, true)).unwrap()
    else {
        panic!("a density")
    };
    // Inputs are rounded to 32 bits in the columns' units and once more in the unit square.
    assert!((index[0] - index[1] - (log_p[0] - log_p[1])).abs() < 1e-4);
    assert!((index[0] - index[1]).abs() > 1e-2);
}

#[test]
fn a_density_integrates_to_one_in_the_units_of_its_columns() {
    let model = model(Task::Density);
    // The support: the training range widened by 5% on each side, from the file's own words.
    let inputs = serde_json::to_value(&model.preprocessing).unwrap()["inputs"].clone();
    let side = |i: usize| {
        let unit = &inputs[i]["unit"];
        (
            unit["low"].as_f64().unwrap(),
            unit["width"].as_f64().unwrap(),
        )
    };
    let ((u0, du), (v0, dv)) = (side(0), side(1));
    let k = 200;
    let at = |low: f64, width: f64, i: usize| low + width * (i as f64 + 0.5) / k as f64;
    let u = (0..k * k).map(|i| at(u0, du, i / k)).collect();
    let v = (0..k * k).map(|i| at(v0, dv, i % k)).collect();
    let grid = |u: Vec<f64>, v: Vec<f64>| {
        Table::from_columns(
            "g",
            vec![
                ("u".into(), Column::Numeric(u)),
                ("v".into(), Column::Numeric(v)),
            ],
        )
    };
    let (Predictions::LogDensities(log_p), _) = model.predict(&grid(u, v)).unwrap() else {
        panic!("a density")
    };
    let total: f64 = log_p.iter().map(|l| l.exp()).sum::<f64>() * du * dv / (k * k) as f64;
    assert!((total - 1.0).abs() < 1e-3, "{total}");

    // Outside the support the density is zero; the score leaves such rows out and says so.
    let outside = grid(vec![110.0, 500.0], vec![-2.8, -2.8]);
    let (Predictions::LogDensities(log_p), notes) = model.predict(&outside).unwrap() else {
        panic!("a density")
    };
    assert!(log_p[0].is_finite() && log_p[1] == f64::NEG_INFINITY);
    assert_eq!(
        notes,
        ["rows outside the range of the density, where it is zero: 1"]
    );
    let score = model.score(&outside, &[0, 1]).unwrap();
    assert_eq!((score.rows, score.also[0]), (1, ("rows outside", 1.0)));
    assert!(score.also[1].0 == "error of log Z" && score.also[1].1 < 1e-3);
    assert!(score.notes.iter().any(|note| note.contains("1 of 2")));
    assert!((score.value + log_p[0]).abs() < 1e-9);
}

/// Responses, by the reference network and the preprocessing's own constants.
#[test]
fn a_regression_answers_in_the_units_of_its_target() {
    let (model, table) = (model(Task::Regression), table(50));
    let (Predictions::Responses(got), _) = model.predict(&table).unwrap() else {
        panic!("responses")
    };
    let p = serde_json::to_value(&model.preprocessing).unwrap();
    let constant = |v: &Value| v.as_f64().unwrap();
    let column = |name: &str| match table.column(name).unwrap() {
        Column::Numeric(v) => v.clone(),
        Column::Categorical(_) => panic!("numbers"),
    };
    let (u, v, y) = (column("u"), column("v"), column("y"));
    let mut squares = Vec::new();
    for i in 0..50 {
        let scaled = |value: f64, k: usize| {
            let n = &p["inputs"][k]["numeric"];
            (value - constant(&n["mean"])) / constant(&n["sd"])
        };
        let f = reference::forward(&model.parameters, &[scaled(u[i], 0), scaled(v[i], 1)])[0];
        let r = &p["target"]["response"];
        let expected = constant(&r["mean"]) + constant(&r["sd"]) * f;
        assert!((got[i] - expected).abs() < 1e-4, "{} {expected}", got[i]);
        squares.push((expected - y[i]) * (expected - y[i]));
    }
    let score = model.score(&table, &(0..50).collect::<Vec<_>>()).unwrap();
    assert!((score.value / mean(&squares) - 1.0).abs() < 1e-5);
}

/// Files keep a network's form and its activation, and predictions are those of its paper form.
#[test]
fn every_form_survives_its_file() {
    let (model, table) = (model(Task::Regression), table(50));
    let forms = [Form::Paper, Form::Canonical, Form::Carried { extra: 2 }];
    let of = |form| {
        let network = model.parameters.network().clone();
        network.with_form(form).unwrap()
    };
    let networks = Activation::ALL.iter().flat_map(|activation| {
        let network = |form| of(form).with_activation(*activation).unwrap();
        forms.map(network)
    });
    for network in networks.chain([Network::affine(2, 1, 1).unwrap()]) {
        let with = |parameters: Parameters| FittedModel {
            parameters,
            ..model.clone()
        };
        let own = with(init::fresh(&network, 1.0, Stream::new(5)));
        let loaded = reload(&own, |_| {}).unwrap();
        assert_eq!(loaded.parameters, own.parameters);
        let paper = with(own.parameters.to_paper());
        assert_eq!(
            loaded.predict(&table).unwrap(),
            paper.predict(&table).unwrap()
        );
        let rows: Vec<usize> = (0..50).collect();
        assert_eq!(
            loaded.score(&table, &rows).unwrap(),
            paper.score(&table, &rows).unwrap()
        );
    }
}

#[test]
fn probabilities_sum_to_one_and_the_label_is_the_largest() {
    let model = model(Task::Multiclass { classes: 3 });
    let (
        Predictions::Probabilities {
            classes,
            values,
            labels,
        },
        _,
    ) = model.predict(&table(50)).unwrap()
    else {
        panic!("probabilities")
    };
    assert_eq!(classes, ["0", "1", "2"]);
    for (row, label) in values.chunks(3).zip(labels) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(row.iter().all(|p| *p <= row[label]));
    }
}

/// Steps come some rows at a time and are those of all rows; the last one is the prediction, and every part of the iterations gives
/// the same.
#[test]
fn iterations_come_in_parts() {
    // So many that all rows do not go at once.
    let (rows, t) = (6000, 400);
    for task in [
        Task::Regression,
        Task::Multiclass { classes: 3 },
        Task::Density,
    ] {
        let mut model = model(task);
        let outputs = model.likelihood.outputs();
        let network = Network::ffn(2, outputs, 3, 8, Tying::Loop { t }).unwrap();
        model.parameters = init::fresh(&network, 1.0, Stream::new(5));
        let table = table(rows);
        let steps = |iterations: std::ops::Range<usize>| {
            let (mut all, mut parts) = (Vec::new(), 0);
            let notes = model.predict_every_iteration(&table, iterations, |first, steps| {
                assert_eq!(first, all.len());
                parts += 1;
                let last = steps.last().unwrap();
                all.extend((0..last.change.len()).map(|row| match &last.predictions {
                    Predictions::Responses(v) | Predictions::LogDensities(v) => vec![v[row]],
                    Predictions::Probabilities { values, .. } => values[3 * row..][..3].to_vec(),
                }));
                Ok::<_, loopfit_fitted::ApplyError>(())
            });
            (all, parts, notes.unwrap())
        };
        let (all, parts, notes) = steps(0..t);
        assert!(parts > 1 && all.len() == rows, "{parts}");
        let (last, part, _) = steps(t - 1..t);
        assert_eq!((&last, part), (&all, 1));
        let (whole, mut noted) = model.predict(&table).unwrap();
        // Beside what is said of cells, predictions also say where they are cut.
        noted.retain(|note| !note.contains("held") && !note.contains("at its bound"));
        assert_eq!(notes, noted);
        let flat: Vec<f64> = all.concat();
        match whole {
            Predictions::Responses(v) | Predictions::LogDensities(v) => assert_eq!(v, flat),
            Predictions::Probabilities { values, .. } => assert_eq!(values, flat),
        }
    }
}

/// Far inputs give one number, which is said.
#[test]
fn predictions_that_are_held_back_are_counted() {
    let model = model(Task::Regression);
    let far = |factor: f64| {
        let columns = table(50).into_columns().into_iter().map(|(name, column)| {
            let Column::Numeric(values) = column else {
                panic!("numbers")
            };
            let values = values.iter().map(|v| v * factor).collect();
            (name, Column::Numeric(values))
        });
        Table::from_columns("far", columns.collect())
    };
    let (_, notes) = model.predict(&far(1.0)).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    let (Predictions::Responses(predicted), notes) = model.predict(&far(1e6)).unwrap() else {
        panic!("responses")
    };
    let p = serde_json::to_value(&model.preprocessing).unwrap();
    let constant = |key: &str| p["target"]["response"][key].as_f64().unwrap();
    let ends = [-8.0, 8.0].map(|f| constant("mean") + constant("sd") * f);
    let held = predicted.iter().filter(|y| ends.contains(y)).count();
    assert!(held > 10);
    let [low, high] = ends.map(|end| end as f32);
    let note = format!("predictions held to the range from {low} to {high}: {held} of 50");
    assert_eq!(notes, [note]);
    let score = model
        .score(&far(1e6), &(0..50).collect::<Vec<_>>())
        .unwrap();
    assert_eq!(score.notes, notes);
}

/// No score is better than one that is not a number.
#[test]
fn scores_are_numbers() {
    let regression = model(Task::Regression);
    let one = regression.score(&table(50), &[3]).unwrap();
    assert!(one.also.iter().all(|(name, _)| *name != "R2"), "{one:?}");
    // Of one row the mean and the largest error are the same; of more rows the largest is that of one of them.
    let of = |score: &Score, metric: &str| {
        score
            .also
            .iter()
            .find(|(name, _)| *name == metric)
            .unwrap()
            .1
    };
    assert_eq!(of(&one, "largest error"), of(&one, "MAE"));
    let rows: Vec<usize> = (0..50).collect();
    let each = rows
        .iter()
        .map(|row| of(&regression.score(&table(50), &[*row]).unwrap(), "MAE"));
    let all = regression.score(&table(50), &rows).unwrap();
    assert_eq!(of(&all, "largest error"), each.fold(0.0, f64::max));
    let density = model(Task::Density);
    let far = Column::Numeric(vec![1e6]);
    let far = Table::from_columns("far", vec![("u".into(), far.clone()), ("v".into(), far)]);
    let error = density.score(&far, &[0]).unwrap().checked().unwrap_err();
    assert!(error.to_string().contains("no finite NLL"), "{error}");
}

/// What happens to the sections of a model file.
type Change = Box<dyn Fn(&mut serde_json::Map<String, Value>)>;

/// Saves a model with one section changed and loads it again.
fn reload(
    model: &FittedModel,
    change: impl Fn(&mut serde_json::Map<String, Value>),
) -> Result<FittedModel, ModelError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.safetensors");
    model.save(&path).unwrap();
    let mut file = loopfit_model::ModelFile::load(&path).unwrap();
    change(&mut file.extra);
    file.save(&path).unwrap();
    FittedModel::load(&path)
}

#[test]
fn a_model_file_that_contradicts_itself_is_refused() {
    let regression = model(Task::Regression);
    let same = reload(&regression, |_| {}).unwrap();
    assert_eq!(same.parameters, regression.parameters);
    assert_eq!(same.preprocessing, regression.preprocessing);
    let classes = model(Task::Multiclass { classes: 3 });
    let density = model(Task::Density);
    let message = |model: &FittedModel, change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        reload(model, change).unwrap_err().to_string()
    };
    let set = |section: &'static str, pointer: &'static str, value: Value| {
        move |extra: &mut serde_json::Map<String, Value>| {
            *extra[section].pointer_mut(pointer).unwrap() = value.clone();
        }
    };
    let cases: Vec<(&FittedModel, Change, &str)> = vec![
        (
            &regression,
            Box::new(|e| drop(e.remove("likelihood"))),
            "no section `likelihood`",
        ),
        (
            &regression,
            Box::new(set("likelihood", "", json!({"kind": "cauchy"}))),
            "malformed section `likelihood`",
        ),
        (
            &regression,
            Box::new(set("likelihood", "", json!({"kind": "bernoulli"}))),
            "does not suit its task",
        ),
        (
            &regression,
            Box::new(set("preprocessing", "/target", Value::Null)),
            "its target does not suit its task",
        ),
        (
            &regression,
            Box::new(set("preprocessing", "/inputs", json!([]))),
            "gives 0 inputs",
        ),
        (
            &classes,
            Box::new(set(
                "preprocessing",
                "/target/classes/classes",
                json!(["0", "1"]),
            )),
            "names 2 classes",
        ),
        (
            &classes,
            Box::new(set(
                "likelihood",
                "",
                json!({"kind": "multiclass", "classes": 4}),
            )),
            "needs 4 outputs",
        ),
        (
            &density,
            Box::new(set("likelihood", "/d", json!(3))),
            "another dimension",
        ),
        (
            &density,
            Box::new(set(
                "preprocessing",
                "/inputs/0",
                json!({"numeric": {"name": "u", "mean": 5.0, "sd": 2.0, "median": 1.0}}),
            )),
            "not mapped to the unit interval",
        ),
        (
            &regression,
            Box::new(set(
                "preprocessing",
                "/target/response/sd",
                json!(f64::MAX / 4.0),
            )),
            "the scaling of its column `y` overflows",
        ),
        (
            &regression,
            Box::new(set(
                "preprocessing",
                "/inputs/0",
                json!({"binary": {"name": "u", "categories": ["a", "b"], "mean": 0.5, "sd": 1e-300}}),
            )),
            "the scaling of its column `u` overflows",
        ),
        (
            &density,
            Box::new(set(
                "preprocessing",
                "/inputs/0/unit",
                json!({"name": "u", "low": 1e308, "width": 1e308, "median": 1.5e308}),
            )),
            "the scaling of its column `u` overflows",
        ),
    ];
    for (model, change, words) in cases {
        let said = message(model, &*change);
        assert!(said.contains(words), "{words}: {said}");
    }
    // The finer rule is for scores; a model keeps the rule it was trained with.
    assert!(
        matches!(density.likelihood, Likelihood::Energy(e) if e.nodes() == Nodes::Grid { side: 32 })
    );
}
