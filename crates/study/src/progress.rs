//! How far a run is, readable while it goes on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of a run, over all studies of a group.
#[derive(Debug, Default)]
pub struct Progress {
    fits: AtomicU64,
    total: AtomicU64,
    found: AtomicU64,
    ran: AtomicU64,
    total_updates: AtomicU64,
}

/// Counts at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Fits that are done, those of earlier runs included.
    pub fits: u64,
    /// All fits; an upper bound until the shapes that fit a cap are known.
    pub total: u64,
    /// Updates that earlier runs had made.
    pub found_updates: u64,
    /// Updates of this run.
    pub updates: u64,
    /// Updates of all fits, an upper bound as well.
    pub total_updates: u64,
}

impl Counts {
    /// Seconds that are left if the rest goes as the part so far; none before the first fit.
    pub fn seconds_left(&self, elapsed: f64) -> Option<f64> {
        let left = self
            .total_updates
            .saturating_sub(self.found_updates + self.updates);
        (self.updates > 0).then(|| elapsed * left as f64 / self.updates as f64)
    }
}

impl Progress {
    /// Counts now.
    pub fn counts(&self) -> Counts {
        Counts {
            fits: self.fits.load(Relaxed),
            total: self.total.load(Relaxed),
            found_updates: self.found.load(Relaxed),
            updates: self.ran.load(Relaxed),
            total_updates: self.total_updates.load(Relaxed),
        }
    }

    /// More is to be done than was known.
    pub(crate) fn expect(&self, work: Work) {
        self.total.fetch_add(work.fits, Relaxed);
        self.total_updates.fetch_add(work.updates, Relaxed);
    }

    /// What was expected turned out to be something else.
    pub(crate) fn correct(&self, expected: Work, actual: Work) {
        self.total.fetch_sub(expected.fits, Relaxed);
        self.total_updates.fetch_sub(expected.updates, Relaxed);
        self.expect(actual);
    }

    pub(crate) fn ran(&self, updates: usize) {
        self.fits.fetch_add(1, Relaxed);
        self.ran.fetch_add(updates as u64, Relaxed);
    }

    pub(crate) fn found(&self, updates: usize) {
        self.fits.fetch_add(1, Relaxed);
        self.found.fetch_add(updates as u64, Relaxed);
    }

    pub(crate) fn found_all(&self, work: Work) {
        self.fits.fetch_add(work.fits, Relaxed);
        self.found.fetch_add(work.updates, Relaxed);
    }
}

/// Fits and their updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of fits.
    pub fits: u64,
    /// Updates of all of them.
    pub updates: u64,
}

impl std::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            fits: self.fits + other.fits,
            updates: self.updates + other.updates,
        }
    }
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Self>>(works: I) -> Self {
        works.fold(Self::default(), |a, b| a + b)
    }
}
