//! `loopfit data`.

use crate::data::FolderArgument;
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, hints, interrupt, output};
use anyhow::{Context, Result};
use loopfit_data::catalog::{self, Check, Fetcher, FileState, Origin, RawFile};
use loopfit_data::{DataSet, TaskKind};
use loopfit_model::file::write_atomic;
use loopfit_report::number;
use loopfit_report::{Align, Table};
use serde_json::{Value, json};
use std::path::Path;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit data list\n  loopfit data fetch airfoil concrete --data-dir data\n  loopfit data check --data-dir data\n  loopfit compare data:airfoil --data-dir data --budget 64\n\nA data folder has one folder for each set, as in data/airfoil/airfoil_self_noise.dat; files may be\ngzip-compressed under the same name with .gz added."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the data sets with the paper's sizes and caps.
    List {
        #[command(flatten)]
        folder: FolderArgument,
    },
    /// Compare files with the published ones, rows and inputs with the paper's.
    Check {
        /// Data sets; all by default.
        #[arg(value_name = "NAME", value_parser = find)]
        names: Vec<&'static DataSet>,
        #[command(flatten)]
        folder: FolderArgument,
    },
    /// Download files from their public sources and verify them.
    Fetch {
        /// Data sets; all by default.
        #[arg(value_name = "NAME", value_parser = find)]
        names: Vec<&'static DataSet>,
        #[command(flatten)]
        folder: FolderArgument,
        /// A mirror, an address or a folder, that has the files at SET/FILE below it, plain or gzip-compressed
        /// with .gz added.
        #[arg(long, value_name = "URL|DIR")]
        from: Option<String>,
    },
}

fn find(name: &str) -> Result<&'static DataSet, String> {
    DataSet::find(name).map_err(|e| e.to_string())
}

/// The sets named, or all of them.
fn chosen(names: &[&'static DataSet]) -> Vec<&'static DataSet> {
    if names.is_empty() {
        catalog::all().iter().collect()
    } else {
        names.to_vec()
    }
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    match &a.command {
        Command::List { folder } => list(folder.named().as_deref(), global),
        Command::Check { names, folder } => {
            let folder = folder.required("data check", Some("loopfit data fetch"))?;
            check(&chosen(names), &folder, global)
        }
        Command::Fetch {
            names,
            folder,
            from,
        } => {
            let folder = folder.required("data fetch", None)?;
            fetch(&chosen(names), &folder, from.as_deref(), global)
        }
    }
}

fn list(folder: Option<&Path>, global: &Global) -> Result<Exit> {
    let sets = catalog::all();
    if global.json {
        let sets: Vec<Value> = sets
            .iter()
            .map(|set| {
                let files: Vec<Value> = set
                    .files
                    .iter()
                    .map(|file| {
                        json!({
                            "path": file.path, "rows": file.rows, "url": url(file),
                            "present": folder.map(|f| file.locate(f).is_some()),
                        })
                    })
                    .collect();
                json!({
                    "name": set.name, "title": set.title, "task": task(set), "target": set.target,
                    "rows": set.rows, "d": set.features, "classes": set.classes, "cap": set.cap,
                    "block": set.block, "licence": set.licence, "citation": set.citation,
                    "page": set.page, "files": files,
                })
            })
            .collect();
        output::print_json(&object!({ "sets": sets }))?;
        return Ok(Exit::Done);
    }
    let mut text = Table::new([
        ("name", Align::Left),
        ("rows", Align::Right),
        ("d", Align::Right),
        ("classes", Align::Right),
        ("B", Align::Right),
        ("task", Align::Left),
        ("licence", Align::Left),
        ("present", Align::Left),
    ]);
    for set in sets {
        text.push([
            set.name.to_string(),
            number::integer(set.rows as u64),
            set.features.to_string(),
            set.classes.map_or("–".to_string(), |c| c.to_string()),
            number::integer(set.cap as u64),
            task(set).to_string(),
            set.licence.to_string(),
            presence(set, folder).to_string(),
        ]);
    }
    output::print(&text.to_terminal(output::color()))?;
    if folder.is_none() && !global.quiet {
        output::say(
            "no data folder is named: use --data-dir or LOOPFIT_DATA to see what is present",
        );
    }
    Ok(Exit::Done)
}

fn task(set: &DataSet) -> &'static str {
    match set.task {
        TaskKind::Regression => "regression",
        TaskKind::Count => "count",
        TaskKind::Binary => "binary",
        TaskKind::Multiclass => "multiclass",
        TaskKind::Density => "density",
    }
}

/// Whether the published files of a set are there.
fn presence(set: &DataSet, folder: Option<&Path>) -> &'static str {
    let Some(folder) = folder else { return "?" };
    let published = || set.files.iter().filter(|f| f.origin != Origin::Substitute);
    let present = published().filter(|f| f.locate(folder).is_some()).count();
    match present {
        0 => "no",
        n if n == published().count() => "yes",
        _ => "in part",
    }
}

