//! An NVIDIA GPU: the driver and NVRTC are loaded at run time, kernels are compiled once and kept on disk.

use crate::device::{Device, Fault, Grid, Part, Variant};
use crate::layout::{Address, Launch};
use crate::source::{Side, source};
use cudarc::driver::{result, sys};
use cudarc::nvrtc;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How many queues of work the GPU has, where nobody says otherwise: as many as groups of fits, which would wait for one another
/// in the usual eight.
const CONNECTIONS: (&str, &str) = ("CUDA_DEVICE_MAX_CONNECTIONS", "32");

/// The first GPU of this machine.
pub(crate) struct Gpu {
    device: sys::CUdevice,
    context: sys::CUcontext,
    architecture: (i32, i32),
    processors: usize,
    shared_limit: usize,
    /// Where its memory comes from.
    pool: sys::CUmemoryPool,
    cache: Option<PathBuf>,
    /// The text of the kernels, and the hash of it and of what compiles it.
    text: String,
    text_hash: Sha256,
    modules: Mutex<HashMap<Variant, Slot>>,
}

/// Kernels that one thread compiles while others wait for them.
type Slot = Arc<OnceLock<Result<Module, Fault>>>;

/// Loaded kernels, by name.
#[derive(Clone)]
struct Module {
    kernels: Vec<(&'static str, sys::CUfunction)>,
}

// SAFETY: handles of the driver are numbers to it; it allows their use from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}
// SAFETY: as above; what changes is behind a mutex.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

/// Registers and spilled bytes of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources {
    pub(crate) registers: i32,
    pub(crate) local_bytes: i32,
}

fn driver(what: &str) -> impl Fn(result::DriverError) -> Fault {
    move |e| {
        let text = e.error_string().ok().and_then(|text| text.to_str().ok());
        Fault::Other(format!("{what}: {}", text.unwrap_or("unknown error")))
    }
}

impl Gpu {
    /// The first GPU; compiled kernels are kept in `cache`.
    pub(crate) fn new(cache: Option<PathBuf>) -> Result<Self, Fault> {
        // SAFETY: loads a library of the system, whose initialiser is the driver's.
        if !unsafe { sys::is_culib_present() } {
            return Err(Fault::Other(
                "there is no NVIDIA driver (libcuda) on this machine".to_string(),
            ));
        }
        // SAFETY: loads a library of the system.
        if !unsafe { nvrtc::sys::is_culib_present() } {
            return Err(Fault::Other(
                "NVRTC (libnvrtc), which compiles the kernels, is not on this machine; install the CUDA toolkit".to_string(),
            ));
        }
        if std::env::var_os(CONNECTIONS.0).is_none() {
            // SAFETY: nothing of this process reads or writes its environment in another thread while it gets its GPU.
            unsafe { std::env::set_var(CONNECTIONS.0, CONNECTIONS.1) };
        }
        result::init().map_err(driver("the NVIDIA driver does not start"))?;
        let device = result::device::get(0).map_err(driver("there is no GPU"))?;
        let attribute = |attribute| {
            // SAFETY: the device was given by the driver.
            unsafe { result::device::get_attribute(device, attribute) }
                .map_err(driver("the GPU does not say what it is"))
        };
        use sys::CUdevice_attribute as A;
        let architecture = (
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let processors = attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize;
        let shared_limit =
            attribute(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize;
        // SAFETY: the device was given by the driver; threads that wait leave the processor to others.
        let context = unsafe {
            let _ = sys::cuDevicePrimaryCtxSetFlags_v2(
                device,
                sys::CUctx_flags_enum::CU_CTX_SCHED_BLOCKING_SYNC as u32,
            );
            result::primary_ctx::retain(device)
        }
        .map_err(driver("the GPU cannot be used"))?;
        // Memory that was given back is kept for the next fits.
        let mut pool = std::ptr::null_mut();
        let mut kept = u64::MAX;
        let threshold = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the device was given by the driver; the attribute is a number of 64 bits.
        unsafe {
            sys::cuDeviceGetDefaultMemPool(&mut pool, device)
                .result()
                .and_then(|()| {
                    sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut kept).cast()).result()
                })
        }
        .map_err(|e| {
            // SAFETY: retained above; nothing of it is used.
            let _ = unsafe { result::primary_ctx::release(device) };
            driver("the GPU has no pool of memory")(e)
        })?;
        let text = source(Side::Device);
        let mut text_hash = Sha256::new();
        text_hash.update(&text);
        text_hash.update(nvrtc_version());
        Ok(Self {
            text,
            text_hash,
            device,
            context,
            pool,
            architecture,
            processors,
            shared_limit,
            cache,
            modules: Mutex::default(),
        })
    }

