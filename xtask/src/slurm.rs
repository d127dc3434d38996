//! `cargo xtask test --slurm`: `loopfit study submit` on a real Slurm of one node, which is set up below `target/` for the test and
//! ended after it. It needs neither systemd nor root.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::{command, development, succeed, workspace};

/// What must be installed, and the packages of Debian that have it.
const PROGRAMS: [&str; 8] = [
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "squeue",
    "scontrol",
    "scancel",
    "sinfo",
];
const PACKAGES: &str = "apt-get install slurmctld slurmd slurm-client munge";

/// Eight tasks of some seconds each.
const STUDY: &str = r#"
title = "On a cluster"
seeds = { first = 1, count = 8 }
[[cases]]
name = "bumps"
data = "sim:bumps"
train = 512
valid = 256
budget = 96
[search]
updates = 96000
"#;
const SHARDS: usize = 4;
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(1200);

pub(crate) fn run() -> Result<()> {
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|p| !installed(p)).collect();
    if !missing.is_empty() {
        bail!(
            "the test needs {}, which this machine lacks; on Debian: {PACKAGES}",
            missing.join(", ")
        );
    }
    let loopfit = match std::env::var_os("LOOPFIT_COMMAND") {
        Some(named) => PathBuf::from(named),
        None => development()?,
    };
    let folder = workspace().join("target/slurm");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot empty target/slurm")?;
    }
    let mut cluster = Cluster::start(&folder)?;
    let result = check(&mut cluster, &loopfit);
    if result.is_err() {
        eprintln!("logs: {}", folder.display());
    }
    result
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(system);
    folders.into_iter().any(|f| f.join(program).is_file())
}

/// The daemons, which end with it.
struct Cluster {
    folder: PathBuf,
    munged: Child,
    controller: Child,
    node: Child,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.slurm("scancel").args(["--user", &user()]).status();
        std::thread::sleep(Duration::from_secs(1));
        for child in [&mut self.node, &mut self.controller, &mut self.munged] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output();
    let name = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string());
    name.unwrap_or_default()
}

fn host() -> Result<String> {
    let output = Command::new("hostname").arg("-s").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// A port that nobody has now.
fn port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}

impl Cluster {
    fn start(folder: &Path) -> Result<Self> {
        for name in ["state", "spool", "munge"] {
            fs::create_dir_all(folder.join(name))?;
        }
        let key = folder.join("munge/key");
        let mut random = [0; 128];
        fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        fs::write(&key, random)?;
        private(&key)?;
        let at = |name: &str| folder.join(name).display().to_string();
        let (host, user) = (host()?, user());
        let configuration = format!(
            "ClusterName=loopfit\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/munge\nAuthInfo=socket={},cred_expire=15\nStateSaveLocation={}\nSlurmdSpoolDir={}\n\
             SlurmctldPidFile={}\nSlurmdPidFile={}\nSlurmctldLogFile={}\nSlurmdLogFile={}\n\
             SlurmctldPort={}\nSlurmdPort={}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
             ReturnToService=2\nMpiDefault=none\nSwitchType=switch/none\nJobRequeue=1\nKillWait=20\n\
             SchedulerParameters=sched_interval=2,batch_sched_delay=1\n\
             PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nSlurmdParameters=config_overrides\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=3 State=UNKNOWN\n\
             PartitionName=low Nodes=ALL Default=YES MaxTime=60 State=UP PriorityTier=1 GraceTime=20\n\
             PartitionName=high Nodes=ALL MaxTime=60 State=UP PriorityTier=9 PreemptMode=OFF\n",
            at("munge/socket"),
            at("state"),
            at("spool"),
            at("slurmctld.pid"),
            at("slurmd.pid"),
            at("slurmctld.log"),
            at("slurmd.log"),
            port()?,
            port()?,
        );
        fs::write(folder.join("slurm.conf"), configuration)?;
        let mut munged = daemon(folder, "munged");
        munged.args(["--foreground", "--force"]);
        for (option, name) in [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ] {
            munged.arg(format!("--{option}={}", at(&format!("munge/{name}"))));
        }
        let munged = munged.spawn().context("cannot start munged")?;
        wait("the socket of munge", || {
            Ok(folder.join("munge/socket").exists())
        })?;
        let controller = daemon(folder, "slurmctld")
            .arg("-D")
            .spawn()
            .context("cannot start slurmctld")?;
        let node = daemon(folder, "slurmd")
            .arg("-D")
            .spawn()
            .context("cannot start slurmd")?;
        let cluster = Self {
            folder: folder.to_path_buf(),
            munged,
            controller,
            node,
        };
        wait("an idle node", || {
            Ok(cluster
                .ask("sinfo", &["--noheader", "--format=%T"])?
                .contains("idle"))
        })?;
        Ok(cluster)
    }

