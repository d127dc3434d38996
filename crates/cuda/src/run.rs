//! Many fits at once: groups beside one another on the device, the rest on the processor.

use crate::device::{Device, Fault};
use crate::driver::{Gpu, kernels_of};
use crate::group::Group;
use crate::plan::{Beside, Kernels, Key, Plan};
use loopfit_engine::{Backend, Control, Engine, FitOutcome, FitSpec, SpecError, Threads};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

/// Groups on the device at the same time.
const GROUPS_AT_ONCE: usize = 32;
/// Parts of a large group, and fits of the smallest.
const PARTS: usize = 4;
const SMALL_PART: usize = 256;
/// Part of the free memory that groups take.
const MEMORY_SHARE: f64 = 0.8;

/// Why there is no GPU to run fits on.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// A driver, a library or a device that is missing.
    #[error("no GPU can be used: {0}")]
    Missing(String),
    /// Threads for the work beside the GPU.
    #[error(transparent)]
    Threads(#[from] SpecError),
}

/// How a GPU is used.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Threads of this machine, for the work beside the fits; 0 is one for each core.
    pub threads: usize,
    /// The folder that compiled kernels are kept in; none keeps none.
    pub cache: Option<PathBuf>,
    /// Whether fits that the GPU fails at run on the processor instead.
    pub fall_back: bool,
    /// Which kernels run Adam.
    pub kernels: Kernels,
}

/// Says what the kernels of a plan take.
type Resources = dyn Fn(&Plan) -> Vec<String> + Send + Sync;

/// The backend of an NVIDIA GPU.
pub struct Cuda {
    device: Box<dyn Device>,
    model: String,
    processor: Engine,
    kernels: Kernels,
    fall_back: bool,
    resources: Box<Resources>,
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cuda")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Cuda {
    /// The first GPU of this machine.
    pub fn new(settings: Settings) -> Result<Self, CudaError> {
        let gpu =
            Gpu::new(settings.cache).map_err(|fault| CudaError::Missing(fault.to_string()))?;
        let gpu = std::sync::Arc::new(gpu);
        let asked = gpu.clone();
        let resources = move |plan: &Plan| {
            let mut lines = Vec::new();
            for variant in plan.variants() {
                for kernel in kernels_of(variant.part) {
                    if let Ok(found) = asked.resources(variant, kernel) {
                        lines.push(format!(
                            "{kernel}: {} registers, {} bytes of local memory, {} threads",
                            found.registers, found.local_bytes, variant.threads
                        ));
                    }
                }
            }
            lines
        };
        Ok(Self {
            model: gpu.model(),
            device: Box::new(gpu),
            processor: Engine::new(settings.threads)?,
            kernels: settings.kernels,
            fall_back: settings.fall_back,
            resources: Box::new(resources),
        })
    }

    /// A device that stands in for a GPU.
    #[cfg(test)]
    pub(crate) fn with_device(device: Box<dyn Device>, kernels: Kernels) -> Self {
        Self {
            device,
            model: "emulated".to_string(),
            processor: Engine::new(2).expect("threads"),
            kernels,
            fall_back: false,
            resources: Box::new(|_| Vec::new()),
        }
    }

    /// What the GPU is called.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Registers and local memory of the kernels that would run so many fits of a specification, for reports.
    pub fn resources(&self, spec: &FitSpec, fits: usize) -> Vec<String> {
        let beside = Beside {
            alike: fits,
            all: fits,
        };
        (self.resources)(&Plan::new(spec, beside, self.kernels, &*self.device))
    }

    /// Whether the kernels run such a fit; others run on the processor.
    pub fn can_run(&self, spec: &FitSpec) -> bool {
        Key::of(spec, &*self.device).is_some()
    }

    fn failed(&self, fault: &Fault) -> SpecError {
        SpecError::Backend {
            backend: self.name().to_string(),
            why: fault.to_string(),
        }
    }

    /// Fits by what they have in common, those with the most work last.
    fn batches<'a>(&self, specs: &'a [FitSpec], device: &[usize], budget: usize) -> Vec<Batch<'a>> {
        let mut numbers: HashMap<Key, usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for i in device {
            if let Some(key) = Key::of(&specs[*i], &*self.device) {
                let number = *numbers.entry(key).or_insert(groups.len());
                if number == groups.len() {
                    groups.push(Vec::new());
                }
                groups[number].push(*i);
            }
        }
        let mut batches = Vec::new();
        for fits in groups {
            // Parts that take turns keep all processors busy while one of them ends its updates or is validated.
            let beside = Beside {
                alike: fits.len(),
                all: device.len(),
            };
            let part = fits.len().div_ceil(PARTS).max(SMALL_PART);
            let mut open: Vec<Vec<usize>> = fits.chunks(part).map(<[usize]>::to_vec).collect();
            while let Some(fits) = open.pop() {
                let batch = Batch::new(specs, fits, beside, self.kernels, &*self.device);
                if batch.bytes > budget && batch.fits.len() > 1 {
                    let (left, right) = batch.fits.split_at(batch.fits.len() / 2);
                    open.extend([left.to_vec(), right.to_vec()]);
                } else {
                    batches.push(batch);
                }
            }
        }
        batches.sort_by_key(|batch| batch.work);
        batches
    }
}

