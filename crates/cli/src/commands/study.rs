//! `loopfit study`.

mod verify;

use crate::data::FolderArgument;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::{Global, hints, interrupt, output, progress};
use anyhow::{Context, Result};
use loopfit_engine::{Backend, Engine};
use loopfit_export::{Content, Format, Options};
use loopfit_report::number::{self, ABSENT, integer};
use loopfit_report::{Align, Table};
use loopfit_study::models::{Best, Models};
use loopfit_study::progress::Progress;
use loopfit_study::protocol::Way;
use loopfit_study::run::{Prepared, total};
use loopfit_study::{Named, Shard, Store, StudyError, builtin, report, status, store};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study run paper --data-dir data --out runs/paper\n  loopfit study run cap-path --quick --out /tmp/quick\n  loopfit study run mine.toml --out runs/mine\n  loopfit study run paper --shard 2/3 --out runs/shards\n  loopfit study merge runs/shards --out runs/paper\n  loopfit study verify runs/paper\n  loopfit study export runs/paper --json | sha256sum"
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
    Plan(PlanArguments),
    /// Run a study, or go on with one that was stopped.
    Run(RunArguments),
    /// Say how far a run is, and what it has found so far.
    #[command(after_help = "Example:\n  loopfit study status runs/paper --json")]
    Status(Where),
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
    /// A built-in study, a group of them (paper, beyond), or a protocol file (.toml).
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
#[command(
    after_help = "Examples:\n  loopfit study plan paper\n  loopfit study plan paper --shard 1/3 --json"
)]
struct PlanArguments {
    #[command(flatten)]
    which: Which,
    /// The share of one of several machines.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Without the files of data:NAME there is no prediction of time.
    #[command(flatten)]
    folder: FolderArgument,
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study run cap-path --quick --out /tmp/quick\n  loopfit study run paper --data-dir data --out runs/paper\n  loopfit study run paper --data-dir data --out runs/shards --shard 2/3\n  loopfit study run mine.toml --out runs/mine"
)]
struct RunArguments {
    #[command(flatten)]
    which: Which,
    /// The run directory; by default studies/NAME. What it holds is not run again.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run the share of one of several machines, into a file of its own.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    folder: FolderArgument,
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
        Command::Plan(a) => plan(a, global),
        Command::Run(a) => run_studies(a, global),
        Command::Status(a) => show_status(a, global),
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
            let (work, hash) = (total(&named.study, Shard::WHOLE), named.study.hash());
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
        let work = total(&named.study, Shard::WHOLE);
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

fn plan(a: &PlanArguments, global: &Global) -> Result<Exit> {
    let shard = a.shard.unwrap_or(Shard::WHOLE);
    let studies = a.which.studies()?;
    let data_dir = a.folder.named();
    let engine = Engine::new(global.threads)?;
    let threads = engine.threads().count();
    let time = format!("time on {}", number::count(threads, "thread"));
    let mut table = Table::new([
        ("study", Align::Left),
        ("cases", Align::Right),
        ("seeds", Align::Right),
        ("fits, at most", Align::Right),
        ("updates, at most", Align::Right),
        (&time, Align::Right),
    ]);
    let mut rows = Vec::new();
    for named in &studies {
        let (study, work) = (&named.study, total(&named.study, shard));
        let seconds = Prepared::new(named, shard, data_dir.clone())
            .and_then(|prepared| prepared.seconds(&engine));
        if let (Err(error), false) = (&seconds, global.quiet) {
            let why = hints::beside(error);
            output::say(&format!("the time of {} is not known: {why}", named.name));
        }
        let why = seconds.as_ref().err().map(StudyError::to_string);
        // Fits of a study keep all threads busy but for its last ones.
        let seconds = seconds.ok().map(|s| s / threads as f64);
        rows.push(json!({
            "study": named.name, "hash": study.hash(), "cases": study.cases.len(),
            "seeds": study.seeds.count, "fits": work.fits, "updates": work.updates,
            "threads": threads, "seconds": seconds, "no_seconds_because": why,
        }));
        table.push([
            named.name.clone(),
            study.cases.len().to_string(),
            study.seeds.count.to_string(),
            integer(work.fits),
            integer(work.updates),
            seconds.map_or(ABSENT.to_string(), crate::effort::about),
        ]);
    }
    if global.json {
        output::print_json(&object!({ "studies": rows }))?;
    } else {
        output::print(&table.to_terminal(output::color()))?;
        if shard != Shard::WHOLE
            && studies
                .iter()
                .any(|n| matches!(n.study.way, Way::Shortlist(_)))
        {
            output::say(
                "a share also runs the development that it needs and that no finished share beside it has",
            );
        }
    }
    Ok(Exit::Done)
}

fn run_studies(a: &RunArguments, global: &Global) -> Result<Exit> {
    let studies = a.which.studies()?;
    let shard = a.shard.unwrap_or(Shard::WHOLE);
    let data_dir = a.folder.named();
    let out = a.out.clone().unwrap_or_else(|| {
        let stem = Path::new(&a.which.name).file_stem().unwrap_or_default();
        let quick = if a.which.quick { "-quick" } else { "" };
        Path::new("studies").join(format!("{}{quick}", stem.to_string_lossy()))
    });
    let prepared = studies
        .iter()
        .map(|named| Prepared::new(named, shard, data_dir.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    let engine = Engine::new(global.threads)?;
    let store = Store::create_for(&out, shard, &engine)?;
    if let Some(notice) = store.notice() {
        output::say(notice);
    }
    let entered = prepared
        .iter()
        .map(|prepared| prepared.enter(&store, &engine))
        .collect::<Result<Vec<_>, _>>()?;
    let counts = Progress::default();
    prepared.iter().for_each(|p| p.announce(&counts));
    if !global.quiet {
        output::say(&format!(
            "{} on {} into {}",
            a.which.name,
            number::count(engine.threads().count(), "thread"),
            store.path().display()
        ));
    }
    for (named, entered) in studies.iter().zip(&entered) {
        let result = interrupt::searching(|control| {
            progress::with_counts(&named.name, &counts, &store, global.quiet, || {
                entered.run(control, &counts)
            })
        });
        match result {
            Err(StudyError::Interrupted) => {
                let fits = fits(counts.counts().fits);
                output::say(&format!(
                    "interrupted with {fits} in {}; run the same command to resume",
                    store.path().display()
                ));
                return Ok(Exit::Interrupted);
            }
            other => other?,
        }
        if shard == Shard::WHOLE {
            let one = std::slice::from_ref(named);
            let out = beside(store.path());
            write_reports(&store, one, &out, &a.folder, global)?;
            let index = write_index(&store, &out)?;
            if Some(&named.name) == studies.last().map(|last| &last.name) {
                output::wrote(&index[0], global);
            }
        }
    }
    if global.json {
        print_status(&store)?;
    }
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

fn print_status(store: &Store) -> Result<()> {
    let states = status::status(store)?;
    let all: Vec<_> = states.iter().map(status::Status::to_json).collect();
    output::print_json(&object!({ "studies": all }))
}

fn show_status(a: &Where, global: &Global) -> Result<Exit> {
    let store = Store::open(&a.path)?;
    if global.json {
        print_status(&store)?;
    } else {
        let states = status::status(&store)?;
        output::print(&status::page(&states).to_terminal(output::color()))?;
    }
    Ok(Exit::Done)
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