    /// A program of Slurm with the cluster's configuration.
    fn slurm(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = command(program);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }

    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let output = self.slurm(program).args(arguments).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What watches over jobs on the node; those of another Slurm on this machine have another configuration.
    fn steps(&self) -> Vec<u32> {
        let own = format!("SLURM_CONF={}", self.folder.join("slurm.conf").display());
        let mut steps = processes(&["slurmstepd"]);
        steps.retain(|id| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let mut variables = environment.split(|b| *b == 0);
            variables.any(|variable| variable == own.as_bytes())
        });
        steps
    }

    /// The node's daemon dies with all that runs there, and comes back.
    fn node_fails(&mut self, jobs: &[u32]) -> Result<()> {
        self.node.kill()?;
        self.node.wait()?;
        for job in jobs {
            signal("-KILL", *job)?;
        }
        // A job that began less than twenty seconds before (BatchStartTimeout and a message's time) may still be on its way to the
        // node: it is not missed when the node comes back.
        std::thread::sleep(Duration::from_secs(25));
        self.node = daemon(&self.folder, "slurmd")
            .arg("-D")
            .spawn()
            .context("cannot start slurmd again")?;
        Ok(())
    }
}

fn private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o600),
    )?)
}

/// A daemon in the foreground, silent but for its log.
fn daemon(folder: &Path, program: &str) -> Command {
    let mut command = command(program);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command.env("SLURM_CONF", folder.join("slurm.conf"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn wait(what: &str, mut ready: impl FnMut() -> Result<bool>) -> Result<()> {
    let begin = Instant::now();
    while !ready()? {
        ensure!(begin.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    eprintln!("slurm: {what} ({:.1} s)", begin.elapsed().as_secs_f64());
    Ok(())
}

fn signal(signal: &str, process: u32) -> Result<()> {
    let mut kill = Command::new("kill");
    kill.args([signal, &process.to_string()]);
    succeed(kill.stderr(Stdio::null()), "kill").or(Ok(()))
}

/// The processes whose command line has all of some words.
fn processes(words: &[&str]) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|e| e.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        words.iter().all(|word| line.contains(word))
    })
    .collect()
}

fn check(cluster: &mut Cluster, loopfit: &Path) -> Result<()> {
    let folder = cluster.folder.clone();
    let text = |path: &Path| path.display().to_string();
    let (study, out) = (folder.join("cluster.toml"), folder.join("run"));
    fs::write(&study, STUDY)?;
    let run = |arguments: &[&str]| -> Result<(Option<i32>, String, String)> {
        let mut program = Command::new(loopfit);
        program.args(arguments).current_dir(&folder);
        program.env("SLURM_CONF", folder.join("slurm.conf"));
        let output = program.output()?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((
            output.status.code(),
            said(&output.stdout),
            said(&output.stderr),
        ))
    };
    let ok = |arguments: &[&str]| -> Result<String> {
        let (code, out, said) = run(arguments)?;
        ensure!(
            code == Some(0),
            "loopfit {}: {said}{out}",
            arguments.join(" ")
        );
        Ok(out)
    };
    let (study, out_name) = (text(&study), text(&out));
    let shards = SHARDS.to_string();
    let submit = [
        "study", "submit", &study, "--shards", &shards, "--out", &out_name, "--now", "--json",
    ];
    let log = |index: usize| {
        fs::read_to_string(out.join(format!("slurm/shard-{index}.log"))).unwrap_or_default()
    };

    // Twice: the second time finds what is queued.
    let first: serde_json::Value = serde_json::from_str(&ok(&submit)?)?;
    let second: serde_json::Value = serde_json::from_str(&ok(&submit)?)?;
    ensure!(first["array_job"].is_string(), "{first}");
    for job in ["array_job", "merge_job"] {
        ensure!(first[job] == second[job], "submitted twice: {second}");
    }
    let array = first["array_job"].as_str().unwrap_or_default().to_string();
    eprintln!("slurm: array job {array}, submitted once");
    let store = |index: usize| out.join(format!("shard-{index}-of-{SHARDS}.sqlite"));
    let at_work = |index: usize| {
        let share = format!("--shard {index}/{SHARDS}");
        processes(&["study run", &share, &out_name, "--quiet"])
    };
    let begun = |index: usize| Ok(store(index).exists() && !at_work(index).is_empty());

    // One process is killed; one job is queued again by an administrator, as after a preemption; one gets the signal that comes
    // before a time limit.
    wait("share 1 runs", || begun(1))?;
    for process in at_work(1) {
        signal("-KILL", process)?;
    }
    wait("share 2 runs", || begun(2))?;
    let job = format!("{array}_2");
    succeed(
        cluster.slurm("scontrol").args(["requeue", &job]),
        "scontrol requeue",
    )?;
    wait("share 3 runs", || begun(3))?;
    let job = format!("{array}_3");
    succeed(
        cluster
            .slurm("scancel")
            .args(["--signal=USR1", "--batch", &job]),
        "scancel --signal=USR1",
    )?;
    wait("share 1 was killed and is tried again", || {
        Ok(log(1).contains("exit code 137") && log(1).contains("try 2"))
    })?;
    wait("share 2 was told and saved", || {
        Ok(log(2).contains("exit code 143"))
    })?;
    wait("share 3 was told, saved and queued itself again", || {
        Ok(log(3).contains("exit code 143") && log(3).contains("the time is nearly over"))
    })?;

    // All shards can be read while they run.
    let state: serde_json::Value =
        serde_json::from_str(&ok(&["study", "status", &out_name, "--json"])?)?;
    ensure!(
        state["shards"].as_array().is_some_and(|s| !s.is_empty()),
        "{state}"
    );

    // The node dies with what it runs.
    wait("a share runs", || {
        Ok((1..=SHARDS).any(|i| !at_work(i).is_empty()))
    })?;
    let scripts = processes(&[&text(&folder.join("spool")), "slurm_script"]).into_iter();
    let everything = scripts.chain(cluster.steps());
    let everything = everything.chain((1..=SHARDS).flat_map(at_work));
    let everything: Vec<u32> = everything.collect();
    let starts = |index: usize| log(index).matches(" started ").count();
    let struck: Vec<(usize, usize)> = (1..=SHARDS)
        .filter(|index| !at_work(*index).is_empty())
        .map(|index| (index, starts(index)))
        .collect();
    cluster.node_fails(&everything)?;
    eprintln!(
        "slurm: the node died with shares {:?} and {} processes",
        struck.iter().map(|(index, _)| index).collect::<Vec<_>>(),
        everything.len()
    );

    wait("all jobs have ended", || {
        let queue = cluster.ask("squeue", &["--noheader", "--format=%i %T"])?;
        Ok(queue.trim().is_empty())
    })?;
    ensure!(
        struck
            .iter()
            .any(|(index, before)| starts(*index) > *before),
        "no share went on after the node had died: {struck:?}"
    );
    for index in [2, 3] {
        // Once more for each time that Slurm gave it to a node that was dead.
        let again = |times: usize| log(index).contains(&format!("started {times} times"));
        ensure!(
            (2..9).any(again),
            "share {index} was not begun again: {}",
            log(index)
        );
    }
    let merged = out.join("merged");
    if !merged.join("study.sqlite").exists() {
        // Shares whose tries were used up: the same command goes on.
        eprintln!("slurm: not complete yet, submitted again");
        ok(&submit)?;
        wait("all jobs have ended", || {
            let queue = cluster.ask("squeue", &["--noheader", "--format=%i %T"])?;
            Ok(queue.trim().is_empty())
        })?;
    }

    // What came out is what one machine makes.
    ok(&["study", "status", &out_name, "--check"])?;
    let whole = text(&folder.join("whole"));
    ok(&["study", "run", &study, "--out", &whole, "--quiet"])?;
    let export = |path: &str| ok(&["study", "export", path, "--json"]);
    ensure!(
        export(&text(&merged))? == export(&whole)?,
        "the merged run is not that of one machine"
    );
    ensure!(
        merged.join("report/index.html").exists(),
        "no report was written"
    );
    let last: serde_json::Value = serde_json::from_str(&ok(&submit)?)?;
    ensure!(
        last["left"] == 0 && last["array_job"].is_null(),
        "a complete run was submitted again: {last}"
    );
    eprintln!("slurm: the merged run has the bits of one machine");
    Ok(())
}
