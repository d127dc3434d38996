//! Rows in octets, and how a likelihood explains them.
// Plain indices: several arrays are walked together, and the loops must stay simple enough for vectors.
#![allow(clippy::needless_range_loop)]

use crate::octet::{OCTET, Octet};
use loopfit_data::Samples;
use loopfit_likelihood::{Likelihood, Poisson};
use loopfit_numerics::stream::Stream;

/// How far a residual is from zero before the Laplace likelihood counts it as such, in standard deviations of the
/// target: keeps the weights of its quadratic majorant bounded.
const SMALLEST_RESIDUAL: f64 = 1e-3;
/// Smallest Fisher information of a logit: what rounding leaves of it for certain rows.
const SMALLEST_INFORMATION: f64 = 1e-12;

/// A likelihood of rows with targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Gaussian,
    Laplace,
    Poisson,
    Bernoulli,
    Multiclass,
}

impl Kind {
    /// The kind of a likelihood; none for a density.
    pub(crate) fn of(likelihood: Likelihood) -> Option<Self> {
        match likelihood {
            Likelihood::Gaussian(_) => Some(Self::Gaussian),
            Likelihood::Laplace(_) => Some(Self::Laplace),
            Likelihood::Poisson(_) => Some(Self::Poisson),
            Likelihood::Bernoulli(_) => Some(Self::Bernoulli),
            Likelihood::Multiclass(_) => Some(Self::Multiclass),
            Likelihood::Energy(_) => None,
        }
    }

    /// Smallest prior precision: with less, separable classes and counts of zero drive coefficients to infinity.
    pub(crate) fn least_precision(self) -> f64 {
        match self {
            Self::Gaussian | Self::Laplace => 1e-3,
            Self::Poisson | Self::Bernoulli | Self::Multiclass => 1e-2,
        }
    }
}

/// Rows in an order of chance, the same whenever there are as many: the first of them stand for all, whatever a table is sorted by.
pub(crate) fn shuffled(rows: Vec<usize>) -> Vec<usize> {
    let mut order = vec![0u32; rows.len()];
    Stream::new(rows.len() as u64)
        .child("rows")
        .permute(&mut order);
    order.into_iter().map(|i| rows[i as usize]).collect()
}

/// Rows of inputs and targets, eight at a time.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) n: usize,
    pub(crate) d: usize,
    pub(crate) outputs: usize,
    pub(crate) kind: Kind,
    x: Vec<Octet>,
    y: Vec<Octet>,
    /// How much each row counts, and its root; zero for rows that are not there.
    weight: Vec<Octet>,
    root: Vec<Octet>,
}

impl Rows {
    /// These rows of samples.
    pub(crate) fn new(samples: &Samples, rows: &[usize], kind: Kind, outputs: usize) -> Self {
        let (n, d) = (rows.len(), samples.d());
        let octets = n.div_ceil(OCTET);
        let mut x = vec![Octet::ZERO; octets * d];
        let mut y = vec![Octet::ZERO; octets];
        let mut weight = vec![Octet::ZERO; octets];
        for (i, row) in rows.iter().enumerate() {
            let (octet, lane) = (i / OCTET, i % OCTET);
            let values = &samples.x()[row * d..][..d];
            for (k, value) in values.iter().enumerate() {
                x[octet * d + k].0[lane] = f64::from(*value);
            }
            y[octet].0[lane] = f64::from(samples.y()[*row]);
            weight[octet].0[lane] = samples.weights().get(*row).map_or(1.0, |w| f64::from(*w));
        }
        let root = weight.iter().map(|w| Octet(w.0.map(f64::sqrt))).collect();
        Self {
            n,
            d,
            outputs,
            kind,
            x,
            y,
            weight,
            root,
        }
    }

    /// The same rows with these inputs, in this order.
    pub(crate) fn with_inputs(&self, inputs: &[usize]) -> Self {
        let of_octet = |octet| inputs.iter().map(move |i| self.x(octet)[*i]);
        Self {
            d: inputs.len(),
            x: (0..self.octets()).flat_map(of_octet).collect(),
            y: self.y.clone(),
            weight: self.weight.clone(),
            root: self.root.clone(),
            ..*self
        }
    }

    /// The same rows with these inputs, followed by their squares less one.
    pub(crate) fn with_squares(&self, inputs: &[usize]) -> Self {
        let mut rows = self.with_inputs(inputs);
        let one = Octet::splat(1.0);
        rows.x = rows
            .x
            .chunks(inputs.len())
            .flat_map(|x| {
                x.iter()
                    .copied()
                    .chain(x.iter().map(move |v| *v * *v - one))
            })
            .collect();
        rows.d *= 2;
        rows
    }

