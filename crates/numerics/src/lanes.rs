//! Sixteen 32-bit lanes, the vector width of every algorithm here, on every machine.
//!
//! Code is written once, generic over [`Simd`], as a [`Kernel`]; [`Level::run`] picks
//! AVX-512, AVX2 + FMA, NEON or plain Rust. All give the same bits: the operations
//! are IEEE, multiply-adds are fused everywhere, sums across lanes have one tree, and
//! `max`, `min` and comparisons treat NaN and signed zero alike.
//!
//! Code that never looks across lanes is a [`Lanewise`] kernel. Where a register is shorter than a
//! line it runs once for each register of the line, so that its tiles may count on all registers.

use std::sync::OnceLock;

#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod several;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
pub use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

/// Number of lanes.
pub const LANES: usize = 16;

/// Numbers of a row that [`Across::columns`] takes at a time.
pub const COLUMNS: usize = 4;

/// Sixteen numbers in memory, aligned to a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Lane(pub [f32; LANES]);

impl Lane {
    /// All zeros.
    pub const ZERO: Self = Self([0.0; LANES]);

    /// Lines as one slice of numbers.
    pub fn flatten(lines: &[Self]) -> &[f32] {
        // SAFETY: a `Lane` is sixteen `f32` without padding (`repr(C)`, size asserted below) and aligned
        // to more than an `f32` needs, so `lines.len() * LANES` numbers from its first are in bounds.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * LANES) }
    }

