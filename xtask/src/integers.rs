//! `cargo xtask bench integers`: what integers cost in accuracy, on the paper's data sets and by iterations.
//!
//! The library's benchmark `integers` fits, exports, compiles and scores; here are its tables and the figure of bits against
//! iterations.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use loopfit_report::figure::{Curve, Curves, Panel, Scale};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use serde::Deserialize;

use crate::{command, workspace};

/// Where the figure goes; `docs/export.md` shows it.
const FIGURE: &str = "docs/integers.svg";

#[derive(Args)]
pub(crate) struct Integers {
    /// The folder with the data sets of the paper; without it, simulations alone
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print the tables in Markdown
    #[arg(long)]
    markdown: bool,
}

/// What the benchmark prints for one model.
#[derive(Deserialize)]
struct Found {
    set: Option<String>,
    simulation: Option<String>,
    t: Option<usize>,
    network: String,
    metric: String,
    float: f64,
    int8: f64,
    int8_drawn: f64,
    int16: f64,
    int16_drawn: f64,
    loss8: Loss,
    loss16: Loss,
}

#[derive(Deserialize)]
struct Loss {
    rms: f64,
    rms_of_nearest: f64,
}

impl Integers {
    pub(crate) fn run(&self) -> Result<()> {
        let mut bench = command("cargo");
        // Errors are the same whatever the profile, and this one is built already.
        bench.args(["bench", "-q", "-p", "loopfit", "--bench", "integers"]);
        bench.args(["--profile", "dev", "--"]);
        if let Some(folder) = &self.data_dir {
            let folder = folder.canonicalize();
            bench.arg(folder.context("the folder of data sets is not there")?);
        }
        let output = bench.stderr(std::process::Stdio::inherit()).output()?;
        ensure!(output.status.success(), "the benchmark of integers failed");
        let text = String::from_utf8(output.stdout)?;
        let found: Vec<Found> = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        for table in [sets(&found), simulations(&found)] {
            println!(
                "{}",
                if self.markdown {
                    table.to_markdown()
                } else {
                    table.to_terminal(false)
                }
            );
        }
        let figure = workspace().join(FIGURE);
        std::fs::write(&figure, draw(&found).to_svg())
            .with_context(|| format!("cannot write {}", figure.display()))?;
        println!("The figure is {FIGURE}.");
        Ok(())
    }
}

/// The difference from the model against T, a panel for each simulation.
fn draw(found: &[Found]) -> Curves {
    let mut names: Vec<&String> = Vec::new();
    for name in found.iter().filter_map(|f| f.simulation.as_ref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let panel = |name: &String| {
        let own = found.iter().filter(|f| f.simulation.as_ref() == Some(name));
        let own: Vec<&Found> = own.collect();
        let curve = |label: &str, color, dashed, of: &dyn Fn(&Found) -> f64| {
            let points = own.iter().filter_map(|f| Some((f.t? as f64, of(f))));
            Curve::line(label, color, dashed, points)
        };
        Panel {
            title: name.clone(),
            x_label: "iterations T".to_owned(),
            y_label: "root mean square difference".to_owned(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            curves: vec![
                curve("int8, nearest", 0, true, &|f| f.loss8.rms_of_nearest),
                curve("int8", 0, false, &|f| f.loss8.rms),
                curve("int16, nearest", 1, true, &|f| f.loss16.rms_of_nearest),
                curve("int16", 1, false, &|f| f.loss16.rms),
            ],
            levels: Vec::new(),
        }
    };
    Curves {
        title: "What integers cost, by bits and iterations".to_owned(),
        panels: names.into_iter().map(panel).collect(),
    }
}

/// How much larger an error is, in percent.
fn more(error: f64, own: f64) -> String {
    format!("{:+.2}%", 100.0 * (error / own - 1.0))
}

fn value(v: f64) -> String {
    number::value(v, 3, Exponent::Own)
}

fn sets(found: &[Found]) -> Table {
    let mut table = Table::new([
        ("data set", Align::Left),
        ("network", Align::Left),
        ("error", Align::Left),
        ("float", Align::Right),
        ("int16", Align::Right),
        ("int16, drawn rows", Align::Right),
        ("int8", Align::Right),
        ("int8, drawn rows", Align::Right),
    ]);
    for f in found {
        let Some(set) = &f.set else { continue };
        let of = |error: f64| more(error, f.float);
        table.push([
            set.clone(),
            f.network.clone(),
            f.metric.clone(),
            value(f.float),
            of(f.int16),
            of(f.int16_drawn),
            of(f.int8),
            of(f.int8_drawn),
        ]);
    }
    table
}

fn simulations(found: &[Found]) -> Table {
    let mut table = Table::new([
        ("simulation", Align::Left),
        ("T", Align::Right),
        ("MSE", Align::Right),
        ("int16", Align::Right),
        ("difference", Align::Right),
        ("nearest", Align::Right),
        ("int8", Align::Right),
        ("difference", Align::Right),
        ("nearest", Align::Right),
    ]);
    for f in found {
        let (Some(simulation), Some(t)) = (&f.simulation, f.t) else {
            continue;
        };
        table.push([
            simulation.clone(),
            t.to_string(),
            value(f.float),
            more(f.int16, f.float),
            value(f.loss16.rms),
            value(f.loss16.rms_of_nearest),
            more(f.int8, f.float),
            value(f.loss8.rms),
            value(f.loss8.rms_of_nearest),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(simulation: &str, t: usize, rms: f64) -> Found {
        let loss = |factor: f64| Loss {
            rms: factor * rms,
            rms_of_nearest: 10.0 * factor * rms,
        };
        Found {
            set: None,
            simulation: Some(simulation.to_owned()),
            t: Some(t),
            network: String::new(),
            metric: String::new(),
            float: 1.0,
            int8: 1.0,
            int8_drawn: 1.0,
            int16: 1.0,
            int16_drawn: 1.0,
            loss8: loss(256.0),
            loss16: loss(1.0),
        }
    }

    /// A panel for each simulation, in it what was chosen below what is nearest, for both widths.
    #[test]
    fn the_figure_has_all_that_was_found() {
        let all = [("a", 1, 1e-4), ("a", 2, 2e-4), ("b", 1, 3e-4)];
        let figure = draw(&all.map(|(name, t, rms)| found(name, t, rms)));
        let titles: Vec<&str> = figure.panels.iter().map(|p| &*p.title).collect();
        assert_eq!(titles, ["a", "b"]);
        let points = |panel: usize, curve: usize| {
            let points = figure.panels[panel].curves[curve].points.iter();
            points.map(|p| (p.x, p.centre)).collect::<Vec<_>>()
        };
        assert_eq!(points(0, 3), [(1.0, 1e-4), (2.0, 2e-4)]);
        assert_eq!(points(1, 0), [(1.0, 10.0 * 256.0 * 3e-4)]);
        assert_eq!(figure.panels[1].curves[0].name, "int8, nearest");
        assert!(figure.to_svg().contains("</svg>"));
    }
}
