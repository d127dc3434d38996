//! Fits that wait for a place to run: those of all callers together, so that alike ones run in step whoever asked for them.

mod compiling;

use self::compiling::Compiled;
use crate::cost::{Cost, Speeds};
use crate::device::{Device, Fault, Variant};
use crate::group::Group;
use crate::placed::Placed;
use crate::plan::{Beside, Kernels, Key, Plan};
use loopfit_engine::{Backend, Control, Engine, FitOutcome, FitSpec};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Groups on the device at the same time, and those of them that are not light: these fill it, and light ones, whose searches
/// have many rounds, go through beside them.
const GROUPS_AT_ONCE: usize = 32;
const HEAVY_AT_ONCE: usize = 24;
/// Parts of a large group, and fits of the smallest: parts that take turns keep all processors of the device busy while one of
/// them ends its updates or is validated.
const PARTS: usize = 4;
const SMALL_PART: usize = 256;
/// Part of the free memory that groups take.
const MEMORY_SHARE: f64 = 0.8;
/// How long fits wait for others that are alike: at least, at most, and as a part of the time that they will take.
const PATIENCE: (Duration, Duration, f64) =
    (Duration::from_millis(3), Duration::from_secs(1), 0.05);

/// What a mutex holds.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn waited<'a, T>(
    condition: &Condvar,
    guard: MutexGuard<'a, T>,
    most: Option<Duration>,
) -> MutexGuard<'a, T> {
    match most {
        None => condition
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner),
        Some(most) => {
            condition
                .wait_timeout(guard, most)
                .unwrap_or_else(PoisonError::into_inner)
                .0
        }
    }
}

/// Where the outcomes of one caller's fits arrive.
#[derive(Default)]
pub(crate) struct Call {
    arrived: Mutex<Vec<(usize, Result<FitOutcome, Fault>)>>,
    news: Condvar,
}

impl Call {
    fn deliver(&self, number: usize, outcome: Result<FitOutcome, Fault>) {
        locked(&self.arrived).push((number, outcome));
        self.news.notify_one();
    }

    /// Waits for outcomes.
    pub(crate) fn receive(&self) -> Vec<(usize, Result<FitOutcome, Fault>)> {
        let mut arrived = locked(&self.arrived);
        while arrived.is_empty() {
            arrived = waited(&self.news, arrived, None);
        }
        std::mem::take(&mut *arrived)
    }
}

/// A fit and who waits for it.
struct Ticket {
    call: Option<Arc<Call>>,
    number: usize,
    spec: FitSpec,
}

impl Ticket {
    fn deliver(mut self, outcome: Result<FitOutcome, Fault>) {
        if let Some(call) = self.call.take() {
            call.deliver(self.number, outcome);
        }
    }
}

impl Drop for Ticket {
    /// Nobody waits for ever: not even if the thread that had the ticket is lost.
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            let lost = Fault::Other("a thread that ran fits was lost".to_string());
            call.deliver(self.number, Err(lost));
        }
    }
}

/// Fits that can run in step.
struct Bucket {
    key: Key,
    control: Control,
    cost: Cost,
    kernels: Compiled,
    tickets: Vec<Ticket>,
    /// How many parts the fits that are left go in.
    parts: usize,
    first: Instant,
    last: Instant,
}

impl Bucket {
    /// Seconds that the device takes for all of them.
    fn on_device(&self, speeds: &Speeds) -> f64 {
        // Before somebody has looked, they may well be there from runs before.
        let compiled = !matches!(self.kernels, Compiled::Missing(..));
        speeds.on_device(&self.cost, self.tickets.len(), compiled)
    }

    /// How many of them go together.
    fn part(&self) -> usize {
        let all = self.tickets.len();
        all.div_ceil(self.parts).max(SMALL_PART).min(all)
    }

    /// What comes first: who has waited longest, and what takes long has waited so much longer, since nothing should be left alone at
    /// the end.
    fn urgency(&self, speeds: &Speeds, now: Instant) -> f64 {
        let age = now.duration_since(self.first).as_secs_f64();
        age + speeds.on_device(&self.cost, self.tickets.len(), true)
    }
}

