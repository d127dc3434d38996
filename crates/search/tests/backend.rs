//! A search by an engine of another crate.

mod other;

use loopfit_data::Simulation;
use loopfit_engine::{Backend, Control, Engine};
use loopfit_model::{ArchitectureChoice, Method};
use loopfit_search::compare;
use loopfit_search::cost::Equal;
use loopfit_search::fit::{MethodFit, Prepared, Request};
use loopfit_search::replication::Source;
use loopfit_search::{Family, SearchError};
use other::{Limit, Other};
use std::sync::Arc;

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
    let (engine, other) = (Engine::new(1).unwrap(), Other::new(Limit::None));
    let (own, given) = (fit(&engine).unwrap(), fit(&other).unwrap());
    assert_eq!(other.fits(), 3 * (4 + 3));
    for (a, b) in own.iter().zip(&given) {
        assert_eq!(a.family, b.family);
        assert_eq!(a.model.parameters, b.model.parameters);
    }
    let other = Other::new(Limit::None);
    let compare = |backend: &dyn Backend| {
        let (control, seeds) = (Control::default(), [1, 2]);
        let equal = Equal::Updates;
        let prepared =
            compare::Prepared::new(backend, &source(), None, &seeds, request(), equal, &control);
        prepared.unwrap().run(backend, &control).unwrap()
    };
    for (a, b) in compare(&engine).iter().zip(compare(&other)) {
        let parameters = |fits: &[MethodFit]| -> Vec<_> {
            fits.iter().map(|f| f.model.parameters.clone()).collect()
        };
        assert_eq!(parameters(&a.fits), parameters(&b.fits));
    }
    assert_eq!(other.fits(), 2 * 3 * (4 + 3));
}

#[test]
fn a_backend_that_fails_is_said() {
    let error = fit(&Other::new(Limit::Fail(15))).unwrap_err().to_string();
    assert_eq!(error, "the backend other failed: it has had enough");
}
