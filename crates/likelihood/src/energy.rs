//! Densities on the unit cube (paper, Sections 3.1, C.4 and F.4.5).
//!
//! The integral over the cube in the normaliser is a mean over fixed nodes, the same for
//! every update. On the nodes the model is a law with masses `e^{f_i} / sum_j e^{f_j}`, and the
//! distances are those of two such laws.

use crate::distance::{self, log_masses};
use crate::{Error, Gamma};
use loopfit_numerics::lanes::{Across, LANES, Lane};
use loopfit_numerics::libm::{exp, log};
use loopfit_numerics::quadrature::{low_discrepancy, midpoint_grid};
use loopfit_numerics::special::log_sum_exp;
use loopfit_numerics::sum::{mean, sum};
use serde::{Deserialize, Serialize};

/// Above this dimension a grid fine enough to be useful has too many nodes.
pub(crate) const MAX_GRID_DIMENSION: usize = 3;
/// Node values and coordinates beyond this leave no memory for anything else.
pub(crate) const MAX_NODES: u128 = 1 << 24;

/// `X` on `[0,1]^d` with density `e^{f(x)} / Z_f`, `Z_f = integral e^f` over the cube: the index is
/// the negative energy. Adding a constant to `f` changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Energy {
    d: usize,
    nodes: Nodes,
}

/// Where the normaliser is computed, with equal weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Nodes {
    /// Midpoints of `side^d` equal cells, for `d <= 3`.
    Grid {
        /// Cells along each axis.
        side: usize,
    },
    /// The first points of the Halton sequence.
    LowDiscrepancy {
        /// Number of points.
        n: usize,
    },
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    d: usize,
    nodes: Nodes,
}

impl Energy {
    /// A checked dimension and rule.
    pub fn new(d: usize, nodes: Nodes) -> Result<Self, Error> {
        if d == 0 {
            return Err(Error::NoCoordinates);
        }
        let count = match nodes {
            Nodes::Grid { .. } if d > MAX_GRID_DIMENSION => return Err(Error::GridDimension(d)),
            Nodes::Grid { side } => (side as u128).saturating_pow(d as u32),
            Nodes::LowDiscrepancy { n } => n as u128,
        };
        if (1..=MAX_NODES).contains(&count) {
            Ok(Self { d, nodes })
        } else {
            Err(Error::NodeCount(count))
        }
    }

    /// The rule for training updates: grids of side 128, 32 (the paper's) and 16 for
    /// `d = 1, 2, 3`, and 4096 low-discrepancy points above.
    pub fn training(d: usize) -> Result<Self, Error> {
        Self::new(d, default_nodes(d, [128, 32, 16], 4096))
    }

    /// The finer rule for validation and scores: grids of side 1024, 128 (the paper's) and 64 for
    /// `d = 1, 2, 3`, and 65536 low-discrepancy points above.
    pub fn evaluation(d: usize) -> Result<Self, Error> {
        Self::new(d, default_nodes(d, [1024, 128, 64], 65536))
    }

    /// Number of coordinates.
    pub fn d(self) -> usize {
        self.d
    }

    /// The rule.
    pub fn nodes(self) -> Nodes {
        self.nodes
    }

    /// Number of nodes.
    pub fn node_count(self) -> usize {
        match self.nodes {
            Nodes::Grid { side } => side.pow(self.d as u32),
            Nodes::LowDiscrepancy { n } => n,
        }
    }

    /// Coordinates of the nodes, row-major, one row of `d` for each node.
    pub fn node_points(self) -> Vec<f64> {
        match self.nodes {
            Nodes::Grid { side } => midpoint_grid(self.d, side),
            Nodes::LowDiscrepancy { n } => low_discrepancy(self.d, n),
        }
    }
}

fn default_nodes(d: usize, sides: [usize; MAX_GRID_DIMENSION], n: usize) -> Nodes {
    match d.checked_sub(1).and_then(|axis| sides.get(axis)) {
        Some(&side) => Nodes::Grid { side },
        None => Nodes::LowDiscrepancy { n },
    }
}

impl TryFrom<Unchecked> for Energy {
    type Error = Error;
    fn try_from(unchecked: Unchecked) -> Result<Self, Error> {
        Self::new(unchecked.d, unchecked.nodes)
    }
}

impl From<Energy> for Unchecked {
    fn from(checked: Energy) -> Self {
        Self {
            d: checked.d,
            nodes: checked.nodes,
        }
    }
}

/// Slices of node values have one value for each node, in the order of
/// [`Energy::node_points`].
impl Energy {
    /// Log normaliser from the values of `f` at the nodes.
    ///
    /// # Formula
    /// `log Z_f = log{(1/N) sum_i e^{f_i}}`.
    ///
    /// # Reference
    /// Paper, Section 3.1, the display that defines the energy model; Section F.4.5 for the rule.
    pub fn log_normaliser(self, nodes: &[f64]) -> f64 {
        debug_assert_eq!(nodes.len(), self.node_count());
        log_sum_exp(nodes) - log(nodes.len() as f64)
    }

    /// Negative log density of one observation with index value `f`.
    ///
    /// # Formula
    /// `log Z_f - f`.
    pub fn nll(self, log_normaliser: f64, f: f64) -> f64 {
        log_normaliser - f
    }

    /// Average negative log-likelihood, from the values of `f` at the data and at the nodes.
    pub fn average_nll(self, data: &[f64], nodes: &[f64]) -> Result<f64, Error> {
        self.check_nodes(nodes)?;
        Ok(self.nll(self.log_normaliser(nodes), mean(data)))
    }

