//! Radial functions around centres, under a metric that can learn which directions matter.

use super::Table;
use super::panels::{Panels, Strip, WIDTH};
use crate::octet::{OCTET, Octet};
use loopfit_numerics::lanes::{Kernel, Level, Simd};
use loopfit_numerics::stream::Stream;

/// Variance of the constant that a kernel holds beside its radial part.
const CONSTANT: f64 = 1.0;
/// Share of the identity in a metric, so that no direction is lost for good.
const IDENTITY: f64 = 1e-6;
/// Mean square distance below which rows are alike.
const SMALLEST_SQUARE: f64 = 1e-12;
/// Rows at which slopes are taken for a metric, at most.
const SLOPE_ROWS: usize = 1000;

/// The radial part of a kernel, of the distance `r` in bandwidths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Radial {
    /// `e^{-r^2 / 2}`: functions with all derivatives.
    Gaussian,
    /// `(1 + s + s^2 / 3) e^{-s}`, `s = sqrt(5) r`: functions with two derivatives.
    Matern,
}

impl Radial {
    /// The values at eight `r^2`.
    #[inline(always)]
    fn values(self, squares: Octet) -> Octet {
        match self {
            Self::Gaussian => (squares * Octet::splat(-0.5)).exp(),
            Self::Matern => {
                let (s, decay) = Self::decay(squares);
                let one = Octet::splat(1.0);
                s.fma(s.fma(Octet::splat(1.0 / 3.0), one), one) * decay
            }
        }
    }

    /// `g` with gradient `g (z - c) / h^2` at `z` around the centre `c`, at eight `r^2`.
    #[inline(always)]
    fn slopes(self, squares: Octet) -> Octet {
        match self {
            Self::Gaussian => (squares * Octet::splat(-0.5)).exp() * Octet::splat(-1.0),
            Self::Matern => {
                let (s, decay) = Self::decay(squares);
                (s + Octet::splat(1.0)) * decay * Octet::splat(-5.0 / 3.0)
            }
        }
    }

    /// `s` and `e^{-s}`.
    #[inline(always)]
    fn decay(squares: Octet) -> (Octet, Octet) {
        let mut s = squares * Octet::splat(5.0);
        for v in &mut s.0 {
            *v = v.sqrt();
        }
        (s, (s * Octet::splat(-1.0)).exp())
    }
}

/// Which metrics are learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learnt {
    /// A weight for each input.
    Weights,
    /// A weight for each direction.
    Directions,
}

/// Inputs in the units of a kernel: `z = R x`, so that distances are those of `R^T R`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Metric {
    /// `R` diagonal.
    Weights(Vec<f64>),
    /// `R` upper triangular, row-major.
    Directions(Vec<f64>),
}

impl Metric {
    /// Inputs as they are.
    pub(super) fn plain(d: usize) -> Self {
        Self::Weights(vec![1.0; d])
    }

    /// `R x`.
    fn apply(&self, x: &[f32], z: &mut [f64]) {
        match self {
            Self::Weights(weights) => {
                for ((z, x), weight) in z.iter_mut().zip(x).zip(weights) {
                    *z = f64::from(*x) * weight;
                }
            }
            Self::Directions(rows) => {
                let d = x.len();
                for (i, z) in z.iter_mut().enumerate() {
                    let row = rows[i * d + i..(i + 1) * d].iter();
                    *z = row.zip(&x[i..]).map(|(r, x)| r * f64::from(*x)).sum();
                }
            }
        }
    }

    /// `R^T z`.
    fn back(&self, z: &[f64], x: &mut [f64]) {
        match self {
            Self::Weights(weights) => {
                for ((x, z), weight) in x.iter_mut().zip(z).zip(weights) {
                    *x = z * weight;
                }
            }
            Self::Directions(rows) => {
                let d = x.len();
                x.fill(0.0);
                for (i, z) in z.iter().enumerate() {
                    for (x, r) in x[i..].iter_mut().zip(&rows[i * d + i..]) {
                        *x += r * z;
                    }
                }
            }
        }
    }

