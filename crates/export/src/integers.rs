//! A network in integers: fixed-point weights and arithmetic, rounded by what that does to outputs.
//!
//! Everything is a power of two: a value `v` of `b` bits behind the point stands for `v / 2^b`, and an affine map is, of each row, the
//! sum of integer weights times values, shifted to the right, and a bias. Scales are as fine as ranges allow, of each coordinate of the
//! state and each ReLU unit its own; ranges come from rows ([`rows`]). The state has more bits than weights, since iterations add up
//! their roundings. [`Integers`] computes what the C does, bit for bit.

mod arithmetic;
mod conditioning;
mod layers;
mod rounding;
mod rows;
mod scales;

pub use arithmetic::{Integers, Width};

pub(crate) use arithmetic::{Layer, constants, exp2};

use crate::description::{Description, Output};
use crate::{Export, ExportError, Options, Sizes, c};
use layers::Layers;
use loopfit_data::Table;
use loopfit_fitted::{ApplyError, FittedModel, Score, most_likely};
use rounding::{Goal, ROWS, factors, rounded};
use rows::Rows;

/// A model as C in integers, and what that costs.
#[derive(Clone, Debug)]
pub struct IntegerExport {
    /// The files.
    pub export: Export,
    /// The network.
    pub integers: Integers,
    /// How far it is from the model.
    pub loss: Loss,
}

/// What integers lose.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Rows that were compared.
    pub rows: usize,
    /// Whether they are a table's; otherwise they were drawn from what the model knows of its training rows.
    pub from_table: bool,
    /// What differs: `prediction`, `log of the mean`, `logit` or `log density`.
    pub of: &'static str,
    /// Root mean square of the difference, of predictions in the units of the target.
    pub rms: f64,
    /// Its largest size.
    pub largest: f64,
    /// Root mean square if every weight were the nearest integer.
    pub rms_of_nearest: f64,
    /// Share of rows with the same most likely class, where there are classes.
    pub same_class: Option<f64>,
    /// Scores of the model and of the integers, where the table has targets.
    pub scores: Option<(Score, Score)>,
}

/// A model as C whose network has no floats. Scales and rounding are chosen by the rows of a table, or by rows that are drawn from
/// what the model knows of its training rows.
pub fn export_integers(
    model: &FittedModel,
    width: Width,
    table: Option<&Table>,
    options: &Options,
) -> Result<IntegerExport, ExportError> {
    let d = Description::new(model, options.every_iteration)?;
    let network = Layers::new(&d.network).ok_or(ExportError::Transformer)?;
    let Rows { x, far } = rows::rows(model, &d, table)?;
    let wide: Vec<f64> = x.iter().chain(&far).map(|v| f64::from(*v)).collect();
    let largest = rows::largest(model, &d, &x);
    let clip = f64::from(d.clip);
    let scale =
        |network: &Layers| scales::scaled(network, &network.ranges(&wide), largest, clip, width);
    let nearest = scale(&network).integers;
    let some = x.len().min(ROWS * d.network.d);
    let wanted = network.outputs(&wide[..some]);
    let wanted: Vec<f64> = wanted.iter().map(|f| f.clamp(-clip, clip)).collect();
    let goal = Goal {
        likelihood: model.likelihood,
        x: &wide[..some],
        floats: &x[..some],
        f: &wanted,
        factors: &factors(model.likelihood, &wanted).map_err(ApplyError::from)?,
        multiply_adds: d.sizes().multiply_adds,
    };
    let integers = rounded(&network.tabulated(), scale, &goal).map_err(ApplyError::from)?;
    let (tables, stack) = arithmetic::bytes(&integers, &d.network);
    let sizes = Sizes {
        tables,
        stack,
        ..d.sizes()
    };
    let export = c::export_with(&d, options, Some(&integers), sizes)?;
    let loss = loss(model, &d, [&integers, &nearest], table, &x)?;
    Ok(IntegerExport {
        export,
        integers,
        loss,
    })
}

fn loss(
    model: &FittedModel,
    d: &Description,
    [integers, nearest]: [&Integers; 2],
    table: Option<&Table>,
    x: &[f32],
) -> Result<Loss, ExportError> {
    let outputs = d.network.outputs;
    let (own, found) = (model.predictor().predict(x), integers.predict(x));
    let (of, unit) = match &d.output {
        Output::Response { sd, .. } => ("prediction", *sd),
        Output::Count { .. } => ("log of the mean", 1.0),
        Output::Classes { .. } => ("logit", 1.0),
        Output::LogDensity { .. } => ("log density", 1.0),
    };
    let from = |found: &[f64]| -> Vec<f64> {
        let differences = own.iter().zip(found).map(|(a, b)| unit * (a - b));
        differences.filter(|v| v.is_finite()).collect()
    };
    let rms = |v: &[f64]| (v.iter().map(|v| v * v).sum::<f64>() / v.len().max(1) as f64).sqrt();
    let differences = from(&found);
    let rows = x.len() / d.network.d;
    let classes = !d.classes().is_empty();
    let same = own.chunks(outputs).zip(found.chunks(outputs));
    let same = same.filter(|(a, b)| most_likely(a) == most_likely(b));
    let same_class = classes.then(|| same.count() as f64 / rows as f64);
    let target = model.preprocessing.target().map(|target| target.name());
    // Rows without a target are calibrated by and not scored.
    let scored = table.zip(target).and_then(|(table, name)| {
        let column = table.column(name)?;
        let some = (0..column.len()).any(|row| !column.is_missing(row));
        some.then(|| table.clone().with_values_of(name))
    });
    let scores = match scored {
        Some(table) => {
            let every: Vec<usize> = (0..table.rows()).collect();
            let own = model.score(&table, &every)?;
            let found = model.score_by(&table, &every, |x| integers.predict(x))?;
            Some((own, found))
        }
        None => None,
    };
    Ok(Loss {
        rows,
        from_table: table.is_some(),
        of,
        rms: rms(&differences),
        largest: differences.iter().fold(0.0, |most, v| most.max(v.abs())),
        rms_of_nearest: rms(&from(&nearest.predict(x))),
        same_class,
        scores,
    })
}
