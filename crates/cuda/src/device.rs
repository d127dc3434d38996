//! What a group of fits needs of a device: memory, copies, kernels by name.

use crate::layout::{Address, Launch, Plain, bytes_of, bytes_of_mut};

/// Why a device cannot go on: one sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Fault {
    /// Memory that is not there.
    #[error("its memory has no room for {0} more MiB; run fewer fits at once or smaller ones")]
    Memory(usize),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// A part of the kernels, compiled on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// Batch order.
    Permute,
    /// Validation.
    Validate,
    /// Adam, a block of threads a fit.
    Adam,
    /// Adam, half a warp a fit.
    Fused,
    /// Fisher scoring, a block of threads a fit.
    Scoring,
    /// Fisher scoring, half a warp a fit.
    FusedScoring,
    /// The information of Fisher scoring and its factor.
    Refresh,
}

/// What kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub(crate) part: Part,
    pub(crate) q: usize,
    /// 0 for the ReLU, 1 tanh, 2 SiLU, 3 sine.
    pub(crate) activation: u8,
    /// Most threads of a block.
    pub(crate) threads: usize,
    /// Most hidden units whose gradients a thread sums at once; all of them in the fused kernel.
    pub(crate) units: usize,
    /// Strips at once: of a group with a block a fit, on the way ahead in the fused kernel.
    pub(crate) strips: usize,
    /// In the fused kernel, whether states lie in shared memory, in that of the refresh lines and factor.
    pub(crate) shared_states: bool,
    /// In the fused kernel, whether inputs do.
    pub(crate) shared_inputs: bool,
    /// In the fused kernel, whether there is one output, and a sample's loss is its own.
    pub(crate) single: bool,
}

/// Strips at once on the way back in the fused kernel.
pub(crate) const FUSED_BACK: usize = 2;
/// Numbers of a thread in the fused kernel up to which 168 registers hold all of them, with the ReLU or the sine and with what needs
/// more itself, and the warps of a processor then and otherwise.
const FEW_NUMBERS: (usize, usize) = (139, 127);
const FUSED_WARPS: (usize, usize) = (12, 8);

impl Variant {
    /// Warps of a processor in the fused kernel, so that nothing is spilled: a thread has all sums, a unit, and states, their
    /// gradients and the next ones of its strips.
    fn fused_warps(&self) -> usize {
        let unit = 2 * self.q + 1;
        let sums = self.units * unit + self.q;
        let few = match self.activation {
            0 | 3 => FEW_NUMBERS.0,
            _ => FEW_NUMBERS.1,
        };
        match sums + 3 * FUSED_BACK * self.q + unit.next_multiple_of(4) <= few {
            true => FUSED_WARPS.0,
            false => FUSED_WARPS.1,
        }
    }

    /// Blocks of a processor with a block a fit, so that they have registers enough: one of few fits, else of sixteen warps or fewer.
    fn gradient_blocks(&self) -> usize {
        match (self.strips, self.q, self.part) {
            (1, _, _) => 1,
            (_, ..9, Part::Adam) => 3,
            (_, ..5, _) => 4,
            _ => 2,
        }
    }

    /// Constants of the source text.
    pub(crate) fn defines(&self) -> Vec<String> {
        let part = match self.part {
            Part::Permute => "PART_PERMUTE",
            Part::Validate => "PART_VALIDATE",
            Part::Adam => "PART_ADAM",
            Part::Fused | Part::FusedScoring => "PART_FUSED",
            Part::Scoring => "PART_SCORING",
            Part::Refresh => "PART_REFRESH",
        };
        vec![
            format!("{part}=1"),
            format!("SCORING={}", i32::from(self.part == Part::FusedScoring)),
            format!("Q={}", self.q),
            format!("ACTIVATION={}", self.activation),
            format!("GRADIENT_THREADS={}", self.threads),
            format!("GRADIENT_BLOCKS={}", self.gradient_blocks()),
            format!("UNITS={}", self.units),
            format!("STRIPS={}", self.strips),
            format!("SHARED_STATES={}", i32::from(self.shared_states)),
            format!("SHARED_INPUTS={}", i32::from(self.shared_inputs)),
            format!("SINGLE={}", i32::from(self.single)),
            // As many warps as have registers enough for all sums.
            format!("FUSED_BLOCKS={}", self.fused_warps()),
            format!("BACK={FUSED_BACK}"),
        ]
    }
}

