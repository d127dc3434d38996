//! The assertions of Lemma C.3, verified for a packing that was built.

use crate::code::Distance;
use crate::packing::{Member, Packing};
use crate::{Membership, Sampling};
use loopfit_numerics::libm::{pow, sqrt};
use loopfit_numerics::quadrature::gauss_legendre;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::sum;

/// Points at which functions are evaluated for integrals, at most.
const POINTS: usize = 1 << 20;
/// Points of a Monte Carlo integral.
const DRAWS: usize = 1 << 18;
/// Nodes of a rule along each axis of a cell: fewer are too coarse, more are not needed.
const NODES: std::ops::RangeInclusive<usize> = 16..=48;
/// Standard errors that a Monte Carlo integral may be off.
const STANDARD_ERRORS: f64 = 5.0;
/// Points and pairs at which membership of one function is looked at.
const SAMPLED: (usize, usize) = (2000, 4200);
/// Excess over a bound, relative to it, that counts as rounding.
const TOLERANCE: f64 = 1e-12;

/// How functions were integrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A Gauss-Legendre rule of so many nodes along each axis of each cell. The relative error of
    /// a squared norm is below `10^(-nodes/6)`; it is 9e-5 at 16 and 2e-11 at 48.
    GaussLegendre {
        /// Nodes along one axis of a cell.
        nodes: usize,
    },
    /// The mean over so many uniform points.
    MonteCarlo {
        /// How many.
        draws: usize,
    },
}

/// A number of the lemma beside the same number by integrating functions as they are evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Integral {
    /// In closed form.
    pub exact: f64,
    /// By the rule.
    pub numerical: f64,
    /// How far the rule may be off.
    pub error: f64,
}

impl Integral {
    fn agrees(&self) -> bool {
        (self.numerical - self.exact).abs() <= self.error
    }
}

/// What was found of a packing.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// The code's distance.
    pub code: Distance,
    /// How integrals were taken.
    pub rule: Rule,
    /// Squared distances of all pairs of the functions that were looked at: zero, the nearest to
    /// it that is known, and functions drawn at random.
    pub distances: Vec<Integral>,
    /// Their squared norms.
    pub norms: Vec<Integral>,
    /// Their means.
    pub means: Vec<Integral>,
    /// Their membership in the class.
    pub memberships: Vec<Membership>,
    /// Whether the code separates words as asked and as constructed.
    pub code_holds: bool,
    /// Whether `log M` is at least `c delta^{-d/s}` and `(log 2 / 8) m^d`.
    pub count_holds: bool,
    /// Whether distances are as in closed form and all are at least `8 delta`.
    pub separation_holds: bool,
    /// Whether norms are as in closed form and at most `C delta`.
    pub norm_holds: bool,
    /// Whether means are zero.
    pub mean_holds: bool,
    /// Whether no violation of the class was found.
    pub membership_holds: bool,
}

impl Packing {
    /// Verifies every assertion of the lemma: the code, the count, and for zero, its nearest known
    /// neighbour and `members` functions drawn by the seed the distances, norms, means and membership.
    pub fn verify(&self, members: usize, seed: u64) -> Verification {
        let root = Stream::new(seed).child("verification");
        let code = self.code().verify(root.child("code").key());
        let mut functions = vec![
            self.of_word(vec![false; self.cells()]),
            self.of_word(code.lightest.clone()),
        ];
        functions.extend((0..members as u64).map(|i| self.draw(root.child("members").nth(i))));
        let (rule, integrals) = self.integrals(&functions, root.child("integrals"));
        let Integrals {
            means,
            norms,
            distances,
        } = integrals;
        let sampling = Sampling {
            seed: root.child("membership").key(),
            points: SAMPLED.0,
            pairs: SAMPLED.1,
        };
        // Zero is in every class.
        let memberships: Vec<Membership> = functions[1..]
            .iter()
            .map(|f| self.class().check(f, &sampling))
            .collect();
        let apart = |a: &Integral| a.exact == 0.0 || at_least(sqrt(a.exact), 8.0 * self.delta());
        let small = |a: &Integral| at_least(self.norm_constant() * self.delta(), sqrt(a.exact));
        Verification {
            code_holds: code.holds && code.proved >= crate::Code::least_distance(self.cells()),
            count_holds: at_least(self.log_m(), self.log_m_bound())
                && 8 * self.code().bits() >= self.cells(),
            separation_holds: at_least(self.separation(), 8.0 * self.delta())
                && distances.iter().all(|a| a.agrees() && apart(a)),
            norm_holds: at_least(self.norm_constant() * self.delta(), self.largest_norm())
                && norms.iter().all(|a| a.agrees() && small(a)),
            mean_holds: means.iter().all(Integral::agrees),
            membership_holds: memberships.iter().all(Membership::holds),
            code,
            rule,
            distances,
            norms,
            means,
            memberships,
        }
    }

