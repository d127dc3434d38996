//! Untrained models of every kind, rows for them, and what `predict` says of these.
#![allow(dead_code)] // each test file uses a part

pub(crate) mod programs;

use loopfit_data::table::{Categorical, Column, MISSING};
use loopfit_data::{Preprocessing, Table};
use loopfit_fitted::{Application, FittedModel, IterationPredictions, Predictions, Provenance};
use loopfit_likelihood::{
    Bernoulli, Energy, Floor, Gaussian, Laplace, Likelihood, Multiclass, Poisson,
};
use loopfit_model::{Activation, Architecture, Bounds, Form, Network, Parameters, Tying, init};
use loopfit_numerics::stream::Stream;
use serde_json::{Value, json};

/// Rows of each model.
const ROWS: usize = 120;

/// A cell of a row.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Number(f64),
    Text(Option<String>),
}

/// A model and rows with their answers.
pub(crate) struct Case {
    pub(crate) words: String,
    /// Whether coefficients are so large that roundings grow from iteration to iteration.
    pub(crate) wild: bool,
    pub(crate) model: FittedModel,
    /// Cells in the order of the description's names, the iteration or 0 for the last, and the answer.
    pub(crate) rows: Vec<(Vec<Cell>, usize, Answer)>,
}

/// What a model says of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// A row that `predict` refuses.
    Refused,
    Number(f64),
    Class(usize, Vec<f64>),
}

/// What outputs mean, in turn.
const KINDS: [&str; 9] = [
    "gaussian",
    "bernoulli",
    "energy",
    "poisson",
    "multiclass",
    "laplace",
    "energy-2",
    "exposure",
    "many classes",
];

/// Every network with three kinds of outputs.
pub(crate) fn cases() -> Vec<Case> {
    cases_of(|_| true, ROWS)
}

/// Those of all cases whose place is taken, with so many rows each.
pub(crate) fn cases_of(taken: impl Fn(usize) -> bool, rows: usize) -> Vec<Case> {
    let networks = networks();
    let mut cases = Vec::new();
    let places = (0..3 * networks.len()).filter(|place| taken(*place));
    for place in places {
        let (i, j) = (place / 3, place % 3);
        let kind = KINDS[(i + 4 * j) % KINDS.len()];
        let mixed = (i + j) % 2 == 0 && !kind.starts_with("energy");
        cases.push(case(kind, mixed, &networks[i], place as u64, rows));
    }
    cases
}

/// A shape, once inputs and outputs are known.
type Shape = Box<dyn Fn(usize, usize) -> Network>;

fn networks() -> Vec<Shape> {
    let tyings = [Tying::Single, Tying::Loop { t: 5 }, Tying::Untied { t: 3 }];
    let mut shapes: Vec<Shape> = Vec::new();
    for (i, activation) in Activation::ALL.into_iter().enumerate() {
        let tying = tyings[i % 3];
        shapes.push(Box::new(move |d, c| {
            let network = Network::ffn(d, c, 3, 5, tying).unwrap();
            network.with_activation(activation).unwrap()
        }));
        let other = tyings[(i + 1) % 3];
        let form = [Form::Canonical, Form::Carried { extra: 1 }][i % 2];
        shapes.push(Box::new(move |d, c| {
            let network = Network::ffn(d, c, 2, 4, other).unwrap();
            let network = network.with_activation(activation).unwrap();
            network.with_form(form).unwrap()
        }));
    }
    shapes.push(Box::new(|d, c| Network::affine(d, c, 1).unwrap()));
    shapes.push(Box::new(|d, c| {
        let network = Network::ffn(1, c, 2, 3, Tying::Loop { t: 4 }).unwrap();
        let network = network.with_form(Form::Canonical).unwrap();
        let network = network.reading(d, vec![d - 1]).unwrap();
        network.with_zeros(vec![1]).unwrap()
    }));
    // Beyond the states that the engine keeps in registers.
    shapes.push(Box::new(|d, c| {
        Network::ffn(d, c, 18, 3, Tying::Loop { t: 2 }).unwrap()
    }));
    for (i, tying) in tyings.into_iter().enumerate() {
        shapes.push(Box::new(move |d, c| {
            let one = vec![(0..d).rev().collect()];
            let partition = if i == 1 {
                one
            } else {
                (0..d).map(|k| vec![k]).collect()
            };
            let architecture = Architecture::Transformer { partition };
            Network::new(architecture, d, c, 2 + i, 3, tying).unwrap()
        }));
    }
    shapes
}

