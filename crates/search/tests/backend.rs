//! A search by an engine of another crate.

use loopfit_data::Simulation;
use loopfit_engine::{Backend, Control, Engine, FitOutcome, FitSpec, SpecError, Threads};
use loopfit_model::{ArchitectureChoice, Method};
use loopfit_search::compare;
use loopfit_search::cost::Equal;
use loopfit_search::fit::{MethodFit, Prepared, Request};
use loopfit_search::replication::Source;
use loopfit_search::{Family, SearchError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Another name for the processor; counts its fits, and may only run so many.
struct Counting {
    engine: Engine,
    fits: AtomicUsize,
    most: usize,
}

impl Counting {
    fn new(most: usize) -> Self {
        Self {
            engine: Engine::new(2).unwrap(),
            fits: AtomicUsize::new(0),
            most,
        }
    }
}

impl Backend for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn bits(&self) -> &str {
        self.engine.bits()
    }

    fn threads(&self) -> &Threads {
        self.engine.threads()
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        if self.fits.fetch_add(specs.len(), Ordering::Relaxed) + specs.len() > self.most {
            return Err(SpecError::Backend {
                backend: self.name().to_string(),
                why: "it has had enough".to_string(),
            });
        }
        self.engine.run(specs, control, finished)
    }
}

fn source() -> Source {
    Source::Simulation {
        simulation: Simulation::Bumps,
        train: 64,
        valid: 32,
    }
}

fn request() -> Request {
    Request {
        budget: 64,
        families: Family::each(&[ArchitectureChoice::Ffn], &Method::ALL),
        updates: 320,
        protocol: Arc::default(),
    }
}

fn fit(backend: &dyn Backend) -> Result<Vec<MethodFit>, SearchError> {
    let replication = source().replication(1, None)?;
    Prepared::new(request(), replication, 1)?.run(backend, &Control::default())
}

/// All fits of a search and of a comparison go through the backend, and what it gives is what is found. Four starts and three
/// rounds of one fit for each of three methods.
#[test]
fn any_backend_searches() {
    let (engine, counting) = (Engine::new(1).unwrap(), Counting::new(usize::MAX));
    let (own, others) = (fit(&engine).unwrap(), fit(&counting).unwrap());
    assert_eq!(counting.fits.load(Ordering::Relaxed), 3 * (4 + 3));
    for (a, b) in own.iter().zip(&others) {
        assert_eq!(a.family, b.family);
        assert_eq!(a.model.parameters, b.model.parameters);
    }
    let counting = Counting::new(usize::MAX);
    let compare = |backend: &dyn Backend| {
        let (control, seeds) = (Control::default(), [1, 2]);
        let equal = Equal::Updates;
        let prepared =
            compare::Prepared::new(backend, &source(), None, &seeds, request(), equal, &control);
        prepared.unwrap().run(backend, &control).unwrap()
    };
    for (a, b) in compare(&engine).iter().zip(compare(&counting)) {
        let parameters = |fits: &[MethodFit]| -> Vec<_> {
            fits.iter().map(|f| f.model.parameters.clone()).collect()
        };
        assert_eq!(parameters(&a.fits), parameters(&b.fits));
    }
    assert_eq!(counting.fits.load(Ordering::Relaxed), 2 * 3 * (4 + 3));
}

#[test]
fn a_backend_that_fails_is_said() {
    let error = fit(&Counting::new(15)).unwrap_err().to_string();
    assert_eq!(error, "the backend counting failed: it has had enough");
}
