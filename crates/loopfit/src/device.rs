//! What runs stochastic fits: the processor, or a GPU where there is one.

use loopfit_engine::{Backend, Engine, SpecError};
use loopfit_numerics::named::Named;
use std::ops::Deref;

/// What runs the fits of a stochastic search. The bits are the same on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// A GPU and the processor beside it, each with the fits that it ends sooner, if there is a GPU that can be used; else the
    /// processor, which also runs what the GPU fails at.
    Auto,
}

impl Named for Device {
    const ALL: &'static [Self] = &[Self::Cpu, Self::Cuda, Self::Auto];

    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Auto => "auto",
        }
    }
}

/// What runs stochastic fits: an engine of a [`Device`], or another one.
pub struct Runner(Box<dyn Backend + Send + Sync>);

impl Runner {
    /// An engine with a number of threads beside it; 0 is one for each core.
    pub fn new(device: Device, threads: usize) -> Result<Self, SpecError> {
        let processor = || Ok(Self(Box::new(Engine::new(threads)?)));
        match device {
            Device::Cpu => processor(),
            Device::Cuda => gpu(threads, false),
            Device::Auto => gpu(threads, true).or_else(|_| processor()),
        }
    }

    /// Another engine, such as one that hands its fits out to other machines.
    pub fn of(backend: impl Backend + Send + 'static) -> Self {
        Self(Box::new(backend))
    }
}

impl Deref for Runner {
    type Target = dyn Backend + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Runner").field(&self.0.name()).finish()
    }
}

#[cfg(feature = "cuda")]
fn gpu(threads: usize, mixed: bool) -> Result<Runner, SpecError> {
    use loopfit_cuda::{Cuda, CudaError, Settings};
    let settings = Settings {
        threads,
        cache: cache(),
        mixed,
        ..Settings::default()
    };
    match Cuda::new(settings) {
        Ok(cuda) => Ok(Runner(Box::new(cuda))),
        Err(CudaError::Threads(error)) => Err(error),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Where compiled kernels are kept: the user's folder for what can be made again.
#[cfg(feature = "cuda")]
fn cache() -> Option<std::path::PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = match named("XDG_CACHE_HOME") {
        Some(folder) => std::path::PathBuf::from(folder),
        None => std::path::PathBuf::from(named("HOME")?).join(".cache"),
    };
    Some(folder.join("loopfit").join("kernels"))
}

#[cfg(not(feature = "cuda"))]
fn gpu(_: usize, _: bool) -> Result<Runner, SpecError> {
    Err(failed(
        "this build has no engine for GPUs, which the feature `cuda` adds".to_string(),
    ))
}

fn failed(why: String) -> SpecError {
    SpecError::Backend {
        backend: Device::Cuda.name().to_string(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gpu_auto_is_the_processor_and_cuda_says_why() {
        let cpu = Runner::new(Device::Cpu, 1).unwrap();
        assert_eq!(cpu.name(), "cpu");
        let auto = Runner::new(Device::Auto, 1).unwrap();
        assert_eq!(auto.bits(), cpu.bits());
        if auto.name() == "cpu" {
            let error = Runner::new(Device::Cuda, 1).unwrap_err().to_string();
            assert!(error.starts_with("the backend cuda failed: "), "{error}");
        }
    }
}
