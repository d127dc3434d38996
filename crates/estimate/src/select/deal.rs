//! Rows that are dealt to folds.

use crate::choice::by_row;
use crate::curvature::Stop;
use crate::ranking::ranking;
use crate::rows::{Kind, Rows, shuffled};
use loopfit_data::Samples;
use rayon::prelude::*;
use std::sync::Arc;

/// One way to deal rows to folds.
#[derive(Debug)]
pub(super) struct Deal {
    pub(super) folds: Vec<Arc<Fold>>,
    /// The held-out rows in the order of the folds.
    pub(super) held: Vec<usize>,
}

/// The rows that are fitted and those that are held out, and the inputs by their importance in the former.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) fitted: Rows,
    pub(super) held: Rows,
    pub(super) ranking: Vec<usize>,
}

impl Deal {
    /// Rows of samples, of which each fold holds out these.
    pub(super) fn new(
        samples: &Samples,
        kind: Kind,
        outputs: usize,
        folds: &[Vec<usize>],
        stop: Stop<'_>,
    ) -> Self {
        let dealt = folds.par_iter().map(|held| {
            let mut is_held = vec![false; samples.n()];
            held.iter().for_each(|row| is_held[*row] = true);
            let kept = shuffled((0..samples.n()).filter(|row| !is_held[*row]).collect());
            let rows = |of: &[usize]| Rows::new(samples, of, kind, outputs);
            let fitted = rows(&kept);
            Arc::new(Fold {
                ranking: ranking(&fitted, stop),
                held: rows(held),
                fitted,
            })
        });
        Self {
            folds: dealt.collect(),
            held: folds.concat(),
        }
    }

    /// The folds of several deals.
    pub(super) fn of<'a>(deals: impl Iterator<Item = &'a Self> + Clone) -> Self {
        Self {
            folds: deals.clone().flat_map(|deal| deal.folds.clone()).collect(),
            held: deals.flat_map(|deal| deal.held.clone()).collect(),
        }
    }

    /// The mean of what belongs to each held-out row, by row.
    pub(super) fn by_row(&self, values: &[f64]) -> Vec<f64> {
        by_row(&self.held, values)
    }
}
