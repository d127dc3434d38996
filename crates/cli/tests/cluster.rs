//! Studies beyond one machine, from outside: shards, the scripts of a cluster with stand-ins for its programs, a cache of fits.
#![cfg(unix)]

mod common;
use common::Place;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

const STUDY: &str = r#"
title = "Mine"
seeds = { first = 1, count = 4 }
[[cases]]
name = "bumps"
data = "sim:bumps"
train = 64
valid = 32
budget = 48
[search]
updates = 400
"#;

/// Programs of Slurm that only count: `sbatch` hands out numbers, `squeue` prints what the file `queue` says.
fn stand_ins(place: &Place) -> PathBuf {
    let folder = place.path("bin");
    std::fs::create_dir(&folder).unwrap();
    let programs = [
        (
            "sbatch",
            "#!/bin/sh\necho \"$@\" >> \"$PLACE/submitted\"\nwc -l < \"$PLACE/submitted\" | tr -d ' '\n",
        ),
        (
            "squeue",
            "#!/bin/sh\ncase \"$*\" in *-merge*) cat \"$PLACE/merge-queue\" ;; *) cat \"$PLACE/queue\" ;; esac 2>/dev/null\ntrue\n",
        ),
        (
            "scontrol",
            "#!/bin/sh\necho \"$@\" >> \"$PLACE/requeued\"\n",
        ),
    ];
    for (name, text) in programs {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn with_slurm(place: &Place, command: &mut Command) -> Output {
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .current_dir(place.path(""))
        .env("PATH", format!("{}:{path}", place.path("bin").display()))
        .env("PLACE", place.path(""))
        .output()
        .unwrap()
}

fn submit(place: &Place, more: &str) -> serde_json::Value {
    let arguments = format!("study submit mine.toml --shards 2 --out runs --json {more}");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("loopfit"));
    let output = with_slurm(place, command.args(arguments.trim().split(' ')));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a script as a task of an array.
fn task(place: &Place, script: &str, index: usize) -> Output {
    let mut command = Command::new("sh");
    command.arg(place.path(script));
    command.env("SLURM_ARRAY_JOB_ID", "7");
    command.env("SLURM_ARRAY_TASK_ID", index.to_string());
    with_slurm(place, &mut command)
}

fn lines(place: &Place, file: &str) -> usize {
    let text = std::fs::read_to_string(place.path(file)).unwrap_or_default();
    text.lines().count()
}

#[test]
fn jobs_are_submitted_once_and_go_on() {
    let place = Place::new();
    place.write("mine.toml", STUDY);
    stand_ins(&place);
    // Only written, twice: the same files.
    let first = submit(&place, "");
    assert_eq!(
        (&first["left"], &first["array_job"]),
        (&2.into(), &serde_json::Value::Null)
    );
    let scripts = ["shards.sh", "merge.sh", "submit.sh"].map(|n| format!("runs/slurm/{n}"));
    let texts = scripts.each_ref().map(|path| place.read(path));
    submit(&place, "");
    assert_eq!(scripts.each_ref().map(|path| place.read(path)), texts);
    assert_eq!(lines(&place, "submitted"), 0);
    // Submitted: the array, and what waits for it.
    let jobs = submit(&place, "--now");
    assert_eq!(
        (&jobs["array_job"], &jobs["merge_job"]),
        (&"1".into(), &"2".into())
    );
    let submitted = String::from_utf8(place.read("submitted")).unwrap();
    assert!(submitted.contains("--dependency=afterany:1"), "{submitted}");
    // While both are queued nothing is submitted; where the second is missing, it alone is.
    place.write("queue", "1\n").write("merge-queue", "2\n");
    let again = submit(&place, "--now");
    assert_eq!(
        (&again["array_job"], lines(&place, "submitted")),
        (&"1".into(), 2)
    );
    place.write("merge-queue", "");
    submit(&place, "--now");
    assert_eq!(lines(&place, "submitted"), 3);
    // The merge refuses what is not complete; the shares run; a share that is complete is not submitted again.
    let refused = task(&place, "runs/slurm/merge.sh", 0);
    assert!(!refused.status.success());
    assert!(
        String::from_utf8_lossy(&task(&place, "runs/slurm/shards.sh", 1).stdout)
            .contains("exit code 0")
    );
    let refused = task(&place, "runs/slurm/merge.sh", 0);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("submit again"));
    assert_eq!(submit(&place, "")["left"], 1);
    let script = String::from_utf8(place.read("runs/slurm/shards.sh")).unwrap();
    assert!(script.contains("--array=2\n"), "{script}");
    assert!(task(&place, "runs/slurm/shards.sh", 2).status.success());
    // Merged and reported, once and again.
    for _ in 0..2 {
        let merged = task(&place, "runs/slurm/merge.sh", 0);
        let said = String::from_utf8_lossy(&merged.stderr).into_owned();
        assert!(merged.status.success(), "{said}");
    }
    assert!(!place.read("runs/merged/report/mine.html").is_empty());
    place.ok("study run mine.toml --out whole --quiet");
    let content = |out: &str| place.ok(&format!("study export {out} --json"));
    assert!(content("runs/merged") == content("whole"));
    place.write("queue", "");
    // Where nobody says what is queued, nothing is submitted.
    let squeue = place.read("bin/squeue");
    place.write("bin/squeue", "#!/bin/sh\nexit 1\n");
    let refused = task(&place, "runs/slurm/submit.sh", 0);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("nothing was submitted"),
        "{said}"
    );
    assert_eq!(lines(&place, "submitted"), 3);
    place.write("bin/squeue", String::from_utf8(squeue).unwrap());
    let done = submit(&place, "--now");
    assert_eq!(
        (&done["left"], &done["array_job"]),
        (&0.into(), &serde_json::Value::Null)
    );
    assert_eq!(lines(&place, "submitted"), 3);
}