    /// Lines as one mutable slice of numbers.
    pub fn flatten_mut(lines: &mut [Self]) -> &mut [f32] {
        // SAFETY: as in `flatten`; the lines are borrowed mutably for as long as the numbers.
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

/// Arithmetic lane by lane, on all lanes of a line or on those of one register of it. A value of an
/// implementing type is a proof that the machine has the instructions, so the methods are safe.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Numbers in registers.
    type V: Copy;

    /// How many `V` the registers hold.
    const REGISTERS: usize;

    /// Whether tiles of many sizes, which fill the registers, are worth their code; see [`Level::registers`].
    const TILES: bool = true;

    /// Runs a kernel on the same lanes, as a function of its own: not one copy in each kernel
    /// that has use for it.
    fn apart<K: Lanewise>(self, kernel: K);

    /// `x` in every lane.
    fn splat(self, x: f32) -> Self::V;
    /// Reads its lanes of a line of memory.
    fn load(self, from: &Lane) -> Self::V;
    /// Writes its lanes of a line of memory.
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
    /// `-v` where the integer in the low bits of `t = n + 1.5 * 2^23` is odd, else `v`.
    fn negate_if_odd(self, v: Self::V, t: Self::V) -> Self::V;
    /// `e^x` within two units in the last place, for any `x`: arguments are held to
    /// `[-87, 88]`, where the result is a normal number. NaN gives NaN.
    ///
    /// # Formula
    /// `2^n P(r)`, `n = round(x / ln 2)`, `r = x - n ln 2` in two parts, `P` the
    /// minimax polynomial of degree 6 on `|r| <= ln 2 / 2` (Cephes `expf`).
    #[inline(always)]
    fn exp(self, x: Self::V) -> Self::V {
        self.exp_up_to_88(self.min(self.splat(88.0), x))
    }

    /// [`Simd::exp`] of an `x` that is not above 88.
    #[inline(always)]
    fn exp_up_to_88(self, x: Self::V) -> Self::V {
        let x = self.max(self.splat(-87.0), x);
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

    /// `coefficients[0] + coefficients[1] x + ...`, Horner's way.
    #[inline(always)]
    fn polynomial<const N: usize>(self, coefficients: [f32; N], x: Self::V) -> Self::V {
        let mut y = self.splat(coefficients[N - 1]);
        for c in coefficients.iter().rev().skip(1) {
            y = self.fma(y, x, self.splat(*c));
        }
        y
    }

    /// `tanh x` within four units in the last place, for any `x`. NaN gives NaN.
    ///
    /// # Formula
    /// `x P(x^2) / Q(x^2)`, both of degree 4, the minimax quotient on `|x| <= 9.02`; beyond, the
    /// nearest number is 1.
    #[inline(always)]
    fn tanh(self, x: Self::V) -> Self::V {
        const P: [f32; 5] = [
            1.0,
            0.133_796_99,
            0.003_494_012_6,
            2.058_313e-5,
            1.331_860_8e-8,
        ];
        const Q: [f32; 5] = [
            1.0,
            0.467_130_15,
            0.025_870_99,
            0.000_328_305_73,
            7.761_824e-7,
        ];
        let x = self.min(self.splat(9.02), self.max(self.splat(-9.02), x));
        let square = self.mul(x, x);
        let numerator = self.mul(x, self.polynomial(P, square));
        let y = self.div(numerator, self.polynomial(Q, square));
        self.min(self.splat(1.0), self.max(self.splat(-1.0), y))
    }

    /// `1 / (1 + e^-x)` within four units in the last place where `x >= -87`; below, a number
    /// under `2e-38`. NaN gives NaN.
    #[inline(always)]
    fn sigmoid(self, x: Self::V) -> Self::V {
        let one = self.splat(1.0);
        let e = self.exp(self.sub(self.splat(0.0), x));
        self.div(one, self.add(one, e))
    }

    /// `sin x` within two units in the last place for `|x| <= 10^4`; beyond, where neighbouring
    /// numbers are a good part of a period apart, some number in `[-1, 1]`. An infinite `x` and
    /// NaN give NaN.
    ///
    /// # Formula
    /// `(-1)^n (r + r^3 P(r^2))`, `n = round(x / pi)`, `r = x - n pi` in three parts, `P` the minimax
    /// polynomial of degree 4 on `|r| <= pi / 2`.
    #[inline(always)]
    fn sin(self, x: Self::V) -> Self::V {
        let (r, t) = self.reduced_angle(x);
        self.sin_of_reduced(r, t)
    }

    /// [`Simd::sin`] and `cos x`, the latter within `1.5e-7`.
    ///
    /// # Formula
    /// As for the sine; `cos x = (-1)^n (1 - r^2 / 2 + r^4 P(r^2))`, `P` of degree 3.
    #[inline(always)]
    fn sin_cos(self, x: Self::V) -> (Self::V, Self::V) {
        const P: [f32; 4] = [
            0.041_666_657,
            -0.001_388_858_5,
            2.477_018_1e-5,
            -2.620_911e-7,
        ];
        let (r, t) = self.reduced_angle(x);
        let square = self.mul(r, r);
        let p = self.fma(self.polynomial(P, square), square, self.splat(-0.5));
        let cos = self.fma(p, square, self.splat(1.0));
        (self.sin_of_reduced(r, t), self.negate_if_odd(cos, t))
    }

    /// `x - n pi` with `n = round(x / pi)`, and `n + 1.5 * 2^23`.
    #[inline(always)]
    fn reduced_angle(self, x: Self::V) -> (Self::V, Self::V) {
        // The product with n of the first part, and its difference from x, need no rounding up to
        // |x| of 10^4 and more.
        const PI: [f32; 3] = [std::f32::consts::PI, -8.742_278e-8, -3.430_249e-15];
        // Above pi / 2, because the rounded 1 / pi may choose the neighbour of the nearest n.
        const HALF: f32 = 1.6;
        let t = self.fma(
            x,
            self.splat(std::f32::consts::FRAC_1_PI),
            self.splat(MAGIC),
        );
        let n = self.sub(self.splat(MAGIC), t);
        let mut r = x;
        for part in PI {
            r = self.fma(n, self.splat(part), r);
        }
        (
            self.min(self.splat(HALF), self.max(self.splat(-HALF), r)),
            t,
        )
    }

    /// The sine from [`Simd::reduced_angle`].
    #[inline(always)]
    fn sin_of_reduced(self, r: Self::V, t: Self::V) -> Self::V {
        const P: [f32; 5] = [
            -0.166_666_67,
            0.008_333_351,
            -0.000_198_431_04,
            2.762_832_5e-6,
            -2.553_964_9e-8,
        ];
        let square = self.mul(r, r);
        let cube = self.mul(r, square);
        self.negate_if_odd(self.fma(self.polynomial(P, square), cube, r), t)
    }
}

/// Rows of numbers, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    numbers: &'a [f32],
    width: usize,
    complete: u32,
}

impl<'a> Rows<'a> {
    /// Rows of `width` numbers each.
    #[inline(always)]
    pub fn new(numbers: &'a [f32], width: usize) -> Self {
        // Rows that end with a whole group of columns, if need be with numbers of those behind them.
        let complete = match numbers.len().checked_sub(width.next_multiple_of(COLUMNS)) {
            Some(last) => u32::try_from(last / width + 1).unwrap_or(u32::MAX),
            None => 0,
        };
        Self {
            numbers,
            width,
            complete,
        }
    }

