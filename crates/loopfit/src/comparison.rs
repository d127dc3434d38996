//! Methods side by side, paired by seed.

use crate::error::{Error, Given};
use crate::progress::{counted, told};
use crate::{Fit, Method, Model, Runner, Subject};
use loopfit_engine::Control;
use loopfit_model::Network;
use loopfit_numerics::sum::{mean, standard_error};
use loopfit_numerics::text::integer;
use loopfit_search::compare::{Prepared as Searches, SeedFits};
use loopfit_search::cost::Equal;
use loopfit_search::estimate::{Ask, Entry, Estimate, Prepared};
use loopfit_search::replication::Source;
use loopfit_search::{Family, SearchError};
use std::fmt::{Display, Formatter};

/// A comparison that is ready to run. A limit on the time runs from here.
#[derive(Debug)]
pub struct ComparisonPlan<'a> {
    fit: Fit<'a>,
    source: Source,
    seeds: Vec<u64>,
    engine: Runner,
    control: Control,
    notes: Vec<String>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// What is asked of each seed.
    Estimates(Vec<Ask>),
    Searches(Box<Searches>),
}

/// Test errors of every method on the same seeds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// What was learned from what.
    pub subject: Subject,
    /// The cap.
    pub budget: usize,
    /// The seeds that were finished.
    pub seeds: Vec<u64>,
    /// The methods in the order in which they were asked for, after the linear model where there is one.
    pub methods: Vec<Compared>,
    /// What a person should know: about the data, what the methods have in common, and what was left out.
    pub notes: Vec<String>,
    /// Whether a method had no fit with a finite validation loss on some seed.
    pub failed: bool,
}

/// The errors of one method.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compared {
    /// The method with its architecture; none of the linear model.
    pub family: Option<Family>,
    /// One error for each seed.
    pub errors: Vec<f64>,
    /// What was selected for each seed.
    pub networks: Vec<Network>,
    /// Updates of a stochastic search for each seed, over the seeds the most.
    pub updates: u64,
    /// The model of the seed with the lowest error; none where models are not fitted to all rows, as by cross-validation.
    pub best: Option<Model>,
}

impl<'a> ComparisonPlan<'a> {
    pub(crate) fn new(mut fit: Fit<'a>, seeds: Vec<u64>) -> Result<Self, Error> {
        let first = *seeds.first().ok_or(Error::Nothing("seed"))?;
        let source = fit.source(first)?;
        let engine = fit.take_runner()?;
        let control = fit.control();
        let alone = [
            (fit.bound.is_some(), Given::Bound),
            (fit.automatic, Given::Automatic),
        ];
        if let Some((_, given)) = alone.into_iter().find(|(given, _)| *given) {
            return Err(Error::Only {
                given,
                of: "a fit that is not compared",
            });
        }
        let mut notes = source.notes();
        let way = match fit.is_estimated(&source)? {
            true => {
                if !fit.has_test_rows() {
                    return Err(Error::Nothing("test row"));
                }
                let ask = fit.ask(engine.threads().count(), seeds.len())?;
                let of_seed = |seed: &u64| Ask {
                    refit: false,
                    test_seed: Some(*seed),
                    seed: *seed,
                    ..ask.clone()
                };
                Way::Estimates(seeds.iter().map(of_seed).collect())
            }
            false => {
                if fit.planned_seconds().is_some() {
                    return Err(Error::Only {
                        given: Given::Time,
                        of: "a fit, or a comparison by cross-validation,",
                    });
                }
                let request = fit.request(&source)?;
                let equal = fit.equal.unwrap_or(Equal::Updates);
                let searches = Searches::new(
                    &*engine, &source, fit.noise, &seeds, request, equal, &control,
                )?;
                notes.extend(searches.notes().iter().cloned());
                Way::Searches(Box::new(searches))
            }
        };
        Ok(Self {
            fit,
            source,
            seeds,
            engine,
            control,
            notes,
            way,
        })
    }