#[derive(Default)]
struct Queue {
    buckets: Vec<Bucket>,
    /// What the device cannot run.
    rest: VecDeque<(Ticket, Control)>,
    /// Fits on the device, and groups of them.
    running: usize,
    groups: usize,
    heavy: usize,
    /// Threads that have nothing to do for the processor.
    idle: usize,
    /// Kernels that a thread compiles, and those that fits of shapes that were here may need later, when fewer or more run.
    compiling: Vec<Variant>,
    later: Vec<Variant>,
    speeds: Speeds,
    closed: bool,
}

/// Who uses how much of the device's memory.
struct Memory {
    used: Mutex<usize>,
    freed: Condvar,
    budget: usize,
}

impl Memory {
    /// Waits until there is room, or nobody else is there.
    fn take(&self, bytes: usize) {
        let mut used = locked(&self.used);
        while *used > 0 && *used + bytes > self.budget {
            used = waited(&self.freed, used, None);
        }
        *used += bytes;
    }

    fn give(&self, bytes: usize) {
        *locked(&self.used) -= bytes;
        self.freed.notify_all();
    }
}

/// A device and a processor with what they have to do.
pub(crate) struct Pool {
    pub(crate) device: Box<dyn Device>,
    pub(crate) processor: Engine,
    pub(crate) kernels: Kernels,
    /// Whether the processor runs what it ends sooner, and what the device fails at.
    mixed: bool,
    memory: Memory,
    queue: Mutex<Queue>,
    news: Condvar,
}

impl Pool {
    pub(crate) fn new(
        device: Box<dyn Device>,
        processor: Engine,
        kernels: Kernels,
        mixed: bool,
    ) -> Result<Self, Fault> {
        let budget = (device.free_memory()? as f64 * MEMORY_SHARE) as usize;
        let memory = Memory {
            used: Mutex::new(0),
            freed: Condvar::new(),
            budget,
        };
        Ok(Self {
            device,
            processor,
            kernels,
            mixed,
            memory,
            queue: Mutex::default(),
            news: Condvar::new(),
        })
    }

    /// Threads that work until the pool is closed.
    pub(crate) fn workers(self: &Arc<Self>) -> Vec<std::thread::JoinHandle<()>> {
        let spawn = |work: fn(&Self)| {
            let pool = self.clone();
            std::thread::spawn(move || work(&pool))
        };
        let cores = self.processor.threads().count();
        let device = (0..GROUPS_AT_ONCE).map(|_| spawn(Self::work_of_device));
        let compilers = (0..cores).map(|_| spawn(Self::work_of_compiler));
        let processor = (0..cores).map(|_| spawn(Self::work_of_processor));
        device.chain(compilers).chain(processor).collect()
    }

    /// Sends the workers home once they have ended what they are at.
    pub(crate) fn close(&self) {
        locked(&self.queue).closed = true;
        self.news.notify_all();
    }

    /// Puts fits of a caller into the queue.
    pub(crate) fn put(&self, specs: &[FitSpec], control: &Control, call: &Arc<Call>) {
        let keys: Vec<Option<Key>> = specs
            .iter()
            .map(|spec| Key::of(spec, &*self.device))
            .collect();
        let now = Instant::now();
        let mut queue = locked(&self.queue);
        for (number, (spec, key)) in specs.iter().zip(keys).enumerate() {
            let ticket = Ticket {
                call: Some(call.clone()),
                number,
                spec: spec.clone(),
            };
            let Some(key) = key else {
                queue.rest.push_back((ticket, control.clone()));
                continue;
            };
            let mut buckets = queue.buckets.iter_mut();
            match buckets.find(|b| b.key == key && b.control.is(control)) {
                Some(bucket) => {
                    bucket.tickets.push(ticket);
                    bucket.last = now;
                    bucket.parts = PARTS;
                }
                None => queue.buckets.push(Bucket {
                    cost: Cost::of(spec),
                    kernels: Compiled::Unknown,
                    key,
                    control: control.clone(),
                    tickets: vec![ticket],
                    parts: PARTS,
                    first: now,
                    last: now,
                }),
            }
        }
        drop(queue);
        self.news.notify_all();
    }

