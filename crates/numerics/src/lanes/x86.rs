//! AVX-512 and AVX2 + FMA. The tokens can be made only where the processor has the
//! instructions, which is what makes the `unsafe` calls below sound. Most of them work on
//! registers; memory is touched by `load` and `store` alone, a whole [`Lane`] or one of its halves
//! at a time; a `Lane` is 64 bytes long and aligned to 64.

use super::several::register_by_register;
use super::{Across, COLUMNS, Kernel, LANES, Lane, Lanewise, Rows, Simd, run_pieces};
use std::arch::x86_64::*;
use std::hint::black_box;
use std::mem::MaybeUninit;

/// Proof that the processor has AVX-512 F.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

/// Proof that the processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx512 {
    /// The token, if the processor has the instructions.
    pub fn detect() -> Option<Self> {
        std::arch::is_x86_feature_detected!("avx512f").then_some(Self(()))
    }
    /// For [`super::Level`], which holds `Avx512` only after [`Avx512::detect`].
    #[inline(always)]
    pub(super) fn of_level() -> Self {
        Self(())
    }
}

impl Avx2 {
    /// The token, if the processor has the instructions.
    pub fn detect() -> Option<Self> {
        let has = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma");
        has.then_some(Self(()))
    }
    /// For [`super::Level`], which holds `Avx2` only after [`Avx2::detect`].
    #[inline(always)]
    pub(super) fn of_level() -> Self {
        Self(())
    }
}

/// Bytes of the data cache of a level, if the processor describes its caches.
pub(super) fn cache(level: u32) -> Option<usize> {
    // The leaf that describes one cache after the other, AMD's and Intel's, and the largest leaf before it.
    [(0x8000_001d, 0x8000_0000), (4, 0)]
        .into_iter()
        .filter(|(leaf, first)| __cpuid(*first).eax >= *leaf)
        .flat_map(|(leaf, _)| (0..4).map(move |cache| __cpuid_count(leaf, cache)))
        // Of data, or of data and instructions.
        .find(|c| c.eax >> 5 & 7 == level && matches!(c.eax & 31, 1 | 3))
        .map(|c| {
            let [ways, partitions, line] = [c.ebx >> 22, c.ebx >> 12 & 0x3ff, c.ebx & 0xfff];
            [ways, partitions, line, c.ecx]
                .iter()
                .map(|n| *n as usize + 1)
                .product()
        })
}

/// Has the caller's frame begin with a cache line. Compilers keep what does not fit the registers wherever the frame happens to
/// begin; where that is amid a line, each read of it takes two (a quarter of a kernel's speed).
#[inline(always)]
fn align_frame() {
    let mut line = MaybeUninit::<Lane>::uninit();
    black_box(line.as_mut_ptr());
}

#[inline]
pub(super) fn run_avx512<K: Kernel>(s: Avx512, kernel: K) -> K::Output {
    #[target_feature(enable = "avx512f")]
    fn enabled<K: Kernel>(s: Avx512, kernel: K) -> K::Output {
        align_frame();
        kernel.run(s)
    }
    // SAFETY: the token proves that the processor has the instructions.
    unsafe { enabled(s, kernel) }
}

#[inline]
pub(super) fn run_avx2<K: Kernel>(s: Avx2, kernel: K) -> K::Output {
    #[target_feature(enable = "avx2,fma")]
    fn enabled<K: Kernel>(s: Avx2, kernel: K) -> K::Output {
        align_frame();
        kernel.run(s)
    }
    // SAFETY: the token proves that the processor has the instructions.
    unsafe { enabled(s, kernel) }
}

#[inline]
pub(super) fn lanewise_avx512<K: Lanewise>(s: Avx512, kernel: &mut K) {
    #[target_feature(enable = "avx512f")]
    fn enabled<K: Lanewise>(s: Avx512, kernel: &mut K) {
        align_frame();
        run_pieces(kernel, [s]);
    }
    // SAFETY: the token proves that the processor has the instructions.
    unsafe { enabled(s, kernel) }
}

