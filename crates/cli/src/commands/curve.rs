//! `loopfit curve`.

use crate::asked::wrong;
use crate::data::{LearnArguments, cap, seed};
use crate::estimating::EstimateArguments;
use crate::exit::Exit;
use crate::json::object;
use crate::named::named;
use crate::progress::Bar;
use crate::sheet::check_plot;
use crate::{Global, hints, interrupt, json, output};
use anyhow::Result;
use loopfit::{Curve, CurvePlan, CurvePoint, Effort, Error, Model};
use loopfit_report::figure::{self, Curves, LevelLine, Panel, Scale};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_search::estimate::Entry;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit curve data.csv --target y\n  loopfit curve data.csv --target y --caps 8,16,32,64 --plot curve.svg\n  loopfit curve data.csv --target species --effort standard --json\n  loopfit curve data:airfoil --data-dir data --activation relu --form paper",
    mut_arg("test_fraction", |arg| arg.hide(true)),
    mut_arg("no_refit", |arg| arg.hide(true))
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    learn: LearnArguments,
    /// The caps, separated by commas; by default 8, 16, 32, ..., 512, as far as there are as many rows.
    #[arg(long, value_name = "B,...", value_delimiter = ',', value_parser = cap)]
    caps: Vec<usize>,
    #[command(flatten)]
    estimate: EstimateArguments,
    /// How long to look under each cap.
    #[arg(long, value_name = "EFFORT", default_value = "quick", value_parser = named::<Effort>())]
    effort: Effort,
    /// Draw the curve into an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Write the models into this folder, as 8.safetensors for a cap of 8.
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Seed of the folds and starts.
    #[arg(long, default_value_t = 0, value_parser = seed)]
    seed: u64,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let files: Vec<_> = a.learn.data.file().into_iter().collect();
    check_plot(a.plot.as_deref(), &files)?;
    let _directory = a.models.as_deref().map(output::create_directory);
    let _directory = _directory.transpose()?;
    let read = a.learn.read()?;
    let bar = Bar::new(global.quiet);
    let fit = a.estimate.apply(a.learn.fit(&read).effort(a.effort));
    let fit = fit.seed(a.seed).threads(global.threads);
    let fit = fit.progress(|now| bar.follow(now));
    let wrong = |error: Error| wrong(error, "--effort");
    let plan = fit.prepare_curve().map_err(wrong)?;
    if !global.quiet {
        plan.notes().iter().for_each(|note| output::note(note));
    }
    let started = Instant::now();
    let curve = bar.beside(|| plan.run(a.caps.iter().copied()));
    let curve = curve.map_err(wrong)?;
    let models = match &a.models {
        Some(folder) => write_models(folder, &plan, &curve).map_err(wrong)?,
        None => Vec::new(),
    };
    let complete = curve.complete && (a.models.is_none() || models.len() == curve.points.len());
    let seconds = started.elapsed().as_secs_f64();
    if let Some(path) = &a.plot {
        output::write_file(path, &figure(&plan, &curve).to_svg())?;
    }
    if global.json {
        let mut result = to_json(a, &plan, &curve, &models);
        let search = json!({"seconds": seconds, "complete": complete, "work": plan.ask().work});
        result.insert("search".into(), search);
        output::print_json(&result)?;
    } else {
        output::print(&to_text(&plan, &curve))?;
    }
    for path in a.plot.iter().chain(&models) {
        output::wrote(path, global);
    }
    if !complete {
        let models = if a.models.is_some() {
            " or have no model"
        } else {
            ""
        };
        output::say(&format!("interrupted: larger caps are left out{models}"));
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

/// Writes the models of a curve, and gives their files.
fn write_models(folder: &Path, plan: &CurvePlan<'_>, curve: &Curve) -> Result<Vec<PathBuf>, Error> {
    let models = plan.models(curve)?;
    let of_cap = |(point, model): (&CurvePoint, Model)| {
        let path = folder.join(format!("{}.safetensors", point.cap));
        interrupt::writing(|| model.save(&path))?;
        Ok(path)
    };
    curve.points.iter().zip(models).map(of_cap).collect()
}

/// `Loop (q = 4, r = 11, T = 16, tanh)`: the numbers have a column of their own.
fn name(entry: &Entry) -> String {
    let network = entry.network.to_string();
    match network.rsplit_once(", ") {
        Some((name, _)) => name.to_string(),
        None => network,
    }
}

fn to_text(plan: &CurvePlan<'_>, curve: &Curve) -> String {
    let subject = plan.subject();
    let tested = plan.test_rows() > 0;
    let mut columns = vec![
        ("cap", Align::Right),
        ("best model", Align::Left),
        ("numbers", Align::Right),
        (subject.validation_error, Align::Right),
        ("(SE)", Align::Right),
        ("linear", Align::Right),
    ];
    if tested {
        columns.push((subject.test_error, Align::Right));
    }
    let mut table = Table::new(columns);
    let bests = || curve.points.iter().map(|point| point.best());
    let errors = bests().flat_map(|e| [e.validation, e.test.error]);
    let exponent = Exponent::of(errors.filter(|v| v.is_finite()).chain([curve.constant]));
    let value = |v: f64| match v.is_nan() {
        true => "-".to_string(),
        false => number::value(v, 4, exponent),
    };
    for point in &curve.points {
        let best = point.best();
        let linear = point.linear().map_or(f64::NAN, |e| e.validation);
        let mut cells = vec![
            point.cap.to_string(),
            name(best),
            best.network.count().to_string(),
            value(best.validation),
            value(best.validation_se),
            value(linear),
        ];
        if tested {
            cells.push(value(best.test.error));
        }
        table.push(cells);
    }
    for (name, error) in beside(curve) {
        let mut cells = vec!["-".to_string(); 6 + usize::from(tested)];
        cells[1] = name;
        cells[3] = value(error);
        table.push(cells);
    }
    let mut text = format!(
        "Error against the cap, by {} on {}\n{}",
        plan.selected_by(),
        number::count(plan.selection_rows(), "row"),
        table.to_terminal(output::color())
    );
    for sentence in hints::conclusions(curve) {
        text += &sentence;
        text.push('\n');
    }
    text
}

/// Errors that do not depend on the cap.
fn beside(curve: &Curve) -> Vec<(String, f64)> {
    let no_cap = curve.no_cap;
    let no_cap = no_cap.map(|it| (format!("no cap: {}", it.by), it.validation));
    let constant = ("constant".to_string(), curve.constant);
    [constant].into_iter().chain(no_cap).collect()
}

/// Bands are one standard error wide on both sides.
fn figure(plan: &CurvePlan<'_>, curve: &Curve) -> Curves {
    let point = |point: &CurvePoint, entry: &Entry| figure::Point {
        x: point.cap as f64,
        centre: entry.validation,
        low: entry.validation - entry.validation_se,
        high: entry.validation + entry.validation_se,
        values: Vec::new(),
    };
    let best = curve.points.iter().map(|p| point(p, p.best()));
    let linear = curve.points.iter().filter_map(|p| {
        let entry = p.linear()?;
        let (low, high) = (entry.validation, entry.validation);
        Some(figure::Point {
            low,
            high,
            ..point(p, entry)
        })
    });
    let drawn = |name: &str, color: usize, points: Vec<figure::Point>| figure::Curve {
        name: name.to_string(),
        color,
        dashed: color == LINEAR,
        points,
    };
    Curves {
        title: format!("How many numbers does {} need?", plan.subject().data),
        panels: vec![Panel {
            title: String::new(),
            x_label: "cap B on the number of trainable numbers".to_string(),
            y_label: plan.subject().validation_error.to_string(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            curves: vec![
                drawn("linear", LINEAR, linear.collect()),
                drawn("best model, ± 1 standard error", BEST, best.collect()),
            ],
            levels: beside(curve)
                .into_iter()
                .map(|(name, y)| LevelLine { name, y })
                .collect(),
        }],
    }
}

/// Colours of the curves.
const BEST: usize = 3;
const LINEAR: usize = 4;

fn to_json(
    a: &Arguments,
    plan: &CurvePlan<'_>,
    curve: &Curve,
    models: &[PathBuf],
) -> Map<String, Value> {
    let points = curve.points.iter().map(|point| {
        let entries: Vec<Value> = point.entries.iter().map(json::entry).collect();
        json!({
            "cap": point.cap, "best": json::entry(point.best()),
            "linear": point.linear().map(json::entry), "selected": entries,
        })
    });
    let subject = plan.subject();
    object!({
        "data": subject.data, "task": subject.task, "seed": a.seed, "inputs": subject.inputs,
        "selection": {"by": plan.selected_by(), "rows": plan.selection_rows()},
        "test_rows": plan.test_rows(), "metric": subject.test_error, "error": subject.error,
        "notes": plan.notes(), "points": points.collect::<Vec<_>>(), "constant": curve.constant,
        "no_cap": curve.no_cap.map(|it| json!({"by": it.by, "validation": it.validation})),
        "beats_constant": curve.beats_constant(), "enough": curve.enough().map(json::entry), "still_falls": curve.still_falls(),
        "conclusions": curve.conclusions(),
        "models": models.iter().map(|p| p.display().to_string()).collect::<Vec<_>>(),
        "plot": a.plot.as_ref().map(|p| p.display().to_string()),
    })
}
