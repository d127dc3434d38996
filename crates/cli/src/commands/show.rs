//! `loopfit show`.

use crate::architecture::ExpectedArchitecture;
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, output};
use anyhow::Result;
use loopfit::Task;
use loopfit_data::preprocess::{Input, Target};
use loopfit_fitted::{Assessment, FittedModel, error_name, error_of_loss};
use loopfit_model::{Architecture, Form, Network};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit show model.safetensors\n  loopfit show model.safetensors --json"
)]
pub(crate) struct Arguments {
    /// The model file.
    model: PathBuf,
    #[command(flatten)]
    expected: ExpectedArchitecture,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let model = FittedModel::load(&a.model)?;
    a.expected.check(&model, &a.model)?;
    let network = model.parameters.network();
    let layout = network.layout();
    if global.json {
        let tensors: Vec<_> = layout
            .iter()
            .map(|v| json!({ "name": v.name, "shape": v.shape() }))
            .collect();
        output::print_json(&object!({
            "network": network, "count": network.count(), "bounds": model.bounds, "likelihood": model.likelihood,
            "preprocessing": model.preprocessing, "provenance": model.provenance, "assessment": model.assessment,
            "reads": model.columns_read(),
            "tensors": tensors,
        }))?;
        return Ok(Exit::Done);
    }
    let p = &model.provenance;
    let mut about = Table::new([("part", Align::Left), ("what", Align::Left)]);
    let inputs: Vec<String> = model
        .preprocessing
        .inputs()
        .iter()
        .map(describe_input)
        .collect();
    let mut rows = vec![
        ("network", network.to_string()),
        ("form", describe_form(network)),
        ("cap B", p.budget.to_string()),
        ("likelihood", model.likelihood.name().to_string()),
        ("inputs", inputs.join(", ")),
        ("reads", describe_reads(&model)),
        (
            "target",
            model
                .preprocessing
                .target()
                .map_or("none: a density of the inputs".to_string(), |target| {
                    describe_target(target, model.preprocessing.weight_column())
                }),
        ),
        (
            "coefficients within",
            format!("±{}", model.bounds.parameter),
        ),
        (
            "outputs clipped at",
            format!("±{} in model units", model.bounds.output),
        ),
        match model.construction() {
            Some(of) => ("constructed for", format!("{of}, by loopfit {}", p.version)),
            None => (
                "fitted from",
                format!("{}, seed {}, by loopfit {}", p.source, p.seed, p.version),
            ),
        },
    ];
    if let (Some(column), true) = (
        model.preprocessing.weight_column(),
        model.preprocessing.task() != Task::Count,
    ) {
        rows.push(("row weights", column.to_string()));
    }
    match &model.assessment {
        Some(assessment) => rows.extend(describe_assessment(assessment)),
        // A network that was constructed has seen no samples.
        None if p.training_samples.is_empty() => {}
        None if p.validation.is_nan() => {
            rows.push(("validation error", "no rows were held out".to_string()));
        }
        None => {
            let error = error_of_loss(model.likelihood, &model.preprocessing, p.validation);
            let error = number::value(error, 4, Exponent::Own);
            let name = error_name(model.likelihood);
            rows.push(("validation error", format!("{name} {error}")));
        }
    }
    if let Architecture::Transformer { partition } = network.architecture() {
        let names = model.preprocessing.feature_names();
        rows.insert(1, ("tokens", describe_tokens(partition, &names)));
    }
    for (name, value) in rows {
        about.push([name.to_string(), value]);
    }
    let mut tensors = Table::new([
        ("tensor", Align::Left),
        ("shape", Align::Left),
        ("numbers", Align::Right),
    ]);
    for view in &layout {
        let shape: Vec<String> = view.shape().iter().map(usize::to_string).collect();
        tensors.push([
            view.name.clone(),
            shape.join(" x "),
            view.size().to_string(),
        ]);
    }
    tensors.push([
        "all".to_string(),
        String::new(),
        network.count().to_string(),
    ]);
    let color = output::color();
    output::print(&format!(
        "{}\n{}",
        about.to_terminal(color),
        tensors.to_terminal(color)
    ))?;
    Ok(Exit::Done)
}

/// `x1 | x2, x3 | controller | 2 references`.
fn describe_tokens(partition: &[Vec<usize>], names: &[String]) -> String {
    let name = |input: &usize| names.get(*input).cloned().unwrap_or_default();
    let token = |inputs: &Vec<usize>| inputs.iter().map(name).collect::<Vec<_>>().join(", ");
    let data: Vec<String> = partition.iter().map(token).collect();
    format!("{} | controller | 2 references", data.join(" | "))
}

/// `canonical, tanh units`.
fn describe_form(network: &Network) -> String {
    match network.form() {
        Form::Affine => "affine, no hidden units".to_string(),
        form => format!("{form}, {} units", network.activation()),
    }
}

/// Which of the model inputs its network reads.
fn describe_reads(model: &FittedModel) -> String {
    let names = model.preprocessing.feature_names();
    let read = model.inputs_read();
    if read.len() == names.len() {
        return "all of them".to_string();
    }
    let read: Vec<&str> = read.iter().map(|i| names[*i].as_str()).collect();
    read.join(", ")
}

/// What is known of a model's error.
fn describe_assessment(a: &Assessment) -> Vec<(&'static str, String)> {
    let rows = |n: usize| number::count(n, "row");
    let value = |v: f64| number::value(v, 4, Exponent::Own);
    let mut about = vec![
        ("fitted to", rows(a.rows)),
        (
            "selected by",
            format!("{}, on {}", a.selected_by, rows(a.selection_rows)),
        ),
        (
            "estimated error",
            format!(
                "{} {}, on rows that fits had not seen",
                a.metric,
                value(a.error)
            ),
        ),
    ];
    if let Some(test) = a.test_error {
        about.push((
            "test error",
            format!("{} {} on {}", a.metric, value(test), rows(a.test_rows)),
        ));
    }
    if a.clip {
        let held = "to the range of the targets seen".to_string();
        about.push(("predictions held", held));
    }
    if a.floor > 0.0 {
        let least = format!("to at least {}, which the rows support", value(a.floor));
        about.push(("probabilities held", least));
    }
    if !a.residuals.is_empty() {
        let kept = format!(
            "from {}: predict --interval",
            number::count(a.residuals.len(), "residual")
        );
        about.push(("intervals", kept));
    }
    about
}

fn describe_input(input: &Input) -> String {
    match input {
        Input::Categorical {
            name, categories, ..
        }
        | Input::Binary {
            name, categories, ..
        } => {
            format!("{name} ({} categories)", categories.len())
        }
        _ => input.name().to_string(),
    }
}

fn describe_target(target: &Target, exposure: Option<&str>) -> String {
    match target {
        Target::Response { name, mean, sd, .. } => {
            format!("{name} (mean {mean:.6}, standard deviation {sd:.6})")
        }
        Target::Count { name, rate } => {
            let of = exposure.map_or("row".to_string(), |column| format!("unit of {column}"));
            format!("{name} (counts, {rate:.6} for each {of})")
        }
        Target::Classes { name, classes } => {
            format!("{name} (classes {})", classes.names().join(", "))
        }
    }
}
