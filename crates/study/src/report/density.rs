//! Densities on the unit square: the target, mean fits and pooled exact samples.

use crate::StudyError;
use crate::results::{Entry, Point, Results};
use crate::store::Store;
use loopfit_data::Simulation;
use loopfit_engine::Predictor;
use loopfit_likelihood::{Energy, Nodes};
use loopfit_model::Bounds;
use loopfit_numerics::libm::exp;
use loopfit_numerics::stream::Stream;
use loopfit_report::Block;
use loopfit_report::figure::{Field, FieldRow, Fields};
use loopfit_search::replication::Source;

/// Side of the grid of the analytic panels and of the histogram of the samples.
const SIDE: usize = 96;
/// Exact draws from each fitted model (F.2).
const DRAWS: usize = 4096;
/// Standard deviation of the smoothing of sample panels, in cells.
const BANDWIDTH: f64 = 2.5;

/// Panels for every two-dimensional density with a known target.
pub(super) fn section(store: &Store, results: &Results) -> Result<Vec<Block>, StudyError> {
    let mut blocks = Vec::new();
    for point in &results.points {
        let simulation = point.case.data.strip_prefix("sim:");
        let simulation = simulation.and_then(|name| name.parse::<Simulation>().ok());
        let Some(simulation) = simulation.filter(|s| s.is_density() && s.dim() == 2) else {
            continue;
        };
        // The first metric only: the others are about the same models.
        let source = Source::Simulation {
            simulation,
            train: 1,
            valid: 1,
        };
        if point.metric != source.metric(None) {
            continue;
        }
        blocks.push(panels(store, results, point, simulation)?);
    }
    if !blocks.is_empty() {
        blocks.insert(0, Block::Heading("Densities".to_string()));
    }
    Ok(blocks)
}

fn panels(
    store: &Store,
    results: &Results,
    point: &Point,
    simulation: Simulation,
) -> Result<Block, StudyError> {
    let wrong = |why: String| StudyError::Data {
        case: point.case.name.clone(),
        why,
    };
    let energy = Energy::new(2, Nodes::Grid { side: SIDE }).map_err(|e| wrong(e.to_string()))?;
    let nodes = energy.node_points();
    let target = simulation.target(results.study.seeds.first);
    let truth: Vec<f64> = nodes.chunks(2).map(|x| target.eval(x)).collect();
    let seeds = point.entries.first().map_or(1, |e| e.values.len());
    let draws = simulation
        .draw(results.study.seeds.first, 0, 0, DRAWS * seeds)
        .test
        .x;
    let mut fits = vec![field("Target", density(energy, &truth))];
    let mut samples = vec![field("Target", smoothed(&draws))];
    for (method, entry) in point.methods() {
        let (mean, pooled) = fitted(store, results, point, entry, energy, &nodes)?;
        fits.push(field(&method.to_string(), mean));
        samples.push(field(&method.to_string(), smoothed(&pooled)));
    }
    let figure = Fields {
        title: point.case.title().to_string(),
        axes: ["x1".to_string(), "x2".to_string()],
        rows: vec![
            FieldRow {
                label: "Density, mean over seeds".to_string(),
                fields: fits,
            },
            FieldRow {
                label: "Exact samples, pooled".to_string(),
                fields: samples,
            },
        ],
    };
    Ok(Block::Figure {
        name: format!("{}-{}", results.name, point.case.name),
        caption: format!(
            "{}. Top: the target and the mean of {seeds} fitted densities for each method. Bottom: smoothed \
             histograms of {} draws from the target and of {DRAWS} exact rejection draws from each fitted model. Each row has one colour \
             scale.",
            point.case.title(),
            DRAWS * seeds
        ),
        svg: figure.to_svg(),
    })
}

fn field(title: &str, values: Vec<f64>) -> Field {
    Field {
        title: title.to_string(),
        side: SIDE,
        values,
    }
}