fn url(file: &RawFile) -> Option<&'static str> {
    match file.origin {
        Origin::File { url }
        | Origin::Zip { url, .. }
        | Origin::ZipSheet { url, .. }
        | Origin::Tgz { url, .. } => Some(url),
        Origin::Substitute => None,
    }
}

fn check(sets: &[&'static DataSet], folder: &Path, global: &Global) -> Result<Exit> {
    let checks: Vec<(&DataSet, Check)> = sets.iter().map(|s| (*s, s.check(folder))).collect();
    let complete = checks.iter().all(|(_, check)| check.complete);
    if global.json {
        let sets: Vec<Value> = checks.iter().map(|(s, c)| check_json(s, c)).collect();
        output::print_json(&object!({ "complete": complete, "sets": sets }))?;
    } else {
        let mut text = Table::new([
            ("name", Align::Left),
            ("rows", Align::Right),
            ("of", Align::Right),
            ("d", Align::Right),
            ("of", Align::Right),
            ("files", Align::Left),
        ]);
        for (set, check) in &checks {
            let found = check.table.as_ref().ok();
            let or_dash = |n: Option<usize>| n.map_or("–".into(), |n| number::integer(n as u64));
            text.push([
                set.name.to_string(),
                or_dash(found.map(|d| d.rows)),
                number::integer(set.rows as u64),
                or_dash(found.map(|d| d.features)),
                set.features.to_string(),
                files_text(check),
            ]);
        }
        output::print(&text.to_terminal(output::color()))?;
        if !global.quiet {
            for (set, check) in &checks {
                match &check.table {
                    Ok(found) => {
                        for note in &found.notes {
                            output::say(&format!("{}: {note}", set.name));
                        }
                    }
                    Err(error) => output::say(&format!("{}: {}", set.name, hints::beside(error))),
                }
            }
        }
    }
    Ok(if complete {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

/// `good`, or what is wrong with which file.
fn files_text(check: &Check) -> String {
    let wrong = check.files.iter().filter(|(file, state)| {
        let unneeded = file.origin == Origin::Substitute && *state == FileState::Missing;
        *state != FileState::Good && !unneeded
    });
    let wrong: Vec<String> = wrong
        .map(|(file, state)| format!("{} {}", file.path, state.name()))
        .collect();
    if wrong.is_empty() {
        "good".to_string()
    } else {
        wrong.join(", ")
    }
}

fn check_json(set: &DataSet, check: &Check) -> Value {
    let files: Vec<Value> = check
        .files
        .iter()
        .map(|(file, state)| json!({ "path": file.path, "state": state.name() }))
        .collect();
    let found = check.table.as_ref();
    json!({
        "name": set.name, "complete": check.complete, "files": files,
        "rows": found.map(|d| d.rows).ok(), "expected_rows": set.rows,
        "d": found.map(|d| d.features).ok(), "expected_d": set.features,
        "notes": found.map(|d| d.notes.clone()).unwrap_or_default(),
        "error": found.err().map(ToString::to_string),
    })
}

fn fetch(
    sets: &[&'static DataSet],
    folder: &Path,
    from: Option<&str>,
    global: &Global,
) -> Result<Exit> {
    let fetcher = Fetcher::new(from)?;
    let mut outcomes = Vec::new();
    let mut failed = false;
    for file in sets.iter().flat_map(|set| set.files) {
        if file.origin == Origin::Substitute {
            continue;
        }
        let outcome = match fetch_file(&fetcher, file, folder) {
            Ok(outcome) => {
                if !global.quiet {
                    output::say(&format!("{}: {outcome}", file.path));
                }
                json!({ "path": file.path, "outcome": outcome })
            }
            // One file that cannot be had is no reason to do without the others.
            Err(error) => {
                failed = true;
                output::say(&format!("error: {}", hints::sentence(&error)));
                json!({ "path": file.path, "outcome": "failed", "error": format!("{error:#}") })
            }
        };
        outcomes.push(outcome);
    }
    if global.json {
        output::print_json(&object!({ "files": outcomes }))?;
    }
    Ok(if failed { Exit::BadInput } else { Exit::Done })
}

/// Fetches a file unless it is there.
fn fetch_file(fetcher: &Fetcher, file: &RawFile, folder: &Path) -> Result<&'static str> {
    match file.state(folder) {
        FileState::Good => return Ok("already there"),
        FileState::Missing => {}
        FileState::Differs | FileState::Unreadable => {
            let path = file
                .locate(folder)
                .unwrap_or_else(|| folder.join(file.path));
            anyhow::bail!(
                "`{}` is there and is not the published file: move it away to fetch that",
                path.display()
            );
        }
    }
    let content = fetcher.fetch(file)?;
    let path = folder.join(file.path);
    let written = interrupt::writing(|| {
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        write_atomic(&path, &content)
    });
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok("fetched")
}
