//! Membership in a Hölder class, by sampling.

use crate::{Differentiable, Error, HolderClass};
use loopfit_numerics::libm::pow;
use loopfit_numerics::stream::Stream;

/// Where a function is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Seed of the points, of the pairs and, where there are many, of the multi-indices.
    pub seed: u64,
    /// Points at which derivatives are compared with `H`.
    pub points: usize,
    /// Pairs at which derivatives of order `k` are compared with each other.
    pub pairs: usize,
}

/// Multi-indices of one order that are looked at; where there are more, so many are drawn.
const INDICES: usize = 64;
/// Pairs are this many powers of two apart at the closest.
const SCALES: u64 = 20;
/// Closer pairs say more of rounding than of the function.
const CLOSEST: f64 = 1e-7;
/// What rounding may add to a derivative, in units of its last place. At the closest pairs this takes `6e-7` of the largest
/// derivative from a quotient, at most, and a bound below that derivative is refuted anyway.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// How often the worst pair is made worse, at most.
const REFINEMENTS: usize = 100;
/// Excess over a bound, relative to it, that counts as rounding.
const TOLERANCE: f64 = 1e-9;

/// The most work that is begun, in the steps of [`Differentiable::work`]: about a minute.
const MOST_WORK: f64 = 1e9;
/// Beyond this order even one pair is more work.
const MOST_ORDERS: usize = 1000;

/// The largest derivative of one order that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Largest {
    /// The order `v = |nu|`.
    pub order: usize,
    /// `|d^nu f(x)|`, less what the function's error may add.
    pub value: f64,
    /// The multi-index.
    pub nu: Vec<usize>,
    /// The point.
    pub x: Vec<f64>,
    /// Whether every multi-index of the order was looked at.
    pub all_indices: bool,
}

/// The largest Hölder quotient of derivatives of order `k` that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Quotient {
    /// `|d^nu f(x) - d^nu f(y)| / ||x - y||^alpha`, less what the function's error may add.
    pub value: f64,
    /// The multi-index.
    pub nu: Vec<usize>,
    /// One point.
    pub x: Vec<f64>,
    /// The other point.
    pub y: Vec<f64>,
}

/// What sampling found of a function against the bound `H` of a class.
///
/// A bound that is exceeded refutes membership, with the point as evidence. Bounds that hold at
/// every point that was looked at prove nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Membership {
    /// The bound `H`.
    pub bound: f64,
    /// Orders `0` to `k`.
    pub orders: Vec<Largest>,
    /// The Hölder condition.
    pub quotient: Quotient,
}

impl Membership {
    /// The largest of all that must not exceed `H`.
    pub fn largest(&self) -> f64 {
        let values = self.orders.iter().map(|largest| largest.value);
        values.fold(self.quotient.value, f64::max)
    }

    /// Whether nothing that was found exceeds `H`.
    pub fn holds(&self) -> bool {
        self.largest() <= self.bound * (1.0 + TOLERANCE)
    }
}

impl HolderClass {
    /// Looks for a violation of the definition at points and pairs of the open cube.
    ///
    /// Pairs are independent points, or lie `2^-j` apart, `j <= 20`, along an axis, a diagonal or
    /// any direction; the ends of the worst one are moved along its line as long as that makes it
    /// worse, which finds kinks, but not closer than `1e-7`: there rounding would look steep.
    ///
    /// # Panics
    /// If the function has another number of inputs than the class.
    ///
    /// # Reference
    /// Definition 3.1.
    pub fn check(self, f: &impl Differentiable, sampling: &Sampling) -> Membership {
        let (d, k) = (self.smoothness().d(), self.smoothness().k());
        assert_eq!(f.d(), d, "the function has other inputs than the class");
        let root = Stream::new(sampling.seed).child("membership");
        let points: Vec<Vec<f64>> = (0..sampling.points as u64)
            .map(|i| uniform(d, root.child("points").nth(i)))
            .collect();
        let indices: Vec<(Vec<Vec<usize>>, bool)> = (0..=k)
            .map(|order| multi_indices(d, order, root.child("indices").nth(order as u64)))
            .collect();
        let largest = |(order, (indices, all)): (usize, &(Vec<Vec<usize>>, bool))| {
            let error = f.error(order);
            let at = |nu: &Vec<usize>, x: &Vec<f64>| excess(f.derivative(nu, x), error);
            let found = indices
                .iter()
                .flat_map(|nu| points.iter().map(move |x| (at(nu, x), nu, x)))
                .reduce(|a, b| if b.0 > a.0 { b } else { a });
            Largest {
                order,
                value: found.map_or(0.0, |(value, ..)| value),
                nu: found.map_or(vec![0; d], |(_, nu, _)| nu.clone()),
                x: found.map_or(vec![0.5; d], |(.., x)| x.clone()),
                all_indices: *all,
            }
        };
        let orders: Vec<Largest> = indices.iter().enumerate().map(largest).collect();
        let error = f.error(k) + ROUNDING * orders[k].value;
        let pairs = (sampling.pairs, root.child("pairs"));
        Membership {
            bound: self.bound(),
            quotient: self.steepest(f, &indices[k].0, error, pairs),
            orders,
        }
    }