    /// Whether the class is this one, as a response of mean zero or so.
    pub(crate) fn one_against_rest(&self, class: usize) -> Self {
        let is = |y: f64| if y as usize == class { 1.0 } else { -1.0 };
        Self {
            outputs: 1,
            kind: Kind::Gaussian,
            x: self.x.clone(),
            y: self.y.iter().map(|y| Octet(y.0.map(is))).collect(),
            weight: self.weight.clone(),
            root: self.root.clone(),
            ..*self
        }
    }

    /// The first `n` rows, in whole octets.
    pub(crate) fn first(&self, n: usize) -> Self {
        if n >= self.n {
            return self.clone();
        }
        let octets = n / OCTET;
        Self {
            n: octets * OCTET,
            x: self.x[..octets * self.d].to_vec(),
            y: self.y[..octets].to_vec(),
            weight: self.weight[..octets].to_vec(),
            root: self.root[..octets].to_vec(),
            ..*self
        }
    }

    /// How much each row counts.
    pub(crate) fn weights(&self) -> impl Iterator<Item = f64> {
        self.weight.iter().flat_map(|octet| octet.0).take(self.n)
    }

    /// The mean of a regression's targets, zero of classes and counts. Targets are scaled by all rows of a selection: where a fit sees some of
    /// them, their mean tells that of the others, which a bias held at zero would give away to a network that meets every target.
    pub(crate) fn centre(&self) -> f64 {
        if !matches!(self.kind, Kind::Gaussian | Kind::Laplace) {
            return 0.0;
        }
        let (mut sum, mut weights) = (Octet::ZERO, Octet::ZERO);
        for (y, weight) in self.y.iter().zip(&self.weight) {
            sum += *y * *weight;
            weights += *weight;
        }
        sum.sum() / weights.sum()
    }

    pub(crate) fn octets(&self) -> usize {
        self.y.len()
    }

    #[inline(always)]
    pub(crate) fn x(&self, octet: usize) -> &[Octet] {
        &self.x[octet * self.d..][..self.d]
    }

    /// Squares or factors of the information that a row has: one, or one for each class but the last, whose score is zero.
    pub(crate) fn factors(&self) -> usize {
        match self.kind {
            Kind::Multiclass => self.outputs - 1,
            _ => 1,
        }
    }

    /// The loss of each row of an octet at outputs `f`, as often as it counts, without constants; zero for rows that are not there.
    ///
    /// # Formula
    /// Gaussian `(f - y)^2 / 2`, Laplace `|f - y|`, Poisson `e^f - y f + y log y - y`, Bernoulli `log(1 + e^f) - y f`, multiclass
    /// `log sum_k e^{f_k} - f_y`.
    #[inline(always)]
    pub(crate) fn loss(&self, octet: usize, f: &[Octet]) -> Octet {
        let (y, weight) = (self.y[octet], self.weight[octet]);
        let mut loss = match self.kind {
            Kind::Gaussian => {
                let gap = f[0] - y;
                Octet::splat(0.5) * gap * gap
            }
            Kind::Laplace => Octet((f[0] - y).0.map(f64::abs)),
            Kind::Poisson => {
                let mut loss = Octet::ZERO;
                for lane in 0..OCTET {
                    loss.0[lane] = Poisson.half_deviance(y.0[lane], f[0].0[lane]);
                }
                loss
            }
            Kind::Bernoulli => {
                let (smaller, larger) = (f[0].0.map(|f| -f.abs()), f[0].0.map(|f| f.max(0.0)));
                Octet(larger) + Octet(smaller).exp().log_1p() - y * f[0]
            }
            Kind::Multiclass => {
                let (largest, mut sum) = (largest(f), Octet::ZERO);
                for f in f {
                    sum += (*f - largest).exp();
                }
                let mut loss = largest + sum.log();
                for lane in 0..OCTET {
                    loss.0[lane] -= f[y.0[lane] as usize].0[lane];
                }
                loss
            }
        };
        for lane in 0..OCTET {
            loss.0[lane] = match weight.0[lane] {
                0.0 => 0.0,
                weight => weight * loss.0[lane],
            };
        }
        loss
    }

    /// The sum of losses where every output is zero: the mean of a regression's targets, of classes equal probabilities. Losses of different
    /// rows are compared relative to it.
    pub(crate) fn loss_at_zero(&self) -> f64 {
        let zeros = vec![Octet::ZERO; self.outputs];
        let mut sum = Octet::ZERO;
        for octet in 0..self.octets() {
            sum += self.loss(octet, &zeros);
        }
        sum.sum()
    }

