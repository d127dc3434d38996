//! What a selection finds.

use crate::judge::Judgement;
use loopfit_estimate::paired;
use loopfit_fitted::FittedModel;
use loopfit_model::{Method, Network};

/// Standard errors of an error by which it is below that of something else.
const WITHIN: f64 = 1.0;
/// Standard errors of a paired difference at which a model is clearly better than another; below it a smaller model is as good as the best, and an
/// error does not fall. The best of several caps and methods is better by one of them by chance alone.
pub const CLEARLY: f64 = 2.0;

/// A model of one kind beside the others.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The method; none of the linear model.
    pub method: Option<Method>,
    /// What was selected.
    pub network: Network,
    /// Factor on the penalties that the evidence gives.
    pub factor: f64,
    /// Starts of each fit.
    pub starts: usize,
    /// Estimated error on new rows, allowing for the selection.
    pub validation: f64,
    /// Its standard error over rows.
    pub validation_se: f64,
    /// What the test samples say of what the same selection gives without them; nothing without test samples.
    pub test: Judgement,
    /// R2 or accuracy of held-out rows.
    pub held: (&'static str, f64),
    /// Loss of each held-out row, in the same order for all entries.
    pub(super) losses: Vec<f64>,
}

impl Entry {
    /// By how many of its standard errors the mean held-out loss is below that of another entry.
    pub fn better_than(&self, other: &Self) -> f64 {
        paired(&self.losses, &other.losses)
    }

    /// Whether its held-out losses are clearly below those of a constant, row by row.
    pub(crate) fn beats(&self, constant: &[f64]) -> bool {
        paired(&self.losses, constant) > CLEARLY
    }
}

/// What is reached without a cap. It says what the cap costs, and is not delivered.
#[derive(Clone, Copy, Debug)]
pub struct NoCap {
    /// By which method.
    pub by: &'static str,
    /// Its error by cross-validation.
    pub validation: f64,
    /// Its error on the test rows of a table.
    pub test: f64,
    /// Whether its held-out losses are clearly below those of a constant, row by row.
    pub beats_constant: bool,
}

impl NoCap {
    /// Whether its error is clearly below that of a constant, and below that of a model by more than the standard error of the latter.
    pub(crate) fn is_better_than(&self, model: &Entry) -> bool {
        self.beats_constant && model.validation - self.validation > WITHIN * model.validation_se
    }
}

/// Why a method has no model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The work was stopped before one was judged.
    NotReached,
    /// The cap holds none.
    DoesNotFit,
    /// No fit had a finite validation loss.
    Failed,
}

/// The best of a method under one of the caps that the selection climbs, the cap itself the last of them.
#[derive(Clone, Debug)]
pub struct Rung {
    /// The cap.
    pub cap: usize,
    /// The method; none of the linear model.
    pub method: Option<Method>,
    /// Trainable numbers.
    pub count: usize,
    /// Estimated error on new rows, allowing for the selection.
    pub validation: f64,
    /// Seconds from the beginning of the work on the method under this cap to its end; methods are worked on beside each other.
    pub seconds: f64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The models, the best first by cross-validation.
    pub entries: Vec<Entry>,
    /// How the selection of these models climbed to the cap.
    pub rungs: Vec<Rung>,
    /// The methods that were asked for and have none.
    pub absent: Vec<(Method, Absence)>,
    /// The delivered model.
    pub model: FittedModel,
    /// Constant prediction: its error by cross-validation and on the test samples.
    pub constant: (f64, f64),
    /// Its loss of each held-out row.
    pub(super) constant_losses: Vec<f64>,
    /// What is reached without a cap, if a method was tried.
    pub no_cap: Option<NoCap>,
    /// Rows that the selection saw.
    pub selection_rows: usize,
    /// Test samples.
    pub test_rows: usize,
    /// How the selection was made.
    pub selected_by: String,
    /// What a person should know about rows and columns.
    pub notes: Vec<String>,
    /// Whether nothing asked to stop before the end.
    pub complete: bool,
}

impl Estimate {
    /// Whether the best model's error is clearly below that of a constant, paired over rows.
    pub fn beats_constant(&self) -> bool {
        self.entries[0].beats(&self.constant_losses)
    }

    /// Whether what is reached without a cap is better than a constant and than the best model.
    pub fn more_without_cap(&self) -> bool {
        let best = &self.entries[0];
        self.no_cap.is_some_and(|it| it.is_better_than(best))
    }
}

/// Errors by cross-validation of what stands beside the models of a cap.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Of the best constant.
    pub constant: f64,
    /// Its loss of each held-out row.
    pub(crate) constant_losses: Vec<f64>,
    /// Of what is reached without a cap.
    pub no_cap: Option<NoCap>,
}
