//! The loss of a network on rows, its gradient and its Gauss-Newton matrix.

use crate::octet::{OCTET, Octet};
use crate::rows::Rows;
use crate::tape::{Tape, Trace};
use loopfit_numerics::lanes::{Kernel, Level, Simd};

/// Lines of the factors that lie side by side.
const LINES: usize = 4;
/// Octets of factors that are multiplied at once: for networks of a hundred numbers they fit a
/// second-level cache.
const AT_ONCE: usize = 48;
/// Octets between two looks at whether to stop, where only losses are computed.
const LOOK: usize = 512;

/// Whether to stop soon.
pub(crate) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Nobody asks to stop.
pub(crate) const NEVER: Stop<'_> = &|| false;

/// `sum_i loss_i`, its gradient and `sum_i J_i^T I_i J_i`, whose right upper part alone is filled.
#[derive(Clone, Debug)]
pub(crate) struct Curvature {
    pub(crate) loss: f64,
    pub(crate) gradient: Vec<f64>,
    pub(crate) matrix: Vec<f64>,
}

impl Curvature {
    /// What is known where it was not computed to the end.
    fn unknown(p: usize) -> Self {
        Self {
            loss: f64::INFINITY,
            gradient: vec![0.0; p],
            matrix: vec![0.0; p * p],
        }
    }

    /// Whether it was computed to the end.
    pub(crate) fn is_known(&self) -> bool {
        self.loss < f64::INFINITY
    }

    /// What belongs to these of the coefficients.
    fn among(self, places: &[usize]) -> Self {
        let p = self.gradient.len();
        if places.len() == p {
            return self;
        }
        let row = |i: &usize| {
            let row = &self.matrix[i * p..][..p];
            places.iter().map(move |j| row[*j])
        };
        Self {
            loss: self.loss,
            gradient: places.iter().map(|i| self.gradient[*i]).collect(),
            matrix: places.iter().flat_map(row).collect(),
        }
    }
}

/// A network and rows, at the machine's fastest level: the level changes no bit.
pub(crate) struct Objective<'a> {
    pub(crate) tape: &'a Tape,
    pub(crate) rows: &'a Rows,
    level: Level,
    stop: Stop<'a>,
}

impl std::fmt::Debug for Objective<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = f.debug_struct("Objective");
        parts.field("rows", &self.rows.n).finish_non_exhaustive()
    }
}

impl<'a> Objective<'a> {
    pub(crate) fn new(tape: &'a Tape, rows: &'a Rows) -> Self {
        Self::at_level(tape, rows, Level::fastest())
    }

    pub(crate) fn at_level(tape: &'a Tape, rows: &'a Rows, level: Level) -> Self {
        Self {
            tape,
            rows,
            level,
            stop: NEVER,
        }
    }

    /// The same, asked now and then whether to stop: what is not computed to the end is infinite.
    pub(crate) fn until(self, stop: Stop<'a>) -> Self {
        Self { stop, ..self }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// The sum of losses.
    pub(crate) fn loss(&self, theta: &[f64]) -> f64 {
        self.level.run(Losses {
            objective: self,
            theta,
        })
    }

    /// Loss, gradient and matrix in the coefficients that are kept, in their order; the others are zero.
    pub(crate) fn curvature(&self, theta: &[f64], kept: &[usize]) -> Curvature {
        let wide = self.level.name() == "avx512";
        let objective = self;
        if self.tape.is_affine() && self.rows.factors() > 1 {
            let all = match wide {
                true => self.level.run(Scores::<4> { objective, theta }),
                false => self.level.run(Scores::<2> { objective, theta }),
            };
            return all.among(kept);
        }
        match wide {
            true => self.level.run(Squares::<4> {
                objective,
                theta,
                kept,
            }),
            false => self.level.run(Squares::<2> {
                objective,
                theta,
                kept,
            }),
        }
    }

    /// The outputs of all rows, row-major and clipped, and the loss of each.
    pub(crate) fn outputs(&self, theta: &[f64], bound: f64) -> (Vec<f64>, Vec<f64>) {
        self.level.run(Outputs {
            objective: self,
            theta,
            bound,
        })
    }
}

struct Losses<'a, 'b> {
    objective: &'a Objective<'b>,
    theta: &'a [f64],
}

impl Kernel for Losses<'_, '_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> f64 {
        let Objective { tape, rows, .. } = self.objective;
        let filled = tape.filled(self.theta);
        let mut trace = Trace::default();
        let mut sum = Octet::ZERO;
        for octet in 0..rows.octets() {
            if octet % LOOK == 0 && self.objective.is_stopped() {
                return f64::INFINITY;
            }
            filled.forward(rows.x(octet), &mut trace);
            sum += rows.loss(octet, &trace.out);
        }
        sum.sum()
    }
}

