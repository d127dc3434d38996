//! `loopfit study submit`.

mod scripts;

use super::Which;
use crate::cache::CacheArgument;
use crate::data::{FolderArgument, grace, shares};
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::{Global, output};
use anyhow::{Context, Result, bail};
use loopfit_study::run::Prepared;
use loopfit_study::shares::{Shares, left, pieces};
use loopfit_study::{Named, Shard, StudyError, store};
use scripts::Job;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit study submit cap-path --quick --shards 4 --out runs/cluster\n  loopfit study submit paper --data-dir data --shards 64 --out runs/cluster --slurm \"--partition=short --time=01:00:00\" --now"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Number of shares, each a task of the array.
    #[arg(long, value_name = "N", value_parser = shares)]
    shards: usize,
    /// The run directory, on a disk that all nodes see. Scripts and logs go to DIR/slurm, the merged run to DIR/merged.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Options of sbatch for both jobs, in one text: partition, account, time, memory, CPUs of each task.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        allow_hyphen_values = true
    )]
    slurm: String,
    /// Seconds before its time limit that a share stops, to be queued again. A share stops within the time of a few updates.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = grace)]
    grace: usize,
    /// Submit now, with sbatch; otherwise DIR/slurm/submit.sh does it.
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    cache: CacheArgument,
    #[command(flatten)]
    folder: FolderArgument,
}

pub(super) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    if a.slurm.chars().any(char::is_control) {
        return Err(usage("--slurm is one line of options".to_string()));
    }
    if a.shards == 1 {
        return Err(usage(
            "one share is all of it: give --shards 2 or more, or use `loopfit study run`"
                .to_string(),
        ));
    }
    let studies = a.which.studies()?;
    let prepared = Prepared::all(&studies, Shard::WHOLE, a.folder.named())?;
    let owners = Shares::new(pieces(&prepared)?, a.shards);
    let left = left_in(&a.out, &studies, &prepared, &owners)?;
    let folder = a.out.join("slurm");
    let _created = output::create_directory(&folder)?;
    let out = std::fs::canonicalize(&a.out)
        .with_context(|| format!("cannot find {}", a.out.display()))?;
    let job = Job {
        program: std::env::current_exe().context("cannot find this program's file")?,
        folder: std::env::current_dir().context("cannot find the working directory")?,
        arguments: arguments(a)?,
        title: a.which.name.clone(),
        shards: a.shards,
        left,
        out,
        slurm: a.slurm.trim().to_string(),
        grace: a.grace,
    };
    let mut written = Vec::new();
    for (name, text) in job.files().map_err(usage)? {
        let path = folder.join(name);
        output::write_file(&path, &text)?;
        output::wrote(&path, global);
        written.push(path);
    }
    let complete = job.left.is_empty() && job.out.join("merged/study.sqlite").exists();
    let submitted = match a.now && !complete {
        true => Some(submit(&folder.join(scripts::SUBMIT))?),
        false => None,
    };
    if global.json {
        output::print_json(&object!({
            "files": written,
            "shards": a.shards,
            "left": job.left.len(),
            "array_job": submitted.as_ref().map(|ids| &ids[0]),
            "merge_job": submitted.as_ref().map(|ids| &ids[1]),
        }))?;
    } else if !global.quiet {
        let done = a.shards - job.left.len();
        if done > 0 {
            output::say(&format!("{done} of {} shares are complete", a.shards));
        }
        match &submitted {
            _ if complete => output::say(&format!(
                "all of it is merged in {}: nothing is left to submit",
                job.out.join("merged").display()
            )),
            Some([array, merge]) => output::say(&format!(
                "array job {array} runs the shares, job {merge} merges them; `loopfit study status {}` says how far they are",
                a.out.display()
            )),
            None => output::say(&format!(
                "submit with `sh {}`",
                scripts::quote(&folder.join(scripts::SUBMIT).to_string_lossy())
            )),
        }
    }
    Ok(Exit::Done)
}

/// The shares that are not complete. A directory with nothing in it has all of them left.
fn left_in(
    out: &Path,
    studies: &[Named],
    prepared: &[Prepared<'_>],
    shares: &Shares,
) -> Result<BTreeSet<usize>> {
    let (parts, together) = match store::together(out) {
        Err(StudyError::NoStore { .. }) => return Ok((1..=shares.loads.len()).collect()),
        other => other?,
    };
    for known in together.studies()? {
        let own = studies.iter().find(|named| named.name == known.name);
        if own.is_some_and(|named| named.study.hash() != known.study.hash()) {
            bail!(
                "{} holds the study {} with another protocol: name another directory",
                out.display(),
                known.name
            );
        }
    }
    let mut left = left(prepared, shares, &together)?;
    // A share whose store is damaged is mended by its next run.
    let damaged = parts.iter().filter(|part| part.store.is_err());
    left.extend(damaged.filter_map(|part| index(&part.path)));
    left.retain(|index| *index <= shares.loads.len());
    Ok(left)
}

/// The number of a share in the name of its file, `shard-I-of-N.sqlite`.
fn index(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?;
    let (index, _) = name.strip_prefix("shard-")?.split_once('-')?;
    index.parse().ok()
}

/// What a share is run with, beside which share it is.
fn arguments(a: &Arguments) -> Result<Vec<String>> {
    let absolute = |path: &Path| -> Result<String> {
        let path = std::path::absolute(path)?;
        let text = path.to_str();
        let text = text.with_context(|| format!("{} is not in UTF-8", path.display()))?;
        Ok(text.to_string())
    };
    let name = match Path::new(&a.which.name) {
        path if path.exists() && loopfit_study::builtin::text(&a.which.name).is_none() => {
            absolute(path)?
        }
        _ => a.which.name.clone(),
    };
    let mut arguments = vec![name];
    if a.which.quick {
        arguments.push("--quick".to_string());
    }
    if let Some(folder) = a.folder.named() {
        arguments.extend(["--data-dir".to_string(), absolute(&folder)?]);
    }
    if let Some(cache) = a.cache.absolute()? {
        arguments.extend(["--cache".to_string(), cache]);
    }
    Ok(arguments)
}

/// Runs the script that submits; the numbers of the two jobs.
fn submit(script: &Path) -> Result<[String; 2]> {
    let output = Command::new("sh")
        .arg(script)
        .output()
        .context("cannot start sh")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().collect::<Vec<_>>().join("; ");
    if !output.status.success() {
        bail!("Slurm did not take the jobs: {said} ({})", output.status);
    }
    if !said.is_empty() {
        output::say(&said);
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut ids = printed.split_whitespace().map(str::to_string);
    match (ids.next(), ids.next()) {
        (Some(array), Some(merge)) => Ok([array, merge]),
        _ => bail!("{} printed no job numbers: {printed}", script.display()),
    }
}