    /// The metric in which a function varies alike in all directions on average, from its
    /// gradients, row-major: `R^T R` is the mean of their outer products.
    ///
    /// # Reference
    /// A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, Mechanism for feature learning in
    /// neural networks and backpropagation-free machine learning models, Science 383 (2024)
    /// 1461-1467.
    fn learn(learnt: Learnt, gradients: &[f64], d: usize) -> Self {
        let mut outer = vec![0.0; d * d];
        for g in gradients.chunks(d) {
            match learnt {
                Learnt::Weights => (0..d).for_each(|i| outer[i * d + i] += g[i] * g[i]),
                Learnt::Directions => {
                    for i in 0..d {
                        for j in i..d {
                            outer[i * d + j] += g[i] * g[j];
                        }
                    }
                }
            }
        }
        let trace: f64 = (0..d).map(|i| outer[i * d + i]).sum();
        if !(trace > 0.0 && trace.is_finite()) {
            return Self::plain(d);
        }
        for i in 0..d {
            outer[i * d + i] += IDENTITY * trace;
        }
        outer.iter_mut().for_each(|v| *v /= trace);
        match learnt {
            Learnt::Weights => Self::Weights((0..d).map(|i| outer[i * d + i].sqrt()).collect()),
            Learnt::Directions => {
                triangle(&mut outer, d);
                Self::Directions(outer)
            }
        }
    }
}

/// Replaces the upper triangle of a positive definite matrix by `R` with `R^T R` the matrix.
fn triangle(a: &mut [f64], d: usize) {
    for i in 0..d {
        let (above, row) = a.split_at_mut(i * d);
        for done in above.chunks(d) {
            let factor = done[i];
            for (to, from) in row[i..d].iter_mut().zip(&done[i..]) {
                *to -= factor * from;
            }
        }
        let pivot = row[i].max(f64::MIN_POSITIVE).sqrt();
        row[i..d].iter_mut().for_each(|v| *v /= pivot);
    }
}

/// Kernel functions around centres.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    metric: Metric,
    radial: Radial,
    /// `1 / h^2` for the bandwidth `h`.
    scale: f64,
    d: usize,
    m: usize,
    /// Centres in the metric's units, sixteen at a time, coordinate by coordinate.
    centres: Vec<Strip>,
    level: Level,
}

impl Basis {
    /// At most `m` of the rows as centres. The bandwidth is a multiple `factor` of the root mean
    /// square distance of two rows.
    pub(super) fn new(
        table: &Table<'_>,
        rows: &[u32],
        m: usize,
        metric: Metric,
        radial: Radial,
        factor: f64,
        stream: Stream,
    ) -> Self {
        let d = table.d;
        let mut chosen = rows.to_vec();
        if m < rows.len() {
            // A row is a centre in all folds or in none, as far as possible.
            chosen.sort_by_key(|row| (stream.bits(u64::from(*row)), *row));
            chosen.truncate(m);
            chosen.sort_unstable();
        }
        let m = chosen.len();
        let mut centres = vec![[0.0; WIDTH]; m.div_ceil(WIDTH) * d];
        let mut z = vec![0.0; d];
        for (c, row) in chosen.iter().enumerate() {
            metric.apply(table.row(*row), &mut z);
            for (j, z) in z.iter().enumerate() {
                centres[c / WIDTH * d + j][c % WIDTH] = *z;
            }
        }
        let (mut sums, mut squares) = (vec![0.0; d], 0.0);
        for row in rows {
            metric.apply(table.row(*row), &mut z);
            for (sum, z) in sums.iter_mut().zip(&z) {
                *sum += z;
                squares += z * z;
            }
        }
        let n = rows.len() as f64;
        let means: f64 = sums.iter().map(|s| s * s / n).sum();
        let distance = 2.0 * (squares - means) / n;
        // Rows that are all alike have no distance to measure by.
        let distance = if distance > SMALLEST_SQUARE {
            distance
        } else {
            1.0
        };
        Self {
            scale: 1.0 / (factor * factor * distance),
            level: Level::fastest(),
            metric,
            radial,
            d,
            m,
            centres,
        }
    }

    /// Number of functions.
    pub(super) fn len(&self) -> usize {
        self.m
    }