    /// Derivative of the average negative log-likelihood in each of `n` data values.
    ///
    /// # Formula
    /// `-1/n`.
    pub fn data_derivative(self, n: usize) -> f64 {
        -1.0 / n as f64
    }

    /// Derivative of the average negative log-likelihood, that is of `log Z_f`, in each node value:
    /// the masses of the model on the nodes.
    ///
    /// # Formula
    /// `w_i = e^{f_i} / sum_j e^{f_j}`.
    pub fn node_derivative(self, nodes: &[f64], out: &mut [f64]) {
        debug_assert_eq!(nodes.len(), out.len());
        for (w, log_mass) in out.iter_mut().zip(log_masses(nodes)) {
            *w = exp(log_mass);
        }
    }

    /// [`Energy::node_derivative`] in 32 bits, sixteen nodes to a lane line, nodes in order.
    /// What the last line holds beyond the last node is not read and gets weight zero.
    #[inline(always)]
    pub fn node_derivative_lanes<S: Across>(self, s: S, nodes: &[Lane], out: &mut [Lane]) {
        debug_assert_eq!(nodes.len(), self.node_count().div_ceil(LANES));
        let last = nodes.len() - 1;
        let in_last = s.splat((self.node_count() - last * LANES) as f32 - 0.5);
        let lane_numbers = s.load(&Lane(std::array::from_fn(|i| i as f32)));
        let of_nodes = |line: usize, v: S::V, otherwise: f32| {
            if line == last {
                s.select_greater(in_last, lane_numbers, v, s.splat(otherwise))
            } else {
                v
            }
        };

        let mut tops = s.splat(f32::NEG_INFINITY);
        for (line, f) in nodes.iter().enumerate() {
            tops = s.max(of_nodes(line, s.load(f), f32::NEG_INFINITY), tops);
        }
        let mut across = Lane::ZERO;
        s.store(&mut across, tops);
        let top = s.splat(
            across
                .0
                .iter()
                .fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a }),
        );

        let mut totals = s.splat(0.0);
        for (line, (f, w)) in nodes.iter().zip(out.iter_mut()).enumerate() {
            let e = of_nodes(line, s.exp(s.sub(s.load(f), top)), 0.0);
            totals = s.add(totals, e);
            s.store(w, e);
        }
        let scale = s.splat(1.0 / s.sum(totals));
        for w in out {
            s.store(w, s.mul(s.load(w), scale));
        }
    }

    /// Fisher information in a direction `delta` of the index: its variance under the model. As a
    /// matrix over the nodes it is the covariance `diag(w) - w w^T`; constants carry none.
    ///
    /// # Formula
    /// `d^2/dt^2 log Z_{f + t delta} = Var_{P_f}(delta)`.
    ///
    /// # Reference
    /// Paper, proof of Lemma C.2.
    pub fn fisher(self, nodes: &[f64], delta: &[f64]) -> f64 {
        debug_assert_eq!(nodes.len(), delta.len());
        let mut w = vec![0.0; nodes.len()];
        self.node_derivative(nodes, &mut w);
        let expectation = |term: &dyn Fn(f64) -> f64| {
            let terms: Vec<f64> = w.iter().zip(delta).map(|(w, &t)| w * term(t)).collect();
            sum(&terms)
        };
        let centre = expectation(&|t| t);
        expectation(&|t| (t - centre) * (t - centre))
    }

    /// Squared Hellinger distance of two densities, from node values, in `[0, 2]`.
    ///
    /// # Formula
    /// `integral (sqrt p_f - sqrt p_g)^2 = sum_i (sqrt w_i(f) - sqrt w_i(g))^2` with the masses `w` of
    /// [`Energy::node_derivative`].
    ///
    /// # Reference
    /// Paper, Sections 2.2 and C.4.
    pub fn hellinger_squared(self, f: &[f64], g: &[f64]) -> f64 {
        distance::hellinger_squared(&log_masses(f), &log_masses(g))
    }

    /// Kullback-Leibler divergence.
    ///
    /// # Formula
    /// `integral p_f log(p_f / p_g) = sum_i w_i(f) log{w_i(f) / w_i(g)}`.
    ///
    /// # Reference
    /// Paper, Lemma C.2.
    pub fn kl(self, f: &[f64], g: &[f64]) -> f64 {
        distance::kl(&log_masses(f), &log_masses(g))
    }

    /// `rho_gamma(p_f, p_g)`, see [`Gamma`].
    ///
    /// # Formula
    /// `[exp{L((1 + gamma) f - gamma g) - (1 + gamma) L(f) + gamma L(g)} - 1] / gamma` with
    /// `L(f) = log Z_f`, because `p_f^(1+gamma) p_g^-gamma` is
    /// `e^((1+gamma) f - gamma g) Z_f^-(1+gamma) Z_g^gamma`. Computed as a sum over the nodes, see
    /// [`crate::distance`].
    ///
    /// # Reference
    /// Paper, Lemma C.2.
    pub fn rho(self, gamma: Gamma, f: &[f64], g: &[f64]) -> f64 {
        distance::rho(gamma, &log_masses(f), &log_masses(g))
    }

    pub(crate) fn check_nodes(self, nodes: &[f64]) -> Result<(), Error> {
        if nodes.len() == self.node_count() {
            Ok(())
        } else {
            Err(Error::Length {
                expected: self.node_count(),
                got: nodes.len(),
            })
        }
    }
}

#[cfg(test)]
mod tests;