/// The mean density of a method's models on the grid, and draws from all of them.
fn fitted(
    store: &Store,
    results: &Results,
    point: &Point,
    entry: &Entry,
    energy: Energy,
    nodes: &[f64],
) -> Result<(Vec<f64>, Vec<f64>), StudyError> {
    let wrong = |why: String| StudyError::Data {
        case: point.case.name.clone(),
        why,
    };
    let points: Vec<f32> = nodes.iter().map(|v| *v as f32).collect();
    let mut mean = vec![0.0; energy.node_count()];
    let mut pooled = Vec::new();
    let with_fits = entry
        .values
        .iter()
        .filter_map(|v| Some((v, v.fit.as_ref()?)));
    for (value, (task, fit)) in with_fits {
        let Some(stored) = store.fit(&results.name, task, fit)? else {
            continue;
        };
        let spec: serde_json::Value = serde_json::from_str(&stored.spec).unwrap_or_default();
        let bounds: Bounds = serde_json::from_value(spec["bounds"].clone()).unwrap_or_default();
        let predictor = Predictor::new(&stored.outcome.parameters, bounds);
        let own = density(energy, &predictor.predict(&points));
        let share = 1.0 / entry.values.len() as f64;
        mean.iter_mut().zip(own).for_each(|(m, v)| *m += share * v);
        let index = |points: &[f64]| {
            predictor.predict(&points.iter().map(|v| *v as f32).collect::<Vec<_>>())
        };
        let stream = Stream::new(value.seed)
            .child("pooled samples")
            .child(&entry.of.key());
        let draws = energy
            .sample(index, f64::from(bounds.output), DRAWS, stream)
            .map_err(|e| wrong(e.to_string()))?;
        pooled.extend(draws);
    }
    Ok((mean, pooled))
}

/// The density at the nodes, whose average is one.
fn density(energy: Energy, index: &[f64]) -> Vec<f64> {
    let mut mass = vec![0.0; index.len()];
    energy.node_derivative(index, &mut mass);
    mass.iter_mut().for_each(|m| *m *= index.len() as f64);
    mass
}

/// A histogram with a Gaussian blur that reflects at the borders, as a density.
fn smoothed(draws: &[f64]) -> Vec<f64> {
    let mut counts = vec![0.0; SIDE * SIDE];
    let cell = |v: f64| ((v * SIDE as f64) as usize).min(SIDE - 1);
    for x in draws.chunks(2) {
        counts[cell(x[0]) * SIDE + cell(x[1])] += 1.0;
    }
    let reach = (3.0 * BANDWIDTH).ceil() as i64;
    let weight = |k: i64| exp(-0.5 * (k as f64 / BANDWIDTH) * (k as f64 / BANDWIDTH));
    let total: f64 = (-reach..=reach).map(weight).sum();
    let reflected = |i: i64| match i {
        i if i < 0 => (-i - 1) as usize,
        i if i >= SIDE as i64 => (2 * SIDE as i64 - 1 - i) as usize,
        i => i as usize,
    };
    let blur = |from: &[f64], stride: usize, other: usize| {
        let mut to = vec![0.0; from.len()];
        for line in 0..SIDE {
            for i in 0..SIDE {
                let sum: f64 = (-reach..=reach)
                    .map(|k| {
                        let j = reflected(i as i64 + k);
                        weight(k) * from[line * other + j * stride]
                    })
                    .sum();
                to[line * other + i * stride] = sum / total;
            }
        }
        to
    };
    let blurred = blur(&blur(&counts, 1, SIDE), SIDE, 1);
    let n = (draws.len() / 2).max(1) as f64;
    let cells = (SIDE * SIDE) as f64;
    blurred.into_iter().map(|v| v * cells / n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Smoothing keeps the mass, also near the borders.
    #[test]
    fn a_smoothed_sample_is_a_density() {
        let stream = Stream::new(4);
        let draws: Vec<f64> = (0..2000).map(|i| stream.uniform(i).powi(3)).collect();
        let values = smoothed(&draws);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
        assert!(values.iter().all(|v| *v >= 0.0));
    }
}
