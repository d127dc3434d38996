//! What a fit gives.

use crate::{Error, Method, Model, Plan, Subject};
use loopfit_fitted::{ApplyError, DensityFacts};
use loopfit_model::Network;
use loopfit_numerics::text::count;
use loopfit_search::Family;
use loopfit_search::estimate::{Absence, CLEARLY, Entry, Estimate, PREFERRED, Rung};
use loopfit_search::fit::MethodFit;
use loopfit_search::iterations::Chosen;
use std::fmt::{Display, Formatter};

/// As many at which looping is said to pay or not. Fits to folds share most of their rows: with five of them the standard error of a difference is
/// one and a half times what single rows say (Nadeau and Bengio, "Inference for the generalization error", 2003), so that these are two.
const BEYOND: f64 = 3.0;

/// The models that competed under a cap, the best first.
#[derive(Clone, Debug)]
pub struct Fits {
    subject: Subject,
    budget: usize,
    /// Whether the delivered model was to be fitted to all rows.
    refit: bool,
    best: Best,
    others: Vec<Fitted>,
    absent: Vec<(Family, Absence)>,
    notes: Vec<String>,
    found: Found,
    history: Vec<Step>,
    seconds: f64,
    density: Option<DensityFacts>,
    complete: bool,
}

/// One step of the way to the models.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Of a selection by cross-validation: the best of a method under one of the caps that it climbs.
    Cap {
        /// The cap; that of the fit is the last.
        cap: usize,
        /// The method; none of the linear model.
        method: Option<Method>,
        /// Trainable numbers.
        count: usize,
        /// The error on rows that the fits had not seen.
        validation: f64,
    },
    /// Of a stochastic search: the validation error falls.
    Search {
        /// Seconds since the search began.
        seconds: f64,
        /// Updates so far.
        updates: u64,
        /// The lowest validation error so far.
        validation: f64,
    },
    /// Of an iteration count by penalised likelihood: a loop that took part. The chosen one has the smallest sum of both.
    Iterations {
        /// The iteration count T.
        t: usize,
        /// The average negative log-likelihood on the rows that it was fitted to.
        loss: f64,
        /// What the penalty adds.
        penalty: f64,
    },
}

/// What a run leaves beside its models.
pub(crate) struct Ran {
    /// The validation errors of a search.
    pub(crate) history: Vec<Step>,
    pub(crate) seconds: f64,
    pub(crate) density: Result<Option<DensityFacts>, ApplyError>,
    /// Whether nothing asked to stop before the end.
    pub(crate) complete: bool,
}

/// All that was found, by the way that led there.
#[derive(Clone, Debug)]
pub enum Found {
    /// By cross-validation.
    Estimate(Box<Estimate>),
    /// By a stochastic search: one fit for each family, the best first.
    Search(Vec<MethodFit>),
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
    /// What the errors are: `MSE`, `MAE`, `deviance`, `log loss`, `NLL`.
    pub metric: &'static str,
    /// The error on rows that the fits had not seen.
    pub validation: f64,
    /// Its standard error over rows, where there are folds.
    pub validation_se: Option<f64>,
    /// The error on test rows, if there are any: of the same selection without them, where the delivered model has seen all rows.
    pub test: Option<f64>,
    /// Seconds from the beginning of the work on the method to its end. Methods are worked on beside each other, and those of a
    /// stochastic search end together.
    pub seconds: f64,
}

