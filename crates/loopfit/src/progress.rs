//! How far a fit is, and how it is cancelled.

use loopfit_engine::Control;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two calls where work does not tell by itself.
const PERIOD: Duration = Duration::from_millis(50);

/// How far a fit is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The part of the work that is done, from 0 to 1.
    pub done: f64,
}

/// A callback.
pub(crate) type Watch<'a> = dyn Fn(Progress) -> ControlFlow<()> + Sync + Send + 'a;

/// Runs `work`, which tells of each part that is done.
pub(crate) fn told<T>(
    watch: Option<&Watch<'_>>,
    control: &Control,
    work: impl FnOnce(&(dyn Fn(f64) + Sync)) -> T,
) -> T {
    let done = Mutex::new(0.0);
    work(&|part| {
        let Some(watch) = watch else { return };
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done = f64::min(*done + part, 1.0);
        if watch(Progress { done: *done }).is_break() {
            control.interrupt();
        }
    })
}

/// Runs `work`, whose updates are counted.
pub(crate) fn counted<T>(
    watch: Option<&Watch<'_>>,
    control: &Control,
    total: u64,
    work: impl FnOnce() -> T,
) -> T {
    let Some(watch) = watch else { return work() };
    let ended = AtomicBool::new(false);
    // Also when the work panics: the thread beside it would be waited for.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let done = (control.updates() as f64 / total.max(1) as f64).min(1.0);
                if watch(Progress { done }).is_break() {
                    control.interrupt();
                }
                std::thread::sleep(PERIOD);
            }
        });
        let _end = End(&ended);
        work()
    })
}
