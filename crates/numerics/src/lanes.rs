//! Sixteen 32-bit lanes, the vector width of every algorithm here, on every machine.
//!
//! Code is written once, generic over [`Simd`], as a [`Kernel`]; [`Level::run`] picks
//! AVX-512, AVX2 + FMA or plain Rust. All three give the same bits: the operations
//! are IEEE, multiply-adds are fused everywhere, sums across lanes have one tree, and
//! `max`, `min` and comparisons treat NaN and signed zero alike.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

/// Number of lanes.
pub const LANES: usize = 16;

/// Sixteen numbers in memory, aligned to a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Lane(pub [f32; LANES]);

impl Lane {
    /// All zeros.
    pub const ZERO: Self = Self([0.0; LANES]);

    /// Lines as one slice of numbers.
    pub fn flatten(lines: &[Self]) -> &[f32] {
        // SAFETY: a `Lane` is sixteen `f32` without padding (size 64, `repr(C)`).
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * LANES) }
    }

    /// Lines as one mutable slice of numbers.
    pub fn flatten_mut(lines: &mut [Self]) -> &mut [f32] {
        // SAFETY: as in `flatten`.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * LANES) }
    }

    /// Numbers as lines, the last one filled up with zeros.
    pub fn lines(values: impl IntoIterator<Item = f32>) -> Vec<Self> {
        let values: Vec<f32> = values.into_iter().collect();
        values
            .chunks(LANES)
            .map(|chunk| {
                Self(std::array::from_fn(|i| {
                    chunk.get(i).copied().unwrap_or(0.0)
                }))
            })
            .collect()
    }
}

const _: () = assert!(size_of::<Lane>() == LANES * size_of::<f32>());

/// Arithmetic on sixteen lanes. A value of an implementing type is a proof that the
/// machine has the instructions, so the methods are safe.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Sixteen numbers in registers.
    type V: Copy;

    /// `x` in every lane.
    fn splat(self, x: f32) -> Self::V;
    /// Reads a line of memory.
    fn load(self, from: &Lane) -> Self::V;
    /// Writes a line of memory.
    fn store(self, to: &mut Lane, v: Self::V);
    /// `a + b`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `if a > b { a } else { b }`: `b` when either is NaN.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// `if a < b { a } else { b }`: `b` when either is NaN.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// Square root.
    fn sqrt(self, a: Self::V) -> Self::V;
    /// `if a > b { yes } else { no }`.
    fn select_greater(self, a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V;
    /// `v * 2^n` where `n` is the integer in the low bits of `t = n + 1.5 * 2^23`;
    /// `v` and the result must be normal numbers.
    fn scale_by_power_of_two(self, v: Self::V, t: Self::V) -> Self::V;
    /// Sum across lanes: `i` with `i + 8`, then `+ 4`, `+ 2`, `+ 1`.
    fn sum(self, v: Self::V) -> f32;

    /// Lane `i` of the result is [`Simd::sum`] of `v[i]`, with the same bits.
    #[inline(always)]
    fn sums(self, v: [Self::V; LANES]) -> Self::V {
        let mut sums = Lane::ZERO;
        for (sum, v) in sums.0.iter_mut().zip(v) {
            *sum = self.sum(v);
        }
        self.load(&sums)
    }

    /// `e^x` within two units in the last place, for any `x`: arguments are held to
    /// `[-87, 88]`, where the result is a normal number. NaN gives NaN.
    ///
    /// # Formula
    /// `2^n P(r)`, `n = round(x / ln 2)`, `r = x - n ln 2` in two parts, `P` the
    /// minimax polynomial of degree 6 on `|r| <= ln 2 / 2` (Cephes `expf`).
    #[inline(always)]
    fn exp(self, x: Self::V) -> Self::V {
        const MAGIC: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to an integer
        let x = self.min(self.splat(88.0), self.max(self.splat(-87.0), x));
        let t = self.fma(x, self.splat(std::f32::consts::LOG2_E), self.splat(MAGIC));
        let n = self.sub(t, self.splat(MAGIC));
        let r = self.fma(n, self.splat(-0.693_359_4), x);
        let r = self.fma(n, self.splat(2.121_944_4e-4), r);
        let p = [
            1.987_569_2e-4,
            1.398_2e-3,
            8.333_452e-3,
            4.166_579_6e-2,
            1.666_666_5e-1,
            0.5,
        ];
        let mut y = self.splat(p[0]);
        for c in &p[1..] {
            y = self.fma(y, r, self.splat(*c));
        }
        let y = self.add(self.fma(y, self.mul(r, r), r), self.splat(1.0));
        self.scale_by_power_of_two(y, t)
    }
}

/// A computation that runs on any [`Simd`]. `run` must be `#[inline(always)]`, and so
/// must everything it calls with `S`, or the instructions are not available to it. A closure
/// is a function of its own that the compiler may or may not inline: hot loops do without.
pub trait Kernel {
    /// What it computes.
    type Output;
    /// Computes it.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}

/// An instruction set that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Level {
    /// All levels that this machine can run, fastest first; the last is plain Rust.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if Avx512::detect().is_some() {
                levels.push(Self(Set::Avx512));
            }
            if Avx2::detect().is_some() {
                levels.push(Self(Set::Avx2));
            }
        }
        levels.push(Self(Set::Portable));
        levels
    }

    /// The fastest level of this machine.
    pub fn fastest() -> Self {
        Self::available()[0]
    }

    /// `avx512`, `avx2` or `portable`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            Set::Portable => "portable",
        }
    }

    /// Runs a kernel at this level.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => x86::run_avx512(Avx512::of_level(), kernel),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => x86::run_avx2(Avx2::of_level(), kernel),
            Set::Portable => kernel.run(Portable),
        }
    }
}

#[cfg(test)]
mod tests;
