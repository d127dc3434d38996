//! Fits that workers of other processes and machines make, and studies whose fits they are.

use crate::errors::{of_library, of_study};
use crate::work::{Watch, beside};
use loopfit::{Error, Runner};
use loopfit_engine::{Control, Engine};
use loopfit_study::cache::Cache;
use loopfit_study::progress::Progress;
use loopfit_study::run::{Entered, Prepared};
use loopfit_study::{Shard, Store, StudyError, builtin, elsewhere, status};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// The word before a folder of files.
const FILES: &str = "files:";
/// Time between two looks at how far a study is.
const PERIOD: Duration = Duration::from_millis(50);

/// Hands fits out to workers and takes them back.
#[pyclass(module = "loopfit._loopfit", frozen)]
pub(crate) struct Desk(Arc<elsewhere::Desk>);

impl Desk {
    /// What searches and studies ask.
    pub(crate) fn runner(&self) -> Runner {
        Runner::of(Arc::clone(&self.0))
    }
}

/// A batch: its number, its fits, and the hashes of the samples that they need.
type Batch<'py> = (u64, Vec<Bound<'py, PyBytes>>, Vec<String>);

#[pymethods]
impl Desk {
    /// So many searches or tasks of a study wait for their fits at once.
    #[new]
    fn new(threads: usize) -> PyResult<Self> {
        let desk = elsewhere::Desk::new(threads);
        let desk = desk.map_err(|error| of_library(Error::Threads(error)))?;
        Ok(Self(Arc::new(desk)))
    }

    /// Fits for one of so many workers, if any wait.
    fn take<'py>(&self, py: Python<'py>, workers: usize) -> Option<Batch<'py>> {
        let batch = py.detach(|| self.0.take(workers))?;
        let errands = batch.errands.iter().map(|errand| PyBytes::new(py, errand));
        Some((batch.number, errands.collect(), batch.samples))
    }

    /// The samples of a hash; none if no fit needs them any more.
    fn samples<'py>(&self, py: Python<'py>, hash: &str) -> Option<Bound<'py, PyBytes>> {
        let samples = py.detach(|| self.0.samples(hash))?;
        Some(PyBytes::new(py, &samples))
    }

    /// The hashes of all samples that are still needed.
    fn needed(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.needed().into_iter().collect())
    }

    /// The fits of a batch that a worker made.
    fn give(&self, py: Python<'_>, number: u64, records: Vec<PyBackedBytes>) -> PyResult<()> {
        let given = py.detach(|| self.0.give(number, &records));
        given.map_err(PyRuntimeError::new_err)
    }

    /// The worker of a batch is gone: its fits wait again.
    fn lost(&self, py: Python<'_>, number: u64) {
        py.detach(|| self.0.lost(number));
    }

    /// Nobody makes fits any more: whoever waits is told why.
    fn fail(&self, py: Python<'_>, why: &str) {
        py.detach(|| self.0.fail(why));
    }

    /// Waits until fits wait, or so many seconds.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let most = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| self.0.wait(most))
    }
}

/// Makes the fits of a batch on so many threads: what stores keep of each.
#[pyfunction]
pub(crate) fn make_fits<'py>(
    py: Python<'py>,
    errands: Vec<PyBackedBytes>,
    samples: Vec<PyBackedBytes>,
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let made = py.detach(|| {
        let engine = Engine::new(threads).map_err(|error| error.to_string())?;
        elsewhere::make(&errands, &samples, &engine)
    });
    let made = made.map_err(PyRuntimeError::new_err)?;
    Ok(made.iter().map(|record| PyBytes::new(py, record)).collect())
}

/// Runs what a study's directory does not have yet, its fits by the workers of a desk or on so many threads: how far each study is, as
/// JSON, and what a person should know.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the keywords of a Python function"
)]
pub(crate) fn run_study(
    py: Python<'_>,
    protocol: &str,
    out: PathBuf,
    quick: bool,
    data_dir: Option<PathBuf>,
    cache: Option<&str>,
    threads: usize,
    desk: Option<&Desk>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let runner = match desk {
        Some(desk) => desk.runner(),
        None => Runner::of(Engine::new(threads).map_err(|e| of_library(Error::Threads(e)))?),
    };
    let protocol = protocol.to_string();
    let cache = cache.map(str::to_string);
    let ran = beside(py, progress, move |watch| {
        let mut studies = builtin::find(&protocol)?;
        if quick {
            for named in &mut studies {
                named.study = named.study.clone().quick();
            }
        }
        let prepared = Prepared::all(&studies, Shard::WHOLE, data_dir)?;
        let cache = cache.as_deref().map(open).transpose()?;
        let store = Store::create_for(&out, Shard::WHOLE, &*runner)?;
        if let Some(cache) = &cache {
            cache.learn(&store)?;
        }
        let enter = |one| -> Result<Entered<'_>, StudyError> {
            let entered = Prepared::enter(one, &store, &*runner)?;
            Ok(match &cache {
                Some(cache) => entered.with_cache(cache),
                None => entered,
            })
        };
        let entered = prepared.iter().map(enter).collect::<Result<Vec<_>, _>>()?;
        let counts = Progress::default();
        prepared.iter().for_each(|one| one.announce(&counts));
        followed(watch, &counts, |control| {
            // Side by side, so that workers have something to do while the last fits of a study are made.
            runner.threads().install(|| {
                let studies = entered.par_iter().with_max_len(1);
                studies.try_for_each(|one| one.run(control, &counts))
            })
        })?;
        let states = status::status(&store)?;
        let states: Vec<_> = states.iter().map(status::Status::to_json).collect();
        let mut notes: Vec<String> = store.notice().map(str::to_string).into_iter().collect();
        if let Some(cache) = &cache {
            notes.push(format!(
                "{} fits came from the cache {}",
                cache.found(),
                cache.name()
            ));
            notes.extend(
                cache
                    .trouble()
                    .map(|why| format!("the cache did not work: {why}")),
            );
        }
        Ok((serde_json::Value::from(states).to_string(), notes))
    })?;
    ran.map_err(of_study)
}

fn open(named: &str) -> Result<Cache, StudyError> {
    match named.strip_prefix(FILES) {
        Some(folder) => Cache::files(Path::new(folder)),
        None => Cache::database(Path::new(named)),
    }
}

/// Does some work of a study, and tells how far it is and whether to stop.
fn followed<T: Send>(
    watch: &Watch,
    counts: &Progress,
    work: impl FnOnce(&Control) -> T + Send,
) -> T {
    let control = Control::default();
    std::thread::scope(|scope| {
        let (over, wait) = sync_channel::<()>(1);
        let control = &control;
        scope.spawn(move || {
            while wait.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let now = counts.counts();
                let done = now.fits as f64 / now.total.max(1) as f64;
                if watch.hears((done, None, Some(now.found_updates + now.updates))) {
                    control.interrupt();
                }
            }
        });
        let done = work(control);
        drop(over);
        done
    })
}
