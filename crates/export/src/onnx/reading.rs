//! Columns to model inputs, in 64 bits.

use super::graph::{Data, Element, Graph};
use super::{Input, Inputs};
use crate::description::{Column, Description, Reading};

/// What becomes of the columns of rows.
pub(super) struct Read {
    /// Model inputs.
    pub(super) x: String,
    /// One number for each row: 0, or NaN where a number is too extreme; none without numbers.
    pub(super) refused: Option<String>,
    /// One number for each row: 0, or minus infinity outside the box of a density; none of other models.
    pub(super) outside: Option<String>,
    /// Exposures in 64 bits, if there are any.
    pub(super) exposure: Option<String>,
}

/// Reads all columns.
pub(super) fn read(graph: &mut Graph, d: &Description, inputs: &Inputs) -> Read {
    let numbers: Vec<(usize, &Column)> = d
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.reading.categories().is_none())
        .collect();
    let exposure = d.names().len() > d.columns.len();
    let (cells, exposure) = match inputs {
        Inputs::Matrix(input) => {
            let all = wide(graph, input);
            match exposure {
                true => {
                    let places: Vec<usize> = (0..d.columns.len()).collect();
                    let cells = graph.columns("_numbers", &all, &places);
                    let last = graph.columns("_exposure", &all, &[d.columns.len()]);
                    (Some(cells), Some(last))
                }
                false => (Some(all), None),
            }
        }
        Inputs::Columns(each) => {
            let of_number = numbers.iter().filter_map(|(k, _)| each.get(*k));
            let cells: Vec<String> = of_number.map(|input| wide(graph, input)).collect();
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            let cells = (!cells.is_empty()).then(|| graph.beside(&cells));
            let last = each.last().filter(|_| exposure);
            (cells, last.map(|input| wide(graph, input)))
        }
    };
    // Values beside each other, and the model inputs that they are.
    let mut parts: Vec<String> = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    let (mut refused, mut outside) = (None, None);
    if let Some(cells) = &cells {
        let columns: Vec<&Column> = numbers.iter().map(|(_, column)| *column).collect();
        let read = read_numbers(graph, &columns, cells);
        let zero = graph.float("_zero", 0.0);
        let poisoned = graph.node("Mul", &[&read.x, &zero], &[]);
        refused = Some(graph.over_columns("ReduceSum", &poisoned, true));
        outside = read.outside;
        parts.push(read.x);
        places.extend(columns.iter().map(|column| column.first));
        if let Some(missing) = read.missing {
            parts.push(missing);
            places.extend(columns.iter().filter_map(|column| column.missing));
        }
    }
    if let Inputs::Columns(each) = inputs {
        for (k, (column, input)) in d.columns.iter().zip(each).enumerate() {
            if column.reading.categories().is_some() {
                read_text(graph, k, column, &input.name, &mut parts, &mut places);
            }
        }
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut x = graph.beside(&parts);
    if places.iter().enumerate().any(|(i, place)| i != *place) {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|i| places[*i]);
        x = graph.columns("_order", &x, &order);
    }
    Read {
        x,
        refused,
        outside,
        exposure,
    }
}

/// An input of numbers in 64 bits.
fn wide(graph: &mut Graph, input: &Input) -> String {
    match input.element {
        Element::Double => input.name.clone(),
        _ => graph.cast(&input.name, Element::Double),
    }
}

struct Numbers {
    x: String,
    missing: Option<String>,
    outside: Option<String>,
}

/// Scales all columns of numbers at once.
fn read_numbers(graph: &mut Graph, columns: &[&Column], cells: &str) -> Numbers {
    let (mut shifts, mut scales, mut medians) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for column in columns {
        if let Reading::Number {
            shift,
            scale,
            median,
            bounded,
        } = column.reading
        {
            shifts.push(shift);
            scales.push(scale);
            medians.push(median);
            lows.push(if bounded { 0.0 } else { f64::NEG_INFINITY });
            highs.push(if bounded { 1.0 } else { f64::INFINITY });
        }
    }
    let row = |graph: &mut Graph, name: &str, values: &[f64]| {
        graph.constant(name, &[values.len()], &Data::Doubles(values))
    };
    let median = row(graph, "_median", &medians);
    let shift = row(graph, "_shift", &shifts);
    let scale = row(graph, "_scale", &scales);
    let missing = graph.node("IsNaN", &[cells], &[]);
    let filled = graph.node("Where", &[&missing, &median, cells], &[]);
    let centred = graph.node("Sub", &[&filled, &shift], &[]);
    let mut scaled = graph.node("Div", &[&centred, &scale], &[]);
    let outside = highs.iter().any(|high| high.is_finite()).then(|| {
        let low = row(graph, "_low", &lows);
        let high = row(graph, "_high", &highs);
        let below = graph.node("Less", &[&scaled, &low], &[]);
        let above = graph.node("Greater", &[&scaled, &high], &[]);
        let outside = graph.node("Or", &[&below, &above], &[]);
        let least = graph.double("_least_log_density", f64::NEG_INFINITY);
        let none = graph.double("_nothing", 0.0);
        let each = graph.node("Where", &[&outside, &least, &none], &[]);
        let held = graph.node("Max", &[&scaled, &low], &[]);
        scaled = graph.node("Min", &[&held, &high], &[]);
        graph.over_columns("ReduceSum", &each, true)
    });
    let told: Vec<usize> = (0..columns.len())
        .filter(|k| columns[*k].missing.is_some())
        .collect();
    let missing = (!told.is_empty()).then(|| {
        let missing = graph.cast(&missing, Element::Float);
        match told.len() == columns.len() {
            true => missing,
            false => graph.columns("_told_missing", &missing, &told),
        }
    });
    Numbers {
        x: graph.cast(&scaled, Element::Float),
        missing,
        outside,
    }
}

/// One column of texts: whether it is each category, and whether it is missing.
fn read_text(
    graph: &mut Graph,
    k: usize,
    column: &Column,
    input: &str,
    parts: &mut Vec<String>,
    places: &mut Vec<usize>,
) {
    let is = |graph: &mut Graph, name: &str, texts: &[String]| {
        let texts = graph.constant(name, &[texts.len()], &Data::Texts(texts));
        let equal = graph.node("Equal", &[input, &texts], &[]);
        graph.cast(&equal, Element::Float)
    };
    let categories = column.reading.categories().unwrap_or_default();
    let indicators = is(graph, &format!("_categories_{k}"), categories);
    match &column.reading {
        Reading::Two { values, .. } => {
            let values = graph.constant(&format!("_values_{k}"), &[2, 1], &Data::Floats(values));
            parts.push(graph.node("MatMul", &[&indicators, &values], &[]));
            places.push(column.first);
        }
        _ => {
            parts.push(indicators);
            places.extend((0..categories.len()).map(|i| column.first + i));
        }
    }
    if let Some(place) = column.missing {
        parts.push(is(graph, "_missing_text", &[String::new()]));
        places.push(place);
    }
}
