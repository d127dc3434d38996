//! How far a fit is, and how it is cancelled.

use loopfit_engine::Control;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Time between two calls.
const PERIOD: Duration = Duration::from_millis(50);

/// How far a fit is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The part of the work that is done, from 0 to 1.
    pub done: f64,
    /// The lowest validation error so far, where it is known.
    pub best: Option<f64>,
    /// Updates of a stochastic search so far.
    pub updates: Option<u64>,
}

/// A callback.
pub(crate) type Watch<'a> = dyn Fn(Progress) -> ControlFlow<()> + Sync + Send + 'a;

/// What a validation loss means in the units of the data.
type ErrorOf<'a> = &'a (dyn Fn(f64) -> f64 + Sync);

/// Runs `work`, which tells of each part that is done.
pub(crate) fn told<T>(
    watch: Option<&Watch<'_>>,
    control: &Control,
    work: impl FnOnce(&(dyn Fn(f64) + Sync)) -> T,
) -> T {
    const WHOLE: f64 = 1e9;
    let done = AtomicU64::new(0);
    let advance = |part: f64| {
        done.fetch_add((part * WHOLE) as u64, Ordering::Relaxed);
    };
    let now = || Progress {
        done: (done.load(Ordering::Relaxed) as f64 / WHOLE).min(1.0),
        best: None,
        updates: None,
    };
    watched(watch, control, &now, || work(&advance))
}

/// Runs `work`, whose updates are counted.
pub(crate) fn counted<T>(
    watch: Option<&Watch<'_>>,
    control: &Control,
    total: u64,
    error: Option<ErrorOf<'_>>,
    work: impl FnOnce() -> T,
) -> T {
    let now = || Progress {
        done: (control.updates() as f64 / total.max(1) as f64).min(1.0),
        best: error.zip(control.best()).map(|(error, loss)| error(loss)),
        updates: Some(control.updates()),
    };
    watched(watch, control, &now, work)
}

/// Runs `work` while another thread tells how far it is, and asks whether to go on.
fn watched<T>(
    watch: Option<&Watch<'_>>,
    control: &Control,
    now: &(dyn Fn() -> Progress + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let Some(watch) = watch else { return work() };
    let ended = (Mutex::new(false), Condvar::new());
    // Also when the work panics: the thread beside it would be waited for.
    struct End<'a>(&'a (Mutex<bool>, Condvar));
    impl Drop for End<'_> {
        fn drop(&mut self) {
            *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.0.1.notify_all();
        }
    }
    // A callback that panics ends the work, which the panic then goes on from.
    struct Broken<'a>(&'a Control);
    impl Drop for Broken<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.interrupt();
            }
        }
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _broken = Broken(control);
            loop {
                if watch(now()).is_break() {
                    control.interrupt();
                }
                // Work that ends is not kept waiting.
                let over = ended.0.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = ended.1.wait_timeout_while(over, PERIOD, |over| !*over);
                if *waited.unwrap_or_else(PoisonError::into_inner).0 {
                    // How far it came.
                    let _ = watch(now());
                    break;
                }
            }
        });
        let _end = End(&ended);
        work()
    })
}