/// The signal before a time limit: the share saves, its job asks to be queued again, and the next one goes on.
#[test]
fn a_share_out_of_time_is_queued_again() {
    let place = Place::new();
    place.write("mine.toml", STUDY.replace("400", "400000"));
    stand_ins(&place);
    submit(&place, "");
    for (signal, requeued) in [("USR1", 1), ("TERM", 1)] {
        let path = std::env::var("PATH").unwrap_or_default();
        let child = Command::new("sh")
            .arg(place.path("runs/slurm/shards.sh"))
            .env("SLURM_ARRAY_JOB_ID", "7")
            .env("SLURM_ARRAY_TASK_ID", "2")
            .env("PATH", format!("{}:{path}", place.path("bin").display()))
            .env("PLACE", place.path(""))
            .stdout(std::fs::File::create(place.path("log")).unwrap())
            .spawn();
        let mut child = child.unwrap();
        let log = || String::from_utf8(place.read("log")).unwrap();
        let store = place.path("runs/shard-2-of-2.sqlite");
        while !log().contains("try 1") || !store.exists() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
        let status = child.wait().unwrap();
        let said = log();
        assert_eq!(status.code(), Some(143), "{signal}: {said}");
        assert!(said.contains("exit code 143"), "{signal}: {said}");
        assert_eq!(lines(&place, "requeued"), requeued, "{signal}: {said}");
    }
    assert_eq!(place.read("requeued"), b"requeue 7_2\n");
    assert_eq!(place.json("study verify runs")["sound"], true);
}

/// All shards of a directory, read together; a damaged one is told from the others.
#[test]
fn the_status_of_shards() {
    let place = Place::new();
    place.write("mine.toml", STUDY);
    for shard in ["1/3", "2/3"] {
        place.ok(&format!(
            "study run mine.toml --shard {shard} --out runs --quiet"
        ));
    }
    let status = place.json("study status runs");
    assert_eq!(status["shards"].as_array().unwrap().len(), 2);
    assert_eq!(status["studies"][0]["complete"], false);
    assert_eq!(
        place.run("study status runs --check").status.code(),
        Some(1)
    );
    place.ok("study run mine.toml --shard 3/3 --out runs --quiet");
    let status = place.json("study status runs --check");
    let fits = |of: &serde_json::Value| of["fits"].as_u64().unwrap();
    let shards = status["shards"].as_array().unwrap();
    assert_eq!(
        shards.iter().map(fits).sum::<u64>(),
        fits(&status["studies"][0])
    );
    assert!(
        place
            .ok("study status runs")
            .contains("shard-3-of-3.sqlite")
    );
    // What another protocol measured is not of this one.
    let plan = "study plan mine.toml --shards 2 --measured";
    place.ok("study merge runs --out merged");
    place.ok(&format!("{plan} merged"));
    place.write("mine.toml", STUDY.replace("400", "800"));
    let refused = place.run(&format!("{plan} merged"));
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("another protocol"), "{said}");
    place.write("runs/shard-2-of-3.sqlite", "not a store");
    let output = place.run("study status runs --check --json");
    assert_eq!(output.status.code(), Some(1));
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(status["shards"][1]["wrong"].is_string(), "{status}");
}

