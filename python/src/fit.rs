//! Fits, comparisons and curves.

use crate::data::Table;
use crate::distributed::Desk;
use crate::errors::of_library;
use crate::model::{Model, method, shape};
use crate::work::{Watch, beside};
use loopfit::details::Entry;
use loopfit::{
    Activation, Effort, Fit, Fits, Fitted, Method, Noise, Runner, Step, TaskKind, Tokens, lowest_on,
};
use loopfit_numerics::named::Named;
use loopfit_numerics::sum::{mean, standard_error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;
use std::time::Duration;

/// What is asked for: the keys of a dictionary, all of them there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    target: Option<String>,
    task: Option<String>,
    laplace: bool,
    exposure: Option<String>,
    weight: Option<String>,
    group: Option<String>,
    budget: usize,
    methods: Vec<String>,
    architecture: String,
    tokens: Option<String>,
    activations: Option<Vec<String>>,
    iterations: Option<Iterations>,
    effort: Asking,
    seconds: Option<f64>,
    test_fraction: Option<f64>,
    refit: Option<bool>,
    bound: Option<f32>,
    seed: u64,
    threads: usize,
}

/// An effort by name, or a number of updates.
#[derive(FromPyObject)]
enum Asking {
    Updates(usize),
    Named(String),
}

/// The iteration counts of loops, or `auto`.
#[derive(FromPyObject)]
enum Iterations {
    Counts(Vec<usize>),
    Named(String),
}

/// One of a few by its name.
fn named<T: Named>(what: &str, name: &str) -> PyResult<T> {
    T::named(name).ok_or_else(|| {
        let known: Vec<&str> = T::ALL.iter().map(|one| one.name()).collect();
        let known = known.join(", ");
        PyValueError::new_err(format!("{what} is one of {known}, not {name:?}"))
    })
}

fn all_named<T: Named>(what: &str, names: &[String]) -> PyResult<Vec<T>> {
    names.iter().map(|name| named(what, name)).collect()
}

impl Asked {
    /// By the workers of a desk, if there is one.
    fn fit<'a>(
        &self,
        table: &'a loopfit::Table,
        watch: &'a Watch,
        runner: Option<Runner>,
    ) -> PyResult<Fit<'a>> {
        let mut fit = Fit::new(table)
            .budget(self.budget)
            .methods(all_named::<Method>("method", &self.methods)?)
            .seed(self.seed)
            .threads(self.threads)
            .effort(match &self.effort {
                Asking::Updates(updates) => Effort::Updates(*updates),
                Asking::Named(name) => named("effort", name)?,
            })
            .progress(|now| watch.follow(now))
            .all_or_nothing(true);
        if let Some(runner) = runner {
            fit = fit.runner(runner);
        }
        if let Some(target) = &self.target {
            fit = fit.target(target);
        }
        if let Some(task) = &self.task {
            fit = fit.task(named::<TaskKind>("task", task)?);
        }
        if self.laplace {
            fit = fit.noise(Noise::Laplace);
        }
        for (column, put) in [
            (
                &self.exposure,
                Fit::exposure as fn(Fit<'a>, String) -> Fit<'a>,
            ),
            (&self.weight, Fit::weights),
            (&self.group, Fit::group),
        ] {
            if let Some(column) = column {
                fit = put(fit, column.clone());
            }
        }
        let tokens = self.tokens.as_ref().map(|text| text.parse::<Tokens>());
        let tokens = tokens.transpose();
        let tokens = tokens.map_err(|error| PyValueError::new_err(error.to_string()))?;
        fit = match (self.architecture.as_str(), tokens) {
            ("transformer", tokens) => fit.transformer(tokens),
            ("any", tokens) => fit.any_architecture(tokens),
            ("ffn", None) => fit,
            ("ffn", Some(_)) => {
                let why = "tokens are for architecture=\"transformer\" and architecture=\"any\"";
                return Err(PyValueError::new_err(why));
            }
            (other, _) => {
                let why = format!("architecture is one of ffn, transformer, any, not {other:?}");
                return Err(PyValueError::new_err(why));
            }
        };
        if let Some(names) = &self.activations {
            fit = fit.activations(all_named::<Activation>("activation", names)?);
        }
        fit = match &self.iterations {
            None => fit,
            Some(Iterations::Counts(counts)) => fit.iterations(counts.iter().copied()),
            Some(Iterations::Named(name)) if name == "auto" => fit.automatic_iterations(),
            Some(Iterations::Named(name)) => {
                let why = format!("iterations is auto or whole numbers, not {name:?}");
                return Err(PyValueError::new_err(why));
            }
        };
        if let Some(seconds) = self.seconds {
            let time = Duration::try_from_secs_f64(seconds);
            let time = time.map_err(|error| PyValueError::new_err(error.to_string()))?;
            fit = fit.time_limit(time);
        }
        if let Some(share) = self.test_fraction {
            fit = fit.test_fraction(share);
        }
        if let Some(refit) = self.refit {
            fit = fit.refit(refit);
        }
        if let Some(bound) = self.bound {
            fit = fit.bound(bound);
        }
        Ok(fit)
    }
}