    /// Line `c` of the result has number `first + c` of row `rows[i]` in lane `i`. Behind the last number of a row come
    /// those of the next; nothing for a row behind which too few are left.
    #[inline(always)]
    pub fn columns<S: Across>(
        self,
        s: S,
        first: usize,
        rows: &[u32; LANES],
    ) -> Option<[S::V; COLUMNS]> {
        let mut complete = first < self.width && first.is_multiple_of(COLUMNS);
        for row in rows {
            complete &= *row < self.complete;
        }
        if !complete {
            return None;
        }
        // SAFETY: these rows have `width` rounded up to whole groups of columns, and `first` begins such a group.
        Some(unsafe { s.columns(self, first, rows) })
    }
}

/// Arithmetic on all lanes of a line, sums across them too.
pub trait Across: Simd {
    /// Sum across lanes: `i` with `i + 8`, then `+ 4`, `+ 2`, `+ 1`.
    fn sum(self, v: Self::V) -> f32;

    /// Lane `i` of the result is [`Across::sum`] of `v[i]`, with the same bits.
    #[inline(always)]
    fn sums(self, v: [Self::V; LANES]) -> Self::V {
        let mut sums = Lane::ZERO;
        for (sum, v) in sums.0.iter_mut().zip(v) {
            *sum = self.sum(v);
        }
        self.load(&sums)
    }

    /// As [`Rows::columns`].
    ///
    /// # Safety
    /// `rows[i] * from.width + first + COLUMNS` is at most the number of numbers, for all lanes `i`.
    #[inline(always)]
    unsafe fn columns(
        self,
        from: Rows<'_>,
        first: usize,
        rows: &[u32; LANES],
    ) -> [Self::V; COLUMNS] {
        let mut lines = [Lane::ZERO; COLUMNS];
        for (lane, row) in rows.iter().enumerate() {
            let first = *row as usize * from.width + first;
            for (c, line) in lines.iter_mut().enumerate() {
                line.0[lane] = from.numbers[first + c];
            }
        }
        [0, 1, 2, 3].map(|c| self.load(&lines[c]))
    }
}

/// `1.5 * 2^23`: adding it rounds to an integer, which stands in the low bits of the sum.
const MAGIC: f32 = 12_582_912.0;

/// A computation that runs on any machine. `run` must be `#[inline(always)]`, and so
/// must everything it calls with `S`, or the instructions are not available to it. A closure
/// is a function of its own that the compiler may or may not inline: hot loops do without.
pub trait Kernel {
    /// What it computes.
    type Output;
    /// Computes it.
    fn run<S: Across>(self, s: S) -> Self::Output;
}

/// A computation without sums across lanes, in pieces that follow one another; the rules are those
/// of a [`Kernel`]. Where a line has several registers, a piece runs once for each of them before
/// the next begins: what it reads and writes should fit the first-level cache.
pub trait Lanewise {
    /// How many pieces there are.
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        1
    }
    /// Computes a piece, on the lanes of `s`.
    fn run<S: Simd>(&mut self, s: S, piece: usize);
}

