//! A fit that is ready to run: selection by cross-validation where rows have targets, a stochastic search elsewhere.

use crate::error::Error;
use crate::fits::{Found, Ran, Step};
use crate::progress::{Progress, counted, told};
use crate::{Fit, Fits, Runner, Subject};
use loopfit_engine::Control;
use loopfit_numerics::text;
use loopfit_search::SearchError;
use loopfit_search::estimate::{Ask, Prepared};
use loopfit_search::fit::{MethodFit, Prepared as Searches, Request};
use loopfit_search::iterations::LEAST_UPDATES;
use loopfit_search::replication::{Replication, Source};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A fit that is ready to run: its options are checked and its rows are dealt. A limit on the time runs from here.
#[derive(Debug)]
pub struct Plan<'a> {
    fit: Fit<'a>,
    subject: Subject,
    engine: Runner,
    control: Control,
    /// What is known of the source before any row is looked at.
    of_source: Vec<String>,
    notes: Vec<String>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Estimate(Ask, Box<Prepared>),
    Search(Box<Searches>),
}

impl<'a> Plan<'a> {
    pub(crate) fn new(mut fit: Fit<'a>) -> Result<Self, Error> {
        let source = fit.source(fit.seed)?;
        let engine = fit.take_runner()?;
        let control = fit.control();
        match fit.is_estimated(&source)? {
            true => Self::of_estimate(fit, &source, engine, control),
            false => Self::of_search(fit, &source, engine, control),
        }
    }

    fn of_estimate(
        fit: Fit<'a>,
        source: &Source,
        engine: Runner,
        control: Control,
    ) -> Result<Self, Error> {
        let ask = fit.ask(engine.threads().count(), 1)?;
        let prepared = Prepared::new(source, fit.noise, &ask)?;
        let (rows, inputs) = (prepared.selection_rows(), prepared.inputs());
        let of_source = source.notes();
        let mut notes = of_source.clone();
        notes.extend(prepared.notes.iter().cloned());
        notes.push(format!(
            "rows: {} for the selection by {}, {} for the test; inputs: {}",
            text::integer(rows as u64),
            prepared.selected_by(),
            text::integer(prepared.test_rows() as u64),
            inputs.len()
        ));
        notes.extend(more_numbers_than_rows(ask.budget, rows));
        Ok(Self {
            subject: Subject::new(source, fit.noise, inputs),
            fit,
            engine,
            control,
            of_source,
            notes,
            way: Way::Estimate(ask, Box::new(prepared)),
        })
    }

    fn of_search(
        fit: Fit<'a>,
        source: &Source,
        engine: Runner,
        control: Control,
    ) -> Result<Self, Error> {
        let mut request = fit.request(source)?;
        let mut replication = source.replication(fit.seed, fit.noise)?;
        if let Some(bound) = fit.bound {
            Arc::make_mut(&mut replication.problem).bounds.output = bound;
        }
        let (train, valid) = (&replication.problem.train, &replication.problem.valid);
        let samples = train.n() + valid.n();
        let rows = |n: usize| text::integer(n as u64);
        let test = match replication.test_rows {
            0 => String::new(),
            n => format!(" and {} for the test", rows(n)),
        };
        let of_source = source.notes();
        let mut notes = of_source.clone();
        notes.extend(replication.notes.iter().cloned());
        let trained = match fit.automatic {
            true => samples,
            false => train.n(),
        };
        let parts = match fit.automatic {
            true => format!("{} for training and the choice of T", rows(samples)),
            false => format!(
                "{} for training, {} for validation",
                rows(train.n()),
                rows(valid.n())
            ),
        };
        notes.push(format!("rows: {parts}{test}; inputs: {}", train.d()));
        notes.extend(more_numbers_than_rows(request.budget, trained));
        let inputs = replication.preprocessing.feature_names();
        let left_out = request.leave_out_what_cannot_fit([&*replication.problem]);
        notes.extend(left_out.map_err(|error| fit.with_inputs(error, &inputs))?);
        if let Some(seconds) = fit.planned_seconds() {
            request.updates = request.updates_within(&*engine, &replication, seconds)?;
            if fit.automatic {
                request.updates = request.updates.max(LEAST_UPDATES);
            }
        }
        let prepare = match fit.automatic {
            true => Searches::automatic,
            false => Searches::new,
        };
        let searches = prepare(request, replication, fit.seed)?;
        Ok(Self {
            subject: Subject::new(source, fit.noise, inputs),
            fit,
            engine,
            control,
            of_source,
            notes,
            way: Way::Search(Box::new(searches)),
        })
    }

    /// What is learned from what.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What a person should know before the work.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What a person should know after the work: of the rows that selected what is delivered, where these are others.
    pub(crate) fn notes_after(&self, found: &Found) -> Vec<String> {
        match (&self.way, found) {
            (Way::Estimate(ask, prepared), Found::Estimate(found))
                if found.selection_rows != prepared.selection_rows() =>
            {
                let rows = |n: usize| text::integer(n as u64);
                let mut notes = self.of_source.clone();
                notes.extend(found.notes.iter().cloned());
                notes.push(format!(
                    "rows: all {} for the selection by {}, after one without the {} of the test; inputs: {}",
                    rows(found.selection_rows),
                    found.selected_by,
                    rows(found.test_rows),
                    found.model.preprocessing.d()
                ));
                notes.extend(more_numbers_than_rows(ask.budget, found.selection_rows));
                notes
            }
            _ => self.notes.clone(),
        }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.engine.threads().count()
    }