/// Selects, fits and judges: the model, and a dictionary of what was found.
#[pyfunction]
#[pyo3(signature = (table, asked, progress, desk = None))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    table: &Table,
    asked: Asked,
    progress: Option<&Bound<'py, PyAny>>,
    desk: Option<&Desk>,
) -> PyResult<(Model, Bound<'py, PyDict>)> {
    let table = Arc::clone(&table.0);
    let runner = desk.map(Desk::runner);
    let fits = beside(py, progress, move |watch| {
        let fit = asked.fit(&table, watch, runner)?;
        fit.run().map_err(of_library)
    })??;
    let found = describe(py, &fits)?;
    Ok((Model(Arc::new(fits.best().model().clone())), found))
}

fn describe<'py>(py: Python<'py>, fits: &Fits) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let results = PyList::empty(py);
    for fitted in fits.iter() {
        results.append(result(py, fitted)?)?;
    }
    let history = PyList::empty(py);
    for step in fits.history() {
        let row = PyDict::new(py);
        match step {
            Step::Cap {
                cap,
                method: of,
                count,
                validation,
            } => {
                row.set_item("cap", cap)?;
                row.set_item("method", method(*of))?;
                row.set_item("count", count)?;
                row.set_item("validation", validation)?;
            }
            Step::Search {
                seconds,
                updates,
                validation,
            } => {
                row.set_item("seconds", seconds)?;
                row.set_item("updates", updates)?;
                row.set_item("validation", validation)?;
            }
            Step::Iterations { t, loss, penalty } => {
                row.set_item("iterations", t)?;
                row.set_item("loss", loss)?;
                row.set_item("penalty", penalty)?;
            }
            _ => continue,
        }
        history.append(row)?;
    }
    let beside = PyDict::new(py);
    for reference in [fits.constant(), fits.no_cap()].into_iter().flatten() {
        let errors = (reference.validation, reference.test);
        beside.set_item(reference.name, errors)?;
    }
    let absent = fits.absent().iter();
    let absent: Vec<String> = absent.map(|(family, _)| family.to_string()).collect();
    found.set_item("results", results)?;
    found.set_item("history", history)?;
    found.set_item("beside", beside)?;
    found.set_item("absent", absent)?;
    found.set_item("error", fits.subject().error)?;
    found.set_item("notes", fits.notes())?;
    found.set_item("conclusions", fits.conclusions())?;
    found.set_item("complete", fits.is_complete())?;
    found.set_item("seconds", fits.seconds())?;
    Ok(found)
}

fn result<'py>(py: Python<'py>, fitted: &Fitted) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("method", method(fitted.method))?;
    shape(&row, &fitted.network)?;
    row.set_item("count", fitted.network.count())?;
    row.set_item("validation", fitted.validation)?;
    row.set_item("validation_se", fitted.validation_se)?;
    row.set_item("test", fitted.test)?;
    row.set_item("seconds", fitted.seconds)?;
    Ok(row)
}

