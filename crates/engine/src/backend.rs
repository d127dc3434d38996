//! Who runs fits: what searches and studies know of an engine.

use crate::fit::FitOutcome;
use crate::run::Control;
use crate::spec::{FitSpec, SpecError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs fits. Searches and studies ask for outcomes of specifications and know nothing else of an engine, so that another one, on
/// another machine or device, is another implementation of this trait.
///
/// An outcome is a pure function of its specification: the same bits whatever else is run beside it, and in which order.
pub trait Backend: Sync {
    /// A short name for records: `cpu`.
    fn name(&self) -> &str;

    /// Which bits the outcomes have. Two backends that say the same promise the same bits for every specification, so that
    /// their fits may stand side by side in one study; a backend whose arithmetic changes says something else from then on.
    fn bits(&self) -> &str;

    /// The threads of this machine, which work beside the fits is done on: samples that are prepared, models that are judged.
    fn threads(&self) -> &Threads;

    /// Checks all specifications, then runs them. `finished(i, outcome)` is called as fits end, in any order and from any
    /// thread; the result is in the order of the specifications. After a stop running fits end soon and the others at their start,
    /// both as [`Stop::Interrupted`](crate::Stop::Interrupted). [`Control::count`] is told of updates on the way.
    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError>;
}

/// A backend that several hold.
impl<B: Backend + Send + ?Sized> Backend for Arc<B> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn bits(&self) -> &str {
        (**self).bits()
    }

    fn threads(&self) -> &Threads {
        (**self).threads()
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        (**self).run(specs, control, finished)
    }
}

/// Most threads that are started: tens of thousands would bring a machine down, and no result depends on their number.
const MOST_THREADS: usize = 1024;

/// A number of threads to work on.
#[derive(Debug)]
pub struct Threads {
    pool: rayon::ThreadPool,
    /// Jobs that ask for fits at the same time, where those wait for another device most of the time.
    waiting: Option<usize>,
}

impl Threads {
    /// So many threads, but no more than a thousand; 0 is one for each core.
    pub fn new(threads: usize) -> Result<Self, SpecError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.min(MOST_THREADS))
            .build()
            .map_err(|e| SpecError::Threads {
                threads,
                why: e.to_string(),
            })?;
        Ok(Self {
            pool,
            waiting: None,
        })
    }

    /// The same beside a device: there `jobs` that ask for fits wait most of the time, each on a thread of its own, and the
    /// threads do what is left to do here.
    pub fn beside_device(threads: usize, jobs: usize) -> Result<Self, SpecError> {
        Ok(Self {
            waiting: Some(jobs.clamp(1, MOST_THREADS)),
            ..Self::new(threads)?
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// How many jobs that ask for fits are done at the same time.
    pub fn jobs(&self) -> usize {
        self.waiting.unwrap_or(self.count())
    }

    /// Does jobs that ask for fits, begun in their order; results are in that order too. After an error no more are begun.
    pub fn each<T: Sync, R: Send, E: Send>(
        &self,
        jobs: &[T],
        work: impl Fn(&T) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new((Vec::with_capacity(jobs.len()), None));
        let go_on = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(i) else { break };
                let result = work(job);
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                match result {
                    Ok(result) => done.0.push((i, result)),
                    Err(error) => {
                        next.store(jobs.len(), Ordering::Relaxed);
                        done.1.get_or_insert(error);
                    }
                }
            }
        };
        let together = self.jobs().min(jobs.len());
        match self.waiting {
            None => self.pool.scope(|scope| {
                (0..together).for_each(|_| scope.spawn(|_| go_on()));
            }),
            // A thread less does no harm: this one goes on too.
            Some(_) => std::thread::scope(|scope| {
                for _ in 1..together {
                    let _ = std::thread::Builder::new().spawn_scoped(scope, go_on);
                }
                go_on();
            }),
        }
        let (mut done, failure) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(i, _)| *i);
        match failure {
            Some(error) => Err(error),
            None => Ok(done.into_iter().map(|(_, result)| result).collect()),
        }
    }

    /// Does parallel work, such as predictions, on these threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On threads for work as on threads that wait: every job once, results in order, or an error.
    #[test]
    fn jobs_are_done_in_order_unless_one_fails() {
        let jobs: Vec<usize> = (0..100).collect();
        for threads in [
            Threads::new(2).unwrap(),
            Threads::beside_device(1, 8).unwrap(),
        ] {
            let doubled = threads.each(&jobs, |i| Ok::<_, ()>(2 * i)).unwrap();
            assert_eq!(doubled, jobs.iter().map(|i| 2 * i).collect::<Vec<_>>());
            let failed = threads.each(&jobs, |i| if *i == 50 { Err("one") } else { Ok(()) });
            assert_eq!(failed, Err("one"));
            assert!(threads.each(&[] as &[usize], |_| Ok::<_, ()>(())).is_ok());
        }
    }

    /// Jobs that wait for one another: those beside a device have a thread each, however few threads work.
    #[test]
    fn jobs_beside_a_device_wait_together() {
        let threads = Threads::beside_device(1, 4).unwrap();
        assert_eq!((threads.count(), threads.jobs()), (1, 4));
        let barrier = std::sync::Barrier::new(4);
        let met = threads.each(&[(); 4], |()| {
            barrier.wait();
            Ok::<_, ()>(())
        });
        assert_eq!(met.unwrap().len(), 4);
    }
}