#[inline]
pub(super) fn lanewise_avx2<K: Lanewise>(s: Avx2, kernel: &mut K) {
    #[target_feature(enable = "avx2,fma")]
    fn enabled<K: Lanewise>(s: Avx2, kernel: &mut K) {
        align_frame();
        run_pieces(kernel, s.halves());
    }
    // SAFETY: the token proves that the processor has the instructions.
    unsafe { enabled(s, kernel) }
}

/// Sum of eight lanes: `i` with `i + 4`, `+ 2`, `+ 1`.
///
/// # Safety
/// The processor has AVX.
#[inline(always)]
unsafe fn sum8(v: __m256) -> f32 {
    // SAFETY: the caller vouches for the instructions; registers only, no memory.
    unsafe {
        let q = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let h = _mm_add_ps(q, _mm_movehl_ps(q, q));
        _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)))
    }
}

impl Simd for Avx512 {
    type V = __m512;
    const REGISTERS: usize = 32;

    #[inline(always)]
    fn apart<K: Lanewise>(self, mut kernel: K) {
        lanewise_avx512(self, &mut kernel);
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    fn load(self, from: &Lane) -> __m512 {
        // SAFETY: the token proves the instructions; a `Lane` is aligned to 64 bytes and has the 64
        // bytes that are read.
        unsafe { _mm512_load_ps(from.0.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, to: &mut Lane, v: __m512) {
        // SAFETY: the token proves the instructions; a `Lane` is aligned to 64 bytes and has the 64
        // bytes that are written, which are borrowed mutably.
        unsafe { _mm512_store_ps(to.0.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    fn sqrt(self, a: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_sqrt_ps(a) }
    }
    #[inline(always)]
    fn select_greater(self, a: __m512, b: __m512, yes: __m512, no: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), no, yes) }
    }
    #[inline(always)]
    fn scale_by_power_of_two(self, v: __m512, t: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe {
            let n = _mm512_slli_epi32::<23>(_mm512_castps_si512(t));
            _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(v), n))
        }
    }
    #[inline(always)]
    fn negate_if_odd(self, v: __m512, t: __m512) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe {
            let sign = _mm512_slli_epi32::<31>(_mm512_castps_si512(t));
            _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(v), sign))
        }
    }
}

impl Across for Avx512 {
    #[inline(always)]
    fn sum(self, v: __m512) -> f32 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe {
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(v)));
            sum8(_mm256_add_ps(_mm512_castps512_ps256(v), high))
        }
    }
    /// By halves: shuffles of whole registers take more than twice as long on some processors.
    #[inline(always)]
    fn sums(self, v: [__m512; LANES]) -> __m512 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe {
            let mut halves = [[_mm256_setzero_ps(); 2]; LANES];
            for (halves, v) in halves.iter_mut().zip(v) {
                let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(v)));
                *halves = [_mm512_castps512_ps256(v), high];
            }
            let [low, high] = [sums8(&halves, 0), sums8(&halves, LANES / 2)];
            let low = _mm512_castpd256_pd512(_mm256_castps_pd(low));
            _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, _mm256_castps_pd(high)))
        }
    }
    #[inline(always)]
    unsafe fn columns(
        self,
        from: Rows<'_>,
        first: usize,
        rows: &[u32; LANES],
    ) -> [__m512; COLUMNS] {
        // SAFETY: the token proves the instructions; the caller vouches for the numbers.
        unsafe {
            // Rows i, 4 + i, 8 + i and 12 + i, then a transposition within each quarter.
            let mut v = [_mm512_setzero_ps(); COLUMNS];
            for (i, v) in v.iter_mut().enumerate() {
                *v = _mm512_castps128_ps512(four_of(from, first, rows[i]));
                *v = _mm512_insertf32x4::<1>(*v, four_of(from, first, rows[4 + i]));
                *v = _mm512_insertf32x4::<2>(*v, four_of(from, first, rows[8 + i]));
                *v = _mm512_insertf32x4::<3>(*v, four_of(from, first, rows[12 + i]));
            }
            let a = _mm512_castps_pd(_mm512_unpacklo_ps(v[0], v[1]));
            let b = _mm512_castps_pd(_mm512_unpacklo_ps(v[2], v[3]));
            let c = _mm512_castps_pd(_mm512_unpackhi_ps(v[0], v[1]));
            let d = _mm512_castps_pd(_mm512_unpackhi_ps(v[2], v[3]));
            [
                _mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)),
                _mm512_castpd_ps(_mm512_unpacklo_pd(c, d)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(c, d)),
            ]
        }
    }
}