struct Outputs<'a, 'b> {
    objective: &'a Objective<'b>,
    theta: &'a [f64],
    bound: f64,
}

impl Kernel for Outputs<'_, '_> {
    type Output = (Vec<f64>, Vec<f64>);

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> (Vec<f64>, Vec<f64>) {
        let Objective { tape, rows, .. } = self.objective;
        let c = tape.outputs();
        let (mut outputs, mut losses) = (vec![0.0; rows.n * c], vec![0.0; rows.n]);
        let filled = tape.filled(self.theta);
        let mut trace = Trace::default();
        for octet in 0..rows.octets() {
            filled.forward(rows.x(octet), &mut trace);
            for out in &mut trace.out {
                out.0 = out.0.map(|v| v.clamp(-self.bound, self.bound));
            }
            let loss = rows.loss(octet, &trace.out);
            for lane in 0..OCTET.min(rows.n - octet * OCTET) {
                let row = octet * OCTET + lane;
                losses[row] = loss.0[lane];
                for k in 0..c {
                    outputs[row * c + k] = trace.out[k].0[lane];
                }
            }
        }
        (outputs, losses)
    }
}

/// `K` lines with `K` lines at a time: `K^2` sums of eight lanes, as many as the registers hold.
struct Squares<'a, 'b, const K: usize> {
    objective: &'a Objective<'b>,
    theta: &'a [f64],
    /// The coefficients that matter.
    kept: &'a [usize],
}

impl<const K: usize> Kernel for Squares<'_, '_, K> {
    type Output = Curvature;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Curvature {
        let Objective { tape, rows, .. } = self.objective;
        let (p, c, m) = (self.kept.len(), tape.outputs(), rows.factors());
        // The residuals are one more column of the factors; their products with the others are the gradient.
        let lines = p + 1;
        // Groups of equal size: the sum over lanes at the end of each costs as much as twenty octets.
        let groups = (rows.octets() * m).div_ceil(AT_ONCE).max(1);
        let octets_at_once = rows.octets().div_ceil(groups).max(1);
        // Odd, so that the lines of a column do not fall on the same few sets of a cache.
        let stride = (octets_at_once * m) | 1;
        let filled = tape.filled_at(self.theta, self.kept);
        let blocks = lines.div_ceil(LINES);
        let mut factors = vec![[Octet::ZERO; LINES]; blocks * stride];
        let mut squares = vec![0.0; lines * lines];
        let mut trace = Trace::default();
        let mut seeds = vec![Octet::ZERO; m * c];
        let mut residuals = vec![Octet::ZERO; m];
        let mut loss = Octet::ZERO;
        let mut octet = 0;
        while octet < rows.octets() {
            if self.objective.is_stopped() {
                return Curvature::unknown(p);
            }
            let count = octets_at_once.min(rows.octets() - octet);
            for i in 0..count {
                let x = rows.x(octet + i);
                filled.forward(x, &mut trace);
                loss += rows.loss(octet + i, &trace.out);
                rows.factor(octet + i, &trace.out, &mut seeds, &mut residuals);
                for k in 0..m {
                    filled.backward(x, &mut trace, &seeds[k * c..][..c]);
                    trace.gradient.push(residuals[k]);
                    let column = factors.iter_mut().skip(i * m + k).step_by(stride);
                    for (to, from) in column.zip(trace.gradient.chunks(LINES)) {
                        to[..from.len()].copy_from_slice(from);
                    }
                }
            }
            let used = count * m;
            for first in 0..blocks {
                let left = &factors[first * stride..][..used];
                for second in first..blocks {
                    let right = &factors[second * stride..][..used];
                    for i in (0..LINES).step_by(K) {
                        for j in (0..LINES).step_by(K) {
                            let to = (first * LINES + i, second * LINES + j);
                            tile::<K>(left, right, (i, j), to, lines, &mut squares);
                        }
                    }
                }
            }
            octet += count;
        }
        let gradient = (0..p).map(|i| squares[i * lines + p]).collect();
        let mut matrix = vec![0.0; p * p];
        for i in 0..p {
            matrix[i * p..][..p].copy_from_slice(&squares[i * lines..][..p]);
        }
        Curvature {
            loss: loss.sum(),
            gradient,
            matrix,
        }
    }
}

/// An affine function of all inputs and scores of several classes: the matrix has a block `sum_i I_ab,i x_i x_i^T` for each pair of
/// classes, with the input 1 for the bias.
struct Scores<'a, 'b, const K: usize> {
    objective: &'a Objective<'b>,
    theta: &'a [f64],
}

