//! A model applied to a table that comes in parts.

use super::{ApplyError, Predictions, ROWS_AT_ONCE};
use crate::density::{DensityFacts, inside};
use crate::fitted::FittedModel;
use loopfit_data::Table;
use loopfit_data::preprocess::{NumberReader, Numbers, Unprepared};
use loopfit_engine::Predictor;
use loopfit_likelihood::Likelihood;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A model and what it met so far: predictions for one part of a table after another, and notes on all of them. What is in
/// memory does not grow with the parts.
pub struct Application<'m> {
    model: &'m FittedModel,
    predictor: Predictor,
    /// What stands below the index of a density, and what a person should know about it.
    density: Option<(f64, DensityFacts)>,
    unprepared: Unprepared,
    rows: usize,
    /// See [`FittedModel::held`].
    held: usize,
}

impl<'m> Application<'m> {
    /// Nothing met so far. An error for a density without a normaliser that is worth having.
    pub fn new(model: &'m FittedModel) -> Result<Self, ApplyError> {
        let density = match model.likelihood {
            Likelihood::Energy(energy) => {
                let normaliser = model.normaliser(energy)?;
                let facts = model.facts_at(normaliser, &[]);
                Some((model.log_constant(normaliser), facts))
            }
            _ => None,
        };
        Ok(Self {
            model,
            predictor: model.predictor(),
            density,
            unprepared: Unprepared::default(),
            rows: 0,
            held: 0,
        })
    }

    /// Predictions for all rows of the next part.
    pub fn predict(&mut self, table: &Table) -> Result<Predictions, ApplyError> {
        let (mut outputs, mut outside) = (Vec::new(), Vec::new());
        let mut expected = Vec::new();
        self.unprepared += self
            .model
            .in_parts(table, ROWS_AT_ONCE, |first, features| {
                let part = self.predictor.predict(&features.x);
                self.model.check_outputs(&part, table.number_of(first))?;
                outputs.extend(part);
                outside.extend(features.outside.iter().map(|row| first + row));
                expected.extend(&features.expected);
                Ok::<_, ApplyError>(())
            })?;
        Ok(self.said(&outputs, &outside, &expected))
    }

    /// As [`Application::predict`] for some rows of numbers that are read where they lie, by what
    /// [`Preprocessing::number_reader`](loopfit_data::Preprocessing::number_reader) of the model gives.
    pub fn predict_numbers<T: Copy + Into<f64> + Sync>(
        &mut self,
        reader: &NumberReader,
        numbers: &Numbers<'_, T>,
        rows: Range<usize>,
    ) -> Result<Predictions, ApplyError> {
        let met = Mutex::new((Unprepared::default(), Vec::new()));
        let write = |first: usize, x: &mut [f32]| {
            let first = rows.start + first;
            let part = first..first + x.len() / reader.d();
            let read = reader.read(numbers, part, x).map_err(ApplyError::from)?;
            if read.unprepared != Unprepared::default() {
                let mut met = met.lock().unwrap_or_else(PoisonError::into_inner);
                met.0 += read.unprepared;
                met.1
                    .extend(read.outside.iter().map(|row| row - rows.start));
            }
            Ok::<_, ApplyError>(())
        };
        let outputs = self.predictor.predict_written(rows.len(), write)?;
        self.model.check_outputs(&outputs, rows.start + 1)?;
        let (unprepared, mut outside) = met.into_inner().unwrap_or_else(PoisonError::into_inner);
        outside.sort_unstable();
        self.unprepared += unprepared;
        Ok(self.said(&outputs, &outside, &[]))
    }

    /// What outputs say, counted.
    fn said(&mut self, outputs: &[f64], outside: &[usize], expected: &[f64]) -> Predictions {
        self.rows += outputs.len() / self.model.likelihood.outputs();
        self.held += self.model.held(outputs);
        let constant = match &mut self.density {
            Some((constant, facts)) => {
                facts.look_at(&inside(outputs, outside));
                *constant
            }
            None => 0.0,
        };
        self.model.predictions(outputs, constant, outside, expected)
    }

    /// What a person should know about all parts: cells that needed treatment, predictions that were held back.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.unprepared.notes();
        notes.extend(self.model.held_note(self.held, self.rows));
        notes.extend(self.density.iter().flat_map(|(_, facts)| facts.notes()));
        notes
    }
}
