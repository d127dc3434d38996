//! The records of a store: what they consist of, and the checksum that each carries.

use loopfit_numerics::text::hex;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use sha2::{Digest, Sha256};

/// The records of one kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Its name.
    pub(super) name: &'static str,
    /// What identifies a record.
    pub(super) keys: &'static [&'static str],
    /// All columns in their order, but for the checksum, which is the last.
    pub(super) columns: &'static [&'static str],
}

pub(super) const STUDY: Table = Table {
    name: "study",
    keys: &["name"],
    columns: &["name", "hash", "protocol"],
};
pub(super) const TASK: Table = Table {
    name: "task",
    keys: &["study", "task"],
    columns: &["study", "task", "phase", "case", "split", "seed"],
};
pub(super) const FIT: Table = Table {
    name: "fit",
    keys: &["study", "task", "fit"],
    columns: &[
        "study",
        "task",
        "fit",
        "method",
        "spec",
        "stop",
        "validation",
        "best_update",
        "updates",
        "curve",
        "parameters",
        "seconds",
        "backend",
        "bits",
    ],
};

/// The first version whose fits say who made them, and who made all before.
const WITH_BACKENDS: i64 = 3;
const BEFORE_BACKENDS: [&str; 2] = ["cpu", "cpu-1"];
pub(super) const CHOICE: Table = Table {
    name: "choice",
    keys: &["study", "task", "name"],
    columns: &["study", "task", "name", "method", "at", "fit"],
};
pub(super) const SCORE: Table = Table {
    name: "score",
    keys: &["study", "task", "name", "metric"],
    columns: &["study", "task", "name", "metric", "value"],
};
pub(super) const DECISION: Table = Table {
    name: "decision",
    keys: &["study", "name"],
    columns: &["study", "name", "content"],
};
pub(super) const TALLY: Table = Table {
    name: "tally",
    keys: &["study", "task", "records"],
    columns: &["study", "task", "records", "count"],
};

/// All tables, in the order in which records may be inserted.
pub(super) const TABLES: [&Table; 7] = [&STUDY, &TASK, &FIT, &CHOICE, &SCORE, &DECISION, &TALLY];

impl Table {
    /// Whether its records belong to tasks.
    pub(super) fn is_of_tasks(&self) -> bool {
        self.keys.contains(&"task")
    }

    /// The columns that a store of some version has.
    pub(super) fn stored(&self, version: i64) -> &'static [&'static str] {
        let added = match *self == FIT && version < WITH_BACKENDS {
            true => BEFORE_BACKENDS.len(),
            false => 0,
        };
        &self.columns[..self.columns.len() - added]
    }

    /// All columns for a query of a store of some version: one that it does not have is what it was then.
    pub(super) fn list(&self, version: i64) -> String {
        let stored = self.stored(version);
        let added = self.columns[stored.len()..].iter().zip(BEFORE_BACKENDS);
        let list = stored.iter().map(|column| format!("\"{column}\""));
        let list = list.chain(added.map(|(column, was)| format!("'{was}' AS \"{column}\"")));
        list.collect::<Vec<_>>().join(", ")
    }

    /// Inserts a record with its checksum.
    pub(super) fn insert(&self, c: &Connection, values: &[Value]) -> rusqlite::Result<()> {
        let checksum = Value::Text(self.checksum(values.iter().map(ValueRef::from)));
        let marks = vec!["?"; values.len() + 1].join(", ");
        c.prepare_cached(&format!("INSERT INTO {} VALUES ({marks})", self.name))?
            .execute(params_from_iter(values.iter().chain([&checksum])))?;
        Ok(())
    }

    /// SHA-256 of a record: the table's name and every value in order, each as a letter for its
    /// type, the number of its bytes and the bytes (numbers as eight little-endian ones).
    pub(super) fn checksum<'a>(&self, values: impl Iterator<Item = ValueRef<'a>>) -> String {
        let mut hasher = Sha256::new();
        let mut add = |letter: u8, bytes: &[u8]| {
            hasher.update([letter]);
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(b't', self.name.as_bytes());
        for value in values {
            match value {
                ValueRef::Null => add(b'n', &[]),
                ValueRef::Integer(i) => add(b'i', &i.to_le_bytes()),
                // SQLite keeps no sign of a zero.
                ValueRef::Real(r) => add(b'r', &(r + 0.0).to_le_bytes()),
                ValueRef::Text(text) => add(b't', text),
                ValueRef::Blob(bytes) => add(b'b', bytes),
            }
        }
        hex(hasher.finalize())
    }
}