/// Names that no language likes.
fn inputs(mixed: bool, density: usize) -> Vec<Value> {
    if density > 0 {
        let names = ["int", "*/ \"x\" \\"];
        let unit = |k: usize| json!({"unit": {"name": names[k], "low": -2.0 + k as f64, "width": 3.7, "median": 0.3}});
        return (0..density).map(unit).collect();
    }
    let mut inputs = vec![
        json!({"numeric": {"name": "model_d??/", "mean": 1.3, "sd": 0.7, "median": 1.1, "missing": true}}),
        json!({"numeric": {"name": "", "mean": 0.0, "sd": 1.0, "median": 0.25}}),
        json!({"numeric": {"name": "<script>alert(1)</script>", "mean": -1e4, "sd": 33.3, "median": -9987.0}}),
    ];
    if mixed {
        inputs.push(
            json!({"categorical": {"name": "line\nbreak \u{202e} ü", "missing": true,
            "categories": ["a", "\"b\"\\", "ß??=", "</script>", "__proto__"]}}),
        );
        inputs.push(
            json!({"binary": {"name": "class", "categories": ["no", "ja \u{1f600}\t*/"],
            "mean": 0.4, "sd": 0.5, "missing": true}}),
        );
        inputs.push(json!({"categorical": {"name": "__proto__", "categories": ["1", "2"]}}));
    }
    inputs
}

fn case(kind: &str, mixed: bool, shape: &Shape, seed: u64, row_count: usize) -> Case {
    let classes = |k: usize| {
        (0..k)
            .map(|i| format!("'class' {i}?\u{2028}"))
            .collect::<Vec<_>>()
    };
    let labels = |k: usize| json!({"classes": {"name": "y*/", "classes": classes(k)}});
    let response =
        json!({"response": {"name": "y\n", "mean": 12.25, "sd": 3.5, "range": [9.0, 15.5]}});
    let count = json!({"count": {"name": "n", "rate": 0.37}});
    let (likelihood, task, target) = match kind {
        "gaussian" => (
            Likelihood::Gaussian(Gaussian::squared_error()),
            json!("regression"),
            response,
        ),
        "laplace" => (
            Likelihood::Laplace(Laplace::new(0.5).unwrap()),
            json!("regression"),
            response,
        ),
        "poisson" | "exposure" => (Likelihood::Poisson(Poisson), json!("count"), count),
        "bernoulli" => (Likelihood::Bernoulli(Bernoulli), json!("binary"), labels(2)),
        "multiclass" => (
            multiclass(3),
            json!({"multiclass": {"classes": 3}}),
            labels(3),
        ),
        "many classes" => (
            multiclass(70),
            json!({"multiclass": {"classes": 70}}),
            labels(70),
        ),
        "energy" => (
            Likelihood::Energy(Energy::training(1).unwrap()),
            json!("density"),
            Value::Null,
        ),
        _ => (
            Likelihood::Energy(Energy::training(2).unwrap()),
            json!("density"),
            Value::Null,
        ),
    };
    let density = match kind {
        "energy" => 1,
        "energy-2" => 2,
        _ => 0,
    };
    let mut file =
        json!({"task": task, "inputs": inputs(mixed, density), "target": target, "notes": []});
    if kind == "exposure" {
        file["weight"] = json!({"name": "exposure", "mean": 2.0});
    }
    let preprocessing: Preprocessing = serde_json::from_value(file).unwrap();
    let network = match density {
        // Carried channels are at most as many as inputs.
        1 => {
            let own = shape(2, 1);
            match own.form() {
                Form::Paper => shape(1, 1),
                _ => Network::ffn(1, 1, 2, 4, own.tying())
                    .unwrap()
                    .with_activation(own.activation())
                    .unwrap()
                    .with_form(Form::Canonical)
                    .unwrap(),
            }
        }
        _ => shape(preprocessing.d(), likelihood.outputs()),
    };
    let stream = Stream::new(seed);
    let start = init::fresh(&network, 1.0, stream);
    // Some networks are wild: outputs reach the clip, states overflow at extreme rows.
    let wild = seed % 4 == 3;
    let size = if wild { 2.5 } else { 0.4 };
    let noise = |i: usize| size * (2.0 * stream.child("noise").uniform(i as u64) - 1.0);
    let values = start.values().iter().enumerate();
    let values = values.map(|(i, v)| v + noise(i) as f32).collect();
    let mut model = FittedModel {
        parameters: Parameters::new(network, values).unwrap(),
        bounds: Bounds::new(128.0, if kind == "many classes" { 400.0 } else { 8.0 }).unwrap(),
        likelihood,
        preprocessing,
        provenance: Provenance::nothing(),
        assessment: None,
    };
    if seed.is_multiple_of(2) {
        model.hold(true, Floor::after(likelihood, 40));
    }
    let rows = rows(&model, stream.child("rows"), row_count);
    Case {
        words: format!("{kind}, {}, mixed {mixed}", model.parameters.network()),
        wild,
        rows,
        model,
    }
}

fn multiclass(classes: usize) -> Likelihood {
    Likelihood::Multiclass(Multiclass::new(classes).unwrap())
}

