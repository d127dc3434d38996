//! The normaliser of an energy model as it is reported: with its error.
//!
//! Training takes the mean over fixed nodes ([`Energy::log_normaliser`]), the same for every update. What is reported
//! about a density needs to be the truth about its index: on a grid the error is told by a coarser grid; above three
//! coordinates, and where a grid is too coarse, by points that are shifted at random.

use crate::{Energy, Error, Nodes};
use loopfit_numerics::libm::{exp, log};
use loopfit_numerics::quadrature::low_discrepancy;
use loopfit_numerics::special::log_sum_exp;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::{mean, standard_error, sum};

/// Independent random shifts, whose spread is the error.
const SHIFTS: usize = 16;
/// Rounds in which the marginals of the proposal are learned.
const ROUNDS: u64 = 3;
/// Cells along each axis of the proposal.
const CELLS: usize = 32;
/// Part of each of its marginals that is uniform.
const UNIFORM: f64 = 0.1;
/// An error that needs no more points.
const ENOUGH: f64 = 0.004;
/// Points at first, and at most.
const FIRST_POINTS: usize = 1 << 16;
const MOST_POINTS: usize = 1 << 20;

/// `log Z_f` with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormaliser {
    /// `log Z_f`.
    pub value: f64,
    /// One standard error; on a grid, what a coarser one says of it.
    pub error: f64,
}

impl LogNormaliser {
    /// From this error on a person should know it.
    pub const LARGE: f64 = 0.02;
    /// From this error on nothing that depends on it says anything.
    pub const HOPELESS: f64 = 0.5;
}

impl Energy {
    /// `log Z_f` of an index that is given by its values at points of the cube, row-major.
    ///
    /// On a grid it is that of [`Energy::on_grids`], unless the error is large. Above three coordinates, and where a grid
    /// is too coarse, half of the points are drawn where the density is large.
    ///
    /// # Formula
    /// With the points `x_i` of sixteen independent shifts of Halton points, modulo one, half of them mapped by the quantile
    /// functions of `g`, a product of step functions that approximates the density,
    /// `(1/N) sum_i e^{f(x_i)} / {1/2 + 1/2 prod_k g_k(x_ik)}` has the expectation `Z_f`, and no weight is above twice that of
    /// uniform points. The error is the standard error over the shifts. There are 65536 points, and more while it is large.
    ///
    /// # Reference
    /// Cranley and Patterson, "Randomization of number theoretic methods for multiple integration", 1976; Lepage, "A new
    /// algorithm for adaptive multidimensional integration", 1978; Veach and Guibas, "Optimally combining sampling
    /// techniques for Monte Carlo rendering", 1995: the balance heuristic.
    pub fn estimated_log_normaliser(
        self,
        mut index: impl FnMut(&[f64]) -> Vec<f64>,
    ) -> Result<LogNormaliser, Error> {
        if let Some(coarser) = self.coarser() {
            let mut at = |rule: Self| checked(index(&rule.node_points()), rule.node_count());
            let found = self.on_grids(&at(self)?, &at(coarser)?);
            if found.error <= LogNormaliser::LARGE {
                return Ok(found);
            }
        }
        self.shifted(index)
    }

    /// The grid with half as many cells along each axis; none for points that are no grid.
    pub fn coarser(self) -> Option<Self> {
        match self.nodes() {
            Nodes::Grid { side } => {
                let side = side.div_ceil(2);
                Self::new(self.d(), Nodes::Grid { side }).ok()
            }
            Nodes::LowDiscrepancy { .. } => None,
        }
    }

    /// The normaliser on a grid, from the values at its nodes and at those of the coarser one.
    ///
    /// # Formula
    /// [`Energy::log_normaliser`]; its error is a third of the difference from the coarser grid, since the midpoint rule's
    /// error falls like the square of the side.
    pub fn on_grids(self, nodes: &[f64], coarser: &[f64]) -> LogNormaliser {
        let value = self.log_normaliser(nodes);
        let other = log_sum_exp(coarser) - log(coarser.len() as f64);
        LogNormaliser {
            value,
            error: (value - other).abs() / 3.0,
        }
    }

