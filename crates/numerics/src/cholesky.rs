//! Symmetric positive definite systems in a fixed order of operations, for matrices that are
//! solved so often that the bits must not depend on the machine.

use crate::lanes::{Kernel, Level, Simd};
use crate::libm;

/// Rows that are taken off the rows below in one go.
const PANEL: usize = 8;
/// Partial sums of a dot product.
const PARTS: usize = 16;

/// The factor `U` of `A = U^T U`, by rows, of a positive definite matrix.
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    /// Row `i` at `i * n`; entries left of the diagonal are not used.
    rows: Vec<f64>,
    level: Level,
}

impl Cholesky {
    /// Room for a matrix of `n` rows.
    pub fn new(n: usize, level: Level) -> Self {
        Self {
            n,
            rows: vec![0.0; n * n],
            level,
        }
    }

    /// Factors `a + damping I`; only the diagonal of `a` and what is right of it are read,
    /// row `i` at `i * n`. False if the matrix is not positive definite; then there is no
    /// factor to solve with.
    #[must_use]
    pub fn factor(&mut self, a: &[f64], damping: f64) -> bool {
        assert_eq!(a.len(), self.rows.len(), "a square matrix");
        self.rows.copy_from_slice(a);
        for i in 0..self.n {
            self.rows[i * self.n + i] += damping;
        }
        self.level.run(Factor {
            n: self.n,
            rows: &mut self.rows,
        })
    }

    /// Replaces `b` by the solution `x` of `A x = b`.
    pub fn solve(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.n, "a vector of the matrix's size");
        self.level.run(Solve {
            n: self.n,
            rows: &self.rows,
            b,
        });
    }
}

impl Cholesky {
    /// The diagonal of `A^-1`, and `log det A`.
    ///
    /// # Formula
    /// `(A^-1)_ii = |U^-T e_i|^2`; `log det A = 2 sum_i log U_ii`.
    pub fn inverse_diagonal(&self) -> (Vec<f64>, f64) {
        let n = self.n;
        let diagonal = self.level.run(InverseDiagonal {
            n,
            rows: &self.rows,
        });
        let logs: f64 = (0..n).map(|i| libm::log(self.rows[i * n + i])).sum();
        (diagonal, 2.0 * logs)
    }
}

struct InverseDiagonal<'a> {
    n: usize,
    rows: &'a [f64],
}

impl Kernel for InverseDiagonal<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Vec<f64> {
        let Self { n, rows } = self;
        let mut diagonal = vec![0.0; n];
        let mut y = vec![0.0; n];
        for i in 0..n {
            y[i..].fill(0.0);
            y[i] = 1.0;
            for k in i..n {
                let row = &rows[k * n + k..(k + 1) * n];
                let x = y[k] / row[0];
                diagonal[i] = x.mul_add(x, diagonal[i]);
                subtract(&mut y[k + 1..], x, &row[1..]);
            }
        }
        diagonal
    }
}

struct Factor<'a> {
    n: usize,
    rows: &'a mut [f64],
}

impl Kernel for Factor<'_> {
    type Output = bool;

    // No lanes by hand: every row operation is elementwise, so that the compiler's vectors of
    // any width give the same bits.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> bool {
        let n = self.n;
        for first in (0..n).step_by(PANEL) {
            let end = n.min(first + PANEL);
            let (done, below) = self.rows.split_at_mut(end * n);
            let panel = &mut done[first * n..];
            for k in first..end {
                let (row, rest) = panel[(k - first) * n..].split_at_mut(n);
                let pivot = row[k].sqrt();
                // Also false for NaN.
                if !(pivot > 0.0 && pivot.is_finite()) {
                    return false;
                }
                let scale = 1.0 / pivot;
                row[k] = pivot;
                for u in &mut row[k + 1..] {
                    *u *= scale;
                }
                for (i, to) in (k + 1..end).zip(rest.chunks_exact_mut(n)) {
                    subtract(&mut to[i..], row[i], &row[i..]);
                }
            }
            // Below the last panel, which may be shorter, there is nothing.
            for (i, to) in (end..n).zip(below.chunks_exact_mut(n)) {
                subtract_panel(&mut to[i..], panel, n, i);
            }
        }
        true
    }
}