/// Methods side by side over seeds: rows of errors, and a dictionary of what they mean.
#[pyfunction]
#[pyo3(signature = (table, asked, seeds, progress, desk = None))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    table: &Table,
    asked: Asked,
    seeds: Vec<u64>,
    progress: Option<&Bound<'py, PyAny>>,
    desk: Option<&Desk>,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyDict>)> {
    let table = Arc::clone(&table.0);
    let runner = desk.map(Desk::runner);
    let comparison = beside(py, progress, move |watch| {
        let fit = asked.fit(&table, watch, runner)?;
        fit.compare(seeds).map_err(of_library)
    })??;
    let rows = PyList::empty(py);
    let about = PyDict::new(py);
    let mut methods = Vec::new();
    for compared in &comparison.methods {
        for ((seed, error), network) in comparison
            .seeds
            .iter()
            .zip(&compared.errors)
            .zip(&compared.networks)
        {
            let row = PyDict::new(py);
            row.set_item("seed", seed)?;
            row.set_item("method", compared.name().to_lowercase())?;
            row.set_item("error", error)?;
            row.set_item("count", network.count())?;
            shape(&row, network)?;
            rows.append(row)?;
        }
        methods.push((compared.name().to_lowercase(), compared.errors.clone()));
    }
    about.set_item("methods", summary(py, methods)?)?;
    about.set_item("metric", comparison.subject.test_error)?;
    about.set_item("notes", &comparison.notes)?;
    Ok((rows, about))
}

/// What errors of methods on the same seeds amount to: a dictionary for each.
#[pyfunction]
pub(crate) fn summary(
    py: Python<'_>,
    methods: Vec<(String, Vec<f64>)>,
) -> PyResult<Bound<'_, PyList>> {
    let errors: Vec<&[f64]> = methods.iter().map(|(_, errors)| &errors[..]).collect();
    let summary = PyList::empty(py);
    for ((name, errors), wins) in methods.iter().zip(lowest_on(&errors)) {
        let own = PyDict::new(py);
        own.set_item("method", name)?;
        own.set_item("mean", mean(errors))?;
        own.set_item("standard_error", standard_error(errors))?;
        own.set_item("lowest_on", wins)?;
        summary.append(own)?;
    }
    Ok(summary)
}

/// The error against the cap: a row for each cap, and a dictionary of what stands beside them.
#[pyfunction]
pub(crate) fn curve<'py>(
    py: Python<'py>,
    table: &Table,
    asked: Asked,
    caps: Vec<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyDict>)> {
    let table = Arc::clone(&table.0);
    let (curve, metric) = beside(py, progress, move |watch| {
        let plan = asked.fit(&table, watch, None)?.prepare_curve();
        let plan = plan.map_err(of_library)?;
        let curve = plan.run(caps).map_err(of_library)?;
        Ok::<_, PyErr>((curve, plan.subject().validation_error))
    })??;
    let rows = PyList::empty(py);
    for point in &curve.points {
        let row = PyDict::new(py);
        row.set_item("cap", point.cap)?;
        entry(&row, point.best())?;
        let linear = point.linear().map(|linear| linear.validation);
        row.set_item("linear", linear)?;
        rows.append(row)?;
    }
    let about = PyDict::new(py);
    about.set_item("metric", metric)?;
    about.set_item("constant", curve.constant)?;
    let no_cap = curve.no_cap.map(|it| (it.by, it.validation));
    about.set_item("no_cap", no_cap)?;
    about.set_item("conclusions", curve.conclusions())?;
    Ok((rows, about))
}

fn entry(row: &Bound<'_, PyDict>, entry: &Entry) -> PyResult<()> {
    row.set_item("method", method(entry.method))?;
    row.set_item("count", entry.network.count())?;
    row.set_item("validation", entry.validation)?;
    row.set_item("validation_se", entry.validation_se)
}
