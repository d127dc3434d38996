//! `cargo xtask bench peers`: our engine and the frameworks on the same
//! shapes, one core each.
//!
//! The engine's benchmark writes one case file per shape (parameters, a batch,
//! our gradient); each peer checks its gradient on it, trains and predicts.
//! Everything runs one after the other, so that nothing shares the core. Each
//! measurement of a peer has a limit, and all of them together have one: what
//! was left out is listed with its reason.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::bench::ENGINE;
use crate::{command, python, succeed, workspace};

/// Largest accepted difference between two gradients, relative to the largest
/// entry: single precision reaches 5e-7 on these shapes, a wrong formula 1e-2.
const GRADIENT_TOLERANCE: f64 = 1e-5;

/// The whole command ends within this time, installation and builds included.
const LIMIT: Duration = Duration::from_mins(29);

/// PyTorch compiles longer than JAX: this part of the time left is JAX's where both are measured.
const JAX_PART: f64 = 0.45;

/// The virtual environment, a folder of `target/`.
const ENVIRONMENT: &str = "peers-venv";

/// Python that becomes the command after it, on one core where the system can.
const ON_ONE_CORE: &str = "import os, sys
if hasattr(os, 'sched_setaffinity'): os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.execvp(sys.argv[1], sys.argv[1:])";

#[derive(Args)]
pub(crate) struct Peers {
    /// Also measure PyTorch (a download of several gigabytes)
    #[arg(long)]
    torch: bool,
    /// Print the tables in Markdown
    #[arg(long)]
    markdown: bool,
}

/// Our speed on one shape, as the engine's benchmark prints it.
#[derive(Deserialize)]
struct Ours {
    shape: String,
    updates_per_s: f64,
    peak_fraction: f64,
    predict_row_us: f64,
    predict_rows_per_s: f64,
}

/// What a script in `peers/` prints.
#[derive(Deserialize)]
struct Peer {
    peer: String,
    version: String,
    results: Vec<PeerResult>,
}

#[derive(Deserialize)]
struct PeerResult {
    shape: String,
    gradient_error: Option<f64>,
    training: Vec<Variant>,
    predict_row_us: Option<f64>,
    predict_rows_per_s: Option<f64>,
    unmeasured: Vec<Unmeasured>,
}

/// A way of training.
#[derive(Deserialize)]
struct Variant {
    name: String,
    updates_per_s: Option<f64>,
}

/// A measurement without a result.
#[derive(Deserialize)]
struct Unmeasured {
    what: String,
    why: String,
}

impl Peers {
    pub(crate) fn run(&self) -> Result<()> {
        let end = Instant::now() + LIMIT;
        let mut packages = vec!["jax[cpu]", "numpy"];
        packages.extend(self.torch.then_some("torch"));
        let python = python::with_packages(ENVIRONMENT, &packages)?;
        let cases = write_cases()?;
        let ours: Vec<Ours> = json(
            command(&python)
                .args(["-c", ON_ONE_CORE, "cargo"])
                .args(ENGINE)
                .args(["--", "--json", "--level", "fastest"]),
            "our engine",
        )?;
        let scripts: &[(&str, f64)] = if self.torch {
            &[("jax", JAX_PART), ("torch", 1.0)]
        } else {
            &[("jax", 1.0)]
        };
        let peers = scripts
            .iter()
            .map(|(script, part)| {
                let left = end.saturating_duration_since(Instant::now());
                let mut peer = command(&python);
                peer.arg(format!("xtask/peers/{script}_peer.py"))
                    .arg(&cases)
                    .arg((part * left.as_secs_f64()).to_string());
                // No compiled files outside target/.
                peer.env("PYTHONDONTWRITEBYTECODE", "1");
                let folder = workspace().join("target").join(ENVIRONMENT);
                peer.env("TORCHINDUCTOR_CACHE_DIR", folder.join("inductor"));
                json(&mut peer, script)
            })
            .collect::<Result<Vec<Peer>>>()?;
        check(&ours, &peers)?;

        println!("{}", description(&peers));
        println!("\nTraining, updates per second of one core\n");
        print!("{}", render(&training(&ours, &peers), self.markdown));
        println!("\nPrediction, microseconds for one row and million rows/s for 100,000 rows\n");
        print!("{}", render(&prediction(&ours, &peers), self.markdown));
        print!("{}", left_out(&peers));
        Ok(())
    }
}

/// Builds the engine's benchmark and lets it write the case files.
fn write_cases() -> Result<PathBuf> {
    let folder = workspace().join("target/peers-cases");
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut bench = command("cargo");
    bench
        .args(ENGINE)
        .args([OsStr::new("--"), OsStr::new("--cases"), folder.as_os_str()]);
    bench.stdout(Stdio::null());
    succeed(&mut bench, "writing the case files")?;
    Ok(folder)
}

