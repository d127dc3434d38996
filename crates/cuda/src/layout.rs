//! What a launch is told: the structures of `kernels/launch.cu`, field by field. A test compares their sizes.

/// An address on the device.
pub(crate) type Address = u64;

/// Likelihoods by number.
pub(crate) mod kind {
    pub(crate) const GAUSSIAN: i32 = 0;
    pub(crate) const LAPLACE: i32 = 1;
    pub(crate) const POISSON: i32 = 2;
    pub(crate) const BERNOULLI: i32 = 3;
    pub(crate) const MULTICLASS: i32 = 4;
    pub(crate) const ENERGY: i32 = 5;
}

/// [`Fit::status`] of a fit that goes on.
pub(crate) const RUNNING: i32 = 0;
/// [`Fit::status`] of a fit that ended early, and of one that was ended.
pub(crate) const ENDED: i32 = 1;

/// One fit: its samples, its state, its settings.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Fit {
    pub(crate) x: Address,
    pub(crate) y: Address,
    pub(crate) valid_x: Address,
    pub(crate) valid_y: Address,
    pub(crate) valid_constant: Address,
    pub(crate) theta: Address,
    pub(crate) best: Address,
    pub(crate) m: Address,
    pub(crate) v: Address,
    pub(crate) schedule: Address,
    pub(crate) rates: Address,
    pub(crate) order: Address,
    pub(crate) scratch: Address,
    pub(crate) terms: Address,
    pub(crate) average: Address,
    pub(crate) factor: Address,
    pub(crate) inverse: Address,
    pub(crate) momentum: Address,
    pub(crate) gradient: Address,
    pub(crate) rows: Address,
    pub(crate) batches: u64,
    pub(crate) signs: u64,
    pub(crate) nll: [f64; 3],
    pub(crate) fisher: f64,
    pub(crate) damping: f64,
    pub(crate) step_cap: f64,
    pub(crate) memory: f64,
    pub(crate) outgoing_unit: f64,
    pub(crate) coupled_double: f64,
    pub(crate) decoupled_double: f64,
    pub(crate) past: f64,
    pub(crate) power: f64,
    pub(crate) loss: f64,
    pub(crate) best_loss: f64,
    pub(crate) likelihood: f32,
    pub(crate) weight: f32,
    pub(crate) parameter_bound: f32,
    pub(crate) output_bound: f32,
    pub(crate) gradient_cap: f32,
    pub(crate) outgoing_rate: f32,
    pub(crate) n: i32,
    pub(crate) valid_n: i32,
    pub(crate) status: i32,
    pub(crate) made: i32,
}

/// What the fits of a launch have in common.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Launch {
    pub(crate) fits: Address,
    pub(crate) place: Address,
    pub(crate) outgoing: Address,
    pub(crate) fixed: Address,
    pub(crate) node_x: Address,
    pub(crate) valid_node_x: Address,
    pub(crate) most: i32,
    pub(crate) d: i32,
    pub(crate) r: i32,
    pub(crate) outputs: i32,
    pub(crate) iterations: i32,
    pub(crate) blocks: i32,
    pub(crate) kind: i32,
    pub(crate) batch: i32,
    pub(crate) strips: i32,
    pub(crate) nodes: i32,
    pub(crate) node_strips: i32,
    pub(crate) valid_nodes: i32,
    pub(crate) at_once: i32,
    pub(crate) packed: i32,
    pub(crate) padded: i32,
    pub(crate) input_len: i32,
    pub(crate) block_len: i32,
    pub(crate) update: i32,
    pub(crate) updates: i32,
    pub(crate) ordered: i32,
    pub(crate) resumed: i32,
    pub(crate) lined: i32,
    pub(crate) stage_start: i32,
    pub(crate) parts: i32,
    pub(crate) epochs: i32,
    pub(crate) order_step: i32,
    pub(crate) all_strips: i32,
    pub(crate) units: i32,
    pub(crate) near: i32,
    pub(crate) half: Half,
}

/// Where the numbers of a fit that is half a warp lie in shared memory, in words: those of the first fit begin at `at`, the
/// others are counted from its coefficients.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Half {
    pub(crate) at: i32,
    pub(crate) words: i32,
    pub(crate) grad: i32,
    /// For scoring, in 64 bits.
    pub(crate) momentum: i32,
    pub(crate) g: i32,
    pub(crate) y: i32,
    pub(crate) out: i32,
    pub(crate) g_out: i32,
    /// Whether some strip goes back alone, beside one of zeros.
    pub(crate) odd: i32,
    /// States on their way, or all of them, and what comes after them.
    pub(crate) coming: i32,
    /// Inputs; counted from the states where they lie with them.
    pub(crate) x: i32,
}

/// Numbers that are copied to and from the device as they are.
///
/// # Safety
/// Every bit pattern of the type is a value, and it has no padding.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: numbers.
unsafe impl Plain for f32 {}
// SAFETY: numbers.
unsafe impl Plain for f64 {}
// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: numbers of 8 bytes, then an even number of numbers of 4; a test has the size.
unsafe impl Plain for Fit {}

/// Numbers as bytes.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: `Plain` types are bytes without padding, and any address is aligned for bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Numbers as bytes that may be overwritten.
pub(crate) fn bytes_of_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes_of`; any bytes are values of the type.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_no_padding() {
        assert_eq!(size_of::<Fit>(), 22 * 8 + 14 * 8 + 10 * 4);
        assert_eq!(size_of::<Launch>(), 6 * 8 + 40 * 4);
    }
}
