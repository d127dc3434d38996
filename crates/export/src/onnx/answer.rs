//! Outputs to what a model says, in 64 bits.

use super::graph::{Attribute, Data, Element, Graph};
use super::reading::Read;
use super::{suffices, whole_numbers};
use crate::description::{Description, Output};

/// Names of the outputs.
pub(super) fn names(output: &Output) -> &'static [&'static str] {
    match output {
        Output::Classes { .. } => &["label", "probabilities"],
        _ => &["y"],
    }
}

/// What is said of rows, from the outputs of the network for them.
pub(super) fn answer(graph: &mut Graph, d: &Description, outputs: &str, read: &Read) {
    let low = graph.float("_least_output", -d.clip);
    let high = graph.float("_largest_output", d.clip);
    let mut f = graph.held(outputs, &low, &high);
    if let Some(refused) = &read.refused {
        f = graph.node("Add", &[&f, refused], &[]);
    }
    let wide = graph.cast(&f, Element::Double);
    match &d.output {
        Output::Response {
            mean, sd, range, ..
        } => {
            let [scale, shift] = [("_sd", *sd), ("_mean", *mean)].map(|(n, v)| graph.double(n, v));
            let scaled = graph.node("Mul", &[&wide, &scale], &[]);
            let mut y = graph.node("Add", &[&scaled, &shift], &[]);
            if let Some((low, high)) = range {
                let low = graph.double("_least_answer", *low);
                let high = graph.double("_largest_answer", *high);
                y = graph.held(&y, &low, &high);
            }
            let element = match suffices(*mean, *sd) {
                true => Element::Float,
                false => Element::Double,
            };
            number(graph, &y, element);
        }
        Output::Count { rate, .. } => {
            let expected = expected(graph, *rate, read.exposure.as_deref());
            let ratio = graph.node("Exp", &[&wide], &[]);
            let y = graph.node("Mul", &[&expected, &ratio], &[]);
            number(graph, &y, Element::Float);
        }
        Output::LogDensity { constants } => {
            let constant = constants.last().copied().unwrap_or_default();
            let constant = graph.double("_log_normaliser", constant);
            let mut y = graph.node("Sub", &[&wide, &constant], &[]);
            if let Some(outside) = &read.outside {
                y = graph.node("Add", &[&y, outside], &[]);
            }
            number(graph, &y, Element::Float);
        }
        Output::Classes {
            names, room, least, ..
        } => {
            label(graph, names, d.network.outputs, &f);
            probabilities(graph, d.network.outputs, &wide, *room, *least);
            graph.output("probabilities", Element::Float, Some(names.len()));
        }
    }
}

/// One number for each row.
fn number(graph: &mut Graph, y: &str, element: Element) {
    let to = [("to", Attribute::Int(element as i64))];
    graph.node_as("y", "Cast", &[y], &to);
    graph.output("y", element, Some(1));
}

/// Counts that exposures alone let expect, rounded to 32 bits; NaN where they are not positive numbers.
fn expected(graph: &mut Graph, rate: f64, exposure: Option<&str>) -> String {
    let Some(exposure) = exposure else {
        return graph.double("_rate", f64::from(rate as f32));
    };
    let rate = graph.double("_rate", rate);
    let product = graph.node("Mul", &[exposure, &rate], &[]);
    let rounded = graph.cast(&product, Element::Float);
    let wide = graph.cast(&rounded, Element::Double);
    let none = graph.double("_nothing", 0.0);
    let most = graph.double("_infinite", f64::INFINITY);
    let not = graph.double("_not_a_number", f64::NAN);
    let positive = graph.node("Greater", &[&wide, &none], &[]);
    let finite = graph.node("Less", &[&wide, &most], &[]);
    let good = graph.node("And", &[&positive, &finite], &[]);
    graph.node("Where", &[&good, &wide, &not], &[])
}

/// The most likely class of each row, the first of equals: a whole number where all names are, else a text. Rows without
/// probabilities have the least whole number, or an empty text.
fn label(graph: &mut Graph, names: &[String], outputs: usize, f: &str) {
    let sum = graph.over_columns("ReduceSum", f, false);
    let none = graph.node("IsNaN", &[&sum], &[]);
    let best = match outputs {
        1 => {
            let zero = graph.float("_zero", 0.0);
            let second = graph.node("Greater", &[&sum, &zero], &[]);
            graph.cast(&second, Element::Int)
        }
        _ => {
            let how = [("axis", Attribute::Int(1)), ("keepdims", Attribute::Int(0))];
            graph.node("ArgMax", &[f], &how)
        }
    };
    let last = graph.constant("_no_class", &[], &Data::Ints(&[names.len() as i64]));
    let best = graph.node("Where", &[&none, &last, &best], &[]);
    let dims = [names.len() + 1];
    let (classes, element) = match whole_numbers(names) {
        Some(mut numbers) => {
            numbers.push(i64::MIN);
            let classes = graph.constant("_classes", &dims, &Data::Ints(&numbers));
            (classes, Element::Int)
        }
        None => {
            let texts = [names, &[String::new()]].concat();
            let classes = graph.constant("_classes", &dims, &Data::Texts(&texts));
            (classes, Element::Text)
        }
    };
    graph.node_as("label", "Gather", &[&classes, &best], &[]);
    graph.output("label", element, None);
}

/// Probabilities of all classes, none below the least.
fn probabilities(graph: &mut Graph, outputs: usize, f: &str, room: f64, least: f64) {
    let mut p = match outputs {
        1 => {
            let minus = graph.node("Neg", &[f], &[]);
            let both = graph.beside(&[&minus, f]);
            graph.node("Sigmoid", &[&both], &[])
        }
        _ => graph.node("Softmax", &[f], &[("axis", Attribute::Int(1))]),
    };
    if least > 0.0 {
        let room = graph.double("_room", room);
        let least = graph.double("_least_probability", least);
        p = graph.node("Mul", &[&p, &room], &[]);
        p = graph.node("Add", &[&p, &least], &[]);
    }
    let to = [("to", Attribute::Int(Element::Float as i64))];
    graph.node_as("probabilities", "Cast", &[&p], &to);
}
