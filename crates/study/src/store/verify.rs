//! Whether a store is as it was written: every record by its checksum, every protocol by its hash,
//! and that no record is missing.

use super::files::find_all;
use super::record::{CHOICE, DECISION, FIT, SCORE, STUDY, TABLES, TALLY, TASK, Table};
use super::{CHECKSUMS, Store, VERSION, read_study, schema};
use crate::StudyError;
use crate::protocol::Study;
use crate::run;
use crate::task::{Phase, Task};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A record that is not as it was written, or not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The study, where it is known.
    pub study: String,
    /// The task that it belongs to.
    pub task: Option<String>,
    /// Which record: `fit loop/q4-r5-T8/start-0`.
    pub record: String,
    /// What is wrong with it.
    pub why: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.task {
            Some(task) if self.record == TASK.name => write!(f, "task {task}")?,
            Some(task) => write!(f, "{} of task {task}", self.record)?,
            None => write!(f, "{}", self.record)?,
        }
        if !self.study.is_empty() {
            write!(f, " of study {}", self.study)?;
        }
        write!(f, ": {}", self.why)
    }
}

/// What the record of a study holds.
const PROTOCOL: &str = "protocol";

/// Study and task.
pub(super) type Key = (String, String);

/// What is wrong with a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Every fault, table by table.
    pub faults: Vec<Fault>,
    /// Tasks whose choices and scores rest on what is damaged: they are made again.
    pub(super) again: BTreeSet<Key>,
    /// Tasks that the protocol does not have.
    pub(super) foreign: BTreeSet<Key>,
}

impl Damage {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// The first fault and how many there are.
    pub(super) fn summary(&self) -> String {
        match &self.faults[..] {
            [] => "nothing is wrong".to_string(),
            [one] => one.to_string(),
            [first, rest @ ..] => format!("{first}; and {} more", rest.len()),
        }
    }

    fn add(&mut self, study: &str, task: Option<&str>, record: String, why: &str) {
        self.faults.push(Fault {
            study: study.to_string(),
            task: task.map(str::to_string),
            record,
            why: why.to_string(),
        });
    }

    /// A record of a study that is missing, unless it is there and damaged.
    fn miss(&mut self, study: &str, record: String) {
        let known = |f: &Fault| f.study == study && f.record == record;
        if !self.faults.iter().any(known) {
            self.add(study, None, record, "it is missing");
        }
    }

    /// A fault that unsettles the choices of a task.
    fn unsettles(&mut self, (study, task): &Key, record: String, why: &str) {
        self.again.insert((study.clone(), task.clone()));
        self.add(study, Some(task), record, why);
    }
}

/// A store that was looked through.
#[derive(Debug)]
pub struct Verified {
    /// The file.
    pub path: PathBuf,
    /// The store, to ask it more.
    pub store: Store,
    /// What is wrong with it.
    pub damage: Damage,
}

/// Looks through every store that a path means: a file, or all in a run directory. Of a store without checksums what cannot be
/// read is found; one that can be read is refused.
pub fn verify(path: &Path) -> Result<Vec<Verified>, StudyError> {
    let look = |path: PathBuf| {
        let store = Store::open_unchecked(&path)?;
        let damage = store.with(|c| examine(c, store.version, None))?;
        // Without checksums nobody knows whether what can be read is as it was written.
        if damage.is_empty() {
            store.check_version()?;
        }
        Ok(Verified {
            path,
            store,
            damage,
        })
    };
    find_all(path)?.into_iter().map(look).collect()
}

/// Calls `each` with every record of a table, or of one task: whether it has its checksum, and its
/// values. A record that cannot be read ends the table: its error comes back.
pub(super) fn scan(
    c: &Connection,
    table: &Table,
    version: i64,
    of: Option<(&str, &str)>,
    mut each: impl FnMut(bool, &Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Option<rusqlite::Error>> {
    let with_checksum = version >= CHECKSUMS;
    let checksum = if with_checksum { ", checksum" } else { "" };
    let filter = of.map_or("", |_| "WHERE study = ? AND task = ?");
    let mut statement = c.prepare(&format!(
        "SELECT {}{checksum} FROM {} {filter}",
        table.list(version),
        table.name
    ))?;
    let mut rows = match of {
        Some((study, task)) => statement.query([study, task])?,
        None => statement.query([])?,
    };
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        };
        let stored = table.stored(version).len();
        let mut values = Vec::with_capacity(stored);
        for at in 0..stored {
            values.push(row.get_ref(at)?);
        }
        let sound = !with_checksum || {
            let expected = table.checksum(values.into_iter());
            row.get_ref(table.columns.len())? == ValueRef::Text(expected.as_bytes())
        };
        each(sound, row)?;
    }
}