    fn shifted(self, mut index: impl FnMut(&[f64]) -> Vec<f64>) -> Result<LogNormaliser, Error> {
        let d = self.d();
        let stream = Stream::new(0).child("normaliser");
        let mut proposal = Proposal::uniform(d);
        let pilot = low_discrepancy(d, FIRST_POINTS / 8);
        for round in 0..ROUNDS {
            let points = proposal.points(&pilot, stream.child("pilot").nth(round));
            let log_weights = proposal.log_weights(&points, &mut index)?;
            proposal = Proposal::learned(d, &points, &log_weights);
        }
        let mut each = FIRST_POINTS / (2 * SHIFTS);
        loop {
            let halton = low_discrepancy(d, each);
            let estimates = (0..SHIFTS as u64).map(|shift| {
                let points = proposal.points(&halton, stream.child("shift").nth(shift));
                let log_weights = proposal.log_weights(&points, &mut index)?;
                Ok(log_sum_exp(&log_weights) - log(log_weights.len() as f64))
            });
            let estimates = estimates.collect::<Result<Vec<f64>, Error>>()?;
            // Relative to the first, so that no exponential overflows.
            let relative: Vec<f64> = estimates.iter().map(|e| exp(e - estimates[0])).collect();
            let centre = mean(&relative);
            let found = LogNormaliser {
                value: estimates[0] + log(centre),
                error: standard_error(&relative) / centre,
            };
            each *= 2;
            if found.error <= ENOUGH || 2 * SHIFTS * each > MOST_POINTS {
                return Ok(found);
            }
        }
    }
}

/// Half of it uniform on the cube, half with independent coordinates whose densities are step functions.
struct Proposal {
    /// The density of each coordinate on each of the equal cells of `[0, 1]`.
    marginals: Vec<[f64; CELLS]>,
}

impl Proposal {
    fn uniform(d: usize) -> Self {
        Self {
            marginals: vec![[1.0; CELLS]; d],
        }
    }

    /// With the marginals of weighted points, smoothed.
    fn learned(d: usize, points: &[f64], log_weights: &[f64]) -> Self {
        let total = log_sum_exp(log_weights);
        let weights: Vec<f64> = log_weights.iter().map(|w| exp(w - total)).collect();
        let marginal = |axis: usize| {
            let mut masses = [0.0; CELLS];
            for (x, weight) in points.chunks(d).zip(&weights) {
                masses[cell(x[axis])] += weight;
            }
            let at = |i: usize| masses[i.min(CELLS - 1)];
            let smooth: [f64; CELLS] = std::array::from_fn(|i| {
                0.25 * at(i.saturating_sub(1)) + 0.5 * at(i) + 0.25 * at(i + 1)
            });
            let scale = (1.0 - UNIFORM) * CELLS as f64 / sum(&smooth);
            smooth.map(|mass| UNIFORM + scale * mass)
        };
        Self {
            marginals: (0..d).map(marginal).collect(),
        }
    }

    /// Points from those of a sequence: shifted at random, then shifted again and mapped.
    fn points(&self, sequence: &[f64], stream: Stream) -> Vec<f64> {
        let d = self.marginals.len();
        let shifted = |half: &str| {
            let shift = stream.child(half);
            let shift: Vec<f64> = (0..d as u64).map(|axis| shift.uniform(axis)).collect();
            let move_one = move |(i, u): (usize, &f64)| {
                let moved = u + shift[i % d];
                if moved < 1.0 { moved } else { moved - 1.0 }
            };
            sequence.iter().enumerate().map(move_one)
        };
        let mapped = shifted("mapped").enumerate();
        let mapped = mapped.map(|(i, u)| quantile(&self.marginals[i % d], u));
        shifted("uniform").chain(mapped).collect()
    }

    /// `f - log(1/2 + 1/2 prod g)` at points.
    fn log_weights(
        &self,
        points: &[f64],
        index: &mut impl FnMut(&[f64]) -> Vec<f64>,
    ) -> Result<Vec<f64>, Error> {
        let d = self.marginals.len();
        let values = checked(index(points), points.len() / d)?;
        let weight = |(f, x): (f64, &[f64])| {
            let factors = x.iter().zip(&self.marginals).map(|(x, g)| g[cell(*x)]);
            f - log(0.5 + 0.5 * factors.product::<f64>())
        };
        Ok(values
            .into_iter()
            .zip(points.chunks(d))
            .map(weight)
            .collect())
    }
}

/// The cell of a coordinate.
fn cell(x: f64) -> usize {
    ((x * CELLS as f64) as usize).min(CELLS - 1)
}

/// The point below which a marginal has the mass `u`.
fn quantile(marginal: &[f64; CELLS], u: f64) -> f64 {
    let mut rest = u * CELLS as f64;
    for (i, density) in marginal.iter().enumerate() {
        if rest < *density || i == CELLS - 1 {
            let within = (rest / density).min(1.0);
            return (i as f64 + within) / CELLS as f64;
        }
        rest -= density;
    }
    1.0
}

/// As many values as points, all of them numbers.
fn checked(values: Vec<f64>, expected: usize) -> Result<Vec<f64>, Error> {
    if values.len() != expected {
        let got = values.len();
        return Err(Error::Length { expected, got });
    }
    match values.iter().any(|v| v.is_nan()) {
        true => Err(Error::IndexNotANumber),
        false => Ok(values),
    }
}

#[cfg(test)]
mod tests;