/// What stands beside the models and is not delivered.
#[derive(Clone, Copy, Debug)]
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
    pub(crate) fn new(plan: &Plan<'_>, found: Found, ran: Ran) -> Result<Self, Error> {
        let mut notes = plan.notes_after(&found);
        // The model is there all the same.
        let density = ran.density.unwrap_or_else(|error| {
            notes.push(error.to_string());
            None
        });
        let metric = plan.subject().error;
        let of_entry = |e: &Entry| Fitted {
            method: e.method,
            network: e.network.clone(),
            metric,
            validation: e.validation,
            validation_se: Some(e.validation_se),
            test: finite(e.test.error),
            seconds: seconds_of(&found, e.method),
        };
        let of_fit = |fit: &MethodFit| Fitted {
            method: Some(fit.family.method),
            network: fit.model.parameters.network().clone(),
            metric,
            validation: fit.validation,
            validation_se: None,
            test: finite(fit.judged.error),
            seconds: ran.seconds,
        };
        let has_model = |fit: &&MethodFit| !fit.not_reached() && !fit.failed();
        let (mut all, absent, model, complete): (Vec<Fitted>, _, _, _) = match &found {
            Found::Estimate(e) => (
                e.entries.iter().map(of_entry).collect(),
                e.absent
                    .iter()
                    .map(|(method, why)| (Family::ffn(*method), *why))
                    .collect(),
                e.model.clone(),
                e.complete,
            ),
            Found::Search(fits) => (
                fits.iter().filter(has_model).map(of_fit).collect(),
                fits.iter()
                    .filter(|fit| !has_model(fit))
                    .map(|fit| match fit.failed() {
                        true => (fit.family.clone(), Absence::Failed),
                        false => (fit.family.clone(), Absence::NotReached),
                    })
                    .collect(),
                fits.first().ok_or(Error::Cancelled)?.model.clone(),
                ran.complete,
            ),
        };
        if all.is_empty() {
            return Err(Error::Cancelled);
        }
        let history = match &found {
            Found::Estimate(e) => e.rungs.iter().map(of_rung).collect(),
            Found::Search(fits) => match fits.first().and_then(|fit| fit.chosen.as_ref()) {
                Some(chosen) => ladder(chosen).collect(),
                None => ran.history,
            },
        };
        let mut subject = plan.subject().clone();
        subject.inputs = model.preprocessing.feature_names();
        Ok(Self {
            subject,
            budget: plan.budget(),
            refit: plan.estimate().is_some_and(|ask| ask.refit),
            best: Best {
                fitted: all.remove(0),
                model: model.into(),
            },
            others: all,
            absent,
            notes,
            found,
            history,
            seconds: ran.seconds,
            density,
            complete,
        })
    }

    /// What was learned from what.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The winner.
    pub fn best(&self) -> &Best {
        &self.best
    }

    /// All competitors, the winner first.
    pub fn iter(&self) -> impl Iterator<Item = &Fitted> {
        std::iter::once(&self.best.fitted).chain(&self.others)
    }

    /// The methods that were asked for and have no model, and why.
    pub fn absent(&self) -> &[(Family, Absence)] {
        &self.absent
    }

    /// The best constant; none where a stochastic search was made.
    pub fn constant(&self) -> Option<Reference> {
        let (validation, test) = self.estimate()?.constant;
        Some(Reference {
            name: "constant",
            validation,
            test: finite(test),
        })
    }

    /// What a strong method reaches without any cap, if one was tried.
    pub fn no_cap(&self) -> Option<Reference> {
        let found = self.estimate()?.no_cap?;
        Some(Reference {
            name: found.by,
            validation: found.validation,
            test: finite(found.test),
        })
    }

    /// What a person should know about rows and columns.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether nothing asked to stop before the end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// All that was found, for tables of one's own.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The way to the models: how a selection by cross-validation climbed to the cap, how the validation error of a stochastic search
    /// fell, or the loops among which penalised likelihood chose.
    pub fn history(&self) -> &[Step] {
        &self.history
    }

    /// Seconds that the work took.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// How well the normaliser of a density is known.
    pub fn density(&self) -> Option<&DensityFacts> {
        self.density.as_ref()
    }

    fn estimate(&self) -> Option<&Estimate> {
        match &self.found {
            Found::Estimate(estimate) => Some(estimate),
            Found::Search(_) => None,
        }
    }

    /// Whether the best model needs most of the cap and no smaller one is as good, so that a larger cap may help; not known of a
    /// stochastic search.
    pub fn uses_its_cap(&self) -> bool {
        let Some(estimate) = self.estimate() else {
            return false;
        };
        let best = &estimate.entries[0];
        estimate.complete
            && estimate.beats_constant()
            && best.method.is_some()
            && as_good(estimate).is_none()
            && 4 * best.network.count() > 3 * self.budget
    }

    /// What the errors mean, in sentences: that nothing is better than a constant, or why the best has not the smallest error, where it has not,
    /// whether looping pays and whether a smaller cap would do; then which rows the model has seen.
    pub fn conclusions(&self) -> Vec<String> {
        let Some(estimate) = self.estimate() else {
            return Vec::new();
        };
        let mut sentences = Vec::new();
        if estimate.complete && !estimate.beats_constant() {
            sentences
                .push("No model under this cap is clearly better than a constant.".to_string());
            if estimate.more_without_cap() {
                let more = "Without a cap the error is clearly smaller: try larger caps.";
                sentences.push(more.to_string());
            }
        } else if estimate.complete {
            sentences.extend(smaller_error(estimate));
            sentences.extend(looping(estimate));
            sentences.extend(self.cap_needed(estimate));
        }
        sentences.extend(rows_seen(estimate, self.refit));
        sentences
    }

    /// How far the cap is from what the rows support.
    fn cap_needed(&self, estimate: &Estimate) -> Option<String> {
        let best = &estimate.entries[0];
        if estimate.entries.iter().all(|e| e.method.is_none()) {
            return None;
        }
        let numbers = |entry: &Entry| count(entry.network.count(), "number");
        Some(match as_good(estimate) {
            _ if best.method.is_none() => format!(
                "No network is clearly better than the linear model: a cap of {} would do.",
                best.network.count()
            ),
            Some(smaller) => match smaller.method {
                None => format!(
                    "The linear model with {} is within the noise of the best.",
                    numbers(smaller)
                ),
                Some(method) => {
                    format!(
                        "{method} with {} is within the noise of the best.",
                        numbers(smaller)
                    )
                }
            },
            None if self.uses_its_cap() => format!(
                "The best model uses its cap: more than {} may help.",
                count(self.budget, "number")
            ),
            None => format!(
                "A cap of {} would do: the best model needs no more.",
                best.network.count()
            ),
        })
    }
}

