//! Plain Rust: arrays that the compiler may or may not vectorise.

use super::{Across, LANES, Lane, Lanewise, Simd, run_pieces};

/// Runs everywhere; slow where the processor has no fused multiply-add.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

type V = Lane;

#[inline(always)]
fn map2(a: V, b: V, f: impl Fn(f32, f32) -> f32) -> V {
    Lane(std::array::from_fn(|i| f(a.0[i], b.0[i])))
}

/// `a * b + c`. Without a fused instruction, as on old processors of x86-64 and in WebAssembly, that is a call for each lane,
/// which is too much code to be inlined into kernels.
#[cfg_attr(any(target_arch = "x86_64", target_family = "wasm"), inline(never))]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_family = "wasm")),
    inline(always)
)]
fn fma(a: &V, b: &V, c: &V) -> V {
    Lane(std::array::from_fn(|i| a.0[i].mul_add(b.0[i], c.0[i])))
}

impl Simd for Portable {
    type V = V;
    const REGISTERS: usize = 32;
    const TILES: bool = false;

    #[inline(always)]
    fn apart<K: Lanewise>(self, mut kernel: K) {
        run_pieces(&mut kernel, [self]);
    }
    #[inline(always)]
    fn splat(self, x: f32) -> V {
        Lane([x; LANES])
    }
    #[inline(always)]
    fn load(self, from: &Lane) -> V {
        *from
    }
    #[inline(always)]
    fn store(self, to: &mut Lane, v: V) {
        *to = v;
    }
    #[inline(always)]
    fn add(self, a: V, b: V) -> V {
        map2(a, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, a: V, b: V) -> V {
        map2(a, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, a: V, b: V) -> V {
        map2(a, b, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, a: V, b: V) -> V {
        map2(a, b, |a, b| a / b)
    }
    #[inline(always)]
    fn fma(self, a: V, b: V, c: V) -> V {
        fma(&a, &b, &c)
    }
    #[inline(always)]
    fn max(self, a: V, b: V) -> V {
        map2(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, a: V, b: V) -> V {
        map2(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn sqrt(self, a: V) -> V {
        Lane(a.0.map(f32::sqrt))
    }
    #[inline(always)]
    fn select_greater(self, a: V, b: V, yes: V, no: V) -> V {
        Lane(std::array::from_fn(|i| {
            if a.0[i] > b.0[i] { yes.0[i] } else { no.0[i] }
        }))
    }
    #[inline(always)]
    fn scale_by_power_of_two(self, v: V, t: V) -> V {
        map2(v, t, |v, t| {
            f32::from_bits(v.to_bits().wrapping_add(t.to_bits() << 23))
        })
    }
    #[inline(always)]
    fn negate_if_odd(self, v: V, t: V) -> V {
        map2(v, t, |v, t| {
            f32::from_bits(v.to_bits() ^ (t.to_bits() << 31))
        })
    }
}

impl Across for Portable {
    #[inline(always)]
    fn sum(self, v: V) -> f32 {
        let mut v = v.0;
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                v[i] += v[i + half];
            }
        }
        v[0]
    }
}