struct Solve<'a> {
    n: usize,
    rows: &'a [f64],
    b: &'a mut [f64],
}

impl Kernel for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { n, rows, b } = self;
        for k in 0..n {
            let row = &rows[k * n + k..(k + 1) * n];
            b[k] /= row[0];
            let x = b[k];
            subtract(&mut b[k + 1..], x, &row[1..]);
        }
        for k in (0..n).rev() {
            let row = &rows[k * n + k..(k + 1) * n];
            b[k] = (b[k] - dot(&row[1..], &b[k + 1..])) / row[0];
        }
    }
}

/// `to -= factor * from`.
#[inline(always)]
fn subtract(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to -= factor * from;
    }
}

/// `to -= row[i] * row[i..]` for the rows of a panel in turn, reading and writing `to` once.
#[inline(always)]
fn subtract_panel(to: &mut [f64], panel: &[f64], n: usize, i: usize) {
    let row = |k: usize| &panel[k * n + i..][..to.len()];
    let rows: [&[f64]; PANEL] = std::array::from_fn(row);
    let factors = rows.map(|row| row[0]);
    for (j, to) in to.iter_mut().enumerate() {
        let mut value = *to;
        for k in 0..PANEL {
            value -= factors[k] * rows[k][j];
        }
        *to = value;
    }
}

/// Dot product in sixteen partial sums, added in ascending order at the end.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut parts = [0.0; PARTS];
    let (a_parts, b_parts) = (a.chunks_exact(PARTS), b.chunks_exact(PARTS));
    let rest = a_parts.remainder().iter().zip(b_parts.remainder());
    let mut sum = 0.0;
    for (x, y) in rest {
        sum += x * y;
    }
    for (x, y) in a_parts.zip(b_parts) {
        for i in 0..PARTS {
            parts[i] += x[i] * y[i];
        }
    }
    for part in parts {
        sum += part;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;
    use proptest::prelude::*;

    /// `B^T B` with `B` random: positive definite if `B` has enough rows.
    fn gram(n: usize, rows: usize, stream: Stream) -> Vec<f64> {
        let b: Vec<f64> = (0..rows * n).map(|i| stream.normal(i as u64)).collect();
        (0..n * n)
            .map(|ij| {
                (0..rows)
                    .map(|k| b[k * n + ij / n] * b[k * n + ij % n])
                    .sum()
            })
            .collect()
    }

    proptest! {
        #[test]
        fn the_solution_solves_with_the_same_bits_at_every_level(n in 1usize..70, seed: u64, damping in 0.01f64..2.0) {
            let a = gram(n, n / 2 + 1, Stream::new(seed));
            let b: Vec<f64> = (0..n).map(|i| Stream::new(seed).child("b").normal(i as u64)).collect();
            let solve = |level| {
                let mut cholesky = Cholesky::new(n, level);
                assert!(cholesky.factor(&a, damping));
                let mut x = b.clone();
                cholesky.solve(&mut x);
                x
            };
            let x = solve(Level::fastest());
            for level in Level::available() {
                prop_assert_eq!(&solve(level), &x);
            }
            for i in 0..n {
                let ax: f64 = (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>() + damping * x[i];
                prop_assert!((ax - b[i]).abs() < 1e-8 * n as f64, "row {i}: {ax} {}", b[i]);
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        let mut cholesky = Cholesky::new(2, Level::fastest());
        assert!(!cholesky.factor(&[1.0, 2.0, 2.0, 1.0], 0.0));
        assert!(!cholesky.factor(&[0.0, 0.0, 0.0, 1.0], 0.0));
        assert!(!cholesky.factor(&[f64::NAN, 0.0, 0.0, 1.0], 1.0));
        assert!(cholesky.factor(&[1.0, 2.0, 2.0, 1.0], 2.0));
    }
}
