//! Any state dimension: the state lies in memory, four strips share each coefficient.
//! Operations and their order are those of the register kernels, so the bits agree.

use super::pack::Packing;
use loopfit_numerics::lanes::{Kernel, Lane, Simd};

/// Strips that share a loaded coefficient.
const N: usize = 4;

/// As [`super::forward::Forward`].
pub(super) struct Forward<'a> {
    pub(super) p: &'a Packing,
    pub(super) params: &'a [f32],
    pub(super) x: &'a [Lane],
    pub(super) out: &'a mut [Lane],
    pub(super) z: &'a mut [Lane],
    pub(super) h: &'a mut [Lane],
    pub(super) keep: bool,
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            p,
            params,
            x,
            out,
            z: kept_z,
            h: kept_h,
            keep,
        } = self;
        let (d, q, r) = (p.d, p.q, p.r);
        let strips = x.len() / d;
        let mut z = vec![Lane::ZERO; N * q];
        let mut next = vec![Lane::ZERO; N * q];
        let mut h = vec![Lane::ZERO; N * r];
        for strip in (0..strips).step_by(N) {
            let m = N.min(strips - strip);
            let (z, next, h) = (&mut z[..m * q], &mut next[..m * q], &mut h[..m * r]);
            let input = Rows {
                coefficients: &params[p.input()],
                stride: d + 1,
                offset: 0,
                width: d,
            };
            let bias = |k: usize| params[k * (d + 1) + d];
            products(
                s,
                m,
                &input,
                &x[strip * d..][..m * d],
                z,
                |_, k| s.splat(bias(k)),
                |_, _, v| v,
            );
            for t in 0..p.iterations {
                let block = p.block_at(t);
                let units = &params[p.units(block)];
                let w1 = Rows {
                    coefficients: units,
                    stride: 2 * q + 1,
                    offset: 0,
                    width: q,
                };
                let b1 = |j: usize| units[j * (2 * q + 1) + q];
                let zero = s.splat(0.0);
                products(
                    s,
                    m,
                    &w1,
                    z,
                    h,
                    |_, j| s.splat(b1(j)),
                    |_, _, v| s.max(zero, v),
                );
                if keep {
                    kept_z[(t * strips + strip) * q..][..m * q].copy_from_slice(z);
                    kept_h[(t * strips + strip) * r..][..m * r].copy_from_slice(h);
                }
                let w2 = Columns {
                    coefficients: units,
                    stride: 2 * q + 1,
                    offset: q + 1,
                    height: r,
                };
                let b2 = &params[p.b2(block)];
                let start = |i: usize, k: usize| s.add(s.load(&z[i * q + k]), s.splat(b2[k]));
                products(s, m, &w2, h, next, start, |_, _, v| v);
                z.copy_from_slice(next);
            }
            if keep {
                kept_z[(p.iterations * strips + strip) * q..][..m * q].copy_from_slice(z);
            }
            let output = &params[p.output()];
            let rows = Rows {
                coefficients: output,
                stride: q + 1,
                offset: 0,
                width: q,
            };
            let out = &mut out[strip * p.outputs..][..m * p.outputs];
            products(
                s,
                m,
                &rows,
                z,
                out,
                |_, c| s.splat(output[c * (q + 1) + q]),
                |_, _, v| v,
            );
        }
    }
}