/// A launch of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) kernel: &'static str,
    pub(crate) blocks: usize,
    pub(crate) threads: usize,
    /// Bytes of shared memory.
    pub(crate) shared: usize,
}

/// A device. Work of a queue is done in order; copies wait for it.
pub(crate) trait Device: Send + Sync {
    /// Processors that run blocks.
    fn processors(&self) -> usize;
    /// Most bytes of shared memory of a block.
    fn shared_limit(&self) -> usize;
    /// Bytes that can still be had.
    fn free_memory(&self) -> Result<usize, Fault>;
    /// Memory for the work of a queue, with any content.
    fn allocate(&self, queue: u64, bytes: usize) -> Result<Address, Fault>;
    /// Gives memory back once the work of its queue is done.
    fn release(&self, queue: u64, address: Address);
    /// A queue of work; what is urgent comes before the rest.
    fn queue(&self, urgent: bool) -> Result<u64, Fault>;
    /// Gives a queue back.
    fn close(&self, queue: u64);
    /// Copies to the device.
    fn write(&self, queue: u64, to: Address, bytes: &[u8]) -> Result<(), Fault>;
    /// Copies from the device, after all work of the queue.
    fn read(&self, queue: u64, from: Address, bytes: &mut [u8]) -> Result<(), Fault>;
    /// Whether kernels are there without compiling them.
    fn is_prepared(&self, variant: Variant) -> bool;
    /// Compiles kernels, unless they are there.
    fn prepare(&self, variant: Variant) -> Result<(), Fault>;
    /// Runs a kernel of a prepared variant.
    fn launch(&self, queue: u64, variant: Variant, grid: Grid, with: &Launch) -> Result<(), Fault>;
}

/// Memory of a device, handed out piece by piece and given back as a whole.
pub(crate) struct Arena<'a> {
    device: &'a dyn Device,
    queue: u64,
    start: Address,
    next: Address,
    end: Address,
}

/// Pieces begin at multiples of so many bytes.
const ALIGNMENT: u64 = 256;

/// Bytes of a piece in an [`Arena`].
pub(crate) fn piece<T>(len: usize) -> usize {
    (len * size_of::<T>()).next_multiple_of(ALIGNMENT as usize)
}

impl<'a> Arena<'a> {
    pub(crate) fn new(device: &'a dyn Device, bytes: usize, urgent: bool) -> Result<Self, Fault> {
        let queue = device.queue(urgent)?;
        let start = match device.allocate(queue, bytes + ALIGNMENT as usize) {
            Ok(start) => start,
            Err(fault) => {
                device.close(queue);
                return Err(fault);
            }
        };
        Ok(Self {
            device,
            queue,
            start,
            next: start.next_multiple_of(ALIGNMENT),
            end: start + bytes as u64 + ALIGNMENT,
        })
    }

    pub(crate) fn queue(&self) -> u64 {
        self.queue
    }

    /// Room for so many numbers.
    pub(crate) fn room<T>(&mut self, len: usize) -> Address {
        let at = self.next;
        self.next += piece::<T>(len) as u64;
        assert!(
            self.next <= self.end,
            "the plan of a group's memory has room"
        );
        at
    }

    /// Room with numbers in it.
    pub(crate) fn put<T: Plain>(&mut self, values: &[T]) -> Result<Address, Fault> {
        let at = self.room::<T>(values.len());
        self.device.write(self.queue, at, bytes_of(values))?;
        Ok(at)
    }

    /// Overwrites what [`Arena::put`] put.
    pub(crate) fn replace<T: Plain>(&self, at: Address, values: &[T]) -> Result<(), Fault> {
        self.device.write(self.queue, at, bytes_of(values))
    }

    /// What is there after all work.
    pub(crate) fn get<T: Plain>(&self, at: Address, values: &mut [T]) -> Result<(), Fault> {
        self.device.read(self.queue, at, bytes_of_mut(values))
    }
}

impl Drop for Arena<'_> {
    fn drop(&mut self) {
        self.device.release(self.queue, self.start);
        self.device.close(self.queue);
    }
}
