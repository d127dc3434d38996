//! Which kernels are compiled, and in which order.

use super::{PATIENCE, Pool, Queue, locked, waited};
use crate::device::Variant;
use crate::plan::{Beside, Plan};
use loopfit_engine::FitSpec;
use std::time::{Duration, Instant};

/// The kernels of a bucket.
pub(super) enum Compiled {
    /// Nobody has looked for them.
    Unknown,
    /// Those of this plan that are not there yet.
    Missing(Box<Plan>, Vec<Variant>),
    /// They are there, for this plan.
    There(Box<Plan>),
}

impl Compiled {
    fn of(plan: Plan, missing: Vec<Variant>) -> Self {
        match missing.is_empty() {
            true => Self::There(Box::new(plan)),
            false => Self::Missing(Box::new(plan), missing),
        }
    }
}

impl Pool {
    /// Kernels of a plan that are not there.
    pub(super) fn missing(&self, plan: &Plan, spec: &FitSpec) -> Vec<Variant> {
        let mut missing = plan.variants_of(spec);
        missing.retain(|variant| !self.device.is_prepared(*variant));
        missing
    }

    /// Looks for the kernels of fits that have waited for others; how long until there are more of them.
    fn look(&self, queue: &mut Queue, now: Instant) -> Option<Duration> {
        let mut wait: Option<Duration> = None;
        for i in 0..queue.buckets.len() {
            let bucket = &queue.buckets[i];
            let since = now.duration_since(bucket.first);
            if !matches!(bucket.kernels, Compiled::Unknown) {
                continue;
            }
            if since < PATIENCE.0 {
                let left = PATIENCE.0 - since;
                wait = Some(wait.map_or(left, |wait| wait.min(left)));
                continue;
            }
            let spec = &bucket.tickets[0].spec;
            let plan = self.plan(spec, bucket.tickets.len(), queue);
            let missing = self.missing(&plan, spec);
            if !self.mixed {
                for all in [1, usize::MAX] {
                    let beside = Beside {
                        all,
                        pays: false,
                        urgent: false,
                    };
                    let plan = Plan::new(spec, beside, self.kernels, &*self.device);
                    for variant in self.missing(&plan, spec) {
                        if !queue.later.contains(&variant) {
                            queue.later.push(variant);
                        }
                    }
                }
            }
            queue.buckets[i].kernels = Compiled::of(plan, missing);
            self.news.notify_all();
        }
        wait
    }

    /// The kernels to compile next: those that the most urgent fits wait for, then those that may be needed later.
    fn wanted(&self, queue: &Queue, now: Instant) -> Option<Variant> {
        let all = self.on_processor(queue);
        let mut urgencies: Vec<(Variant, f64)> = Vec::new();
        for bucket in &queue.buckets {
            let Compiled::Missing(_, missing) = &bucket.kernels else {
                continue;
            };
            // What the processor runs sooner needs no kernels.
            if self.mixed && all <= bucket.on_device(&queue.speeds) {
                continue;
            }
            let urgency = bucket.urgency(&queue.speeds, now);
            for variant in missing.iter().filter(|v| !queue.compiling.contains(v)) {
                match urgencies.iter_mut().find(|(other, _)| other == variant) {
                    Some((_, sum)) => *sum += urgency,
                    None => urgencies.push((*variant, urgency)),
                }
            }
        }
        let most = urgencies.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        // While nothing waits or runs, the end is not to wait for kernels that nobody asked for.
        let idle = queue.buckets.is_empty() && queue.running == 0;
        most.map(|(variant, _)| *variant).or_else(|| {
            if idle {
                return None;
            }
            let mut later = queue.later.iter();
            later.find(|v| !queue.compiling.contains(v)).copied()
        })
    }

    /// Compiles the kernels of what waits, so that nothing on the device waits for that.
    pub(super) fn work_of_compiler(&self) {
        let mut queue = locked(&self.queue);
        while !queue.closed {
            let now = Instant::now();
            let wait = self.look(&mut queue, now);
            let Some(variant) = self.wanted(&queue, now) else {
                queue = waited(&self.news, queue, wait);
                continue;
            };
            queue.compiling.push(variant);
            drop(queue);
            // What cannot be compiled is said by whoever runs the fits.
            let _ = self.device.prepare(variant);
            queue = locked(&self.queue);
            queue.compiling.retain(|other| *other != variant);
            queue.later.retain(|other| *other != variant);
            for bucket in &mut queue.buckets {
                bucket.kernels = match std::mem::replace(&mut bucket.kernels, Compiled::Unknown) {
                    Compiled::Missing(plan, mut missing) => {
                        missing.retain(|other| *other != variant);
                        Compiled::of(*plan, missing)
                    }
                    other => other,
                };
            }
            self.news.notify_all();
        }
    }
}
