//! The parts that JSON objects of several commands have in common; docs/json.md lists all keys.

use loopfit_model::{Method, Network};
use loopfit_search::estimate::Entry;
use serde_json::{Map, Value, json};

/// An object and nothing else, written as with `json!`.
macro_rules! object {
    ({ $($json:tt)* }) => {
        match serde_json::json!({ $($json)* }) {
            serde_json::Value::Object(object) => object,
            _ => unreachable!("braces make an object"),
        }
    };
}
pub(crate) use object;

/// The shape of a network.
pub(crate) fn shape(network: &Network) -> Value {
    json!({
        "q": network.q(), "r": network.r(), "t": network.tying().iterations(),
        "activation": network.activation(), "form": network.form().to_string(),
    })
}

/// Metrics by their names.
pub(crate) fn metrics(also: &[(&str, f64)]) -> Value {
    let pairs = also
        .iter()
        .map(|(name, value)| (name.to_string(), json!(value)));
    Value::Object(pairs.collect::<Map<String, Value>>())
}

/// A number, or null where there is none.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The key of a method; none is the linear model.
pub(crate) fn method(method: Option<Method>) -> &'static str {
    method.map_or("linear", Method::key)
}

/// What was selected of a method.
pub(crate) fn entry(entry: &Entry) -> Value {
    let also = match entry.test.also.is_empty() {
        true => metrics(&[entry.held]),
        false => metrics(&entry.test.also),
    };
    json!({
        "method": method(entry.method), "arch": "ffn", "state": "fitted",
        "shape": shape(&entry.network), "count": entry.network.count(),
        "validation": entry.validation, "validation_se": entry.validation_se,
        "test": finite(entry.test.error), "also": also,
        "penalty_factor": entry.factor, "starts": entry.starts,
    })
}