    /// What a stochastic search is asked for, and its samples; none where the selection is by cross-validation.
    pub fn search(&self) -> Option<(&Request, &Replication)> {
        match &self.way {
            Way::Estimate(..) => None,
            Way::Search(searches) => Some((searches.request(), searches.replication())),
        }
    }

    /// What a selection by cross-validation is asked for; none where a stochastic search is made.
    pub fn estimate(&self) -> Option<&Ask> {
        match &self.way {
            Way::Estimate(ask, _) => Some(ask),
            Way::Search(..) => None,
        }
    }

    /// Seconds that a stochastic search takes, from this machine's speed, which is measured.
    pub fn seconds(&self) -> Result<Option<f64>, Error> {
        match &self.way {
            Way::Estimate(..) => Ok(None),
            Way::Search(searches) => Ok(Some(searches.seconds(&*self.engine)?)),
        }
    }

    /// Selects, fits and judges. The limit on the time and a callback's wish to stop hold for the plan: a second run does not start anew.
    pub fn run(&self) -> Result<Fits, Error> {
        let (engine, control) = (&self.engine, &self.control);
        let watch = self.fit.watch.as_deref();
        let begin = Instant::now();
        let history = Mutex::new(Vec::new());
        let found = match &self.way {
            Way::Estimate(ask, prepared) => {
                let run = |advance: &(dyn Fn(f64) + Sync)| {
                    prepared.run(engine.threads(), ask, control, advance)
                };
                Found::Estimate(Box::new(told(watch, control, run)?))
            }
            Way::Search(searches) => {
                let (request, replication) = (searches.request(), searches.replication());
                let families = request.families.len() as u64;
                let total = families.saturating_mul(request.updates as u64);
                let error = |loss: f64| replication.error_of_loss(loss);
                let recorded = |now: Progress| {
                    record(&history, &now, begin);
                    watch.map_or(ControlFlow::Continue(()), |watch| watch(now))
                };
                let fits = counted(Some(&recorded), control, total, Some(&error), || {
                    searches.run(&**engine, control)
                })?;
                let last = Progress {
                    done: 1.0,
                    best: control.best().map(error),
                    updates: Some(control.updates()),
                };
                record(&history, &last, begin);
                if fits.first().is_none_or(MethodFit::failed) {
                    return Err(Error::Failed);
                }
                Found::Search(fits)
            }
        };
        let density = match (&found, &self.way) {
            (Found::Search(fits), Way::Search(searches)) => {
                let x = searches.replication().problem.train.x();
                engine.threads().install(|| fits[0].model.density_facts(x))
            }
            _ => Ok(None),
        };
        let ran = Ran {
            history: history.into_inner().unwrap_or_else(PoisonError::into_inner),
            seconds: begin.elapsed().as_secs_f64(),
            density,
            complete: !control.is_stopped(),
        };
        Fits::new(self, found, ran)
    }

    pub(crate) fn budget(&self) -> usize {
        match &self.way {
            Way::Estimate(ask, _) => ask.budget,
            Way::Search(searches) => searches.request().budget,
        }
    }
}

impl Fit<'_> {
    /// Beside what is wrong with tokens that were chosen, which input has which number.
    pub(crate) fn with_inputs(&self, error: SearchError, names: &[String]) -> Error {
        match error {
            SearchError::Shape(wrong) if self.tokens => {
                let numbered = names.iter().enumerate();
                let numbered: Vec<String> =
                    numbered.map(|(i, name)| format!("{i} {name}")).collect();
                Error::Tokens {
                    wrong,
                    inputs: numbered.join(", "),
                }
            }
            other => other.into(),
        }
    }
}

/// Keeps what a search reached, where that is better than before.
fn record(history: &Mutex<Vec<Step>>, now: &Progress, begin: Instant) {
    let (Some(validation), Some(updates)) = (now.best, now.updates) else {
        return;
    };
    let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
    let lower = match history.last() {
        Some(Step::Search {
            validation: before, ..
        }) => validation < *before,
        _ => validation.is_finite(),
    };
    if lower {
        let seconds = begin.elapsed().as_secs_f64();
        history.push(Step::Search {
            seconds,
            updates,
            validation,
        });
    }
}

/// A warning where a model may have more numbers than rows to learn them from.
fn more_numbers_than_rows(budget: usize, rows: usize) -> Option<String> {
    (budget > rows).then(|| {
        format!(
            "a cap of {} meets {}: with more numbers than rows a fit can follow every one of them, so take a smaller cap or more rows",
            text::count(budget, "number"),
            text::count(rows, "row")
        )
    })
}
