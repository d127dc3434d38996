//! What a fitted density needs beyond its index: the normaliser with its error, and where its clip binds.

use crate::apply::{ApplyError, Score};
use crate::fitted::FittedModel;
use crate::metric::Measure;
use loopfit_data::preprocess::Features;
use loopfit_engine::Step;
use loopfit_likelihood::{Energy, Likelihood, LogNormaliser};
use loopfit_numerics::sum::mean;
use serde::Serialize;
use std::ops::Range;

/// From this share of rows on a person should know that the clip binds.
const NOTABLE_SHARE: f64 = 0.01;

/// What a person should know about a density.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DensityFacts {
    /// `log Z` of the index on the unit cube.
    pub log_z: f64,
    /// Its error, see [`LogNormaliser::error`].
    pub log_z_error: f64,
    /// Rows that were looked at.
    pub rows: usize,
    /// Those of them whose index is at its bound.
    pub clipped_rows: usize,
    /// The bound of the index.
    pub bound: f32,
}

impl DensityFacts {
    /// Looks at the index at more rows.
    pub(crate) fn look_at(&mut self, index: &[f64]) {
        let bound = f64::from(self.bound);
        self.rows += index.len();
        self.clipped_rows += index.iter().filter(|f| f.abs() >= bound).count();
    }

    /// What is unusual, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.log_z_error > LogNormaliser::LARGE {
            notes.push(format!(
                "log Z is known up to an error of about {:.2}, and so is every log density and their mean: the density is very uneven",
                self.log_z_error
            ));
        }
        // One row differs from no other.
        if self.clipped_rows >= 2 && self.clipped_rows as f64 > NOTABLE_SHARE * self.rows as f64 {
            notes.push(format!(
                "the index is at its bound of ±{} on {} of {} rows, which differ in nothing else: fit with a larger bound, or look for outliers that widen the box",
                self.bound, self.clipped_rows, self.rows
            ));
        }
        notes
    }
}

impl FittedModel {
    /// What a person should know about a density, from rows in model units; none for another model.
    pub fn density_facts(&self, rows: &[f32]) -> Result<Option<DensityFacts>, ApplyError> {
        let Likelihood::Energy(energy) = self.likelihood else {
            return Ok(None);
        };
        let index = self.predictor().predict(rows);
        Ok(Some(self.facts_at(self.normaliser(energy)?, &index)))
    }

    /// The average negative log-likelihood of rows in model units with the normaliser that is reported, where the one of a search
    /// is another: of a density of more columns than grids serve; none for another model.
    pub fn reported_nll(&self, rows: &[f32]) -> Result<Option<f64>, ApplyError> {
        let Likelihood::Energy(energy) = self.likelihood else {
            return Ok(None);
        };
        if Energy::evaluation(energy.d())?.coarser().is_some() {
            return Ok(None);
        }
        let index = self.predictor().predict(rows);
        Ok(Some(self.normaliser(energy)?.value - mean(&index)))
    }

    /// What log densities in the units of the columns are below the index; none for another model.
    pub fn log_density_constant(&self) -> Result<Option<f64>, ApplyError> {
        let Likelihood::Energy(energy) = self.likelihood else {
            return Ok(None);
        };
        Ok(Some(self.log_constant(self.normaliser(energy)?)))
    }

    /// [`FittedModel::log_density_constant`] after each iteration.
    pub fn log_density_constants(&self) -> Result<Option<Vec<f64>>, ApplyError> {
        let Likelihood::Energy(energy) = self.likelihood else {
            return Ok(None);
        };
        let iterations = self.parameters.network().tying().iterations();
        Ok(Some(self.log_constants(energy, 0..iterations)?))
    }

    /// The facts of a normaliser, and of the index at rows.
    pub(crate) fn facts_at(&self, normaliser: LogNormaliser, index: &[f64]) -> DensityFacts {
        let mut facts = DensityFacts {
            log_z: normaliser.value,
            log_z_error: normaliser.error,
            rows: 0,
            clipped_rows: 0,
            bound: self.bounds.output,
        };
        facts.look_at(index);
        facts
    }

    /// The score on the rows inside the box; how many lie outside, where the density is zero, is said beside.
    pub(crate) fn density_score(
        &self,
        energy: Energy,
        outputs: &[f64],
        features: &Features,
    ) -> Result<Score, ApplyError> {
        let normaliser = self.normaliser(energy)?;
        let index = inside(outputs, &features.outside);
        let mut notes = features.notes();
        notes.extend(self.facts_at(normaliser, &index).notes());
        if index.len() < outputs.len() {
            notes.push(format!(
                "the NLL is the mean over the rows inside the box of the density, {} of {}; over all rows it is infinite",
                index.len(),
                outputs.len()
            ));
        }
        Ok(Score {
            rows: index.len(),
            metric: Measure::Nll.name(),
            value: self.log_constant(normaliser) - mean(&index),
            also: vec![
                ("rows outside", features.outside.len() as f64),
                ("error of log Z", normaliser.error),
            ],
            notes,
        })
    }