/// Why a model with a smaller validation error than the best is not the best; nothing where there is none.
fn smaller_error(estimate: &Estimate) -> Option<String> {
    let (best, others) = estimate.entries.split_first()?;
    // The others are in the order of their errors.
    let other = others.first().filter(|e| e.validation < best.validation)?;
    let z = other.better_than(best);
    Some(why_kept(best.method, other.method, z))
}

/// Why the best stays although another has a smaller error, by so many standard errors of the paired difference.
fn why_kept(best: Option<Method>, other: Option<Method>, z: f64) -> String {
    let name = |method: Option<Method>| match method {
        Some(method) => method.to_string(),
        None => "the linear model".to_string(),
    };
    let kept = match best {
        None => "The linear model stays unless a network is",
        Some(_) => "What a smaller cap delivers stays unless something is",
    };
    // What is shown allows for the choice among caps, and need not be in the order of the held-out losses themselves.
    if z < 0.05 {
        return format!(
            "Errors allow for the choice among caps; on the same held-out rows {}, whose error is smaller, is not better.",
            name(other)
        );
    }
    if z < PREFERRED {
        return format!(
            "{kept} better by {PREFERRED} standard errors on held-out rows; {}, whose error is smaller, is by {z:.1}.",
            name(other)
        );
    }
    format!(
        "The error of {} is smaller, but not clearly below that of the linear model: {} stays.",
        name(other),
        name(best)
    )
}

/// The smallest model that has fewer numbers than the best and is within the noise of it.
fn as_good(estimate: &Estimate) -> Option<&Entry> {
    let (best, others) = estimate.entries.split_first()?;
    let numbers = |entry: &Entry| entry.network.count();
    let smaller = others.iter().filter(|e| numbers(e) < numbers(best));
    let as_good = smaller.filter(|e| best.better_than(e) < CLEARLY);
    as_good.min_by_key(|e| numbers(e))
}

fn ladder(chosen: &Chosen) -> impl Iterator<Item = Step> {
    chosen.rungs.iter().map(|rung| Step::Iterations {
        t: rung.t,
        loss: rung.loss,
        penalty: chosen.penalty(rung.t),
    })
}

