//! NEON, which every 64-bit ARM processor has: nothing is asked at run time. Memory is touched by
//! `load` and `store` alone, a quarter of a [`Lane`] at a time.

use super::several::register_by_register;
use super::{Across, LANES, Lane, Lanewise, Simd, run_pieces};
use std::arch::aarch64::*;

const _: () = assert!(cfg!(target_feature = "neon"));

/// All lanes of a line, in four registers.
#[derive(Clone, Copy, Debug)]
pub struct Neon;

/// Four lanes of every line: one register. With all 32 of them to itself, a tile is that of
/// AVX-512; two registers at a time would leave room for the tiles of AVX2 alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quarter {
    /// 0, 4, 8 or 12.
    first: usize,
}

impl Neon {
    /// The quarters of a line.
    #[inline(always)]
    pub(super) fn quarters(self) -> [Quarter; 4] {
        [0, 1, 2, 3].map(|i| Quarter {
            first: i * LANES / 4,
        })
    }
}

/// A kernel as a function of its own.
#[inline(never)]
fn alone<K: Lanewise, S: Simd, const N: usize>(kernel: &mut K, lanes: [S; N]) {
    run_pieces(kernel, lanes);
}

impl Simd for Quarter {
    type V = float32x4_t;
    const REGISTERS: usize = 32;

    #[inline(always)]
    fn apart<K: Lanewise>(self, mut kernel: K) {
        alone(&mut kernel, [self]);
    }
    #[inline(always)]
    fn splat(self, x: f32) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vdupq_n_f32(x) }
    }
    #[inline(always)]
    fn load(self, from: &Lane) -> float32x4_t {
        // SAFETY: every processor has the instructions; a `Lane` has sixteen numbers, so that four can be
        // read from 0, 4, 8 or 12 on.
        unsafe { vld1q_f32(from.0.as_ptr().add(self.first)) }
    }
    #[inline(always)]
    fn store(self, to: &mut Lane, v: float32x4_t) {
        // SAFETY: as for `load`; the line is borrowed mutably.
        unsafe { vst1q_f32(to.0.as_mut_ptr().add(self.first), v) }
    }
    #[inline(always)]
    fn add(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vaddq_f32(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vsubq_f32(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vmulq_f32(a, b) }
    }
    #[inline(always)]
    fn div(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vdivq_f32(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vfmaq_f32(c, a, b) }
    }
    // `vmaxq_f32` and `vminq_f32` have rules of their own for NaN and signed zero.
    #[inline(always)]
    fn max(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vbslq_f32(vcgtq_f32(a, b), a, b) }
    }
    #[inline(always)]
    fn min(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vbslq_f32(vcltq_f32(a, b), a, b) }
    }
    #[inline(always)]
    fn sqrt(self, a: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vsqrtq_f32(a) }
    }
    #[inline(always)]
    fn select_greater(
        self,
        a: float32x4_t,
        b: float32x4_t,
        yes: float32x4_t,
        no: float32x4_t,
    ) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe { vbslq_f32(vcgtq_f32(a, b), yes, no) }
    }
    #[inline(always)]
    fn scale_by_power_of_two(self, v: float32x4_t, t: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe {
            let n = vshlq_n_u32::<23>(vreinterpretq_u32_f32(t));
            vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(v), n))
        }
    }
    #[inline(always)]
    fn negate_if_odd(self, v: float32x4_t, t: float32x4_t) -> float32x4_t {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe {
            let sign = vshlq_n_u32::<31>(vreinterpretq_u32_f32(t));
            vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(v), sign))
        }
    }
}

impl Simd for Neon {
    type V = [float32x4_t; 4];
    const REGISTERS: usize = 8;

    #[inline(always)]
    fn apart<K: Lanewise>(self, mut kernel: K) {
        alone(&mut kernel, self.quarters());
    }
    register_by_register!(quarters: 0 1 2 3);
}

impl Across for Neon {
    #[inline(always)]
    fn sum(self, v: Self::V) -> f32 {
        // SAFETY: every processor has the instructions; registers only, no memory.
        unsafe {
            let q = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
            vpadds_f32(vadd_f32(vget_low_f32(q), vget_high_f32(q)))
        }
    }
}