    /// What the GPU is called.
    pub(crate) fn model(&self) -> String {
        result::device::get_name(self.device).unwrap_or_else(|_| "GPU".to_string())
    }

    /// Makes the context that of this thread.
    fn enter(&self) -> Result<(), Fault> {
        // SAFETY: the context is retained as long as `self`.
        unsafe { result::ctx::set_current(self.context) }.map_err(driver("the GPU was lost"))
    }

    fn module(&self, variant: Variant) -> Slot {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.entry(variant).or_default().clone()
    }

    fn load(&self, variant: Variant) -> Result<Module, Fault> {
        self.enter()?;
        let image = self.image(variant)?;
        // SAFETY: an image that NVRTC made for this GPU, or one that was kept under the hash of its source.
        let handle = unsafe { result::module::load_data(image.as_ptr().cast()) }
            .map_err(driver("compiled kernels cannot be loaded"))?;
        let kernels = kernels_of(variant.part)
            .iter()
            .map(|name| Ok((*name, self.kernel(handle, name)?)));
        Ok(Module {
            kernels: kernels.collect::<Result<_, Fault>>()?,
        })
    }

    /// What NVRTC gets for a variant beside the text.
    fn options(&self, variant: Variant) -> Vec<String> {
        let (major, minor) = self.architecture;
        let mut options: Vec<String> = [
            "--fmad=false",
            "--ftz=false",
            "--prec-div=true",
            "--prec-sqrt=true",
            "--std=c++17",
            "--device-as-default-execution-space",
        ]
        .map(str::to_string)
        .to_vec();
        options.push(format!("--gpu-architecture=sm_{major}{minor}"));
        options.extend(variant.defines().iter().map(|d| format!("-D{d}")));
        options
    }

    /// Where the machine code of a variant is kept, if anywhere.
    fn place(&self, options: &[String]) -> Option<PathBuf> {
        let mut hash = self.text_hash.clone();
        hash.update(options.join(" "));
        let name: String = hash
            .finalize()
            .iter()
            .take(16)
            .map(|b| format!("{b:02x}"))
            .collect();
        Some(self.cache.as_ref()?.join(format!("{name}.cubin")))
    }

    /// The machine code of a variant: from disk, or compiled and kept there.
    fn image(&self, variant: Variant) -> Result<Vec<u8>, Fault> {
        let options = self.options(variant);
        let path = self.place(&options);
        if let Some(kept) = path.as_ref().and_then(|path| std::fs::read(path).ok()) {
            return Ok(kept);
        }
        let image = compile(&self.text, &options)?;
        if let Some(path) = path {
            // A cache that cannot be written costs time, nothing else.
            let _ = keep(&path, &image);
        }
        Ok(image)
    }

    fn function(&self, variant: Variant, kernel: &str) -> Result<sys::CUfunction, Fault> {
        let slot = self.module(variant);
        let module = slot.get_or_init(|| self.load(variant)).as_ref();
        let module = module.map_err(Clone::clone)?;
        let known = module.kernels.iter().find(|(name, _)| *name == kernel);
        let missing = || Fault::Other(format!("the kernel {kernel} is not in its module"));
        known.map(|(_, function)| *function).ok_or_else(missing)
    }