/// Columns that a row has, with their categories.
pub(crate) fn names(model: &FittedModel) -> Vec<(String, Option<Vec<String>>)> {
    let mut names: Vec<(String, Option<Vec<String>>)> = Vec::new();
    for input in model.preprocessing.inputs() {
        use loopfit_data::preprocess::Input;
        let categories = match input {
            Input::Categorical { categories, .. } | Input::Binary { categories, .. } => {
                Some(categories.names().to_vec())
            }
            _ => None,
        };
        names.push((input.name().to_string(), categories));
    }
    let exposure = model.preprocessing.weight_column();
    names.extend(exposure.map(|name| (name.to_string(), None)));
    names
}

/// Rows with missing cells, unknown categories and extreme numbers, and their answers.
fn rows(model: &FittedModel, stream: Stream, count: usize) -> Vec<(Vec<Cell>, usize, Answer)> {
    let names = names(model);
    let exposure = model.preprocessing.weight_column();
    let centre = |k: usize| [1.3, 0.0, -1e4, 1.0][k % 4];
    let width = |k: usize| [1.0, 1.5, 60.0, 2.0][k % 4];
    let extreme = [
        0.0,
        -0.0,
        1e9,
        -1e30,
        3e38,
        1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e-40,
    ];
    let cell = |row: usize, k: usize, (_, categories): &(String, Option<Vec<String>>)| {
        let s = stream.nth(row as u64).nth(k as u64);
        if let Some(categories) = categories {
            let choice = s.below(0, categories.len() as u64 + 2) as usize;
            let unknown = (choice == categories.len()).then(|| "never seen".to_string());
            return Cell::Text(categories.get(choice).cloned().or(unknown));
        }
        let is_exposure = exposure.is_some() && k + 1 == names.len();
        let odd = s.below(1, 24);
        let number = match odd {
            0 if !is_exposure => f64::NAN,
            1 => extreme[s.below(2, extreme.len() as u64) as usize],
            _ if is_exposure => 3.0 * s.uniform(3),
            _ => centre(k) + width(k) * (2.0 * s.uniform(3) - 1.0),
        };
        // What a C program passes as float.
        Cell::Number(f64::from(number as f32))
    };
    let all: Vec<Vec<Cell>> = (0..count)
        .map(|row| {
            names
                .iter()
                .enumerate()
                .map(|(k, name)| cell(row, k, name))
                .collect()
        })
        .collect();
    let mut application = Application::new(model).unwrap();
    let mut answers: Vec<(Vec<Cell>, usize, Answer)> = Vec::new();
    for cells in &all {
        let answer = match application.predict(&table(&names, &[cells])) {
            Ok(predictions) => answer(&predictions, 0),
            Err(_) => Answer::Refused,
        };
        answers.push((cells.clone(), 0, answer));
    }
    let good = answers
        .iter()
        .filter(|(_, _, answer)| *answer != Answer::Refused);
    let good: Vec<Vec<Cell>> = good.map(|(cells, _, _)| cells.clone()).collect();
    let iterations = model.parameters.network().tying().iterations();
    let each = |first: usize, steps: Vec<IterationPredictions>| {
        for (t, step) in steps.iter().enumerate() {
            for row in (t..step.change.len()).step_by(iterations) {
                let cells = good[first + row].clone();
                answers.push((cells, t + 1, answer(&step.predictions, row)));
            }
        }
        Ok::<_, loopfit_fitted::ApplyError>(())
    };
    let cells: Vec<&Vec<Cell>> = good.iter().collect();
    let table = table(&names, &cells);
    model
        .predict_every_iteration(&table, 0..iterations, each)
        .unwrap();
    answers
}

pub(crate) fn answer(predictions: &Predictions, row: usize) -> Answer {
    match predictions {
        Predictions::Responses(values) | Predictions::LogDensities(values) => {
            Answer::Number(values[row])
        }
        Predictions::Probabilities {
            classes,
            values,
            labels,
        } => {
            let k = classes.len();
            Answer::Class(labels[row], values[row * k..][..k].to_vec())
        }
    }
}

pub(crate) fn table(names: &[(String, Option<Vec<String>>)], rows: &[&Vec<Cell>]) -> Table {
    let columns = names.iter().enumerate().map(|(k, (name, categories))| {
        let column = match categories {
            None => Column::Numeric(
                rows.iter()
                    .map(|row| match row[k] {
                        Cell::Number(v) => v,
                        Cell::Text(_) => unreachable!("a number"),
                    })
                    .collect(),
            ),
            Some(_) => {
                let mut texts: Vec<String> = Vec::new();
                let codes = rows.iter().map(|row| match &row[k] {
                    Cell::Text(Some(text)) => {
                        let place = texts.iter().position(|t| t == text);
                        place.unwrap_or_else(|| {
                            texts.push(text.clone());
                            texts.len() - 1
                        }) as u32
                    }
                    _ => MISSING,
                });
                let codes = codes.collect();
                Column::Categorical(Categorical {
                    codes,
                    categories: texts,
                    first_text: String::new(),
                })
            }
        };
        (name.clone(), column)
    });
    Table::from_columns("rows", columns.collect())
}