    /// Integrals of functions as they are evaluated: by Gauss-Legendre rules in every cell where
    /// these do not take too many points, otherwise by Monte Carlo.
    fn integrals(&self, functions: &[Member], stream: Stream) -> (Rule, Integrals) {
        let d = self.bump().d();
        let per_axis = (2..=POINTS)
            .take_while(|n| {
                (0..d)
                    .try_fold(1, |p: usize, _| p.checked_mul(*n))
                    .is_some_and(|p| p <= POINTS)
            })
            .last()
            .unwrap_or(1);
        let nodes = (per_axis / self.m()).min(*NODES.end());
        let moments = |rule| Moments::new(self, functions, rule);
        if nodes < *NODES.start() {
            let rule = Rule::MonteCarlo { draws: DRAWS };
            let mut sums = moments(rule);
            for chunk in 0..DRAWS as u64 / CHUNK {
                for i in chunk * CHUNK..(chunk + 1) * CHUNK {
                    let point = stream.nth(i);
                    let x: Vec<f64> = (0..d as u64).map(|axis| point.uniform(axis)).collect();
                    sums.add(&x, 1.0 / DRAWS as f64);
                }
                sums.close();
            }
            return (rule, sums.integrals());
        }
        let rule = Rule::GaussLegendre { nodes };
        let mut sums = moments(rule);
        let m = self.m() as f64;
        let line = gauss_legendre(nodes);
        let line: Vec<(f64, f64)> = line.iter().map(|(x, w)| (0.5 + 0.5 * x, 0.5 * w)).collect();
        let mut x = vec![0.0; d];
        for cell in 0..self.cells() {
            for node in 0..nodes.pow(d as u32) {
                let (mut cell, mut node, mut weight) = (cell, node, 1.0);
                for x in &mut x {
                    let (t, w) = line[node % nodes];
                    *x = ((cell % self.m()) as f64 + t) / m;
                    weight *= w / m;
                    (cell, node) = (cell / self.m(), node / nodes);
                }
                sums.add(&x, weight);
            }
            sums.close();
        }
        (rule, sums.integrals())
    }
}

/// Draws that are summed before they are set aside.
const CHUNK: u64 = 1024;

/// Whether `a >= b` up to rounding.
fn at_least(a: f64, b: f64) -> bool {
    a >= b * (1.0 - TOLERANCE)
}

struct Integrals {
    means: Vec<Integral>,
    norms: Vec<Integral>,
    distances: Vec<Integral>,
}

/// Integrals of each function, of its square, and of squared differences, as they grow.
struct Moments<'a> {
    packing: &'a Packing,
    functions: &'a [Member],
    rule: Rule,
    /// Functions, squares, squared differences, of the part that is being summed.
    open: Vec<f64>,
    /// The same of every part before.
    parts: Vec<Vec<f64>>,
}