/// All pieces of a kernel, each on all of some lanes.
#[inline(always)]
fn run_pieces<K: Lanewise, S: Simd, const N: usize>(kernel: &mut K, lanes: [S; N]) {
    for piece in 0..kernel.pieces::<S>() {
        for s in lanes {
            kernel.run(s, piece);
        }
    }
}

/// Bytes of this processor's first-level data cache, for tiles to fit it; 32 KiB where it does not say.
pub fn first_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| cache(1).unwrap_or(32 * 1024))
}

/// Bytes of a core's second-level cache; 1 MiB where the processor does not say.
pub fn second_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| cache(2).unwrap_or(1024 * 1024))
}

/// Bytes of the data cache of a level, if the processor says.
#[cfg(target_arch = "x86_64")]
fn cache(level: u32) -> Option<usize> {
    x86::cache(level)
}

#[cfg(not(target_arch = "x86_64"))]
fn cache(_: u32) -> Option<usize> {
    None
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
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

impl Level {
    /// All levels that this machine can run, fastest first; the last is plain Rust.
    pub fn available() -> Vec<Self> {
        let sets = [
            #[cfg(target_arch = "x86_64")]
            Avx512::detect().map(|_| Set::Avx512),
            #[cfg(target_arch = "x86_64")]
            Avx2::detect().map(|_| Set::Avx2),
            #[cfg(target_arch = "aarch64")]
            Some(Set::Neon),
            Some(Set::Portable),
        ];
        sets.into_iter().flatten().map(Self).collect()
    }

    /// The fastest level of this machine.
    pub fn fastest() -> Self {
        Self::available()[0]
    }

    /// `avx512`, `avx2`, `neon` or `portable`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Set::Neon => "neon",
            Set::Portable => "portable",
        }
    }

    /// Runs a kernel at this level.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.registers() {
            Some(registers) => registers.run(kernel),
            None => kernel.run(Portable),
        }
    }

    /// Runs a lanewise kernel at this level.
    #[inline]
    pub fn lanewise<K: Lanewise>(self, mut kernel: K) {
        match self.registers() {
            Some(registers) => registers.lanewise(kernel),
            None => run_pieces(&mut kernel, [Portable]),
        }
    }

    /// This level for kernels that come in many sizes, so that a tile fills the registers. Nothing for plain Rust: those kernels
    /// would be megabytes that hardly any machine runs.
    #[inline]
    pub fn registers(self) -> Option<Registers> {
        (self.0 != Set::Portable).then_some(Registers(self.0))
    }
}

/// A [`Level`] at which sums of a tile stay in registers.
#[derive(Clone, Copy, Debug)]
pub struct Registers(Set);

/// What [`Level::registers`] does not give.
const NO_REGISTERS: &str = "plain Rust has no registers";

// Where there is plain Rust alone, nothing is run.
#[cfg_attr(
    not(any(target_arch = "aarch64", target_arch = "x86_64")),
    allow(unused)
)]
impl Registers {
    /// How many registers hold the lanes that a [`Lanewise`] kernel runs on at a time.
    #[inline]
    pub fn count(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => Avx512::REGISTERS,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => x86::Avx2Half::REGISTERS,
            #[cfg(target_arch = "aarch64")]
            Set::Neon => neon::Quarter::REGISTERS,
            Set::Portable => unreachable!("{NO_REGISTERS}"),
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
            #[cfg(target_arch = "aarch64")]
            Set::Neon => kernel.run(Neon),
            Set::Portable => unreachable!("{NO_REGISTERS}"),
        }
    }

    /// Runs a lanewise kernel at this level.
    #[inline]
    pub fn lanewise<K: Lanewise>(self, mut kernel: K) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => x86::lanewise_avx512(Avx512::of_level(), &mut kernel),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => x86::lanewise_avx2(Avx2::of_level(), &mut kernel),
            #[cfg(target_arch = "aarch64")]
            Set::Neon => run_pieces(&mut kernel, Neon.quarters()),
            Set::Portable => unreachable!("{NO_REGISTERS}"),
        }
    }
}

#[cfg(test)]
mod tests;