impl<const K: usize> Kernel for Scores<'_, '_, K> {
    type Output = Curvature;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Curvature {
        let Objective { tape, rows, .. } = self.objective;
        let (p, c, m, d) = (tape.len(), tape.outputs(), rows.factors(), rows.d);
        let octets = rows.octets();
        // Lines of the inputs, the input 1, and the products of the inputs with the information of a pair of classes.
        let lines = d + 1;
        let blocks = lines.div_ceil(LINES);
        let stride = octets | 1;
        let mut inputs = vec![[Octet::ZERO; LINES]; blocks * stride];
        let mut weighed = inputs.clone();
        let one = Octet::splat(1.0);
        let place = |class: usize, k: usize| if k < d { class * d + k } else { m * d + class };
        let filled = tape.filled(self.theta);
        let (mut trace, mut loss) = (Trace::default(), Octet::ZERO);
        let mut seeds = vec![Octet::ZERO; m * c];
        let mut residuals = vec![Octet::ZERO; m];
        let mut information = vec![Octet::ZERO; m * m * octets];
        let mut sums = vec![Octet::ZERO; p];
        for octet in 0..octets {
            let x = rows.x(octet);
            filled.forward(x, &mut trace);
            loss += rows.loss(octet, &trace.out);
            rows.factor(octet, &trace.out, &mut seeds, &mut residuals);
            for a in 0..m {
                let mut slope = Octet::ZERO;
                for k in 0..m {
                    slope = residuals[k].fma(seeds[k * c + a], slope);
                }
                for b in a..m {
                    let mut sum = Octet::ZERO;
                    for k in 0..m {
                        sum = seeds[k * c + a].fma(seeds[k * c + b], sum);
                    }
                    information[(a * m + b) * octets + octet] = sum;
                }
                for k in 0..lines {
                    let x = if k < d { x[k] } else { one };
                    inputs[k / LINES * stride + octet][k % LINES] = x;
                    let to = &mut sums[place(a, k)];
                    *to = slope.fma(x, *to);
                }
            }
        }
        let mut matrix = vec![0.0; p * p];
        let mut squares = vec![0.0; lines * lines];
        for a in 0..m {
            if self.objective.is_stopped() {
                return Curvature::unknown(p);
            }
            for b in a..m {
                for octet in 0..octets {
                    let weight = information[(a * m + b) * octets + octet];
                    for block in 0..blocks {
                        let from = inputs[block * stride + octet];
                        weighed[block * stride + octet] = from.map(|x| x * weight);
                    }
                }
                squares.fill(0.0);
                for first in 0..blocks {
                    let left = &weighed[first * stride..][..octets];
                    for second in first..blocks {
                        let right = &inputs[second * stride..][..octets];
                        for i in (0..LINES).step_by(K) {
                            for j in (0..LINES).step_by(K) {
                                let to = (first * LINES + i, second * LINES + j);
                                tile::<K>(left, right, (i, j), to, lines, &mut squares);
                            }
                        }
                    }
                }
                for k in 0..lines {
                    for l in k..lines {
                        for (k, l) in [(k, l), (l, k)] {
                            let (i, j) = (place(a, k), place(b, l));
                            matrix[i.min(j) * p + i.max(j)] = squares[k.min(l) * lines + k.max(l)];
                        }
                    }
                }
            }
        }
        Curvature {
            loss: loss.sum(),
            gradient: sums.iter().map(|sum| sum.sum()).collect(),
            matrix,
        }
    }
}

/// Adds the products of `K` lines of each block, from lines `(i, j)` on, to the squares from `to` on.
#[inline(always)]
fn tile<const K: usize>(
    left: &[[Octet; LINES]],
    right: &[[Octet; LINES]],
    (i, j): (usize, usize),
    to: (usize, usize),
    lines: usize,
    squares: &mut [f64],
) {
    let mut sums = [[Octet::ZERO; K]; K];
    for (left, right) in left.iter().zip(right) {
        let a: [Octet; K] = std::array::from_fn(|k| left[i + k]);
        for l in 0..K {
            let b = right[j + l];
            for k in 0..K {
                sums[k][l] = a[k].fma(b, sums[k][l]);
            }
        }
    }
    for k in 0..K.min(lines.saturating_sub(to.0)) {
        for l in 0..K.min(lines.saturating_sub(to.1)) {
            squares[(to.0 + k) * lines + to.1 + l] += sums[k][l].sum();
        }
    }
}

#[cfg(test)]
mod tests;