/// What `command` prints on stdout, read as JSON.
pub(crate) fn json<T: DeserializeOwned>(command: &mut Command, what: &str) -> Result<T> {
    eprintln!("measuring {what}");
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{what}: cannot start {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{what} failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{what} printed something that is not the JSON expected"))
}

/// Every peer measured our shapes, and found our gradients.
fn check(ours: &[Ours], peers: &[Peer]) -> Result<()> {
    for Peer { peer, results, .. } in peers {
        let measured = results.iter().map(|result| &result.shape);
        if !measured.eq(ours.iter().map(|ours| &ours.shape)) {
            bail!("{peer} and our engine measured different shapes");
        }
        for PeerResult {
            shape,
            gradient_error,
            ..
        } in results
        {
            if let Some(gradient_error) = gradient_error
                && *gradient_error > GRADIENT_TOLERANCE
            {
                bail!(
                    "shape {shape}: our gradient and that of {peer} differ by {gradient_error:.1e} \
                     of the largest entry, allowed is {GRADIENT_TOLERANCE:.0e}"
                );
            }
        }
    }
    Ok(())
}

/// The machine, the versions, and how well the gradients agree.
fn description(peers: &[Peer]) -> String {
    let cpu = fs::read_to_string(Path::new("/proc/cpuinfo"))
        .ok()
        .and_then(|info| {
            let line = info.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
    let mut text = format!(
        "One core of: {}.",
        cpu.as_deref().unwrap_or("unknown processor")
    );
    for Peer {
        peer,
        version,
        results,
    } in peers
    {
        let error = results
            .iter()
            .filter_map(|result| result.gradient_error)
            .fold(0.0, f64::max);
        text += &format!(" {peer} {version}: gradients equal to ours within {error:.1e}.");
    }
    text
}

/// What has no result, with its reason and shapes, as a list; nothing where all was measured.
fn left_out(peers: &[Peer]) -> String {
    let mut reasons: Vec<(&Unmeasured, Vec<&str>)> = Vec::new();
    for PeerResult {
        shape, unmeasured, ..
    } in peers.iter().flat_map(|peer| &peer.results)
    {
        for one in unmeasured {
            let same = |(other, _): &&mut (&Unmeasured, Vec<&str>)| {
                other.what == one.what && other.why == one.why
            };
            match reasons.iter_mut().find(same) {
                Some((_, shapes)) => shapes.push(shape),
                None => reasons.push((one, vec![shape])),
            }
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut text = "\nNot measured\n\n".to_owned();
    for (Unmeasured { what, why }, shapes) in reasons {
        text += &format!("- {what}, on {}: {why}\n", shapes.join(", "));
    }
    text
}

type Row = Vec<String>;

/// A figure, or a dash where there is none.
fn cell(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Ours over the largest of theirs.
fn ratio(ours: f64, theirs: impl Iterator<Item = Option<f64>>) -> String {
    let fastest = theirs.flatten().reduce(f64::max);
    cell(fastest.map(|fastest| ours / fastest), 1)
}

fn training(ours: &[Ours], peers: &[Peer]) -> Vec<Row> {
    let variants = |row: usize| {
        peers
            .iter()
            .flat_map(move |peer| &peer.results[row].training)
    };
    let mut header = vec!["shape".to_owned()];
    header.extend(variants(0).map(|variant| variant.name.clone()));
    header.extend(
        [
            "loopfit",
            "loopfit / fastest framework",
            "fraction of FMA peak",
        ]
        .map(Into::into),
    );
    let rows = ours.iter().enumerate().map(|(row, ours)| {
        let speeds = || variants(row).map(|variant| variant.updates_per_s);
        let mut cells = vec![ours.shape.clone()];
        cells.extend(speeds().map(|speed| cell(speed, 0)));
        cells.push(format!("{:.0}", ours.updates_per_s));
        cells.push(ratio(ours.updates_per_s, speeds()));
        cells.push(format!("{:.0}%", 100.0 * ours.peak_fraction));
        cells
    });
    std::iter::once(header).chain(rows).collect()
}

fn prediction(ours: &[Ours], peers: &[Peer]) -> Vec<Row> {
    let mut header = vec!["shape".to_owned()];
    header.extend(peers.iter().map(|peer| format!("{}, one row", peer.peer)));
    header.push("loopfit, one row".to_owned());
    header.extend(peers.iter().map(|peer| format!("{}, rows", peer.peer)));
    header.extend(["loopfit, rows", "loopfit / fastest framework, rows"].map(Into::into));
    let rows = ours.iter().enumerate().map(|(row, ours)| {
        let results = || peers.iter().map(move |peer| &peer.results[row]);
        let speeds = || results().map(|result| result.predict_rows_per_s);
        let mut cells = vec![ours.shape.clone()];
        cells.extend(results().map(|result| cell(result.predict_row_us, 1)));
        cells.push(format!("{:.2}", ours.predict_row_us));
        cells.extend(speeds().map(|speed| cell(speed.map(|speed| speed / 1e6), 2)));
        cells.push(format!("{:.2}", ours.predict_rows_per_s / 1e6));
        cells.push(ratio(ours.predict_rows_per_s, speeds()));
        cells
    });
    std::iter::once(header).chain(rows).collect()
}

/// A table whose first row is its header, columns aligned.
fn render(rows: &[Row], markdown: bool) -> String {
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let line = |cells: &Row| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:>width$}"))
            .collect();
        if markdown {
            format!("| {} |\n", padded.join(" | "))
        } else {
            padded.join("  ") + "\n"
        }
    };
    let rule: Row = widths
        .iter()
        .map(|&width| {
            format!(
                "{}{}",
                "-".repeat(width - 1),
                if markdown { ":" } else { "-" }
            )
        })
        .collect();
    line(&rows[0]) + &line(&rule) + &rows[1..].iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(shape: &str) -> Ours {
        Ours {
            shape: shape.to_owned(),
            updates_per_s: 60_000.0,
            peak_fraction: 0.6,
            predict_row_us: 0.25,
            predict_rows_per_s: 30e6,
        }
    }

    fn peer(shape: &str, gradient_error: f64) -> Peer {
        let variants =
            [("one", 8_000.0), ("eight", 12_000.0)].map(|(name, updates_per_s)| Variant {
                name: name.to_owned(),
                updates_per_s: Some(updates_per_s),
            });
        let result = PeerResult {
            shape: shape.to_owned(),
            gradient_error: Some(gradient_error),
            training: variants.into(),
            predict_row_us: Some(18.0),
            predict_rows_per_s: Some(10e6),
            unmeasured: Vec::new(),
        };
        Peer {
            peer: "Peer".to_owned(),
            version: "1".to_owned(),
            results: vec![result],
        }
    }

    #[test]
    fn a_wrong_gradient_is_named() {
        assert!(check(&[ours("A")], &[peer("A", 5e-7)]).is_ok());
        let error = check(&[ours("A")], &[peer("A", 1e-2)])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("shape A") && error.contains("Peer"),
            "{error}"
        );
    }

    #[test]
    fn different_shapes_are_refused() {
        assert!(check(&[ours("A")], &[peer("B", 0.0)]).is_err());
        assert!(check(&[ours("A"), ours("B")], &[peer("A", 0.0)]).is_err());
    }

    #[test]
    fn the_ratio_is_to_the_fastest_variant() {
        let rows = training(&[ours("A")], &[peer("A", 0.0)]);
        assert_eq!(rows[1], ["A", "8000", "12000", "60000", "5.0", "60%"]);
        let rows = prediction(&[ours("A")], &[peer("A", 0.0)]);
        assert_eq!(rows[1], ["A", "18.0", "0.25", "10.00", "30.00", "3.0"]);
    }

    #[test]
    fn what_was_left_out_is_said_with_its_reason() {
        let mut without = peer("A", 0.0);
        assert_eq!(left_out(&[peer("A", 0.0)]), "");
        without.results.extend(peer("B", 0.0).results);
        for result in &mut without.results {
            result.training[1].updates_per_s = None;
            result.predict_rows_per_s = None;
            result.unmeasured.push(Unmeasured {
                what: "eight".to_owned(),
                why: "not within 90 s".to_owned(),
            });
        }
        let peers = [without];
        assert_eq!(
            left_out(&peers),
            "\nNot measured\n\n- eight, on A, B: not within 90 s\n"
        );
        let both = [ours("A"), ours("B")];
        let rows = training(&both, &peers);
        assert_eq!(rows[1], ["A", "8000", "-", "60000", "7.5", "60%"]);
        let rows = prediction(&both, &peers);
        assert_eq!(rows[2], ["B", "18.0", "0.25", "-", "30.00", "-"]);
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [["shape", "x"], ["A", "12"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(render(&rows, false), "shape   x\n-----  --\n    A  12\n");
        assert_eq!(
            render(&rows, true),
            "| shape |  x |\n| ----: | -: |\n|     A | 12 |\n"
        );
    }
}