/// The lower or the upper eight lanes of every line: one register of AVX2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2Half {
    /// 0 or 8.
    first: usize,
    _proof: Avx2,
}

impl Avx2 {
    /// Both halves of a line.
    #[inline(always)]
    fn halves(self) -> [Avx2Half; 2] {
        [0, LANES / 2].map(|first| Avx2Half {
            first,
            _proof: self,
        })
    }
}

impl Simd for Avx2Half {
    type V = __m256;
    const REGISTERS: usize = 16;

    #[inline(always)]
    fn apart<K: Lanewise>(self, mut kernel: K) {
        #[target_feature(enable = "avx2,fma")]
        fn enabled<K: Lanewise>(s: Avx2Half, kernel: &mut K) {
            align_frame();
            run_pieces(kernel, [s]);
        }
        // SAFETY: the token proves that the processor has the instructions.
        unsafe { enabled(self, &mut kernel) }
    }
    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_set1_ps(x) }
    }
    #[inline(always)]
    fn load(self, from: &Lane) -> __m256 {
        // SAFETY: the token proves the instructions; a `Lane` is aligned to 64 bytes, so both of its
        // halves, which begin at lanes 0 and 8, are aligned to 32 and have the 32 bytes that are read.
        unsafe { _mm256_load_ps(from.0.as_ptr().add(self.first)) }
    }
    #[inline(always)]
    fn store(self, to: &mut Lane, v: __m256) {
        // SAFETY: as for `load`; the line is borrowed mutably.
        unsafe { _mm256_store_ps(to.0.as_mut_ptr().add(self.first), v) }
    }
    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_mul_ps(a, b) }
    }
    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_div_ps(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_max_ps(a, b) }
    }
    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_min_ps(a, b) }
    }
    #[inline(always)]
    fn sqrt(self, a: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { _mm256_sqrt_ps(a) }
    }
    #[inline(always)]
    fn select_greater(self, a: __m256, b: __m256, yes: __m256, no: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe {
            // Where one of the two is zero, a single operation is left of these; of a blend, two.
            let greater = _mm256_cmp_ps::<_CMP_GT_OQ>(a, b);
            _mm256_or_ps(_mm256_and_ps(greater, yes), _mm256_andnot_ps(greater, no))
        }
    }
    #[inline(always)]
    fn scale_by_power_of_two(self, v: __m256, t: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe {
            let n = _mm256_slli_epi32::<23>(_mm256_castps_si256(t));
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(v), n))
        }
    }
    #[inline(always)]
    fn negate_if_odd(self, v: __m256, t: __m256) -> __m256 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe {
            let sign = _mm256_slli_epi32::<31>(_mm256_castps_si256(t));
            _mm256_xor_ps(v, _mm256_castsi256_ps(sign))
        }
    }
}

impl Simd for Avx2 {
    type V = [__m256; 2];
    const REGISTERS: usize = 8;

    #[inline(always)]
    fn apart<K: Lanewise>(self, mut kernel: K) {
        lanewise_avx2(self, &mut kernel);
    }
    register_by_register!(halves: 0 1);
}

