//! What a model file must not say of a [`Preprocessing`].

use serde::{Deserialize, Deserializer};

use super::{Input, Preprocessing, SeenRange, Target, Weight};
use crate::levels::Levels;
use crate::task::Task;

/// A [`Preprocessing`] as a file has it.
#[derive(Deserialize)]
#[serde(rename = "Preprocessing", deny_unknown_fields)]
pub(super) struct Unchecked {
    task: Task,
    inputs: Vec<Input>,
    target: Option<Target>,
    #[serde(default)]
    weight: Option<Weight>,
    notes: Vec<String>,
}

impl TryFrom<Unchecked> for Preprocessing {
    type Error = String;

    fn try_from(file: Unchecked) -> Result<Self, String> {
        for input in &file.inputs {
            let name = input.name();
            if input.says_missing() && file.task == Task::Density {
                return Err(format!(
                    "a density has no input for missing cells, but column `{name}` has one"
                ));
            }
            if let Input::Numeric { median, .. } | Input::Unit { median, .. } = input
                && let Some(range) = input.range()
                && !range.contains(*median)
            {
                return Err(format!(
                    "column `{name}` has median {median} outside its range from {} to {}",
                    range.low(),
                    range.high()
                ));
            }
        }
        let counts = matches!(file.target, Some(Target::Count { .. }));
        if counts != (file.task == Task::Count) {
            return Err(
                "the task and its target do not agree on whether it is a count".to_string(),
            );
        }
        Ok(Self {
            task: file.task,
            inputs: file.inputs,
            target: file.target,
            weight: file.weight,
            notes: file.notes,
        })
    }
}

impl TryFrom<[f64; 2]> for SeenRange {
    type Error = String;

    fn try_from([low, high]: [f64; 2]) -> Result<Self, String> {
        Self::new(low, high).ok_or_else(|| {
            format!("a range runs from a number up to a larger one, not from {low} to {high}")
        })
    }
}

impl From<SeenRange> for [f64; 2] {
    fn from(range: SeenRange) -> Self {
        [range.low(), range.high()]
    }
}

pub(super) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let scale = f64::deserialize(deserializer)?;
    if scale > 0.0 && scale.is_finite() {
        return Ok(scale);
    }
    Err(serde::de::Error::custom(format!(
        "a scale is positive and finite, not {scale}"
    )))
}

/// The share of one of two categories that both occur.
pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(deserializer)?;
    if share > 0.0 && share < 1.0 {
        return Ok(share);
    }
    Err(serde::de::Error::custom(format!(
        "the share of one of two categories is between 0 and 1, not {share}"
    )))
}

pub(super) fn two<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Levels, D::Error> {
    let levels = Levels::deserialize(deserializer)?;
    if levels.len() == 2 {
        return Ok(levels);
    }
    Err(serde::de::Error::custom(format!(
        "a column of two categories has {}",
        levels.len()
    )))
}