    /// The best plan for the fits of a bucket whose kernels are there.
    fn ready_plan(&self, bucket: &Bucket, queue: &Queue) -> Plan {
        let spec = &bucket.tickets[0].spec;
        let plan = self.plan(spec, bucket.tickets.len(), queue);
        match &bucket.kernels {
            Compiled::There(known) if !self.missing(&plan, spec).is_empty() => (**known).clone(),
            _ => plan,
        }
    }

    fn plan(&self, spec: &FitSpec, alike: usize, queue: &Queue) -> Plan {
        let waiting: usize = queue.buckets.iter().map(|b| b.tickets.len()).sum();
        let (all, groups) = (
            queue.running + waiting.max(alike),
            queue.groups + queue.buckets.len(),
        );
        let cost = Cost::of(spec);
        let beside = Beside {
            // No more groups run at once than there is room for.
            all: match groups > GROUPS_AT_ONCE {
                true => (all * GROUPS_AT_ONCE / groups).max(alike),
                false => all,
            },
            pays: cost.pays_own_kernels(alike, self.processor.threads().count()),
            urgent: cost.is_light(alike),
        };
        Plan::new(spec, beside, self.kernels, &*self.device)
    }

    /// The bucket whose fits the device should run next, or how long to wait for one.
    fn choose(&self, queue: &Queue) -> Result<usize, Option<Duration>> {
        let now = Instant::now();
        let all = self.on_processor(queue);
        let (mut best, mut wait): (Option<(f64, usize)>, Option<Duration>) = (None, None);
        for (i, bucket) in queue.buckets.iter().enumerate() {
            if !matches!(bucket.kernels, Compiled::There(_)) {
                continue;
            }
            let light = bucket.cost.is_light(bucket.part());
            if !light && queue.heavy >= HEAVY_AT_ONCE {
                continue;
            }
            let seconds = bucket.on_device(&queue.speeds);
            if self.mixed && queue.idle > 0 && all < seconds {
                continue;
            }
            let (least, most, share) = PATIENCE;
            let patience = match queue.running {
                0 => least,
                _ => Duration::from_secs_f64(seconds * share).clamp(least, most),
            };
            let ready = (bucket.last + patience).min(bucket.first + 4 * patience);
            if ready > now {
                let left = ready - now;
                wait = Some(wait.map_or(left, |wait| wait.min(left)));
                continue;
            }
            let urgency = bucket.urgency(&queue.speeds, now);
            if best.is_none_or(|(other, _)| urgency > other) {
                best = Some((urgency, i));
            }
        }
        best.map(|(_, i)| i).ok_or(wait)
    }

    /// Seconds that the processor would take for all that waits.
    fn on_processor(&self, queue: &Queue) -> f64 {
        let cores = self.processor.threads().count();
        let buckets = queue.buckets.iter();
        let seconds = buckets.map(|b| queue.speeds.on_processor(&b.cost, b.tickets.len(), cores));
        seconds.sum()
    }

    fn work_of_device(&self) {
        let mut queue = locked(&self.queue);
        while !queue.closed {
            let chosen = match self.choose(&queue) {
                Ok(chosen) => chosen,
                Err(wait) => {
                    queue = waited(&self.news, queue, wait);
                    continue;
                }
            };
            let bucket = &queue.buckets[chosen];
            let (all, part) = (bucket.tickets.len(), bucket.part());
            let heavy = usize::from(!bucket.cost.is_light(part));
            let plan = self.ready_plan(bucket, &queue);
            let bucket = &mut queue.buckets[chosen];
            bucket.parts = (bucket.parts - 1).max(1);
            let tickets: Vec<Ticket> = bucket.tickets.drain(..part).collect();
            let (control, cost) = (bucket.control.clone(), bucket.cost);
            if bucket.tickets.is_empty() {
                queue.buckets.swap_remove(chosen);
            }
            let alone = queue.running == 0 && part == all;
            queue.running += part;
            queue.groups += 1;
            queue.heavy += heavy;
            drop(queue);
            let begin = Instant::now();
            let stopped = self.run_in_step(tickets, &plan, &control);
            let seconds = begin.elapsed().as_secs_f64();
            queue = locked(&self.queue);
            queue.running -= part;
            queue.groups -= 1;
            queue.heavy -= heavy;
            if alone && !stopped {
                queue.speeds.saw_device(&cost, part, seconds);
            }
            self.news.notify_all();
        }
    }