/// As [`super::backward::Backward`].
pub(super) struct Backward<'a> {
    pub(super) p: &'a Packing,
    pub(super) params: &'a [f32],
    pub(super) g_out: &'a [Lane],
    pub(super) h: &'a [Lane],
    pub(super) a: &'a mut [Lane],
    pub(super) g: &'a mut [Lane],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            p,
            params,
            g_out,
            h,
            a,
            g: kept_g,
        } = self;
        let (q, r) = (p.q, p.r);
        let strips = g_out.len() / p.outputs;
        let zero = s.splat(0.0);
        let mut g = vec![Lane::ZERO; N * q];
        let mut next = vec![Lane::ZERO; N * q];
        for strip in (0..strips).step_by(N) {
            let m = N.min(strips - strip);
            let (g, next) = (&mut g[..m * q], &mut next[..m * q]);
            let output = Columns {
                coefficients: &params[p.output()],
                stride: q + 1,
                offset: 0,
                height: p.outputs,
            };
            let g_out = &g_out[strip * p.outputs..][..m * p.outputs];
            products(s, m, &output, g_out, g, |_, _| zero, |_, _, v| v);
            for t in (0..p.iterations).rev() {
                kept_g[((t + 1) * strips + strip) * q..][..m * q].copy_from_slice(g);
                let units = &params[p.units(p.block_at(t))];
                let h = &h[(t * strips + strip) * r..][..m * r];
                let a = &mut a[(t * strips + strip) * r..][..m * r];
                let w2 = Rows {
                    coefficients: units,
                    stride: 2 * q + 1,
                    offset: q + 1,
                    width: q,
                };
                // Starting a sum at -0 leaves its first term as it is, like a plain product.
                let masked = |i: usize, j: usize, v: S::V| {
                    s.select_greater(s.load(&h[i * r + j]), zero, v, zero)
                };
                products(s, m, &w2, g, a, |_, _| s.splat(-0.0), masked);
                let w1 = Columns {
                    coefficients: units,
                    stride: 2 * q + 1,
                    offset: 0,
                    height: r,
                };
                products(
                    s,
                    m,
                    &w1,
                    a,
                    next,
                    |i, k| s.load(&g[i * q + k]),
                    |_, _, v| v,
                );
                g.copy_from_slice(next);
            }
            kept_g[strip * q..][..m * q].copy_from_slice(g);
        }
    }
}

/// A matrix inside the packed coefficients.
trait Matrix {
    /// Number of entries in a row of the matrix.
    fn width(&self) -> usize;
    /// Entry (i, j).
    fn at(&self, i: usize, j: usize) -> f32;
}

/// Row `i` of the matrix is contiguous, `stride` apart from the next.
struct Rows<'a> {
    coefficients: &'a [f32],
    stride: usize,
    offset: usize,
    width: usize,
}

/// Column `j` of the matrix is contiguous, `stride` apart from the next.
struct Columns<'a> {
    coefficients: &'a [f32],
    stride: usize,
    offset: usize,
    height: usize,
}

impl Matrix for Rows<'_> {
    #[inline(always)]
    fn width(&self) -> usize {
        self.width
    }
    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> f32 {
        self.coefficients[i * self.stride + self.offset + j]
    }
}

impl Matrix for Columns<'_> {
    #[inline(always)]
    fn width(&self) -> usize {
        self.height
    }
    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> f32 {
        self.coefficients[j * self.stride + self.offset + i]
    }
}

/// `to[strip][i] = finish(start(strip, i) + sum_j M[i][j] from[strip][j])` for `m` strips.
#[inline(always)]
fn products<S: Simd>(
    s: S,
    m: usize,
    matrix: &impl Matrix,
    from: &[Lane],
    to: &mut [Lane],
    start: impl Fn(usize, usize) -> S::V,
    finish: impl Fn(usize, usize, S::V) -> S::V,
) {
    let (width, height) = (matrix.width(), to.len() / m);
    for i in 0..height {
        if m == N {
            let mut sums: [S::V; N] = std::array::from_fn(|strip| start(strip, i));
            for j in 0..width {
                let w = s.splat(matrix.at(i, j));
                for (strip, sum) in sums.iter_mut().enumerate() {
                    *sum = s.fma(w, s.load(&from[strip * width + j]), *sum);
                }
            }
            for (strip, sum) in sums.into_iter().enumerate() {
                s.store(&mut to[strip * height + i], finish(strip, i, sum));
            }
        } else {
            for strip in 0..m {
                let mut sum = start(strip, i);
                for j in 0..width {
                    sum = s.fma(
                        s.splat(matrix.at(i, j)),
                        s.load(&from[strip * width + j]),
                        sum,
                    );
                }
                s.store(&mut to[strip * height + i], finish(strip, i, sum));
            }
        }
    }
}
