//! Rows that scales and rounding are chosen by: those of a table, or drawn from what the model knows of its training rows.

use crate::ExportError;
use crate::description::{Column, Description, Reading};
use loopfit_data::Table;
use loopfit_data::preprocess::Input;
use loopfit_fitted::FittedModel;
use loopfit_numerics::stream::Stream;

/// Rows that are drawn without a table, and further ones anywhere within ranges.
const DRAWN: usize = 1024;
const FAR: usize = 512;
/// Rows of a table that ranges are taken from.
const MOST: usize = 8192;

/// Model inputs of rows.
pub(crate) struct Rows {
    /// Rows that are like those to come, in random order.
    pub(crate) x: Vec<f32>,
    /// Rows that may be farther out, for ranges alone.
    pub(crate) far: Vec<f32>,
}

/// Rows of a table, or drawn from what the model knows.
pub(crate) fn rows(
    model: &FittedModel,
    d: &Description,
    table: Option<&Table>,
) -> Result<Rows, ExportError> {
    let stream = Stream::new(0).child("integers");
    let Some(table) = table else {
        let usual = |stream: Stream| stream.below(1, 8) > 0;
        return Ok(Rows {
            x: drawn(model, d, DRAWN, stream, usual),
            far: drawn(model, d, FAR, stream.child("far"), |_| false),
        });
    };
    if table.rows() == 0 {
        return Err(ExportError::NoRows(table.source().to_string()));
    }
    let mut order = vec![0; table.rows().min(u32::MAX as usize)];
    stream.permute(&mut order);
    let some: Vec<usize> = order.iter().take(MOST).map(|row| *row as usize).collect();
    let features = model.preprocessing.features(table, &some);
    Ok(Rows {
        x: features.map_err(loopfit_fitted::ApplyError::from)?.x,
        far: Vec::new(),
    })
}

/// Rows whose numbers have mean and standard deviation of the training rows where that is `usual`, and are anywhere within their range
/// elsewhere.
fn drawn(
    model: &FittedModel,
    d: &Description,
    count: usize,
    stream: Stream,
    usual: impl Fn(Stream) -> bool,
) -> Vec<f32> {
    let inputs = model.preprocessing.inputs();
    let mut rows = Vec::with_capacity(count * d.network.d);
    for row in 0..count {
        let mut x = vec![0.0_f32; d.network.d];
        for (k, (column, input)) in d.columns.iter().zip(inputs).enumerate() {
            let stream = stream.nth(row as u64).nth(k as u64);
            draw(column, input, stream, usual(stream), &mut x);
        }
        rows.extend(x);
    }
    rows
}

fn draw(column: &Column, input: &Input, stream: Stream, usual: bool, x: &mut [f32]) {
    let first = column.first;
    let missing = column.missing.filter(|_| stream.below(0, 16) == 0);
    if let Some(place) = missing {
        x[place] = 1.0;
    }
    match &column.reading {
        Reading::Number {
            shift,
            scale,
            median,
            ..
        } => {
            let [low, high] = range(input).map(|v| (v - shift) / scale);
            let standard = (*shift, *scale) != (0.0, 1.0);
            let v = match missing {
                Some(_) => (median - shift) / scale,
                None if standard && usual => stream.normal(2).clamp(low, high),
                None => low + (high - low) * stream.uniform(2),
            };
            x[first] = v as f32;
        }
        Reading::Indicators { categories } if missing.is_none() => {
            x[first + stream.below(2, categories.len() as u64) as usize] = 1.0;
        }
        Reading::Two { values, .. } if missing.is_none() => {
            x[first] = values[stream.below(2, 2) as usize];
        }
        Reading::Indicators { .. } | Reading::Two { .. } => {}
    }
}

/// Where training rows have been, or are likely to have been.
fn range(input: &Input) -> [f64; 2] {
    let (low, width) = input.interval();
    let known = input.range().map(|range| [range.low(), range.high()]);
    match input {
        Input::Unit { .. } => [low, low + width],
        _ => known.unwrap_or([low, low + width]),
    }
}

/// The largest size that a model input can have as far as is known, at least that of these rows.
pub(crate) fn largest(model: &FittedModel, d: &Description, x: &[f32]) -> f64 {
    let known = d.columns.iter().zip(model.preprocessing.inputs());
    let known = known.map(|(column, input)| match &column.reading {
        Reading::Number { shift, scale, .. } => {
            let ends = range(input).map(|v| ((v - shift) / scale).abs());
            ends[0].max(ends[1])
        }
        Reading::Two { values, .. } => values.iter().fold(1.0, |m, v| f64::from(v.abs()).max(m)),
        Reading::Indicators { .. } => 1.0,
    });
    let seen = x.iter().map(|v| f64::from(v.abs()));
    let all = known.chain(seen).filter(|v| v.is_finite());
    all.fold(1.0, f64::max)
}
