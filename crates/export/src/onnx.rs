//! ONNX: one file of standard operators, written without a library of protocol buffers.
//!
//! - [`wire`]: how messages lie in a file;
//! - [`graph`]: nodes, constants, inputs and outputs as messages;
//! - [`reading`], [`network`], [`answer`]: the three parts of a description as nodes.

mod answer;
mod graph;
mod network;
mod reading;
mod wire;

use crate::description::{Description, Reading};
use crate::{Content, Export, ExportError, Format, Options, identifiers, names, preamble, says};
use graph::{Element, Graph};
use loopfit_fitted::{FittedModel, error_name, error_of_loss};
use loopfit_numerics::named::Named;
use wire::Message;

const ABOUT: &str = "\
Numbers may be NaN where they are missing, texts empty. Where loopfit refuses a row, because a number is too extreme, the
answer is NaN, the label empty or the least of all whole numbers.
";

/// Iterations that can be written out; runtimes take long to load a graph of more.
const MOST_WRITTEN_OUT: usize = 2000;

/// An input of the graph.
struct Input {
    name: String,
    element: Element,
}

/// The inputs of the graph.
enum Inputs {
    /// Numbers of all columns beside each other.
    Matrix(Input),
    /// One for each column.
    Columns(Vec<Input>),
}

pub(crate) fn export(
    model: &FittedModel,
    d: &Description,
    options: &Options,
) -> Result<Export, ExportError> {
    if options.every_iteration {
        return Err(ExportError::LastIterationOnly);
    }
    let iterations = d.network.iterations;
    if !options.loop_operator && !d.network.blocks.is_empty() && iterations > MOST_WRITTEN_OUT {
        return Err(ExportError::WrittenOut { iterations });
    }
    let mut graph = Graph::default();
    let (inputs, renamed) = inputs(&mut graph, d);
    let read = reading::read(&mut graph, d, &inputs);
    let outputs = network::network(&mut graph, &d.network, &read.x, options.loop_operator);
    answer::answer(&mut graph, d, &outputs, &read);
    let about = preamble(d, ABOUT).join("\n");
    let operators = Message::default().bytes(1, "").int(2, graph::OPSET);
    let file = Message::default()
        .int(1, graph::IR_VERSION)
        .bytes(2, "loopfit")
        .bytes(3, env!("CARGO_PKG_VERSION"))
        .int(5, 1)
        .bytes(6, about)
        .message(7, &graph.finish(&says(&d.output)))
        .message(8, &operators)
        .each(metadata(model, d), |file, (key, value)| {
            file.message(14, &Message::default().bytes(1, key).bytes(2, value))
        });
    Ok(Export {
        format: Format::Onnx,
        header: None,
        body: Content::Bytes(file.finish()),
        sizes: d.sizes(),
        renamed,
    })
}

/// Declares the inputs: one for all numbers, or, where there are texts, one for each column by its name as an identifier. Columns
/// that have another name are told.
fn inputs(graph: &mut Graph, d: &Description) -> (Inputs, Vec<(String, String)>) {
    let names = d.names();
    let element = |k: usize| match d.columns.get(k).map(|column| &column.reading) {
        Some(Reading::Number { shift, scale, .. }) if !suffices(*shift, *scale) => Element::Double,
        Some(Reading::Number { .. }) | None => Element::Float,
        Some(_) => Element::Text,
    };
    let elements: Vec<Element> = (0..names.len()).map(element).collect();
    if d.is_numeric() {
        let wide = elements.contains(&Element::Double);
        let input = Input {
            name: "X".to_string(),
            element: if wide {
                Element::Double
            } else {
                Element::Float
            },
        };
        let columns: Vec<String> = names.iter().map(|n| names::quoted(n).to_string()).collect();
        let about = format!("The columns {}.", columns.join(", "));
        graph.input(&input.name, input.element, names.len(), &about);
        return (Inputs::Matrix(input), Vec::new());
    }
    // What the outputs are called is taken.
    let taken = answer::names(&d.output);
    let all = [taken, &names].concat();
    let identifiers = identifiers(&all, "").split_off(taken.len());
    let renamed = crate::renamed(d, &identifiers);
    let each = names.iter().zip(identifiers).zip(elements);
    let each = each.map(|((column, name), element)| {
        let about = format!("The column {}.", names::quoted(column));
        graph.input(&name, element, 1, &about);
        Input { name, element }
    });
    (Inputs::Columns(each.collect()), renamed)
}

/// Whether numbers of 32 bits hold numbers around a centre to within a 200,000th of their unit.
fn suffices(centre: f64, unit: f64) -> bool {
    let rounding = f64::from(f32::EPSILON) / 2.0 * (centre.abs() + unit);
    rounding <= 5e-6 * unit
}

/// Names that are all whole numbers, as those.
fn whole_numbers(names: &[String]) -> Option<Vec<i64>> {
    let number = |name: &String| {
        let number = name.parse::<i64>().ok();
        number.filter(|number| number.to_string() == *name && *number != i64::MIN)
    };
    names.iter().map(number).collect()
}

/// What the model is and where it comes from.
fn metadata(model: &FittedModel, d: &Description) -> Vec<(&'static str, String)> {
    let network = model.parameters.network();
    let provenance = &model.provenance;
    let list = |names: &[&str]| serde_json::Value::from(names).to_string();
    let mut all = vec![
        ("method", network.tying().method().key().to_string()),
        (
            "architecture",
            network.architecture().kind().name().to_string(),
        ),
        ("shape", network.to_string()),
        ("count", network.count().to_string()),
        ("cap", provenance.budget.to_string()),
        ("likelihood", model.likelihood.name().to_string()),
        ("columns", list(&d.names())),
    ];
    if let Some(target) = model.preprocessing.target() {
        all.push(("target", target.name().to_string()));
    }
    if !d.classes().is_empty() {
        let classes: Vec<&str> = d.classes().iter().map(String::as_str).collect();
        all.push(("classes", list(&classes)));
    }
    if !provenance.source.is_empty() {
        all.push(("source", provenance.source.clone()));
    }
    if !provenance.version.is_empty() {
        all.push(("version", provenance.version.clone()));
    }
    match &model.assessment {
        Some(a) if a.rows > 0 => {
            all.push(("rows", a.rows.to_string()));
            all.push(("metric", a.metric.clone()));
            all.push(("error", a.error.to_string()));
            all.extend(a.test_error.map(|error| ("test_error", error.to_string())));
        }
        // A network that was constructed has seen no samples.
        None if !provenance.training_samples.is_empty() => {
            let error = error_of_loss(
                model.likelihood,
                &model.preprocessing,
                provenance.validation,
            );
            all.push(("metric", error_name(model.likelihood).to_string()));
            all.push(("validation_error", error.to_string()));
        }
        _ => {}
    }
    all
}
