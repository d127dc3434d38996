//! The content of a store as JSON in a fixed order, without times and paths.

use super::Store;
use crate::StudyError;
use loopfit_report::JSON_SCHEMA;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes specifications, results and parameters: equal studies give equal bytes, however they
/// were run. One fit is in memory at a time.
pub fn export(store: &Store, out: &mut impl Write) -> Result<(), StudyError> {
    let wrong = |e: io::Error| StudyError::Output(e);
    write!(out, "{{\"schema\":\"{JSON_SCHEMA}\",\"studies\":[").map_err(wrong)?;
    for (i, named) in store.studies()?.iter().enumerate() {
        let name = &named.name;
        let decisions = store.decisions(name)?;
        let decisions: Vec<Value> = decisions
            .into_iter()
            .map(|(name, content)| json!({ "name": name, "content": parsed(&content) }))
            .collect();
        write!(
            out,
            "{}{{\"name\":{},\"hash\":{},\"protocol\":{},\"decisions\":{},\"tasks\":[",
            if i > 0 { "," } else { "" },
            json!(name),
            json!(named.study.hash()),
            named.study.to_json(),
            json!(decisions)
        )
        .map_err(wrong)?;
        let query = "SELECT task FROM task WHERE study = ? ORDER BY task";
        let tasks: Vec<String> = store.rows(query, [name], |r| r.get(0))?;
        for (j, task) in tasks.iter().enumerate() {
            if j > 0 {
                write!(out, ",").map_err(wrong)?;
            }
            write_task(store, name, task, out)?;
        }
        write!(out, "]}}").map_err(wrong)?;
    }
    writeln!(out, "]}}").map_err(wrong)
}

fn write_task(
    store: &Store,
    study: &str,
    task: &str,
    out: &mut impl Write,
) -> Result<(), StudyError> {
    let wrong = |e: io::Error| StudyError::Output(e);
    let key = [study, task];
    let choices: Vec<Value> = store.rows(
        "SELECT name, method, at, fit FROM choice WHERE study = ? AND task = ? ORDER BY name",
        key,
        |r| {
            Ok(json!({
                "name": r.get::<_, String>(0)?,
                "method": r.get::<_, String>(1)?,
                "at": r.get::<_, Option<f64>>(2)?,
                "fit": r.get::<_, Option<String>>(3)?,
            }))
        },
    )?;
    let scores: Vec<Value> = store.rows(
        "SELECT name, metric, value FROM score WHERE study = ? AND task = ? ORDER BY name, metric",
        key,
        |r| {
            Ok(json!({
                "name": r.get::<_, String>(0)?,
                "metric": r.get::<_, String>(1)?,
                "value": r.get::<_, Option<f64>>(2)?,
            }))
        },
    )?;
    write!(
        out,
        "{{\"task\":{},\"choices\":{},\"scores\":{},\"fits\":[",
        json!(task),
        json!(choices),
        json!(scores)
    )
    .map_err(wrong)?;
    let fits: Vec<String> = store.rows(
        "SELECT fit FROM fit WHERE study = ? AND task = ? ORDER BY fit",
        key,
        |r| r.get(0),
    )?;
    for (i, fit) in fits.iter().enumerate() {
        let Some(stored) = store.fit(study, task, fit)? else {
            continue;
        };
        let o = &stored.outcome;
        let finite = |v: f64| v.is_finite().then_some(v);
        let curve: Vec<(usize, Option<f64>)> =
            o.curve.iter().map(|(u, l)| (*u, finite(*l))).collect();
        let value = json!({
            "fit": fit,
            "method": stored.method,
            "spec": parsed(&stored.spec),
            "stop": o.stop,
            "validation": finite(o.validation),
            "best_update": o.best_update,
            "updates": o.updates,
            "curve": curve,
            "parameters": o.parameters.values(),
            "bits": stored.bits,
        });
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}{value}").map_err(wrong)?;
    }
    write!(out, "]}}").map_err(wrong)
}

/// JSON that the store keeps as text.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