fn of_rung(rung: &Rung) -> Step {
    Step::Cap {
        cap: rung.cap,
        method: rung.method,
        count: rung.count,
        validation: rung.validation,
    }
}

/// Seconds of a method of a selection, over all caps.
fn seconds_of(found: &Found, method: Option<Method>) -> f64 {
    match found {
        Found::Estimate(e) => {
            let own = e.rungs.iter().filter(|rung| rung.method == method);
            own.map(|rung| rung.seconds).sum()
        }
        Found::Search(_) => 0.0,
    }
}

/// Whether looping pays; nothing where one of Single and Loop is missing.
fn looping(estimate: &Estimate) -> Option<String> {
    let of = |method: Method| estimate.entries.iter().find(|e| e.method == Some(method));
    let (single, looped) = (of(Method::Single)?, of(Method::Loop)?);
    let gain = 1.0 - looped.validation / single.validation;
    Some(whether_looping_pays(gain, looped.better_than(single)))
}

/// By the part of Single's error that Loop saves, and by how many standard errors of the paired difference it is better.
fn whether_looping_pays(gain: f64, z: f64) -> String {
    if z > BEYOND && gain > 0.0 {
        format!(
            "Looping pays here: Loop's error is {:.0}% below Single's, by {z:.1} standard errors of the paired difference.",
            100.0 * gain
        )
    } else if z < -BEYOND && gain < 0.0 {
        "Looping does not pay here: Single is better.".to_string()
    } else {
        "Looping makes no clear difference here.".to_string()
    }
}

/// Which rows the delivered model has seen, and which the errors are of.
fn rows_seen(estimate: &Estimate, refit: bool) -> Vec<String> {
    let Some(assessment) = &estimate.model.assessment else {
        return Vec::new();
    };
    let rows = count(assessment.rows, "row");
    let tested = count(assessment.test_rows, "test row");
    let again = match refit && assessment.rows > estimate.selection_rows {
        true => "After the selection the model was fitted again, to all",
        false => "The model was fitted to",
    };
    let mut sentences = vec![match (refit, assessment.test_rows) {
        (_, 0) => {
            format!("{again} {rows}; validation errors are of rows that the fits had not seen.")
        }
        (true, _) => format!(
            "{again} {rows}; validation errors are of rows that the fits had not seen, test errors of the same selection without the {tested}."
        ),
        (false, _) => format!("{again} {rows} and has not seen the {tested}."),
    }];
    if assessment.clip {
        sentences.push("Predictions are held to the range of the targets seen.".to_string());
    }
    sentences
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looping_pays_beyond_the_noise() {
        let pays = "Looping pays here: Loop's error is 4% below Single's, by 3.5 standard errors of the paired difference.";
        let none = "Looping makes no clear difference here.";
        let not = "Looping does not pay here: Single is better.";
        let of = whether_looping_pays;
        assert_eq!(of(0.04, 3.5), pays);
        assert_eq!((of(0.01, 2.5), of(-0.2, -2.9)), (none.into(), none.into()));
        assert_eq!(of(-0.2, -3.5), not);
        // What is shown and the held-out losses themselves do not agree.
        assert_eq!(of(-0.2, 3.5), none);
    }

    #[test]
    fn the_best_says_why_it_has_not_the_smallest_error() {
        assert_eq!(
            why_kept(None, Some(Method::Loop), 1.24),
            "The linear model stays unless a network is better by 1.5 standard errors on held-out rows; Loop, whose error is \
             smaller, is by 1.2."
        );
        assert_eq!(
            why_kept(Some(Method::Single), Some(Method::Loop), -0.1),
            "Errors allow for the choice among caps; on the same held-out rows Loop, whose error is smaller, is not better."
        );
        assert_eq!(
            why_kept(Some(Method::Single), Some(Method::Loop), 0.7),
            "What a smaller cap delivers stays unless something is better by 1.5 standard errors on held-out rows; Loop, whose \
             error is smaller, is by 0.7."
        );
        assert_eq!(
            why_kept(Some(Method::Single), Some(Method::Untied), 1.7),
            "The error of Untied is smaller, but not clearly below that of the linear model: Single stays."
        );
    }
}