    /// A kernel of a module, ready to be launched.
    fn kernel(&self, module: sys::CUmodule, name: &str) -> Result<sys::CUfunction, Fault> {
        let name = CString::new(name).map_err(|e| Fault::Other(e.to_string()))?;
        // SAFETY: the module is loaded as long as `self`.
        let function = unsafe { result::module::get_function(module, name) }
            .map_err(driver("a kernel is not in its module"))?;
        // The same for every launch, whatever it needs, since threads launch a kernel beside one another. Kernels with different
        // shares of shared memory would not run together on a processor: all ask for the most.
        use sys::CUfunction_attribute_enum as A;
        // SAFETY: a function of a loaded module.
        unsafe {
            let most = A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            result::function::set_function_attribute(function, most, self.shared_limit as i32)
                .map_err(driver("a kernel cannot have its memory"))?;
            let share = A::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
            let _ = result::function::set_function_attribute(function, share, 100);
        }
        Ok(function)
    }

    /// What a kernel takes.
    pub(crate) fn resources(&self, variant: Variant, kernel: &str) -> Result<Resources, Fault> {
        use sys::CUfunction_attribute_enum as A;
        let function = self.function(variant, kernel)?;
        // SAFETY: a function of a loaded module.
        let get = |attribute| unsafe {
            result::function::get_function_attribute(function, attribute)
                .map_err(driver("a kernel does not say what it takes"))
        };
        Ok(Resources {
            registers: get(A::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: get(A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        })
    }
}

fn nvrtc_version() -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two numbers to write to.
    unsafe { nvrtc::sys::nvrtcVersion(&mut major, &mut minor) };
    format!("nvrtc {major}.{minor}")
}

/// Compiles a text to machine code.
fn compile(text: &str, options: &[String]) -> Result<Vec<u8>, Fault> {
    let failed = |what: &str| Fault::Other(format!("NVRTC cannot compile the kernels: {what}"));
    let text = CString::new(text).map_err(|e| failed(&e.to_string()))?;
    let program =
        nvrtc::result::create_program(&text, None).map_err(|e| failed(&format!("{e:?}")))?;
    // SAFETY: the program was created above and is destroyed below.
    unsafe {
        let compiled = nvrtc::result::compile_program(program, options);
        let image = match compiled {
            Ok(()) => {
                let mut size = 0;
                let mut image = Vec::new();
                let sized = nvrtc::sys::nvrtcGetCUBINSize(program, &mut size).result();
                image.resize(size, 0u8);
                sized
                    .and_then(|()| {
                        nvrtc::sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result()
                    })
                    .map(|()| image)
                    .map_err(|e| failed(&format!("{e:?}")))
            }
            Err(e) => {
                let log = nvrtc::result::get_program_log(program).unwrap_or_default();
                let log: Vec<u8> = log.iter().map(|c| *c as u8).collect();
                let log = String::from_utf8_lossy(&log);
                let first = log.lines().find(|line| line.contains("error"));
                Err(failed(&format!("{e:?} {}", first.unwrap_or_default())))
            }
        };
        let _ = nvrtc::result::destroy_program(program);
        image
    }
}

/// Writes a file that is whole or not there.
fn keep(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // Others in this process may go on with the context: they get back the memory that was kept, and what keeps it by default.
        let mut kept = 0u64;
        let threshold = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let entered = self.enter().is_ok();
        // SAFETY: the pool and the context are those of `new`, where the latter was retained; nothing of it is used after.
        unsafe {
            if entered {
                let _ = sys::cuMemPoolSetAttribute(self.pool, threshold, (&raw mut kept).cast());
                let _ = sys::cuMemPoolTrimTo(self.pool, 0);
            }
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

fn stream(queue: u64) -> sys::CUstream {
    queue as usize as sys::CUstream
}

impl Device for Arc<Gpu> {
    fn processors(&self) -> usize {
        self.processors
    }

    fn shared_limit(&self) -> usize {
        self.shared_limit
    }

    fn free_memory(&self) -> Result<usize, Fault> {
        self.enter()?;
        let (free, _) =
            result::mem_get_info().map_err(driver("the GPU does not say what is free"))?;
        Ok(free)
    }

    fn allocate(&self, queue: u64, bytes: usize) -> Result<Address, Fault> {
        self.enter()?;
        // From the GPU's pool: other ways to get and give back memory wait for all work of all queues.
        // SAFETY: the memory is given back by `release`.
        unsafe { result::malloc_async(stream(queue), bytes) }.map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Fault::Memory(bytes.div_ceil(1 << 20)),
            _ => driver("GPU memory cannot be had")(e),
        })
    }

    fn release(&self, queue: u64, address: Address) {
        if self.enter().is_ok() {
            // SAFETY: an address of `allocate`, which nobody uses after the work of the queue: its arena ends.
            let _ = unsafe { result::free_async(address, stream(queue)) };
        }
    }

    fn queue(&self, urgent: bool) -> Result<u64, Fault> {
        self.enter()?;
        let mut stream = std::ptr::null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes a handle; lower numbers come first, and those beyond the driver's range are moved into it.
        unsafe { sys::cuStreamCreateWithPriority(&mut stream, flags, -i32::from(urgent)) }
            .result()
            .map_err(driver("the GPU takes no more work"))?;
        Ok(stream as usize as u64)
    }

    fn close(&self, queue: u64) {
        if self.enter().is_ok() {
            // SAFETY: a stream of `queue`, closed once; no work on it is under way when it ends.
            unsafe {
                let _ = result::stream::synchronize(stream(queue));
                let _ = result::stream::destroy(stream(queue));
            }
        }
    }

    fn write(&self, queue: u64, to: Address, bytes: &[u8]) -> Result<(), Fault> {
        self.enter()?;
        // SAFETY: an arena's address with room for the bytes; from memory that is not locked the copy has left it on return.
        unsafe { result::memcpy_htod_async(to, bytes, stream(queue)) }
            .map_err(driver("copying to the GPU failed"))
    }

    fn read(&self, queue: u64, from: Address, bytes: &mut [u8]) -> Result<(), Fault> {
        self.enter()?;
        // A copy to memory that is not locked waits while it holds up other threads: so the work is waited for first.
        // SAFETY: an arena's address with so many bytes; waited for before they are looked at.
        unsafe {
            result::stream::synchronize(stream(queue))
                .and_then(|()| result::memcpy_dtoh_async(bytes, from, stream(queue)))
                .and_then(|()| result::stream::synchronize(stream(queue)))
        }
        .map_err(driver("the GPU failed while it ran fits"))
    }

    fn is_prepared(&self, variant: Variant) -> bool {
        let loaded = {
            let modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
            modules
                .get(&variant)
                .is_some_and(|slot| slot.get().is_some())
        };
        loaded
            || self
                .place(&self.options(variant))
                .is_some_and(|path| path.exists())
    }

    fn prepare(&self, variant: Variant) -> Result<(), Fault> {
        let slot = self.module(variant);
        let module = slot.get_or_init(|| self.load(variant)).as_ref();
        module.map(|_| ()).map_err(Clone::clone)
    }

    fn launch(&self, queue: u64, variant: Variant, grid: Grid, with: &Launch) -> Result<(), Fault> {
        self.enter()?;
        let function = self.function(variant, grid.kernel)?;
        let mut with = *with;
        let mut arguments = [std::ptr::from_mut(&mut with).cast::<c_void>()];
        // SAFETY: the kernel takes one `Launch`, whose addresses are those of an arena that outlives the queue's work.
        unsafe {
            result::launch_kernel(
                function,
                (grid.blocks as u32, 1, 1),
                (grid.threads as u32, 1, 1),
                grid.shared as u32,
                stream(queue),
                &mut arguments,
            )
        }
        .map_err(driver("a kernel could not start"))
    }
}

/// Parts whose kernels a report of resources names.
pub(crate) fn kernels_of(part: Part) -> &'static [&'static str] {
    match part {
        Part::Permute => &["permute_short", "permute_shared", "permute_global"],
        Part::Validate => &["validate"],
        Part::Adam => &["adam"],
        Part::Fused | Part::FusedScoring => &["fused"],
        Part::Scoring => &["scoring"],
        Part::Refresh => &["refresh"],
    }
}
