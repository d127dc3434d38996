//! Long work beside the interpreter: its lock is free, signals are heard, a callback is told how far the work is.

use loopfit::{Error, Progress, Threads};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time between two looks at signals.
const PERIOD: Duration = Duration::from_millis(50);
/// How long an exception waits for the work to end. Usually it does; what does not goes on to its next look at whether to stop, and
/// touches nothing of the interpreter.
const GRACE: Duration = Duration::from_millis(250);

/// What the thread that works and the one that waits have in common.
#[derive(Default)]
pub(crate) struct Watch {
    stop: AtomicBool,
    now: Mutex<Option<Told>>,
}

/// The part that is done, the best error and the updates so far.
type Told = (f64, Option<f64>, Option<u64>);

impl Watch {
    /// For [`loopfit::Fit::progress`].
    pub(crate) fn follow(&self, now: Progress) -> ControlFlow<()> {
        match self.hears((now.done, now.best, now.updates)) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Takes how far the work is; whether it is to stop.
    pub(crate) fn hears(&self, now: Told) -> bool {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        self.stop.load(Ordering::Relaxed)
    }
}

/// Does `work` on a thread of its own. An exception of a signal's handler or of `progress`, which is called with what is done, the best
/// error and the updates so far, asks the work to end and is raised: at the latest after [`GRACE`], even if the work has not ended yet.
pub(crate) fn beside<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (sender, receiver) = sync_channel(1);
    let own = Arc::clone(&watch);
    // The sender is dropped at the end, also of a panic. Nobody receives what comes too late.
    let worker = move || drop(sender.send(work(&own)));
    let spawned = std::thread::Builder::new().spawn(worker);
    spawned.map_err(|error| PyRuntimeError::new_err(format!("no thread for the work: {error}")))?;
    // Only this thread receives.
    let receiver = Mutex::new(receiver);
    let receive = |time| {
        let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(time)
    };
    loop {
        let done = py.detach(|| receive(PERIOD));
        if let Err(error) = py.check_signals().and_then(|()| watch.tell(progress)) {
            watch.stop.store(true, Ordering::Relaxed);
            if matches!(done, Err(RecvTimeoutError::Timeout)) {
                let _ = py.detach(|| receive(GRACE));
            }
            return Err(error);
        }
        match done {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "the library failed in a way that it should not: please report this",
                ));
            }
        }
    }
}

impl Watch {
    fn tell(&self, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = *self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(progress), Some(now)) = (progress, now) {
            progress.call1(now)?;
        }
        Ok(())
    }
}

/// Threads for predictions: made once, and again in a process that was forked, where they are not.
static THREADS: Mutex<Option<(u32, usize, Arc<Threads>)>> = Mutex::new(None);

/// So many threads for predictions; 0 is one for each core.
pub(crate) fn threads(count: usize) -> Result<Arc<Threads>, Error> {
    let own = std::process::id();
    let mut kept = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((process, asked, threads)) = &*kept
        && (*process, *asked) == (own, count)
    {
        return Ok(Arc::clone(threads));
    }
    let threads = Arc::new(Threads::new(count)?);
    if let Some((process, _, old)) = kept.replace((own, count, Arc::clone(&threads)))
        && process != own
    {
        // Its threads are those of the parent: there is no one to end.
        std::mem::forget(old);
    }
    Ok(threads)
}
