//! One network of the study: built, tried, and what was found.

use super::{Arguments, Grouping, exact_seconds};
use loopfit_witness::ffn::precision::{Demand, Trial};
use loopfit_witness::ffn::{Witness, finishing_time};
use loopfit_witness::precision::{Sample, Thresholds, Verdict};
use loopfit_witness::transformer::trial::Run;
use loopfit_witness::transformer::{self, Setting};
use loopfit_witness::{Double, Reader, Resolution, Single, Target};
use serde_json::{Value, json};

/// One network.
pub(super) struct Row {
    pub(super) grouping: Grouping,
    pub(super) reader: Reader,
    pub(super) m: usize,
    pub(super) cells_per_axis: usize,
    pub(super) records: usize,
    /// `2L`.
    pub(super) code_bits: usize,
    pub(super) finishing_time: usize,
    pub(super) inputs: usize,
    pub(super) demand: Asked,
    pub(super) thresholds: Thresholds,
    /// Of a Transformer: the same on native coordinates with one scale for each token.
    pub(super) native: Option<usize>,
    pub(super) double: Verdict,
    pub(super) single: Verdict,
}

/// What a network's numbers ask for.
pub(super) enum Asked {
    /// Codes, timers and scales below their gates.
    Ffn(Demand),
    /// An estimate from above, with which runs begin.
    Transformer(usize),
}

impl Asked {
    pub(super) fn bits(&self) -> usize {
        match self {
            Self::Ffn(demand) => demand.bits(),
            Self::Transformer(bits) => *bits,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Ffn(demand) => json!({
                "code": demand.code, "timer": demand.timer, "selector": demand.selector,
            }),
            Self::Transformer(bits) => json!(bits),
        }
    }
}

/// Runs in floats until the bits are found, in exact runs; measured up to m = 7 with one group and m = 12 with all.
const RUNS: f64 = 100.0;
/// Seconds of a Transformer's runs for each iteration that the FFN takes; measured at m = 1 and 2.
const TRANSFORMER_SECONDS: f64 = 0.5;

/// How long a row takes on one thread, about.
pub(super) fn seconds(a: &Arguments, resolution: &Resolution, u: usize) -> f64 {
    let every = (resolution.cells_per_axis() as f64).powi(resolution.d as i32);
    let inputs = every.min(a.cells as f64);
    inputs
        * match a.arch.as_str() {
            "transformer" => TRANSFORMER_SECONDS * finishing_time(resolution, u) as f64,
            _ => RUNS * exact_seconds(resolution, u),
        }
}

impl Row {
    pub(super) fn new(
        a: &Arguments,
        target: &dyn Target,
        grouping: Grouping,
        reader: Reader,
        m: usize,
    ) -> Result<Self, loopfit_witness::Error> {
        let (s, h) = (a.smoothness.clone(), a.bound.clone());
        let resolution = Resolution::new(target.d(), s, h, m)?;
        if a.arch == "transformer" {
            return Self::of_transformer(a, target, grouping, reader, resolution);
        }
        let witness = Witness::new(resolution, grouping.exponent(m), reader, target)?;
        let sample = Sample {
            cells: a.cells,
            fraction_bits: a.input_bits,
            seed: a.seed,
        };
        let trial = Trial::new(&witness, &sample)?;
        Ok(Self {
            grouping,
            reader,
            m,
            cells_per_axis: witness.resolution().cells_per_axis(),
            records: witness.groups().records(),
            code_bits: 2 * witness.resources().code_length,
            finishing_time: witness.resources().finishing_time,
            inputs: trial.inputs(),
            demand: Asked::Ffn(Demand::of(&witness)),
            thresholds: trial.thresholds()?,
            native: None,
            double: trial.verdict(Double)?,
            single: trial.verdict(Single)?,
        })
    }

    fn of_transformer(
        a: &Arguments,
        target: &dyn Target,
        grouping: Grouping,
        reader: Reader,
        resolution: Resolution,
    ) -> Result<Self, loopfit_witness::Error> {
        let (m, cells_per_axis) = (resolution.m, resolution.cells_per_axis());
        let setting = Setting {
            reader,
            ..Setting::new(resolution.d)
        };
        let h = grouping.exponent(m);
        let witness = transformer::Witness::new(resolution, h, setting, target)?;
        let sample = Sample {
            cells: a.cells,
            fraction_bits: a.input_bits,
            seed: a.seed,
        };
        let trial = transformer::trial::Trial::new(&witness, &sample)?;
        Ok(Self {
            grouping,
            reader,
            m,
            cells_per_axis,
            records: witness.groups().records(),
            code_bits: 2 * witness.resources().code_length,
            finishing_time: witness.resources().times.clear,
            inputs: trial.inputs(),
            demand: Asked::Transformer(witness.default_bits()),
            thresholds: trial.thresholds(Run::Tokens)?,
            native: trial.thresholds(Run::Native)?.works,
            double: trial.verdict(f64::MANTISSA_DIGITS as usize, Run::Tokens)?,
            single: trial.verdict(f32::MANTISSA_DIGITS as usize, Run::Tokens)?,
        })
    }
}