    /// What a person should know before the work.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.engine.threads().count()
    }

    /// Updates of all stochastic searches, and the seconds that they take by this machine's speed, which is measured; none where the
    /// selection is by cross-validation.
    pub fn searches(&self) -> Result<Option<(u64, f64)>, Error> {
        match &self.way {
            Way::Estimates(_) => Ok(None),
            Way::Searches(searches) => {
                Ok(Some((searches.updates(), searches.seconds(&*self.engine)?)))
            }
        }
    }

    /// Selects, fits and judges on every seed. Stopped early, the seeds that are complete come back.
    pub fn run(&self) -> Result<Comparison, Error> {
        let compared = match &self.way {
            Way::Estimates(asks) => self.estimates(asks)?,
            Way::Searches(searches) => self.searched(searches)?,
        };
        match compared.seeds.is_empty() {
            true => Err(Error::Cancelled),
            false => Ok(compared),
        }
    }

    fn compared(&self, inputs: Vec<String>, done: usize) -> Comparison {
        Comparison {
            subject: Subject::new(&self.source, self.fit.noise, inputs),
            budget: self.fit.budget.unwrap_or_default(),
            seeds: self.seeds[..done].to_vec(),
            methods: Vec::new(),
            notes: match &self.source {
                Source::Table(table) => table.notes.clone(),
                Source::Simulation { .. } => Vec::new(),
            },
            failed: false,
        }
    }

    fn estimates(&self, asks: &[Ask]) -> Result<Comparison, Error> {
        let part = 1.0 / asks.len() as f64;
        let (engine, control) = (&self.engine, &self.control);
        let mut inputs = Vec::new();
        let estimates = told(self.fit.watch.as_deref(), control, |advance| {
            let mut complete = Vec::new();
            for ask in asks {
                let prepared = Prepared::new(&self.source, self.fit.noise, ask)?;
                inputs = prepared.inputs();
                match prepared.run(engine.threads(), ask, control, &|done| advance(part * done)) {
                    Ok(estimate) if estimate.complete => complete.push(estimate),
                    Ok(_) | Err(SearchError::Interrupted) => break,
                    Err(error) => return Err(Error::from(error)),
                }
            }
            Ok(complete)
        })?;
        let mut compared = self.compared(inputs, estimates.len());
        let how = estimates.first().map_or("", |e| &e.selected_by);
        compared.notes.push(format!(
            "Every method was given the same work for each seed, and selected by {how}. Each seed has test samples, folds and starts of its own."
        ));
        compared.methods.extend(of_method(&estimates, None));
        for method in self.fit.competing() {
            match of_method(&estimates, Some(method)) {
                Some(found) => compared.methods.push(found),
                None => compared.notes.push(format!(
                    "Left out: {method}, of which B = {} holds no network.",
                    compared.budget
                )),
            }
        }
        Ok(compared)
    }

    fn searched(&self, searches: &Searches) -> Result<Comparison, Error> {
        let (engine, control) = (&self.engine, &self.control);
        let watch = self.fit.watch.as_deref();
        let seeds = counted(watch, control, searches.updates(), None, || {
            searches.run(&**engine, control)
        })?;
        let fits = seeds.first().map_or(&[][..], |first| &first.fits);
        let of_family = |(i, family): (usize, &Family)| Compared {
            family: Some(family.clone()),
            errors: seeds.iter().map(|s| s.fits[i].judged.error).collect(),
            networks: seeds
                .iter()
                .map(|s| s.fits[i].model.parameters.network().clone())
                .collect(),
            updates: most_updates(&seeds, i),
            best: best(&seeds, i),
        };
        let inputs = fits
            .first()
            .map_or(Vec::new(), |fit| fit.model.preprocessing.feature_names());
        let mut compared = self.compared(inputs, seeds.len());
        let families: Vec<&Family> = fits.iter().map(|fit| &fit.family).collect();
        let indexed = families.iter().copied().enumerate();
        compared.methods = indexed.map(of_family).collect();
        compared.failed = seeds.iter().flat_map(|s| &s.fits).any(|fit| fit.failed());
        let equal = self.fit.equal.unwrap_or(Equal::Updates);
        compared.notes.push(what_is_equal(equal, &compared.methods));
        compared.notes.extend(searches.notes().iter().cloned());
        Ok(compared)
    }
}

