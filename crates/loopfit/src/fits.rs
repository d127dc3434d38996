//! What a fit gives.

use crate::{Method, Model};
use loopfit_model::Network;
use loopfit_search::estimate::{Absence, Entry, Estimate};
use loopfit_search::fit::MethodFit;
use std::fmt::{Display, Formatter};

/// The models that competed under a cap, the best first.
#[derive(Clone, Debug)]
pub struct Fits {
    pub(crate) best: Best,
    pub(crate) others: Vec<Fitted>,
    pub(crate) absent: Vec<(Method, Absence)>,
    pub(crate) constant: Option<Reference>,
    pub(crate) no_cap: Option<Reference>,
    pub(crate) notes: Vec<String>,
    pub(crate) complete: bool,
}

/// The winner and its model.
#[derive(Clone, Debug)]
pub struct Best {
    fitted: Fitted,
    model: Model,
}

/// One competitor: what was selected of a method, or the linear model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fitted {
    /// The method; none of the linear model.
    pub method: Option<Method>,
    /// What was selected.
    pub network: Network,
    /// What the errors are: `MSE`, `MAE`, `log loss`, `NLL`.
    pub metric: &'static str,
    /// The error on rows that the fits had not seen.
    pub validation: f64,
    /// Its standard error over rows, where there are folds.
    pub validation_se: Option<f64>,
    /// The error on test rows, if there are any: of the same selection without them, where the delivered model has seen all rows.
    pub test: Option<f64>,
}

/// What stands beside the models and is not delivered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reference {
    /// What it is.
    pub name: &'static str,
    /// The error on rows that the fits had not seen.
    pub validation: f64,
    /// The error on test rows, if there are any.
    pub test: Option<f64>,
}

impl Fits {
    /// The winner.
    pub fn best(&self) -> &Best {
        &self.best
    }

    /// All competitors, the winner first.
    pub fn iter(&self) -> impl Iterator<Item = &Fitted> {
        std::iter::once(&self.best.fitted).chain(&self.others)
    }

    /// The methods that were asked for and have no model, and why; those of a stochastic search whose fits all failed are among those not
    /// reached.
    pub fn absent(&self) -> &[(Method, Absence)] {
        &self.absent
    }

    /// The best constant; none where a stochastic search was made.
    pub fn constant(&self) -> Option<&Reference> {
        self.constant.as_ref()
    }

    /// What a strong method reaches without any cap, if one was tried.
    pub fn no_cap(&self) -> Option<&Reference> {
        self.no_cap.as_ref()
    }

    /// What a person should know about rows and columns.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether nothing asked to stop before the end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub(crate) fn of_estimate(
        metric: &'static str,
        estimate: Estimate,
        mut notes: Vec<String>,
    ) -> Option<Self> {
        let of_entry = |e: &Entry| Fitted {
            method: e.method,
            network: e.network.clone(),
            metric,
            validation: e.validation,
            validation_se: Some(e.validation_se),
            test: finite(e.test.error),
        };
        let mut all = estimate.entries.iter().map(of_entry);
        let reference = |name, (validation, test)| Reference {
            name,
            validation,
            test: finite(test),
        };
        notes.extend(estimate.notes);
        Some(Self {
            best: Best {
                fitted: all.next()?,
                model: estimate.model.into(),
            },
            others: all.collect(),
            absent: estimate.absent,
            constant: Some(reference("constant", estimate.constant)),
            no_cap: estimate
                .no_cap
                .map(|(name, validation, test)| reference(name, (validation, test))),
            notes,
            complete: estimate.complete,
        })
    }

    pub(crate) fn of_search(
        metric: &'static str,
        fits: Vec<MethodFit>,
        notes: Vec<String>,
        complete: bool,
    ) -> Option<Self> {
        let of_fit = |fit: &MethodFit| Fitted {
            method: Some(fit.family.method),
            network: fit.model.parameters.network().clone(),
            metric,
            validation: fit.validation,
            validation_se: None,
            test: finite(fit.judged.error),
        };
        let (reached, missed): (Vec<MethodFit>, Vec<MethodFit>) = fits
            .into_iter()
            .partition(|fit| !fit.not_reached() && !fit.failed());
        let others = reached.iter().skip(1).map(of_fit).collect();
        let fitted = of_fit(reached.first()?);
        let missed = missed
            .iter()
            .map(|fit| (fit.family.method, Absence::NotReached));
        Some(Self {
            others,
            absent: missed.collect(),
            constant: None,
            no_cap: None,
            notes,
            complete,
            best: Best {
                fitted,
                model: reached.into_iter().next()?.model.into(),
            },
        })
    }
}

impl Best {
    /// What competed.
    pub fn fitted(&self) -> &Fitted {
        &self.fitted
    }

    /// The delivered model.
    pub fn model(&self) -> &Model {
        &self.model
    }
}

impl Display for Best {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fitted.fmt(f)
    }
}

impl Display for Fitted {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, validation {} {:.4e}",
            self.network, self.metric, self.validation
        )?;
        match self.test {
            Some(test) => write!(f, ", test {test:.4e}"),
            None => Ok(()),
        }
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