    /// Leaves fits to the processor.
    fn leave(&self, tickets: Vec<Ticket>, control: &Control) {
        let left = tickets.into_iter().map(|ticket| (ticket, control.clone()));
        locked(&self.queue).rest.extend(left);
        self.news.notify_all();
    }

    /// Runs fits in step, in halves where the memory has no room for all; whether they were stopped.
    fn run_in_step(&self, mut tickets: Vec<Ticket>, plan: &Plan, control: &Control) -> bool {
        if control.is_stopped() {
            // The processor ends them at once, without kernels.
            self.leave(tickets, control);
            return true;
        }
        let specs: Vec<&FitSpec> = tickets.iter().map(|t| &t.spec).collect();
        let bytes = Placed::bytes(&specs, plan);
        let run = match bytes > self.memory.budget && tickets.len() > 1 {
            true => Err(Fault::Memory(bytes >> 20)),
            false => {
                self.memory.take(bytes);
                let run =
                    Group::new(&*self.device, specs, plan.clone(), control).and_then(Group::run);
                self.memory.give(bytes);
                run
            }
        };
        match run {
            Ok(found) => {
                for (ticket, outcome) in tickets.into_iter().zip(found) {
                    ticket.deliver(Ok(outcome));
                }
            }
            // Others use the device as well: half as many fits may have room.
            Err(Fault::Memory(_)) if tickets.len() > 1 => {
                let half = tickets.split_off(tickets.len() / 2);
                self.run_in_step(tickets, plan, control);
                self.run_in_step(half, plan, control);
            }
            Err(_) if self.mixed => self.leave(tickets, control),
            Err(fault) => {
                for ticket in tickets {
                    ticket.deliver(Err(fault.clone()));
                }
            }
        }
        control.is_stopped()
    }

    /// The next fit for the processor: what the device cannot run or need not any more, else of those that it ends before the
    /// device would one of the fits that end sooner by most with all of them here.
    fn next(&self, queue: &mut Queue) -> Option<(Ticket, Control)> {
        if let Some(next) = queue.rest.pop_front() {
            return Some(next);
        }
        let (speeds, cores) = (&queue.speeds, self.processor.threads().count());
        let on_device = |bucket: &Bucket| bucket.on_device(speeds);
        let before = queue.buckets.iter().map(on_device).sum::<f64>() / GROUPS_AT_ONCE as f64;
        let mut best: Option<(f64, usize)> = None;
        for (i, bucket) in queue.buckets.iter().enumerate() {
            let own = |fits: usize| speeds.on_processor(&bucket.cost, fits, cores);
            let device = on_device(bucket);
            let wanted = self.mixed && own(1) < before + device || bucket.control.is_stopped();
            let sooner = device - own(bucket.tickets.len());
            if wanted && best.is_none_or(|(other, _)| sooner > other) {
                best = Some((sooner, i));
            }
        }
        let (_, i) = best?;
        let bucket = &mut queue.buckets[i];
        let ticket = bucket.tickets.pop()?;
        let control = bucket.control.clone();
        if bucket.tickets.is_empty() {
            queue.buckets.swap_remove(i);
        }
        Some((ticket, control))
    }

    fn work_of_processor(&self) {
        let mut queue = locked(&self.queue);
        while !queue.closed {
            let Some((ticket, control)) = self.next(&mut queue) else {
                queue.idle += 1;
                queue = waited(&self.news, queue, None);
                queue.idle -= 1;
                continue;
            };
            drop(queue);
            let run = self
                .processor
                .run(std::slice::from_ref(&ticket.spec), &control, &|_, _| {});
            let outcome = match run.map(|mut outcomes| outcomes.pop()) {
                Ok(Some(outcome)) => Ok(outcome),
                Ok(None) => Err(Fault::Other("the processor returned nothing".to_string())),
                Err(error) => Err(Fault::Other(error.to_string())),
            };
            queue = locked(&self.queue);
            if let Ok(outcome) = &outcome {
                queue.speeds.saw_processor(&Cost::of(&ticket.spec), outcome);
            }
            ticket.deliver(outcome);
        }
    }
}