    /// An error where [`HolderClass::check`] would take minutes or more.
    pub fn check_work(self, f: &impl Differentiable, sampling: &Sampling) -> Result<(), Error> {
        let k = self.smoothness().k();
        let work: f64 = match k {
            0..=MOST_ORDERS => {
                let taken = self.derivatives(sampling).into_iter().enumerate();
                taken.map(|(order, taken)| taken * f.work(order)).sum()
            }
            _ => f64::INFINITY,
        };
        match work > MOST_WORK {
            true => Err(Error::Work {
                k,
                d: self.smoothness().d(),
                points: sampling.points,
            }),
            false => Ok(()),
        }
    }

    /// How many derivatives of each order, from zero to `k`, [`HolderClass::check`] takes at most.
    pub fn derivatives(self, sampling: &Sampling) -> Vec<f64> {
        let (d, k) = (self.smoothness().d(), self.smoothness().k());
        let (points, pairs) = (sampling.points as f64, sampling.pairs as f64);
        let of_order = |order: usize| {
            // Multi-indices of the order: C(d + order - 1, order).
            let all = (1..=order).fold(1.0, |c, i| c * (d + i - 1) as f64 / i as f64);
            let indices = all.min(INDICES as f64);
            let quotients = match order == k {
                true => 2.0 * (indices * pairs + (REFINEMENTS * MOVES) as f64),
                false => 0.0,
            };
            indices * points + quotients
        };
        (0..=k).map(of_order).collect()
    }

    /// The largest quotient among pairs and below the worst of them.
    fn steepest(
        self,
        f: &impl Differentiable,
        indices: &[Vec<usize>],
        error: f64,
        (pairs, stream): (usize, Stream),
    ) -> Quotient {
        let d = self.smoothness().d();
        let mut worst = Quotient {
            value: 0.0,
            nu: vec![0; d],
            x: vec![0.5; d],
            y: vec![0.5; d],
        };
        let quotient = |nu: &[usize], x: &[f64], y: &[f64]| {
            let apart = x.iter().zip(y).map(|(x, y)| (x - y).abs());
            let apart = apart.fold(0.0, f64::max);
            if apart < CLOSEST {
                return 0.0;
            }
            let (at_x, at_y) = (f.derivative(nu, x), f.derivative(nu, y));
            let error = 2.0 * error + ROUNDING * (at_x.abs() + at_y.abs());
            excess(at_x - at_y, error) / pow(apart, self.smoothness().alpha())
        };
        for i in 0..pairs as u64 {
            let (x, y) = pair(d, i, stream.nth(i));
            for nu in indices {
                let value = quotient(nu, &x, &y);
                if value > worst.value {
                    (worst.value, worst.nu) = (value, nu.clone());
                    (worst.x, worst.y) = (x.clone(), y.clone());
                }
            }
        }
        for _ in 0..REFINEMENTS {
            let moved = moves(&worst.x, &worst.y)
                .map(|(x, y)| (quotient(&worst.nu, &x, &y), x, y))
                .reduce(|a, b| if b.0 > a.0 { b } else { a });
            match moved {
                Some((value, x, y)) if value > worst.value => {
                    (worst.value, worst.x, worst.y) = (value, x, y);
                }
                _ => break,
            }
        }
        worst
    }
}

