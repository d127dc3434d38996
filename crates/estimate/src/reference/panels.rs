//! Tall matrices in panels of sixteen columns, and the products that least squares need of them.

use loopfit_numerics::lanes::{Kernel, Level, Simd};

/// Columns of a panel.
pub(super) const WIDTH: usize = 16;
/// Rows of a product that are kept in registers.
const TILE: usize = 4;

/// Sixteen columns of a row.
pub(super) type Strip = [f64; WIDTH];

/// A matrix of `n` rows and `m` columns: panel after panel, each row by row, the last panel
/// filled up with zeros.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    n: usize,
    m: usize,
    strips: Vec<Strip>,
    level: Level,
}

impl Panels {
    /// A matrix whose panels `fill` writes: it is told the panel's number.
    pub(super) fn new(
        n: usize,
        m: usize,
        level: Level,
        mut fill: impl FnMut(usize, &mut [Strip]),
    ) -> Self {
        let mut strips = vec![[0.0; WIDTH]; n * m.div_ceil(WIDTH)];
        if n > 0 {
            for (panel, strips) in strips.chunks_mut(n).enumerate() {
                fill(panel, strips);
                let used = WIDTH.min(m - panel * WIDTH);
                strips.iter_mut().for_each(|strip| strip[used..].fill(0.0));
            }
        }
        Self {
            n,
            m,
            strips,
            level,
        }
    }

    fn panel(&self, panel: usize) -> &[Strip] {
        &self.strips[panel * self.n..][..self.n]
    }

    /// `A v`.
    pub(super) fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.n];
        for (panel, v) in v.chunks(WIDTH).enumerate() {
            let mut factors = [0.0; WIDTH];
            factors[..v.len()].copy_from_slice(v);
            self.level.run(Times {
                panel: self.panel(panel),
                factors: &factors,
                product: &mut product,
            });
        }
        product
    }

    /// `A^T v`.
    pub(super) fn transposed_times(&self, v: &[f64]) -> Vec<f64> {
        let mut product = Vec::with_capacity(self.m + WIDTH);
        for panel in 0..self.m.div_ceil(WIDTH) {
            let panel = self.panel(panel);
            product.extend(self.level.run(TransposedTimes { panel, v }));
        }
        product.truncate(self.m);
        product
    }

    /// `A^T A`, row-major: the diagonal and what is right of it.
    pub(super) fn gram(&self) -> Vec<f64> {
        let m = self.m;
        let mut gram = vec![0.0; m * m];
        for i in (0..m).step_by(TILE) {
            let (left, within) = (self.panel(i / WIDTH), i % WIDTH);
            for panel in i / WIDTH..m.div_ceil(WIDTH) {
                let right = self.panel(panel);
                let tile = self.level.run(Tile {
                    left,
                    within,
                    right,
                });
                for (row, sums) in tile.iter().enumerate().take(m - i) {
                    let used = WIDTH.min(m - panel * WIDTH);
                    gram[(i + row) * m + panel * WIDTH..][..used].copy_from_slice(&sums[..used]);
                }
            }
        }
        gram
    }
}

// Every operation below is elementwise on strips, so that vectors of any width give the same bits.

struct Times<'a> {
    panel: &'a [Strip],
    factors: &'a Strip,
    product: &'a mut [f64],
}

impl Kernel for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for (strip, product) in self.panel.iter().zip(self.product) {
            let mut terms = [0.0; WIDTH];
            for k in 0..WIDTH {
                terms[k] = strip[k] * self.factors[k];
            }
            let mut half = WIDTH / 2;
            while half > 0 {
                for k in 0..half {
                    terms[k] += terms[k + half];
                }
                half /= 2;
            }
            *product += terms[0];
        }
    }
}

struct TransposedTimes<'a> {
    panel: &'a [Strip],
    v: &'a [f64],
}

impl Kernel for TransposedTimes<'_> {
    type Output = Strip;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Strip {
        let mut sums = [0.0; WIDTH];
        for (strip, v) in self.panel.iter().zip(self.v) {
            for k in 0..WIDTH {
                sums[k] = strip[k].mul_add(*v, sums[k]);
            }
        }
        sums
    }
}

struct Tile<'a> {
    left: &'a [Strip],
    within: usize,
    right: &'a [Strip],
}

impl Kernel for Tile<'_> {
    type Output = [Strip; TILE];

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> [Strip; TILE] {
        let mut sums = [[0.0; WIDTH]; TILE];
        for (left, right) in self.left.iter().zip(self.right) {
            let factors: &[f64; TILE] = left[self.within..][..TILE].try_into().expect("a tile");
            for (sums, factor) in sums.iter_mut().zip(factors) {
                for k in 0..WIDTH {
                    sums[k] = right[k].mul_add(*factor, sums[k]);
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_numerics::stream::Stream;

    #[test]
    fn products_are_sums_over_rows_and_columns_with_the_same_bits_at_every_level() {
        for (n, m) in [(1, 1), (5, 3), (40, 16), (33, 37), (7, 50)] {
            let a = |i: usize, j: usize| Stream::new(3).normal((i * m + j) as u64);
            let u: Vec<f64> = (0..m).map(|j| a(j, 1)).collect();
            let v: Vec<f64> = (0..n).map(|i| a(i, 2)).collect();
            let products = |level: Level| {
                let panels = Panels::new(n, m, level, |panel, strips| {
                    for (i, strip) in strips.iter_mut().enumerate() {
                        *strip = std::array::from_fn(|k| a(i, panel * WIDTH + k));
                    }
                });
                (panels.times(&u), panels.transposed_times(&v), panels.gram())
            };
            let (times, transposed, gram) = products(Level::fastest());
            for level in Level::available() {
                assert_eq!(
                    products(level),
                    (times.clone(), transposed.clone(), gram.clone())
                );
            }
            for (i, product) in times.iter().enumerate() {
                let expected: f64 = (0..m).map(|j| a(i, j) * u[j]).sum();
                assert!((product - expected).abs() < 1e-12);
            }
            for (j, product) in transposed.iter().enumerate() {
                let expected: f64 = (0..n).map(|i| a(i, j) * v[i]).sum();
                assert!((product - expected).abs() < 1e-12);
            }
            for i in 0..m {
                for j in i..m {
                    let expected: f64 = (0..n).map(|r| a(r, i) * a(r, j)).sum();
                    assert!((gram[i * m + j] - expected).abs() < 1e-12);
                }
            }
        }
    }
}
