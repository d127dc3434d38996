//! What a fit was given, checked: the data, which way they are learned from, and what is asked of it.

use super::{Data, Fit};
use crate::error::{Given, Reason};
use crate::{Effort, Error, Table};
use loopfit_data::TaskKind;
use loopfit_engine::Control;
use loopfit_model::{Activation, ArchitectureChoice, Method};
use loopfit_search::Family;
use loopfit_search::estimate::Ask;
use loopfit_search::fit::{Request, updates_of_rows};
use loopfit_search::protocol::Protocol;
use loopfit_search::replication::{Source, TableOptions, TableSource};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Part of a time limit that the work is planned for.
const SAFETY: f64 = 0.8;
/// Work of one second of a thread, in the units of [`Ask::work`]; half of what a core with AVX-512 does.
const PER_SECOND: f64 = 5e9;
/// Most iterations of a loop, and the longest time that work is planned for.
const MOST_ITERATIONS: usize = 64;
const MOST_TIME: Duration = Duration::from_secs(10_000_000);

impl Fit<'_> {
    /// A control that stops the work when the time is over.
    pub(crate) fn control(&self) -> Control {
        let control = match self.all_or_nothing {
            true => Control::all_or_nothing(),
            false => Control::default(),
        };
        if let Some(time) = self.time {
            control.stop_at(Instant::now() + time.min(MOST_TIME));
        }
        control
    }

    /// Seconds that the work is planned for, if there is a limit.
    pub(crate) fn planned_seconds(&self) -> Option<f64> {
        let time = self.time?.min(MOST_TIME);
        Some(SAFETY * time.as_secs_f64())
    }

    /// Where rows come from; a seed for the test rows of a table.
    pub(crate) fn source(&self, test_seed: u64) -> Result<Source, Error> {
        match &self.data {
            Data::Simulation {
                simulation,
                train,
                valid,
            } => {
                let given = [
                    (self.table != TableOptions::default(), Given::Column),
                    (self.weights.is_some(), Given::Weights),
                    (self.exposure.is_some(), Given::Exposure),
                    (self.test_fraction.is_some(), Given::TestFraction),
                ];
                match given.into_iter().find(|(given, _)| *given) {
                    Some((_, given)) => Err(Error::Only {
                        given,
                        of: "tables",
                    }),
                    None => Ok(Source::Simulation {
                        simulation: *simulation,
                        train: *train,
                        valid: *valid,
                    }),
                }
            }
            Data::Table(table) => {
                let density = self.table.task == Some(TaskKind::Density);
                match (&self.table.target, density) {
                    (None, false) => return Err(Error::NoTarget),
                    (Some(_), true) => {
                        return Err(Error::Only {
                            given: Given::Target,
                            of: "regressions and classifications",
                        });
                    }
                    _ => (),
                }
                if self.table.test_rows.is_some() && self.test_fraction.is_some() {
                    return Err(Error::Only {
                        given: Given::TestFraction,
                        of: "tables whose test rows are drawn",
                    });
                }
                let counts = self.table.task == Some(TaskKind::Count);
                if counts && self.weights.is_some() {
                    return Err(Error::Only {
                        given: Given::Weights,
                        of: "targets that are not counts",
                    });
                }
                if !counts && self.exposure.is_some() {
                    return Err(Error::Only {
                        given: Given::Exposure,
                        of: "counts",
                    });
                }
                let options = TableOptions {
                    weight: self.weights.clone().or(self.exposure.clone()),
                    test_seed,
                    apart_if_few: self.protocol.is_none(),
                    ..self.table.clone()
                };
                let mut source = TableSource::new(Table::clone(table), &options)?;
                // An estimate holds rows out by itself.
                if let (true, Some(share)) = (self.automatic, self.test_fraction) {
                    source = source.holding_out(share)?;
                }
                Ok(Source::Table(Box::new(source)))
            }
        }
    }

    /// Whether rows are estimated from rather than searched on: all but densities, Transformers, and what names updates, shapes or a
    /// protocol.
    pub(crate) fn is_estimated(&self, source: &Source) -> Result<bool, Error> {
        self.check()?;
        if self.bound.is_some() && !source.is_density() {
            return Err(Error::Only {
                given: Given::Bound,
                of: "densities",
            });
        }
        let transformer = self.architectures != [ArchitectureChoice::Ffn];
        let reasons = [
            (self.automatic, Reason::Automatic),
            (transformer, Reason::Transformer),
            (source.is_density(), Reason::Density),
            (self.protocol.is_some(), Reason::Protocol),
            (!self.shapes.is_empty(), Reason::Shape),
            (matches!(self.effort, Effort::Updates(_)), Reason::Updates),
            (self.equal.is_some(), Reason::Equal),
        ];
        let Some((_, reason)) = reasons.into_iter().find(|(holds, _)| *holds) else {
            return Ok(true);
        };
        let counts = self.table.task == Some(TaskKind::Count);
        let given = [
            (counts, Given::Counts),
            (self.weights.is_some(), Given::Weights),
            (self.activations.is_some(), Given::Activations),
            (self.iterations.is_some(), Given::Iterations),
            (self.paper.is_some(), Given::Form),
            (
                self.test_fraction.is_some() && !self.automatic,
                Given::TestFraction,
            ),
        ];
        match given.into_iter().find(|(given, _)| *given) {
            Some((_, given)) => Err(Error::OnlyEstimated { given, reason }),
            None => Ok(false),
        }
    }

    /// What makes no sense whatever the data are.
    fn check(&self) -> Result<(), Error> {
        let loops = self.methods == Method::ALL || self.methods == [Method::Loop];
        let shaped = !self.shapes.is_empty();
        let unfit = [
            (!loops, "loops alone"),
            (shaped, "loops whose shape is not fixed"),
            (self.architectures.len() > 1, "one architecture"),
            (self.refit == Some(true), "a fit without validation rows"),
        ];
        if let (true, Some((_, of))) = (self.automatic, unfit.into_iter().find(|(holds, _)| *holds))
        {
            let given = Given::Automatic;
            return Err(Error::Only { given, of });
        }
        if self.automatic && self.refit == Some(false) {
            return Err(Error::Only {
                given: Given::NoRefit,
                of: "a fit with validation rows",
            });
        }
        let empty = [
            (self.methods.is_empty(), "method"),
            (
                self.activations.as_ref().is_some_and(Vec::is_empty),
                "activation",
            ),
            (
                self.iterations.as_ref().is_some_and(Vec::is_empty),
                "iteration count",
            ),
        ];
        if let Some((_, what)) = empty.into_iter().find(|(empty, _)| *empty) {
            return Err(Error::Nothing(what));
        }
        let most = 1..=MOST_ITERATIONS;
        let wrong = self.iterations.iter().flatten().find(|t| !most.contains(t));
        if let Some(t) = wrong {
            return Err(Error::Iterations {
                t: *t,
                most: MOST_ITERATIONS,
            });
        }
        let of_none = |method: &Method| !self.methods.contains(method);
        let mut shaped = self.shapes.iter().map(|(_, _, tying)| tying.method());
        if let Some(method) = shaped.find(of_none) {
            return Err(Error::ShapeOf(method));
        }
        let of_protocol = |method: &Method| {
            let protocol = self.protocol.as_ref();
            protocol.is_some_and(|protocol| protocol.shapes.are_given(*method))
        };
        let shaped = !self.shapes.is_empty() || self.methods.iter().any(of_protocol);
        if shaped && self.architectures.len() > 1 {
            return Err(Error::ShapeOfAny);
        }
        Ok(())
    }

    /// The methods that compete, each once and in their usual order.
    pub(crate) fn competing(&self) -> Vec<Method> {
        let asked = |method: &Method| self.methods.contains(method);
        match self.automatic {
            true => vec![Method::Loop],
            false => Method::ALL.into_iter().filter(asked).collect(),
        }
    }

    /// What is asked of one of so many seeds.
    pub(crate) fn ask(&self, threads: usize, seeds: usize) -> Result<Ask, Error> {
        let in_time = |seconds: f64| {
            seconds * PER_SECOND * threads as f64 / (self.methods.len() * seeds) as f64
        };
        Ok(Ask {
            budget: self.budget.ok_or(Error::NoBudget)?,
            methods: self.competing(),
            activations: Activation::ALL
                .into_iter()
                .filter(|unit| {
                    self.activations
                        .as_ref()
                        .is_none_or(|all| all.contains(unit))
                })
                .collect(),
            iterations: self.iteration_counts(),
            paper: self.paper == Some(true),
            work: self.planned_seconds().map_or(self.effort.work(), in_time),
            test_fraction: self.share_of_test_rows(),
            test_seed: None,
            refit: self.refit.unwrap_or(true),
            seed: self.seed,
        })
    }

    /// What is asked of a stochastic search.
    pub(crate) fn request(&self, source: &Source) -> Result<Request, Error> {
        let mut protocol = match &self.protocol {
            Some(protocol) => protocol.clone(),
            None => Protocol::of(source.is_density()),
        };
        for (q, r, tying) in &self.shapes {
            protocol.shapes.fix(*q, *r, *tying);
        }
        protocol.refit = self.refit.unwrap_or(protocol.refit);
        Ok(Request {
            budget: self.budget.ok_or(Error::NoBudget)?,
            families: Family::each(&self.architectures, &self.competing()),
            updates: self.updates(source),
            protocol: Arc::new(protocol),
        })
    }
    /// Updates of each method: as many as were asked for, of a density's effort with a name no more than its rows pay for.
    fn updates(&self, source: &Source) -> usize {
        let updates = self.effort.updates();
        match self.effort {
            Effort::Quick | Effort::Standard | Effort::Strong if source.is_density() => {
                updates.min(updates_of_rows(source.rows()))
            }
            _ => updates,
        }
    }
}