impl<'a> Moments<'a> {
    fn new(packing: &'a Packing, functions: &'a [Member], rule: Rule) -> Self {
        let n = functions.len();
        Self {
            packing,
            functions,
            rule,
            open: vec![0.0; 2 * n + n * (n - 1) / 2],
            parts: Vec::new(),
        }
    }

    fn add(&mut self, x: &[f64], weight: f64) {
        let values: Vec<f64> = self.functions.iter().map(|f| f.value(x)).collect();
        let squares = values.iter().map(|v| v * v);
        let differences = values
            .iter()
            .enumerate()
            .flat_map(|(i, a)| values[..i].iter().map(move |b| (a - b) * (a - b)));
        let terms = values.iter().copied().chain(squares).chain(differences);
        for (sum, term) in self.open.iter_mut().zip(terms) {
            *sum += weight * term;
        }
    }

    /// Sets the sums of a part aside: sums of sums lose fewer digits.
    fn close(&mut self) {
        let empty = vec![0.0; self.open.len()];
        self.parts.push(std::mem::replace(&mut self.open, empty));
    }

    fn integrals(self) -> Integrals {
        let n = self.functions.len();
        let numerical: Vec<f64> = (0..self.open.len())
            .map(|i| sum(&self.parts.iter().map(|part| part[i]).collect::<Vec<f64>>()))
            .collect();
        let squared = |bumps: usize, numerical: f64| Integral {
            exact: pow(self.packing.norm_of(bumps), 2.0),
            numerical,
            error: self.square_error(bumps),
        };
        let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        Integrals {
            means: (0..n)
                .map(|i| Integral {
                    exact: 0.0,
                    numerical: numerical[i],
                    error: self.mean_error(self.functions[i].bumps()),
                })
                .collect(),
            norms: (0..n)
                .map(|i| squared(self.functions[i].bumps(), numerical[n + i]))
                .collect(),
            distances: pairs
                .zip(&numerical[2 * n..])
                .map(|((i, j), value)| {
                    squared(self.functions[i].differences(&self.functions[j]), *value)
                })
                .collect(),
        }
    }

    /// How far the square's integral of a function with so many bumps may be off.
    ///
    /// # Formula
    /// For Monte Carlo with `N` points, five standard errors, by moments in closed form, since a sample
    /// with few large values would not show its own error: with a share `w` of cells that have a bump
    #[doc = loopfit_tex::tex!(r"
        \mathbb E f^2 \Bigl\{\frac1N\Bigl(\frac{\mathbb E f^4}{(\mathbb E f^2)^2} - 1\Bigr)\Bigr\}^{1/2},
        \qquad \frac{\mathbb E f^4}{(\mathbb E f^2)^2} = \frac{\int\psi^4}{w\,(\int\psi^2)^2}
    ")]
    fn square_error(&self, bumps: usize) -> f64 {
        let second = pow(self.packing.norm_of(bumps), 2.0);
        match self.rule {
            _ if bumps == 0 => 0.0,
            Rule::GaussLegendre { nodes } => second * pow(10.0, -(nodes as f64) / 6.0),
            Rule::MonteCarlo { draws } => {
                let share = bumps as f64 / self.packing.cells() as f64;
                let bump = self.packing.bump();
                let fourth = bump.moment(4) / (share * pow(bump.moment(2), 2.0));
                STANDARD_ERRORS * second * sqrt((fourth - 1.0) / draws as f64)
            }
        }
    }

    /// How far the mean of a function with so many bumps may be off: rounding where the rule is
    /// symmetric in each cell, as the bump is up to its sign.
    fn mean_error(&self, bumps: usize) -> f64 {
        let norm = self.packing.norm_of(bumps);
        match self.rule {
            Rule::GaussLegendre { .. } => 1e-10 * norm,
            Rule::MonteCarlo { draws } => STANDARD_ERRORS * norm / sqrt(draws as f64),
        }
    }
}

#[cfg(test)]
mod tests;