    /// Number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.d
    }

    /// The values of all functions at row-major inputs.
    pub(super) fn values(&self, x: &[f32]) -> Panels {
        let z = self.units(x);
        Panels::new(x.len() / self.d, self.m, self.level, |panel, strips| {
            self.fill(panel, &z, false, strips);
        })
    }

    /// The values of all functions at the centres, row-major.
    pub(super) fn at_centres(&self) -> Vec<f64> {
        let m = self.m;
        let mut z = vec![0.0; m * self.d];
        for (i, z) in z.chunks_mut(self.d).enumerate() {
            for (j, z) in z.iter_mut().enumerate() {
                *z = self.centres[i / WIDTH * self.d + j][i % WIDTH];
            }
        }
        let mut values = vec![0.0; m * m];
        let mut strips = vec![[0.0; WIDTH]; m];
        for panel in 0..m.div_ceil(WIDTH) {
            self.fill(panel, &z, false, &mut strips);
            let used = WIDTH.min(m - panel * WIDTH);
            for (values, strip) in values.chunks_mut(m).zip(&strips) {
                values[panel * WIDTH..][..used].copy_from_slice(&strip[..used]);
            }
        }
        values
    }

    fn units(&self, x: &[f32]) -> Vec<f64> {
        let mut z = vec![0.0; x.len()];
        for (x, z) in x.chunks(self.d).zip(z.chunks_mut(self.d)) {
            self.metric.apply(x, z);
        }
        z
    }

    /// Values of a panel of functions at points in the metric's units, or factors of their slopes.
    fn fill(&self, panel: usize, z: &[f64], slopes: bool, strips: &mut [Strip]) {
        self.level.run(Fill {
            centres: &self.centres[panel * self.d..][..self.d],
            scale: self.scale,
            radial: self.radial,
            slopes,
            z,
            strips,
        });
    }

    /// The metric that the functions with these weights, one list for each output, suggest by
    /// their gradients at rows.
    pub(super) fn learn(
        &self,
        table: &Table<'_>,
        rows: &[u32],
        weights: &[Vec<f64>],
        learnt: Learnt,
    ) -> Metric {
        let step = rows.len().div_ceil(SLOPE_ROWS).max(1);
        let d = self.d;
        let mut gradients = Vec::new();
        let (mut by_unit, mut gradient) = (vec![0.0; d], vec![0.0; d]);
        let panels = self.m.div_ceil(WIDTH);
        let mut strips = vec![[[0.0; WIDTH]]; panels];
        for row in rows.iter().step_by(step) {
            let z = self.units(table.row(*row));
            for (panel, strip) in strips.iter_mut().enumerate() {
                self.fill(panel, &z, true, strip);
            }
            for weights in weights {
                by_unit.fill(0.0);
                for (c, weight) in weights.iter().enumerate() {
                    let factor = weight * strips[c / WIDTH][0][c % WIDTH];
                    for j in 0..d {
                        by_unit[j] += factor * (z[j] - self.centres[c / WIDTH * d + j][c % WIDTH]);
                    }
                }
                self.metric.back(&by_unit, &mut gradient);
                gradients.extend_from_slice(&gradient);
            }
        }
        Metric::learn(learnt, &gradients, d)
    }
}

struct Fill<'a> {
    centres: &'a [Strip],
    scale: f64,
    radial: Radial,
    slopes: bool,
    z: &'a [f64],
    strips: &'a mut [Strip],
}

impl Kernel for Fill<'_> {
    type Output = ();

    // Elementwise on strips: the same bits at every level.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for (z, strip) in self.z.chunks(self.centres.len()).zip(self.strips) {
            let mut sums = [0.0; WIDTH];
            for (z, centre) in z.iter().zip(self.centres) {
                for k in 0..WIDTH {
                    let difference = z - centre[k];
                    sums[k] = difference.mul_add(difference, sums[k]);
                }
            }
            for from in [0, OCTET] {
                let mut squares = Octet::ZERO;
                for k in 0..OCTET {
                    squares.0[k] = sums[from + k] * self.scale;
                }
                let values = if self.slopes {
                    self.radial.slopes(squares)
                } else {
                    self.radial.values(squares) + Octet::splat(CONSTANT)
                };
                strip[from..from + OCTET].copy_from_slice(&values.0);
            }
        }
    }
}

const _: () = assert!(WIDTH == 2 * OCTET);

#[cfg(test)]
mod tests {
    use super::super::loss::Loss;
    use super::*;

