//! The scripts of a Slurm cluster: an array of shares, what comes after them, and what submits both.

use loopfit_numerics::text::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(super) const SUBMIT: &str = "submit.sh";
const SHARDS: &str = "shards.sh";
const MERGE: &str = "merge.sh";

/// How often a share is begun within one job: a process that was killed goes on from where it was.
const TRIES: u32 = 3;

/// What is submitted. All paths are absolute.
pub(super) struct Job {
    pub(super) program: PathBuf,
    /// Where the program runs.
    pub(super) folder: PathBuf,
    /// Arguments of `study run`, beside the share and its directory.
    pub(super) arguments: Vec<String>,
    /// The study as it was asked for.
    pub(super) title: String,
    pub(super) shards: usize,
    /// The shares that are not complete.
    pub(super) left: BTreeSet<usize>,
    /// The run directory.
    pub(super) out: PathBuf,
    /// Options of the user.
    pub(super) slurm: String,
    /// Seconds before the time limit.
    pub(super) grace: usize,
}

impl Job {
    /// The files and their texts, or why there can be none.
    pub(super) fn files(&self) -> Result<[(&'static str, String); 3], String> {
        Ok([
            (SHARDS, self.shards()?),
            (MERGE, self.merge()?),
            (SUBMIT, self.submit()?),
        ])
    }

    /// Different for every run directory, so that a queue tells what is queued.
    fn name(&self) -> String {
        let hash = hex(Sha256::digest(self.out.as_os_str().as_encoded_bytes()));
        format!("loopfit-{}", hash.chars().take(12).collect::<String>())
    }

    /// The lines that sbatch reads; what the user wants comes last and counts.
    fn options(&self, own: &[String]) -> String {
        let mut text = String::new();
        for option in own.iter().chain([&self.slurm]).filter(|o| !o.is_empty()) {
            text += &format!("#SBATCH {option}\n");
        }
        text
    }

    fn shards(&self) -> Result<String, String> {
        let array = match self.left.is_empty() {
            // Nothing is left: whoever submits it all the same gets one share that finds so.
            true => "1".to_string(),
            false => ranges(&self.left),
        };
        let options = self.options(&[
            format!("--job-name={}", self.name()),
            format!("--array={array}"),
            "--requeue".to_string(),
            "--open-mode=append".to_string(),
            format!("--signal=B:USR1@{}", self.grace),
            format!("--output={}", self.log("shard-%a.log")?),
        ]);
        let (title, shards) = (comment(&self.title), self.shards);
        let folder = quoted(&self.folder)?;
        let mut command = format!("{} study run", quoted(&self.program)?);
        for argument in &self.arguments {
            command += &format!(" {}", quote(argument));
        }
        command += &format!(" --out {}", quoted(&self.out)?);
        Ok(format!(
            r#"#!/bin/sh
{options}
# One share of {title}. Every fit that ends is in the share's store, so that whatever stops this job costs at most the fits that
# were running: it is queued again and goes on.
cd {folder} || exit 1
share="$SLURM_ARRAY_TASK_ID/{shards}"
job="${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
child=
stopped=
# Preempted or cancelled: Slurm knows what comes next. USR1 comes {grace} s before the time limit, and means that nobody else
# will queue this job again.
trap 'stopped=${{stopped:-TERM}}; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT
trap 'stopped=USR1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' USR1
tries=0
while [ -z "$stopped" ]; do
    tries=$((tries + 1))
    echo "share $share: try $tries on $(hostname), started $((${{SLURM_RESTART_COUNT:-0}} + 1)) times"
    {command} --shard "$share" --threads "${{SLURM_CPUS_PER_TASK:-1}}" --quiet &
    child=$!
    # A signal that came just before had nobody to go to.
    [ -z "$stopped" ] || kill -TERM "$child" 2>/dev/null
    wait "$child"
    code=$?
    # A signal ends `wait` before the share has saved.
    while [ "$code" -gt 128 ] && kill -0 "$child" 2>/dev/null; do
        wait "$child"
        code=$?
    done
    child=
    echo "share $share: exit code $code"
    if [ "$code" -eq 0 ]; then exit 0; fi
    # Wrong usage does not get better, and what fails {TRIES} times fails again.
    if [ -z "$stopped" ] && {{ [ "$code" -eq 2 ] || [ "$tries" -ge {TRIES} ]; }}; then exit "$code"; fi
    [ -n "$stopped" ] || sleep 5
done
if [ "$stopped" = USR1 ]; then
    echo "share $share: the time is nearly over, queued again"
    scontrol requeue "$job"
fi
exit 143
"#,
            grace = self.grace,
        ))
    }

    fn merge(&self) -> Result<String, String> {
        let options = self.options(&[
            format!("--job-name={}-merge", self.name()),
            "--requeue".to_string(),
            "--open-mode=append".to_string(),
            format!("--output={}", self.log("merge.log")?),
        ]);
        let (program, folder) = (quoted(&self.program)?, quoted(&self.folder)?);
        let (out, merged) = (quoted(&self.out)?, quoted(&self.out.join("merged"))?);
        let store = quoted(&self.out.join("merged/study.sqlite"))?;
        // Pages of models are made from the rows that they were fitted to.
        let data = self.arguments.windows(2).find(|two| two[0] == "--data-dir");
        let data = data.map_or(String::new(), |two| {
            format!(" --data-dir {}", quote(&two[1]))
        });
        Ok(format!(
            r#"#!/bin/sh
{options}
# After the shares of {title}, however they ended: nothing is merged unless all of it is there.
set -eu
cd {folder}
if ! {program} study status {out} --check; then
    echo "shares are missing or not complete: submit again, what is done is not run again" >&2
    exit 1
fi
# A merged store appears whole or not at all, and of complete shares there is only one.
[ -e {store} ] || {program} study merge {out} --out {merged}
{program} study verify {merged}
{program} study report {merged}{data}
"#,
            title = comment(&self.title),
        ))
    }

    fn submit(&self) -> Result<String, String> {
        let name = self.name();
        let file = |name: &str| quoted(&self.out.join("slurm").join(name));
        let (shards, merge) = (file(SHARDS)?, file(MERGE)?);
        Ok(format!(
            r#"#!/bin/sh
# Submits the shares of {title} and what comes after them; prints the numbers of both jobs. What is queued or running is not
# submitted twice.
set -eu
for program in sbatch squeue; do
    if ! command -v "$program" >/dev/null; then
        echo "$program is not installed on this machine: run this where it is" >&2
        exit 3
    fi
done
# Who does not know what is queued submits nothing.
queued() {{
    listed=$(squeue --noheader --user="$(id -un)" --name="$1" --format=%F) || {{
        echo "squeue does not say what is queued: nothing was submitted" >&2
        return 3
    }}
    echo "$listed" | sort -u | head -n 1 | tr -d ' '
}}
array=$(queued {name})
merge=
if [ -n "$array" ]; then
    echo "the shares are queued already" >&2
    merge=$(queued {name}-merge)
else
    array=$(sbatch --parsable {shards})
    array=${{array%%;*}}
fi
if [ -z "$merge" ]; then
    merge=$(sbatch --parsable --dependency=afterany:"$array" {merge})
    merge=${{merge%%;*}}
fi
echo "$array $merge"
"#,
            title = comment(&self.title),
        ))
    }

    /// A file of Slurm's output; a percent sign of the directory is not a pattern.
    fn log(&self, name: &str) -> Result<String, String> {
        let folder = self.out.join("slurm");
        let text = folder.to_str().ok_or_else(|| not_text(&folder))?;
        if text.chars().any(|c| c.is_control() || "\"'\\".contains(c)) {
            return Err(format!(
                "sbatch cannot write logs to {}: name a directory without quotes",
                folder.display()
            ));
        }
        let path = format!("{}/{name}", text.replace('%', "%%"));
        Ok(match path.contains(' ') {
            true => format!("\"{path}\""),
            false => path,
        })
    }
}

/// `1-3,7` of 1, 2, 3 and 7.
fn ranges(numbers: &BTreeSet<usize>) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let parts = parts.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    parts.collect::<Vec<_>>().join(",")
}

/// A word of a shell's command.
pub(super) fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

fn quoted(path: &Path) -> Result<String, String> {
    path.to_str().map(quote).ok_or_else(|| not_text(path))
}

fn not_text(path: &Path) -> String {
    format!("{} is not in UTF-8: name another directory", path.display())
}

/// A text within a comment of one line.
fn comment(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests;
