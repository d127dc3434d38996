//! Fits that end are written together.

use super::record::FIT;
use super::row::FitRow;
use super::{Store, StoredFit};
use crate::StudyError;
use rusqlite::types::Value;
use std::sync::{MutexGuard, PoisonError};

/// Records of fits that wait to be written, each with its number, and why some could not be.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    next: u64,
    rows: Vec<(u64, [Value; 14])>,
    failed: Vec<(u64, rusqlite::Error)>,
}

impl Store {
    /// Keeps a fit.
    pub(crate) fn put_fit(
        &self,
        study: &str,
        task: &str,
        fit: &str,
        stored: &StoredFit,
    ) -> Result<(), StudyError> {
        let number = self.hand_in(study, task, fit, stored);
        self.await_kept(&[number])
    }

    /// Hands a fit in, to be kept with all that end about now. Nobody waits for somebody else's transaction: whoever writes looks
    /// again before going.
    pub(crate) fn hand_in(&self, study: &str, task: &str, fit: &str, stored: &StoredFit) -> u64 {
        let made = FitRow::of(stored);
        let row = [
            Value::from(study.to_string()),
            task.to_string().into(),
            fit.to_string().into(),
            made.method.into(),
            made.spec.into(),
            made.stop.into(),
            made.validation.into(),
            made.best_update.into(),
            made.updates.into(),
            made.curve.into(),
            made.parameters.into(),
            made.seconds.into(),
            made.backend.into(),
            made.bits.into(),
        ];
        let number = {
            let mut waiting = self.waiting();
            waiting.next += 1;
            let number = waiting.next;
            waiting.rows.push((number, row));
            number
        };
        while !self.waiting().rows.is_empty() {
            let Ok(_writing) = self.writing.try_lock() else {
                break;
            };
            self.write_waiting();
        }
        number
    }

    /// Waits until fits that were handed in are kept; the error of the first that could not be.
    pub(crate) fn await_kept(&self, numbers: &[u64]) -> Result<(), StudyError> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_waiting();
        drop(writing);
        let failed = &mut self.waiting().failed;
        let own = failed.extract_if(.., |(number, _)| numbers.contains(number));
        match own.collect::<Vec<_>>().into_iter().next() {
            Some((_, error)) => Err(StudyError::store(&self.path, error)),
            None => Ok(()),
        }
    }

    /// Whether some fit that was handed in could not be kept.
    pub(crate) fn is_failing(&self) -> bool {
        !self.waiting().failed.is_empty()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes all records that wait in one transaction; where that fails each by itself, so that everyone learns of its own failure.
    fn write_waiting(&self) {
        let rows = std::mem::take(&mut self.waiting().rows);
        if rows.is_empty() {
            return;
        }
        let c = self.lock();
        let write = || {
            c.execute_batch("BEGIN IMMEDIATE")?;
            rows.iter().try_for_each(|(_, row)| FIT.insert(&c, row))?;
            c.execute_batch("COMMIT")
        };
        if write().is_ok() {
            return;
        }
        if !c.is_autocommit() {
            let _ = c.execute_batch("ROLLBACK");
        }
        for (number, row) in &rows {
            if let Err(error) = FIT.insert(&c, row) {
                self.waiting().failed.push((*number, error));
            }
        }
    }
}