/// A column as text, for keys and messages; damaged text as well as it goes.
pub(super) fn text(row: &Row<'_>, at: usize) -> String {
    match row.get_ref(at) {
        Ok(ValueRef::Text(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

/// Study and task of a record that has them as its first columns.
pub(super) fn key(row: &Row<'_>) -> Key {
    (text(row, 0), text(row, 1))
}

/// What the sound records of a store are.
#[derive(Default)]
struct Seen {
    studies: BTreeMap<String, Study>,
    tasks: BTreeMap<Key, Task>,
    /// Numbers of records by task and table.
    counts: BTreeMap<(Key, &'static str), i64>,
    /// What the tallies say.
    tallies: BTreeMap<(Key, String), i64>,
    choices: BTreeSet<(Key, String)>,
    /// Choice, and the fit that it names.
    chosen: Vec<(Key, String, String)>,
    scored: BTreeSet<(Key, String)>,
    decisions: BTreeSet<(String, String)>,
}

/// Looks through a store, or at one task of it, in one state even while another process writes. Of
/// version 1 it can only be said whether all of it can be read.
pub(super) fn examine(
    c: &Connection,
    version: i64,
    of: Option<(&str, &str)>,
) -> rusqlite::Result<Damage> {
    let snapshot = c.unchecked_transaction()?;
    let mut damage = Damage::default();
    if of.is_none() {
        let pages = c.query_row("PRAGMA integrity_check(1)", [], |r| r.get(0));
        let pages: String = pages.unwrap_or_else(|e| e.to_string());
        if pages != "ok" {
            damage.add("", None, "the file".to_string(), &pages.replace('\n', " "));
        }
        if version >= CHECKSUMS && objects(c)? != *expected_objects(version)? {
            let why = "its tables and triggers are not those of this version";
            damage.add("", None, "the file".to_string(), why);
        }
    }
    let mut seen = Seen::default();
    for table in TABLES {
        let none = version < CHECKSUMS && *table == TALLY;
        if none || (of.is_some() && !table.is_of_tasks()) {
            continue;
        }
        let unreadable = scan(c, table, version, of, |sound, row| {
            if sound {
                seen.take(table, row, &mut damage)
            } else {
                damaged(table, row, &mut damage);
                Ok(())
            }
        })?;
        if let Some(error) = unreadable {
            damage.add(
                "",
                None,
                format!("the table {}", table.name),
                &error.to_string(),
            );
        }
    }
    if version >= CHECKSUMS {
        seen.check_tasks(of.is_none(), &mut damage);
        seen.check_counts(c, &mut damage)?;
    }
    if version >= CHECKSUMS && of.is_none() {
        seen.check_decisions(&mut damage);
    }
    snapshot.finish()?;
    Ok(damage)
}

/// The tables and triggers of a version.
fn expected_objects(version: i64) -> rusqlite::Result<&'static Objects> {
    static EXPECTED: [OnceLock<Objects>; (VERSION - CHECKSUMS + 1) as usize] =
        [const { OnceLock::new() }; _];
    let expected = &EXPECTED[(version - CHECKSUMS) as usize];
    if let Some(known) = expected.get() {
        return Ok(known);
    }
    let c = Connection::open_in_memory()?;
    c.execute_batch(schema(version))?;
    let found = objects(&c)?;
    Ok(expected.get_or_init(|| found))
}

/// Type, name and text of each.
type Objects = Vec<(String, String, String)>;

/// Tables and triggers as they were written down.
fn objects(c: &Connection) -> rusqlite::Result<Objects> {
    c.prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'trigger') \
         AND name NOT LIKE 'sqlite_stat%' ORDER BY type, name",
    )?
    .query_map([], |r| Ok((text(r, 0), text(r, 1), text(r, 2))))?
    .collect()
}

/// Notes a record that does not have its checksum.
fn damaged(table: &Table, row: &Row<'_>, damage: &mut Damage) {
    const WHY: &str = "its content does not match its checksum";
    let names = 1 + usize::from(table.is_of_tasks());
    let rest: Vec<String> = (names..table.keys.len()).map(|at| text(row, at)).collect();
    let record = match *table == STUDY {
        true => PROTOCOL.to_string(),
        false => format!("{} {}", table.name, rest.join(" ")),
    };
    let record = record.trim_end().to_string();
    if table.is_of_tasks() {
        damage.unsettles(&key(row), record, WHY);
    } else {
        damage.add(&text(row, 0), None, record, WHY);
    }
}

impl Seen {
    fn take(
        &mut self,
        table: &'static Table,
        row: &Row<'_>,
        damage: &mut Damage,
    ) -> rusqlite::Result<()> {
        if *table == STUDY {
            let (name, hash, json) = (text(row, 0), text(row, 1), text(row, 2));
            match read_study(&name, &json, &hash) {
                Ok(study) => {
                    self.studies.insert(name, study);
                }
                Err(why) => damage.add(&name, None, PROTOCOL.to_string(), &why),
            }
            return Ok(());
        }
        if *table == DECISION {
            self.decisions.insert(key(row));
            return Ok(());
        }
        let key = key(row);
        if *table == TASK {
            let task = Task {
                name: key.1.clone(),
                phase: match text(row, 2).as_str() {
                    "development" => Phase::Development,
                    _ => Phase::Confirmation,
                },
                case: text(row, 3),
                split: row.get::<_, Option<i64>>(4)?.map(|s| s as u64),
                seed: row.get::<_, i64>(5)? as u64,
            };
            self.tasks.insert(key, task);
            return Ok(());
        }
        if *table == TALLY {
            self.tallies.insert((key, text(row, 2)), row.get(3)?);
            return Ok(());
        }
        if *table == CHOICE {
            let (name, fit) = (text(row, 2), row.get::<_, Option<String>>(5)?);
            if let Some(fit) = fit {
                self.chosen.push((key.clone(), name.clone(), fit));
            }
            self.choices.insert((key.clone(), name));
        }
        if *table == SCORE {
            self.scored.insert((key.clone(), text(row, 2)));
        }
        *self.counts.entry((key, table.name)).or_default() += 1;
        Ok(())
    }

    /// Every record has its task, every task is one of its study's.
    fn check_tasks(&self, whole: bool, damage: &mut Damage) {
        let of_counts = self.counts.keys().map(|(key, _)| key);
        let mentioned = of_counts.chain(self.tallies.keys().map(|(key, _)| key));
        let mentioned: BTreeSet<&Key> = mentioned.collect();
        let orphans: Vec<&Key> = mentioned
            .into_iter()
            .filter(|key| !self.tasks.contains_key(*key))
            .collect();
        for key in &orphans {
            if !damage.again.contains(*key) {
                damage.unsettles(key, TASK.name.to_string(), "it is missing");
            }
        }
        if !whole {
            return;
        }
        for key in orphans {
            let study = self.studies.get(&key.0);
            if study.is_some_and(|study| run::tasks(study).iter().all(|task| task.name != key.1)) {
                damage.foreign.insert(key.clone());
            }
        }
        let mut expected: BTreeMap<&str, BTreeSet<Task>> = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for (key, task) in &self.tasks {
            let Some(study) = self.studies.get(&key.0) else {
                missing.insert(&key.0);
                continue;
            };
            let all = expected.entry(&key.0);
            let all = all.or_insert_with(|| run::tasks(study).into_iter().collect());
            if !all.contains(task) {
                damage.foreign.insert(key.clone());
                damage.unsettles(key, "task".to_string(), "its study does not have it");
            }
        }
        for study in missing {
            damage.miss(study, PROTOCOL.to_string());
        }
    }

    /// As many records as the tallies say, and no choice or score without what it is about.
    fn check_counts(&self, c: &Connection, damage: &mut Damage) -> rusqlite::Result<()> {
        let count = |key: &Key, table: &'static str| {
            let found = self.counts.get(&(key.clone(), table));
            found.copied().unwrap_or_default()
        };
        for ((key, records), expected) in &self.tallies {
            let Some(table) = TABLES.iter().find(|t| t.name == records.as_str()) else {
                continue;
            };
            let found = count(key, table.name);
            if found != *expected && !damage.again.contains(key) {
                let why = format!("{found} of {expected} are there");
                damage.unsettles(key, format!("{records} records"), &why);
            }
        }
        for (settled, tallied) in [(CHOICE, [FIT, CHOICE].as_slice()), (SCORE, &[SCORE])] {
            for (key, _) in self.counts.keys().filter(|(_, t)| *t == settled.name) {
                let known = |t: &Table| {
                    let entry = (key.clone(), t.name.to_string());
                    self.tallies.contains_key(&entry)
                };
                if !tallied.iter().all(known) && !damage.again.contains(key) {
                    damage.unsettles(key, "tally".to_string(), "it is missing");
                }
            }
        }
        let mut fit = c.prepare(
            "SELECT EXISTS (SELECT 1 FROM fit WHERE study = ? AND task = ? AND fit = ?)",
        )?;
        for (key, choice, chosen) in &self.chosen {
            let there = fit.query_row([&key.0, &key.1, chosen], |r| r.get(0));
            if !there.unwrap_or(false) && !damage.again.contains(key) {
                damage.unsettles(key, format!("choice {choice}"), "its fit is missing");
            }
        }
        for (key, name) in self.scored.difference(&self.choices) {
            if !damage.again.contains(key) {
                damage.unsettles(key, format!("score {name}"), "its choice is missing");
            }
        }
        Ok(())
    }

    /// What a run settles before its tasks begin is there: the data of tables, and before
    /// confirmation the shapes and cases that development kept.
    fn check_decisions(&self, damage: &mut Damage) {
        let mut needed: BTreeSet<(String, String)> = BTreeSet::new();
        for ((name, _), task) in &self.tasks {
            let Some(study) = self.studies.get(name) else {
                continue;
            };
            let tables = study.cases.iter().filter(|c| !c.data.starts_with("sim:"));
            needed.extend(tables.map(|case| (name.clone(), format!("data/{}", case.name))));
            if task.phase == Phase::Development {
                continue;
            }
            if let Some(list) = study.way.shortlist() {
                needed.insert((name.clone(), run::shortlist_name(&task.case, task.split)));
                if list.screen.is_some() {
                    needed.insert((name.clone(), "screen".to_string()));
                }
            }
        }
        for (study, decision) in needed.difference(&self.decisions) {
            damage.miss(study, format!("{} {decision}", DECISION.name));
        }
    }
}
