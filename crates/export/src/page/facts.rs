//! What a page says of its model in words.

use crate::description::{Description, Output};
use loopfit_fitted::{FittedModel, error_name, error_of_loss};
use loopfit_model::{Architecture, Form, Method};
use loopfit_numerics::text::{count, integer, plain};

/// Columns that a title names.
const NAMED: usize = 4;

/// What is predicted from what.
pub(super) fn title(d: &Description) -> String {
    let names: Vec<String> = d.columns.iter().map(|column| shown(&column.name)).collect();
    let from = match names.len() {
        ..=NAMED => joined(&names),
        more => format!(
            "{} and {} more",
            names[..NAMED - 1].join(", "),
            more - (NAMED - 1)
        ),
    };
    match &d.output {
        Output::Response { target, .. }
        | Output::Count { target, .. }
        | Output::Classes { target, .. } => format!("{} from {from}", shown(target)),
        Output::LogDensity { .. } => format!("The density of {from}"),
    }
}

/// A name as people read it.
fn shown(name: &str) -> String {
    match name.trim() {
        "" => "(no name)".to_string(),
        name => name.to_string(),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn joined(names: &[String]) -> String {
    match names {
        [] => "nothing".to_string(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The idea of the model, in a sentence or two.
pub(super) fn lede(model: &FittedModel) -> String {
    let network = model.parameters.network();
    let iterations = network.tying().iterations();
    let times = count(iterations, "time");
    let update = sharing(model).map_or(String::new(), |[_, update, _]| {
        format!(" of {}", count(update, "number"))
    });
    let all = format!(
        "{} in all, under a cap of {}.",
        count(network.count(), "number"),
        integer(model.provenance.budget as u64)
    );
    if network.form() == Form::Affine {
        return format!("A linear model. {all}");
    }
    match network.tying().method() {
        Method::Loop => format!("One update{update}, applied {times} over. {all}"),
        Method::Single => format!("One update{update}, applied once. {all}"),
        Method::Untied => {
            format!("{iterations} updates in a row, each with numbers of its own. {all}")
        }
    }
}

/// Numbers of the input function, of one update and of the output function, where the model tells them apart.
pub(super) fn sharing(model: &FittedModel) -> Option<[usize; 3]> {
    let network = model.parameters.network();
    if !network.zeros().is_empty() {
        return None;
    }
    let layout = network.layout();
    let of = |belongs: &dyn Fn(&str) -> bool| -> usize {
        let own = layout.iter().filter(|view| belongs(&view.name));
        own.map(|view| view.size()).sum()
    };
    let output = of(&|name| name.starts_with("output."));
    let blocks = of(&|name| name.starts_with("block."));
    let update = of(&|name| name.starts_with("block.0."));
    Some([network.count() - blocks - output, update, output])
}

/// All that is known of the model.
pub(super) fn facts(model: &FittedModel, d: &Description) -> Vec<(&'static str, String)> {
    let network = model.parameters.network();
    let sizes = d.sizes();
    let mut facts = vec![("Network", network.to_string())];
    if network.form() != Form::Affine {
        let (q, r, t) = (network.q(), network.r(), network.tying().iterations());
        let state = match network.architecture() {
            Architecture::Ffn => format!("state of q = {q} channels"),
            Architecture::Transformer { .. } => format!("tokens of q = {q} channels"),
        };
        facts.push((
            "Shape",
            format!(
                "{state}, r = {r} hidden {} units, T = {t}, in the {} form",
                network.activation(),
                network.form()
            ),
        ));
    }
    facts.push((
        "Numbers",
        format!(
            "{} of at most B = {}",
            integer(network.count() as u64),
            integer(model.provenance.budget as u64)
        ),
    ));
    facts.push(("Likelihood", model.likelihood.name().to_string()));
    facts.extend(columns(model));
    facts.extend(errors(model));
    facts.extend(origin(model));
    facts.push((
        "Size",
        format!(
            "{} of tables, {} for a prediction",
            count(sizes.tables, "byte"),
            count(sizes.multiply_adds, "multiply-add")
        ),
    ));
    facts
}

/// What it reads, and what was done to columns.
fn columns(model: &FittedModel) -> Vec<(&'static str, String)> {
    let inputs = model.preprocessing.inputs();
    let read: Vec<String> = model
        .columns_read()
        .iter()
        .map(|name| shown(name))
        .collect();
    let which = match read.len() == inputs.len() {
        true => format!("all {}", count(inputs.len(), "column")),
        false => format!("{} of {}", joined(&read), count(inputs.len(), "column")),
    };
    let notes = model.preprocessing.notes();
    let mut facts = vec![("Reads", which)];
    if !notes.is_empty() {
        facts.push(("Notes", notes.join(" · ")));
    }
    facts
}

/// How wrong it is, and on which rows.
fn errors(model: &FittedModel) -> Vec<(&'static str, String)> {
    let rows = |n: usize| count(n, "row");
    let provenance = &model.provenance;
    let Some(a) = model.assessment.as_ref().filter(|a| a.rows > 0) else {
        // A network that was constructed has seen no samples.
        // One that was fitted on with its validation samples has no error on others.
        if provenance.training_samples.is_empty() || !provenance.validation.is_finite() {
            return Vec::new();
        }
        let error = error_of_loss(
            model.likelihood,
            &model.preprocessing,
            provenance.validation,
        );
        let name = error_name(model.likelihood);
        return vec![("Validation error", format!("{name} {}", short(error)))];
    };
    let mut facts = vec![
        ("Fitted to", rows(a.rows)),
        (
            "Selected by",
            format!("{}, on {}", a.selected_by, rows(a.selection_rows)),
        ),
        (
            "Estimated error",
            format!(
                "{} {}, on rows that fits had not seen",
                a.metric,
                short(a.error)
            ),
        ),
    ];
    if let Some(test) = a.test_error {
        let told = format!("{} {} on {}", a.metric, short(test), rows(a.test_rows));
        facts.push(("Test error", told));
    }
    facts
}

/// Where it came from.
fn origin(model: &FittedModel) -> Vec<(&'static str, String)> {
    let p = &model.provenance;
    if let Some(of) = model.construction() {
        return vec![("Constructed for", format!("{of}, by loopfit {}", p.version))];
    }
    if p.source.is_empty() {
        return Vec::new();
    }
    let fitted = format!("{}, seed {}, by loopfit {}", p.source, p.seed, p.version);
    let samples = format!("SHA-256 {}", p.training_samples);
    vec![("Fitted from", fitted), ("Training samples", samples)]
}

/// Four digits.
fn short(value: f64) -> String {
    let rounded: Result<f64, _> = format!("{value:.3e}").parse();
    plain(rounded.unwrap_or(value)).replace('-', "\u{2212}")
}
