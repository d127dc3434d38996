//! A fit that is done: selection by cross-validation where rows have targets, a stochastic search elsewhere.

use super::{Data, Fit};
use crate::comparison::{Compared, Comparison};
use crate::progress::{counted, told};
use crate::{Effort, Error, Fits};
use loopfit_data::TaskKind;
use loopfit_engine::{Control, Engine};
use loopfit_model::{Activation, ArchitectureChoice};
use loopfit_search::cost::Equal;
use loopfit_search::estimate::{Ask, Prepared};
use loopfit_search::fit::Request;
use loopfit_search::protocol::Protocol;
use loopfit_search::replication::{Source, TableOptions, TableSource};
use loopfit_search::{Family, SearchError, compare, fit};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Part of a time limit that the work is planned for.
const SAFETY: f64 = 0.8;
/// Work of one second of a thread, in the units of [`Ask::work`]; half of what a core with AVX-512 does.
const PER_SECOND: f64 = 5e9;

pub(super) fn run(fit: &Fit<'_>) -> Result<Fits, Error> {
    let source = fit.source(fit.seed)?;
    let engine = Engine::new(fit.threads)?;
    let control = Control::default();
    fit.limit(&control);
    if fit.is_estimated(&source)? {
        fit.estimated(&source, &engine, &control)
    } else {
        fit.searched(&source, &engine, &control)
    }
}