/// Fits that run in step.
struct Batch<'a> {
    beside: Beside,
    fits: Vec<usize>,
    specs: Vec<&'a FitSpec>,
    plan: Plan,
    bytes: usize,
    work: usize,
}

impl<'a> Batch<'a> {
    fn new(
        specs: &'a [FitSpec],
        fits: Vec<usize>,
        beside: Beside,
        kernels: Kernels,
        device: &dyn Device,
    ) -> Self {
        let specs: Vec<&FitSpec> = fits.iter().map(|i| &specs[*i]).collect();
        let plan = Plan::new(specs[0], beside, kernels, device);
        let updates: usize = specs[0].stages.iter().map(|stage| stage.updates).sum();
        Self {
            bytes: Group::bytes(&specs, &plan),
            work: updates * plan.shape.scratch() * plan.shape.r,
            beside,
            fits,
            specs,
            plan,
        }
    }
}

/// What a mutex holds.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > self.budget {
            used = self
                .freed
                .wait(used)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
    }

    fn give(&self, bytes: usize) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.freed.notify_all();
    }
}

impl Backend for Cuda {
    fn name(&self) -> &str {
        "cuda"
    }

    fn bits(&self) -> &str {
        self.processor.bits()
    }

    fn threads(&self) -> &Threads {
        self.processor.threads()
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        specs.iter().try_for_each(FitSpec::check)?;
        let (device, rest): (Vec<usize>, Vec<usize>) =
            (0..specs.len()).partition(|i| self.can_run(&specs[*i]));
        let free = self
            .device
            .free_memory()
            .map_err(|fault| self.failed(&fault))?;
        let budget = (free as f64 * MEMORY_SHARE) as usize;
        let batches = self.batches(specs, &device, budget);
        let workers = batches.len().min(GROUPS_AT_ONCE);
        let queue = Mutex::new(batches);
        let memory = Memory {
            used: Mutex::new(0),
            freed: Condvar::new(),
            budget,
        };
        let outcomes: Mutex<Vec<Option<FitOutcome>>> = Mutex::new(vec![None; specs.len()]);
        let faults: Mutex<Vec<(Fault, Vec<usize>)>> = Mutex::default();
        let work = || {
            loop {
                let next = locked(&queue).pop();
                let Some(batch) = next else { break };
                if !self.fall_back && !locked(&faults).is_empty() {
                    break;
                }
                memory.take(batch.bytes);
                let run = Group::new(&*self.device, batch.specs, batch.plan, control)
                    .and_then(Group::run);
                memory.give(batch.bytes);
                match run {
                    Ok(found) => {
                        for (i, outcome) in batch.fits.into_iter().zip(found) {
                            finished(i, &outcome);
                            locked(&outcomes)[i] = Some(outcome);
                        }
                    }
                    // Others use the GPU as well: half as many fits may have room.
                    Err(Fault::Memory(_)) if batch.fits.len() > 1 => {
                        let (left, right) = batch.fits.split_at(batch.fits.len() / 2);
                        for half in [left, right] {
                            let half = Batch::new(
                                specs,
                                half.to_vec(),
                                batch.beside,
                                self.kernels,
                                &*self.device,
                            );
                            locked(&queue).push(half);
                        }
                    }
                    Err(fault) => locked(&faults).push((fault, batch.fits)),
                }
            }
        };
        let on_processor = |fits: &[usize]| -> Result<(), SpecError> {
            let own: Vec<FitSpec> = fits.iter().map(|i| specs[*i].clone()).collect();
            let ran = self
                .processor
                .run(&own, control, &|i, outcome| finished(fits[i], outcome))?;
            for (i, outcome) in fits.iter().zip(ran) {
                locked(&outcomes)[*i] = Some(outcome);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
            on_processor(&rest)
        })?;
        for (fault, fits) in faults.into_inner().unwrap_or_else(PoisonError::into_inner) {
            match self.fall_back {
                true => on_processor(&fits)?,
                false => return Err(self.failed(&fault)),
            }
        }
        let outcomes = outcomes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let all = outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| unreachable!("every fit ran")));
        Ok(all.collect())
    }
}
