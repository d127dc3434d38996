//! Fits that are made elsewhere: a backend that hands them out in batches, each fit by its hash, and takes back what stores keep of
//! them.
//!
//! Searches and studies ask a [`Desk`] as they ask any other [`Backend`]. Whoever has workers takes batches from it
//! ([`Desk::take`]), has them made where it likes ([`make`]), and brings the records back ([`Desk::give`]) or says that a worker is
//! gone ([`Desk::lost`]), whose fits are handed out again. A record is believed if its checksum is right and it is of the
//! specification that was handed out and of the same bits; so what comes back is what this machine would have made.

mod errand;

use crate::cache::{key, record};
use crate::cost;
use crate::described::Describer;
use crate::store::StoredFit;
use loopfit_engine::{Backend, Control, Engine, FitOutcome, FitSpec, SpecError, Threads};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a fit is handed out again before the work fails: what kills its worker each time would go on for ever.
const MOST_LOST: usize = 4;
/// Predicted seconds of a batch: enough that handing it out costs little beside, and no more than is quickly made again. A fit that
/// takes longer is a batch of its own.
const BATCH: (f64, f64) = (0.05, 2.0);
/// Batches for each worker that the fits which are waiting are dealt into.
const BATCHES_FOR_A_WORKER: f64 = 2.0;
/// Time between two looks at whether to stop.
const PERIOD: Duration = Duration::from_millis(50);

/// Some fits to be made elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What its maker or [`Desk::lost`] names it by.
    pub number: u64,
    /// The fits, as [`make`] reads them.
    pub errands: Vec<Vec<u8>>,
    /// The hashes of the samples that they need, each once: [`Desk::samples`] has them.
    pub samples: Vec<String>,
}

/// Hands fits out and takes them back.
pub struct Desk {
    /// The threads of this machine; it makes no fit, but says what one that is stopped before it begins is.
    engine: Engine,
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    /// Every fit that somebody waits for, once, by its hash.
    fits: HashMap<String, Asked>,
    /// Those that nobody makes.
    queue: VecDeque<String>,
    /// Those of each batch that somebody makes.
    away: HashMap<u64, Vec<String>>,
    /// Numbers of batches and of those who wait.
    next: u64,
    failure: Option<String>,
}

/// A fit that was asked for.
struct Asked {
    spec: FitSpec,
    described: String,
    samples: [String; 2],
    /// Predicted seconds.
    cost: f64,
    lost: usize,
    waiting: Vec<Waiting>,
}

/// One who waits for a fit, the `index`-th of those that it asked for.
struct Waiting {
    who: u64,
    index: usize,
    tell: Sender<(usize, FitOutcome)>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Desk")
            .field("waiting", &state.queue.len())
            .field("away", &state.away.len())
            .finish_non_exhaustive()
    }
}