    const X: [f32; 12] = [
        0.0, 0.0, 1.0, 0.5, -0.5, 1.0, 0.3, -1.0, 2.0, 0.1, -1.5, -0.4,
    ];

    fn table() -> Table<'static> {
        Table {
            x: &X,
            d: 2,
            targets: &[0.0; 6],
            loss: Loss::Squared,
        }
    }

    fn directions() -> Metric {
        Metric::Directions(vec![1.5, 0.4, 0.0, 0.7])
    }

    fn basis(metric: Metric, radial: Radial) -> Basis {
        let rows: Vec<u32> = (0..6).collect();
        Basis::new(&table(), &rows, 6, metric, radial, 0.8, Stream::new(1))
    }

    /// Gaussian `e^{-r^2 / 2}` and Matern (Rasmussen and Williams, equation (4.17)) of distances
    /// taken by hand.
    #[test]
    fn values_are_the_kernel_of_distances_at_every_level() {
        for radial in [Radial::Gaussian, Radial::Matern] {
            for metric in [Metric::Weights(vec![1.5, 0.7]), directions()] {
                let r = match &metric {
                    Metric::Weights(w) => [w[0], 0.0, w[1]],
                    Metric::Directions(r) => [r[0], r[1], r[3]],
                };
                let units = |i: usize| {
                    let (a, b) = (f64::from(X[2 * i]), f64::from(X[2 * i + 1]));
                    [r[0] * a + r[1] * b, r[2] * b]
                };
                let square = |i: usize, j: usize| -> f64 {
                    let (u, v) = (units(i), units(j));
                    (u[0] - v[0]).powi(2) + (u[1] - v[1]).powi(2)
                };
                let pairs = (0..36).map(|ij| square(ij / 6, ij % 6));
                let h2 = 0.64 * pairs.sum::<f64>() / 36.0;
                let mut basis = basis(metric, radial);
                let at_centres = basis.at_centres();
                for (ij, value) in at_centres.iter().enumerate() {
                    let r2 = square(ij / 6, ij % 6) / h2;
                    let s = (5.0 * r2).sqrt();
                    let expected = match radial {
                        Radial::Gaussian => (-0.5 * r2).exp(),
                        Radial::Matern => (1.0 + s + s * s / 3.0) * (-s).exp(),
                    };
                    assert!((value - expected - CONSTANT).abs() < 1e-12);
                }
                for level in Level::available() {
                    basis.level = level;
                    assert_eq!(basis.at_centres(), at_centres);
                }
            }
        }
    }

    /// The metric of one row is the outer product of the gradient there with itself.
    #[test]
    fn metrics_are_learnt_from_gradients() {
        let weights = [0.3, -1.0, 0.7, 0.2, 0.5, -0.4];
        for radial in [Radial::Gaussian, Radial::Matern] {
            let basis = basis(directions(), radial);
            let f = |x: [f64; 2]| basis.values(&[x[0] as f32, x[1] as f32]).times(&weights)[0];
            // Row 2, with a step that 32-bit numbers hold exactly.
            let (x, h) = ([-0.5, 1.0], 1.0 / 1024.0);
            let slopes = [
                (f([x[0] + h, x[1]]) - f([x[0] - h, x[1]])) / (2.0 * h),
                (f([x[0], x[1] + h]) - f([x[0], x[1] - h])) / (2.0 * h),
            ];
            let trace = slopes[0] * slopes[0] + slopes[1] * slopes[1];
            let expected = slopes.map(|s| s.abs() / trace.sqrt());
            let learnt = basis.learn(&table(), &[2], &[weights.to_vec()], Learnt::Weights);
            let Metric::Weights(found) = learnt else {
                panic!("weights were asked for");
            };
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
            let learnt = basis.learn(&table(), &[2], &[weights.to_vec()], Learnt::Directions);
            let Metric::Directions(r) = learnt else {
                panic!("directions were asked for");
            };
            let outer = [r[0] * r[0], r[0] * r[1], r[1] * r[1] + r[3] * r[3]];
            let products = [
                slopes[0] * slopes[0],
                slopes[0] * slopes[1],
                slopes[1] * slopes[1],
            ];
            for (found, expected) in outer.iter().zip(products) {
                assert!(
                    (found - expected / trace).abs() < 1e-5,
                    "{found} {expected}"
                );
            }
        }
    }
}