/// What the methods had in common.
fn what_is_equal(equal: Equal, methods: &[Compared]) -> String {
    let first = methods.first().map_or(0, |m| m.updates);
    let same = methods.iter().all(|m| m.updates == first);
    let each = methods
        .iter()
        .map(|m| format!("{} {}", m.name(), integer(m.updates)));
    let each = each.collect::<Vec<_>>().join(", ");
    match equal {
        Equal::Updates if same => format!(
            "Every method had the same number of updates for each seed: {}.",
            integer(first)
        ),
        Equal::Updates => format!(
            "Every method was given the same number of updates for each seed; some fits ended early: {each}."
        ),
        Equal::Time => format!(
            "Every method was given the same time on one thread, as measured here; updates for each seed: {each}."
        ),
        Equal::Flops => format!(
            "Every method was given the same floating-point operations; updates for each seed: {each}."
        ),
    }
}

/// The errors of a method that has a model on every seed.
fn of_method(estimates: &[Estimate], method: Option<Method>) -> Option<Compared> {
    let of_seed = |e: &'_ Estimate| e.entries.iter().find(|e| e.method == method).cloned();
    let entries: Vec<Entry> = estimates.iter().map(of_seed).collect::<Option<_>>()?;
    Some(Compared {
        family: method.map(Family::ffn),
        errors: entries.iter().map(|e| e.test.error).collect(),
        networks: entries.into_iter().map(|e| e.network).collect(),
        updates: 0,
        best: None,
    })
}

/// The model of a method with the lowest error, if one has an error at all.
fn best(seeds: &[SeedFits], method: usize) -> Option<Model> {
    let fits = seeds.iter().map(|s| &s.fits[method]);
    let judged = fits.filter(|fit| fit.judged.error.is_finite());
    let best = judged.min_by(|a, b| a.judged.error.total_cmp(&b.judged.error));
    best.map(|fit| Model::from(fit.model.clone()))
}

/// Updates of a method's search, over the seeds the most.
fn most_updates(seeds: &[SeedFits], method: usize) -> u64 {
    let updates = seeds.iter().map(|s| s.fits[method].updates as u64);
    updates.max().unwrap_or(0)
}

impl Comparison {
    /// On how many seeds each method has the lowest error, in the order of the methods.
    pub fn lowest_on(&self) -> Vec<usize> {
        let errors: Vec<&[f64]> = self.methods.iter().map(|m| &m.errors[..]).collect();
        lowest_on(&errors)
    }
}

/// On how many seeds each of some methods has the lowest error, from their errors seed by seed; the first of equals counts.
pub fn lowest_on(methods: &[&[f64]]) -> Vec<usize> {
    let seeds = methods.iter().map(|errors| errors.len()).min().unwrap_or(0);
    let lowest = |seed: usize| {
        (0..methods.len()).min_by(|a, b| methods[*a][seed].total_cmp(&methods[*b][seed]))
    };
    let mut wins = vec![0; methods.len()];
    for winner in (0..seeds).filter_map(lowest) {
        wins[winner] += 1;
    }
    wins
}

impl Compared {
    /// The method, or `linear`.
    pub fn name(&self) -> String {
        let family = self.family.as_ref();
        family.map_or("linear".to_string(), Family::to_string)
    }

    /// The mean over seeds.
    pub fn mean(&self) -> f64 {
        mean(&self.errors)
    }

    /// Its standard error: the standard deviation over seeds divided by the root of their number.
    pub fn standard_error(&self) -> f64 {
        standard_error(&self.errors)
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (method, wins) in self.methods.iter().zip(self.lowest_on()) {
            writeln!(
                f,
                "{}: {} {:.4e} ({:.1e}), lowest on {wins} of {}",
                method.name(),
                self.subject.test_error,
                method.mean(),
                method.standard_error(),
                self.seeds.len()
            )?;
        }
        Ok(())
    }
}