    /// The normaliser of the index on the unit cube; an error where it is not worth having.
    pub(crate) fn normaliser(&self, energy: Energy) -> Result<LogNormaliser, ApplyError> {
        let predictor = self.predictor();
        let index = |points: &[f64]| predictor.predict(&narrow(points));
        worth_having(Energy::evaluation(energy.d())?.estimated_log_normaliser(index)?)
    }

    /// What a log density in the units of the columns is below the index: `log Z` plus the log volume of the unit cube.
    pub(crate) fn log_constant(&self, normaliser: LogNormaliser) -> f64 {
        normaliser.value + self.preprocessing.log_volume()
    }

    /// [`FittedModel::log_constant`] after each of these iterations, counted from zero.
    pub(crate) fn log_constants(
        &self,
        energy: Energy,
        iterations: Range<usize>,
    ) -> Result<Vec<f64>, ApplyError> {
        let after = |t: usize| {
            let stopped = Self {
                parameters: self.parameters.after(t + 1)?,
                ..self.clone()
            };
            Ok(stopped.log_constant(stopped.normaliser(energy)?))
        };
        let finer = Energy::evaluation(energy.d())?;
        let Some(coarser) = finer.coarser() else {
            return iterations.map(after).collect();
        };
        // All iterations in one go, but for those whose density is too uneven for a grid.
        let predictor = self.predictor();
        let [nodes, coarser] = [finer, coarser].map(|rule| {
            predictor.every_iteration(&narrow(&rule.node_points()), iterations.clone())
        });
        let steps = iterations.zip(nodes.iter().zip(&coarser));
        let constant = |(t, (nodes, coarser)): (usize, (&Step, &Step))| {
            let found = finer.on_grids(&nodes.outputs, &coarser.outputs);
            match found.error <= LogNormaliser::LARGE {
                true => Ok(self.log_constant(found)),
                false => after(t),
            }
        };
        steps.map(constant).collect()
    }
}

/// A normaliser, unless its error is hopeless; no number is hopeless as well.
fn worth_having(found: LogNormaliser) -> Result<LogNormaliser, ApplyError> {
    match found.error <= LogNormaliser::HOPELESS {
        true => Ok(found),
        false => Err(ApplyError::Normaliser(found.error)),
    }
}

/// The values at rows that lie inside the box.
pub(crate) fn inside(values: &[f64], outside: &[usize]) -> Vec<f64> {
    let mut inside = vec![true; values.len()];
    outside.iter().for_each(|row| inside[*row] = false);
    let values = values.iter().zip(inside).filter(|(_, inside)| *inside);
    values.map(|(value, _)| *value).collect()
}

fn narrow(points: &[f64]) -> Vec<f32> {
    points.iter().map(|v| *v as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provenance;
    use loopfit_data::Preprocessing;
    use loopfit_model::{Bounds, Network, Parameters, Tying};

    #[test]
    fn one_row_at_the_bound_differs_from_no_other() {
        let facts = |clipped_rows| DensityFacts {
            log_z: 0.0,
            log_z_error: 0.0,
            rows: clipped_rows,
            clipped_rows,
            bound: 1.0,
        };
        assert_eq!(facts(1).notes().len(), 0);
        assert_eq!(facts(2).notes().len(), 1);
    }

    /// Coefficients so large that the state is infinite and the index is not a number.
    #[test]
    fn a_normaliser_that_is_no_number_is_refused() {
        let energy = Energy::training(1).unwrap();
        let model = |size: f32| {
            let network = Network::ffn(1, 1, 2, 2, Tying::Loop { t: 4 }).unwrap();
            let signs = (0..network.count()).map(|i| if i % 2 == 0 { size } else { -size });
            FittedModel {
                parameters: Parameters::new(network.clone(), signs.collect()).unwrap(),
                bounds: Bounds::default(),
                likelihood: Likelihood::Energy(energy),
                preprocessing: Preprocessing::unchanged(1),
                provenance: Provenance::nothing(),
                assessment: None,
            }
        };
        let refused = model(3e38).normaliser(energy);
        assert!(
            matches!(refused, Err(ApplyError::Likelihood(_))),
            "{refused:?}"
        );
        let found = model(0.1).normaliser(energy).unwrap();
        assert!(worth_having(found).is_ok());
        for error in [f64::NAN, f64::INFINITY, 2.0 * LogNormaliser::HOPELESS] {
            let refused = worth_having(LogNormaliser { error, ..found });
            assert!(
                matches!(refused, Err(ApplyError::Normaliser(_))),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_normaliser_that_is_no_number_is_told() {
        let told = ApplyError::Normaliser(f64::NAN).to_string();
        assert!(
            told.contains("log Z of this density is not a number,"),
            "{told}"
        );
        let told = ApplyError::Normaliser(3.0).to_string();
        assert!(told.contains("an error of about 3.0 only"), "{told}");
    }
}