impl Across for Avx2 {
    #[inline(always)]
    fn sum(self, v: Self::V) -> f32 {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { sum8(_mm256_add_ps(v[0], v[1])) }
    }
    #[inline(always)]
    fn sums(self, v: [[__m256; 2]; LANES]) -> [__m256; 2] {
        // SAFETY: the token proves the instructions; registers only, no memory.
        unsafe { [sums8(&v, 0), sums8(&v, LANES / 2)] }
    }
    #[inline(always)]
    unsafe fn columns(
        self,
        from: Rows<'_>,
        first: usize,
        rows: &[u32; LANES],
    ) -> [[__m256; 2]; COLUMNS] {
        let (low, high) = rows.split_at(LANES / 2);
        // SAFETY: the token proves the instructions; the caller vouches for the numbers.
        let (low, high) = unsafe { (columns8(from, first, low), columns8(from, first, high)) };
        [
            [low[0], high[0]],
            [low[1], high[1]],
            [low[2], high[2]],
            [low[3], high[3]],
        ]
    }
}

/// The sums of eight lines from `first` on: lanes `i` and `i + 8` of each first, then a transposing butterfly.
///
/// # Safety
/// The processor has AVX.
#[inline(always)]
unsafe fn sums8(v: &[[__m256; 2]; LANES], first: usize) -> __m256 {
    // SAFETY: the caller vouches for the instructions; registers only, no memory.
    unsafe {
        let mut four = [_mm256_setzero_ps(); 4];
        for (i, four) in four.iter_mut().enumerate() {
            let [a, b] = [v[first + i], v[first + 4 + i]];
            let [a, b] = [_mm256_add_ps(a[0], a[1]), _mm256_add_ps(b[0], b[1])];
            *four = _mm256_add_ps(
                _mm256_permute2f128_ps::<0x20>(a, b),
                _mm256_permute2f128_ps::<0x31>(a, b),
            );
        }
        let mut two = [_mm256_setzero_ps(); 2];
        for (i, two) in two.iter_mut().enumerate() {
            let (a, b) = (
                _mm256_castps_pd(four[2 * i]),
                _mm256_castps_pd(four[2 * i + 1]),
            );
            *two = _mm256_add_ps(
                _mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),
                _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)),
            );
        }
        _mm256_add_ps(
            _mm256_shuffle_ps::<0x88>(two[0], two[1]),
            _mm256_shuffle_ps::<0xDD>(two[0], two[1]),
        )
    }
}

/// Four numbers of a row.
///
/// # Safety
/// They are there: `row * from.width + first + 4` is at most the number of numbers.
#[inline(always)]
unsafe fn four_of(from: Rows<'_>, first: usize, row: u32) -> __m128 {
    // SAFETY: the caller vouches for the four numbers.
    unsafe { _mm_loadu_ps(from.numbers.as_ptr().add(row as usize * from.width + first)) }
}

/// [`Across::columns`] of eight rows.
///
/// # Safety
/// The processor has AVX; the numbers are there, as for [`Across::columns`].
#[inline(always)]
unsafe fn columns8(from: Rows<'_>, first: usize, rows: &[u32]) -> [__m256; COLUMNS] {
    // SAFETY: the caller vouches for the instructions and the numbers.
    unsafe {
        let mut v = [_mm256_setzero_ps(); COLUMNS];
        for (i, v) in v.iter_mut().enumerate() {
            *v = _mm256_castps128_ps256(four_of(from, first, rows[i]));
            *v = _mm256_insertf128_ps::<1>(*v, four_of(from, first, rows[4 + i]));
        }
        let (a, b) = (
            _mm256_unpacklo_ps(v[0], v[1]),
            _mm256_unpacklo_ps(v[2], v[3]),
        );
        let (c, d) = (
            _mm256_unpackhi_ps(v[0], v[1]),
            _mm256_unpackhi_ps(v[2], v[3]),
        );
        [
            _mm256_shuffle_ps::<0x44>(a, b),
            _mm256_shuffle_ps::<0xEE>(a, b),
            _mm256_shuffle_ps::<0x44>(c, d),
            _mm256_shuffle_ps::<0xEE>(c, d),
        ]
    }
}