impl Fit<'_> {
    /// Does the same for every seed and sets the methods side by side. Where rows have targets every seed has test rows, folds and starts of
    /// its own; where a stochastic search is made, the test rows of the first.
    pub fn compare(self, seeds: impl IntoIterator<Item = u64>) -> Result<Comparison, Error> {
        let seeds: Vec<u64> = seeds.into_iter().collect();
        let first = *seeds.first().ok_or(Error::Nothing("seed"))?;
        let source = self.source(first)?;
        let engine = Engine::new(self.threads)?;
        let control = Control::default();
        self.limit(&control);
        if self.bound.is_some() {
            return Err(Error::Only {
                option: "a bound of the index",
                of: "a fit that is not compared",
            });
        }
        match self.is_estimated(&source)? {
            true => self.estimates_compared(&source, &seeds, &engine, &control),
            false => self.searches_compared(&source, &seeds, &engine, &control),
        }
    }

    /// Stops the work when the time is over; a time without end is no limit.
    fn limit(&self, control: &Control) {
        let end = self.time.and_then(|time| Instant::now().checked_add(time));
        if let Some(end) = end {
            control.stop_at(end);
        }
    }

    fn source(&self, test_seed: u64) -> Result<Source, Error> {
        match self.data {
            Data::Simulation {
                simulation,
                train,
                valid,
            } => {
                let given = [
                    (self.table != TableOptions::default(), "a column or task"),
                    (self.test_fraction.is_some(), "a share of test rows"),
                ];
                match given.iter().find(|(given, _)| *given) {
                    Some((_, option)) => Err(Error::Only {
                        option,
                        of: "tables",
                    }),
                    None => Ok(Source::Simulation {
                        simulation,
                        train,
                        valid,
                    }),
                }
            }
            Data::Table(table) => {
                let density = self.table.task == Some(TaskKind::Density);
                match (&self.table.target, density) {
                    (None, false) => return Err(Error::NoTarget),
                    (Some(_), true) => {
                        return Err(Error::Only {
                            option: "a target",
                            of: "regressions and classifications",
                        });
                    }
                    _ => (),
                }
                let options = TableOptions {
                    test_seed,
                    ..self.table.clone()
                };
                let source = TableSource::new(table.clone(), &options)?;
                Ok(Source::Table(Box::new(source)))
            }
        }
    }

    /// Whether rows are estimated from rather than searched on: all but densities, Transformers, and what names updates, shapes or a
    /// protocol.
    fn is_estimated(&self, source: &Source) -> Result<bool, Error> {
        if self.methods.is_empty() {
            return Err(Error::Nothing("method"));
        }
        if self.bound.is_some() && !source.is_density() {
            return Err(Error::Only {
                option: "a bound of the index",
                of: "densities",
            });
        }
        let reasons = [
            (
                self.architectures != [ArchitectureChoice::Ffn],
                "a Transformer",
            ),
            (source.is_density(), "a density"),
            (self.protocol.is_some(), "a protocol"),
            (!self.shapes.is_empty(), "a shape that is fixed"),
            (
                matches!(self.effort, Effort::Updates(_)),
                "a number of updates",
            ),
        ];
        let Some((_, reason)) = reasons.into_iter().find(|(holds, _)| *holds) else {
            return Ok(true);
        };
        let given = [
            (self.activations.is_some(), "a choice of activations"),
            (self.iterations.is_some(), "a choice of iteration counts"),
            (self.paper, "a choice of the form"),
            (self.test_fraction.is_some(), "a share of test rows"),
        ];
        match given.into_iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(Error::OnlyEstimated { option, reason }),
            None => Ok(false),
        }
    }

    /// What is asked of one of so many seeds.
    fn ask(&self, threads: usize, seeds: usize) -> Result<Ask, Error> {
        let in_time = |time: Duration| {
            let all = SAFETY * time.as_secs_f64() * PER_SECOND * threads as f64;
            all / (self.methods.len() * seeds) as f64
        };
        Ok(Ask {
            budget: self.budget.ok_or(Error::NoBudget)?,
            methods: self.methods.clone(),
            activations: self
                .activations
                .clone()
                .unwrap_or_else(|| Activation::ALL.to_vec()),
            iterations: self.iteration_counts(),
            paper: self.paper,
            work: self.time.map_or(self.effort.work(), in_time),
            test_fraction: self.share_of_test_rows(),
            test_seed: None,
            refit: self.refit.unwrap_or(true),
            seed: self.seed,
        })
    }

    fn estimated(
        &self,
        source: &Source,
        engine: &Engine,
        control: &Control,
    ) -> Result<Fits, Error> {
        let ask = self.ask(engine.threads(), 1)?;
        let prepared = Prepared::new(source, self.noise, &ask)?;
        let estimate = told(self.watch.as_deref(), control, |advance| {
            prepared.run(engine, &ask, control, advance)
        })?;
        let metric = source.error_name(self.noise);
        Fits::of_estimate(metric, estimate, source.notes()).ok_or(Error::Cancelled)
    }

    fn request(&self, source: &Source) -> Result<Request, Error> {
        let mut protocol = match &self.protocol {
            Some(protocol) => protocol.clone(),
            None => Protocol::of(source.is_density()),
        };
        for (q, r, tying) in &self.shapes {
            protocol.shapes.fix(*q, *r, *tying);
        }
        protocol.refit |= self.refit == Some(true);
        Ok(Request {
            budget: self.budget.ok_or(Error::NoBudget)?,
            families: Family::each(&self.architectures, &self.methods),
            updates: self.effort.updates(),
            protocol: Arc::new(protocol),
        })
    }

    fn searched(&self, source: &Source, engine: &Engine, control: &Control) -> Result<Fits, Error> {
        let mut request = self.request(source)?;
        let mut replication = source.replication(self.seed, self.noise)?;
        if let Some(bound) = self.bound {
            Arc::make_mut(&mut replication.problem).bounds.output = bound;
        }
        let mut notes = source.notes();
        notes.extend(replication.notes.iter().cloned());
        notes.extend(request.leave_out_what_cannot_fit([&*replication.problem])?);
        if let Some(time) = self.time {
            let seconds = SAFETY * time.as_secs_f64();
            request.updates = request.updates_within(engine, &replication, seconds)?;
        }
        let total = (request.families.len() as u64).saturating_mul(request.updates as u64);
        let fits = counted(self.watch.as_deref(), control, total, || {
            fit::fit(engine, &replication, self.seed, &request, control)
        })?;
        let failed = fits.iter().all(fit::MethodFit::failed);
        let metric = source.error_name(self.noise);
        let found = Fits::of_search(metric, fits, notes, !control.is_stopped());
        found.ok_or(if failed {
            Error::Failed
        } else {
            Error::Cancelled
        })
    }

    fn estimates_compared(
        &self,
        source: &Source,
        seeds: &[u64],
        engine: &Engine,
        control: &Control,
    ) -> Result<Comparison, Error> {
        if self.share_of_test_rows() == 0.0 && self.table.test_rows.is_none() {
            return Err(Error::Nothing("test row"));
        }
        let part = 1.0 / seeds.len() as f64;
        let estimates = told(self.watch.as_deref(), control, |advance| {
            let mut complete = Vec::new();
            for seed in seeds {
                let ask = Ask {
                    refit: false,
                    test_seed: Some(*seed),
                    seed: *seed,
                    ..self.ask(engine.threads(), seeds.len())?
                };
                let prepared = Prepared::new(source, self.noise, &ask)?;
                match prepared.run(engine, &ask, control, &|done| advance(part * done)) {
                    Ok(estimate) if estimate.complete => complete.push(estimate),
                    Ok(_) | Err(SearchError::Interrupted) => break,
                    Err(error) => return Err(Error::from(error)),
                }
            }
            Ok(complete)
        })?;
        let methods = [None]
            .into_iter()
            .chain(self.methods.iter().copied().map(Some));
        let of_method = |method| {
            let entries = estimates
                .iter()
                .map(|e| e.entries.iter().find(|e| e.method == method));
            let errors = entries.map(|entry| Some(entry?.test.error));
            Some(Compared {
                name: Compared::called(method),
                errors: errors.collect::<Option<_>>()?,
            })
        };
        Comparison::new(
            source.metric(self.noise),
            &seeds[..estimates.len()],
            methods.filter_map(of_method).collect(),
        )
    }

    fn searches_compared(
        &self,
        source: &Source,
        seeds: &[u64],
        engine: &Engine,
        control: &Control,
    ) -> Result<Comparison, Error> {
        let request = self.request(source)?;
        let prepared = compare::Prepared::new(
            engine,
            source,
            self.noise,
            seeds,
            request,
            Equal::Updates,
            control,
        )?;
        let found = counted(self.watch.as_deref(), control, prepared.updates(), || {
            prepared.run(engine, control)
        })?;
        let families = found.first().map_or(0, |first| first.fits.len());
        let of_family = |i: usize| Compared {
            name: found[0].fits[i].family.to_string(),
            errors: found.iter().map(|s| s.fits[i].judged.error).collect(),
        };
        let done: Vec<u64> = found.iter().map(|s| s.seed).collect();
        let methods = (0..families).map(of_family).collect();
        Comparison::new(source.metric(self.noise), &done, methods)
    }
}
