//! `loopfit study`.

mod plan;
mod run;
mod status;
mod submit;
mod verify;

use crate::data::FolderArgument;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::{Global, hints, output};
use anyhow::{Context, Result};
use loopfit_export::{Content, Format, Options};
use loopfit_report::number::{self, integer};
use loopfit_report::{Align, Table};
use loopfit_study::models::{Best, Models};
use loopfit_study::run::total;
use loopfit_study::{Named, Store, StudyError, builtin, report, store};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study run paper --data-dir data --out runs/paper\n  loopfit study run cap-path --quick --out /tmp/quick\n  loopfit study run mine.toml --out runs/mine\n  loopfit study run paper --shard 2/3 --out runs/shards\n  loopfit study merge runs/shards --out runs/paper\n  loopfit study submit paper --shards 64 --out runs/cluster --now\n  loopfit study verify runs/paper\n  loopfit study export runs/paper --json | sha256sum"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the studies that come with the program.
    List,
    /// Show what a study does: its protocol as TOML (or JSON, with --json) and its hash.
    #[command(
        after_help = "Examples:\n  loopfit study show separation\n  loopfit study show separation --quick --json"
    )]
    Show(Which),
    /// Say how many fits, updates and minutes a study takes, without running it.
    Plan(plan::Arguments),
    /// Run a study, or resume one that was stopped.
    Run(run::Arguments),
    /// Write the scripts that run a study on a Slurm cluster, share by share, and submit them.
    ///
    /// An array job runs the shares; a second job, which waits for it, looks that every share is complete, merges them and writes
    /// the report. Run it again at any time: what is queued is not submitted twice, and no fit that is done is run again.
    Submit(submit::Arguments),
    /// Say how far a run is, or all its shards together, and what it has found so far.
    Status(status::Arguments),
    /// Write tables and figures of a run.
    Report(ReportArguments),
    /// Put the shards of a run together.
    Merge(MergeArguments),
    /// Check that every record of a run is as it was written and none is missing.
    ///
    /// Every record has a checksum and every study the hash of its protocol. `report`, `status`, `export` and `merge` make the
    /// same check and refuse a damaged store; `run` keeps what is sound and runs the rest again.
    #[command(
        after_help = "Examples:\n  loopfit study verify runs/paper\n  loopfit study verify runs/shards --json"
    )]
    Verify(Where),
    /// Print all that a run holds but times, in a fixed order.
    #[command(after_help = "Example:\n  loopfit study export runs/paper --json | sha256sum")]
    Export(Where),
}

#[derive(clap::Args)]
struct Which {
    /// A built-in study, a group of them (paper, beyond), a protocol file (.toml), or a folder of protocol files.
    #[arg(value_name = "NAME")]
    name: String,
    /// The small size: every step of the way in seconds, numbers without meaning.
    #[arg(long)]
    quick: bool,
}

impl Which {
    fn studies(&self) -> Result<Vec<Named>> {
        let mut studies = builtin::find(&self.name)?;
        if self.quick {
            for named in &mut studies {
                named.study = named.study.clone().quick();
            }
        }
        Ok(studies)
    }
}

#[derive(clap::Args)]
struct Where {
    /// A run directory or a store file.
    #[arg(value_name = "DIR")]
    path: PathBuf,
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study report runs/paper\n  loopfit study report runs/paper --out report"
)]
struct ReportArguments {
    #[command(flatten)]
    place: Where,
    /// Where to write; by default DIR/report.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Without the files of data:NAME there are no pages of the models that were fitted to them.
    #[command(flatten)]
    folder: FolderArgument,
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study merge runs/shards --out runs/paper\n  loopfit study merge a/shard-1-of-2.sqlite b/shard-2-of-2.sqlite --out runs/paper"
)]
struct MergeArguments {
    /// Run directories or store files.
    #[arg(value_name = "DIR", required = true)]
    stores: Vec<PathBuf>,
    /// The new run directory.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    match &a.command {
        Command::List => list(global),
        Command::Show(which) => show(which, global),
        Command::Plan(a) => plan::run(a, global),
        Command::Run(a) => run::run(a, global),
        Command::Submit(a) => submit::run(a, global),
        Command::Status(a) => status::run(a, global),
        Command::Report(a) => {
            let store = Store::open(&a.place.path)?;
            let out = a.out.clone().unwrap_or_else(|| beside(store.path()));
            let mut written = write_reports(&store, &store.studies()?, &out, &a.folder, global)?;
            let index = write_index(&store, &out)?;
            output::wrote(&index[0], global);
            written.extend(index);
            if global.json {
                output::print_json(&object!({ "files": written }))?;
            }
            Ok(Exit::Done)
        }
        Command::Merge(a) => {
            let path = store::merge(&a.stores, &a.out)?;
            if global.json {
                output::print_json(&object!({ "store": path }))?;
            } else if !global.quiet {
                output::say(&format!("wrote {}", path.display()));
            }
            Ok(Exit::Done)
        }
        Command::Verify(a) => verify::run(&a.path, global),
        Command::Export(a) => export(a, global),
    }
}