impl Desk {
    /// A desk with so many threads of this machine, on which samples are prepared and models judged: as many searches or tasks of a
    /// study wait for their fits at once.
    pub fn new(threads: usize) -> Result<Self, SpecError> {
        Ok(Self {
            engine: Engine::new(threads)?,
            state: Mutex::default(),
            news: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some of the fits that wait, for one of so many workers: about the predicted cost of its part, and of a second or two at most.
    pub fn take(&self, workers: usize) -> Option<Batch> {
        let mut guard = self.state();
        let state = &mut *guard;
        // Nobody waits any more for those that are not there.
        state.queue.retain(|key| state.fits.contains_key(key));
        let cost = |key: &String| state.fits.get(key).map_or(0.0, |fit| fit.cost);
        let all: f64 = state.queue.iter().map(cost).sum();
        let part = all / (BATCHES_FOR_A_WORKER * workers.max(1) as f64);
        let most = part.clamp(BATCH.0, BATCH.1);
        let (mut sum, mut count) = (0.0, 0);
        for key in &state.queue {
            sum += cost(key);
            if count > 0 && sum > most {
                break;
            }
            count += 1;
        }
        let keys: Vec<String> = state.queue.drain(..count).collect();
        if keys.is_empty() {
            return None;
        }
        let fits = || keys.iter().filter_map(|key| state.fits.get(key));
        let errands = fits().map(|fit| errand::write(&fit.spec, &fit.described));
        let samples: BTreeSet<&String> = fits().flat_map(|fit| &fit.samples).collect();
        let batch = Batch {
            number: state.next,
            errands: errands.collect(),
            samples: samples.into_iter().cloned().collect(),
        };
        state.next += 1;
        state.away.insert(batch.number, keys);
        Some(batch)
    }

    /// The samples of a hash, as [`make`] reads them; none if no fit needs them any more.
    pub fn samples(&self, hash: &str) -> Option<Vec<u8>> {
        let samples = self.state().fits.values().find_map(|fit| {
            let own = [&fit.spec.train, &fit.spec.valid].into_iter();
            let mut own = own.zip(&fit.samples);
            own.find_map(|(samples, known)| (known == hash).then(|| samples.clone()))
        })?;
        Some(errand::write_samples(&samples))
    }

    /// The hashes of all samples that fits need, which are waiting or away.
    pub fn needed(&self) -> BTreeSet<String> {
        let state = self.state();
        let all = state.fits.values().flat_map(|fit| &fit.samples);
        all.cloned().collect()
    }

    /// Takes the records of a batch, in the order of its errands. One that was given or lost before is not looked at.
    pub fn give<T: AsRef<[u8]>>(&self, number: u64, records: &[T]) -> Result<(), String> {
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(keys) = state.away.get(&number) else {
            return Ok(());
        };
        if keys.len() != records.len() {
            return Err(format!(
                "a worker made {} of {} fits",
                records.len(),
                keys.len()
            ));
        }
        let mut made = Vec::new();
        for (key, bytes) in keys.iter().zip(records) {
            if let Some(fit) = state.fits.get(key) {
                let read = record::read(bytes.as_ref(), &fit.described, self.engine.bits());
                made.push((key.clone(), read.ok_or_else(foreign)?));
            }
        }
        state.away.remove(&number);
        for (key, stored) in made {
            for waiting in state
                .fits
                .remove(&key)
                .into_iter()
                .flat_map(|fit| fit.waiting)
            {
                // Who no longer listens has been told to stop.
                let _ = waiting.tell.send((waiting.index, stored.outcome.clone()));
            }
        }
        drop(guard);
        self.news.notify_all();
        Ok(())
    }

    /// The worker that made a batch is gone: its fits are the next to be handed out. What is lost too often ends the work.
    pub fn lost(&self, number: u64) {
        let mut guard = self.state();
        let state = &mut *guard;
        for key in state.away.remove(&number).into_iter().flatten().rev() {
            let Some(fit) = state.fits.get_mut(&key) else {
                continue;
            };
            fit.lost += 1;
            if fit.lost > MOST_LOST {
                let times = fit.lost;
                state.failure.get_or_insert_with(|| {
                    format!("a fit was lost with its worker {times} times: look why workers die (out of memory?), then go on")
                });
            }
            state.queue.push_front(key);
        }
        drop(guard);
        self.news.notify_all();
    }

    /// Ends the work that waits, and all that will: nobody makes fits any more.
    pub fn fail(&self, why: &str) {
        self.state().failure.get_or_insert_with(|| why.to_string());
        self.news.notify_all();
    }

    /// Waits until there is something to take, or no longer than this; whether there is.
    pub fn wait(&self, at_most: Duration) -> bool {
        let state = self.state();
        let empty = |state: &mut State| state.queue.is_empty() && state.failure.is_none();
        let waited = self.news.wait_timeout_while(state, at_most, empty);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.queue.is_empty()
    }

    /// Puts fits into the queue, those that are there already once; the number of the one who waits.
    fn ask(&self, specs: &[FitSpec], tell: &Sender<(usize, FitOutcome)>) -> u64 {
        let describer = Describer::default();
        let described = |spec: &FitSpec| {
            let text = describer.describe(spec);
            let samples = [&spec.train, &spec.valid].map(|s| describer.hash(s));
            (text, samples)
        };
        let described: Vec<_> = specs.iter().map(described).collect();
        let mut guard = self.state();
        let state = &mut *guard;
        let who = state.next;
        state.next += 1;
        for (index, (spec, (text, samples))) in specs.iter().zip(described).enumerate() {
            let key = key(&text, self.engine.bits());
            let fit = state.fits.entry(key.clone()).or_insert_with(|| {
                state.queue.push_back(key);
                Asked {
                    cost: cost::of_fit(spec),
                    spec: spec.clone(),
                    described: text,
                    samples,
                    lost: 0,
                    waiting: Vec::new(),
                }
            });
            fit.waiting.push(Waiting {
                who,
                index,
                tell: tell.clone(),
            });
        }
        drop(guard);
        self.news.notify_all();
        who
    }

    /// One who asked waits no more; fits that nobody waits for are forgotten.
    fn withdraw(&self, who: u64) {
        self.state().fits.retain(|_, fit| {
            fit.waiting.retain(|waiting| waiting.who != who);
            !fit.waiting.is_empty()
        });
    }

    fn failure(&self) -> Option<SpecError> {
        let why = self.state().failure.clone()?;
        Some(SpecError::Backend {
            backend: "of workers".to_string(),
            why,
        })
    }
}

fn foreign() -> String {
    "a worker gave back what is not the fit that it was asked for: it may have another version of loopfit".to_string()
}

impl Backend for Desk {
    fn name(&self) -> &str {
        self.engine.name()
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
        FitSpec::check_all(specs)?;
        let (tell, told) = channel();
        let who = self.ask(specs, &tell);
        let mut outcomes: Vec<Option<FitOutcome>> = vec![None; specs.len()];
        let mut missing = specs.len();
        let mut failure = None;
        while missing > 0 && failure.is_none() && !control.is_stopped() {
            match told.recv_timeout(PERIOD) {
                Ok((index, outcome)) => {
                    control.count(outcome.updates);
                    finished(index, &outcome);
                    outcomes[index] = Some(outcome);
                    missing -= 1;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    failure = self.failure();
                }
            }
        }
        self.withdraw(who);
        if let Some(failure) = failure {
            return Err(failure);
        }
        // After a stop: as if each had been stopped at its start.
        let late: Vec<usize> = (0..specs.len())
            .filter(|i| outcomes[*i].is_none())
            .collect();
        let rest: Vec<FitSpec> = late.iter().map(|i| specs[*i].clone()).collect();
        let ended = self
            .engine
            .run(&rest, control, &|at, outcome| finished(late[at], outcome))?;
        for (index, outcome) in late.into_iter().zip(ended) {
            outcomes[index] = Some(outcome);
        }
        Ok(outcomes.into_iter().flatten().collect())
    }
}

/// Makes the fits of a batch: what stores keep of each, in the order of the errands.
pub fn make<E: AsRef<[u8]>, S: AsRef<[u8]>>(
    errands: &[E],
    samples: &[S],
    backend: &dyn Backend,
) -> Result<Vec<Vec<u8>>, String> {
    let samples = errand::read_samples(samples)?;
    let describer = Describer::default();
    let read = |errand: &E| errand::read(errand.as_ref(), &samples, &describer);
    let asked = errands.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let (specs, texts): (Vec<FitSpec>, Vec<String>) = asked.into_iter().unzip();
    let outcomes = backend
        .run(&specs, &Control::default(), &|_, _| ())
        .map_err(|error| error.to_string())?;
    let records = specs.iter().zip(texts).zip(outcomes);
    let write = |((spec, text), outcome): ((&FitSpec, String), FitOutcome)| {
        record::write(&StoredFit {
            method: spec.network.tying().method().key().to_string(),
            spec: text,
            backend: backend.name().to_string(),
            bits: backend.bits().to_string(),
            outcome,
        })
    };
    Ok(records.map(write).collect())
}
