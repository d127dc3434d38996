//! The records of a store as text, one in a line, and a store from such a text: every record with the checksum of what it holds
//! (docs/store.md), so that changed values reach the readers behind the checksums.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::path::Path;

/// In the order in which records refer to each other.
const TABLES: [&str; 7] = [
    "study", "task", "fit", "choice", "score", "decision", "tally",
];

/// Lines `["table", value, ...]` without the checksums; bytes are `{"bytes": "00ff"}`.
pub(crate) fn write(store: &Path) -> rusqlite::Result<Vec<u8>> {
    let c = Connection::open(store)?;
    let mut text = String::new();
    for table in TABLES {
        let mut statement = c.prepare(&format!("SELECT * FROM {table}"))?;
        let columns = statement.column_count() - 1;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut record = vec![json!(table)];
            for at in 0..columns {
                record.push(match row.get_ref(at)? {
                    ValueRef::Null => Json::Null,
                    ValueRef::Integer(i) => json!(i),
                    ValueRef::Real(r) => json!(r),
                    ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
                    ValueRef::Blob(bytes) => json!({ "bytes": hex(bytes) }),
                });
            }
            text += &format!("{}\n", Json::Array(record));
        }
    }
    Ok(text.into_bytes())
}

/// Puts the records of a text in the place of those of a store. A line that is not a record is left out.
pub(crate) fn replace(store: &Path, text: &[u8]) -> rusqlite::Result<()> {
    let mut c = Connection::open(store)?;
    let triggers: Vec<(String, String)> = c
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")?
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    c.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF")?;
    let change = c.transaction()?;
    for (name, _) in &triggers {
        change.execute_batch(&format!("DROP TRIGGER {name}"))?;
    }
    for table in TABLES {
        change.execute_batch(&format!("DELETE FROM {table}"))?;
    }
    for line in text.split(|b| *b == b'\n') {
        let Ok(Json::Array(record)) = serde_json::from_slice(line) else {
            continue;
        };
        let Some((table, values)) = table_and_values(&record) else {
            continue;
        };
        let sum = Value::Text(checksum(table, &values));
        let marks = vec!["?"; values.len() + 1].join(", ");
        let insert = format!("INSERT INTO {table} VALUES ({marks})");
        // Another number of values, or a key that is there already.
        let _ = change.execute(&insert, params_from_iter(values.iter().chain([&sum])));
    }
    for (_, sql) in &triggers {
        change.execute_batch(sql)?;
    }
    change.commit()
}

fn table_and_values(record: &[Json]) -> Option<(&'static str, Vec<Value>)> {
    let (name, values) = record.split_first()?;
    let table = TABLES.into_iter().find(|table| name == table)?;
    let value = |json: &Json| match json {
        Json::Null => Some(Value::Null),
        Json::Bool(b) => Some(Value::Integer(i64::from(*b))),
        Json::Number(n) => match n.as_i64() {
            Some(i) => Some(Value::Integer(i)),
            None => n.as_f64().map(Value::Real),
        },
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Object(object) => bytes(object.get("bytes")?.as_str()?).map(Value::Blob),
        Json::Array(_) => None,
    };
    let values: Option<Vec<Value>> = values.iter().map(value).collect();
    Some((table, values?))
}

/// As docs/store.md has it.
fn checksum(table: &str, values: &[Value]) -> String {
    let mut hasher = Sha256::new();
    let mut add = |letter: u8, bytes: &[u8]| {
        hasher.update([letter]);
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(b't', table.as_bytes());
    for value in values {
        match value {
            Value::Null => add(b'n', &[]),
            Value::Integer(i) => add(b'i', &i.to_le_bytes()),
            Value::Real(r) => add(b'r', &(r + 0.0).to_le_bytes()),
            Value::Text(text) => add(b't', text.as_bytes()),
            Value::Blob(bytes) => add(b'b', bytes),
        }
    }
    hex(&hasher.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len()).step_by(2).map(pair).collect()
}