fn list(global: &Global) -> Result<Exit> {
    let mut table = Table::new([
        ("name", Align::Left),
        ("protocol", Align::Left),
        ("fits", Align::Right),
        ("updates", Align::Right),
        ("title", Align::Left),
    ]);
    let mut rows = Vec::new();
    for name in builtin::names() {
        for named in builtin::find(name)? {
            let (work, hash) = (total(&named.study), named.study.hash());
            rows.push(json!({
                "name": name, "hash": hash, "title": named.study.title,
                "question": named.study.question, "fits": work.fits, "updates": work.updates,
            }));
            table.push([
                name.to_string(),
                hash.chars().take(12).collect(),
                integer(work.fits),
                integer(work.updates),
                named.study.title,
            ]);
        }
    }
    let groups: Vec<_> = builtin::groups().iter().collect();
    if global.json {
        let groups: Vec<_> = groups
            .iter()
            .map(|(name, members)| json!({ "name": name, "studies": members }))
            .collect();
        output::print_json(&object!({ "studies": rows, "groups": groups }))?;
        return Ok(Exit::Done);
    }
    let mut text = table.to_terminal(output::color());
    for (name, members) in groups {
        text += &format!("{name} = {}\n", members.join(", "));
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

fn show(which: &Which, global: &Global) -> Result<Exit> {
    let studies = which.studies()?;
    if global.json {
        let all: Vec<_> = studies
            .iter()
            .map(|n| json!({ "name": n.name, "hash": n.study.hash(), "protocol": n.study }))
            .collect();
        output::print_json(&object!({ "studies": all }))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for named in &studies {
        let work = total(&named.study);
        text += &format!(
            "# {} {}\n# at most {} fits, {} updates\n",
            named.name,
            named.study.hash(),
            integer(work.fits),
            integer(work.updates)
        );
        let own = which.name.ends_with(".toml");
        text += &match builtin::text(&named.name).filter(|_| !which.quick && !own) {
            Some(text) => text.to_string(),
            None => named.study.to_toml(),
        };
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

/// `1 fit`, `2,016 fits`.
fn fits(count: u64) -> String {
    number::count(count as usize, "fit")
}

/// Where reports of a store go if the user does not say.
fn beside(store: &Path) -> PathBuf {
    store.with_file_name("report")
}

/// Writes the reports of some studies; the files.
fn write_reports(
    store: &Store,
    studies: &[Named],
    out: &Path,
    folder: &FolderArgument,
    global: &Global,
) -> Result<Vec<PathBuf>> {
    let _directory = output::create_directory(out)?;
    let mut written = Vec::new();
    for named in studies {
        let models = Models::read(store, named, folder.named())?;
        let document = report::report(store, named, &models)?;
        let name = &named.name;
        let mut files: Vec<(String, Content)> = vec![
            (format!("{name}.html"), document.to_html().into()),
            (format!("{name}.md"), document.to_markdown("").into()),
            (format!("{name}.tex"), document.to_latex(name).into()),
        ];
        files.extend(pages(&models)?);
        for (figure, svg) in document.figures() {
            files.push((format!("{figure}.svg"), svg.to_string().into()));
        }
        let mut _folders = Vec::new();
        for (file, content) in files {
            let path = out.join(file);
            if let Some(folder) = path.parent().filter(|_| !models.best.is_empty()) {
                _folders.push(output::create_directory(folder)?);
            }
            output::write_file(&path, &content)?;
            written.push(path);
        }
        output::wrote(&out.join(format!("{name}.html")), global);
        if let ([(_, why), ..], false) = (&models.missing[..], global.quiet) {
            let cases: Vec<&str> = models.missing.iter().map(|(case, _)| &**case).collect();
            let (cases, why) = (cases.join(", "), hints::beside(why));
            output::say(&format!("no pages of the best models on {cases}: {why}"));
        }
    }
    Ok(written)
}

/// Pages of models, by their files.
fn pages(models: &Models) -> Result<Vec<(String, Content)>> {
    let page = |best: &Best| {
        let page = loopfit_export::export(&best.model, Format::Html, &Options::default())?;
        Ok((format!("{}.html", best.page), page.body))
    };
    models.best.iter().map(page).collect()
}

/// Writes the page that leads to the reports in a folder; its files.
fn write_index(store: &Store, out: &Path) -> Result<Vec<PathBuf>> {
    let mut studies = store.studies()?;
    studies.retain(|named| out.join(format!("{}.html", named.name)).exists());
    let document = report::index(store, &studies)?;
    let files = [
        (out.join("index.html"), document.to_html()),
        (out.join("index.md"), document.to_markdown("")),
    ];
    for (path, text) in &files {
        output::write_file(path, text)?;
    }
    Ok(files.map(|(path, _)| path).into())
}

fn export(a: &Where, global: &Global) -> Result<Exit> {
    if !global.json {
        return Err(usage("export prints JSON alone: add --json".to_string()));
    }
    let store = Store::open(&a.path)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match store::export(&store, &mut out) {
        Err(StudyError::Output(e)) => return Err(e.into()),
        other => other?,
    }
    out.flush().context("cannot write the export")?;
    Ok(Exit::Done)
}