/// A group of studies finds what one of them has left in a cache; what is damaged is made again.
#[test]
fn a_cache_between_studies() {
    let place = Place::new();
    std::fs::create_dir(place.path("group")).unwrap();
    place.write("group/mine.toml", STUDY);
    place.write("group/other.toml", STUDY.replace("first = 1", "first = 11"));
    let run = |name: &str, out: &str, cache: &str| {
        let output = place.run(&format!("study run {name} --out {out} --cache {cache}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    for cache in ["database", "files:files"] {
        let folder = cache.trim_start_matches("files:");
        let said = run("group/mine.toml", &format!("{folder}-a"), cache);
        assert!(said.contains("0 fits came from the cache"), "{said}");
        let said = run("group", &format!("{folder}-b"), cache);
        let count = place.json(&format!("study status {folder}-a"))["studies"][0]["fits"].clone();
        assert!(
            said.contains(&format!("{count} fits came from the cache")),
            "{said}"
        );
        let both = format!("study run group --out {folder}-c --cache {cache}");
        let found = place.json(&both)["cached_fits"].as_u64().unwrap();
        assert_eq!(found, 2 * count.as_u64().unwrap());
    }
    // By a variable of the environment, and refused where it cannot be.
    let refused = place.run("study run group --out d --cache group/mine.toml");
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("cannot write group/mine.toml"), "{said}");
    // What is damaged ends no run, but is said.
    place.write("database/fits.sqlite", "cut off");
    let said = run("group/mine.toml", "e", "database");
    assert!(said.contains("the cache did not work"), "{said}");
}

/// SQLite takes a name that begins with `file:` for an address, and what follows a question mark for its options.
#[test]
fn names_that_look_like_addresses() {
    let place = Place::new();
    place.write("mine.toml", STUDY);
    for shard in ["1/2", "2/2"] {
        let run = format!("study run mine.toml --shard {shard} --quiet");
        // A cache in the run directory is no shard of it.
        place.ok(&format!(
            "{run} --out file:a?mode=memory --cache file:a?mode=memory"
        ));
    }
    place.ok("study status file:a?mode=memory --check");
    place.ok("study merge file:a?mode=memory --out file:b");
    assert_eq!(
        place.json("study status file:b")["studies"][0]["complete"],
        true
    );
    let files = ["file:a?mode=memory", "file:b", "mine.toml"];
    assert_eq!(place.files(), files);
    assert!(!place.read("file:a?mode=memory/fits.sqlite").is_empty());
}

#[test]
fn bad_submissions() {
    let place = Place::new();
    place.write("mine.toml", STUDY);
    for (arguments, code, says) in [
        (
            "study submit mine.toml --shards 1 --out runs",
            2,
            "one share",
        ),
        ("study submit mine.toml --out runs", 2, "--shards"),
        ("study submit mine.toml --shards 2", 2, "--out"),
        ("study submit nothing --shards 2 --out runs", 2, "nothing"),
        (
            "study submit real-regression --shards 2 --out runs",
            3,
            "--data-dir",
        ),
        ("study plan mine.toml --shards 0", 2, "0"),
        (
            "study plan mine.toml --shards 2 --measured none",
            3,
            "holds no study",
        ),
        ("study plan mine.toml --measured none", 2, "--shards"),
    ] {
        let output = place.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        assert!(said.contains(says), "{arguments}: {said}");
        assert_eq!(place.files(), ["mine.toml"], "{arguments}");
    }
}