/// How many [`moves`] there are at most.
const MOVES: usize = 8 * SCALES as usize;

/// Pairs on the line through a pair: one end moved by the halves, quarters, ... of their distance,
/// towards the other end or away from it, within the open cube.
fn moves(x: &[f64], y: &[f64]) -> impl Iterator<Item = (Vec<f64>, Vec<f64>)> {
    let shares = (1..=2 * SCALES as i32)
        .flat_map(|j| [1.0, -1.0].map(|sign| sign * pow(2.0, -f64::from(j))));
    let ends = move |share: f64| [(share, 0.0), (0.0, share)];
    let towards = |a: &[f64], b: &[f64], share: f64| -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a + share * (b - a)).collect()
    };
    shares
        .flat_map(ends)
        .map(move |(of_x, of_y)| (towards(x, y, of_x), towards(y, x, of_y)))
        .filter(|(x, y)| x.iter().chain(y).all(|v| *v > 0.0 && *v < 1.0))
}

/// The size of a number that may be off by an error; infinite if it is not a finite number.
fn excess(value: f64, error: f64) -> f64 {
    if !value.is_finite() {
        return f64::INFINITY;
    }
    (value.abs() - error).max(0.0)
}

fn uniform(d: usize, stream: Stream) -> Vec<f64> {
    (0..d as u64).map(|i| stream.uniform(i)).collect()
}

/// The `i`-th pair of points.
fn pair(d: usize, i: u64, stream: Stream) -> (Vec<f64>, Vec<f64>) {
    let place = uniform(d, stream.child("place"));
    let scale = i / 3 % (SCALES + 1);
    if scale == 0 {
        return (place, uniform(d, stream.child("other")));
    }
    let h = pow(2.0, -(scale as f64));
    let way = stream.child("direction");
    let step: Vec<f64> = match i % 3 {
        0 => {
            let axis = way.below(0, d as u64) as usize;
            (0..d).map(|i| if i == axis { h } else { 0.0 }).collect()
        }
        1 => (0..d as u64).map(|i| h * way.sign(i)).collect(),
        _ => {
            let free: Vec<f64> = (0..d as u64).map(|i| 2.0 * way.uniform(i) - 1.0).collect();
            let length = free.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
            free.iter().map(|e| h * e / length).collect()
        }
    };
    // Wherever both ends are in the cube.
    let x: Vec<f64> = place
        .iter()
        .zip(&step)
        .map(|(u, e)| u * (1.0 - e.abs()) + (-e).max(0.0))
        .collect();
    let y = x.iter().zip(&step).map(|(x, e)| x + e).collect();
    (x, y)
}

/// Multi-indices of an order in `d` inputs, and whether these are all.
fn multi_indices(d: usize, order: usize, stream: Stream) -> (Vec<Vec<usize>>, bool) {
    let mut all = Vec::new();
    // There are at least `d` of every order but zero.
    if (order == 0 || d <= INDICES) && extend(&mut all, &mut Vec::new(), d, order) {
        return (all, true);
    }
    let drawn = (0..INDICES as u64).map(|i| {
        let mut nu = vec![0; d];
        for unit in 0..order as u64 {
            nu[stream.nth(i).below(unit, d as u64) as usize] += 1;
        }
        nu
    });
    (drawn.collect(), false)
}

/// Appends every multi-index that begins as given; false when there are too many.
fn extend(all: &mut Vec<Vec<usize>>, begun: &mut Vec<usize>, d: usize, order: usize) -> bool {
    if begun.len() + 1 == d || order == 0 {
        let mut nu = begun.clone();
        nu.resize(d, 0);
        nu[begun.len().min(d - 1)] += order;
        all.push(nu);
        return all.len() <= INDICES;
    }
    (0..=order).all(|first| {
        begun.push(first);
        let few = extend(all, begun, d, order - first);
        begun.pop();
        few
    })
}

#[cfg(test)]
mod tests;