    /// Factors of the Gauss-Newton matrix of an octet: `seeds[k]` is column `k` of `R` with `R R^T` the
    /// information of the outputs, and `residuals[k]` is such that `sum_k residuals_k seeds_k` is the
    /// gradient of the loss.
    ///
    /// # Formula
    /// Gaussian `R = 1`, residual `f - y`. Laplace, by its quadratic majorant: `R = |f - y|^{-1/2}`. Poisson `R = e^{f/2}`. Bernoulli
    /// `R = {p (1 - p)}^{1/2}`. Multiclass: the information of all scores but the last is `diag(p) - p p^T = L D L^T` with
    /// `s_k = sum_{j > k} p_j`, `D_k = p_k s_k / s_{k-1}` and `L_jk = -p_j / s_k` below the diagonal, so `R = L D^{1/2}`, and
    /// the residuals solve `R residuals = p - e_y`.
    #[inline(always)]
    pub(crate) fn factor(
        &self,
        octet: usize,
        f: &[Octet],
        seeds: &mut [Octet],
        residuals: &mut [Octet],
    ) {
        let (y, weight) = (self.y[octet], self.root[octet]);
        match self.kind {
            Kind::Gaussian => {
                seeds[0] = weight;
                residuals[0] = (f[0] - y) * weight;
            }
            Kind::Laplace => {
                for lane in 0..OCTET {
                    let r = f[0].0[lane] - y.0[lane];
                    let root = r.abs().max(SMALLEST_RESIDUAL).sqrt();
                    seeds[0].0[lane] = weight.0[lane] / root;
                    residuals[0].0[lane] = weight.0[lane] * r / root;
                }
            }
            Kind::Poisson => {
                let mean = f[0].exp();
                for lane in 0..OCTET {
                    let root = mean.0[lane].max(SMALLEST_INFORMATION).sqrt();
                    seeds[0].0[lane] = weight.0[lane] * root;
                    residuals[0].0[lane] = weight.0[lane] * (mean.0[lane] - y.0[lane]) / root;
                }
            }
            Kind::Bernoulli => {
                let one = Octet::splat(1.0);
                let e = (Octet::ZERO - f[0]).exp() + one;
                for lane in 0..OCTET {
                    let p = 1.0 / e.0[lane];
                    let root = (p * (1.0 - p)).max(SMALLEST_INFORMATION).sqrt();
                    seeds[0].0[lane] = weight.0[lane] * root;
                    residuals[0].0[lane] = weight.0[lane] * (p - y.0[lane]) / root;
                }
            }
            Kind::Multiclass => {
                let c = self.outputs;
                let largest = largest(f);
                // Probabilities wait where the residuals will be, their sums over later classes where the last score's seeds are.
                let last = (f[c - 1] - largest).exp();
                let mut sum = last;
                for k in 0..c - 1 {
                    residuals[k] = (f[k] - largest).exp();
                    sum += residuals[k];
                }
                for lane in 0..OCTET {
                    let least = |p: f64| (p / sum.0[lane]).max(SMALLEST_INFORMATION);
                    let mut later = least(last.0[lane]);
                    for k in (0..c - 1).rev() {
                        let p = least(residuals[k].0[lane]);
                        let root = (p * later / (later + p)).sqrt() * weight.0[lane];
                        residuals[k].0[lane] = p;
                        for j in 0..c {
                            seeds[k * c + j].0[lane] = match j {
                                _ if j == k => root,
                                _ if j > k && j < c - 1 => -root * residuals[j].0[lane] / later,
                                _ if j < k => 0.0,
                                _ => later,
                            };
                        }
                        later += p;
                    }
                    // Forward substitution; what earlier ones add is p_k times one sum.
                    let mut added = 0.0;
                    for k in 0..c - 1 {
                        let p = residuals[k].0[lane];
                        let after = std::mem::take(&mut seeds[k * c + c - 1].0[lane]);
                        let own = f64::from(u8::from(y.0[lane] as usize == k));
                        let u = p - own + p * added;
                        added += u / after;
                        let root = (p * after / later).sqrt();
                        residuals[k].0[lane] = weight.0[lane] * u / root;
                        later = after;
                    }
                }
            }
        }
    }
}

/// The largest of several scores, row by row.
#[inline(always)]
fn largest(f: &[Octet]) -> Octet {
    let mut largest = f[0];
    for v in &f[1..] {
        for lane in 0..OCTET {
            largest.0[lane] = largest.0[lane].max(v.0[lane]);
        }
    }
    largest
}
