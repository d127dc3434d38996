//! The backend: fits of all callers go to a pool, outcomes come back.

use crate::device::{Device, Fault};
use crate::driver::{Gpu, kernels_of};
use crate::plan::{Beside, Kernels, Key, Plan};
use crate::pool::{Call, Pool};
use loopfit_engine::{Backend, Control, Engine, FitOutcome, FitSpec, SpecError, Threads};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Searches beside one another, where nobody says how many: they wait for the GPU.
const SEARCHES: usize = 1024;

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
    /// Threads of this machine, and jobs that ask for fits beside one another; 0 is one for each core, and as many jobs as keep a
    /// GPU busy.
    pub threads: usize,
    /// The folder that compiled kernels are kept in; none keeps none.
    pub cache: Option<PathBuf>,
    /// Whether the processor runs fits that it ends sooner than the GPU, and those that the GPU fails at. Outcomes have the same
    /// bits on both.
    pub mixed: bool,
    /// Which kernels run Adam.
    pub kernels: Kernels,
}

/// Says what the kernels of a plan take.
type Resources = dyn Fn(&Plan) -> Vec<String> + Send + Sync;

/// The backend of an NVIDIA GPU.
pub struct Cuda {
    pool: Arc<Pool>,
    workers: Vec<JoinHandle<()>>,
    threads: Threads,
    model: String,
    mixed: bool,
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
        let gpu = Gpu::new(settings.cache.clone())
            .map_err(|fault| CudaError::Missing(fault.to_string()))?;
        let gpu = Arc::new(gpu);
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
        let model = gpu.model();
        Self::on(Box::new(gpu), model, &settings, Box::new(resources))
    }

    fn on(
        device: Box<dyn Device>,
        model: String,
        settings: &Settings,
        resources: Box<Resources>,
    ) -> Result<Self, CudaError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (asking, working) = match settings.threads {
            0 => (SEARCHES.max(cores), cores),
            threads => (threads, threads.min(cores)),
        };
        let pool = Pool::new(
            device,
            Engine::new(working)?,
            settings.kernels,
            settings.mixed,
        )
        .map_err(|fault| CudaError::Missing(fault.to_string()))?;
        let pool = Arc::new(pool);
        Ok(Self {
            workers: pool.workers(),
            pool,
            threads: Threads::beside_device(working, asking)?,
            model,
            mixed: settings.mixed,
            resources,
        })
    }

    /// A device that stands in for a GPU.
    #[cfg(test)]
    pub(crate) fn with_device(device: Box<dyn Device>, kernels: Kernels, mixed: bool) -> Self {
        let settings = Settings {
            threads: 2,
            kernels,
            mixed,
            ..Settings::default()
        };
        let none = Box::new(|_: &Plan| Vec::new());
        Self::on(device, "emulated".to_string(), &settings, none).expect("a pool")
    }

    /// What the GPU is called.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// How so many fits of a specification run, and nothing else.
    fn plan(&self, spec: &FitSpec, fits: usize) -> Plan {
        let beside = Beside {
            all: fits,
            pays: true,
            urgent: false,
        };
        Plan::new(spec, beside, self.pool.kernels, &*self.pool.device)
    }

    /// Compiles the kernels that run so many fits of a specification, unless they are there.
    pub fn prepare(&self, spec: &FitSpec, fits: usize) -> Result<(), SpecError> {
        let mut variants = self.plan(spec, fits).variants_of(spec).into_iter();
        variants
            .try_for_each(|variant| self.pool.device.prepare(variant))
            .map_err(|fault| self.failed(&fault))
    }

    /// Registers and local memory of the kernels that would run so many fits of a specification, for reports.
    pub fn resources(&self, spec: &FitSpec, fits: usize) -> Vec<String> {
        (self.resources)(&self.plan(spec, fits))
    }

    /// Whether the kernels run such a fit; others run on the processor.
    pub fn can_run(&self, spec: &FitSpec) -> bool {
        Key::of(spec, &*self.pool.device).is_some()
    }

    fn failed(&self, fault: &Fault) -> SpecError {
        SpecError::Backend {
            backend: self.name().to_string(),
            why: fault.to_string(),
        }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        self.pool.close();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

impl Backend for Cuda {
    fn name(&self) -> &str {
        // Who made which fit is not kept: the bits are the same.
        if self.mixed { "cuda+cpu" } else { "cuda" }
    }

    fn bits(&self) -> &str {
        self.pool.processor.bits()
    }

    fn threads(&self) -> &Threads {
        &self.threads
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        FitSpec::check_all(specs)?;
        let call = Arc::new(Call::default());
        self.pool.put(specs, control, &call);
        let mut outcomes: Vec<Option<FitOutcome>> = vec![None; specs.len()];
        let (mut left, mut failed) = (specs.len(), None);
        while left > 0 {
            for (i, outcome) in call.receive() {
                left -= 1;
                match outcome {
                    Ok(outcome) => {
                        finished(i, &outcome);
                        outcomes[i] = Some(outcome);
                    }
                    Err(fault) => failed = Some(fault),
                }
            }
        }
        match failed {
            Some(fault) => Err(self.failed(&fault)),
            None => Ok(outcomes.into_iter().flatten().collect()),
        }
    }
}
